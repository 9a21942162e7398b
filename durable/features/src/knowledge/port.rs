//! The storage ports of memories and collections.

use futures::future::LocalBoxFuture;

use wire::protocol::{Memory, Passage};
use wire::store::StoreError;

/// The memories of one user across threads.
pub trait Memories {
    /// Remembers a text, unless it is already a memory. The operation names the memory, so a repeated call writes the
    /// same one.
    fn remember(
        &self,
        content: &str,
        operation: &str,
        now_ms: u64,
    ) -> LocalBoxFuture<'static, Result<Remembered, StoreError>>;
    /// The memories that match the question, best first; without a question, the newest.
    fn recall(
        &self,
        question: Option<&str>,
        limit: u32,
    ) -> LocalBoxFuture<'static, Result<Vec<Memory>, StoreError>>;
    /// Forgets a memory. Returns whether it existed.
    fn forget(&self, id: &str) -> LocalBoxFuture<'static, Result<bool, StoreError>>;
}

/// The outcome of `remember`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Remembered {
    /// It is a memory with this id.
    Stored(String),
    /// It was one before.
    Known(String),
    /// The user has as many as may be.
    Full,
}

/// The documents of one user's collections.
pub trait Collections {
    /// The pieces of documents of these collections that have words of the question, best first.
    fn search(
        &self,
        collections: &[String],
        question: &str,
        limit: u32,
    ) -> LocalBoxFuture<'static, Result<Vec<Passage>, StoreError>>;
}
