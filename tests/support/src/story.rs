//! A turn as a story: one line an event, ids replaced by labels in the order of their appearance, so that whole event
//! lists can be compared and written down in a test.
//!
//! A story leaves out values that differ from run to run (sequence numbers, durations) or labels them (ids). It
//! leaves out prose for people too (the message of `error`, the text of a failed tool call). It has everything else.

use std::collections::HashMap;

use serde_json::Value;

use crate::Event;

/// The whole turn, in the order of the wire. Lines below the root begin with their place: `1/call:1 ` is depth 1, inside
/// the first call.
pub fn story(events: &[Event]) -> Vec<String> {
    tell(events.iter(), true)
}

/// The lines of one level alone, with their own labels: parallel subtasks may interleave in any way, and each of them
/// tells one story. `None` is the root.
pub fn level(events: &[Event], parent_id: Option<&str>) -> Vec<String> {
    let inside = |event: &&Event| match event.data.get("parent_id") {
        None => parent_id.is_none(),
        Some(parent) => parent.as_str() == parent_id,
    };
    tell(events.iter().filter(inside), false)
}

fn tell<'a>(events: impl Iterator<Item = &'a Event>, places: bool) -> Vec<String> {
    let mut labels = Labels { places, ..Labels::default() };
    events.filter_map(|event| line(&mut labels, event).map(|line| labels.replace(line))).collect()
}

#[derive(Default)]
struct Labels {
    by_id: HashMap<String, String>,
    counts: HashMap<&'static str, usize>,
    places: bool,
}

impl Labels {
    fn of(&mut self, kind: &'static str, event: &Event, field: &str) -> String {
        let id = event.text(field);
        if let Some(label) = self.by_id.get(id) {
            return label.clone();
        }
        let count = self.counts.entry(kind).or_default();
        *count += 1;
        let label = format!("{kind}:{count}");
        self.by_id.insert(id.to_owned(), label.clone());
        label
    }

    /// Ids inside texts (a memory key such as `task:ID`), and the marker, which is new in each run.
    fn replace(&self, mut line: String) -> String {
        for (id, label) in self.by_id.iter().filter(|(id, _)| id.len() >= 8) {
            line = line.replace(id, label);
        }
        let mut pieces = line.split("[[fake:");
        let mut replaced = pieces.next().unwrap_or_default().to_owned();
        for piece in pieces {
            let end = piece.find(['/', ']']).unwrap_or_default();
            replaced = format!("{replaced}[[fake:M{}", piece.get(end..).unwrap_or_default());
        }
        replaced
    }
}

/// `None` for an empty chunk whose only purpose is to close its part: the service may close a part with its last text or
/// with a chunk of its own. [`crate::wire`] checks that each part is closed.
// Long: one arm for each kind of event.
fn line(labels: &mut Labels, event: &Event) -> Option<String> {
    let data = &event.data;
    let line = match event.kind.as_str() {
        "session" => {
            let user = labels.of("message", event, "user_message_id");
            let assistant = labels.of("message", event, "assistant_message_id");
            let resumed = if data["resumed"] == Value::Bool(true) { " resumed" } else { "" };
            format!("session {user} {assistant} {} {}{resumed}", event.text("provider"), event.text("model"))
        }
        "agent_state" => format!(
            "agent_state {} {}{}",
            event.text("context_type"),
            event.text("state"),
            data["details"].as_str().map(|details| format!(" {details}")).unwrap_or_default()
        ),
        "model_call_update" => {
            let model = labels.of("model", event, "model_call_id");
            let more = match event.text("status") {
                "start" => event.text("model").to_owned(),
                _ => format!("{} {}", event.text("finish_reason"), usage(&data["usage"])),
            };
            format!("{}{model} {} {more}", at(labels, event), event.text("status"))
        }
        "model_call_reset" => {
            format!("{}{} reset", at(labels, event), labels.of("model", event, "model_call_id"))
        }
        "chunk" => {
            let part = labels.of("part", event, "part_id");
            let kind = if event.text("kind") == "reasoning" { "reasoning " } else { "" };
            if event.text("content").is_empty() {
                return None;
            }
            format!("{}{part} {kind}{}", at(labels, event), data["content"])
        }
        "history_summary" => format!("history_summary {}", data["text"]),
        "tool_call_update" => {
            let call = labels.of("call", event, "tool_call_id");
            let name = event.text("name");
            match event.text("status") {
                "start" if event.text("awaits") == "client" => {
                    format!("{}{call} start {name} {} for the client", at(labels, event), data["args"])
                }
                "start" => format!("{}{call} start {name} {}", at(labels, event), data["args"]),
                _ if data["is_error"] == Value::Bool(true) => {
                    format!("{}{call} end {name} failed", at(labels, event))
                }
                _ => format!("{}{call} end {name} {}", at(labels, event), data["result"]),
            }
        }
        "agent_update" => format!("agent {} {}", event.text("name"), event.text("status")),
        "approval_request" => {
            let call = labels.of("call", event, "tool_call_id");
            format!("{}{call} may it {} {}?", at(labels, event), event.text("name"), data["args"])
        }
        "approval_resolved" => {
            let call = labels.of("call", event, "tool_call_id");
            format!("{}{call} {}", at(labels, event), event.text("decision"))
        }
        "limit_request" => {
            let [limit, observed, raised_to, left] =
                ["limit", "observed", "raised_to", "grants_left"].map(|it| &data[it]);
            let more = format!("raised_to={raised_to} left={left}");
            format!(
                "{}may it {}? limit={limit} observed={observed} {more}",
                at(labels, event),
                event.text("reason")
            )
        }
        "limit_resolved" => format!("{}{} {}", at(labels, event), event.text("decision"), data["limits"]),
        // The service promises that it does not stop too early, and not how late it looks at the clock.
        "budget_exceeded"
            if event.text("reason") == "wall_clock"
                && data["observed"].as_u64() >= data["limit"].as_u64() =>
        {
            format!("budget_exceeded wall_clock limit={}", data["limit"])
        }
        "queue_update" => {
            format!("queue_update {} held={}", data["messages"].as_array().map_or(0, Vec::len), data["held"])
        }
        "budget_exceeded" => {
            format!(
                "budget_exceeded {} limit={} observed={}",
                event.text("reason"),
                data["limit"],
                data["observed"]
            )
        }
        "cost_summary" => cost(data),
        "error" => format!("error {} retryable={}", event.text("code"), data["retryable"]),
        "done" => {
            format!("done {} {}", labels.of("message", event, "message_id"), event.text("finish_reason"))
        }
        other => format!("{other} {data}"),
    };
    Some(line)
}

/// The place in the tree, empty at the root.
fn at(labels: &mut Labels, event: &Event) -> String {
    match event.data["parent_id"].as_str() {
        None => String::new(),
        Some(_) if !labels.places => String::new(),
        Some(_) => format!("{}/{} ", event.data["depth"], labels.of("call", event, "parent_id")),
    }
}

fn usage(usage: &Value) -> String {
    match usage {
        Value::Null => "no usage".into(),
        usage => format!(
            "in={} cached={} out={}",
            usage["input_tokens"], usage["cached_tokens"], usage["output_tokens"]
        ),
    }
}

/// The line of a `cost_summary` whose model calls all reported the fake LLM's usual tokens.
pub fn cost_line(llm_calls: u64, tool_calls: u64, subtasks: u64) -> String {
    let tokens = format!("in={} cached=0 out={}", 10 * llm_calls, 5 * llm_calls);
    format!(
        "cost_summary llm={llm_calls} tools={tool_calls} subtasks={subtasks} {tokens} usd=null; \
         fake-1: llm={llm_calls} {tokens} usd=null"
    )
}

fn cost(data: &Value) -> String {
    let counts =
        format!("llm={} tools={} subtasks={}", data["llm_calls"], data["tool_calls"], data["subtasks"]);
    let models = data["by_model"].as_object().into_iter().flatten();
    let models: Vec<String> = models
        .map(|(model, row)| {
            format!(" {model}: llm={} {} usd={}", row["llm_calls"], usage(row), row["cost_usd"])
        })
        .collect();
    format!("cost_summary {counts} {} usd={};{}", usage(data), data["cost_usd"], models.concat())
}
