//! The reply, from the first byte to the end of the stream: the API has no event for its end.

use std::rc::Rc;

use serde_json::Value;
use serde_json::value::RawValue;

use crate::codec::{MAX_REPLY_BYTES, Reading, cut};
use crate::failure::{Complaint, protocol, too_large};
use crate::json::{error_of, read};
use crate::usage;
use wire::model::{ModelChoice, ModelError, ModelEvent, ModelReply, RawMessage, ReplyFinish, Usage};
use wire::sse::SseEvent;

use super::WIRE;
use super::event::{Candidate, Event, UsageCounts};
use super::parts::Parts;

/// The members of a usage that this codec reads, and their sum.
const KNOWN_USAGE: &[&str] = &[
    "promptTokenCount",
    "cachedContentTokenCount",
    "toolUsePromptTokenCount",
    "candidatesTokenCount",
    "thoughtsTokenCount",
    "totalTokenCount",
];

/// A partial reply.
#[derive(Debug)]
pub struct Reply {
    choice: Rc<ModelChoice>,
    first_call: usize,
    bytes: usize,
    text: String,
    parts: Parts,
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
        self.read(event, events)?;
        Ok(Some(self))
    }

    /// The end of a stream is the end of its reply if a reason came before it. Usage may follow the reason.
    fn cut(self: Box<Self>, events: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        match self.finish {
            Some(finish) => self.complete(finish, events),
            None => Err(cut()),
        }
    }

    fn has_call(&self) -> bool {
        self.parts.has_call()
    }
}

impl Reply {
    /// `choice` is the model that may read the raw message again; `first_call` numbers the made-up ids.
    pub fn new(choice: Rc<ModelChoice>, first_call: usize) -> Self {
        Reply {
            choice,
            first_call,
            bytes: 0,
            text: String::new(),
            parts: Parts::default(),
            finish: None,
            usage: UsageCounts::default(),
            unknown_members: 0,
        }
    }

    fn read(&mut self, sse: SseEvent<'_>, events: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        let data = sse.data.trim_ascii();
        if data.is_empty() || data == "[DONE]" {
            return Ok(());
        }
        let event = match read::<Event<'_>>(data) {
            Ok(event) => event,
            Err(_) if self.finish.is_some() => return Ok(()),
            Err(_) => return Err(protocol("The model provider sent an event that cannot be read.")),
        };
        if let Some(error) = error_of(event.error) {
            return Err(complaint(error));
        }
        if event.prompt_feedback.is_some_and(|feedback| !feedback.block_reason.as_str().is_empty()) {
            self.finish = Some(ReplyFinish::ContentFilter);
        }
        for candidate in event.candidates.0 {
            if candidate.index.0.unwrap_or(0) == 0 {
                self.take_candidate(candidate, events)?;
            }
        }
        self.count(event.usage_metadata);
        match self.bytes > MAX_REPLY_BYTES {
            true => Err(too_large()),
            false => Ok(()),
        }
    }

    fn take_candidate(
        &mut self,
        candidate: Candidate<'_>,
        events: &mut Vec<ModelEvent>,
    ) -> Result<(), ModelError> {
        for part in candidate.content.into_iter().flat_map(|content| content.parts.0) {
            if let (None, Some(text)) = (&part.call, &part.text)
                && !text.as_str().is_empty()
            {
                let text = text.as_str().to_owned();
                events.push(match part.thought {
                    Some(true) => ModelEvent::Reasoning(text),
                    _ => {
                        self.text.push_str(&text);
                        ModelEvent::Text(text)
                    }
                });
            }
            self.bytes += self.parts.take(part)?;
        }
        if !candidate.finish_reason.as_str().is_empty() {
            self.finish = Some(finish(candidate.finish_reason.as_str())?);
        }
        Ok(())
    }

    fn count(&mut self, usage: Option<&RawValue>) {
        let counts: Option<UsageCounts> = usage.and_then(|usage| read(usage.get()).ok());
        let Some((new, raw)) = counts.zip(usage) else { return };
        self.unknown_members = self.unknown_members.max(usage::unknown_members(WIRE, raw, KNOWN_USAGE));
        let known = self.usage;
        self.usage = UsageCounts {
            prompt_token_count: new.prompt_token_count.or(known.prompt_token_count),
            cached_content_token_count: new.cached_content_token_count.or(known.cached_content_token_count),
            tool_use_prompt_token_count: new
                .tool_use_prompt_token_count
                .or(known.tool_use_prompt_token_count),
            candidates_token_count: new.candidates_token_count.or(known.candidates_token_count),
            thoughts_token_count: new.thoughts_token_count.or(known.thoughts_token_count),
        };
    }

    fn complete(self, finish: ReplyFinish, events: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        // A call may be cut where a limit or a filter cut the reply.
        if finish == ReplyFinish::Stop && self.parts.is_cut() {
            return Err(cut());
        }
        let (tool_calls, raw) = self.parts.complete(self.first_call)?;
        let finish = match finish {
            ReplyFinish::Stop if !tool_calls.is_empty() => ReplyFinish::ToolCalls,
            finish => finish,
        };
        let raw = raw.map(|json| RawMessage::of(&self.choice, WIRE, json));
        // The header of a downgraded answer alone tells its tier, and that costs less than the one that was asked.
        let service_tier = self.choice.options.asked_tier();
        let usage = total(self.usage, self.unknown_members).map(|usage| Usage { service_tier, ..usage });
        let reply = ModelReply { text: self.text, tool_calls, finish, usage, raw };
        events.push(ModelEvent::Finished(Box::new(reply)));
        Ok(())
    }
}

/// Why the model stopped. A reply whose call the provider could not read is an error, which another try may not have.
fn finish(reason: &str) -> Result<ReplyFinish, ModelError> {
    Ok(match reason.to_ascii_uppercase().as_str() {
        "MAX_TOKENS" => ReplyFinish::Length,
        "SAFETY" | "RECITATION" | "LANGUAGE" | "BLOCKLIST" | "PROHIBITED_CONTENT" | "SPII" => {
            ReplyFinish::ContentFilter
        }
        "MALFORMED_FUNCTION_CALL"
        | "UNEXPECTED_TOOL_CALL"
        | "MALFORMED_RESPONSE"
        | "MISSING_THOUGHT_SIGNATURE" => {
            return Err(protocol("The model provider could not read a call that the model wrote."));
        }
        // `STOP` and unknown reasons: the model stopped.
        _ => ReplyFinish::Stop,
    })
}

fn complaint(error: &RawValue) -> ModelError {
    wire::json::from_str::<Value>(error.get())
        .map(|value| Complaint::from_json(&value))
        .unwrap_or_default()
        .in_stream()
}

/// Thoughts are output. The results of Google's own tools are input.
fn total(counts: UsageCounts, unknown_members: u64) -> Option<Usage> {
    let of_tools = counts.tool_use_prompt_token_count.unwrap_or(0);
    let thoughts = counts.thoughts_token_count.unwrap_or(0);
    Some(Usage {
        input_tokens: counts.prompt_token_count?.saturating_add(of_tools),
        cached_tokens: counts.cached_content_token_count.unwrap_or(0),
        unknown_members,
        output_tokens: counts.candidates_token_count.unwrap_or(0).saturating_add(thoughts),
        ..Usage::default()
    })
}
