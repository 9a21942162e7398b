//! The audit log.

use super::words::*;

#[cfg(target_arch = "wasm32")]
use crate::routes::audit;
#[cfg(test)]
use wire::protocol::AuditPage;

routes! {
    /// Returns a page of the tenant's audit log, newest first: who did what, and when. Its entries cannot be changed. The
    /// route needs the scope `admin`. `action` is a word of the table in docs/operations.md, "Audit log".
    Get "/api/audit" => Audit, Needs(Admin), Nothing, Reads,
        |r| audit::list(r.call, r.caller.verified()?),
        |row| row.pages().gives::<AuditPage>(200);
}

/// The table `audit`.
pub const TABLE: Table = users(
    "audit",
    Rows {
        key: &["created_at", "id"],
        line: Some("audit_entry"),
        columns: &["id", "created_at", "action", "target", "detail", "address"],
        // The sign keeps SQLite from the primary key, which begins with the tenant alone.
        of_user: "+tenant = ?1 AND user_id = ?2",
        // All of them: the log answers for what a user did, and for the erasure. It has no text of theirs.
        stays: Some("true"),
        ..ROWS
    },
    100,
);
