//! A step as the events of a stream. Its end is the end of the body.

use serde_json::{Value, json};

use crate::fake_llm::reply::{Act, Head, arguments};
use crate::fake_llm::script::Step;
use crate::fake_llm::wire::Reply;

use super::signature;

/// The events of a step.
pub fn reply(head: &Head<'_>, step: &Step) -> Reply {
    let thoughts = step.reasoning.iter().map(|text| json!({ "text": text, "thought": true }));
    let texts = step.text.iter().map(|text| json!({ "text": text }));
    let mut body: Vec<Act> = step.waits(0).collect();
    for (sent, part) in (1..).zip(thoughts.chain(texts)) {
        body.push(event(head, json!({ "content": { "parts": [part], "role": "model" }, "index": 0 }), None));
        body.extend(step.waits(sent));
    }
    // All calls come at once and whole. The first one has the signature.
    let calls = step.calls.iter().enumerate().map(|(number, call)| {
        let args: Value = serde_json::from_str(&arguments(call)).unwrap_or_default();
        let call = json!({ "id": head.call_id(call, number), "name": call.name, "args": args });
        let mut part = json!({ "functionCall": call });
        if number == 0 {
            part["thoughtSignature"] = json!(signature(&part["functionCall"]));
        }
        part
    });
    let calls: Vec<Value> = calls.collect();
    if !calls.is_empty() {
        body.push(event(head, json!({ "content": { "parts": calls, "role": "model" }, "index": 0 }), None));
    }
    let usage = step.usage.unwrap_or_default();
    let thoughts = if step.reasoning.is_empty() { 0 } else { usage.completion_tokens / 2 };
    let counts = json!({
        "promptTokenCount": usage.prompt_tokens, "cachedContentTokenCount": usage.cached_tokens,
        "candidatesTokenCount": usage.completion_tokens - thoughts, "thoughtsTokenCount": thoughts,
        "totalTokenCount": usage.prompt_tokens + usage.completion_tokens,
    });
    let last = json!({
        "content": { "parts": [{ "text": "" }], "role": "model" }, "finishReason": reason(step), "index": 0,
    });
    let end = vec![event(head, last, Some(counts))];
    let error = json!({ "code": 503, "message": "The model is overloaded.", "status": "UNAVAILABLE" });
    let failure = Act::Send(format!("data: {}\r\n\r\n", json!({ "error": error })).into());
    Reply { body, end, failure }
}

fn reason(step: &Step) -> &str {
    match step.finish_reason.as_deref() {
        Some("length") => "MAX_TOKENS",
        Some("content_filter") => "SAFETY",
        Some(other) => other,
        None => "STOP",
    }
}

fn event(head: &Head<'_>, candidate: Value, usage: Option<Value>) -> Act {
    let mut event = json!({ "candidates": [candidate], "modelVersion": "fake", "responseId": head.base() });
    if let Some(usage) = usage {
        event["usageMetadata"] = usage;
    }
    Act::Send(format!("data: {event}\r\n\r\n").into())
}
