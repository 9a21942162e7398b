//! Requests to a service that dies in the middle of them.

use std::time::Duration;

use espalier_test_support::http::{Reply, try_send};
use espalier_test_support::{Event, Value, wire};

/// How long the header of an answer may take before the client gives the connection up.
const PATIENCE: Duration = Duration::from_secs(8);

/// A user.
#[derive(Clone)]
pub struct User {
    pub url: String,
    /// The header that says who it is, and its value.
    pub credential: (&'static str, String),
}

impl User {
    /// A request; `None` when the connection failed.
    pub async fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &Value,
    ) -> Option<Reply> {
        let (name, value) = &self.credential;
        let mut all = vec![(*name, value.as_str()), ("content-type", "application/json")];
        all.extend_from_slice(headers);
        let body = if method == "GET" { String::new() } else { body.to_string() };
        let url = format!("{}{path}", self.url);
        tokio::time::timeout(PATIENCE, try_send(method, &url, &all, body)).await.ok()?.ok()
    }
}

/// The events of a stream.
pub enum Next {
    Event(Box<Event>),
    /// The stream ended because its turn waits for somebody.
    Parked,
    /// The stream ended, or its connection broke.
    Over,
    /// The stream was silent for long.
    Silent,
    /// The stream broke the protocol.
    Wrong(String),
}

/// An open event stream.
pub struct Stream {
    /// None after the client went away.
    reply: Option<Reply>,
    buffer: Vec<u8>,
    parked: bool,
    /// The last event that the client said it has, by its number.
    pub cursor: u64,
}

impl Stream {
    pub fn new(reply: Reply, cursor: u64) -> Self {
        Stream { reply: Some(reply), buffer: Vec::new(), parked: false, cursor }
    }

    /// Closes the connection: the client goes away.
    pub fn cut(&mut self) {
        self.reply = None;
    }

    pub async fn next(&mut self, patience: Duration) -> Next {
        loop {
            if let Some(end) = self.buffer.windows(2).position(|pair| pair == b"\n\n") {
                let block: Vec<u8> = self.buffer.drain(..end + 2).collect();
                self.parked = block == b": parked\n\n";
                if block.starts_with(b":") {
                    continue;
                }
                return parse(&block).map_or_else(Next::Wrong, |event| Next::Event(Box::new(event)));
            }
            let Some(reply) = &mut self.reply else { return Next::Over };
            match tokio::time::timeout(patience, reply.read()).await {
                Ok(Ok(Some(bytes))) => self.buffer.extend_from_slice(&bytes),
                Ok(Ok(None)) if self.parked => return Next::Parked,
                Ok(Ok(None) | Err(_)) => return Next::Over,
                Err(_) => return Next::Silent,
            }
        }
    }
}

fn parse(block: &[u8]) -> Result<Event, String> {
    let block = String::from_utf8_lossy(block).into_owned();
    let field = |name: &str| {
        let mut lines = block.lines();
        lines.find_map(|line| line.strip_prefix(name)).ok_or_else(|| format!("no {name} in {block}"))
    };
    let data: Value =
        serde_json::from_str(field("data: ")?).map_err(|error| format!("{error} in {block}"))?;
    let seq: u64 = field("id: ")?.parse().map_err(|_| format!("no number in {block}"))?;
    let event = Event { seq, kind: field("event: ")?.to_owned(), data };
    wire::check_event(&event).map_err(|error| format!("{error} in {block}"))?;
    Ok(event)
}
