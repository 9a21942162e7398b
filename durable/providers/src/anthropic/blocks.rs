//! Assembles the blocks of a reply from their deltas, and writes them for the next request.

use std::borrow::Cow;

use serde_json::value::RawValue;

use crate::acceptable;
use crate::accumulator::{Accumulator, Completed, MAX_PARTS, raw_message};
use crate::failure::{protocol, too_many_parts};
use crate::json::{Object, Text, object_of};
use crate::members::Members;
use wire::model::{ModelError, ToolCall};

use super::event::Delta;

#[derive(Debug, Default)]
pub struct Blocks(Vec<Block>);

#[derive(Debug)]
struct Block {
    index: u64,
    kind: BlockKind,
    /// The members of the block so far, in their order.
    members: Members,
    /// `input`, from its pieces of JSON.
    input: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockKind {
    Text,
    Thinking,
    ToolUse,
    /// Redacted thinking, calls and results of Anthropic's own tools, unknown blocks.
    Other,
}

impl BlockKind {
    /// The member with the text of such a block, which is also its type.
    fn text_member(self) -> Option<&'static str> {
        match self {
            BlockKind::Text => Some("text"),
            BlockKind::Thinking => Some("thinking"),
            BlockKind::ToolUse | BlockKind::Other => None,
        }
    }
}

impl Blocks {
    /// Begins a block, and adds its text: gateways that do not stream send whole blocks.
    pub fn start(
        &mut self,
        index: Option<u64>,
        block: &Object<'_>,
        reply: &mut Accumulator,
    ) -> Result<(), ModelError> {
        let mut members = Members::default();
        let bytes = members.take(&block.unknown);
        let told = ["text", "thinking"].into_iter().find(|name| members.has(name));
        let kind = match (&*members.text("type"), told) {
            ("text", _) | ("", Some("text")) => BlockKind::Text,
            ("thinking", _) | ("", Some("thinking")) => BlockKind::Thinking,
            ("tool_use", _) => BlockKind::ToolUse,
            _ => BlockKind::Other,
        };
        if let Some(name) = kind.text_member() {
            // It could not go back without its type.
            if members.text("type").is_empty() {
                members.set_text("type", name);
            }
            let text = members.text(name);
            reply.keep(bytes.saturating_sub(text.len()));
            match kind {
                BlockKind::Thinking => reply.take_reasoning(text),
                _ => reply.take_text(text),
            }
        } else {
            reply.keep(bytes);
            reply.has_call |= kind == BlockKind::ToolUse;
        }
        self.push(index, kind, members).map(|_| ())
    }

    fn push(&mut self, index: Option<u64>, kind: BlockKind, members: Members) -> Result<usize, ModelError> {
        if self.0.len() >= MAX_PARTS {
            return Err(too_many_parts());
        }
        let next = self.0.iter().map(|block| block.index.saturating_add(1)).max().unwrap_or(0);
        self.0.push(Block { index: index.unwrap_or(next), kind, members, input: String::new() });
        Ok(self.0.len() - 1)
    }

    /// The block of a delta: that of its index, if it can have such a delta. Gateways have one index for all blocks, or none:
    /// then it is the last block. An index of its own is another block, whose beginning may have been unreadable: text and
    /// thinking begin it, and anything else cannot be read without it. None: the delta says nothing.
    fn place(&mut self, index: Option<u64>, kind: Option<BlockKind>) -> Result<Option<usize>, ModelError> {
        let fits =
            |block: &Block| block.kind == BlockKind::Other || kind.is_none_or(|kind| kind == block.kind);
        let named = self.0.iter().rposition(|block| Some(block.index) == index && fits(block));
        let is_own = index.is_some() && self.0.iter().all(|block| Some(block.index) != index);
        let last_fits = |block: &Block| kind.is_none_or(|kind| kind == block.kind);
        let last = self.0.len().checked_sub(1).filter(|_| !is_own && self.0.last().is_some_and(last_fits));
        let (None, Some(kind)) = (named.or(last), kind) else { return Ok(named.or(last)) };
        let name = kind
            .text_member()
            .ok_or_else(|| protocol("The model provider continued a part of the reply that never began."))?;
        let mut members = Members::default();
        members.set_text("type", name);
        members.set_text(name, "");
        self.push(index, kind, members).map(Some)
    }

    /// Continues a block.
    pub fn take<'a>(
        &mut self,
        index: Option<u64>,
        delta: Delta<'a>,
        reply: &mut Accumulator,
    ) -> Result<(), ModelError> {
        let place = self.place(index, delta.kind())?;
        let Some(block) = place.and_then(|place| self.0.get_mut(place)) else { return Ok(()) };
        let members = &mut block.members;
        if delta.is_unknown() {
            // It adds to the members that it names.
            reply.keep(members.take(&delta.unknown));
        }
        // Gateways send all members with each delta, and the others are empty.
        let said = |piece: Option<Text<'a>>| piece.map(|piece| piece.0).filter(|piece| !piece.is_empty());
        if let Some(piece) = said(delta.text) {
            members.push_text("text", &piece);
            reply.take_text(piece);
        }
        if let Some(piece) = said(delta.thinking) {
            members.push_text("thinking", &piece);
            reply.take_reasoning(piece);
        }
        if let Some(piece) = said(delta.partial_json) {
            block.input.push_str(&piece);
            reply.keep(piece.len());
        }
        if let Some(piece) = said(delta.signature) {
            members.push_text("signature", &piece);
            reply.keep(piece.len());
        }
        if let Some(citation) = delta.citation {
            reply.keep(members.push_element("citations", citation));
        }
        Ok(())
    }

    /// The calls in the model's order, and the blocks for the next request if they have more than text and calls.
    pub fn complete(mut self, reply: &Accumulator) -> Result<Completed, ModelError> {
        // The sort is stable: blocks without an index keep their order of arrival.
        self.0.sort_by_key(|block| block.index);
        let calls = self.0.iter().filter_map(Block::call).collect();
        let calls = reply.settle_calls(calls)?;
        let mut settled = calls.iter();
        for block in &mut self.0 {
            block.close(if block.kind == BlockKind::ToolUse { settled.next() } else { None });
        }
        self.0.retain(Block::may_go_back);
        let raw = match self.is_plain() {
            true => None,
            false => Some(raw_message(&self.0.iter().map(|block| &block.members).collect::<Vec<_>>())?),
        };
        Ok((calls, raw))
    }

    /// Whether the blocks are text followed by calls, without further data.
    fn is_plain(&self) -> bool {
        let only = |block: &Block, kind: BlockKind, names: &[&str]| {
            block.kind == kind && block.members.has_only(names)
        };
        let text = |block: &&Block| only(block, BlockKind::Text, &["type", "text"]);
        let rest = match self.0.split_first() {
            Some((first, rest)) if text(&first) => rest,
            _ => &self.0,
        };
        rest.iter().all(|block| only(block, BlockKind::ToolUse, &["type", "id", "name", "input"]))
    }
}

impl Block {
    /// Leaves out the blocks that Anthropic refuses: empty text, and thinking without its signature.
    fn may_go_back(&self) -> bool {
        match self.kind {
            BlockKind::Text => !self.members.text("text").is_empty(),
            BlockKind::Thinking => !self.members.text("signature").is_empty(),
            BlockKind::ToolUse | BlockKind::Other => true,
        }
    }

    /// The call. Its arguments are as the model wrote them: from their pieces, or whole from the beginning of the block.
    fn call(&self) -> Option<ToolCall> {
        let text = |name: &str| self.members.text(name).into_owned();
        let whole = || self.members.json("input").and_then(object_of).unwrap_or(Cow::Borrowed("{}"));
        let arguments = if self.input.trim().is_empty() { whole() } else { Cow::Borrowed(&*self.input) };
        let call = ToolCall { call_id: text("id"), name: text("name"), arguments: arguments.into_owned() };
        (self.kind == BlockKind::ToolUse).then_some(call)
    }

    /// Writes the pieces of the input into the members; of a call, what its result and the next request will name.
    fn close(&mut self, call: Option<&ToolCall>) {
        let input = call.map_or(&self.input, |call| &call.arguments);
        if !input.trim().is_empty()
            && let Ok(input) = RawValue::from_string(acceptable::arguments(input).into_owned())
        {
            self.members.set("input", input);
        }
        let Some(call) = call else { return };
        for (name, text) in
            [("id", acceptable::call_id(&call.call_id)), ("name", acceptable::name(&call.name))]
        {
            if *self.members.text(name) != *text {
                self.members.set_text(name, &text);
            }
        }
    }
}
