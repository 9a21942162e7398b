//! OpenAI's two APIs: Chat Completions and Responses (`openai` 7 of npm, 3 of PyPI). docs/clients.md describes what a
//! client may rely on.

mod chat;
mod encoder;
mod messages;
mod request;
mod responses;
mod schema;
mod text;

use serde_json::Value;
use wire::protocol::ApiError;

use crate::given::object;
use crate::ids::{self, Place};

pub use encoder::Encoder;
pub use request::{Sent, Wants};
pub use schema::{CompletionBody, ResponseBody};

/// The prefixes of our ids: of answers, of calls of the client, and of questions to a person.
const COMPLETION: &str = "chatcmpl";
const RESPONSE: &str = "resp";
const CALL: &str = "call";
const QUESTION: &str = "mcpr";

/// The end of the id of an answer in the background: later readers have the id alone, and are told so too.
const BACKGROUND: &str = "b";

/// The place of an answer, by its id, and whether it is one in the background.
pub fn response(id: &str) -> Result<(Place, bool), ApiError> {
    let marked = id.strip_suffix(BACKGROUND);
    let read = ids::read(RESPONSE, marked.unwrap_or(id)).ok_or_else(request::no_response);
    read.map(|(place, _)| (place, marked.is_some()))
}

/// The body of an error. `code` is ours.
pub fn error(status: u16, code: &str, message: &str, param: Option<&str>) -> Value {
    let kind = match status {
        401 => "authentication_error",
        403 => "permission_error",
        429 => "rate_limit_error",
        500.. => "server_error",
        _ => "invalid_request_error",
    };
    object! { "error": object! { "message": message, "type": kind, "param": param, "code": code } }
}

#[cfg(test)]
mod tests;
