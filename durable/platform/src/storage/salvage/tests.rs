//! Turns whose rows can be read in part.

use serde_json::{Value, json};

use super::*;
use crate::storage::rows::{Fresh, event_rows};
use engine::journal::TextPart;
use wire::protocol::{Awaited, ChunkKind, MessagePart, Place};

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
    Fresh::new(9, "reset".to_owned(), event).unwrap()
}

fn entry(at: &str, fact: Value) -> String {
    json!({ "at": at, "elapsed_ms": 7, "fact": fact }).to_string()
}

fn started(at: &str, subtask: bool) -> String {
    entry(at, json!({ "tool_started": { "place": { "parent_id": null, "depth": 0 }, "subtask": subtask } }))
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

// Issue 45, 15: an answer that hooks let pass is kept. Nobody has judged the results of subtasks.
#[test]
fn a_judged_turn_keeps_what_has_passed() {
    let answer = |seq: u64, depth: u32, content: &str| {
        let (parent_id, content) = ((depth > 0).then(|| "call".to_owned()), content.to_owned());
        let (part_id, model_call_id) = ("p".to_owned(), "m".to_owned());
        let (place, done, kind) = (Place { parent_id, depth }, seq == 2, ChunkKind::Text);
        let event = Event::Chunk { content, part_id, model_call_id, place, done, kind };
        Fresh::new(seq, format!("answer:0:{seq}"), event).unwrap()
    };
    let events = rows(&[], &[answer(1, 0, "Dear "), answer(2, 0, "friend."), answer(3, 1, "A subtask's.")]);
    let hooks =
        |on: &str| entry("", json!({ "started": { "setting": { "hooks": [{ "name": "h", "on": on }] } } }));
    let journal = |on: &str| [hooks(on), started("0.0", true), ended("0.0", "2 papers")].join("\n");
    assert_eq!(salvaged(&[journal("answer")], &events).text(), "Dear friend.");
    let expected = format!("Dear friend.\n\n{}", told_result("2 papers"));
    assert_eq!(salvaged(&[journal("action")], &events).text(), expected);
}

#[test]
fn a_row_that_cannot_be_read_costs_its_own_text_alone() {
    let spec = json!({ "user_message_id": "m", "content": "Hello", "context_type": "editor", "limits": 7 });
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
        shown: Shown::default(),
        tree: ExecutionTree::default(),
    };
    assert_eq!(salvaged(&journal, &events), expected);
    assert_eq!(salvaged(&[], &[]), Salvaged::default());
}

/// The rows of a turn whose run was lost: a call within an open one, an ended call, and an open model call with text.
fn cut_off() -> Vec<String> {
    let tool = |id: &str, status: CallStatus, depth: u32| Event::ToolCallUpdate {
        tool_call_id: id.to_owned(),
        name: "ui_paste".to_owned(),
        status,
        started_ms: Some(5),
        args: Some(json!({ "text": "x", "title": "t" })),
        result: None,
        is_error: false,
        duration_ms: None,
        usage: None,
        decision: None,
        cost_usd: None,
        sources: Vec::new(),
        awaits: Some(Awaited::Client),
        expires_at: Some(9),
        place: Place { parent_id: (depth > 0).then(|| "outer".to_owned()), depth },
    };
    let model = |id: &str, status: CallStatus| Event::ModelCallUpdate {
        model_call_id: id.to_owned(),
        status,
        model: "m".to_owned(),
        agent: None,
        place: Place::default(),
        started_ms: Some(6),
        first_byte_ms: None,
        duration_ms: None,
        usage: None,
        cost_usd: None,
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
    let fresh = events
        .into_iter()
        .zip(1..)
        .map(|((key, event), seq)| Fresh::new(seq, key.to_owned(), event).unwrap());
    let texts = [
        part("said", "one", 1, ChunkKind::Text, "lost with its call"),
        TextPart { chunks: vec![(3, 5)], ..part("told", "two", 0, ChunkKind::Reasoning, "known") },
    ];
    rows(&texts, &fresh.collect::<Vec<_>>())
}

#[test]
fn calls_that_clients_saw_begin_get_their_ends() {
    let ends = salvaged(&[], &cut_off()).ends;
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
fn what_clients_saw_is_kept_with_the_calls_in_it() {
    let Salvaged { shown, tree, .. } = salvaged(&[], &cut_off());
    let call = |id: &str, parent: Option<&str>| MessagePart::Call {
        tool_call_id: id.to_owned(),
        parent_id: parent.map(str::to_owned),
        args: None,
        result: None,
        sources: Vec::new(),
    };
    let known = MessagePart::Reasoning { text: "known".to_owned(), parent_id: None, cut: false };
    let parts = [call("outer", None), call("done", None), known, call("inner", Some("outer"))];
    assert_eq!(shown.parts(), parts);
    let nodes: Vec<_> =
        tree.nodes.iter().map(|node| (node.id.as_str(), node.is_error, node.title.as_deref())).collect();
    assert_eq!(nodes, [("outer", Some(true), Some("t")), ("done", None, None), ("inner", Some(true), None)]);
    assert_eq!(tree.nodes[2].parent_id.as_deref(), Some("outer"));
    let calls: Vec<_> = tree
        .model_calls
        .iter()
        .map(|call| (call.id.as_str(), call.started_ms, call.finish_reason.as_str()))
        .collect();
    assert_eq!(calls, [("one", 6, "aborted")]);
    assert_eq!(tree.nodes[2].result_preview.as_deref(), Some(UNKNOWN));
    assert_eq!(tree.nodes[2].args_preview.as_deref(), Some(r#"{"text":"x","title":"t"}"#));
}

#[test]
fn an_entry_says_how_long_the_turn_had_been_running() {
    let later = json!({ "at": "", "elapsed_ms": 9, "fact": {} }).to_string();
    assert_eq!(elapsed_ms(&started("0.0", true)), Some(7));
    assert_eq!(elapsed_ms(&(started("0.0", true) + "\n" + &later + "\n")), Some(9));
    assert_eq!(elapsed_ms("{\"elapsed_ms\": \"7"), None);
}
