//! The journal and the event log in SQLite: the rows of a commit, and reading them back.

use engine::journal::{Entry, TextPart};
use wire::protocol::Seq;

use super::page::{self, EventPage, LogRow};
use super::rows::{self, Fresh, GROWN_BYTES, PAYLOAD_BYTES};
use super::salvage::{self, Salvaged};
use super::sql::{Store, int, unsigned};
use super::thread::turn_of;
use super::turn::TurnRow;
use super::{StoreError, schema};

/// How many rows of events are read at once where a whole turn is read: 4 MB at most.
const ROWS: u64 = 8;

/// The last row that a run has written to the journal.
#[derive(Clone, Copy, Debug)]
pub struct Tail {
    row: i64,
    bytes: usize,
}

impl Store {
    /// Writes the entries of a commit in their order: behind those of `tail` where its row has room, else in rows of their
    /// own. Returns the tail as it is then.
    pub fn insert_entries(
        &self,
        turn_id: &str,
        entries: &[Entry],
        tail: Option<Tail>,
    ) -> Result<Option<Tail>, StoreError> {
        let text = rows::journaled(entries)?;
        self.append(turn_id, &text, tail, GROWN_BYTES)
    }

    /// Writes the last entries of a turn that gets a record, and the record's last line behind them: into the row of
    /// `tail` unless it is long, since each row is written, and later deleted.
    pub fn end_journal(
        &self,
        turn_id: &str,
        entries: &[Entry],
        line: &str,
        tail: Option<Tail>,
    ) -> Result<Option<Tail>, StoreError> {
        self.append(turn_id, &(rows::journaled(entries)? + line), tail, PAYLOAD_BYTES)
    }

    fn append(
        &self,
        turn_id: &str,
        text: &str,
        tail: Option<Tail>,
        row_bytes: usize,
    ) -> Result<Option<Tail>, StoreError> {
        if text.is_empty() {
            return Ok(tail);
        }
        if let Some(Tail { row, bytes }) = tail
            && bytes + text.len() <= row_bytes
        {
            let query = "UPDATE journal SET payload = payload || ?2 WHERE row = ?1 RETURNING row";
            let tail = Tail { row, bytes: bytes + text.len() };
            let grown = self.row(query, [row.into(), text.into()])?;
            return match grown {
                Some(_) => Ok(Some(tail)),
                None => Err(StoreError(format!("row {row} of the journal is gone"))),
            };
        }
        let mut tail = None;
        for (piece, payload) in (0..).zip(rows::pieces(text)) {
            let query = "INSERT INTO journal (turn_id, piece, payload) VALUES (?1, ?2, ?3) RETURNING row";
            let row = self.row(query, [turn_id.into(), int(piece), payload.into()])?;
            tail = row.and_then(|row| row.maybe_int(0)).map(|row| Tail { row, bytes: payload.len() });
        }
        Ok(tail)
    }

    /// Writes the texts and events of a commit.
    pub fn insert_events(
        &self,
        turn_id: &str,
        texts: &[TextPart],
        events: &[Fresh],
    ) -> Result<(), StoreError> {
        for row in rows::event_rows(texts, events)? {
            let query = "INSERT INTO events (seq_first, seq_last, turn_id, payload) VALUES (?1, ?2, ?3, ?4)";
            let bindings = [int(row.seq_first), int(row.seq_last), turn_id.into(), row.payload.into()];
            self.run(query, bindings)?;
        }
        Ok(())
    }

    /// A turn's journal, in the order in which it was written.
    pub fn entries(&self, turn_id: &str) -> Result<Vec<Entry>, StoreError> {
        rows::entries(self.journal(turn_id)?)
    }

    /// The parts of an open turn that can be read. `events`: the payloads of its events.
    pub fn salvaged(&self, turn: &TurnRow, events: &[String]) -> Result<Salvaged, StoreError> {
        Ok(salvage::salvaged(&rows::whole(self.journal(&turn.turn_id)?), events))
    }

    /// Shows the payloads of an open turn's events one by one, because a long turn has megabytes of them. It is the newest
    /// turn, so nothing follows them.
    pub fn payloads(
        &self,
        turn: &TurnRow,
        mut see: impl FnMut(String) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let query = "SELECT seq_first, payload FROM events WHERE seq_first >= ?1 ORDER BY seq_first LIMIT ?2";
        let mut from = turn.seq_first;
        loop {
            let rows = self.rows(query, [int(from), int(ROWS)])?;
            let last = (rows.len() as u64) < ROWS;
            for mut row in rows {
                from = unsigned(row.int(0)?) + 1;
                see(row.text(1)?)?;
            }
            if last {
                return Ok(());
            }
        }
    }

    /// How long an open turn had been running at its newest entry; none where that cannot be read.
    pub fn elapsed_ms(&self, turn_id: &str) -> Result<Option<u64>, StoreError> {
        let query = "SELECT payload FROM journal WHERE turn_id = ?1
            AND row >= (SELECT max(row) FROM journal WHERE turn_id = ?1 AND piece = 0) ORDER BY row";
        let mut newest = String::new();
        for mut row in self.rows(query, [turn_id.into()])? {
            newest.push_str(&row.text(0)?);
        }
        Ok(salvage::elapsed_ms(&newest))
    }

    /// The rows of a turn's journal: the number of each piece, and its payload.
    fn journal(&self, turn_id: &str) -> Result<Vec<(u64, String)>, StoreError> {
        let query = "SELECT piece, payload FROM journal WHERE turn_id = ?1 ORDER BY row";
        let rows = self.rows(query, [turn_id.into()])?;
        rows.into_iter().map(|mut row| Ok((unsigned(row.int(0)?), row.text(1)?))).collect()
    }

    /// The oldest turn that has ended and whose journal waits for its record.
    pub fn ended_journal(&self) -> Result<Option<TurnRow>, StoreError> {
        self.row(schema::SELECT_ENDED_JOURNAL, [])?.map(turn_of).transpose()
    }

    /// The journal of a turn that has ended, as its record has it.
    pub fn journal_text(&self, turn_id: &str) -> Result<String, StoreError> {
        Ok(self.journal(turn_id)?.into_iter().map(|(_, payload)| payload).collect())
    }

    /// Whether a turn has a journal.
    pub fn has_journal(&self, turn_id: &str) -> Result<bool, StoreError> {
        Ok(self.row("SELECT 1 FROM journal WHERE turn_id = ?1 LIMIT 1", [turn_id.into()])?.is_some())
    }

    /// Deletes the journal of a turn.
    pub fn forget_journal(&self, turn_id: &str) -> Result<(), StoreError> {
        self.run("DELETE FROM journal WHERE turn_id = ?1", [turn_id.into()])
    }

    /// The ended turns whose journals wait for their records, the oldest first, and the bytes of each journal.
    pub fn waiting_journals(&self) -> Result<Vec<(String, u64)>, StoreError> {
        let rows = self.rows(schema::SELECT_WAITING, [])?;
        rows.into_iter().map(|mut row| Ok((row.text(0)?, unsigned(row.int(1)?)))).collect()
    }

    /// The number of the thread's turns. Memory counts on from what it has read once.
    pub fn turn_count(&self) -> Result<u64, StoreError> {
        if let Some(turns) = self.turns.get() {
            return Ok(turns);
        }
        let row = self.row("SELECT count(*) FROM turns", [])?;
        let turns = row.and_then(|row| row.maybe_int(0)).map_or(0, unsigned);
        self.turns.set(Some(turns));
        Ok(turns)
    }

    /// Deletes all journals: a turn that has its end is never replayed.
    pub fn clear_journal(&self) -> Result<(), StoreError> {
        self.run("DELETE FROM journal", [])
    }

    /// The next stored events numbered `after < seq < before`.
    pub fn event_page(&self, after: Seq, before: Seq) -> Result<EventPage, StoreError> {
        let bound = page::Bound { rows: page::ROWS, chars: page::PAGE_CHARS };
        let bindings = [int(after), int(before), int(bound.rows as u64), int(bound.chars as u64)];
        let mut found = Vec::new();
        for mut row in self.rows(page::SELECT_PAGE, bindings)? {
            found.push(LogRow {
                seq_first: unsigned(row.int(0)?),
                turn_id: row.text(1)?,
                payload: row.text(2)?,
            });
        }
        page::assemble(&found, bound, after, before)
    }

    /// The number of the newest stored event, 0 where there is none.
    pub fn last_seq(&self) -> Result<Seq, StoreError> {
        let query = "SELECT max(seq_last) FROM events
            WHERE seq_first >= (SELECT coalesce(max(seq_first), 0) FROM turns)";
        let row = self.row(query, [])?;
        Ok(row.and_then(|row| row.maybe_int(0)).map_or(0, unsigned))
    }
}
