//! The reply, from the first byte to `message_stop`.

use serde_json::value::RawValue;

use crate::accumulator::{Accumulator, Completed, Reading, Stream};
use crate::failure::error_in_stream;
use wire::model::{ModelError, ReplyFinish, Usage};
use wire::sse::SseEvent;

use super::WIRE;
use super::blocks::Blocks;
use super::event::{Event, UsageCounts};

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

/// The blocks of a partial reply.
#[derive(Debug, Default)]
pub struct Reply {
    blocks: Blocks,
    usage: UsageCounts,
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
        let kind = if event.kind.as_str().is_empty() { sse.event } else { event.kind.as_str() };
        match kind {
            "message_start" => {
                reply.begin_anew()?;
                self.blocks = Blocks::default();
                self.count(event.message.and_then(|message| message.usage), reply);
            }
            "content_block_start" => {
                if let Some(block) = event.content_block {
                    self.blocks.start(event.index.0, &block, reply)?;
                }
            }
            "content_block_delta" => {
                if let Some(delta) = event.delta {
                    self.blocks.take(event.index.0, *delta, reply)?;
                }
            }
            "message_delta" => {
                let reason = event.delta.and_then(|delta| delta.stop_reason);
                if let Some(reason) = reason.filter(|reason| !reason.as_str().is_empty()) {
                    reply.finish = Some(Ok(finish(reason.as_str())));
                }
                self.count(event.usage, reply);
            }
            "message_stop" => return Ok(Stream::Ends),
            "error" => return Err(error_in_stream(sse.data)),
            "message" => {
                event.content.0.iter().try_for_each(|block| self.blocks.start(None, block, reply))?;
                reply.finish = Some(Ok(finish(event.stop_reason.as_str())));
                self.count(event.usage, reply);
                return Ok(Stream::Ends);
            }
            // `content_block_stop` (the end of the message completes all blocks), `ping`, and unknown events.
            _ => {}
        }
        Ok(Stream::GoesOn)
    }

    fn complete(self, reply: &Accumulator) -> Result<Completed, ModelError> {
        self.blocks.complete(reply)
    }
}

impl Reply {
    fn count(&mut self, usage: Option<&RawValue>, reply: &mut Accumulator) {
        reply.count(usage, KNOWN_USAGE, |new: UsageCounts| {
            let known = self.usage;
            let cache_creation_input_tokens = new.cache_creation_input_tokens;
            self.usage = UsageCounts {
                input_tokens: new.input_tokens.or(known.input_tokens),
                cache_creation_input_tokens: cache_creation_input_tokens
                    .or(known.cache_creation_input_tokens),
                cache_creation: new.cache_creation.or(known.cache_creation),
                cache_read_input_tokens: new.cache_read_input_tokens.or(known.cache_read_input_tokens),
                output_tokens: new.output_tokens.or(known.output_tokens),
            };
            total(self.usage)
        });
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

/// `input_tokens` excludes cached tokens.
fn total(counts: UsageCounts) -> Option<Usage> {
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
        output_tokens: counts.output_tokens.unwrap_or(0),
        ..Usage::default()
    })
}
