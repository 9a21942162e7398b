//! The messages of a thread that wait for their turn.

use super::words::*;
use platform::queueing::MAX_QUEUE_EVENTS;
use wire::protocol::{QueueChange, QueuedChange};

#[cfg(test)]
use wire::protocol::MessageQueue;

routes! {
    /// Lists the messages that wait for their turn, in their order. See "Messages that wait" in docs/wire-protocol.md.
    Get "/api/threads/{}/queue" => Queue(id), Needs(Read), Nothing, Reads,
        |r| r.ask(id, ThreadCommand::Queue),
        |row| row.in_thread().gives::<MessageQueue>(200);
    /// Holds the queue, or lets it go on. While a queue is held, no message of it starts its turn.
    Patch "/api/threads/{}/queue" => HoldQueue(id), Needs(Write), json::<QueueChange>(),
        Count(MAX_QUEUE_EVENTS, "events of a turn that tell its queue"),
        |r| {
            let held = QueueChange::parse(r.body)?.held;
            r.ask(id, ThreadCommand::HoldQueue { held })
        },
        |row| row.in_thread().takes(json!({ "held": true })).gives::<MessageQueue>(200);
    /// Gives a queued message other words. Its images and files stay.
    Patch "/api/threads/{}/queue/{}" => EditQueued(id, message), Needs(Write), json::<QueuedChange>(),
        Count(MAX_QUEUE_EVENTS, "events of a turn that tell its queue"),
        |r| {
            let content = QueuedChange::parse(r.body)?.content;
            r.ask(id, ThreadCommand::EditQueued { message_id: message.to_owned(), content })
        },
        |row| row
            .in_thread()
            .takes(json!({ "content": "What is 17 * 24?" }))
            .gives::<MessageQueue>(200)
            .refuses(&[E::QueuedMessageNotFound, E::MessageBegun]);
    /// Takes a message out of the queue. A repetition of the message's request is 410 `message_removed`. A thread remembers
    /// the last 50 removed messages.
    Delete "/api/threads/{}/queue/{}" => RemoveQueued(id, message), Needs(Write), Nothing,
        Count(MAX_QUEUE_EVENTS, "events of a turn that tell its queue"),
        |r| r.ask(id, ThreadCommand::RemoveQueued { message_id: message.to_owned() }),
        |row| row
            .in_thread()
            .gives_nothing("It is out of the queue.")
            .refuses(&[E::QueuedMessageNotFound, E::MessageBegun]);
}
