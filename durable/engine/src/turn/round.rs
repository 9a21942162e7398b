//! One round: the calls of one reply, each with exactly one result, in the model's order.
//!
//! Parallel-safe calls run together, at most as many as the limit says; then the serial ones in the model's order;
//! then the surplus, one at a time (N-043…N-052).
//!
//! Guards stand in a fixed order, and each can only deny: policy when tools are offered (before the turn), policy again
//! here, hooks (`hooking.rs`), a person, budget, arguments, run.
//!
//! A subtask is `drive` inside a call of its parent's round, so parallel subtasks are parallel futures.
//! `turn/round.rs` runs a round: the parallel-safe calls together, at most eight at a time; then the serial ones in
//! the model's order; then the surplus, one at a time. Results go back in the model's order.
//!
//! A batch of calls that does not fit runs as far as it fits. Each call is reserved when its turn comes. The round
//! leaves out a call that would cross a limit, and the turn ends after the calls that fit.

mod admission;
pub(super) mod input;
mod judging;
mod notes;
mod order;

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use futures::future::{Either, select, try_join_all};
use futures::pin_mut;

use self::input::Held;
use self::order::Order;
use super::closing::{Scope, foresee};
use super::composite::{Carrier, CutOff, Outcome, Running};
use super::level::Level;
use super::results::{DEARER, failed, told_by_client, truncated};
use super::{Halt, Turn};
use crate::budget::Exceeded;
use crate::journal::ToolEnd;
use crate::ports::{Given, Input, ToolContext, ToolError, ToolReply};
use crate::toolbelt::{Paid, PermissionClass, RunsAt, Serves, ToolSpec};
use crate::versions::{Seen, Versions, learn};
use wire::model::ToolCall;
use wire::protocol::Awaited;

/// Runs the calls of a reply.
pub(super) async fn round(turn: &Turn, level: &Level, calls: &[ToolCall]) -> Result<Vec<ToolEnd>, Halt> {
    let versions = RefCell::new(Rc::clone(&level.versions));
    let round = Round { turn, level, calls, step_key: level.step_key(), versions, exceeded: Cell::new(None) };
    let order = Order::of(calls, &level.belt, turn.spec.limits.parallel, level.staged().is_some());
    let mut results: Vec<Option<ToolEnd>> = vec![None; calls.len()];
    let mut keep = |(index, end): (usize, ToolEnd)| {
        results.get_mut(index).into_iter().for_each(|slot| *slot = Some(end.clone()));
    };
    round.judge(&order.together).await?;
    let group = round.admit(&order.together)?;
    let ended = try_join_all(group.into_iter().map(|admitted| round.execute(admitted))).await?;
    ended.into_iter().flatten().for_each(&mut keep);
    for index in order.one_by_one {
        round.judge(&[index]).await?;
        for admitted in round.admit(&[index])? {
            let Some(ended) = round.execute(admitted).await? else { continue };
            // The calls after this one build on the files that it wrote.
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
    /// The file versions that the next call of this round starts from.
    versions: RefCell<Rc<Versions>>,
    /// The first limit that a call of this round would have crossed. The calls that fit run; then the turn ends.
    exceeded: Cell<Option<Exceeded>>,
}

/// An admitted call, or one that has its result already.
struct Admitted<'a> {
    index: usize,
    call: &'a ToolCall,
    key: String,
    next: Next,
}

/// The versions that a call learns and the money that it pays while it runs.
struct During {
    seen: Rc<Seen>,
    paid: Rc<Paid>,
}

enum Next {
    Run(Rc<ToolSpec>),
    /// A person must allow the call first; only then the call is reserved and starts.
    Ask(Rc<ToolSpec>),
    /// The call would cross a limit that a person may raise.
    Wait(Rc<ToolSpec>),
    Settled(ToolEnd),
}

/// How the start of a call ended.
enum Start {
    Started,
    /// The call was not made, and this is its result.
    Refused(ToolEnd),
    /// A limit ends the turn before the call.
    LeftOut,
}

impl Turn {
    /// The context of a tool's call with this `operation_id`.
    pub(super) fn tool_context(&self, operation_id: &str, seen: Rc<Seen>) -> ToolContext {
        ToolContext {
            clock: Rc::clone(&self.ports.clock),
            operation_id: operation_id.into(),
            time_zone: self.spec.setting.local_time.as_ref().map(|time| time.time_zone.as_str().into()),
            workspace_root: self.spec.policy.workspace_root.as_deref().map(Rc::from),
            seen,
            paid: Rc::default(),
        }
    }
}

impl<'a> Round<'a> {
    /// Runs a call to its end; returns none where a limit keeps it from starting.
    async fn execute(&self, admitted: Admitted<'a>) -> Result<Option<(usize, ToolEnd)>, Halt> {
        let Admitted { index, call, key, next } = admitted;
        let (spec, start) = match next {
            Next::Settled(end) => return Ok(Some((index, end))),
            Next::Run(spec) => (spec, Start::Started),
            Next::Ask(spec) => (Rc::clone(&spec), self.allowed(&key, call, &spec).await?),
            Next::Wait(spec) => (Rc::clone(&spec), self.start(&key, call, &spec).await?),
        };
        match start {
            Start::Started => {}
            Start::Refused(end) => return Ok(Some((index, end))),
            Start::LeftOut => return Ok(None),
        }
        let turn = self.turn;
        let outside = spec.runs_at == RunsAt::Client;
        let own = turn.own(&call.name).map(|own| own.carrier);
        let lock = spec.exclusive_lock.as_deref().map(|name| turn.lock(name));
        // The calls within a composite call count as running, but the composite call itself does not. A call
        // that waits for its client does not count either, and a tool of the service holds what it needs by itself.
        let counts = (!outside && turn.facts().levels(&call.name) == 0).then_some(turn);
        let _held = match own.is_some() || outside {
            true => Some(Held::by(counts, lock.as_deref()).await),
            false => None,
        };
        let began_ms = turn.ports.clock.now_ms();
        let mut waited_ms = None;
        let during =
            During { seen: Rc::new(Seen::new(Rc::clone(&self.versions.borrow()))), paid: Rc::default() };
        let outcome = match own {
            Some(Carrier::Composite(composite)) => {
                let (parent, key) = (self.level, key.as_str());
                composite.run(Running { turn, parent, key, arguments: &call.arguments }).await?
            }
            Some(Carrier::AtOnce(carry_out)) => carry_out(turn, self.level, &call.arguments),
            None if outside => {
                let (answer, waited) = turn.answered(&key, Awaited::Client).await;
                waited_ms = Some(waited);
                Outcome::of(told_by_client(answer))
            }
            None => Outcome::of(self.ran(&spec, &key, call, &during, lock.as_deref()).await?),
        };
        let duration_ms = waited_ms.unwrap_or_else(|| turn.ports.clock.now_ms().saturating_sub(began_ms));
        let (end, cut_off) = self.ended(&spec, outcome, &during, duration_ms);
        Ok(Some((index, self.settle(&key, call, end, cut_off)?)))
    }

    /// The end of a call that came to this outcome.
    fn ended(
        &self,
        spec: &ToolSpec,
        outcome: Outcome,
        during: &During,
        duration_ms: u64,
    ) -> (ToolEnd, Option<CutOff>) {
        let Outcome { result, overlay, partial, cut_off, hook, mut versions, agents, session } = outcome;
        let (content, is_error) = match result {
            Ok(content) => (content, false),
            Err(ToolError(text)) => (text, true),
        };
        let addresses = if is_error { Vec::new() } else { self.addresses(spec, &content) };
        let content = truncated(content, self.turn.spec.limits.tool_result_bytes);
        versions.extend(during.seen.learnt());
        let paid_microusd = during.paid.microusd().filter(|_| spec.costs);
        let end = ToolEnd { content, is_error, partial, paid_microusd, ..ToolEnd::default() };
        let end = ToolEnd { overlay, versions, hook, agents, addresses, session, duration_ms, ..end };
        (end, cut_off)
    }

    /// Commits the end of a call, together with the ends of the calls within it that it cuts off.
    fn settle(
        &self,
        key: &str,
        call: &ToolCall,
        end: ToolEnd,
        cut_off: Option<CutOff>,
    ) -> Result<ToolEnd, Halt> {
        let turn = self.turn;
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
        let end = self.note_end(&mut commit, key, call, end, turn.elapsed_ms());
        if closes_more {
            foresee(turn, &mut commit);
        }
        reservation.commit(commit)?;
        Ok(end)
    }

    async fn run_tool(
        &self,
        spec: &ToolSpec,
        key: &str,
        call: &ToolCall,
        during: &During,
        given: Option<Given>,
    ) -> ToolReply {
        let ports = &self.turn.ports;
        let failed = |problem: String| ToolReply::Ended(Err(ToolError(problem)));
        let Some(tool) = ports.tools.find(spec) else {
            return failed(format!("the tool {:?} is not available any more", spec.name));
        };
        let checks = spec.mcp_server.is_some();
        if let Err(problem) = if checks { self.turn.check_arguments(spec, &call.arguments) } else { Ok(()) } {
            return failed(problem);
        }
        // A deploy may change the prices and the models while a person decides.
        let now = tool.charge(&call.arguments).filter(|_| spec.costs);
        if now.is_some_and(|now| self.charge(key, call, spec).is_none_or(|held| !held.covers(&now))) {
            during.paid.note(0);
            return failed(DEARER.to_owned());
        }
        let context = self.turn.tool_context(&self.turn.ids.tool_call(key), Rc::clone(&during.seen));
        let context = ToolContext { paid: Rc::clone(&during.paid), ..context };
        let running =
            tool.converse(&call.arguments, context, Input { may_ask: self.turn.spec.setting.forms, given });
        let Some(timeout_ms) = spec.timeout_ms else { return running.await };
        // The timer starts only if the tool does not answer at once.
        let timeout = async { ports.clock.sleep(timeout_ms).await };
        pin_mut!(timeout);
        match select(running, timeout).await {
            Either::Left((result, _)) => result,
            Either::Right(((), running)) => {
                drop(running);
                use PermissionClass::{Knowledge, Safe};
                let what = match spec.permission_class {
                    // A tool with a lock may have changed the state that the lock guards.
                    Some(Safe | Knowledge) if spec.idempotent && spec.exclusive_lock.is_none() => {
                        "it had no effect"
                    }
                    _ => "it may have taken effect",
                };
                failed(format!("timed out after {timeout_ms} ms; {what}"))
            }
        }
    }

    /// The addresses that the result of a search names, as its tool reads them.
    fn addresses(&self, spec: &ToolSpec, result: &str) -> Vec<String> {
        let searches = spec.serves == Some(Serves::WebSearch);
        let tool = searches.then(|| self.turn.ports.tools.find(spec)).flatten();
        tool.map(|tool| tool.addresses(result)).unwrap_or_default()
    }

    fn is_subtask(&self, call: &ToolCall) -> bool {
        self.turn.facts().find(&call.name).is_some_and(|own| own.counts_as_subtask)
    }

    fn failed(&self, text: String) -> ToolEnd {
        failed(truncated(text, self.turn.spec.limits.tool_result_bytes), 0)
    }
}
