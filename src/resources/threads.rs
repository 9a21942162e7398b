//! Threads and their messages.

use super::words::*;
use platform::storage::path::MAX_CHOICES;
use wire::protocol::ThreadChange;

#[cfg(test)]
use crate::openapi::{event_number, wanted};
#[cfg(target_arch = "wasm32")]
use crate::routes::threads;
#[cfg(test)]
use wire::protocol::{Cancelled, MessageList, SentContent, ThreadDetail, ThreadList};

routes! {
    /// Lists the user's threads: the pinned ones, then the others, each newest first; all of them, or those that contain a
    /// text. The list comes from the index: a thread appears there about two seconds after its first turn began, or when
    /// that turn ends. `q` has at most 200 characters, and `snippet` is the part of a message that contains it. A
    /// deployment with `TITLES=on` may rename a thread some seconds after its first answer.
    Get "/api/threads" => Threads, Needs(Read), Nothing, Reads,
        |r| threads::list(r.call, r.caller.owner()?),
        |row| row
            .pages()
            .query(wanted("The text to search titles and messages for; ASCII letters match in either case."))
            .gives::<ThreadList>(200);
    /// Returns a thread and the turn that runs in it. The conversation ends with `current_turn_id`, see "Versions" in
    /// docs/wire-protocol.md. See docs/workflows.md for `workflow_session`.
    Get "/api/threads/{}" => Thread(id), Needs(Read), Nothing, Reads,
        |r| r.ask(id, ThreadCommand::Detail),
        |row| row.in_thread().gives::<ThreadDetail>(200);
    /// Changes a thread's title, the path that is its conversation, or its pin. A user has at most 20 pinned threads. The
    /// body has one of the three members. The choice of a path is 409 `turn_in_progress` while a turn runs or waits, and
    /// 429 `rate_limited` after 1,000 choices without a turn; see "Versions" in docs/wire-protocol.md. `pinned: true` puts
    /// the thread above the others in the list, and `false` takes the pin away. The 21st pin is 409 `too_many_pins`. The
    /// answer has `pinned_at` where the request has pinned the thread.
    Patch "/api/threads/{}" => ChangeThread(id), Needs(Write), json::<ThreadChange>(),
        Count(MAX_CHOICES, "choices of a path after a turn"),
        |r| threads::change(r.call, r.caller.owner()?, id, r.body),
        |row| row
            .in_thread()
            .takes(json!({ "title": "Multiplication" }))
            .gives::<ThreadDetail>(200)
            .refuses(&[E::TurnInProgress, E::TooManyPins]);
    /// Deletes a thread for ever. This stops a turn that runs in it. The id stays unusable. It answers 404 from then on, to
    /// `POST /api/chat` as well.
    Delete "/api/threads/{}" => DeleteThread(id), Needs(Write), Nothing, Removes,
        |r| threads::delete(r.call, r.caller.owner()?, id),
        |row| row.in_thread().gives_nothing("It is deleted.");
    /// Lists a thread's messages, oldest first: those on the path, or those of all versions. See "Versions" in
    /// docs/wire-protocol.md.
    Get "/api/threads/{}/messages" => Messages(id), Needs(Read), Nothing, Reads,
        |r| threads::messages(r.call, r.caller.owner()?, id),
        |row| row.in_thread().pages().query(versions()).gives::<MessageList>(200);
    /// Returns a user's message as it was sent, with its images and files. The answer has only its words where the turn
    /// left more than 900,000 bytes to the history.
    Get "/api/threads/{}/messages/{}/content" => Sent(id, message), Needs(Read), Nothing, Reads,
        |r| r.ask(id, ThreadCommand::Sent { message_id: message.to_owned() }),
        |row| row.in_thread().gives::<SentContent>(200).refuses(&[E::MessageNotFound]);
    /// Streams a thread's events from a number on, until the `done` of the turn that runs. The number is that of
    /// `Last-Event-ID` or of the parameter `after`. The answer is 204 where the thread is idle and has nothing newer. Where
    /// a queued message comes next, the request waits for its turn, see "Messages that wait" in docs/wire-protocol.md. The
    /// answer is 503 `turn_on_hold` where there is nothing newer and the turn cannot go on at the moment. A stream of a
    /// waiting turn ends early, and 204 then has `Retry-After: 30`, see "Turns that wait" in docs/wire-protocol.md. A
    /// thread has at most 32 open streams, those of `POST /api/chat` included; one more is 429 `too_many_streams`. One
    /// event stands for a turn whose events are deleted, see "Events" in docs/wire-protocol.md.
    Get "/api/threads/{}/stream" => Stream(id), Needs(Read), Nothing, Reads,
        |r| threads::stream(r.call, r.caller.owner()?, id),
        |row| row
            .in_thread()
            .query(after())
            .header(last_event_id())
            .streams()
            .gives_nothing(NOTHING_NEWER)
            .with_header(204, "Retry-After", retry_after())
            .refuses(&[E::TooManyStreams, E::TurnOnHold]);
    /// Stops the turn that runs in a thread, and waits for its end.
    Post "/api/threads/{}/cancel" => Cancel(id), Needs(Write), Nothing, EndsOnce,
        |r| r.ask(id, ThreadCommand::Cancel),
        |row| row.in_thread().gives::<Cancelled>(200);
}

/// The table `plans`.
pub const PLANS: Table = users(
    "plans",
    Rows {
        key: &["thread_id", "id"],
        line: Some("plan"),
        columns: &["thread_id", "id", "turn_id", "payload:json", "created_at", "updated_at"],
        withheld: &[
            "tenant",
            "user_id",
            "objective",
            "intent_label",
            "context_type",
            "entity_id",
            "execution_mode",
            "status",
            "review_verdict",
            "revision",
        ],
        ..ROWS
    },
    8,
);

/// The table `messages`.
pub const MESSAGES: Table = users(
    "messages",
    Rows {
        key: &["id"],
        withheld: &[
            "tenant",
            "user_id",
            "id",
            "thread_id",
            "turn_id",
            "role",
            "content",
            "execution_tree",
            "usage",
            "finish_reason",
            "created_at",
            "parts",
            "beside",
            "stop",
        ],
        ..ROWS
    },
    100,
);

/// The table `threads`.
pub const THREADS: Table = users(
    "threads",
    Rows {
        key: &["id"],
        withheld: &["tenant", "user_id", "id", "title", "created_at", "updated_at", "pinned_at", "state"],
        ..ROWS
    },
    100,
);

#[cfg(test)]
const NOTHING_NEWER: &str =
    "There is nothing newer: the thread is idle, or its turn waits for somebody outside or has yet to start.";

#[cfg(test)]
fn versions() -> Parameter {
    let schema = json!({ "type": "string", "enum": ["all", ""] });
    let what = "`all`: the messages beside the path as well. Empty is the same as none.";
    Parameter::new("versions", what, schema).such_as(json!("all"))
}

#[cfg(test)]
fn after() -> Parameter {
    Parameter::new("after", "The number of the last event that the client has.", event_number())
        .such_as(json!(2))
}

#[cfg(test)]
fn last_event_id() -> Parameter {
    Parameter::new("Last-Event-ID", "The same, as browsers send it. It wins over `after`.", event_number())
}

#[cfg(test)]
fn retry_after() -> Value {
    let why =
        "Seconds to wait before asking again, where a turn waits for somebody outside, or for its start.";
    json!({ "description": why, "schema": { "type": "integer" } })
}
