//! Reads the event log back: rows, in pages, expanded into the events that were announced. Pure.

use engine::journal::TextPart;
use wire::protocol::{Event, Seq};

use super::StoreError;
use super::event_json::EventJson;
use super::rows::{Item, TEXT, items};

/// How many rows are read at once.
pub const ROWS: usize = 128;
/// A page ends with the row that exceeds so many characters of payloads: the results of 128 calls would be 25 MB, and each
/// reader of a thread may be at a page.
pub const PAGE_CHARS: usize = 256 << 10;

/// A page of rows with `after < seq < before`, in the order of their first numbers. Turns do not overlap, so the rows
/// before the turn of `after` do not matter. Rows that begin before the page always belong to it, however long they
/// are. There is at most one for each part that streams at that moment: a row goes beyond that moment by its commit, and
/// begins before it by a text.
pub const SELECT_PAGE: &str = "
SELECT seq_first, turn_id, payload FROM (
  SELECT *, sum(iif(seq_first > ?1, length(payload), 0)) OVER (
    ORDER BY seq_first ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before
  FROM (
    SELECT seq_first, turn_id, payload FROM events
    WHERE seq_first >= (SELECT coalesce(max(seq_first), 0) FROM turns WHERE seq_first <= ?1)
      AND seq_first < ?2 AND seq_last > ?1
    ORDER BY seq_first LIMIT ?3))
WHERE coalesce(before, 0) <= ?4 ORDER BY seq_first";

/// One row of `events`.
#[derive(Clone, Debug)]
pub struct LogRow {
    pub seq_first: Seq,
    pub turn_id: String,
    pub payload: String,
}

/// An event of the log.
#[derive(Debug)]
pub struct Logged {
    pub seq: Seq,
    pub turn_id: String,
    pub event: EventJson,
}

/// Consecutive events of the log.
#[derive(Debug)]
pub struct EventPage {
    pub events: Vec<Logged>,
    /// Every event up to this number has been read, and there may be no event with this number.
    pub through: Seq,
}

/// The limit of one read of the log.
#[derive(Clone, Copy, Debug)]
pub struct Bound {
    pub rows: usize,
    /// Characters of payloads.
    pub chars: usize,
}

/// Makes a page of the rows that `SELECT_PAGE` gave for `after`, `before` and `bound`.
///
/// The numbers of a text lie between those of other rows, so a page that may not be the last ends at the first number
/// of its last row: every unread row begins after that.
pub fn assemble(rows: &[LogRow], bound: Bound, after: Seq, before: Seq) -> Result<EventPage, StoreError> {
    let begun = rows.iter().filter(|row| row.seq_first > after);
    let chars: usize = begun.map(|row| row.payload.chars().count()).sum();
    let through = match rows.last() {
        Some(last) if rows.len() >= bound.rows || chars > bound.chars => last.seq_first,
        _ => before.saturating_sub(1),
    };
    let mut events = Vec::new();
    for row in rows {
        for Item(seq, _, kind, body) in items(&row.payload)? {
            if seq > through {
                continue;
            }
            if kind == TEXT {
                expand(&wire::json::from_str(body.get())?, &row.turn_id, after, through, &mut events)?;
            } else if after < seq {
                let event = EventJson::stored(kind, body);
                events.push(Logged { seq, turn_id: row.turn_id.clone(), event });
            }
        }
    }
    events.sort_unstable_by_key(|event| event.seq);
    Ok(EventPage { events, through })
}

/// The chunks of a part as they were announced, those numbered `after < seq <= through`. The last one closes the part.
fn expand(
    part: &TextPart,
    turn_id: &str,
    after: Seq,
    through: Seq,
    out: &mut Vec<Logged>,
) -> Result<(), StoreError> {
    let mut from = 0;
    for (index, (seq, length)) in part.chunks.iter().enumerate() {
        let to = from + *length as usize;
        let content = part
            .text
            .get(from..to)
            .ok_or_else(|| StoreError(format!("the chunks of {} do not fit its text", part.part_id)))?;
        from = to;
        if *seq <= after || *seq > through {
            continue;
        }
        let event = EventJson::new(Event::Chunk {
            content: content.to_owned(),
            part_id: part.part_id.clone(),
            model_call_id: part.model_call_id.clone(),
            place: part.place.clone(),
            done: index + 1 == part.chunks.len() && !part.more,
            kind: part.kind,
        })?;
        out.push(Logged { seq: *seq, turn_id: turn_id.to_owned(), event });
    }
    Ok(())
}
