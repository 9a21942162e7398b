//! The recorded log of a thread's turns (`golden/log.jsonl`), an event a line. The engine played them.
//!
//! `ESPALIER_WRITE_DIALECTS=1 cargo test -p dialects` records it anew.

use std::fs;
use std::path::PathBuf;
use std::rc::Rc;

use engine::journal::Answer;
use engine::profiles::OnLimit;
use engine::testing::*;
use engine::toolbelt::ToolPolicy;
use engine::turn::Turn;
use serde_json::{Value, json};
use wire::model::ModelErrorKind;
use wire::protocol::{Awaited, ClientTool, ContextKind, Event, Numbered, Seq};

pub fn writes() -> bool {
    std::env::var_os("ESPALIER_WRITE_DIALECTS").is_some()
}

pub fn file(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("src/golden").join(name)
}

/// The turns of the recorded log, each with its name.
pub fn turns() -> Vec<(String, Vec<Numbered>)> {
    if writes() {
        record();
    }
    let mut turns: Vec<(String, Vec<Numbered>)> = Vec::new();
    for line in fs::read_to_string(file("log.jsonl")).unwrap().lines() {
        let event: Numbered = wire::json::from_str(line).unwrap();
        match turns.last_mut().filter(|(name, _)| *name == event.turn_id) {
            Some((_, events)) => events.push(event),
            None => turns.push((event.turn_id.clone(), vec![event])),
        }
    }
    turns
}

/// The turn of this name.
pub fn turn(name: &str) -> Vec<Numbered> {
    turns().into_iter().find(|(of, _)| of == name).unwrap_or_else(|| panic!("no turn {name}")).1
}

/// A turn's name, and how it is played.
type Played = (&'static str, fn() -> Case);

const TURNS: &[Played] = &[
    ("text", text),
    ("reset", reset),
    ("tools", tools),
    ("nested", nested),
    ("approval", || asking(Answer::Approve)),
    ("denial", || asking(Answer::Deny)),
    ("client-tool", client_tool),
    ("limit", limit),
    ("plan", plan_of_steps),
    ("budget", budget),
    ("failure", failure),
    ("client-and-person", client_and_person),
    ("client-and-limit", client_and_limit),
];

fn record() {
    let mut log = String::new();
    let mut first: Seq = 0;
    for (name, play) in TURNS {
        let events = play().seen;
        let last = *events.keys().last().unwrap();
        for (seq, event) in events {
            let numbered = Numbered { seq: first + seq, turn_id: (*name).to_owned(), event };
            log.push_str(&serde_json::to_string(&numbered).unwrap());
            log.push('\n');
        }
        first += last;
    }
    fs::write(file("log.jsonl"), log).unwrap();
}

/// Runs a turn to its end, and answers it whenever it is parked.
fn played(mut case: Case, answer: impl Fn(&Turn, &Event)) -> Case {
    case.run_with(None, |_, _| {});
    while case.is_parked() {
        let events = case.events();
        case.say(None, |turn| events.iter().for_each(|event| answer(turn, event)));
    }
    case.check();
    case
}

fn decide(turn: &Turn, event: &Event, answer: &Answer) {
    if let Event::ApprovalRequest { approval_id, .. } | Event::LimitRequest { approval_id, .. } = event {
        turn.answer(approval_id, Awaited::Approval, answer.clone()).unwrap();
    }
}

fn text() -> Case {
    Case::new(script(&[("go", vec![Reply::Think("Let me see.", "Hello there.")])])).run()
}

/// A run that was lost in the middle of an answer, and resumed.
fn reset() -> Case {
    let broken = |case: &Case| {
        let reset = case.seen.values().position(|event| matches!(event, Event::ModelCallReset { .. }));
        let text = case.seen.values().position(|event| matches!(event, Event::Chunk { .. }));
        text.zip(reset).is_some_and(|(text, reset)| text < reset)
    };
    let lost = (1..20).map(|step| {
        let mut case = Case::new(script(&[("go", vec![Reply::Think("Let me see.", "Hello there.")])]));
        case.run_with(Some(Kill::AtStep(step)), |_, _| {});
        case.resume(None);
        case
    });
    lost.into_iter().find(broken).unwrap()
}

fn tools() -> Case {
    let first = vec![("echo", json!({"n": 1})), ("fail", json!({}))];
    Case::new(script(&[("go", vec![Reply::TextAndCalls("First. ", first), Reply::Text("Done.")])])).run()
}

fn nested() -> Case {
    Case::new(script(&[
        ("go", vec![Reply::Calls(vec![subtask("a"), subtask("b")]), Reply::Text("All is done.")]),
        ("a", vec![Reply::TextAndCalls("Looking. ", vec![subtask("c")]), Reply::Text("a done")]),
        ("b", vec![Reply::Calls(vec![("echo", json!({"from": "b"}))]), Reply::Text("b done")]),
        ("c", vec![Reply::Calls(vec![("fail", json!({}))]), Reply::Text("c done")]),
    ]))
    .run()
}

/// A subtask waits for a person.
fn asking(answer: Answer) -> Case {
    let mut case = Case::new(script(&[
        ("go", vec![Reply::Calls(vec![subtask("a"), ("echo", json!({}))]), Reply::Text("All is done.")]),
        ("a", vec![Reply::Calls(vec![("write", json!({}))]), Reply::Text("a done")]),
    ]));
    let rules = wire::json::from_str(r#"{"write": "ask"}"#).unwrap();
    case.policy = case.policy.clone().narrowed(rules, Default::default());
    case.offered_by = case.policy.clone();
    played(case, |turn, event| decide(turn, event, &answer))
}

/// A turn that has a tool of its client.
fn with_client_tool(replies: &[(&'static str, Vec<Reply>)]) -> Case {
    let mut case = Case::new(script(replies));
    case.client_tools = vec![ClientTool {
        name: "ui_get_weather".to_owned(),
        client_name: None,
        description: "Tells the weather.".to_owned(),
        input_schema: json!({"type": "object"}).as_object().unwrap().clone(),
    }];
    case.policy = ToolPolicy::of(ContextKind::Editor);
    case.offered_by = case.policy.clone();
    case
}

fn weather() -> (&'static str, Value) {
    ("ui_get_weather", json!({"city": "Oslo"}))
}

fn tell_weather(turn: &Turn, event: &Event) {
    if let Event::ToolCallUpdate { awaits: Some(_), tool_call_id, .. } = event {
        let result = Answer::Result { content: r#"{"rain":true}"#.to_owned(), is_error: false };
        turn.answer(tool_call_id, Awaited::Client, result).unwrap();
    }
}

fn client_tool() -> Case {
    let calls = vec![weather(), ("echo", json!({}))];
    played(with_client_tool(&[("go", vec![Reply::Calls(calls), Reply::Text("It rains.")])]), tell_weather)
}

/// A client's tool has run, and then a person is asked in the same step of the root.
fn client_and_person() -> Case {
    let mut case = with_client_tool(&[
        ("go", vec![Reply::Calls(vec![subtask("a")]), Reply::Text("All is done.")]),
        (
            "a",
            vec![
                Reply::Calls(vec![weather()]),
                Reply::Calls(vec![("echo", json!({}))]),
                Reply::Text("a done"),
            ],
        ),
    ]);
    let rules = wire::json::from_str(r#"{"echo": "ask"}"#).unwrap();
    case.policy = case.policy.clone().narrowed(rules, Default::default());
    case.offered_by = case.policy.clone();
    played(case, |turn, event| {
        tell_weather(turn, event);
        decide(turn, event, &Answer::Approve);
    })
}

/// A client's tool has run, and then the turn ends at a limit.
fn client_and_limit() -> Case {
    let case = with_client_tool(&[("go", vec![Reply::Calls(vec![weather()]), Reply::Text("It rains.")])]);
    played(case.limits(|limits| limits.llm_calls = 1), tell_weather)
}

/// A subtask waits at the limit of tool calls.
fn limit() -> Case {
    let case = Case::new(script(&[
        ("go", vec![Reply::Calls(vec![subtask("a"), ("echo", json!({}))]), Reply::Text("All is done.")]),
        ("a", vec![Reply::Calls(vec![("write", json!({}))]), Reply::Text("a done")]),
    ]))
    .limits(|limits| (limits.tool_calls, limits.on_limit) = (2, OnLimit::Ask));
    played(case, |turn, event| decide(turn, event, &Answer::Approve))
}

fn plan_of_steps() -> Case {
    let steps = json!({"reasoning": "because", "steps": [
        {"id": "p", "title": "Step p", "instructions": "p", "depends_on": []},
        {"id": "q", "title": "Step q", "instructions": "q", "depends_on": ["p"]},
    ]});
    let make = json!({"objective": "ship", "execution_mode": "auto_execute"});
    let mut case = Case::new(script(&[
        ("go", vec![Reply::Calls(vec![("agent_create_plan", make)]), Reply::Text("All is done.")]),
        ("plan ship", vec![Reply::Calls(vec![("finish_subtask", steps)])]),
        ("p", vec![Reply::Calls(vec![("echo", json!({}))]), Reply::Text("p done")]),
        ("q", vec![Reply::Text("q done")]),
    ]));
    case.context = "project";
    case.run()
}

fn budget() -> Case {
    let endless = vec![Reply::TextAndCalls("More. ", vec![("echo", json!({}))])];
    Case::new(script(&[("go", endless)])).limits(|limits| limits.llm_calls = 2).run()
}

fn failure() -> Case {
    let fails = vec![Reply::Fail("Half of ", ModelErrorKind::BadRequest)];
    let mut case = Case::new(script(&[("go", fails)]));
    Rc::clone(&case.model).answers_at.set(0);
    case.run_with(None, |_, _| {});
    case
}
