//! Builds the parts of an answer from the events that a client saw, and compares them with the stored ones.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::Event;

/// The end of a text that the service has cut.
const CUT_MARK: &str = "\n\n[shortened]";

/// Fails unless the stored parts are what the events showed, level by level. The order between levels that run side by
/// side means nothing. A cut text must begin as the shown one does. An answer that is its `content` alone has no parts.
pub fn assert_matches(events: &[Event], stored: &Value, content: &Value) {
    let parts = stored.as_array().map(Vec::as_slice).unwrap_or_default();
    let mut levels: BTreeMap<&str, Vec<(&str, String)>> = BTreeMap::new();
    let mut shown = seen(events);
    if let (1, Some([("text", text)])) = (shown.len(), shown.get("").map(Vec::as_slice))
        && content.as_str() == Some(text)
    {
        shown.clear();
    }
    for part in parts {
        let kind = part["type"].as_str().unwrap_or_else(|| panic!("a part without a type: {part}"));
        let member = if kind == "call" { "tool_call_id" } else { "text" };
        // Messages that were left out have a part without a text.
        let absent = (kind == "summary").then_some("");
        let text = part[member].as_str().or(absent);
        let text = text.unwrap_or_else(|| panic!("a part without {member}: {part}"));
        let names = ["type", "parent_id", "cut", "args", "result", "sources", member];
        assert!(
            part.as_object().is_some_and(|part| part.keys().all(|name| names.contains(&name.as_str()))),
            "{part}"
        );
        if kind == "call" {
            assert_details(events, text, part);
        }
        let level = part["parent_id"].as_str().unwrap_or_default();
        let before = levels.entry(level).or_default();
        if part["cut"] == true
            && let Some((_, whole)) = shown.get_mut(level).and_then(|parts| parts.get_mut(before.len()))
        {
            let kept = text.strip_suffix(CUT_MARK).unwrap_or_else(|| panic!("a cut text without its mark"));
            assert!(whole.len() > kept.len() && whole.starts_with(kept), "a cut text begins otherwise");
            text.clone_into(whole);
        }
        before.push((kind, text.to_owned() + &titles(&part["sources"])));
    }
    assert_eq!(levels, shown, "{stored:#}");
}

/// The most characters of the arguments, and of the result, in the part of a call.
const DETAIL_CHARS: usize = 4_000;

/// Fails unless the arguments and the result in the part of a call are those of its events, or their beginning.
fn assert_details(events: &[Event], id: &str, part: &Value) {
    for (status, member) in [("start", "args"), ("end", "result")] {
        let Some(kept) = part[member].as_str() else { continue };
        let is_it = |event: &&Event| event.text("tool_call_id") == id && event.text("status") == status;
        let told = events.iter().find(is_it).map(|event| &event.data[member]);
        let told = told.map(|told| told.as_str().map_or_else(|| told.to_string(), str::to_owned));
        let told = told.unwrap_or_else(|| panic!("{id} has no event with {member}"));
        let whole = told.chars().count() <= DETAIL_CHARS;
        let begun = kept.strip_suffix('…').filter(|_| !whole && kept.chars().count() == DETAIL_CHARS);
        assert!(
            if whole { kept == told } else { begun.is_some_and(|begun| told.starts_with(begun)) },
            "{part}"
        );
    }
}

/// A part on the way: its id, its model call, its level, its kind, its text or call.
type Seen<'a> = (&'a str, &'a str, &'a str, &'a str, String);

fn seen(events: &[Event]) -> BTreeMap<&str, Vec<(&str, String)>> {
    let mut parts: Vec<Seen<'_>> = Vec::new();
    for event in events {
        let (call, level) = (event.text("model_call_id"), event.text("parent_id"));
        match event.kind.as_str() {
            "chunk" => {
                let (id, text) = (event.text("part_id"), event.text("content"));
                let kind = if event.text("kind") == "reasoning" { "reasoning" } else { "text" };
                match parts.iter_mut().find(|part| (part.0, part.1) == (id, call)) {
                    Some(part) => part.4.push_str(text),
                    None if text.is_empty() => {}
                    None => parts.push((id, call, level, kind, text.to_owned())),
                }
            }
            "tool_call_update" if event.text("status") == "start" => {
                let id = event.text("tool_call_id");
                parts.push((id, "", level, "call", id.to_owned()));
            }
            "hook_update" => {
                let id = event.text("hook_call_id");
                if !parts.iter().any(|part| part.0 == id) {
                    parts.push((id, "", level, "call", id.to_owned()));
                }
            }
            "history_summary" => {
                let text = event.text("text").to_owned();
                let is_same =
                    |part: &&mut Seen<'_>| part.3 == "summary" && part.4.is_empty() == text.is_empty();
                match parts.iter_mut().find(is_same) {
                    Some(part) => part.4 = text,
                    None => parts.push(("", "", "", "summary", text)),
                }
            }
            "tool_call_update" => {
                let id = event.text("tool_call_id");
                let call = parts.iter_mut().find(|part| part.3 == "call" && part.0 == id);
                call.into_iter().for_each(|part| part.4.push_str(&titles(&event.data["sources"])));
            }
            "model_call_reset" => parts.retain(|part| part.1 != call),
            _ => {}
        }
    }
    let mut levels: BTreeMap<&str, Vec<(&str, String)>> = BTreeMap::new();
    for (_, _, level, kind, text) in parts {
        levels.entry(level).or_default().push((kind, text));
    }
    levels
}

/// The sources of a call.
fn titles(sources: &Value) -> String {
    sources.as_array().into_iter().flatten().map(|source| format!(" {}", source["title"])).collect()
}
