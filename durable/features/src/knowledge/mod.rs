//! Long-term knowledge of a user: memories, written by models, and collections of documents, uploaded by people.

pub mod chunks;
pub mod collections;
pub mod embeddings;
pub mod memories;
mod port;
pub mod retrieved;
pub mod search;
#[cfg(target_arch = "wasm32")]
pub mod store;
#[cfg(test)]
mod turn_tests;

pub use port::{Collections, KnowledgeError, Memories, Remembered};
