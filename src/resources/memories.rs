//! The service's memories of a user.

use super::words::*;

#[cfg(target_arch = "wasm32")]
use crate::routes::memories;
#[cfg(test)]
use wire::protocol::MemoryList;

routes! {
    /// Lists the service's memories of the user, newest first.
    Get "/api/memories" => Memories, Needs(Read), Nothing, Reads,
        |r| memories::list(r.call, r.caller.owner()?),
        |row| row.pages().gives::<MemoryList>(200);
    /// Deletes all memories of the user.
    Delete "/api/memories" => ForgetMemories, Needs(Write), Nothing, Deletes,
        |r| memories::clear(r.call, r.caller.owner()?),
        |row| row.gives_nothing("They are forgotten.");
    /// Deletes one memory of the user.
    Delete "/api/memories/{}" => ForgetMemory(memory), Needs(Write), Nothing, Deletes,
        |r| memories::forget(r.call, r.caller.owner()?, memory),
        |row| row.gives_nothing("It is forgotten.").refuses(&[E::MemoryNotFound]);
}

/// The table `memories`.
pub const TABLE: Table = users(
    "memories",
    Rows {
        key: &["id"],
        line: Some("memory"),
        columns: &["id", "thread_id", "content", "created_at", "updated_at", "turn_seq", "beside"],
        withheld: &["number", "tenant", "user_id", "terms", "scope"],
        ..ROWS
    },
    100,
);
