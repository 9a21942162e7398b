//! Decides which calls of a round start: the guards in their order, and a person's word where a call needs
//! one.

use std::rc::Rc;

use super::super::Halt;
use super::super::reserve::Reservation;
use super::super::results::{UNASKED, UNKNOWN, denied, failed, too_long_to_show};
use super::{Admitted, Next, Round};
use crate::budget::Exceeded;
use crate::journal::{Answer, Commit, ToolEnd};
use crate::record::keys::call_key;
use crate::toolbelt::{RunsAt, ToolSpec};
use wire::model::ToolCall;
use wire::protocol::Awaited;

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
                    match self.reserve(&mut reservation, call) {
                        Ok(()) => {
                            self.note_reserved(&mut commit, &key, call, &spec, now);
                            Next::Run(spec)
                        }
                        Err(exceeded) if exceeded.raised_to.is_some() => Next::Wait(spec),
                        Err(exceeded) => {
                            self.leave_out(exceeded);
                            continue;
                        }
                    }
                }
                Err(refusal) => {
                    let end = self.unstarted(call, &key, refusal);
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
                false => Some(UNKNOWN.to_owned()),
                true if started => None,
                true => self.too_late(call).or_else(|| self.unshowable(&spec, key, call)),
            };
            refusal.map_or(Ok(spec), Err)
        })
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

    pub(super) fn reserve(&self, reservation: &mut Reservation<'_>, call: &ToolCall) -> Result<(), Exceeded> {
        reservation.tool_call(self.level.place.depth == 0, self.is_subtask(call))
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

    /// Starts a call once there is room for it. Returns false where it is left out.
    pub(super) async fn start(&self, key: &str, call: &ToolCall, spec: &ToolSpec) -> Result<bool, Halt> {
        self.turn.wait_on(&self.level.place).await?;
        while let Err(exceeded) = self.start_at_once(key, call, spec)? {
            if exceeded.raised_to.is_none() {
                self.leave_out(exceeded);
                return Ok(false);
            }
            self.turn.wait_for_room(exceeded, &self.level.place).await?;
        }
        Ok(true)
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
        if let Err(exceeded) = self.reserve(&mut reservation, call) {
            return Ok(Err(exceeded));
        }
        self.note_reserved(&mut commit, key, call, spec, turn.elapsed_ms());
        reservation.commit(commit)?;
        Ok(Ok(()))
    }

    /// Waits for a person, then starts the call. A call that does not start returns its end as the error, or
    /// none where it would cross a limit.
    pub(super) async fn allowed(
        &self,
        key: &str,
        call: &ToolCall,
        spec: &Rc<ToolSpec>,
    ) -> Result<Result<(), Option<ToolEnd>>, Halt> {
        let turn = self.turn;
        let (answer, waited_ms) = turn.answered(key, Awaited::Approval).await;
        let why = match answer {
            Answer::Approve | Answer::ApproveForThread => {
                return Ok(self.start(key, call, spec).await?.then_some(()).ok_or(None));
            }
            Answer::Expired => UNASKED.to_owned(),
            Answer::Deny | Answer::Result { .. } => {
                let wait = (key.to_owned(), Awaited::Approval);
                denied(turn.record.borrow().waits.get(&wait).and_then(|wait| wait.reason.as_deref()))
            }
        };
        let (now, mut commit) = (turn.elapsed_ms(), Commit::default());
        self.note_start(&mut commit, key, call, now, None);
        let end = self.note_end(&mut commit, key, call, failed(why, waited_ms), now);
        turn.commit(commit)?;
        Ok(Err(Some(end)))
    }
}
