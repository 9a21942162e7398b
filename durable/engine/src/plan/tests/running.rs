//! Plans that run: the events, rows and results of their steps, and their stops.

use serde_json::json;

use super::{diamond, operations, project, requests_of, result};
use crate::journal::CallRecord;
use crate::testing::*;
use wire::model::Message;
use wire::protocol::{FinishReason, PlanStatus, StepStatus};

// B-003 B-005 B-006 B-021 B-023 B-024 B-025 B-042 B-043 B-044 B-051 B-052 B-053 B-054 B-058 B-059 B-067 B-068 B-070 B-074 B-075 B-079 B-085 B-090 B-091
#[test]
fn auto_execute_runs_the_steps_in_waves() {
    let case = project(&diamond()).run();
    let lines = case.lines();
    let flow: Vec<&str> = lines
        .iter()
        .map(String::as_str)
        .filter(|line| ["state", "plan", "executor", "step"].iter().any(|word| line.starts_with(word)))
        .collect();
    assert_eq!(
        flow,
        [
            "state thinking",
            "state executing_tool:agent_create_plan",
            "plan 0.0 of 4",
            "state executing_plan",
            "executor 0.0 start 4",
            "step a start 0.0-w0.0",
            "step a Completed",
            "step b start 0.0-w1.0",
            "step c start 0.0-w1.1",
            "step b Completed",
            "step c Completed",
            "step d start 0.0-w2.0",
            "step d Completed",
            "executor Completed 4 0 0",
            "state thinking",
        ]
    );
    assert!(lines.contains(&"tool 0.0-w0.0-0.0 echo Start in 0.0-w0.0 depth 2".to_owned()), "{lines:#?}");
    assert_eq!(case.end().message.content, "Shipped.", "the last word is the root's");
    let told = result(&case, "agent_create_plan");
    assert_eq!((&told["status"], &told["execution_mode"]), (&json!("completed"), &json!("auto_execute")));
    assert_eq!(
        told["steps"][3],
        json!({"id": "d", "title": "Step d", "status": "completed", "result": "d done"})
    );
    assert_eq!(told["usage"]["llm_calls"], 6);
    let [kept] = case.end().plans.try_into().unwrap();
    assert_eq!((kept.status, kept.context_type.as_str()), (PlanStatus::Completed, "project"));
    assert!(kept.steps.iter().all(|step| step.status == StepStatus::Completed));
    assert_eq!(kept.entity_id.as_deref(), Some("p1"));

    // Each step gets the plan's objective, its instructions and the results of the steps that it builds on.
    let d = &requests_of(&case, "d\n<plan_objective>")[0];
    let Message::User { content } = &*d.messages[0] else { panic!() };
    let text = content.text();
    assert!(text.contains("b done") && text.contains("c done") && !text.contains("a done"), "{text}");
    assert!(d.tools.iter().any(|tool| tool.name == "echo"));
    assert!(d.tools.iter().all(|tool| !tool.name.starts_with("agent_") && tool.name != "plan_step"));

    // B-109 B-033 B-106 B-089: the row of every call names its operation.
    let ops = operations(&case);
    let of = |name: &str| ops.iter().filter(|(op, _)| op == name).count();
    assert_eq!((of("planner_stream"), of("plan_generation"), of("plan_step")), (2, 1, 5), "{ops:?}");
    let audit = case.end().calls.into_iter().find_map(|row| match row {
        CallRecord::Tool { tool_name, detail, .. } if tool_name == "agent_create_plan" => Some(detail),
        _ => None,
    });
    assert!(audit.unwrap().unwrap().contains("\"objective\":\"ship\""));
}

// B-030 B-031: the turn's time limit stops a running call.
#[test]
fn the_watchdog_stops_a_planner_that_hangs() {
    let case = project(&[
        ("go", vec![Reply::Calls(vec![plan("ship", "auto_execute")])]),
        ("plan ship", vec![Reply::Hang("let me ")]),
    ])
    .limits(|limits| limits.wall_clock_ms = 90_000)
    .run();
    let lines = case.lines();
    assert!(lines.contains(&"budget WallClock 90000 of 90000".to_owned()), "{lines:#?}");
    assert_eq!(case.model.aborted.get(), 1);
}

// S-053 S-054 S-055 S-056: a stop in the middle of a plan leaves no step open and says how far the plan had
// come.
#[test]
fn a_cancelled_plan_leaves_no_step_open() {
    let mut case = project(&diamond());
    case.run_with(None, |turn, _| {
        let at_b =
            turn.record.borrow().pending.iter().any(|call| call.key == "0.0-w1.0" && call.since_ms.is_some());
        if at_b {
            turn.stop(crate::journal::TurnStop::Cancelled).unwrap();
        }
    });
    case.check();
    let [plan] = case.end().plans.try_into().unwrap();
    assert_eq!((plan.status, plan.steps[0].status), (PlanStatus::Stopped, StepStatus::Completed));
    assert!(case.lines().contains(&"step b Skipped".to_owned()), "{:#?}", case.lines());
    assert_eq!(case.end().message.finish_reason, Some(FinishReason::Cancelled));
}
