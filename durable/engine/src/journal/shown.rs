//! The parts that a turn has shown to its readers, in order: text, reasoning and calls.
//!
//! A run adds what it commits. A run that takes a lost turn up begins with what the log has of it. Both lead to the parts
//! that a reader puts together from the events, with one exception: beyond [`KEPT_BYTES`] text is left out.

use std::collections::{BTreeMap, BTreeSet};

use super::{Commit, TextPart};
use wire::protocol::{
    CallStatus, ChunkKind, DETAIL_CHARS, Event, MessagePart, PREVIEW_CHARS, Place, Seq, Source, beginning,
};

#[cfg(test)]
mod tests;

/// The most bytes of text that are kept, and of reasoning: storage takes no more of a message
/// (`PARTS_BYTES` in `platform/src/storage/fit.rs`).
pub const KEPT_BYTES: usize = 350_000;
/// The weight of a part beside its text: an id and the names of its members. It bounds the number of parts.
const PART_BYTES: usize = 80;
/// The most bytes of the sources of all calls: documents by the hundred, and no more than a seventh of [`KEPT_BYTES`].
const SOURCES_BYTES: usize = 50_000;
/// The most bytes of the arguments and results of all calls: those of at least eight calls, each as long as may be
/// ([`DETAIL_CHARS`]), and less than a third of [`KEPT_BYTES`].
const DETAILS_BYTES: usize = 100_000;
/// The previews have the arguments as the model wrote them, with spaces that these lack. Arguments with this many
/// characters may be cut there.
const LONG_ARGS: usize = PREVIEW_CHARS * 4 / 5;

/// One thing that readers learn from the log, as far as it changes the parts.
#[derive(Clone, Debug, PartialEq)]
pub enum PartChange {
    /// A piece of a part of streamed text.
    Text { part_id: String, model_call_id: String, kind: ChunkKind, place: Place, text: String },
    /// A tool call has started, or a hook was heard. The arguments are there if they are long.
    Called { tool_call_id: String, place: Place, args: Option<String> },
    /// Earlier messages left the model's view, with or without a summary in their place.
    Summary { text: Option<String> },
    /// A tool call has ended with this result, if it is long, which comes from these sources.
    Ended { tool_call_id: String, result: Option<String>, sources: Vec<Source> },
    /// Readers drop the parts of a model call.
    Reset { model_call_id: String },
}

impl PartChange {
    /// A text of a commit.
    pub fn text(part: &TextPart) -> PartChange {
        let TextPart { part_id, model_call_id, kind, place, text, .. } = part;
        PartChange::Text {
            part_id: part_id.clone(),
            model_call_id: model_call_id.clone(),
            kind: *kind,
            place: place.clone(),
            text: text.clone(),
        }
    }

    /// An event; none where it changes no part.
    pub fn event(event: &Event) -> Option<PartChange> {
        Some(match event {
            Event::Chunk { content, part_id, model_call_id, place, kind, .. } => PartChange::Text {
                part_id: part_id.clone(),
                model_call_id: model_call_id.clone(),
                kind: *kind,
                place: place.clone(),
                text: content.clone(),
            },
            Event::HookUpdate { hook_call_id: id, place, .. } => {
                PartChange::Called { tool_call_id: id.clone(), place: place.clone(), args: None }
            }
            Event::ToolCallUpdate { tool_call_id, status: CallStatus::Start, place, args, .. } => {
                let args = args.as_ref().and_then(|args| detail(&args.to_string(), LONG_ARGS));
                PartChange::Called { tool_call_id: tool_call_id.clone(), place: place.clone(), args }
            }
            Event::HistorySummary { text } => PartChange::Summary { text: text.clone() },
            Event::ToolCallUpdate { tool_call_id, result, sources, .. } => {
                let result = result.as_ref().and_then(|result| detail(result, PREVIEW_CHARS));
                if result.is_none() && sources.is_empty() {
                    return None;
                }
                PartChange::Ended { tool_call_id: tool_call_id.clone(), result, sources: sources.clone() }
            }
            Event::ModelCallReset { model_call_id, .. } => {
                PartChange::Reset { model_call_id: model_call_id.clone() }
            }
            _ => return None,
        })
    }

    /// The things that a commit tells, in order: texts have smaller numbers than the events beside them.
    pub(crate) fn of(commit: &Commit) -> Vec<PartChange> {
        let events = commit.events.iter().filter_map(|(_, event)| PartChange::event(event));
        commit.texts.iter().map(PartChange::text).chain(events).collect()
    }
}

/// The beginning of arguments or of a result; none where they are short, since the execution tree has them whole.
fn detail(text: &str, chars: usize) -> Option<String> {
    text.char_indices().nth(chars).map(|_| beginning(text, DETAIL_CHARS))
}

/// The parts of a turn so far.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Shown {
    parts: Vec<Part>,
    /// The last part of each model call, by its place in `parts`.
    last: BTreeMap<String, usize>,
    /// The calls among the parts.
    calls: BTreeSet<String>,
    text: Room,
    reasoning: Room,
    /// The bytes of all sources.
    sources: usize,
    /// The bytes of all arguments and results.
    details: usize,
}

/// The room of one kind of text.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Room {
    used: usize,
    /// A part found none, and the part before it says so.
    is_marked: bool,
}

#[derive(Clone, Debug, PartialEq)]
struct Part {
    /// The `part_id` of a text; empty for a call, like its model call.
    id: String,
    model_call_id: String,
    /// The bytes of its text that are kept, and [`PART_BYTES`]; 0 for a call.
    bytes: usize,
    part: MessagePart,
}

impl Shown {
    /// The parts of a turn as its log has them. The numbers give the order: rows of the log may overlap.
    pub fn read(mut log: Vec<(Seq, PartChange)>) -> Shown {
        log.sort_by_key(|(seq, _)| *seq);
        let mut shown = Shown::default();
        shown.add(log.into_iter().map(|(_, told)| told));
        shown
    }

    /// Adds what was told after all that is here.
    pub fn add(&mut self, told: impl IntoIterator<Item = PartChange>) {
        for told in told {
            match told {
                PartChange::Text { part_id, model_call_id, kind, place, text } => {
                    self.write(part_id, model_call_id, (kind, place), &text);
                }
                PartChange::Called { tool_call_id, place: Place { parent_id, .. }, args } => {
                    // A call that runs again after a lost run has started once.
                    if self.calls.insert(tool_call_id.clone()) {
                        let (args, result, sources) = (self.kept(args), None, Vec::new());
                        let part = MessagePart::Call { tool_call_id, parent_id, args, result, sources };
                        self.parts.push(Part {
                            id: String::new(),
                            model_call_id: String::new(),
                            bytes: 0,
                            part,
                        });
                    }
                }
                PartChange::Summary { text } => self.summarise(text),
                PartChange::Ended { tool_call_id, result, sources } => {
                    self.end(&tool_call_id, result, sources)
                }
                PartChange::Reset { model_call_id } => {
                    self.parts.retain(|part| part.kind().is_none() || part.model_call_id != model_call_id);
                    self.count();
                }
            }
        }
    }

    /// The parts, in order of appearance among those of the same call.
    pub fn parts(&self) -> Vec<MessagePart> {
        self.parts.iter().map(|part| part.part.clone()).collect()
    }

    /// The parts of a message with this content; none where they would only repeat it, as those of a plain answer.
    pub fn parts_beside(&self, content: &str) -> Vec<MessagePart> {
        match self.parts.as_slice() {
            [Part { part: MessagePart::Text { text, parent_id: None, cut: false }, .. }]
                if text == content =>
            {
                Vec::new()
            }
            _ => self.parts(),
        }
    }

    /// Whether readers know that messages were left out without a summary.
    pub(crate) fn has_left_out(&self) -> bool {
        self.parts.iter().any(|part| matches!(part.part, MessagePart::Summary { text: None }))
    }

    /// Adds the note of a summary, or of messages that were left out: one of each kind. A later summary includes the one
    /// before it, so it takes its place.
    fn summarise(&mut self, text: Option<String>) {
        let is_same = |part: &&mut Part| matches!(&part.part, MessagePart::Summary { text: known } if known.is_some() == text.is_some());
        match self.parts.iter_mut().find(is_same) {
            Some(known) => known.part = MessagePart::Summary { text },
            None => self.parts.push(Part {
                id: String::new(),
                model_call_id: String::new(),
                bytes: 0,
                part: MessagePart::Summary { text },
            }),
        }
    }

    /// Adds the result of a call and its sources, as far as there is room.
    fn end(&mut self, ended: &str, told: Option<String>, mut found: Vec<Source>) {
        let has_none = |part: &Part| {
            matches!(&part.part, MessagePart::Call { tool_call_id, result: None, sources, .. }
                if tool_call_id == ended && sources.is_empty())
        };
        let Some(at) = self.parts.iter().position(has_none) else { return };
        let told = told.filter(|told| !self.repeats(ended, told));
        let told = self.kept(told);
        found.retain(|Source { title }| {
            let used = self.sources + title.len() + PART_BYTES;
            let fits = used <= SOURCES_BYTES;
            self.sources = if fits { used } else { self.sources };
            fits
        });
        if let Some(Part { part: MessagePart::Call { result, sources, .. }, .. }) = self.parts.get_mut(at) {
            (*result, *sources) = (told, found);
        }
    }

    /// Arguments or a result, where there is room for them.
    fn kept(&mut self, detail: Option<String>) -> Option<String> {
        let detail = detail.filter(|detail| self.details + detail.len() <= DETAILS_BYTES)?;
        self.details += detail.len();
        Some(detail)
    }

    /// Whether a result repeats the last text of the call's level, as that of a subtask does.
    fn repeats(&self, ended: &str, result: &str) -> bool {
        let last = self.parts.iter().rev().find_map(|part| match &part.part {
            MessagePart::Text { text, parent_id, .. } if parent_id.as_deref() == Some(ended) => Some(text),
            _ => None,
        });
        last.is_some_and(|text| text.trim_start().starts_with(result.trim_end_matches('…').trim()))
    }

    fn write(&mut self, id: String, model_call_id: String, (kind, place): (ChunkKind, Place), text: &str) {
        // An empty chunk closes a part and opens none.
        if text.is_empty() {
            return;
        }
        let known = self.last.get(&model_call_id).copied();
        let known = known.filter(|at| self.parts.get(*at).is_some_and(|part| part.id == id));
        let more = if known.is_some() { 0 } else { PART_BYTES };
        let room = KEPT_BYTES.saturating_sub(self.room(kind).used + more);
        let kept = text.get(..text.floor_char_boundary(room)).unwrap_or_default();
        let at = match known {
            Some(at) => at,
            None if kept.is_empty() => return self.mark_cut(kind),
            None => {
                self.last.insert(model_call_id.clone(), self.parts.len());
                let part = empty(kind, place);
                self.parts.push(Part { id, model_call_id, bytes: 0, part });
                self.parts.len() - 1
            }
        };
        let Some(Part { part, bytes, .. }) = self.parts.get_mut(at) else { return };
        *bytes += more + kept.len();
        if let MessagePart::Text { text, cut: false, .. } | MessagePart::Reasoning { text, cut: false, .. } =
            part
        {
            text.push_str(kept);
        }
        if kept.len() < text.len() {
            part.mark_cut();
        }
        self.room(kind).used += more + kept.len();
    }

    fn room(&mut self, kind: ChunkKind) -> &mut Room {
        match kind {
            ChunkKind::Text => &mut self.text,
            ChunkKind::Reasoning => &mut self.reasoning,
        }
    }

    /// A part finds no room: the one before it, of the same kind, says that text is missing.
    fn mark_cut(&mut self, kind: ChunkKind) {
        if std::mem::replace(&mut self.room(kind).is_marked, true) {
            return;
        }
        if let Some(last) = self.parts.iter_mut().rfind(|part| part.kind() == Some(kind)) {
            last.part.mark_cut();
        }
    }

    /// Counts again after parts were dropped.
    fn count(&mut self) {
        self.last.clear();
        (self.text, self.reasoning) = (Room::default(), Room::default());
        for (at, part) in self.parts.iter().enumerate() {
            let room = match part.kind() {
                Some(ChunkKind::Text) => &mut self.text,
                Some(ChunkKind::Reasoning) => &mut self.reasoning,
                None => continue,
            };
            room.used += part.bytes;
            self.last.insert(part.model_call_id.clone(), at);
        }
    }
}

fn empty(kind: ChunkKind, place: Place) -> MessagePart {
    let (text, parent_id, cut) = (String::new(), place.parent_id, false);
    match kind {
        ChunkKind::Text => MessagePart::Text { text, parent_id, cut },
        ChunkKind::Reasoning => MessagePart::Reasoning { text, parent_id, cut },
    }
}

impl Part {
    /// The kind of a text; none for a call.
    fn kind(&self) -> Option<ChunkKind> {
        match self.part {
            MessagePart::Text { .. } => Some(ChunkKind::Text),
            MessagePart::Reasoning { .. } => Some(ChunkKind::Reasoning),
            MessagePart::Call { .. } | MessagePart::Summary { .. } => None,
        }
    }
}
