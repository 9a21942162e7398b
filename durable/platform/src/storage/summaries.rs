//! The summaries of a thread's oldest turns in its object, and the turns that a model may see beside them.

use worker::SqlStorageValue;

use super::path::{Path, newest_turns, oldest_turns, select_summary};
use super::sql::{Store, int};
use super::{StoreError, schema};
use engine::journal::{Past, PastId, Summary};

/// How many rows are read at once.
const ROWS: usize = 16;

/// Neighbouring turns of a conversation, oldest first.
pub struct Turns {
    pub turns: Vec<Past>,
    /// Whether no turn is missing; of the newest turns only if that is known without another read.
    pub is_whole: bool,
}

impl Store {
    /// The conversation on a path up to a row, in whole turns: at least its newest `max_bytes`. The engine cuts it further,
    /// by tokens.
    pub fn history(&self, path: &Path, until: i64, max_bytes: usize) -> Result<Turns, StoreError> {
        let mut read = Turns { turns: Vec::new(), is_whole: false };
        let (mut before, mut bytes) = (until.saturating_add(1), 0);
        while bytes < max_bytes && !read.is_whole {
            let rows = self.turns(&newest_turns(), path, (0, before))?;
            read.is_whole = rows.len() < ROWS;
            for (past, json) in rows {
                before = past.row;
                if bytes >= max_bytes {
                    read.is_whole = false;
                    break;
                }
                bytes += json.len();
                read.turns.push(Past { id: past, messages: wire::json::from_str(&json)? });
            }
        }
        read.turns.reverse();
        Ok(read)
    }

    /// The turns of a path between two rows, which are no part of them: at least the oldest `max_bytes`.
    pub fn oldest_turns(
        &self,
        path: &Path,
        (after, before): (i64, i64),
        max_bytes: usize,
    ) -> Result<Turns, StoreError> {
        let mut read = Turns { turns: Vec::new(), is_whole: false };
        let (mut after, mut bytes) = (after, 0);
        while !read.is_whole {
            let rows = self.turns(&oldest_turns(), path, (after, before))?;
            read.is_whole = rows.len() < ROWS;
            for (past, json) in rows {
                after = past.row;
                if bytes >= max_bytes {
                    return Ok(Turns { is_whole: false, ..read });
                }
                bytes += json.len();
                read.turns.push(Past { id: past, messages: wire::json::from_str(&json)? });
            }
        }
        Ok(read)
    }

    /// Some turns of a path between two rows, each with its history.
    fn turns(
        &self,
        query: &str,
        path: &Path,
        (after, before): (i64, i64),
    ) -> Result<Vec<(PastId, String)>, StoreError> {
        let [after, before] = [after, before].map(SqlStorageValue::Integer);
        let bindings = [path.json().into(), after, before, int(ROWS as u64)];
        let rows = self.rows(query, bindings)?;
        rows.into_iter()
            .map(|mut row| Ok((PastId { row: row.int(0)?, turn_id: row.text(1)? }, row.text(2)?)))
            .collect()
    }

    /// The summary that covers most of the conversation on a path up to a row.
    pub fn summary(&self, path: &Path, until: i64) -> Result<Option<Summary>, StoreError> {
        if !self.has_table("summaries")? {
            return Ok(None);
        }
        let row = self.row(&select_summary(), [path.json().into(), SqlStorageValue::Integer(until)])?;
        row.map(|mut row| {
            let covers = PastId { row: row.int(0)?, turn_id: row.text(1)? };
            Ok(Summary { covers, text: row.text(2)?, model: row.text(3)? })
        })
        .transpose()
    }

    /// Keeps the summary that a turn made, and drops old ones. Belongs into the transaction of the turn's end.
    pub fn keep_summary(&self, summary: &Summary, now: u64) -> Result<(), StoreError> {
        self.make_table("summaries", schema::CREATE_SUMMARIES)?;
        let Summary { covers, text, model } = summary;
        let bindings = [
            SqlStorageValue::Integer(covers.row),
            covers.turn_id.as_str().into(),
            text.as_str().into(),
            model.as_str().into(),
            int(now),
        ];
        self.run(schema::UPSERT_SUMMARY, bindings)?;
        self.run(schema::TRIM_SUMMARIES, [])
    }
}
