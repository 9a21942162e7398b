//! The drain of records, as a thread keeps it in memory.

use std::cell::Cell;

/// The drain of records, in memory.
#[derive(Default)]
pub struct Sending {
    /// Records are stored one after another.
    pub now: Cell<bool>,
    /// How often R2 has refused a record since it took one.
    pub refusals: Cell<u32>,
}

impl Sending {
    /// Whether it is under way.
    pub fn is_under_way(&self) -> bool {
        self.now.get()
    }
}
