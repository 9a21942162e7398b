//! OpenAI's two APIs: Chat Completions and Responses (`openai` 7 of npm, 3 of PyPI). docs/clients.md describes what a
//! client may rely on.

mod chat;
mod conversation;
mod encoder;
mod form;
mod messages;
mod request;
mod responses;
mod schema;
mod shape;
mod text;

use wire::protocol::ApiError;

use crate::ids::{self, Place};
use crate::template::{Hole, fill, filled, separate};

pub use encoder::Encoder;
pub use request::{Sent, Wants};
pub use schema::{CompletionBody, ResponseBody};
pub use shape::names as shape_names;

/// The prefixes of our ids: of answers, of calls of the client, and of questions to a person.
const COMPLETION: &str = "chatcmpl";
const RESPONSE: &str = "resp";
const CALL: &str = "call";
const QUESTION: &str = "mcpr";
/// The prefixes of our ids of items: of texts, of calls of the client, and of calls that the service carries out.
const MESSAGE: &str = "msg";
const REASONING: &str = "rs";
const FUNCTION: &str = "fc";
const MCP: &str = "mcp";

/// The end of the id of an answer in the background: later readers have the id alone, and are told so too.
const BACKGROUND: &str = "b";

/// The place of an answer, by its id, and whether it is one in the background.
pub fn response(id: &str) -> Result<(Place, bool), ApiError> {
    let marked = id.strip_suffix(BACKGROUND);
    let read = ids::read(RESPONSE, marked.unwrap_or(id)).ok_or_else(request::no_response);
    read.map(|(place, _)| (place, marked.is_some()))
}

/// The list of `GET /v1/models`, as JSON.
#[derive(Default)]
pub struct Models(Vec<u8>);

impl Models {
    pub fn add(&mut self, id: &str) {
        separate(&mut self.0);
        let model = r#"{"created":0,"id":$,"object":"model","owned_by":"espalier"}"#;
        fill(model, &[Hole::Text(id)], &mut self.0);
    }

    pub fn list(&self) -> Vec<u8> {
        filled(r#"{"data":[$],"object":"list"}"#, &[Hole::Json(&self.0)])
    }
}

/// The body of an error, as JSON. `code` is ours.
pub fn error(status: u16, code: &str, message: &str, param: Option<&str>) -> Vec<u8> {
    let kind = match status {
        401 => "authentication_error",
        403 => "permission_error",
        429 => "rate_limit_error",
        500.. => "server_error",
        _ => "invalid_request_error",
    };
    let [code, message, kind] = [code, message, kind].map(Hole::Text);
    let param = param.map_or(Hole::NULL, Hole::Text);
    filled(r#"{"error":{"code":$,"message":$,"param":$,"type":$}}"#, &[code, message, param, kind])
}

#[cfg(test)]
mod tests;
