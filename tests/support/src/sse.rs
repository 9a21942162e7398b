//! A strict reader of the service's event streams: it fails a test where a lenient client would go on.

use std::time::Duration;

use serde_json::Value;

use crate::Client;
use crate::http::Reply;
use crate::{story, wire};

/// How long a test waits for the next event. Every event comes far sooner; this turns a stream that hangs into a
/// failure that shows the events so far.
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

/// Bytes to events.
#[derive(Default)]
pub struct Reader {
    buffer: Vec<u8>,
    seen: Vec<Event>,
    comments: usize,
    /// Whether the last block is the comment that ends the stream of a parked turn.
    parked: bool,
}

impl Reader {
    /// The next event, once it is complete; `Err` describes how the wire was broken.
    pub fn next_event(&mut self) -> Result<Option<Event>, String> {
        while let Some(end) = self.buffer.windows(2).position(|pair| pair == b"\n\n") {
            let block: Vec<u8> = self.buffer.drain(..end + 2).collect();
            let block = String::from_utf8(block).map_err(|error| error.to_string())?;
            let block = block.trim_end_matches('\n');
            if block.starts_with(':') && !block.contains('\n') {
                self.comments += 1;
                self.parked = block == ": parked";
                continue;
            }
            self.parked = false;
            let event = self.take(block).map_err(|error| format!("{error} in {block}"))?;
            self.seen.push(event.clone());
            return Ok(Some(event));
        }
        Ok(None)
    }

    fn take(&self, block: &str) -> Result<Event, String> {
        let event = parse(block)?;
        wire::check_event(&event)?;
        let Some(last) = self.seen.last() else { return Ok(event) };
        if last.seq >= event.seq {
            return Err(format!("seq does not grow after {}", last.seq));
        }
        // A turn goes from its `session` to its `done`, or is one event where the service keeps no others.
        let over = last.kind == "done" || last.data.get("resumed").is_some();
        match (over, last.data["turn_id"] == event.data["turn_id"]) {
            (true, false) if event.kind == "session" => Ok(event),
            (true, _) => Err("something after done".into()),
            (false, true) => Ok(event),
            (false, false) => Err("another turn".into()),
        }
    }

    /// More bytes, split wherever the network likes.
    pub fn push(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }
}

/// Exactly `id:`, `event:` and `data:`, in this order, and in agreement with the data.
fn parse(block: &str) -> Result<Event, String> {
    let mut lines = block.lines();
    let mut field = |name: &str| {
        let line = lines.next().ok_or_else(|| format!("no {name}"))?;
        let value = line.strip_prefix(name).and_then(|rest| rest.strip_prefix(": "));
        value.ok_or_else(|| format!("{line:?} is not {name}"))
    };
    let id = field("id")?;
    let kind = field("event")?;
    let data: Value = serde_json::from_str(field("data")?).map_err(|error| error.to_string())?;
    if let Some(more) = lines.next() {
        return Err(format!("{more:?} is one line too many"));
    }
    let seq: u64 = id.parse().map_err(|_| format!("id {id:?} is not a number"))?;
    if data["seq"] != seq {
        return Err(format!("id {seq}, but seq {}", data["seq"]));
    }
    if data["type"] != kind {
        return Err(format!("event {kind}, but type {}", data["type"]));
    }
    Ok(Event { seq, kind: kind.to_owned(), data })
}

/// A stream of events, live.
pub struct EventStream {
    reply: Reply,
    reader: Reader,
    back: Option<Back>,
}

/// How a client returns to a stream that ended because its turn is parked.
struct Back {
    client: Client,
    /// None: the thread of the stream's `session`.
    thread_id: Option<String>,
    after: u64,
}

impl EventStream {
    /// Reads this answer as a stream.
    pub async fn open(reply: Reply) -> Self {
        let reply = reply.expect(200).await;
        let kind = reply.header("content-type");
        assert!(kind.starts_with("text/event-stream"), "content-type: {kind}");
        Self { reply, reader: Reader::default(), back: None }
    }

    /// Returns to the stream when a parked turn goes on, as a client does.
    pub fn following(mut self, client: &Client, thread_id: Option<&str>, after: u64) -> Self {
        self.back = Some(Back { client: client.clone(), thread_id: thread_id.map(str::to_owned), after });
        self
    }

    /// Whether its last line tells that its turn is parked.
    pub fn is_parked(&self) -> bool {
        self.reader.parked
    }

    /// The stream from here on, once the service opens it. `None`: there is no further event.
    async fn again(&self) -> Option<Reply> {
        let back = self.back.as_ref()?;
        let session = self.seen().iter().find_map(|event| event.data["thread_id"].as_str());
        let thread = back.thread_id.as_deref().or(session)?;
        let after = self.seen().last().map_or(back.after, |event| event.seq);
        loop {
            let reply = back.client.get(&format!("/api/threads/{thread}/stream?after={after}")).await;
            match (reply.status, reply.header("retry-after")) {
                (204, "") | (404, _) => return None,
                // Sooner than the service says: the answer comes from this test.
                (204, _) => tokio::time::sleep(Duration::from_millis(100)).await,
                _ => return Some(reply.expect(200).await),
            }
        }
    }

    /// The next event, or `None` when the server ended the stream.
    pub async fn next(&mut self) -> Option<Event> {
        loop {
            match self.reader.next_event() {
                Ok(Some(event)) => return Some(event),
                Ok(None) => {}
                Err(error) => panic!("{error}\nafter:\n{}", self.so_far()),
            }
            match tokio::time::timeout(PATIENCE, self.reply.read()).await {
                Err(_) => panic!("no event for {PATIENCE:?} after:\n{}", self.so_far()),
                Ok(Ok(Some(bytes))) => self.reader.push(&bytes),
                Ok(Ok(None)) => {
                    let rest = String::from_utf8_lossy(&self.reader.buffer);
                    assert!(rest.is_empty(), "half an event: {rest:?}");
                    if !self.is_parked() {
                        return None;
                    }
                    let Ok(again) = tokio::time::timeout(PATIENCE, self.again()).await else {
                        panic!("no event for {PATIENCE:?} after:\n{}", self.so_far());
                    };
                    self.reply = again?;
                }
                Ok(Err(error)) => panic!("the stream broke ({error}) after:\n{}", self.so_far()),
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
        panic!("the stream ended without the event that was waited for:\n{}", self.so_far());
    }

    /// Reads to the end. Returns all events of this stream since it was opened.
    pub async fn rest(mut self) -> Vec<Event> {
        while self.next().await.is_some() {}
        self.reader.seen
    }

    /// Reads a turn to its end, from its first event on, and checks the rules that hold for every turn.
    pub async fn turn(self) -> Vec<Event> {
        let events = self.rest().await;
        wire::check_turn(&events).unwrap_or_else(|error| panic!("{error}\n{}", story(&events).join("\n")));
        events
    }

    /// The events so far.
    pub fn seen(&self) -> &[Event] {
        &self.reader.seen
    }

    /// Comment lines, which keep connections alive.
    pub fn comments(&self) -> usize {
        self.reader.comments
    }

    fn so_far(&self) -> String {
        story(self.seen()).join("\n")
    }
}
