//! The reply, from the first byte to `[DONE]`.

use std::borrow::Cow;

use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::value::RawValue;

use crate::accumulator::{Accumulator, Completed, Reading, Stream, raw_message};
use crate::failure::Complaint;
use crate::json::{Count, read, text_of};
use crate::members::Members;
use wire::model::{ModelError, ReplyFinish, Usage};
use wire::sse::SseEvent;

use super::WIRE;
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

/// The calls of a partial reply, and the members that go back.
#[derive(Debug, Default)]
pub struct Reply {
    /// Whether a delta has told something.
    has_deltas: bool,
    calls: Calls,
    members: Members,
}

impl Reading for Reply {
    type Event<'a> = Chunk<'a>;
    const WIRE: &'static str = WIRE;
    const DONE_COMPLETES: bool = true;

    fn take(
        &mut self,
        chunk: Chunk<'_>,
        _: SseEvent<'_>,
        reply: &mut Accumulator,
    ) -> Result<Stream, ModelError> {
        self.take_chunk(chunk, reply).map(|()| Stream::GoesOn)
    }

    fn complete(mut self, reply: &Accumulator) -> Result<Completed, ModelError> {
        if self.calls.is_empty() {
            // Beside calls the codec returns even empty reasoning, because DeepSeek refuses a call without its
            // reasoning.
            self.members.drop_if_empty("reasoning_content");
            self.members.drop_if_empty("reasoning");
        }
        let has_members = !self.members.is_empty() || self.calls.has_members();
        let tool_calls = self.calls.complete(reply)?;
        let raw = Message { text: reply.text(), members: &self.members, calls: self.calls.list() };
        Ok((tool_calls, has_members.then(|| raw_message(&raw)).transpose()?))
    }
}

impl Reply {
    /// Adds a chunk.
    pub fn take_chunk(&mut self, chunk: Chunk<'_>, reply: &mut Accumulator) -> Result<(), ModelError> {
        reply.check_error(chunk.error)?;
        reply.take_service_tier(chunk.service_tier.as_str());
        // The last usage counts: some servers send a running total with every chunk.
        reply.count(chunk.usage, KNOWN_USAGE, total);
        chunk.choices.0.map_or(Ok(()), |choice| self.take_choice(*choice, reply))
    }

    fn take_choice(&mut self, choice: Choice<'_>, reply: &mut Accumulator) -> Result<(), ModelError> {
        reply.check_error(choice.error)?;
        let before = reply.bytes();
        if let Some(delta) = choice.delta {
            self.take_delta(delta, reply)?;
        }
        match (choice.message, choice.text.0) {
            _ if reply.bytes() > before => self.has_deltas = true,
            // Careless servers have the words in another member, some of them beside an empty delta.
            (Some(message), _) => {
                let message = if self.has_deltas { self.without_told(message, reply) } else { message };
                self.take_delta(message, reply)?;
            }
            (None, text) => reply.take_text(text.unwrap_or_default()),
        }
        take_finish(choice.finish_reason.as_str(), reply);
        Ok(())
    }

    /// A message that follows deltas, without what these have told: a server may repeat all of it.
    fn without_told<'a>(&self, mut message: Delta<'a>, reply: &Accumulator) -> Delta<'a> {
        if !reply.text().is_empty() {
            (message.content, message.refusal) = (None, None);
        }
        message.reasoning_content.take_if(|piece| self.members.text("reasoning_content") == piece.as_str());
        message.reasoning.take_if(|piece| self.members.text("reasoning") == piece.as_str());
        message.tool_calls.0.retain(|call| !self.calls.has(call));
        message.function_call.take_if(|_| !self.calls.is_empty());
        message.unknown.retain(|(name, _)| !self.members.has(name.as_str()));
        message
    }

    fn take_delta(&mut self, delta: Delta<'_>, reply: &mut Accumulator) -> Result<(), ModelError> {
        reply.keep(self.members.take(&delta.unknown));
        // Gateways send the same reasoning under both names. The codec emits it once and returns both.
        let mut told = false;
        for (name, piece) in [("reasoning_content", delta.reasoning_content), ("reasoning", delta.reasoning)]
        {
            let Some(piece) = piece else { continue };
            self.members.push_text(name, piece.as_str());
            if told {
                reply.keep(piece.as_str().len());
            } else {
                told = !piece.as_str().is_empty();
                reply.take_reasoning(piece.0);
            }
        }
        match delta.content {
            Some(Content::Text(text)) => reply.take_text(text.0),
            Some(Content::Parts(parts)) => take_parts(&parts, told, reply),
            None => {}
        }
        if let Some(refusal) = delta.refusal {
            reply.take_refusal(refusal.0);
        }
        let obsolete = delta.function_call.filter(|_| delta.tool_calls.0.is_empty());
        let obsolete = obsolete.map(|function| CallDelta {
            index: Count(Some(0)),
            function: Some(function),
            ..CallDelta::default()
        });
        delta.tool_calls.0.into_iter().chain(obsolete).try_for_each(|call| self.take_call(call, reply))
    }

    /// Adds a piece of a tool call.
    pub fn take_call(&mut self, call: CallDelta<'_>, reply: &mut Accumulator) -> Result<(), ModelError> {
        reply.has_call = true;
        reply.keep(self.calls.take(call)?);
        Ok(())
    }
}

/// Adds the known parts of a content: text, and thinking that a member of the delta has not already brought.
fn take_parts(parts: &[&RawValue], told: bool, reply: &mut Accumulator) {
    for raw in parts {
        let Ok(part) = read::<Part<'_>>(raw.get()) else {
            // A text without an object around it.
            if raw.get().starts_with('"') {
                reply.take_text(text_of(raw).unwrap_or_default());
            }
            continue;
        };
        match part.kind.as_str() {
            "thinking" | "" if part.thinking.is_some() => {
                part.thinking.iter().map(thought).for_each(|thought| match told {
                    true => reply.keep(thought.len()),
                    false => reply.take_reasoning(thought),
                })
            }
            "" | "text" | "output_text" => reply.take_text(part.text.0.unwrap_or_default()),
            _ => {}
        }
    }
}

/// Records why the model stopped, if a chunk says so.
pub fn take_finish(reason: &str, reply: &mut Accumulator) {
    if !reason.is_empty() {
        reply.finish = Some(finish(&reason.to_ascii_lowercase()));
    }
}

/// The text of a thinking part.
fn thought<'a>(thinking: &'a Content<'_>) -> Cow<'a, str> {
    match thinking {
        Content::Text(text) => Cow::Borrowed(text.as_str()),
        Content::Parts(parts) => {
            let parts = parts.iter().filter_map(|raw| read::<Part<'_>>(raw.get()).ok());
            Cow::Owned(parts.filter_map(|part| part.text.0).collect())
        }
    }
}

/// Gemini's reason for a call that cannot be read.
const MALFORMED_CALL: &str = "malformed_function_call";

fn finish(reason: &str) -> Result<ReplyFinish, ModelError> {
    match reason {
        "length" | "max_tokens" | "model_length" | "model_context_window_exceeded" => Ok(ReplyFinish::Length),
        "tool_calls" | "function_call" => Ok(ReplyFinish::ToolCalls),
        // `sensitive` is GLM's.
        "content_filter" | "safety" | "sensitive" => Ok(ReplyFinish::ContentFilter),
        // OpenRouter, GLM, DeepSeek: the reply failed.
        "error" | "network_error" | "insufficient_system_resource" => Err(Complaint::default().in_stream()),
        // Gemini behind this API: `function_call_filter: MALFORMED_FUNCTION_CALL`.
        _ if reason.ends_with(MALFORMED_CALL) => Err(Complaint::default().in_stream()),
        // `stop`, `eos`, `end_turn` and unknown reasons: the model stopped.
        _ => Ok(ReplyFinish::Stop),
    }
}

fn total(counts: UsageCounts) -> Option<Usage> {
    let details = counts.prompt_tokens_details.unwrap_or_default();
    Some(Usage {
        input_tokens: counts.prompt_tokens.0?,
        cached_tokens: details.cached_tokens.0.or(counts.prompt_cache_hit_tokens.0).unwrap_or(0),
        cache_write_tokens: details.cache_write_tokens.0.unwrap_or(0),
        output_tokens: counts.completion_tokens.0.unwrap_or(0),
        ..Usage::default()
    })
}

/// The message in the form of an unstreamed reply.
struct Message<'a> {
    text: &'a str,
    members: &'a Members,
    calls: &'a [Call],
}

impl Serialize for Message<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Message { text, members, calls } = self;
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
