//! The thread in its object: `meta` and `turns`.

use std::collections::BTreeSet;

use worker::SqlStorageValue;

use bindings::rows::arrays;
use wire::protocol::{Hook, Owner, Seq};
use wire::title::{TITLE_CHARS, title_of};

use super::import_rows::{INSERT_ANSWERS, INSERT_QUESTIONS, INSERT_TURNS, ImportedRound};
use super::sql::{Row, Store, int, unsigned};
use super::turn::{TurnRow, TurnStatus};
use super::{Failing, StoreError, schema};

/// The title of a thread whose first message is blank.
const UNTITLED: &str = "New chat";

/// The row of `meta`. A deleted thread keeps only its numbers.
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
    /// The highest `request_seq` of the thread's requests.
    pub request_seq: Option<u64>,
}

/// The rules that each turn of a thread begins with.
#[derive(Default)]
pub struct Rules {
    /// The tools that a person allowed for good.
    pub approved: BTreeSet<String>,
    /// The hooks, in the order in which they are asked.
    pub hooks: Vec<Hook>,
    /// Whether a turn left a life of an agent.
    pub has_lives: bool,
}

const SELECT_TURN: &str =
    "SELECT turn_id, status, generation, resumptions, assistant_message_id, seq_first, seq_last, failing_since,
    failed_attempts, retry_at FROM turns WHERE turn_id = ?1";
const SELECT_NEWEST: &str =
    "SELECT turn_id, status, generation, resumptions, assistant_message_id, seq_first, seq_last, failing_since,
    failed_attempts, retry_at FROM turns ORDER BY seq_first DESC LIMIT 1";
const SELECT_META: &str =
    "SELECT seq_reserved, deleted_at, owner, thread_id, title, created_at, request_seq FROM meta";
/// The rules of a thread, and whether there is a table of lives.
const RULES: &str = "SELECT approved_tools, hooks,
    (SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = 'agent_lives') FROM meta";

impl Store {
    /// The row of `meta`; none if the object was never written to.
    pub fn meta(&self) -> Result<Option<Meta>, StoreError> {
        if !self.exists()? {
            return Ok(None);
        }
        let Some(mut row) = self.remembered(SELECT_META)?.first().cloned() else { return Ok(None) };
        let thread = match row.maybe_int(1) {
            Some(_) => None,
            None => Some(ThreadMeta {
                owner: wire::json::from_str(&row.text(2)?)?,
                thread_id: row.text(3)?,
                title: row.text(4)?,
                created_at: unsigned(row.int(5)?),
                request_seq: row.maybe_int(6).map(unsigned),
            }),
        };
        Ok(Some(Meta { seq_reserved: unsigned(row.int(0)?), thread }))
    }

    /// Makes the tables and the thread, in the transaction of its first turn.
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

    /// The thread's title; none where the thread was deleted.
    pub fn title(&self) -> Result<Option<String>, StoreError> {
        Ok(self.meta()?.and_then(|meta| meta.thread).map(|thread| thread.title))
    }

    /// Gives the thread another title.
    pub fn rename(&self, title: &str) -> Result<(), StoreError> {
        self.run("UPDATE meta SET title = ?1", [title.into()])
    }

    /// Remembers the highest `request_seq`.
    pub fn saw_request(&self, request_seq: u64) -> Result<(), StoreError> {
        self.run("UPDATE meta SET request_seq = ?1", [int(request_seq)])
    }

    /// Clears the thread except its tombstone and its numbers. The caller opens a transaction.
    pub fn bury(&self, now: u64) -> Result<(), StoreError> {
        self.turns.set(None);
        self.run(schema::CLEAR, [])?;
        self.run(schema::BURY, [int(now)])
    }

    /// Writes a turn that begins. `parent`: the turn that it follows, unless that is the newest.
    pub fn insert_turn(
        &self,
        turn: &TurnRow,
        parent: Option<Seq>,
        started_at: u64,
    ) -> Result<(), StoreError> {
        self.told_start.set(false);
        let query =
            "INSERT INTO turns (turn_id, status, generation, resumptions, assistant_message_id, seq_first,
            started_at, parent_seq) VALUES (?1, 'running', ?2, 0, ?3, ?4, ?5, ?6)";
        let bindings = [
            turn.turn_id.as_str().into(),
            int(turn.generation),
            turn.assistant_message_id.as_str().into(),
            int(turn.seq_first),
            int(started_at),
            parent.map_or(SqlStorageValue::Null, int),
        ];
        self.run(query, bindings)?;
        self.turns.set(self.turns.get().map(|turns| turns + 1));
        Ok(())
    }

    /// Writes the rounds of a conversation that a client brings.
    pub fn insert_rounds(&self, rounds: &[ImportedRound<'_>], at: u64) -> Result<(), StoreError> {
        self.turns.set(None);
        let rows: Vec<String> = rounds.iter().map(ImportedRound::row).collect::<Result<_, _>>()?;
        for array in arrays(&rows) {
            for query in [INSERT_TURNS, INSERT_QUESTIONS, INSERT_ANSWERS] {
                self.run(query, [array.as_str().into(), int(at)])?;
            }
        }
        Ok(())
    }

    /// A turn by its id.
    pub fn turn(&self, turn_id: &str) -> Result<Option<TurnRow>, StoreError> {
        self.row(SELECT_TURN, [turn_id.into()])?.map(turn_of).transpose()
    }

    /// The turn that has no end yet. There is at most one, and it is the newest.
    pub fn open_turn(&self) -> Result<Option<TurnRow>, StoreError> {
        let newest = self.row(SELECT_NEWEST, [])?.map(turn_of).transpose()?;
        Ok(newest.filter(|turn| turn.status != TurnStatus::Done))
    }

    /// The turn that runs, or ran when its run was lost.
    pub fn running_turn(&self) -> Result<Option<TurnRow>, StoreError> {
        Ok(self.open_turn()?.filter(|turn| turn.status == TurnStatus::Running))
    }

    /// Marks the turn as parked, or as running again.
    pub fn set_parked(&self, turn_id: &str, parked: bool) -> Result<(), StoreError> {
        let status = if parked { "parked" } else { "running" };
        self.run("UPDATE turns SET status = ?2 WHERE turn_id = ?1", [turn_id.into(), status.into()])
    }

    /// The rules of the thread.
    pub fn rules(&self) -> Result<Rules, StoreError> {
        let Some(mut row) = self.remembered(RULES)?.first().cloned() else {
            return Ok(Rules::default());
        };
        let (approved, hooks) = (row.maybe_text(0), row.maybe_text(1));
        Ok(Rules {
            approved: approved.map(|json| wire::json::from_str(&json)).transpose()?.unwrap_or_default(),
            hooks: hooks.map(|json| wire::json::from_str(&json)).transpose()?.unwrap_or_default(),
            has_lives: row.int(2)? > 0,
        })
    }

    /// Writes the hooks of the thread.
    pub fn set_hooks(&self, hooks: &[Hook]) -> Result<(), StoreError> {
        self.run("UPDATE meta SET hooks = ?1", [serde_json::to_string(hooks)?.into()])
    }

    /// Stores that a person allows a tool for good.
    pub fn approve_tool(&self, name: &str) -> Result<(), StoreError> {
        let mut names = self.rules()?.approved;
        names.insert(name.to_owned());
        self.set_approved_tools(&names)
    }

    /// Takes it back: from now on a person is asked about the tool again.
    pub fn withdraw_approval(&self, name: &str) -> Result<(), StoreError> {
        let mut names = self.rules()?.approved;
        if !names.remove(name) {
            return Ok(());
        }
        self.set_approved_tools(&names)
    }

    fn set_approved_tools(&self, names: &BTreeSet<String>) -> Result<(), StoreError> {
        self.run("UPDATE meta SET approved_tools = ?1", [serde_json::to_string(names)?.into()])
    }

    /// Whether this run may write. It may not after a newer run, the turn's end or a deletion.
    pub fn may_write(&self, turn_id: &str, generation: u64) -> Result<bool, StoreError> {
        let newest = self.remembered(SELECT_NEWEST)?.first().cloned().map(turn_of).transpose()?;
        let running = newest.filter(|turn| turn.status == TurnStatus::Running);
        Ok(running.is_some_and(|turn| turn.turn_id == turn_id && turn.generation == generation))
    }

    /// Writes that an attempt to rebuild a turn begins. Where it is a new run, only its generation may write from here
    /// on.
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

    /// Writes the turn's end: no event of it is written any more.
    pub fn finish_turn(&self, turn_id: &str, seq_last: Seq) -> Result<(), StoreError> {
        let query = "UPDATE turns SET status = 'done', seq_last = ?2 WHERE turn_id = ?1";
        self.run(query, [turn_id.into(), int(seq_last)])
    }
}

/// A row of `turns`.
pub fn turn_of(mut row: Row) -> Result<TurnRow, StoreError> {
    Ok(TurnRow {
        turn_id: row.text(0)?,
        status: TurnStatus::from_column(&row.text(1)?),
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

/// The title of a thread whose conversation begins with this message.
pub fn title(content: &str) -> String {
    Some(title_of(content)).filter(|title| !title.is_empty()).unwrap_or_else(|| UNTITLED.to_owned())
}

/// Whether nobody has named a thread whose conversation begins with this message. Earlier versions took the beginning of the
/// message as it was.
pub fn is_unnamed(title: &str, content: &str) -> bool {
    let beginning = content.trim().chars().take(TITLE_CHARS);
    title == self::title(content) || beginning.eq(title.chars())
}
