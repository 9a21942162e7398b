//! The outbox: the news that D1 has not taken yet, in order.
//!
//! The object's SQLite is the authority for its thread. D1 is the index across threads. Of a thread it is the
//! authority for the pin alone: pins are bounded across a user's threads, so the Worker writes them there. An outbox
//! row at a turn's end, an idempotent upsert, tells it the whole turn. A turn that lasts until its first alarm, or
//! parks, has a row for its start as well. While D1 refuses, chat goes on and the alarm retries. The row with the
//! fewest refusals goes first, and a row with three refusals goes alone, so a bad row holds up no other. A deletion
//! drops the outbox but for the spending. It is told twice, the second time after any older batch must have ended.

use super::StoreError;
use super::fit::CONTENT_BYTES;
use super::outgoing::{News, Outgoing, Present, ThreadRow};
use super::path;
use super::rows::json_bytes;
use super::sql::{Store, int, unsigned};
use crate::duties::driver::Batch;
use bindings::rows::unsigned_integer;
use wire::protocol::{Role, Seq, StoredMessage};

/// The news of one batch for D1.
pub struct Parcel {
    /// An error where a row cannot be read.
    pub rows: Result<Vec<Outgoing>, StoreError>,
    /// Whether the outbox has a row that D1 has refused.
    pub has_refused: bool,
}

/// The most rows of a batch. A batch ends earlier by its size: D1 takes parameters of up to 2 MB.
const ROWS: usize = 32;
const BYTES: usize = 1_000_000;
/// A row that D1 refused so often goes alone, so that a row that D1 will never take holds up no other.
pub const ALONE_AFTER: u32 = 3;

impl Store {
    /// Puts news into the outbox, due at a time. Belongs into the transaction of the change that it tells.
    pub fn post(&self, outgoing: &Outgoing, due_at: u64) -> Result<(), StoreError> {
        let (turn_id, payload) = (outgoing.turn_id().map(str::to_owned), serde_json::to_string(outgoing)?);
        let query = "INSERT INTO outbox (turn_id, payload, attempts, due_at) VALUES (?1, ?2, 0, ?3)";
        self.run(query, [turn_id.into(), payload.into(), int(due_at)])
    }

    /// Posts the start of the open turn, once in this memory. The end of a turn tells its start as well, so this is for
    /// a turn that lasts. `seq_first`: the turn's first event.
    pub fn post_start(&self, seq_first: Seq, now: u64) -> Result<(), StoreError> {
        if self.told_start.get() {
            return Ok(());
        }
        let Some(thread) = self.meta()?.and_then(|meta| meta.thread) else { return Ok(()) };
        let Some(message) = self.question(seq_first)? else { return Ok(()) };
        let (title, created_at, updated_at) = (thread.title, thread.created_at, message.created_at);
        let news =
            News::TurnStarted { thread: ThreadRow { title, created_at, updated_at, state: None }, message };
        self.post(&Outgoing::new(&thread.owner, thread.thread_id, news), now)?;
        self.told_start.set(true);
        Ok(())
    }

    /// The user's message of the turn with this first event, whose number is the message's row. None in a turn that
    /// version 2 of the tables began: it posted its start.
    fn question(&self, seq_first: Seq) -> Result<Option<StoredMessage>, StoreError> {
        let before = unsigned_integer(seq_first) - 1;
        let found = self.messages(None, before, 1)?.pop().map(|(_, message)| message);
        Ok(found.filter(|message| message.role == Role::User))
    }

    /// The user's message for the news of the turn's end. One that is too long for them is posted with the turn's start.
    pub fn question_at_end(&self, seq_first: Seq, now: u64) -> Result<Option<StoredMessage>, StoreError> {
        let question = self.question(seq_first)?;
        if question.as_ref().is_none_or(|question| json_bytes(&question.content) <= CONTENT_BYTES) {
            return Ok(question);
        }
        self.post_start(seq_first, now)?;
        Ok(None)
    }

    /// The id of the newest row; 0 where there is none.
    pub fn newest_news(&self) -> Result<u64, StoreError> {
        let row = self.row("SELECT max(id) FROM outbox", [])?;
        Ok(row.and_then(|row| row.maybe_int(0)).map_or(0, unsigned))
    }

    /// Deletes the rows up to an id. A drain may be telling them: the rows that take their place are posted before, so
    /// that they have other ids.
    pub fn forget_news(&self, through: u64) -> Result<(), StoreError> {
        self.run("DELETE FROM outbox WHERE id <= ?1", [int(through)])
    }

    /// The next rows for D1: those that it refused least, the oldest first. Their order does not matter to D1. None
    /// where no row is due.
    pub fn parcel(&self, now: u64) -> Result<Option<(Batch, Parcel)>, StoreError> {
        let query = "SELECT id, payload, attempts, (SELECT max(attempts) FROM outbox) FROM outbox
            WHERE due_at <= ?1 ORDER BY attempts, id LIMIT ?2";
        let mut found: Option<(Batch, Parcel)> = None;
        let mut bytes = 0;
        for mut row in self.rows(query, [int(now), int(ROWS as u64)])? {
            let (id, payload) = (unsigned(row.int(0)?), row.text(1)?);
            bytes += payload.len();
            let attempts = u32::try_from(row.int(2)?).unwrap_or(u32::MAX);
            let has_refused = row.int(3)? > 0;
            let (batch, parcel) = found.get_or_insert_with(|| {
                (Batch { ids: Vec::new(), attempts }, Parcel { rows: Ok(Vec::new()), has_refused })
            });
            if !batch.ids.is_empty() && (bytes > BYTES || attempts >= ALONE_AFTER) {
                break;
            }
            batch.ids.push(id);
            match (wire::json::from_str(&payload), parcel.rows.as_mut()) {
                (Ok(outgoing), Ok(rows)) => rows.push(outgoing),
                (Err(error), Ok(_)) => parcel.rows = Err(StoreError(format!("outbox row {id}: {error}"))),
                (_, Err(_)) => {}
            }
        }
        Ok(found)
    }

    /// The thread as it is now, as far as the news of these messages need to know it.
    pub fn present<'m>(&self, ids: impl Iterator<Item = &'m str>) -> Result<Present, StoreError> {
        let ids = serde_json::to_string(&ids.collect::<Vec<_>>())?;
        let (title, path) = (self.title()?.unwrap_or_default(), self.path()?.json());
        let state = self.ends()?.status.thread_state();
        let mut present = Present { title, state, ..Present::default() };
        for mut row in self.rows(&path::select_here(), [path.as_str().into(), ids.into()])? {
            let id = row.text(0)?;
            if row.int(1)? > 0 {
                present.beside.insert(id.clone());
            }
            present.messages.insert(id);
        }
        Ok(Present { path, ..present })
    }

    /// Whether the outbox has a row that D1 has refused.
    pub fn has_refused_news(&self) -> Result<bool, StoreError> {
        Ok(self.row("SELECT 1 FROM outbox WHERE attempts > 0 LIMIT 1", [])?.is_some())
    }

    /// Deletes rows that D1 took.
    pub fn delivered(&self, ids: &[u64]) -> Result<(), StoreError> {
        let query = "DELETE FROM outbox WHERE id IN (SELECT value FROM json_each(?1))";
        self.run(query, [serde_json::to_string(ids)?.into()])
    }

    /// Counts a refusal of these rows.
    pub fn refused(&self, ids: &[u64]) -> Result<(), StoreError> {
        let query = "UPDATE outbox SET attempts = attempts + 1 WHERE id IN (SELECT value FROM json_each(?1))";
        self.run(query, [serde_json::to_string(ids)?.into()])
    }

    /// The news that survive a deletion: deeds, and unless all data of the user is erased, usage, because it must add up. A
    /// row that cannot be read must not keep a thread alive.
    pub fn lasting_news(&self, is_erasure: bool) -> Result<Vec<Outgoing>, StoreError> {
        let mut lasting = Vec::new();
        for mut row in self.rows("SELECT payload FROM outbox ORDER BY id", [])? {
            match wire::json::from_str::<Outgoing>(&row.text(0)?) {
                Ok(outgoing) if is_erasure => lasting.extend(outgoing.deeds()),
                Ok(outgoing) => lasting.extend(outgoing.without_content()),
                Err(error) => worker::console_error!("an outbox row is lost with its thread: {error}"),
            }
        }
        Ok(lasting)
    }

    /// Deletes the news of usage that outlived its thread, and keeps the deeds in them.
    pub fn forget_spent(&self, now: u64) -> Result<(), StoreError> {
        let newest = self.newest_news()?;
        for deed in self.lasting_news(true)? {
            self.post(&deed, now)?;
        }
        // A row that is no JSON must not keep the others.
        let query = "DELETE FROM outbox WHERE id <= ?1
            AND CASE WHEN json_valid(payload) THEN payload ->> '$.news.kind' END IN ('spent', 'audited')";
        self.run(query, [int(newest)])
    }
}
