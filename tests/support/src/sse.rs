//! A strict reader of the service's event streams: what a lenient client would forgive is a failed test here.

use std::time::Duration;

use serde_json::Value;

use crate::http::Reply;
use crate::{story, wire};

/// How long a test waits for the next event. No event of a test takes a fraction of it; it only turns a stream that
/// hangs into a failure that shows what had come until then.
const PATIENCE: Duration = Duration::from_secs(60);

/// One event.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// `id:`, the sequence number.
    pub seq: u64,
    /// `event:`.
    pub kind: String,
    /// `data:`.
    pub data: Value,
}

impl Event {
    /// A member of the data as text, empty when it is none.
    pub fn text(&self, field: &str) -> &str {
        self.data[field].as_str().unwrap_or_default()
    }

    /// Whether it is of this type and carries these members.
    pub fn is(&self, kind: &str, members: &[(&str, &str)]) -> bool {
        self.kind == kind && members.iter().all(|(field, value)| self.text(field) == *value)
    }
}

/// A stream of events, live.
pub struct EventStream {
    reply: Reply,
    buffer: Vec<u8>,
    seen: Vec<Event>,
    /// Comment lines, which keep connections alive.
    pub comments: usize,
}

impl EventStream {
    /// Reads this answer as a stream.
    pub async fn open(reply: Reply) -> Self {
        let reply = reply.expect(200).await;
        let kind = reply.header("content-type");
        assert!(kind.starts_with("text/event-stream"), "content-type: {kind}");
        Self { reply, buffer: Vec::new(), seen: Vec::new(), comments: 0 }
    }

    /// The next event, or `None` when the server ended the stream.
    pub async fn next(&mut self) -> Option<Event> {
        loop {
            while let Some(end) = find(&self.buffer, b"\n\n") {
                let block: Vec<u8> = self.buffer.drain(..end + 2).collect();
                let block = std::str::from_utf8(&block).expect("a stream in UTF-8");
                if let Some(event) = self.take(block.trim_end_matches('\n')) {
                    return Some(event);
                }
            }
            let read = tokio::time::timeout(PATIENCE, self.reply.read()).await;
            match read {
                Err(_) => panic!("no event for {PATIENCE:?} after:\n{}", story(&self.seen).join("\n")),
                Ok(Ok(Some(bytes))) => self.buffer.extend_from_slice(&bytes),
                Ok(Ok(None)) => {
                    assert!(
                        self.buffer.is_empty(),
                        "half an event: {:?}",
                        String::from_utf8_lossy(&self.buffer)
                    );
                    return None;
                }
                Ok(Err(error)) => {
                    panic!("the stream broke ({error}) after:\n{}", story(&self.seen).join("\n"))
                }
            }
        }
    }

    /// Reads on up to and including the first event that fits, and returns it.
    pub async fn until(&mut self, fits: impl Fn(&Event) -> bool) -> Event {
        while let Some(event) = self.next().await {
            if fits(&event) {
                return event;
            }
        }
        panic!("the stream ended without the event that was waited for:\n{}", story(&self.seen).join("\n"));
    }

    /// Reads to the end. Returns what this stream has carried since it was opened.
    pub async fn rest(mut self) -> Vec<Event> {
        while self.next().await.is_some() {}
        self.seen
    }

    /// Reads a turn to its end, from its first event on, and checks the rules that hold for every turn.
    pub async fn turn(self) -> Vec<Event> {
        let events = self.rest().await;
        wire::check_turn(&events).unwrap_or_else(|error| panic!("{error}\n{}", story(&events).join("\n")));
        events
    }

    /// What has come so far.
    pub fn seen(&self) -> &[Event] {
        &self.seen
    }

    /// One block between blank lines; `None` for a comment.
    fn take(&mut self, block: &str) -> Option<Event> {
        if block.starts_with(':') {
            assert!(!block.contains('\n'), "a comment and something else in one block: {block:?}");
            self.comments += 1;
            return None;
        }
        let event = parse(block).unwrap_or_else(|error| panic!("{error} in {block:?}"));
        wire::check_event(&event).unwrap_or_else(|error| panic!("{error} in {block}"));
        if let Some(last) = self.seen.last() {
            assert!(last.kind != "done", "after done came {block}");
            assert!(last.seq < event.seq, "seq does not grow: {} and then {block}", last.seq);
            assert_eq!(last.data["turn_id"], event.data["turn_id"], "two turns in one stream: {block}");
        }
        self.seen.push(event.clone());
        Some(event)
    }
}

/// Exactly `id:`, `event:` and `data:`, in this order, and in agreement with the data.
fn parse(block: &str) -> Result<Event, String> {
    let mut lines = block.lines();
    let mut field = |name: &str| {
        let line = lines.next().ok_or_else(|| format!("no {name}"))?;
        line.strip_prefix(name)
            .and_then(|rest| rest.strip_prefix(": "))
            .ok_or_else(|| format!("{line:?} is not {name}"))
    };
    let id = field("id")?;
    let kind = field("event")?;
    let data: Value = serde_json::from_str(field("data")?).map_err(|error| error.to_string())?;
    if let Some(more) = lines.next() {
        return Err(format!("{more:?} is one line too many"));
    }
    let seq = id.parse().map_err(|_| format!("id {id:?} is not a number"))?;
    if data["seq"] != seq {
        return Err(format!("id {seq}, but seq {}", data["seq"]));
    }
    if data["type"] != kind {
        return Err(format!("event {kind}, but type {}", data["type"]));
    }
    Ok(Event { seq, kind: kind.to_owned(), data })
}

fn find(haystack: &[u8], needle: &[u8]) -> Option<usize> {
    haystack.windows(needle.len()).position(|window| window == needle)
}
