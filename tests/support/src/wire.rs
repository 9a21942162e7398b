//! The rules of every event and every turn in `docs/wire-protocol.md`. Checked on every turn of every test.
//!
//! N-040 N-051 N-111 N-112 N-113 N-114 N-115 N-118 N-120 N-147 N-174

mod calls;

use serde_json::{Map, Value};

use self::calls::Calls;
use crate::Event;

/// The type of a member.
#[derive(Clone, Copy)]
enum Kind {
    Text,
    TextOrNull,
    Number,
    /// A number, perhaps with a fraction, or null where the price is not known.
    Money,
    Flag,
    Object,
    List,
    OneOf(&'static [&'static str]),
}
use Kind::{Flag, List, Money, Number, Object, OneOf, Text, TextOrNull};
type Members = &'static [(&'static str, Kind)];

/// An event's type, the members that must be there, and those that may be.
struct Shape(&'static str, Members, Members);

const STATUS: Kind = OneOf(&["start", "end"]);
const DECISION: Kind = OneOf(&["approve", "approve_for_thread", "deny", "expired", "standing"]);
const BUDGETS: Kind =
    OneOf(&["subtasks", "llm_calls", "tool_calls", "wall_clock", "tokens", "cost", "bytes"]);
const FINISHES: Kind =
    OneOf(&["stop", "length", "content_filter", "cancelled", "budget", "error", "interrupted"]);
const ERRORS: Kind = OneOf(&[
    "budget_exceeded",
    "iteration_limit",
    "blocked",
    "cancelled",
    "superseded",
    "interrupted",
    "provider_auth",
    "provider_quota",
    "provider_rate_limited",
    "provider_overloaded",
    "provider_bad_request",
    "provider_context_too_long",
    "provider_network",
    "provider_protocol",
    "provider_reply_too_large",
    "internal",
]);

#[rustfmt::skip]
const SHAPES: &[Shape] = &[
    Shape("session",
        &[("thread_id", Text), ("user_message_id", Text), ("assistant_message_id", Text), ("provider", Text), ("model", Text),
          ("limits", Object)],
        &[("replaces_message_id", Text), ("client_names", Object)]),
    Shape("session truncated",
        &[("thread_id", Text), ("user_message_id", Text), ("assistant_message_id", Text), ("resumed", OneOf(&["truncated"])), ("messages", List)], &[]),
    Shape("agent_state",
        &[("state", OneOf(&["thinking", "executing_plan", "waiting_on_user"])), ("context_type", OneOf(&["thread", "editor", "general", "project", "project_create", "project_audit", "task", "workflow"]))],
        &[("details", Text)]),
    Shape("model_call_update",
        &[("model_call_id", Text), ("status", STATUS), ("model", Text), ("parent_id", TextOrNull), ("depth", Number)],
        &[("started_ms", Number), ("first_byte_ms", Number), ("duration_ms", Number), ("usage", Object), ("cost_usd", Money),
          ("finish_reason", Text), ("agent", Text)]),
    Shape("chunk",
        &[("content", Text), ("part_id", Text), ("model_call_id", Text), ("parent_id", TextOrNull), ("depth", Number)],
        &[("done", Flag), ("kind", OneOf(&["text", "reasoning"]))]),
    Shape("tool_call_update",
        &[("tool_call_id", Text), ("name", Text), ("status", STATUS), ("parent_id", TextOrNull), ("depth", Number)],
        &[("started_ms", Number), ("args", Object), ("result", Text), ("is_error", Flag), ("duration_ms", Number),
          ("usage", Object), ("decision", DECISION), ("sources", List), ("awaits", OneOf(&["client"])), ("expires_at", Number)]),
    Shape("approval_request",
        &[("approval_id", Text), ("tool_call_id", Text), ("name", Text), ("args", Object), ("permission_class", Text),
          ("expires_at", Number), ("parent_id", TextOrNull), ("depth", Number)],
        &[("read_only", Flag), ("by_client", Flag), ("form", Object)]),
    Shape("approval_resolved",
        &[("approval_id", Text), ("tool_call_id", Text), ("decision", DECISION), ("parent_id", TextOrNull), ("depth", Number)], &[]),
    Shape("limit_request", &[("approval_id", Text), ("reason", BUDGETS), ("limit", Number), ("observed", Number), ("raised_to", Number),
          ("grants_left", Number), ("usage", Object), ("expires_at", Number), ("parent_id", TextOrNull), ("depth", Number)], &[]),
    Shape("limit_resolved",
        &[("approval_id", Text), ("decision", DECISION), ("limits", Object), ("parent_id", TextOrNull), ("depth", Number)], &[]),
    Shape("model_call_reset", &[("model_call_id", Text), ("parent_id", TextOrNull), ("depth", Number), ("reason", Text)], &[]),
    Shape("hook_update",
        &[("hook_call_id", Text), ("hook", Text), ("point", OneOf(&["input", "result", "action", "answer"])), ("status", STATUS),
          ("started_ms", Number), ("parent_id", TextOrNull), ("depth", Number)],
        &[("decision", OneOf(&["allow", "block", "comment", "quit"])), ("text", Text), ("failed", Flag), ("tool_call_id", Text),
          ("duration_ms", Number), ("usage", Object)]),
    Shape("history_summary", &[], &[("text", Text)]),
    Shape("agent_update", &[("name", Text), ("parent", TextOrNull), ("tool_call_id", Text),
          ("status", OneOf(&["created", "speaking", "silent", "terminated"]))], &[]),
    Shape("workflow_update",
        &[("session_id", Text), ("workflow_id", Text), ("step_id", TextOrNull), ("index", Number), ("of", Number),
          ("status", OneOf(&["running", "waiting", "needs_human_review", "stuck", "complete", "failed"]))],
        &[("reason", Text)]),
    Shape("plan_created", &[("tool_call_id", Text), ("plan", Object)], &[]),
    Shape("plan_ready_for_review", &[("plan", Object)], &[]),
    Shape("plan_review",
        &[("plan_id", Text), ("verdict", OneOf(&["approved", "needs_changes", "rejected"])), ("notes", Text)], &[]),
    Shape("executor_start", &[("plan_id", Text), ("steps", Number)], &[]),
    Shape("step_start", &[("plan_id", Text), ("step_id", Text), ("index", Number), ("title", Text), ("tool_call_id", Text)], &[]),
    Shape("step_complete",
        &[("plan_id", Text), ("step_id", Text), ("index", Number), ("result", Text),
          ("status", OneOf(&["completed", "partial", "failed", "skipped"]))], &[]),
    Shape("executor_complete", &[("plan_id", Text), ("status", OneOf(&["completed", "partial", "failed"])),
          ("completed", Number), ("failed", Number), ("skipped", Number)], &[]),
    Shape("swarmPlanReady", &[("steps", List)], &[]),
    Shape("swarmStepStarted", &[("stepIndex", Number), ("description", Text)], &[]),
    Shape("swarmToolExecuted", &[("stepIndex", Number), ("tool", Text), ("briefResult", Text)], &[]),
    Shape("swarmStepCompleted",
        &[("stepIndex", Number), ("result", Text), ("status", OneOf(&["completed", "partial", "failed", "skipped"]))], &[]),
    Shape("swarmComplete", &[("result", Text)], &[]),
    Shape("queue_update", &[("held", Flag), ("messages", List)], &[]),
    Shape("budget_exceeded", &[("reason", BUDGETS), ("limit", Number), ("observed", Number)], &[("left", List)]),
    Shape("cost_summary", COSTS, MORE_COSTS),
    Shape("error", &[("code", ERRORS), ("message", Text), ("retryable", Flag)], &[]),
    Shape("path_changed", &[], &[]),
    Shape("done", &[("message_id", Text), ("finish_reason", FINISHES), ("usage", Object)], &[]),
];

#[rustfmt::skip]
const COSTS: Members = &[("llm_calls", Number), ("tool_calls", Number), ("subtasks", Number), ("input_tokens", Number),
    ("cached_tokens", Number), ("output_tokens", Number), ("cost_usd", Money), ("by_model", Object)];
const MORE_COSTS: Members = &[("estimated", Flag), ("last_request", Object)];
const ESTIMATED: Members = &[("estimated", Flag)];
const EVERYWHERE: Members = &[("type", Text), ("seq", Number), ("turn_id", Text)];
const USAGE: Members = &[("input_tokens", Number), ("cached_tokens", Number), ("output_tokens", Number)];
#[rustfmt::skip]
const MORE_USAGE: Members = &[("cache_write_tokens", Number), ("cache_write_1h_tokens", Number),
    ("service_tier", OneOf(&["flex", "priority"])), ("unknown_members", Number), ("estimated", Flag)];
#[rustfmt::skip]
const LIMITS: Members = &[("subtasks", Number), ("llm_calls", Number), ("tool_calls", Number), ("wall_clock_ms", Number)];
#[rustfmt::skip]
const SHARE: Members = &[("llm_calls", Number), ("input_tokens", Number), ("cached_tokens", Number), ("output_tokens", Number), ("cost_usd", Money)];

/// One event by itself: no member is missing, none is of another type, none is unknown.
pub fn check_event(event: &Event) -> Result<(), String> {
    let kind = match event.data.get("resumed") {
        Some(_) => "session truncated",
        None => event.kind.as_str(),
    };
    let Shape(_, required, optional) = SHAPES
        .iter()
        .find(|shape| shape.0 == kind)
        .ok_or_else(|| format!("the wire has no event {:?}", event.kind))?;
    let data = event.data.as_object().ok_or("data is not an object")?;
    check_members(data, &[EVERYWHERE, required], optional)?;
    if let Some(usage) = data.get("usage").and_then(Value::as_object) {
        let (members, more) = match event.kind.as_str() {
            "tool_call_update" | "hook_update" => (SHARE, ESTIMATED),
            "done" | "limit_request" => (COSTS, MORE_COSTS),
            _ => (USAGE, MORE_USAGE),
        };
        check_members(usage, &[members], more)?;
    }
    if let Some(limits) = data.get("limits").and_then(Value::as_object) {
        check_members(limits, &[LIMITS], &[])?;
    }
    for model in data.get("by_model").and_then(Value::as_object).into_iter().flat_map(Map::values) {
        check_members(model.as_object().ok_or("by_model holds objects")?, &[SHARE], ESTIMATED)?;
    }
    match (event.kind.as_str(), event.text("status")) {
        ("tool_call_update", "start") => {
            let at_the_end = ["result", "is_error", "duration_ms", "usage", "decision", "sources"];
            expect_members(data, &["args", "started_ms"], &at_the_end)
        }
        ("tool_call_update", _) => {
            expect_members(data, &["result", "duration_ms"], &["args", "started_ms", "awaits", "expires_at"])
        }
        ("model_call_update", "start") => {
            let at_the_end = ["first_byte_ms", "duration_ms", "usage", "cost_usd", "finish_reason"];
            expect_members(data, &["started_ms"], &at_the_end)
        }
        ("model_call_update", _) => {
            expect_members(data, &["started_ms", "duration_ms", "finish_reason"], &[])
        }
        ("error", _) if event.text("message").is_empty() => Err("an error without a message".into()),
        _ => Ok(()),
    }
}

fn check_members(object: &Map<String, Value>, required: &[Members], optional: Members) -> Result<(), String> {
    for (name, _) in required.iter().copied().flatten() {
        if !object.contains_key(*name) {
            return Err(format!("{name} is missing"));
        }
    }
    for (name, value) in object {
        let known = required.iter().copied().flatten().chain(optional).find(|(known, _)| known == name);
        let (_, kind) = known.ok_or_else(|| format!("the wire has no member {name:?} here"))?;
        let fits = match kind {
            Text => value.is_string(),
            TextOrNull => value.is_string() || value.is_null(),
            Number => value.is_u64(),
            Money => value.is_number() || value.is_null(),
            Flag => value.is_boolean(),
            Object => value.is_object(),
            List => value.is_array(),
            OneOf(words) => value.as_str().is_some_and(|word| words.contains(&word)),
        };
        if !fits {
            return Err(format!("{name} is {value}"));
        }
    }
    Ok(())
}

fn expect_members(object: &Map<String, Value>, there: &[&str], not_there: &[&str]) -> Result<(), String> {
    if let Some(name) = there.iter().find(|name| !object.contains_key(**name)) {
        return Err(format!("{name} is missing"));
    }
    match not_there.iter().find(|name| object.contains_key(**name)) {
        Some(name) => Err(format!("{name} does not belong here")),
        None => Ok(()),
    }
}

/// One whole turn: its frame, and the nesting of what happens in it.
pub fn check_turn(events: &[Event]) -> Result<(), String> {
    check_frame(events)?;
    let finish = events.last().map(|done| done.text("finish_reason")).unwrap_or_default();
    let mut calls = Calls::default();
    for event in events {
        calls.take(event).map_err(|error| format!("{error}, at seq {}", event.seq))?;
    }
    calls.finish(finish == "stop")
}

/// `session` is first, `agent_state` second. At the end come, in this order, `budget_exceeded` and `error` where there
/// are any, and always `cost_summary` and `done`; each of them at most once.
fn check_frame(events: &[Event]) -> Result<(), String> {
    let kinds: Vec<&str> = events.iter().map(|event| event.kind.as_str()).collect();
    if !kinds.starts_with(&["session", "agent_state"]) {
        return Err("a turn begins with session and agent_state".into());
    }
    if !kinds.ends_with(&["cost_summary", "done"]) {
        return Err("a turn ends with cost_summary and done".into());
    }
    for once in ["session", "budget_exceeded", "error", "cost_summary", "done"] {
        if kinds.iter().filter(|kind| **kind == once).count() > 1 {
            return Err(format!("{once} twice"));
        }
    }
    let finish = events.last().map(|done| done.text("finish_reason")).unwrap_or_default();
    let stopped = !matches!(finish, "stop" | "length" | "content_filter");
    if kinds.contains(&"error") != stopped {
        return Err(format!("finish_reason {finish:?}, but an error event: {}", kinds.contains(&"error")));
    }
    if stopped && kinds.iter().rev().nth(2) != Some(&"error") {
        return Err("error stands right before cost_summary".into());
    }
    if kinds.contains(&"budget_exceeded") != (finish == "budget") {
        return Err(format!(
            "finish_reason {finish:?}, and budget_exceeded: {}",
            kinds.contains(&"budget_exceeded")
        ));
    }
    if events.first().map(|session| session.text("assistant_message_id"))
        != events.last().map(|done| done.text("message_id"))
    {
        return Err("session and done name different assistant messages".into());
    }
    if let [.., summary, done] = events
        && let (Some(costs), Some(usage)) = (summary.data.as_object(), done.data["usage"].as_object())
        && !usage.iter().all(|(name, value)| costs.get(name) == Some(value))
    {
        return Err("done has another usage than cost_summary".into());
    }
    Ok(())
}
