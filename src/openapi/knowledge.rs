//! The answers of the routes of memories and collections.

use serde_json::json;
use wire::protocol::{
    Collection, CollectionList, Document, DocumentList, ErrorCode, LINE, MAX_LINE_CHARS, MemoryList,
    PassageList,
};

use super::contract::{Contract, Parameter};
use super::limit;
use crate::query::MAX_WANTED_CHARS;
use crate::router::KnowledgeRoute as Route;

/// Adds the answers and the refusals of a route to the contract of its row.
pub fn contract(route: Route<'_>, row: Contract) -> Contract {
    use ErrorCode as E;
    match route {
        Route::Memories => row.pages().gives::<MemoryList>(200),
        Route::ForgetMemories => row.gives_nothing("They are forgotten."),
        Route::ForgetMemory { .. } => row.gives_nothing("It is forgotten.").refuses(&[E::MemoryNotFound]),
        Route::Collections => row.pages().gives::<CollectionList>(200),
        Route::NewCollection => row
            .takes(json!({ "name": "Handbook", "description": "How the house works." }))
            .gives::<Collection>(201)
            .refuses(&[E::CollectionsFull, E::QuotaExceeded]),
        Route::Collection { .. } => row.in_collection().gives::<Collection>(200),
        Route::DeleteCollection { .. } => row.in_collection().gives_nothing("It is deleted."),
        Route::Documents { .. } => row.in_collection().pages().gives::<DocumentList>(200),
        Route::AddDocument { .. } => row
            .in_collection()
            .query(document_name())
            .takes(json!("The keys hang beside the door.\n"))
            .gives::<Document>(201)
            .refuses(&[E::CollectionsFull, E::QuotaExceeded]),
        Route::DeleteDocument { .. } => {
            row.in_collection().gives_nothing("It is deleted.").refuses(&[E::DocumentNotFound])
        }
        Route::SearchCollection { .. } => row
            .in_collection()
            .query(words())
            .query(limit("The most passages, up to 20."))
            .gives::<PassageList>(200)
            .refuses(&[E::QuotaExceeded]),
    }
}

fn words() -> Parameter {
    let schema = json!({ "type": "string", "maxLength": MAX_WANTED_CHARS, "pattern": r"\S" });
    Parameter::new("q", "The words to search the documents for.", schema).needed().such_as(json!("keys"))
}

fn document_name() -> Parameter {
    let schema = json!({ "type": "string", "maxLength": MAX_LINE_CHARS, "pattern": LINE });
    Parameter::new("name", "The document's name.", schema).needed().such_as(json!("guide.md"))
}

impl Contract {
    /// A route of a collection.
    fn in_collection(self) -> Self {
        self.refuses(&[ErrorCode::CollectionNotFound])
    }
}
