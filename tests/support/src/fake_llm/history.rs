//! The refusals of Chat Completions. If the fake accepted any history, the service could send orphaned tool results for
//! years. The wording follows OpenAI's own messages.

use std::collections::HashSet;

use serde_json::Value;

use super::wire::{is_name, unknown};

/// The members that the real API and other servers of its wire know.
const BODY: [&str; 14] = [
    "model",
    "messages",
    "stream",
    "stream_options",
    "tools",
    "tool_choice",
    "parallel_tool_calls",
    "temperature",
    "reasoning_effort",
    "response_format",
    "max_tokens",
    "max_completion_tokens",
    "service_tier",
    "prompt_cache_key",
];

/// `Err` is the message of the 400.
pub fn check(body: &Value) -> Result<(), String> {
    if let Some(name) = unknown(body, &BODY) {
        return Err(format!("Unknown parameter: '{name}'."));
    }
    if body["model"].as_str().is_none_or(str::is_empty) {
        return Err("you must provide a model parameter".into());
    }
    if body["stream"] != Value::Bool(true) {
        return Err("this fake streams only: 'stream' must be true".into());
    }
    let tools = check_tools(body)?;
    let messages = body["messages"].as_array().ok_or("'messages' must be an array")?;
    if messages.is_empty() {
        return Err("[] is too short - 'messages'".into());
    }
    check_messages(messages)?;
    if !tools && !body["parallel_tool_calls"].is_null() {
        return Err("'parallel_tool_calls' is only allowed when 'tools' are specified".into());
    }
    Ok(())
}

/// Whether tools are offered.
fn check_tools(body: &Value) -> Result<bool, String> {
    let tools = match &body["tools"] {
        Value::Null => return Ok(false),
        Value::Array(tools) if tools.is_empty() => return Err("[] is too short - 'tools'".into()),
        Value::Array(tools) => tools,
        _ => return Err("'tools' must be an array".into()),
    };
    let mut names = HashSet::new();
    for (index, tool) in tools.iter().enumerate() {
        let at = format!("tools[{index}]");
        if tool["type"] != "function" {
            return Err(format!("Invalid '{at}.type': must be 'function'"));
        }
        let name = tool["function"]["name"].as_str().unwrap_or_default();
        if !is_name(name) {
            return Err(format!(
                "Invalid '{at}.function.name': '{name}' does not match '^[a-zA-Z0-9_-]{{1,64}}$'"
            ));
        }
        if !names.insert(name) {
            return Err(format!("Invalid '{at}.function.name': '{name}' is not unique"));
        }
        if tool["function"]["parameters"]["type"] != "object" {
            return Err(format!("Invalid schema for function '{name}': schema must have type 'object'"));
        }
    }
    Ok(true)
}

fn check_messages(messages: &[Value]) -> Result<(), String> {
    // The calls of the last assistant message that still lack their result.
    let mut open: Vec<&str> = Vec::new();
    for (index, message) in messages.iter().enumerate() {
        let at = format!("messages[{index}]");
        let role = message["role"].as_str().unwrap_or_default();
        if role != "tool" && !open.is_empty() {
            return Err(format!(
                "An assistant message with 'tool_calls' must be followed by tool messages responding to each \
                 'tool_call_id'. The following tool_call_ids did not have response messages: {}",
                open.join(", ")
            ));
        }
        match role {
            "system" | "developer" | "user" => check_content(&message["content"], &at)?,
            "assistant" => open = check_assistant(message, &at)?,
            "tool" => {
                check_content(&message["content"], &at)?;
                let id = message["tool_call_id"].as_str().unwrap_or_default();
                let Some(position) = open.iter().position(|call| *call == id) else {
                    return Err(format!(
                        "Invalid parameter: {at} with role 'tool' must be a response to a preceding message with \
                         'tool_calls' (tool_call_id '{id}' answers none that is open)"
                    ));
                };
                open.remove(position);
            }
            other => return Err(format!("Invalid value for '{at}.role': '{other}'")),
        }
    }
    match open.as_slice() {
        [] => Ok(()),
        open => Err(format!(
            "An assistant message with 'tool_calls' must be followed by tool messages responding to each \
             'tool_call_id'. The following tool_call_ids did not have response messages: {}",
            open.join(", ")
        )),
    }
}

fn check_content(content: &Value, at: &str) -> Result<(), String> {
    match content {
        Value::String(_) => Ok(()),
        Value::Array(parts) if !parts.is_empty() => {
            for (index, part) in parts.iter().enumerate() {
                if part["type"].as_str().is_none_or(str::is_empty) {
                    return Err(format!("Missing required parameter: '{at}.content[{index}].type'"));
                }
            }
            Ok(())
        }
        other => Err(format!("Invalid value for '{at}.content': expected a string or parts, got {other}")),
    }
}

/// The ids of its calls.
fn check_assistant<'a>(message: &'a Value, at: &str) -> Result<Vec<&'a str>, String> {
    let calls = match &message["tool_calls"] {
        Value::Null => {
            check_content(&message["content"], at)?;
            return Ok(Vec::new());
        }
        Value::Array(calls) if calls.is_empty() => {
            return Err(format!(
                "Invalid '{at}.tool_calls': empty array. Expected an array with minimum length 1"
            ));
        }
        Value::Array(calls) => calls,
        _ => return Err(format!("Invalid type for '{at}.tool_calls': expected an array")),
    };
    if !message["content"].is_null() {
        check_content(&message["content"], at)?;
    }
    let mut ids = Vec::new();
    for (index, call) in calls.iter().enumerate() {
        let at = format!("{at}.tool_calls[{index}]");
        let id = call["id"].as_str().unwrap_or_default();
        if id.is_empty() {
            return Err(format!("Missing required parameter: '{at}.id'"));
        }
        if ids.contains(&id) {
            return Err(format!("Invalid '{at}.id': '{id}' is not unique in its message"));
        }
        if call["type"] != "function" {
            return Err(format!("Invalid '{at}.type': must be 'function'"));
        }
        if call["function"]["name"].as_str().is_none_or(str::is_empty) {
            return Err(format!("Missing required parameter: '{at}.function.name'"));
        }
        if call["function"]["arguments"].as_str().is_none_or(str::is_empty) {
            return Err(format!("Invalid '{at}.function.arguments': expected a string that is not empty"));
        }
        ids.push(id);
    }
    Ok(ids)
}

/// Where in its script a request stands: the marker of the last user message that has one (the loop's own reminders
/// have none), and the assistant messages after it.
pub fn position(body: &Value) -> Option<(String, usize)> {
    let messages = body["messages"].as_array()?;
    let marked =
        |message: &Value| marker(&text_of(&message["content"])).filter(|_| message["role"] == "user");
    let (at, marker) =
        messages.iter().enumerate().rev().find_map(|(at, message)| Some((at, marked(message)?)))?;
    let step = messages[at..].iter().filter(|message| message["role"] == "assistant").count();
    Some((marker, step))
}

/// The text of a message's content, whether it is a string or parts.
pub fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().filter_map(|part| part["text"].as_str()).collect(),
        _ => String::new(),
    }
}

/// The beginnings of questions about the words of others: a hook's, a verifier's, and that for the notes of a planned step.
const OF_OTHERS: [&str; 3] = ["<conversation>", "<verified_step>", "<step_of_results>"];

/// The beginning of the question for a thread's title.
const OF_TITLE: &str = "<message from=\"user\">";
/// The end of the marker of a script that answers this question.
pub const TITLE: &str = "/title";

/// `… [[fake:MARKER]] …` → `MARKER`. In a question about the words of others the last one counts, which is that of the
/// call. In the question for a title it is the first one, with [`TITLE`] behind it.
pub fn marker(text: &str) -> Option<String> {
    let (_, rest) = match OF_OTHERS.iter().any(|beginning| text.starts_with(beginning)) {
        true => text.rsplit_once("[[fake:")?,
        false => text.split_once("[[fake:")?,
    };
    let (marker, _) = rest.split_once("]]")?;
    let of_title = if text.starts_with(OF_TITLE) { TITLE } else { "" };
    Some(format!("{marker}{of_title}"))
}
