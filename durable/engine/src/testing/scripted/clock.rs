//! The clock that only tests advance.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use futures::FutureExt;
use futures::future::LocalBoxFuture;

use crate::ports::Clock;

/// The clock of tests: time passes only where a test lets it.
#[derive(Default)]
pub struct FakeClock {
    now: Rc<Cell<u64>>,
    /// Whether time passes where somebody sleeps, so that each sleep ends at once.
    is_eager: bool,
    /// Milliseconds that pass at each reading of the clock.
    pub tick: Cell<u64>,
    sleepers: RefCell<Vec<(u64, futures::channel::oneshot::Sender<()>)>>,
}

impl FakeClock {
    /// A clock that shows this time.
    pub fn at(now_ms: u64) -> Self {
        FakeClock { now: Rc::new(Cell::new(now_ms)), ..FakeClock::default() }
    }

    /// A clock whose sleeps end at once: the time passes that they take.
    pub fn eager() -> Self {
        FakeClock { is_eager: true, ..FakeClock::default() }
    }

    /// Lets time pass, and wakes the sleepers whose time has come.
    pub fn pass(&self, ms: u64) {
        self.now.set(self.now.get() + ms);
        self.wake();
    }

    /// The number of sleeps that are still awaited.
    pub fn timers(&self) -> usize {
        self.sleepers.borrow().iter().filter(|(_, sender)| !sender.is_canceled()).count()
    }

    /// Sets the time.
    pub fn set(&self, now_ms: u64) {
        self.now.set(now_ms);
    }

    /// Advances to the earliest wake-up; false if there is none.
    pub fn advance_to_next(&self) -> bool {
        self.sleepers.borrow_mut().retain(|(_, sender)| !sender.is_canceled());
        let next = self.sleepers.borrow().iter().map(|(due, _)| *due).min();
        let Some(next) = next else { return false };
        self.now.set(self.now.get().max(next));
        self.wake();
        true
    }

    fn wake(&self) {
        let sleepers = std::mem::take(&mut *self.sleepers.borrow_mut());
        for (due, sender) in sleepers {
            if due <= self.now.get() {
                let _ = sender.send(());
            } else {
                self.sleepers.borrow_mut().push((due, sender));
            }
        }
    }
}

/// The zones that the clock of tests knows, with their offsets from UTC in minutes.
const ZONES: [(&str, i32); 3] = [("Europe/Berlin", 60), ("Asia/Kolkata", 330), ("America/St_Johns", -210)];

impl Clock for FakeClock {
    fn utc_offset_minutes(&self, _: u64, zone: &str) -> Option<i32> {
        ZONES.iter().find(|(name, _)| *name == zone).map(|(_, offset)| *offset)
    }

    fn now_ms(&self) -> u64 {
        self.now.set(self.now.get() + self.tick.get());
        self.now.get()
    }

    fn sleep(&self, ms: u64) -> LocalBoxFuture<'static, ()> {
        if self.is_eager {
            let now = Rc::clone(&self.now);
            return async move { now.set(now.get() + ms) }.boxed_local();
        }
        let (sender, receiver) = futures::channel::oneshot::channel();
        self.sleepers.borrow_mut().push((self.now.get() + ms, sender));
        receiver.map(|_| ()).boxed_local()
    }
}
