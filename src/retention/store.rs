//! The statements of a run of the retention.

use super::{MERGED_PAGES, ROWS, THREADS, VISITORS};

/// Begins a run at the time `?1` in the stage `?2`, unless one is open or began after `?3`.
pub const BEGIN: &str = "INSERT INTO retention_runs (started_at, stage, removed) SELECT ?1, ?2, '{}' \
    WHERE NOT EXISTS (SELECT 1 FROM retention_runs WHERE ended_at IS NULL OR started_at > ?3)";
/// Takes the open run at the time `?1`, until `?2`.
pub const TAKE: &str = "UPDATE retention_runs SET lease = lease + 1, lease_until = ?2 \
    WHERE ended_at IS NULL AND lease_until <= ?1 RETURNING started_at, stage, removed, lease, lease_until, failures";
/// Stores where the run that began at `?1` stands, if the lease is still `?2`, and gives it up until `?5`.
pub const SAVE: &str = "UPDATE retention_runs SET stage = ?3, removed = ?4, lease_until = ?5, failures = ?6 \
    WHERE started_at = ?1 AND lease = ?2 AND ended_at IS NULL";
/// Ends the run at the time `?5`.
pub const END: &str = "UPDATE retention_runs SET stage = ?3, removed = ?4, ended_at = ?5, failures = 0 \
    WHERE started_at = ?1 AND lease = ?2 AND ended_at IS NULL";
/// Deletes the runs that began before `?1`. One that is as old as the limit of visitors must stay
/// ([`erase_visitors_without_row`]).
pub const FORGET: &str = "DELETE FROM retention_runs WHERE started_at < ?1 AND ended_at IS NOT NULL";

/// A visitor has neither a turn nor a model call after a time. `?2` is that time. `?3` is a lower bound of the ids of such
/// calls, for the index.
const IDLE: &str = "NOT EXISTS (SELECT 1 FROM threads t WHERE t.tenant = 'public' AND t.user_id = v.user_id AND t.updated_at > ?2) \
    AND NOT EXISTS (SELECT 1 FROM llm_usage u WHERE u.tenant = 'public' AND u.user_id = v.user_id AND u.id >= ?3 \
    AND u.created_at > ?2)";

/// Begins the erasure of visitors, at the time `?1` and in the stage `?4`. Its receipt is given to nobody.
fn begin_erasures(visitors: &str, and: &str) -> String {
    format!(
        "INSERT INTO erasures (tenant, user_id, receipt, started_at, stage, removed) \
        SELECT 'public', v.user_id, lower(hex(randomblob(32))), ?1, ?4, '{{}}' FROM ({visitors}) v WHERE {IDLE}{and} \
        ON CONFLICT (tenant, user_id) DO UPDATE SET receipt = excluded.receipt, started_at = excluded.started_at, \
        stage = excluded.stage, removed = excluded.removed, priority = 0, lease_until = 0, failures = 0, ended_at = NULL \
        WHERE erasures.ended_at IS NOT NULL RETURNING 1 AS begun"
    )
}

/// The sessions of a page after the digest `?5` that are visitors', and were not seen after `?2`.
fn unseen(columns: &str) -> String {
    format!(
        "SELECT {columns} FROM (SELECT hash, tenant, user_id, seen_at, created_at FROM sessions \
        WHERE hash > ?5 ORDER BY hash LIMIT {ROWS}) s \
        WHERE s.tenant IS NULL AND s.user_id IS NOT NULL AND coalesce(s.seen_at, s.created_at) <= ?2"
    )
}

/// Begins the erasures of the visitors of a page of sessions after the digest `?5`.
pub fn erase_visitors() -> String {
    begin_erasures(&unseen("s.user_id"), "")
}

/// The rows of their sessions name nobody from then on. Their cookies are over.
pub fn forget_visitors() -> String {
    format!(
        "UPDATE sessions SET user_id = NULL, agent = NULL, seen_at = NULL, revoked_at = coalesce(revoked_at, ?1) \
        WHERE hash IN ({}) AND user_id IN (SELECT e.user_id FROM erasures e WHERE e.tenant = 'public' \
        AND e.started_at = ?1 AND ended_at IS NULL AND e.user_id = sessions.user_id)",
        unseen("s.hash")
    )
}

/// The last digest of a full page of sessions after `?1`.
pub fn end_of_sessions() -> String {
    format!("SELECT hash AS k1 FROM sessions WHERE hash > ?1 ORDER BY hash LIMIT 1 OFFSET {}", ROWS - 1)
}

/// The visitors after `?1` that have threads. Each costs a look into the index, however many threads they have.
pub fn visitors_with_threads() -> String {
    let next = |after: &str| {
        format!(
            "(SELECT min(user_id) FROM threads WHERE tenant = 'public' AND user_id > {after} AND user_id < 'anonymous;')"
        )
    };
    format!(
        "WITH RECURSIVE v(id, n) AS (SELECT {}, 1 UNION ALL SELECT {}, n + 1 FROM v WHERE id IS NOT NULL AND n < {VISITORS}) \
        SELECT id FROM v WHERE id IS NOT NULL",
        next("max(?1, 'anonymous:')"),
        next("v.id")
    )
}

/// Begins the erasures of visitors whose sessions have no rows: `?5` is a list of `[user id, digest]`. The renewal of a cookie
/// gives such a visitor a row ([`RENEW_VISITOR`]). Runs that are as old as the limit show that this was so all the time, and
/// until then a visitor without a row may still be one who comes.
pub fn erase_visitors_without_row() -> String {
    begin_erasures(
        "SELECT value ->> 0 AS user_id, value ->> 1 AS hash FROM json_each(?5)",
        " AND NOT EXISTS (SELECT 1 FROM sessions s WHERE s.hash = v.hash) \
        AND EXISTS (SELECT 1 FROM retention_runs r WHERE r.started_at <= ?2)",
    )
}

/// Renews a visitor's session with the digest `?1` at the time `?2` until `?3`. A visitor of before the rows has threads and
/// no row: this makes one, so that the retention knows that they (`?4`) were here.
pub const RENEW_VISITOR: &str = "INSERT INTO sessions (hash, key_prefix, user_id, created_at, seen_at, expires_at) \
    SELECT ?1, '', ?4, ?2, ?2, ?3 WHERE EXISTS (SELECT 1 FROM sessions WHERE hash = ?1) \
    OR EXISTS (SELECT 1 FROM threads WHERE tenant = 'public' AND user_id = ?4) \
    ON CONFLICT (hash) DO UPDATE SET seen_at = excluded.seen_at, expires_at = excluded.expires_at";

/// The threads after a key (`?1` to `?3`) that had no message after `?4`; and with `last`, the end of a full page.
pub fn idle_threads() -> String {
    format!(
        "WITH page AS (SELECT tenant, user_id, id, updated_at FROM threads \
        WHERE (tenant, user_id, id) > (?1, ?2, ?3) ORDER BY tenant, user_id, id LIMIT {ROWS}) \
        SELECT tenant, user_id, id, 0 AS last FROM (SELECT * FROM page WHERE updated_at <= ?4 LIMIT {THREADS}) \
        UNION ALL SELECT tenant, user_id, id, 1 FROM (SELECT * FROM page LIMIT 1 OFFSET {})",
        ROWS - 1
    )
}

/// Deletes the oldest failures that are not younger than `?1`.
pub fn delete_errors() -> String {
    format!(
        "DELETE FROM error_log WHERE (tenant, user_id, id) IN (SELECT tenant, user_id, id FROM error_log \
        WHERE created_at <= ?1 ORDER BY created_at LIMIT {ROWS}) RETURNING 1 AS gone"
    )
}

/// Deletes the oldest entries of the audit log that are not younger than `?1`.
pub fn delete_audit() -> String {
    format!(
        "DELETE FROM audit WHERE (tenant, created_at, id) IN (SELECT tenant, created_at, id FROM audit \
        WHERE created_at <= ?1 ORDER BY created_at LIMIT {ROWS}) RETURNING 1 AS gone"
    )
}

/// The last key of a full page of a table after another (`?1` to `?3`).
pub fn end_of_page(table: &str) -> String {
    format!(
        "SELECT tenant AS k1, user_id AS k2, id AS k3 FROM {table} WHERE (tenant, user_id, id) > (?1, ?2, ?3) \
        ORDER BY tenant, user_id, id LIMIT 1 OFFSET {}",
        ROWS - 1
    )
}

/// Deletes the rows of that page that are not younger than `?4`.
pub fn delete_page(table: &str) -> String {
    format!(
        "DELETE FROM {table} WHERE created_at <= ?4 AND (tenant, user_id, id) IN (SELECT tenant, user_id, id FROM {table} \
        WHERE (tenant, user_id, id) > (?1, ?2, ?3) ORDER BY tenant, user_id, id LIMIT {ROWS}) RETURNING 1 AS gone"
    )
}

/// Merges some pages of the index of documents. The first step puts all of it into one merge, and the others go on with it:
/// <https://www.sqlite.org/fts5.html#the_merge_command>.
pub fn merge(is_first: bool) -> String {
    let sign = if is_first { "-" } else { "" };
    format!("INSERT INTO chunks_fts (chunks_fts, rank) VALUES ('merge', {sign}{MERGED_PAGES})")
}

/// The segments of that index. A single one has no deleted word.
pub const SEGMENTS: &str = "SELECT count(DISTINCT segid) AS segments FROM chunks_fts_idx";

#[cfg(test)]
mod tests;
