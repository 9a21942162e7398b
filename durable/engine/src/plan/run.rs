//! Runs a plan: a level whose rounds are the waves of the plan's steps. The service makes the calls of the
//! steps, not a model. They go through the loop's round like any call, so the same guards, budget, journal
//! and replay apply to them.

use super::acting::Acting;
use super::context;
use super::progress::Progress;
use super::prompt;
use super::step;
use super::told::summary;
use super::voice::Voice;
use crate::journal::{LevelSpec, ToolEnd};
use crate::record::frozen::Opening;
use crate::record::keys::LevelPath;
use crate::turn::composite::Outcome;
use crate::turn::{Halt, Level, Turn, make_calls};
use wire::protocol::{AgentState, Event, Plan, PlanStatus, StepStatus};

/// Runs the steps of a plan, wave by wave.
pub(super) async fn execute(acting: Acting<'_>, mut plan: Plan) -> Result<Outcome, Halt> {
    let Acting { turn, parent, key } = acting;
    plan.status = PlanStatus::Executing;
    let count = u32::try_from(plan.steps.len()).unwrap_or(u32::MAX);
    let swarm = Voice::of(turn) == Voice::Swarm;
    let mut begins = vec![("executing", turn.in_state(AgentState::ExecutingPlan, None))];
    if !swarm {
        begins.push(("executor_start", Event::ExecutorStart { plan_id: plan.id.clone(), steps: count }));
    }
    acting.note(&mut plan, begins)?;
    let mut level = waves(turn, parent, key, &plan);
    let mut progress = Progress::new(&plan.steps, swarm);
    let mut results: Vec<Option<ToolEnd>> = vec![None; plan.steps.len()];
    while let Some(ends) = wave(turn, key, &plan, &mut level, &mut progress, &results).await? {
        for (index, end) in ends {
            progress.settle(index, end.status());
            results.get_mut(index).into_iter().for_each(|slot| *slot = Some(end.clone()));
        }
    }
    for (index, step) in plan.steps.iter_mut().enumerate() {
        step.status = progress.status(index);
    }
    plan.status = progress.outcome();
    let over = Event::ExecutorComplete {
        plan_id: plan.id.clone(),
        status: plan.status,
        completed: progress.count(StepStatus::Completed) + progress.count(StepStatus::Partial),
        failed: progress.count(StepStatus::Failed),
        skipped: progress.count(StepStatus::Skipped),
    };
    acting.note(&mut plan, if swarm { Vec::new() } else { vec![("executor_complete", over)] })?;
    let result = Ok(summary(turn, key, &plan, &results));
    Ok(Outcome { overlay: level.into_written(), ..Outcome::of(result) })
}

/// Runs the steps that can run now; returns none where the plan is over.
async fn wave(
    turn: &Turn,
    key: &str,
    plan: &Plan,
    level: &mut Level,
    progress: &mut Progress,
    results: &[Option<ToolEnd>],
) -> Result<Option<Vec<(usize, ToolEnd)>>, Halt> {
    let at = level.wave_key();
    // A wave that an earlier run began goes on, even if the plan's time is over by now.
    if turn.replay.called(&at).is_none() && is_over(turn, key, &plan.id) {
        progress.stop();
    }
    let steps = progress.next_wave();
    if steps.is_empty() {
        return Ok(None);
    }
    let call = |index: &usize| {
        let step = plan.steps.get(*index)?;
        let before = plan.steps.iter().zip(results);
        // The steps of a swarm run one after the other: each gets the results of all earlier steps.
        let all = Voice::of(turn) == Voice::Swarm;
        let before = before.filter(|(other, _)| all || step.depends_on.contains(&other.id));
        let before: Vec<_> =
            before.filter_map(|(other, end)| Some((other, end.as_ref()?.content.as_str()))).collect();
        Some(step::call(&plan.id, *index, step, prompt::assignment(plan, step, &before)))
    };
    let ends = make_calls(turn, level, steps.iter().filter_map(call).collect()).await?;
    Ok(Some(steps.into_iter().zip(ends).collect()))
}

/// The level of a running plan, in the call `key`. It asks no model.
fn waves(turn: &Turn, parent: &Level, key: &str, plan: &Plan) -> Level {
    let spec = LevelSpec {
        instructions: plan.objective.as_str().into(),
        own_tools: vec![step::spec()],
        ..LevelSpec::unasked(turn.spec.limits.iterations)
    };
    let shared = context::tools(turn, parent, &plan.id).without(|name| name == step::NAME);
    turn.open_unasked(parent, key, LevelPath::waves(key), Opening { spec, shared })
}

/// Whether the time of a plan is over; waits for an answer from outside do not count.
fn is_over(turn: &Turn, key: &str, plan_id: &str) -> bool {
    let plan_ms = context::limits(&turn.spec, plan_id).plan_ms;
    turn.record.borrow().time_left(key, plan_ms, turn.elapsed_ms()) == Some(0)
}
