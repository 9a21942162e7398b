//! A step as the events of a response.

use serde_json::{Value, json};

use crate::fake_llm::reply::{Act, Head, arguments, pieces};
use crate::fake_llm::script::Step;
use crate::fake_llm::wire::{Reply, seal};

/// The events of a step.
///
/// Reasoning is told in full, as servers of open models do; OpenAI itself tells summaries.
pub fn reply(head: &Head<'_>, step: &Step) -> Reply {
    let mut stream = Stream { number: 0, acts: step.waits(0).collect(), output: Vec::new() };
    for kind in ["response.created", "response.in_progress"] {
        stream.event(kind, json!({ "response": head.response("in_progress", &[]) }));
    }
    let mut sent = 0;
    // The end of an item comes with the next one, or with the end of the reply.
    let mut open: Option<Open> = None;
    let reasoning = format!("rs_{}", head.base());
    if !step.reasoning.is_empty() {
        let item = json!({ "id": reasoning, "type": "reasoning", "summary": [] });
        let at = stream.begin(open.take(), item.clone());
        for thought in &step.reasoning {
            let data =
                json!({ "output_index": at, "item_id": reasoning, "content_index": 0, "delta": thought });
            stream.event("response.reasoning_text.delta", data);
            sent += 1;
            stream.acts.extend(step.waits(sent));
        }
        let text = step.reasoning.concat();
        let mut whole = item;
        whole["content"] = json!([{ "type": "reasoning_text", "text": text }]);
        if head.encrypted {
            whole["encrypted_content"] = json!(seal(&text));
        }
        let done = json!({ "item_id": reasoning, "content_index": 0, "text": text });
        open = Some(Open { events: vec![("response.reasoning_text.done", done)], whole });
    }
    // An item after reasoning belongs to it.
    let after = if step.reasoning.is_empty() { String::new() } else { format!("_after_{reasoning}") };
    if !step.text.is_empty() {
        let id = format!("msg_{}{after}", head.base());
        let item = json!({ "id": id, "type": "message", "status": "in_progress", "role": "assistant", "content": [] });
        let at = stream.begin(open.take(), item.clone());
        let part =
            |text: &str| json!({ "type": "output_text", "text": text, "annotations": [], "logprobs": [] });
        let place = json!({ "output_index": at, "item_id": id, "content_index": 0 });
        stream.event("response.content_part.added", with(&place, "part", part("")));
        for text in &step.text {
            stream.event("response.output_text.delta", with(&place, "delta", json!(text)));
            sent += 1;
            stream.acts.extend(step.waits(sent));
        }
        let text = step.text.concat();
        let mut whole = item;
        whole["status"] = json!("completed");
        whole["content"] = json!([part(&text)]);
        let events = vec![
            ("response.output_text.done", with(&place, "text", json!(text))),
            ("response.content_part.done", with(&place, "part", part(&text))),
        ];
        open = Some(Open { events, whole });
    }
    for (number, call) in step.calls.iter().enumerate() {
        let id = format!("fc_{}_{number}{after}", head.base());
        let item = json!({
            "id": id, "type": "function_call", "status": "in_progress", "call_id": head.call_id(call, number),
            "name": call.name, "arguments": "",
        });
        let at = stream.begin(open.take(), item.clone());
        let place = json!({ "output_index": at, "item_id": id });
        for piece in pieces(call) {
            stream.event("response.function_call_arguments.delta", with(&place, "delta", json!(piece)));
        }
        let mut whole = item;
        whole["status"] = json!("completed");
        whole["arguments"] = json!(arguments(call));
        let done = with(&place, "arguments", json!(arguments(call)));
        open = Some(Open { events: vec![("response.function_call_arguments.done", done)], whole });
    }
    let body = std::mem::take(&mut stream.acts);
    let error =
        json!({ "code": "server_error", "message": "The server had an error processing your request." });
    let mut failed = head.response("failed", &[]);
    failed["error"] = error;
    let failure = event("response.failed", stream.number, json!({ "response": failed }));
    stream.close(open);
    let (kind, status, reason) = match step.finish_reason.as_deref() {
        Some("length") => ("response.incomplete", "incomplete", Some("max_output_tokens")),
        Some("content_filter") => ("response.incomplete", "incomplete", Some("content_filter")),
        _ => ("response.completed", "completed", None),
    };
    let usage = step.usage.unwrap_or_default();
    let mut response = head.response(status, &stream.output);
    response["incomplete_details"] = reason.map_or(Value::Null, |reason| json!({ "reason": reason }));
    response["usage"] = json!({
        "input_tokens": usage.prompt_tokens,
        "input_tokens_details": { "cached_tokens": usage.cached_tokens },
        "output_tokens": usage.completion_tokens,
        "output_tokens_details": { "reasoning_tokens": 0 },
        "total_tokens": usage.prompt_tokens + usage.completion_tokens,
    });
    stream.event(kind, json!({ "response": response }));
    Reply { body, end: stream.acts, failure }
}

impl Head<'_> {
    fn response(&self, status: &str, output: &[Value]) -> Value {
        json!({
            "id": format!("resp_{}", self.base()), "object": "response", "created_at": 1_700_000_000,
            "status": status, "error": null, "incomplete_details": null, "model": self.model, "output": output,
            "store": false, "usage": null,
        })
    }
}

struct Stream {
    /// Of the next event.
    number: u64,
    acts: Vec<Act>,
    /// The items that are complete.
    output: Vec<Value>,
}

/// The remaining text of an open item.
struct Open {
    events: Vec<(&'static str, Value)>,
    whole: Value,
}

impl Stream {
    fn event(&mut self, kind: &str, data: Value) {
        self.acts.push(event(kind, self.number, data));
        self.number += 1;
    }

    /// The number of the item.
    fn begin(&mut self, before: Option<Open>, item: Value) -> usize {
        self.close(before);
        let index = self.output.len();
        self.event("response.output_item.added", json!({ "output_index": index, "item": item }));
        index
    }

    fn close(&mut self, open: Option<Open>) {
        let Some(Open { events, whole }) = open else { return };
        let index = self.output.len();
        for (kind, data) in events {
            self.event(kind, with(&data, "output_index", json!(index)));
        }
        self.event("response.output_item.done", json!({ "output_index": index, "item": whole }));
        self.output.push(whole);
    }
}

fn with(data: &Value, name: &str, value: Value) -> Value {
    let mut data = data.clone();
    data[name] = value;
    data
}

fn event(kind: &str, number: u64, mut data: Value) -> Act {
    data["type"] = json!(kind);
    data["sequence_number"] = json!(number);
    Act::Send(format!("event: {kind}\ndata: {data}\n\n").into())
}
