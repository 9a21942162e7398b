//! Plans that wait for the user's decision, and the decision.

use serde_json::{Value, json};

use super::{project, requests_of, result};
use crate::testing::*;
use wire::model::Message;
use wire::protocol::{ExecutionMode, Plan, PlanStatus};

// B-036 B-045 B-059 B-102: a draft is shown and kept, and none of its steps run.
#[test]
fn a_draft_waits_for_the_users_decision() {
    let case = project(&[
        ("go", vec![Reply::Calls(vec![plan("ship", "draft_only")]), Reply::Text("Shall I?")]),
        ("plan ship", vec![planned(&[("a", &[])])]),
    ])
    .run();
    let lines = case.lines();
    assert!(lines.contains(&"plan 0.0 ready".to_owned()));
    assert!(!lines.iter().any(|line| line.starts_with("step") || line.starts_with("executor")));
    assert_eq!(lines[lines.len() - 3..], ["state waiting", "cost 3 llm 2 tools 0 subtasks", "done Stop"]);
    let [draft] = case.end().plans.try_into().unwrap();
    assert_eq!((draft.status, draft.revision), (PlanStatus::PendingReview, 1));
    let told = result(&case, "agent_create_plan");
    assert_eq!((&told["status"], &told["plan_id"]), (&json!("pending_review"), &json!(draft.id)));
    assert!(told["next"].as_str().unwrap().contains("their next message decides"), "B-094");
}

pub(super) fn stored() -> Plan {
    let case = project(&[
        ("go", vec![Reply::Calls(vec![plan("ship", "draft_only")]), Reply::Text("Shall I?")]),
        ("plan ship", vec![planned(&[("a", &[])])]),
    ])
    .run();
    let mut plan = case.end().plans.remove(0);
    // The draft is a plan of another turn.
    plan.id = "plan_earlier_0.0".to_owned();
    plan
}

fn acts(arguments: Value, more: &[(&str, Vec<Reply>)]) -> Case {
    let mut arguments = arguments;
    arguments["plan_id"] = stored().id.into();
    let go = ("go", vec![Reply::Calls(vec![("agent_update_plan", arguments)]), Reply::Text("Right.")]);
    let mut case = project(&[&[go], more].concat());
    case.setting.draft = Some(Box::new(stored()));
    case.run()
}

// B-101 B-102 B-114
#[test]
fn the_user_runs_a_draft() {
    let case = acts(json!({"action": "run"}), &[("a", vec![Reply::Text("a done")])]);
    assert!(case.lines().contains(&"executor Completed 1 0 0".to_owned()), "{:#?}", case.lines());
    let [ran] = case.end().plans.try_into().unwrap();
    assert_eq!((ran.status, ran.id), (PlanStatus::Completed, stored().id));
    assert_eq!(ran.execution_mode, ExecutionMode::DraftOnly);
    let system = &case.model.requests.borrow()[0].system;
    assert!(system.contains("<stored_plan>") && system.contains("plan_earlier_0.0"));
}

// B-101
#[test]
fn the_user_changes_a_draft() {
    let changed = [("change ship", vec![planned(&[("m", &[]), ("a", &["m"])])])];
    let case = acts(json!({"action": "change", "changes": "a milestone first"}), &changed);
    let [plan] = case.end().plans.try_into().unwrap();
    assert_eq!((plan.status, plan.steps.len()), (PlanStatus::PendingReview, 2));
    assert_eq!(plan.revision, stored().revision + 1);
    let asked = &requests_of(&case, "<changes>")[0];
    let Message::User { content } = &*asked.messages[0] else { panic!() };
    assert!(content.text().contains("a milestone first"));
    assert!(case.lines().contains(&"state waiting".to_owned()));
}

// B-101
#[test]
fn the_user_drops_a_draft() {
    let case = acts(json!({"action": "drop"}), &[]);
    let [plan] = case.end().plans.try_into().unwrap();
    assert_eq!(plan.status, PlanStatus::Dropped);
    assert!(!case.lines().contains(&"state waiting".to_owned()));
}

// A plan that this turn drafted cannot run yet: the user has not answered it. An unknown plan id cannot run
// either.
#[test]
fn only_a_plan_of_an_earlier_turn_can_be_run() {
    let tag = "plan_0000000000000000_0.0";
    for waits in [false, true] {
        let run = ("agent_update_plan", json!({"plan_id": tag, "action": "run"}));
        let mut case = project(&[
            (
                "go",
                vec![
                    Reply::Calls(vec![plan("ship", "draft_only")]),
                    Reply::Calls(vec![run]),
                    Reply::Text("Hm."),
                ],
            ),
            ("plan ship", vec![planned(&[("a", &[])])]),
        ]);
        case.setting.draft = waits.then(|| Box::new(stored()));
        let case = case.run();
        let refused = case.lines().iter().any(|line| line.contains("agent_update_plan End error"));
        assert!(refused && !case.lines().iter().any(|line| line.starts_with("executor")));
        let plans = case.end().plans;
        let waiting = plans.iter().filter(|plan| plan.status == PlanStatus::PendingReview).count();
        assert_eq!((waiting, plans.len()), (1, if waits { 2 } else { 1 }), "the newer draft took the place");
    }
}
