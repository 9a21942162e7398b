//! Messages that wait for a turn to end. A message that the service has taken is in its queue or in the thread, once,
//! whatever dies; and the messages become turns in their order.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use espalier_test_support::{Value, json};
use tokio::time::{Instant, sleep};

use super::{Clients, Order, body_of};
use crate::script;
use crate::stream::User;
use crate::view::View;

/// How often a client looks at the queue.
const LOOK: Duration = Duration::from_millis(40);

impl Clients {
    /// Plays a turn, and messages that are sent while it runs. Returns the turns of the messages.
    pub async fn queue(&self, user: &User, first: &Order, waiting: &[Order]) -> Vec<Option<View>> {
        let is_over = AtomicBool::new(false);
        let behind = async {
            // A message that comes before the thread exists would not wait. A first turn that was lost makes no thread.
            while self.get(user, &format!("/api/threads/{}", first.thread_id)).await.is_none() {
                if is_over.load(Ordering::Relaxed) {
                    return Vec::new();
                }
                sleep(LOOK).await;
            }
            let mut queued = Vec::new();
            for order in waiting {
                self.world.ledger.ordered(order.number, &order.thread_id);
                if self.enqueue(user, order).await {
                    queued.push(order);
                }
            }
            // A message that comes while the queue is held begins at once, and the others wait for its turn, which may
            // wait for its client: so its client comes first. `first` may be a version and supersede it, so nobody looks
            // for it on the path.
            let (waited, began): (Vec<&Order>, Vec<&Order>) =
                waiting.iter().partition(|order| queued.iter().any(|queued| queued.number == order.number));
            let mut views = Vec::new();
            for order in began {
                views.push(self.one_turn(user, order).await);
            }
            for order in waited {
                if self.has_begun(user, order).await {
                    views.push(self.one_turn(user, order).await);
                }
            }
            self.are_in_order(user, &queued).await;
            views
        };
        let before = async {
            self.one_turn(user, first).await;
            is_over.store(true, Ordering::Relaxed);
        };
        tokio::join!(before, behind).1
    }

    /// Sends a message until the service has taken it. Returns whether it waits in the queue.
    async fn enqueue(&self, user: &User, order: &Order) -> bool {
        let body = body_of(order);
        loop {
            match user.send("POST", "/api/chat", &[], &body).await {
                Some(reply) if reply.status == 202 => {
                    self.seen().queued += 1;
                    return true;
                }
                // No turn ran any more. The client goes away, and its turn goes on. It may come before messages of a
                // queue that is held.
                Some(reply) if reply.status == 200 => return false,
                Some(reply) => self.refused(reply).await,
                None => {}
            }
            sleep(Duration::from_millis(30)).await;
        }
    }

    /// Waits until a message that was taken has its turn, without asking for it: a repeated request would hide a loss.
    async fn has_begun(&self, user: &User, order: &Order) -> bool {
        let began = Instant::now();
        let (number, id) = (order.number, script::turn_id(order.number));
        let path = format!("/api/threads/{}", order.thread_id);
        while began.elapsed() < 4 * self.lost_after {
            sleep(LOOK).await;
            let Some(queue) = self.get(user, &format!("{path}/queue")).await else { continue };
            let mut waiting = queue["messages"].as_array().into_iter().flatten();
            if waiting.any(|message| message["id"] == id) {
                // The turn before it failed or was stopped.
                if queue["held"] == true {
                    user.send("PATCH", &format!("{path}/queue"), &[], &json!({ "held": false })).await;
                }
                continue;
            }
            // It was out of the queue before this request.
            let Some(asked) = self.asked(user, &order.thread_id).await else { continue };
            match asked.iter().filter(|turn| **turn == id).count() {
                1 => return true,
                count => {
                    self.violation(format!(
                        "message {number} is out of the queue, and {count} turns have it"
                    ));
                    return false;
                }
            }
        }
        self.violation(format!("message {number} waits for ever"));
        false
    }

    /// The messages that waited became turns once, and in the order in which the service took them.
    async fn are_in_order(&self, user: &User, queued: &[&Order]) {
        let Some(first) = queued.first() else { return };
        let ids: Vec<String> = queued.iter().map(|order| script::turn_id(order.number)).collect();
        loop {
            if let Some(asked) = self.asked(user, &first.thread_id).await {
                let begun: Vec<String> = asked.into_iter().filter(|turn| ids.contains(turn)).collect();
                if begun != ids {
                    self.violation(format!("messages that waited as {ids:?} became turns as {begun:?}"));
                }
                return;
            }
            sleep(LOOK).await;
        }
    }

    /// The turns of a thread's questions, in their order.
    async fn asked(&self, user: &User, thread_id: &str) -> Option<Vec<String>> {
        let (mut turns, mut cursor) = (Vec::new(), String::new());
        loop {
            let page =
                self.get(user, &format!("/api/threads/{thread_id}/messages?limit=200{cursor}")).await?;
            let messages = page["messages"].as_array().into_iter().flatten();
            let questions = messages.filter(|message| message["role"] == "user");
            turns.extend(questions.filter_map(|message| message["turn_id"].as_str().map(str::to_owned)));
            match page["next_cursor"].as_str() {
                Some(next) => cursor = format!("&cursor={next}"),
                None => return Some(turns),
            }
        }
    }

    /// JSON; none where the request failed, or where a kill cut the answer off.
    async fn get(&self, user: &User, path: &str) -> Option<Value> {
        let mut reply = user.send("GET", path, &[], &json!(null)).await?;
        if reply.status != 200 {
            return None;
        }
        let mut text = Vec::new();
        while let Ok(Some(bytes)) = reply.read().await {
            text.extend_from_slice(&bytes);
        }
        serde_json::from_slice(&text).ok()
    }
}
