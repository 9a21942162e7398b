//! Decides which calls of a round start: the guards in their order, and a person's word where a call needs
//! one.

use std::rc::Rc;

use super::super::Halt;
use super::super::reserve::Reservation;
use super::super::results::{
    UNASKED, UNKNOWN, UNPRICED, denied, failed, too_long_to_show, unaffordable, unknown_charge,
};
use super::{Admitted, Next, Round, Start};
use crate::budget::Exceeded;
use crate::journal::{Answer, Commit, Fact, ToolEnd};
use crate::record::charges::Charges;
use crate::record::keys::call_key;
use crate::toolbelt::{Charge, RunsAt, ToolSpec};
use wire::model::ToolCall;
use wire::protocol::{Awaited, BudgetReason};

impl<'a> Round<'a> {
    /// Admits calls: one commit with all their starts, and with the ends of the refused ones. A call that would cross a
    /// limit waits until a person raises it. Where nobody is asked it is left out; the calls that fit run, and the turn
    /// ends after them.
    pub(super) fn admit(&self, indexes: &[usize]) -> Result<Vec<Admitted<'a>>, Halt> {
        let turn = self.turn;
        let (mut commit, mut admitted) = (Commit::default(), Vec::new());
        let now = turn.elapsed_ms();
        let mut reservation = turn.reserve_room();
        for (index, call) in indexes.iter().filter_map(|index| Some((*index, self.calls.get(*index)?))) {
            let key = call_key(&self.step_key, index);
            if let Some(end) = turn.replay.tool(&key) {
                admitted.push(Admitted { index, call, key, next: Next::Settled(end.clone()) });
                continue;
            }
            let started = turn.replay.tool_started(&key);
            self.offered(call).into_iter().for_each(|spec| self.note_price(&mut commit, &key, call, spec));
            let next = match self.startable(call, &key, started) {
                // A client's tool does not run here: its answer stands in the journal, or is still to come.
                Ok(spec) if started => {
                    // A stopped turn runs nothing again, and neither does a turn that this code cannot read.
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
                Ok(spec) if turn.still_asks(&self.level.place) => Next::Wait(spec),
                Ok(spec) => {
                    turn.check()?;
                    match self.reserve(&mut reservation, &key, call, &spec) {
                        Ok(()) => {
                            self.note_reserved(&mut commit, &key, call, &spec, now);
                            Next::Run(spec)
                        }
                        Err(exceeded) if exceeded.raised_to.is_some() => Next::Wait(spec),
                        Err(exceeded) if reservation.may_get_room(&key, &exceeded) => Next::Wait(spec),
                        Err(exceeded) => match self.unaffordable(&exceeded, &key, call, &spec) {
                            Some(refusal) => {
                                self.settled(&mut commit, &mut reservation, &key, call, refusal)?
                            }
                            None => {
                                self.leave_out(exceeded);
                                continue;
                            }
                        },
                    }
                }
                Err(refusal) => self.settled(&mut commit, &mut reservation, &key, call, refusal)?,
            };
            admitted.push(Admitted { index, call, key, next });
        }
        if !commit.entries.is_empty() {
            reservation.commit(commit)?;
        }
        Ok(admitted)
    }

    /// Notes the end of a call that does not start, or does not run again.
    fn settled(
        &self,
        commit: &mut Commit,
        reservation: &mut Reservation<'_>,
        key: &str,
        call: &ToolCall,
        refusal: String,
    ) -> Result<Next, Halt> {
        let (turn, now) = (self.turn, self.turn.elapsed_ms());
        let end = self.unstarted(call, key, refusal);
        // A turn without room for the refusal itself ends here.
        if let Err(exceeded) = reservation.result(end.content.len()) {
            return turn.exceed(exceeded);
        }
        if !turn.replay.tool_started(key) {
            self.note_start(commit, key, call, now, None);
        }
        Ok(Next::Settled(self.note_end(commit, key, call, end, now)))
    }

    /// The end of a call that does not start.
    fn unstarted(&self, call: &ToolCall, key: &str, refusal: String) -> ToolEnd {
        ToolEnd { refused: self.is_refused(call, key), ..self.failed(refusal) }
    }

    /// Whether the policy or a hook refuses a call. Other refusals, such as those of the depth, are no matter of what is
    /// allowed.
    fn is_refused(&self, call: &ToolCall, key: &str) -> bool {
        let is_offered = || self.offered(call).is_some();
        !self.level.only_speaks() && (!is_offered() || self.turn.record.borrow().hooks.blocks(key).is_some())
    }

    /// The tool of a call, where the level was given it and the policy allows it.
    fn offered(&self, call: &ToolCall) -> Option<&Rc<ToolSpec>> {
        self.level.belt.find(&call.name).filter(|spec| self.turn.spec.policy.allows(spec))
    }

    /// The tool of a call that may start, or run again where a lost run `started` it; else its refusal.
    fn startable(&self, call: &ToolCall, key: &str, started: bool) -> Result<Rc<ToolSpec>, String> {
        self.guard(call).and_then(|spec| self.unblocked(key, spec)).and_then(|spec| {
            let waits = || self.turn.record.borrow().waits_for_input(key);
            let may_run = !started || spec.idempotent || spec.runs_at == RunsAt::Client || waits();
            let refusal = match may_run {
                false => Some(self.unknown(key)),
                true if started => None,
                true => (self.too_late(call))
                    .or_else(|| self.unpriced(key, call, &spec))
                    .or_else(|| self.unshowable(&spec, key, call)),
            };
            refusal.map_or(Ok(spec), Err)
        })
    }

    /// The result of a call whose run was lost. One that may have cost money counts with all that it held.
    fn unknown(&self, key: &str) -> String {
        let record = self.turn.record.borrow();
        Charges(&record).charge_of(key).map_or_else(|| UNKNOWN.to_owned(), unknown_charge)
    }

    /// The refusal of a call after the one that ended the step of the level's course, for which it was meant.
    pub(super) fn too_late(&self, call: &ToolCall) -> Option<String> {
        let staged = self.level.staged()?;
        let record = self.turn.record.borrow();
        let session = record.session.as_ref().filter(|session| session.step != staged.session.step)?;
        self.turn.parts.course.refusal(session, &call.name).map(str::to_owned)
    }

    /// The reason why a call that a person must allow cannot be put to them: it is too long to show whole.
    pub(super) fn unshowable(&self, spec: &ToolSpec, key: &str, call: &ToolCall) -> Option<String> {
        let asks = self.must_ask(spec, key) && !self.turn.has_waited(key, Awaited::Approval);
        asks.then(|| too_long_to_show(&call.arguments)).flatten()
    }

    /// Notes the first limit that this round would have crossed.
    pub(super) fn leave_out(&self, exceeded: Exceeded) {
        self.exceeded.set(self.exceeded.get().or(Some(exceeded)));
    }

    pub(super) fn reserve(
        &self,
        reservation: &mut Reservation<'_>,
        key: &str,
        call: &ToolCall,
        spec: &ToolSpec,
    ) -> Result<(), Exceeded> {
        let microusd = self.charge(key, call, spec).and_then(|charge| charge.microusd);
        reservation.tool_call(self.level.place.depth == 0, self.is_subtask(call), microusd)
    }

    /// The most that a call may cost, where its tool costs money: as the journal says, else as its tool says now.
    pub(super) fn charge(&self, key: &str, call: &ToolCall, spec: &ToolSpec) -> Option<Charge> {
        if !spec.costs {
            return None;
        }
        let known = Charges(&self.turn.record.borrow()).charge_of(key).cloned();
        known.or_else(|| self.turn.ports.tools.find(spec)?.charge(&call.arguments))
    }

    /// Notes the most that a call may cost, when the call comes.
    fn note_price(&self, commit: &mut Commit, key: &str, call: &ToolCall, spec: &ToolSpec) {
        let is_known = Charges(&self.turn.record.borrow()).charge_of(key).is_some();
        let charge = self.charge(key, call, spec).filter(|_| !is_known);
        commit.entries.extend(charge.map(|charge| self.turn.entry(key, Fact::Priced(charge))));
    }

    /// The refusal of a call whose price is unknown, where money is limited.
    fn unpriced(&self, key: &str, call: &ToolCall, spec: &ToolSpec) -> Option<String> {
        let is_limited = self.turn.record.borrow().budget.limits().turn_cost_microusd.is_some();
        let charge = self.charge(key, call, spec).filter(|_| is_limited)?;
        charge.microusd.is_none().then(|| UNPRICED.to_owned())
    }

    /// The refusal of a call that the turn cannot pay for; none where it crosses another limit.
    fn unaffordable(
        &self,
        exceeded: &Exceeded,
        key: &str,
        call: &ToolCall,
        spec: &ToolSpec,
    ) -> Option<String> {
        let is_money = exceeded.reason == BudgetReason::Cost;
        is_money.then(|| unaffordable(self.charge(key, call, spec).as_ref()))
    }

    /// Whether a person must allow this call before it starts. A call that was put to a person once stays so,
    /// even after they allow its tool for the whole thread: a replay comes to the same steps.
    pub(super) fn must_ask(&self, spec: &ToolSpec, key: &str) -> bool {
        let allowed = || self.turn.record.borrow().approved.contains(&spec.name);
        self.turn.has_waited(key, Awaited::Approval) || (spec.ask && !allowed())
    }

    /// Policy when a call comes: it runs only if the level was given its tool and the policy allows it. A
    /// subtask at the greatest depth is refused before it is entered. A client acts on the calls that it
    /// sees, so it sees only calls with valid arguments.
    pub(super) fn guard(&self, call: &ToolCall) -> Result<Rc<ToolSpec>, String> {
        if self.level.only_speaks() {
            return Err("no tool can be called any more: say in words what came of it".to_owned());
        }
        let spec = self.offered(call).ok_or_else(|| self.level.belt.refusal(&call.name))?;
        let limit = self.turn.spec.limits.depth;
        let levels = self.turn.facts().levels(&call.name);
        // A hook's level may stand below the deepest one. It calls nothing that has levels.
        if levels > 0 && self.level.nested.saturating_add(levels) > limit {
            return Err(format!("depth limit: subtasks may nest {limit} deep, do this work here"));
        }
        if spec.runs_at == RunsAt::Client {
            self.turn.check_arguments(spec, &call.arguments)?;
        }
        Ok(Rc::clone(spec))
    }

    /// Starts a call once there is room for it.
    pub(super) async fn start(&self, key: &str, call: &ToolCall, spec: &ToolSpec) -> Result<Start, Halt> {
        self.turn.wait_on(&self.level.place).await?;
        while let Err(exceeded) = self.start_at_once(key, call, spec)? {
            if self.turn.may_get_room(key, &exceeded) {
                self.turn.another_ends().await?;
                continue;
            }
            if exceeded.raised_to.is_none() {
                let Some(refusal) = self.unaffordable(&exceeded, key, call, spec) else {
                    self.leave_out(exceeded);
                    return Ok(Start::LeftOut);
                };
                return self.refused(key, call, self.failed(refusal));
            }
            self.turn.wait_for_room(exceeded, &self.level.place).await?;
        }
        Ok(Start::Started)
    }

    /// Commits the end of a call that did not start.
    fn refused(&self, key: &str, call: &ToolCall, end: ToolEnd) -> Result<Start, Halt> {
        let (now, mut commit) = (self.turn.elapsed_ms(), Commit::default());
        self.note_start(&mut commit, key, call, now, None);
        let end = self.note_end(&mut commit, key, call, end, now);
        self.turn.commit(commit)?;
        Ok(Start::Refused(end))
    }

    /// Reserves a call and notes its start. A call that would cross a limit changes nothing.
    fn start_at_once(
        &self,
        key: &str,
        call: &ToolCall,
        spec: &ToolSpec,
    ) -> Result<Result<(), Exceeded>, Halt> {
        let turn = self.turn;
        let mut commit = Commit::default();
        let mut reservation = turn.reserve()?;
        if let Err(exceeded) = self.reserve(&mut reservation, key, call, spec) {
            return Ok(Err(exceeded));
        }
        self.note_reserved(&mut commit, key, call, spec, turn.elapsed_ms());
        reservation.commit(commit)?;
        Ok(Ok(()))
    }

    /// Waits for a person, then starts the call.
    pub(super) async fn allowed(&self, key: &str, call: &ToolCall, spec: &ToolSpec) -> Result<Start, Halt> {
        let (answer, waited_ms) = self.turn.answered(key, Awaited::Approval).await;
        let why = match answer {
            Answer::Approve | Answer::ApproveForThread => return self.start(key, call, spec).await,
            Answer::Expired => UNASKED.to_owned(),
            Answer::Deny | Answer::Result { .. } => {
                let wait = (key.to_owned(), Awaited::Approval);
                denied(self.turn.record.borrow().waits.get(&wait).and_then(|wait| wait.reason.as_deref()))
            }
        };
        self.refused(key, call, failed(why, waited_ms))
    }
}
