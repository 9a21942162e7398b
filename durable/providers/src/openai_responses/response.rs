//! The reply, from the first byte to the event that ends the response.

use std::borrow::Cow;

use serde_json::value::RawValue;

use crate::accumulator::{Accumulator, Completed, Reading, Stream};
use crate::failure::error_in_stream;
use crate::json::{Few, read};
use wire::model::{ModelError, ReplyFinish, Usage};
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

/// The items of a partial reply.
#[derive(Debug, Default)]
pub struct Reply {
    /// The message of the last text.
    message: Option<u64>,
    items: Items,
}

impl Reading for Reply {
    type Event<'a> = Event<'a>;
    const WIRE: &'static str = WIRE;

    fn take(
        &mut self,
        event: Event<'_>,
        sse: SseEvent<'_>,
        reply: &mut Accumulator,
    ) -> Result<Stream, ModelError> {
        reply.check_error(event.error)?;
        // OpenRouter names the type only in the data. The codec reads both the data and the event's name.
        let kind = if event.kind.as_str().is_empty() { sse.event } else { event.kind.as_str() };
        match kind {
            "response.output_text.delta" => {
                let index = self.open(&event)?;
                self.take_text(index, event.delta.0, false, reply);
            }
            "response.refusal.delta" => {
                let index = self.open(&event)?;
                self.take_text(index, event.delta.0, true, reply);
            }
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
                self.open(&event)?;
                reply.take_reasoning(event.delta.0.unwrap_or_default());
            }
            // A summary has several parts. Each is a paragraph with a heading.
            "response.reasoning_summary_part.added"
                if event.summary_index.0.is_some_and(|index| index > 0) =>
            {
                reply.take_reasoning(Cow::Borrowed("\n\n"));
            }
            "response.function_call_arguments.delta" => {
                let item = self.items.at(event.output_index.0, event.item_id.as_str())?;
                if let OutputKind::Call(call) = &mut item.kind {
                    call.arguments.push_str(event.delta.as_str());
                    reply.keep(event.delta.as_str().len());
                }
            }
            "response.output_item.added" => self.take_item(event.output_index.0, event.item, false, reply)?,
            "response.output_item.done" => self.take_item(event.output_index.0, event.item, true, reply)?,
            "response.completed" | "response.incomplete" => {
                return self.end(event.response, kind.trim_start_matches("response."), reply);
            }
            "response.failed" | "response.cancelled" => {
                return Err(error_in_stream(event.response.map_or("{}", RawValue::get)));
            }
            "error" => return Err(error_in_stream(sse.data)),
            "" if event.output.is_some() && matches!(event.status.as_str(), "completed" | "incomplete") => {
                return self.end(wire::json::from_str(sse.data).ok(), event.status.as_str(), reply);
            }
            _ => {}
        }
        Ok(Stream::GoesOn)
    }

    fn complete(self, reply: &Accumulator) -> Result<Completed, ModelError> {
        self.items.complete(reply)
    }
}

impl Reply {
    /// The index of a delta's item. Marks the item as told.
    fn open(&mut self, event: &Event<'_>) -> Result<u64, ModelError> {
        let item = self.items.at(event.output_index.0, event.item_id.as_str())?;
        item.told |= !event.delta.as_str().is_empty();
        Ok(item.index())
    }

    /// Adds a text, or a refusal, of a message.
    fn take_text(
        &mut self,
        item: u64,
        piece: Option<Cow<'_, str>>,
        is_refusal: bool,
        reply: &mut Accumulator,
    ) {
        let Some(piece) = piece.filter(|piece| !piece.is_empty()) else { return };
        // The codec puts a blank line between two messages of a reply (a comment, then the answer).
        if self.message.is_some_and(|last| last != item) {
            reply.take_text(Cow::Borrowed("\n\n"));
        }
        self.message = Some(item);
        match is_refusal {
            true => reply.take_refusal(piece),
            false => reply.take_text(piece),
        }
    }

    /// Reads an item that begins or is complete. Emits the text that no delta brought, because some servers do not
    /// really stream.
    fn take_item(
        &mut self,
        index: Option<u64>,
        raw: Option<&RawValue>,
        done: bool,
        reply: &mut Accumulator,
    ) -> Result<(), ModelError> {
        let Some(raw) = raw else { return Ok(()) };
        let Ok(wire) = read::<WireItem<'_>>(raw.get()) else { return Ok(()) };
        // An item without an index is known by its id.
        let index = match (index, wire.id.as_str()) {
            (None, "") => Some(self.items.next()),
            (index, _) => index,
        };
        let item = self.items.at(index, wire.id.as_str())?;
        reply.keep(item.take(&wire, raw, done));
        reply.has_call |= matches!(item.kind, OutputKind::Call(_));
        if !done || std::mem::replace(&mut item.told, true) {
            return Ok(());
        }
        let index = item.index();
        match item.kind {
            OutputKind::Message => {
                for part in wire.content.0 {
                    self.take_text(index, part.text.0, false, reply);
                    self.take_text(index, part.refusal.0, true, reply);
                }
            }
            OutputKind::Reasoning { .. } => {
                let parts = |list: &Few<WirePart<'_>>| -> Vec<String> {
                    list.0.iter().map(|part| part.text.as_str().to_owned()).collect()
                };
                let told = [parts(&wire.summary), parts(&wire.content)].concat().join("\n\n");
                reply.take_reasoning(told.into());
            }
            OutputKind::Call(_) | OutputKind::Other => {}
        }
        Ok(())
    }

    /// Reads the response at its end.
    fn end(
        &mut self,
        response: Option<&RawValue>,
        status: &str,
        reply: &mut Accumulator,
    ) -> Result<Stream, ModelError> {
        let response: Response<'_> =
            response.and_then(|response| read(response.get()).ok()).unwrap_or_default();
        reply.check_error(response.error)?;
        if self.items.is_empty() {
            // Some servers send all output with this event.
            for (index, item) in (0..).zip(&response.output.0) {
                self.take_item(Some(index), Some(item), true, reply)?;
            }
        }
        reply.take_service_tier(response.service_tier.as_str());
        reply.count(response.usage, KNOWN_USAGE, total);
        let reason = response.incomplete_details.as_ref().map_or("", |details| details.reason.as_str());
        reply.finish = Some(Ok(finish(status, reason)));
        Ok(Stream::Ends)
    }
}

/// Why a response ended, by its status and the reason that an incomplete one has.
fn finish(status: &str, reason: &str) -> ReplyFinish {
    match (status.eq_ignore_ascii_case("incomplete"), reason) {
        (false, _) => ReplyFinish::Stop,
        (true, reason) if reason.eq_ignore_ascii_case("content_filter") => ReplyFinish::ContentFilter,
        // `max_output_tokens` and other reasons for an incomplete reply.
        (true, _) => ReplyFinish::Length,
    }
}

fn total(counts: UsageCounts) -> Option<Usage> {
    let details = counts.input_tokens_details.unwrap_or_default();
    Some(Usage {
        input_tokens: counts.input_tokens.0?,
        cached_tokens: details.cached_tokens.0.unwrap_or(0),
        cache_write_tokens: details.cache_write_tokens.0.unwrap_or(0),
        output_tokens: counts.output_tokens.0.unwrap_or(0),
        ..Usage::default()
    })
}
