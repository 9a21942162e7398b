//! Plans: a level makes one, another may review it, and its steps run as `plan_step` calls that the service
//! issues, not a model.
//!
//! `agent_create_plan` and `agent_update_plan` come here. A running plan is a level whose rounds are its
//! waves: it goes through `dispatch` like any round, so the same guards, budget, journal and replay apply to
//! its steps as to every call.

use futures::FutureExt;
use futures::future::LocalBoxFuture;
use serde::Deserialize;

use super::composite::{Composite, Outcome, Running};
use super::keys::LevelPath;
use super::machine::{Level, LevelEnd};
use super::record::step_status;
use super::{Halt, Turn, dispatch, opening, prompt};
use crate::calls::{self, agent_create_plan, agent_update_plan, plan_step};
use crate::journal::{Commit, Fact, ToolEnd, Work};
use crate::plans::{self, Draft, Progress, Rules};
use crate::ports::ToolError;
use wire::protocol::{AgentState, Event, ExecutionMode, Plan, PlanReview, PlanStatus, StepStatus, Verdict};

pub(super) use self::ask::Route;
use self::ask::{Question, ask};
use self::summary::summary;
pub(super) use self::voice::Voice;

mod ask;
mod summary;
mod voice;

/// `agent_create_plan`: makes a plan, then runs, shows or reviews it as its mode says.
pub(super) struct Create;

/// `agent_update_plan`: runs, changes or drops the waiting plan, as the user said.
pub(super) struct Update;

impl Composite for Create {
    fn run<'a>(&self, call: Running<'a>) -> LocalBoxFuture<'a, Result<Outcome, Halt>> {
        create(call).boxed_local()
    }
}

impl Composite for Update {
    fn run<'a>(&self, call: Running<'a>) -> LocalBoxFuture<'a, Result<Outcome, Halt>> {
        update(call).boxed_local()
    }
}

/// A call that acts on a plan: the level that made it, and its key.
#[derive(Clone, Copy)]
struct Acting<'a> {
    turn: &'a Turn,
    parent: &'a Level,
    key: &'a str,
}

async fn create(Running { turn, parent, key, arguments }: Running<'_>) -> Result<Outcome, Halt> {
    let acting = Acting { turn, parent, key };
    let intent = match agent_create_plan::intent(arguments) {
        Ok(intent) => intent,
        Err(refusal) => return Ok(Outcome::of(Err(refusal))),
    };
    let setting = &turn.spec.setting;
    let mut plan = Plan {
        id: turn.ids.plan(key),
        objective: intent.objective,
        reasoning: String::new(),
        context_type: turn.spec.context_type.clone(),
        entity_id: setting.entity_id.clone(),
        intent_label: None,
        execution_mode: intent.mode,
        requested_outputs: intent.requested_outputs,
        priority_entities: intent.priority_entities,
        status: PlanStatus::PendingReview,
        steps: Vec::new(),
        review: None,
        revision: 0,
        // The time of the turn's beginning: a replay makes the same plan.
        created_at: turn.spec.created_at,
    };
    let draft = match make(acting, &plan, None).await? {
        Ok(draft) => draft,
        // A swarm goes on with the task as its one step (S-031).
        Err(_) if turn.voice() == Voice::Swarm => Draft::of_one(&plan.objective),
        Err(why) => return Ok(Outcome::of(Err(why))),
    };
    take(&mut plan, draft, turn);
    let created = match turn.voice() {
        Voice::Plan => {
            Event::PlanCreated { tool_call_id: turn.ids.tool_call(key), plan: Box::new(plan.clone()) }
        }
        Voice::Swarm => {
            let steps = plan.steps.iter().map(|step| step.title.clone()).collect();
            Event::SwarmPlanReady { steps }
        }
    };
    match plan.execution_mode {
        ExecutionMode::AutoExecute => {
            note(turn, key, &mut plan, vec![("plan_created", created)])?;
            execute(acting, plan).await
        }
        ExecutionMode::DraftOnly => {
            let waits = Event::PlanReadyForReview { plan: Box::new(plan.clone()) };
            note(turn, key, &mut plan, vec![("plan_created", created), ("plan_ready", waits)])?;
            Ok(Outcome::of(Ok(summary(turn, key, &plan, &[]))))
        }
        ExecutionMode::AgentReview => {
            note(turn, key, &mut plan, vec![("plan_created", created)])?;
            review(acting, plan).await
        }
    }
}

async fn update(Running { turn, parent, key, arguments }: Running<'_>) -> Result<Outcome, Halt> {
    let acting = Acting { turn, parent, key };
    let arguments = match agent_update_plan::arguments(arguments) {
        Ok(arguments) => arguments,
        Err(refusal) => return Ok(Outcome::of(Err(refusal))),
    };
    // The draft is always a plan of an earlier turn: the user has not yet answered a plan of this turn.
    let Some(draft) = turn.spec.setting.draft.as_deref().filter(|draft| draft.id == arguments.plan_id) else {
        let known = turn.spec.setting.draft.as_ref().map_or("none", |draft| draft.id.as_str());
        return Ok(Outcome::of(Err(ToolError(format!(
            "this plan does not wait for the user's word; waiting: {known}"
        )))));
    };
    let mut plan = turn.record.borrow().plan_before(&draft.id, key).unwrap_or_else(|| draft.clone());
    if plan.status != PlanStatus::PendingReview {
        return Ok(Outcome::of(Err(ToolError(
            "this plan does not wait for the user's word any more".to_owned(),
        ))));
    }
    match arguments.action {
        agent_update_plan::Action::Run => execute(acting, plan).await,
        agent_update_plan::Action::Drop => {
            plan.status = PlanStatus::Dropped;
            note(turn, key, &mut plan, Vec::new())?;
            Ok(Outcome::of(Ok(summary(turn, key, &plan, &[]))))
        }
        agent_update_plan::Action::Change => {
            let changed = match make(acting, &plan, Some(&arguments.changes)).await? {
                Ok(draft) => draft,
                Err(why) => return Ok(Outcome::of(Err(why))),
            };
            take(&mut plan, changed, turn);
            plan.review = None;
            let waits = Event::PlanReadyForReview { plan: Box::new(plan.clone()) };
            note(turn, key, &mut plan, vec![("plan_ready", waits)])?;
            Ok(Outcome::of(Ok(summary(turn, key, &plan, &[]))))
        }
    }
}

fn take(plan: &mut Plan, draft: Draft, turn: &Turn) {
    plan.reasoning.clone_from(&draft.reasoning);
    plan.intent_label.clone_from(&draft.intent_label);
    plan.steps = draft.into_steps(!turn.spec.setting.plan_tools.is_empty());
}

/// Has the planner make a plan. Objections to the plan go back to the planner, a few times.
async fn make(
    Acting { turn, parent, key }: Acting<'_>,
    plan: &Plan,
    changes: Option<&str>,
) -> Result<Result<Draft, ToolError>, Halt> {
    let question = || {
        let setting = &turn.spec.setting;
        let of_steps = parent.belt.without(calls::makes_plans);
        let described: Vec<String> =
            of_steps.iter().map(|spec| format!("{}: {}", spec.name, spec.description)).collect();
        let text = prompt::objective(&prompt::Wanted {
            objective: &plan.objective,
            requested_outputs: &plan.requested_outputs,
            priority_entities: &plan.priority_entities,
            entity_id: plan.entity_id.as_deref(),
            browser: setting.browser.as_ref(),
            tools: &described,
            changed: changes.map(|changes| (plan, changes)),
        });
        let rules = Rules {
            tools: of_steps.iter().map(|spec| spec.name.clone()).collect(),
            required: setting.plan_tools.clone(),
        };
        Question {
            work: Work::Plan,
            system: prompt::planner(setting),
            text,
            schema: plans::schema(),
            rules: Some(rules),
            replies: turn.replies(),
        }
    };
    let refused = |why: String| {
        let why = format!("no plan was made: {why}. Change the objective, or do the work without a plan.");
        Ok(Err(ToolError(why)))
    };
    match ask(turn, parent, key, LevelPath::planner(key), question).await? {
        LevelEnd::Structured(json) => match serde_json::from_str(&json) {
            Ok(draft) => Ok(Ok(draft)),
            Err(error) => refused(error.to_string()),
        },
        LevelEnd::SchemaNotSatisfied(objection) => refused(objection),
        LevelEnd::ModelFailed(error) => refused(format!("{}: {}", error.kind.code(), error.message)),
        LevelEnd::Text { .. } | LevelEnd::IterationLimit(_) | LevelEnd::Partial(_) => {
            refused("the planner came to no end".to_owned())
        }
    }
}

#[derive(Deserialize)]
struct Reviewed {
    verdict: Verdict,
    #[serde(default)]
    notes: String,
}

/// Has a plan reviewed. The plan runs only on an approval (B-050).
async fn review(acting: Acting<'_>, mut plan: Plan) -> Result<Outcome, Halt> {
    let Acting { turn, parent, key } = acting;
    let question = || Question {
        work: Work::Review,
        system: prompt::REVIEWER.to_owned(),
        text: prompt::review(&plan),
        schema: plans::review_schema(),
        rules: None,
        replies: turn.replies(),
    };
    let reviewed = match ask(turn, parent, key, LevelPath::reviewer(key), question).await? {
        LevelEnd::Structured(json) => serde_json::from_str::<Reviewed>(&json).ok(),
        _ => None,
    };
    let Some(Reviewed { verdict, notes }) = reviewed else {
        let waits = Event::PlanReadyForReview { plan: Box::new(plan.clone()) };
        note(turn, key, &mut plan, vec![("plan_ready", waits)])?;
        return Ok(Outcome::of(Err(ToolError(summary(turn, key, &plan, &[])))));
    };
    let told = Event::PlanReview { plan_id: plan.id.clone(), verdict, notes: notes.clone() };
    plan.review = Some(PlanReview { verdict, notes });
    if verdict == Verdict::Rejected {
        plan.status = PlanStatus::Rejected;
    }
    note(turn, key, &mut plan, vec![("plan_review", told)])?;
    match verdict {
        Verdict::Approved => execute(acting, plan).await,
        Verdict::NeedsChanges | Verdict::Rejected => Ok(Outcome::of(Ok(summary(turn, key, &plan, &[])))),
    }
}

/// Runs the steps of a plan, wave by wave.
async fn execute(Acting { turn, parent, key }: Acting<'_>, mut plan: Plan) -> Result<Outcome, Halt> {
    plan.status = PlanStatus::Executing;
    let count = u32::try_from(plan.steps.len()).unwrap_or(u32::MAX);
    let swarm = turn.voice() == Voice::Swarm;
    let mut begins = vec![("executing", turn.in_state(AgentState::ExecutingPlan, None))];
    if !swarm {
        begins.push(("executor_start", Event::ExecutorStart { plan_id: plan.id.clone(), steps: count }));
    }
    note(turn, key, &mut plan, begins)?;
    let mut level = turn.waves(parent, key, &plan.objective);
    let mut progress = Progress::new(&plan.steps, swarm);
    let mut results: Vec<Option<ToolEnd>> = vec![None; plan.steps.len()];
    while let Some(ends) = wave(turn, key, &plan, &mut level, &mut progress, &results).await? {
        for (index, end) in ends {
            progress.settle(index, step_status(&end));
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
    note(turn, key, &mut plan, if swarm { Vec::new() } else { vec![("executor_complete", over)] })?;
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
    if turn.replay.called(&at).is_none() && turn.plan_is_over(key) {
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
        let all = turn.voice() == Voice::Swarm;
        let before = before.filter(|(other, _)| all || step.depends_on.contains(&other.id));
        let before: Vec<_> =
            before.filter_map(|(other, end)| Some((other, end.as_ref()?.content.as_str()))).collect();
        Some(plan_step::call(&plan.id, *index, step, prompt::assignment(plan, step, &before)))
    };
    let calls = opening::called(turn, level, steps.iter().filter_map(call).collect())?;
    let ends = dispatch::round(turn, level, &calls).boxed_local().await?;
    level.apply_tools(&ends);
    Ok(Some(steps.into_iter().zip(ends).collect()))
}

/// Journals the new state of a plan, unless an earlier run did.
fn note(turn: &Turn, key: &str, plan: &mut Plan, events: Vec<(&str, Event)>) -> Result<(), Halt> {
    plan.revision += 1;
    if turn.replay.planned(key, plan.revision) {
        return Ok(());
    }
    let fact = Fact::Plan(Box::new(plan.clone()));
    let told = |mut event: Event| {
        if let Event::PlanCreated { plan: told, .. } | Event::PlanReadyForReview { plan: told } = &mut event {
            told.revision = plan.revision;
        }
        event
    };
    let events = events.into_iter().map(|(name, event)| (format!("{name}:{key}"), told(event))).collect();
    turn.commit(Commit { entries: vec![turn.entry(key, fact)], events, ..Commit::default() })
}

impl Turn {
    /// Whether the time of a plan is over; waits for an answer from outside do not count.
    fn plan_is_over(&self, key: &str) -> bool {
        let record = self.record.borrow();
        let since = record.pending.iter().find(|call| call.key == key).and_then(|call| call.since_ms);
        since.is_some_and(|since| self.elapsed_ms() >= since.saturating_add(self.spec.limits.plan_ms))
    }
}
