//! Requests of clients that were written for another service (`durable/dialects`), as a thread's object gets them.

use serde::{Deserialize, Serialize};

use super::Decision;

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

/// An answer to a call that may wait for it: a person's decision, or the result of the client's own tool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GivenAnswer {
    /// The id of the question or of the call.
    pub id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<Decision>,
    pub content: String,
    pub is_error: bool,
}
