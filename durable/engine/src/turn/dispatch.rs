//! One round: the calls of one reply, each with exactly one result, in the model's order.
//!
//! Parallel-safe calls run together, at most as many as the limit says; then the serial ones in the model's order;
//! then the surplus, one at a time (N-043…N-052).
//!
//! Guards stand in a fixed order, and each can only deny: policy when tools are offered (before the turn), policy again
//! here, budget, arguments, run. Hooks will stand between policy and budget.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use futures::future::{Either, select, try_join_all};
use futures::pin_mut;

use super::closing::{Scope, foresee};
use super::composite::{Outcome, Running};
use super::keys::call_key;
use super::machine::Level;
use super::order::Order;
use super::parking::Tally;
use super::record::step_status;
use super::reserve::Reservation;
use super::results::{
    DENIED, UNASKED, UNKNOWN, end_event, failed, start_event, told_arguments, told_by_client,
    too_long_to_show, truncated,
};
use super::{Halt, Turn};
use crate::budget::Exceeded;
use crate::calls::{self, Carrier, memory};
use crate::journal::{Answer, Commit, Entry, Fact, ToolEnd};
use crate::memory::{MAX_TURN_BYTES, Overlay};
use crate::ports::{ToolContext, ToolError};
use crate::toolbelt::{OutputSchema, PermissionClass, RunsAt, ToolSpec};
use crate::versions::{Seen, Versions, learn};
use wire::model::ToolCall;
use wire::protocol::{Awaited, Event};

/// Runs the calls of a reply.
pub(super) async fn round(turn: &Turn, level: &Level, calls: &[ToolCall]) -> Result<Vec<ToolEnd>, Halt> {
    let versions = RefCell::new(Rc::clone(&level.versions));
    let round = Round { turn, level, calls, step_key: level.step_key(), versions, exceeded: Cell::new(None) };
    let order = Order::of(calls, &level.belt, turn.spec.limits.parallel);
    let mut results: Vec<Option<ToolEnd>> = vec![None; calls.len()];
    let mut keep = |(index, end): (usize, ToolEnd)| {
        results.get_mut(index).into_iter().for_each(|slot| *slot = Some(end.clone()));
    };
    let group = round.admit(&order.together)?;
    let ended = try_join_all(group.into_iter().map(|admitted| round.execute(admitted))).await?;
    ended.into_iter().flatten().for_each(&mut keep);
    for index in order.one_by_one {
        for admitted in round.admit(&[index])? {
            let Some(ended) = round.execute(admitted).await? else { continue };
            // The calls after this one build on what it wrote.
            learn(&mut round.versions.borrow_mut(), [&ended.1.versions]);
            keep(ended);
        }
    }
    if let Some(exceeded) = round.exceeded.get() {
        return turn.exceed(exceeded);
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
    /// The first limit that a call of this round would have crossed. The calls that fit run; then the turn ends.
    exceeded: Cell<Option<Exceeded>>,
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
    /// Lets calls in: one commit with all their starts, and with the ends of those that are refused. A call that would
    /// cross a limit is left out; the calls that fit run, and the turn ends after them.
    fn admit(&self, indexes: &[usize]) -> Result<Vec<Admitted<'a>>, Halt> {
        let turn = self.turn;
        let mut commit = Commit::default();
        let mut admitted = Vec::new();
        let now = turn.elapsed_ms();
        let mut reservation = turn.reserve_room();
        for (index, call) in indexes.iter().filter_map(|index| Some((*index, self.calls.get(*index)?))) {
            let key = call_key(&self.step_key, index);
            if let Some(end) = turn.replay.tool(&key) {
                admitted.push(Admitted { index, call, key, next: Next::Settled(end.clone()) });
                continue;
            }
            let started = turn.replay.tool_started(&key);
            let guarded = self.guard(call).and_then(|spec| {
                let may_run = !started || spec.idempotent || spec.runs_at == RunsAt::Client;
                let refusal = match may_run {
                    false => Some(UNKNOWN.to_owned()),
                    true if started => None,
                    true => self.unshowable(&spec, &key, call),
                };
                refusal.map_or(Ok(spec), Err)
            });
            let next = match guarded {
                // A client's tool did not run here: its answer stands in the journal, or is still to come.
                Ok(spec) if started => {
                    // A turn that was stopped, or that this code must not go on with, runs nothing again.
                    turn.alive()?;
                    Next::Run(spec)
                }
                Ok(spec) if self.must_ask(&spec, &key) => {
                    if !turn.has_waited(&key, Awaited::Approval) {
                        turn.check()?;
                        self.note_request(&mut commit, &key, call, &spec);
                    }
                    Next::Ask(spec)
                }
                Ok(spec) => {
                    turn.check()?;
                    if let Err(exceeded) = self.reserve(&mut reservation, call) {
                        self.leave_out(exceeded);
                        continue;
                    }
                    self.note_reserved(&mut commit, &key, call, &spec, now);
                    Next::Run(spec)
                }
                Err(refusal) => {
                    let end = self.failed(refusal);
                    // A turn without room for the refusal itself ends here.
                    if let Err(exceeded) = reservation.result(end.content.len()) {
                        return turn.exceed(exceeded);
                    }
                    if !started {
                        self.note_start(&mut commit, &key, call, now, None);
                    }
                    Next::Settled(self.note_end(&mut commit, &key, call, end, now))
                }
            };
            admitted.push(Admitted { index, call, key, next });
        }
        if !commit.entries.is_empty() {
            reservation.commit(commit)?;
        }
        Ok(admitted)
    }

    /// Why a person cannot be asked about a call, where one must be: nothing is allowed that could not be shown whole.
    fn unshowable(&self, spec: &ToolSpec, key: &str, call: &ToolCall) -> Option<String> {
        let asks = self.must_ask(spec, key) && !self.turn.has_waited(key, Awaited::Approval);
        asks.then(|| too_long_to_show(&call.arguments)).flatten()
    }

    /// Notes the first limit that this round would have crossed.
    fn leave_out(&self, exceeded: Exceeded) {
        self.exceeded.set(self.exceeded.get().or(Some(exceeded)));
    }

    fn reserve(&self, reservation: &mut Reservation<'_>, call: &ToolCall) -> Result<(), Exceeded> {
        reservation.tool_call(self.level.place.depth == 0, is_subtask(call))
    }

    /// Whether a person must allow this call before it starts. What was asked once stays asked, whatever was allowed
    /// meanwhile: a replay comes to the same steps.
    fn must_ask(&self, spec: &ToolSpec, key: &str) -> bool {
        let allowed = || self.turn.record.borrow().approved.contains(&spec.name);
        self.turn.has_waited(key, Awaited::Approval) || (spec.ask && !allowed())
    }

    /// Policy at dispatch: what the level was not given does not run, nor what the policy does not allow, whoever gave
    /// it. A subtask at the greatest depth is refused before it is entered. A client acts on what it is told, so it is told only
    /// of what is in order.
    fn guard(&self, call: &ToolCall) -> Result<Rc<ToolSpec>, String> {
        if self.level.only_speaks() {
            return Err("no tool can be called any more: say in words what came of it".to_owned());
        }
        let found = self.level.belt.find(&call.name).filter(|spec| self.turn.spec.policy.allows(spec));
        let spec = found.ok_or_else(|| self.level.belt.refusal(&call.name))?;
        let limit = self.turn.spec.limits.depth;
        if self.level.place.depth.saturating_add(calls::levels(&call.name)) > limit {
            return Err(format!("depth limit: subtasks may nest {limit} deep, do this work here"));
        }
        if spec.runs_at == RunsAt::Client {
            self.turn.check_arguments(spec, &call.arguments)?;
        }
        Ok(Rc::clone(spec))
    }

    /// Waits for a person, then starts the call. The error is its end where it does not start; none where it would cross
    /// a limit.
    async fn allowed(
        &self,
        key: &str,
        call: &ToolCall,
        spec: &Rc<ToolSpec>,
    ) -> Result<Result<(), Option<ToolEnd>>, Halt> {
        let turn = self.turn;
        let (answer, waited_ms) = turn.answered(key, Awaited::Approval).await;
        let now = turn.elapsed_ms();
        let mut commit = Commit::default();
        let why = match answer {
            Answer::Approve | Answer::ApproveForThread => {
                let mut reservation = turn.reserve()?;
                if let Err(exceeded) = self.reserve(&mut reservation, call) {
                    self.leave_out(exceeded);
                    return Ok(Err(None));
                }
                self.note_reserved(&mut commit, key, call, spec, now);
                reservation.commit(commit)?;
                return Ok(Ok(()));
            }
            Answer::Expired => UNASKED,
            Answer::Deny | Answer::Result { .. } => DENIED,
        };
        self.note_start(&mut commit, key, call, now, None);
        let end = self.note_end(&mut commit, key, call, failed(why.to_owned(), waited_ms), now);
        turn.commit(commit)?;
        Ok(Err(Some(end)))
    }

    /// Runs a call to its end; none where a limit keeps it from starting.
    async fn execute(&self, admitted: Admitted<'a>) -> Result<Option<(usize, ToolEnd)>, Halt> {
        let Admitted { index, call, key, next } = admitted;
        let spec = match next {
            Next::Settled(end) => return Ok(Some((index, end))),
            Next::Run(spec) => spec,
            Next::Ask(spec) => match self.allowed(&key, call, &spec).await? {
                Ok(()) => spec,
                Err(end) => return Ok(end.map(|end| (index, end))),
            },
        };
        let turn = self.turn;
        let outside = spec.runs_at == RunsAt::Client;
        // The calls within a composite call count as running, the composite call itself does not. A call that waits for its
        // client does not run.
        let _runs = (!outside && calls::levels(&call.name) == 0).then(|| Tally::of(&turn.busy));
        let lock = spec.exclusive_lock.as_deref().map(|name| turn.lock(name));
        let _held = match &lock {
            Some(lock) => Some(lock.lock().await),
            None => None,
        };
        let began_ms = turn.ports.clock.now_ms();
        let mut waited_ms = None;
        let seen = Rc::new(Seen::new(Rc::clone(&self.versions.borrow())));
        let Outcome { result, overlay, partial, cut_off } =
            match calls::own(&call.name).map(|own| own.carrier) {
                Some(Carrier::Composite) => match turn.composite(&call.name) {
                    Some(composite) => {
                        let (parent, key) = (self.level, key.as_str());
                        composite.run(Running { turn, parent, key, arguments: &call.arguments }).await?
                    }
                    None => Outcome::of(Err(ToolError(self.level.belt.refusal(&call.name)))),
                },
                Some(Carrier::Finish) => Outcome::of(match self.level.schema() {
                    Some(schema) => self.finish(schema, &call.arguments),
                    None => Err(ToolError(self.level.belt.refusal(&call.name))),
                }),
                Some(Carrier::Memory(operation)) => self.remember(operation, &call.arguments),
                None if outside => {
                    let (answer, waited) = turn.answered(&key, Awaited::Client).await;
                    waited_ms = Some(waited);
                    Outcome::of(told_by_client(answer))
                }
                None => Outcome::of(self.run_tool(&spec, &key, call, &seen).await),
            };
        let duration_ms = waited_ms.unwrap_or_else(|| turn.ports.clock.now_ms().saturating_sub(began_ms));
        let (content, is_error) = match result {
            Ok(content) => (content, false),
            Err(ToolError(text)) => (text, true),
        };
        let content = truncated(content, turn.spec.limits.tool_result_bytes);
        let end = ToolEnd { content, is_error, partial, overlay, versions: seen.learnt(), duration_ms };
        let mut reservation = turn.reserve_room();
        let within = format!("{key}-");
        let scope = cut_off.as_ref().map(|told| Scope { within: &within, told });
        let below = scope.as_ref().map_or(0, |scope| scope.result_bytes(turn));
        if let Err(exceeded) = reservation.result(end.content.len() + below) {
            return turn.exceed(exceeded);
        }
        turn.alive()?;
        let mut commit = scope.map(|scope| scope.close(turn)).unwrap_or_default();
        let closes_more = !commit.entries.is_empty();
        let end = self.note_end(&mut commit, &key, call, end, turn.elapsed_ms());
        if closes_more {
            foresee(turn, &mut commit);
        }
        reservation.commit(commit)?;
        Ok(Some((index, end)))
    }

    /// Carries a call of the memory out, where the turn has room for what it writes.
    fn remember(&self, operation: memory::Operation, arguments: &str) -> Outcome {
        let mut overlay = Overlay::new();
        let result = operation.run(arguments, &self.level.memory, &mut overlay);
        if self.turn.record.borrow().memory_has_room(&overlay) {
            return Outcome { overlay, ..Outcome::of(result) };
        }
        let full = format!("the memory is full: a turn may write {MAX_TURN_BYTES} bytes in all");
        Outcome::of(Err(ToolError(full)))
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
        let checked = schema.check(payload).and_then(|()| self.level.accepts(payload));
        checked.map(|()| "accepted".to_owned()).map_err(ToolError)
    }

    fn failed(&self, text: String) -> ToolEnd {
        failed(truncated(text, self.turn.spec.limits.tool_result_bytes), 0)
    }

    /// A call that was let in: its reservation and its start, and what it waits for. `now` is the same for all that are
    /// let in together: by that a page knows that they run side by side.
    fn note_reserved(&self, commit: &mut Commit, key: &str, call: &ToolCall, spec: &ToolSpec, now: u64) {
        let subtask = is_subtask(call);
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
        let composite = self.turn.composite(&call.name);
        commit.events.extend(composite.and_then(|composite| composite.started(self.turn, key, call)));
    }

    /// The entry's time is given, so that a refused call starts at the same millisecond in the event and in the tree.
    fn note_end(&self, commit: &mut Commit, key: &str, call: &ToolCall, end: ToolEnd, now: u64) -> ToolEnd {
        let fact = Fact::ToolEnded(end.clone());
        commit.entries.push(Entry { at: key.to_owned(), elapsed_ms: now, fact });
        let event = end_event(self.turn, self.turn.ids.tool_call(key), call, &self.level.place, &end);
        commit.events.push((format!("tool_end:{key}"), event));
        let composite = self.turn.composite(&call.name);
        let told =
            composite.and_then(|composite| composite.ended(self.turn, key, call, step_status(&end), &end));
        commit.events.extend(told);
        commit.events.extend(self.turn.told_around(self.level, key, call, &end));
        end
    }
}

fn is_subtask(call: &ToolCall) -> bool {
    calls::own(&call.name).is_some_and(|own| own.counts_as_subtask)
}
