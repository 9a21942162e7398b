//! A step as the binding of Workers AI sends it: chunks of its own form. Its requests are nearly Chat Completions.

use serde_json::{Value, json};

use super::reply::{Act, Head, arguments};
use super::script::Step;
use super::wire::Reply;

/// The chunks of a step.
pub fn reply(head: &Head<'_>, step: &Step) -> Reply {
    let mut body: Vec<Act> = step.waits(0).collect();
    for (sent, text) in (1..).zip(&step.text) {
        body.push(chunk(json!({ "response": text, "p": "abcdef" })));
        body.extend(step.waits(sent));
    }
    // Calls come whole, their arguments as an object, and without ids.
    let call = |call| {
        let arguments: Value = serde_json::from_str(&arguments(call)).unwrap_or_default();
        json!({ "name": call.name, "arguments": arguments })
    };
    if !step.calls.is_empty() {
        body.push(chunk(json!({ "tool_calls": step.calls.iter().map(call).collect::<Vec<_>>() })));
    }
    let usage = step.usage.unwrap_or_default();
    let counts = json!({
        "prompt_tokens": usage.prompt_tokens, "completion_tokens": usage.completion_tokens,
        "total_tokens": usage.prompt_tokens + usage.completion_tokens,
        "prompt_tokens_details": { "cached_tokens": usage.cached_tokens },
    });
    let end = vec![
        chunk(json!({ "response": "", "usage": counts, "model": head.model })),
        Act::Send("data: [DONE]\n\n".into()),
    ];
    let failure = chunk(json!({ "errors": [{ "code": 3040, "message": "Capacity temporarily exceeded" }] }));
    Reply { body, end, failure }
}

fn chunk(data: Value) -> Act {
    Act::Send(format!("data: {data}\n\n").into())
}
