//! Which steps of a plan run next, and when it is over.

use wire::protocol::{PlanStatus, PlanStep, StepStatus};

/// Failures in a row after which a plan stops: what is there then is told (S-048).
const MAX_FAILURES: u32 = 3;

/// A plan that runs.
#[derive(Clone, Debug)]
pub struct Progress {
    /// Of each step: the steps that it builds on, and where it stands.
    steps: Vec<(Vec<usize>, StepStatus)>,
    /// How many of the steps that ended last failed.
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

    /// The steps that can run now: all of them that have what they build on, or the first one. Empty when the plan is
    /// over; what has not run by then is skipped.
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

    /// Steps that build on one that has no result are skipped, and so on from there.
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

    /// Nothing more runs.
    pub fn stop(&mut self) {
        let pending = self.steps.iter_mut().filter(|(_, status)| *status == StepStatus::Pending);
        pending.for_each(|(_, status)| *status = StepStatus::Skipped);
    }

    /// A step has its end.
    pub fn settle(&mut self, step: usize, status: StepStatus) {
        self.failures = if status == StepStatus::Failed { self.failures + 1 } else { 0 };
        self.set(step, status);
    }

    /// Where a step stands.
    pub fn status(&self, step: usize) -> StepStatus {
        self.steps.get(step).map_or(StepStatus::Skipped, |(_, status)| *status)
    }

    /// Where the plan stands once it is over.
    pub fn outcome(&self) -> PlanStatus {
        let all = |is: fn(StepStatus) -> bool| self.steps.iter().all(|(_, status)| is(*status));
        match () {
            () if all(|status| status == StepStatus::Completed) => PlanStatus::Completed,
            () if all(|status| !status.has_result()) => PlanStatus::Failed,
            () => PlanStatus::Partial,
        }
    }

    /// How many steps stand so.
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
