//! The statements of an export and of an erasure over the tables of `kinds`. `?1` is the tenant, `?2` the user, `?3` the
//! digest of a visitor's session, `?4` the most rows.

use bindings::owned;
use bindings::sql::OwnedSql;

use super::kinds::{self, Rows};

/// The most sessions of its visitors that a network ends in an hour, where each leaves a row that was not there, or a job. A
/// visitor needs one; a school or an office has few who ask for it in the same hour.
pub const MAX_ENDED: u32 = 30;
/// An hour.
pub const HOUR_MS: u64 = 3_600_000;

/// The rows that name their owner.
pub const OWN: &str = "tenant = ?1 AND user_id = ?2";
/// The sessions of a user's keys, those that an identity provider opened, and a visitor's own.
pub const OF_SESSIONS: &str = "(hash = ?3 OR (tenant = ?1 AND user_id = ?2) \
    OR key_prefix IN (SELECT prefix FROM api_keys WHERE tenant = ?1 AND user_id = ?2))";
/// The keys that somebody minted for a user while their erasure runs.
pub const NEXT_LIFE: &str =
    "created_at > (SELECT e.started_at FROM erasures e WHERE e.tenant = ?1 AND e.user_id = ?2)";

/// Stands before the number of a member of the key in a row that was read.
pub const KEY: &str = "_";

/// Reads the rows of a user in the order of their key; from `?5` on, the key after which the page begins.
pub fn select(table: &str, rows: &Rows, after: bool) -> String {
    let keys = rows.key.iter().enumerate().map(|(at, key)| format!("{key} AS {KEY}{at}"));
    let columns = rows.columns.iter().map(|column| column.trim_end_matches(":json").to_owned());
    let columns = columns.chain(keys).collect::<Vec<_>>().join(", ");
    let key = rows.key.join(", ");
    let after = match after {
        true => {
            let places: Vec<_> = (5..5 + rows.key.len()).map(|place| format!("?{place}")).collect();
            format!(" AND ({key}) > ({})", places.join(", "))
        }
        false => String::new(),
    };
    format!("SELECT {columns} FROM {table} WHERE {}{after} ORDER BY {key} LIMIT ?4", rows.of_user)
}

/// The ids of a user's threads after `?3`: those of the list, and those that stand in no list but had a model call since
/// the id `?5`.
pub const THREADS: OwnedSql = owned!(
    "SELECT id, (SELECT t.pinned_at FROM threads t WHERE t.tenant = ?1 AND t.user_id = ?2 AND t.id = known.id) \
    AS pinned_at FROM (\
    SELECT * FROM (SELECT id FROM threads WHERE tenant = ?1 AND user_id = ?2 AND id > ?3 ORDER BY id LIMIT ?4) UNION \
    SELECT thread_id FROM llm_usage WHERE tenant = ?1 AND user_id = ?2 AND id >= ?5 AND thread_id > ?3) known \
    ORDER BY id LIMIT ?4"
);

/// Deletes some rows of a user, as long as the driver with the lease `?5` owns the job.
pub fn delete(table: &str, rows: &Rows) -> String {
    let key = rows.key.join(", ");
    let of_user = match rows.stays {
        Some(stays) => format!("{} AND NOT ({stays})", rows.of_user),
        None => rows.of_user.to_owned(),
    };
    format!(
        "DELETE FROM {table} WHERE {of_user} AND ({key}) IN (SELECT {key} FROM {table} WHERE {of_user} LIMIT ?4) \
        AND {OWNED} RETURNING 1 AS gone"
    )
}

/// The driver with the lease `?5` owns the job.
const OWNED: &str = "EXISTS (SELECT 1 FROM erasures e WHERE e.tenant = ?1 AND e.user_id = ?2 AND e.lease = ?5 \
    AND e.ended_at IS NULL)";

/// The tables whose rows open something and are no data. A visitor's session has a row all the same once they stored
/// something, also in a thread of which D1 has not heard.
const CREDENTIALS: [&str; 2] = ["sessions", "api_keys"];

/// Whether a user has rows in one of the tables that an erasure deletes: in those of credentials, or in the others.
fn has_rows(of_credentials: bool) -> String {
    let tables = kinds::of_users()
        .filter(|(table, rows)| rows.stays != Some("true") && CREDENTIALS.contains(table) == of_credentials);
    let exist = tables.map(|(table, rows)| format!("EXISTS (SELECT 1 FROM {table} WHERE {})", rows.of_user));
    exist.collect::<Vec<_>>().join(" OR ")
}

/// The network with the mark `network` has ended fewer of its visitors' sessions since the time `since` than it may: fewer
/// than [`MAX_ENDED`]. A network without a mark is not limited.
pub fn may_end(network: &str, since: &str) -> String {
    format!(
        "({network} IS NULL OR (SELECT count(*) FROM sessions n WHERE n.network = {network} \
        AND n.revoked_at > {since}) < {MAX_ENDED})"
    )
}

/// Begins a job, unless one runs, or the network of a visitor who has nothing has begun too many: then no row comes back. `?4` is the digest of
/// the receipt, `?5` the time, `?6` the stage, `?7` whether the user has files, `?8` the mark of a visitor's network and `?9`
/// whether the user is a visitor. The row of a visitor who has nothing says that the job has ended: there is nothing to do.
pub fn begin() -> String {
    let (data, credentials) = (has_rows(false), has_rows(true));
    let may_begin = may_end("?8", &format!("?5 - {HOUR_MS}"));
    format!(
        "INSERT INTO erasures (tenant, user_id, receipt, started_at, stage, removed, priority, ended_at) \
        SELECT ?1, ?2, ?4, ?5, ?6, '{{}}', has_data, CASE WHEN ?9 AND NOT has_data AND NOT ({credentials}) THEN ?5 END \
        FROM (SELECT ?7 OR {data} AS has_data) WHERE has_data OR {credentials} OR {may_begin} \
        ON CONFLICT (tenant, user_id) DO UPDATE SET receipt = excluded.receipt, started_at = excluded.started_at, \
        stage = excluded.stage, removed = excluded.removed, priority = excluded.priority, lease_until = 0, failures = 0, \
        ended_at = excluded.ended_at WHERE erasures.ended_at IS NOT NULL RETURNING ended_at"
    )
}
/// Revokes the keys of a user at the time `?3`.
pub const REVOKE: OwnedSql =
    owned!("UPDATE api_keys SET revoked_at = coalesce(revoked_at, ?3) WHERE tenant = ?1 AND user_id = ?2");
/// Ends the sessions of their keys, and those that an identity provider opened.
pub const SIGN_OUT: OwnedSql = owned!(
    "DELETE FROM sessions WHERE (tenant = ?1 AND user_id = ?2) \
    OR key_prefix IN (SELECT prefix FROM api_keys WHERE tenant = ?1 AND user_id = ?2)"
);
/// Ends a visitor's session with the digest `?1` at the time `?2`, where the job with the receipt `?4` began. The row refuses
/// its cookies until `?3`, and names nobody. `?5` is the mark of their network.
pub const END_VISIT: &str = "INSERT INTO sessions (hash, key_prefix, created_at, expires_at, revoked_at, network) \
    SELECT ?1, '', ?2, ?3, ?2, ?5 WHERE EXISTS (SELECT 1 FROM erasures WHERE receipt = ?4) \
    ON CONFLICT (hash) DO UPDATE SET revoked_at = coalesce(revoked_at, excluded.revoked_at), \
    expires_at = excluded.expires_at, network = excluded.network, user_id = NULL, agent = NULL, seen_at = NULL";
/// Begins the job of a visitor (`?2`) anew at the time `?3`, in the stage `?4`, where their session with the digest `?1` has
/// ended with it: a request that was admitted a moment before has stored something after a job that found nothing.
pub const BEGIN_AGAIN: &str = "UPDATE erasures SET started_at = ?3, stage = ?4, priority = 1, lease_until = 0, \
    failures = 0, ended_at = NULL WHERE tenant = 'public' AND user_id = ?2 AND ended_at IS NOT NULL \
    AND EXISTS (SELECT 1 FROM sessions WHERE hash = ?1 AND revoked_at IS NOT NULL)";

/// Takes the open job that nobody has owned for the longest time, at the time `?1`, until `?2`. Those that users with data
/// asked for come first. The sign has SQLite read the jobs in this order, and no more than it takes.
pub const TAKE: &str = "UPDATE erasures SET lease = lease + 1, lease_until = ?2 WHERE (tenant, user_id) IN (\
    SELECT tenant, user_id FROM erasures WHERE ended_at IS NULL AND +lease_until <= ?1 \
    ORDER BY priority DESC, lease_until LIMIT 1) \
    RETURNING tenant, user_id, started_at, stage, removed, lease, lease_until, failures";
/// The same of the job with the receipt `?3`.
pub const TAKE_ONE: &str = "UPDATE erasures SET lease = lease + 1, lease_until = ?2 \
    WHERE receipt = ?3 AND ended_at IS NULL AND lease_until <= ?1 \
    RETURNING tenant, user_id, started_at, stage, removed, lease, lease_until, failures";
/// Stores where a job stands, and gives it up until `?8`.
pub const SAVE: OwnedSql = owned!(
    "UPDATE erasures SET stage = ?6, removed = ?7, lease_until = ?8, failures = ?9 \
    WHERE tenant = ?1 AND user_id = ?2 AND lease = ?5 AND ended_at IS NULL"
);
/// Ends a job at the time `?8`.
pub const END: OwnedSql = owned!(
    "UPDATE erasures SET stage = ?6, removed = ?7, ended_at = ?8 \
    WHERE tenant = ?1 AND user_id = ?2 AND lease = ?5 AND ended_at IS NULL"
);
/// Whether the job of `?1` and `?2` is still to be ended by the driver with the lease `?9`.
pub const ENDS: &str = "EXISTS (SELECT 1 FROM erasures e WHERE e.tenant = ?1 AND e.user_id = ?2 AND e.lease = ?9 \
    AND e.ended_at IS NULL)";
/// The condition of an audit entry (`audit::store::Where`): there is none of this deed, from this address, since the time
/// `?10`. The sign keeps SQLite from the primary key, which begins with the tenant alone.
pub const NO_ENTRY: &str = "NOT EXISTS (SELECT 1 FROM audit a WHERE +a.tenant = ?1 AND a.user_id = ?2 \
    AND a.action = ?6 AND a.target = ?4 AND a.address IS ?8 AND a.created_at > ?10)";
/// The progress of the job with the receipt `?1`.
pub const PROGRESS: &str = "SELECT started_at, ended_at, removed FROM erasures WHERE receipt = ?1";
/// Whether a job runs.
pub const RUNS: OwnedSql =
    owned!("SELECT 1 FROM erasures WHERE tenant = ?1 AND user_id = ?2 AND ended_at IS NULL");
/// Deletes the jobs that ended before `?1`.
pub const FORGET: &str = "DELETE FROM erasures WHERE ended_at <= ?1";

/// The keys that a user's keys minted for others stay, and with them the way to their revocation: from then on they came of
/// the nearest key above that is another user's.
pub const BEQUEATH: OwnedSql = owned!(
    "UPDATE api_keys SET created_by = (\
      WITH RECURSIVE up(prefix) AS (SELECT api_keys.created_by UNION \
        SELECT k.created_by FROM up JOIN api_keys k ON k.prefix = up.prefix WHERE k.tenant = ?1 AND k.user_id = ?2) \
      SELECT prefix FROM up WHERE NOT EXISTS (\
        SELECT 1 FROM api_keys k WHERE k.prefix = up.prefix AND k.tenant = ?1 AND k.user_id = ?2) LIMIT 1) \
    WHERE tenant = ?1 AND created_by IN (SELECT prefix FROM api_keys WHERE tenant = ?1 AND user_id = ?2)"
);

/// While chunks are deleted, their words leave the pages of the index at once, as those of memories always do. It takes
/// 10 ms a row and more, so other deletions leave it to the merge of pages.
pub const SECURELY: &str = "INSERT INTO chunks_fts (chunks_fts, rank) VALUES ('secure-delete', 1)";
/// Undoes [`SECURELY`].
pub const BY_MERGE: &str = "INSERT INTO chunks_fts (chunks_fts, rank) VALUES ('secure-delete', 0)";

#[cfg(test)]
mod tests;
