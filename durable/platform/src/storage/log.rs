//! The journal and the event log in SQLite: what a commit writes, and how it is read back.

use engine::journal::{Entry, TextPart};
use wire::protocol::Seq;

use super::StoreError;
use super::page::{self, LogRow, Page};
use super::rows::{self, Fresh};
use super::salvage::{self, EventRow, Salvaged};
use super::sql::{Store, int, unsigned};

impl Store {
    /// Writes journal entries in their order.
    pub fn insert_entries(&self, turn_id: &str, entries: &[Entry]) -> Result<(), StoreError> {
        for rows in rows::entry_rows(entries)? {
            self.run(rows::INSERT_ENTRIES, [turn_id.into(), rows.into()])?;
        }
        Ok(())
    }

    /// Writes texts and events and gives the numbers of what was written: a key that is there is skipped.
    pub fn insert_events(
        &self,
        turn_id: &str,
        texts: &[TextPart],
        events: &[Fresh],
    ) -> Result<Vec<Seq>, StoreError> {
        let mut written = Vec::new();
        for rows in rows::event_rows(texts, events)? {
            for row in self.rows(rows::INSERT_EVENTS, [turn_id.into(), rows.into()])? {
                written.push(unsigned(row.int(0)?));
            }
        }
        Ok(written)
    }

    /// A turn's journal, in the order in which it was written.
    pub fn entries(&self, turn_id: &str) -> Result<Vec<Entry>, StoreError> {
        rows::entries(self.journal(turn_id)?)
    }

    /// The same as far as it can be read at all, with the texts of the turn's events.
    pub fn salvaged(&self, turn_id: &str) -> Result<Salvaged, StoreError> {
        let query = "SELECT key, kind, payload FROM events
            WHERE turn_id = ?1 AND kind IN (SELECT value FROM json_each(?2)) ORDER BY seq_first";
        let kinds = serde_json::to_string(&salvage::KINDS)?;
        let mut events = Vec::new();
        for mut row in self.rows(query, [turn_id.into(), kinds.into()])? {
            events.push(EventRow { key: row.text(0)?, kind: row.text(1)?, payload: row.text(2)? });
        }
        Ok(salvage::salvaged(self.journal(turn_id)?, events))
    }

    /// For how long a turn had been running at its newest entry; none where that cannot be read.
    pub fn elapsed_ms(&self, turn_id: &str) -> Result<Option<u64>, StoreError> {
        let query = "SELECT payload FROM journal WHERE turn_id = ?1 ORDER BY row DESC LIMIT 1";
        let newest = self.row(query, [turn_id.into()])?.map(|mut row| row.text(0)).transpose()?;
        Ok(newest.and_then(|payload| salvage::elapsed_ms(&payload)))
    }

    /// Keys and payloads of a turn's journal, piece by piece.
    fn journal(&self, turn_id: &str) -> Result<Vec<(String, String)>, StoreError> {
        let query = "SELECT key, payload FROM journal WHERE turn_id = ?1 ORDER BY row";
        let rows = self.rows(query, [turn_id.into()])?;
        rows.into_iter().map(|mut row| Ok((row.text(0)?, row.text(1)?))).collect()
    }

    /// Forgets the journal: nothing of a turn that has its end is ever replayed.
    pub fn clear_journal(&self) -> Result<(), StoreError> {
        self.run("DELETE FROM journal", [])
    }

    /// The next stored events numbered `after < seq < before`.
    pub fn event_page(&self, after: Seq, before: Seq) -> Result<Page, StoreError> {
        let bound = page::Bound { rows: page::ROWS, chars: page::PAGE_CHARS };
        let bindings = [int(after), int(before), int(bound.rows as u64), int(bound.chars as u64)];
        let mut found = Vec::new();
        for mut row in self.rows(page::SELECT_PAGE, bindings)? {
            found.push(LogRow {
                seq_first: unsigned(row.int(0)?),
                turn_id: row.text(1)?,
                kind: row.text(2)?,
                payload: row.text(3)?,
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
