//! Assembles the parts of a reply from their pieces, and writes them for the next request.

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::acceptable;
use crate::accumulator::{Accumulator, Completed, MAX_PARTS, raw_message};
use crate::failure::{protocol, too_many_parts};
use crate::json::object_of;
use crate::members::Members;
use wire::model::{ModelError, ToolCall};

use super::arguments;
use super::event;

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
    /// Adds a part or a piece of one.
    pub fn take(&mut self, part: event::Part<'_>, reply: &mut Accumulator) -> Result<(), ModelError> {
        let mut members = Members::default();
        reply.keep(members.take(&part.unknown));
        let is_thought = part.thought == Some(true);
        let text = match (part.call, part.text) {
            (Some(call), _) => return self.take_call(call, members, reply),
            (None, Some(text)) => text.0,
            (None, None) if members.is_empty() => return Ok(()),
            (None, None) => return self.push(Part { body: Body::Other, members }),
        };
        match self.0.last_mut() {
            // A part of nothing.
            _ if text.is_empty() && members.is_empty() => {}
            // A signature belongs to its own part alone.
            Some(Part { body: Body::Text { text: known, is_thought: same }, members: others })
                if is_thought == *same && members.is_empty() && others.is_empty() =>
            {
                known.push_str(&text);
            }
            _ => {
                self.push(Part { body: Body::Text { text: text.clone().into_owned(), is_thought }, members })?
            }
        }
        match is_thought {
            true => reply.take_reasoning(text),
            false => reply.take_text(text),
        }
        Ok(())
    }

    fn push(&mut self, part: Part) -> Result<(), ModelError> {
        if self.0.len() >= MAX_PARTS {
            return Err(too_many_parts());
        }
        self.0.push(part);
        Ok(())
    }

    fn take_call(
        &mut self,
        piece: event::FunctionCall<'_>,
        members: Members,
        reply: &mut Accumulator,
    ) -> Result<(), ModelError> {
        reply.has_call = true;
        // A piece without a name goes on with the call before it, also where no piece announced arguments in pieces.
        let goes_on = match self.0.last() {
            Some(Part { body: Body::Call(call), .. }) => {
                piece.name.is_none() && (call.will_continue || piece.is_continuation())
            }
            _ => false,
        };
        if !goes_on {
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
        let Some(Part { body: Body::Call(call), .. }) = self.0.last_mut() else { return Ok(()) };
        reply.keep(call.members.take(&piece.unknown));
        for (known, new) in [(&mut call.id, piece.id), (&mut call.name, piece.name)] {
            let new = new.as_ref().map_or("", |new| new.as_str());
            reply.keep(new.len());
            known.push_str(new);
        }
        if let Some(args) = piece.args.and_then(object_of) {
            reply.keep(args.len());
            call.arguments = Arguments::Whole(args.into_owned());
        }
        for piece in piece.partial_args.0 {
            let added = match &mut call.arguments {
                Arguments::Pieces(arguments) => arguments::set(arguments, piece),
                Arguments::Whole(_) => None,
            };
            reply.keep(
                added.ok_or_else(|| protocol("The model provider sent an argument without its place."))?,
            );
        }
        call.will_continue = piece.will_continue == Some(true);
        Ok(())
    }

    /// Whether the last call lacks its end.
    pub fn is_cut(&self) -> bool {
        self.0.iter().any(|part| matches!(&part.body, Body::Call(call) if call.will_continue))
    }

    /// The calls in the model's order, and the parts for the next request if they have more than text and calls.
    pub fn complete(mut self, reply: &Accumulator) -> Result<Completed, ModelError> {
        let calls = self.calls().map(|call| ToolCall {
            call_id: call.id.clone(),
            name: call.name.clone(),
            arguments: call.arguments(),
        });
        let settled = reply.settle_calls(calls.collect())?;
        for (call, settled) in self.calls().zip(&settled) {
            call.name.clone_from(&settled.name);
            if !call.id.is_empty() {
                call.id.clone_from(&settled.call_id);
            }
        }
        // A summary of thoughts is for people. Only its signature is for the model.
        self.0.retain(|part| {
            !matches!(part.body, Body::Text { is_thought: true, .. }) || !part.members.is_empty()
        });
        let raw = if self.is_plain() { None } else { Some(raw_message(&self.0)?) };
        Ok((settled, raw))
    }

    fn calls(&mut self) -> impl Iterator<Item = &mut Call> {
        self.0.iter_mut().filter_map(|part| match &mut part.body {
            Body::Call(call) => Some(call),
            Body::Text { .. } | Body::Other => None,
        })
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
