//! Long-term knowledge of a user: memories, written by models, and collections of documents, uploaded by people.

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
fn told(head: &str, items: impl ExactSizeIterator<Item = String>, most: usize) -> String {
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
