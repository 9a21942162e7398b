//! Reads the body of a reply, a JSON message or an event stream, piece by piece.

use serde_json::value::RawValue;

use super::message::{Incoming, Progress, RpcError};
use wire::sse::{SseDecoder, SseError};
use wire::surrogates::without_lone;

/// The most bytes of a reply. An image of about 3 MB fits; the model gets a description of it.
pub const MAX_BYTES: usize = 4 * 1024 * 1024;
/// The most messages of a reply.
const MAX_MESSAGES: usize = 10_000;

/// A message of a server.
#[derive(Debug)]
pub enum ServerMessage {
    /// The response to the request.
    Answer(Result<Box<RawValue>, RpcError>),
    /// The progress of the request.
    Progress(Progress),
    /// Its tools, resources or prompts have changed.
    Changed,
    /// A request of the server.
    Asked { id: Box<RawValue>, method: String },
}

/// Why the reader cannot read on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unreadable {
    TooLarge,
    NotJson,
}

impl From<SseError> for Unreadable {
    fn from(SseError::TooLarge: SseError) -> Self {
        Unreadable::TooLarge
    }
}

/// Reads one reply. The caller must stop feeding it after an error.
pub struct Reader {
    /// The request's id.
    id: u64,
    form: Form,
    bytes: usize,
    messages: usize,
}

enum Form {
    Json(Vec<u8>),
    Stream(SseDecoder),
}

impl Reader {
    /// None for any other content type.
    pub fn new(id: u64, content_type: &str) -> Option<Self> {
        let media_type = content_type.split(';').next().unwrap_or_default().trim();
        let form = match media_type.to_ascii_lowercase().as_str() {
            "application/json" => Form::Json(Vec::new()),
            "text/event-stream" => Form::Stream(SseDecoder::new(MAX_BYTES)),
            _ => return None,
        };
        Some(Reader { id, form, bytes: 0, messages: 0 })
    }

    /// Reads the next bytes.
    pub fn feed(&mut self, bytes: &[u8], heard: &mut Vec<ServerMessage>) -> Result<(), Unreadable> {
        self.bytes = self.bytes.saturating_add(bytes.len());
        if self.bytes > MAX_BYTES {
            return Err(Unreadable::TooLarge);
        }
        let (id, messages) = (self.id, &mut self.messages);
        match &mut self.form {
            Form::Json(body) => {
                body.extend_from_slice(bytes);
                Ok(())
            }
            Form::Stream(stream) => stream.feed(bytes, |event| {
                // The first event of a stream may have only an id, for a resumption.
                if event.data.trim().is_empty() {
                    return Ok(());
                }
                *messages += 1;
                if *messages > MAX_MESSAGES {
                    return Err(Unreadable::TooLarge);
                }
                take(id, event.data.as_bytes(), heard)
            }),
        }
    }

    /// The body has ended.
    pub fn finish(&mut self, heard: &mut Vec<ServerMessage>) -> Result<(), Unreadable> {
        match &self.form {
            Form::Json(body) => take(self.id, body, heard),
            Form::Stream(_) => Ok(()),
        }
    }

    /// The id and the wait with which the client can resume a cut stream.
    pub fn resumption(&self) -> Option<(String, Option<u64>)> {
        let Form::Stream(stream) = &self.form else { return None };
        let after = stream.resumes_after();
        (!after.is_empty()).then(|| (after.to_owned(), stream.retry_ms()))
    }
}

fn take(request: u64, json: &[u8], heard: &mut Vec<ServerMessage>) -> Result<(), Unreadable> {
    let message: Incoming = wire::json::from_slice(&without_lone(json)).map_err(|_| Unreadable::NotJson)?;
    let Incoming { id, method, params, result, error } = message;
    let is_ours = |id: &RawValue| id.get() == request.to_string();
    match (method, id) {
        (Some(method), Some(id)) => heard.push(ServerMessage::Asked { id, method }),
        (Some(method), None) if method.ends_with("/list_changed") => heard.push(ServerMessage::Changed),
        (Some(method), None) if method == "notifications/progress" => {
            let progress = params.and_then(|params| wire::json::from_str::<Progress>(params.get()).ok());
            heard.extend(
                progress.filter(|progress| progress.progress_token == request).map(ServerMessage::Progress),
            );
        }
        // Log messages, and unknown notifications.
        (Some(_), None) => {}
        (None, id) => match (result, error) {
            (Some(result), None) if id.as_deref().is_some_and(is_ours) => {
                heard.push(ServerMessage::Answer(Ok(result)));
            }
            // An error has no id if the server could not read the request.
            (_, Some(error)) if id.as_deref().is_none_or(is_ours) => {
                heard.push(ServerMessage::Answer(Err(error)));
            }
            // The response to another request.
            _ => {}
        },
    }
    Ok(())
}
