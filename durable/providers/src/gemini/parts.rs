//! Assembles the parts of a reply from their pieces, and writes them for the next request.

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value};

use crate::acceptable;
use crate::codec::{MAX_CALLS, name_calls};
use crate::failure::{protocol, too_many_calls};
use crate::members::Members;
use wire::model::{ModelError, RawValueEq, ToolCall};

use super::arguments;
use super::event;

/// The most parts of a reply: enough for all its calls with text and thoughts between them.
const MAX_PARTS: usize = 4 * MAX_CALLS;

#[derive(Debug, Default)]
pub struct Parts(Vec<Part>);

#[derive(Debug)]
struct Part {
    body: Body,
    /// The signature, and unknown members.
    members: Members,
}

#[derive(Debug)]
enum Body {
    Text {
        text: String,
        is_thought: bool,
    },
    Call(Call),
    /// An unknown part, such as the code that a tool of Google's own ran.
    Other,
}

#[derive(Debug)]
struct Call {
    /// Empty if the provider sent none.
    id: String,
    name: String,
    arguments: Arguments,
    /// Whether another piece follows.
    will_continue: bool,
    /// Unknown members.
    members: Members,
}

#[derive(Debug)]
enum Arguments {
    /// JSON.
    Whole(String),
    Pieces(Value),
}

impl Parts {
    pub fn has_call(&self) -> bool {
        self.0.iter().any(|part| matches!(part.body, Body::Call(_)))
    }

    /// Adds a part or a piece of one. Returns its number of bytes.
    pub fn take(&mut self, part: event::Part<'_>) -> Result<usize, ModelError> {
        let mut members = Members::default();
        let bytes = members.take(&part.unknown);
        let body = match (part.call, part.text) {
            (Some(call), _) => return Ok(bytes + self.take_call(call, members)?),
            (None, Some(text)) => {
                Body::Text { text: text.0.into_owned(), is_thought: part.thought == Some(true) }
            }
            (None, None) => Body::Other,
        };
        let added = match &body {
            Body::Text { text, .. } => text.len(),
            Body::Call(_) | Body::Other => 0,
        };
        match (body, self.0.last_mut()) {
            // A part of nothing.
            (Body::Other, _) if members.is_empty() => {}
            (Body::Text { text, .. }, _) if text.is_empty() && members.is_empty() => {}
            // A signature belongs to its own part alone.
            (
                Body::Text { text, is_thought },
                Some(Part { body: Body::Text { text: known, is_thought: same }, members: others }),
            ) if is_thought == *same && members.is_empty() && others.is_empty() => known.push_str(&text),
            (body, _) => self.push(Part { body, members })?,
        }
        Ok(bytes + added)
    }

    fn push(&mut self, part: Part) -> Result<(), ModelError> {
        if self.0.len() >= MAX_PARTS {
            return Err(protocol("The model's reply has too many parts."));
        }
        self.0.push(part);
        Ok(())
    }

    fn take_call(&mut self, piece: event::FunctionCall<'_>, members: Members) -> Result<usize, ModelError> {
        let is_open =
            matches!(self.0.last(), Some(Part { body: Body::Call(call), .. }) if call.will_continue);
        if !is_open || piece.name.is_some() {
            let call = Call {
                id: String::new(),
                name: String::new(),
                arguments: Arguments::Pieces(Value::Object(Map::new())),
                will_continue: false,
                members: Members::default(),
            };
            self.push(Part { body: Body::Call(call), members })?;
        }
        // The part that was just found or made.
        let Some(Part { body: Body::Call(call), .. }) = self.0.last_mut() else { return Ok(0) };
        let mut bytes = call.members.take(&piece.unknown);
        for (known, new) in [(&mut call.id, piece.id), (&mut call.name, piece.name)] {
            if let Some(new) = new {
                bytes += new.as_str().len();
                known.push_str(new.as_str());
            }
        }
        if let Some(args) = piece.args {
            bytes += args.get().len();
            call.arguments = Arguments::Whole(args.get().to_owned());
        }
        for piece in piece.partial_args.0 {
            let added = match &mut call.arguments {
                Arguments::Pieces(arguments) => arguments::set(arguments, piece),
                Arguments::Whole(_) => None,
            };
            bytes +=
                added.ok_or_else(|| protocol("The model provider sent an argument without its place."))?;
        }
        call.will_continue = piece.will_continue == Some(true);
        Ok(bytes)
    }

    /// Whether the last call lacks its end.
    pub fn is_cut(&self) -> bool {
        self.0.iter().any(|part| matches!(&part.body, Body::Call(call) if call.will_continue))
    }

    /// The calls in the model's order, and the parts for the next request if they have more than text and calls.
    /// `first` numbers the made-up ids.
    pub fn complete(mut self, first: usize) -> Result<(Vec<ToolCall>, Option<RawValueEq>), ModelError> {
        let calls = self.name_calls(first)?;
        // A summary of thoughts is for people. Only its signature is for the model.
        self.0.retain(|part| {
            !matches!(part.body, Body::Text { is_thought: true, .. }) || !part.members.is_empty()
        });
        let raw = match self.is_plain() {
            true => None,
            false => Some(RawValueEq(written(&self.0)?)),
        };
        Ok((calls, raw))
    }

    fn name_calls(&mut self, first: usize) -> Result<Vec<ToolCall>, ModelError> {
        let calls: Vec<&mut Call> = self
            .0
            .iter_mut()
            .filter_map(|part| match &mut part.body {
                Body::Call(call) => Some(call),
                Body::Text { .. } | Body::Other => None,
            })
            .collect();
        if calls.len() > MAX_CALLS {
            return Err(too_many_calls());
        }
        let mut ids: Vec<String> = calls.iter().map(|call| call.id.clone()).collect();
        name_calls(&mut ids.iter_mut().collect::<Vec<_>>(), first);
        let call = |(call, call_id): (&mut Call, String)| {
            if !call.id.is_empty() {
                call.id.clone_from(&call_id);
            }
            ToolCall { call_id, name: call.name.clone(), arguments: call.arguments() }
        };
        Ok(calls.into_iter().zip(ids).map(call).collect())
    }

    /// Whether the parts are text followed by calls, without further data.
    fn is_plain(&self) -> bool {
        let is_text = |part: &Part| matches!(part.body, Body::Text { .. });
        let calls = self.0.iter().skip_while(|part| is_text(part));
        let is_call = |part: &Part| match &part.body {
            Body::Call(call) => call.id.is_empty() && call.members.is_empty(),
            Body::Text { .. } | Body::Other => false,
        };
        self.0.iter().all(|part| part.members.is_empty()) && calls.into_iter().all(is_call)
    }
}

impl Call {
    /// The arguments as JSON. Those of a call that was cut lack their last brace, so they run no tool.
    fn arguments(&self) -> String {
        let mut json = match &self.arguments {
            Arguments::Whole(json) => json.clone(),
            Arguments::Pieces(arguments) => arguments.to_string(),
        };
        if self.will_continue {
            json.pop();
        }
        json
    }
}

impl Serialize for Part {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        match &self.body {
            Body::Text { text, is_thought } => {
                map.serialize_entry("text", text)?;
                if *is_thought {
                    map.serialize_entry("thought", &true)?;
                }
            }
            Body::Call(call) => map.serialize_entry("functionCall", call)?,
            Body::Other => {}
        }
        self.members.write(&mut map)?;
        map.end()
    }
}

impl Serialize for Call {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        if !self.id.is_empty() {
            map.serialize_entry("id", &self.id)?;
        }
        map.serialize_entry("name", &*acceptable::name(&self.name))?;
        let arguments = RawValue::from_string(acceptable::arguments(&self.arguments()).into_owned());
        map.serialize_entry("args", &arguments.map_err(serde::ser::Error::custom)?)?;
        self.members.write(&mut map)?;
        map.end()
    }
}

fn written(parts: &impl Serialize) -> Result<Box<RawValue>, ModelError> {
    to_raw_value(parts).map_err(|_| protocol("The model's reply cannot be kept."))
}
