//! The limits of a turn, as the operator's variables give them.

use crate::limits;
use engine::profiles::{ContextProfile, Limits, OnLimit};

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

// Issue 19, 4: who asks is the operator's word, for all contexts or for one.
#[test]
fn a_deployment_says_whether_a_turn_asks_at_its_limits() {
    let limits = |json: &'static str, name: &str| {
        limits::from_env(move |name| (name == "LIMITS").then(|| json.to_owned()), context(name))
    };
    let on_limit = |json, name| limits(json, name).map(|limits| limits.on_limit);
    assert_eq!(on_limit("{}", "thread"), Ok(OnLimit::End));
    assert_eq!(on_limit(r#"{"on_limit": "ask"}"#, "thread"), Ok(OnLimit::Ask));
    let one = r#"{"on_limit": "ask", "llm_calls": 9, "project": {"on_limit": "end"}}"#;
    assert_eq!((on_limit(one, "thread"), on_limit(one, "project")), (Ok(OnLimit::Ask), Ok(OnLimit::End)));
    assert_eq!(limits(one, "thread").unwrap().at_most().llm_calls, 36);
    assert_eq!(limits(one, "project").unwrap().at_most().llm_calls, 9);
    for wrong in [
        r#"{"on_limit": "sometimes"}"#,
        r#"{"on_limit": true}"#,
        r#"{"on_limit": null}"#,
        r#"{"project": {"on_limit": "never"}}"#,
        r#"{"subtasks": "many"}"#,
        // The quotas alone say how much a turn may have of them.
        r#"{"quota": {"tokens": 9}}"#,
        r#"{"quota": null}"#,
    ] {
        let error = limits(wrong, "thread").unwrap_err();
        assert!(error.contains("the variable LIMITS"), "{error}");
    }
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

// Issue 19, item 3.
#[test]
fn whether_old_turns_are_summarised() {
    use limits::SummariseOldTurns::{Off, On};
    let chosen = |text: &'static str| limits::summaries(move |_| Some(text.to_owned()));
    assert_eq!(limits::summaries(|_| None), Ok(On));
    assert_eq!([chosen(""), chosen(" on "), chosen("off")], [Ok(On), Ok(On), Ok(Off)]);
    assert!(chosen("no").unwrap_err().contains("SUMMARIES"));
}

// Issue 20, section 3: a bad definition is an error of the operator, and an empty variable changes nothing.
#[test]
fn the_operators_hooks() {
    let read = |hooks: &'static str, agents: &'static str| {
        let var = move |name: &str| match name {
            "HOOKS" => Some(hooks.to_owned()),
            "AGENT_HOOKS" => Some(agents.to_owned()),
            _ => None,
        };
        limits::hooks(var).map(|chosen| (chosen.all.len(), chosen.by_agents))
    };
    assert_eq!(limits::hooks(|_| None).map(|chosen| (chosen.all.len(), chosen.by_agents)), Ok((0, false)));
    assert_eq!([read(" ", ""), read("[]", " off ")], [Ok((0, false)), Ok((0, false))]);
    assert_eq!(read(r#"[{"name": "a", "builtin": "loop_guard"}]"#, "on"), Ok((1, true)));
    assert!(read(r#"[{"name": "a"}]"#, "").unwrap_err().contains("HOOKS: hook 1: instructions"));
    assert!(read("[]", "yes").unwrap_err().contains("AGENT_HOOKS"));
}

// Issue 21: no request names the context of a session's turns, but the operator's limits hold in them too.
#[test]
fn the_turns_of_a_session_have_the_operators_limits() {
    let session = context("thread").in_session();
    let limits = |json: &'static str| {
        limits::from_env(move |name| (name == "LIMITS").then(|| json.to_owned()), &session)
    };
    assert_eq!(limits("{}"), Ok(session.budget));
    assert_eq!(limits(r#"{"wall_clock_ms": 20000}"#).unwrap().wall_clock_ms, 20_000);
    let both =
        r#"{"wall_clock_ms": 20000, "workflow": {"wall_clock_ms": 30000}, "thread": {"llm_calls": 1}}"#;
    let both = limits(both).unwrap();
    assert_eq!((both.wall_clock_ms, both.llm_calls), (30_000, session.budget.llm_calls));
    assert!(limits(r#"{"procedure": {}}"#).is_err());
}
