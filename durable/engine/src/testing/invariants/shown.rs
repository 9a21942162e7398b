//! The stored parts are what a reader has put together from the events.

use std::collections::BTreeMap;

use super::Shown;
use crate::testing::support::Case;
use wire::protocol::{
    CallStatus, ChunkKind, DETAIL_CHARS, Event, MessagePart, PREVIEW_CHARS, Source, beginning,
};

/// Arguments of more characters than this stand in the parts.
const LONG_ARGS: usize = 400;
/// The room for the arguments and results of a turn, in bytes.
const DETAILS_BYTES: usize = 100_000;

/// The parts of a level, each as its kind with its text or its call.
type Levels = BTreeMap<Option<String>, Vec<(&'static str, String)>>;

/// Compares the parts level by level: the order between levels that run side by side means nothing.
pub(super) fn parts(case: &Case, events: &[Event], shown: &Shown<'_>) {
    let mut stored = Levels::new();
    for part in case.end().message.parts {
        let parent = part.parent_id().map(str::to_owned);
        let part = match part {
            MessagePart::Text { text, cut, .. } => (if cut { "cut text" } else { "text" }, text),
            MessagePart::Reasoning { text, cut, .. } => {
                (if cut { "cut reasoning" } else { "reasoning" }, text)
            }
            MessagePart::Call { tool_call_id, args, result, sources, .. } => {
                let details = [args.unwrap_or_default(), result.unwrap_or_default()].concat();
                ("call", tool_call_id + &details + &titles(&sources))
            }
            MessagePart::Summary { text: None } => ("left out", String::new()),
            MessagePart::Summary { text: Some(text) } => ("summary", text),
        };
        stored.entry(parent).or_default().push(part);
    }
    let notes = stored.get(&None).into_iter().flatten();
    let summary = notes.into_iter().find(|(kind, _)| *kind == "summary").map(|(_, text)| text.clone());
    assert_eq!(case.end().summary.map(|summary| summary.text), summary, "readers know what is kept\n{shown}");
    let mut seen = seen(events);
    let content = case.end().message.content;
    // A plain answer is stored once.
    if seen == Levels::from([(None, vec![("text", content)])]) {
        seen.clear();
    }
    assert_eq!(stored, seen, "{shown}");
}

/// A part on the way: its id, its model call, its level, its kind, its text or call.
type Entry<'a> = (&'a str, &'a str, Option<String>, &'static str, String);

/// The parts that a page shows when it follows the events by the rules of docs/wire-protocol.md.
fn seen(events: &[Event]) -> Levels {
    let mut entries: Vec<Entry<'_>> = Vec::new();
    let mut room = Room(DETAILS_BYTES);
    for event in events {
        match event {
            Event::Chunk { content, part_id, model_call_id, place, kind, .. } => {
                match entries.iter_mut().find(|(id, ..)| id == part_id) {
                    Some((.., text)) => text.push_str(content),
                    None if content.is_empty() => {}
                    None => {
                        let kind = match kind {
                            ChunkKind::Text => "text",
                            ChunkKind::Reasoning => "reasoning",
                        };
                        let parent = place.parent_id.clone();
                        entries.push((part_id, model_call_id, parent, kind, content.clone()));
                    }
                }
            }
            Event::HistorySummary { text } => {
                let kind = if text.is_some() { "summary" } else { "left out" };
                let text = text.clone().unwrap_or_default();
                match entries.iter_mut().find(|(_, _, _, known, _)| *known == kind) {
                    Some((.., known)) => *known = text,
                    None => entries.push(("", "", None, kind, text)),
                }
            }
            Event::ToolCallUpdate { tool_call_id: id, status: CallStatus::Start, place, args, .. } => {
                let args = args.as_ref().map(|args| args.to_string()).unwrap_or_default();
                let text = id.clone() + &room.detail(args, LONG_ARGS);
                entries.push((id, "", place.parent_id.clone(), "call", text));
            }
            Event::ToolCallUpdate { tool_call_id: id, result, sources, .. } => {
                let told = room.result(&entries, id, result.clone().unwrap_or_default());
                let call = entries.iter_mut().find(|(known, _, _, kind, _)| known == id && *kind == "call");
                call.into_iter().for_each(|(.., text)| text.push_str(&(told.clone() + &titles(sources))));
            }
            Event::HookUpdate { hook_call_id: id, place, .. }
                if !entries.iter().any(|(known, ..)| known == id) =>
            {
                entries.push((id, "", place.parent_id.clone(), "call", id.clone()));
            }
            Event::ModelCallReset { model_call_id, .. } => {
                entries.retain(|(_, call, ..)| call != model_call_id)
            }
            _ => {}
        }
    }
    let mut levels = Levels::new();
    for (_, _, parent, kind, text) in entries {
        levels.entry(parent).or_default().push((kind, text));
    }
    levels
}

/// The room that is left for arguments and results, in bytes.
struct Room(usize);

impl Room {
    /// The beginning of arguments or of a result that is longer than its preview, where there is room for it.
    fn detail(&mut self, text: String, chars: usize) -> String {
        let told = beginning(&text, DETAIL_CHARS);
        if text.chars().count() <= chars || told.len() > self.0 {
            return String::new();
        }
        self.0 -= told.len();
        told
    }

    /// The result of a call, unless it repeats the last text within the call.
    fn result(&mut self, entries: &[Entry<'_>], id: &String, result: String) -> String {
        let of = |(_, _, parent, kind, _): &&Entry<'_>| parent.as_ref() == Some(id) && *kind == "text";
        let said = entries.iter().rfind(of).map(|(.., text)| text.as_str()).unwrap_or_default();
        let begun = result.chars().take(DETAIL_CHARS - 1).collect::<String>();
        match said.trim_start().starts_with(begun.trim()) {
            true => String::new(),
            false => self.detail(result, PREVIEW_CHARS),
        }
    }
}

fn titles(sources: &[Source]) -> String {
    sources.iter().map(|source| format!(" {}", source.title)).collect()
}
