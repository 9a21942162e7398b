//! Announces the text of model calls at once, and keeps it in the record until it is written.

use std::mem;

use super::{Halt, Turn};
use crate::journal::{Commit, TextPart};
use crate::record::OpenModelCall;
use wire::protocol::{ChunkKind, Event, Place};

/// The model call that a text comes from.
pub(super) struct Speaking<'a> {
    pub(super) place: &'a Place,
    pub(super) at: &'a str,
    /// How often earlier runs began the call.
    pub(super) attempt: u32,
}

/// The longest chunk in bytes: storage splits a part into rows only between its chunks.
const MAX_CHUNK_BYTES: usize = 64 << 10;

/// The most announced text of a turn that stays unwritten; beyond it the turn writes all of it. The live log
/// keeps unwritten text even when every reader has it, so this limit is half of the bytes that the log keeps
/// for slow readers anyway. An answer of a thousand chunks is still written with its outcome alone.
pub(super) const UNWRITTEN_BYTES: usize = 512 << 10;
/// The weight of a chunk beside its text: its frame in the live log, which has three ids, and its number and
/// length here.
pub(super) const CHUNK_BYTES: usize = 384;

/// Announces a piece of text at once. It becomes durable with its model call's outcome, or earlier if much
/// text is unwritten.
pub(super) fn announce(
    turn: &Turn,
    from: &Speaking<'_>,
    kind: ChunkKind,
    mut content: String,
) -> Result<(), Halt> {
    while content.len() > MAX_CHUNK_BYTES {
        let rest = content.split_off(content.floor_char_boundary(MAX_CHUNK_BYTES));
        announce_chunk(turn, from, kind, content);
        content = rest;
    }
    announce_chunk(turn, from, kind, content);
    write_text(turn)
}

/// Writes the text of all running model calls, if there is much of it. It takes all calls, because the live
/// log drops frames in their order: the unwritten text of one call would keep the frames of the others.
fn write_text(turn: &Turn) -> Result<(), Halt> {
    if turn.record.borrow().models.values().map(|open| open.unwritten).sum::<usize>() <= UNWRITTEN_BYTES {
        return Ok(());
    }
    // A stopped turn writes this text with its end.
    turn.alive()?;
    let texts =
        turn.record.borrow_mut().models.values_mut().flat_map(OpenModelCall::take_unwritten).collect();
    turn.commit(Commit { texts, ..Commit::default() })
}

fn announce_chunk(turn: &Turn, from: &Speaking<'_>, kind: ChunkKind, content: String) {
    let Speaking { place, at, attempt } = *from;
    let mut record = turn.record.borrow_mut();
    let Some(open) = record.models.get_mut(at).filter(|_| !content.is_empty()) else { return };
    if open.parts.last().is_none_or(|part| part.kind != kind) {
        open.parts.last_mut().into_iter().for_each(|part| close(turn, part));
        // A repeated call has new parts: clients have dropped the first ones.
        let made = if attempt == 0 { at.to_owned() } else { format!("{at}r{attempt}") };
        open.parts.push(TextPart {
            part_id: turn.ids.part(&made, open.begun),
            model_call_id: turn.ids.model_call(at),
            kind,
            place: place.clone(),
            chunks: Vec::new(),
            text: String::new(),
            more: false,
        });
        open.begun += 1;
        open.said.extend((kind == ChunkKind::Text).then(String::new));
    }
    if let Some(said) = open.said.last_mut().filter(|_| kind == ChunkKind::Text) {
        said.push_str(&content);
    }
    open.unwritten += CHUNK_BYTES + content.len();
    if let Some(part) = open.parts.last_mut() {
        append(turn, part, content, false);
    }
}

fn append(turn: &Turn, part: &mut TextPart, content: String, done: bool) {
    let length = u32::try_from(content.len()).unwrap_or(u32::MAX);
    part.text.push_str(&content);
    let seq = turn.ports.log.announce(Event::Chunk {
        content,
        part_id: part.part_id.clone(),
        model_call_id: part.model_call_id.clone(),
        place: part.place.clone(),
        done,
        kind: part.kind,
    });
    part.chunks.push((seq, length));
}

impl Turn {
    /// Keeps the text of a model call that readers get in another form, later, or not at all.
    pub(super) fn hear(&self, at: &str, content: &str) {
        let mut record = self.record.borrow_mut();
        let Some(open) = record.models.get_mut(at) else { return };
        open.unshown.push_str(content);
    }
}

/// Closes a part with an empty chunk that is marked as done.
pub(super) fn close(turn: &Turn, part: &mut TextPart) {
    append(turn, part, String::new(), true);
}

/// Takes the announced parts of a model call that are not written, all closed.
pub(super) fn take_parts(turn: &Turn, at: &str) -> Vec<TextPart> {
    let mut record = turn.record.borrow_mut();
    let mut parts = record.models.get_mut(at).map(|open| mem::take(&mut open.parts)).unwrap_or_default();
    parts.last_mut().into_iter().for_each(|part| close(turn, part));
    parts
}
