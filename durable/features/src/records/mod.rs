//! The records of turns: the journal of an ended turn with all that its requests were made of, one object of R2 in JSON
//! lines. From it each request of each level can be rebuilt, whatever the code is later (`espalier-replay`).
//!
//! This feature owns the format, the bounds and the keys. The thread's object keeps a journal until R2 has taken its
//! record. The feature has no tools.
//!
//! `durable/features/src/records` has the format, the bounds and the keys; the adapter
//! (`platform/src/adapters/records.rs`) stores. The journal of a turn that gets a record is not deleted at the turn's
//! end: its last entries and the record's last line go behind it in the same row, and it waits in its table. That
//! table is the outbox of records, so a record costs one row that is written once more. The run's last act puts the
//! record into R2 and then deletes the journal; the alarm does it where that memory is lost. The key names thread and
//! turn, so a repetition stores the same object. The journal is copied as its rows have it, without being parsed. The
//! conversation is read once more as the turn read it (`past.rs`): rows are append-only, and entry 0 has the turn's
//! summary. A turn that is given up writes no further line, because its journal may be impossible to write.
//!
//! R2 has a record whole. Everybody but an admin gets it without the words of the operator's hooks: `redacted.rs` puts
//! digests in their place, line by line while the record comes from R2, and holds one line. The export reads a record
//! whole, because its pieces begin anywhere. `Hook::digest` of a hook without its words is the digest that stands
//! there, so a replay finds the states of its hooks.
//!
//! The drain of records and that of news for D1 are apart: neither waits for the other, and the one that is over last
//! sets the alarm.

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
