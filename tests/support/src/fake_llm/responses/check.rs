//! The refusals of the real API, in its own words.

use std::collections::HashSet;

use serde_json::Value;

use crate::fake_llm::history::{marker, text_of};
use crate::fake_llm::wire::{is_name, seal, unknown};

const BODY: [&str; 24] = [
    "model",
    "input",
    "instructions",
    "tools",
    "tool_choice",
    "parallel_tool_calls",
    "reasoning",
    "text",
    "max_output_tokens",
    "max_tool_calls",
    "temperature",
    "top_p",
    "top_logprobs",
    "store",
    "include",
    "stream",
    "stream_options",
    "metadata",
    "previous_response_id",
    "conversation",
    "truncation",
    "service_tier",
    "prompt_cache_key",
    "safety_identifier",
];

/// `Err` is the message of the 400.
pub fn check(body: &Value) -> Result<(), String> {
    known(body, "", &BODY)?;
    if body["model"].as_str().is_none_or(str::is_empty) {
        return Err("Missing required parameter: 'model'.".into());
    }
    if body["stream"] != Value::Bool(true) || body["store"] != Value::Bool(false) {
        return Err("this fake streams only and keeps nothing: 'stream' must be true, 'store' false".into());
    }
    let tools = check_tools(&body["tools"])?;
    for name in ["tool_choice", "parallel_tool_calls"] {
        if !tools && !body[name].is_null() {
            return Err(format!("'{name}' is only allowed when 'tools' are specified."));
        }
    }
    known(&body["reasoning"], "reasoning", &["effort", "summary"])?;
    known(&body["text"], "text", &["format", "verbosity"])?;
    known(&body["text"]["format"], "text.format", &["type", "name", "schema", "strict", "description"])?;
    if let Some(most @ ..16) = body["max_output_tokens"].as_u64() {
        return Err(format!(
            "Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16, but got {most} instead."
        ));
    }
    for include in list(&body["include"]) {
        if include != "reasoning.encrypted_content" {
            return Err(format!(
                "Invalid value: {include}. Supported values are: 'reasoning.encrypted_content'."
            ));
        }
    }
    check_input(list(&body["input"]))
}

/// Whether tools are offered.
fn check_tools(tools: &Value) -> Result<bool, String> {
    let mut names = HashSet::new();
    for (index, tool) in list(tools).iter().enumerate() {
        let at = format!("tools[{index}]");
        known(tool, &at, &["type", "name", "description", "parameters", "strict"])?;
        if tool["type"] != "function" {
            return Err(format!("Invalid value: {}. Supported values are: 'function'.", tool["type"]));
        }
        let name = tool["name"].as_str().unwrap_or_default();
        if !is_name(name) {
            return Err(format!("Invalid '{at}.name': string does not match pattern '^[a-zA-Z0-9_-]+$'."));
        }
        if !names.insert(name) {
            return Err(format!("Invalid '{at}.name': '{name}' is not unique"));
        }
        if tool["parameters"]["type"] != "object" {
            return Err(format!("Invalid schema for function '{name}': schema must have type 'object'"));
        }
        // The default is strict, and a strict schema must name every property as required.
        let properties = tool["parameters"]["properties"].as_object().map_or(0, serde_json::Map::len);
        if tool["strict"] != Value::Bool(false) && list(&tool["parameters"]["required"]).len() != properties {
            return Err(format!("Invalid schema for function '{name}': 'required' is missing a property."));
        }
    }
    Ok(!names.is_empty())
}

fn check_input(input: &[Value]) -> Result<(), String> {
    if input.is_empty() {
        return Err("One of \"input\" or \"previous_response_id\" must be provided.".into());
    }
    let mut open: Vec<&str> = Vec::new();
    let mut calls = HashSet::new();
    for (index, item) in input.iter().enumerate() {
        let at = format!("input[{index}]");
        let call_id = item["call_id"].as_str().unwrap_or_default();
        match kind(item) {
            "message" => check_message(item, &at)?,
            "reasoning" => check_reasoning(item, &at, input.get(index + 1))?,
            "function_call" => {
                known(item, &at, &["type", "id", "call_id", "name", "arguments", "status"])?;
                check_id(item, "fc", &at)?;
                if call_id.is_empty() || call_id.len() > 64 || !calls.insert(call_id) {
                    return Err(format!("Invalid '{at}.call_id': 1 to 64 characters, each id once"));
                }
                if !is_name(item["name"].as_str().unwrap_or_default()) {
                    return Err(format!("Invalid '{at}.name': string does not match pattern"));
                }
                if item["arguments"].as_str().is_none_or(str::is_empty) {
                    return Err(format!("Missing required parameter: '{at}.arguments'."));
                }
                open.push(call_id);
            }
            "function_call_output" => {
                known(item, &at, &["type", "id", "call_id", "output", "status"])?;
                if !item["output"].is_string() {
                    return Err(format!("Missing required parameter: '{at}.output'."));
                }
                let Some(place) = open.iter().position(|call| *call == call_id) else {
                    return Err(format!(
                        "No tool call found for function call output with call_id {call_id}."
                    ));
                };
                open.remove(place);
            }
            other => return Err(format!("Invalid value: '{other}' at '{at}.type'.")),
        }
        if let Some(thought) = item["id"].as_str().and_then(|id| id.split_once("_after_")).map(|(_, id)| id)
            && !input.iter().take(index).any(|before| before["id"] == *thought)
        {
            return Err(format!(
                "Item {} of type '{}' was provided without its required 'reasoning' item: '{thought}'.",
                item["id"],
                kind(item)
            ));
        }
    }
    match open.first() {
        None => Ok(()),
        Some(call_id) => Err(format!("No tool output found for function call {call_id}.")),
    }
}

fn check_message(item: &Value, at: &str) -> Result<(), String> {
    known(item, at, &["type", "id", "role", "content", "status", "phase"])?;
    check_id(item, "msg", at)?;
    let allowed: &[&str] = match item["role"].as_str() {
        Some("user" | "system" | "developer") => &["input_text", "input_image", "input_file"],
        Some("assistant") => &["output_text", "refusal"],
        other => return Err(format!("Invalid value: {other:?} at '{at}.role'.")),
    };
    match &item["content"] {
        Value::String(_) => Ok(()),
        Value::Array(parts) if !parts.is_empty() => {
            let kinds = parts.iter().map(|part| part["type"].as_str().unwrap_or_default());
            let wrong = kinds.enumerate().find(|(_, kind)| !allowed.contains(kind));
            wrong.map_or(Ok(()), |(index, kind)| {
                Err(format!(
                    "Invalid value: '{kind}' at '{at}.content[{index}]'. Supported values are: {allowed:?}."
                ))
            })
        }
        _ => Err(format!("Missing required parameter: '{at}.content'.")),
    }
}

/// The fake keeps no state, so reasoning must come back whole, with the item that followed it.
fn check_reasoning(item: &Value, at: &str, next: Option<&Value>) -> Result<(), String> {
    known(item, at, &["type", "id", "summary", "content", "encrypted_content", "status"])?;
    check_id(item, "rs", at)?;
    if !item["summary"].is_array() {
        return Err(format!("Missing required parameter: '{at}.summary'."));
    }
    let id = &item["id"];
    match item["encrypted_content"].as_str() {
        None => {
            return Err(format!(
                "Item with id {id} not found. Items are not persisted when `store` is set to false."
            ));
        }
        Some(sealed) if sealed == seal(&text_of(&item["content"])) => {}
        Some(_) => return Err(format!("The encrypted content for item {id} could not be verified.")),
    }
    match next {
        Some(next) if is_said(next) => Ok(()),
        _ => Err(format!("Item {id} of type 'reasoning' was provided without its required following item.")),
    }
}

fn check_id(item: &Value, prefix: &str, at: &str) -> Result<(), String> {
    match item["id"].as_str() {
        Some(id) if !id.starts_with(prefix) => {
            Err(format!("Invalid '{at}.id': '{id}'. Expected an ID that begins with '{prefix}'."))
        }
        _ => Ok(()),
    }
}

/// The item's type, which a message may leave out.
fn kind(item: &Value) -> &str {
    let natural = if item["role"].is_string() { "message" } else { "" };
    item["type"].as_str().unwrap_or(natural)
}

/// Whether the model made the item.
fn is_said(item: &Value) -> bool {
    matches!(kind(item), "reasoning" | "function_call") || item["role"] == "assistant"
}

fn known(value: &Value, at: &str, names: &[&str]) -> Result<(), String> {
    match unknown(value, names) {
        None => Ok(()),
        Some(name) if at.is_empty() => Err(format!("Unknown parameter: '{name}'.")),
        Some(name) => Err(format!("Unknown parameter: '{at}.{name}'.")),
    }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

/// See [`Wire::position`](crate::fake_llm::wire::Wire::position). The items of one reply stand together: between two of
/// them is a result, or the user.
pub fn position(body: &Value) -> Option<(String, usize)> {
    let input = list(&body["input"]);
    let marked = |item: &Value| marker(&text_of(&item["content"])).filter(|_| item["role"] == "user");
    let (at, marker) = input.iter().enumerate().rev().find_map(|(at, item)| Some((at, marked(item)?)))?;
    let said = || input[at..].iter().map(is_said);
    let replies = said().zip(said().skip(1)).filter(|(before, now)| !before && *now).count();
    Some((marker, replies))
}
