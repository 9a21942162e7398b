//! Journal entries and events as rows. Pure.
//!
//! The rows of a commit go into a statement as one JSON array, so what is here makes such arrays. A payload stands in
//! them as a string: SQLite would re-render nested JSON, and a provider's raw message must come back byte for byte.
//! The platform takes rows and parameters of up to 2 MB, so what is longer is split.

use std::borrow::Cow;
use std::ops::Range;

use engine::journal::{Entry, TextPart};
use wire::protocol::{Event, Seq};

use bindings::rows::arrays;

use super::StoreError;

/// The `kind` of a row that holds a [`TextPart`] instead of one event.
pub const TEXT: &str = "text";

/// The most bytes of a row's payload, give or take one chunk. As a string within an array JSON grows to twice its
/// length at most, so that a row always fits into a statement.
pub const PAYLOAD_BYTES: usize = 500_000;
/// What a chunk costs beside its text: its number and its length.
const CHUNK_BYTES: usize = 24;

/// Writes the rows that [`event_rows`] made. A key that the turn has already is skipped; the numbers of the rows that
/// were written come back.
pub const INSERT_EVENTS: &str = "
INSERT INTO events (seq_first, seq_last, turn_id, key, kind, payload)
SELECT value ->> 0, value ->> 1, ?1, value ->> 2, value ->> 3, value ->> 4 FROM json_each(?2) WHERE true
ON CONFLICT (turn_id, key) DO NOTHING RETURNING seq_first";

/// Writes the rows that [`entry_rows`] made, in their order. A key that the turn has already is an error: a fact happens
/// once, and a second one under the same key would be lost in silence.
pub const INSERT_ENTRIES: &str = "
INSERT INTO journal (turn_id, key, piece, payload)
SELECT ?1, value ->> 0, value ->> 1, value ->> 2 FROM json_each(?2) WHERE true";

/// An event that got its number.
#[derive(Debug)]
pub struct Fresh {
    pub seq: Seq,
    pub key: String,
    pub event: Event,
}

/// The rows of a commit's texts and events, as arrays. Texts are keyed by their first number, which is used only once.
pub fn event_rows(texts: &[TextPart], events: &[Fresh]) -> Result<Vec<String>, StoreError> {
    let mut rows = Vec::with_capacity(texts.len() + events.len());
    for text in texts.iter().flat_map(split) {
        let (Some((first, _)), Some((last, _))) = (text.chunks.first(), text.chunks.last()) else { continue };
        let key = format!("{TEXT}:{}:{first}", text.part_id);
        let payload = serde_json::to_string(text.as_ref())?;
        rows.push(serde_json::to_string(&(*first, *last, key, TEXT, payload))?);
    }
    for Fresh { seq, key, event } in events {
        let payload = serde_json::to_string(event)?;
        rows.push(serde_json::to_string(&(*seq, *seq, key, event.kind(), payload))?);
    }
    Ok(arrays(&rows))
}

/// The rows of a commit's journal entries, as arrays. An entry may be of any length: the outcome of a subtask holds
/// all that it wrote to memory.
pub fn entry_rows(entries: &[Entry]) -> Result<Vec<String>, StoreError> {
    let mut rows = Vec::with_capacity(entries.len());
    for entry in entries {
        let (key, payload) = (entry.key(), serde_json::to_string(entry)?);
        let (mut rest, mut piece) = (payload.as_str(), 0_u32);
        while !rest.is_empty() {
            let (head, tail) = rest.split_at(rest.floor_char_boundary(PAYLOAD_BYTES));
            rows.push(serde_json::to_string(&(&key, piece, head))?);
            (rest, piece) = (tail, piece + 1);
        }
    }
    Ok(arrays(&rows))
}

/// Puts the pieces of entries together, which are in the order in which they were written.
pub fn entries(rows: impl IntoIterator<Item = (String, String)>) -> Result<Vec<Entry>, StoreError> {
    whole(rows).into_iter().map(|payload| Ok(serde_json::from_str(&payload)?)).collect()
}

/// The payloads of entries, each in one piece.
pub fn whole(rows: impl IntoIterator<Item = (String, String)>) -> Vec<String> {
    let mut whole: Vec<(String, String)> = Vec::new();
    for (key, payload) in rows {
        match whole.last_mut().filter(|(known, _)| *known == key) {
            Some((_, begun)) => begun.push_str(&payload),
            None => whole.push((key, payload)),
        }
    }
    whole.into_iter().map(|(_, payload)| payload).collect()
}

/// A part in as many rows as it needs: a long answer in small chunks has more numbers than text.
fn split(part: &TextPart) -> Vec<Cow<'_, TextPart>> {
    // Nearly all parts are short: no character is longer than six bytes of JSON.
    if 6 * part.text.len() + CHUNK_BYTES * part.chunks.len() <= PAYLOAD_BYTES {
        return vec![Cow::Borrowed(part)];
    }
    let mut pieces = Vec::new();
    let (mut from, mut at, mut bytes) = (0, 0, 0);
    let piece = |chunks: Range<usize>, text: Range<usize>| {
        Cow::Owned(TextPart {
            part_id: part.part_id.clone(),
            model_call_id: part.model_call_id.clone(),
            kind: part.kind,
            place: part.place.clone(),
            more: part.more || chunks.end < part.chunks.len(),
            chunks: part.chunks.get(chunks).unwrap_or_default().to_vec(),
            text: part.text.get(text).unwrap_or_default().to_owned(),
        })
    };
    let mut first = 0;
    for (index, (_, length)) in part.chunks.iter().enumerate() {
        let to = at + *length as usize;
        let cost = CHUNK_BYTES + json_bytes(part.text.get(at..to).unwrap_or_default());
        if bytes > 0 && bytes + cost > PAYLOAD_BYTES {
            pieces.push(piece(first..index, from..at));
            (first, from, bytes) = (index, at, 0);
        }
        (at, bytes) = (to, bytes + cost);
    }
    pieces.push(piece(first..part.chunks.len(), from..part.text.len()));
    pieces
}

/// How long a text is as JSON, the quotes excepted.
pub fn json_bytes(text: &str) -> usize {
    text.chars().map(json_char_bytes).sum()
}

/// How long a character is as JSON.
pub fn json_char_bytes(char: char) -> usize {
    match char {
        '"' | '\\' | '\n' | '\r' | '\t' | '\u{8}' | '\u{c}' => 2,
        '\0'..='\u{1f}' => 6,
        other => other.len_utf8(),
    }
}
