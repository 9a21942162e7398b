//! The interface of a codec: it turns a request into bytes, and bytes into [`ModelEvent`]s. No I/O.

use std::rc::Rc;

use serde_json::value::RawValue;
use sha2::{Digest, Sha256};

use wire::http::HttpRequest;
use wire::model::{Message, ModelError, ModelErrorKind, ModelEvent, ModelRequest};
use wire::redact::Secret;

use super::accumulator::{Accumulator, Reading, Stream};
use super::failure::{error_in_answer, error_in_stream, protocol, too_large};
use wire::sse::{SseDecoder, SseEvent};
use wire::surrogates::marked;

#[cfg(test)]
mod tests;

/// Text, reasoning and arguments of one reply, in bytes. A reply is one row of the journal, text and raw message
/// both, escaped as JSON, and SQLite in a Durable Object takes rows of 2 MB:
/// <https://developers.cloudflare.com/durable-objects/platform/limits/>. It is about 130 000 tokens.
pub const MAX_REPLY_BYTES: usize = 512 * 1024;

/// The largest event. A server that does not really stream sends a whole reply in one event, escaped and framed.
pub(super) const MAX_EVENT_BYTES: usize = 4 * MAX_REPLY_BYTES;

/// The most calls of a reply: the limit that OpenAI has for a message.
pub(super) const MAX_CALLS: usize = 128;

/// The codec of a provider's API.
pub trait Codec {
    /// Encodes a request for the provider. Fails only if the request cannot be written as JSON.
    fn encode(&self, request: &ModelRequest) -> Result<HttpRequest, ModelError>;
    /// Makes a decoder for the reply to `request`.
    fn decoder(&self, request: &ModelRequest) -> Box<dyn Decoder>;
    /// Classifies a refusal by its status and body. The error does not quote the body.
    fn refusal(&self, status: u16, body: &[u8]) -> ModelError;
}

/// Decodes the body of a successful response, piece by piece. The caller must stop feeding it after an error.
pub trait Decoder {
    /// Adds the events that these bytes complete to `events`, including those before an error. Ignores bytes after the
    /// end of the reply.
    fn feed(&mut self, bytes: &[u8], events: &mut Vec<ModelEvent>) -> Result<(), ModelError>;
    /// Whether a call of the reply has begun. Text and reasoning have events of their own; calls come with the end of the
    /// reply.
    fn has_call(&self) -> bool;
    /// Ends the body. A reply without its terminator is an error.
    fn finish(&mut self, events: &mut Vec<ModelEvent>) -> Result<(), ModelError>;
}

/// The error for a stream that ended in the middle of its reply.
pub(super) fn cut() -> ModelError {
    protocol("The model provider's stream ended before the reply was complete.")
}

/// Decodes one reply from an event stream, and ignores the rest of the stream.
pub(super) struct EventStream<R> {
    body: Body,
    /// Whether the body has begun: blanks before it say nothing.
    has_begun: bool,
    reply: Accumulator,
    /// The codec's own part of the reply; none once the reply is complete.
    own: Option<R>,
}

/// The form of a body. A server that does not stream sends a whole reply as JSON.
enum Body {
    Stream(SseDecoder),
    Json(Vec<u8>),
}

impl<R: Reading> EventStream<R> {
    /// The decoder of the reply to a request.
    pub fn for_request(request: &ModelRequest) -> Self {
        EventStream {
            body: Body::Stream(SseDecoder::new(MAX_EVENT_BYTES)),
            has_begun: false,
            reply: Accumulator::for_request(request, R::WIRE),
            own: Some(R::default()),
        }
    }

    /// Reads with the caller's list of events as that of the reply.
    fn with(
        &mut self,
        events: &mut Vec<ModelEvent>,
        read: impl FnOnce(&mut Self) -> Result<(), ModelError>,
    ) -> Result<(), ModelError> {
        std::mem::swap(&mut self.reply.events, events);
        let result = read(self);
        if result.is_err() {
            self.reply.end_texts();
        }
        std::mem::swap(&mut self.reply.events, events);
        result
    }

    fn read(&mut self, bytes: &[u8]) -> Result<(), ModelError> {
        // No line of an event stream begins with a bracket, but JSON does.
        if !self.has_begun
            && let Some(first) = bytes.trim_ascii_start().first()
        {
            self.has_begun = true;
            if b"{[".contains(first) {
                self.body = Body::Json(Vec::new());
            }
        }
        let EventStream { body, reply, own, .. } = self;
        match body {
            Body::Json(json) if json.len().saturating_add(bytes.len()) > MAX_EVENT_BYTES => Err(too_large()),
            Body::Json(json) => {
                json.extend_from_slice(bytes);
                Ok(())
            }
            Body::Stream(sse) => sse.feed(bytes, |event| take(own, reply, event)),
        }
    }

    /// Reads a body that is JSON: one event, or a list of them.
    fn read_whole(&mut self, json: &[u8]) -> Result<(), ModelError> {
        if let Some(error) = error_in_answer(json) {
            return Err(error);
        }
        let json = String::from_utf8_lossy(json);
        let json = json.trim_ascii();
        let list = match json.starts_with('[') {
            true => wire::json::from_str::<Vec<&RawValue>>(json),
            false => wire::json::from_str(json).map(|value| vec![value]),
        };
        let list = list.ok().filter(|list| list.iter().all(|value| value.get().starts_with('{')));
        for data in list.ok_or_else(cut)?.into_iter().map(RawValue::get).chain(["[DONE]"]) {
            take(&mut self.own, &mut self.reply, SseEvent { event: "", data, last_id: "" })?;
        }
        Ok(())
    }
}

/// Gives an event to the reply, if that is not complete.
fn take<R: Reading>(
    own: &mut Option<R>,
    reply: &mut Accumulator,
    event: SseEvent<'_>,
) -> Result<(), ModelError> {
    let Some(reading) = own else { return Ok(()) };
    let data = marked(event.data.trim_ascii());
    let sse = SseEvent { data: &data, ..event };
    let stream = match sse.data {
        data if sse.event == "error" => return Err(error_in_stream(data)),
        "[DONE]" if R::DONE_COMPLETES || reply.finish.is_some() => Stream::Ends,
        // Gateways send comments as data.
        data if !data.starts_with('{') => Stream::GoesOn,
        data => match reply.read(data)? {
            Some(event) => reading.take(event, sse, reply)?,
            None => Stream::GoesOn,
        },
    };
    reply.check_size()?;
    match stream {
        Stream::GoesOn => Ok(()),
        Stream::Ends => own.take().map_or(Ok(()), |own| reply.complete(own)),
    }
}

impl<R: Reading> Decoder for EventStream<R> {
    fn feed(&mut self, bytes: &[u8], events: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        if self.own.is_none() {
            return Ok(());
        }
        self.with(events, |stream| stream.read(bytes))
    }

    fn has_call(&self) -> bool {
        self.own.is_some() && self.reply.has_call
    }

    fn finish(&mut self, events: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        self.with(events, |stream| {
            if let Body::Json(json) = std::mem::replace(&mut stream.body, Body::Json(Vec::new()))
                && !json.is_empty()
            {
                stream.read_whole(&json)?;
            }
            match stream.own.take() {
                // A reason to stop completes a reply whose server leaves out the end of its API.
                Some(own) if stream.reply.finish.is_some() => stream.reply.complete(own),
                Some(_) => Err(cut()),
                None => Ok(()),
            }
        })
    }
}

/// Appends a path to a base URL and keeps its query at the end.
pub(super) fn address(base_url: &str, path: &str) -> String {
    let (base, query) = base_url.split_at(base_url.find('?').unwrap_or(base_url.len()));
    format!("{}{path}{query}", base.trim_end_matches('/'))
}

/// The number of calls in the conversation. The decoder numbers its made-up ids from here on, so ids stay unique in a
/// request.
pub(super) fn calls_in(request: &ModelRequest) -> usize {
    let calls = request.messages.iter().map(|message| match &**message {
        Message::Assistant { tool_calls, .. } => tool_calls.len(),
        Message::User { .. } | Message::Tool { .. } => 0,
    });
    calls.sum()
}

/// The cache key of a conversation ([`ModelRequest::cache_key`]): a digest, so that a provider learns no id of ours.
/// OpenAI takes up to 64 characters.
pub fn cache_key(conversation: &str) -> Rc<str> {
    let digest = Sha256::digest(format!("prompt cache of {conversation}"));
    digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect::<String>().into()
}

/// The headers of a JSON request whose response is a stream.
pub(super) fn headers(key: Option<&Secret>) -> Vec<(&'static str, String)> {
    let mut headers =
        vec![("content-type", "application/json".to_string()), ("accept", "text/event-stream".to_string())];
    headers.extend(key.map(|key| ("authorization", format!("Bearer {}", key.reveal()))));
    headers
}

/// The error for a request that cannot be written as JSON.
pub(super) fn unwritable(_: serde_json::Error) -> ModelError {
    ModelError::new(ModelErrorKind::BadRequest, "The request to the model cannot be written as JSON.")
}
