//! The reply, from the first byte to the event that ends the response.

use std::rc::Rc;

use serde_json::Value;
use serde_json::value::RawValue;

use crate::codec::{MAX_REPLY_BYTES, Reading};
use crate::failure::{Complaint, protocol, too_large};
use crate::json::{Few, error_of, read};
use crate::usage;
use wire::model::{
    ModelChoice, ModelError, ModelEvent, ModelReply, RawMessage, ReplyFinish, ServiceTier, Usage,
};
use wire::sse::SseEvent;

use super::WIRE;
use super::event::{Event, Response, UsageCounts, WireItem, WirePart};
use super::items::{Items, OutputKind};

/// The members of a usage that this codec reads, and those that are parts of them.
const KNOWN_USAGE: &[&str] = &[
    "input_tokens",
    "output_tokens",
    "total_tokens",
    "input_tokens_details.cached_tokens",
    "input_tokens_details.cache_write_tokens",
    "input_tokens_details.text_tokens",
    "input_tokens_details.image_tokens",
    "output_tokens_details.reasoning_tokens",
    "output_tokens_details.text_tokens",
];

/// A partial reply.
#[derive(Debug)]
pub struct Reply {
    choice: Rc<ModelChoice>,
    first_call: usize,
    bytes: usize,
    text: String,
    /// The message of the last text.
    message: Option<u64>,
    refused: bool,
    items: Items,
}

impl Reading for Reply {
    fn take(
        mut self: Box<Self>,
        event: SseEvent<'_>,
        events: &mut Vec<ModelEvent>,
    ) -> Result<Option<Box<Self>>, ModelError> {
        match self.read(event, events)? {
            None => Ok(Some(self)),
            Some((finish, response)) => self.complete(finish, &response, events).map(|()| None),
        }
    }

    fn has_call(&self) -> bool {
        self.items.has_call()
    }
}

/// The end of a response, with the data of its last event.
type Ended<'a> = Option<(ReplyFinish, Response<'a>)>;

impl Reply {
    /// `choice` is the model that may read the raw message again; `first_call` numbers the made-up ids.
    pub fn new(choice: Rc<ModelChoice>, first_call: usize) -> Self {
        Reply {
            choice,
            first_call,
            bytes: 0,
            text: String::new(),
            message: None,
            refused: false,
            items: Items::default(),
        }
    }

    fn read<'a>(&mut self, sse: SseEvent<'a>, events: &mut Vec<ModelEvent>) -> Result<Ended<'a>, ModelError> {
        let data = sse.data.trim_ascii();
        if data.is_empty() || data == "[DONE]" {
            return Ok(None);
        }
        let event: Event<'a> =
            read(data).map_err(|_| protocol("The model provider sent an event that cannot be read."))?;
        // OpenRouter names the type only in the data. The codec reads both the data and the event's name.
        let kind = if event.kind.as_str().is_empty() { sse.event } else { event.kind.as_str() };
        match kind {
            "response.output_text.delta" => {
                let index = self.open(&event)?;
                self.tell_text(index, event.delta.as_str(), events);
            }
            "response.refusal.delta" => {
                self.refused |= !event.delta.as_str().is_empty();
                let index = self.open(&event)?;
                self.tell_text(index, event.delta.as_str(), events);
            }
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
                self.open(&event)?;
                self.tell_reasoning(event.delta.as_str(), events);
            }
            // A summary has several parts. Each is a paragraph with a heading.
            "response.reasoning_summary_part.added"
                if event.summary_index.0.is_some_and(|index| index > 0) =>
            {
                self.tell_reasoning("\n\n", events);
            }
            "response.function_call_arguments.delta" => {
                let item = self.items.at(event.output_index.0, event.item_id.as_str())?;
                if let OutputKind::Call(call) = &mut item.kind {
                    call.arguments.push_str(event.delta.as_str());
                    self.bytes += event.delta.as_str().len();
                }
            }
            "response.output_item.added" => {
                self.take_item(event.output_index.0, event.item, false, events)?
            }
            "response.output_item.done" => self.take_item(event.output_index.0, event.item, true, events)?,
            "response.completed" | "response.incomplete" => {
                let finish = |reason: &str| incomplete(kind.trim_start_matches("response."), reason);
                return self.end(event.response, finish, events).map(Some);
            }
            "response.failed" | "response.cancelled" => {
                return Err(complaint(event.response.map_or("{}", RawValue::get)));
            }
            "error" => return Err(complaint(data)),
            "" if event.output.is_some() && matches!(event.status.as_str(), "completed" | "incomplete") => {
                let whole = wire::json::from_str(data).ok();
                let finish = |reason: &str| incomplete(event.status.as_str(), reason);
                return self.end(whole, finish, events).map(Some);
            }
            _ => {}
        }
        if self.bytes > MAX_REPLY_BYTES {
            return Err(too_large());
        }
        Ok(None)
    }

    /// The index of a delta's item. Marks the item as told.
    fn open(&mut self, event: &Event<'_>) -> Result<u64, ModelError> {
        let item = self.items.at(event.output_index.0, event.item_id.as_str())?;
        item.told |= !event.delta.as_str().is_empty();
        Ok(item.index())
    }

    fn tell_text(&mut self, item: u64, piece: &str, events: &mut Vec<ModelEvent>) {
        if piece.is_empty() {
            return;
        }
        // The codec puts a blank line between two messages of a reply (a comment, then the answer).
        let apart = self.message.is_some_and(|last| last != item);
        self.message = Some(item);
        for piece in apart.then_some("\n\n").into_iter().chain([piece]) {
            self.bytes += piece.len();
            self.text.push_str(piece);
            events.push(ModelEvent::Text(piece.into()));
        }
    }

    fn tell_reasoning(&mut self, piece: &str, events: &mut Vec<ModelEvent>) {
        if !piece.is_empty() {
            self.bytes += piece.len();
            events.push(ModelEvent::Reasoning(piece.into()));
        }
    }

    /// Reads an item that begins or is complete. Emits the text that no delta brought, because some servers do not
    /// really stream.
    fn take_item(
        &mut self,
        index: Option<u64>,
        raw: Option<&RawValue>,
        done: bool,
        events: &mut Vec<ModelEvent>,
    ) -> Result<(), ModelError> {
        let Some(raw) = raw else { return Ok(()) };
        let Ok(wire) = read::<WireItem<'_>>(raw.get()) else { return Ok(()) };
        // An item without an index is known by its id.
        let index = match (index, wire.id.as_str()) {
            (None, "") => Some(self.items.next()),
            (index, _) => index,
        };
        let item = self.items.at(index, wire.id.as_str())?;
        self.bytes += item.take(&wire, raw, done);
        if !done || std::mem::replace(&mut item.told, true) {
            return Ok(());
        }
        let index = item.index();
        match item.kind {
            OutputKind::Message => {
                for part in &wire.content.0 {
                    self.refused |= !part.refusal.as_str().is_empty();
                    self.tell_text(index, part.text.as_str(), events);
                    self.tell_text(index, part.refusal.as_str(), events);
                }
            }
            OutputKind::Reasoning { .. } => {
                let parts = |list: &Few<WirePart<'_>>| -> Vec<String> {
                    list.0.iter().map(|part| part.text.as_str().to_owned()).collect()
                };
                let told = [parts(&wire.summary), parts(&wire.content)].concat().join("\n\n");
                self.tell_reasoning(&told, events);
            }
            OutputKind::Call(_) | OutputKind::Other => {}
        }
        Ok(())
    }

    /// Reads the response's last event.
    fn end<'a>(
        &mut self,
        response: Option<&'a RawValue>,
        finish: impl Fn(&str) -> ReplyFinish,
        events: &mut Vec<ModelEvent>,
    ) -> Result<(ReplyFinish, Response<'a>), ModelError> {
        let response: Response<'a> =
            response.and_then(|response| read(response.get()).ok()).unwrap_or_default();
        if let Some(error) = error_of(response.error) {
            return Err(complaint(error.get()));
        }
        if self.items.is_empty() {
            // Some servers send all output with this event.
            for (index, item) in (0..).zip(&response.output.0) {
                self.take_item(Some(index), Some(item), true, events)?;
            }
        }
        if self.bytes > MAX_REPLY_BYTES {
            return Err(too_large());
        }
        let reason = response.incomplete_details.as_ref().map_or("", |details| details.reason.as_str());
        Ok((finish(reason), response))
    }

    fn complete(
        self,
        finish: ReplyFinish,
        response: &Response<'_>,
        events: &mut Vec<ModelEvent>,
    ) -> Result<(), ModelError> {
        let (tool_calls, raw) = self.items.complete(self.first_call)?;
        let finish = match finish {
            _ if self.refused => ReplyFinish::ContentFilter,
            ReplyFinish::Stop if !tool_calls.is_empty() => ReplyFinish::ToolCalls,
            finish => finish,
        };
        let raw = raw.map(|json| RawMessage::of(&self.choice, WIRE, json));
        let tier = usage::service_tier(response.service_tier.as_str(), self.choice.options.asked_tier());
        let usage = response.usage.and_then(|usage| read_usage(usage, tier));
        let reply = ModelReply { text: self.text, tool_calls, finish, usage, raw };
        events.push(ModelEvent::Finished(Box::new(reply)));
        Ok(())
    }
}

/// Why a response ended, by its status and the reason that an incomplete one has.
fn incomplete(status: &str, reason: &str) -> ReplyFinish {
    match (status.eq_ignore_ascii_case("incomplete"), reason) {
        (false, _) => ReplyFinish::Stop,
        (true, reason) if reason.eq_ignore_ascii_case("content_filter") => ReplyFinish::ContentFilter,
        // `max_output_tokens` and other reasons for an incomplete reply.
        (true, _) => ReplyFinish::Length,
    }
}

fn complaint(json: &str) -> ModelError {
    wire::json::from_str::<Value>(json)
        .map(|value| Complaint::from_json(&value))
        .unwrap_or_default()
        .in_stream()
}

fn read_usage(raw: &RawValue, service_tier: ServiceTier) -> Option<Usage> {
    let counts: UsageCounts = read(raw.get()).ok()?;
    let details = counts.input_tokens_details.unwrap_or_default();
    Some(Usage {
        input_tokens: counts.input_tokens.0?,
        cached_tokens: details.cached_tokens.0.unwrap_or(0),
        cache_write_tokens: details.cache_write_tokens.0.unwrap_or(0),
        output_tokens: counts.output_tokens.0.unwrap_or(0),
        service_tier,
        unknown_members: usage::unknown_members(WIRE, raw, KNOWN_USAGE),
        ..Usage::default()
    })
}
