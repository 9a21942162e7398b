//! The thread in its object: meta, turns, messages, timers.

use std::collections::BTreeSet;

use worker::SqlStorageValue;

use wire::model::Message;
use wire::protocol::{Content, Owner, Role, Seq, StoredMessage};

use super::sql::{Row, Store, int, unsigned};
use super::{Failing, StoreError, history, schema};

/// What `meta` says. A thread that was deleted keeps its numbers alone.
pub struct Meta {
    pub seq_reserved: Seq,
    pub thread: Option<ThreadMeta>,
}

/// A thread that lives.
pub struct ThreadMeta {
    pub owner: Owner,
    pub thread_id: String,
    pub title: String,
    pub created_at: u64,
    /// The highest that was seen.
    pub request_seq: Option<u64>,
}

/// A row of `turns`.
pub struct TurnRow {
    pub turn_id: String,
    pub status: TurnStatus,
    pub generation: u64,
    pub resumptions: u32,
    pub assistant_message_id: String,
    pub seq_first: Seq,
    /// The number of `done`; none while the turn runs.
    pub seq_last: Option<Seq>,
    /// Set while the turn cannot be rebuilt.
    pub failing: Option<Failing>,
}

/// Where a turn stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TurnStatus {
    /// It runs, or ran when its run was lost.
    Running,
    /// It waits for somebody outside, and nothing runs.
    Parked,
    Done,
}

/// Why the alarm is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// A turn runs: should its run be lost, the alarm takes it up again.
    Turn,
    /// The time of a call is over that waits for somebody outside.
    Parked,
    /// A mark, and never due: the turn that runs is queued. Its time counts how often it was refused a place
    /// (`shell/place.rs`).
    Queued,
    /// D1 has not heard of everything.
    Outbox,
}

impl Reason {
    fn as_str(self) -> &'static str {
        match self {
            Reason::Turn => "turn",
            Reason::Parked => "parked",
            Reason::Queued => "queued",
            Reason::Outbox => "outbox",
        }
    }
}

/// Where a page of messages ends, in characters of contents and trees: an isolate has 128 MB for all its threads, and
/// a message may have a megabyte.
const PAGE_CHARS: u64 = 1_000_000;

const TURN: &str =
    "turn_id, status, generation, resumptions, assistant_message_id, seq_first, seq_last, failing_since,
    failed_attempts, retry_at";
const MESSAGE: &str =
    "row, id, turn_id, role, content, created_at, finish_reason, stop, usage, execution_tree";

impl Store {
    /// What the thread is; none where the object was never written to.
    pub fn meta(&self) -> Result<Option<Meta>, StoreError> {
        if !self.exists()? {
            return Ok(None);
        }
        let query =
            "SELECT seq_reserved, deleted_at, owner, thread_id, title, created_at, request_seq FROM meta";
        let Some(mut row) = self.row(query, [])? else { return Ok(None) };
        let thread = match row.maybe_int(1) {
            Some(_) => None,
            None => Some(ThreadMeta {
                owner: serde_json::from_str(&row.text(2)?)?,
                thread_id: row.text(3)?,
                title: row.text(4)?,
                created_at: unsigned(row.int(5)?),
                request_seq: row.maybe_int(6).map(unsigned),
            }),
        };
        Ok(Some(Meta { seq_reserved: unsigned(row.int(0)?), thread }))
    }

    /// Makes the tables and the thread. Belongs into the transaction of its first turn.
    pub fn create(&self, thread: &ThreadMeta, seq_reserved: Seq) -> Result<(), StoreError> {
        self.run(schema::CREATE, [])?;
        let query =
            "INSERT INTO meta (one, schema_version, seq_reserved, owner, thread_id, title, created_at)
            VALUES (1, ?1, ?2, ?3, ?4, ?5, ?6)";
        let owner = serde_json::to_string(&thread.owner)?;
        let bindings = [
            SqlStorageValue::Integer(schema::VERSION),
            int(seq_reserved),
            owner.into(),
            thread.thread_id.as_str().into(),
            thread.title.as_str().into(),
            int(thread.created_at),
        ];
        self.run(query, bindings)
    }

    /// Writes the reservation of numbers.
    pub fn reserve(&self, seq_reserved: Seq) -> Result<(), StoreError> {
        self.run("UPDATE meta SET seq_reserved = ?1", [int(seq_reserved)])
    }

    /// The thread's title; none where it was deleted.
    pub fn title(&self) -> Result<Option<String>, StoreError> {
        Ok(self.row("SELECT title FROM meta", [])?.and_then(|mut row| row.maybe_text(0)))
    }

    /// Gives the thread another title.
    pub fn rename(&self, title: &str) -> Result<(), StoreError> {
        self.run("UPDATE meta SET title = ?1", [title.into()])
    }

    /// Remembers the highest `request_seq`.
    pub fn saw_request(&self, request_seq: u64) -> Result<(), StoreError> {
        self.run("UPDATE meta SET request_seq = ?1", [int(request_seq)])
    }

    /// Clears the thread but for its tombstone and its numbers. Belongs into a transaction.
    pub fn bury(&self, now: u64) -> Result<(), StoreError> {
        self.run(schema::CLEAR, [])?;
        self.run(schema::BURY, [int(now)])
    }

    /// A turn that begins.
    pub fn insert_turn(&self, turn: &TurnRow, started_at: u64) -> Result<(), StoreError> {
        let query =
            "INSERT INTO turns (turn_id, status, generation, resumptions, assistant_message_id, seq_first,
            started_at) VALUES (?1, 'running', ?2, 0, ?3, ?4, ?5)";
        let bindings = [
            turn.turn_id.as_str().into(),
            int(turn.generation),
            turn.assistant_message_id.as_str().into(),
            int(turn.seq_first),
            int(started_at),
        ];
        self.run(query, bindings)
    }

    /// A turn by its id.
    pub fn turn(&self, turn_id: &str) -> Result<Option<TurnRow>, StoreError> {
        let query = format!("SELECT {TURN} FROM turns WHERE turn_id = ?1");
        self.row(&query, [turn_id.into()])?.map(turn_of).transpose()
    }

    /// The turn that has no end yet. There is at most one, and it is the newest.
    pub fn open_turn(&self) -> Result<Option<TurnRow>, StoreError> {
        let query = format!("SELECT {TURN} FROM turns ORDER BY seq_first DESC LIMIT 1");
        let newest = self.row(&query, [])?.map(turn_of).transpose()?;
        Ok(newest.filter(|turn| turn.status != TurnStatus::Done))
    }

    /// The turn that runs, or ran when its run was lost.
    pub fn running_turn(&self) -> Result<Option<TurnRow>, StoreError> {
        Ok(self.open_turn()?.filter(|turn| turn.status == TurnStatus::Running))
    }

    /// The turn waits for somebody outside, or runs again.
    pub fn set_parked(&self, turn_id: &str, parked: bool) -> Result<(), StoreError> {
        let status = if parked { "parked" } else { "running" };
        self.run("UPDATE turns SET status = ?2 WHERE turn_id = ?1", [turn_id.into(), status.into()])
    }

    /// The tools that a person allowed for good in this thread.
    pub fn approved_tools(&self) -> Result<BTreeSet<String>, StoreError> {
        let row = self.row("SELECT approved_tools FROM meta", [])?;
        let json = row.and_then(|mut row| row.maybe_text(0));
        Ok(json.map(|json| serde_json::from_str(&json)).transpose()?.unwrap_or_default())
    }

    /// A person allows a tool for good.
    pub fn approve_tool(&self, name: &str) -> Result<(), StoreError> {
        let mut names = self.approved_tools()?;
        names.insert(name.to_owned());
        self.set_approved_tools(&names)
    }

    /// A person is asked about a tool again.
    pub fn withdraw_approval(&self, name: &str) -> Result<(), StoreError> {
        let mut names = self.approved_tools()?;
        if !names.remove(name) {
            return Ok(());
        }
        self.set_approved_tools(&names)
    }

    fn set_approved_tools(&self, names: &BTreeSet<String>) -> Result<(), StoreError> {
        self.run("UPDATE meta SET approved_tools = ?1", [serde_json::to_string(names)?.into()])
    }

    /// Whether this run may write: a newer run, the turn's end and a deletion take that away.
    pub fn may_write(&self, turn_id: &str, generation: u64) -> Result<bool, StoreError> {
        let query = "SELECT 1 FROM turns WHERE turn_id = ?1 AND generation = ?2 AND status = 'running'";
        Ok(self.row(query, [turn_id.into(), int(generation)])?.is_some())
    }

    /// An attempt to rebuild a turn begins. Where it is a new run, only its generation may write from here on.
    pub fn attempt(&self, turn: &TurnRow) -> Result<(), StoreError> {
        let query = "UPDATE turns SET generation = ?2, resumptions = ?3 WHERE turn_id = ?1";
        let bindings = [turn.turn_id.as_str().into(), int(turn.generation), int(turn.resumptions.into())];
        self.run(query, bindings)?;
        self.set_failing(&turn.turn_id, turn.failing)
    }

    /// Notes how attempts to rebuild a turn have failed, or that one succeeded.
    pub fn set_failing(&self, turn_id: &str, failing: Option<Failing>) -> Result<(), StoreError> {
        let query =
            "UPDATE turns SET failing_since = ?2, failed_attempts = ?3, retry_at = ?4 WHERE turn_id = ?1";
        let column = |value: fn(Failing) -> u64| failing.map_or(SqlStorageValue::Null, |it| int(value(it)));
        let bindings = [
            turn_id.into(),
            column(|failing| failing.since_ms),
            column(|failing| failing.attempts.into()),
            column(|failing| failing.retry_at_ms),
        ];
        self.run(query, bindings)
    }

    /// The turn has its end: nothing is written to it any more.
    pub fn finish_turn(&self, turn_id: &str, seq_last: Seq) -> Result<(), StoreError> {
        let query = "UPDATE turns SET status = 'done', seq_last = ?2 WHERE turn_id = ?1";
        self.run(query, [turn_id.into(), int(seq_last)])
    }

    /// Appends a message, with what it adds to the model's view.
    pub fn insert_message(
        &self,
        message: &StoredMessage,
        history: Option<&[Message]>,
    ) -> Result<(), StoreError> {
        let query =
            "INSERT INTO messages (id, turn_id, role, content, created_at, finish_reason, stop, usage, execution_tree,
            history) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)";
        let history = history.map(|messages| history::fit(messages, history::MAX_BYTES)).transpose()?;
        let bindings = [
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
        ];
        self.run(query, bindings)
    }

    /// Messages after a row, oldest first, with their rows: so many at most, and none after [`PAGE_CHARS`].
    pub fn messages(&self, after: i64, limit: usize) -> Result<Vec<(i64, StoredMessage)>, StoreError> {
        let query = format!(
            "SELECT {MESSAGE} FROM (
                SELECT *, sum(length(content) + ifnull(length(execution_tree), 0)) OVER (
                    ORDER BY row ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before
                FROM messages WHERE row > ?1 ORDER BY row LIMIT ?2)
            WHERE ifnull(before, 0) < ?3 ORDER BY row"
        );
        let bindings = [SqlStorageValue::Integer(after), int(limit as u64), int(PAGE_CHARS)];
        self.rows(&query, bindings)?.into_iter().map(message_of).collect()
    }

    /// The messages of a turn.
    pub fn messages_of(&self, turn_id: &str) -> Result<Vec<StoredMessage>, StoreError> {
        let query = format!("SELECT {MESSAGE} FROM messages WHERE turn_id = ?1 ORDER BY row");
        let rows = self.rows(&query, [turn_id.into()])?;
        rows.into_iter().map(|row| message_of(row).map(|(_, message)| message)).collect()
    }

    /// The messages from the beginning of the turn that a message belongs to, oldest first, at most so many: their
    /// rows and ids. None where there is no such message.
    pub fn messages_from_turn_of(&self, id: &str, limit: usize) -> Result<Vec<(i64, String)>, StoreError> {
        let query = "SELECT row, id FROM messages WHERE row >= (SELECT min(row) FROM messages
            WHERE turn_id = (SELECT turn_id FROM messages WHERE id = ?1)) ORDER BY row LIMIT ?2";
        let rows = self.rows(query, [id.into(), int(limit as u64)])?;
        rows.into_iter().map(|mut row| Ok((row.int(0)?, row.text(1)?))).collect()
    }

    /// Takes the messages from a row on away. Their rows are never used again.
    pub fn cut_messages(&self, from: i64) -> Result<(), StoreError> {
        self.run("DELETE FROM messages WHERE row >= ?1", [SqlStorageValue::Integer(from)])
    }

    /// Whether a message is there, and was not replaced.
    pub fn has_message(&self, id: &str) -> Result<bool, StoreError> {
        Ok(self.row("SELECT 1 FROM messages WHERE id = ?1", [id.into()])?.is_some())
    }

    /// What the user said first, and in which row.
    pub fn first_words(&self) -> Result<Option<(i64, String)>, StoreError> {
        let row = self.row("SELECT row, content FROM messages ORDER BY row LIMIT 1", [])?;
        row.map(|mut row| Ok((row.int(0)?, row.text(1)?))).transpose()
    }

    /// A user's message as it was sent, as far as that is kept: a turn that left too much has only its words.
    pub fn sent_content(&self, id: &str) -> Result<Option<Content>, StoreError> {
        let query =
            "SELECT content, (SELECT history FROM messages answer WHERE answer.turn_id = asked.turn_id
            AND answer.history IS NOT NULL) FROM messages asked WHERE id = ?1 AND role = 'user'";
        let Some(mut row) = self.row(query, [id.into()])? else { return Ok(None) };
        let words = row.text(0)?;
        let sent = row.maybe_text(1).map(|history| history::question(&history)).transpose()?.flatten();
        Ok(Some(sent.unwrap_or_else(|| words.into())))
    }

    /// What the user said in a turn.
    pub fn user_content(&self, turn_id: &str) -> Result<Option<String>, StoreError> {
        let query = "SELECT content FROM messages WHERE turn_id = ?1 AND role = 'user'";
        self.row(query, [turn_id.into()])?.map(|mut row| row.text(0)).transpose()
    }

    /// The row and the time of the newest message.
    pub fn newest_message(&self) -> Result<Option<(i64, u64)>, StoreError> {
        let row = self.row("SELECT row, created_at FROM messages ORDER BY row DESC LIMIT 1", [])?;
        row.map(|row| Ok((row.int(0)?, unsigned(row.int(1)?)))).transpose()
    }

    /// The conversation up to a row, in whole turns, the newest `max_bytes` of it at least: what a model may see of
    /// it is cut further, by tokens.
    pub fn history(&self, until: i64, max_bytes: usize) -> Result<Vec<Message>, StoreError> {
        let mut turns: Vec<Vec<Message>> = Vec::new();
        let (mut before, mut bytes) = (until.saturating_add(1), 0);
        while bytes < max_bytes {
            let query = "SELECT row, history FROM messages WHERE row < ?1 AND history IS NOT NULL
                ORDER BY row DESC LIMIT 16";
            let rows = self.rows(query, [SqlStorageValue::Integer(before)])?;
            let last = rows.len() < 16;
            for mut row in rows {
                before = row.int(0)?;
                let json = row.text(1)?;
                if bytes < max_bytes {
                    bytes += json.len();
                    turns.push(serde_json::from_str(&json)?);
                }
            }
            if last {
                break;
            }
        }
        Ok(turns.into_iter().rev().flatten().collect())
    }

    /// Sets a timer; one that is there is moved.
    pub fn set_timer(&self, reason: Reason, due_at: u64) -> Result<(), StoreError> {
        let query = "INSERT INTO timers (reason, due_at) VALUES (?1, ?2)
            ON CONFLICT (reason) DO UPDATE SET due_at = excluded.due_at";
        self.run(query, [reason.as_str().into(), int(due_at)])
    }

    /// Sets a timer; one that is there is only brought forward.
    pub fn hasten_timer(&self, reason: Reason, due_at: u64) -> Result<(), StoreError> {
        let query = "INSERT INTO timers (reason, due_at) VALUES (?1, ?2)
            ON CONFLICT (reason) DO UPDATE SET due_at = min(due_at, excluded.due_at)";
        self.run(query, [reason.as_str().into(), int(due_at)])
    }

    /// Takes a timer away.
    pub fn clear_timer(&self, reason: Reason) -> Result<(), StoreError> {
        self.run("DELETE FROM timers WHERE reason = ?1", [reason.as_str().into()])
    }

    /// When a timer is due.
    pub fn timer(&self, reason: Reason) -> Result<Option<u64>, StoreError> {
        let row = self.row("SELECT due_at FROM timers WHERE reason = ?1", [reason.as_str().into()])?;
        Ok(row.and_then(|row| row.maybe_int(0)).map(unsigned))
    }

    /// Sets the alarm to the earliest timer, or takes it away where there is none.
    pub fn arm(&self) -> Result<(), StoreError> {
        let row = self.row("SELECT min(due_at) FROM timers", [])?;
        match row.and_then(|row| row.maybe_int(0)) {
            Some(due_at) => self.set_alarm(unsigned(due_at)),
            None => self.delete_alarm(),
        }
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
    Ok(serde_json::from_value(serde_json::Value::String(word))?)
}

fn turn_of(mut row: Row) -> Result<TurnRow, StoreError> {
    Ok(TurnRow {
        turn_id: row.text(0)?,
        status: match row.text(1)?.as_str() {
            "running" => TurnStatus::Running,
            "parked" => TurnStatus::Parked,
            _ => TurnStatus::Done,
        },
        generation: unsigned(row.int(2)?),
        resumptions: u32::try_from(row.int(3)?).unwrap_or(u32::MAX),
        assistant_message_id: row.text(4)?,
        seq_first: unsigned(row.int(5)?),
        seq_last: row.maybe_int(6).map(unsigned),
        failing: failing_of(&row),
    })
}

fn failing_of(row: &Row) -> Option<Failing> {
    let since_ms = unsigned(row.maybe_int(7)?);
    let attempts = row.maybe_int(8).map_or(0, |attempts| u32::try_from(attempts).unwrap_or(u32::MAX));
    Some(Failing { since_ms, attempts, retry_at_ms: row.maybe_int(9).map_or(0, unsigned) })
}

fn message_of(mut row: Row) -> Result<(i64, StoredMessage), StoreError> {
    let json = |text: Option<String>| text.map(|text| serde_json::from_str(&text)).transpose();
    let message = StoredMessage {
        id: row.text(1)?,
        turn_id: row.text(2)?,
        role: of_word::<Role>(row.text(3)?)?,
        content: row.text(4)?,
        created_at: unsigned(row.int(5)?),
        finish_reason: row.maybe_text(6).map(of_word).transpose()?,
        stop: row.maybe_text(7).map(|text| serde_json::from_str(&text)).transpose()?,
        usage: row.maybe_text(8).map(|text| serde_json::from_str(&text)).transpose()?,
        execution_tree: json(row.maybe_text(9))?,
    };
    Ok((row.int(0)?, message))
}
