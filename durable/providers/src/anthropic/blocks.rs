//! Assembles the blocks of a reply from their deltas, and writes them for the next request.

use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};

use crate::acceptable;
use crate::codec::{MAX_CALLS, name_calls};
use crate::failure::{protocol, too_many_calls};
use crate::json::{Object, Text};
use crate::members::Members;
use wire::model::{ModelError, RawValueEq, ToolCall};

use super::event::Delta;

/// The most blocks of a reply: enough for all its calls with text and thinking between them.
const MAX_BLOCKS: usize = 4 * MAX_CALLS;

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
enum BlockKind {
    Text,
    Thinking,
    ToolUse,
    /// Redacted thinking, calls and results of Anthropic's own tools, unknown blocks.
    Other,
}

/// The text that a delta adds to the events.
#[derive(Debug, PartialEq, Eq)]
pub enum Told<'a> {
    Text(Text<'a>),
    Thinking(Text<'a>),
    Nothing,
}

impl Blocks {
    pub fn has_call(&self) -> bool {
        self.0.iter().any(|block| block.kind == BlockKind::ToolUse)
    }

    /// Begins a block. Returns its number of bytes and its text: gateways that do not stream send whole blocks.
    pub fn start<'a>(
        &mut self,
        index: Option<u64>,
        block: &Object<'a>,
    ) -> Result<(usize, Told<'a>), ModelError> {
        if self.0.len() >= MAX_BLOCKS {
            return Err(protocol("The model's reply has too many parts."));
        }
        let mut members = Members::default();
        let bytes = members.take(&block.unknown);
        let text = |name: &str| {
            let raw = block.unknown.iter().find(|(known, _)| known.as_str() == name);
            raw.and_then(|(_, raw)| wire::json::from_str::<Text<'a>>(raw.get()).ok())
        };
        let (kind, told) = match &*members.text("type") {
            "text" => (BlockKind::Text, text("text").map(Told::Text)),
            "thinking" => (BlockKind::Thinking, text("thinking").map(Told::Thinking)),
            "tool_use" => (BlockKind::ToolUse, None),
            _ => (BlockKind::Other, None),
        };
        let next = self.0.iter().map(|block| block.index.saturating_add(1)).max().unwrap_or(0);
        self.0.push(Block { index: index.unwrap_or(next), kind, members, input: String::new() });
        Ok((bytes, told.unwrap_or(Told::Nothing)))
    }

    /// Continues a block. Returns the delta's number of bytes and its text.
    pub fn take<'a>(
        &mut self,
        index: Option<u64>,
        delta: Delta<'a>,
    ) -> Result<(usize, Told<'a>), ModelError> {
        let place = match index {
            Some(index) => self.0.iter().rposition(|block| block.index == index),
            None => self.0.len().checked_sub(1),
        };
        let Some(block) = place.and_then(|place| self.0.get_mut(place)) else {
            return Err(protocol("The model provider continued a part of the reply that never began."));
        };
        let members = &mut block.members;
        Ok(match delta {
            Delta { text: Some(piece), .. } => {
                members.push_text("text", piece.as_str());
                (piece.as_str().len(), Told::Text(piece))
            }
            Delta { thinking: Some(piece), .. } => {
                members.push_text("thinking", piece.as_str());
                (piece.as_str().len(), Told::Thinking(piece))
            }
            Delta { partial_json: Some(piece), .. } => {
                block.input.push_str(piece.as_str());
                (piece.as_str().len(), Told::Nothing)
            }
            Delta { signature: Some(piece), .. } => {
                members.push_text("signature", piece.as_str());
                (piece.as_str().len(), Told::Nothing)
            }
            Delta { citation: Some(citation), .. } => {
                (members.push_element("citations", citation), Told::Nothing)
            }
            // An unknown kind of delta adds to the members that it names.
            Delta { unknown, .. } => (members.take(&unknown), Told::Nothing),
        })
    }

    /// The calls in the model's order, and the blocks for the next request if they have more than text and calls.
    /// `first` numbers the made-up ids.
    pub fn complete(mut self, first: usize) -> Result<(Vec<ToolCall>, Option<RawValueEq>), ModelError> {
        // The sort is stable: blocks without an index keep their order of arrival.
        self.0.sort_by_key(|block| block.index);
        let calls = self.name_calls(first)?;
        self.0.retain(Block::may_go_back);
        for block in &mut self.0 {
            block.close();
        }
        let raw = match self.is_plain() {
            true => None,
            false => {
                let blocks: Vec<&Members> = self.0.iter().map(|block| &block.members).collect();
                Some(RawValueEq(written(&blocks)?))
            }
        };
        Ok((calls, raw))
    }

    fn name_calls(&mut self, first: usize) -> Result<Vec<ToolCall>, ModelError> {
        let blocks: Vec<&mut Block> =
            self.0.iter_mut().filter(|block| block.kind == BlockKind::ToolUse).collect();
        if blocks.len() > MAX_CALLS {
            return Err(too_many_calls());
        }
        let mut ids: Vec<String> = blocks.iter().map(|block| block.members.text("id").into_owned()).collect();
        name_calls(&mut ids.iter_mut().collect::<Vec<_>>(), first);
        let call = |(block, call_id): (&mut Block, String)| {
            // The id that its result will refer to.
            let acceptable = acceptable::call_id(&call_id);
            if *block.members.text("id") != *acceptable {
                block.members.set_text("id", &acceptable);
            }
            ToolCall { call_id, name: block.members.text("name").into_owned(), arguments: block.arguments() }
        };
        Ok(blocks.into_iter().zip(ids).map(call).collect())
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

    /// The arguments as the model wrote them: from their pieces, or whole from the beginning of the block.
    fn arguments(&self) -> String {
        match self.input.trim().is_empty() {
            false => self.input.clone(),
            true => self.members.json("input").unwrap_or("{}").to_owned(),
        }
    }

    /// Writes the input into the members.
    fn close(&mut self) {
        let has_input = !self.input.trim().is_empty();
        if has_input || self.kind == BlockKind::ToolUse {
            let input = acceptable::arguments(&self.arguments()).into_owned();
            if let Ok(input) = RawValue::from_string(input) {
                self.members.set("input", input);
            }
        }
        if self.kind == BlockKind::ToolUse {
            let name = self.members.text("name").into_owned();
            let acceptable = acceptable::name(&name);
            if *acceptable != *name {
                self.members.set_text("name", &acceptable);
            }
        }
    }
}

fn written(blocks: &impl Serialize) -> Result<Box<RawValue>, ModelError> {
    to_raw_value(blocks).map_err(|_| protocol("The model's reply cannot be kept."))
}
