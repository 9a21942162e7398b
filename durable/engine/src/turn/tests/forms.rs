//! Calls whose tools ask a person for input in the middle: the turn waits as for an approval, and the tool runs again with
//! the answer.

use std::rc::Rc;

use serde_json::{Map, Value, json};

use super::parked::play;
use crate::journal::{Answer, Asking, Fact, TurnStop};
use crate::record::keys::WireIds;
use crate::testing::*;
use crate::turn::form::problem;
use crate::turn::{Asked, Ran, Receipt, Turn, form_fault};
use wire::protocol::{
    Awaited, Decision, Event, FinishReason, Form, FormQuestion, MAX_QUESTION_CHARS, MAX_QUESTION_SCHEMA,
    MAX_QUESTIONS,
};

/// A turn whose client can fill in forms.
fn with_forms(script: Script) -> Case {
    let mut case = Case::new(script);
    Rc::get_mut(&mut case.tools).unwrap().add_forms();
    case.setting.forms = true;
    case
}

/// A turn that makes one call of this tool.
fn calling(tool: &'static str) -> Case {
    with_forms(script(&[("go", vec![Reply::Calls(vec![(tool, json!({"n": 1}))]), Reply::Text("Hello.")])]))
}

pub(crate) fn golden() -> Case {
    calling("form")
}

fn named(name: &str) -> Answer {
    let content = json!({"who": {"name": name}}).to_string();
    Answer::Result { content, is_error: false }
}

fn fill(turn: &Turn, key: &str, answer: Answer) -> Receipt {
    turn.answer(&WireIds::new("turn").approval(key), Awaited::Approval, answer).unwrap()
}

/// The ids of the forms that a turn has asked for.
pub(super) fn asked(case: &Case) -> Vec<String> {
    let form = |event| match event {
        Event::ApprovalRequest { approval_id, form: Some(_), .. } => Some(approval_id),
        _ => None,
    };
    case.events().into_iter().filter_map(form).collect()
}

/// Answers each form that waits, one after the other in another way.
pub(super) fn fill_in(turn: &Turn, forms: &[String]) {
    for (number, id) in forms.iter().enumerate() {
        let answer = match number % 3 {
            0 => Answer::Deny,
            number => named(["", "again", "Ada"][number]),
        };
        // A run that was killed just now cannot take it.
        let _ = turn.answer(id, Awaited::Approval, answer);
    }
}

const ASKED: [&str; 7] = [
    "session",
    "state thinking",
    "model 0 start",
    "model 0 End tool_calls",
    "state executing_tool:form",
    "tool 0.0 form Start",
    "ask 0.0~0 form form",
];

// Issue 22: elicitation
#[test]
fn a_call_that_needs_input_parks_the_turn_and_runs_again_with_the_answer() {
    let mut case = calling("form");
    case.run_with(None, |_, _| {});
    assert_eq!(case.ran, Some(Ok(Ran::Parked)));
    assert_eq!(case.clock.timers(), 0, "nothing keeps its object awake");
    assert_eq!(case.lines(), [&ASKED[..], &["state waiting"]].concat());
    let asked = case.events().into_iter().find_map(|event| match event {
        Event::ApprovalRequest { form, by_client, tool_call_id, .. } => Some((form, by_client, tool_call_id)),
        _ => None,
    });
    let form = Some(Box::new(name_form("1").form));
    assert_eq!(asked, Some((form, false, WireIds::new("turn").tool_call("0.0"))), "the state is the tool's");
    let waits = case.say(None, |turn| {
        let id = WireIds::new("turn").approval("0.0~0");
        let waits = turn.waiting(&id, Awaited::Approval);
        assert_eq!(fill(turn, "0.0", named("Ada")), Receipt::Unknown, "the form's id is not the call's");
        assert_eq!(fill(turn, "0.0~0", named("Ada")), Receipt::Taken);
        assert_eq!(fill(turn, "0.0~0", named("Bob")), Receipt::Repeated);
        waits
    });
    assert_eq!(waits, Some(Asked::Form(name_form("1").form)));
    case.check();
    let answer = format!("{:?} {:?}", Some("1"), named("Ada"));
    let end = format!("tool 0.0 form End {:?}", format!("form {}{answer}", json!({"n": 1})));
    let more = [
        "state waiting",
        "state executing_tool:form",
        "resolved 0.0~0 Approve",
        &end,
        "state thinking",
        "model 1 start",
        r#"chunk 1.0 "Hello.""#,
        r#"chunk 1.0 "" done"#,
        "model 1 End stop",
        "cost 2 llm 1 tools 0 subtasks",
        "done Stop",
    ];
    assert_eq!(case.lines(), [&ASKED[..], &more[..]].concat());
    assert_eq!(case.tools.ran.borrow().len(), 2);
}

// Issue 22: a denial and an expiry are answers, which the tool gets.
#[test]
fn a_person_who_declines_or_never_comes_is_told_to_the_tool() {
    for (answer, decision) in [(Answer::Deny, Decision::Deny), (Answer::Expired, Decision::Expired)] {
        let mut case = calling("form_once");
        case.run_with(None, |_, _| {});
        match answer {
            Answer::Expired => {
                case.clock.pass(case.limits.approval_wait_ms);
                assert!(case.say(None, |turn| turn.expire().unwrap()));
            }
            ref answer => drop(case.say(None, |turn| fill(turn, "0.0~0", answer.clone()))),
        }
        case.check();
        let lines = case.lines().join("\n");
        assert!(lines.contains(&format!("resolved 0.0~0 {decision:?}")), "{lines}");
        assert!(lines.contains(&format!("Some(\\\"1\\\") {decision:?}\"")), "{lines}");
        assert_eq!(case.end().message.content, "Hello.");
    }
}

// Issue 22: at the limit of forms and just beyond it.
#[test]
fn a_call_asks_five_times_at_most() {
    for (again, is_refused) in [(4, false), (5, true)] {
        let mut case = calling("form");
        case.run_with(None, |_, _| {});
        for number in 0..again {
            assert!(case.is_parked());
            let receipt = case.say(None, |turn| fill(turn, &format!("0.0~{number}"), named("again")));
            assert_eq!(receipt, Receipt::Taken);
        }
        if !is_refused {
            case.say(None, |turn| fill(turn, &format!("0.0~{again}"), named("Ada")));
        }
        case.check();
        let refused = case.lines().iter().any(|line| line.contains("a call may ask 5 times"));
        assert_eq!(refused, is_refused, "{:#?}", case.lines());
        assert_eq!(case.end().message.finish_reason, Some(FinishReason::Stop));
    }
}

// Issue 22: without a client that knows forms the model reads why.
#[test]
fn a_client_without_forms_is_not_asked() {
    let mut case = calling("form");
    case.setting.forms = false;
    let case = case.run();
    assert!(!case.lines().iter().any(|line| line.starts_with("ask")), "{:#?}", case.lines());
    assert!(case.lines().iter().any(|line| line.contains("nobody can answer here")), "{:#?}", case.lines());
}

#[test]
fn a_call_that_waits_for_input_holds_no_lock_and_is_not_at_work() {
    let levels = [
        ("go", vec![Reply::Calls(vec![subtask("a"), subtask("b")]), Reply::Text("Hello.")]),
        ("a", vec![Reply::Calls(vec![("form_locked", json!({}))]), Reply::Text("a done")]),
        (
            "b",
            vec![
                Reply::Calls(vec![("echo", json!({}))]),
                Reply::Calls(vec![("locked", json!({}))]),
                Reply::Text("b done"),
            ],
        ),
    ];
    let mut case = with_forms(script(&levels));
    case.run_with(None, |_, _| {});
    assert_eq!(case.ran, Some(Ok(Ran::Parked)), "{:#?}", case.lines());
    let has_ended = |line: &String| line.starts_with("tool 0.1 run_subtask End");
    assert!(case.lines().iter().any(has_ended), "{:#?}", case.lines());
    case.say(None, |turn| fill(turn, "0.0-0.0~0", named("Ada")));
    case.check();
    assert_eq!(case.end().message.content, "Hello.");
}

#[test]
fn a_turn_that_waits_for_input_can_be_stopped() {
    let mut case = calling("form_once");
    case.run_with(None, |_, _| {});
    case.say(None, |turn| {
        turn.stop(TurnStop::Cancelled).unwrap();
        assert_eq!(fill(turn, "0.0~0", named("Ada")), Receipt::Unknown, "a stopped turn takes no answer");
    });
    case.check();
    assert_eq!(case.end().message.finish_reason, Some(FinishReason::Cancelled));
    assert_eq!(case.tools.ran.borrow().len(), 1);
}

/// Fills in each form that waits: the first one of the first call asks for another.
fn fill_all(case: &mut Case, kill: Option<Kill>) {
    case.say(kill, |turn| {
        for key in ["0.0~0", "0.0~1", "0.1~0", "1.0-0.0~0"] {
            let answer = named(if key == "0.0~0" { "again" } else { "Ada" });
            // The run may die with the answer.
            drop(turn.answer(&WireIds::new("turn").approval(key), Awaited::Approval, answer));
        }
    });
}

// Issue 22: no death asks a person twice, and none repeats a run that may have acted.
#[test]
fn a_kill_at_every_commit_of_a_turn_with_forms_loses_and_repeats_nothing() {
    let new = || {
        let levels = [
            (
                "go",
                vec![
                    Reply::Calls(vec![("form", json!({})), ("form_once", json!({}))]),
                    Reply::Calls(vec![subtask("a")]),
                    Reply::Text("Hello."),
                ],
            ),
            ("a", vec![Reply::Calls(vec![("form_once", json!({}))]), Reply::Text("a done")]),
        ];
        with_forms(script(&levels))
    };
    let mut whole = new();
    play(&mut whole, None, fill_all);
    whole.check();
    let asks = |case: &Case| case.lines().iter().filter(|line| line.starts_with("ask")).count();
    assert_eq!(asks(&whole), 4);
    let mut unknown = 0;
    for dies_after in 1..whole.disk.commits.get() {
        let mut case = new();
        play(&mut case, Some(Kill::AfterCommits(dies_after)), fill_all);
        case.check();
        assert_eq!(case.end().message.content, "Hello.", "killed after {dies_after}");
        let ran = case.tools.ran.borrow().iter().filter(|ran| ran.starts_with("form_once")).count();
        // Two calls, each of which runs once before its question and once with the answer.
        assert!(ran <= 4, "killed after {dies_after}: {:?}", case.tools.ran.borrow());
        let given = case.disk.count(|entry| matches!(entry.fact, Fact::InputGiven));
        let lost = case.lines().iter().filter(|line| line.contains("its result is unknown")).count();
        unknown += lost;
        assert!(
            asks(&case) + lost >= 4 && given + lost >= 4,
            "killed after {dies_after}: {:#?}",
            case.lines()
        );
    }
    assert!(unknown > 0, "some deaths come after the intent");
}

/// A form with questions of this schema.
fn asking(count: usize, message: &str, schema: Value) -> Asking {
    let Value::Object(schema) = schema else { unreachable!() };
    let question = |id| FormQuestion {
        id: format!("q{id}"),
        message: message.to_owned(),
        schema: schema.clone(),
        order: Vec::new(),
    };
    Asking {
        form: Form { server: "s".to_owned(), questions: (0..count).map(question).collect() },
        state: None,
    }
}

#[test]
fn a_form_has_bounds() {
    let object = || json!({"type": "object"});
    let padded = |bytes: usize| {
        let bare = json!({"type": "object", "title": ""}).to_string().len();
        json!({"type": "object", "title": "x".repeat(bytes - bare)})
    };
    let chars = |count: usize| "ü".repeat(count);
    for (asked, fits) in [
        (asking(0, "?", object()), false),
        (asking(1, "?", object()), true),
        (asking(MAX_QUESTIONS, "?", object()), true),
        (asking(MAX_QUESTIONS + 1, "?", object()), false),
        (asking(1, &chars(MAX_QUESTION_CHARS), object()), true),
        (asking(1, &chars(MAX_QUESTION_CHARS + 1), object()), false),
        (asking(1, "?", padded(MAX_QUESTION_SCHEMA)), true),
        (asking(1, "?", padded(MAX_QUESTION_SCHEMA + 1)), false),
        (asking(1, "?", json!({"type": "string"})), false),
        (
            asking(1, "?", json!({"type": "object", "properties": {"a": {"$ref": "https://a.example/"}}})),
            false,
        ),
        (Asking { state: Some("x".repeat(64 * 1024)), ..asking(1, "?", object()) }, true),
        (Asking { state: Some("x".repeat(64 * 1024 + 1)), ..asking(1, "?", object()) }, false),
    ] {
        let told = problem(&asked);
        assert_eq!(told.is_none(), fits, "{told:?}");
    }
}

#[test]
fn an_answer_must_be_what_the_form_asks() {
    let form = name_form("1").form;
    let fault = |content: &str| form_fault(&form, content).map(|(field, _)| field);
    assert_eq!(fault(r#"{"who": {"name": "Ada"}}"#), None);
    for (content, field) in [
        ("[]", "content"),
        ("{", "content"),
        ("{}", "content.who"),
        (r#"{"who": {}}"#, "content.who"),
        (r#"{"who": "Ada"}"#, "content.who"),
        (r#"{"who": {"name": 7}}"#, "content.who"),
        (r#"{"who": {"name": "Ada Lovelace of Ockham Park"}}"#, "content.who"),
        (r#"{"who": {"name": "Ada"}, "why": {}}"#, "content.why"),
    ] {
        assert_eq!(fault(content).as_deref(), Some(field), "{content}");
    }
    // A form without questions that need an answer.
    let free = Form {
        questions: vec![FormQuestion {
            schema: Map::from_iter([("type".into(), "object".into())]),
            ..form.questions[0].clone()
        }],
        ..form
    };
    assert_eq!(form_fault(&free, "{}"), None);
}
