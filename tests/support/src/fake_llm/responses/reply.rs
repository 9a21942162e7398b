//! A step as the events of a response.

use serde_json::{Value, json};

use crate::fake_llm::reply::{Act, Head, arguments, pieces};
use crate::fake_llm::script::{Call, Step};
use crate::fake_llm::wire::{Reply, seal};

/// The events of a step.
///
/// Reasoning is sent in full, as servers of open models do; OpenAI itself sends summaries.
pub fn reply(head: &Head<'_>, step: &Step) -> Reply {
    let mut stream = Stream { number: 0, acts: step.waits(0).collect(), output: Vec::new() };
    for kind in ["response.created", "response.in_progress"] {
        stream.event(kind, json!({ "response": head.response("in_progress", &[]) }));
    }
    // The end of an item comes with the next one, or with the end of the reply.
    let mut open: Option<Open> = None;
    // An item after reasoning belongs to it.
    let mut after = String::new();
    if !step.reasoning.is_empty() {
        open = Some(stream.reasoning(head, step));
        after = format!("_after_{}", head.reasoning_id());
    }
    if !step.text.is_empty() {
        stream.close(open.take());
        open = Some(stream.text(format!("msg_{}{after}", head.base()), step));
    }
    for (number, call) in step.calls.iter().enumerate() {
        stream.close(open.take());
        let id = format!("fc_{}_{number}{after}", head.base());
        open = Some(stream.call(&id, &head.call_id(call, number), call));
    }
    let body = std::mem::take(&mut stream.acts);
    let failure = failure(head, stream.number);
    stream.close(open);
    stream.finish(head, step);
    Reply { body, end: stream.acts, failure }
}

/// The event of a server that fails at this place of the stream.
fn failure(head: &Head<'_>, number: u64) -> Act {
    let mut failed = head.response("failed", &[]);
    failed["error"] =
        json!({ "code": "server_error", "message": "The server had an error processing your request." });
    event("response.failed", number, json!({ "response": failed }))
}

impl Head<'_> {
    fn reasoning_id(&self) -> String {
        format!("rs_{}", self.base())
    }

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

    /// Begins an item and returns its number.
    fn begin(&mut self, item: &Value) -> usize {
        let index = self.output.len();
        self.event("response.output_item.added", json!({ "output_index": index, "item": item }));
        index
    }

    fn reasoning(&mut self, head: &Head<'_>, step: &Step) -> Open {
        let id = head.reasoning_id();
        let mut whole = json!({ "id": id, "type": "reasoning", "summary": [] });
        let at = self.begin(&whole);
        for (index, thought) in step.reasoning.iter().enumerate() {
            let data = json!({ "output_index": at, "item_id": id, "content_index": 0, "delta": thought });
            self.event("response.reasoning_text.delta", data);
            self.acts.extend(step.waits(index + 1));
        }
        let text = step.reasoning.concat();
        whole["content"] = json!([{ "type": "reasoning_text", "text": text }]);
        if head.encrypted {
            whole["encrypted_content"] = json!(seal(&text));
        }
        let done = json!({ "item_id": id, "content_index": 0, "text": text });
        Open { events: vec![("response.reasoning_text.done", done)], whole }
    }

    fn text(&mut self, id: String, step: &Step) -> Open {
        let mut whole = json!({ "id": id, "type": "message", "status": "in_progress", "role": "assistant", "content": [] });
        let at = self.begin(&whole);
        let part =
            |text: &str| json!({ "type": "output_text", "text": text, "annotations": [], "logprobs": [] });
        let place = json!({ "output_index": at, "item_id": id, "content_index": 0 });
        self.event("response.content_part.added", with(&place, "part", part("")));
        for (index, text) in step.text.iter().enumerate() {
            self.event("response.output_text.delta", with(&place, "delta", json!(text)));
            self.acts.extend(step.waits(step.reasoning.len() + index + 1));
        }
        let text = step.text.concat();
        whole["status"] = json!("completed");
        whole["content"] = json!([part(&text)]);
        let events = vec![
            ("response.output_text.done", with(&place, "text", json!(text))),
            ("response.content_part.done", with(&place, "part", part(&text))),
        ];
        Open { events, whole }
    }

    fn call(&mut self, id: &str, call_id: &str, call: &Call) -> Open {
        let mut whole = json!({
            "id": id, "type": "function_call", "status": "in_progress", "call_id": call_id,
            "name": call.name, "arguments": "",
        });
        let place = json!({ "output_index": self.begin(&whole), "item_id": id });
        for piece in pieces(call) {
            self.event("response.function_call_arguments.delta", with(&place, "delta", json!(piece)));
        }
        whole["status"] = json!("completed");
        whole["arguments"] = json!(arguments(call));
        let done = with(&place, "arguments", json!(arguments(call)));
        Open { events: vec![("response.function_call_arguments.done", done)], whole }
    }

    /// The end of the response, with its usage.
    fn finish(&mut self, head: &Head<'_>, step: &Step) {
        let (kind, status, reason) = match step.finish_reason.as_deref() {
            Some("length") => ("response.incomplete", "incomplete", Some("max_output_tokens")),
            Some("content_filter") => ("response.incomplete", "incomplete", Some("content_filter")),
            _ => ("response.completed", "completed", None),
        };
        let usage = step.usage.unwrap_or_default();
        let mut response = head.response(status, &self.output);
        response["incomplete_details"] = reason.map_or(Value::Null, |reason| json!({ "reason": reason }));
        response["usage"] = json!({
            "input_tokens": usage.prompt_tokens,
            "input_tokens_details": { "cached_tokens": usage.cached_tokens },
            "output_tokens": usage.completion_tokens,
            "output_tokens_details": { "reasoning_tokens": 0 },
            "total_tokens": usage.prompt_tokens + usage.completion_tokens,
        });
        self.event(kind, json!({ "response": response }));
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
