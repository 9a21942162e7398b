//! One step of a plan: a level in a call that the plan made. It has limits of its own, and where they are reached it
//! ends with what it has.

use std::rc::Rc;

use futures::future::{Either, select};
use futures::pin_mut;

use super::drive::{drive, take_parts};
use super::keys::{LevelPath, work};
use super::machine::{Level, LevelEnd, LevelStart};
use super::record::PendingCall;
use super::results::{end_event, failed, start_event, truncated};
use super::subtask::settled;
use super::{Halt, Turn, prompt};
use crate::journal::{Commit, Entry, Fact, Work};
use crate::memory::Overlay;
use crate::ports::ToolError;
use crate::profiles::Limits;
use crate::protocol::{CallStatus, Event, Place};
use crate::tools::plan_step;

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
    let instructions = plan_step::arguments(arguments).map(|call| call.instructions).unwrap_or_default();
    let id = turn.ids.tool_call(key);
    let depth = parent.place.depth + 1;
    let limits = Limits { iterations: turn.spec.limits.step_iterations, ..turn.spec.limits };
    let start = LevelStart {
        path: LevelPath::child(key),
        place: Place { parent_id: Some(id.clone()), depth },
        model: Rc::clone(&turn.spec.chain_for(Work::Step).first.choice),
        system: prompt::step(depth, &limits),
        history: Vec::new(),
        instructions: instructions.into(),
        belt: parent.belt.replacing(plan_step::NAME, None),
        schema: None,
        rules: None,
        partial: true,
        memory: parent.memory.fork(),
        digest: parent.digest().with(key),
    };
    let mut level = Level::new(start, limits);
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
    let result = settled(turn, &id, end, &mut overlay, &[]);
    Ok(Run { result, partial, overlay, cut })
}

fn so_far(text: String, why: &str) -> String {
    if text.is_empty() { why.to_owned() } else { format!("{text}\n\n{why}") }
}

/// What is told of the calls that are open within a call, in bytes.
pub(super) fn bytes_below(turn: &Turn, key: &str) -> usize {
    open_below(turn, key).iter().map(|pending| stand_in(turn, pending).len()).sum()
}

/// The tool calls that are open within a call, the deepest first.
fn open_below(turn: &Turn, key: &str) -> Vec<PendingCall> {
    let within = format!("{key}-");
    let record = turn.record.borrow();
    let mut calls: Vec<_> =
        record.pending.iter().filter(|call| call.key.starts_with(&within)).cloned().collect();
    calls.sort_by_key(|call| std::cmp::Reverse(call.place.depth));
    calls
}

/// What a call came to that was open when its step's time was over.
fn stand_in(turn: &Turn, pending: &PendingCall) -> String {
    let told = if pending.since_ms.is_some() { prompt::CUT_OFF } else { prompt::NOT_MADE };
    truncated(told.to_owned(), turn.spec.limits.tool_result_bytes)
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

/// Ends what is open within a call, the deepest first: model calls with what they said, tool calls with an error. What they
/// said is taken out of the record, so the commit must be written; a turn that was stopped writes it with its own end.
pub(super) fn close_below(turn: &Turn, key: &str) -> Result<Commit, Halt> {
    turn.alive()?;
    let within = format!("{key}-");
    let now = turn.elapsed_ms();
    let mut commit = Commit::default();
    let models: Vec<_> = {
        let record = turn.record.borrow();
        let open = record.models.iter().filter(|(at, _)| at.starts_with(&within));
        open.map(|(at, open)| (at.clone(), open.clone())).collect()
    };
    for (at, open) in models {
        commit.texts.extend(take_parts(turn, &at));
        let model_call_id = turn.ids.model_call(&at);
        if !open.live {
            let (place, reason) = (open.place.clone(), "interrupted".to_owned());
            let reset = Event::ModelCallReset { model_call_id: model_call_id.clone(), place, reason };
            commit.events.push((format!("model_reset:{at}:end"), reset));
        }
        let end = Event::ModelCallUpdate {
            model_call_id,
            status: CallStatus::End,
            model: turn.spec.chain_for(work(&at)).at(open.asked).choice.model.clone(),
            place: open.place,
            usage: None,
            finish_reason: Some("aborted".to_owned()),
        };
        commit.events.push((format!("model_end:{at}"), end));
        commit.entries.push(Entry { at, elapsed_ms: now, fact: Fact::ModelDropped });
    }
    for pending in open_below(turn, key) {
        let since_ms = pending.since_ms.unwrap_or(now);
        let end = failed(stand_in(turn, &pending), now.saturating_sub(since_ms));
        if pending.since_ms.is_none() {
            let event = start_event(pending.id.clone(), &pending.call, &pending.place, now);
            commit.events.push((format!("tool_start:{}", pending.key), event));
        }
        let event = end_event(turn, pending.id, &pending.call, &pending.place, &end);
        commit.events.push((format!("tool_end:{}", pending.key), event));
        commit.entries.push(Entry { at: pending.key, elapsed_ms: now, fact: Fact::ToolEnded(end) });
    }
    Ok(commit)
}

/// What calls used that end with the calls below them: the record does not know of those ends before they are written.
pub(super) fn tell_usage(turn: &Turn, commit: &mut Commit) {
    let mut foreseen = turn.record.borrow().clone();
    commit.entries.iter().for_each(|entry| foreseen.apply(entry));
    for (_, event) in &mut commit.events {
        if let Event::ToolCallUpdate { tool_call_id, status: CallStatus::End, usage, .. } = event {
            *usage = foreseen.usage_below(tool_call_id);
        }
    }
}
