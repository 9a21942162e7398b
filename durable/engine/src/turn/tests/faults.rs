//! A run dies at each of its commits; the next run resumes the turn from the journal.

use std::collections::BTreeMap;

use serde_json::json;

use crate::journal::{Fact, TurnStop};
use crate::testing::*;
use wire::protocol::{Event, FinishReason, Seq};

fn rich() -> Script {
    script(&[
        (
            "go",
            vec![
                Reply::TextAndCalls(
                    "First. ",
                    vec![subtask("a"), ("echo", json!({})), ("write", json!({})), subtask("b")],
                ),
                Reply::Calls(vec![("memory_list", json!({})), subtask("b")]),
                Reply::Text("All is done."),
            ],
        ),
        (
            "a",
            vec![
                Reply::Calls(vec![subtask("b"), ("memory_write", json!({"key": "k", "value": "v"}))]),
                Reply::Text("a done"),
            ],
        ),
        ("b", vec![Reply::Calls(vec![("fail", json!({})), ("locked", json!({}))]), Reply::Text("b done")]),
    ])
}

/// The text that a client has put together, by the rules for a reset.
pub fn view(events: &BTreeMap<Seq, Event>) -> Vec<String> {
    let mut parts: BTreeMap<String, (String, String)> = BTreeMap::new();
    let mut lines = Vec::new();
    for event in events.values() {
        match event {
            Event::Chunk { part_id, model_call_id, content, .. } => {
                parts
                    .entry(part_id.clone())
                    .or_insert((model_call_id.clone(), String::new()))
                    .1
                    .push_str(content);
            }
            Event::ModelCallReset { model_call_id, .. } => parts.retain(|_, (call, _)| call != model_call_id),
            other => lines.push(line(other)),
        }
    }
    lines.extend(parts.into_values().map(|(call, text)| format!("{call}: {text}")));
    lines
}

/// A turn with a plan: parallel steps, one with a subtask, one that fails, and one that is skipped for that
/// failure.
fn with_a_plan() -> Script {
    let steps: &[(&str, &[&str])] =
        &[("p", &[]), ("q", &[]), ("r", &["p", "q"]), ("s", &["broken"]), ("broken", &["p"])];
    script(&[
        (
            "go",
            vec![
                Reply::TextAndCalls("First. ", vec![plan("ship", "agent_review"), ("echo", json!({}))]),
                Reply::Text("All is done."),
            ],
        ),
        ("plan ship", vec![Reply::Text("Let me see."), planned(steps)]),
        (
            "review ship",
            vec![Reply::Calls(vec![("finish_subtask", json!({"verdict": "approved", "notes": "fine"}))])],
        ),
        (
            "p",
            vec![Reply::Calls(vec![("write", json!({})), ("memory_list", json!({}))]), Reply::Text("p done")],
        ),
        (
            "q",
            vec![
                Reply::Calls(vec![subtask("b"), ("memory_write", json!({"key": "k", "value": "v"}))]),
                Reply::Text("q done"),
            ],
        ),
        ("b", vec![Reply::Calls(vec![("fail", json!({})), ("locked", json!({}))]), Reply::Text("b done")]),
        ("r", vec![Reply::Calls(vec![("memory_read", json!({"key": "k"}))]), Reply::Text("r done")]),
        ("broken", vec![Reply::Fail("", wire::model::ModelErrorKind::Auth)]),
    ])
}

fn planning() -> Case {
    let mut case = Case::new(with_a_plan());
    case.context = "project";
    case
}

#[test]
fn a_kill_at_every_commit_loses_nothing_and_repeats_nothing() {
    killed_at_every_commit(|| Case::new(rich()));
}

// Issue 19, item 2: so does a turn that begins a version. Its readers learn once which message it stands beside.
#[test]
fn a_kill_at_every_commit_of_a_version_loses_nothing() {
    let version = || Case { replaces: Some("earlier"), ..Case::new(rich()) };
    killed_at_every_commit(version);
    let told = |event: &Event| matches!(event, Event::Session { replaces_message_id: Some(id), .. } if id == "earlier");
    for dies_after in [None, Some(Kill::AfterCommits(1)), Some(Kill::AfterCommits(6))] {
        let mut case = version();
        let is_killed = dies_after.is_some();
        case.run_with(dies_after, |_, _| {});
        if is_killed {
            case.resume(None);
        }
        let events = case.disk.events.borrow();
        assert_eq!(events.values().filter(|event| told(event)).count(), 1);
        assert!(told(&events[&1]), "{:?}", events[&1]);
    }
}

// B-085: a plan goes on at the step where its run was lost.
#[test]
fn a_kill_at_every_commit_of_a_plan_loses_nothing() {
    killed_at_every_commit(planning);
    let whole = planning().run();
    let [plan] = whole.end().plans.try_into().unwrap();
    assert_eq!(plan.status, wire::protocol::PlanStatus::Partial);
    assert!(whole.lines().contains(&"executor Partial 3 1 1".to_owned()), "{:#?}", whole.lines());
}

/// Kills a turn at each of its commits; the run that takes it up comes to the same end, and repeats nothing.
pub fn killed_at_every_commit(new: impl Fn() -> Case) {
    let whole = new().run();
    let commits = whole.disk.commits.get();
    assert!(commits > 10, "{commits}");
    for dies_after in 1..commits {
        let mut case = new();
        case.run_with(Some(Kill::AfterCommits(dies_after)), |_, _| {});
        assert!(case.disk.end.borrow().is_none());
        case.resume(None);
        case.check();
        let (ours, theirs) = (case.end(), whole.end());
        assert_eq!(ours.message.content, theirs.message.content, "killed after commit {dies_after}");
        assert_eq!(ours.plans, theirs.plans, "killed after commit {dies_after}");
        assert_eq!(view(&case.seen), view(&case.disk.events.borrow()), "killed after commit {dies_after}");
        let ran = |case: &Case, name: &str| {
            case.tools.ran.borrow().iter().filter(|ran| ran.starts_with(name)).count()
        };
        assert!(ran(&case, "write") <= 1, "what is not idempotent never runs twice");
        // At most three levels are in a model call when the run is killed, and each repeats at most that
        // call.
        let repeated = case.model.requests.borrow().len() - whole.model.requests.borrow().len();
        assert!(repeated <= 3, "{repeated} model calls were repeated after commit {dies_after}");
        let spent = ours.message.usage.unwrap().llm_calls as usize;
        assert_eq!(spent, case.model.requests.borrow().len(), "a repeated call is paid for");
    }
}

#[test]
fn the_model_learns_that_the_result_of_an_unsafe_call_was_lost() {
    let calls = vec![("write", json!({}))];
    let mut case = Case::new(script(&[("go", vec![Reply::Calls(calls), Reply::Text("Noted.")])]));
    // Entry 0 with the model call's start, its outcome with the tool's start; the tool's end is lost.
    case.run_with(Some(Kill::AfterCommits(2)), |_, _| {});
    assert_eq!(case.tools.ran.borrow().len(), 1);
    case.resume(None);
    case.check();
    assert_eq!(case.tools.ran.borrow().len(), 1);
    assert!(case.lines().join("\n").contains("its result is unknown, and it may have run"));
}

#[test]
fn a_stop_survives_the_run() {
    let mut case = Case::new(script(&[("go", vec![Reply::Hang("so ")])]));
    case.run_with(Some(Kill::AfterCommits(2)), |turn, step| {
        if step == 2 {
            turn.stop(TurnStop::Cancelled).unwrap();
        }
    });
    assert!(case.disk.end.borrow().is_none(), "the run died between the stop and the end");
    case.resume(None);
    case.check();
    assert_eq!(case.end().message.finish_reason, Some(FinishReason::Cancelled));
    assert_eq!(case.model.requests.borrow().len(), 1, "a stopped turn makes no model call");
}

#[test]
fn a_turn_that_dies_again_and_again_is_given_up() {
    let mut case = Case::new(script(&[("go", vec![Reply::Hang("so ")])]));
    case.run_with(Some(Kill::AfterCommits(1)), |_, _| {});
    let mut resumptions = 0;
    while case.disk.end.borrow().is_none() {
        // Each run gets as far as its model call, then dies.
        case.clock = std::rc::Rc::default();
        case.resume((resumptions < 3).then_some(Kill::AfterCommits(2)));
        resumptions += 1;
        assert!(resumptions < 10);
    }
    case.check();
    assert_eq!(case.end().message.finish_reason, Some(FinishReason::Interrupted));
    assert_eq!(resumptions, 4);
}

#[test]
fn a_turn_that_dies_with_progress_is_given_up_after_twenty_resumptions() {
    let rounds = (0..60).map(|n| Reply::Calls(vec![("echo", json!({"n": n}))]));
    let mut case = Case::new(script(&[("go", rounds.chain([Reply::Text("Done.")]).collect())]));
    (case.limits.iterations, case.limits.llm_calls, case.limits.tool_calls) = (100, 200, 200);
    case.run_with(Some(Kill::AfterCommits(1)), |_, _| {});
    let mut resumptions = 0;
    while case.disk.end.borrow().is_none() {
        case.clock = std::rc::Rc::default();
        case.resume((resumptions < 20).then_some(Kill::AfterCommits(4)));
        resumptions += 1;
        assert!(resumptions < 30);
    }
    assert_eq!(case.end().message.finish_reason, Some(FinishReason::Interrupted));
    assert_eq!(resumptions, 21);
    assert!(case.tools.ran.borrow().len() >= 20, "each run came further");
}

#[test]
fn a_journal_of_other_steps_is_not_replayed() {
    let mut case = Case::new(rich());
    case.run_with(Some(Kill::AfterCommits(6)), |_, _| {});
    for entry in case.disk.entries.borrow_mut().iter_mut() {
        if let Fact::ModelEnded { digest, .. } = &mut entry.fact {
            *digest = "another".to_owned();
        }
    }
    case.resume(None);
    case.check();
    assert_eq!(case.end().message.finish_reason, Some(FinishReason::Interrupted));
}
