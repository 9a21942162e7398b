//! The question at a limit: a turn of a deployment that says `ask` waits before the reservation that would cross a limit,
//! until a person grants it the same budget once more.
//!
//! The whole turn has one question at a time, and each level that needs room waits for its answer. The answer is journaled
//! like any (`parking.rs`), and `Record::apply` raises the limits. So a run that takes the turn up asks nobody again. A
//! denial is written together with the stop that it brings.
//!
//! Beside a level that waits, others may run and give room back. A run that takes the turn up finds that room before the
//! level asks for it. The level waits all the same: its question stands, and the answer to it must not be for nobody.
//!
//! A limit asks where a reservation is refused: calls, tokens, money. The running time does not: it ends calls that run,
//! and the wait for a person would lose them. Neither do the bytes of results, whose calls have run. A grant raises these
//! two with the others. A model call whose request failed asks nobody for room for another request: it has failed.

use super::{Halt, Turn};
use crate::budget::Exceeded;
use crate::journal::{Answer, Commit, Fact, TurnStop};
use crate::record::told::decided;
use wire::protocol::{Awaited, Event, Place, ReachedLimit};

impl Turn {
    /// Waits until a person has granted the turn its budget once more. Ends the turn where that would bring no room.
    pub(super) async fn wait_for_room(&self, exceeded: Exceeded, place: &Place) -> Result<(), Halt> {
        let Some(raised_to) = exceeded.raised_to else { return self.exceed(exceeded) };
        let open = self.record.borrow().open_question();
        let at = match open {
            Some(at) => at,
            None => self.ask_for_room(exceeded, raised_to, place)?,
        };
        self.answered(&at, Awaited::Limit).await;
        self.check()
    }

    /// Whether the level at this place asked a question in a lost run that nobody has answered yet.
    pub(super) fn still_asks(&self, place: &Place) -> bool {
        let is_open = |at: &String| self.record.borrow().open_question().as_ref() == Some(at);
        self.left_open.as_ref().is_some_and(|(at, asker)| asker == place && is_open(at))
    }

    /// Waits for the answer to the question that the level at this place asked in a lost run.
    pub(super) async fn wait_on(&self, place: &Place) -> Result<(), Halt> {
        match &self.left_open {
            Some((at, _)) if self.still_asks(place) => {
                self.answered(at, Awaited::Limit).await;
                self.check()
            }
            _ => Ok(()),
        }
    }

    /// Waits while the turn has a question at a limit that nobody has answered.
    pub(crate) async fn asks_no_more(&self) {
        let open = || self.record.borrow().open_question();
        while let Some(at) = open() {
            self.answered(&at, Awaited::Limit).await;
        }
    }

    /// Asks a person. Returns the key of the question.
    fn ask_for_room(&self, exceeded: Exceeded, raised_to: u64, place: &Place) -> Result<String, Halt> {
        let Exceeded { reason, limit, observed, .. } = exceeded;
        let since = self.ports.clock.now_ms();
        let until = since.saturating_add(self.spec.limits.approval_wait_ms);
        let (at, grants_left, usage) = {
            let record = self.record.borrow();
            (record.next_question(), record.budget.grants_left(), record.costs())
        };
        let place = place.clone();
        let request = Event::LimitRequest {
            approval_id: self.ids.approval(&at),
            reason,
            limit,
            observed,
            raised_to,
            grants_left,
            usage,
            expires_at: until,
            place: place.clone(),
        };
        let reached = Some(ReachedLimit { reason, limit, observed });
        let waiting = Fact::Waiting { on: Awaited::Limit, place, since, until, limit: reached, asking: None };
        self.commit(Commit {
            entries: vec![self.entry(&at, waiting)],
            events: vec![(format!("limit_request:{at}"), request)],
            ..Commit::default()
        })?;
        Ok(at)
    }

    /// Adds to the commit of an answer what it brings: the limits from here on, or the end of the turn.
    pub(super) fn note_decision(
        &self,
        commit: &mut Commit,
        at: &str,
        reached: ReachedLimit,
        answer: &Answer,
        place: Place,
    ) {
        let mut budget = self.record.borrow().budget.clone();
        if answer.allows() {
            budget.grant();
        } else {
            let ReachedLimit { reason, limit, observed } = reached;
            let stopped = Fact::Stopped(TurnStop::Budget { reason, limit, observed });
            commit.entries.push(self.entry("", stopped));
        }
        let resolved = Event::LimitResolved {
            approval_id: self.ids.approval(at),
            decision: decided(Awaited::Limit, answer),
            limits: budget.limits().displayed(),
            place,
        };
        commit.events.push((format!("limit_resolved:{at}"), resolved));
    }
}
