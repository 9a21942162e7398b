//! The statements of a deletion in D1. `?1` is the tenant and `?2` the user.

use bindings::owned;
use bindings::sql::OwnedSql;

/// Deletes the workflow `?3`.
pub const DELETE: OwnedSql =
    owned!("DELETE FROM workflows WHERE tenant = ?1 AND user_id = ?2 AND id = ?3 RETURNING id");

/// The user has the workflow `?9`: the condition of a row in the audit log.
pub const THERE: &str = "EXISTS (SELECT 1 FROM workflows WHERE tenant = ?1 AND user_id = ?2 AND id = ?9)";
