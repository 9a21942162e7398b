//! The `Log` port of one run: numbers events, writes commits, tells the live log.
//!
//! Facts are told after they were written; whether the write is durable is asked by whoever lets them out. Nothing is
//! written by a run that is no longer the turn's newest, after the turn's end, or into a deleted thread: a turn is taken
//! up, a thread is deleted only when the live log of the run before is closed, and a closed log takes no commit.
//! Nothing here calls back into the engine, which may hold borrows while it commits.

use std::rc::Rc;

use crate::storage::StoreError;
use crate::storage::fit::{fit_calls, fit_message};
use crate::storage::outgoing::{Calls, News, Outgoing, ThreadRow};
use crate::storage::rows::Fresh;
use crate::storage::sql::Store;
use crate::storage::thread::ThreadMeta;
use crate::storage::turn::Reason;
use engine::journal::{Commit, Parking, TurnEnd};
use engine::ports::{Clock, Log, LogError};
use wire::protocol::{Event, Owner, Seq};

use super::live::LiveLog;
use super::numbers::Numbers;
use super::thread::WATCH_MS;

/// What a run's log must know about its turn.
pub struct About {
    pub owner: Owner,
    pub thread_id: String,
    pub thread_created_at: u64,
    pub turn_id: String,
    pub generation: u64,
    pub context_type: String,
}

impl About {
    /// A turn of a thread.
    pub fn new(thread: &ThreadMeta, turn_id: &str, generation: u64, context_type: &str) -> Self {
        About {
            owner: thread.owner.clone(),
            thread_id: thread.thread_id.clone(),
            thread_created_at: thread.created_at,
            turn_id: turn_id.to_owned(),
            generation,
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
}

impl Log for TurnLog {
    fn commit(&self, commit: Commit) -> Result<(), LogError> {
        let Commit { entries, texts, events, end, parking } = commit;
        // Whoever takes the turn's place closes this log first. The end leaves the object, so it is checked against
        // what is stored as well: that costs a statement once per turn instead of once per commit.
        if self.live.is_over() {
            return Err(LogError::Fenced);
        }
        let reserved = self.numbers.reserved();
        let turn_id = self.about.turn_id.as_str();
        let written = self.store.transaction(|| {
            if let Some(reserve) = self.numbers.due(events.len()) {
                self.store.reserve(reserve)?;
                self.numbers.set_reserved(reserve);
            }
            let fresh: Vec<Fresh> = events
                .into_iter()
                .map(|(key, event)| Fresh { seq: self.numbers.draw(), key, event })
                .collect();
            self.store.insert_entries(turn_id, &entries)?;
            #[cfg(feature = "faults")]
            super::faults::midway(super::faults::Place::BeforeEvents);
            let numbers = self.store.insert_events(turn_id, &texts, &fresh)?;
            if let Some(parking) = parking {
                self.park(parking)?;
            }
            #[cfg(feature = "faults")]
            super::faults::midway(super::faults::Place::BeforeEnd);
            if let Some(end) = &end {
                if !self.store.may_write(turn_id, self.about.generation)? {
                    return Err(LogError::Fenced);
                }
                let last = fresh.last().map_or(self.numbers.next(), |event| event.seq);
                self.end(end, last)?;
            }
            Ok((fresh, numbers))
        });
        let (fresh, numbers) = written.inspect_err(|_| self.numbers.set_reserved(reserved))?;
        texts.iter().for_each(|text| self.live.settle(&text.model_call_id));
        let new = fresh.into_iter().filter(|event| numbers.contains(&event.seq));
        let published = self.live.publish(new.map(|event| (event.seq, event.event)));
        published.map_err(|error| LogError::Storage(format!("publishing an event: {error}")))?;
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
                // The next commit fails as well and ends the run; until then nothing unreserved leaves.
                worker::console_error!("reserving event numbers: {error}");
                return self.numbers.draw();
            }
            self.numbers.set_reserved(reserve);
        }
        let seq = self.numbers.draw();
        if let Err(error) = self.live.announce(seq, &chunk, unreserved) {
            // It is not skipped: readers come back and find it in storage, and the next commit ends the run.
            worker::console_error!("announcing a chunk: {error}");
            self.live.close();
        }
        seq
    }
}

impl TurnLog {
    /// The turn is parked, or runs again: its status and its timers.
    fn park(&self, parking: Parking) -> Result<(), StoreError> {
        let turn_id = self.about.turn_id.as_str();
        match parking {
            Parking::Parked { until } => {
                self.store.set_parked(turn_id, true)?;
                self.store.clear_timer(Reason::Turn)?;
                self.store.set_timer(Reason::Parked, until)?;
            }
            Parking::Over => {
                self.store.set_parked(turn_id, false)?;
                self.store.clear_timer(Reason::Parked)?;
                self.store.set_timer(Reason::Turn, self.clock.now_ms() + WATCH_MS)?;
            }
        }
        self.store.arm()
    }

    /// What the thread keeps of the turn, and what D1 must hear. The alarm stands already: a turn was running.
    fn end(&self, end: &TurnEnd, seq_last: Seq) -> Result<(), StoreError> {
        let about = &self.about;
        let message = fit_message(end.message.clone())?;
        self.store.insert_message(&message, Some(&end.history))?;
        self.store.finish_turn(&about.turn_id, seq_last)?;
        self.store.clear_journal()?;
        // As it is now: it may have been renamed while the turn ran.
        let title = self.store.title()?.unwrap_or_default();
        let thread =
            ThreadRow { title, created_at: about.thread_created_at, updated_at: end.message.created_at };
        let calls = Calls {
            turn_id: about.turn_id.clone(),
            message_id: end.message.id.clone(),
            context_type: about.context_type.clone(),
            created_at: end.message.created_at,
            records: fit_calls(end.calls.clone())?,
            used: end.used,
            execution_mode: end.plans.last().map(|plan| plan.execution_mode.as_str().to_owned()),
        };
        self.store.keep_plans(&about.turn_id, &end.plans)?;
        let news = News::TurnEnded { thread, message, calls };
        let now = self.clock.now_ms();
        self.store.post(&Outgoing::new(&about.owner, about.thread_id.as_str(), news), now)?;
        // A row each: a plan may be long.
        for plan in &end.plans {
            let (turn_id, plan) = (about.turn_id.clone(), Box::new(plan.clone()));
            let news = News::PlanChanged { turn_id, plan, updated_at: end.message.created_at };
            self.store.post(&Outgoing::new(&about.owner, about.thread_id.as_str(), news), now)?;
        }
        self.store.clear_timer(Reason::Turn)?;
        self.store.clear_timer(Reason::Queued)?;
        self.store.hasten_timer(Reason::Outbox, now + WATCH_MS)
    }
}
