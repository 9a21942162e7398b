//! The statements about the table `shares` of D1. `?1` is the tenant and `?2` the user, but where a comment says otherwise.

use bindings::owned;
use bindings::sql::OwnedSql;

/// Lists the links that are open at the time `?3`, newest first: those of the thread `?4`, or all.
pub const LIST: OwnedSql = owned!(
    "SELECT id, thread_id, title, created_at, expires_at, tools, reasoning, files, messages, bytes FROM shares \
    WHERE tenant = ?1 AND user_id = ?2 AND (expires_at IS NULL OR expires_at > ?3) \
    AND (?4 IS NULL OR thread_id = ?4) ORDER BY created_at DESC, id DESC"
);

/// Writes a link, unless the user has `?15` of them, or all their snapshots would have more than `?16` bytes: then no row
/// comes back.
pub const INSERT: OwnedSql = owned!(
    "INSERT INTO shares (tenant, user_id, id, thread_id, title, created_at, expires_at, tools, reasoning, files, \
    messages, bytes, hash, content) \
    SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14 \
    FROM (SELECT count(*) AS links, coalesce(sum(bytes), 0) AS used FROM shares WHERE tenant = ?1 AND user_id = ?2) \
    WHERE links < ?15 AND used + ?12 <= ?16 RETURNING id"
);

/// The user has the link `?4`: the condition of a row in the audit log.
pub const THERE: &str = "EXISTS (SELECT 1 FROM shares WHERE tenant = ?1 AND user_id = ?2 AND id = ?4)";

/// Deletes the link `?3`.
pub const REVOKE: OwnedSql =
    owned!("DELETE FROM shares WHERE tenant = ?1 AND user_id = ?2 AND id = ?3 RETURNING id");

/// Deletes the user's links whose time was over at `?3`.
pub const EXPIRE: OwnedSql =
    owned!("DELETE FROM shares WHERE tenant = ?1 AND user_id = ?2 AND expires_at <= ?3");

/// Deletes links of all users whose time was over at `?1`, at most `?2`.
pub const EXPIRE_SOME: &str = "DELETE FROM shares WHERE rowid IN (\
    SELECT rowid FROM shares WHERE expires_at <= ?1 ORDER BY expires_at LIMIT ?2)";

/// Finds the link with the digest `?1` that is open at the time `?2`: whose it is, and what `column` has. Data that is being
/// erased is gone for the public from the beginning.
pub fn find(column: &str) -> String {
    format!(
        "SELECT tenant, user_id, thread_id, {column} FROM shares s WHERE hash = ?1 \
        AND (expires_at IS NULL OR expires_at > ?2) AND NOT EXISTS (SELECT 1 FROM erasures e \
        WHERE e.tenant = s.tenant AND e.user_id = s.user_id AND e.ended_at IS NULL)"
    )
}
