//! The reply, from the first byte to `[DONE]`.

use std::rc::Rc;

use crate::codec::Reading;
use crate::failure::protocol;
use crate::json::read;
use crate::openai_chat::response::{Reply, complaint};
use wire::model::{ModelChoice, ModelError, ModelEvent};
use wire::sse::SseEvent;

use super::WIRE;
use super::chunk::AiChunk;

/// A reply of Chat Completions, in other chunks.
#[derive(Debug)]
pub struct AiReply(Reply);

impl AiReply {
    /// `choice` is the model that may read the raw message again; `first_call` numbers the made-up ids.
    pub fn new(choice: Rc<ModelChoice>, first_call: usize) -> Self {
        AiReply(Reply::new(choice, WIRE, first_call))
    }
}

impl Reading for AiReply {
    fn take(
        mut self: Box<Self>,
        event: SseEvent<'_>,
        events: &mut Vec<ModelEvent>,
    ) -> Result<Option<Box<Self>>, ModelError> {
        let data = event.data.trim_ascii();
        if data == "[DONE]" {
            return self.0.complete(events).map(|()| None);
        }
        if event.event == "error" {
            return Err(complaint(data));
        }
        match read::<AiChunk<'_>>(data) {
            Ok(chunk) => chunk.told(&mut self.0, events)?,
            Err(_) if self.0.has_ended() => {}
            Err(_) => return Err(protocol("The model provider sent a chunk that cannot be read.")),
        }
        Ok(Some(self))
    }

    fn cut(self: Box<Self>, events: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        self.0.end(events)
    }

    fn has_call(&self) -> bool {
        self.0.has_call()
    }
}
