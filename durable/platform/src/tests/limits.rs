//! The limits of a turn, as the operator's variables give them.

use crate::limits;
use engine::profiles::{ContextProfile, Limits};

#[test]
fn single_limits_are_overridden() {
    let limits = |profile: &'static str, json: &'static str| {
        limits::from_env(
            move |name| Some(if name == "PROFILE" { profile } else { json }.to_owned()),
            context("thread"),
        )
    };
    assert_eq!(limits("", " "), Ok(Limits::default()));
    assert_eq!(limits("thread", "{\"subtasks\": 9}"), Ok(Limits { subtasks: 9, ..Limits::default() }));
    let free = Limits::of_profile("free").unwrap();
    assert_eq!(limits("free", "{\"subtasks\": 9}"), Ok(Limits { subtasks: 9, ..free }));
    assert!(limits("fast", "").unwrap_err().contains("PROFILE"));
    assert!(limits("", "{\"tool_result_bytes\": 200000}").is_ok());
    assert!(limits("", "{\"tool_result_bytes\": 200001}").unwrap_err().contains("tool_result_bytes"));
    let error = limits("", "{\"subtask\": 8}").unwrap_err();
    assert!(error.contains("LIMITS") && error.contains("subtask"), "{error}");
}

fn context(name: &str) -> &'static ContextProfile {
    ContextProfile::named(name).unwrap()
}

// The stricter limit of a context and a deployment holds; each can be overridden in one context alone.
#[test]
fn limits_are_overridden_by_context() {
    let limits = |profile: &'static str, json: &'static str, name: &str| {
        let var = move |name: &str| Some(if name == "PROFILE" { profile } else { json }.to_owned());
        limits::from_env(var, context(name))
    };
    let (planner, free) = (Limits::of_profile("planner").unwrap(), Limits::of_profile("free").unwrap());
    assert_eq!(limits("", "", "project"), Ok(planner));
    assert_eq!(limits("free", "", "project"), Ok(planner.strictest(free)));
    let json = r#"{"depth": 2, "project": {"root_tool_calls": 12}, "task_update": {"wall_clock_ms": 5}}"#;
    let shallow = Limits { depth: 2, ..planner };
    assert_eq!(limits("", json, "project"), Ok(Limits { root_tool_calls: Some(12), ..shallow }));
    assert_eq!(limits("", json, "task"), Ok(Limits { wall_clock_ms: 5, ..shallow }));
    assert_eq!(limits("", json, "general"), Ok(shallow));
    assert!(limits("", r#"{"projects": {}}"#, "thread").unwrap_err().contains("no context's"));
    assert!(limits("", r#"{"project": {"deep": 1}}"#, "thread").is_err());
}

#[test]
fn how_many_turns_keep_their_events() {
    let kept = |text: &'static str| limits::kept_turns(move |_| Some(text.to_owned()));
    assert_eq!(limits::kept_turns(|_| None), Ok(50));
    assert_eq!([kept(" "), kept("1"), kept(" 1000 ")], [Ok(50), Ok(1), Ok(1_000)]);
    for wrong in ["0", "1001", "-1", "ten"] {
        assert!(kept(wrong).unwrap_err().contains("EVENT_TURNS"), "{wrong}");
    }
}
