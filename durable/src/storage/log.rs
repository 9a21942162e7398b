//! The journal and the event log in SQLite: what a commit writes, and how it is read back.

use crate::journal::{Entry, TextPart};
use crate::protocol::Seq;

use super::StoreError;
use super::page::{self, LogRow, Page};
use super::rows::{self, Fresh};
use super::sql::{Store, int, unsigned};

impl Store {
    /// Writes journal entries in their order.
    pub fn insert_entries(&self, turn_id: &str, entries: &[Entry]) -> Result<(), StoreError> {
        if entries.is_empty() {
            return Ok(());
        }
        self.run(rows::INSERT_ENTRIES, [turn_id.into(), rows::entry_rows(entries)?.into()])
    }

    /// Writes texts and events and gives the numbers of what was written: a key that is there is skipped.
    pub fn insert_events(
        &self,
        turn_id: &str,
        texts: &[TextPart],
        events: &[Fresh],
    ) -> Result<Vec<Seq>, StoreError> {
        if texts.is_empty() && events.is_empty() {
            return Ok(Vec::new());
        }
        let json = rows::event_rows(texts, events)?;
        let written = self.rows(rows::INSERT_EVENTS, [turn_id.into(), json.into()])?;
        written.iter().map(|row| row.int(0).map(unsigned)).collect()
    }

    /// A turn's journal, in the order in which it was written.
    pub fn entries(&self, turn_id: &str) -> Result<Vec<Entry>, StoreError> {
        let query = "SELECT payload FROM journal WHERE turn_id = ?1 ORDER BY row";
        let rows = self.rows(query, [turn_id.into()])?;
        rows.into_iter().map(|mut row| Ok(serde_json::from_str(&row.text(0)?)?)).collect()
    }

    /// The next stored events numbered `after < seq < before`.
    pub fn event_page(&self, after: Seq, before: Seq) -> Result<Page, StoreError> {
        let bindings = [int(after), int(before), int(page::ROWS as u64)];
        let mut found = Vec::new();
        for mut row in self.rows(page::SELECT_PAGE, bindings)? {
            found.push(LogRow {
                seq_first: unsigned(row.int(0)?),
                turn_id: row.text(1)?,
                kind: row.text(2)?,
                payload: row.text(3)?,
            });
        }
        page::assemble(&found, page::ROWS, after, before)
    }

    /// The number of the newest stored event, 0 where there is none.
    pub fn last_seq(&self) -> Result<Seq, StoreError> {
        let query = "SELECT max(seq_last) FROM events
            WHERE seq_first >= (SELECT coalesce(max(seq_first), 0) FROM turns)";
        let row = self.row(query, [])?;
        Ok(row.and_then(|row| row.maybe_int(0)).map_or(0, unsigned))
    }
}
