//! Selects the next steps of a running plan, and decides when the plan is over.

use wire::protocol::{PlanStatus, PlanStep, StepStatus};

/// The failures in a row after which a plan stops and reports its partial results (S-048).
const MAX_FAILURES: u32 = 3;

/// The state of a running plan.
#[derive(Clone, Debug)]
pub struct Progress {
    /// For each step: the steps that it depends on, and its status.
    steps: Vec<(Vec<usize>, StepStatus)>,
    /// The number of failures in a row among the last steps.
    failures: u32,
    /// One step at a time.
    sequential: bool,
}

impl Progress {
    /// A plan whose steps have not begun.
    pub fn new(steps: &[PlanStep], sequential: bool) -> Self {
        let place = |id: &String| steps.iter().position(|step| step.id == *id);
        let of = |step: &PlanStep| (step.depends_on.iter().filter_map(place).collect(), StepStatus::Pending);
        Progress { steps: steps.iter().map(of).collect(), failures: 0, sequential }
    }

    /// The steps that can run now: all whose dependencies have results, or only the first of them in a
    /// sequential plan. Empty when the plan is over; the remaining steps are then skipped.
    pub fn next_wave(&mut self) -> Vec<usize> {
        self.skip();
        if self.failures >= MAX_FAILURES {
            self.stop();
        }
        let is_ready = |(needs, status): &(Vec<usize>, StepStatus)| {
            *status == StepStatus::Pending && needs.iter().all(|step| self.status(*step).has_result())
        };
        let ready = self.steps.iter().enumerate().filter(|(_, step)| is_ready(step)).map(|(index, _)| index);
        ready.take(if self.sequential { 1 } else { usize::MAX }).collect()
    }

    /// Skips all steps that depend, directly or indirectly, on a failed or skipped step.
    fn skip(&mut self) {
        loop {
            let lost = |step: &usize| matches!(self.status(*step), StepStatus::Failed | StepStatus::Skipped);
            let next = self
                .steps
                .iter()
                .position(|(needs, status)| *status == StepStatus::Pending && needs.iter().any(lost));
            let Some(next) = next else { return };
            self.set(next, StepStatus::Skipped);
        }
    }

    /// Skips all pending steps.
    pub fn stop(&mut self) {
        let pending = self.steps.iter_mut().filter(|(_, status)| *status == StepStatus::Pending);
        pending.for_each(|(_, status)| *status = StepStatus::Skipped);
    }

    /// Records the end of a step.
    pub fn settle(&mut self, step: usize, status: StepStatus) {
        self.failures = if status == StepStatus::Failed { self.failures + 1 } else { 0 };
        self.set(step, status);
    }

    /// The status of a step.
    pub fn status(&self, step: usize) -> StepStatus {
        self.steps.get(step).map_or(StepStatus::Skipped, |(_, status)| *status)
    }

    /// The final status of the plan.
    pub fn outcome(&self) -> PlanStatus {
        let all = |is: fn(StepStatus) -> bool| self.steps.iter().all(|(_, status)| is(*status));
        match () {
            () if all(|status| status == StepStatus::Completed) => PlanStatus::Completed,
            () if all(|status| !status.has_result()) => PlanStatus::Failed,
            () => PlanStatus::Partial,
        }
    }

    /// The number of steps with this status.
    pub fn count(&self, wanted: StepStatus) -> u32 {
        let count = self.steps.iter().filter(|(_, status)| *status == wanted).count();
        u32::try_from(count).unwrap_or(u32::MAX)
    }

    fn set(&mut self, step: usize, status: StepStatus) {
        if let Some((_, known)) = self.steps.get_mut(step) {
            *known = status;
        }
    }
}
