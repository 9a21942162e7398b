//! All stops work alike: journaled, the first reason wins, every call gets its end.

use serde_json::json;

use crate::journal::{Fact, TurnStop};
use crate::ports::Clock;
use crate::testing::*;
use wire::model::{Message, ModelErrorKind};
use wire::protocol::FinishReason;

// N-197 N-130 N-181
#[test]
fn a_cancelled_turn_ends_each_of_its_open_calls() {
    let mut case = Case::new(script(&[
        (
            "go",
            vec![Reply::TextAndCalls("Now. ", vec![subtask("a"), ("hang", json!({})), ("write", json!({}))])],
        ),
        ("a", vec![Reply::Calls(vec![("hang", json!({}))])]),
    ]));
    let ran = std::rc::Rc::clone(&case.tools.ran);
    case.run_with(None, |turn, _| {
        if ran.borrow().len() == 2 {
            turn.stop(TurnStop::Cancelled).unwrap();
            turn.stop(TurnStop::Superseded).unwrap();
        }
    });
    case.check();
    let lines = case.lines();
    let ends: Vec<&str> = lines
        .iter()
        .filter(|line| line.contains(" End error "))
        .map(|line| line.split(" End").next().unwrap())
        .collect();
    assert_eq!(ends, ["tool 0.0-0.0 hang", "tool 0.0 run_subtask", "tool 0.1 hang", "tool 0.2 write"]);
    assert!(lines.iter().any(|line| line.contains("tool 0.2 write End error \"The call was not made.")));
    assert_eq!(
        lines[lines.len() - 3..],
        ["error cancelled", "cost 2 llm 3 tools 1 subtasks", "done Cancelled"]
    );
    let stops = case.disk.entries.borrow().iter().filter(|e| matches!(e.fact, Fact::Stopped(_))).count();
    assert_eq!(stops, 1, "the first reason wins");
    let history = case.end().history;
    let results = history.iter().filter(|message| matches!(message, Message::Tool { .. })).count();
    assert_eq!(results, 3, "each call of the stored history has its result");
    let Message::Assistant { content, .. } = history.last().unwrap() else { panic!() };
    assert!(content.contains("This turn was stopped: It was cancelled."), "{content}");
}

// N-148 N-197
#[test]
fn a_turn_cancelled_amid_an_answer_keeps_its_text() {
    let mut case = Case::new(script(&[("go", vec![Reply::Hang("one two three ")])]));
    case.run_with(None, |turn, step| {
        if step == 3 {
            turn.stop(TurnStop::Cancelled).unwrap();
        }
    });
    case.check();
    assert_eq!(case.model.aborted.get(), 1);
    let message = case.end().message;
    assert!(!message.content.is_empty() && "one two three ".starts_with(&message.content));
    assert_eq!(message.finish_reason, Some(FinishReason::Cancelled));
    assert_eq!(message.stop.unwrap().code, "cancelled");
}

// N-180
#[test]
fn a_provider_that_fails_the_root_ends_the_turn() {
    for (reply, code) in [
        (Reply::Fail("half ", ModelErrorKind::Auth), "error provider_auth"),
        (Reply::Cut("half "), "error provider_protocol"),
    ] {
        let case = Case::new(script(&[("go", vec![reply])])).run();
        let lines = case.lines();
        assert_eq!(lines[lines.len() - 3..], [code, "cost 1 llm 0 tools 0 subtasks", "done Error"]);
        assert!(lines.contains(&"chunk 0.0 \"half \"".to_owned()));
        assert_eq!(case.end().message.content, "half ", "what was said is kept");
    }
}

// N-197 N-130
#[test]
fn a_stopped_call_has_its_duration() {
    let mut case =
        Case::new(script(&[("go", vec![Reply::Calls(vec![("once", json!({})), ("echo", json!({}))])])]));
    let clock = std::rc::Rc::clone(&case.clock);
    case.run_with(None, |turn, _| {
        if clock.now_ms() >= 5 {
            turn.stop(TurnStop::Cancelled).unwrap();
        }
    });
    case.check();
    let tree = case.end().message.execution_tree.unwrap();
    let durations: Vec<_> = tree.nodes.iter().map(|node| (node.name.as_str(), node.duration_ms)).collect();
    assert_eq!(durations, [("once", 5), ("echo", 5)]);
}

// N-181: the user heard that the turn is cancelled, so it is, with the whole answer kept.
#[test]
fn a_journaled_stop_holds_against_a_whole_answer() {
    let mut case = Case::new(script(&[("go", vec![Reply::Text("All of it.")])]));
    case.run_with(None, |_, _| {});
    case.disk.lose_end();
    case.resume_with(None, |turn, _| turn.stop(TurnStop::Cancelled).unwrap());
    case.check();
    let message = case.end().message;
    assert_eq!(
        (message.content.as_str(), message.finish_reason),
        ("All of it.", Some(FinishReason::Cancelled))
    );
    let history = case.end().history;
    let Message::Assistant { content, .. } = history.last().unwrap() else { panic!() };
    assert!(content.starts_with("All of it.") && content.contains("was stopped"), "{content}");
}

#[test]
fn nothing_happens_after_the_end() {
    let mut case = Case::new(script(&[("go", vec![Reply::Text("ok")])]));
    let mut kept = None;
    case.run_with(None, |turn, _| kept = Some(turn.spec().turn_id.clone()));
    assert_eq!(kept.as_deref(), Some("turn"));
    case.check();
    let commits = case.disk.commits.get();
    assert_eq!(case.lines().last().unwrap(), "done Stop");
    assert_eq!(case.disk.commits.get(), commits);
}
