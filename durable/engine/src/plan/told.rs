//! The result of a plan's call, for the model: status, steps with their results, and the next thing to do
//! (B-051, B-091).

use serde_json::{Value, json};

use crate::journal::ToolEnd;
use crate::turn::Turn;
use wire::protocol::{Plan, PlanStatus, Verdict};

/// The payload of the tool's result. The steps' results are cut so that the whole fits.
pub(super) fn summary(turn: &Turn, key: &str, plan: &Plan, results: &[Option<ToolEnd>]) -> String {
    let limit = turn.spec.limits.tool_result_bytes;
    let each = limit / 2 / plan.steps.len().max(1);
    let steps: Vec<Value> = plan
        .steps
        .iter()
        .enumerate()
        .map(|(index, step)| {
            let mut told = json!({"id": step.id, "title": step.title, "status": step.status});
            let result = results.get(index).and_then(Option::as_ref).map(|end| cut(&end.content, each));
            if let (Some(result), Value::Object(members)) = (result, &mut told) {
                members.insert("result".to_owned(), result.into());
            }
            told
        })
        .collect();
    let usage = turn.record.borrow().usage_below(&turn.ids.tool_call(key));
    json!({
        "status": plan.status,
        "plan_id": plan.id,
        "execution_mode": plan.execution_mode,
        "reasoning": cut(&plan.reasoning, 1_000),
        "steps": steps,
        "review": plan.review,
        "usage": usage,
        "next": next(plan),
    })
    .to_string()
}

/// Tells the model how to go on from here.
fn next(plan: &Plan) -> &'static str {
    match (plan.status, plan.review.as_ref().map(|review| review.verdict)) {
        (PlanStatus::PendingReview, Some(Verdict::NeedsChanges)) => {
            "The reviewer wants changes, and nothing was carried out. Make a better plan, or ask the user."
        }
        (PlanStatus::PendingReview, _) => {
            "Nothing was carried out. Show the user the plan and ask in plain words whether to run, change or drop it; \
             their next message decides. Do not make another plan now."
        }
        (PlanStatus::Rejected, _) => "The reviewer refused the plan, and nothing was carried out. Say why.",
        (PlanStatus::Dropped, _) => "The plan is given up. Nothing of it will be carried out.",
        (PlanStatus::Completed, _) => "All steps are done. Tell the user what came of them.",
        (PlanStatus::Executing | PlanStatus::Partial | PlanStatus::Failed | PlanStatus::Stopped, _) => {
            "Not all steps are done. Tell the user what is there, what is missing and why."
        }
    }
}

fn cut(text: &str, bytes: usize) -> String {
    let (kept, rest) = text.split_at(text.floor_char_boundary(bytes));
    if rest.is_empty() { kept.to_owned() } else { format!("{kept}…") }
}
