//! The reply, from the first byte to `message_stop`.

use std::rc::Rc;

use serde_json::Value;
use serde_json::value::RawValue;

use crate::codec::{MAX_REPLY_BYTES, Reading};
use crate::failure::{Complaint, protocol, too_large};
use crate::json::read;
use crate::usage;
use wire::model::{ModelChoice, ModelError, ModelEvent, ModelReply, RawMessage, ReplyFinish, Usage};
use wire::sse::SseEvent;

use super::WIRE;
use super::blocks::{Blocks, Told};
use super::event::{Delta, Event, UsageCounts};

/// The members of a usage that this codec reads, and those that are parts of them.
const KNOWN_USAGE: &[&str] = &[
    "input_tokens",
    "output_tokens",
    "cache_creation_input_tokens",
    "cache_read_input_tokens",
    "cache_creation.ephemeral_5m_input_tokens",
    "cache_creation.ephemeral_1h_input_tokens",
    "output_tokens_details.thinking_tokens",
];

/// A partial reply.
#[derive(Debug)]
pub struct Reply {
    choice: Rc<ModelChoice>,
    first_call: usize,
    bytes: usize,
    text: String,
    blocks: Blocks,
    finish: Option<ReplyFinish>,
    usage: UsageCounts,
    unknown_members: u64,
}

impl Reading for Reply {
    fn take(
        mut self: Box<Self>,
        event: SseEvent<'_>,
        events: &mut Vec<ModelEvent>,
    ) -> Result<Option<Box<Self>>, ModelError> {
        match self.read(event, events)? {
            Stream::GoesOn => Ok(Some(self)),
            Stream::Stops => self.complete(events).map(|()| None),
        }
    }

    fn has_call(&self) -> bool {
        self.blocks.has_call()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stream {
    GoesOn,
    Stops,
}

impl Reply {
    /// `choice` is the model that may read the raw message again; `first_call` numbers the made-up ids.
    pub fn new(choice: Rc<ModelChoice>, first_call: usize) -> Self {
        Reply {
            choice,
            first_call,
            bytes: 0,
            text: String::new(),
            blocks: Blocks::default(),
            finish: None,
            usage: UsageCounts::default(),
            unknown_members: 0,
        }
    }

    fn read(&mut self, sse: SseEvent<'_>, events: &mut Vec<ModelEvent>) -> Result<Stream, ModelError> {
        let data = sse.data.trim_ascii();
        if data.is_empty() || data == "[DONE]" {
            return Ok(Stream::GoesOn);
        }
        let event = match read::<Event<'_>>(data) {
            Ok(event) => event,
            Err(_) if self.finish.is_some() && sse.event != "error" => return Ok(Stream::GoesOn),
            Err(_) => return Err(protocol("The model provider sent an event that cannot be read.")),
        };
        let kind = if event.kind.as_str().is_empty() { sse.event } else { event.kind.as_str() };
        match kind {
            "message_start" => {
                self.begin()?;
                self.count(event.message.and_then(|message| message.usage));
            }
            "content_block_start" => {
                if let Some(block) = event.content_block {
                    let (bytes, told) = self.blocks.start(event.index.0, &block)?;
                    self.bytes += bytes;
                    self.tell(told, events);
                }
            }
            "content_block_delta" => {
                self.take_delta(event.index.0, *event.delta.unwrap_or_default(), events)?
            }
            "message_delta" => {
                if let Some(reason) = event.delta.and_then(|delta| delta.stop_reason) {
                    self.finish = Some(finish(reason.as_str()));
                }
                self.count(event.usage);
            }
            "message_stop" => return Ok(Stream::Stops),
            "error" => return Err(complaint(data)),
            "message" => {
                for block in &event.content.0 {
                    let (bytes, told) = self.blocks.start(None, block)?;
                    self.bytes += bytes;
                    self.tell(told, events);
                }
                self.finish = Some(finish(event.stop_reason.as_str()));
                self.count(event.usage);
                return if self.bytes > MAX_REPLY_BYTES { Err(too_large()) } else { Ok(Stream::Stops) };
            }
            // `content_block_stop` (the end of the message completes all blocks), `ping`, and unknown events.
            _ => {}
        }
        match self.bytes > MAX_REPLY_BYTES {
            true => Err(too_large()),
            false => Ok(Stream::GoesOn),
        }
    }

    /// Begins a message. A gateway that lost its provider asks again and sends a second message in the same stream. The
    /// first message is incomplete, and joining both would duplicate text and calls, so only the second one counts.
    /// Thinking of the first message does no harm. Text of the first message cannot be taken back, so the stream is an
    /// error then.
    fn begin(&mut self) -> Result<(), ModelError> {
        if !self.text.is_empty() {
            return Err(protocol("The model provider began its reply anew in the middle of it."));
        }
        self.blocks = Blocks::default();
        self.finish = None;
        Ok(())
    }

    fn take_delta(
        &mut self,
        index: Option<u64>,
        delta: Delta<'_>,
        events: &mut Vec<ModelEvent>,
    ) -> Result<(), ModelError> {
        let (bytes, told) = self.blocks.take(index, delta)?;
        self.bytes += bytes;
        self.tell(told, events);
        Ok(())
    }

    fn tell(&mut self, told: Told<'_>, events: &mut Vec<ModelEvent>) {
        match told {
            Told::Text(piece) if !piece.as_str().is_empty() => {
                self.text.push_str(piece.as_str());
                events.push(ModelEvent::Text(piece.0.into_owned()));
            }
            Told::Thinking(piece) if !piece.as_str().is_empty() => {
                events.push(ModelEvent::Reasoning(piece.0.into_owned()));
            }
            _ => {}
        }
    }

    fn count(&mut self, usage: Option<&RawValue>) {
        let counts: Option<UsageCounts> = usage.and_then(|usage| read(usage.get()).ok());
        let Some((new, raw)) = counts.zip(usage) else { return };
        self.unknown_members = self.unknown_members.max(usage::unknown_members(WIRE, raw, KNOWN_USAGE));
        let known = self.usage;
        self.usage = UsageCounts {
            input_tokens: new.input_tokens.or(known.input_tokens),
            cache_creation_input_tokens: new
                .cache_creation_input_tokens
                .or(known.cache_creation_input_tokens),
            cache_creation: new.cache_creation.or(known.cache_creation),
            cache_read_input_tokens: new.cache_read_input_tokens.or(known.cache_read_input_tokens),
            output_tokens: new.output_tokens.or(known.output_tokens),
        };
    }

    fn complete(self, events: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        let (tool_calls, raw) = self.blocks.complete(self.first_call)?;
        let finish = match self.finish {
            // Gateways send `end_turn` after tool calls.
            None | Some(ReplyFinish::Stop | ReplyFinish::ToolCalls | ReplyFinish::Pause)
                if !tool_calls.is_empty() =>
            {
                ReplyFinish::ToolCalls
            }
            None | Some(ReplyFinish::ToolCalls) => ReplyFinish::Stop,
            Some(finish) => finish,
        };
        let raw = raw.map(|json| RawMessage::of(&self.choice, WIRE, json));
        let usage = total(self.usage, self.unknown_members);
        let reply = ModelReply { text: self.text, tool_calls, finish, usage, raw };
        events.push(ModelEvent::Finished(Box::new(reply)));
        Ok(())
    }
}

fn finish(reason: &str) -> ReplyFinish {
    match reason.to_ascii_lowercase().as_str() {
        "tool_use" => ReplyFinish::ToolCalls,
        "max_tokens" | "model_context_window_exceeded" => ReplyFinish::Length,
        "refusal" => ReplyFinish::ContentFilter,
        // A tool of Anthropic's own takes long. The same conversation, sent again, continues.
        "pause_turn" => ReplyFinish::Pause,
        // `end_turn`, `stop_sequence` and unknown reasons: the model stopped.
        _ => ReplyFinish::Stop,
    }
}

fn complaint(json: &str) -> ModelError {
    wire::json::from_str::<Value>(json)
        .map(|value| Complaint::from_json(&value))
        .unwrap_or_default()
        .in_stream()
}

/// `input_tokens` excludes cached tokens.
fn total(counts: UsageCounts, unknown_members: u64) -> Option<Usage> {
    let cached_tokens = counts.cache_read_input_tokens.unwrap_or(0);
    let written = counts.cache_creation_input_tokens.unwrap_or(0);
    let input_tokens = counts.input_tokens?.saturating_add(cached_tokens).saturating_add(written);
    Some(Usage {
        input_tokens,
        cached_tokens,
        cache_write_tokens: written,
        cache_write_1h_tokens: counts
            .cache_creation
            .and_then(|parts| parts.ephemeral_1h_input_tokens.0)
            .unwrap_or(0),
        unknown_members,
        output_tokens: counts.output_tokens.unwrap_or(0),
        ..Usage::default()
    })
}
