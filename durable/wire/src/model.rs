//! The requests that the loop sends to a model, and the replies. The types are neutral: the codecs in `providers/`
//! translate them for each provider.

use std::rc::Rc;

use serde::{Deserialize, Serialize};

use crate::protocol::Content;

mod choice;
mod error;
mod raw;
mod usage;

pub use choice::{Capabilities, ModelChoice, ModelOptions};
pub use error::{ModelError, ModelErrorKind};
pub use raw::{RawMessage, RawValueEq, as_text};
pub use usage::{ServiceTier, Usage};

/// One call of a model.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelRequest {
    /// Which model to call; frozen when the turn began.
    pub model: Rc<ModelChoice>,
    pub system: Rc<str>,
    /// The conversation, the system prompt excepted. Each tool call in it has exactly one result.
    pub messages: Vec<Rc<Message>>,
    /// The place of the first message of the current turn; none where that is the last message of the user.
    pub turn_from: Option<usize>,
    /// Empty if the model or the level has no tools.
    pub tools: Rc<[ToolDefinition]>,
    pub tool_choice: ToolChoice,
    /// A JSON Schema of type object for the text of the reply. A codec leaves it out if the provider's API has no such
    /// option.
    pub response_schema: Option<Rc<RawValueEq>>,
    /// The most tokens of the reply, if the turn limits them.
    pub max_output_tokens: Option<u64>,
    /// The same for all requests of a conversation, so that a provider can serve them where its cache has their
    /// beginning. It names nothing outside of the provider.
    pub cache_key: Option<Rc<str>>,
}

impl ModelRequest {
    /// A request without tools, limits and messages.
    pub fn new(model: Rc<ModelChoice>, system: Rc<str>) -> Self {
        ModelRequest {
            model,
            system,
            messages: Vec::new(),
            turn_from: None,
            tools: Rc::new([]),
            tool_choice: ToolChoice::Auto,
            response_schema: None,
            max_output_tokens: None,
            cache_key: None,
        }
    }

    /// The place of the message with which the current turn begins. A service's remarks are messages of the user too.
    pub fn current_turn(&self) -> usize {
        let is_users = |message: &Rc<Message>| matches!(**message, Message::User { .. });
        self.turn_from.or_else(|| self.messages.iter().rposition(is_users)).unwrap_or(0)
    }

    /// The most tokens of the reply: the smallest of the turn's limit, the operator's, and all that the model can write,
    /// because providers refuse a limit beyond that.
    pub fn output_limit(&self) -> Option<u64> {
        let limit = self.max_output_tokens.or(self.model.options.max_output_tokens);
        limit.map(|limit| self.model.output_limit(limit))
    }
}

/// Whether the model should call tools. A codec leaves this out if the provider might refuse it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ToolChoice {
    /// The model decides.
    #[default]
    Auto,
    /// The model must call a tool of its choice.
    Required,
    /// The model sees the tools and must answer without a call.
    None,
}

/// A tool as a model sees it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolDefinition {
    pub name: String,
    pub description: String,
    /// A JSON Schema of type object.
    pub input_schema: Rc<RawValueEq>,
}

/// One message of a conversation with a model. Externally tagged, because serde's buffering of inner tags would lose
/// the raw JSON within.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Message {
    User {
        content: Content,
    },
    Assistant {
        /// The answer's text; empty if the model only called tools.
        content: String,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        tool_calls: Vec<ToolCall>,
        /// The provider's own message. The codec returns it byte for byte to the model that wrote it, and to no other
        /// (N-171).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        raw: Option<RawMessage>,
    },
    Tool {
        /// [`ToolCall::call_id`] of the call that this answers.
        call_id: String,
        name: String,
        content: String,
        is_error: bool,
    },
}

/// A call that the model made.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct ToolCall {
    /// The provider's id of the call. The codec makes one up if the provider sends none.
    pub call_id: String,
    pub name: String,
    /// The arguments as the model wrote them. They should be a JSON object, but nothing has checked that yet.
    pub arguments: String,
}

/// The events that a decoder reads from a provider's stream. A stream is complete only with its `Finished`.
#[derive(Clone, Debug, PartialEq)]
pub enum ModelEvent {
    /// A piece of the answer; never empty.
    Text(String),
    /// A piece of reasoning; never empty.
    Reasoning(String),
    /// The call is complete. Nothing follows it.
    Finished(Box<ModelReply>),
}

/// A whole reply. Its text repeats the events before it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct ModelReply {
    #[serde(default)]
    pub text: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<ToolCall>,
    pub finish: ReplyFinish,
    /// Absent if the provider does not report it and nobody has estimated it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw: Option<RawMessage>,
}

impl ModelReply {
    /// Whether the model ended by itself without text and without a call.
    pub fn is_empty(&self) -> bool {
        self.finish == ReplyFinish::Stop && self.text.is_empty() && self.tool_calls.is_empty()
    }
}

/// Why a model stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ReplyFinish {
    Stop,
    ToolCalls,
    Length,
    ContentFilter,
    /// The provider paused the model during a tool of its own. The same conversation, sent again, continues.
    Pause,
}

impl ReplyFinish {
    /// The wire's name.
    pub const fn as_str(self) -> &'static str {
        match self {
            ReplyFinish::Stop => "stop",
            ReplyFinish::ToolCalls => "tool_calls",
            ReplyFinish::Length => "length",
            ReplyFinish::ContentFilter => "content_filter",
            ReplyFinish::Pause => "pause",
        }
    }
}
