//! The items of a reply's output, and their form in the next request.

use serde::Serialize;
use serde_json::value::RawValue;

use crate::acceptable;
use crate::accumulator::{Accumulator, Completed, MAX_PARTS, raw_message};
use crate::failure::{protocol, too_many_parts};
use wire::model::{ModelError, ToolCall};

use super::event::WireItem;
use super::request::InputItem;

#[derive(Debug, Default)]
pub struct Items(Vec<Item>);

#[derive(Debug, Default)]
pub struct Item {
    index: u64,
    id: String,
    pub kind: OutputKind,
    /// Deltas have brought some of its text, so its end repeats it.
    pub told: bool,
    /// The raw JSON of the complete item.
    raw: Option<Box<RawValue>>,
}

#[derive(Debug, Default)]
pub enum OutputKind {
    Message,
    Reasoning {
        /// Whether the provider can read the item again. Without its encrypted text the provider would look for a
        /// stored item, and it stores none.
        readable: bool,
    },
    Call(ToolCall),
    /// An unknown item, such as a search of the provider's own …
    #[default]
    Other,
}

impl Items {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The next free index.
    pub fn next(&self) -> u64 {
        self.0.iter().map(|item| item.index.saturating_add(1)).max().unwrap_or(0)
    }

    /// Finds the item by index, then by id, then the last one; creates a new item if there is none.
    pub fn at(&mut self, index: Option<u64>, id: &str) -> Result<&mut Item, ModelError> {
        let place = match index {
            Some(index) => self.0.iter().rposition(|item| item.index == index),
            None if !id.is_empty() => self.0.iter().rposition(|item| item.id == id),
            None => self.0.len().checked_sub(1),
        };
        let place = match place {
            Some(place) => place,
            None if self.0.len() >= MAX_PARTS => return Err(too_many_parts()),
            None => {
                let index = index.unwrap_or_else(|| self.next());
                self.0.push(Item { index, id: id.into(), ..Item::default() });
                self.0.len() - 1
            }
        };
        self.0.get_mut(place).ok_or_else(|| protocol("The model provider's reply has no such part."))
    }

    /// The calls in the model's order, and the output for the next request if all of it can return.
    pub fn complete(mut self, reply: &Accumulator) -> Result<Completed, ModelError> {
        // The sort is stable: items without an index keep their order of arrival.
        self.0.sort_by_key(|item| item.index);
        let calls = reply.settle_calls(self.0.iter().filter_map(Item::call).cloned().collect())?;
        // A cut message cannot return, but its text can.
        let whole = self.0.iter().all(|item| item.raw.is_some() || item.call().is_some());
        let mut settled = calls.iter();
        let mut written: Vec<Written<'_>> = self
            .0
            .iter()
            .filter_map(|item| item.written(item.call().and_then(|came| Some((came, settled.next()?)))))
            .collect();
        // OpenAI refuses reasoning at the end of the output.
        while written.last().is_some_and(|last| last.is_reasoning) {
            written.pop();
        }
        let raw = (whole && !written.is_empty()).then(|| raw_message(&written)).transpose()?;
        Ok((calls, raw))
    }
}

impl Item {
    pub fn index(&self) -> u64 {
        self.index
    }

    /// Reads the item at its beginning or, with `done`, at its end. Returns the number of bytes that it keeps.
    pub fn take(&mut self, item: &WireItem<'_>, raw: &RawValue, done: bool) -> usize {
        let is_call = matches!(self.kind, OutputKind::Call(_));
        let known = match std::mem::take(&mut self.kind) {
            OutputKind::Call(call) => call,
            _ => ToolCall::default(),
        };
        self.kind = match item.kind(is_call) {
            "message" => OutputKind::Message,
            "reasoning" => {
                let readable = !item.encrypted_content.as_str().is_empty() || !item.content.0.is_empty();
                OutputKind::Reasoning { readable }
            }
            "function_call" => {
                // The end repeats all values, and these are final.
                let newer = |new: &str, old: String| if new.is_empty() { old } else { new.to_owned() };
                OutputKind::Call(ToolCall {
                    call_id: newer(item.call_id.as_str(), known.call_id),
                    name: newer(item.name.as_str(), known.name),
                    arguments: newer(item.arguments.as_str(), known.arguments),
                })
            }
            _ => OutputKind::Other,
        };
        if self.id.is_empty() {
            item.id.as_str().clone_into(&mut self.id);
        }
        // A call without its type is written anew.
        if !done || (item.kind.as_str().is_empty() && self.call().is_some()) {
            return self.id.len() + item.call_id.as_str().len() + item.name.as_str().len();
        }
        self.raw = Some(raw.to_owned());
        raw.get().len()
    }

    fn call(&self) -> Option<&ToolCall> {
        match &self.kind {
            OutputKind::Call(call) => Some(call),
            OutputKind::Message | OutputKind::Reasoning { .. } | OutputKind::Other => None,
        }
    }

    /// The item in the next request. `call` is the call as the provider wrote it, and as it is settled.
    fn written<'a>(&'a self, call: Option<(&ToolCall, &'a ToolCall)>) -> Option<Written<'a>> {
        let is_reasoning = matches!(self.kind, OutputKind::Reasoning { .. });
        let raw = self.raw.as_deref();
        match (&self.kind, call) {
            (OutputKind::Reasoning { readable: false }, _) => None,
            // The codec rewrites a call that is cut, or is not as the provider wrote it, or is invalid for the API.
            (_, Some((came, settled))) if raw.is_none() || !acceptable::is_call(came) || came != settled => {
                Some(Written { is_reasoning, form: Form::Ours(InputItem::Call(settled)) })
            }
            _ => raw.map(|raw| Written { is_reasoning, form: Form::Theirs(raw) }),
        }
    }
}

struct Written<'a> {
    is_reasoning: bool,
    form: Form<'a>,
}

enum Form<'a> {
    Theirs(&'a RawValue),
    Ours(InputItem<'a>),
}

impl Serialize for Written<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.form {
            Form::Theirs(raw) => raw.serialize(serializer),
            Form::Ours(item) => item.serialize(serializer),
        }
    }
}
