//! The outbox: the news of a thread, for D1, the quotas, R2 and the collector.

use std::rc::Rc;

use futures::future::{Either, join, join5, select};
use futures::{FutureExt, pin_mut};

use super::driver::{After, Batch, Duty};
use crate::adapters::{files, knowledge, records, telemetry};
use crate::storage::outbox::Parcel as OutboxParcel;
use crate::storage::outgoing::Outgoing;
use crate::storage::schedule::Schedule;
use crate::storage::turn::{ERASED, Reason};
use crate::storage::{StoreError, tell};
use crate::thread::Thread;
use crate::{accounts, compose};

/// How long D1 may take for a batch before it counts as refused: its own limit for a query is 30 s.
const D1_MS: u64 = 30_000;
/// The age up to which no erasure can have missed an unlisted thread: one that began after the thread has not ended.
const YOUNG_MS: u64 = 60_000;

/// The rows of the outbox that D1 has not taken.
pub struct Outbox<'t> {
    thread: &'t Rc<Thread>,
    /// The state of the thread after a delivery; mostly it says that nothing is left to read.
    left: Option<Schedule>,
}

impl<'t> Outbox<'t> {
    pub fn new(thread: &'t Rc<Thread>) -> Self {
        Outbox { thread, left: None }
    }
}

impl Duty for Outbox<'_> {
    const REASON: Reason = Reason::Outbox;
    type Content = OutboxParcel;

    fn next(&mut self) -> Result<Option<(Batch, Self::Content)>, StoreError> {
        let now = self.thread.clock.now_ms();
        match self.left.as_ref().is_some_and(|schedule| !schedule.has_due_news(now)) {
            true => Ok(None),
            false => self.thread.store.parcel(now),
        }
    }

    async fn deliver(&mut self, parcel: OutboxParcel) -> Result<(), StoreError> {
        self.left = None;
        self.thread.tell_news(parcel).await
    }

    fn took(&mut self, batch: &Batch) -> Result<(), StoreError> {
        let store = &self.thread.store;
        store.delivered(&batch.ids)?;
        // A delivery may release the events of old turns.
        match compose::kept_turns(&self.thread.deployment) {
            Ok(keep) => store.trim(keep)?,
            Err(error) => worker::console_error!("nothing is trimmed: {error}"),
        }
        self.left = Some(store.schedule()?);
        Ok(())
    }

    /// Reports the refusal before it is counted: the service reports nothing while a refusal stands in the outbox, so an
    /// outage is reported once, when D1 is back.
    fn refused(&mut self, batch: &Batch, error: &StoreError) -> Result<After, StoreError> {
        let refusals = batch.attempts.saturating_add(1);
        worker::console_error!("outbox: rows {:?}, refused {refusals} times: {error}", batch.ids);
        self.thread.report("outbox", "d1", "outbox_refused", &error.to_string())?;
        self.thread.store.refused(&batch.ids)?;
        Ok(After::Again)
    }

    /// Clears the timer, and sets the alarm by the state of the thread, where it has just been read.
    fn rest(&mut self, _any: bool) -> Result<(), StoreError> {
        let store = &self.thread.store;
        let mut schedule = self.left.take().map_or_else(|| store.schedule(), Ok)?;
        if schedule.timers.outbox.take().is_some() {
            store.clear_timer(Reason::Outbox)?;
        }
        // Records are still on their way. Their end sets the alarm, and the earlier one stands until then.
        if self.thread.duties.is_under_way(Reason::Records) {
            return Ok(());
        }
        store.arm_by(&schedule, self.thread.clock.now_ms())
    }
}

impl Thread {
    /// Whether an erasure missed this thread: it finds the threads of which D1 has heard, and D1 does not hear of one that
    /// stands in no list. An erasure takes longer than a minute, so a younger thread of that kind need not ask.
    async fn was_missed(&self, erase_at: Option<u64>, has_refused: bool) -> Result<bool, StoreError> {
        if erase_at == Some(ERASED) {
            return Ok(true);
        }
        let thread = self.store.meta()?.and_then(|meta| meta.thread);
        let age = thread.map_or(0, |thread| self.clock.now_ms().saturating_sub(thread.created_at));
        let may_be = has_refused || (erase_at.is_some() && age > YOUNG_MS);
        Ok(may_be && self.was_erased().await?)
    }

    /// Tells D1 these rows, or the deeds alone of a thread that an erasure missed.
    async fn tell_d1(&self, rows: &[Outgoing], was_missed: bool) -> Result<(), StoreError> {
        if !was_missed {
            return tell::tell(&self.env, rows).await;
        }
        let deeds: Vec<Outgoing> = rows.iter().flat_map(Outgoing::deeds).collect();
        tell::tell(&self.env, &deeds).await
    }

    /// Tells D1, the quotas, R2 and the collector these rows.
    async fn tell_news(&self, parcel: OutboxParcel) -> Result<(), StoreError> {
        let (rows, has_refused) = (parcel.rows?, parcel.has_refused);
        let present = self.store.present(rows.iter().flat_map(Outgoing::message_ids))?;
        let all: Vec<Outgoing> = rows.into_iter().map(|row| row.told_now(&present)).collect();
        let erase_at = self.store.timer(Reason::Erase)?;
        let unlisted: Option<Vec<Outgoing>> =
            erase_at.is_some().then(|| all.iter().cloned().filter_map(Outgoing::unlisted).collect());
        let rows = unlisted.as_deref().unwrap_or(&all);
        let was_missed = self.was_missed(erase_at, has_refused).shared();
        // The quotas, R2, D1 and the collector are told even if one of them fails: news that arrive twice change nothing.
        let telling = join5(
            was_missed.clone().then(async |missed| self.tell_d1(rows, missed?).await),
            accounts::tell(&self.env, &self.clock, rows),
            files::delete_of_threads(&self.env, rows),
            knowledge::follow_paths(&self.env, rows),
            records::delete_of_threads(&self.env, rows),
        );
        let telling = telling.map(|(index, quotas, files, memories, records)| {
            index.and(quotas).and(files).and(memories).and(records)
        });
        let exporting = was_missed.then(async |missed| match missed {
            Ok(true) => Ok(()),
            Ok(false) | Err(_) => telemetry::tell(self, &all).await,
        });
        let telling = join(telling, exporting).map(|(told, exported)| told.and(exported));
        pin_mut!(telling);
        match select(telling, self.clock.sleep(D1_MS)).await {
            Either::Left((told, _)) => told,
            Either::Right(_) => Err(StoreError("D1 did not answer".to_owned())),
        }
    }
}
