//! The table of the custom instructions that the last turn of a thread began with. Pure.

/// The table, made where a turn began with some: most users have none.
pub const CREATE_INSTRUCTIONS: &str = "
CREATE TABLE IF NOT EXISTS kept_instructions (
  one     INTEGER PRIMARY KEY CHECK (one = 1),
  -- The project that the turn was about; empty: none.
  project TEXT NOT NULL,
  -- JSON: at most two texts of 20,000 bytes.
  texts   TEXT NOT NULL
);
";

/// The instructions.
pub const SELECT_INSTRUCTIONS: &str = "SELECT project, texts FROM kept_instructions";

/// Writes instructions in place of the ones before.
pub const UPSERT_INSTRUCTIONS: &str =
    "INSERT OR REPLACE INTO kept_instructions (one, project, texts) VALUES (1, ?1, ?2)";

#[cfg(test)]
mod tests {
    use rusqlite::Connection;

    use super::*;
    use crate::storage::schema::{CLEAR, CREATE};

    // Issue 23, 8
    #[test]
    fn a_thread_keeps_one_row_and_a_deletion_none() {
        let thread = Connection::open_in_memory().unwrap();
        thread.execute_batch(CREATE).unwrap();
        let has = || crate::storage::has_table(&thread, "kept_instructions");
        assert!(!has());
        thread.execute_batch(CREATE_INSTRUCTIONS).unwrap();
        for kept in [("", "[1]"), ("garden", "[2]")] {
            thread.execute(UPSERT_INSTRUCTIONS, kept).unwrap();
            let row = thread.query_row(SELECT_INSTRUCTIONS, [], |row| Ok((row.get(0)?, row.get(1)?)));
            assert_eq!(row, Ok((kept.0.to_owned(), kept.1.to_owned())));
        }
        assert!(has());
        thread.execute_batch(CLEAR).unwrap();
        assert!(!has());
    }
}
