//! The `Log` port of one run. It numbers events, writes commits and passes the events to the live log.
//!
//! The log passes facts on after it has written them; readers await a sync before they send. A run that is no longer
//! the turn's newest writes nothing. The same holds after the turn's end, and for a deleted thread: the object takes a
//! turn up, or deletes a thread, only after it has closed the live log of the run before, and a closed log takes no
//! commit. The log never calls back into the engine, which may hold borrows while it commits.
//!
//! The log holds the keys of its turn. They join after the transaction: a commit that fails has used none.
//!
//! `Log` has two verbs. `commit` writes journal entries, their events and finished text in one transaction, and then
//! announces the events. `announce` passes a chunk of streamed text on at once, with a number from a block that was
//! reserved on disk. The text is written with its model call's outcome; the same chunks can be read from it again.
//!
//! A commit writes one row of events, and its journal entries go on in the journal's last row while that is short.
//! Payloads are JSON that SQLite never reads, so raw messages of providers come back byte for byte. Written rows cost
//! money, and each index costs a row, so the tables have few (`storage/schema.rs`).
//!
//! Where a turn's unwritten text weighs more than 512 KB (each chunk counts 384 bytes beside its text), the engine
//! writes the text of all open model calls in a commit of its own (`turn/announcing.rs`). It writes all of them
//! because the live log drops frames in their order.
//!
//! Commits of levels are gathered. They count in the record at once, and `Turn::run` writes those of one poll as one,
//! at the end of the poll: the outcome of a model call with the starts of its tools, and the results of tools that end
//! together with the start of the next model call. The root's first model call is written with entry 0, and the last
//! outcome with the turn's end. So a direct turn costs two writes, each further round two, or one where its tools are
//! pure, and a long answer one more for about 1 300 chunks. A write that fails ends the run, because the record is
//! ahead of the disk then.
//!
//! The stored message has the parts that readers saw: text, reasoning and calls, in order (`journal/shown.rs`). The
//! record collects them from the commits that it writes, beside the journal's sum. A run that takes the turn up reads
//! them from the log, which it reads for the keys anyway, and so does the salvage of a turn that is given up.
//! `testing/invariants/shown.rs` compares them, in every test of the engine, with what a client puts together from the
//! events.
//!
//! A reader takes rows from SQLite after its cursor, then the live log in memory, unwritten chunks included, without a
//! seam. The client's side pulls it. Writes are coalesced over 5 ms, the first one at once. A reader more than 1 MB
//! behind the live log goes on from SQLite, in pages of 256 Ki characters and writes of 64 KB. Before a fact leaves,
//! the reader waits for one `storage.sync()`, which all readers share; text leaves at once.
//!
//! An event is serialised once, when its commit is written (`storage/event_json.rs`). Its row and every stream have
//! these bytes, and a reader of the stored log passes them on without reading them.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use crate::sessions::tokens::Tokens;
use crate::sessions::working;
use crate::storage::StoreError;
use crate::storage::fit::{fit_calls, fit_message};
use crate::storage::keys::Keys;
use crate::storage::log::Tail;
use crate::storage::outgoing::{Calls, News, Outgoing, ThreadRow};
use crate::storage::rows::Fresh;
use crate::storage::sql::Store;
use crate::storage::thread::ThreadMeta;
use crate::storage::turn::{Reason, TurnRow};
use engine::journal::{Commit, Parking, SessionChange, TurnEnd};
use engine::ports::{Clock, Log, LogError};
use wire::protocol::{Event, Owner, Seq, StoredMessage};

use super::live::LiveLog;
use super::numbers::Numbers;
use super::queueing;

/// Makes the last line of the journal of a turn that gets a record.
pub type Ending = fn(&TurnEnd) -> Result<String, StoreError>;

/// Writes a feature's part of a turn's end, in the transaction of that end.
pub type AtEnd = fn(&Store, &About, &TurnEnd, u64) -> Result<(), StoreError>;

/// The facts about its turn that a run's log needs.
pub struct About {
    pub owner: Owner,
    pub thread_id: String,
    pub thread_created_at: u64,
    pub turn_id: String,
    pub generation: u64,
    /// The number of the turn's first event.
    pub seq_first: Seq,
    pub context_type: String,
}

impl About {
    /// A turn of a thread.
    pub fn new(thread: &ThreadMeta, turn: &TurnRow, context_type: &str) -> Self {
        About {
            owner: thread.owner.clone(),
            thread_id: thread.thread_id.clone(),
            thread_created_at: thread.created_at,
            turn_id: turn.turn_id.clone(),
            generation: turn.generation,
            seq_first: turn.seq_first,
            context_type: context_type.to_owned(),
        }
    }
}

/// The log of one run of one turn.
pub struct TurnLog {
    pub store: Rc<Store>,
    pub numbers: Rc<Numbers>,
    pub live: Rc<LiveLog>,
    pub clock: Rc<dyn Clock>,
    pub about: About,
    pub written: Written,
    /// The keys of tokens; the error is for the operator.
    pub tokens: Result<Rc<Tokens>, String>,
    /// Makes the journal's last line; none where the turn gets no record.
    pub ending: Option<Ending>,
    /// Writes the features' part of the turn's end.
    pub at_end: Option<AtEnd>,
}

/// The rows that a run's turn has on disk, as far as the next commit needs to know them.
pub struct Written {
    keys: RefCell<Keys>,
    /// The last row of the journal, where this run wrote it.
    tail: Cell<Option<Tail>>,
}

impl Written {
    /// `keys`: those that the turn has on disk.
    pub fn of(keys: Keys) -> Self {
        Written { keys: RefCell::new(keys), tail: Cell::new(None) }
    }
}

impl Log for TurnLog {
    fn commit(&self, commit: Commit) -> Result<(), LogError> {
        let changes: Vec<SessionChange> = commit.session_changes().cloned().collect();
        let Commit { entries, texts, mut events, end, parking } = commit;
        // The run that takes the turn over closes this log first. A turn's end leaves the object, so the log checks it
        // against the storage as well: that costs a statement once per turn instead of once per commit.
        if self.live.is_over() {
            return Err(LogError::Fenced);
        }
        let keys = self.written.keys.borrow().check(&entries, &mut events)?;
        let reserved = self.numbers.reserved();
        let turn_id = self.about.turn_id.as_str();
        let written = self.store.transaction(|| {
            if let Some(reserve) = self.numbers.due(events.len()) {
                self.store.reserve(reserve)?;
                self.numbers.set_reserved(reserve);
            }
            let fresh = events.into_iter().map(|(key, event)| Fresh::new(self.numbers.draw(), key, event));
            let fresh: Vec<Fresh> = fresh.collect::<Result<_, _>>()?;
            let tail = self.written.tail.get();
            let tail = match (&end, self.ending) {
                // The turn's end deletes the journal, so its last entries need no row.
                (Some(_), None) => None,
                (Some(end), Some(line)) => self.store.end_journal(turn_id, &entries, &line(end)?, tail)?,
                (None, _) => self.store.insert_entries(turn_id, &entries, tail)?,
            };
            #[cfg(feature = "faults")]
            super::faults::midway(super::faults::TearPoint::BeforeEvents);
            self.store.insert_events(turn_id, &texts, &fresh)?;
            working::apply(&self.store, &self.tokens, &changes, self.clock.now_ms())?;
            if let Some(parking) = parking {
                self.park(parking)?;
            }
            #[cfg(feature = "faults")]
            super::faults::midway(super::faults::TearPoint::BeforeEnd);
            if let Some(end) = &end {
                if !self.store.may_write(turn_id, self.about.generation)? {
                    return Err(LogError::Fenced);
                }
                let last = fresh.last().map_or(self.numbers.next(), |event| event.seq);
                self.end(end, last)?;
            }
            Ok((fresh, tail))
        });
        let (fresh, tail) = written.inspect_err(|_| self.numbers.set_reserved(reserved))?;
        texts.iter().for_each(|text| self.live.settle(&text.model_call_id));
        self.written.tail.set(tail);
        self.written.keys.borrow_mut().add(keys);
        self.live.publish(&fresh);
        if end.is_some() {
            self.live.close();
        }
        Ok(())
    }

    fn announce(&self, chunk: Event) -> Seq {
        let unreserved = self.numbers.exhausted();
        if unreserved {
            let Some(reserve) = self.numbers.due(1) else { return self.numbers.draw() };
            if let Err(error) = self.store.reserve(reserve) {
                // The next commit fails as well and ends the run; until then no unreserved event leaves.
                worker::console_error!("reserving event numbers: {error}");
                return self.numbers.draw();
            }
            self.numbers.set_reserved(reserve);
        }
        let seq = self.numbers.draw();
        if let Err(error) = self.live.announce(seq, chunk, unreserved) {
            // The log does not skip the chunk: readers come back and find it in storage, and the next commit ends the
            // run.
            worker::console_error!("announcing a chunk: {error}");
            self.live.close();
        }
        seq
    }

    fn warn(&self, text: &str) {
        worker::console_warn!("{text}");
    }
}

impl TurnLog {
    /// The turn is parked, or runs again: its status, its timer and the alarm.
    fn park(&self, parking: Parking) -> Result<(), StoreError> {
        let (turn_id, now) = (self.about.turn_id.as_str(), self.clock.now_ms());
        match parking {
            Parking::Parked { until } => {
                self.store.set_parked(turn_id, true)?;
                self.store.set_timer(Reason::Parked, until)?;
                // The start of the turn says it too.
                match self.store.told_start.get() {
                    true => self.tell_state(now)?,
                    false => self.store.post_start(self.about.seq_first, now)?,
                }
            }
            Parking::Over => {
                self.tell_state(now)?;
                self.store.set_parked(turn_id, false)?;
                self.store.clear_timer(Reason::Parked)?;
                self.store.heartbeat.begin(now);
            }
        }
        self.store.arm(now)
    }

    /// Posts the row of the thread, so that lists say that its turn waits, or runs again.
    fn tell_state(&self, now: u64) -> Result<(), StoreError> {
        let About { owner, thread_id, thread_created_at: created_at, .. } = &self.about;
        let updated_at = self.store.newest_message()?.map_or(*created_at, |(_, at)| at);
        let title = self.store.title()?.unwrap_or_default();
        let thread = ThreadRow { title, created_at: *created_at, updated_at, state: None };
        self.store.post(&Outgoing::new(owner, thread_id.as_str(), News::Renamed { thread }), now)
    }

    /// Writes the rows that the thread keeps of the turn, and the news for D1. The alarm stands already, because a turn
    /// was running: should the object die before D1 has heard of the end, the alarm tells it.
    fn end(&self, end: &TurnEnd, seq_last: Seq) -> Result<(), StoreError> {
        let about = &self.about;
        let now = self.clock.now_ms();
        let stands = working::rest(&self.store, now)?;
        let question = self.store.question_at_end(about.seq_first, now)?;
        let message = fit_message(end.message.clone())?;
        self.store.insert_message(seq_last, &message, Some(&end.history))?;
        self.store.finish_turn(&about.turn_id, seq_last)?;
        if self.ending.is_none() {
            self.store.clear_journal()?;
        }
        if let Some(write) = self.at_end {
            write(&self.store, about, end, now)?;
        }
        // The title as it is now: a user may have renamed the thread while the turn ran.
        let title = self.store.title()?.unwrap_or_default();
        let thread = ThreadRow {
            title,
            created_at: about.thread_created_at,
            updated_at: end.message.created_at,
            state: None,
        };
        let calls = Calls {
            turn_id: about.turn_id.clone(),
            message_id: end.message.id.clone(),
            context_type: about.context_type.clone(),
            created_at: end.message.created_at,
            records: fit_calls(end.calls.clone())?,
            used: end.used,
            execution_mode: end.plans.last().map(|plan| plan.execution_mode.as_str().to_owned()),
        };
        // The parts of a message stand in the object alone: nobody reads them in D1.
        let message = StoredMessage { parts: Vec::new(), ..message };
        self.store.keep_plans(&about.turn_id, &end.plans)?;
        self.store.keep_agents(&about.turn_id, &end.agents)?;
        self.store.keep_lives(&about.turn_id, &end.lives)?;
        if let Some(summary) = &end.summary {
            self.store.keep_summary(summary, now)?;
        }
        let news = News::TurnEnded { thread, question: question.map(Box::new), message, calls };
        self.store.post(&Outgoing::new(&about.owner, about.thread_id.as_str(), news), now)?;
        // One row of the outbox for each plan: a plan may be long.
        for plan in &end.plans {
            let (turn_id, plan) = (about.turn_id.clone(), Box::new(plan.clone()));
            let news = News::PlanChanged { turn_id, plan, updated_at: end.message.created_at };
            self.store.post(&Outgoing::new(&about.owner, about.thread_id.as_str(), news), now)?;
        }
        if self.store.clear_timers_at_end()? && queueing::goes_on_after(end, stands) {
            self.store.set_timer(Reason::Messages, now)?;
            self.store.arm(now)?;
            self.store.next_is_due.set(true);
        }
        Ok(())
    }
}
