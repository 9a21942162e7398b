//! Journal entries and events as rows. Pure.
//!
//! All rows of a commit go into one statement as one JSON array, so what is here makes that array. A payload stands in
//! it as a string: SQLite would re-render nested JSON, and a provider's raw message must come back byte for byte.

use crate::journal::{Entry, TextPart};
use crate::protocol::{Event, Seq};

use super::StoreError;

/// The `kind` of a row that holds a [`TextPart`] instead of one event.
pub const TEXT: &str = "text";

/// Writes the rows that [`event_rows`] made. A key that the turn has already is skipped; the numbers of the rows that
/// were written come back.
pub const INSERT_EVENTS: &str = "
INSERT INTO events (seq_first, seq_last, turn_id, key, kind, payload)
SELECT value ->> 0, value ->> 1, ?1, value ->> 2, value ->> 3, value ->> 4 FROM json_each(?2) WHERE true
ON CONFLICT (turn_id, key) DO NOTHING RETURNING seq_first";

/// Writes the rows that [`entry_rows`] made, in their order. A key that the turn has already is skipped.
pub const INSERT_ENTRIES: &str = "
INSERT INTO journal (turn_id, key, payload)
SELECT ?1, value ->> 0, value ->> 1 FROM json_each(?2) WHERE true
ON CONFLICT (turn_id, key) DO NOTHING";

/// An event that got its number.
#[derive(Debug)]
pub struct Fresh {
    pub seq: Seq,
    pub key: String,
    pub event: Event,
}

/// The rows of a commit's texts and events. Texts are keyed by their first number, which is used only once.
pub fn event_rows(texts: &[TextPart], events: &[Fresh]) -> Result<String, StoreError> {
    let mut rows = Vec::with_capacity(texts.len() + events.len());
    for text in texts {
        let (Some((first, _)), Some((last, _))) = (text.chunks.first(), text.chunks.last()) else { continue };
        let key = format!("{TEXT}:{}:{first}", text.part_id);
        rows.push((*first, *last, key, TEXT, serde_json::to_string(text)?));
    }
    for Fresh { seq, key, event } in events {
        rows.push((*seq, *seq, key.clone(), event.kind(), serde_json::to_string(event)?));
    }
    Ok(serde_json::to_string(&rows)?)
}

/// The rows of a commit's journal entries.
pub fn entry_rows(entries: &[Entry]) -> Result<String, StoreError> {
    let mut rows = Vec::with_capacity(entries.len());
    for entry in entries {
        rows.push((entry.key(), serde_json::to_string(entry)?));
    }
    Ok(serde_json::to_string(&rows)?)
}
