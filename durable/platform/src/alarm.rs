//! The one alarm and its reasons: a turn whose run may be lost, a parked turn whose calls may expire, a queued turn that
//! asks for its place again, a queued message whose turn comes next, a title that a model makes, and news that D1 has not
//! taken.
//!
//! One alarm serves many reasons (`storage/schedule.rs`, pure). One statement reads all of them. The row of a turn
//! says that it runs, and the outbox that D1 has not heard of everything; the `timers` table has the rest, which is
//! rare. While a turn runs the alarm goes off after 2, 4 and 8 s, and then every 10 s. The first alarm posts the
//! turn's start for D1. The others find the run in memory and write no row. After a kill an overdue alarm fires before
//! the first request is served. So a lost turn goes on at once when somebody asks, and within twelve seconds when
//! nobody does: the platform seldom takes an object that has work pending, so a closer watch would cost every turn
//! more than it brings a few. The handler re-arms first, starts work and returns. It never fails, because the platform
//! retries a failed handler on its own terms (six times, each wait twice as long). Where it cannot read its state it
//! sets the alarm all the same. The next request to the object takes a lost turn up as well.

use std::rc::Rc;

use futures::future::{Either, join, join5, select};
use futures::{FutureExt, pin_mut};

use crate::adapters::{files, knowledge, records, telemetry};
use crate::sessions::telling;
use crate::storage::outgoing::{News, Outgoing};
use crate::storage::schedule::{Due, DueNews, Schedule};
use crate::storage::turn::{ERASED, Reason};
use crate::storage::{StoreError, tell};
use engine::journal::FailureRecord;
use wire::protocol::ApiError;
use wire::redact::redacted;

use super::drain::{Batch, Drain, Retry, Step};
use super::thread::{PUT_OFF_MS, Thread};
use super::{accounts, compose};

/// How long D1 may take for a batch before it counts as refused: its own limit for a query is 30 s.
const D1_MS: u64 = 30_000;
/// The age up to which no erasure can have missed an unlisted thread: one that began after the thread has not ended.
const YOUNG_MS: u64 = 60_000;

impl Thread {
    /// Re-arms first, counts the attempt that it makes, starts the work and returns. It never fails: the platform would
    /// retry a handler that fails on terms of its own. Requests may come while the count is written, so the code after
    /// it reads the storage again.
    pub async fn on_alarm(self: &Rc<Self>) {
        let due = self.rearm().unwrap_or_else(|error| {
            worker::console_error!("re-arming: {error}");
            // The timers cannot be read. The next alarm reads them again.
            if let Err(error) = self.store.set_alarm(self.clock.now_ms() + PUT_OFF_MS) {
                worker::console_error!("no alarm: {error}");
            }
            Due::default()
        });
        if let Err(error) = self.announce(due.parked, due.queued).await {
            worker::console_error!("counting an attempt: {error}");
        }
        if let Err(error) = self.revive() {
            worker::console_error!("taking up a turn: {error}");
        }
        if due.parked
            && let Err(error) = self.expire()
        {
            worker::console_error!("ending a wait: {error}");
        }
        if due.queued {
            self.ask_for_place();
        }
        if due.messages {
            self.start_next();
        }
        if let Some(news) = due.news {
            let thread = Rc::clone(self);
            self.state.wait_until(async move { thread.drain(news == DueNews::All).await });
        }
        if due.notices {
            telling::spawn(self);
        }
        if due.title {
            self.begin_naming();
        }
        if due.erase {
            let thread = Rc::clone(self);
            self.state.wait_until(async move { thread.erase().await });
        }
        if due.records {
            let thread = Rc::clone(self);
            self.state.wait_until(async move { thread.send_records(true).await });
        }
    }

    /// Leaves everything as it is, because another version of the code may come. Only the alarm is set again: without it
    /// the object would forget a turn that runs or waits.
    pub fn put_off(&self, why: &ApiError) {
        worker::console_error!("put off: {why}");
        if let Err(error) = self.store.set_alarm(self.clock.now_ms() + PUT_OFF_MS) {
            worker::console_error!("no alarm: {error}");
        }
    }

    /// Restarts the object, so that the streams of a lost instance break at once and their clients reconnect; otherwise
    /// these streams would hang until the clients give up. The next alarm takes up the turn.
    pub async fn start_over(self: &Rc<Self>) {
        if let Err(error) = self.rearm() {
            worker::console_error!("re-arming: {error}");
            return self.on_alarm().await;
        }
        let thread = Rc::clone(self);
        self.state.wait_until(async move {
            // After this alarm has returned, so that it counts as done.
            thread.clock.sleep(1).await;
            let lost = async { Err::<(), _>(worker::Error::RustError("the instance was lost".to_owned())) };
            if let Err(error) = thread.state.block_concurrency_while(lost).await {
                worker::console_error!("starting over: {error}");
            }
        });
    }

    /// Sets the alarm by the state of the thread, and returns the work that is due. The first alarm of a turn in this
    /// memory posts the turn's start; the others write no row.
    fn rearm(&self) -> Result<Due, StoreError> {
        if !self.store.exists()? {
            return Ok(Due::default());
        }
        let now = self.clock.now_ms();
        if let Some(turn) = self.store.open_turn()? {
            self.store.post_start(turn.seq_first, now)?;
        }
        let schedule = self.store.schedule()?;
        if self.run().is_some() {
            self.store.heartbeat.beat(now);
        }
        self.store.arm_by(&schedule, now)?;
        Ok(schedule.due(now))
    }

    /// Tells D1 every row of the outbox that is due, one parcel after another; `drain.rs` says in which steps. `due`: the
    /// alarm says that it is time; otherwise a D1 that has refused rows is left alone until then.
    pub async fn drain(&self, due: bool) {
        if self.draining.replace(true) {
            return;
        }
        if let Err(error) = self.drain_once(due).await {
            worker::console_error!("outbox: {error}");
        }
        self.draining.set(false);
    }

    /// Carries out the steps of a [`Drain`]. Only [`Step::Tell`] awaits: the platform makes the writes between two of
    /// them durable together.
    async fn drain_once(&self, due: bool) -> Result<(), StoreError> {
        if !self.store.exists()? {
            return Ok(());
        }
        let mut drain = Drain::new(due);
        // The rows of the parcel that was read last.
        let mut rows = Ok(Vec::new());
        // The state of the thread after a delivery; mostly it says that nothing is left to read.
        let mut left: Option<Schedule> = None;
        loop {
            match drain.next() {
                Step::Read => {
                    let now = self.clock.now_ms();
                    let parcel = match &left {
                        Some(schedule) if !schedule.has_due_news(now) => None,
                        _ => self.store.parcel(now)?,
                    };
                    drain.read(parcel.map(|parcel| {
                        rows = parcel.rows;
                        Batch { ids: parcel.ids, attempts: parcel.attempts }
                    }));
                    continue;
                }
                Step::Tell(batch) => {
                    left = None;
                    let batch = batch.clone();
                    let answer = self.tell(std::mem::replace(&mut rows, Ok(Vec::new()))).await;
                    drain.answered(batch, answer);
                    continue;
                }
                Step::Delete(ids) => self.store.delivered(ids)?,
                Step::Trim => {
                    match compose::kept_turns(&self.deployment) {
                        Ok(keep) => self.store.trim(keep)?,
                        Err(error) => worker::console_error!("nothing is trimmed: {error}"),
                    }
                    left = Some(self.store.schedule()?);
                }
                Step::Report { batch, error } => {
                    let refusals = batch.attempts.saturating_add(1);
                    worker::console_error!("outbox: rows {:?}, refused {refusals} times: {error}", batch.ids);
                    self.report("outbox", "d1", "outbox_refused", &error.to_string())?;
                }
                Step::Count(batch) => self.store.refused(&batch.ids)?,
                Step::Retry(Retry { wait_ms, keep_earlier }) => {
                    let retry_at = self.clock.now_ms() + wait_ms;
                    match keep_earlier {
                        true => self.store.hasten_timer(Reason::Outbox, retry_at)?,
                        false => self.store.set_timer(Reason::Outbox, retry_at)?,
                    }
                    self.store.arm(self.clock.now_ms())?;
                }
                Step::Rest => self.rest(left.take())?,
                Step::Done => return Ok(()),
            }
            drain.written();
        }
    }

    /// Clears the timer of the outbox, and sets the alarm by the state of the thread, where a caller has just read it.
    fn rest(&self, state: Option<Schedule>) -> Result<(), StoreError> {
        let mut schedule = state.map_or_else(|| self.store.schedule(), Ok)?;
        if schedule.timers.outbox.take().is_some() {
            self.store.clear_timer(Reason::Outbox)?;
        }
        // Records are still on their way. Their end sets the alarm, and the earlier one stands until then.
        if self.sending.is_under_way() {
            return Ok(());
        }
        self.store.arm_by(&schedule, self.clock.now_ms())
    }

    /// Whether all data of the thread's user was erased since the thread began. Then the thread goes, too.
    pub(crate) async fn was_erased(&self) -> Result<bool, StoreError> {
        let Some(thread) = self.store.meta()?.and_then(|meta| meta.thread) else { return Ok(false) };
        let asking = tell::was_erased(&self.env, &thread.owner, thread.created_at);
        let was_erased = asking.await?;
        // Meanwhile it may have been deleted: a timer would wake what is left of it for ever.
        if was_erased && self.store.meta()?.is_some_and(|meta| meta.thread.is_some()) {
            self.store.set_timer(Reason::Erase, ERASED)?;
            self.store.arm(self.clock.now_ms())?;
        }
        Ok(was_erased)
    }

    /// Whether an erasure missed this thread: it finds the threads of which D1 has heard, and D1 does not hear of one that
    /// stands in no list. An erasure takes longer than a minute, so a younger thread of that kind need not ask.
    async fn was_missed(&self, erase_at: Option<u64>) -> Result<bool, StoreError> {
        if erase_at == Some(ERASED) {
            return Ok(true);
        }
        let thread = self.store.meta()?.and_then(|meta| meta.thread);
        let age = thread.map_or(0, |thread| self.clock.now_ms().saturating_sub(thread.created_at));
        let may_be = self.store.has_refused_news()? || (erase_at.is_some() && age > YOUNG_MS);
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

    async fn tell(&self, rows: Result<Vec<Outgoing>, StoreError>) -> Result<(), StoreError> {
        let rows = rows?;
        let present = self.store.present(rows.iter().flat_map(Outgoing::message_ids))?;
        let all: Vec<Outgoing> = rows.into_iter().map(|row| row.told_now(&present)).collect();
        let erase_at = self.store.timer(Reason::Erase)?;
        let unlisted: Option<Vec<Outgoing>> =
            erase_at.is_some().then(|| all.iter().cloned().filter_map(Outgoing::unlisted).collect());
        let rows = unlisted.as_deref().unwrap_or(&all);
        let was_missed = self.was_missed(erase_at).shared();
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

    /// Posts a failure outside of a turn for D1, if the object has a thread. While the outbox has a refused row it posts
    /// nothing, so that an outage does not fill the outbox with failures.
    pub fn report(&self, component: &str, stage: &str, code: &str, message: &str) -> Result<(), StoreError> {
        if self.store.has_refused_news()? {
            return Ok(());
        }
        let id = self.clock.now_ms().to_string();
        self.post_failure((component, stage), &id, code, message)
    }

    /// Posts a failure outside of a turn for D1, whatever the outbox holds. `id` makes it unique among those of its
    /// component.
    pub fn post_failure(
        &self,
        (component, stage): (&str, &str),
        id: &str,
        code: &str,
        message: &str,
    ) -> Result<(), StoreError> {
        let Some(thread) = self.store.meta()?.and_then(|meta| meta.thread) else { return Ok(()) };
        let now = self.clock.now_ms();
        let failure = FailureRecord {
            id: format!("{component}_{id}"),
            component: component.to_owned(),
            stage: stage.to_owned(),
            tool_name: None,
            code: code.to_owned(),
            message: redacted(message),
        };
        let news = News::Failed { failure, created_at: now };
        self.store.post(&Outgoing::new(&thread.owner, thread.thread_id, news), now)?;
        self.store.arm(now)
    }
}
