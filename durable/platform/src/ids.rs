//! Ids.

use uuid::{NoContext, Timestamp, Uuid};

/// A UUIDv7: it sorts by its time.
pub fn new_id(now_ms: u64) -> String {
    let nanoseconds = u32::try_from(now_ms % 1_000).unwrap_or(0) * 1_000_000;
    Uuid::new_v7(Timestamp::from_unix(NoContext, now_ms / 1_000, nanoseconds)).to_string()
}
