//! Calls that wait for an answer from outside: from a client that carries a tool out, or from a person who
//! allows a call. A turn that waits at a limit (`asking.rs`) waits in the same way.
//!
//! A wait is journaled, then awaited like anything else. When only waits are left of the turn, the turn is
//! parked: its futures are dropped, no clock and no counter runs, and the answer resumes it from the journal.
//!
//! `turn/parking.rs`. A call that waits for somebody outside journals its wait and awaits the answer. When only waits
//! are left, the engine parks the turn: it drops the future, and writes the status and the timer of the first expiry
//! with the entry `parked`. Wall clock and resumption counter stand still, and the platform may evict the object.
//!
//! Readers stay at the live log for five more seconds, so a client that answers at once keeps its stream. Then they
//! end (`: parked`), because an open response or a timer would keep the object in memory. The answer, an expiry or a
//! stop rebuilds the turn from the journal, and is written together with `unparked`.
//!
//! A forged or repeated answer writes nothing. An answer that comes while siblings still run goes on at once, without
//! parking. Serial calls keep the model's order: a waiting call holds up those after it. The engine reserves and
//! starts a call only after its approval. So a kill before the answer has run nothing, and a kill after it meets a
//! started call.
//!
//! A call that runs may need input (`turn/round/input.rs`): its tool answers with a form (`Tool::converse`). The form
//! is a wait of its own, told as a request for approval, and meanwhile the call holds no lock and does not count as
//! running. Then the tool runs again with the answer. That run has an intent of its own (`input_given`), because it
//! may act: a kill before it goes on with the answer, and a kill after it is treated like any lost call.
//!
//! A limit may ask (`turn/asking.rs`, `on_limit`). A reservation that is refused waits instead of ending the turn, and
//! the whole turn has one question at a time. The answer is a journaled fact like any, and `Record::apply` raises the
//! limits (`TurnBudget::grant`). So the budget stays exact: a waiting level reserves again after the grant, beside all
//! others. A denial is written with the stop that it brings.

use std::cell::Cell;
use std::future::poll_fn;
use std::task::{Poll, Waker};

use super::{Halt, Turn};
use crate::journal::{Answer, Answering, Commit, Fact, Parking};
use crate::ports::LogError;
use crate::record::Wait;
use crate::record::keys::call_of;
use crate::record::told::decided;
use wire::protocol::{AgentState, Awaited, Event, Form};

/// The outcome of handing in an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Receipt {
    /// It is journaled, and the call goes on.
    Taken,
    /// The call had its answer before; the first one stays.
    Repeated,
    /// No call of that id waits for such an answer.
    Unknown,
}

/// The subject of a question to somebody outside.
#[derive(Clone, Debug, PartialEq)]
pub enum Asked {
    /// A call of this tool.
    Call(String),
    /// A call that a person allows each time.
    Review,
    /// The limits of the turn.
    Limit,
    /// The input that a call needs.
    Form(Form),
}

/// Adds one to a counter for as long as it lives.
pub(super) struct Tally<'a>(&'a Cell<u32>);

impl<'a> Tally<'a> {
    pub(super) fn of(cell: &'a Cell<u32>) -> Self {
        cell.set(cell.get() + 1);
        Tally(cell)
    }
}

impl Drop for Tally<'_> {
    fn drop(&mut self) {
        self.0.set(self.0.get().saturating_sub(1));
    }
}

impl Turn {
    /// Answers a call that waits: journaled at once, the first answer wins. A parked turn goes on with `run`.
    pub fn answer(&self, id: &str, on: Awaited, given: impl Into<Answering>) -> Result<Receipt, LogError> {
        let found = {
            let record = self.record.borrow();
            let waits = record.waits.iter().filter(|((_, of), _)| answered_by(*of) == on);
            let mut waits = waits.map(|((at, of), wait)| (at.clone(), *of, wait.clone()));
            waits.find(|(at, of, _)| self.wire_id(at, *of) == id)
        };
        match found {
            _ if self.ended.get() || self.record.borrow().stop.is_some() => Ok(Receipt::Unknown),
            None => Ok(Receipt::Unknown),
            Some((_, _, Wait { answer: Some(_), .. })) => Ok(Receipt::Repeated),
            Some((at, of, wait)) => {
                self.write_answers(vec![(at, of, wait, given.into())])?;
                Ok(Receipt::Taken)
            }
        }
    }

    /// The wait under this id that has no answer yet.
    pub fn waiting(&self, id: &str, on: Awaited) -> Option<Asked> {
        let record = self.record.borrow();
        let mut waits =
            record.waits.iter().filter(|((_, of), wait)| answered_by(*of) == on && wait.answer.is_none());
        let found = waits.find(|((at, of), _)| self.wire_id(at, *of) == id);
        let each_time = |name: &str| self.facts().find(name).is_some_and(|own| own.asks_each_time);
        found.map(|(_, wait)| match (&wait.limit, &wait.asking) {
            (Some(_), _) => Asked::Limit,
            (None, Some(asking)) => Asked::Form(asking.form.clone()),
            (None, None) if each_time(&wait.name) => Asked::Review,
            (None, None) => Asked::Call(wait.name.clone()),
        })
    }

    /// Answers every expired wait with `Expired`. Returns whether there were any: a stopped turn waits for nobody.
    pub fn expire(&self) -> Result<bool, LogError> {
        if self.record.borrow().stop.is_some() {
            return Ok(false);
        }
        let now = self.ports.clock.now_ms();
        let over: Vec<_> = {
            let record = self.record.borrow();
            let over = record.waits.iter().filter(|(_, wait)| wait.answer.is_none() && wait.until <= now);
            over.map(|((at, on), wait)| (at.clone(), *on, wait.clone(), Answer::Expired.into())).collect()
        };
        if over.is_empty() {
            return Ok(false);
        }
        self.write_answers(over)?;
        Ok(true)
    }

    /// When the first open wait expires (milliseconds since 1970).
    pub fn waits_until(&self) -> u64 {
        let record = self.record.borrow();
        record.waits.values().filter(|wait| wait.answer.is_none()).map(|wait| wait.until).min().unwrap_or(0)
    }

    /// How often the turn was parked so far.
    pub fn parkings(&self) -> u32 {
        self.record.borrow().parkings
    }

    /// Tells clients, once per parking, that the turn was answered and now waits for its place among the
    /// turns that may run.
    pub fn tell_queued(&self) -> Result<(), LogError> {
        self.tell_place("queued", Some("queued"))
    }

    /// Tells clients that a queued turn has its place.
    pub fn tell_placed(&self) -> Result<(), LogError> {
        self.tell_place("placed", None)
    }

    fn tell_place(&self, what: &str, details: Option<&str>) -> Result<(), LogError> {
        let key = format!("state:{what}:{}", self.parkings());
        let mut state = self.in_state(AgentState::Thinking, None);
        if let Event::AgentState { details: told, .. } = &mut state {
            *told = details.map(str::to_owned);
        }
        self.write(Commit { events: vec![(key, state)], ..Commit::default() })
    }

    fn write_answers(&self, answers: Vec<(String, Awaited, Wait, Answering)>) -> Result<(), LogError> {
        let at_ms = self.ports.clock.now_ms();
        let mut commit = Commit::default();
        if self.record.borrow().parked {
            let count = self.record.borrow().parkings;
            let tool =
                answers.first().map(|(_, _, wait, _)| wait.name.as_str()).filter(|name| !name.is_empty());
            commit.events.push((format!("state:unparked:{count}"), self.agent_state(tool)));
        }
        for (at, on, wait, Answering { answer, reason }) in answers {
            if matches!(on, Awaited::Approval | Awaited::Input) {
                let resolved = Event::ApprovalResolved {
                    approval_id: self.ids.approval(&at),
                    tool_call_id: self.ids.tool_call(call_of(&at)),
                    decision: decided(on, &answer),
                    place: wait.place.clone(),
                };
                commit.events.push((format!("approval_resolved:{at}"), resolved));
            }
            let answered = Fact::Answered { on, answer: answer.clone(), at_ms, reason };
            commit.entries.push(self.entry(&at, answered));
            if let Some(reached) = wait.limit {
                self.note_decision(&mut commit, &at, reached, &answer, wait.place);
            }
        }
        self.write(commit)?;
        self.stopped.wake();
        self.wake_waiters();
        Ok(())
    }

    /// Has each call that waits look again.
    pub(super) fn wake_waiters(&self) {
        self.wakes.set(self.wakes.get().wrapping_add(1));
        let waiting = self.waiters.take();
        waiting.into_iter().for_each(std::task::Waker::wake);
    }

    /// Waits for the answer to a call; returns it with the time that it took. Journaled answers come at once.
    pub(super) async fn answered(&self, at: &str, on: Awaited) -> (Answer, u64) {
        let _waits = Tally::of(&self.waiting);
        let key = (at.to_owned(), on);
        poll_fn(|context| {
            let answered = self.record.borrow().waits.get(&key).and_then(|wait| {
                let (answer, at_ms) = wait.answer.as_ref()?;
                Some((answer.clone(), at_ms.saturating_sub(wait.since)))
            });
            if let Some(answered) = answered {
                return Poll::Ready(answered);
            }
            self.wait_to_look(context.waker());
            Poll::Pending
        })
        .await
    }

    /// Notes that a call waits until it is told to look again.
    pub(super) fn wait_to_look(&self, waker: &Waker) {
        let mut waiters = self.waiters.borrow_mut();
        if !waiters.iter().any(|known| known.will_wake(waker)) {
            waiters.push(waker.clone());
        }
    }

    /// Whether a call waits, or has waited.
    pub(super) fn has_waited(&self, at: &str, on: Awaited) -> bool {
        self.record.borrow().waits.contains_key(&(at.to_owned(), on))
    }

    /// Whether the turn has only calls left that wait for an answer from outside.
    pub(super) fn only_waits(&self) -> bool {
        self.busy.get() == 0 && self.waiting.get() > 0
    }

    /// Parks the turn: nothing runs from here on.
    pub(super) fn park(&self) -> Result<(), Halt> {
        let count = self.record.borrow().parkings + 1;
        let state = self.in_state(AgentState::WaitingOnUser, None);
        self.alive()?;
        self.write(Commit {
            entries: vec![self.entry("", Fact::Parked { count })],
            events: vec![(format!("state:parked:{count}"), state)],
            parking: Some(Parking::Parked { until: self.waits_until() }),
            ..Commit::default()
        })?;
        Ok(())
    }

    fn wire_id(&self, at: &str, on: Awaited) -> String {
        match on {
            Awaited::Client => self.ids.tool_call(at),
            Awaited::Approval | Awaited::Limit | Awaited::Input => self.ids.approval(at),
        }
    }
}

/// The kind of answer that ends a wait: a person decides on a limit and a form as on a call.
fn answered_by(on: Awaited) -> Awaited {
    match on {
        Awaited::Limit | Awaited::Input => Awaited::Approval,
        on => on,
    }
}
