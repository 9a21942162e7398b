//! The table of a thread's wish for a title, and the statement that finds its first answer. Pure.

/// The table, made with the wish: it exists where the operator allows titles by the model.
pub const CREATE_WISH: &str = "
CREATE TABLE IF NOT EXISTS title_wish (
  one  INTEGER PRIMARY KEY CHECK (one = 1),
  -- JSON: a few ids, a title, and the call that has begun.
  wish TEXT NOT NULL
);
";

/// The wish.
pub const SELECT_WISH: &str = "SELECT wish FROM title_wish";

/// Writes a wish in place of the one before.
pub const UPSERT_WISH: &str = "INSERT OR REPLACE INTO title_wish (one, wish) VALUES (1, ?1)";

/// The wish is over.
pub const DELETE_WISH: &str = "DELETE FROM title_wish";

/// Whether a model finished an answer in another turn than this one. Rows are append-only, so the first finished turn of a
/// thread stays its first.
pub const HAS_ANSWER_BESIDE: &str = "
SELECT 1 FROM messages WHERE role = 'assistant' AND finish_reason = 'stop' AND turn_id <> ?1 LIMIT 1";

/// The messages of a turn.
pub const SELECT_EXCHANGE: &str = "SELECT role, content FROM messages WHERE turn_id = ?1 ORDER BY row";

#[cfg(test)]
mod tests {
    use rusqlite::{Connection, params};

    use super::*;
    use crate::storage::schema::{CLEAR, CREATE};

    // Issue 23, 9
    #[test]
    fn a_thread_has_one_wish_and_a_deletion_takes_it_along() {
        let thread = Connection::open_in_memory().unwrap();
        thread.execute_batch(CREATE).unwrap();
        let has = || crate::storage::has_table(&thread, "title_wish");
        let wishes = || -> Vec<String> {
            let mut statement = thread.prepare(SELECT_WISH).unwrap();
            statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
        };
        assert!(!has(), "a deployment without titles has no table");
        for wish in ["{1}", "{2}"] {
            thread.execute_batch(CREATE_WISH).unwrap();
            thread.execute(UPSERT_WISH, [wish]).unwrap();
            assert_eq!(wishes(), [wish]);
        }
        thread.execute(DELETE_WISH, []).unwrap();
        assert!(has() && wishes().is_empty());
        thread.execute(UPSERT_WISH, ["{3}"]).unwrap();
        thread.execute_batch(CLEAR).unwrap();
        assert!(!has());
    }

    #[test]
    fn the_first_finished_turn_has_no_answer_beside_it() {
        let thread = Connection::open_in_memory().unwrap();
        thread.execute_batch(CREATE).unwrap();
        let is_first = |turn: &str| !thread.prepare(HAS_ANSWER_BESIDE).unwrap().exists([turn]).unwrap();
        let say = |row: i64, turn: &str, role: &str, finish: Option<&str>| {
            let sql = "INSERT INTO messages (row, id, turn_id, role, content, created_at, finish_reason)
                VALUES (?1, ?1, ?2, ?3, ?3 || ?1, 0, ?4)";
            thread.execute(sql, params![row, turn, role, finish]).unwrap();
        };
        say(1, "a", "user", None);
        say(2, "a", "assistant", Some("cancelled"));
        say(3, "b", "user", None);
        assert!(is_first("b"), "nobody answered the turn before");
        say(4, "b", "assistant", Some("stop"));
        assert!(is_first("b"), "its own answer does not count");
        assert!(!is_first("c"));
        let mut statement = thread.prepare(SELECT_EXCHANGE).unwrap();
        let exchange = statement.query_map(["b"], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
        let exchange: Vec<(String, String)> = exchange.map(Result::unwrap).collect();
        let expected = [("user", "user3"), ("assistant", "assistant4")];
        assert_eq!(exchange, expected.map(|(role, text)| (role.to_owned(), text.to_owned())));
    }
}
