//! Deletes old events. The messages of their turns stay, in the object and in D1.

use std::collections::BTreeMap;

use wire::protocol::{Event, Role, Seq};

use super::StoreError;
use super::event_json::EventJson;
use super::page::Logged;
use super::sql::{Store, int, unsigned};

impl Store {
    /// Deletes the events of all but the newest `keep` turns (at least one), the oldest first, up to the first turn of
    /// which D1 has not heard everything.
    pub fn trim(&self, keep: u32) -> Result<(), StoreError> {
        let keep = u64::from(keep.max(1));
        if self.turn_count()? <= keep {
            return Ok(());
        }
        let beyond = "SELECT seq_first FROM turns ORDER BY seq_first DESC LIMIT 1 OFFSET ?1";
        let Some(beyond) = self.row(beyond, [int(keep)])?.and_then(|row| row.maybe_int(0)) else {
            return Ok(());
        };
        let newest = "SELECT seq_last FROM turns WHERE seq_first <= ?1 AND seq_first < (
              SELECT coalesce(min(turns.seq_first), 1e18) FROM outbox JOIN turns USING (turn_id))
            ORDER BY seq_first DESC LIMIT 1";
        let newest = self.row(newest, [int(unsigned(beyond))])?.and_then(|row| row.maybe_int(0));
        let Some(through) = newest.map(unsigned) else { return Ok(()) };
        if through <= self.trimmed_through()? {
            return Ok(());
        }
        self.transaction(|| {
            self.run("UPDATE meta SET trimmed_through = ?1", [int(through)])?;
            self.run("DELETE FROM events WHERE seq_first <= ?1", [int(through)])
        })
    }

    /// The event that replaces the next turn whose events the thread no longer keeps, and whose end a reader has not
    /// seen: one `session` event with the turn's messages, under the number of its `done`.
    pub fn trimmed_after(&self, after: Seq) -> Result<Option<Logged>, StoreError> {
        if after >= self.trimmed_through()? {
            return Ok(None);
        }
        let Some(thread) = self.meta()?.and_then(|meta| meta.thread) else { return Ok(None) };
        let query = "SELECT turn_id, seq_last, assistant_message_id FROM turns
            WHERE seq_first >= (SELECT coalesce(max(seq_first), 0) FROM turns WHERE seq_first <= ?1)
              AND seq_last > ?1
            ORDER BY seq_first LIMIT 1";
        let Some(mut row) = self.row(query, [int(after)])? else { return Ok(None) };
        let turn_id = row.text(0)?;
        let assistant_message_id = row.text(2)?;
        let messages = self.messages_until(&turn_id, &assistant_message_id)?;
        let user = messages.iter().find(|message| message.role == Role::User);
        let event = EventJson::new(Event::Session {
            thread_id: thread.thread_id,
            user_message_id: user.map(|message| message.id.clone()).unwrap_or_default(),
            assistant_message_id,
            provider: String::new(),
            model: String::new(),
            limits: None,
            replaces_message_id: None,
            client_names: BTreeMap::new(),
            resumed: Some("truncated".to_owned()),
            messages,
        })?;
        Ok(Some(Logged { seq: unsigned(row.int(1)?), turn_id, event }))
    }

    fn trimmed_through(&self) -> Result<Seq, StoreError> {
        let row = self.row("SELECT trimmed_through FROM meta", [])?;
        Ok(row.and_then(|row| row.maybe_int(0)).map_or(0, unsigned))
    }
}
