//! Plans that a reviewer judges before they run.

use serde_json::json;

use super::{operations, project, requests_of, result};
use crate::journal::Work;
use crate::testing::*;
use wire::model::ModelErrorKind;
use wire::protocol::{PlanReview, PlanStatus, Verdict};

fn reviewed(review: Vec<Reply>) -> Case {
    let mut case = project(&[
        ("go", vec![Reply::Calls(vec![plan("ship", "agent_review")]), Reply::Text("So.")]),
        ("plan ship", vec![planned(&[("a", &[])])]),
        ("review ship", review),
        ("a", vec![Reply::Text("a done")]),
    ]);
    let quality = offer("quality", wire::model::Capabilities::default());
    case.setting.reviewers = Some(crate::profiles::Chain::of(quality));
    case.run()
}

fn says(verdict: &str) -> Reply {
    Reply::Calls(vec![("finish_subtask", json!({"verdict": verdict, "notes": "for a reason"}))])
}

// B-046 B-047 B-048 B-084 B-111
#[test]
fn an_approved_plan_runs() {
    let case = reviewed(vec![says("approved")]);
    let lines = case.lines();
    let at =
        |line: &str| lines.iter().position(|is| is == line).unwrap_or_else(|| panic!("{line}: {lines:#?}"));
    assert!(
        at("plan 0.0 of 1") < at("plan 0.0 Approved") && at("plan 0.0 Approved") < at("state executing_plan")
    );
    assert!(at("state executing_plan") < at("executor Completed 1 0 0"));
    assert!(operations(&case).contains(&("plan_review".to_owned(), "quality".to_owned())));
    assert_eq!(requests_of(&case, "<plan>")[0].model.model, "quality");
    assert_eq!(crate::record::keys::work("0.0-review-0"), Work::Review);
}

// B-049 B-111
#[test]
fn a_plan_without_approval_does_not_run() {
    for (said, verdict, status) in [
        ("needs_changes", Verdict::NeedsChanges, PlanStatus::PendingReview),
        ("changes_requested", Verdict::NeedsChanges, PlanStatus::PendingReview),
        ("rejected", Verdict::Rejected, PlanStatus::Rejected),
    ] {
        let case = reviewed(vec![says(said)]);
        assert!(case.lines().contains(&format!("plan 0.0 {verdict:?}")));
        assert!(!case.lines().iter().any(|line| line.starts_with("step") || line.starts_with("executor")));
        let [plan] = case.end().plans.try_into().unwrap();
        let review = PlanReview { verdict, notes: "for a reason".to_owned() };
        assert_eq!((plan.status, plan.review), (status, Some(review)));
        let told = result(&case, "agent_create_plan");
        assert_eq!(told["review"]["notes"], "for a reason", "the critique goes back to the model");
    }
}

// B-050: only an approval lets a plan run, for every way in which a reviewer fails.
#[test]
fn a_failed_review_is_no_approval() {
    for review in [
        vec![Reply::Fail("", ModelErrorKind::Auth)],
        vec![Reply::Text("Looks good to me!")],
        vec![says("yes")],
        vec![Reply::Cut("appro")],
    ] {
        let case = reviewed(review.clone());
        assert!(!case.lines().iter().any(|line| line.starts_with("step")), "{review:?}");
        let [plan] = case.end().plans.try_into().unwrap();
        assert_eq!((plan.status, plan.review), (PlanStatus::PendingReview, None), "{review:?}");
        assert!(case.lines().iter().any(|line| line.contains("agent_create_plan End error")));
        assert!(case.lines().contains(&"state waiting".to_owned()));
    }
}
