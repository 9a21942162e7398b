//! The rows of a conversation that a client brings. All of it is one transaction, in which no other request of the isolate
//! runs, so a few statements write all rounds. Pure.
//!
//! Each round has the rows of a turn. One row for all of them would cost less, but lists, paths, versions and summaries find
//! messages by their rows, and so does the version before this one after a rollback: it would show an empty conversation.
//! The day's bytes bound the rows instead (`quota/imports.rs`).

use serde_json::to_string;

use wire::model::Message;
use wire::protocol::Seq;

use super::StoreError;

/// A question with its answer, and the ids and numbers that they get.
pub struct ImportedRound<'a> {
    pub turn_id: String,
    /// The ids of both messages.
    pub ids: [String; 2],
    /// The rows of both messages, which are the first and the last number of the turn.
    pub rows: [Seq; 2],
    pub texts: [&'a str; 2],
}

impl ImportedRound<'_> {
    /// The values of the statements below, as JSON. The texts are there once, as the model sees them: a row has at most 2 MB.
    pub fn row(&self) -> Result<String, StoreError> {
        let [question, answer] = self.texts;
        let history = [
            Message::User { content: question.into() },
            Message::Assistant { content: answer.to_owned(), tool_calls: Vec::new(), raw: None },
        ];
        Ok(to_string(&(&self.turn_id, &self.ids, self.rows, history))?)
    }
}

/// The turns of rounds (`?1`, a JSON array) that are imported at a time (`?2`).
pub const INSERT_TURNS: &str = "
INSERT INTO turns (turn_id, status, generation, resumptions, assistant_message_id, seq_first, seq_last, started_at)
SELECT value ->> '$[0]', 'done', 1, 0, value ->> '$[1][1]', value ->> '$[2][0]', value ->> '$[2][1]', ?2
FROM json_each(?1)";

/// Their questions.
pub const INSERT_QUESTIONS: &str = "
INSERT INTO messages (row, id, turn_id, role, content, created_at)
SELECT value ->> '$[2][0]', value ->> '$[1][0]', value ->> '$[0]', 'user', value ->> '$[3][0].user.content', ?2
FROM json_each(?1)";

/// Their answers.
pub const INSERT_ANSWERS: &str = "
INSERT INTO messages (row, id, turn_id, role, content, created_at, finish_reason, history)
SELECT value ->> '$[2][1]', value ->> '$[1][1]', value ->> '$[0]', 'assistant',
  value ->> '$[3][1].assistant.content', ?2, 'stop', value -> '$[3]'
FROM json_each(?1)";

#[cfg(test)]
mod tests {
    use std::iter::repeat_n;

    use bindings::rows::{STATEMENT_BYTES, arrays};
    use rusqlite::{Connection, params};

    use super::*;
    use crate::storage::schema::CREATE;

    /// A thread with these rounds, and the number of its statements.
    fn imported(texts: &[[&str; 2]]) -> (Connection, usize) {
        let thread = Connection::open_in_memory().unwrap();
        thread.execute_batch(CREATE).unwrap();
        let rounds = texts.iter().zip(1_u64..).map(|(texts, number)| ImportedRound {
            turn_id: format!("t{number}"),
            ids: [format!("q{number}"), format!("a{number}")],
            rows: [2 * number - 1, 2 * number],
            texts: *texts,
        });
        let rows: Vec<String> = rounds.map(|round| round.row().unwrap()).collect();
        let mut statements = 0;
        for array in arrays(&rows) {
            assert!(array.len() < 2_000_000, "{} bytes", array.len());
            for sql in [INSERT_TURNS, INSERT_QUESTIONS, INSERT_ANSWERS] {
                thread.execute(sql, params![array, 7]).unwrap();
                statements += 1;
            }
        }
        (thread, statements)
    }

    fn read(thread: &Connection, sql: &str) -> Vec<String> {
        let mut found = thread.prepare(sql).unwrap();
        found.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
    }

    // Issue 22, issue 42
    #[test]
    fn rounds_have_the_rows_of_turns_that_ended() {
        let texts = [["One \"x\"\n\u{0}\u{1}!", "Zwei 漢 \u{1f600}"], ["", "b"]];
        let (thread, _) = imported(&texts);
        let turns = "SELECT json_array(turn_id, status, generation, resumptions, assistant_message_id, seq_first, seq_last, \
            started_at, parent_seq) FROM turns ORDER BY seq_first";
        let expected = [r#"["t1","done",1,0,"a1",1,2,7,null]"#, r#"["t2","done",1,0,"a2",3,4,7,null]"#];
        assert_eq!(read(&thread, turns), expected);
        let messages = "SELECT json_array(row, id, turn_id, role, created_at, finish_reason, stop, usage, \
            execution_tree, parts, history IS NULL) FROM messages ORDER BY row";
        let expected = [
            r#"[1,"q1","t1","user",7,null,null,null,null,null,1]"#,
            r#"[2,"a1","t1","assistant",7,"stop",null,null,null,null,0]"#,
            r#"[3,"q2","t2","user",7,null,null,null,null,null,1]"#,
            r#"[4,"a2","t2","assistant",7,"stop",null,null,null,null,0]"#,
        ];
        assert_eq!(read(&thread, messages), expected);
        assert_eq!(read(&thread, "SELECT content FROM messages ORDER BY row"), texts.concat());
        let histories = read(&thread, "SELECT history FROM messages WHERE history IS NOT NULL ORDER BY row");
        for (history, [question, answer]) in histories.iter().zip(texts) {
            let history: Vec<Message> = serde_json::from_str(history).unwrap();
            assert!(matches!(
                &history[..],
                [Message::User { content }, Message::Assistant { content: text, tool_calls, raw: None }]
                    if *content == *question && text == answer && tool_calls.is_empty()
            ));
        }
    }

    // Issue 42, M5: the most messages that a client brings, and the longest texts.
    #[test]
    fn a_conversation_is_written_by_a_few_statements() {
        let most: Vec<[&str; 2]> = repeat_n(["q", "a"], 500).collect();
        let (thread, statements) = imported(&most);
        assert_eq!((statements, read(&thread, "SELECT content FROM messages").len()), (3, 1_000));
        // A conversation has 200 000 characters in all. A character has at most six bytes in JSON.
        let (question, answer) = ("\u{1}".repeat(100_000), "\u{1}".repeat(100_000));
        let (thread, statements) = imported(&[[&question, &answer], ["q", "a"]]);
        assert_eq!((statements, read(&thread, "SELECT content FROM messages").len()), (3, 4));
        const { assert!(6 * 200_000 < STATEMENT_BYTES) };
    }
}
