//! The numbers of a thread's events: drawn in memory from a block that was reserved on disk, so that a crash skips
//! numbers and never uses one twice. Pure; the caller writes the reservations.

use std::cell::Cell;

use wire::protocol::Seq;

/// How many numbers a reservation covers.
const BLOCK: Seq = 4_096;
/// A commit renews the reservation when fewer are left, so that a model call announces its chunks without a write.
const LOW: Seq = 1_024;

/// The numbers of one thread. The object and its log alone hold it.
#[derive(Debug)]
pub struct Numbers {
    next: Cell<Seq>,
    /// The first number that is not reserved on disk.
    reserved: Cell<Seq>,
}

impl Numbers {
    /// Goes on after the reservation: the numbers that an earlier life left of its block are skipped.
    pub fn after(reserved: Seq) -> Self {
        Numbers { next: Cell::new(reserved), reserved: Cell::new(reserved) }
    }

    /// The number that comes next.
    pub fn next(&self) -> Seq {
        self.next.get()
    }

    /// The first number that is not reserved.
    pub fn reserved(&self) -> Seq {
        self.reserved.get()
    }

    /// The reservation that must be written before so many numbers more are drawn.
    pub fn due(&self, count: usize) -> Option<Seq> {
        let end = self.next.get() + count as Seq;
        (end + LOW > self.reserved.get()).then_some(end + BLOCK)
    }

    /// A reservation was written, or taken back with its transaction.
    pub fn set_reserved(&self, reserved: Seq) {
        self.reserved.set(reserved);
    }

    /// Whether the next number has no reservation.
    pub fn exhausted(&self) -> bool {
        self.next.get() >= self.reserved.get()
    }

    /// Draws a number.
    pub fn draw(&self) -> Seq {
        let seq = self.next.get();
        self.next.set(seq + 1);
        seq
    }
}
