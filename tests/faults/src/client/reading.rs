//! How a client reads one turn: with cuts and new connections to its end, and then once more without a cut.

use std::time::Duration;

use espalier_test_support::{Event, Value, json};
use tokio::time::{Instant, sleep};

use super::{Clients, Order, Reader, SHORT_SILENCE, SILENCE, STRIKE};
use crate::rng::Rng;
use crate::script;
use crate::stream::{Next, Stream, User};
use crate::view::View;

impl Clients {
    /// Reads the turn to its end, however often the connection is lost.
    pub(super) async fn read(&self, user: &User, order: &Order) -> Option<View> {
        let mut rng = Rng::of(self.seed(), &format!("reader {}", order.number));
        let mut view = View::default();
        let mut stream = self.ask(user, order, true).await?;
        let mut budget = self.budget(order, &mut rng);
        let mut killed: Option<Instant> = None;
        let mut accepted = false;
        let silence = if order.alone { SHORT_SILENCE } else { SILENCE };
        while !view.is_done() {
            match stream.next(silence).await {
                Next::Event(event) => {
                    if event.data["turn_id"] != script::turn_id(order.number) {
                        continue;
                    }
                    if let Some(at) = killed.take()
                        && self.world.ledger.last_kill() == Some(at)
                    {
                        self.seen().back.push(at.elapsed());
                    }
                    if !std::mem::replace(&mut accepted, true) {
                        self.seen().accepted += 1;
                    }
                    self.note(order, &event);
                    view.take(*event, stream.cursor);
                    if order.reader == Reader::Alone && !view.is_done() {
                        stream.cut();
                        return self.wait_for_d1(order, &view).await.then_some(view);
                    }
                    budget = budget.saturating_sub(1);
                    if budget > 0 || view.is_done() {
                        continue;
                    }
                    self.seen().cuts += 1;
                    budget = self.budget(order, &mut rng);
                    stream.cut();
                    sleep(Duration::from_millis(*rng.pick(&[0, 0, 0, 30, 200, 900]))).await;
                }
                Next::Over => {
                    killed = self.killed_now();
                    if order.alone {
                        sleep(STRIKE).await;
                    }
                }
                // The client asks again until the turn goes on.
                Next::Parked | Next::Silent => {}
                Next::Wrong(what) => {
                    self.seen().malformed += 1;
                    self.violation(format!("turn {}: {what}", order.number));
                }
            }
            if !view.is_done() {
                stream = match rng.chance(150) || !accepted {
                    true => self.ask(user, order, false).await?,
                    false => self.resume(user, order, view.cursor(), &mut rng).await,
                };
            }
        }
        self.is_kept(user, order, &view).await;
        Some(view)
    }

    /// The moment of the kill that has just ended a stream.
    fn killed_now(&self) -> Option<Instant> {
        self.world.ledger.last_kill().filter(|at| at.elapsed() < Duration::from_millis(300))
    }

    /// A client that has heard a turn's end finds its message at once.
    async fn is_kept(&self, user: &User, order: &Order, view: &View) {
        let Some(done) = view.events().last() else { return };
        let path = format!("/api/threads/{}/messages?limit=200&versions=all", order.thread_id);
        loop {
            match user.send("GET", &path, &[], &json!(null)).await {
                Some(mut reply) if reply.status == 200 => {
                    let mut text = Vec::new();
                    while let Ok(Some(bytes)) = reply.read().await {
                        text.extend_from_slice(&bytes);
                    }
                    // A kill may cut this answer off: the client asks again.
                    if let Ok(list) = serde_json::from_slice::<Value>(&text) {
                        let mut ids =
                            list["messages"].as_array().into_iter().flatten().map(|message| &message["id"]);
                        // A long thread's newest messages stand on a later page.
                        if list["next_cursor"].is_null() && !ids.any(|id| *id == *done.text("message_id")) {
                            self.violation(format!("turn {} has ended, and has no message", order.number));
                        }
                        return;
                    }
                }
                Some(reply) => self.refused(reply).await,
                None => {}
            }
            sleep(Duration::from_millis(30)).await;
        }
    }

    fn budget(&self, order: &Order, rng: &mut Rng) -> u64 {
        if order.reader == Reader::Restless { rng.range(1, 25) } else { u64::MAX }
    }

    fn note(&self, order: &Order, event: &Event) {
        // A call that a stop cut off has an end too, but its effect may still be under way.
        if event.is("tool_call_update", &[("status", "end")]) && event.data["is_error"] != true {
            self.world.ledger.seal(order.marked(), event.text("tool_call_id"));
        }
        if event.kind == "history_summary" && !event.text("text").is_empty() {
            self.world.ledger.summary_seen(event.text("text"));
        }
        if event.is("model_call_update", &[("status", "end")])
            && let Some((marker, step)) =
                script::called(order.shape, order.marked(), event.text("model_call_id"))
        {
            let before = order.continues.map_or(0, |_| script::CONTINUED_STEP);
            self.world.ledger.model_journaled(order.marked(), &marker, step + before);
        }
    }

    /// Reads on after an event's number.
    async fn resume(&self, user: &User, order: &Order, cursor: u64, rng: &mut Rng) -> Stream {
        let path = format!("/api/threads/{}/stream", order.thread_id);
        let after = cursor.to_string();
        loop {
            let reply = match rng.chance(500) {
                true => user.send("GET", &path, &[("last-event-id", &after)], &json!(null)).await,
                false => user.send("GET", &format!("{path}?after={after}"), &[], &json!(null)).await,
            };
            match reply {
                Some(reply) if reply.status == 200 => return Stream::new(reply, cursor),
                // The turn waits for somebody. Or no turn runs, although the client has not seen the end: the service
                // may be about to take the turn up.
                Some(reply) if reply.status == 204 => sleep(Duration::from_millis(200)).await,
                Some(reply) => self.refused(reply).await,
                None => {}
            }
            sleep(Duration::from_millis(20)).await;
        }
    }

    /// Waits until D1 has the turn's message. No client asks the object for anything meanwhile.
    async fn wait_for_d1(&self, order: &Order, view: &View) -> bool {
        self.world.ledger.leave_alone(order.number);
        let Some(id) = view.events().find_map(|event| event.data["assistant_message_id"].as_str()) else {
            return false;
        };
        loop {
            match self.world.database.rows("SELECT id FROM messages WHERE id = ?1", &[id]) {
                Ok(rows) if !rows.is_empty() => return true,
                Ok(_) => {}
                Err(error) => self.violation(format!("D1: {error}")),
            }
            sleep(Duration::from_millis(50)).await;
        }
    }

    /// Reads the turn once more without a cut, from storage.
    pub(super) async fn uncut(&self, user: &User, order: &Order, view: &View) -> Option<View> {
        let first = view.events().next()?.seq;
        let turn_id = script::turn_id(order.number);
        let path = format!("/api/threads/{}/stream?after={}", order.thread_id, first - 1);
        for _ in 0..400 {
            if let Some(reply) = user.send("GET", &path, &[], &json!(null)).await
                && reply.status == 200
            {
                let mut stream = Stream::new(reply, first - 1);
                let mut uncut = View::default();
                while let Next::Event(event) = stream.next(SILENCE).await {
                    if event.data["turn_id"] == turn_id {
                        uncut.take(*event, first - 1);
                    }
                    if uncut.is_done() {
                        return Some(uncut);
                    }
                }
            }
            sleep(Duration::from_millis(30)).await;
        }
        self.violation(format!("turn {}: its log cannot be read to its end", order.number));
        None
    }
}
