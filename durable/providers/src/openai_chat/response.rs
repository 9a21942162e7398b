//! The reply, from the first byte to `[DONE]`.

use std::rc::Rc;

use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};

use crate::codec::{MAX_REPLY_BYTES, Reading, cut};
use crate::failure::{Complaint, protocol, too_large};
use crate::json::{Count, Text, error_of, read, text_of};
use crate::members::Members;
use crate::usage;
use wire::model::{
    ModelChoice, ModelError, ModelEvent, ModelReply, RawMessage, RawValueEq, ReplyFinish, ServiceTier,
    ToolCall, Usage,
};
use wire::sse::SseEvent;

use super::calls::{Call, Calls};
use super::chunk::{CallDelta, Choice, Chunk, Content, Delta, Part, UsageCounts};

/// The members of a usage that this codec reads, those that are parts of them, and those of other servers that are no
/// tokens: Groq's times, OpenRouter's and xAI's costs.
const KNOWN_USAGE: &[&str] = &[
    "prompt_tokens",
    "completion_tokens",
    "total_tokens",
    "reasoning_tokens",
    "prompt_cache_hit_tokens",
    "prompt_cache_miss_tokens",
    "prompt_tokens_details.cached_tokens",
    "prompt_tokens_details.cache_write_tokens",
    "prompt_tokens_details.text_tokens",
    "prompt_tokens_details.image_tokens",
    "completion_tokens_details.reasoning_tokens",
    "completion_tokens_details.accepted_prediction_tokens",
    "completion_tokens_details.rejected_prediction_tokens",
    "completion_tokens_details.text_tokens",
    "queue_time",
    "prompt_time",
    "completion_time",
    "total_time",
    "cost*",
];

/// A partial reply.
#[derive(Debug)]
pub struct Reply {
    choice: Rc<ModelChoice>,
    wire: &'static str,
    first_call: usize,
    bytes: usize,
    text: String,
    refused: bool,
    calls: Calls,
    members: Members,
    finish: Option<Finish>,
    usage: Option<Usage>,
}

/// A `finish_reason`, or a failure that some servers report in its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Finish {
    Reason(ReplyFinish),
    Failure,
}

impl Reading for Reply {
    fn take(
        mut self: Box<Self>,
        event: SseEvent<'_>,
        events: &mut Vec<ModelEvent>,
    ) -> Result<Option<Box<Self>>, ModelError> {
        let data = event.data.trim_ascii();
        if data == "[DONE]" {
            return self.complete(events).map(|()| None);
        }
        if event.event == "error" {
            return Err(complaint(data));
        }
        match read::<Chunk<'_>>(data) {
            Ok(chunk) => self.take_chunk(chunk, events)?,
            Err(_) if self.has_ended() => {}
            Err(_) => return Err(protocol("The model provider sent a chunk that cannot be read.")),
        }
        Ok(Some(self))
    }

    fn cut(self: Box<Self>, events: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        self.end(events)
    }

    fn has_call(&self) -> bool {
        !self.calls.is_empty()
    }
}

impl Reply {
    /// `choice` is the model that may read the raw message again; `first_call` numbers the made-up ids.
    pub fn new(choice: Rc<ModelChoice>, wire: &'static str, first_call: usize) -> Self {
        Reply {
            choice,
            wire,
            first_call,
            bytes: 0,
            text: String::new(),
            refused: false,
            calls: Calls::default(),
            members: Members::default(),
            finish: None,
            usage: None,
        }
    }

    /// Adds a chunk.
    pub fn take_chunk(&mut self, chunk: Chunk<'_>, events: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        if let Some(error) = error_of(chunk.error) {
            return Err(complaint(error.get()));
        }
        let tier = usage::service_tier(chunk.service_tier.as_str(), self.choice.options.asked_tier());
        if let Some(usage) = chunk.usage.and_then(|usage| read_usage(self.wire, usage, tier)) {
            // The last usage counts: some servers send a running total with every chunk.
            self.usage = Some(usage);
        }
        if let Some(choice) = chunk.choices.0 {
            self.take_choice(*choice, events)?;
        }
        self.bounded()
    }

    /// Refuses a reply that exceeds the limit.
    pub fn bounded(&self) -> Result<(), ModelError> {
        if self.bytes > MAX_REPLY_BYTES {
            return Err(too_large());
        }
        Ok(())
    }

    fn take_choice(&mut self, choice: Choice<'_>, events: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        if let Some(error) = error_of(choice.error) {
            return Err(complaint(error.get()));
        }
        // A server may repeat the whole message after its deltas.
        let repeats = |message: &Delta<'_>| match &message.content {
            Some(Content::Text(text)) => !text.as_str().is_empty() && text.as_str() == self.text,
            _ => false,
        };
        let message = choice.message.filter(|message| !repeats(message));
        if let Some(delta) = choice.delta.or(message) {
            self.take_delta(delta, events)?;
        } else if let Some(text) = choice.text.0 {
            self.take_text(Text(text), events);
        }
        self.take_finish(choice.finish_reason.as_str());
        Ok(())
    }

    /// Whether a reason to stop came. Usage may follow it.
    pub fn has_ended(&self) -> bool {
        self.finish.is_some()
    }

    /// Records why the model stopped, if a chunk says so.
    pub fn take_finish(&mut self, reason: &str) {
        if !reason.is_empty() {
            self.finish = Some(finish(&reason.to_ascii_lowercase()));
        }
    }

    fn take_delta(&mut self, delta: Delta<'_>, events: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        self.bytes += self.members.take(&delta.unknown);
        // Gateways send the same reasoning under both names. The codec emits it once and returns both.
        let mut told = false;
        for (name, piece) in [("reasoning_content", delta.reasoning_content), ("reasoning", delta.reasoning)]
        {
            let Some(piece) = piece else { continue };
            self.members.push_text(name, piece.as_str());
            self.bytes += piece.as_str().len();
            if !told && !piece.as_str().is_empty() {
                told = true;
                events.push(ModelEvent::Reasoning(piece.0.into_owned()));
            }
        }
        match delta.content {
            Some(Content::Text(text)) => self.take_text(text, events),
            Some(Content::Parts(parts)) => self.take_parts(&parts, told, events),
            None => {}
        }
        if let Some(refusal) = delta.refusal {
            self.refused |= !refusal.as_str().is_empty();
            self.take_text(refusal, events);
        }
        let obsolete = delta.function_call.filter(|_| delta.tool_calls.0.is_empty());
        let obsolete = obsolete.map(|function| CallDelta {
            index: Count(Some(0)),
            function: Some(function),
            ..CallDelta::default()
        });
        for call in delta.tool_calls.0.into_iter().chain(obsolete) {
            self.take_call(call)?;
        }
        Ok(())
    }

    /// Adds the known parts of a content: text, and thinking that a member of the delta has not already brought.
    fn take_parts(&mut self, parts: &[&RawValue], told: bool, events: &mut Vec<ModelEvent>) {
        for raw in parts {
            let Ok(part) = read::<Part<'_>>(raw.get()) else {
                // A text without an object around it.
                if let Some(text) = text_of(raw).filter(|_| raw.get().starts_with('"')) {
                    self.take_text(Text(text), events);
                }
                continue;
            };
            match part.kind.as_str() {
                "thinking" => part.thinking.iter().for_each(|thinking| {
                    let thought = thought(thinking);
                    self.bytes += thought.len();
                    if !told && !thought.is_empty() {
                        events.push(ModelEvent::Reasoning(thought));
                    }
                }),
                "" | "text" | "output_text" => self.take_text(Text(part.text.0.unwrap_or_default()), events),
                _ => {}
            }
        }
    }

    /// Adds a piece of a tool call.
    pub fn take_call(&mut self, call: CallDelta<'_>) -> Result<(), ModelError> {
        self.bytes += self.calls.take(call)?;
        Ok(())
    }

    /// Adds a piece of the text.
    pub fn take_text(&mut self, piece: Text<'_>, events: &mut Vec<ModelEvent>) {
        if !piece.as_str().is_empty() {
            self.bytes += piece.as_str().len();
            self.text.push_str(piece.as_str());
            events.push(ModelEvent::Text(piece.0.into_owned()));
        }
    }

    /// Ends a stream without `[DONE]`. Some servers leave `[DONE]` out, but each sends a reason with its last choice.
    pub fn end(self, events: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        match self.finish {
            Some(_) => self.complete(events),
            None => Err(cut()),
        }
    }

    /// Completes the reply.
    pub fn complete(mut self, events: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        let has_calls = !self.calls.is_empty();
        let finish = match self.finish {
            // `[DONE]` without a reason: `[DONE]` ends the reply, and the reply implies the reason.
            None | Some(Finish::Reason(ReplyFinish::Stop | ReplyFinish::ToolCalls)) => match has_calls {
                // Ollama, Gemini and others send `stop` after tool calls.
                true => ReplyFinish::ToolCalls,
                false => ReplyFinish::Stop,
            },
            Some(Finish::Reason(reason)) => reason,
            Some(Finish::Failure) => return Err(Complaint::default().in_stream()),
        };
        if !has_calls {
            // Beside calls the codec returns even empty reasoning, because DeepSeek refuses a call without its
            // reasoning.
            self.members.drop_if_empty("reasoning_content");
            self.members.drop_if_empty("reasoning");
        }
        let has_members = !self.members.is_empty() || self.calls.has_members();
        let calls = self.calls.complete(self.first_call);
        let tool_calls: Vec<ToolCall> = calls.iter().map(Call::to_tool_call).collect();
        let raw = match has_members {
            true => {
                let json = raw_message(&self.text, &self.members, &calls)?;
                Some(RawMessage::of(&self.choice, self.wire, json))
            }
            false => None,
        };
        let finish = if self.refused { ReplyFinish::ContentFilter } else { finish };
        let reply = ModelReply { text: self.text, tool_calls, finish, usage: self.usage, raw };
        events.push(ModelEvent::Finished(Box::new(reply)));
        Ok(())
    }
}

/// The text of a thinking part.
fn thought(thinking: &Content<'_>) -> String {
    match thinking {
        Content::Text(text) => text.as_str().to_owned(),
        Content::Parts(parts) => {
            let parts = parts.iter().filter_map(|raw| read::<Part<'_>>(raw.get()).ok());
            parts.filter_map(|part| part.text.0).collect()
        }
    }
}

/// Gemini's reason for a call that cannot be read.
const MALFORMED_CALL: &str = "malformed_function_call";

fn finish(reason: &str) -> Finish {
    match reason {
        "length" | "max_tokens" | "model_length" | "model_context_window_exceeded" => {
            Finish::Reason(ReplyFinish::Length)
        }
        "tool_calls" | "function_call" => Finish::Reason(ReplyFinish::ToolCalls),
        // `sensitive` is GLM's.
        "content_filter" | "safety" | "sensitive" => Finish::Reason(ReplyFinish::ContentFilter),
        // OpenRouter, GLM, DeepSeek: the reply failed.
        "error" | "network_error" | "insufficient_system_resource" => Finish::Failure,
        // Gemini behind this API: `function_call_filter: MALFORMED_FUNCTION_CALL`.
        _ if reason.ends_with(MALFORMED_CALL) => Finish::Failure,
        // `stop`, `eos`, `end_turn` and unknown reasons: the model stopped.
        _ => Finish::Reason(ReplyFinish::Stop),
    }
}

/// The error for the JSON of a complaint.
pub fn complaint(json: &str) -> ModelError {
    wire::json::from_str::<Value>(json)
        .map(|value| Complaint::from_json(&value))
        .unwrap_or_default()
        .in_stream()
}

fn read_usage(wire: &str, raw: &RawValue, service_tier: ServiceTier) -> Option<Usage> {
    let counts: UsageCounts = read(raw.get()).ok()?;
    let details = counts.prompt_tokens_details.unwrap_or_default();
    Some(Usage {
        input_tokens: counts.prompt_tokens.0?,
        cached_tokens: details.cached_tokens.0.or(counts.prompt_cache_hit_tokens.0).unwrap_or(0),
        cache_write_tokens: details.cache_write_tokens.0.unwrap_or(0),
        output_tokens: counts.completion_tokens.0.unwrap_or(0),
        service_tier,
        unknown_members: usage::unknown_members(wire, raw, KNOWN_USAGE),
        ..Usage::default()
    })
}

/// The message in the form of an unstreamed reply.
fn raw_message(text: &str, members: &Members, calls: &[Call]) -> Result<RawValueEq, ModelError> {
    struct Whole<'a>(&'a str, &'a Members, &'a [Call]);
    impl Serialize for Whole<'_> {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            let Whole(text, members, calls) = self;
            let mut map = serializer.serialize_map(None)?;
            map.serialize_entry("role", "assistant")?;
            map.serialize_entry("content", &(!text.is_empty() || calls.is_empty()).then_some(text))?;
            members.write(&mut map)?;
            if !calls.is_empty() {
                map.serialize_entry("tool_calls", calls)?;
            }
            map.end()
        }
    }
    to_raw_value(&Whole(text, members, calls))
        .map(RawValueEq)
        .map_err(|_| protocol("The model provider's message cannot be kept."))
}
