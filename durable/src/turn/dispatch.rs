//! One round: the calls of one reply, each with exactly one result, in the model's order.
//!
//! Parallel-safe calls run together, at most as many as the limit says; then the serial ones in the model's order;
//! then the surplus, one at a time (N-043…N-052).
//!
//! Guards stand in a fixed order, and each can only deny: policy when tools are offered (before the turn), policy again
//! here, budget, arguments, run. Hooks will stand between policy and budget.

use std::rc::Rc;

use futures::future::{Either, select, try_join_all};
use futures::pin_mut;

use super::interceptors::Interceptor;
use super::keys::call_key;
use super::machine::Level;
use super::{Halt, Turn, subtask};
use crate::budget::Counted;
use crate::journal::{Commit, Fact, ToolEnd};
use crate::memory::{MAX_TURN_BYTES, Overlay};
use crate::model::ToolCall;
use crate::ports::{ToolContext, ToolError};
use crate::protocol::{CallStatus, Event, Place};
use crate::toolbelt::{OutputSchema, ToolSpec, Toolbelt};

/// The order of a round, by the calls' places in the reply.
#[derive(Debug, PartialEq, Eq)]
struct Order {
    together: Vec<usize>,
    one_by_one: Vec<usize>,
}

impl Order {
    fn of(calls: &[ToolCall], belt: &Toolbelt, parallel: u32) -> Self {
        let is_serial = |index: &usize| {
            let call = calls.get(*index);
            call.and_then(|call| belt.find(&call.name)).is_some_and(|spec| spec.serial())
        };
        let (serial, mut together): (Vec<_>, Vec<_>) = (0..calls.len()).partition(is_serial);
        let surplus = together.split_off(together.len().min(parallel as usize));
        Order { together, one_by_one: serial.into_iter().chain(surplus).collect() }
    }
}

/// Runs the calls of a reply.
pub(super) async fn round(turn: &Turn, level: &Level, calls: &[ToolCall]) -> Result<Vec<ToolEnd>, Halt> {
    let round = Round { turn, level, calls, step_key: level.step_key() };
    let order = Order::of(calls, &level.belt, turn.spec.limits.parallel);
    let mut results: Vec<Option<ToolEnd>> = vec![None; calls.len()];
    let mut keep = |(index, end): (usize, ToolEnd)| {
        results.get_mut(index).into_iter().for_each(|slot| *slot = Some(end.clone()));
    };
    let group = round.admit(&order.together)?;
    let ended = try_join_all(group.into_iter().map(|admitted| round.execute(admitted))).await?;
    ended.into_iter().for_each(&mut keep);
    for index in order.one_by_one {
        for admitted in round.admit(&[index])? {
            keep(round.execute(admitted).await?);
        }
    }
    Ok(results.into_iter().flatten().collect())
}

struct Round<'a> {
    turn: &'a Turn,
    level: &'a Level,
    calls: &'a [ToolCall],
    step_key: String,
}

/// A call that was let in, or has its result already.
struct Admitted<'a> {
    index: usize,
    call: &'a ToolCall,
    key: String,
    next: Next,
}

enum Next {
    Run(Rc<ToolSpec>),
    Settled(ToolEnd),
}

impl<'a> Round<'a> {
    /// Lets calls in: one commit with all their starts, and with the ends of those that are refused. Crossing a limit
    /// stops the turn, and none of these calls runs.
    fn admit(&self, indexes: &[usize]) -> Result<Vec<Admitted<'a>>, Halt> {
        let turn = self.turn;
        let mut commit = Commit::default();
        let mut admitted = Vec::new();
        let (mut tools, mut subtasks, mut refused_bytes) = (0, 0, 0);
        let mut refuse = |commit: &mut Commit, key: &str, call: &ToolCall, why: String| {
            let end = self.failed(why);
            refused_bytes += end.content.len();
            turn.reserve_result(refused_bytes)?;
            Ok::<_, Halt>(Next::Settled(self.note_end(commit, key, call, end)))
        };
        for (index, call) in indexes.iter().filter_map(|index| Some((*index, self.calls.get(*index)?))) {
            let key = call_key(&self.step_key, index);
            let next = match (turn.replay.tool(&key), self.guard(call)) {
                (Some(end), _) => Next::Settled(end.clone()),
                (None, Err(refusal)) => {
                    self.note_start(&mut commit, &key, call);
                    refuse(&mut commit, &key, call, refusal)?
                }
                (None, Ok(spec)) if turn.replay.tool_started(&key) => match spec.idempotent {
                    true => Next::Run(spec),
                    false => refuse(&mut commit, &key, call, UNKNOWN.to_owned())?,
                },
                (None, Ok(spec)) => {
                    let subtask = Interceptor::of(&call.name) == Some(Interceptor::RunSubtask);
                    tools += 1;
                    subtasks += u32::from(subtask);
                    turn.check()?;
                    if subtask {
                        turn.reserve(Counted::Subtask, subtasks)?;
                    }
                    turn.reserve(Counted::ToolCall, tools)?;
                    let started = Fact::ToolStarted { place: self.level.place.clone(), subtask };
                    commit.entries.push(turn.entry(&key, started));
                    self.note_start(&mut commit, &key, call);
                    Next::Run(spec)
                }
            };
            admitted.push(Admitted { index, call, key, next });
        }
        if !commit.entries.is_empty() {
            turn.commit(commit)?;
        }
        Ok(admitted)
    }

    /// Policy at dispatch: what the level was not given does not run, nor what the policy does not allow, whoever gave
    /// it. A subtask at the greatest depth is refused before it is entered.
    fn guard(&self, call: &ToolCall) -> Result<Rc<ToolSpec>, String> {
        let found = self.level.belt.find(&call.name).filter(|spec| self.turn.spec.policy.allows(spec));
        let spec = found.ok_or_else(|| self.level.belt.refusal(&call.name))?;
        let limit = self.turn.spec.limits.depth;
        if Interceptor::of(&call.name) == Some(Interceptor::RunSubtask) && self.level.place.depth >= limit {
            return Err(format!("depth limit: subtasks may nest {limit} deep, do this work here"));
        }
        Ok(Rc::clone(spec))
    }

    async fn execute(&self, admitted: Admitted<'a>) -> Result<(usize, ToolEnd), Halt> {
        let Admitted { index, call, key, next } = admitted;
        let spec = match next {
            Next::Settled(end) => return Ok((index, end)),
            Next::Run(spec) => spec,
        };
        let turn = self.turn;
        let lock = spec.exclusive_lock.as_deref().map(|name| turn.lock(name));
        let _held = match &lock {
            Some(lock) => Some(lock.lock().await),
            None => None,
        };
        let began_ms = turn.ports.clock.now_ms();
        let mut overlay = Overlay::new();
        let result = match Interceptor::of(&call.name) {
            Some(Interceptor::RunSubtask) => {
                subtask::run(turn, self.level, &key, &call.arguments, &mut overlay).await?
            }
            Some(Interceptor::FinishSubtask) => match self.level.schema() {
                Some(schema) => self.finish(schema, &call.arguments),
                None => Err(ToolError(self.level.belt.refusal(&call.name))),
            },
            Some(Interceptor::Memory(memory)) => {
                let result = memory.run(&call.arguments, &self.level.memory, &mut overlay);
                match turn.record.borrow().memory_has_room(&overlay) {
                    true => result,
                    false => {
                        overlay.clear();
                        let limit = MAX_TURN_BYTES;
                        Err(ToolError(format!("the memory is full: a turn may write {limit} bytes in all")))
                    }
                }
            }
            None => self.run_tool(&spec, &key, call).await,
        };
        let duration_ms = turn.ports.clock.now_ms().saturating_sub(began_ms);
        let (content, is_error) = match result {
            Ok(content) => (content, false),
            Err(ToolError(text)) => (text, true),
        };
        let content = truncated(content, turn.spec.limits.tool_result_bytes);
        let end = ToolEnd { content, is_error, overlay, duration_ms };
        turn.reserve_result(end.content.len())?;
        let mut commit = Commit::default();
        let end = self.note_end(&mut commit, &key, call, end);
        turn.commit(commit)?;
        Ok((index, end))
    }

    async fn run_tool(&self, spec: &ToolSpec, key: &str, call: &ToolCall) -> Result<String, ToolError> {
        let ports = &self.turn.ports;
        let Some(tool) = ports.tools.all().iter().find(|tool| tool.spec().name == spec.name) else {
            return Err(ToolError(format!("the tool {:?} is not available any more", spec.name)));
        };
        let operation_id = self.turn.ids.tool_call(key).into();
        let context = ToolContext { clock: Rc::clone(&ports.clock), operation_id };
        let running = tool.run(&call.arguments, context);
        let Some(timeout_ms) = spec.timeout_ms else { return running.await };
        // The timer is made only when the tool did not answer at once.
        let timeout = async { ports.clock.sleep(timeout_ms).await };
        pin_mut!(timeout);
        match select(running, timeout).await {
            Either::Left((result, _)) => result,
            Either::Right(((), running)) => {
                drop(running);
                let what = if spec.idempotent { "it had no effect" } else { "it may have taken effect" };
                Err(ToolError(format!("timed out after {timeout_ms} ms; {what}")))
            }
        }
    }

    /// A result is the caller's as it is: one that would have to be cut is refused as one that misses its schema.
    fn finish(&self, schema: &OutputSchema, payload: &str) -> Result<String, ToolError> {
        let (bytes, limit) = (payload.len(), self.turn.spec.limits.tool_result_bytes);
        if bytes > limit {
            return Err(ToolError(format!("the result has {bytes} bytes, the limit is {limit}: shorten it")));
        }
        schema.check(payload).map(|()| "accepted".to_owned()).map_err(ToolError)
    }

    fn failed(&self, text: String) -> ToolEnd {
        failed(truncated(text, self.turn.spec.limits.tool_result_bytes), 0)
    }

    fn note_start(&self, commit: &mut Commit, key: &str, call: &ToolCall) {
        let event = start_event(self.turn.ids.tool_call(key), call, &self.level.place);
        commit.events.push((format!("tool_start:{key}"), event));
    }

    fn note_end(&self, commit: &mut Commit, key: &str, call: &ToolCall, end: ToolEnd) -> ToolEnd {
        commit.entries.push(self.turn.entry(key, Fact::ToolEnded(end.clone())));
        let id = self.turn.ids.tool_call(key);
        commit.events.push((format!("tool_end:{key}"), end_event(id, call, &self.level.place, &end)));
        end
    }
}

/// The most bytes of arguments that clients are told: an event is one row of the log. Tools get all of them.
const MAX_TOLD_ARGUMENTS: usize = 100_000;

/// The event that a call's arguments are known.
pub(super) fn start_event(id: String, call: &ToolCall, place: &Place) -> Event {
    let args = match serde_json::from_str(&call.arguments) {
        _ if call.arguments.len() > MAX_TOLD_ARGUMENTS => {
            let end = call.arguments.floor_char_boundary(MAX_TOLD_ARGUMENTS);
            let (told, _) = call.arguments.split_at(end);
            serde_json::json!({ "_raw": format!("{told}…") })
        }
        Ok(args @ serde_json::Value::Object(_)) => args,
        _ if call.arguments.trim().is_empty() => serde_json::json!({}),
        _ => serde_json::json!({ "_raw": call.arguments }),
    };
    Event::ToolCallUpdate {
        tool_call_id: id,
        name: call.name.clone(),
        status: CallStatus::Start,
        args: Some(args),
        result: None,
        is_error: false,
        duration_ms: None,
        place: place.clone(),
    }
}

/// The event that a call has its result.
pub(super) fn end_event(id: String, call: &ToolCall, place: &Place, end: &ToolEnd) -> Event {
    Event::ToolCallUpdate {
        tool_call_id: id,
        name: call.name.clone(),
        status: CallStatus::End,
        args: None,
        result: Some(end.content.clone()),
        is_error: end.is_error,
        duration_ms: Some(end.duration_ms),
        place: place.clone(),
    }
}

/// What the model is told of a call whose run was lost.
const UNKNOWN: &str =
    "The call was interrupted: its result is unknown, and it may have run. Check before repeating it.";

/// A result that is an error.
pub(super) fn failed(content: String, duration_ms: u64) -> ToolEnd {
    ToolEnd { content, is_error: true, overlay: Overlay::new(), duration_ms }
}

/// At most so many bytes, cut at a character's border, with a mark that says what is missing (N-145).
pub(super) fn truncated(text: String, limit: usize) -> String {
    if text.len() <= limit {
        return text;
    }
    let mark = format!("\n[truncated: {} bytes in all]", text.len());
    let mark = if mark.len() <= limit { mark } else { String::new() };
    let mut kept = limit - mark.len();
    while !text.is_char_boundary(kept) {
        kept -= 1;
    }
    let mut text = text;
    text.truncate(kept);
    text + &mark
}
