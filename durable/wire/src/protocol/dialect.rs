//! Requests of clients that were written for another service (`durable/dialects`), as a thread's object gets them.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::{Decision, Seq};

/// The form of a stream that is not our own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Dialect {
    /// The UI message stream of the AI SDK.
    AiSdk,
}

impl Dialect {
    /// Its name, also in the ids of threads.
    pub const fn as_str(self) -> &'static str {
        match self {
            Dialect::AiSdk => "ai-sdk",
        }
    }
}

/// The part of a chat request that only dialects have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spoken {
    pub dialect: Dialect,
    /// The turn that a version follows. Without it the turn goes on from the end of the conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub follows: Option<Follows>,
}

/// The place before a turn. Such a client knows the answer before its question, and not the question that it replaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Follows {
    /// The beginning of the conversation.
    Beginning,
    /// The turn with this message.
    Message(Uuid),
}

/// An answer to a call that may wait for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GivenAnswer {
    Approval { approval_id: String, decision: Decision },
    Result { tool_call_id: String, content: String, is_error: bool },
}

/// How far a client has read a turn.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadUntil {
    pub turn_id: String,
    pub seq: Seq,
}
