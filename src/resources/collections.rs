//! Collections of documents.

use super::words::*;
use wire::protocol::NewCollection;

#[cfg(test)]
use crate::openapi::limit;
#[cfg(test)]
use crate::query::MAX_WANTED_CHARS;
#[cfg(target_arch = "wasm32")]
use crate::routes::collections;
#[cfg(test)]
use wire::protocol::{Collection, CollectionList, Document, DocumentList, LINE, MAX_LINE_CHARS, PassageList};

routes! {
    /// Lists the user's collections of documents, newest first.
    Get "/api/collections" => Collections, Needs(Read), Nothing, Reads,
        |r| collections::list(r.call, r.caller.owner()?),
        |row| row.pages().gives::<CollectionList>(200);
    /// Creates a collection of documents.
    Post "/api/collections" => NewCollection, Needs(Write), json::<NewCollection>(), Uploads,
        |r| collections::create(r.call, r.caller.owner()?, r.body),
        |row| row
            .takes(json!({ "name": "Handbook", "description": "How the house works." }))
            .gives::<Collection>(201)
            .refuses(&[E::CollectionsFull, E::QuotaExceeded]);
    /// Returns a collection, with the number and the size of its documents.
    Get "/api/collections/{}" => Collection(collection), Needs(Read), Nothing, Reads,
        |r| collections::get(r.call, r.caller.owner()?, collection),
        |row| row.in_collection().gives::<Collection>(200);
    /// Deletes a collection with all its documents.
    Delete "/api/collections/{}" => DeleteCollection(collection), Needs(Write), Nothing, Deletes,
        |r| collections::delete(r.call, r.caller.owner()?, collection),
        |row| row.in_collection().gives_nothing("It is deleted.");
    /// Lists the documents of a collection, newest first.
    Get "/api/collections/{}/documents" => Documents(collection), Needs(Read), Nothing, Reads,
        |r| collections::documents(r.call, r.caller.owner()?, collection),
        |row| row.in_collection().pages().gives::<DocumentList>(200);
    /// Adds a document to a collection. The body is the document, in UTF-8, UTF-16 or windows-1252, whose other name is
    /// ISO-8859-1. The service keeps its text. The `content-type` is `text/plain`, `text/markdown`, `text/html`, `text/csv`
    /// or `application/json`, perhaps with a `charset`, or `application/pdf`. See "Knowledge beyond a thread" in
    /// docs/wire-protocol.md.
    Post "/api/collections/{}/documents" => AddDocument(collection), Needs(Write), Body::Document, Uploads,
        |r| collections::add(r.call, r.caller.owner()?, collection, take(r.body)),
        |row| row
            .in_collection()
            .query(document_name())
            .takes(json!("The keys hang beside the door.\n"))
            .gives::<Document>(201)
            .refuses(&[E::CollectionsFull, E::QuotaExceeded]);
    /// Deletes a document.
    Delete "/api/collections/{}/documents/{}" => DeleteDocument(collection, document), Needs(Write), Nothing,
        Deletes,
        |r| collections::remove(r.call, r.caller.owner()?, collection, document),
        |row| row.in_collection().gives_nothing("It is deleted.").refuses(&[E::DocumentNotFound]);
    /// Searches a collection's documents and returns the passages that match, best first. The answer has 20 passages at
    /// most. `q` has at most 200 characters.
    Get "/api/collections/{}/search" => SearchCollection(collection), Needs(Read), Nothing, Reads,
        |r| collections::search(r.call, r.caller.owner()?, collection),
        |row| row
            .in_collection()
            .query(words())
            .query(limit("The most passages, up to 20."))
            .gives::<PassageList>(200)
            .refuses(&[E::QuotaExceeded]);
}

/// The table `collections`.
pub const COLLECTIONS: Table = users(
    "collections",
    Rows {
        key: &["id"],
        line: Some("collection"),
        columns: &["id", "name", "description", "created_at", "updated_at"],
        ..ROWS
    },
    100,
);

/// The table `chunks`.
pub const CHUNKS: Table = users(
    "chunks",
    Rows {
        key: &["document_id", "place"],
        line: Some("passage"),
        columns: &["collection_id", "document_id", "place", "heading", "text"],
        withheld: &["number", "tenant", "user_id", "terms", "scope"],
        ..ROWS
    },
    100,
);

/// The table `documents`.
pub const DOCUMENTS: Table = users(
    "documents",
    Rows {
        key: &["id"],
        line: Some("document"),
        columns: &["id", "collection_id", "name", "media_type", "bytes", "chunks", "created_at"],
        ..ROWS
    },
    100,
);

#[cfg(test)]
impl Contract {
    /// A route of a collection.
    fn in_collection(self) -> Self {
        self.refuses(&[E::CollectionNotFound])
    }
}

#[cfg(test)]
fn words() -> Parameter {
    let schema = json!({ "type": "string", "maxLength": MAX_WANTED_CHARS, "pattern": r"\S" });
    Parameter::new("q", "The words to search the documents for.", schema).needed().such_as(json!("keys"))
}

#[cfg(test)]
fn document_name() -> Parameter {
    let schema = json!({ "type": "string", "maxLength": MAX_LINE_CHARS, "pattern": LINE });
    Parameter::new("name", "The document's name.", schema).needed().such_as(json!("guide.md"))
}
