//! Long-term knowledge of a user: memories, which models write, and collections of documents, which people upload.

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

use engine::toolbelt::ToolSpec;
pub use port::{Collections, KnowledgeError, Memories, Remembered};

/// The declarations of the tools.
pub(super) fn specs() -> impl Iterator<Item = ToolSpec> {
    memories::specs().chain([collections::spec()])
}
