//! `plan_step`: one step of a plan, a level in a call that the service makes for the plan; no model is offered
//! it. A step has limits of its own; at one of them it ends with its partial result.

use futures::FutureExt;
use futures::future::{Either, LocalBoxFuture, select};
use futures::pin_mut;
use serde::{Deserialize, Serialize};

use super::context;
use super::prompt;
use super::voice::Voice;
use crate::calls::subtask::settled;
use crate::journal::{LevelSpec, ToolEnd, Work};
use crate::own::{OwnCall, Settled};
use crate::profiles::Limits;
use crate::record::PendingCall;
use crate::record::frozen::Opening;
use crate::record::keys::LevelPath;
use crate::toolbelt::ToolSpec;
use crate::turn::composite::{Carrier, Composite, CutOff, Outcome, Own, Running};
use crate::turn::{Halt, Level, LevelEnd, Turn, drive, partial_text};
use wire::model::ToolCall;
use wire::protocol::{Event, PlanStep, StepStatus, preview};

pub const NAME: &str = "plan_step";

pub(crate) const CALL: Own = Own {
    facts: OwnCall {
        counts_as_subtask: true,
        has_title: true,
        stands_for_inner: true,
        settles: Some(settles),
        ..OwnCall::composite(NAME, 1)
    },
    carrier: Carrier::Composite(&Step),
};

/// The end of the call is the end of its step.
fn settles(arguments: &str, _: &ToolEnd) -> Option<Settled> {
    let Arguments { plan_id, index, .. } = self::arguments(arguments)?;
    Some(Settled::Step { plan_id, index })
}

/// The arguments with which the service calls a step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Arguments {
    title: String,
    plan_id: String,
    step_id: String,
    /// Its place in the plan.
    index: usize,
    /// Its instructions, with the results of the steps that it builds on.
    instructions: String,
}

/// Reads the arguments of a call; none if they are not those of a step.
fn arguments(json: &str) -> Option<Arguments> {
    wire::json::from_str(json).ok()
}

/// The call of a step.
pub(super) fn call(plan_id: &str, index: usize, step: &PlanStep, instructions: String) -> ToolCall {
    let arguments = Arguments {
        title: step.title.clone(),
        plan_id: plan_id.to_owned(),
        step_id: step.id.clone(),
        index,
        instructions,
    };
    let arguments = serde_json::to_string(&arguments).unwrap_or_default();
    ToolCall { call_id: format!("step_{index}"), name: NAME.to_owned(), arguments }
}

/// The declaration, for the level that runs a plan.
pub(super) fn spec() -> ToolSpec {
    super::declared(NAME)
}

/// `plan_step`. Clients hear of it through the events of its plan.
struct Step;

impl Composite for Step {
    fn run<'a>(&self, call: Running<'a>) -> LocalBoxFuture<'a, Result<Outcome, Halt>> {
        run(call).boxed_local()
    }

    fn started(&self, turn: &Turn, key: &str, call: &ToolCall) -> Option<(String, Event)> {
        let Arguments { title, plan_id, step_id, index, .. } = self::arguments(&call.arguments)?;
        let event = match Voice::of(turn) {
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
        let Arguments { plan_id, step_id, index, .. } = self::arguments(&call.arguments)?;
        let result = preview(&end.content);
        let event = match Voice::of(turn) {
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
        if Voice::of(turn) == Voice::Plan {
            return None;
        }
        let step_index = self::arguments(&own.arguments)?.index;
        let brief_result = end.content.chars().take(BRIEF_CHARS).collect();
        let event = Event::SwarmToolExecuted { step_index, tool: call.name.clone(), brief_result };
        Some((format!("swarm_tool:{key}"), event))
    }
}

/// How much of a tool's result goes into a swarm's event, in characters.
const BRIEF_CHARS: usize = 120;

/// Runs a step to its end, or until its time is over.
async fn run(Running { turn, parent, key, arguments }: Running<'_>) -> Result<Outcome, Halt> {
    let call = self::arguments(arguments);
    let plan_id = call.as_ref().map(|call| call.plan_id.as_str()).unwrap_or_default();
    let limits = context::limits(&turn.spec, plan_id);
    let instructions = call.as_ref().map(|call| call.instructions.clone()).unwrap_or_default();
    let opening = || Ok(opening(parent, instructions, &limits));
    let opened = turn.open(parent, key, LevelPath::child(key), opening);
    let mut level = match opened {
        Ok(level) => level,
        Err(refusal) => return Ok(Outcome::of(Err(refusal))),
    };
    let end = {
        let over = is_over(turn, key, parent, &limits);
        pin_mut!(over);
        match select(drive(turn, &mut level), over).await {
            Either::Left((end, _)) => Some(end?),
            Either::Right(((), driving)) => {
                drop(driving);
                None
            }
        }
    };
    let cut_off = end.is_none().then_some(cut_off as CutOff);
    let (end, partial) = match end {
        Some(LevelEnd::Partial(text)) => (LevelEnd::Partial(so_far(text, prompt::OUT_OF_CALLS)), true),
        Some(end) => (end, false),
        None => {
            let words = [level.so_far(), partial_text(turn, |place| *place == level.place)];
            let words = words.into_iter().filter(|text| !text.trim().is_empty()).collect::<Vec<_>>();
            (LevelEnd::Partial(so_far(words.join("\n\n"), prompt::OUT_OF_TIME)), true)
        }
    };
    let mut overlay = level.into_written();
    let result = settled(turn, &turn.ids.tool_call(key), end, &mut overlay, &[]);
    Ok(Outcome { overlay, partial, cut_off, ..Outcome::of(result) })
}

/// The opening of the level of a `plan_step` call.
fn opening(parent: &Level, instructions: String, limits: &Limits) -> Opening {
    let spec = LevelSpec {
        partial: true,
        ..LevelSpec::new(
            Work::Step.models(),
            prompt::step(parent.nested + 1, limits),
            instructions,
            limits.step_iterations,
        )
    };
    Opening { spec, shared: parent.belt.replacing(NAME, None) }
}

fn so_far(text: String, why: &str) -> String {
    if text.is_empty() { why.to_owned() } else { format!("{text}\n\n{why}") }
}

/// The result of a call that is open within a step whose time is over.
fn cut_off(pending: &PendingCall) -> String {
    if pending.since_ms.is_some() { prompt::CUT_OFF } else { prompt::NOT_MADE }.to_owned()
}

/// Completes when the time of a step or of its plan is over: running time, like every limit. It is not over while the
/// turn waits at a limit, so that the question is not left without the level that asked it.
async fn is_over(turn: &Turn, key: &str, parent: &Level, limits: &Limits) {
    let left = || {
        let (record, now) = (turn.record.borrow(), turn.elapsed_ms());
        let plan = record.pending.iter().find(|call| Some(&call.id) == parent.place.parent_id.as_ref());
        let plan = plan.and_then(|plan| record.time_left(&plan.key, limits.plan_ms, now));
        let step = record.time_left(key, limits.step_ms, now);
        step.into_iter().chain(plan).min().unwrap_or(u64::MAX)
    };
    loop {
        turn.asks_no_more().await;
        match left() {
            0 => return,
            left => turn.ports.clock.sleep(left).await,
        }
    }
}
