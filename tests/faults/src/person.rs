//! Somebody outside for whom a turn waits: the client that carries a tool out, or the person who allows a call or grants
//! another budget.
//!
//! Each has its own connection, so that a turn whose reader went away still gets its answer.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::sync::atomic::Ordering;
use std::time::Duration;

use espalier_test_support::{Event, Value, json};
use tokio::time::sleep;

use crate::client::{Clients, Order, SILENCE};
use crate::rng::Rng;
use crate::script;
use crate::stream::{Next, Stream, User};

/// How long somebody thinks at most, in milliseconds: long enough for a kill to come while nothing runs.
const THINKS: u64 = 2_000;

impl Clients {
    /// Answers each call that waits, until it is dropped.
    pub async fn person(&self, user: &User, order: &Order) -> Infallible {
        let mut rng = Rng::of(self.world.seed, &format!("person {}", order.number));
        let mut answered = BTreeSet::new();
        let path = format!("/api/threads/{}/stream?after=0", order.thread_id);
        loop {
            sleep(Duration::from_millis(20)).await;
            let Some(reply) = user.send("GET", &path, &[], &json!(null)).await else { continue };
            // The answer is 404 until the thread exists.
            if reply.status != 200 {
                continue;
            }
            let mut stream = Stream::new(reply, 0);
            while let Next::Event(event) = stream.next(SILENCE).await {
                if event.data["turn_id"] != script::turn_id(order.number) {
                    continue;
                }
                let Some((id, path, body)) = asked(order, &event) else { continue };
                if answered.contains(&id) {
                    continue;
                }
                self.waiting.fetch_add(1, Ordering::Relaxed);
                let most = if order.alone { 40 } else { THINKS };
                sleep(Duration::from_millis(rng.range(0, most))).await;
                let taken = self.answer(user, &path, &body).await;
                self.waiting.fetch_sub(1, Ordering::Relaxed);
                // The call no longer waits: the service makes it anew, or the turn was stopped.
                if taken {
                    self.seen().answers += 1;
                    answered.insert(id);
                }
            }
        }
    }

    /// Repeats an answer until the service replies. Returns whether the service took it, now or before.
    async fn answer(&self, user: &User, path: &str, body: &Value) -> bool {
        loop {
            match user.send("POST", path, &[], body).await {
                Some(reply) if reply.status == 200 => return true,
                Some(reply) if reply.status == 404 => return false,
                Some(reply) => self.refused(reply).await,
                None => {}
            }
            sleep(Duration::from_millis(20)).await;
        }
    }
}

/// The question in an event: its id, the path for the answer, and the answer.
fn asked(order: &Order, event: &Event) -> Option<(String, String, Value)> {
    let thread = format!("/api/threads/{}", order.thread_id);
    if ["approval_request", "limit_request"].contains(&event.kind.as_str()) {
        let id = event.text("approval_id").to_owned();
        let path = format!("{thread}/approvals/{id}");
        return Some((id, path, json!({ "decision": "approve" })));
    }
    if event.is("tool_call_update", &[("status", "start"), ("awaits", "client")]) {
        let id = event.text("tool_call_id").to_owned();
        let answer = script::answer(event.data["args"]["label"].as_str().unwrap_or_default());
        return Some((
            id.clone(),
            format!("{thread}/tool_results"),
            json!({ "tool_call_id": id, "result": answer }),
        ));
    }
    None
}
