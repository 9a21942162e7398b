//! Long-term knowledge of a user: memories, written by models, and collections of documents, uploaded by people.
//!
//! Before the turn the object looks up the memories and the passages for a message. Entry 0 freezes them as a user
//! message before the user's own (`retrieved.rs`). It is data between marks that it cannot close (`marks.rs`). Pruning
//! keeps it longest of the earlier messages, and it is no part of the thread's history.
//!
//! The object looks up the collections that a request names before it admits the turn, because a missing one refuses
//! the request. It searches them after admission, because embedding a question costs the operator money. A request
//! that asks for neither reads nothing.
//!
//! Rust cuts texts and questions into the same words, so FTS5 sees letters and digits only, in any language. Each
//! expression names the token of its owner or of one of the owner's collections. So the index over all users returns
//! rows of one user alone. Scores are relative to these rows, so they do not show how often other users have a word.
//!
//! Tables and JSON become lines (`structured/`), which a packer gathers into chunks: between rows, and between items
//! and members. The character sets of documents are those that need no large table (`charset.rs`).
//!
//! With an embedding model, Vectorize also searches by meaning, behind the same port (`store/vectors.rs`). Its vectors
//! carry the same token and point to rows of D1. The row of a document is written before its vectors, without a
//! collection, and becomes the document's own with its chunks (`store/intents.rs`), so that a row names each vector.
//! `embeddings.rs` merges both lists by rank, because their scores cannot be compared. Workers AI reads PDFs
//! (`store/conversion.rs`): a library would have to be small, and a broken file must not panic in an instance that
//! serves everybody.

use std::rc::Rc;

use crate::marks::IS_DATA;
use engine::ports::Tool;
use engine::toolbelt::ToolSpec;

pub mod charset;
pub mod chunks;
pub mod collections;
pub mod embeddings;
mod guidance;
pub mod memories;
mod port;
pub mod retrieved;
pub mod search;
pub mod statements;
#[cfg(target_arch = "wasm32")]
pub mod store;
pub mod structured;
#[cfg(test)]
mod turn_tests;

pub use guidance::guidance;
pub use port::{Collections, Memories, Remembered};

/// The knowledge that a turn may use. A missing part registers no tools.
#[derive(Clone, Default)]
pub struct Knowledge {
    pub memories: Option<Rc<dyn Memories>>,
    pub searchable: Option<collections::Searchable>,
}

/// The tools over this knowledge.
pub fn tools(Knowledge { memories, searchable }: &Knowledge) -> impl Iterator<Item = Rc<dyn Tool>> {
    memories.iter().flat_map(memories::tools).chain(searchable.iter().map(collections::tool))
}

/// The declarations of the tools.
pub(super) fn specs() -> impl Iterator<Item = ToolSpec> {
    memories::specs().chain([collections::spec()])
}

/// The result of a search for the model: the head, and as many items as fit into `most` bytes, each on its own lines.
fn result_list(head: &str, items: impl ExactSizeIterator<Item = String>, most: usize) -> String {
    let (mut told, count) = (format!("{head} {IS_DATA}\n"), items.len());
    for (at, item) in items.enumerate() {
        if told.len() + item.len() + 1 > most {
            told.push_str(&format!("[and {} more: ask for fewer, with a narrower query]", count - at));
            break;
        }
        told = told + &item + "\n";
    }
    told.trim_end().to_owned()
}
