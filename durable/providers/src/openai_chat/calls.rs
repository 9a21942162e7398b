//! Assembles a reply's tool calls from deltas. Servers interleave and split the deltas, each in its own way.

use serde::ser::{Serialize, SerializeMap, Serializer};

use crate::acceptable;
use crate::accumulator::Accumulator;
use crate::codec::MAX_CALLS;
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
    call: ToolCall,
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
        continue_name(&mut call.call.call_id, id);
        continue_name(&mut call.call.name, name);
        // The string, or the JSON of an object. An empty list is PHP's empty object.
        let arguments =
            function.arguments.filter(|raw| raw.get().starts_with(['"', '{']) && raw.get() != "{}");
        let arguments = arguments.and_then(text_of).unwrap_or_default();
        call.call.arguments.push_str(&arguments);
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
                // A piece that neither begins a call nor says which one it belongs to.
                None if !self.list.is_empty() && id.is_empty() && name.is_empty() => Slot::At(self.last),
                None => Slot::New(index),
            },
            None => match self.list.iter().position(|call| !id.is_empty() && call.call.call_id == id) {
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

    /// Whether a call of the same id has arguments already, or gets none.
    pub fn has(&self, delta: &CallDelta<'_>) -> bool {
        let arguments = delta.function.as_ref().and_then(|function| function.arguments);
        let arguments = arguments.and_then(text_of).unwrap_or_default();
        delta.id.as_ref().is_some_and(|id| {
            let is_same = |call: &Call| {
                call.call.call_id == id.as_str() && (arguments.is_empty() || !call.call.arguments.is_empty())
            };
            self.list.iter().any(is_same)
        })
    }

    pub fn list(&self) -> &[Call] {
        &self.list
    }

    /// Sorts the calls into the model's order and completes them.
    pub fn complete(&mut self, reply: &Accumulator) -> Result<Vec<ToolCall>, ModelError> {
        // The sort is stable, so calls of the same index keep their order of arrival.
        self.list.sort_by_key(|call| call.index);
        let calls = reply.settle_calls(self.list.iter().map(|call| call.call.clone()).collect())?;
        for (call, settled) in self.list.iter_mut().zip(&calls) {
            call.call.clone_from(settled);
        }
        Ok(calls)
    }
}

enum Slot {
    At(usize),
    New(u64),
}

impl Call {
    fn is_another(&self, id: &str, name: &str) -> bool {
        let ToolCall { call_id, name: known, arguments } = &self.call;
        let begins = !id.is_empty() && !name.is_empty();
        begins && !call_id.is_empty() && call_id != id && !known.is_empty() && !arguments.is_empty()
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
        map.serialize_entry("id", &self.call.call_id)?;
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
        map.serialize_entry("name", &acceptable::name(&self.0.call.name))?;
        map.serialize_entry("arguments", &acceptable::arguments(&self.0.call.arguments))?;
        self.0.function_members.write(&mut map)?;
        map.end()
    }
}
