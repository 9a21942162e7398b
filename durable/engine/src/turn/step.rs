//! One step of a plan: a level in a call that the plan made. It has limits of its own, and where they are reached it
//! ends with what it has.

use futures::future::{Either, select};
use futures::pin_mut;

use super::drive::drive;
use super::keys::LevelPath;
use super::machine::{Level, LevelEnd};
use super::open::Opening;
use super::record::PendingCall;
use super::subtask::settled;
use super::{Halt, Turn, prompt};
use crate::calls::plan_step;
use crate::journal::{LevelSpec, Work};
use crate::memory::Overlay;
use crate::ports::ToolError;

/// What a step came to.
pub(super) struct Run {
    pub(super) result: Result<String, ToolError>,
    pub(super) partial: bool,
    pub(super) overlay: Overlay,
    /// Its time was over: what is open below it ends together with it.
    pub(super) cut: bool,
}

/// Runs a step to its end, or until its time is over.
pub(super) async fn run(turn: &Turn, parent: &Level, key: &str, arguments: &str) -> Result<Run, Halt> {
    let opened = turn.open(parent, key, LevelPath::child(key), || Ok(opening(turn, parent, arguments)));
    let mut level = match opened {
        Ok(level) => level,
        Err(refusal) => {
            return Ok(Run { result: Err(refusal), partial: false, overlay: Overlay::new(), cut: false });
        }
    };
    let end = {
        let over = turn.step_is_over(key, parent);
        pin_mut!(over);
        match select(drive(turn, &mut level), over).await {
            Either::Left((end, _)) => Some(end?),
            Either::Right(((), driving)) => {
                drop(driving);
                None
            }
        }
    };
    let cut = end.is_none();
    let (end, partial) = match end {
        Some(LevelEnd::Partial(text)) => (LevelEnd::Partial(so_far(text, prompt::OUT_OF_CALLS)), true),
        Some(end) => (end, false),
        None => (LevelEnd::Partial(so_far(level.so_far(), prompt::OUT_OF_TIME)), true),
    };
    let mut overlay = level.into_written();
    let result = settled(turn, &turn.ids.tool_call(key), end, &mut overlay, &[]);
    Ok(Run { result, partial, overlay, cut })
}

/// What a call of `plan_step` opens a level with.
fn opening(turn: &Turn, parent: &Level, arguments: &str) -> Opening {
    let instructions = plan_step::arguments(arguments).map(|call| call.instructions).unwrap_or_default();
    let limits = &turn.spec.limits;
    let spec = LevelSpec {
        system: prompt::step(parent.place.depth + 1, limits),
        instructions: instructions.into(),
        models: Work::Step.models(),
        toolset: None,
        own_tools: Vec::new(),
        rules: None,
        reminder: String::new(),
        iterations: limits.step_iterations,
        partial: true,
        left_out: Vec::new(),
    };
    Opening { spec, shared: parent.belt.replacing(plan_step::NAME, None) }
}

fn so_far(text: String, why: &str) -> String {
    if text.is_empty() { why.to_owned() } else { format!("{text}\n\n{why}") }
}

/// The words with which a call ends that is open within a step whose time is over.
pub(super) fn cut_off(pending: &PendingCall) -> String {
    if pending.since_ms.is_some() { prompt::CUT_OFF } else { prompt::NOT_MADE }.to_owned()
}

impl Turn {
    /// Completes when a step's time is over, or its plan's: running time, like all that is limited.
    async fn step_is_over(&self, key: &str, parent: &Level) {
        let limits = &self.spec.limits;
        let until = {
            let record = self.record.borrow();
            let since = |is: &dyn Fn(&str, &str) -> bool| {
                let call = record.pending.iter().find(|call| is(&call.key, &call.id));
                call.and_then(|call| call.since_ms)
            };
            let plan_id = parent.place.parent_id.as_deref().unwrap_or_default();
            let step = since(&|at, _| at == key).map(|since| since.saturating_add(limits.step_ms));
            let plan = since(&|_, id| id == plan_id).map(|since| since.saturating_add(limits.plan_ms));
            step.into_iter().chain(plan).min().unwrap_or(u64::MAX)
        };
        loop {
            let left = until.saturating_sub(self.elapsed_ms());
            if left == 0 {
                return;
            }
            self.ports.clock.sleep(left).await;
        }
    }
}
