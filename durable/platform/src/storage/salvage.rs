//! Salvages a turn that cannot be rebuilt: the texts that its rows hold, read as plain JSON. A row that cannot be read
//! costs its own text alone. Pure.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::rows::{Item, TEXT, readable_items};
use engine::journal::told_result;
use wire::protocol::{Content, Event, Seq};

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
    /// The ends of calls whose start clients have seen, with their keys: the innermost first.
    pub ends: Vec<(String, Event)>,
}

/// An event or a text that could be read.
struct Told {
    seq: Seq,
    key: String,
    kind: String,
    body: Value,
}

impl Salvaged {
    /// All text, as the stored message has it: the root's first, then the results of subtasks.
    pub fn text(&self) -> String {
        let results = self.subtasks.iter().map(|result| told_result(result));
        self.texts.iter().cloned().chain(results).collect::<Vec<_>>().join("\n\n")
    }
}

/// Reads a turn: the texts of its journal, and the payloads of its events, both in their order.
pub fn salvaged<'a>(
    journal: impl IntoIterator<Item = &'a String>,
    events: impl IntoIterator<Item = &'a String>,
) -> Salvaged {
    let mut events: Vec<Told> = events.into_iter().flat_map(|payload| told(payload)).collect();
    events.sort_by_key(|told| told.seq);
    let entries: Vec<Value> = journal.into_iter().flat_map(|text| values(text)).collect();
    let started = entries.iter().find_map(|entry| entry.pointer("/fact/started"));
    let member = |name: &str| started.and_then(|started| started.get(name));
    let text = |name: &str| member(name).and_then(Value::as_str).map(str::to_owned);
    Salvaged {
        user_message_id: text("user_message_id"),
        content: member("content").and_then(|content| serde_json::from_value(content.clone()).ok()),
        context_type: text("context_type"),
        texts: texts(&events),
        subtasks: subtasks(&entries),
        ends: ends(&events),
    }
}

/// How long the turn had been running at the last entry of this text.
pub fn elapsed_ms(text: &str) -> Option<u64> {
    values(text).last()?.get("elapsed_ms")?.as_u64()
}

/// The entries of a text of the journal, up to the first one that is no JSON.
fn values(text: &str) -> Vec<Value> {
    serde_json::Deserializer::from_str(text).into_iter().map_while(Result::ok).collect()
}

/// The items of a row that can be read, as far as they are needed here.
fn told(payload: &str) -> Vec<Told> {
    let items =
        readable_items(payload).into_iter().filter(|Item(_, _, kind, _)| KINDS.contains(&kind.as_ref()));
    items
        .filter_map(|Item(seq, key, kind, body)| {
            let body = serde_json::from_str(body.get()).ok()?;
            Some(Told { seq, key: key.into_owned(), kind: kind.into_owned(), body })
        })
        .collect()
}

/// The `kind` of a part of the answer; the others are reasoning.
const ANSWER: &str = "text";

/// The kinds of events that are read beside texts.
const RESET: &str = "model_call_reset";
const MODEL_CALL: &str = "model_call_update";
const TOOL_CALL: &str = "tool_call_update";
const KINDS: [&str; 4] = [TEXT, RESET, MODEL_CALL, TOOL_CALL];

/// The result of a call that has none.
const UNKNOWN: &str = "The call was stopped and its result is unknown; it may have run.";

/// A part of streamed text, put together from its rows.
struct Part {
    part_id: String,
    model_call_id: String,
    text: String,
}

/// A member that is a text.
fn text(value: &Value, name: &str) -> String {
    value.get(name).and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn texts(events: &[Told]) -> Vec<String> {
    let mut parts: Vec<Part> = Vec::new();
    for Told { kind, body, .. } in events {
        let member = |name: &str| text(body, name);
        let model_call_id = member("model_call_id");
        if kind == RESET {
            // The call was made again, or dropped: clients have dropped its text.
            parts.retain(|part| part.model_call_id != model_call_id);
        }
        if kind != TEXT || member("kind") != ANSWER || body.get("depth").and_then(Value::as_u64) != Some(0) {
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

/// Ends for the calls that have none: the wire promises one end for each start.
fn ends(events: &[Told]) -> Vec<(String, Event)> {
    let mut open: Vec<(String, &Told)> = Vec::new();
    for told in events {
        let id = match told.kind.as_str() {
            MODEL_CALL => text(&told.body, "model_call_id"),
            TOOL_CALL => text(&told.body, "tool_call_id"),
            _ => continue,
        };
        match text(&told.body, "status").as_str() {
            "start" => open.push((id, told)),
            _ => open.retain(|(other, _)| *other != id),
        }
    }
    // A call that starts later lies within an earlier one, or beside it.
    let ends = open.into_iter().rev().flat_map(|(_, start)| end_of(start));
    ends.filter_map(|(key, event)| Some((key, serde_json::from_value(event).ok()?))).collect()
}

/// The events that end an open call, with the engine's own keys: an event that is there already is not written again.
fn end_of(start: &Told) -> Vec<(String, Value)> {
    let key = |word: &str| start.key.replacen("_start:", word, 1);
    let with = |members: Value| {
        let mut event = start.body.clone();
        if let (Value::Object(event), Value::Object(members)) = (&mut event, members) {
            ["started_ms", "args", "awaits", "expires_at"].iter().for_each(|name| drop(event.remove(*name)));
            event.extend(members);
        }
        event
    };
    if start.kind == TOOL_CALL {
        let end = json!({ "status": "end", "result": UNKNOWN, "is_error": true, "duration_ms": 0 });
        return vec![(key("_end:"), with(end))];
    }
    // The call's run was lost, so clients must drop the text that they have of it.
    let reset = with(json!({ "type": RESET, "reason": "interrupted" }));
    let end = with(json!({ "status": "end", "finish_reason": "aborted" }));
    vec![(format!("{}:end", key("_reset:")), reset), (key("_end:"), end)]
}

fn subtasks(entries: &[Value]) -> Vec<String> {
    let at = |entry: &Value| entry.get("at").and_then(Value::as_str).unwrap_or_default().to_owned();
    let is_subtask = |entry: &&Value| entry.pointer("/fact/tool_started/subtask") == Some(&Value::Bool(true));
    let started: BTreeSet<String> = entries.iter().filter(is_subtask).map(at).collect();
    let mut ended = BTreeMap::new();
    for (place, entry) in entries.iter().enumerate() {
        let failed = entry.pointer("/fact/tool_ended/is_error") == Some(&Value::Bool(true));
        let result = entry.pointer("/fact/tool_ended/content").and_then(Value::as_str).filter(|_| !failed);
        if let Some(result) = result.filter(|result| !result.is_empty() && started.contains(&at(entry))) {
            ended.insert(at(entry), (place, result.to_owned()));
        }
    }
    // The keys of events within a call begin with the call's own key and a dash.
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
    use crate::storage::rows::{Fresh, event_rows};
    use engine::journal::TextPart;
    use wire::protocol::{Awaited, CallStatus, ChunkKind, Place};

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

    /// The rows that storage makes of texts and events.
    fn rows(texts: &[TextPart], events: &[Fresh]) -> Vec<String> {
        event_rows(texts, events).unwrap().into_iter().map(|row| row.payload).collect()
    }

    fn reset(call: &str) -> Fresh {
        let event = Event::ModelCallReset {
            model_call_id: call.to_owned(),
            place: Place::default(),
            reason: "interrupted".to_owned(),
        };
        Fresh { seq: 9, key: "reset".to_owned(), event }
    }

    fn entry(at: &str, fact: Value) -> String {
        json!({ "at": at, "elapsed_ms": 7, "fact": fact }).to_string()
    }

    fn started(at: &str, subtask: bool) -> String {
        entry(
            at,
            json!({ "tool_started": { "place": { "parent_id": null, "depth": 0 }, "subtask": subtask } }),
        )
    }

    fn ended(at: &str, content: &str) -> String {
        entry(at, json!({ "tool_ended": { "content": content, "duration_ms": 1 } }))
    }

    #[test]
    fn the_texts_of_the_root_alone_are_kept() {
        let texts = [
            part("a", "1", 0, ChunkKind::Text, "First."),
            part("b", "1", 0, ChunkKind::Reasoning, "Thought."),
            part("c", "2", 1, ChunkKind::Text, "A subtask's."),
            part("d", "3", 0, ChunkKind::Text, "Withdrawn."),
        ];
        let mut events = rows(&texts, &[reset("3")]);
        let again = TextPart { chunks: vec![(10, 11)], ..part("e", "3", 0, ChunkKind::Text, "Said again.") };
        events.extend(rows(&[again], &[]));
        assert_eq!(salvaged(&[], &events).texts, ["First.", "Said again."]);
    }

    #[test]
    fn a_part_in_several_rows_is_one_text() {
        let long = "long ".repeat(200_000);
        let chunk = u32::try_from(long.len() / 4).unwrap();
        let mut part = part("a", "1", 0, ChunkKind::Text, &long);
        part.chunks = (1..=4).map(|seq| (seq, chunk)).collect();
        let rows = rows(&[part], &[]);
        assert!(rows.len() > 1, "the part is split");
        assert_eq!(salvaged(&[], &rows).texts, [long]);
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
        let salvaged = salvaged(&journal, &[]);
        assert_eq!(salvaged.subtasks, ["inner of an open one", "outer"]);
        let mark = "[Result of a finished subtask]\n\n";
        assert_eq!(salvaged.text(), format!("{mark}inner of an open one\n\n{mark}outer"));
    }

    #[test]
    fn a_row_that_cannot_be_read_costs_its_own_text_alone() {
        let spec =
            json!({ "user_message_id": "m", "content": "Hello", "context_type": "editor", "limits": 7 });
        let journal = [
            entry("", json!({ "started": spec })) + "{\"at\":",
            entry("0", json!({ "a_fact_of_tomorrow": {} })) + &started("0.0", true),
            ended("0.0", "kept"),
        ];
        let said = json!({ "kind": "text", "depth": 0, "text": "said", "new": 1 });
        let items = json!([[1, "", "text", "no part"], ["no number"], [2, "", "text", said]]);
        let events = ["not JSON".to_owned(), items.to_string()];
        let expected = Salvaged {
            user_message_id: Some("m".to_owned()),
            content: Some(Content::Text("Hello".to_owned())),
            context_type: Some("editor".to_owned()),
            texts: vec!["said".to_owned()],
            subtasks: vec!["kept".to_owned()],
            ends: Vec::new(),
        };
        assert_eq!(salvaged(&journal, &events), expected);
        assert_eq!(salvaged(&[], &[]), Salvaged::default());
    }

    #[test]
    fn calls_that_clients_saw_begin_get_their_ends() {
        let tool = |id: &str, status: CallStatus, depth: u32| Event::ToolCallUpdate {
            tool_call_id: id.to_owned(),
            name: "ui_paste".to_owned(),
            status,
            started_ms: Some(5),
            args: Some(json!({ "text": "x" })),
            result: None,
            is_error: false,
            duration_ms: None,
            usage: None,
            awaits: Some(Awaited::Client),
            expires_at: Some(9),
            place: Place { parent_id: (depth > 0).then(|| "outer".to_owned()), depth },
        };
        let model = |id: &str, status: CallStatus| Event::ModelCallUpdate {
            model_call_id: id.to_owned(),
            status,
            model: "m".to_owned(),
            place: Place::default(),
            usage: None,
            finish_reason: None,
        };
        let (start, end) = (CallStatus::Start, CallStatus::End);
        let events = [
            ("tool_start:0.0", tool("outer", start, 0)),
            ("tool_start:0.1", tool("done", start, 0)),
            ("model_start:0.0-0", model("one", start)),
            ("tool_start:0.0-0.0", tool("inner", start, 1)),
            ("tool_end:0.1", tool("done", end, 0)),
        ];
        let fresh =
            events.into_iter().zip(1..).map(|((key, event), seq)| Fresh { seq, key: key.to_owned(), event });
        let ends = salvaged(&[], &rows(&[], &fresh.collect::<Vec<_>>())).ends;
        let keys: Vec<&str> = ends.iter().map(|(key, _)| key.as_str()).collect();
        assert_eq!(keys, ["tool_end:0.0-0.0", "model_reset:0.0-0:end", "model_end:0.0-0", "tool_end:0.0"]);
        let told: Vec<Value> = ends.iter().map(|(_, event)| serde_json::to_value(event).unwrap()).collect();
        let expected = json!({
            "type": "tool_call_update", "tool_call_id": "inner", "name": "ui_paste", "status": "end",
            "result": UNKNOWN, "is_error": true, "duration_ms": 0, "parent_id": "outer", "depth": 1,
        });
        assert_eq!(told[0], expected);
        let reset = json!({
            "type": "model_call_reset", "model_call_id": "one", "parent_id": null, "depth": 0, "reason": "interrupted",
        });
        assert_eq!(told[1], reset);
        assert_eq!((&told[2]["status"], &told[2]["finish_reason"]), (&json!("end"), &json!("aborted")));
    }

    #[test]
    fn an_entry_says_how_long_the_turn_had_been_running() {
        let later = json!({ "at": "", "elapsed_ms": 9, "fact": {} }).to_string();
        assert_eq!(elapsed_ms(&started("0.0", true)), Some(7));
        assert_eq!(elapsed_ms(&(started("0.0", true) + "\n" + &later + "\n")), Some(9));
        assert_eq!(elapsed_ms("{\"elapsed_ms\": \"7"), None);
    }
}
