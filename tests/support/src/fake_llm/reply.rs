//! A step as the bytes of Chat Completions: `chat.completion.chunk`s as server-sent events.

use bytes::Bytes;
use serde_json::{Value, json};

use super::script::{Barrier, Call, Step, Usage};

/// The next act of a reply.
pub enum Act {
    /// Sends these bytes.
    Send(Bytes),
    /// Waits.
    Wait(Barrier),
}

/// The common part of all chunks of one reply.
pub struct Head<'a> {
    /// The marker, from which ids are made.
    pub marker: &'a str,
    /// The step, likewise.
    pub step: usize,
    /// The requested model.
    pub model: &'a str,
    /// Whether the client asked for `stream_options.include_usage`.
    pub include_usage: bool,
    /// Whether it asked for its reasoning in a form that it can send back.
    pub encrypted: bool,
    /// The whole request.
    pub body: &'a Value,
}

impl Head<'_> {
    fn chunk(&self, choices: Value, usage: Option<&Usage>) -> Act {
        let mut chunk = json!({
            "id": format!("chatcmpl-{}-{}", self.marker, self.step),
            "object": "chat.completion.chunk",
            // A constant: the wire of a replayed step is the same to the byte.
            "created": 1_700_000_000,
            "model": self.model,
            "system_fingerprint": "fp_fake",
            "choices": choices,
        });
        if self.include_usage {
            // The real API sends `usage: null` on every chunk but the last.
            chunk["usage"] = usage.map_or(Value::Null, |usage| {
                json!({
                    "prompt_tokens": usage.prompt_tokens,
                    "completion_tokens": usage.completion_tokens,
                    "total_tokens": usage.prompt_tokens + usage.completion_tokens,
                    "prompt_tokens_details": { "cached_tokens": usage.cached_tokens },
                    "completion_tokens_details": { "reasoning_tokens": 0 },
                })
            });
        }
        Act::Send(format!("data: {chunk}\n\n").into())
    }

    fn delta(&self, delta: Value, finish_reason: Option<&str>) -> Act {
        self.chunk(
            json!([{ "index": 0, "delta": delta, "logprobs": null, "finish_reason": finish_reason }]),
            None,
        )
    }

    /// The common part of the ids of this reply. It is deterministic, and different for each step, so a script that
    /// repeats itself makes new calls each time.
    pub fn base(&self) -> String {
        format!("{}_{}", self.marker.replace(['/', ' '], "_"), self.step)
    }

    /// The id of a call.
    pub fn call_id(&self, call: &Call, index: usize) -> String {
        let made = || format!("call_{}_{index}", self.base());
        call.id.clone().unwrap_or_else(made)
    }
}

/// Reasoning, text and calls, with the barriers between them: all that a reply sends before its proper end.
pub fn body(head: &Head<'_>, step: &Step) -> Vec<Act> {
    let mut acts: Vec<Act> = step.waits(0).collect();
    acts.push(head.delta(json!({ "role": "assistant", "content": "", "refusal": null }), None));
    let mut sent = 0;
    let deltas = step.reasoning.iter().map(|text| ("reasoning_content", text));
    for (kind, text) in deltas.chain(step.text.iter().map(|text| ("content", text))) {
        acts.push(head.delta(json!({ kind: text }), None));
        sent += 1;
        acts.extend(step.waits(sent));
    }
    for (index, call) in step.calls.iter().enumerate() {
        call_deltas(head, call, index, &mut acts);
    }
    acts
}

/// The proper end of a reply.
pub fn end(head: &Head<'_>, step: &Step) -> Vec<Act> {
    let natural = if step.calls.is_empty() { "stop" } else { "tool_calls" };
    let mut acts = vec![head.delta(json!({}), Some(step.finish_reason.as_deref().unwrap_or(natural)))];
    if head.include_usage && !step.uncounted {
        acts.push(head.chunk(json!([]), Some(&step.usage.unwrap_or_default())));
    }
    acts.push(Act::Send(Bytes::from_static(b"data: [DONE]\n\n")));
    acts
}

/// First the head of the call with empty arguments, then the arguments in pieces, as the real API does.
fn call_deltas(head: &Head<'_>, call: &Call, index: usize, acts: &mut Vec<Act>) {
    let function = json!({ "name": call.name, "arguments": "" });
    let first =
        json!({ "index": index, "id": head.call_id(call, index), "type": "function", "function": function });
    acts.push(head.delta(json!({ "tool_calls": [first] }), None));

    for piece in pieces(call) {
        let delta = json!({ "index": index, "function": { "arguments": piece } });
        acts.push(head.delta(json!({ "tool_calls": [delta] }), None));
    }
}

/// The arguments of a call, as the model wrote them.
pub fn arguments(call: &Call) -> String {
    match &call.arguments {
        Value::String(raw) => raw.clone(),
        value => value.to_string(),
    }
}

/// The same in pieces, small enough that names, numbers and escapes are torn apart somewhere.
pub fn pieces(call: &Call) -> Vec<String> {
    let characters: Vec<char> = arguments(call).chars().collect();
    characters.chunks(11).map(|piece| piece.iter().collect()).collect()
}

impl Step {
    /// The waits of a reply after this many deltas.
    pub fn waits(&self, sent: usize) -> impl Iterator<Item = Act> {
        self.barriers(sent).cloned().map(Act::Wait)
    }

    /// The barriers of a reply after this many deltas. A refusal, which has no deltas, waits at those after none.
    pub fn barriers(&self, sent: usize) -> impl Iterator<Item = &Barrier> {
        self.barrier.iter().filter(move |barrier| barrier.after == sent)
    }
}

/// OpenAI's error object.
pub fn error(message: &str, kind: &str) -> Value {
    json!({ "error": { "message": message, "type": kind, "param": null, "code": null } })
}
