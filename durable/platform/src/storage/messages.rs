//! The messages of a thread, and the conversation that a model may see.

use worker::SqlStorageValue;

use wire::model::Message;
use wire::protocol::{
    Content, CostSummary, CountedRequest, EXCERPT_CHARS, Excerpt, Role, Seq, StopNote, StoredMessage,
};

use super::path::{ON_PATH, Path, path_of};
use super::sql::{Row, Store, int, unsigned};
use super::{StoreError, fit, history};

/// Where a page of messages ends, in characters of contents, trees and parts: an isolate has 128 MB for all its threads, and
/// a message may have a megabyte.
const PAGE_CHARS: u64 = 1_000_000;

const MESSAGE: &str =
    "row, id, turn_id, role, content, created_at, finish_reason, stop, usage, execution_tree, parts";

impl Store {
    /// Appends a message, with its part of the model's view. `row`: the number of an event of its turn, which no other
    /// message has.
    pub fn insert_message(
        &self,
        row: Seq,
        message: &StoredMessage,
        history: Option<&[Message]>,
    ) -> Result<(), StoreError> {
        let query =
            "INSERT INTO messages (row, id, turn_id, role, content, created_at, finish_reason, stop, usage,
            execution_tree, history, parts) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)";
        let history = history.map(|messages| history::fit(messages, history::MAX_BYTES)).transpose()?;
        let bindings = [
            int(row),
            message.id.as_str().into(),
            message.turn_id.as_str().into(),
            word(&message.role)?.into(),
            message.content.as_str().into(),
            int(message.created_at),
            message.finish_reason.as_ref().map(word).transpose()?.into(),
            message.stop.as_ref().map(serde_json::to_string).transpose()?.into(),
            message.usage.as_ref().map(serde_json::to_string).transpose()?.into(),
            message.execution_tree.as_ref().map(serde_json::to_string).transpose()?.into(),
            history.into(),
            fit::parts_text(message)?.into(),
        ];
        self.run(query, bindings)
    }

    /// Messages of a path after a row, oldest first, with their rows: at most `limit`, and no further one after
    /// [`PAGE_CHARS`]. Without a path: all messages.
    pub fn messages(
        &self,
        path: Option<&Path>,
        after: i64,
        limit: usize,
    ) -> Result<Vec<(i64, StoredMessage)>, StoreError> {
        let paths = path_of("path", "?4");
        let query = format!(
            "WITH {paths} SELECT {MESSAGE} FROM (
                SELECT {MESSAGE}, sum(length(content) + ifnull(length(execution_tree), 0) + ifnull(length(parts), 0))
                    OVER (ORDER BY row ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before
                FROM messages JOIN turns USING (turn_id)
                WHERE row > ?1 AND (?4 IS NULL OR {ON_PATH}) ORDER BY row LIMIT ?2)
            WHERE ifnull(before, 0) < ?3 ORDER BY row"
        );
        let path: SqlStorageValue = path.map(Path::json).into();
        let bindings = [SqlStorageValue::Integer(after), int(limit as u64), int(PAGE_CHARS), path];
        self.rows(&query, bindings)?.into_iter().map(message_of).collect()
    }

    /// Whether the path has messages after a row; without a path: whether the thread has.
    pub fn has_messages_after(&self, path: Option<&Path>, row: i64) -> Result<bool, StoreError> {
        let paths = path_of("path", "?2");
        let query = format!(
            "WITH {paths} SELECT 1 FROM messages JOIN turns USING (turn_id)
            WHERE row > ?1 AND (?2 IS NULL OR {ON_PATH}) LIMIT 1"
        );
        Ok(self.row(&query, [SqlStorageValue::Integer(row), path.map(Path::json).into()])?.is_some())
    }

    /// The messages of a turn that has ended: the one with this id and the one before it. Turns do not overlap, so the
    /// messages of a turn are neighbours.
    pub fn messages_until(&self, turn_id: &str, answer: &str) -> Result<Vec<StoredMessage>, StoreError> {
        let query = format!(
            "SELECT {MESSAGE} FROM messages WHERE turn_id = ?1 AND row IN (
                SELECT row FROM messages WHERE row <= (SELECT row FROM messages WHERE id = ?2)
                ORDER BY row DESC LIMIT 2)
            ORDER BY row"
        );
        let rows = self.rows(&query, [turn_id.into(), answer.into()])?;
        rows.into_iter().map(|row| message_of(row).map(|(_, message)| message)).collect()
    }

    /// The text of a path's first message.
    pub fn first_words(&self, path: &Path) -> Result<Option<String>, StoreError> {
        let paths = path_of("path", "?1");
        let query = format!(
            "WITH {paths} SELECT content FROM messages JOIN turns USING (turn_id) WHERE {ON_PATH} ORDER BY row LIMIT 1"
        );
        self.row(&query, [path.json().into()])?.map(|mut row| row.text(0)).transpose()
    }

    /// A user's message as it was sent. The history of a long turn may have lost it: then only its text is left.
    pub fn sent_content(&self, id: &str) -> Result<Option<Content>, StoreError> {
        let query =
            "SELECT content, (SELECT iif(answer.turn_id = asked.turn_id, answer.history, NULL) FROM messages answer
            WHERE answer.row > asked.row ORDER BY answer.row LIMIT 1)
            FROM messages asked WHERE id = ?1 AND role = 'user'";
        let Some(mut row) = self.row(query, [id.into()])? else { return Ok(None) };
        let words = row.text(0)?;
        let sent = row.maybe_text(1).map(|history| history::question(&history)).transpose()?.flatten();
        Ok(Some(sent.unwrap_or_else(|| words.into())))
    }

    /// The beginning of a message.
    pub fn excerpt(&self, id: &str) -> Result<Option<Excerpt>, StoreError> {
        let query = "SELECT turn_id, role, substr(content, 1, ?2) FROM messages WHERE id = ?1";
        let values: [SqlStorageValue; 2] = [id.into(), EXCERPT_CHARS.into()];
        let Some(mut row) = self.row(query, values)? else { return Ok(None) };
        let (turn_id, role, excerpt) = (row.text(0)?, of_word(row.text(1)?)?, row.text(2)?);
        Ok(Some(Excerpt { turn_id, role, excerpt }))
    }

    /// The text of the user's message in the open turn, which is the newest message.
    pub fn user_content(&self, turn_id: &str) -> Result<Option<String>, StoreError> {
        let query =
            "SELECT content FROM messages WHERE turn_id = ?1 AND role = 'user' ORDER BY row DESC LIMIT 1";
        self.row(query, [turn_id.into()])?.map(|mut row| row.text(0)).transpose()
    }

    /// The last message of a path, where it is an answer: its turn, and why the service stopped that turn.
    pub fn last_answer(&self, path: &Path) -> Result<Option<(String, Option<StopNote>)>, StoreError> {
        let paths = path_of("path", "?1");
        let query = format!(
            "WITH {paths} SELECT turn_id, role, stop FROM messages JOIN turns USING (turn_id) WHERE {ON_PATH}
            ORDER BY row DESC LIMIT 1"
        );
        let Some(mut row) = self.row(&query, [path.json().into()])? else { return Ok(None) };
        let (turn_id, role) = (row.text(0)?, of_word::<Role>(row.text(1)?)?);
        let stop = row.maybe_text(2).map(|text| wire::json::from_str(&text)).transpose()?;
        Ok((role == Role::Assistant).then_some((turn_id, stop)))
    }

    /// The last request of the turn with this answer, as its provider counted it.
    pub fn last_request(&self, row: i64) -> Result<Option<CountedRequest>, StoreError> {
        let row = self.row("SELECT usage FROM messages WHERE row = ?1", [SqlStorageValue::Integer(row)])?;
        let usage = row.and_then(|mut row| row.maybe_text(0));
        let usage: Option<CostSummary> = usage.map(|text| wire::json::from_str(&text)).transpose()?;
        Ok(usage.and_then(|usage| usage.last_request))
    }

    /// The row and the time of the newest message.
    pub fn newest_message(&self) -> Result<Option<(i64, u64)>, StoreError> {
        let row = self.row("SELECT row, created_at FROM messages ORDER BY row DESC LIMIT 1", [])?;
        row.map(|row| Ok((row.int(0)?, unsigned(row.int(1)?)))).transpose()
    }
}

/// A unit variant's name on the wire.
pub(super) fn word(value: &impl serde::Serialize) -> Result<String, StoreError> {
    match serde_json::to_value(value)? {
        serde_json::Value::String(word) => Ok(word),
        other => Err(StoreError(format!("{other} is not a word"))),
    }
}

fn of_word<T: serde::de::DeserializeOwned>(word: String) -> Result<T, StoreError> {
    Ok(wire::json::from_value(&serde_json::Value::String(word))?)
}

fn message_of(mut row: Row) -> Result<(i64, StoredMessage), StoreError> {
    let json = |text: Option<String>| text.map(|text| wire::json::from_str(&text)).transpose();
    let message = StoredMessage {
        id: row.text(1)?,
        turn_id: row.text(2)?,
        role: of_word::<Role>(row.text(3)?)?,
        content: row.text(4)?,
        created_at: unsigned(row.int(5)?),
        finish_reason: row.maybe_text(6).map(of_word).transpose()?,
        stop: row.maybe_text(7).map(|text| wire::json::from_str(&text)).transpose()?,
        usage: row.maybe_text(8).map(|text| wire::json::from_str(&text)).transpose()?,
        execution_tree: json(row.maybe_text(9))?,
        parts: row.maybe_text(10).map(|text| wire::json::from_str(&text)).transpose()?.unwrap_or_default(),
    };
    Ok((row.int(0)?, message))
}
