//! The statements of deletions in D1. `?1` is the tenant and `?2` the user. A condition says that there is something to delete,
//! for a row in the audit log: its parameters begin with `?9`.

use bindings::owned;
use bindings::sql::OwnedSql;

/// Forgets the memory `?3`.
pub const FORGET: OwnedSql =
    owned!("DELETE FROM memories WHERE tenant = ?1 AND user_id = ?2 AND id = ?3 RETURNING id");

/// The user has the memory `?9`.
pub const MEMORY_THERE: &str =
    "EXISTS (SELECT 1 FROM memories WHERE tenant = ?1 AND user_id = ?2 AND id = ?9)";

/// Forgets all memories.
pub const CLEAR: OwnedSql = owned!("DELETE FROM memories WHERE tenant = ?1 AND user_id = ?2 RETURNING id");

/// The user has a memory.
pub const MEMORIES_THERE: &str = "EXISTS (SELECT 1 FROM memories WHERE tenant = ?1 AND user_id = ?2)";

/// Deletes the chunks of the collection `?3`, its documents, and the collection.
pub const DELETE_COLLECTION: [OwnedSql; 3] = [
    owned!("DELETE FROM chunks WHERE tenant = ?1 AND user_id = ?2 AND collection_id = ?3"),
    owned!(
        "DELETE FROM documents WHERE tenant = ?1 AND user_id = ?2 AND collection_id = ?3 RETURNING id, chunks"
    ),
    owned!("DELETE FROM collections WHERE tenant = ?1 AND user_id = ?2 AND id = ?3 RETURNING id"),
];

/// The user has the collection `?9`.
pub const COLLECTION_THERE: &str =
    "EXISTS (SELECT 1 FROM collections WHERE tenant = ?1 AND user_id = ?2 AND id = ?9)";

/// Deletes the chunks of documents of the collection `?3`, and the documents: `?4` is a JSON array of their ids.
pub const DELETE_DOCUMENTS: [OwnedSql; 2] = [
    owned!(
        "DELETE FROM chunks WHERE tenant = ?1 AND user_id = ?2 AND collection_id = ?3 \
        AND document_id IN (SELECT value FROM json_each(?4))"
    ),
    owned!(
        "DELETE FROM documents WHERE tenant = ?1 AND user_id = ?2 AND collection_id = ?3 \
        AND id IN (SELECT value FROM json_each(?4)) RETURNING id"
    ),
];

/// The collection `?9` of the user has the document `?10`.
pub const DOCUMENT_THERE: &str = "EXISTS (SELECT 1 FROM documents WHERE tenant = ?1 AND user_id = ?2 \
    AND collection_id = ?9 AND id = ?10)";
