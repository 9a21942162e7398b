//! The wires that the fake speaks: their paths, the checks of a request, and the bytes of a reply.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::reply::{self, Act, Head};
use super::script::Step;
use super::{gemini, history, messages, responses, rules, workers_ai};

/// A provider's wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wire {
    /// OpenAI's Chat Completions.
    Chat,
    /// OpenAI's Responses.
    Responses,
    /// Anthropic's Messages.
    Messages,
    /// Google's Gemini API.
    Gemini,
    /// The requests of the stand-in for Workers AI's binding (`tests/workers_ai`).
    WorkersAi,
}

/// Why a request is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wrong {
    /// The status.
    pub status: u16,
    /// The words of the real API.
    pub message: String,
    /// OpenAI's `param`.
    pub param: Option<&'static str>,
    /// OpenAI's `code`.
    pub code: Option<&'static str>,
}

impl Wrong {
    /// A refusal of this status.
    pub fn new(status: u16, message: impl Into<String>) -> Self {
        Wrong { status, message: message.into(), param: None, code: None }
    }
}

impl From<String> for Wrong {
    fn from(message: String) -> Self {
        Wrong::new(400, message)
    }
}

/// The header fields of a request, names in lower case.
pub type Headers = BTreeMap<String, String>;

/// The bytes of a reply.
pub struct Reply {
    /// Reasoning, text and calls, up to the place where a connection may break off.
    pub body: Vec<Act>,
    /// The proper end.
    pub end: Vec<Act>,
    /// Its replacement where the provider fails in the middle.
    pub failure: Act,
}

impl Wire {
    /// The wire at this path, with this query.
    pub fn at(path: &str, query: &str) -> Option<Self> {
        match &*behind_gateway(path) {
            "/v1/chat/completions" => Some(Wire::Chat),
            "/v1/responses" => Some(Wire::Responses),
            "/v1/messages" => Some(Wire::Messages),
            "/ai/run" => Some(Wire::WorkersAi),
            // Without `alt` the real API sends one array.
            path if query == "alt=sse" && gemini_model(path).is_some() => Some(Wire::Gemini),
            _ => None,
        }
    }

    /// The refusal of the real API. `path` has the model of Gemini's.
    pub fn check(self, path: &str, headers: &Headers, body: &Value) -> Result<(), Wrong> {
        match self {
            Wire::Chat => {
                bearer(headers)?;
                history::check(body)?;
                rules::chat(body)
            }
            Wire::Responses => {
                bearer(headers)?;
                responses::check(body)?;
                rules::responses(body)
            }
            Wire::Messages => {
                messages::check(headers, body)?;
                rules::messages(body)
            }
            Wire::Gemini => {
                let model = gemini_model(&behind_gateway(path)).unwrap_or_default().to_owned();
                gemini::check(headers, &model, body)?;
                rules::gemini(&model, body)
            }
            Wire::WorkersAi => Ok(history::check(body)?),
        }
    }

    /// The place of a request in its script: its marker, and the number of replies since.
    pub fn position(self, body: &Value) -> Option<(String, usize)> {
        match self {
            Wire::Chat | Wire::WorkersAi => history::position(body),
            Wire::Responses => responses::position(body),
            Wire::Messages => messages::position(body),
            Wire::Gemini => gemini::position(body),
        }
    }

    /// The bytes of a step.
    pub fn reply(self, head: &Head<'_>, step: &Step) -> Reply {
        match self {
            Wire::Chat => {
                let failure =
                    json!({ "error": { "message": "Overloaded", "type": "server_error", "code": 503 } });
                Reply {
                    body: reply::body(head, step),
                    end: reply::end(head, step),
                    failure: Act::Send(format!("data: {failure}\n\n").into()),
                }
            }
            Wire::Responses => responses::reply(head, step),
            Wire::Messages => messages::reply(head, step),
            Wire::Gemini => gemini::reply(head, step),
            Wire::WorkersAi => workers_ai::reply(head, step),
        }
    }

    /// The body of a refusal.
    pub fn refusal(self, Wrong { status, message, param, code }: &Wrong) -> Value {
        let mut body = self.error(*status, message);
        if matches!(self, Wire::Chat | Wire::Responses) {
            body["error"]["param"] = json!(param);
            body["error"]["code"] = json!(code);
        }
        body
    }

    /// The body of an error.
    pub fn error(self, status: u16, message: &str) -> Value {
        let kind = match (self, status) {
            (Wire::Messages, 401) => "authentication_error",
            (Wire::Messages, 429) => "rate_limit_error",
            (Wire::Messages, 529) => "overloaded_error",
            (Wire::Messages, 500..) => "api_error",
            (Wire::Gemini, 401 | 403) => "UNAUTHENTICATED",
            (Wire::Gemini, 429) => "RESOURCE_EXHAUSTED",
            (Wire::Gemini, 500..) => "UNAVAILABLE",
            (Wire::Gemini, _) => "INVALID_ARGUMENT",
            (_, 500..) => "server_error",
            _ => "invalid_request_error",
        };
        match self {
            Wire::Chat | Wire::Responses => reply::error(message, kind),
            Wire::Messages => json!({ "type": "error", "error": { "type": kind, "message": message } }),
            Wire::Gemini => json!({ "error": { "code": status, "message": message, "status": kind } }),
            // <https://developers.cloudflare.com/workers-ai/platform/errors/>
            Wire::WorkersAi => match status {
                401 => json!({ "error": "AiError: 3041: Invalid credentials" }),
                429 | 500.. => {
                    json!({ "error": "AiError: 3040: Capacity temporarily exceeded, please try again." })
                }
                _ => json!({ "error": format!("AiError: 5004: {message}") }),
            },
        }
    }
}

/// The provider's own path of one behind a gateway: `/gateway/openai/responses` is `/v1/responses` of OpenAI.
fn behind_gateway(path: &str) -> Cow<'_, str> {
    let Some(rest) = path.strip_prefix("/gateway/") else { return path.into() };
    match rest.split_once('/') {
        Some(("openai", rest)) => format!("/v1/{rest}").into(),
        Some(("anthropic" | "google-ai-studio", rest)) => format!("/{rest}").into(),
        _ => path.into(),
    }
}

fn gemini_model(path: &str) -> Option<&str> {
    let model = path.strip_prefix("/v1beta/models/")?.strip_suffix(":streamGenerateContent")?;
    Some(model).filter(|model| !model.is_empty())
}

fn bearer(headers: &Headers) -> Result<(), Wrong> {
    let key = headers.get("authorization").and_then(|value| value.strip_prefix("Bearer "));
    match key {
        Some(key) if !key.is_empty() => Ok(()),
        _ => Err(Wrong::new(401, "You didn't provide an API key.")),
    }
}

/// A provider's signature of its reasoning: only the provider can make it, and it fits this text alone.
pub fn seal(reasoning: &str) -> String {
    let digest = reasoning.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |digest, byte| {
        (digest ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
    });
    format!("sealed{digest:016x}==")
}

/// The first member of an object that the API does not know.
pub fn unknown<'a>(value: &'a Value, known: &[&str]) -> Option<&'a str> {
    value.as_object()?.keys().map(String::as_str).find(|name| !known.contains(name))
}

/// Whether this may be the name of a tool.
pub fn is_name(name: &str) -> bool {
    let allowed = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    !name.is_empty() && name.len() <= 64 && name.chars().all(allowed)
}
