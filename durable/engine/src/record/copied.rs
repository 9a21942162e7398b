//! The bytes of agents that a turn's journal has beside its conversations: a copy of an agent, a restored one and a dump have
//! all that the agent remembers, and a model asks for many of them in one reply.

use crate::journal::MAX_COPIED_BYTES;
use crate::ports::ToolError;

/// The bytes of rounds that made agents brought, and of the dumps that were written. Derived from the journal.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Copied(usize);

impl Copied {
    pub(crate) fn add(&mut self, bytes: usize) {
        self.0 = self.0.saturating_add(bytes);
    }

    /// Refuses so many more bytes where the turn would have too many then. The model reads the error.
    pub(crate) fn check(self, more: usize) -> Result<(), ToolError> {
        let bytes = self.0.saturating_add(more);
        match more > 0 && bytes > MAX_COPIED_BYTES {
            true => Err(ToolError(format!(
                "the agents that this turn copies, restores and dumps would have {bytes} bytes of memory, and the limit \
                 of a turn is {MAX_COPIED_BYTES}: go on without it, or do it in the next turn"
            ))),
            false => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Issue 45, 14
    #[test]
    fn a_turn_copies_at_most_so_many_bytes() {
        let mut copied = Copied::default();
        copied.add(MAX_COPIED_BYTES - 1);
        assert!(copied.check(1).is_ok());
        let refusal = copied.check(2).unwrap_err().0;
        assert!(refusal.contains("would have 8000001 bytes of memory, and the limit of a turn is 8000000"));
        copied.add(2);
        assert!(copied.check(0).is_ok(), "an agent without a memory has no bytes");
        assert!(copied.check(1).is_err());
    }
}
