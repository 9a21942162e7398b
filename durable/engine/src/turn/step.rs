//! One step of a plan: a level in a call that the service made for the plan. It has limits of its own; at one
//! of them it ends with its partial result.

use futures::FutureExt;
use futures::future::{Either, LocalBoxFuture, select};
use futures::pin_mut;

use super::composite::{Composite, Outcome, Running};
use super::drive::drive;
use super::frozen::Opening;
use super::keys::LevelPath;
use super::machine::{Level, LevelEnd};
use super::plan::Voice;
use super::record::PendingCall;
use super::subtask::settled;
use super::{Halt, Turn, prompt};
use crate::calls::plan_step;
use crate::journal::{LevelSpec, ToolEnd, Work};
use wire::model::ToolCall;
use wire::protocol::{Event, StepStatus, preview};

/// `plan_step`. Clients hear of it through the events of its plan.
pub(super) struct Step;

impl Composite for Step {
    fn run<'a>(&self, call: Running<'a>) -> LocalBoxFuture<'a, Result<Outcome, Halt>> {
        run(call).boxed_local()
    }

    fn started(&self, turn: &Turn, key: &str, call: &ToolCall) -> Option<(String, Event)> {
        let plan_step::Arguments { title, plan_id, step_id, index, .. } =
            plan_step::arguments(&call.arguments)?;
        let event = match turn.voice() {
            Voice::Plan => {
                Event::StepStart { plan_id, step_id, index, title, tool_call_id: turn.ids.tool_call(key) }
            }
            Voice::Swarm => Event::SwarmStepStarted { step_index: index, description: title },
        };
        Some((format!("step_start:{key}"), event))
    }

    fn ended(
        &self,
        turn: &Turn,
        key: &str,
        call: &ToolCall,
        status: StepStatus,
        end: &ToolEnd,
    ) -> Option<(String, Event)> {
        let plan_step::Arguments { plan_id, step_id, index, .. } = plan_step::arguments(&call.arguments)?;
        let result = preview(&end.content);
        let event = match turn.voice() {
            Voice::Plan => Event::StepComplete { plan_id, step_id, index, status, result },
            Voice::Swarm => Event::SwarmStepCompleted { step_index: index, result, status },
        };
        Some((format!("step_complete:{key}"), event))
    }

    /// A swarm tells clients of each tool call of a step.
    fn inner_ended(
        &self,
        turn: &Turn,
        own: &ToolCall,
        key: &str,
        call: &ToolCall,
        end: &ToolEnd,
    ) -> Option<(String, Event)> {
        if turn.voice() == Voice::Plan {
            return None;
        }
        let step_index = plan_step::arguments(&own.arguments)?.index;
        let brief_result = end.content.chars().take(BRIEF_CHARS).collect();
        let event = Event::SwarmToolExecuted { step_index, tool: call.name.clone(), brief_result };
        Some((format!("swarm_tool:{key}"), event))
    }
}

/// How much of a tool's result goes into a swarm's event, in characters.
const BRIEF_CHARS: usize = 120;

/// Runs a step to its end, or until its time is over.
async fn run(Running { turn, parent, key, arguments }: Running<'_>) -> Result<Outcome, Halt> {
    let opened = turn.open(parent, key, LevelPath::child(key), || Ok(opening(turn, parent, arguments)));
    let mut level = match opened {
        Ok(level) => level,
        Err(refusal) => return Ok(Outcome::of(Err(refusal))),
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
    let cut_off = end.is_none().then_some(cut_off as fn(&PendingCall) -> String);
    let (end, partial) = match end {
        Some(LevelEnd::Partial(text)) => (LevelEnd::Partial(so_far(text, prompt::OUT_OF_CALLS)), true),
        Some(end) => (end, false),
        None => (LevelEnd::Partial(so_far(level.so_far(), prompt::OUT_OF_TIME)), true),
    };
    let mut overlay = level.into_written();
    let result = settled(turn, &turn.ids.tool_call(key), end, &mut overlay, &[]);
    Ok(Outcome { result, overlay, partial, cut_off })
}

/// The opening of the level of a `plan_step` call.
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

/// The result of a call that is open within a step whose time is over.
fn cut_off(pending: &PendingCall) -> String {
    if pending.since_ms.is_some() { prompt::CUT_OFF } else { prompt::NOT_MADE }.to_owned()
}

impl Turn {
    /// Completes when the time of a step or of its plan is over: running time, like every limit.
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
