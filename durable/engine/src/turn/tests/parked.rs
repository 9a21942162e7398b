//! Turns that wait for an answer from outside: nothing runs, nothing counts, and the answer resumes them from
//! the journal.

use std::collections::BTreeSet;

use serde_json::json;

use crate::journal::{Answer, TurnStop};
use crate::record::keys::WireIds;
use crate::testing::*;
use crate::toolbelt::{ToolPolicy, ToolRules};
use crate::turn::{Ran, Receipt, Turn};
use wire::protocol::{Awaited, ClientTool, ContextKind, Decision, Event, FinishReason};

/// A turn in the editor, whose client brings `ui_paste`.
pub fn editor(script: Script) -> Case {
    let mut case = Case::new(script);
    let schema = json!({"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]});
    let serde_json::Value::Object(input_schema) = schema else { unreachable!() };
    case.client_tools = vec![ClientTool {
        name: "ui_paste".to_owned(),
        client_name: None,
        description: "Pastes text.".to_owned(),
        input_schema,
    }];
    case.policy = ToolPolicy::of(ContextKind::Editor);
    case.offered_by = case.policy.clone();
    case
}

/// A turn in which a person must allow each call of these tools.
fn asking(rules: &str, script: Script) -> Case {
    let mut case = Case::new(script);
    let rules: ToolRules = serde_json::from_str(rules).unwrap();
    case.policy = case.policy.narrowed(rules, BTreeSet::new());
    case.offered_by = case.policy.clone();
    case
}

fn paste() -> (&'static str, serde_json::Value) {
    ("ui_paste", json!({"text": "x"}))
}

fn pasting() -> Script {
    script(&[("go", vec![Reply::Calls(vec![paste()]), Reply::Text("Pasted.")])])
}

fn result(turn: &Turn, key: &str, content: &str) -> Receipt {
    let answer = Answer::Result { content: content.to_owned(), is_error: false };
    turn.answer(&WireIds::new("turn").tool_call(key), Awaited::Client, answer).unwrap()
}

fn decide(turn: &Turn, key: &str, answer: Answer) -> Receipt {
    turn.answer(&WireIds::new("turn").approval(key), Awaited::Approval, answer).unwrap()
}

const PARKED: [&str; 7] = [
    "session",
    "state thinking",
    "model 0 start",
    "model 0 End tool_calls",
    "state executing_tool:ui_paste",
    "tool 0.0 ui_paste Start awaits client",
    "state waiting",
];

const GONE_ON: [&str; 9] = [
    "state executing_tool:ui_paste",
    r#"tool 0.0 ui_paste End "done""#,
    "state thinking",
    "model 1 start",
    r#"chunk 1.0 "Pasted.""#,
    r#"chunk 1.0 "" done"#,
    "model 1 End stop",
    "cost 2 llm 1 tools 0 subtasks",
    "done Stop",
];

// N-107
#[test]
fn a_clients_tool_parks_the_turn_until_its_result_comes() {
    let mut case = editor(pasting());
    case.run_with(None, |_, _| {});
    assert_eq!(case.ran, Some(Ok(Ran::Parked)));
    assert_eq!(case.clock.timers(), 0, "nothing keeps its object awake");
    assert_eq!(case.lines(), PARKED);
    assert_eq!(case.say(None, |turn| result(turn, "0.0", "done")), Receipt::Taken);
    case.check();
    assert_eq!(case.lines(), [&PARKED[..], &GONE_ON[..]].concat());
    assert_eq!(case.model.requests.borrow().len(), 2, "nothing is made again");
}

// N-108
#[test]
fn outside_the_editor_there_are_no_client_tools() {
    let mut case = editor(pasting());
    case.policy = ToolPolicy::of(ContextKind::Thread);
    case.offered_by = case.policy.clone();
    case.run_with(None, |_, _| {});
    case.check();
    let requests = case.model.requests.borrow();
    assert!(requests[0].tools.iter().all(|tool| tool.name != "ui_paste"));
    assert!(case.lines().iter().any(|line| line.contains("End error") && line.contains("not available")));
}

#[test]
fn arguments_that_miss_the_schema_never_reach_the_client() {
    let calls = vec![("ui_paste", json!({"text": 1})), ("ui_paste", json!("{no json"))];
    let case = editor(script(&[("go", vec![Reply::Calls(calls), Reply::Text("Well.")])])).run();
    let lines = case.lines().join("\n");
    assert!(lines.contains("tool 0.0 ui_paste End error \"invalid arguments:"), "{lines}");
    assert!(!lines.contains("awaits") && lines.contains("cost 2 llm 0 tools"), "{lines}");
}

// S-015: calls of the client's tools never reach the service's own tools, and the other way round.
#[test]
fn parallel_work_ends_before_the_turn_is_parked() {
    let levels = [
        (
            "go",
            vec![Reply::Calls(vec![subtask("a"), subtask("b"), ("echo", json!({}))]), Reply::Text("All.")],
        ),
        ("a", vec![Reply::Calls(vec![paste()]), Reply::Text("a done")]),
        ("b", vec![Reply::Calls(vec![("echo", json!({})), ("locked", json!({}))]), Reply::Text("b done")]),
    ];
    let mut case = editor(script(&levels));
    case.run_with(None, |_, _| {});
    assert_eq!(case.ran, Some(Ok(Ran::Parked)));
    let lines = case.lines();
    assert_eq!(lines.last().map(String::as_str), Some("state waiting"));
    for ended in ["tool 0.1 run_subtask End \"b done\"", "tool 0.2 echo End"] {
        assert!(lines.iter().any(|line| line.starts_with(ended)), "{ended}: {lines:#?}");
    }
    let requests = case.model.requests.borrow().len();
    assert_eq!(case.say(None, |turn| result(turn, "0.0-0.0", "done")), Receipt::Taken);
    case.check();
    assert_eq!(case.end().message.content, "All.");
    assert_eq!(case.model.requests.borrow().len(), requests + 2, "a's second call and the root's");
    assert_eq!(case.tools.ran.borrow().len(), 3, "what had run does not run again");
}

#[test]
fn an_answer_while_others_run_needs_no_parking() {
    let levels = [
        ("go", vec![Reply::Calls(vec![subtask("a"), subtask("b")]), Reply::Text("All.")]),
        ("a", vec![Reply::Calls(vec![paste()]), Reply::Text("a done")]),
        ("b", vec![Reply::Calls(vec![("echo", json!({}))]), Reply::Text("b takes a few words longer")]),
    ];
    let mut case = editor(script(&levels));
    let id = WireIds::new("turn").tool_call("0.0-0.0");
    let mut heard = Vec::new();
    case.run_with(None, |turn, _| {
        if heard.is_empty() && turn.waiting(&id, Awaited::Client).is_some() {
            heard.push(result(turn, "0.0-0.0", "done"));
            heard.push(result(turn, "0.0-0.0", "again"));
        }
    });
    assert_eq!(heard, [Receipt::Taken, Receipt::Repeated]);
    case.check();
    assert_eq!(case.ran, Some(Ok(Ran::Ended)));
    assert!(!case.lines().iter().any(|line| line == "state waiting"));
}

#[test]
fn the_first_answer_wins_and_a_forged_one_does_nothing() {
    let mut case = editor(pasting());
    case.run_with(None, |_, _| {});
    let before = case.disk.entries.borrow().len();
    case.say(None, |turn| {
        assert_eq!(result(turn, "0.1", "forged"), Receipt::Unknown);
        assert_eq!(decide(turn, "0.0", Answer::Approve), Receipt::Unknown);
        assert!(!turn.expire().unwrap());
    });
    assert!(case.is_parked(), "what says nothing changes nothing");
    assert_eq!(
        case.disk.entries.borrow().len(),
        before + 2,
        "it ran, saw that it waits, and was parked again"
    );
}

#[test]
fn the_clock_and_the_counters_of_a_parked_turn_stand_still() {
    let calls: Vec<_> = (0..25).map(|_| paste()).collect();
    let mut case = editor(script(&[("go", vec![Reply::Calls(calls), Reply::Text("Pasted.")])]));
    case.run_with(None, |_, _| {});
    for index in 0..25 {
        assert!(case.is_parked());
        case.clock.pass(case.limits.wall_clock_ms);
        assert_eq!(case.say(None, |turn| result(turn, &format!("0.{index}"), "done")), Receipt::Taken);
    }
    case.check();
    assert_eq!(case.end().message.finish_reason, Some(FinishReason::Stop));
}

// An answered turn that has to wait for its place says so once, loses nothing in a rebuild, and then goes on.
#[test]
fn a_queued_turn_tells_clients_once_and_goes_on_where_it_was() {
    let mut case = editor(pasting());
    case.run_with(None, |_, _| {});
    case.say(Some(Kill::AfterCommits(2)), |turn| {
        assert_eq!(turn.parkings(), 1);
        assert_eq!(result(turn, "0.0", "done"), Receipt::Taken);
        turn.tell_queued().unwrap();
    });
    assert_eq!(case.model.requests.borrow().len(), 1, "nothing runs");
    case.say(None, |turn| {
        assert_eq!(result(turn, "0.0", "again"), Receipt::Repeated);
        turn.tell_queued().unwrap();
        turn.tell_placed().unwrap();
    });
    case.check();
    let waited = ["state executing_tool:ui_paste", "state queued", "state thinking"];
    assert_eq!(case.lines(), [&PARKED[..], &waited[..], &GONE_ON[1..]].concat());
}

#[test]
fn a_wait_without_an_answer_expires() {
    let mut case = editor(pasting());
    case.run_with(None, |_, _| {});
    case.clock.pass(case.limits.client_wait_ms);
    assert!(case.say(None, |turn| turn.expire().unwrap()));
    case.check();
    assert!(
        case.lines()
            .join("\n")
            .contains("tool 0.0 ui_paste End error \"The user's client did not answer in time")
    );
}

#[test]
fn a_parked_turn_can_be_stopped() {
    for (why, finish) in
        [(TurnStop::Cancelled, FinishReason::Cancelled), (TurnStop::Superseded, FinishReason::Cancelled)]
    {
        let mut case = editor(pasting());
        case.run_with(None, |_, _| {});
        case.say(None, |turn| {
            turn.stop(why).unwrap();
            assert_eq!(result(turn, "0.0", "late"), Receipt::Unknown, "a stopped turn takes no answer");
        });
        case.check();
        assert_eq!(case.end().message.finish_reason, Some(finish));
        assert_eq!(case.model.requests.borrow().len(), 1);
    }
}

fn rich() -> Script {
    script(&[
        (
            "go",
            vec![
                Reply::TextAndCalls("First. ", vec![subtask("a"), subtask("b"), ("write", json!({}))]),
                Reply::Calls(vec![("write", json!({"n": 2}))]),
                Reply::Text("All is done."),
            ],
        ),
        (
            "a",
            vec![Reply::Calls(vec![("echo", json!({})), ("write", json!({"n": 1}))]), Reply::Text("a done")],
        ),
        ("b", vec![Reply::Calls(vec![("fail", json!({}))]), Reply::Text("b done")]),
    ])
}

/// Approves each wait of a parked turn. The run dies after this many commits.
fn yes(case: &mut Case, kill: Option<Kill>) {
    let keys = ["0.0-0.1", "0.2", "1.0"];
    let heard = case.say(kill, |turn| {
        keys.map(|key| {
            let id = WireIds::new("turn").approval(key);
            turn.waiting(&id, Awaited::Approval).map(|_| turn.answer(&id, Awaited::Approval, Answer::Approve))
        })
    });
    assert!(heard.iter().flatten().count() == 1, "one at a time: {heard:?}");
}

/// Plays the turn to its end: each run that dies after this many commits is followed by one that does not. `answer` goes on
/// with a parked turn.
pub(super) fn play(case: &mut Case, kill: Option<Kill>, answer: fn(&mut Case, Option<Kill>)) {
    case.run_with(kill, |_, _| {});
    for _ in 0..100 {
        if case.disk.end.borrow().is_some() {
            return;
        }
        match case.is_parked() {
            true => answer(case, kill),
            false => case.resume(None),
        }
    }
    panic!("it does not end: {:#?}", case.lines());
}

#[test]
fn a_kill_at_every_commit_of_a_turn_that_asks_loses_and_repeats_nothing() {
    let new = || asking(r#"{"workspace_write": "ask"}"#, rich());
    let mut whole = new();
    play(&mut whole, None, yes);
    whole.check();
    assert_eq!(whole.lines().iter().filter(|line| line.starts_with("ask")).count(), 3);
    assert_eq!(whole.lines().iter().filter(|line| *line == "state waiting").count(), 3);
    for dies_after in 1..whole.disk.commits.get() {
        let mut case = new();
        play(&mut case, Some(Kill::AfterCommits(dies_after)), yes);
        case.check();
        assert_eq!(case.end().message.content, whole.end().message.content, "killed after {dies_after}");
        let ran = |case: &Case| {
            let ran = case.tools.ran.borrow();
            ran.iter().filter(|ran| ran.starts_with("write")).count()
        };
        assert!(ran(&case) <= 3, "killed after {dies_after}: {:?}", case.tools.ran.borrow());
    }
}

#[test]
fn a_call_that_is_not_allowed_is_not_made() {
    for (answer, why, decision) in [
        (Answer::Deny, "The user did not allow this call", Decision::Deny),
        (Answer::Expired, "The time to allow this call ended", Decision::Expired),
    ] {
        let calls = vec![("write", json!({}))];
        let replies = vec![Reply::Calls(calls), Reply::Text("Then not.")];
        let mut case = asking(r#"{"write": "ask"}"#, script(&[("go", replies)]));
        case.run_with(None, |_, _| {});
        let waiting = case.lines();
        assert_eq!(waiting[5..], ["ask 0.0 write", "state waiting"]);
        match answer {
            Answer::Expired => {
                case.clock.pass(case.limits.approval_wait_ms);
                assert!(case.say(None, |turn| turn.expire().unwrap()));
            }
            answer => assert_eq!(case.say(None, |turn| decide(turn, "0.0", answer)), Receipt::Taken),
        }
        case.check();
        let lines = case.lines();
        assert!(
            lines[7].starts_with("state executing_tool") && lines[8].starts_with("resolved 0.0"),
            "{lines:#?}"
        );
        assert_eq!(lines[9], "tool 0.0 write Start");
        assert!(
            lines[10].starts_with("tool 0.0 write End error") && lines[10].contains(why),
            "{}",
            lines[10]
        );
        assert!(case.tools.ran.borrow().is_empty());
        assert_eq!(case.end().message.usage.unwrap().tool_calls, 0, "it never ran, so it does not count");
        assert_eq!(case.decisions(), [Some(decision)]);
    }
}

// A person allows only calls that they see whole: a call whose arguments would be cut is refused, and the
// person sees the others.
#[test]
fn a_call_that_cannot_be_shown_whole_is_refused_unasked() {
    let text = |bytes: usize| json!({"text": "x".repeat(bytes - r#"{"text":""}"#.len())});
    let (whole, longer) = (text(100_000), text(100_001));
    let write = |arguments: &serde_json::Value| Reply::Calls(vec![("write", arguments.clone())]);
    let replies = vec![write(&longer), write(&whole), Reply::Text("Done.")];
    let mut case = asking(r#"{"workspace_write": "ask"}"#, script(&[("go", replies)]));
    case.run_with(None, |_, _| {});
    let shown: Vec<_> = case
        .events()
        .into_iter()
        .filter_map(|event| match event {
            Event::ApprovalRequest { args, .. } => Some(args),
            _ => None,
        })
        .collect();
    assert_eq!(shown, std::slice::from_ref(&whole), "asked about the one that can be shown, in full");
    let refused = case.lines().into_iter().find(|line| line.starts_with("tool 0.0 write End error"));
    assert!(refused.is_some_and(|line| line.contains("100001 bytes") && line.contains("it was not made")));
    assert_eq!(case.say(None, |turn| decide(turn, "1.0", Answer::Approve)), Receipt::Taken);
    case.check();
    assert_eq!(*case.tools.ran.borrow(), [format!("write {whole}")]);
}

#[test]
fn a_tool_allowed_for_the_thread_is_not_asked_again() {
    let write = || Reply::Calls(vec![("write", json!({}))]);
    let nested = vec![write(), Reply::Text("nested")];
    let levels =
        [("go", vec![write(), Reply::Calls(vec![subtask("a")]), Reply::Text("Done.")]), ("a", nested)];
    let mut case = asking(r#"{"workspace_write": "ask"}"#, script(&levels));
    case.run_with(None, |_, _| {});
    assert_eq!(case.say(None, |turn| decide(turn, "0.0", Answer::ApproveForThread)), Receipt::Taken);
    case.check();
    assert_eq!(case.tools.ran.borrow().len(), 2);
    assert_eq!(case.lines().iter().filter(|line| line.starts_with("ask")).count(), 1);
    let decisions = [Some(Decision::ApproveForThread), None, Some(Decision::Standing)];
    assert_eq!(case.decisions(), decisions, "the second call ran by the first decision");
}
