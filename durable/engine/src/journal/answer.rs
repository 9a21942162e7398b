//! The question of a call to somebody outside, and the answer.

use serde::{Deserialize, Serialize};
use wire::protocol::Form;

/// The input that a call needs of a person, and the state that its tool needs to go on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct Asking {
    pub form: Form,
    /// The tool's own state, which it gets back with the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
}

/// The answer of a client or a person to a waiting call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// The client's tool has run, or a person filled in a form: then `content` is a JSON object.
    Result {
        content: String,
        #[serde(default)]
        is_error: bool,
    },
    /// A person allows this call alone, or this tool for the whole thread. At a limit: grants the budget once more.
    Approve,
    ApproveForThread,
    Deny,
    /// The wait ended without an answer.
    Expired,
}

/// An answer as it is handed in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answering {
    pub answer: Answer,
    /// Why a person denies a call, in their words.
    pub reason: Option<String>,
}

impl Answering {
    /// A person denies a call, with their reason.
    pub fn denied(reason: Option<String>) -> Self {
        Answering { answer: Answer::Deny, reason }
    }
}

impl From<Answer> for Answering {
    fn from(answer: Answer) -> Self {
        Answering { answer, reason: None }
    }
}

impl Answer {
    /// Whether a person allows what they were asked for.
    pub fn allows(&self) -> bool {
        matches!(self, Answer::Approve | Answer::ApproveForThread)
    }
}
