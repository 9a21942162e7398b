//! Limits end the turn from whatever depth, with the event, the reason and what was done so far.

use serde_json::json;

use super::support::*;
use crate::protocol::FinishReason;

fn last(case: &Case, count: usize) -> Vec<String> {
    let lines = case.lines();
    lines[lines.len() - count..].to_vec()
}

// N-039 N-119 N-136 N-137 N-142 N-147 N-148 N-179 N-195 N-224
#[test]
fn model_calls() {
    let endless = vec![Reply::TextAndCalls("More. ", vec![("echo", json!({}))])];
    let case = Case::new(script(&[("go", endless)])).limits(|limits| limits.llm_calls = 3).run();
    assert_eq!(case.model.requests.borrow().len(), 3, "the fourth is never made");
    assert_eq!(
        last(&case, 4),
        ["budget LlmCalls 4 of 3", "error budget_exceeded", "cost 3 llm 3 tools 0 subtasks", "done Budget"]
    );
    let message = case.end().message;
    assert_eq!(message.content, "More. \n\nMore. \n\nMore. ");
    assert_eq!(message.stop.unwrap().code, "budget_exceeded");
    assert_eq!(message.execution_tree.unwrap().nodes.len(), 3);
}

// N-137 N-143 N-195 N-136
#[test]
fn tool_calls_of_the_whole_tree() {
    let child = vec![Reply::Calls(vec![("echo", json!({})); 3]), Reply::Text("never")];
    let case = Case::new(script(&[
        (
            "go",
            vec![
                Reply::Calls(vec![("echo", json!({}))]),
                Reply::Calls(vec![subtask("a")]),
                Reply::Text("never"),
            ],
        ),
        ("a", child),
    ]))
    .limits(|limits| limits.tool_calls = 4)
    .run();
    assert_eq!(case.tools.ran.borrow().len(), 1, "none of a round that does not fit runs");
    let tail = last(&case, 11);
    assert!(tail[0].starts_with("tool 1.0-0.0 echo Start"), "{tail:#?}");
    assert!(tail[6].starts_with("tool 1.0 run_subtask End error"), "{tail:#?}");
    assert_eq!(
        tail[7..],
        ["budget ToolCalls 5 of 4", "error budget_exceeded", "cost 2 llm 2 tools 1 subtasks", "done Budget"]
            .map(|line| line.replace("cost 2 llm", "cost 3 llm"))
    );
}

// N-059 N-141 N-195
#[test]
fn subtasks_wherever_they_are_started() {
    let child = vec![Reply::Calls(vec![subtask("b")]), Reply::Text("a")];
    let case = Case::new(script(&[
        ("go", vec![Reply::Calls(vec![subtask("a")]), Reply::Text("never")]),
        ("a", child),
        ("b", vec![Reply::Calls(vec![subtask("c")]), Reply::Text("never")]),
    ]))
    .limits(|limits| limits.subtasks = 2)
    .run();
    assert_eq!(
        last(&case, 4),
        ["budget Subtasks 3 of 2", "error budget_exceeded", "cost 3 llm 2 tools 2 subtasks", "done Budget"]
    );
}

// N-144 N-195 N-039
#[test]
fn the_wall_clock_ends_a_hung_provider_and_a_hung_tool() {
    let hung = Case::new(script(&[("go", vec![Reply::Hang("So far ")])]))
        .limits(|limits| limits.wall_clock_ms = 1_000)
        .run();
    assert_eq!(
        last(&hung, 6),
        [
            "chunk 0.0 \"\" done",
            "model 0 End aborted",
            "budget WallClock 1000 of 1000",
            "error budget_exceeded",
            "cost 1 llm 0 tools 0 subtasks",
            "done Budget",
        ]
    );
    assert_eq!(hung.model.aborted.get(), 1, "the provider's stream was dropped");
    assert_eq!(hung.end().message.content, "So far ");
    assert!(!hung.clock.advance_to_next(), "no timer is left behind");

    let tool = Case::new(script(&[("go", vec![Reply::Calls(vec![("hang", json!({}))])])]))
        .limits(|limits| limits.wall_clock_ms = 1_000)
        .run();
    assert_eq!(tool.end().message.finish_reason, Some(FinishReason::Budget));
}

// N-039
#[test]
fn a_turn_without_any_budget_calls_nobody() {
    let case =
        Case::new(script(&[("go", vec![Reply::Text("never")])])).limits(|limits| limits.llm_calls = 0).run();
    assert!(case.model.requests.borrow().is_empty());
    let lines = case.lines();
    assert_eq!(lines[2], "budget LlmCalls 1 of 0");
}
