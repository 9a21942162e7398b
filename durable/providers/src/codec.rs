//! What a provider's wire is to the rest: a request becomes bytes, bytes become [`ModelEvent`]s. No I/O.

use wire::http::HttpRequest;
use wire::model::{Message, ModelError, ModelErrorKind, ModelEvent, ModelRequest};
use wire::redact::Secret;

use super::failure::protocol;
use wire::sse::{SseDecoder, SseEvent};

/// Text, reasoning and arguments of one reply, in bytes. A reply is one row of the journal, text and raw message
/// both, escaped as JSON, and SQLite in a Durable Object takes rows of 2 MB:
/// <https://developers.cloudflare.com/durable-objects/platform/limits/>. It is about 130 000 tokens.
pub const MAX_REPLY_BYTES: usize = 512 * 1024;

/// One event: a whole reply may come in it (servers that do not really stream), escaped and with its frame.
pub(super) const MAX_EVENT_BYTES: usize = 4 * MAX_REPLY_BYTES;

/// Calls of one reply. OpenAI accepts as many in a message; no sane reply comes near.
pub(super) const MAX_CALLS: usize = 128;

/// A provider's wire.
pub trait Codec {
    /// The request as the provider wants it. Fails on nothing but what no provider could be told.
    fn encode(&self, request: &ModelRequest) -> Result<HttpRequest, ModelError>;
    /// A decoder for the answer to `request`.
    fn decoder(&self, request: &ModelRequest) -> Box<dyn Decoder>;
    /// What an answer that is no stream means. The body classifies the error and goes no further.
    fn refusal(&self, status: u16, body: &[u8]) -> ModelError;
}

/// Reads the body of a successful answer, in whatever pieces it comes. After an error it must not be fed again.
pub trait Decoder {
    /// Adds what these bytes complete to `events`, which keeps what came before an error. Bytes after the end of the
    /// reply are ignored.
    fn feed(&mut self, bytes: &[u8], events: &mut Vec<ModelEvent>) -> Result<(), ModelError>;
    /// The body has ended. A reply without its terminator is an error, not an answer.
    fn finish(&mut self, events: &mut Vec<ModelEvent>) -> Result<(), ModelError>;
}

/// A reply that comes as an event stream, as far as it was read.
pub(super) trait Reading {
    /// Takes an event in. What is given back goes on; nothing, where the event completed the reply.
    fn take(
        self: Box<Self>,
        event: SseEvent<'_>,
        events: &mut Vec<ModelEvent>,
    ) -> Result<Option<Box<Self>>, ModelError>;

    /// The stream ended in the middle of it. An error, unless the wire lets a reply end so.
    fn cut(self: Box<Self>, _events: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        Err(cut())
    }
}

/// A stream that ended in the middle of its reply.
pub(super) fn cut() -> ModelError {
    protocol("The model provider's stream ended before the reply was complete.")
}

/// Decodes one reply from an event stream. What comes after its end says nothing.
pub(super) struct EventStream<R> {
    sse: SseDecoder,
    /// None once it is complete.
    reply: Option<Box<R>>,
}

impl<R: Reading> EventStream<R> {
    pub fn new(reply: R) -> Self {
        EventStream { sse: SseDecoder::new(MAX_EVENT_BYTES), reply: Some(Box::new(reply)) }
    }
}

impl<R: Reading> Decoder for EventStream<R> {
    fn feed(&mut self, bytes: &[u8], events: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        if self.reply.is_none() {
            return Ok(());
        }
        let slot = &mut self.reply;
        self.sse.feed(bytes, |event| {
            if let Some(reply) = slot.take() {
                *slot = reply.take(event, events)?;
            }
            Ok(())
        })
    }

    fn finish(&mut self, events: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        self.reply.take().map_or(Ok(()), |reply| reply.cut(events))
    }
}

/// The address below a base URL, whose query stays at the end.
pub(super) fn address(base_url: &str, path: &str) -> String {
    let (base, query) = base_url.split_at(base_url.find('?').unwrap_or(base_url.len()));
    format!("{}{path}{query}", base.trim_end_matches('/'))
}

/// Calls in the conversation so far. Ids that a decoder makes up go on where they end, so none is used twice in one
/// request.
pub(super) fn calls_in(request: &ModelRequest) -> usize {
    let calls = request.messages.iter().map(|message| match &**message {
        Message::Assistant { tool_calls, .. } => tool_calls.len(),
        Message::User { .. } | Message::Tool { .. } => 0,
    });
    calls.sum()
}

/// Gives an id to each call that has none of its own. `first` is the number that made-up ids begin with.
pub(super) fn name_calls(ids: &mut [&mut String], first: usize) {
    let mut made_up = first;
    for place in 0..ids.len() {
        let (before, rest) = ids.split_at_mut(place);
        let Some((id, after)) = rest.split_first_mut() else { break };
        // Results are matched by id: two calls of one reply must not share one.
        while id.is_empty() || before.iter().any(|other| other == id) {
            **id = format!("call_{made_up}");
            made_up += 1;
            if after.iter().any(|other| other == id) {
                id.clear();
            }
        }
    }
}

/// The headers of a JSON request that is answered by a stream.
pub(super) fn headers(key: Option<&Secret>) -> Vec<(&'static str, String)> {
    let mut headers =
        vec![("content-type", "application/json".to_string()), ("accept", "text/event-stream".to_string())];
    headers.extend(key.map(|key| ("authorization", format!("Bearer {}", key.reveal()))));
    headers
}

/// The request cannot be written.
pub(super) fn unwritable(_: serde_json::Error) -> ModelError {
    let message = "The request to the model cannot be written as JSON.".into();
    ModelError { kind: ModelErrorKind::BadRequest, message }
}
