//! The objections to a plan that the planner gets back.

use serde_json::{Value, json};

use super::{project, requests_of};
use crate::testing::*;

// B-031 B-080 B-081 B-085: the objections to a plan go back to the planner, and a plan that stays wrong is
// refused.
#[test]
fn a_wrong_plan_is_mended_or_refused() {
    let circle = planned(&[("a", &["b"]), ("b", &["a"])]);
    let mended = project(&[
        ("go", vec![Reply::Calls(vec![plan("ship", "auto_execute")]), Reply::Text("So.")]),
        ("plan ship", vec![circle.clone(), planned(&[("a", &[])])]),
        ("a", vec![Reply::Text("a done")]),
    ])
    .run();
    let lines = mended.lines().join("\n");
    assert!(
        lines.contains("these steps wait for each other: a, b") && lines.contains("executor Completed 1 0 0")
    );

    let refused = project(&[
        ("go", vec![Reply::Calls(vec![plan("ship", "auto_execute")]), Reply::Text("So.")]),
        ("plan ship", vec![circle]),
    ])
    .run();
    let lines = refused.lines().join("\n");
    assert!(lines.contains("agent_create_plan End error \"no plan was made: these steps wait"), "{lines}");
    assert!(!lines.contains("executor") && refused.end().plans.is_empty());
}

// B-080 B-081 B-076
#[test]
fn the_plan_of_a_new_project_has_its_steps_in_order() {
    let steps = |tools: &[&str]| {
        let step = |tool: &&str| json!({"id": tool, "title": tool, "instructions": tool, "tool": tool});
        let steps: Vec<Value> = tools.iter().map(step).collect();
        Reply::Calls(vec![("finish_subtask", json!({"reasoning": "r", "steps": steps}))])
    };
    let mut case = project(&[
        ("go", vec![Reply::Calls(vec![plan("ship", "auto_execute")]), Reply::Text("So.")]),
        ("plan ship", vec![steps(&["echo"]), steps(&["echo", "locked", "fail"])]),
        ("echo", vec![Reply::Text("1")]),
        ("locked", vec![Reply::Text("2")]),
        ("fail", vec![Reply::Text("3")]),
    ]);
    case.setting.plan_tools = ["echo", "write?", "locked", "fail"].map(str::to_owned).to_vec();
    let case = case.run();
    let lines = case.lines().join("\n");
    assert!(lines.contains("a step with \\\"tool\\\": \\\"locked\\\" is missing"), "{lines}");
    let waves = ["step echo start 0.0-w0.0", "step locked start 0.0-w1.0", "step fail start 0.0-w2.0"];
    assert!(waves.iter().all(|line| lines.contains(line)), "each waits for the one before it: {lines}");
    let planner = &requests_of(&case, "<objective>")[0];
    assert!(planner.system.contains("in this order: echo, write (only where it is needed), locked, fail"));
}
