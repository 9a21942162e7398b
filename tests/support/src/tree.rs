//! Builds the execution tree from the events that a client saw, and compares it with the stored one.
//!
//! N-121 N-123 N-124 N-125 N-126 N-129

use serde_json::Value;

use crate::Event;

/// The longest preview, in characters.
const LONGEST_PREVIEW: usize = 500;

/// Fails unless the stored tree agrees with the events about every tool call, in the order of their starts.
pub fn assert_matches(events: &[Event], stored: &Value) {
    assert_eq!(stored["version"], 1, "{stored:#}");
    let all = stored["nodes"].as_array().unwrap_or_else(|| panic!("no nodes: {stored:#}"));
    let (hooks, nodes): (Vec<Value>, Vec<Value>) =
        all.iter().cloned().partition(|node| node.get("hook").is_some());
    assert_hooks(events, &hooks);
    let nodes = nodes.as_slice();
    let calls = || events.iter().filter(|event| event.kind == "tool_call_update");
    let starts: Vec<&Event> = calls().filter(|event| event.text("status") == "start").collect();
    let ids = |nodes: &[Value]| nodes.iter().map(|node| node["id"].clone()).collect::<Vec<_>>();
    let started: Vec<Value> = starts.iter().map(|start| start.data["tool_call_id"].clone()).collect();
    assert_eq!(ids(nodes), started, "the nodes stand in the order in which the calls started");

    for (node, start) in nodes.iter().zip(&starts) {
        let id = start.text("tool_call_id");
        let end =
            calls().find(|event| event.is("tool_call_update", &[("status", "end"), ("tool_call_id", id)]));
        let end = end.unwrap_or_else(|| panic!("{id} has no end"));
        assert_node(node, start, end);
    }
    assert_model_calls(events, stored);
}

/// The hooks of the tree have the values of the events that ended them.
fn assert_hooks(events: &[Event], nodes: &[Value]) {
    let ends: Vec<&Event> =
        events.iter().filter(|event| event.is("hook_update", &[("status", "end")])).collect();
    assert_eq!(nodes.len(), ends.len(), "{nodes:#?}");
    for node in nodes {
        let end = ends.iter().find(|end| end.data["hook_call_id"] == node["id"]);
        let end = &end.unwrap_or_else(|| panic!("no event tells of {node:#}")).data;
        for (member, told) in [("name", "hook"), ("parent_id", "parent_id"), ("duration_ms", "duration_ms")] {
            assert_eq!(node[member], end[told], "{node:#}");
        }
        assert_eq!((&node["usage"], &node["started_ms"]), (&end["usage"], &end["started_ms"]), "{node:#}");
        let hook = &node["hook"];
        for member in ["point", "decision", "tool_call_id"] {
            assert_eq!(hook[member], end[member], "{node:#}");
        }
        assert_eq!(hook["failed"] == true, end["failed"] == true, "{node:#}");
        assert_preview(&node["result_preview"], end["text"].as_str().unwrap_or_default());
    }
}

/// The model calls of the tree have the values of the events that ended them, in the same order.
fn assert_model_calls(events: &[Event], stored: &Value) {
    let ends = events.iter().filter(|event| event.is("model_call_update", &[("status", "end")])).map(|end| {
        let mut call = end.data.clone();
        let members = call.as_object_mut().into_iter();
        members.for_each(|members| {
            ["type", "seq", "turn_id", "status", "depth"].iter().for_each(|name| drop(members.remove(*name)));
            let id = members.remove("model_call_id");
            members.extend(id.map(|id| ("id".to_owned(), id)));
        });
        call
    });
    let calls = stored["model_calls"].as_array().cloned().unwrap_or_default();
    assert_eq!(calls, ends.collect::<Vec<_>>(), "{stored:#}");
}

fn assert_node(node: &Value, start: &Event, end: &Event) {
    let known = [
        "id",
        "parent_id",
        "name",
        "title",
        "args_preview",
        "result_preview",
        "is_error",
        "started_ms",
        "duration_ms",
        "usage",
        "decision",
    ];
    for member in node.as_object().into_iter().flat_map(|node| node.keys()) {
        assert!(known.contains(&member.as_str()), "a node has no {member}: {node:#}");
    }
    assert_eq!(node["parent_id"], start.data["parent_id"], "{node:#}");
    assert!(
        node.as_object().is_some_and(|node| node.contains_key("parent_id")),
        "null is written out: {node:#}"
    );
    assert_eq!(node["name"], start.data["name"], "{node:#}");
    assert_eq!(node["started_ms"], start.data["started_ms"], "{node:#}");
    assert_eq!(node["duration_ms"], end.data["duration_ms"], "{node:#}");
    assert_eq!(node["usage"], end.data["usage"], "{node:#}");
    assert_eq!(node["decision"], end.data["decision"], "{node:#}");
    assert_eq!(node["is_error"] == true, end.data["is_error"] == true, "{node:#}");
    // A call that was refused for its arguments may lack a readable title.
    if start.text("name") == "run_subtask" && start.data["args"]["title"].is_string() {
        assert_eq!(node["title"], start.data["args"]["title"], "{node:#}");
    }
    assert_preview(&node["result_preview"], end.text("result"));
    let args = node["args_preview"].as_str().unwrap_or_default();
    match serde_json::from_str::<Value>(args) {
        Ok(args) => assert_eq!(args, start.data["args"], "{node:#}"),
        // The model's arguments were not JSON.
        Err(_) if start.data["args"]["_raw"] == args => {}
        // The preview was cut, so it is no longer JSON.
        Err(_) => assert!(args.chars().count() <= LONGEST_PREVIEW && args.len() > 400, "{node:#}"),
    }
}

/// The same text, or where it is too long, its beginning.
fn assert_preview(preview: &Value, whole: &str) {
    let preview = preview.as_str().unwrap_or_default();
    if whole.chars().count() <= LONGEST_PREVIEW {
        assert_eq!(preview, whole);
    } else {
        assert!(preview.chars().count() <= LONGEST_PREVIEW, "{} characters", preview.chars().count());
        let beginning: String = whole.chars().take(400).collect();
        assert!(preview.starts_with(&beginning), "{preview:?} is not the beginning of {whole:?}");
    }
}

/// The result of a tool call, by its id.
pub fn result<'a>(events: &'a [Event], tool_call_id: &str) -> &'a Event {
    let end =
        |event: &&Event| event.is("tool_call_update", &[("status", "end"), ("tool_call_id", tool_call_id)]);
    events.iter().find(end).unwrap_or_else(|| panic!("{tool_call_id} has no end"))
}

/// The starts of the calls of one tool, in their order.
pub fn starts<'a>(events: &'a [Event], name: &str) -> Vec<&'a Event> {
    events
        .iter()
        .filter(|event| event.is("tool_call_update", &[("status", "start"), ("name", name)]))
        .collect()
}

/// The ends of the calls of one tool, in their order.
pub fn ends<'a>(events: &'a [Event], name: &str) -> Vec<&'a Event> {
    events.iter().filter(|event| event.is("tool_call_update", &[("status", "end"), ("name", name)])).collect()
}
