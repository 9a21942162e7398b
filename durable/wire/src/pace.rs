//! Work on the bytes of a client in stretches. One thread serves all requests of an isolate, so a request that works on
//! its body for long holds up everybody else. Between two stretches the others run.
//!
//! A unit of work is about 1.5 ns in a native build for size: reading one byte once. The other costs are multiples of it,
//! measured on 2026-11-27 with hostile texts of 1 MiB. Each stretch, and each piece of work that cannot be divided, is
//! below 10 ms by this measure.

use std::cell::Cell;
use std::future::ready;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};

use crate::protocol::ApiError;

/// The most units of a stretch: 2 to 5 ms.
pub const STRETCH: usize = 1 << 20;
/// The units of a byte that is read into our types: an escape in a text costs most, 3.8 ns a byte.
pub const BYTE_READ: usize = 3;
/// The units of a value that becomes a part of a tree: an object of one member costs most, 0.28 µs a value.
pub const VALUE_READ: usize = 200;

/// The time in which other requests run. An error says that the work has taken too long in all.
pub type Pause = Pin<Box<dyn Future<Output = Result<(), ApiError>>>>;

/// Counts work, and pauses between two stretches of it.
pub struct Pace<'p> {
    pause: &'p dyn Fn() -> Pause,
    left: Cell<usize>,
}

impl<'p> Pace<'p> {
    /// A pace that makes its pauses in this way.
    pub fn new(pause: &'p dyn Fn() -> Pause) -> Self {
        Pace { pause, left: Cell::new(STRETCH) }
    }

    /// Announces the next piece of work. Pauses first where the stretch has no room for it.
    pub async fn before(&self, units: usize) -> Result<(), ApiError> {
        if units > self.left.get() {
            self.pause().await?;
        }
        self.left.set(self.left.get().saturating_sub(units));
        Ok(())
    }

    /// Pauses, and begins a new stretch.
    pub async fn pause(&self) -> Result<(), ApiError> {
        (self.pause)().await?;
        self.left.set(STRETCH);
        Ok(())
    }
}

/// The units of work that it takes to read JSON of so many bytes and values.
pub fn reading(bytes: usize, values: usize) -> usize {
    bytes * BYTE_READ + values * VALUE_READ
}

/// A pause in which nobody else runs, for tests.
pub fn no_pause() -> Pause {
    Box::pin(ready(Ok(())))
}

/// The outcome of work that waits for nothing; none where it waits. For tests.
pub fn at_once<T>(work: impl Future<Output = T>) -> Option<T> {
    match pin!(work).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(done) => Some(done),
        Poll::Pending => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::ErrorCode;

    fn now<T>(work: impl Future<Output = T>) -> T {
        at_once(work).unwrap()
    }

    // Issue 42, H2: at the limit of a stretch, and just beyond it.
    #[test]
    fn a_stretch_has_a_limit() {
        let pauses = Cell::new(0);
        let pause = || -> Pause {
            pauses.set(pauses.get() + 1);
            no_pause()
        };
        let pace = Pace::new(&pause);
        for (units, expected) in [(STRETCH - 1, 0), (1, 0), (1, 1), (STRETCH - 1, 1), (1, 2), (2, 2)] {
            now(pace.before(units)).unwrap();
            assert_eq!(pauses.get(), expected, "{units}");
        }
        // Work that cannot be divided has a stretch of its own.
        for _ in 0..2 {
            now(pace.before(9 * STRETCH)).unwrap();
        }
        assert_eq!(pauses.get(), 4);
        now(pace.before(1)).unwrap();
        assert_eq!(pauses.get(), 5);
    }

    #[test]
    fn work_that_takes_too_long_ends_in_its_pause() {
        let pause = || -> Pause { Box::pin(ready(Err(ApiError::new(ErrorCode::Overloaded, "too long")))) };
        let pace = Pace::new(&pause);
        assert!(now(pace.before(STRETCH)).is_ok());
        assert_eq!(now(pace.before(1)).unwrap_err().code, ErrorCode::Overloaded);
    }
}
