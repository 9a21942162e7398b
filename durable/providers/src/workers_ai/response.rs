//! The reply, from the first byte to `[DONE]`.

use crate::accumulator::{Accumulator, Completed, Reading, Stream};
use crate::openai_chat::response::Reply;
use wire::model::ModelError;
use wire::sse::SseEvent;

use super::WIRE;
use super::chunk::AiChunk;

/// A reply of Chat Completions, in other chunks.
#[derive(Debug, Default)]
pub struct AiReply(Reply);

impl Reading for AiReply {
    type Event<'a> = AiChunk<'a>;
    const WIRE: &'static str = WIRE;
    const DONE_COMPLETES: bool = true;

    fn take(
        &mut self,
        chunk: AiChunk<'_>,
        _: SseEvent<'_>,
        reply: &mut Accumulator,
    ) -> Result<Stream, ModelError> {
        chunk.add_to(&mut self.0, reply).map(|()| Stream::GoesOn)
    }

    fn complete(self, reply: &Accumulator) -> Result<Completed, ModelError> {
        self.0.complete(reply)
    }
}
