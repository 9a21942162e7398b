use serde_json::{Value, json};

use crate::plan::progress::Progress;
use crate::plan::rules::*;
use crate::toolbelt::OutputSchema;
use wire::model::RawValueEq;
use wire::protocol::{PlanStatus, StepStatus};

fn step(id: &str, depends_on: &[&str]) -> Value {
    json!({"id": id, "title": id, "instructions": format!("do {id}"), "depends_on": depends_on})
}

fn using(id: &str, tool: &str) -> Value {
    json!({"id": id, "title": id, "instructions": "do", "tool": tool})
}

fn check(rules: &PlanRules, steps: &[Value]) -> Result<(), String> {
    rules.check(&json!({"reasoning": "r", "steps": steps}).to_string())
}

fn progress(steps: &[Value], sequential: bool) -> Progress {
    let draft: Draft = serde_json::from_value(json!({"reasoning": "r", "steps": steps})).unwrap();
    Progress::new(&draft.into_steps(false), sequential)
}

// B-085
#[test]
fn ids_and_dependencies_are_checked() {
    let rules = PlanRules::default();
    assert_eq!(check(&rules, &[step("a", &[]), step("b", &["a"])]), Ok(()));
    for (steps, why) in [
        (vec![step("a", &[]), step("a", &[])], "two steps have the id"),
        (vec![step("a", &["z"])], "which is no step"),
        (vec![step("a", &["a"])], "wait for each other: a"),
        (vec![step("a", &["b"]), step("b", &["a"]), step("c", &[])], "wait for each other: a, b"),
    ] {
        let told = check(&rules, &steps).unwrap_err();
        assert!(told.contains(why), "{told}");
    }
    let told = check(&rules, &[using("a", "nothing")]).unwrap_err();
    assert!(told.contains("names the tool \"nothing\""), "{told}");
}

// B-080 B-081 B-082
#[test]
fn required_steps_are_present_and_in_order() {
    let required = ["list_templates", "create_template?", "create_project", "publish_context_document"];
    let required: Vec<String> = required.map(str::to_owned).to_vec();
    let tools = required.iter().map(|tool| tool.trim_end_matches('?').to_owned()).collect();
    let rules = PlanRules { tools, required };
    let of = |tools: &[&str]| {
        let steps: Vec<Value> =
            tools.iter().enumerate().map(|(n, tool)| using(&n.to_string(), tool)).collect();
        check(&rules, &steps)
    };
    let whole = ["list_templates", "create_template", "create_project", "publish_context_document"];
    assert_eq!(of(&whole), Ok(()));
    assert_eq!(of(&["list_templates", "create_project", "publish_context_document"]), Ok(()));
    assert_eq!(
        of(&["list_templates", "list_templates", "create_project", "publish_context_document"]),
        Ok(()),
        "more steps are allowed"
    );
    for missing in 0..whole.len() {
        let rest: Vec<&str> =
            whole.iter().enumerate().filter(|(at, _)| *at != missing).map(|(_, t)| *t).collect();
        match whole[missing] {
            "create_template" => assert_eq!(of(&rest), Ok(())),
            tool => assert!(of(&rest).unwrap_err().contains(tool)),
        }
    }
    let swapped = of(&["create_project", "list_templates", "publish_context_document"]).unwrap_err();
    assert!(swapped.contains("\"create_project\" is missing, or not in its place"), "{swapped}");
    let late = of(&["list_templates", "create_project", "create_template", "publish_context_document"]);
    assert!(late.unwrap_err().contains("create_template"));
}

#[test]
fn steps_in_order_build_on_each_other() {
    let draft = json!({"reasoning": "r", "steps": [step("a", &[]), step("b", &["a"]), step("c", &["a"])]});
    let draft: Draft = serde_json::from_value(draft).unwrap();
    let needs = |in_order| -> Vec<Vec<String>> {
        draft.clone().into_steps(in_order).into_iter().map(|step| step.depends_on).collect()
    };
    let own =
        |ids: [&[&str]; 3]| ids.map(|ids| ids.iter().map(|id| (*id).to_owned()).collect::<Vec<_>>()).to_vec();
    assert_eq!(needs(false), own([&[], &["a"], &["a"]]));
    assert_eq!(needs(true), own([&[], &["a"], &["a", "b"]]));
}

// B-085: waves by dependency; a step that depends on a failure is skipped.
#[test]
fn steps_run_in_waves_by_their_dependencies() {
    let steps =
        [step("a", &[]), step("b", &[]), step("c", &["a", "b"]), step("d", &["b"]), step("e", &["d"])];
    let mut plan = progress(&steps, false);
    assert_eq!(plan.next_wave(), [0, 1]);
    plan.settle(0, StepStatus::Completed);
    plan.settle(1, StepStatus::Partial);
    assert_eq!(plan.next_wave(), [2, 3]);
    plan.settle(2, StepStatus::Completed);
    plan.settle(3, StepStatus::Failed);
    assert!(plan.next_wave().is_empty());
    assert_eq!(plan.status(4), StepStatus::Skipped);
    assert_eq!(plan.outcome(), PlanStatus::Partial);
    assert_eq!((plan.count(StepStatus::Completed), plan.count(StepStatus::Skipped)), (2, 1));

    let mut one_by_one = progress(&steps, true);
    assert_eq!(one_by_one.next_wave(), [0]);
}

// S-048 S-049
#[test]
fn three_failures_in_a_row_stop_a_plan() {
    let steps: Vec<Value> = ["a", "b", "c", "d", "e", "f"].iter().map(|id| step(id, &[])).collect();
    let run = |outcomes: &[StepStatus]| {
        let mut plan = progress(&steps, true);
        for (index, status) in outcomes.iter().enumerate() {
            assert_eq!(plan.next_wave(), [index]);
            plan.settle(index, *status);
        }
        plan
    };
    use StepStatus::{Completed, Failed};
    let mut stopped = run(&[Failed, Failed, Failed]);
    assert!(stopped.next_wave().is_empty());
    assert_eq!((stopped.outcome(), stopped.count(StepStatus::Skipped)), (PlanStatus::Failed, 3));
    let mut goes_on = run(&[Failed, Failed, Completed, Failed, Failed]);
    assert_eq!(goes_on.next_wave(), [5], "a success resets the count");
}

#[test]
fn the_schemas_compile_and_hold_their_bounds() {
    let raw = |value: Value| std::rc::Rc::new(RawValueEq(serde_json::value::to_raw_value(&value).unwrap()));
    let plan = OutputSchema::compile(raw(schema())).unwrap();
    let of = |count: usize| {
        let steps: Vec<Value> = (0..count).map(|n| step(&n.to_string(), &[])).collect();
        plan.check(&json!({"reasoning": "r", "steps": steps}).to_string())
    };
    assert!(of(0).is_err() && of(1).is_ok() && of(MAX_STEPS).is_ok() && of(MAX_STEPS + 1).is_err());
    let review = OutputSchema::compile(raw(review_schema())).unwrap();
    let said = |verdict: &str| review.check(&json!({"verdict": verdict, "notes": ""}).to_string()).is_ok();
    assert!(said("approved") && said("changes_requested") && !said("perhaps"));
}
