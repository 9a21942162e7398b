//! The reply, from the first byte to the end of the stream: the API has no event for its end.

use crate::accumulator::{Accumulator, Completed, Reading, Stream};
use crate::codec::cut;
use crate::failure::protocol;
use wire::model::{ModelError, ReplyFinish, Usage};
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

/// The parts of a partial reply.
#[derive(Debug, Default)]
pub struct Reply {
    parts: Parts,
    usage: UsageCounts,
}

impl Reading for Reply {
    type Event<'a> = Event<'a>;
    const WIRE: &'static str = WIRE;

    fn take(
        &mut self,
        event: Event<'_>,
        _: SseEvent<'_>,
        reply: &mut Accumulator,
    ) -> Result<Stream, ModelError> {
        reply.check_error(event.error)?;
        if event.prompt_feedback.is_some_and(|feedback| !feedback.block_reason.as_str().is_empty()) {
            reply.finish = Some(Ok(ReplyFinish::ContentFilter));
        }
        for candidate in event.candidates.0 {
            if candidate.index.0.unwrap_or(0) == 0 {
                self.take_candidate(candidate, reply)?;
            }
        }
        reply.count(event.usage_metadata, KNOWN_USAGE, |new: UsageCounts| {
            let known = self.usage;
            let tool_use_prompt_token_count = new.tool_use_prompt_token_count;
            self.usage = UsageCounts {
                prompt_token_count: new.prompt_token_count.or(known.prompt_token_count),
                cached_content_token_count: new
                    .cached_content_token_count
                    .or(known.cached_content_token_count),
                tool_use_prompt_token_count: tool_use_prompt_token_count
                    .or(known.tool_use_prompt_token_count),
                candidates_token_count: new.candidates_token_count.or(known.candidates_token_count),
                thoughts_token_count: new.thoughts_token_count.or(known.thoughts_token_count),
            };
            // The header of a downgraded answer alone tells its tier, and that costs less than the one that was asked.
            total(self.usage)
        });
        Ok(Stream::GoesOn)
    }

    fn complete(self, reply: &Accumulator) -> Result<Completed, ModelError> {
        // A call may be cut where a limit or a filter cut the reply.
        if reply.finish == Some(Ok(ReplyFinish::Stop)) && self.parts.is_cut() {
            return Err(cut());
        }
        self.parts.complete(reply)
    }
}

impl Reply {
    fn take_candidate(
        &mut self,
        candidate: Candidate<'_>,
        reply: &mut Accumulator,
    ) -> Result<(), ModelError> {
        for part in candidate.content.into_iter().flat_map(|content| content.parts.0) {
            self.parts.take(part, reply)?;
        }
        // A failure stays one, whatever comes with the usage.
        if !candidate.finish_reason.as_str().is_empty() && !matches!(reply.finish, Some(Err(_))) {
            reply.finish = Some(finish(candidate.finish_reason.as_str()));
        }
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

/// Thoughts are output. The results of Google's own tools are input.
fn total(counts: UsageCounts) -> Option<Usage> {
    let of_tools = counts.tool_use_prompt_token_count.unwrap_or(0);
    let thoughts = counts.thoughts_token_count.unwrap_or(0);
    Some(Usage {
        input_tokens: counts.prompt_token_count?.saturating_add(of_tools),
        cached_tokens: counts.cached_content_token_count.unwrap_or(0),
        output_tokens: counts.candidates_token_count.unwrap_or(0).saturating_add(thoughts),
        ..Usage::default()
    })
}
