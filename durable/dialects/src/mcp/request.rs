//! A message of a client: the body of `POST /mcp`, checked against the headers that repeat parts of it.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::Value;

use super::{
    HEADER_MISMATCH, INVALID_PARAMS, INVALID_REQUEST, LEGACY, MODERN, NO_ID, OF_FORM, PARSE, TASKS,
    UNSUPPORTED_VERSION, error, versions,
};
use crate::by_id::ById;
use crate::given::{MAX_ANSWERS, Part, at, text};
use crate::template::Hole::{Json, Text};
use crate::template::filled;
use wire::protocol::{Decision, ErrorCode, GivenAnswer, MAX_FORM_CONTENT, MAX_JSON_VALUES, check_size};

/// The longest id of a request or token of its progress, in bytes: the thread's object gets both with the turn.
pub const MAX_ID: usize = 1_024;

const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";

/// The body of `POST /mcp`, for the API's description: a request, or a notification, which has no id.
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
#[allow(dead_code, reason = "the schema alone is used")]
pub struct MessageBody {
    #[cfg_attr(feature = "openapi", schemars(extend("const" = "2.0")))]
    jsonrpc: String,
    /// A text or an integer.
    #[cfg_attr(feature = "openapi", schemars(extend("type" = ["string", "integer"], "maxLength" = MAX_ID)))]
    id: Option<Value>,
    method: String,
    params: Option<Part>,
}

/// A message of a client.
#[derive(Debug, PartialEq)]
pub enum Message {
    Request(Request),
    /// The service needs none of them.
    Notification,
}

/// A request.
#[derive(Debug, PartialEq)]
pub struct Request {
    pub id: Value,
    pub method: String,
    pub params: Part,
    pub era: Era,
}

/// How a client speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Era {
    /// Revision 2026-07-28: each request has the client's abilities.
    Modern(Abilities),
    /// An earlier one. The abilities came with `initialize`, and nothing kept them.
    Legacy,
}

/// The client's abilities that the service has a use for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Abilities {
    /// It can show a person a form.
    pub forms: bool,
    pub tasks: bool,
}

/// The answer to a message that breaks the protocol.
#[derive(Debug, PartialEq)]
pub struct Refusal {
    pub status: u16,
    /// JSON.
    pub body: Vec<u8>,
}

impl Request {
    /// Whether the client speaks 2026-07-28.
    pub fn is_modern(&self) -> bool {
        matches!(self.era, Era::Modern(_))
    }

    pub fn abilities(&self) -> Abilities {
        match self.era {
            Era::Modern(abilities) => abilities,
            Era::Legacy => Abilities::default(),
        }
    }

    /// The token of the notifications of progress that the client wants, as JSON.
    pub fn progress(&self) -> Option<String> {
        let token = at(self.params.get("_meta")?, "progressToken");
        is_id(token).then(|| token.to_string())
    }
}

/// Reads a message. `header` gives the value of a header.
pub fn read(body: &[u8], header: impl Fn(&str) -> Option<String>) -> Result<Message, Refusal> {
    let refused = |id: &str, code, message: &str| refusal(id, code, message, b"");
    // No tree is built of too many values.
    if let Err(why) = check_size(body, MAX_JSON_VALUES)
        && why.code == ErrorCode::InvalidRequest
    {
        return Err(refused(NO_ID, INVALID_REQUEST, &why.detail));
    }
    let Ok(body) = wire::json::from_slice::<Value>(body) else {
        return Err(refused(NO_ID, PARSE, "the body is not valid JSON"));
    };
    let id = at(&body, "id").clone();
    let told = if is_id(&id) { id.to_string() } else { NO_ID.to_owned() };
    let told = told.as_str();
    let Value::Object(mut members) = body else {
        return Err(refused(NO_ID, INVALID_REQUEST, "expected one JSON-RPC message"));
    };
    let has_id = members.contains_key("id");
    if text(&members, "jsonrpc") != Some("2.0") || (has_id && told == NO_ID) {
        return Err(refused(
            told,
            INVALID_REQUEST,
            "expected JSON-RPC 2.0 with a text or an integer as its id",
        ));
    }
    let mut take = |name: &str| members.get_mut(name).map(Value::take);
    let (Some(Value::String(method)), params) = (take("method"), take("params")) else {
        return Err(refused(told, INVALID_REQUEST, "expected a request or a notification"));
    };
    let params = match params {
        None | Some(Value::Null) => Part::new(),
        Some(Value::Object(params)) => params,
        Some(_) => return Err(refused(told, INVALID_REQUEST, "params must be an object")),
    };
    let checked = era(&method, &params, header);
    let era = checked.map_err(|(code, message, data)| refusal(told, code, &message, &data))?;
    match has_id {
        true => Ok(Message::Request(Request { id, method, params, era })),
        false => Ok(Message::Notification),
    }
}

fn refusal(id: &str, code: i64, message: &str, data: &[u8]) -> Refusal {
    Refusal { status: 400, body: error(id, code, message, data) }
}

fn is_id(id: &Value) -> bool {
    match id {
        Value::String(text) => text.len() <= MAX_ID,
        id => id.is_i64() || id.is_u64(),
    }
}

/// The code, the message and the data of an error.
type Wrong = (i64, String, Vec<u8>);

/// How the client speaks. The headers of 2026-07-28 must say the same as the body.
fn era(method: &str, params: &Part, header: impl Fn(&str) -> Option<String>) -> Result<Era, Wrong> {
    let wrong = |code, message: &str| Err((code, message.to_owned(), Vec::new()));
    let meta = params.get("_meta").unwrap_or(&Value::Null);
    let (named, in_body) = (header("mcp-protocol-version"), at(meta, VERSION));
    let version = match (named.as_deref(), in_body) {
        (None, Value::Null) => return Ok(Era::Legacy),
        (Some(named), Value::Null) if LEGACY.contains(&named) => return Ok(Era::Legacy),
        (Some(named), told) if told == named || (told.is_null() && named != MODERN) => named.to_owned(),
        (Some(_), Value::Null) => return wrong(INVALID_PARAMS, &format!("_meta lacks {VERSION}")),
        _ => return wrong(HEADER_MISMATCH, "the header MCP-Protocol-Version and the body differ"),
    };
    if LEGACY.contains(&version.as_str()) {
        return Ok(Era::Legacy);
    }
    if version != MODERN {
        let data = filled(r#"{"requested":$,"supported":$}"#, &[Text(&version), Json(&versions())]);
        return Err((UNSUPPORTED_VERSION, "Unsupported protocol version".to_owned(), data));
    }
    if header("mcp-method").as_deref() != Some(method) {
        return wrong(HEADER_MISMATCH, "the header Mcp-Method and the body differ");
    }
    let name = match method {
        "tools/call" | "prompts/get" => text(params, "name"),
        "resources/read" => text(params, "uri"),
        "tasks/get" | "tasks/update" | "tasks/cancel" => text(params, "taskId"),
        _ => None,
    };
    if name.is_some() && header("mcp-name").and_then(decoded).as_deref() != name {
        return wrong(HEADER_MISMATCH, "the header Mcp-Name and the body differ");
    }
    let capabilities = at(meta, CAPABILITIES);
    if !capabilities.is_object() {
        return wrong(INVALID_PARAMS, &format!("_meta lacks {CAPABILITIES}"));
    }
    let forms = match at(capabilities, "elicitation") {
        // A client that names no form has this one.
        Value::Object(forms) => forms.contains_key("form") || !forms.contains_key("url"),
        _ => false,
    };
    let tasks = at(at(capabilities, "extensions"), TASKS).is_object();
    Ok(Era::Modern(Abilities { forms, tasks }))
}

/// A header's value, which may be base64 of UTF-8.
fn decoded(value: String) -> Option<String> {
    let base64 = value.strip_prefix("=?base64?").and_then(|value| value.strip_suffix("?="));
    match base64 {
        Some(base64) => String::from_utf8(BASE64_STANDARD.decode(base64).ok()?).ok(),
        None => Some(value),
    }
}

/// The decisions in `inputResponses`; whether a person left a question open; what is wrong. A question that was dismissed
/// stays open.
pub fn decisions(responses: &Value) -> Result<(Vec<GivenAnswer>, bool), String> {
    let Value::Object(responses) = responses else {
        return Err("inputResponses must be an object".to_owned());
    };
    if responses.len() > MAX_ANSWERS {
        return Err(format!("inputResponses has at most {MAX_ANSWERS} members"));
    }
    let (mut answers, mut is_open, mut forms) = (Vec::new(), false, ById::<Filled>::default());
    for (id, response) in responses {
        let wrong = || format!("inputResponses.{id}: expected an answer to the form");
        let (action, content) = (at(response, "action").as_str(), at(response, "content"));
        if let Some((wait, question)) = id.split_once(OF_FORM) {
            if forms.get(wait).is_none() {
                forms.insert(wait, Filled::default());
            }
            let Some(form) = forms.get_mut(wait) else { continue };
            match (action, content) {
                (Some("accept"), Value::Object(_)) => {
                    form.content.insert(question.to_owned(), content.clone());
                }
                (Some("decline"), _) => form.is_denied = true,
                (Some("cancel"), _) => form.is_open = true,
                _ => return Err(wrong()),
            }
            continue;
        }
        let decision = match (action, at(content, "decision").as_str()) {
            (Some("accept"), Some("approve")) => Decision::Approve,
            (Some("accept"), Some("approve_for_thread")) => Decision::ApproveForThread,
            (Some("accept"), Some("deny")) | (Some("decline"), _) => Decision::Deny,
            (Some("cancel"), _) => {
                is_open = true;
                continue;
            }
            _ => return Err(wrong()),
        };
        answers.push(given(id, decision, String::new()));
    }
    for (wait, Filled { content, is_denied, is_open: is_left }) in forms.iter() {
        match (is_left, is_denied) {
            (true, _) => is_open = true,
            (false, true) => answers.push(given(wait, Decision::Deny, String::new())),
            (false, false) => {
                let content = Value::Object(content.clone()).to_string();
                if content.len() > MAX_FORM_CONTENT {
                    return Err(format!("a form has at most {MAX_FORM_CONTENT} bytes of content"));
                }
                answers.push(given(wait, Decision::Approve, content));
            }
        }
    }
    Ok((answers, is_open))
}

/// The answers to the questions of a form. They are one answer: a denied question denies the form, a dismissed one leaves
/// it open.
#[derive(Default)]
struct Filled {
    content: Part,
    is_denied: bool,
    is_open: bool,
}

fn given(id: &str, decision: Decision, content: String) -> GivenAnswer {
    GivenAnswer { id: id.to_owned(), decision: Some(decision), content, is_error: false }
}
