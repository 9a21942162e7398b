//! What is left of a turn that cannot be rebuilt: the texts that its rows hold, read as plain JSON. A row that cannot be
//! read costs its own text and nothing else. Pure.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::rows::{TEXT, whole};
use crate::journal::told_result;
use crate::protocol::Content;

/// The parts of a turn that could be read.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Salvaged {
    /// The id of the user's message, and the message as it was sent.
    pub user_message_id: Option<String>,
    pub content: Option<Content>,
    pub context_type: Option<String>,
    /// The root's texts, in order.
    pub texts: Vec<String>,
    /// The results of finished subtasks, in the order in which they finished. A subtask within a finished one is left
    /// out, since the outer result stands for it.
    pub subtasks: Vec<String>,
}

impl Salvaged {
    /// All text, as the stored message has it: the root's first, then the results of subtasks.
    pub fn text(&self) -> String {
        let results = self.subtasks.iter().map(|result| told_result(result));
        self.texts.iter().cloned().chain(results).collect::<Vec<_>>().join("\n\n")
    }
}

/// Reads the rows of a turn: keys and payloads of its journal, kinds and payloads of its events, both in their order.
pub fn salvaged(
    journal: impl IntoIterator<Item = (String, String)>,
    events: impl IntoIterator<Item = (String, String)>,
) -> Salvaged {
    let entries: Vec<Value> =
        whole(journal).iter().filter_map(|payload| serde_json::from_str(payload).ok()).collect();
    let started = entries.iter().find_map(|entry| entry.pointer("/fact/started"));
    let member = |name: &str| started.and_then(|started| started.get(name));
    let text = |name: &str| member(name).and_then(Value::as_str).map(str::to_owned);
    Salvaged {
        user_message_id: text("user_message_id"),
        content: member("content").and_then(|content| serde_json::from_value(content.clone()).ok()),
        context_type: text("context_type"),
        texts: texts(events),
        subtasks: subtasks(&entries),
    }
}

/// For how long the turn had been running when this entry was written.
pub fn elapsed_ms(entry: &str) -> Option<u64> {
    serde_json::from_str::<Value>(entry).ok()?.get("elapsed_ms")?.as_u64()
}

/// The `kind` of a part of the answer; the others are reasoning.
const ANSWER: &str = "text";

/// A part of streamed text, put together from its rows.
struct Part {
    part_id: String,
    model_call_id: String,
    text: String,
}

fn texts(events: impl IntoIterator<Item = (String, String)>) -> Vec<String> {
    let mut parts: Vec<Part> = Vec::new();
    for (kind, payload) in events {
        let Ok(row) = serde_json::from_str::<Value>(&payload) else { continue };
        let member = |name: &str| row.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        let model_call_id = member("model_call_id");
        if kind != TEXT {
            // The call was made again, or dropped: clients have dropped what it said.
            parts.retain(|part| part.model_call_id != model_call_id);
            continue;
        }
        if member("kind") != ANSWER || row.get("depth").and_then(Value::as_u64) != Some(0) {
            continue;
        }
        let (part_id, text) = (member("part_id"), member("text"));
        match parts.last_mut().filter(|part| part.part_id == part_id) {
            Some(part) => part.text.push_str(&text),
            None => parts.push(Part { part_id, model_call_id, text }),
        }
    }
    parts.into_iter().map(|part| part.text).filter(|text| !text.is_empty()).collect()
}

fn subtasks(entries: &[Value]) -> Vec<String> {
    let at = |entry: &Value| entry.get("at").and_then(Value::as_str).unwrap_or_default().to_owned();
    let is_subtask = |entry: &&Value| entry.pointer("/fact/tool_started/subtask") == Some(&Value::Bool(true));
    let started: BTreeSet<String> = entries.iter().filter(is_subtask).map(at).collect();
    let mut ended = BTreeMap::new();
    for (place, entry) in entries.iter().enumerate() {
        let result = entry.pointer("/fact/tool_ended/content").and_then(Value::as_str);
        if let Some(result) = result.filter(|result| !result.is_empty() && started.contains(&at(entry))) {
            ended.insert(at(entry), (place, result.to_owned()));
        }
    }
    // The keys of what happens within a call begin with the call's own key and a dash.
    let is_outer = |key: &str| {
        let around = key.match_indices('-').filter_map(|(dash, _)| key.get(..dash));
        !around.into_iter().any(|call| ended.contains_key(call))
    };
    let mut outer: Vec<_> =
        ended.iter().filter(|(key, _)| is_outer(key)).map(|(_, ended)| ended.clone()).collect();
    outer.sort_unstable();
    outer.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::journal::TextPart;
    use crate::protocol::{ChunkKind, Event, Place};
    use crate::storage::rows::{Fresh, event_rows};

    fn part(id: &str, call: &str, depth: u32, kind: ChunkKind, text: &str) -> TextPart {
        let parent_id = (depth > 0).then(|| "call".to_owned());
        TextPart {
            part_id: id.to_owned(),
            model_call_id: call.to_owned(),
            kind,
            place: Place { parent_id, depth },
            chunks: vec![(1, u32::try_from(text.len()).unwrap())],
            text: text.to_owned(),
            more: false,
        }
    }

    /// The rows that storage makes of texts and events, as they are read back.
    fn rows(texts: &[TextPart], events: &[Fresh]) -> Vec<(String, String)> {
        let arrays = event_rows(texts, events).unwrap();
        let rows = arrays.iter().flat_map(|rows| serde_json::from_str::<Vec<Value>>(rows).unwrap());
        rows.map(|row| (row[3].as_str().unwrap().to_owned(), row[4].as_str().unwrap().to_owned())).collect()
    }

    fn reset(call: &str) -> Fresh {
        let event = Event::ModelCallReset {
            model_call_id: call.to_owned(),
            place: Place::default(),
            reason: "interrupted".to_owned(),
        };
        Fresh { seq: 9, key: "reset".to_owned(), event }
    }

    fn entry(at: &str, fact: Value) -> (String, String) {
        (format!("key of {at} {fact}"), json!({ "at": at, "elapsed_ms": 7, "fact": fact }).to_string())
    }

    fn started(at: &str, subtask: bool) -> (String, String) {
        entry(
            at,
            json!({ "tool_started": { "place": { "parent_id": null, "depth": 0 }, "subtask": subtask } }),
        )
    }

    fn ended(at: &str, content: &str) -> (String, String) {
        entry(at, json!({ "tool_ended": { "content": content, "duration_ms": 1 } }))
    }

    #[test]
    fn the_roots_texts_are_kept_and_nobody_elses() {
        let texts = [
            part("a", "1", 0, ChunkKind::Text, "First."),
            part("b", "1", 0, ChunkKind::Reasoning, "Thought."),
            part("c", "2", 1, ChunkKind::Text, "A subtask's."),
            part("d", "3", 0, ChunkKind::Text, "Withdrawn."),
        ];
        let mut events = rows(&texts, &[reset("3")]);
        events.extend(rows(&[part("e", "3", 0, ChunkKind::Text, "Said again.")], &[]));
        assert_eq!(salvaged([], events).texts, ["First.", "Said again."]);
    }

    #[test]
    fn a_part_in_several_rows_is_one_text() {
        let long = "long ".repeat(200_000);
        let chunk = u32::try_from(long.len() / 4).unwrap();
        let mut part = part("a", "1", 0, ChunkKind::Text, &long);
        part.chunks = (1..=4).map(|seq| (seq, chunk)).collect();
        let rows = rows(&[part], &[]);
        assert!(rows.len() > 1, "the part is split");
        assert_eq!(salvaged([], rows).texts, [long]);
    }

    #[test]
    fn finished_subtasks_are_kept_but_for_those_within_finished_ones() {
        let journal = [
            started("0.0", true),
            started("0.1", true),
            started("0.2", false),
            started("0.0-0.0", true),
            ended("0.0-0.0", "inner of a finished one"),
            started("0.1-0.12", true),
            ended("0.1-0.12", "inner of an open one"),
            ended("0.0", "outer"),
            ended("0.2", "a plain tool"),
        ];
        let salvaged = salvaged(journal, []);
        assert_eq!(salvaged.subtasks, ["inner of an open one", "outer"]);
        let mark = "[Result of a finished subtask]\n\n";
        assert_eq!(salvaged.text(), format!("{mark}inner of an open one\n\n{mark}outer"));
    }

    #[test]
    fn a_row_that_cannot_be_read_costs_its_own_text_alone() {
        let spec =
            json!({ "user_message_id": "m", "content": "Hello", "context_type": "editor", "limits": 7 });
        let journal = [
            entry("", json!({ "started": spec })),
            ("bad".to_owned(), "{\"at\":".to_owned()),
            entry("0", json!({ "a_fact_of_tomorrow": {} })),
            started("0.0", true),
            ended("0.0", "kept"),
        ];
        let events = [
            ("text".to_owned(), "not JSON".to_owned()),
            ("text".to_owned(), json!({ "kind": "text", "depth": 0, "text": "said", "new": 1 }).to_string()),
        ];
        let expected = Salvaged {
            user_message_id: Some("m".to_owned()),
            content: Some(Content::Text("Hello".to_owned())),
            context_type: Some("editor".to_owned()),
            texts: vec!["said".to_owned()],
            subtasks: vec!["kept".to_owned()],
        };
        assert_eq!(salvaged(journal, events), expected);
        assert_eq!(salvaged([], []), Salvaged::default());
    }

    #[test]
    fn an_entry_says_how_long_the_turn_had_been_running() {
        assert_eq!(elapsed_ms(&started("0.0", true).1), Some(7));
        assert_eq!(elapsed_ms("{\"elapsed_ms\": \"7"), None);
    }
}
