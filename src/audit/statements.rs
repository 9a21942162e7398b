//! The statements of the audit log.

use bindings::owned;
use bindings::sql::OwnedSql;

/// Writes a deed where a condition holds. `?1` is the tenant, `?2` the user, `?3` the time, `?4` the target, `?5` the id, `?6`
/// the action, `?7` the detail and `?8` the address. The condition has its parameters from `?9` on.
pub fn insert(condition: &str) -> String {
    format!(
        "INSERT INTO audit (tenant, user_id, created_at, id, action, target, detail, address) \
        SELECT ?1, ?2, ?3, ?5, ?6, ?4, ?7, ?8 WHERE {condition}"
    )
}

/// The most entries of one action that a user leaves in a day, of the actions that cost nothing else: to sign in, to make a
/// key, to export. A person makes a few, and a program that signs in every two minutes fewer.
pub const MAX_A_DAY: u32 = 1_000;

/// Whether a user has left more than `?5` entries of the action `?4` since the time `?3`. The sign keeps SQLite from the
/// primary key, which begins with the tenant alone.
pub const HAS_LEFT: OwnedSql = owned!(
    "SELECT 1 FROM audit WHERE +tenant = ?1 AND user_id = ?2 AND created_at > ?3 AND action = ?4 LIMIT 1 OFFSET ?5"
);

/// The user has stored something, or is no visitor: `?9` is the digest of a visitor's session, whose row the first write
/// makes, and empty for others. A visitor costs nothing, and one who has nothing must not fill the log.
pub const HAS_SOMETHING: &str = "(?9 = '' OR EXISTS (SELECT 1 FROM sessions WHERE hash = ?9))";

#[cfg(test)]
mod tests;
