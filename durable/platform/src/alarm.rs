//! The one alarm and its reasons: a turn whose run may be lost, a parked turn whose calls may expire, a queued message
//! whose turn comes next, and the duties (`duties/mod.rs`).
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

use crate::storage::outgoing::{News, Outgoing};
use crate::storage::schedule::{Due, DueNews};
use crate::storage::turn::{ERASED, Reason};
use crate::storage::{StoreError, tell};
use engine::journal::FailureRecord;
use wire::protocol::ApiError;
use wire::redact::redacted;

use super::thread::{PUT_OFF_MS, Thread};

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
        if due.messages {
            self.start_next();
        }
        if due.erase {
            let thread = Rc::clone(self);
            self.state.wait_until(async move { thread.erase().await });
        }
        if let Some(news) = due.news {
            self.begin(Reason::Outbox, news == DueNews::All);
        }
        let duties = [
            (due.queued, Reason::Turn),
            (due.notices, Reason::Notices),
            (due.title, Reason::Title),
            (due.records, Reason::Records),
        ];
        for (_, reason) in duties.into_iter().filter(|(is_due, _)| *is_due) {
            self.begin(reason, true);
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
