//! The rules of every event and every turn in `docs/wire-protocol.md`. Checked on every turn of every test.
//!
//! N-040 N-051 N-111 N-112 N-113 N-114 N-115 N-118 N-120 N-147 N-174

mod calls;
pub mod shape;

use serde_json::{Map, Value};

use self::calls::Calls;
use crate::Event;

const ERRORS: &[&str] = &[
    "budget_exceeded",
    "iteration_limit",
    "shape_missed",
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
];

const CONTEXTS: &[&str] =
    &["thread", "editor", "general", "project", "project_create", "project_audit", "task", "workflow"];

/// One event by itself: it has the shape that `openapi.json` gives it, and the members of its place in the turn.
pub fn check_event(event: &Event) -> Result<(), String> {
    let data = event.data.as_object().ok_or("data is not an object")?;
    shape::check(&event.data)?;
    match (event.kind.as_str(), event.text("status")) {
        ("session", _) if data.contains_key("resumed") => {
            let of_a_start = ["provider", "model", "limits", "replaces_message_id", "client_names"];
            expect_members(data, &["messages"], &of_a_start)
        }
        ("session", _) => expect_members(data, &["provider", "model", "limits"], &["messages"]),
        ("agent_state", _) => expect_word(event, "context_type", CONTEXTS),
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
        ("hook_update", _) => expect_members(data, &["started_ms"], &[]),
        ("done", _) => expect_members(data, &["usage"], &[]),
        ("error", _) if event.text("message").is_empty() => Err("an error without a message".into()),
        ("error", _) => expect_word(event, "code", ERRORS),
        _ => Ok(()),
    }
}

fn expect_word(event: &Event, name: &str, words: &[&str]) -> Result<(), String> {
    let word = event.text(name);
    words.contains(&word).then_some(()).ok_or_else(|| format!("{name} is {word:?}"))
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
