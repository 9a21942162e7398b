//! A step as the events of a message.

use serde_json::{Value, json};

use crate::fake_llm::reply::{Act, Head, pieces};
use crate::fake_llm::script::Step;
use crate::fake_llm::wire::Reply;

use super::bound::signature;

/// The events of a step.
pub fn reply(head: &Head<'_>, step: &Step) -> Reply {
    let mut body: Vec<Act> = step.waits(0).collect();
    let message = empty_message(head, step);
    body.extend([event("message_start", json!({ "message": message })), event("ping", json!({}))]);
    let (mut index, mut sent) = (0, 0);
    // The end of the block that is open.
    let mut open: Option<Act> = None;
    let mut begin = |body: &mut Vec<Act>, block: Value| {
        body.extend(open.replace(event("content_block_stop", json!({ "index": index }))));
        body.push(event("content_block_start", json!({ "index": index, "content_block": block })));
        index += 1;
        index - 1
    };
    let delta =
        |index: usize, delta: Value| event("content_block_delta", json!({ "index": index, "delta": delta }));
    if !step.reasoning.is_empty() {
        let at = begin(&mut body, json!({ "type": "thinking", "thinking": "", "signature": "" }));
        for thought in &step.reasoning {
            body.push(delta(at, json!({ "type": "thinking_delta", "thinking": thought })));
            sent += 1;
            body.extend(step.waits(sent));
        }
        let before = head.body["messages"].as_array().map(Vec::as_slice).unwrap_or_default();
        let signature = signature(&step.reasoning.concat(), head.body, before);
        body.push(delta(at, json!({ "type": "signature_delta", "signature": signature })));
    }
    if !step.text.is_empty() {
        let at = begin(&mut body, json!({ "type": "text", "text": "" }));
        for text in &step.text {
            body.push(delta(at, json!({ "type": "text_delta", "text": text })));
            sent += 1;
            body.extend(step.waits(sent));
        }
    }
    for (number, call) in step.calls.iter().enumerate() {
        let id = head.call_id(call, number);
        let block = json!({ "type": "tool_use", "id": id, "name": call.name, "input": {} });
        let at = begin(&mut body, block);
        // The real API begins with an empty piece.
        for piece in std::iter::once(String::new()).chain(pieces(call)) {
            body.push(delta(at, json!({ "type": "input_json_delta", "partial_json": piece })));
        }
    }
    let mut end: Vec<Act> = open.into_iter().collect();
    end.push(event(
        "message_delta",
        json!({
            "delta": { "stop_reason": stop_reason(step), "stop_sequence": null },
            "usage": { "output_tokens": step.usage.unwrap_or_default().completion_tokens },
        }),
    ));
    end.push(event("message_stop", json!({})));
    let failure = event(
        "error",
        json!({ "error": { "details": null, "type": "overloaded_error", "message": "Overloaded" } }),
    );
    Reply { body, end, failure }
}

/// The message before its first block.
fn empty_message(head: &Head<'_>, step: &Step) -> Value {
    let usage = step.usage.unwrap_or_default();
    json!({
        "id": format!("msg_{}", head.base()), "type": "message", "role": "assistant", "model": head.model,
        "content": [], "stop_reason": null, "stop_sequence": null,
        "usage": {
            // Other than OpenAI's, this count leaves out the tokens that came from the cache.
            "input_tokens": usage.prompt_tokens.saturating_sub(usage.cached_tokens),
            "cache_creation_input_tokens": 0, "cache_read_input_tokens": usage.cached_tokens, "output_tokens": 1,
        },
    })
}

fn stop_reason(step: &Step) -> &str {
    match step.finish_reason.as_deref() {
        Some("length") => "max_tokens",
        Some("content_filter") => "refusal",
        Some(other) => other,
        None if step.calls.is_empty() => "end_turn",
        None => "tool_use",
    }
}

fn event(kind: &str, mut data: Value) -> Act {
    data["type"] = json!(kind);
    Act::Send(format!("event: {kind}\ndata: {data}\n\n").into())
}
