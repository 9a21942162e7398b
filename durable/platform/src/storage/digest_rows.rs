//! The digests of requests that came with a key, and their statements. Pure.

/// The table, made with the first such request: most threads have none. A turn has at most one row. Turns of before have
/// none.
pub const CREATE_DIGESTS: &str = "
CREATE TABLE IF NOT EXISTS request_digests (
  turn_id TEXT PRIMARY KEY,
  -- The SHA-256 of the request that began the turn, in hexadecimal digits.
  digest  TEXT NOT NULL
) WITHOUT ROWID;
";

/// The digest of a turn's request.
pub const SELECT_DIGEST: &str = "SELECT digest FROM request_digests WHERE turn_id = ?1";

/// Keeps the digest of the request that begins a turn.
pub const INSERT_DIGEST: &str = "INSERT INTO request_digests (turn_id, digest) VALUES (?1, ?2)";

/// Whether a request may be the repetition of the one that began its turn: their digests are the same, or one of them has
/// none, because its code was older.
pub fn may_repeat(kept: Option<&str>, digest: Option<&str>) -> bool {
    kept.zip(digest).is_none_or(|(kept, digest)| kept == digest)
}

#[cfg(test)]
mod tests {
    use rusqlite::{Connection, OptionalExtension, params};

    use super::*;
    use crate::storage::schema::{CLEAR, CREATE};

    // Issue 46, L4
    #[test]
    fn a_turn_keeps_the_digest_of_its_request_and_a_deletion_takes_it_along() {
        let thread = Connection::open_in_memory().unwrap();
        thread.execute_batch(CREATE).unwrap();
        let has = || crate::storage::has_table(&thread, "request_digests");
        assert!(!has(), "a thread without keys has no table");
        thread.execute_batch(CREATE_DIGESTS).unwrap();
        thread.execute(INSERT_DIGEST, params!["t1", "d1"]).unwrap();
        // The second turn finds the table.
        thread.execute_batch(CREATE_DIGESTS).unwrap();
        thread.execute(INSERT_DIGEST, params!["t2", "d2"]).unwrap();
        let digest = |turn: &str| -> Option<String> {
            thread.query_row(SELECT_DIGEST, [turn], |row| row.get(0)).optional().unwrap()
        };
        assert_eq!(["t1", "t2", "t3"].map(digest), [Some("d1".to_owned()), Some("d2".to_owned()), None]);
        thread.execute_batch(CLEAR).unwrap();
        assert!(!has());
    }

    #[test]
    fn another_digest_is_another_request_and_none_may_be_any() {
        for (kept, digest, expected) in [
            (Some("a"), Some("a"), true),
            (Some("a"), Some("b"), false),
            (None, Some("a"), true),
            (Some("a"), None, true),
            (None, None, true),
        ] {
            assert_eq!(may_repeat(kept, digest), expected, "{kept:?} {digest:?}");
        }
    }
}
