//! Anthropic's Messages.

mod check;
mod reply;

pub use check::{check, position};
pub use reply::reply;

use serde_json::{Value, json};

use super::rules::binds_thinking;
use super::wire::seal;

/// Between the two parts of a signature: that of the text, and that of all before it.
const SEPARATOR: char = '.';

/// The signature of a thinking block in the reply to this request.
fn signature(body: &Value, thought: &str) -> String {
    let messages = body["messages"].as_array().map_or(0, Vec::len);
    match &*binding(body, messages) {
        "" => seal(thought),
        bound => format!("{}{SEPARATOR}{bound}", seal(thought)),
    }
}

/// The part of a signature that binds a thinking block of the message at this place to all before it: system prompt, tools
/// and messages, cache marks and other thinking left out. Empty for a model that binds nothing.
fn binding(body: &Value, place: usize) -> String {
    if !binds_thinking(body) {
        return String::new();
    }
    let before = body["messages"].as_array().and_then(|messages| messages.get(..place)).unwrap_or_default();
    seal(&bare(&json!([body["system"], body["tools"], before])).to_string())
}

/// The value without cache marks and thinking.
fn bare(value: &Value) -> Value {
    let is_thinking =
        |value: &&Value| matches!(value["type"].as_str(), Some("thinking" | "redacted_thinking"));
    match value {
        Value::Array(items) => items.iter().filter(|item| !is_thinking(item)).map(bare).collect(),
        Value::Object(members) => {
            let members = members.iter().filter(|(name, _)| *name != "cache_control");
            Value::Object(members.map(|(name, value)| (name.clone(), bare(value))).collect())
        }
        other => other.clone(),
    }
}
