//! Whether a thread is out of use, for the retention.

/// A thread, as its object knows it.
#[derive(Clone, Copy, Debug)]
pub struct Use {
    /// A turn has no end: it runs, or it waits for a person, however long.
    pub has_open_turn: bool,
    /// When its newest message came, or the newest step of its workflow session.
    pub at: u64,
}

impl Use {
    /// Whether nobody has used the thread since a time.
    pub fn is_over(self, unused_since: u64) -> bool {
        !self.has_open_turn && self.at <= unused_since
    }
}

#[cfg(test)]
mod tests {
    use super::Use;

    // Issue 23, 1
    #[test]
    fn the_retention_takes_no_thread_that_is_in_use() {
        let is_over = |has_open_turn, at| Use { has_open_turn, at }.is_over(100);
        assert_eq!([99, 100, 101].map(|at| is_over(false, at)), [true, true, false]);
        assert_eq!([99, 100, 101].map(|at| is_over(true, at)), [false; 3], "its turn may wait for a person");
    }
}
