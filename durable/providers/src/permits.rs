//! Limits how many operations run at the same time. Single-threaded and without a queue: a returned permit wakes all
//! waiting operations.

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::rc::Rc;
use std::task::{Poll, Waker};

#[cfg(test)]
mod tests;

/// Fetches that may await their headers at the same time. Workers has 6 such connections for an invocation, and the
/// seventh waits: <https://developers.cloudflare.com/workers/platform/limits/#simultaneous-open-connections>. One stays
/// free for requests of the platform itself.
pub const FETCHES: usize = 5;

/// The permits. Clones share them.
#[derive(Clone, Debug)]
pub struct Permits(Rc<Shared>);

#[derive(Debug)]
struct Shared {
    free: Cell<usize>,
    waiting: RefCell<Vec<Waker>>,
}

/// A permit. Dropping it returns it.
#[derive(Debug)]
pub struct Permit(Rc<Shared>);

impl Permits {
    pub fn new(count: usize) -> Self {
        Permits(Rc::new(Shared { free: Cell::new(count), waiting: RefCell::new(Vec::new()) }))
    }

    /// Waits until a permit is free.
    pub async fn acquire(&self) -> Permit {
        poll_fn(|context| {
            let shared = &self.0;
            if let Some(left) = shared.free.get().checked_sub(1) {
                shared.free.set(left);
                return Poll::Ready(Permit(Rc::clone(shared)));
            }
            let mut waiting = shared.waiting.borrow_mut();
            if !waiting.iter().any(|waker| waker.will_wake(context.waker())) {
                waiting.push(context.waker().clone());
            }
            Poll::Pending
        })
        .await
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.0.free.set(self.0.free.get() + 1);
        // Wakes all waiting operations, because waking only one could wake a dropped one. Takes the wakers out first,
        // because a waker may call back into this code.
        let waiting = self.0.waiting.take();
        waiting.into_iter().for_each(Waker::wake);
    }
}
