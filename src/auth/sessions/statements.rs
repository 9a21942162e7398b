//! The statements about the row of a visitor's session.

use crate::account::store::{HOUR_MS, may_end};

/// The condition of a row in the audit log: the session with the digest `?9` has a row, and has not ended.
pub const IS_OPEN: &str = "EXISTS (SELECT 1 FROM sessions WHERE hash = ?9 AND revoked_at IS NULL)";

/// Ends the session with the digest `?1` of the visitor `?2` at the time `?3`: its cookies are refused until `?4`. `?5` is the
/// mark of the visitor's network. No row comes back where that network has ended too many sessions without a row.
pub fn end_of_visit() -> String {
    let may_end = may_end("?5", &format!("?3 - {HOUR_MS}"));
    format!(
        "INSERT INTO sessions (hash, key_prefix, user_id, created_at, expires_at, revoked_at, network) \
        SELECT ?1, '', ?2, ?3, ?4, ?3, ?5 WHERE EXISTS (SELECT 1 FROM sessions WHERE hash = ?1) OR {may_end} \
        ON CONFLICT (hash) DO UPDATE SET revoked_at = coalesce(revoked_at, excluded.revoked_at), \
        expires_at = excluded.expires_at RETURNING 1 AS ended"
    )
}
