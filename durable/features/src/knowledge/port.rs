//! What the tools of memories and collections need of a storage.

use futures::future::LocalBoxFuture;

use wire::protocol::{Memory, Passage};

/// What is remembered about one user from one thread to the next.
pub trait Memories {
    /// Remembers a text, unless it is there already. The operation is the memory's name: done again, it is the same one.
    fn remember(
        &self,
        content: &str,
        operation: &str,
        now_ms: u64,
    ) -> LocalBoxFuture<'static, Result<Remembered, KnowledgeError>>;
    /// The memories that have words of the question, best first; the newest ones where nothing is asked.
    fn recall(
        &self,
        question: Option<&str>,
        limit: u32,
    ) -> LocalBoxFuture<'static, Result<Vec<Memory>, KnowledgeError>>;
    /// Forgets a memory; whether it was there.
    fn forget(&self, id: &str) -> LocalBoxFuture<'static, Result<bool, KnowledgeError>>;
}

/// What became of something that was to be remembered.
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
    ) -> LocalBoxFuture<'static, Result<Vec<Passage>, KnowledgeError>>;
}

/// The index did not answer, or refused; the text is for the operator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnowledgeError(pub String);
