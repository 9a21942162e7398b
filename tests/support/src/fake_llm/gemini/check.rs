//! The refusals of the real API, in its own words.

use std::collections::HashSet;

use serde_json::Value;

use crate::fake_llm::history::marker;
use crate::fake_llm::wire::{Headers, Wrong, is_name, unknown};

use super::signature;

const BODY: [&str; 8] = [
    "contents",
    "systemInstruction",
    "tools",
    "toolConfig",
    "safetySettings",
    "generationConfig",
    "cachedContent",
    "serviceTier",
];

/// The signature that stands for the one of another model's call.
const FOREIGN: &str = "skip_thought_signature_validator";

/// `Err` is the refusal.
pub fn check(headers: &Headers, model: &str, body: &Value) -> Result<(), Wrong> {
    if headers.get("x-goog-api-key").is_none_or(String::is_empty) {
        let message = "Method doesn't allow unregistered callers (callers without established identity).";
        return Err(Wrong::new(403, message));
    }
    // Models before Gemini 3 check no signatures.
    let is_signed = !model.starts_with("gemini-2");
    Ok(check_body(body, is_signed)?)
}

fn check_body(body: &Value, is_signed: bool) -> Result<(), String> {
    known(body, "", &BODY)?;
    let tools = check_tools(&body["tools"])?;
    let mode = &body["toolConfig"]["functionCallingConfig"]["mode"];
    if !(mode.is_null() || tools && ["AUTO", "ANY", "NONE"].iter().any(|known| mode == known)) {
        return Err(format!("Function calling config is set without function_declarations, or to {mode}."));
    }
    let config = &body["generationConfig"];
    let options =
        ["maxOutputTokens", "temperature", "responseMimeType", "responseJsonSchema", "thinkingConfig"];
    known(config, "generation_config", &options)?;
    let thinking = ["includeThoughts", "thinkingLevel", "thinkingBudget"];
    known(&config["thinkingConfig"], "generation_config.thinking_config", &thinking)?;
    if config["responseMimeType"] == "application/json" && tools {
        return Err("Function calling with a response mime type: 'application/json' is unsupported".into());
    }
    check_parts(&body["systemInstruction"], "system_instruction")?;
    check_contents(list(&body["contents"]), is_signed)
}

/// Whether tools are offered.
fn check_tools(tools: &Value) -> Result<bool, String> {
    let mut names = HashSet::new();
    for (index, tool) in list(tools).iter().enumerate() {
        for declaration in list(&tool["functionDeclarations"]) {
            let at = format!("tools[{index}].function_declarations");
            known(declaration, &at, &["name", "description", "parameters", "parametersJsonSchema"])?;
            let name = declaration["name"].as_str().unwrap_or_default();
            if !is_name(name) {
                return Err("Invalid function name. Must start with a letter or an underscore.".into());
            }
            if !names.insert(name) {
                return Err(format!("Duplicate function declaration found: {name}"));
            }
            if declaration["parametersJsonSchema"]["type"] != "object" {
                return Err(format!("{at}: parameters schema should be of type OBJECT."));
            }
        }
    }
    Ok(!names.is_empty())
}

fn check_contents(contents: &[Value], is_signed: bool) -> Result<(), String> {
    if contents.is_empty() {
        return Err("* GenerateContentRequest.contents: contents is not specified".into());
    }
    let says = |content: &Value| {
        content["role"] == "user" && list(&content["parts"]).iter().any(|part| part["text"].is_string())
    };
    let current = contents.iter().rposition(says).unwrap_or(0);
    // The calls of the last content, which this one must answer.
    let mut open: Vec<&Value> = Vec::new();
    for (index, content) in contents.iter().enumerate() {
        known(content, &format!("contents[{index}]"), &["role", "parts"])?;
        check_parts(content, &format!("contents[{index}]"))?;
        let calls = of(content, "functionCall");
        let results = of(content, "functionResponse");
        match content["role"].as_str() {
            Some("user") => check_results(&open, &results)?,
            Some("model") => {
                check_results(&open, &[])?;
                if index > current && is_signed {
                    check_signature(content, index)?;
                }
            }
            _ => return Err("Please use a valid role: user, model.".into()),
        }
        if index == 0 && !calls.is_empty() {
            return Err(
                "Please ensure that function call turn comes immediately after a user turn or after a \
                        function response turn."
                    .into(),
            );
        }
        open = calls;
    }
    check_results(&open, &[])
}

/// The parts of a content have one datum each.
fn check_parts(content: &Value, at: &str) -> Result<(), String> {
    if content.is_null() {
        return Ok(());
    }
    let parts = list(&content["parts"]);
    if parts.is_empty() {
        return Err(format!("* GenerateContentRequest.{at}.parts: contents.parts must not be empty."));
    }
    for part in parts {
        known(
            part,
            at,
            &["text", "thought", "thoughtSignature", "inlineData", "functionCall", "functionResponse"],
        )?;
        let data = ["text", "inlineData", "functionCall", "functionResponse"];
        let set = data.iter().filter(|name| !part[**name].is_null()).count();
        if set != 1 || part["text"] == "" && part["thoughtSignature"].is_null() {
            return Err(format!("{at}.parts: required oneof field 'data' must have one initialized field"));
        }
        known(&part["functionCall"], at, &["id", "name", "args"])?;
        known(&part["functionResponse"], at, &["id", "name", "response"])?;
        let is_object = |value: &Value| value.is_null() || value.is_object();
        if !is_object(&part["functionCall"]["args"]) || !is_object(&part["functionResponse"]["response"]) {
            return Err(format!(
                "Invalid value at '{at}.parts' (type.googleapis.com/google.protobuf.Struct)"
            ));
        }
    }
    Ok(())
}

/// Each call has its result, by the id where the call has one.
fn check_results(open: &[&Value], results: &[&Value]) -> Result<(), String> {
    let fits = open.iter().zip(results).all(|(call, result)| {
        call["name"] == result["name"] && call["id"] == result["id"] && result["response"].is_object()
    });
    match open.len() == results.len() && fits {
        true => Ok(()),
        false => Err("Please ensure that the number of function response parts is equal to the number of function call \
                      parts of the function call turn."
            .into()),
    }
}

/// The first call of a reply in the current turn is signed.
fn check_signature(content: &Value, index: usize) -> Result<(), String> {
    let call = list(&content["parts"]).iter().find(|part| !part["functionCall"].is_null());
    let Some(part) = call else { return Ok(()) };
    match part["thoughtSignature"].as_str() {
        None => Err(format!(
            "Function call is missing a thought_signature in functionCall parts. Function call {}, position {index}.",
            part["functionCall"]["name"]
        )),
        Some(FOREIGN) => Ok(()),
        Some(sign) if sign == signature(&part["functionCall"]) => Ok(()),
        Some(_) => Err("Corrupted thought signature.".into()),
    }
}

fn of<'a>(content: &'a Value, name: &str) -> Vec<&'a Value> {
    list(&content["parts"]).iter().map(|part| &part[name]).filter(|value| !value.is_null()).collect()
}

fn known(value: &Value, at: &str, names: &[&str]) -> Result<(), String> {
    unknown(value, names).map_or(Ok(()), |name| {
        Err(format!("Invalid JSON payload received. Unknown name \"{name}\" at '{at}': Cannot find field."))
    })
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

/// See [`Wire::position`](crate::fake_llm::wire::Wire::position).
pub fn position(body: &Value) -> Option<(String, usize)> {
    let contents = list(&body["contents"]);
    let marked = |content: &Value| {
        let texts = list(&content["parts"]).iter().rev().filter_map(|part| part["text"].as_str());
        texts.filter(|_| content["role"] == "user").find_map(marker)
    };
    let (at, marker) =
        contents.iter().enumerate().rev().find_map(|(at, content)| Some((at, marked(content)?)))?;
    let replies = contents[at..].iter().filter(|content| content["role"] == "model").count();
    Some((marker, replies))
}
