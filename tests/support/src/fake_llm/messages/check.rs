//! The refusals of the real API, in its own words.

use std::collections::HashSet;

use serde_json::Value;

use crate::fake_llm::history::marker;
use crate::fake_llm::wire::{Headers, Wrong, is_name, unknown};

use super::bound::{BOUND, signature};

const BODY: [&str; 17] = [
    "model",
    "messages",
    "max_tokens",
    "system",
    "metadata",
    "stop_sequences",
    "stream",
    "temperature",
    "top_k",
    "top_p",
    "tools",
    "tool_choice",
    "thinking",
    "output_config",
    "service_tier",
    "container",
    "context_management",
];

/// `Err` is the refusal.
pub fn check(headers: &Headers, body: &Value) -> Result<(), Wrong> {
    let header = |name: &str| headers.get(name).map_or("", String::as_str);
    if header("x-api-key").is_empty() {
        return Err(Wrong { status: 401, message: "x-api-key header is required".into() });
    }
    match header("anthropic-version") {
        "2023-06-01" => {}
        "" => return Err("anthropic-version: header is required".to_owned().into()),
        other => return Err(format!("anthropic-version: \"{other}\" is not a valid version").into()),
    }
    Ok(check_body(body)?)
}

fn check_body(body: &Value) -> Result<(), String> {
    known(body, "", &BODY)?;
    for name in ["model", "max_tokens", "messages"] {
        if body[name].is_null() {
            return Err(format!("{name}: Field required"));
        }
    }
    if body["stream"] != Value::Bool(true) {
        return Err("this fake streams only: stream must be true".into());
    }
    let most = body["max_tokens"].as_u64().filter(|most| *most > 0);
    let most = most.ok_or("max_tokens: Input should be greater than or equal to 1")?;
    let tools = check_tools(&body["tools"])?;
    check_wishes(body, most, tools)?;
    for (index, block) in list(&body["system"]).iter().enumerate() {
        check_text(block, &format!("system.{index}"))?;
    }
    check_messages(body, list(&body["messages"]))?;
    match marks(body) {
        0..=4 => Ok(()),
        found => Err(format!("A maximum of 4 blocks with cache_control may be provided. Found {found}.")),
    }
}

/// Whether tools are offered.
fn check_tools(tools: &Value) -> Result<bool, String> {
    let mut names = HashSet::new();
    for (index, tool) in list(tools).iter().enumerate() {
        let at = format!("tools.{index}");
        known(tool, &at, &["type", "name", "description", "input_schema", "cache_control", "strict"])?;
        let name = tool["name"].as_str().unwrap_or_default();
        if !is_name(name) {
            return Err(format!("{at}.custom.name: String should match pattern '^[a-zA-Z0-9_-]{{1,64}}$'"));
        }
        if !names.insert(name) {
            return Err("tools: Tool names must be unique.".into());
        }
        if tool["input_schema"]["type"] != "object" {
            return Err(format!("{at}.custom.input_schema.type: Field required"));
        }
    }
    Ok(!names.is_empty())
}

fn check_wishes(body: &Value, most: u64, tools: bool) -> Result<(), String> {
    let forced = match body["tool_choice"]["type"].as_str() {
        Some(_) if !tools => return Err("tool_choice may only be specified while providing tools.".into()),
        Some("any" | "tool") => true,
        Some("auto" | "none") => false,
        None if body["tool_choice"].is_null() => false,
        _ => return Err("tool_choice: Input tag is none of 'auto', 'any', 'none', 'tool'".into()),
    };
    known(&body["tool_choice"], "tool_choice", &["type", "name", "disable_parallel_tool_use"])?;
    known(&body["thinking"], "thinking", &["type", "budget_tokens", "display"])?;
    known(&body["output_config"], "output_config", &["effort", "format"])?;
    let efforts = ["low", "medium", "high", "xhigh", "max"];
    let effort = &body["output_config"]["effort"];
    if !effort.is_null() && !effort.as_str().is_some_and(|effort| efforts.contains(&effort)) {
        return Err(format!("output_config.effort: Input should be one of {efforts:?}"));
    }
    let thinks = match body["thinking"]["type"].as_str() {
        None if body["thinking"].is_null() => false,
        Some("disabled") => false,
        Some("adaptive") => true,
        Some("enabled") => match body["thinking"]["budget_tokens"].as_u64() {
            Some(1024..) if body["thinking"]["budget_tokens"].as_u64() < Some(most) => true,
            _ => return Err("thinking.enabled.budget_tokens: between 1024 and `max_tokens`".into()),
        },
        _ => return Err("thinking: Input tag is none of 'adaptive', 'disabled', 'enabled'".into()),
    };
    if thinks && forced {
        return Err("Thinking may not be enabled when tool_choice forces tool use.".into());
    }
    if thinks && !body["temperature"].is_null() && body["temperature"].as_f64() != Some(1.0) {
        return Err("`temperature` may only be set to 1 when thinking is enabled.".into());
    }
    Ok(())
}

fn check_messages(body: &Value, messages: &[Value]) -> Result<(), String> {
    if messages.is_empty() {
        return Err("messages: at least one message is required".into());
    }
    // The calls of the last message, which the next one must answer.
    let mut open: Vec<&str> = Vec::new();
    for (index, message) in messages.iter().enumerate() {
        let at = format!("messages.{index}");
        known(message, &at, &["role", "content"])?;
        let role = message["role"].as_str().unwrap_or_default();
        let expected = ["user", "assistant"][index % 2];
        if role != expected {
            return Err(format!(
                "messages: roles must alternate between \"user\" and \"assistant\": {at} is {role:?}"
            ));
        }
        let content = &message["content"];
        let blocks = content.as_array().map(Vec::as_slice).unwrap_or_default();
        if blocks.is_empty() && content.as_str().is_none_or(str::is_empty) {
            return Err(format!("{at}: all messages must have non-empty content"));
        }
        open = match role {
            "user" => check_user(blocks, &open, &at)?,
            _ => check_assistant(blocks, &at, body, messages.get(..index).unwrap_or_default())?,
        };
    }
    if !open.is_empty() {
        return Err(unanswered(&open, "messages"));
    }
    let last = messages.last().filter(|last| last["role"] == "assistant");
    let last_block = last.and_then(|last| last["content"].as_array()?.last());
    match last_block.and_then(|block| block["type"].as_str()) {
        // A reply that paused at the provider's own tools may come back unchanged.
        Some("text" | "thinking") => Err(
            "This model does not support assistant message prefill. The conversation must end with a user message."
                .into(),
        ),
        _ => Ok(()),
    }
}

/// No block is open after it.
fn check_user<'a>(blocks: &'a [Value], open: &[&str], at: &str) -> Result<Vec<&'a str>, String> {
    let mut answered: Vec<&str> = Vec::new();
    let mut said = false;
    for (index, block) in blocks.iter().enumerate() {
        let at = format!("{at}.content.{index}");
        match block["type"].as_str() {
            Some("text") => check_text(block, &at)?,
            Some(kind @ ("image" | "document")) => {
                known(block, &at, &["type", "source", "title", "cache_control"])?;
                known(&block["source"], &format!("{at}.source"), &["type", "media_type", "data"])?;
                if block["source"]["data"].as_str().is_none_or(str::is_empty) {
                    return Err(format!("{at}.{kind}.source.base64: Field required"));
                }
            }
            Some("tool_result") => {
                known(block, &at, &["type", "tool_use_id", "content", "is_error", "cache_control"])?;
                let id = block["tool_use_id"].as_str().unwrap_or_default();
                if !open.contains(&id) || answered.contains(&id) {
                    return Err(format!(
                        "{at}: unexpected `tool_use_id` found in `tool_result` blocks: {id}. Each `tool_result` block \
                         must have a corresponding `tool_use` block in the previous message."
                    ));
                }
                if said {
                    return Err(format!("{at}: `tool_result` blocks must come first in the content"));
                }
                let silent = block["content"].as_str().is_none_or(str::is_empty);
                if block["is_error"] == Value::Bool(true) && silent {
                    return Err(format!("{at}: content cannot be empty if `is_error` is true"));
                }
                answered.push(id);
                continue;
            }
            other => {
                return Err(format!("{at}: Input tag {other:?} does not match any of the expected tags"));
            }
        }
        said = true;
    }
    let left: Vec<&str> = open.iter().copied().filter(|id| !answered.contains(id)).collect();
    if left.is_empty() { Ok(Vec::new()) } else { Err(unanswered(&left, at)) }
}

/// The ids of its calls.
fn check_assistant<'a>(
    blocks: &'a [Value],
    at: &str,
    body: &Value,
    before: &[Value],
) -> Result<Vec<&'a str>, String> {
    let mut ids: Vec<&str> = Vec::new();
    for (index, block) in blocks.iter().enumerate() {
        let at = format!("{at}.content.{index}");
        match block["type"].as_str() {
            Some("text") => check_text(block, &at)?,
            Some("thinking") => {
                known(block, &at, &["type", "thinking", "signature"])?;
                let thought = block["thinking"].as_str().unwrap_or_default();
                let is_valid = block["signature"].as_str() == Some(&signature(thought, body, before));
                if !is_valid && thought.starts_with(BOUND) {
                    return Err(format!("{at}: The block is bound to a different conversation"));
                }
                if !is_valid {
                    return Err(format!("{at}: Invalid `signature` in `thinking` block"));
                }
            }
            Some("tool_use") => {
                known(block, &at, &["type", "id", "name", "input", "cache_control", "caller"])?;
                let id = block["id"].as_str().unwrap_or_default();
                let allowed = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
                if id.is_empty() || !id.chars().all(allowed) {
                    return Err(format!("{at}.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'"));
                }
                if ids.contains(&id) {
                    return Err("messages: `tool_use` ids must be unique".into());
                }
                if !is_name(block["name"].as_str().unwrap_or_default()) {
                    return Err(format!("{at}.tool_use.name: String should match pattern"));
                }
                if !block["input"].is_object() {
                    return Err(format!("{at}.tool_use.input: Input should be a valid dictionary"));
                }
                ids.push(id);
            }
            other => {
                return Err(format!("{at}: Input tag {other:?} does not match any of the expected tags"));
            }
        }
    }
    Ok(ids)
}

fn check_text(block: &Value, at: &str) -> Result<(), String> {
    known(block, at, &["type", "text", "cache_control", "citations"])?;
    match block["text"].as_str() {
        Some(text) if !text.trim().is_empty() => Ok(()),
        _ => Err(format!("{at}: text content blocks must contain non-whitespace text")),
    }
}

fn unanswered(ids: &[&str], at: &str) -> String {
    format!(
        "{at}: `tool_use` ids were found without `tool_result` blocks immediately after: {}. Each `tool_use` block must \
         have a corresponding `tool_result` block in the next message.",
        ids.join(", ")
    )
}

fn known(value: &Value, at: &str, names: &[&str]) -> Result<(), String> {
    match unknown(value, names) {
        None => Ok(()),
        Some(name) if at.is_empty() => Err(format!("{name}: Extra inputs are not permitted")),
        Some(name) => Err(format!("{at}.{name}: Extra inputs are not permitted")),
    }
}

/// How often a member of this name is set, wherever.
fn marks(value: &Value) -> usize {
    match value {
        Value::Array(items) => items.iter().map(marks).sum(),
        Value::Object(members) => {
            usize::from(members.contains_key("cache_control")) + members.values().map(marks).sum::<usize>()
        }
        _ => 0,
    }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

/// See [`Wire::position`](crate::fake_llm::wire::Wire::position).
pub fn position(body: &Value) -> Option<(String, usize)> {
    let messages = list(&body["messages"]);
    let marked = |message: &Value| {
        let content = &message["content"];
        let said =
            list(content).iter().rev().filter_map(|block| block["text"].as_str()).chain(content.as_str());
        said.filter(|_| message["role"] == "user").find_map(marker)
    };
    let (at, marker) =
        messages.iter().enumerate().rev().find_map(|(at, message)| Some((at, marked(message)?)))?;
    let replies = messages[at..].iter().filter(|message| message["role"] == "assistant").count();
    Some((marker, replies))
}
