//! Takes up a turn whose run was lost by a crash, an eviction or a deploy, and rebuilds a parked turn when an answer or a
//! stop comes. The engine counts the resumptions that it has journaled. This module counts the attempts that fail before
//! that, and ends a turn that cannot be rebuilt at all; `revival.rs` decides the steps.

use crate::revival::spec;
use std::rc::Rc;

use crate::storage::keys::Keys;
use crate::storage::rows;
use crate::storage::salvage::Salvaged;
use crate::storage::thread::ThreadMeta;
use crate::storage::turn::{Reason, TurnRow, TurnStatus};
use crate::storage::{Failing, StoreError};
use engine::journal::{Commit, Entry, History, Parking, Shown, TurnEnd};
use engine::ports::{Log, LogError, Ports};
use engine::turn::Turn;
use wire::model::Message;
use wire::protocol::{
    ApiError, Content, CostSummary, ErrorCode, Event, FinishReason, Role, StopNote, StoredMessage,
};

use super::adapters;
use super::agents::KeptAgents;
use super::attempts::{self, Cause, Next};
use super::compose;
use super::live::LiveLog;
use super::log::{About, TurnLog, Written};
use super::respond::not_logged;
use super::revival::{Outcome, Revival, Step, Way};
use super::thread::{Run, Thread};

/// The turn that has no end yet.
pub enum OpenTurn {
    /// It runs; or it is parked and was rebuilt, and runs once an answer or a stop comes.
    Run(Rc<Run>),
    /// It cannot be rebuilt at the moment.
    OnHold(OnHold),
    /// There is none.
    None,
}

/// A turn that cannot be rebuilt at the moment, and its thread.
pub struct OnHold {
    thread: ThreadMeta,
    pub turn: TurnRow,
}

impl OnHold {
    fn is_parked(&self) -> bool {
        self.turn.status == TurnStatus::Parked
    }
}

/// When the next attempt to rebuild a turn is made (milliseconds since 1970).
pub fn retry_at_ms(turn: &TurnRow) -> u64 {
    turn.failing.map_or(0, |failing| failing.retry_at_ms)
}

/// The refusal of a request that needs a turn which cannot be rebuilt at the moment.
pub fn on_hold(turn: &TurnRow, now: u64) -> ApiError {
    let detail = format!("the turn {} cannot be taken up; the service tries again by itself", turn.turn_id);
    let seconds = retry_at_ms(turn).saturating_sub(now).div_ceil(1_000).max(1);
    ApiError::new(ErrorCode::TurnOnHold, detail).retry_after(seconds)
}

/// Why a turn cannot be rebuilt. Writes the error to the log.
fn cause(turn: &TurnRow, error: &ApiError) -> Cause {
    worker::console_error!("turn {} cannot be taken up: {error}", turn.turn_id);
    match error.code {
        ErrorCode::Misconfigured => Cause::Misconfigured,
        _ => Cause::Unreadable,
    }
}

impl Thread {
    /// Takes up the running turn if it has no run in this memory, unless an attempt has just failed. Awaits nothing: the
    /// request that comes next finds the turn running.
    pub fn revive(self: &Rc<Self>) -> Result<(), ApiError> {
        if self.run().is_some() || self.idle.get() || !self.store.exists()? {
            return Ok(());
        }
        let Some(turn) = self.store.running_turn()? else {
            self.idle.set(true);
            return Ok(());
        };
        if self.is_queued()? {
            self.idle.set(true);
            return Ok(());
        }
        let Some(thread) = self.store.meta()?.and_then(|meta| meta.thread) else { return Ok(()) };
        let next = TurnRow { generation: turn.generation + 1, resumptions: turn.resumptions + 1, ..turn };
        if let Outcome::Run(run) = self.attempt(&thread, next, Way::Resume)? {
            let spec = run.turn.spec();
            worker::console_log!("turn {} resumed", spec.turn_id);
            self.store.watch(self.clock.now_ms())?;
            self.keep_lease(&run);
            self.launch(&Rc::new(run));
        }
        Ok(())
    }

    /// The turn that has no end yet: its run in this memory, else a parked turn as it is rebuilt.
    pub fn open(&self) -> Result<OpenTurn, ApiError> {
        if let Some(run) = self.run() {
            return Ok(OpenTurn::Run(run));
        }
        let Some(held) = self.held()? else { return Ok(OpenTurn::None) };
        let OnHold { thread, turn } = held;
        if turn.status != TurnStatus::Parked && !self.is_queued()? {
            return Ok(OpenTurn::OnHold(OnHold { thread, turn }));
        }
        Ok(match self.attempt(&thread, turn, Way::Rebuild)? {
            Outcome::Run(run) => OpenTurn::Run(Rc::new(run)),
            Outcome::OnHold(turn) => OpenTurn::OnHold(OnHold { thread, turn }),
            Outcome::GivenUp => OpenTurn::None,
        })
    }

    /// The turn that has no end yet, as its row has it.
    pub fn held(&self) -> Result<Option<OnHold>, StoreError> {
        let Some(thread) = self.store.meta()?.and_then(|meta| meta.thread) else { return Ok(None) };
        Ok(self.store.open_turn()?.map(|turn| OnHold { thread, turn }))
    }

    /// Expires the calls of a parked turn whose time is over, or makes an attempt to rebuild it that is due. An expiry
    /// that cannot be written counts as a failed attempt.
    pub fn expire(self: &Rc<Self>) -> Result<(), ApiError> {
        let Some(OnHold { thread, turn }) = self.held()?.filter(OnHold::is_parked) else { return Ok(()) };
        // The row of a rebuilt turn has no attempts any more, so they are read first.
        let begun = attempts::begun(self.failing_before(&turn), self.clock.now_ms());
        let again_at = match self.open()? {
            OpenTurn::Run(run) => match self.expired(&run) {
                Ok(true) => {
                    self.go_on_in_its_place(&run);
                    return Ok(());
                }
                Ok(false) => match run.turn.waits_until() {
                    // The turn has no call that could still be answered or expire, so it would wait for ever.
                    0 => return self.abandon(&OnHold { thread, turn }),
                    until => until,
                },
                Err(error) => {
                    let cause = cause(&turn, &error);
                    let failed = Revival::after_failure(turn, begun, cause, self.clock.now_ms());
                    match self.carry_out(&thread, failed)? {
                        Outcome::OnHold(turn) => retry_at_ms(&turn),
                        Outcome::Run(_) | Outcome::GivenUp => return Ok(()),
                    }
                }
            },
            OpenTurn::OnHold(held) => retry_at_ms(&held.turn),
            OpenTurn::None => return Ok(()),
        };
        self.store.set_timer(Reason::Parked, again_at)?;
        Ok(self.store.arm(self.clock.now_ms())?)
    }

    /// Answers the expired calls of a parked turn, and queues the turn in the same transaction. Returns whether there
    /// were any.
    fn expired(&self, run: &Rc<Run>) -> Result<bool, ApiError> {
        self.store.transaction(|| {
            let until = run.turn.waits_until();
            if until > 0 && until <= self.clock.now_ms() {
                self.queue(run)?;
            }
            run.turn.expire().map_err(not_logged)
        })
    }

    /// Rebuilds a turn, unless that has just failed. `turn` is its row as it will be.
    fn attempt(&self, thread: &ThreadMeta, turn: TurnRow, way: Way) -> Result<Outcome<Run>, ApiError> {
        let before = self.failing_before(&turn);
        self.announced.set(None);
        self.carry_out(thread, Revival::new(turn, before, way, self.clock.now_ms()))
    }

    /// Carries out the steps of an attempt. None of them awaits.
    fn carry_out(&self, thread: &ThreadMeta, mut revival: Revival<Run>) -> Result<Outcome<Run>, ApiError> {
        loop {
            let turn = revival.turn();
            match revival.next() {
                Step::Begin => self.store.attempt(turn)?,
                Step::Watch => self.store.arm(self.clock.now_ms())?,
                Step::Rebuild(way) => {
                    let rebuilt = match way {
                        Way::Resume => self.rebuilt(thread, turn, Turn::resume),
                        Way::Rebuild => self.rebuilt(thread, turn, Turn::rebuild),
                    };
                    let rebuilt = rebuilt.map_err(|error| cause(turn, &error));
                    revival.rebuilt(rebuilt, self.clock.now_ms());
                    continue;
                }
                Step::Clear => self.store.set_failing(&turn.turn_id, None)?,
                Step::Hold { failing, reason } => {
                    self.store.set_failing(&turn.turn_id, Some(failing))?;
                    self.store.hasten_timer(reason, failing.retry_at_ms)?;
                    self.store.arm(self.clock.now_ms())?;
                }
                Step::End => self.end(thread, turn, lost())?,
                Step::Done => return Ok(revival.outcome()),
            }
            revival.written();
        }
    }

    /// Counts the attempt that the alarm is about to make, and completes when the count is on disk: an attempt that takes
    /// the instance down loses its own writes. `parked` and `queued`: an attempt is due for a turn that is parked, or
    /// queued.
    pub async fn announce(&self, parked: bool, queued: bool) -> Result<(), StoreError> {
        if self.run().is_some() || !self.store.exists()? {
            return Ok(());
        }
        let Some(turn) = self.store.open_turn()? else { return Ok(()) };
        let due = match turn.status {
            TurnStatus::Parked => parked,
            TurnStatus::Running if self.is_queued()? => queued,
            TurnStatus::Running => !self.idle.get(),
            TurnStatus::Done => false,
        };
        let now = self.clock.now_ms();
        if !due || self.is_announced(&turn) || attempts::next(turn.failing, now) != Next::Try {
            return Ok(());
        }
        let announced = attempts::announced(turn.failing, now);
        self.store.set_failing(&turn.turn_id, Some(announced))?;
        self.announced.set(Some((announced, turn.failing)));
        self.store.sync().await
    }

    /// Whether the alarm has counted an attempt to take up this turn and has not made it yet.
    fn is_announced(&self, turn: &TurnRow) -> bool {
        self.announced.get().is_some_and(|(announced, _)| turn.failing == Some(announced))
    }

    /// The failed attempts to take up a turn, without the one that is about to be made.
    fn failing_before(&self, turn: &TurnRow) -> Option<Failing> {
        let announced = self.announced.get().filter(|_| self.is_announced(turn));
        announced.map_or(turn.failing, |(_, before)| before)
    }

    fn rebuilt(
        &self,
        thread: &ThreadMeta,
        turn: &TurnRow,
        rebuild: impl FnOnce(Vec<Entry>, Shown, History, Ports) -> Result<Rc<Turn>, LogError>,
    ) -> Result<Run, ApiError> {
        let live = self.live_for(turn)?;
        let numbers = self.numbers()?;
        let entries = self.store.entries(&turn.turn_id)?;
        let mut keys = Keys::of(&entries);
        let mut told = Vec::new();
        self.store.payloads(turn, |payload| {
            told.extend(rows::part_changes(&payload)?);
            keys.read(&payload)
        })?;
        let spec = spec(&entries).ok_or_else(|| StoreError("the journal has no entry 0".to_owned()))?;
        let about = About::new(thread, turn, &spec.context_type);
        #[cfg(feature = "faults")]
        super::faults::at_rebuild(spec, &self.env);
        let path = self.store.tree()?.path(turn.seq_first);
        let history = self.frozen_history(&path, spec)?;
        let (parts, _) = compose::parts(self, &thread.owner, &thread.thread_id, &spec.policy)?;
        let reserved = numbers.reserved();
        let agents = KeptAgents::new(self, path);
        let ports = self.ports((parts, agents), about, &live, Rc::clone(&numbers), keys);
        let rebuild = || rebuild(entries, Shown::read(told), history, ports).map_err(not_logged);
        let turn = self.store.transaction(rebuild).inspect_err(|_| numbers.set_reserved(reserved))?;
        Ok(Run { turn, live })
    }

    /// The log at which the readers of a turn wait. A parked turn may have one with readers already.
    fn live_for(&self, turn: &TurnRow) -> Result<Rc<LiveLog>, StoreError> {
        match self.live(&turn.turn_id)? {
            Some(live) => Ok(live),
            None => Ok(Rc::new(LiveLog::new(turn.turn_id.as_str(), self.numbers()?.next()))),
        }
    }

    /// Ends a turn that cannot be rebuilt, because a request stops it.
    pub fn abandon(&self, OnHold { thread, turn }: &OnHold) -> Result<(), ApiError> {
        Ok(self.end(thread, turn, lost())?)
    }

    /// Ends a turn that cannot be rebuilt, because a newer message takes its place.
    pub fn abandon_for_another(&self, OnHold { thread, turn }: &OnHold) -> Result<(), ApiError> {
        Ok(self.end(thread, turn, superseded())?)
    }

    /// Ends a turn with all text that the object has of it, so that the thread can go on. The log keeps the turn's
    /// events.
    fn end(&self, thread: &ThreadMeta, turn: &TurnRow, why: Why) -> Result<(), StoreError> {
        let mut events = Vec::new();
        self.store.payloads(turn, |payload| {
            events.push(payload);
            Ok(())
        })?;
        let salvaged = self.store.salvaged(turn, &events)?;
        let asked = match salvaged.content.clone() {
            Some(content) => content,
            None => self.store.user_content(&turn.turn_id)?.unwrap_or_default().into(),
        };
        let context_type = salvaged.context_type.as_deref().unwrap_or("thread");
        let log = TurnLog {
            live: self.live_for(turn)?,
            about: About::new(thread, turn, context_type),
            store: Rc::clone(&self.store),
            clock: Rc::clone(&self.clock),
            numbers: self.numbers()?,
            written: Written::of(Keys::readable(&events)),
            ending: adapters::records::ending(self).map(|_| adapters::NO_LINE),
            tokens: self.tokens(),
            at_end: None,
        };
        worker::console_error!("turn {} is given up", turn.turn_id);
        // The store ends running turns only, so a parked one is made to run in the same commit.
        let parking = (turn.status == TurnStatus::Parked).then_some(Parking::Over);
        let commit = Commit { parking, ..last_words(turn, salvaged, asked, (why, self.clock.now_ms())) };
        log.commit(commit).map_err(|error| StoreError(format!("giving a turn up: {error:?}")))?;
        // The alarm may stand at an attempt that will not be made any more.
        self.store.arm(self.clock.now_ms())?;
        self.release_readers();
        Ok(())
    }
}

/// Why a turn ends that cannot be rebuilt.
struct Why {
    stop: StopNote,
    finish_reason: FinishReason,
    /// Whether the same message may be sent again.
    retryable: bool,
}

fn lost() -> Why {
    let message = "The service lost this turn and could not take it up again. Send the message again.";
    let stop = StopNote::new("interrupted", message);
    Why { stop, finish_reason: FinishReason::Interrupted, retryable: true }
}

/// As the engine ends a turn that runs.
fn superseded() -> Why {
    let stop = StopNote::new("superseded", "A newer message took its place.");
    Why { stop, finish_reason: FinishReason::Cancelled, retryable: false }
}

/// The end of a turn that cannot go on, in the form that `turn::ending` gives to an end.
fn last_words(turn: &TurnRow, salvaged: Salvaged, asked: Content, (why, now): (Why, u64)) -> Commit {
    let Why { stop, finish_reason, retryable } = why;
    let said = salvaged.text();
    let mark = format!("[This turn was stopped: {}]", stop.message);
    let note = Message::Assistant {
        content: if said.is_empty() { mark } else { format!("{said}\n\n{mark}") },
        tool_calls: Vec::new(),
        raw: None,
    };
    let stored = StoredMessage {
        id: turn.assistant_message_id.clone(),
        turn_id: turn.turn_id.clone(),
        role: Role::Assistant,
        parts: salvaged.shown.parts_beside(&said),
        content: said,
        created_at: now,
        finish_reason: Some(finish_reason),
        stop: Some(stop.clone()),
        usage: Some(CostSummary::default()),
        execution_tree: Some(salvaged.tree),
    };
    let done = Event::Done {
        message_id: turn.assistant_message_id.clone(),
        finish_reason,
        usage: Some(CostSummary::default()),
    };
    let mut events = salvaged.ends;
    events.extend([
        ("error".to_owned(), Event::Error { code: stop.code, message: stop.message, retryable }),
        ("cost_summary".to_owned(), Event::CostSummary(CostSummary::default())),
        ("done".to_owned(), done),
    ]);
    let history = vec![Message::User { content: asked }, note];
    let end = TurnEnd {
        message: stored,
        history,
        calls: Vec::new(),
        plans: Vec::new(),
        summary: None,
        agents: Vec::new(),
        lives: Vec::new(),
        session: None,
        used: None,
    };
    let end = Some(Box::new(end));
    Commit { events, end, ..Commit::default() }
}
