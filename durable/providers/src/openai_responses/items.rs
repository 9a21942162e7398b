//! The items of a reply's output, and their form in the next request.

use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};

use crate::acceptable;
use crate::codec::{MAX_CALLS, name_calls};
use crate::failure::{protocol, too_many_calls};
use wire::model::{ModelError, RawValueEq, ToolCall};

use super::event::WireItem;
use super::request::InputItem;

/// The most items of a reply: enough for all its calls with reasoning and messages between them.
const MAX_ITEMS: usize = 4 * MAX_CALLS;

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
    pub fn has_call(&self) -> bool {
        self.0.iter().any(|item| matches!(item.kind, OutputKind::Call(_)))
    }

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
            None if self.0.len() >= MAX_ITEMS => {
                return Err(protocol("The model's reply has too many parts."));
            }
            None => {
                let index = index.unwrap_or_else(|| self.next());
                self.0.push(Item { index, id: id.into(), ..Item::default() });
                self.0.len() - 1
            }
        };
        self.0.get_mut(place).ok_or_else(|| protocol("The model provider's reply has no such part."))
    }

    /// The calls in the model's order, and the output for the next request if all of it can return. `first` numbers the
    /// made-up ids.
    pub fn complete(mut self, first: usize) -> Result<(Vec<ToolCall>, Option<RawValueEq>), ModelError> {
        // The sort is stable: items without an index keep their order of arrival.
        self.0.sort_by_key(|item| item.index);
        let came: Vec<Option<ToolCall>> = self.0.iter().map(|item| item.call().cloned()).collect();
        let mut ids: Vec<&mut String> = self.0.iter_mut().filter_map(Item::call_id).collect();
        if ids.len() > MAX_CALLS {
            return Err(too_many_calls());
        }
        name_calls(&mut ids, first);
        // A cut message cannot return, but its text can.
        let whole = self.0.iter().all(|item| item.raw.is_some() || item.call().is_some());
        let mut written: Vec<Written<'_>> =
            self.0.iter().zip(&came).filter_map(|(item, came)| item.written(came.as_ref())).collect();
        // OpenAI refuses reasoning at the end of the output.
        while written.last().is_some_and(|last| last.is_reasoning) {
            written.pop();
        }
        let raw = match whole && !written.is_empty() {
            true => Some(RawValueEq(
                to_raw_value(&written).map_err(|_| protocol("The model's reply cannot be kept."))?,
            )),
            false => None,
        };
        let calls = self.0.iter().filter_map(Item::call).map(|call| {
            let arguments =
                if call.arguments.trim().is_empty() { "{}".into() } else { call.arguments.clone() };
            ToolCall { arguments, ..call.clone() }
        });
        Ok((calls.collect(), raw))
    }
}

impl Item {
    pub fn index(&self) -> u64 {
        self.index
    }

    /// Reads the item at its beginning or, with `done`, at its end. Returns the number of bytes that it keeps.
    pub fn take(&mut self, item: &WireItem<'_>, raw: &RawValue, done: bool) -> usize {
        let known = match std::mem::take(&mut self.kind) {
            OutputKind::Call(call) => call,
            _ => ToolCall { call_id: String::new(), name: String::new(), arguments: String::new() },
        };
        self.kind = match item.kind.as_str() {
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
        if !done {
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

    fn call_id(&mut self) -> Option<&mut String> {
        match &mut self.kind {
            OutputKind::Call(call) => Some(&mut call.call_id),
            OutputKind::Message | OutputKind::Reasoning { .. } | OutputKind::Other => None,
        }
    }

    /// The item in the next request. `came` is the call as the provider wrote it.
    fn written(&self, came: Option<&ToolCall>) -> Option<Written<'_>> {
        let is_reasoning = matches!(self.kind, OutputKind::Reasoning { .. });
        let own = |call| Written { is_reasoning: false, form: Form::Ours(InputItem::Call(call)) };
        match (&self.kind, &self.raw) {
            (OutputKind::Reasoning { readable: false }, _) => None,
            // The codec rewrites a call that is cut, lacks an id or is invalid for the API.
            (OutputKind::Call(call), None) => Some(own(call)),
            (OutputKind::Call(call), Some(_)) if !acceptable::is_call(call) || came != Some(call) => {
                Some(own(call))
            }
            (_, raw) => raw.as_deref().map(|raw| Written { is_reasoning, form: Form::Theirs(raw) }),
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
