//! Journal entries and events as rows: one row for each commit, where it is short enough. Pure.
//!
//! A payload is made once, without a second escaping, and SQLite never reads into it: a provider's raw message must
//! come back byte for byte. The platform takes rows and parameters of up to 2 MB, so a long commit is split.

use std::borrow::Cow;
use std::ops::Range;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use engine::journal::{Entry, PartChange, TextPart};
use wire::protocol::{Event, Seq};

use super::StoreError;
use super::event_json::EventJson;

/// The `kind` of an item that holds a [`TextPart`] instead of one event.
pub const TEXT: &str = "text";

/// The most bytes of a row's payload, give or take one chunk or one event.
pub const PAYLOAD_BYTES: usize = 500_000;
/// A commit goes on in the last row of the journal up to this length: a row that grows is written once more, while a
/// further row is written and later deleted. SQLite writes a grown row anew, so that it stays within a few pages.
pub const GROWN_BYTES: usize = 8_000;
/// The bytes of a chunk beside its text: its number and its length.
const CHUNK_BYTES: usize = 24;

/// Begins the key of an event that tells the queue of a turn's thread. Such an event has a row of its own.
pub const QUEUE_KEY: &str = "queue:";

/// How many events of the turn whose first event is `?1` tell its queue. The turn is open, so nothing follows it.
pub const COUNT_QUEUE_EVENTS: &str =
    "SELECT count(*) FROM events WHERE seq_first >= ?1 AND seq_last = seq_first
    AND substr(payload, 1, length(seq_first) + 10) = '[[' || seq_first || ',\"queue:'";

/// An event that got its number.
#[derive(Debug)]
pub struct Fresh {
    pub seq: Seq,
    pub key: String,
    pub event: EventJson,
}

impl Fresh {
    pub fn new(seq: Seq, key: String, event: Event) -> Result<Self, StoreError> {
        Ok(Fresh { seq, key, event: EventJson::new(event)? })
    }
}

/// A row of `events`: the texts and events of a commit, or a part of them.
#[derive(Debug, PartialEq)]
pub struct EventRow {
    /// The smallest and the largest number in the row.
    pub seq_first: Seq,
    pub seq_last: Seq,
    /// A JSON array of [`Item`]s.
    pub payload: String,
}

/// An item of a row: its first number, its key, its kind, and the [`TextPart`] or the event.
#[derive(Deserialize)]
pub struct Item<'a>(
    pub Seq,
    #[serde(borrow)] pub Cow<'a, str>,
    #[serde(borrow)] pub Cow<'a, str>,
    #[serde(borrow)] pub &'a RawValue,
);

/// The rows of a commit's texts and events. A text needs no key, because its numbers are used only once.
pub fn event_rows(texts: &[TextPart], events: &[Fresh]) -> Result<Vec<EventRow>, StoreError> {
    let mut rows = Vec::new();
    for text in texts.iter().flat_map(split) {
        let (Some((first, _)), Some((last, _))) = (text.chunks.first(), text.chunks.last()) else { continue };
        add(&mut rows, (*first, *last), &(*first, "", TEXT, text.as_ref()))?;
    }
    for Fresh { seq, key, event } in events {
        add(&mut rows, (*seq, *seq), &(*seq, key, &event.kind, &event.json))?;
    }
    rows.iter_mut().for_each(|row| row.payload.push(']'));
    Ok(rows)
}

/// Puts an item into the last row, or into a new one where that is full.
fn add(rows: &mut Vec<EventRow>, (first, last): (Seq, Seq), item: &impl Serialize) -> Result<(), StoreError> {
    let item = serde_json::to_string(item)?;
    match rows.last_mut().filter(|row| row.payload.len() + item.len() <= PAYLOAD_BYTES) {
        Some(row) => {
            row.seq_first = row.seq_first.min(first);
            row.seq_last = row.seq_last.max(last);
            row.payload.push(',');
            row.payload.push_str(&item);
        }
        None => rows.push(EventRow { seq_first: first, seq_last: last, payload: format!("[{item}") }),
    }
    Ok(())
}

/// The items of a row.
pub fn items(payload: &str) -> Result<Vec<Item<'_>>, StoreError> {
    Ok(wire::json::from_str(payload)?)
}

/// The items of a row that can be read.
pub fn readable_items(payload: &str) -> Vec<Item<'_>> {
    let items: Vec<&RawValue> = wire::json::from_str(payload).unwrap_or_default();
    items.into_iter().filter_map(|item| wire::json::from_str(item.get()).ok()).collect()
}

/// The kinds of events that change the parts of a message.
const SHOWN: [&str; 5] = ["chunk", "tool_call_update", "model_call_reset", "hook_update", "history_summary"];

/// The things that a row has told readers about the parts of its turn's message, with their numbers.
pub fn part_changes(payload: &str) -> Result<Vec<(Seq, PartChange)>, StoreError> {
    items(payload)?.iter().filter_map(|item| part_change(item).transpose()).collect()
}

/// The thing that an item of a row has told; none where it changes no part.
pub fn part_change(Item(seq, _, kind, body): &Item<'_>) -> Result<Option<(Seq, PartChange)>, StoreError> {
    let told = match kind.as_ref() {
        TEXT => Some(PartChange::text(&wire::json::from_str(body.get())?)),
        kind if SHOWN.contains(&kind) => PartChange::event(&wire::json::from_str(body.get())?),
        _ => None,
    };
    Ok(told.map(|told| (*seq, told)))
}

/// The entries of a commit as JSON, one after another.
pub fn journaled(entries: &[Entry]) -> Result<String, StoreError> {
    let mut text = Vec::new();
    for entry in entries {
        serde_json::to_writer(&mut text, entry)?;
        text.push(b'\n');
    }
    String::from_utf8(text).map_err(|error| StoreError(error.to_string()))
}

/// The payloads of the rows that a text of the journal needs. Entries may be of any length: the outcome of a subtask
/// holds all that the subtask wrote to memory.
pub fn pieces(text: &str) -> Vec<&str> {
    let (mut pieces, mut rest) = (Vec::new(), text);
    while !rest.is_empty() {
        let (head, tail) = rest.split_at(rest.floor_char_boundary(PAYLOAD_BYTES));
        pieces.push(head);
        rest = tail;
    }
    pieces
}

/// The entries of a journal, read from its rows: the number of each piece, and its payload.
pub fn entries(rows: impl IntoIterator<Item = (u64, String)>) -> Result<Vec<Entry>, StoreError> {
    let mut entries = Vec::new();
    for text in whole(rows) {
        for entry in wire::json::values(&text) {
            entries.push(entry?);
        }
    }
    Ok(entries)
}

/// The texts of a journal, each in one piece. A text begins with the piece 0.
pub fn whole(rows: impl IntoIterator<Item = (u64, String)>) -> Vec<String> {
    let mut whole: Vec<String> = Vec::new();
    for (piece, payload) in rows {
        match whole.last_mut().filter(|_| piece > 0) {
            Some(begun) => begun.push_str(&payload),
            None => whole.push(payload),
        }
    }
    whole
}

/// Splits a part into as many rows as it needs: a long answer in small chunks has more numbers than text.
fn split(part: &TextPart) -> Vec<Cow<'_, TextPart>> {
    // Nearly all parts are short: a character has at most six bytes as JSON.
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
