//! The one alarm and its reasons: a turn whose run may be lost, a parked turn whose time is over, a queued turn that
//! asks for its place again, news that D1 has not taken.

use std::collections::BTreeSet;
use std::rc::Rc;

use futures::future::{Either, join, select};
use futures::{FutureExt, pin_mut};

use crate::storage::outgoing::{News, Outgoing, retry_after_ms};
use crate::storage::thread::{Reason, TurnRow, TurnStatus};
use crate::storage::{StoreError, tell};
use engine::journal::Failure;
use features::files::FilesError; // feature: files
use features::files::store::R2Files; // feature: files
use wire::protocol::ApiError;
use wire::redact::redacted;

use super::thread::{PUT_OFF_MS, Thread, WATCH_MS};
use super::{accounts, compose};

/// How long D1 may take for a batch before it counts as refused: its own limit for a query is 30 s.
const D1_MS: u64 = 30_000;

/// What the alarm has to do beside taking up a lost turn.
#[derive(Default)]
struct Due {
    /// Calls of a parked turn have waited long enough.
    parked: bool,
    /// A queued turn may ask for its place again.
    queued: bool,
    outbox: bool,
}

impl Thread {
    /// Re-arms first, counts the attempt that it makes, starts the work and returns. Never fails: a handler that does is
    /// retried on the platform's terms instead of ours. Requests may come while the count is written, so all that
    /// follows reads anew what there is to do.
    pub async fn on_alarm(self: &Rc<Self>) {
        let due = self.rearm().unwrap_or_else(|error| {
            worker::console_error!("re-arming: {error}");
            // The timers cannot be read: what they are for is found out by the next alarm.
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
        if due.outbox {
            let thread = Rc::clone(self);
            self.state.wait_until(async move { thread.drain(true).await });
        }
    }

    /// Leaves everything as it is until another version of the code may be there. Only the alarm is set again: without it
    /// a turn that runs, or waits, would be forgotten.
    pub fn put_off(&self, why: &ApiError) {
        worker::console_error!("put off: {why}");
        if let Err(error) = self.store.set_alarm(self.clock.now_ms() + PUT_OFF_MS) {
            worker::console_error!("no alarm: {error}");
        }
    }

    /// Has the platform make this object anew. Responses that an instance streamed which is gone would hang until
    /// their clients lose patience: so they break at once, and clients come back to where they were. The next alarm
    /// takes up the turn.
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

    /// Sets the timers by what is to be done, and the alarm by the timers. What is due.
    fn rearm(&self) -> Result<Due, StoreError> {
        let mut due = Due::default();
        if !self.store.exists()? {
            return Ok(due);
        }
        let now = self.clock.now_ms();
        let is_due =
            |reason| Ok::<_, StoreError>(self.store.timer(reason)?.is_none_or(|due_at| due_at <= now));
        let open = self.store.open_turn()?;
        let status = open.as_ref().map(|turn| turn.status);
        match &open {
            Some(TurnRow { status: TurnStatus::Running, .. }) if self.is_queued()? => {
                due.queued = is_due(Reason::Turn)?;
                if due.queued {
                    self.store.set_timer(Reason::Turn, now + WATCH_MS)?;
                }
            }
            Some(TurnRow { status: TurnStatus::Running, failing, .. }) => {
                let retry_at = failing.map_or(0, |failing| failing.retry_at_ms);
                self.store.set_timer(Reason::Turn, retry_at.max(now + WATCH_MS))?;
            }
            _ => {
                self.store.clear_timer(Reason::Turn)?;
                self.store.clear_timer(Reason::Queued)?;
            }
        }
        if status == Some(TurnStatus::Parked) {
            due.parked = is_due(Reason::Parked)?;
            if due.parked {
                self.store.set_timer(Reason::Parked, now + WATCH_MS)?;
            }
        } else {
            self.store.clear_timer(Reason::Parked)?;
        }
        match self.store.next_news()? {
            Some(_) => {
                due.outbox = is_due(Reason::Outbox)?;
                if due.outbox {
                    self.store.set_timer(Reason::Outbox, now + WATCH_MS)?;
                }
            }
            None => self.store.clear_timer(Reason::Outbox)?,
        }
        self.store.arm()?;
        Ok(due)
    }

    /// Tells D1 all that it has not heard of, one batch after the other; a refusal is tried again later. `due`: the
    /// alarm says that it is time; otherwise a D1 that has refused is left alone until then.
    pub async fn drain(&self, due: bool) {
        if self.draining.replace(true) {
            return;
        }
        if let Err(error) = self.drain_once(due).await {
            worker::console_error!("outbox: {error}");
        }
        self.draining.set(false);
    }

    async fn drain_once(&self, due: bool) -> Result<(), StoreError> {
        if !self.store.exists()? {
            return Ok(());
        }
        // Whether D1 may be asked about what it has refused: it is time, or it has just taken something else.
        let (mut willing, mut took) = (due, false);
        let mut refused = Vec::new();
        while let Some(parcel) = self.store.parcel(self.clock.now_ms())? {
            if parcel.attempts > 0 && !willing {
                return Ok(());
            }
            if parcel.ids.iter().any(|id| refused.contains(id)) {
                return Ok(());
            }
            if let Err(error) = self.tell(parcel.rows).await {
                let refusals = parcel.attempts + 1;
                worker::console_error!("outbox: rows {:?}, refused {refusals} times: {error}", parcel.ids);
                // Before it counts as refused: told once an outage, when D1 is back.
                self.report("outbox", "d1", "outbox_refused", &error.to_string())?;
                self.store.refused(&parcel.ids)?;
                let retry_at = self.clock.now_ms() + retry_after_ms(refusals);
                match refused.is_empty() {
                    true => self.store.set_timer(Reason::Outbox, retry_at)?,
                    false => self.store.hasten_timer(Reason::Outbox, retry_at)?,
                }
                self.store.arm()?;
                refused.extend(parcel.ids);
                // A D1 that takes other rows is not down: those after this one need not wait.
                if took {
                    continue;
                }
                return Ok(());
            }
            self.store.delivered(&parcel.ids)?;
            (willing, took) = (true, true);
            match compose::kept_turns(&self.env) {
                Ok(keep) => self.store.trim(keep)?,
                Err(error) => worker::console_error!("nothing is trimmed: {error}"),
            }
        }
        match self.store.next_news()? {
            Some(due_at) => self.store.set_timer(Reason::Outbox, due_at)?,
            None => self.store.clear_timer(Reason::Outbox)?,
        }
        self.store.arm()
    }

    async fn tell(&self, rows: Result<Vec<Outgoing>, StoreError>) -> Result<(), StoreError> {
        let title = self.store.title()?.unwrap_or_default();
        let mut now = Vec::new();
        for row in rows? {
            let replaced = match row.message_id() {
                Some(id) => !self.store.has_message(id)?,
                None => false,
            };
            now.push(row.told_now(&title, replaced));
        }
        let rows = now;
        // All of them, whatever becomes of the others: what is told twice changes nothing.
        let telling = join(tell::tell(&self.env, &rows), accounts::tell(&self.env, &self.clock, &rows));
        let telling = telling.map(|(index, quotas)| index.and(quotas));
        let telling = join(telling, self.delete_files(&rows)).map(|(told, files)| told.and(files)); // feature: files
        pin_mut!(telling);
        match select(telling, self.clock.sleep(D1_MS)).await {
            Either::Left((told, _)) => told,
            Either::Right(_) => Err(StoreError("D1 did not answer".to_owned())),
        }
    }

    // feature: files
    /// Deletes the files of deleted threads.
    async fn delete_files(&self, rows: &[Outgoing]) -> Result<(), StoreError> {
        let roots = rows.iter().filter_map(|row| match &row.news {
            News::ThreadDeleted { workspace_root } => workspace_root.as_deref(),
            _ => None,
        });
        let roots: BTreeSet<&str> = roots.collect();
        let Some(files) = R2Files::new(&self.env) else { return Ok(()) };
        for root in roots {
            files.delete_all(root).await.map_err(|FilesError(error)| StoreError(format!("R2: {error}")))?;
        }
        Ok(())
    }
    // end

    /// Tells D1 of a failure outside of a turn, where there is a thread to tell it of. While D1 refuses something it is
    /// told of nothing more, so that the outbox does not grow with what fails meanwhile.
    pub fn report(&self, component: &str, stage: &str, code: &str, message: &str) -> Result<(), StoreError> {
        let Some(thread) = self.store.meta()?.and_then(|meta| meta.thread) else { return Ok(()) };
        if self.store.has_refused_news()? {
            return Ok(());
        }
        let now = self.clock.now_ms();
        let failure = Failure {
            id: format!("{component}_{now}"),
            component: component.to_owned(),
            stage: stage.to_owned(),
            tool_name: None,
            code: code.to_owned(),
            message: redacted(message),
        };
        let news = News::Failed { failure, created_at: now };
        self.store.post(&Outgoing::new(&thread.owner, thread.thread_id, news), now)?;
        self.store.hasten_timer(Reason::Outbox, now + WATCH_MS)?;
        self.store.arm()
    }
}
