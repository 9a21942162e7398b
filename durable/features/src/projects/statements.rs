//! The statements of a deletion in D1. `?1` is the tenant and `?2` the user.

use bindings::owned;
use bindings::sql::OwnedSql;

/// Deletes the item of the kind `?3` with the id `?4`; a project with its tasks and documents.
pub const DELETE: OwnedSql = owned!(
    "DELETE FROM project_items WHERE tenant = ?1 AND user_id = ?2 \
    AND ((kind = ?3 AND id = ?4) OR (?3 = 'project' AND project_id = ?4))"
);

/// The item of the kind `?9` with the id `?10` is there: the condition of a row in the audit log.
pub const THERE: &str =
    "EXISTS (SELECT 1 FROM project_items WHERE tenant = ?1 AND user_id = ?2 AND kind = ?9 AND id = ?10)";
