//! The plans of a turn, by its journal.

use wire::protocol::{Plan, PlanStatus, StepStatus};

/// Each change of a plan with the key of the call that made it, in their order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ledger(Vec<(String, Plan)>);

impl Ledger {
    /// Notes that the call with this key made or changed a plan.
    pub(crate) fn changed(&mut self, call_key: &str, plan: &Plan) {
        self.0.push((call_key.to_owned(), plan.clone()));
    }

    /// A plan as the calls before this one left it; none if the turn has not touched it before.
    pub(crate) fn before(&self, plan_id: &str, call_key: &str) -> Option<Plan> {
        let mut changes = self.0.iter().filter(|(at, plan)| plan.id == plan_id && at != call_key);
        changes.next_back().map(|(_, plan)| plan.clone())
    }

    /// The plans that the turn touched, as they are when it ends; `draft` is the plan that waited when it
    /// began. Only the newest of those that wait for the user's word stays: the others served the same request
    /// and are dropped.
    pub(crate) fn at_end(&self, draft: Option<&Plan>) -> Vec<Plan> {
        let mut last: Vec<Plan> = Vec::new();
        for (_, plan) in &self.0 {
            last.retain(|known| known.id != plan.id);
            last.push(plan.clone());
        }
        let made_another = |plan: &Plan| plan.status == PlanStatus::PendingReview;
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

    /// Whether the turn made no plan.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// A step's call has its end.
    pub(crate) fn step_ended(&mut self, plan_id: &str, index: usize, status: StepStatus) {
        let plan = self.0.iter_mut().rev().find(|(_, plan)| plan.id == plan_id);
        let step = plan.and_then(|(_, plan)| plan.steps.get_mut(index));
        step.into_iter().for_each(|step| step.status = status);
    }
}
