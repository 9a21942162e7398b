//! A turn's last words. However it ends: every open call gets its end, the partial text and the tree are kept, and
//! `cost_summary` and `done` come once, last, in one commit with the stored message.

use super::drive::take_parts;
use super::keys::work;
use super::machine::{Level, LevelEnd, answer};
use super::results::{end_event, failed, start_event, truncated};
use super::{Turn, plan};
use crate::journal::{Commit, ToolEnd, TurnEnd, TurnStop};
use crate::model::{Message, ReplyFinish};
use crate::ports::LogError;
use crate::protocol::{
    AgentState, BudgetReason, CallStatus, Event, FinishReason, Role, StepStatus, StopNote, StoredMessage,
};

/// The root level came to its end by itself.
pub(super) fn finished(turn: &Turn, root: &Level, end: LevelEnd) -> Result<(), LogError> {
    let why = match end {
        LevelEnd::Text { finish, .. } => {
            let reason = match finish {
                // A pause is no end: the level would have gone on.
                ReplyFinish::Stop | ReplyFinish::ToolCalls | ReplyFinish::Pause => FinishReason::Stop,
                ReplyFinish::Length => FinishReason::Length,
                ReplyFinish::ContentFilter => FinishReason::ContentFilter,
            };
            // What says nothing is nothing that a model could be told later.
            let history = if turn.spec.is_blank() { Vec::new() } else { root.own_messages() };
            return last_words(turn, waits_for_user(turn), reason, None, history);
        }
        LevelEnd::Partial(_) => {
            return last_words(turn, waits_for_user(turn), FinishReason::Stop, None, root.own_messages());
        }
        LevelEnd::ModelFailed(error) => TurnStop::Model { error },
        LevelEnd::IterationLimit(limit) => TurnStop::IterationLimit { limit },
        // The root has no schema: these two cannot be its end.
        LevelEnd::Structured(detail) | LevelEnd::SchemaNotSatisfied(detail) => TurnStop::Internal { detail },
    };
    turn.stop(why)?;
    stopped(turn, root)
}

/// A turn that leaves something to the user says so: a plan to decide on, a goal that was not reached.
fn waits_for_user(turn: &Turn) -> Commit {
    let mut commit = Commit::default();
    let misses = turn.record.borrow().misses_its_goal();
    if let Some(goal) = turn.spec.setting.goal.as_deref().filter(|_| misses) {
        let what = format!("the turn ended without {goal}");
        turn.record.borrow_mut().failed("turn", "goal", None, "goal_missed", &[&what]);
    }
    if misses || turn.record.borrow().has_draft() {
        let state = turn.in_state(AgentState::WaitingOnUser, None);
        commit.events.push(("state:waiting".to_owned(), state));
    }
    let record = turn.record.borrow();
    if turn.swarm.get() && record.has_plan() {
        let result = record.root_texts.join("\n\n");
        commit.events.push(("swarm_complete".to_owned(), Event::SwarmComplete { result }));
    }
    drop(record);
    commit
}

/// The turn was stopped, wherever in the tree it was.
pub(super) fn stopped(turn: &Turn, root: &Level) -> Result<(), LogError> {
    let Some(why) = turn.record.borrow().stop.clone() else { return Ok(()) };
    let note = note(&why);
    let mut commit = Commit::default();
    let partial = close_model_calls(turn, &mut commit);
    let mut history = root.own_messages();
    close_tool_calls(turn, root, &note.message, &mut commit, &mut history);
    say_why(&mut history, &partial, &note.message);
    if !partial.is_empty() {
        turn.record.borrow_mut().root_texts.push(partial);
    }
    if let TurnStop::Budget { reason, limit, observed } = why {
        let exceeded = Event::BudgetExceeded { reason, limit, observed };
        commit.events.push(("budget_exceeded".to_owned(), exceeded));
    }
    let error =
        Event::Error { code: note.code.clone(), message: note.message.clone(), retryable: retryable(&why) };
    commit.events.push(("error".to_owned(), error));
    last_words(turn, commit, finish_reason(&why), Some(note), history)
}

/// Model calls that have no outcome: what they said so far is kept, and their parts are closed. Returns what the root
/// had said of the reply that was cut off.
fn close_model_calls(turn: &Turn, commit: &mut Commit) -> String {
    let mut partial = Vec::new();
    let keys: Vec<_> = turn.record.borrow().models.keys().cloned().collect();
    for at in keys {
        let Some(call) = turn.record.borrow().models.get(&at).cloned() else { continue };
        if call.place.depth == 0 {
            partial.extend(call.said.iter().cloned());
        }
        let model_call_id = turn.ids.model_call(&at);
        commit.texts.extend(take_parts(turn, &at));
        if !call.live {
            // Its run was lost, and with it what clients may have seen of it.
            let (place, reason) = (call.place.clone(), "interrupted".to_owned());
            let reset = Event::ModelCallReset { model_call_id: model_call_id.clone(), place, reason };
            commit.events.push((format!("model_reset:{at}:end"), reset));
        }
        let duration_ms = turn.elapsed_ms().saturating_sub(call.since_ms);
        turn.record.borrow_mut().model_aborted(&at, &call, duration_ms);
        let end = Event::ModelCallUpdate {
            model_call_id,
            status: CallStatus::End,
            model: turn.spec.chain_for(work(&at)).at(call.asked).choice.model.clone(),
            place: call.place,
            usage: None,
            finish_reason: Some("aborted".to_owned()),
        };
        commit.events.push((format!("model_end:{at}"), end));
    }
    partial.join("\n\n")
}

/// Calls that have no result: each gets one, the deepest first, so that no call ends before those within it.
fn close_tool_calls(turn: &Turn, root: &Level, why: &str, commit: &mut Commit, history: &mut Vec<Message>) {
    let mut open = std::mem::take(&mut turn.record.borrow_mut().pending);
    open.sort_by_key(|pending| std::cmp::Reverse(pending.place.depth));
    let mut ends = Vec::new();
    let now = turn.elapsed_ms();
    for pending in &open {
        let text = match pending.since_ms {
            Some(_) => format!("The call was stopped and its result is unknown; it may have run. {why}"),
            None => format!("The call was not made. {why}"),
        };
        let duration_ms = pending.since_ms.map_or(0, |since_ms| now.saturating_sub(since_ms));
        let end = failed(truncated(text, turn.spec.limits.tool_result_bytes), duration_ms);
        if pending.since_ms.is_none() {
            let event = start_event(pending.id.clone(), &pending.call, &pending.place, now);
            commit.events.push((format!("tool_start:{}", pending.key), event));
        }
        let event = end_event(turn, pending.id.clone(), &pending.call, &pending.place, &end);
        commit.events.push((format!("tool_end:{}", pending.key), event));
        if pending.since_ms.is_some() {
            commit.events.extend(plan::step_complete(
                turn,
                &pending.key,
                &pending.call,
                StepStatus::Skipped,
                &end,
            ));
        }
        turn.record.borrow_mut().tool_ended(pending, &end, now);
        ends.push((pending.key.clone(), end));
    }
    let step_key = root.step_key();
    for (index, call) in root.pending().iter().enumerate() {
        let key = super::keys::call_key(&step_key, index);
        let known = ends.iter().find(|(ended, _)| *ended == key).map(|(_, end)| end.clone());
        let known = known.or_else(|| turn.record.borrow().round_result(&key));
        let ToolEnd { content, is_error, .. } =
            known.unwrap_or_else(|| failed(format!("The call was not made. {why}"), 0));
        history.push(answer(call, content, is_error));
    }
}

/// The model's view of a turn that was stopped ends with what it had said and why it stopped, so that the next turn's
/// model does not take it for a finished answer.
fn say_why(history: &mut Vec<Message>, partial: &str, why: &str) {
    let mark = format!("[This turn was stopped: {why}]");
    match history.last_mut() {
        Some(Message::Assistant { content, tool_calls, raw }) if tool_calls.is_empty() => {
            content.push_str("\n\n");
            content.push_str(&mark);
            // The provider's own words would go back to it without the mark.
            *raw = None;
        }
        _ => {
            let content = if partial.is_empty() { mark } else { format!("{partial}\n\n{mark}") };
            history.push(Message::Assistant { content, tool_calls: Vec::new(), raw: None });
        }
    }
}

fn last_words(
    turn: &Turn,
    mut commit: Commit,
    finish_reason: FinishReason,
    stop: Option<StopNote>,
    history: Vec<Message>,
) -> Result<(), LogError> {
    let message_id = turn.spec.assistant_message_id.clone();
    {
        let record = turn.record.borrow();
        let costs = record.costs();
        commit.events.push(("cost_summary".to_owned(), Event::CostSummary(costs.clone())));
        commit
            .events
            .push(("done".to_owned(), Event::Done { message_id: message_id.clone(), finish_reason }));
        commit.end = Some(Box::new(TurnEnd {
            message: StoredMessage {
                id: message_id,
                turn_id: turn.spec.turn_id.clone(),
                role: Role::Assistant,
                content: record.root_texts.join("\n\n"),
                created_at: turn.ports.clock.now_ms(),
                finish_reason: Some(finish_reason),
                stop,
                usage: Some(costs),
                execution_tree: Some(record.tree()),
            },
            history,
            calls: record.calls.clone(),
            plans: record.plans_at_end(),
            used: Some(record.budget.charged()),
        }));
    }
    turn.write(commit)?;
    turn.ended.set(true);
    Ok(())
}

/// Why a turn stopped, for people, with advice.
fn note(why: &TurnStop) -> StopNote {
    let (code, message) = match why {
        TurnStop::Budget { reason, limit, .. } => (
            "budget_exceeded",
            format!(
                "This turn reached its limit of {}. What was done so far is kept; ask for less at once, or send a new \
                 message to go on.",
                limit_in_words(*reason, *limit)
            ),
        ),
        TurnStop::IterationLimit { limit } => (
            "iteration_limit",
            format!(
                "The agent called the model {limit} times without coming to an answer. Ask for less at once, or send \
                 a new message to go on."
            ),
        ),
        TurnStop::Cancelled => ("cancelled", "It was cancelled. Send a new message to go on.".to_owned()),
        TurnStop::Superseded => ("superseded", "A newer message took its place.".to_owned()),
        TurnStop::Model { error } => (error.kind.code(), error.message.clone()),
        TurnStop::Interrupted { detail } => (
            "interrupted",
            format!(
                "The service lost this turn and could not take it up again: {detail}. Send the message again."
            ),
        ),
        TurnStop::Internal { detail } => ("internal", format!("The service failed: {detail}.")),
    };
    StopNote { code: code.to_owned(), message }
}

fn limit_in_words(reason: BudgetReason, limit: u64) -> String {
    match reason {
        BudgetReason::Subtasks => format!("{limit} subtasks"),
        BudgetReason::LlmCalls => format!("{limit} model calls"),
        BudgetReason::ToolCalls => format!("{limit} tool calls"),
        BudgetReason::WallClock => format!("{} seconds", limit / 1000),
        BudgetReason::Tokens => format!("{limit} tokens"),
        BudgetReason::Bytes => format!("{limit} bytes of tool results"),
        BudgetReason::Cost => format!("{:.4} US dollars", limit as f64 / 1e6),
    }
}

fn finish_reason(why: &TurnStop) -> FinishReason {
    match why {
        TurnStop::Budget { .. } => FinishReason::Budget,
        TurnStop::Cancelled | TurnStop::Superseded => FinishReason::Cancelled,
        TurnStop::Interrupted { .. } => FinishReason::Interrupted,
        TurnStop::IterationLimit { .. } | TurnStop::Model { .. } | TurnStop::Internal { .. } => {
            FinishReason::Error
        }
    }
}

fn retryable(why: &TurnStop) -> bool {
    match why {
        TurnStop::Model { error } => error.kind.retryable(),
        TurnStop::Interrupted { .. } | TurnStop::Internal { .. } => true,
        TurnStop::Budget { .. }
        | TurnStop::IterationLimit { .. }
        | TurnStop::Cancelled
        | TurnStop::Superseded => false,
    }
}
