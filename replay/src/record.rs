//! A record as it is read: leniently. A line of an unknown kind is skipped, a missing member has its default.
//! `durable/features/src/records` writes records.

use serde::{Deserialize, Serialize};

use engine::journal::{Entry, History, Past, PastId, TurnEnd};
use engine::profiles::Limits;
use wire::model::Message;
use wire::protocol::{CostSummary, FinishReason, StopNote};

/// The newest format that this code reads.
const FORMAT: u32 = 1;

/// The first line.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub struct Header {
    /// The format of the record.
    pub record: u32,
    #[serde(default)]
    pub thread_id: String,
    #[serde(default)]
    pub turn_id: String,
    /// The limits of the turn; none where its entry 0 could not be read.
    #[serde(default)]
    pub limits: Option<Limits>,
    /// The number of earlier turns before a gap; 0 where the conversation has none.
    #[serde(default)]
    pub before_gap: usize,
    /// The calls whose results are shortened, by their keys.
    #[serde(default)]
    pub shortened: Vec<String>,
    /// Whether the providers' own messages, and the conversation before the turn, are left out.
    #[serde(default)]
    pub without_raw: bool,
    #[serde(default)]
    pub without_history: bool,
    /// Whether the last entries are left out.
    #[serde(default)]
    pub cut: bool,
}

impl Header {
    /// Whether the record has everything that the turn's requests were made of.
    pub fn is_whole(&self) -> bool {
        self.shortened.is_empty() && !self.without_raw && !self.without_history && !self.cut
    }
}

/// The end of a turn, as its last line tells it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct End {
    /// The stored text of the turn.
    pub content: String,
    #[serde(default)]
    pub finish_reason: Option<FinishReason>,
    #[serde(default)]
    pub stop: Option<StopNote>,
    #[serde(default)]
    pub usage: Option<CostSummary>,
}

impl From<&TurnEnd> for End {
    fn from(end: &TurnEnd) -> Self {
        let message = &end.message;
        End {
            content: message.content.clone(),
            finish_reason: message.finish_reason,
            stop: message.stop.clone(),
            usage: message.usage.clone(),
        }
    }
}

/// A line of the conversation before the turn: an earlier turn.
#[derive(Deserialize)]
struct HistoryLine {
    history: Vec<Message>,
    #[serde(default)]
    row: i64,
    #[serde(default)]
    turn_id: String,
}

/// The last line.
#[derive(Deserialize)]
struct EndLine {
    end: End,
}

/// A record, read.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    pub header: Header,
    pub history: History,
    pub entries: Vec<Entry>,
    /// None where the record is cut, or the service gave the turn up.
    pub end: Option<End>,
}

impl Record {
    /// Reads a record. The error describes the problem and names the line.
    pub fn read(text: &str) -> Result<Record, String> {
        let mut lines = (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty());
        let (_, first) = lines.next().ok_or("the record is empty")?;
        let header: Header = wire::json::from_str(first).map_err(|error| format!("line 1: {error}"))?;
        if header.record > FORMAT {
            return Err(format!("the record has format {}, and this program reads {FORMAT}", header.record));
        }
        let (mut turns, mut entries, mut end) = (Vec::new(), Vec::new(), None);
        for (number, line) in lines {
            if let Ok(entry) = wire::json::from_str::<Entry>(line) {
                entries.push(entry);
            } else if let Ok(EndLine { end: found }) = wire::json::from_str(line) {
                end = Some(found);
            } else if let Ok(HistoryLine { history: messages, row, turn_id }) = wire::json::from_str(line) {
                turns.push(Past { id: PastId { row, turn_id }, messages });
            } else if wire::json::from_str::<serde_json::Value>(line).is_err() {
                return Err(format!("line {number} is not JSON"));
            }
        }
        let history = History { turns, before_gap: header.before_gap };
        Ok(Record { header, history, entries, end })
    }
}
