//! Bookmarks: messages that a user wants to find again. They have no tools. A row of D1 has the beginning of its message, so
//! that a list reads nothing else.

use bindings::d1::{Owned, maybe, number, text};
use bindings::owned;
use bindings::sql::OwnedSql;
use wire::protocol::{Bookmark, MAX_BOOKMARKS};
use wire::store::StoreError;

/// Writes the bookmark of the message `?3`, unless the user has `?9` bookmarks and this is none of them: then no row comes
/// back. A second request changes nothing.
const PUT: OwnedSql = owned!(
    "INSERT INTO bookmarks (tenant, user_id, message_id, thread_id, turn_id, role, excerpt, created_at) \
    SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8 \
    WHERE (SELECT count(*) FROM bookmarks WHERE tenant = ?1 AND user_id = ?2) < ?9 \
    OR EXISTS (SELECT 1 FROM bookmarks WHERE tenant = ?1 AND user_id = ?2 AND message_id = ?3) \
    ON CONFLICT DO UPDATE SET created_at = created_at \
    RETURNING message_id, thread_id, turn_id, role, excerpt, created_at"
);

/// Lists at most `?3` bookmarks, newest first: those of the thread `?4`, or all; and those after a place.
const LIST: OwnedSql = owned!(
    "SELECT message_id, thread_id, turn_id, role, excerpt, created_at FROM bookmarks \
    WHERE tenant = ?1 AND user_id = ?2 AND (?4 IS NULL OR thread_id = ?4) \
    AND (?5 IS NULL OR (created_at, message_id) < (?5, ?6)) ORDER BY created_at DESC, message_id DESC LIMIT ?3"
);

const DELETE: OwnedSql = owned!(
    "DELETE FROM bookmarks WHERE tenant = ?1 AND user_id = ?2 AND message_id = ?3 RETURNING message_id"
);

/// Writes a bookmark, and returns it as it is stored. None where the user has as many as allowed.
pub async fn put(owned: &Owned, new: &Bookmark) -> Result<Option<Bookmark>, StoreError> {
    let Bookmark { message_id, thread_id, turn_id, role, excerpt, created_at } = new;
    let texts = [message_id.as_str(), thread_id, turn_id, role.as_str(), excerpt].map(text);
    let numbers = [number(*created_at), number(MAX_BOOKMARKS.into())];
    owned.first(PUT, &[&texts[..], &numbers].concat()).await
}

/// A page of the bookmarks, newest first: those of a thread, or all.
pub async fn list(
    owned: &Owned,
    thread: Option<&str>,
    limit: u32,
    after: Option<(u64, &str)>,
) -> Result<Vec<Bookmark>, StoreError> {
    let (at, id) = after.unzip();
    owned.select(LIST, &[number(limit.into()), maybe(thread, text), maybe(at, number), maybe(id, text)]).await
}

/// Deletes the bookmark of a message. False where the user has none.
pub async fn delete(owned: &Owned, message: &str) -> Result<bool, StoreError> {
    owned.delete(DELETE, &[text(message)]).await
}
