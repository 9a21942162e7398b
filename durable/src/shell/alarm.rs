//! The one alarm and its reasons: a turn whose run may be lost, news that D1 has not taken.

use std::rc::Rc;

use futures::future::{Either, select};
use futures::pin_mut;

use crate::storage::outgoing::retry_after_ms;
use crate::storage::thread::Reason;
use crate::storage::{StoreError, d1};

use super::thread::{Thread, WATCH_MS};

/// How long D1 may take for a batch before it counts as refused: its own limit for a query is 30 s.
const D1_MS: u64 = 30_000;

impl Thread {
    /// Re-arms first, starts the work and returns. Never fails: a handler that does is retried on the platform's terms
    /// instead of ours.
    pub fn on_alarm(self: &Rc<Self>) {
        let outbox_due = self.rearm().unwrap_or_else(|error| {
            worker::console_error!("re-arming: {error}");
            false
        });
        if let Err(error) = self.revive() {
            worker::console_error!("taking up a turn: {error}");
        }
        if outbox_due {
            let thread = Rc::clone(self);
            self.state.wait_until(async move { thread.drain(true).await });
        }
    }

    /// Sets the timers by what is to be done, and the alarm by the timers. Whether the outbox is due.
    fn rearm(&self) -> Result<bool, StoreError> {
        if !self.store.exists()? {
            return Ok(false);
        }
        let now = self.clock.now_ms();
        match self.store.running_turn()? {
            Some(_) => self.store.set_timer(Reason::Turn, now + WATCH_MS)?,
            None => self.store.clear_timer(Reason::Turn)?,
        }
        let mut outbox_due = false;
        if self.store.has_news()? {
            outbox_due = self.store.timer(Reason::Outbox)?.is_none_or(|due_at| due_at <= now);
            if outbox_due {
                self.store.set_timer(Reason::Outbox, now + WATCH_MS)?;
            }
        } else {
            self.store.clear_timer(Reason::Outbox)?;
        }
        self.store.arm()?;
        Ok(outbox_due)
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
        while let Some(parcel) = self.store.parcel()? {
            if parcel.attempts > 0 && !due {
                return Ok(());
            }
            let telling = d1::tell(&self.env, &parcel.rows);
            pin_mut!(telling);
            let told = match select(telling, self.clock.sleep(D1_MS)).await {
                Either::Left((told, _)) => told,
                Either::Right(_) => Err(StoreError("D1 did not answer".to_owned())),
            };
            if let Err(error) = told {
                self.store.refused(parcel.through)?;
                let retry_at = self.clock.now_ms() + retry_after_ms(parcel.attempts + 1);
                self.store.set_timer(Reason::Outbox, retry_at)?;
                self.store.arm()?;
                return Err(error);
            }
            self.store.delivered(parcel.through)?;
            if !self.store.has_news()? {
                self.store.clear_timer(Reason::Outbox)?;
                return self.store.arm();
            }
        }
        Ok(())
    }
}
