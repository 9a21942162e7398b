//! The duties of a thread, by name.

use std::rc::Rc;

use super::driver::{self, Debtor};
use super::outbox::Outbox;
use crate::adapters::records::Records;
use crate::adapters::titles::WishedTitle;
use crate::place::Place;
use crate::sessions::telling::Notices;
use crate::storage::StoreError;
use crate::storage::turn::Reason;
use crate::thread::Thread;

impl Debtor for Thread {
    fn is_gone(&self, reason: Reason) -> Result<bool, StoreError> {
        // The news of a thread outlive it: they say that it was deleted.
        Ok(reason != Reason::Outbox && self.store.meta()?.is_none_or(|meta| meta.thread.is_none()))
    }

    fn ask_again(&self, reason: Reason, wait_ms: u64, keep_earlier: bool) -> Result<(), StoreError> {
        let now = self.clock.now_ms();
        match keep_earlier {
            true => self.store.hasten_timer(reason, now + wait_ms)?,
            false => self.store.set_timer(reason, now + wait_ms)?,
        }
        self.store.arm(now)
    }
}

impl Thread {
    /// Fulfils a duty without anybody waiting for it.
    pub fn begin(self: &Rc<Self>, reason: Reason, due: bool) {
        let thread = Rc::clone(self);
        self.state.wait_until(async move { thread.fulfil(reason, due).await });
    }

    /// Fulfils a duty, unless that is under way. `due`: the alarm says that it is time; otherwise a side that has refused
    /// parcels is left alone until then.
    pub async fn fulfil(self: &Rc<Self>, reason: Reason, due: bool) {
        let Some(_begun) = self.duties.begin(reason) else { return };
        match self.store.exists() {
            Ok(true) => {}
            Ok(false) => return,
            Err(error) => return worker::console_error!("{}: {error}", reason.as_str()),
        }
        let thread = self.as_ref();
        let fulfilled = match reason {
            Reason::Outbox => driver::fulfil(thread, &mut Outbox::new(self), due).await,
            Reason::Records => driver::fulfil(thread, &mut Records::new(self), due).await,
            Reason::Notices => driver::fulfil(thread, &mut Notices::new(self), due).await,
            Reason::Title => driver::fulfil(thread, &mut WishedTitle::new(self), due).await,
            Reason::Turn => {
                let asked = driver::fulfil(thread, &mut Place::new(self), due).await;
                asked.inspect_err(|_| self.lose_place())
            }
            // These timers wake the object for its own work: it delivers nothing.
            Reason::Parked | Reason::Queued | Reason::Messages | Reason::Erase => Ok(()),
        };
        if let Err(error) = fulfilled {
            worker::console_error!("{}: {error}", reason.as_str());
        }
    }
}
