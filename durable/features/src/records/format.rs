//! The lines of a record: a header, the conversation before the turn, the journal's entries as they were written, the
//! end. `espalier-replay` reads them, and reads them leniently.

use serde::Serialize;

use engine::journal::{History, Past, TurnEnd};
use engine::profiles::Limits;
use wire::model::Message;
use wire::protocol::{CostSummary, FinishReason, StopNote};

/// The format that this code writes.
pub const FORMAT: u32 = 1;

/// The first line.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Header {
    /// The format of the record.
    pub record: u32,
    pub thread_id: String,
    pub turn_id: String,
    /// The limits of the turn; none where its entry 0 cannot be read.
    pub limits: Option<Limits>,
    /// The number of earlier turns before a gap; 0 where the conversation has none.
    #[serde(skip_serializing_if = "is_zero")]
    pub before_gap: usize,
    /// The calls whose results are shortened, by their keys.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub shortened: Vec<String>,
    /// Whether the providers' own messages, and the conversation before the turn, are left out.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub without_raw: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub without_history: bool,
    /// Whether the last entries are left out.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub cut: bool,
}

impl Header {
    /// The header of a turn's record.
    pub fn of(thread_id: &str, turn_id: &str, limits: Option<Limits>) -> Self {
        let (thread_id, turn_id) = (thread_id.to_owned(), turn_id.to_owned());
        Header { record: FORMAT, thread_id, turn_id, limits, ..Header::default() }
    }
}

fn is_zero(number: &usize) -> bool {
    *number == 0
}

/// The line of an earlier turn.
#[derive(Serialize)]
struct HistoryLine<'h> {
    history: &'h [Message],
    row: i64,
    turn_id: &'h str,
}

/// The lines of the conversation before the turn, one for each earlier turn.
pub fn history_lines(history: &History) -> Result<String, serde_json::Error> {
    let line = |past: &Past| {
        let line = HistoryLine { history: &past.messages, row: past.id.row, turn_id: &past.id.turn_id };
        Ok(serde_json::to_string(&line)? + "\n")
    };
    history.turns.iter().map(line).collect()
}

/// The last line.
#[derive(Serialize)]
struct EndLine<'e> {
    end: End<'e>,
}

/// The end of a turn: its stored text, and how it ended.
#[derive(Serialize)]
struct End<'e> {
    content: &'e str,
    finish_reason: Option<FinishReason>,
    stop: &'e Option<StopNote>,
    usage: &'e Option<CostSummary>,
}

/// The last line of a record, which the object writes behind the journal's entries.
pub fn end_line(end: &TurnEnd) -> Result<String, serde_json::Error> {
    let message = &end.message;
    let (stop, usage, finish_reason) = (&message.stop, &message.usage, message.finish_reason);
    let end = End { content: &message.content, finish_reason, stop, usage };
    Ok(serde_json::to_string(&EndLine { end })? + "\n")
}
