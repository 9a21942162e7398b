//! Salvages a turn that cannot be rebuilt: the texts that its rows hold, read as plain JSON. A row that cannot be read
//! costs its own text alone. Pure.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::rows::{Item, TEXT, part_change, readable_items};
use engine::journal::{PartChange, Shown, told_result};
use wire::protocol::{
    CallStatus, Content, Event, ExecutionTree, HookPoint, Place, Seq, TreeHook, TreeModelCall, TreeNode,
    preview,
};

/// The parts of a turn that could be read.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Salvaged {
    /// The id of the user's message, and the message as it was sent.
    pub user_message_id: Option<String>,
    pub content: Option<Content>,
    pub context_type: Option<String>,
    /// The root's texts, in order.
    pub texts: Vec<String>,
    /// The results of finished subtasks, in the order in which they finished. A subtask within a finished one is left
    /// out, since the outer result stands for it.
    pub subtasks: Vec<String>,
    /// The ends of calls whose start clients have seen, with their keys: the innermost first.
    pub ends: Vec<(String, Event)>,
    /// The parts that readers have seen, those ends included, and the calls in them.
    pub shown: Shown,
    pub tree: ExecutionTree,
}

/// An event or a text that could be read.
struct SalvagedEvent {
    seq: Seq,
    key: String,
    kind: String,
    body: Value,
}

impl Salvaged {
    /// All text, as the stored message has it: the root's first, then the results of subtasks.
    pub fn text(&self) -> String {
        let results = self.subtasks.iter().map(|result| told_result(result));
        self.texts.iter().cloned().chain(results).collect::<Vec<_>>().join("\n\n")
    }
}

/// Reads a turn: the texts of its journal, and the payloads of its events, both in their order.
pub fn salvaged<'a>(
    journal: impl IntoIterator<Item = &'a String>,
    payloads: impl IntoIterator<Item = &'a String>,
) -> Salvaged {
    let (mut events, mut shows) = (Vec::new(), Vec::new());
    for payload in payloads {
        for item in readable_items(payload) {
            shows.extend(part_change(&item).ok().flatten());
            events.extend(event_of(item));
        }
    }
    events.sort_by_key(|told: &SalvagedEvent| told.seq);
    let ends = ends(&events);
    let mut shown = Shown::read(shows);
    shown.add(ends.iter().filter_map(|(_, event)| PartChange::event(event)));
    let entries: Vec<Value> = journal.into_iter().flat_map(|text| values(text)).collect();
    let started = entries.iter().find_map(|entry| entry.pointer("/fact/started"));
    let member = |name: &str| started.and_then(|started| started.get(name));
    let text = |name: &str| member(name).and_then(Value::as_str).map(str::to_owned);
    // Where hooks judge the answers, nobody has judged the results of subtasks.
    let is_judged = started.is_some_and(is_judged) || entries.iter().any(judges_later);
    Salvaged {
        user_message_id: text("user_message_id"),
        content: member("content").and_then(|content| wire::json::from_value(content).ok()),
        context_type: text("context_type"),
        texts: texts(&events),
        subtasks: if is_judged { Vec::new() } else { subtasks(&entries) },
        tree: tree(&events, &ends),
        shown,
        ends,
    }
}

/// Whether a turn began with a hook that judges answers: the operator's, the thread's, or one that an agent had made.
fn is_judged(started: &Value) -> bool {
    let list = |value: Option<&Value>| value.and_then(Value::as_array).cloned().unwrap_or_default();
    let agents = list(started.pointer("/setting/agents/kept"));
    let own = agents.iter().map(|agent| list(agent.get("hooks")));
    let given = ["/setting/hooks", "/setting/life/hooks"].map(|place| list(started.pointer(place)));
    given.into_iter().chain(own).flatten().any(|hook| is_on_answer(&hook))
}

/// Whether an entry has a hook on answers that an agent made in the turn, or a draft for one.
fn judges_later(entry: &Value) -> bool {
    entry.pointer("/fact/tool_ended/hook").is_some_and(is_on_answer)
        || entry.pointer("/fact/model_ended/outcome/drafted").is_some()
}

fn is_on_answer(hook: &Value) -> bool {
    hook.get("on").and_then(Value::as_str) == Some(HookPoint::Answer.as_str())
}

/// How long the turn had been running at the last entry of this text.
pub fn elapsed_ms(text: &str) -> Option<u64> {
    values(text).last()?.get("elapsed_ms")?.as_u64()
}

/// The entries of a text of the journal, up to the first one that is no JSON.
fn values(text: &str) -> Vec<Value> {
    wire::json::values(text).map_while(Result::ok).collect()
}

/// An item of a row, as far as it is needed here.
fn event_of(Item(seq, key, kind, body): Item<'_>) -> Option<SalvagedEvent> {
    if !KINDS.contains(&kind.as_ref()) {
        return None;
    }
    let body = wire::json::from_str(body.get()).ok()?;
    Some(SalvagedEvent { seq, key: key.into_owned(), kind: kind.into_owned(), body })
}

/// The `kind` of a part of the answer; the others are reasoning.
const ANSWER: &str = "text";

/// The kinds of events that are read beside texts.
const RESET: &str = "model_call_reset";
const MODEL_CALL: &str = "model_call_update";
const TOOL_CALL: &str = "tool_call_update";
const HOOK: &str = "hook_update";
/// A text that was not streamed: an answer that hooks have judged.
const CHUNK: &str = "chunk";
const KINDS: [&str; 6] = [TEXT, CHUNK, RESET, MODEL_CALL, TOOL_CALL, HOOK];

/// The result of a call that has none.
const UNKNOWN: &str = "The call was stopped and its result is unknown; it may have run.";

/// A part of streamed text, put together from its rows.
struct Part {
    part_id: String,
    model_call_id: String,
    text: String,
}

/// A member that is a text.
fn text(value: &Value, name: &str) -> String {
    value.get(name).and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn texts(events: &[SalvagedEvent]) -> Vec<String> {
    let mut parts: Vec<Part> = Vec::new();
    for SalvagedEvent { kind, body, .. } in events {
        let member = |name: &str| text(body, name);
        let model_call_id = member("model_call_id");
        if kind == RESET {
            // The call was made again, or dropped: clients have dropped its text.
            parts.retain(|part| part.model_call_id != model_call_id);
        }
        // An event of an answer does not name its kind.
        let (text, is_answer) = match kind.as_str() {
            TEXT => (member("text"), member("kind") == ANSWER),
            CHUNK => (member("content"), member("kind").is_empty()),
            _ => continue,
        };
        if !is_answer || body.get("depth").and_then(Value::as_u64) != Some(0) {
            continue;
        }
        let part_id = member("part_id");
        match parts.last_mut().filter(|part| part.part_id == part_id) {
            Some(part) => part.text.push_str(&text),
            None => parts.push(Part { part_id, model_call_id, text }),
        }
    }
    parts.into_iter().map(|part| part.text).filter(|text| !text.is_empty()).collect()
}

/// Ends for the calls that have none: the wire promises one end for each start.
fn ends(events: &[SalvagedEvent]) -> Vec<(String, Event)> {
    let mut open: Vec<(String, &SalvagedEvent)> = Vec::new();
    for told in events {
        let id = match told.kind.as_str() {
            MODEL_CALL => text(&told.body, "model_call_id"),
            TOOL_CALL => text(&told.body, "tool_call_id"),
            HOOK => text(&told.body, "hook_call_id"),
            _ => continue,
        };
        match text(&told.body, "status").as_str() {
            "start" => open.push((id, told)),
            _ => open.retain(|(other, _)| *other != id),
        }
    }
    // A call that starts later lies within an earlier one, or beside it.
    let ends = open.into_iter().rev().flat_map(|(_, start)| end_of(start));
    ends.filter_map(|(key, event)| Some((key, wire::json::from_value(&event).ok()?))).collect()
}

/// The events that end an open call, with the engine's own keys: an event that is there already is not written again.
fn end_of(start: &SalvagedEvent) -> Vec<(String, Value)> {
    let key = |word: &str| start.key.replacen("_start:", word, 1);
    let with = |members: Value| {
        let mut event = start.body.clone();
        if let (Value::Object(event), Value::Object(members)) = (&mut event, members) {
            ["args", "awaits", "expires_at"].iter().for_each(|name| drop(event.remove(*name)));
            event.extend(members);
        }
        event
    };
    if start.kind == TOOL_CALL {
        let end = json!({ "status": "end", "result": UNKNOWN, "is_error": true, "duration_ms": 0, "started_ms": null });
        return vec![(key("_end:"), with(end))];
    }
    if start.kind == HOOK {
        return vec![(key("_end:"), with(json!({ "status": "end", "duration_ms": 0 })))];
    }
    // The call's run was lost, so clients must drop the text that they have of it.
    let reset = with(json!({ "type": RESET, "reason": "interrupted" }));
    let end = with(json!({ "status": "end", "finish_reason": "aborted", "duration_ms": 0 }));
    vec![(format!("{}:end", key("_reset:")), reset), (key("_end:"), end)]
}

/// The calls that readers have seen, as the engine would keep them. A call has a title if it contains something.
fn tree(events: &[SalvagedEvent], ends: &[(String, Event)]) -> ExecutionTree {
    let parents: BTreeSet<&str> =
        events.iter().filter_map(|told| told.body.get("parent_id").and_then(Value::as_str)).collect();
    let calls = events.iter().filter(|told| [TOOL_CALL, MODEL_CALL, HOOK].contains(&told.kind.as_str()));
    let calls = calls.filter_map(|told| wire::json::from_value(&told.body).ok());
    let (mut nodes, mut model_calls): (Vec<TreeNode>, _) = (Vec::new(), Vec::new());
    for event in calls.chain(ends.iter().map(|(_, event)| event.clone())) {
        let Event::ToolCallUpdate {
            tool_call_id: id,
            name,
            status,
            started_ms,
            args,
            result,
            is_error,
            duration_ms,
            usage,
            decision,
            place,
            ..
        } = event
        else {
            match event {
                Event::HookUpdate { .. } => add_hook(&mut nodes, event),
                _ => model_calls.extend(model_call(event)),
            }
            continue;
        };
        if status == CallStatus::Start {
            let args = args.unwrap_or_default();
            let title = args.get("title").and_then(Value::as_str).filter(|_| parents.contains(id.as_str()));
            let (title, args_preview) = (title.map(str::to_owned), Some(preview(&args.to_string())));
            let parent_id = place.parent_id;
            nodes.push(TreeNode {
                id,
                parent_id,
                name,
                title,
                args_preview,
                started_ms,
                ..TreeNode::default()
            });
        } else if let Some(node) = nodes.iter_mut().rfind(|node| node.id == id) {
            node.result_preview = result.as_deref().map(preview);
            node.is_error = is_error.then_some(true);
            node.duration_ms = duration_ms.unwrap_or_default();
            (node.usage, node.decision) = (usage, decision);
        }
    }
    ExecutionTree { nodes, model_calls, ..ExecutionTree::default() }
}

/// Adds an event of a hook to its node, or to a new one.
fn add_hook(nodes: &mut Vec<TreeNode>, event: Event) {
    let Event::HookUpdate { hook_call_id: id, hook: name, point, started_ms, place, tool_call_id, .. } =
        event.clone()
    else {
        return;
    };
    let Event::HookUpdate { decision, text, failed, duration_ms, usage, .. } = event else { return };
    let known = nodes.iter().rposition(|node| node.id == id);
    let at = known.unwrap_or(nodes.len());
    if known.is_none() {
        nodes.push(TreeNode { id, parent_id: place.parent_id, name, started_ms, ..TreeNode::default() });
    }
    let Some(node) = nodes.get_mut(at) else { return };
    node.result_preview = text.as_deref().map(preview);
    node.is_error = failed.then_some(true);
    node.duration_ms = duration_ms.unwrap_or_default();
    node.usage = usage;
    node.hook = Some(TreeHook { point, decision, failed, tool_call_id });
}

/// A model call by its end event.
fn model_call(event: Event) -> Option<TreeModelCall> {
    let Event::ModelCallUpdate {
        model_call_id: id,
        status: CallStatus::End,
        model,
        place: Place { parent_id, .. },
        started_ms,
        first_byte_ms,
        duration_ms,
        usage,
        cost_usd,
        finish_reason,
        agent,
    } = event
    else {
        return None;
    };
    Some(TreeModelCall {
        id,
        parent_id,
        model,
        // Events of earlier versions have no times.
        started_ms: started_ms?,
        first_byte_ms,
        duration_ms: duration_ms?,
        usage,
        cost_usd,
        finish_reason: finish_reason.unwrap_or_default(),
        agent,
    })
}

fn subtasks(entries: &[Value]) -> Vec<String> {
    let at = |entry: &Value| entry.get("at").and_then(Value::as_str).unwrap_or_default().to_owned();
    let is_subtask = |entry: &&Value| entry.pointer("/fact/tool_started/subtask") == Some(&Value::Bool(true));
    let started: BTreeSet<String> = entries.iter().filter(is_subtask).map(at).collect();
    let mut ended = BTreeMap::new();
    for (place, entry) in entries.iter().enumerate() {
        let failed = entry.pointer("/fact/tool_ended/is_error") == Some(&Value::Bool(true));
        let result = entry.pointer("/fact/tool_ended/content").and_then(Value::as_str).filter(|_| !failed);
        if let Some(result) = result.filter(|result| !result.is_empty() && started.contains(&at(entry))) {
            ended.insert(at(entry), (place, result.to_owned()));
        }
    }
    // The keys of events within a call begin with the call's own key and a dash.
    let is_outer = |key: &str| {
        let around = key.match_indices('-').filter_map(|(dash, _)| key.get(..dash));
        !around.into_iter().any(|call| ended.contains_key(call))
    };
    let mut outer: Vec<_> =
        ended.iter().filter(|(key, _)| is_outer(key)).map(|(_, ended)| ended.clone()).collect();
    outer.sort_unstable();
    outer.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests;
