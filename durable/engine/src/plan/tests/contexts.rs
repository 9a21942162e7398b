//! The rules of a chat context with plans, and of one without.

use serde_json::json;

use super::{diamond, operations, project};
use crate::journal::CallRecord;
use crate::testing::*;
use wire::protocol::FinishReason;

// B-013: a turn that misses the goal of its context says so, and leaves a row.
#[test]
fn a_missed_goal_is_flagged() {
    for (tool, reached) in [("echo", true), ("fail", false), ("locked", false)] {
        let mut case =
            project(&[("go", vec![Reply::Calls(vec![(tool, json!({}))]), Reply::Text("Done, I think.")])]);
        case.setting.goal = Some(if tool == "fail" { "fail" } else { "echo" }.to_owned());
        let case = case.run();
        let flagged = case
            .end()
            .calls
            .iter()
            .any(|row| matches!(row, CallRecord::Failure(failure) if failure.code == "goal_missed"));
        assert_eq!(
            (flagged, case.lines().contains(&"state waiting".to_owned())),
            (!reached, !reached),
            "{tool}"
        );
    }
}

// B-027 B-028 B-029 B-110: the root's own calls are counted apart from those of a plan's steps.
#[test]
fn the_root_may_make_eight_calls() {
    let eight = |last| {
        let mut replies = vec![Reply::Calls(vec![("echo", json!({})); 8]); 1];
        replies.push(last);
        replies.push(Reply::Text("Done."));
        project(&[("go", replies)]).limits(|limits| limits.root_tool_calls = Some(8)).run()
    };
    assert_eq!(eight(Reply::Text("Done.")).end().message.finish_reason, Some(FinishReason::Stop));
    let case = eight(Reply::Calls(vec![("echo", json!({}))]));
    let lines = case.lines();
    assert_eq!(case.tools.ran.borrow().len(), 8, "the ninth is not made");
    assert!(lines.contains(&"budget ToolCalls 9 of 8".to_owned()));
    assert!(
        lines.iter().any(|line| line.starts_with("tool 1.0 echo End error")),
        "it has a result all the same"
    );
    let logged =
        |row: &CallRecord| matches!(row, CallRecord::Failure(failure) if failure.code == "budget_exceeded");
    assert!(case.end().calls.iter().any(logged));
    let mut planned = project(&diamond()).limits(|limits| limits.root_tool_calls = Some(1));
    planned.run_with(None, |_, _| {});
    planned.check();
    assert_eq!(planned.end().message.finish_reason, Some(FinishReason::Stop));
}

// B-001 B-002 B-054 B-097 B-116: a turn of a thread has no plan, no call but the answer, and no event of a
// plan.
#[test]
fn a_thread_has_no_plans() {
    let case = Case::new(script(&[("go", vec![Reply::Text("Four.")])])).run();
    let requests = case.model.requests.borrow();
    assert_eq!(requests.len(), 1);
    assert!(requests[0].tools.iter().all(|tool| !tool.name.contains("plan")));
    let called = Case::new(script(&[(
        "go",
        vec![Reply::Calls(vec![plan("ship", "auto_execute"), ("plan_step", json!({}))]), Reply::Text("No.")],
    )]))
    .run();
    let lines = called.lines();
    assert_eq!(lines.iter().filter(|line| line.contains("is not available")).count(), 2, "{lines:#?}");
    assert!(!lines.iter().any(|line| ["plan", "step", "executor"].iter().any(|word| line.starts_with(word))));
    assert_eq!(called.model.requests.borrow().len(), 2);
}

// B-062 B-064 B-065 B-093: the service answers a blank message without a model, keeps it, and writes its row.
#[test]
fn the_service_answers_a_blank_message_itself() {
    for content in ["", " \n\t"] {
        let mut case = project(&[("never", vec![Reply::Text("never")])]);
        case.content = content.to_owned();
        let case = case.run();
        assert!(case.model.requests.borrow().is_empty());
        let end = case.end();
        assert!(end.message.content.starts_with("Your message was empty"));
        assert_eq!(end.message.finish_reason, Some(FinishReason::Stop));
        assert!(end.history.is_empty(), "no provider is ever told of it");
        assert_eq!(operations(&case), [("clarify_blank".to_owned(), "primary".to_owned())]);
        assert_eq!(
            case.lines()[2..4].to_vec(),
            ["model 0 start", &format!("chunk 0.0 {:?} done", end.message.content)]
        );
        assert_eq!(end.message.usage.unwrap().llm_calls, 0);
    }
}
