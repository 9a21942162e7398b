//! Tests of the checks: a right turn passes, and each way of breaking it is noticed.

use std::collections::{BTreeMap, BTreeSet};

use crate::sse::Reader;
use crate::{Event, Value, json, level, story, tree, wire};

/// The usage of the subtask.
fn share() -> Value {
    json!({ "llm_calls": 1, "input_tokens": 10, "cached_tokens": 0, "output_tokens": 5, "cost_usd": null })
}

/// A turn with one subtask that makes one call, written by hand after `docs/wire-protocol.md`.
fn turn() -> Vec<Value> {
    let usage = json!({ "input_tokens": 10, "cached_tokens": 0, "output_tokens": 5 });
    let args = json!({ "title": "T", "instructions": "Do [[fake:e2e-123/a]]" });
    let model = |id: &str, parent: Value, depth: u64, status: &str| {
        let mut event = json!({ "type": "model_call_update", "model_call_id": id, "model": "fake-1", "status": status,
                                "parent_id": parent, "depth": depth, "started_ms": depth });
        if status == "end" {
            event["duration_ms"] = json!(2);
            event["usage"] = usage.clone();
            event["finish_reason"] = json!("stop");
        }
        event
    };
    let chunk = |part: &str, model: &str, parent: Value, depth: u64, content: &str, done: bool| {
        json!({ "type": "chunk", "part_id": part, "model_call_id": model, "parent_id": parent, "depth": depth,
                "content": content, "done": done })
    };
    let counted = json!({ "llm_calls": 2, "input_tokens": 20, "cached_tokens": 0, "output_tokens": 10, "cost_usd": null });
    let costs = json!({ "llm_calls": 2, "tool_calls": 1, "subtasks": 1, "input_tokens": 20, "cached_tokens": 0,
                        "output_tokens": 10, "cost_usd": null, "by_model": { "fake-1": counted } });
    let mut summary = costs.clone();
    summary["type"] = json!("cost_summary");
    let events = [
        json!({ "type": "session", "thread_id": "thread-id-1", "user_message_id": "message-id-1",
                "assistant_message_id": "message-id-2", "provider": "openai", "model": "fake-1",
                "limits": { "subtasks": 5, "llm_calls": 20, "tool_calls": 20, "wall_clock_ms": 60000 } }),
        json!({ "type": "agent_state", "state": "thinking", "context_type": "thread" }),
        model("model-id-1", Value::Null, 0, "start"),
        model("model-id-1", Value::Null, 0, "end"),
        json!({ "type": "tool_call_update", "tool_call_id": "call-id-1", "name": "run_subtask", "status": "start",
                "started_ms": 1, "args": args, "parent_id": null, "depth": 0 }),
        model("model-id-2", json!("call-id-1"), 1, "start"),
        chunk("part-id-1", "model-id-2", json!("call-id-1"), 1, "hi", false),
        chunk("part-id-1", "model-id-2", json!("call-id-1"), 1, "", true),
        model("model-id-2", json!("call-id-1"), 1, "end"),
        json!({ "type": "tool_call_update", "tool_call_id": "call-id-1", "name": "run_subtask", "status": "end",
                "result": "hi call-id-1", "duration_ms": 3, "usage": share(), "parent_id": null, "depth": 0 }),
        summary,
        json!({ "type": "done", "message_id": "message-id-2", "finish_reason": "stop", "usage": costs }),
    ];
    let numbered = events.into_iter().zip(1_u64..).map(|(mut event, seq)| {
        event["seq"] = json!(seq);
        event["turn_id"] = json!("turn-id-1");
        event
    });
    numbered.collect()
}

fn wire_of(turn: &[Value]) -> String {
    let event = |event: &Value| {
        let kind = event["type"].as_str().unwrap_or_default();
        format!("id: {}\nevent: {kind}\ndata: {event}\n\n", event["seq"])
    };
    turn.iter().map(event).collect()
}

/// In pieces of three bytes, as the network may split it.
fn read(wire: &str) -> Result<Vec<Event>, String> {
    let mut reader = Reader::default();
    let mut events = Vec::new();
    for piece in wire.as_bytes().chunks(3) {
        reader.push(piece);
        while let Some(event) = reader.next_event()? {
            events.push(event);
        }
    }
    wire::check_turn(&events)?;
    Ok(events)
}

#[test]
fn a_proper_turn_passes_and_reads_as_a_story() {
    let events = read(&format!(": hello\n\n{}", wire_of(&turn()))).unwrap();
    assert_eq!(
        story(&events),
        [
            "session message:1 message:2 openai fake-1",
            "agent_state thread thinking",
            "model:1 start fake-1",
            "model:1 end stop in=10 cached=0 out=5",
            r#"call:1 start run_subtask {"instructions":"Do [[fake:M/a]]","title":"T"}"#,
            "1/call:1 model:2 start fake-1",
            r#"1/call:1 part:1 "hi""#,
            "1/call:1 model:2 end stop in=10 cached=0 out=5",
            r#"call:1 end run_subtask "hi call:1""#,
            "cost_summary llm=2 tools=1 subtasks=1 in=20 cached=0 out=10 usd=null; \
             fake-1: llm=2 in=20 cached=0 out=10 usd=null",
            "done message:2 stop",
        ]
    );
    assert_eq!(
        level(&events, Some("call-id-1")),
        ["model:1 start fake-1", r#"part:1 "hi""#, "model:1 end stop in=10 cached=0 out=5"]
    );
}

#[test]
fn the_tree_of_the_events_is_the_tree_that_is_stored() {
    let turn = turn();
    let node = json!({ "id": "call-id-1", "parent_id": null, "name": "run_subtask", "title": "T", "duration_ms": 3,
                       "started_ms": 1, "usage": share(), "args_preview": turn[4]["args"].to_string(),
                       "result_preview": "hi call-id-1" });
    let model = |id: &str, parent: Value, started_ms: u64| {
        json!({ "id": id, "parent_id": parent, "model": "fake-1", "started_ms": started_ms, "duration_ms": 2,
                "usage": { "input_tokens": 10, "cached_tokens": 0, "output_tokens": 5 }, "finish_reason": "stop" })
    };
    let calls = json!([model("model-id-1", Value::Null, 0), model("model-id-2", json!("call-id-1"), 1)]);
    let events = read(&wire_of(&turn)).unwrap();
    tree::assert_matches(&events, &json!({ "version": 1, "nodes": [node], "model_calls": calls }));
}

#[test]
fn each_break_of_the_wire_is_noticed() {
    type Break = fn(&mut Vec<Value>);
    let table: &[(&str, Break)] = &[
        ("something after done", |turn| {
            turn.push(turn[11].clone());
            renumber(turn);
        }),
        ("begins with session", |turn| drop(turn.remove(0))),
        ("error twice", |turn| {
            let error = json!({ "type": "error", "code": "internal", "message": "m", "retryable": true, "turn_id": "turn-id-1" });
            turn.insert(10, error.clone());
            turn.insert(10, error);
            renumber(turn);
        }),
        ("ends with cost_summary", |turn| drop(turn.remove(10))),
        ("depth 1 without a parent", |turn| turn[6]["parent_id"] = Value::Null),
        ("unknown parent", |turn| turn[6]["parent_id"] = json!("call-id-2")),
        ("is the parent of depth 2", |turn| turn[6]["depth"] = json!(2)),
        ("never ended", |turn| drop(turn.remove(9))),
        ("never ended", |turn| drop(turn.remove(8))),
        ("part that is not done", |turn| drop(turn.remove(7))),
        ("a subtask has ended", |turn| {
            turn.swap(8, 9);
            renumber(turn);
        }),
        ("a part goes on", |turn| turn[6]["done"] = json!(true)),
        ("started_ms is missing", |turn| {
            drop(turn[2].as_object_mut().map(|start| start.remove("started_ms")))
        }),
        ("duration_ms is missing", |turn| drop(turn[3].as_object_mut().map(|end| end.remove("duration_ms")))),
        ("an empty chunk", |turn| turn[6]["content"] = json!("")),
        ("finish_reason \"error\"", |turn| turn[11]["finish_reason"] = json!("error")),
        ("another usage", |turn| turn[11]["usage"]["llm_calls"] = json!(3)),
        ("no member \"more\" here", |turn| turn[6]["more"] = json!(1)),
        ("usage: the wire has no member", |turn| turn[3]["usage"]["more"] = json!(1)),
        ("usage: output_tokens is missing", |turn| {
            drop(turn[3]["usage"].as_object_mut().map(|usage| usage.remove("output_tokens")))
        }),
        ("duration_ms: -1 is not allowed", |turn| turn[3]["duration_ms"] = json!(-1)),
        ("status: \"begun\" is no", |turn| turn[3]["status"] = json!("begun")),
        ("status: null is no", |turn| turn[3]["status"] = Value::Null),
        ("usage is null", |turn| turn[3]["usage"] = Value::Null),
        ("parent_id is missing", |turn| drop(turn[4].as_object_mut().map(|call| call.remove("parent_id")))),
        ("context_type is \"kitchen\"", |turn| turn[1]["context_type"] = json!("kitchen")),
        ("different assistant messages", |turn| turn[11]["message_id"] = json!("message-id-3")),
    ];
    for (complaint, spoil) in table {
        let mut turn = turn();
        spoil(&mut turn);
        let error = read(&wire_of(&turn)).expect_err(complaint);
        assert!(error.contains(complaint), "{complaint}: {error}");
    }
    let wire = wire_of(&turn()).replace("event: done", "event: session");
    assert!(read(&wire).expect_err("event and type differ").contains("but type"));
}

// Issue 47, 3: the examples are written by hand, so they show where the description of an event is wrong.
#[test]
fn the_examples_of_the_protocol_have_all_members_of_the_events() {
    let protocol = include_str!("../../../docs/wire-protocol.md");
    let lines = protocol.lines().filter_map(|line| line.strip_prefix("  `{")?.strip_suffix("}`"));
    let mut missing: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
    for members in lines {
        let text = format!(r#"{{"seq": 1, "turn_id": "u1", {members}}}"#);
        let data: Value = serde_json::from_str(&text).unwrap();
        let kind = data["type"].as_str().unwrap_or_default().to_owned();
        let names = wire::shape::member_names(&data).unwrap();
        wire::shape::check(&data).unwrap_or_else(|error| panic!("{text}: {error}"));
        let left = missing.entry(kind).or_insert_with(|| names.into_iter().collect());
        left.retain(|name| data.get(name).is_none());
    }
    missing.retain(|_, left| !left.is_empty());
    assert_eq!(missing, BTreeMap::new(), "each member stands in an example of its event");
}

fn renumber(turn: &mut [Value]) {
    for (event, seq) in turn.iter_mut().zip(1_u64..) {
        event["seq"] = json!(seq);
    }
}
