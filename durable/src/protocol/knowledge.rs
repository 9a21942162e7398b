//! What is known beyond a thread: the memories of a user, and the collections of documents.

use serde::{Deserialize, Serialize};
#[cfg(test)]
use ts_rs::TS;

/// Something that is remembered about a user from one thread to the next.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct Memory {
    pub id: String,
    pub content: String,
    pub created_at: u64,
    /// When it was last said.
    pub updated_at: u64,
}

/// A page of a user's memories, newest first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct MemoryList {
    pub memories: Vec<Memory>,
    pub next_cursor: Option<String>,
}
