//! The reply, from the first byte to `[DONE]`.

use std::rc::Rc;

use crate::model::{ModelChoice, ModelError, ModelEvent};
use crate::providers::codec::{Decoder, MAX_EVENT_BYTES};
use crate::providers::failure::protocol;
use crate::providers::json::read;
use crate::providers::openai_chat::response::{Reply, complaint};
use crate::providers::sse::SseDecoder;

use super::WIRE;
use super::chunk::AiChunk;

/// Decodes one reply.
#[derive(Debug)]
pub struct WorkersAiDecoder {
    sse: SseDecoder,
    reply: Option<Reply>,
}

impl WorkersAiDecoder {
    /// `choice` is what the raw message may go back to; `first_call` numbers the ids that must be made up.
    pub fn new(choice: Rc<ModelChoice>, first_call: usize) -> Self {
        let reply = Reply::new(choice, WIRE, first_call);
        WorkersAiDecoder { sse: SseDecoder::new(MAX_EVENT_BYTES), reply: Some(reply) }
    }
}

impl Decoder for WorkersAiDecoder {
    fn feed(&mut self, bytes: &[u8], events: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        if self.reply.is_none() {
            return Ok(());
        }
        let slot = &mut self.reply;
        self.sse.feed(bytes, |event| {
            let data = event.data.trim_ascii();
            if data == "[DONE]" {
                return slot.take().map_or(Ok(()), |reply| reply.complete(events));
            }
            let Some(reply) = slot.as_mut().filter(|_| !data.is_empty()) else { return Ok(()) };
            if event.event == "error" {
                return Err(complaint(data));
            }
            let chunk: AiChunk<'_> =
                read(data).ok_or_else(|| protocol("The model provider sent a chunk that cannot be read."))?;
            reply.take_chunk(chunk.into_chunk(), events)
        })
    }

    fn finish(&mut self, events: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        match self.reply.take() {
            None => Ok(()),
            Some(reply) if reply.has_finished() => reply.complete(events),
            Some(_) => Err(protocol("The model provider's stream ended before the reply was complete.")),
        }
    }
}
