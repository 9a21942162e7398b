//! Requests of clients that were written for another service (`durable/dialects`), as a thread's object gets them.

use serde::{Deserialize, Serialize};

use super::Decision;

/// The form of a stream that is not our own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Dialect {
    /// The UI message stream of the AI SDK.
    AiSdk,
    /// An answer of one of OpenAI's two APIs.
    #[serde(rename = "openai")]
    OpenAi(OpenAi),
}

/// An answer in a form of OpenAI's. A turn that waits for the client is several answers: one up to each wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenAi {
    pub api: OpenAiApi,
    pub form: AnswerForm,
    /// Whether the end of a stream of Chat Completions has the usage.
    pub usage: bool,
    /// Whether the client asked for an answer in the background. The answer says so again.
    pub background: bool,
    /// How many waits of the turn come before this answer.
    pub segment: u32,
    /// The client has the events of the stream up to this number.
    pub after: Option<u64>,
}

/// The two APIs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OpenAiApi {
    ChatCompletions,
    Responses,
}

/// How a client gets its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AnswerForm {
    /// As a stream of events.
    Stream,
    /// As JSON, once it is complete.
    Whole,
    /// As JSON, as far as the log has it now.
    Now,
}

impl Dialect {
    /// Its name, also in the ids of threads.
    pub const fn as_str(self) -> &'static str {
        match self {
            Dialect::AiSdk => "ai-sdk",
            Dialect::OpenAi(_) => "openai",
        }
    }

    /// How the client gets its answer.
    pub const fn form(self) -> AnswerForm {
        match self {
            Dialect::AiSdk => AnswerForm::Stream,
            Dialect::OpenAi(OpenAi { form, .. }) => form,
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
