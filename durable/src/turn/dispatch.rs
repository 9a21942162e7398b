//! One round: the calls of one reply, each with exactly one result, in the model's order.
//!
//! Parallel-safe calls run together, at most as many as the limit says; then the serial ones in the model's order;
//! then the surplus, one at a time (N-043…N-052).
//!
//! Guards stand in a fixed order, and each can only deny: policy when tools are offered (before the turn), policy again
//! here, budget, arguments, run. Hooks will stand between policy and budget.

use std::cell::RefCell;
use std::rc::Rc;

use futures::future::{Either, select, try_join_all};
use futures::pin_mut;

use super::interceptors::Interceptor;
use super::keys::call_key;
use super::machine::{Level, learn};
use super::parking::Tally;
use super::{Halt, Turn, subtask};
use crate::budget::Counted;
use crate::journal::{Answer, Commit, Entry, Fact, ToolEnd};
use crate::memory::{MAX_TURN_BYTES, Overlay};
use crate::model::ToolCall;
use crate::ports::{ToolContext, ToolError};
use crate::protocol::{Awaited, CallStatus, Event, Place};
use crate::toolbelt::{OutputSchema, PermissionClass, RunsAt, ToolSpec, Toolbelt};
use crate::versions::{Seen, Versions};

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
    let versions = RefCell::new(Rc::clone(&level.versions));
    let round = Round { turn, level, calls, step_key: level.step_key(), versions };
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
            let ended = round.execute(admitted).await?;
            // The calls after this one build on what it wrote.
            learn(&mut round.versions.borrow_mut(), [&ended.1.versions]);
            keep(ended);
        }
    }
    Ok(results.into_iter().flatten().collect())
}

struct Round<'a> {
    turn: &'a Turn,
    level: &'a Level,
    calls: &'a [ToolCall],
    step_key: String,
    /// What the next call knows of files.
    versions: RefCell<Rc<Versions>>,
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
    /// A person is asked first; only then the call is reserved and starts.
    Ask(Rc<ToolSpec>),
    Settled(ToolEnd),
}

impl<'a> Round<'a> {
    /// Lets calls in: one commit with all their starts, and with the ends of those that are refused. Crossing a limit
    /// stops the turn, and none of these calls runs.
    fn admit(&self, indexes: &[usize]) -> Result<Vec<Admitted<'a>>, Halt> {
        let turn = self.turn;
        let mut commit = Commit::default();
        let mut admitted = Vec::new();
        let now = turn.elapsed_ms();
        let (mut tools, mut subtasks, mut refused_bytes) = (0, 0, 0);
        let mut refuse = |commit: &mut Commit, key: &str, call: &ToolCall, why: String| {
            let end = self.failed(why);
            refused_bytes += end.content.len();
            turn.reserve_result(refused_bytes)?;
            Ok::<_, Halt>(Next::Settled(self.note_end(commit, key, call, end, now)))
        };
        for (index, call) in indexes.iter().filter_map(|index| Some((*index, self.calls.get(*index)?))) {
            let key = call_key(&self.step_key, index);
            let next = match (turn.replay.tool(&key), self.guard(call)) {
                (Some(end), _) => Next::Settled(end.clone()),
                (None, Err(refusal)) => {
                    self.note_start(&mut commit, &key, call, now, None);
                    refuse(&mut commit, &key, call, refusal)?
                }
                (None, Ok(spec)) if turn.replay.tool_started(&key) => {
                    match spec.idempotent || spec.runs_at == RunsAt::Client {
                        // A client's tool did not run here: its answer stands in the journal, or is still to come.
                        true => Next::Run(spec),
                        false => refuse(&mut commit, &key, call, UNKNOWN.to_owned())?,
                    }
                }
                (None, Ok(spec)) if self.must_ask(&spec, &key) => {
                    if !turn.has_waited(&key, Awaited::Approval) {
                        turn.check()?;
                        self.note_request(&mut commit, &key, call, &spec);
                    }
                    Next::Ask(spec)
                }
                (None, Ok(spec)) => {
                    let subtask = Interceptor::of(&call.name) == Some(Interceptor::RunSubtask);
                    tools += 1;
                    subtasks += u32::from(subtask);
                    self.reserve(subtasks, tools, subtask)?;
                    self.note_reserved(&mut commit, &key, call, &spec, now);
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

    /// Whether a person must allow this call before it starts. What was asked once stays asked, whatever was allowed
    /// meanwhile: a replay comes to the same steps.
    fn must_ask(&self, spec: &ToolSpec, key: &str) -> bool {
        let allowed = || self.turn.record.borrow().approved.contains(&spec.name);
        self.turn.has_waited(key, Awaited::Approval) || (spec.ask && !allowed())
    }

    /// Refuses calls that would cross a limit.
    fn reserve(&self, subtasks: u32, tools: u32, subtask: bool) -> Result<(), Halt> {
        self.turn.check()?;
        if subtask {
            self.turn.reserve(Counted::Subtask, subtasks)?;
        }
        self.turn.reserve(Counted::ToolCall, tools)
    }

    /// Policy at dispatch: what the level was not given does not run, nor what the policy does not allow, whoever gave
    /// it. A subtask at the greatest depth is refused before it is entered. A client acts on what it is told, so it is told only
    /// of what is in order.
    fn guard(&self, call: &ToolCall) -> Result<Rc<ToolSpec>, String> {
        let found = self.level.belt.find(&call.name).filter(|spec| self.turn.spec.policy.allows(spec));
        let spec = found.ok_or_else(|| self.level.belt.refusal(&call.name))?;
        let limit = self.turn.spec.limits.depth;
        if Interceptor::of(&call.name) == Some(Interceptor::RunSubtask) && self.level.place.depth >= limit {
            return Err(format!("depth limit: subtasks may nest {limit} deep, do this work here"));
        }
        if spec.runs_at == RunsAt::Client {
            self.turn.check_arguments(spec, &call.arguments)?;
        }
        Ok(Rc::clone(spec))
    }

    /// Waits for a person, then starts the call. What the model is told where that does not come to pass.
    async fn allowed(
        &self,
        key: &str,
        call: &ToolCall,
        spec: &Rc<ToolSpec>,
    ) -> Result<Result<(), ToolEnd>, Halt> {
        let turn = self.turn;
        let (answer, waited_ms) = turn.answered(key, Awaited::Approval).await;
        let mut commit = Commit::default();
        let refused = match answer {
            Answer::Approve | Answer::ApproveForThread => {
                let subtask = Interceptor::of(&call.name) == Some(Interceptor::RunSubtask);
                self.reserve(1, 1, subtask)?;
                self.note_reserved(&mut commit, key, call, spec, turn.elapsed_ms());
                None
            }
            Answer::Expired => Some(UNASKED),
            Answer::Deny | Answer::Result { .. } => Some(DENIED),
        };
        let refused = refused.map(|why| {
            let now = turn.elapsed_ms();
            self.note_start(&mut commit, key, call, now, None);
            self.note_end(&mut commit, key, call, failed(why.to_owned(), waited_ms), now)
        });
        turn.commit(commit)?;
        Ok(refused.map_or(Ok(()), Err))
    }

    async fn execute(&self, admitted: Admitted<'a>) -> Result<(usize, ToolEnd), Halt> {
        let Admitted { index, call, key, next } = admitted;
        let spec = match next {
            Next::Settled(end) => return Ok((index, end)),
            Next::Run(spec) => spec,
            Next::Ask(spec) => match self.allowed(&key, call, &spec).await? {
                Ok(()) => spec,
                Err(refused) => return Ok((index, refused)),
            },
        };
        let turn = self.turn;
        let outside = spec.runs_at == RunsAt::Client;
        let subtask = Interceptor::of(&call.name) == Some(Interceptor::RunSubtask);
        // A subtask's own calls count as running; a call that waits for its client does not run.
        let _runs = (!outside && !subtask).then(|| Tally::of(&turn.busy));
        let lock = spec.exclusive_lock.as_deref().map(|name| turn.lock(name));
        let _held = match &lock {
            Some(lock) => Some(lock.lock().await),
            None => None,
        };
        let began_ms = turn.ports.clock.now_ms();
        let (mut overlay, mut waited_ms) = (Overlay::new(), None);
        let seen = Rc::new(Seen::new(Rc::clone(&self.versions.borrow())));
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
            None if outside => {
                let (answer, waited) = turn.answered(&key, Awaited::Client).await;
                waited_ms = Some(waited);
                told_by_client(answer)
            }
            None => self.run_tool(&spec, &key, call, &seen).await,
        };
        let duration_ms = waited_ms.unwrap_or_else(|| turn.ports.clock.now_ms().saturating_sub(began_ms));
        let (content, is_error) = match result {
            Ok(content) => (content, false),
            Err(ToolError(text)) => (text, true),
        };
        let content = truncated(content, turn.spec.limits.tool_result_bytes);
        let end = ToolEnd { content, is_error, overlay, versions: seen.learnt(), duration_ms };
        turn.reserve_result(end.content.len())?;
        let mut commit = Commit::default();
        let end = self.note_end(&mut commit, &key, call, end, turn.elapsed_ms());
        turn.commit(commit)?;
        Ok((index, end))
    }

    async fn run_tool(
        &self,
        spec: &ToolSpec,
        key: &str,
        call: &ToolCall,
        seen: &Rc<Seen>,
    ) -> Result<String, ToolError> {
        let ports = &self.turn.ports;
        let Some(tool) = ports.tools.find(spec) else {
            return Err(ToolError(format!("the tool {:?} is not available any more", spec.name)));
        };
        if spec.mcp_server.is_some() {
            self.turn.check_arguments(spec, &call.arguments).map_err(ToolError)?;
        }
        let operation_id = self.turn.ids.tool_call(key).into();
        let context = ToolContext {
            clock: Rc::clone(&ports.clock),
            operation_id,
            workspace_root: self.turn.spec.policy.workspace_root.as_deref().map(Rc::from),
            seen: Rc::clone(seen),
        };
        let running = tool.run(&call.arguments, context);
        let Some(timeout_ms) = spec.timeout_ms else { return running.await };
        // The timer is made only when the tool did not answer at once.
        let timeout = async { ports.clock.sleep(timeout_ms).await };
        pin_mut!(timeout);
        match select(running, timeout).await {
            Either::Left((result, _)) => result,
            Either::Right(((), running)) => {
                drop(running);
                use PermissionClass::{Knowledge, Safe};
                let what = match spec.permission_class {
                    // What a lock guards is changed.
                    Some(Safe | Knowledge) if spec.idempotent && spec.exclusive_lock.is_none() => {
                        "it had no effect"
                    }
                    _ => "it may have taken effect",
                };
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

    /// A call that was let in: its reservation and its start, and what it waits for. `now` is the same for all that are
    /// let in together: by that a page knows that they run side by side.
    fn note_reserved(&self, commit: &mut Commit, key: &str, call: &ToolCall, spec: &ToolSpec, now: u64) {
        let subtask = Interceptor::of(&call.name) == Some(Interceptor::RunSubtask);
        let place = self.level.place.clone();
        let started = Fact::ToolStarted { place, subtask };
        commit.entries.push(Entry { at: key.to_owned(), elapsed_ms: now, fact: started });
        let until = (spec.runs_at == RunsAt::Client)
            .then(|| self.note_wait(commit, key, Awaited::Client, self.turn.spec.limits.client_wait_ms));
        self.note_start(commit, key, call, now, until);
    }

    /// A person is asked whether a call may be made.
    fn note_request(&self, commit: &mut Commit, key: &str, call: &ToolCall, spec: &ToolSpec) {
        let limits = &self.turn.spec.limits;
        let expires_at = self.note_wait(commit, key, Awaited::Approval, limits.approval_wait_ms);
        let request = Event::ApprovalRequest {
            approval_id: self.turn.ids.approval(key),
            tool_call_id: self.turn.ids.tool_call(key),
            name: call.name.clone(),
            args: told_arguments(&call.arguments),
            permission_class: spec
                .permission_class
                .map(|class| class.as_str().to_owned())
                .unwrap_or_default(),
            expires_at,
            place: self.level.place.clone(),
        };
        commit.events.push((format!("approval_request:{key}"), request));
    }

    /// A wait that begins now. When it is over.
    fn note_wait(&self, commit: &mut Commit, key: &str, on: Awaited, wait_ms: u64) -> u64 {
        let since = self.turn.ports.clock.now_ms();
        let until = since.saturating_add(wait_ms);
        let waiting = Fact::Waiting { on, place: self.level.place.clone(), since, until };
        commit.entries.push(self.turn.entry(key, waiting));
        until
    }

    fn note_start(&self, commit: &mut Commit, key: &str, call: &ToolCall, now: u64, until: Option<u64>) {
        let mut event = start_event(self.turn.ids.tool_call(key), call, &self.level.place, now);
        if let (Event::ToolCallUpdate { awaits, expires_at, .. }, Some(_)) = (&mut event, until) {
            (*awaits, *expires_at) = (Some(Awaited::Client), until);
        }
        commit.events.push((format!("tool_start:{key}"), event));
    }

    /// The entry's time is given, so that a refused call starts at the same millisecond in the event and in the tree.
    fn note_end(&self, commit: &mut Commit, key: &str, call: &ToolCall, end: ToolEnd, now: u64) -> ToolEnd {
        let fact = Fact::ToolEnded(end.clone());
        commit.entries.push(Entry { at: key.to_owned(), elapsed_ms: now, fact });
        let event = end_event(self.turn, self.turn.ids.tool_call(key), call, &self.level.place, &end);
        commit.events.push((format!("tool_end:{key}"), event));
        end
    }
}

/// The most bytes of arguments that clients are told: an event is one row of the log. Tools get all of them.
const MAX_TOLD_ARGUMENTS: usize = 100_000;

/// Arguments as clients are told of them.
fn told_arguments(arguments: &str) -> serde_json::Value {
    match serde_json::from_str(arguments) {
        _ if arguments.len() > MAX_TOLD_ARGUMENTS => {
            let (told, _) = arguments.split_at(arguments.floor_char_boundary(MAX_TOLD_ARGUMENTS));
            serde_json::json!({ "_raw": format!("{told}…") })
        }
        Ok(args @ serde_json::Value::Object(_)) => args,
        _ if arguments.trim().is_empty() => serde_json::json!({}),
        _ => serde_json::json!({ "_raw": arguments }),
    }
}

/// What a client's answer is to the model.
fn told_by_client(answer: Answer) -> Result<String, ToolError> {
    match answer {
        Answer::Result { content, is_error: false } => Ok(content),
        Answer::Result { content, is_error: true } => Err(ToolError(content)),
        Answer::Approve | Answer::ApproveForThread | Answer::Deny | Answer::Expired => {
            Err(ToolError(UNANSWERED.to_owned()))
        }
    }
}

/// The event that a call's arguments are known, with the turn's running time.
pub(super) fn start_event(id: String, call: &ToolCall, place: &Place, started_ms: u64) -> Event {
    Event::ToolCallUpdate {
        tool_call_id: id,
        name: call.name.clone(),
        status: CallStatus::Start,
        started_ms: Some(started_ms),
        args: Some(told_arguments(&call.arguments)),
        result: None,
        is_error: false,
        duration_ms: None,
        usage: None,
        awaits: None,
        expires_at: None,
        place: place.clone(),
    }
}

/// The event that a call has its result.
pub(super) fn end_event(turn: &Turn, id: String, call: &ToolCall, place: &Place, end: &ToolEnd) -> Event {
    Event::ToolCallUpdate {
        usage: turn.record.borrow().usage_below(&id),
        tool_call_id: id,
        name: call.name.clone(),
        status: CallStatus::End,
        started_ms: None,
        args: None,
        result: Some(end.content.clone()),
        is_error: end.is_error,
        duration_ms: Some(end.duration_ms),
        awaits: None,
        expires_at: None,
        place: place.clone(),
    }
}

/// What the model is told of calls that were not answered, or answered with no.
const UNANSWERED: &str = "The user's client did not answer in time: the result is unknown, and it may have taken effect. Check before \
     repeating it.";
const UNASKED: &str = "Nobody allowed this call in time, so it was not made.";
const DENIED: &str = "The user did not allow this call, so it was not made. Do not repeat it: go on without it, or ask the user.";

/// What the model is told of a call whose run was lost.
const UNKNOWN: &str =
    "The call was interrupted: its result is unknown, and it may have run. Check before repeating it.";

/// A result that is an error.
pub(super) fn failed(content: String, duration_ms: u64) -> ToolEnd {
    ToolEnd { content, is_error: true, overlay: Overlay::new(), versions: Versions::new(), duration_ms }
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
