//! Assembles a reply's tool calls from deltas. Servers interleave and split the deltas, each in its own way.

use serde::ser::{Serialize, SerializeMap, Serializer};

use crate::acceptable;
use crate::codec::{MAX_CALLS, name_calls};
use crate::failure::too_many_calls;
use crate::json::text_of;
use crate::members::Members;
use wire::model::{ModelError, ToolCall};

use super::chunk::CallDelta;

#[derive(Debug, Default)]
pub struct Calls {
    list: Vec<Call>,
    /// The index of the last delta's call. A delta without an id and an index belongs to the same call.
    last: usize,
}

#[derive(Debug, Default)]
pub struct Call {
    index: u64,
    id: String,
    name: String,
    arguments: String,
    members: Members,
    function_members: Members,
}

impl Calls {
    /// Adds a delta and returns its number of bytes.
    pub fn take(&mut self, delta: CallDelta<'_>) -> Result<usize, ModelError> {
        let function = delta.function.unwrap_or_default();
        let id = delta.id.as_ref().map_or("", |id| id.as_str());
        let name = function.name.as_ref().map_or("", |name| name.as_str());
        let place = self.place(delta.index.0, id, name);
        let place = match place {
            Slot::At(place) => place,
            Slot::New(_) if self.list.len() >= MAX_CALLS => {
                return Err(too_many_calls());
            }
            Slot::New(index) => {
                self.list.push(Call { index, ..Call::default() });
                self.list.len() - 1
            }
        };
        self.last = place;
        let Some(call) = self.list.get_mut(place) else { return Ok(0) };
        continue_name(&mut call.id, id);
        continue_name(&mut call.name, name);
        // The string, or the JSON text of any other value.
        let arguments = function.arguments.filter(|raw| raw.get() != "null");
        let arguments = arguments.map_or("".into(), |raw| text_of(raw).unwrap_or(raw.get().into()));
        call.arguments.push_str(&arguments);
        Ok(id.len()
            + name.len()
            + arguments.len()
            + call.members.take(&delta.unknown)
            + call.function_members.take(&function.unknown))
    }

    /// Finds the call that a delta belongs to.
    fn place(&self, index: Option<u64>, id: &str, name: &str) -> Slot {
        let next = self.list.iter().map(|call| call.index.saturating_add(1)).max().unwrap_or(0);
        match index {
            // The newest call of that index: Gemini sends each call of a reply whole, with an id and the index 0.
            Some(index) => match self.list.iter().enumerate().rfind(|(_, call)| call.index == index) {
                Some((_, call)) if call.is_another(id, name) => Slot::New(index),
                Some((place, _)) => Slot::At(place),
                None => Slot::New(index),
            },
            None => match self.list.iter().position(|call| !id.is_empty() && call.id == id) {
                Some(place) => Slot::At(place),
                None if self.list.is_empty() || !id.is_empty() || !name.is_empty() => Slot::New(next),
                None => Slot::At(self.last),
            },
        }
    }

    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Whether a call has members that [`ToolCall`] lacks.
    pub fn has_members(&self) -> bool {
        self.list.iter().any(|call| !call.members.is_empty() || !call.function_members.is_empty())
    }

    /// Sorts the calls into the model's order and gives each call without an id a new one. `first` is the first number
    /// of the made-up ids.
    pub fn complete(mut self, first: usize) -> Vec<Call> {
        // The sort is stable, so calls of the same index keep their order of arrival.
        self.list.sort_by_key(|call| call.index);
        name_calls(&mut self.list.iter_mut().map(|call| &mut call.id).collect::<Vec<_>>(), first);
        for call in &mut self.list {
            if call.arguments.trim().is_empty() {
                call.arguments = "{}".into();
            }
        }
        self.list
    }
}

enum Slot {
    At(usize),
    New(u64),
}

impl Call {
    fn is_another(&self, id: &str, name: &str) -> bool {
        let begins = !id.is_empty() && !name.is_empty();
        begins && !self.id.is_empty() && self.id != id && !self.name.is_empty() && !self.arguments.is_empty()
    }

    pub fn to_tool_call(&self) -> ToolCall {
        ToolCall { call_id: self.id.clone(), name: self.name.clone(), arguments: self.arguments.clone() }
    }
}

/// Servers send ids and names whole, in pieces, or again with every delta.
fn continue_name(known: &mut String, piece: &str) {
    if !piece.is_empty() && known != piece {
        known.push_str(piece);
    }
}

/// The call as it goes back to the provider.
impl Serialize for Call {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("id", &self.id)?;
        map.serialize_entry("type", "function")?;
        map.serialize_entry("function", &Function(self))?;
        self.members.write(&mut map)?;
        map.end()
    }
}

struct Function<'a>(&'a Call);

impl Serialize for Function<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("name", &acceptable::name(&self.0.name))?;
        map.serialize_entry("arguments", &acceptable::arguments(&self.0.arguments))?;
        self.0.function_members.write(&mut map)?;
        map.end()
    }
}
