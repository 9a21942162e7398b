//! Puts a record together, and makes one that is too long fit: first its results are shortened, then the providers' own
//! messages are left out, then the conversation before the turn, at last the newest entries. The header says which.

use super::MAX_BYTES;
use super::format::Header;
use engine::journal::{Entry, Fact};

/// The stages of shortening: the characters that stay of a result, and what is left out beside.
const STAGES: [(usize, bool, bool); 5] = [
    (8_000, false, false),
    (1_000, false, false),
    (100, false, false),
    (100, true, false),
    (100, true, true),
];

/// A turn's record. `history`: the lines of the conversation before it; `journal`: the entries and the end, a line each.
pub fn record(header: Header, history: &str, journal: &str) -> String {
    record_within(MAX_BYTES, header, history, journal)
}

pub(super) fn record_within(max_bytes: usize, header: Header, history: &str, journal: &str) -> String {
    let whole = together(&header, history, journal);
    if whole.len() <= max_bytes {
        return whole;
    }
    drop(whole);
    for (chars, without_raw, without_history) in STAGES {
        let mut header = Header { without_raw, without_history, ..header.clone() };
        let journal = shortened(journal, chars, without_raw, &mut header.shortened);
        let history = if without_history { "" } else { history };
        let shorter = together(&header, history, &journal);
        if shorter.len() <= max_bytes {
            return shorter;
        }
        if without_history {
            header.cut = true;
            return cut(together(&header, history, &journal), max_bytes);
        }
    }
    String::new()
}

fn together(header: &Header, history: &str, journal: &str) -> String {
    // A header has nothing that JSON cannot write.
    let mut text = serde_json::to_string(header).unwrap_or_default();
    text.reserve(1 + history.len() + journal.len());
    text.push('\n');
    text.push_str(history);
    text.push_str(journal);
    text
}

/// The journal with results of at most so many characters. A line that cannot be read stays as it is.
fn shortened(journal: &str, chars: usize, without_raw: bool, keys: &mut Vec<String>) -> String {
    let mut text = String::new();
    for line in journal.lines() {
        let entry = match line.len() > chars {
            true => wire::json::from_str::<Entry>(line)
                .ok()
                .filter(|entry| !matches!(entry.fact, Fact::Unknown(_))),
            false => None,
        };
        let changed = entry.and_then(|mut entry| {
            let changed = match &mut entry.fact {
                Fact::ToolEnded(end) => match end.content.char_indices().nth(chars) {
                    Some((at, _)) => {
                        let mark = format!("\n[shortened: {} bytes in all]", end.content.len());
                        end.content.truncate(at);
                        end.content.push_str(&mark);
                        keys.push(entry.at.clone());
                        true
                    }
                    None => false,
                },
                Fact::ModelEnded { outcome, .. } if without_raw => {
                    outcome.reply_mut().is_some_and(|reply| reply.raw.take().is_some())
                }
                _ => false,
            };
            serde_json::to_string(&entry).ok().filter(|_| changed)
        });
        text.push_str(changed.as_deref().unwrap_or(line));
        text.push('\n');
    }
    text
}

/// The first whole lines of a text.
fn cut(mut text: String, max_bytes: usize) -> String {
    let kept = text.as_bytes().iter().take(max_bytes).rposition(|byte| *byte == b'\n');
    text.truncate(kept.map_or(0, |at| at + 1));
    text
}
