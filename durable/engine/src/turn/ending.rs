//! The end of a turn. At every end each open call gets its end, the partial text and the tree are kept, and
//! `cost_summary` and `done` come once, last, in one commit with the stored message.
//!
//! The turn's record stays as it is: the end is computed on a copy of it, to which the ends of the open calls
//! are applied. Those ends are not journaled, because the commit of the end deletes the journal.
//!
//! `turn/ending.rs` then writes the end in one commit. Each open call gets its end (`turn/closing.rs`). The partial
//! text and the tree are stored with the reason. `cost_summary` and `done` come once and last. The ending works on a
//! copy of the record, because only `Record::apply` changes the record.
//!
//! A limit leaves work undone. `turn/left.rs` lists it from the record: for the note of the stored message, and in the
//! last words of the turn's history. The record keeps the texts and results within an open call (`within`), so the
//! result of a subtask that a stop cuts off has them. A turn that continues another one is therefore a turn like any:
//! the history says what had ended and what is left, and the engine knows nothing of it. The object allows it for the
//! newest turn alone (`start.rs`).

use std::mem;

use super::Turn;
use super::agents::{self, LeftAgents};
use super::closing::{Scope, foresee};
use super::left::{Left, cut_off, not_made};
use super::level::{Level, LevelEnd, answer};
use super::results::failed;
use crate::journal::{Commit, ToolEnd, TurnEnd, TurnStop, told_result};
use crate::ports::LogError;
use crate::record::{PendingCall, Record};
use wire::model::{Message, ReplyFinish};
use wire::protocol::{
    AgentState, BudgetReason, Event, FinishReason, Place, ReachedLimit, Role, StopNote, StoredMessage,
};

/// The root level ended by itself.
pub(super) fn finished(turn: &Turn, root: &Level, end: LevelEnd) -> Result<(), LogError> {
    let why = match end {
        LevelEnd::Text { finish, .. } => {
            let reason = match finish {
                // A pause is no end: the level would have gone on.
                ReplyFinish::Stop | ReplyFinish::ToolCalls | ReplyFinish::Pause => FinishReason::Stop,
                ReplyFinish::Length => FinishReason::Length,
                ReplyFinish::ContentFilter => FinishReason::ContentFilter,
            };
            // Blank messages are not added to history.
            let history = if turn.spec.is_blank() { Vec::new() } else { root.own_messages() };
            return by_itself(turn, root, reason, history);
        }
        LevelEnd::Partial(_) => return by_itself(turn, root, FinishReason::Stop, root.own_messages()),
        LevelEnd::ModelFailed(error) => TurnStop::Model { error },
        LevelEnd::IterationLimit(limit) => TurnStop::IterationLimit { limit },
        LevelEnd::Blocked { hook, reason } => TurnStop::Blocked { hook, reason },
        LevelEnd::SchemaNotSatisfied(detail) => TurnStop::ShapeMissed { detail },
        // JSON that a root gives is its text.
        LevelEnd::Structured(detail) => TurnStop::Internal { detail },
    };
    turn.stop(why)?;
    stopped(turn, root)
}

/// Ends a turn that ran to its end. A turn that leaves something to the user says so: a plan to decide on, or
/// a missed goal.
fn by_itself(
    turn: &Turn,
    root: &Level,
    finish_reason: FinishReason,
    history: Vec<Message>,
) -> Result<(), LogError> {
    let mut commit = Commit::default();
    let mut last = turn.record.borrow().clone();
    let misses = last.misses_its_goal();
    if let Some(goal) = turn.spec.setting.goal.as_deref().filter(|_| misses) {
        last.failed("turn", "goal", None, "goal_missed", &[&format!("the turn ended without {goal}")]);
    }
    commit.events.extend(left_session(turn, &last));
    if misses || last.has_draft() || last.has_open_session() {
        let state = turn.in_state(AgentState::WaitingOnUser, None);
        commit.events.push(("state:waiting".to_owned(), state));
    }
    let content = last.root_texts.join("\n\n");
    if turn.spec.setting.mode.is_some() {
        commit.events.extend(turn.parts.mode.ended(turn, &content, !last.plans.is_empty()));
    }
    last_words(turn, commit, &last, LastWords { root, content, finish_reason, stop: None, history })
}

/// Ends a turn that was stopped, at any place in its tree.
pub(super) fn stopped(turn: &Turn, root: &Level) -> Result<(), LogError> {
    let Some(why) = turn.record.borrow().stop.clone() else { return Ok(()) };
    let mut note = note(&why);
    let partial = partial_text(turn, |place| place.depth == 0);
    let told = |pending: &PendingCall| cut_off(turn, pending, &note.message);
    let mut commit = Scope { within: "", told: &told }.close(turn);
    let last = foresee(turn, &mut commit);
    let left = note.is_limit().then(|| Left::of(turn, &last));
    drop(mem::take(&mut commit.entries));
    let mut history = root.own_messages();
    let step_key = root.step_key();
    for (index, call) in root.pending().iter().enumerate() {
        if turn.spec.is_answer(&root.place, &call.name) {
            continue;
        }
        let result = last.round_result(&crate::record::keys::call_key(&step_key, index));
        let result = result.unwrap_or_else(|| failed(not_made(&note.message), 0));
        let ToolEnd { content, is_error, .. } = result;
        history.push(answer(call, content, is_error));
    }
    let left_words = left.as_ref().map(Left::in_words).unwrap_or_default();
    say_why(&mut history, &partial, &words_for_history(&why, &note), &left_words);
    note.left = left.map(|left| left.undone).unwrap_or_default();
    let said = last.root_texts.iter().cloned().chain(Some(partial));
    let said = said.filter(|text| !text.is_empty());
    // A turn that cannot go on also keeps the results of its subtasks: no reply will put them into words. Where hooks judge
    // the answers, nobody has judged these.
    let lost = matches!(why, TurnStop::Interrupted { .. }) && !root.is_judged();
    let content: Vec<String> = said.chain(last.unanswered().filter(|_| lost).map(told_result)).collect();
    let content = content.join("\n\n");
    commit.events.extend(left_session(turn, &last));
    if let TurnStop::Budget { reason, limit, observed } = why {
        let exceeded = Event::BudgetExceeded { reason, limit, observed, left: note.left.clone() };
        commit.events.push(("budget_exceeded".to_owned(), exceeded));
    }
    let error =
        Event::Error { code: note.code.clone(), message: note.message.clone(), retryable: retryable(&why) };
    commit.events.push(("error".to_owned(), error));
    let finish_reason = finish_reason(&why);
    let stop = Some(note.clone());
    last_words(turn, commit, &last, LastWords { root, content, finish_reason, stop, history })
}

/// The event of the change with which the turn leaves its session.
fn left_session(turn: &Turn, last: &Record) -> Option<(String, Event)> {
    let session = last.session.as_ref()?;
    turn.told_of(session, &turn.parts.course.left(session)?)
}

/// The reason for a stop as later turns read it. The reason of a block may name what nobody should read.
fn words_for_history(why: &TurnStop, note: &StopNote) -> String {
    match why {
        TurnStop::Blocked { hook, .. } => {
            format!("The answer is not shown, because the hook {hook} blocked it")
        }
        _ => note.message.clone(),
    }
}

/// Ends the model's view of a stopped turn with the root's partial text, the reason for the stop and the work that it
/// left, so that the next turn's model does not take it for a finished answer.
fn say_why(history: &mut Vec<Message>, partial: &str, why: &str, left: &str) {
    let mark = format!("[This turn was stopped: {why}]{left}");
    match history.last_mut() {
        Some(Message::Assistant { content, tool_calls, raw }) if tool_calls.is_empty() => {
            content.push_str("\n\n");
            content.push_str(&mark);
            // The raw reply goes back to its provider in place of the text, and has no such mark.
            *raw = None;
        }
        _ => {
            let content = if partial.is_empty() { mark } else { format!("{partial}\n\n{mark}") };
            history.push(Message::Assistant { content, tool_calls: Vec::new(), raw: None });
        }
    }
}

/// The text of a reply that was cut off, at one place of the tree.
pub(crate) fn partial_text(turn: &Turn, is_there: impl Fn(&Place) -> bool) -> String {
    let record = turn.record.borrow();
    let open = record.models.values().filter(|call| is_there(&call.place));
    open.flat_map(|call| call.said.iter().cloned()).collect::<Vec<_>>().join("\n\n")
}

/// The parts that differ from one end of a turn to another.
struct LastWords<'a> {
    root: &'a Level,
    content: String,
    finish_reason: FinishReason,
    stop: Option<StopNote>,
    history: Vec<Message>,
}

fn last_words(turn: &Turn, mut commit: Commit, last: &Record, words: LastWords<'_>) -> Result<(), LogError> {
    let LastWords { root, content, finish_reason, stop, history } = words;
    let message_id = turn.spec.assistant_message_id.clone();
    let costs = last.costs();
    let usage = Some(costs.clone());
    commit.events.push(("cost_summary".to_owned(), Event::CostSummary(costs.clone())));
    let done = Event::Done { message_id: message_id.clone(), finish_reason, usage };
    commit.events.push(("done".to_owned(), done));
    let LeftAgents { rows: agents, lives, history } = agents::left(turn, root, last, history);
    let session = last.session.as_ref().and_then(|session| turn.parts.course.left(session));
    commit.end = Some(Box::new(TurnEnd {
        message: StoredMessage {
            id: message_id,
            turn_id: turn.spec.turn_id.clone(),
            role: Role::Assistant,
            parts: last.shown.parts_beside(&content),
            content,
            created_at: turn.ports.clock.now_ms(),
            finish_reason: Some(finish_reason),
            stop,
            usage: Some(costs),
            execution_tree: Some(last.tree()),
        },
        history,
        calls: last.calls.clone(),
        plans: last.plans_at_end(),
        summary: last.summary.clone(),
        agents,
        lives,
        session,
        used: Some(last.budget.charged()),
    }));
    turn.write(commit)?;
    turn.ended.set(true);
    Ok(())
}

/// The reason for a stop in words for people, with advice.
fn note(why: &TurnStop) -> StopNote {
    let (code, message) = match why {
        TurnStop::Budget { reason, limit, observed } => {
            let message = format!(
                "This turn reached its limit of {}. What was done so far is kept: continue the turn, or ask for less at \
                 once.",
                limit_in_words(*reason, *limit)
            );
            let budget = Some(ReachedLimit { reason: *reason, limit: *limit, observed: *observed });
            return StopNote { budget, ..StopNote::new("budget_exceeded", message) };
        }
        TurnStop::IterationLimit { limit } => (
            "iteration_limit",
            format!(
                "The agent called the model {limit} times without coming to an answer. Continue the turn, or ask for \
                 less at once."
            ),
        ),
        TurnStop::Blocked { hook, reason } => {
            ("blocked", format!("The answer is not shown, because the hook {hook} blocked it: {reason}"))
        }
        TurnStop::ShapeMissed { detail } => (
            "shape_missed",
            format!("The model gave no answer of the shape that the request wants: {detail}"),
        ),
        TurnStop::Cancelled => ("cancelled", "It was cancelled. Send a new message to go on.".to_owned()),
        TurnStop::Superseded => ("superseded", "A newer message took its place.".to_owned()),
        TurnStop::Model { error } => (error.kind.code(), error.message.clone()),
        TurnStop::Call { message } => ("tool_failed", message.clone()),
        TurnStop::Interrupted { detail } => (
            "interrupted",
            format!(
                "The service lost this turn and could not take it up again: {detail}. Send the message again."
            ),
        ),
        TurnStop::Internal { detail } => ("internal", format!("The service failed: {detail}.")),
    };
    StopNote::new(code, message)
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
        TurnStop::IterationLimit { .. }
        | TurnStop::Blocked { .. }
        | TurnStop::ShapeMissed { .. }
        | TurnStop::Model { .. }
        | TurnStop::Call { .. }
        | TurnStop::Internal { .. } => FinishReason::Error,
    }
}

fn retryable(why: &TurnStop) -> bool {
    match why {
        TurnStop::Model { error } => error.kind.retryable(),
        TurnStop::Interrupted { .. } | TurnStop::Internal { .. } => true,
        TurnStop::Budget { .. }
        | TurnStop::IterationLimit { .. }
        | TurnStop::Blocked { .. }
        | TurnStop::ShapeMissed { .. }
        | TurnStop::Call { .. }
        | TurnStop::Cancelled
        | TurnStop::Superseded => false,
    }
}
