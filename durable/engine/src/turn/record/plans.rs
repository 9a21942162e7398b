//! Plans in the record: their states by the journal.

use super::Record;
use crate::calls::plan_step;
use crate::journal::ToolEnd;
use wire::protocol::{Plan, PlanStatus, StepStatus};

impl Record {
    /// A plan as the calls before this one left it; none if the turn has not touched it before.
    pub(in crate::turn) fn plan_before(&self, plan_id: &str, call_key: &str) -> Option<Plan> {
        let mut changes = self.plans.iter().filter(|(at, plan)| plan.id == plan_id && at != call_key);
        changes.next_back().map(|(_, plan)| plan.clone())
    }

    /// The plans that the turn touched, as they are when it ends. Only the newest of those that wait for the
    /// user's word stays: the others served the same request and are dropped.
    pub(in crate::turn) fn plans_at_end(&self) -> Vec<Plan> {
        let mut last: Vec<Plan> = Vec::new();
        for (_, plan) in &self.plans {
            last.retain(|known| known.id != plan.id);
            last.push(plan.clone());
        }
        let made_another = |plan: &Plan| plan.status == PlanStatus::PendingReview;
        let draft = self.spec.setting.draft.as_deref();
        let untouched = draft.filter(|draft| last.iter().all(|plan| plan.id != draft.id));
        if let Some(draft) = untouched.filter(|_| last.iter().any(made_another)) {
            last.insert(
                0,
                Plan { revision: draft.revision + 1, status: PlanStatus::Dropped, ..draft.clone() },
            );
        }
        let newest = last.iter().rposition(|plan| plan.status == PlanStatus::PendingReview);
        for (index, plan) in last.iter_mut().enumerate() {
            let status = match plan.status {
                PlanStatus::Executing => PlanStatus::Stopped,
                PlanStatus::PendingReview if Some(index) != newest => PlanStatus::Dropped,
                _ => continue,
            };
            plan.revision += 1;
            plan.status = status;
        }
        last
    }

    /// Whether the turn made a plan.
    pub(in crate::turn) fn has_plan(&self) -> bool {
        !self.plans.is_empty()
    }

    /// Whether the turn made or changed a plan that now waits for the user's word.
    pub(in crate::turn) fn has_draft(&self) -> bool {
        self.plans_at_end().iter().any(|plan| plan.status == PlanStatus::PendingReview)
    }

    /// A step's call has its end.
    pub(super) fn step_ended(&mut self, arguments: &str, end: &ToolEnd) {
        let Some(call) = plan_step::arguments(arguments) else { return };
        let plan = self.plans.iter_mut().rev().find(|(_, plan)| plan.id == call.plan_id);
        let step = plan.and_then(|(_, plan)| plan.steps.get_mut(call.index));
        step.into_iter().for_each(|step| step.status = step_status(end));
    }
}

/// The status of a step, from the end of its call.
pub(in crate::turn) fn step_status(end: &ToolEnd) -> StepStatus {
    match (end.is_error, end.partial) {
        (true, _) => StepStatus::Failed,
        (false, true) => StepStatus::Partial,
        (false, false) => StepStatus::Completed,
    }
}
