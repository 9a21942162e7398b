//! Judges the drafted answer of a level before readers get it. The hooks of the level that watch its answers are asked as
//! before a call: those with a rule first, then models, and the first block decides.
//!
//! The journal has the verdicts, and that the draft has passed, in one commit with the text for readers. So no reader gets a
//! draft that a run which takes the turn up might block.

use super::hooking::{About, ask};
use super::level::{Draft, Level};
use super::{Halt, Turn};
use crate::journal::{Commit, Fact};
use crate::marks::{HOOK, signed};
use wire::protocol::{ChunkKind, Event, HookPoint, Place};

/// The longest chunk of an answer that has passed, in bytes: short enough for a page that draws it piece by piece.
const CHUNK_BYTES: usize = 4 << 10;

impl Turn {
    /// A text of a hook, as the model of the level that it watches reads it.
    pub(super) fn remark(&self, hook: &str, text: &str) -> String {
        match self.spec.marks {
            0 => format!("[hook {hook}] {text}"),
            _ => signed(HOOK, hook, text),
        }
    }
}

/// Has the hooks of a level judge its draft. The level ends with it, or writes it again.
pub(super) async fn judge(turn: &Turn, level: &mut Level) -> Result<(), Halt> {
    let at = level.step_key();
    if !turn.replay.has_passed(&at) {
        if let Some((hook, reason)) = blocked(turn, level, &at).await? {
            let why = format!("Your answer was not shown. Write it again. The reason: {reason}");
            level.block_draft(&hook, &reason, turn.remark(&hook, &why));
            return Ok(());
        }
        show(turn, level, &at)?;
    }
    level.pass_draft();
    Ok(())
}

/// The hook that blocks a draft, and its reason. Where the model said nothing, there is nothing to judge.
async fn blocked(turn: &Turn, level: &Level, at: &str) -> Result<Option<(String, String)>, Halt> {
    if level.draft_text().trim().is_empty() {
        return Ok(None);
    }
    let watching = level.hooks().iter().enumerate().filter(|(_, hook)| hook.on == HookPoint::Answer);
    let (rules, models): (Vec<_>, Vec<_>) = watching.partition(|(_, hook)| turn.decides_at_once(hook));
    for (index, _) in rules.into_iter().chain(models) {
        let about = About { at, call: None, changed: None };
        if ask(turn, level, about, index).await? {
            break;
        }
    }
    let record = turn.record.borrow();
    Ok(record.hooks.blocks(at).map(|(hook, reason)| (hook.to_owned(), reason.to_owned())))
}

/// Gives readers the draft, together with the entry that says so.
fn show(turn: &Turn, level: &Level, at: &str) -> Result<(), Halt> {
    let events = level.draft().iter().flat_map(|draft| chunks(turn, &level.place, draft)).collect();
    let entries = vec![turn.entry(at, Fact::AnswerPassed)];
    turn.commit(Commit { entries, events, ..Commit::default() })
}

/// The text of a reply as a part of its model call, with the keys of the events.
fn chunks(turn: &Turn, place: &Place, Draft { at, text, .. }: &Draft) -> Vec<(String, Event)> {
    let (mut pieces, mut rest) = (Vec::new(), text.as_str());
    while !rest.is_empty() {
        let (piece, after) = rest.split_at(rest.floor_char_boundary(CHUNK_BYTES));
        pieces.push(piece);
        rest = after;
    }
    let last = pieces.len().saturating_sub(1);
    let chunk = |(index, piece): (usize, &str)| {
        let event = Event::Chunk {
            content: piece.to_owned(),
            part_id: turn.ids.part(at, 0),
            model_call_id: turn.ids.model_call(at),
            place: place.clone(),
            done: index == last,
            kind: ChunkKind::Text,
        };
        (format!("answer:{at}:{index}"), event)
    };
    pieces.into_iter().enumerate().map(chunk).collect()
}
