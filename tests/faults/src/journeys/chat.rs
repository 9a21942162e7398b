//! A turn over our own wire, as one uncut client sees it.

use std::time::Duration;

use espalier_test_support::{Event, Value, json};
use tokio::time::{Instant, sleep};

use super::Trip;
use super::trip::{PATIENCE, SILENCE};
use crate::stream::{Next, Stream};
use crate::view::View;

/// How long the client stays away from a turn that is struck, so that the strike comes first.
const STRIKE: Duration = Duration::from_millis(120);

impl Trip {
    /// Asks for a turn, again and again with the same id, and reads it to its end.
    pub async fn chat(&self, body: &Value) -> Result<Vec<Event>, String> {
        let began = Instant::now();
        let mut view = View::default();
        while began.elapsed() < PATIENCE {
            if let Some(reply) = self.user.send("POST", "/api/chat", &[], body).await {
                if reply.status != 200 && reply.status < 500 && reply.status != 429 {
                    let status = reply.status;
                    return Err(format!("{body} was refused with {status}: {}", reply.text().await));
                }
                let mut stream = Stream::new(reply, 0);
                while !view.is_done() {
                    match stream.next(SILENCE).await {
                        Next::Event(event) if event.data["turn_id"] == body["turn_id"] => {
                            self.note(&event);
                            view.take(*event, 0);
                        }
                        Next::Event(_) => {}
                        Next::Wrong(why) => return Err(why),
                        Next::Over | Next::Parked | Next::Silent => break,
                    }
                }
            }
            if view.conflicts > 0 {
                return Err(format!("{} numbers were used for two events", view.conflicts));
            }
            if view.is_done() {
                return Ok(view.settled().into_values().cloned().collect());
            }
            sleep(STRIKE).await;
        }
        Err(format!("the turn has no end within {} s", PATIENCE.as_secs()))
    }

    /// The client has seen the end of a call, so its outcome is journaled.
    fn note(&self, event: &Event) {
        if event.is("tool_call_update", &[("status", "end")]) && event.data["is_error"] != true {
            self.world().ledger.seal(self.number, event.text("tool_call_id"));
        }
    }

    /// The messages of a thread, in both places that have them: the service's list, and D1 as soon as it has so many.
    pub async fn messages(&self, thread: &str, count: usize) -> Result<Value, String> {
        let list = self.get(&format!("/api/threads/{thread}/messages")).await?;
        let list: Vec<Value> = list["messages"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|message| json!([message["role"], message["content"], message["finish_reason"]]))
            .collect();
        let sql = "SELECT role, content, finish_reason FROM messages WHERE thread_id = ?1 ORDER BY created_at, role DESC";
        let rows = self.rows(count, sql, &[thread]).await?;
        Ok(json!({ "list": list, "D1": rows }))
    }
}

/// The text of the root and the finish reason.
pub fn answer_of(events: &[Event]) -> Value {
    let chunks = events.iter().filter(|event| event.kind == "chunk" && event.data["depth"] == 0);
    let text: String = chunks.map(|chunk| chunk.text("content")).collect();
    json!([text, events.last().map(|done| done.text("finish_reason"))])
}

/// The ends of the calls of a tool: whether they are errors, and their results. Parallel calls end in any order.
pub fn ends(events: &[Event], tool: &str) -> Vec<(bool, String)> {
    let ends = events
        .iter()
        .filter(|event| event.is("tool_call_update", &[("status", "end")]) && event.text("name") == tool);
    let mut ends: Vec<_> =
        ends.map(|event| (event.data["is_error"] == true, event.text("result").to_owned())).collect();
    ends.sort();
    ends
}
