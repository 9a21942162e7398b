//! One reply of a provider while it arrives: what reading has in common for all APIs. A codec reads its own events
//! ([`Reading`]) into the [`Accumulator`], which has the texts, the reason to stop, the usage and the bounds of the
//! reply. What an event may lack is decided here and in [`EventStream`](crate::codec::EventStream), which has the
//! framing. No I/O.

use std::borrow::Cow;
use std::rc::Rc;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};

use wire::model::{
    ModelChoice, ModelError, ModelEvent, ModelReply, ModelRequest, RawMessage, RawValueEq, ReplyFinish,
    ServiceTier, ToolCall, Usage,
};
use wire::sse::SseEvent;
use wire::surrogates::join_halves;

use super::codec::{MAX_CALLS, MAX_REPLY_BYTES, calls_in};
use super::failure::{error_in_stream, protocol, says_something, too_large, too_many_calls};
use super::json::read;
use super::normalise::Normaliser;
use super::usage;

/// The most parts of a reply: enough for all its calls with text and reasoning between them.
pub const MAX_PARTS: usize = 4 * MAX_CALLS;

/// The calls of a complete reply, in the model's order, and its raw message if the provider needs one back.
pub type Completed = (Vec<ToolCall>, Option<RawValueEq>);

/// The part of a reply that one API has alone: its events, and what goes back to the provider.
pub trait Reading: Default {
    /// An event of the API. Each of its members is optional for serde.
    type Event<'a>: Deserialize<'a>;
    /// The name of the API in raw messages.
    const WIRE: &'static str;
    /// Whether `[DONE]` completes a reply without a reason to stop.
    const DONE_COMPLETES: bool = false;

    /// Reads an event into the reply. `sse` has its name and its data.
    fn take(
        &mut self,
        event: Self::Event<'_>,
        sse: SseEvent<'_>,
        reply: &mut Accumulator,
    ) -> Result<Stream, ModelError>;

    /// The calls of the reply, as [`Accumulator::settle_calls`] returns them, and the raw message with the same calls.
    fn complete(self, reply: &Accumulator) -> Result<Completed, ModelError>;
}

/// Whether an event completed the reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    GoesOn,
    Ends,
}

/// A partial reply.
#[derive(Debug)]
pub struct Accumulator {
    /// The events since the caller gave this list.
    pub events: Vec<ModelEvent>,
    /// Whether a call has begun. Text and reasoning are events at once, and calls come with the end of the reply.
    pub has_call: bool,
    /// Why the model stopped, or the failure that some providers report in place of a reason. Usage may follow it.
    pub finish: Option<Result<ReplyFinish, ModelError>>,
    choice: Rc<ModelChoice>,
    wire: &'static str,
    /// The first number of the made-up ids of calls.
    first_call: usize,
    normaliser: Normaliser,
    /// The bytes that the reply keeps.
    bytes: usize,
    text: String,
    is_refused: bool,
    usage: Option<Usage>,
    service_tier: ServiceTier,
    unknown_members: u64,
}

impl Accumulator {
    /// For the reply to a request over this API.
    pub fn for_request(request: &ModelRequest, wire: &'static str) -> Self {
        Accumulator {
            events: Vec::new(),
            has_call: false,
            finish: None,
            choice: Rc::clone(&request.model),
            wire,
            first_call: calls_in(request),
            normaliser: Normaliser::for_request(request),
            bytes: 0,
            text: String::new(),
            is_refused: false,
            usage: None,
            service_tier: request.model.options.asked_tier(),
            unknown_members: 0,
        }
    }

    /// Reads the data of an event. None for one that cannot be read after a reason to stop, where no word can be lost.
    pub fn read<'a, T: Deserialize<'a>>(&self, data: &'a str) -> Result<Option<T>, ModelError> {
        match read(data) {
            Ok(event) => Ok(Some(event)),
            Err(_) if self.finish.is_some() => Ok(None),
            Err(_) => Err(protocol("The model provider sent an event that cannot be read.")),
        }
    }

    /// Fails by the `error` of an event, also after a reason to stop. An empty one, or false, says nothing.
    pub fn check_error(&self, error: Option<&RawValue>) -> Result<(), ModelError> {
        let told =
            error.filter(|raw| wire::json::from_str(raw.get()).is_ok_and(|error| says_something(&error)));
        told.map_or(Ok(()), |raw| Err(error_in_stream(raw.get())))
    }

    /// Fails if the reply exceeds the limit.
    pub fn check_size(&self) -> Result<(), ModelError> {
        if self.bytes > MAX_REPLY_BYTES { Err(too_large()) } else { Ok(()) }
    }

    /// Adds a piece of the text.
    pub fn take_text(&mut self, piece: Cow<'_, str>) {
        if !piece.is_empty() {
            self.bytes += piece.len();
            self.text.push_str(&piece);
            self.normaliser.take_text(piece.into_owned(), &mut self.events);
        }
    }

    /// Adds a piece of a refusal, which is the text of the reply.
    pub fn take_refusal(&mut self, piece: Cow<'_, str>) {
        self.is_refused |= !piece.is_empty();
        self.take_text(piece);
    }

    /// Adds a piece of the reasoning.
    pub fn take_reasoning(&mut self, piece: Cow<'_, str>) {
        if !piece.is_empty() {
            self.bytes += piece.len();
            self.normaliser.take_reasoning(piece.into_owned(), &mut self.events);
        }
    }

    /// Counts bytes that the codec keeps beside text and reasoning.
    pub fn keep(&mut self, bytes: usize) {
        self.bytes += bytes;
    }

    /// The bytes that the reply keeps so far.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// The text so far, as the provider wrote it.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Reads a usage, which `total` adds to those before it. One that cannot be read changes nothing. `known` are the
    /// members that the codec reads, and those that are parts of them.
    pub fn count<C: DeserializeOwned>(
        &mut self,
        usage: Option<&RawValue>,
        known: &[&str],
        total: impl FnOnce(C) -> Option<Usage>,
    ) {
        let counts = usage.and_then(|raw| Some((raw, read(raw.get()).ok()?)));
        let Some((raw, counts)) = counts else { return };
        let unknown = usage::unknown_members(self.wire, raw, known);
        self.unknown_members = self.unknown_members.max(unknown);
        self.usage = total(counts).or(self.usage);
    }

    /// Takes the provider's word for the service tier, if there is one.
    pub fn take_service_tier(&mut self, word: &str) {
        self.service_tier = usage::service_tier(word, self.service_tier);
    }

    /// Begins the reply anew. A gateway that lost its provider asks again and sends a second message in the same stream.
    /// The first message is incomplete, and joining both would duplicate text and calls, so only the second one counts.
    /// Thinking of the first message does no harm. Text of the first message cannot be taken back, so the stream is an
    /// error then.
    pub fn begin_anew(&mut self) -> Result<(), ModelError> {
        if !self.text.is_empty() {
            return Err(protocol("The model provider began its reply anew in the middle of it."));
        }
        (self.has_call, self.finish) = (false, None);
        Ok(())
    }

    /// Completes the calls, in the model's order: each gets an id of its own, the name of its tool, and arguments.
    pub fn settle_calls(&self, mut calls: Vec<ToolCall>) -> Result<Vec<ToolCall>, ModelError> {
        if calls.len() > MAX_CALLS {
            return Err(too_many_calls());
        }
        name_calls(&mut calls, self.first_call);
        for call in &mut calls {
            self.normaliser.cut_control_word(&mut call.name);
            if call.arguments.trim().is_empty() {
                call.arguments = "{}".into();
            }
        }
        Ok(calls)
    }

    /// Ends the texts: nothing can complete what is held of them.
    pub fn end_texts(&mut self) {
        self.normaliser.end(&mut self.events);
    }

    /// Completes the reply. Without a reason to stop, the end of the reply implies one.
    pub fn complete(&mut self, own: impl Reading) -> Result<(), ModelError> {
        let reason = self.finish.clone().transpose()?;
        let (mut tool_calls, raw) = own.complete(self)?;
        self.end_texts();
        let finish = match reason {
            _ if self.is_refused => ReplyFinish::ContentFilter,
            // Ollama, Gemini and gateways send other reasons after calls.
            None | Some(ReplyFinish::Stop | ReplyFinish::ToolCalls | ReplyFinish::Pause)
                if !tool_calls.is_empty() =>
            {
                ReplyFinish::ToolCalls
            }
            None | Some(ReplyFinish::ToolCalls) => ReplyFinish::Stop,
            Some(reason) => reason,
        };
        for call in &mut tool_calls {
            [&mut call.call_id, &mut call.name, &mut call.arguments].into_iter().for_each(join_halves);
        }
        let raw = raw.map(|raw| {
            let mut json = raw.0.get().to_owned();
            join_halves(&mut json);
            let json = RawValue::from_string(json).map_or(raw, RawValueEq);
            RawMessage::of(&self.choice, self.wire, json)
        });
        let (service_tier, unknown_members) = (self.service_tier, self.unknown_members);
        let usage = self.usage.map(|usage| Usage { service_tier, unknown_members, ..usage });
        let text = self.normaliser.answer(std::mem::take(&mut self.text));
        let reply = ModelReply { text, tool_calls, finish, usage, raw };
        self.events.push(ModelEvent::Finished(Box::new(reply)));
        Ok(())
    }
}

/// A raw message, from the parts that the codec kept.
pub fn raw_message(parts: &impl Serialize) -> Result<RawValueEq, ModelError> {
    to_raw_value(parts).map(RawValueEq).map_err(|_| protocol("The model's reply cannot be kept."))
}

/// Gives each call without an id a new one. `first` is the first number of the made-up ids.
fn name_calls(calls: &mut [ToolCall], first: usize) {
    let mut made_up = first;
    for place in 0..calls.len() {
        let (before, rest) = calls.split_at_mut(place);
        let Some((ToolCall { call_id: id, .. }, after)) = rest.split_first_mut() else { break };
        // Providers match results by id, so two calls of a reply must have different ids.
        while id.is_empty() || before.iter().any(|other| other.call_id == *id) {
            *id = format!("call_{made_up}");
            made_up += 1;
            if after.iter().any(|other| other.call_id == *id) {
                id.clear();
            }
        }
    }
}

#[cfg(test)]
mod tests;
