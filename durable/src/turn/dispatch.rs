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
use super::machine::Level;
use super::order::Order;
use super::parking::Tally;
use super::record::step_status;
use super::results::{
    DENIED, UNASKED, UNKNOWN, end_event, failed, start_event, told_arguments, told_by_client,
    too_long_to_show, truncated,
};
use super::{Halt, Turn, plan, step, subtask};
use crate::budget::Counted;
use crate::journal::{Answer, Commit, Entry, Fact, ToolEnd};
use crate::memory::{MAX_TURN_BYTES, Overlay};
use crate::model::ToolCall;
use crate::ports::{ToolContext, ToolError};
use crate::protocol::{Awaited, Event};
use crate::toolbelt::{OutputSchema, PermissionClass, RunsAt, ToolSpec};
use crate::tools;
use crate::versions::{Seen, Versions, learn};

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
                    let asked = turn.has_waited(&key, Awaited::Approval);
                    match too_long_to_show(&call.arguments).filter(|_| !asked) {
                        Some(refusal) => {
                            self.note_start(&mut commit, &key, call, now, None);
                            refuse(&mut commit, &key, call, refusal)?
                        }
                        None => {
                            if !asked {
                                turn.check()?;
                                self.note_request(&mut commit, &key, call, &spec);
                            }
                            Next::Ask(spec)
                        }
                    }
                }
                (None, Ok(spec)) => {
                    let subtask = Interceptor::is_subtask(&call.name);
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
        if self.level.place.depth == 0 {
            self.turn.reserve_at_root(tools)?;
        }
        self.turn.reserve(Counted::ToolCall, tools)
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
        let deeper =
            matches!(Interceptor::of(&call.name), Some(Interceptor::RunSubtask | Interceptor::Route));
        if deeper && self.level.place.depth >= limit {
            return Err(format!("depth limit: subtasks may nest {limit} deep, do this work here"));
        }
        // A plan is one level, its steps are the next one.
        if tools::makes_plans(&call.name) && self.level.place.depth + 2 > limit {
            return Err(format!("depth limit: levels may nest {limit} deep, which has no room for a plan"));
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
                let subtask = Interceptor::is_subtask(&call.name);
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
        // A level's own calls count as running; a call that waits for its client does not run.
        let _runs = (!outside && !tools::is_level(&call.name)).then(|| Tally::of(&turn.busy));
        let lock = spec.exclusive_lock.as_deref().map(|name| turn.lock(name));
        let _held = match &lock {
            Some(lock) => Some(lock.lock().await),
            None => None,
        };
        let began_ms = turn.ports.clock.now_ms();
        let (mut overlay, mut waited_ms) = (Overlay::new(), None);
        let (mut cut, mut partial) = (false, false);
        let seen = Rc::new(Seen::new(Rc::clone(&self.versions.borrow())));
        let result = match Interceptor::of(&call.name) {
            Some(Interceptor::RunSubtask) => {
                subtask::run(turn, self.level, &key, &call.arguments, &mut overlay).await?
            }
            Some(Interceptor::CreatePlan) => {
                plan::create(turn, self.level, &key, &call.arguments, &mut overlay).await?
            }
            Some(Interceptor::UpdatePlan) => {
                plan::update(turn, self.level, &key, &call.arguments, &mut overlay).await?
            }
            Some(Interceptor::Route) => Ok(plan::route(turn, self.level, &key).await?),
            Some(Interceptor::PlanStep) => {
                let run = step::run(turn, self.level, &key, &call.arguments).await?;
                (overlay, cut, partial) = (run.overlay, run.cut, run.partial);
                run.result
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
        let end = ToolEnd { content, is_error, partial, overlay, versions: seen.learnt(), duration_ms };
        let below = if cut { step::bytes_below(turn, &key) } else { 0 };
        turn.reserve_result(end.content.len() + below)?;
        let mut commit = if cut { step::close_below(turn, &key)? } else { Commit::default() };
        let closes_more = !commit.entries.is_empty();
        let end = self.note_end(&mut commit, &key, call, end, turn.elapsed_ms());
        if closes_more {
            step::tell_usage(turn, &mut commit);
        }
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
        let checked = schema.check(payload).and_then(|()| self.level.accepts(payload));
        checked.map(|()| "accepted".to_owned()).map_err(ToolError)
    }

    fn failed(&self, text: String) -> ToolEnd {
        failed(truncated(text, self.turn.spec.limits.tool_result_bytes), 0)
    }

    /// A call that was let in: its reservation and its start, and what it waits for. `now` is the same for all that are
    /// let in together: by that a page knows that they run side by side.
    fn note_reserved(&self, commit: &mut Commit, key: &str, call: &ToolCall, spec: &ToolSpec, now: u64) {
        let subtask = Interceptor::is_subtask(&call.name);
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
        commit.events.extend(plan::step_start(self.turn, key, call));
    }

    /// The entry's time is given, so that a refused call starts at the same millisecond in the event and in the tree.
    fn note_end(&self, commit: &mut Commit, key: &str, call: &ToolCall, end: ToolEnd, now: u64) -> ToolEnd {
        let fact = Fact::ToolEnded(end.clone());
        commit.entries.push(Entry { at: key.to_owned(), elapsed_ms: now, fact });
        let event = end_event(self.turn, self.turn.ids.tool_call(key), call, &self.level.place, &end);
        commit.events.push((format!("tool_end:{key}"), event));
        commit.events.extend(plan::step_complete(self.turn, key, call, step_status(&end), &end));
        commit.events.extend(plan::tool_executed(self.turn, self.level, key, call, &end));
        end
    }
}
