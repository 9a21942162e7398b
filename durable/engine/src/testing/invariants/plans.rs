//! The plans of a turn, as its events tell them.

use super::*;

/// A plan is made before it runs. Each step that starts also ends, and runs within its plan.
pub(super) fn plans(case: &Case, events: &[Event], shown: &Shown<'_>) {
    let mut known: BTreeSet<&str> = case.setting.draft.iter().map(|draft| draft.id.as_str()).collect();
    let (mut running, mut steps) = (None, BTreeMap::new());
    let (mut swarm, mut active) = (false, None);
    for event in events {
        match event {
            Event::PlanCreated { plan, .. } => assert!(known.insert(&plan.id), "{shown}"),
            Event::PlanReadyForReview { plan } => assert!(known.contains(plan.id.as_str()), "{shown}"),
            Event::PlanReview { plan_id, .. } => assert!(known.contains(plan_id.as_str()), "{shown}"),
            Event::ExecutorStart { plan_id, .. } => {
                assert!(known.contains(plan_id.as_str()) && running.replace(plan_id).is_none(), "{shown}");
            }
            Event::StepStart { plan_id, index, .. } => {
                assert_eq!(running, Some(plan_id), "{shown}");
                assert!(steps.insert((plan_id, index), None).is_none(), "{shown}");
            }
            Event::StepComplete { plan_id, index, status, .. } => {
                assert_eq!(steps.insert((plan_id, index), Some(*status)), Some(None), "{shown}");
            }
            Event::ExecutorComplete { plan_id, completed, failed, .. } => {
                assert_eq!(running.take(), Some(plan_id), "{shown}");
                let of_plan = || steps.iter().filter(|((of, _), _)| *of == plan_id);
                let done = of_plan().filter(|(_, status)| status.is_some_and(StepStatus::has_result));
                let wrong = of_plan().filter(|(_, status)| **status == Some(StepStatus::Failed));
                assert_eq!((done.count(), wrong.count()), (*completed as usize, *failed as usize), "{shown}");
            }
            Event::SwarmPlanReady { .. } => assert!(!std::mem::replace(&mut swarm, true), "{shown}"),
            Event::SwarmStepStarted { step_index, .. } => {
                assert!(swarm && active.replace(*step_index).is_none(), "steps never overlap\n{shown}");
            }
            Event::SwarmToolExecuted { step_index, .. } => assert_eq!(active, Some(*step_index), "{shown}"),
            Event::SwarmStepCompleted { step_index, .. } => {
                assert_eq!(active.take(), Some(*step_index), "{shown}");
            }
            Event::Done { .. } => {
                assert!(steps.values().all(Option::is_some) && active.is_none(), "{shown}");
            }
            _ => {}
        }
    }
    let end = case.end();
    assert!(end.plans.iter().all(|plan| plan.status != PlanStatus::Executing), "{shown}");
    let waits = end.plans.iter().filter(|plan| plan.status == PlanStatus::PendingReview).count();
    assert!(waits <= 1, "one plan waits for the user's word at most\n{shown}");
}
