//! The chat.

use super::words::*;
use wire::protocol::ChatRequest;

#[cfg(target_arch = "wasm32")]
use crate::routes::chat;
#[cfg(test)]
use wire::protocol::MessageQueue;

routes! {
    /// Sends a message to a thread and streams the turn that answers. The stream ends after the turn's `done`. The turn
    /// goes on when the client closes the stream, unless `cancel_on_disconnect` is true. A repeated `turn_id` streams
    /// the first turn and starts none. With `if_running: queue` the message may have to wait: then the answer is the queue.
    /// See "POST /api/chat" and "Messages that wait" in docs/wire-protocol.md.
    Post "/api/chat" => Chat, Needs(Write), json::<ChatRequest>(), Turns,
        |r| chat::start(r.call, r.caller.owner()?, r.body),
        |row| row
            .takes(json!({ "content": "What is 17 * 23?" }))
            .streams()
            .gives::<MessageQueue>(202)
            .refuses_turns()
            .refuses(&[
                E::MessageNotFound, E::AgentNotFound, E::WorkflowNotFound, E::WorkflowRunning, E::StaleRequestSeq,
                E::QueueFull, E::MessageRemoved,
            ]);
}
