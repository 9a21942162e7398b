//! The messages of a conversation, in either API.

use serde_json::Value;

use super::{CALL, FUNCTION, MCP, MESSAGE, QUESTION, REASONING};
use crate::given::{Part, Words, at, bounded, text};
use crate::ids::{self, Place};
use crate::pieces::{Members, Piece};
use wire::pace::Pace;
use wire::protocol::{ApiError, Content, ContentPart, DataUrl, Decision, ErrorCode, GivenAnswer, OpenAiApi};

/// The member that has the conversation.
pub fn conversation(api: OpenAiApi) -> &'static str {
    match api {
        OpenAiApi::ChatCompletions => "messages",
        OpenAiApi::Responses => "input",
    }
}

/// A message of the conversation.
pub enum Kind {
    /// Instructions of the client.
    System,
    User,
    Assistant,
    Answer,
    /// A call, reasoning, anything else.
    Other,
}

pub fn kind(part: &Part) -> Kind {
    match (text(part, "type"), text(part, "role")) {
        (Some("function_call_output" | "mcp_approval_response"), _) => Kind::Answer,
        (None | Some("message"), Some(role)) => match role {
            role if is_system(role) => Kind::System,
            "user" => Kind::User,
            "assistant" => Kind::Assistant,
            "tool" => Kind::Answer,
            _ => Kind::Other,
        },
        _ => Kind::Other,
    }
}

/// Whether messages of this role are instructions. OpenAI calls the role by two names.
pub fn is_system(role: &str) -> bool {
    matches!(role, "system" | "developer")
}

/// The role of a message that is too much for one go.
pub async fn role(piece: Piece<'_>, pace: &Pace<'_>) -> Result<Option<String>, ApiError> {
    match Members::divide(piece.json, "content", pace).await {
        Err(error) if error.code == ErrorCode::Overloaded => Err(error),
        Err(_) => Ok(None),
        Ok(members) => Ok(members.text("role").unwrap_or_default()),
    }
}

/// The text of a message.
pub fn text_of(part: &Part) -> String {
    words(part.get("content").unwrap_or(&Value::Null))
}

/// Whose text a message is, and the text; none where it is no text of a user or an assistant.
pub fn said(part: &Part) -> Option<(bool, String)> {
    let is_user = match kind(part) {
        Kind::User => true,
        Kind::Assistant => false,
        Kind::System | Kind::Answer | Kind::Other => return None,
    };
    let text = text_of(part);
    Some((is_user, if is_user { text } else { without_reasoning(text) }))
}

/// The text of an assistant without the reasoning that clients write before it, as pydantic-ai does.
fn without_reasoning(text: String) -> String {
    let reasoning = text.trim_start().strip_prefix("<think>").and_then(|text| text.split_once("</think>"));
    reasoning.map(|(_, text)| text.trim_start().to_owned()).unwrap_or(text)
}

/// The answer that has the item to which a part refers; none where it is no reference, or none to an item of ours.
pub fn referred(part: &Part) -> Option<Place> {
    let is_reference = match (text(part, "type"), text(part, "role")) {
        (Some(kind), _) => kind == "item_reference",
        (None, role) => role.is_none(),
    };
    let id = text(part, "id").filter(|_| is_reference)?;
    let kinds = [MESSAGE, REASONING, FUNCTION, MCP];
    kinds.into_iter().find_map(|kind| ids::read(kind, id)).map(|(place, _)| place)
}

/// The text of a content: a text, or the texts of its parts.
fn words(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            let mut words = Words::default();
            for part in parts {
                words.add(at(part, "text").as_str().or(at(part, "refusal").as_str()));
            }
            words.0
        }
        _ => String::new(),
    }
}

/// An answer, and the place of its call; none where the id is not ours.
pub fn answer(part: &Part) -> Result<(Option<Place>, GivenAnswer), String> {
    let approves = text(part, "type") == Some("mcp_approval_response");
    let (kind, member) = match (approves, part.contains_key("tool_call_id")) {
        (true, _) => (QUESTION, "approval_request_id"),
        (false, true) => (CALL, "tool_call_id"),
        (false, false) => (CALL, "call_id"),
    };
    let id = text(part, member).ok_or_else(|| format!("its `{member}` must be a text"))?;
    let (place, id) = match ids::read(kind, id) {
        Some((place, id)) => (Some(place), id.to_owned()),
        None => (None, String::new()),
    };
    let decision = match approves {
        false => None,
        true => match part.get("approve") {
            Some(Value::Bool(true)) => Some(Decision::Approve),
            Some(Value::Bool(false)) => Some(Decision::Deny),
            _ => return Err("its `approve` must be true or false".to_owned()),
        },
    };
    let content = part.get("content").or_else(|| part.get("output")).unwrap_or(&Value::Null);
    let content = bounded(words(content))?;
    Ok((place, GivenAnswer { id, decision, content, is_error: false }))
}

/// The content of a user's message.
pub fn content(message: &Part, place: &str) -> Result<Content, ApiError> {
    let parts = match message.get("content") {
        Some(Value::String(text)) => return Ok(Content::Text(text.clone())),
        Some(Value::Null) => return Ok(Content::Text(String::new())),
        Some(Value::Array(parts)) => parts,
        _ => return Err(ApiError::field(format!("{place}.content"), "expected a text or an array of parts")),
    };
    let mut content = Vec::new();
    for (index, part) in parts.iter().enumerate() {
        let refused = |detail: &str| ApiError::field(format!("{place}.content[{index}]"), detail);
        let data = |url: Option<&str>| {
            let url = url.filter(|url| url.starts_with("data:"));
            url.map(|url| DataUrl::from(url.to_owned())).ok_or_else(|| refused("expected a data URL"))
        };
        content.push(match at(part, "type").as_str() {
            Some("text" | "input_text") => {
                let text = at(part, "text").as_str().ok_or_else(|| refused("expected a text"))?;
                ContentPart::Text { text: text.to_owned() }
            }
            Some("image_url") => {
                ContentPart::Image { data: data(at(at(part, "image_url"), "url").as_str())? }
            }
            Some("input_image") => ContentPart::Image { data: data(at(part, "image_url").as_str())? },
            Some(kind @ ("file" | "input_file")) => {
                let file = if kind == "file" { at(part, "file") } else { part };
                let name = at(file, "filename").as_str().unwrap_or("file").to_owned();
                ContentPart::File { name, data: data(at(file, "file_data").as_str())? }
            }
            _ => return Err(refused("expected a text, an image or a file")),
        });
    }
    Ok(match content.as_slice() {
        [ContentPart::Text { text }] => Content::Text(text.clone()),
        _ => Content::Parts(content),
    })
}
