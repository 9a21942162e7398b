//! The records of turns: the journal of an ended turn with all that its requests were made of, one object of R2 in JSON
//! lines. From it each request of each level can be rebuilt, whatever the code is later (`espalier-replay`).
//!
//! This feature owns the format, the bounds and the keys. The thread's object keeps a journal until R2 has taken its
//! record. The feature has no tools.

mod config;
pub mod format;
pub mod key;
mod redacted;
mod shorten;
#[cfg(target_arch = "wasm32")]
pub mod store;
#[cfg(test)]
mod tests;
mod withheld;

pub use config::kept;
pub use redacted::{Redactor, redacted};
pub use shorten::record;
pub use withheld::is_withheld;

/// The most bytes of one record. A longer one has shortened results.
pub const MAX_BYTES: usize = 8 << 20;
/// The most bytes of journals that wait in an object while R2 takes no records.
const MAX_WAITING_BYTES: u64 = 24 << 20;

/// How many of the oldest journals have no room. `waiting`: the bytes of each, the oldest first.
pub fn too_many(waiting: &[u64]) -> usize {
    let kept = waiting.iter().rev().scan(0_u64, |sum, bytes| {
        *sum += bytes;
        (*sum <= MAX_WAITING_BYTES).then_some(())
    });
    waiting.len() - kept.count()
}
