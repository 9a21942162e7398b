//! What the loop says to a model and hears from it. Neutral: codecs in `providers/` turn it into a provider's wire.

use std::rc::Rc;

use crate::sse::SseError;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::protocol::Content;

/// One call of a model.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelRequest {
    /// Which model to call; frozen when the turn began.
    pub model: Rc<ModelChoice>,
    pub system: Rc<str>,
    /// The conversation, the system prompt excepted. Each tool call in it has exactly one result.
    pub messages: Vec<Rc<Message>>,
    /// Empty where the model or the level has no tools.
    pub tools: Rc<[ToolDefinition]>,
    pub tool_choice: ToolChoice,
    /// What the text of the reply must satisfy, where the wire can be told so. A JSON Schema of type object.
    pub response_schema: Option<Rc<RawValueEq>>,
    /// The most tokens that the reply may have, where the turn limits them.
    pub max_output_tokens: Option<u64>,
}

impl ModelRequest {
    /// A request without tools, limits and messages.
    pub fn new(model: Rc<ModelChoice>, system: Rc<str>) -> Self {
        ModelRequest {
            model,
            system,
            messages: Vec::new(),
            tools: Rc::new([]),
            tool_choice: ToolChoice::Auto,
            response_schema: None,
            max_output_tokens: None,
        }
    }

    /// The most tokens that the reply may have, by the turn's limit and by the model's.
    pub fn output_limit(&self) -> Option<u64> {
        let model = self.model.options.max_output_tokens;
        self.max_output_tokens.into_iter().chain(model).min()
    }
}

/// Whether the model is to call tools. A wish: a wire that may refuse it leaves it out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ToolChoice {
    /// The model decides.
    #[default]
    Auto,
    /// It must call a tool, whichever.
    Required,
    /// It must not call any, although it is told of them.
    None,
}

/// A model with what the loop must know about it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct ModelChoice {
    /// The provider's name: `demo`, `openai` …
    pub provider: String,
    /// The provider's name of the model.
    pub model: String,
    pub capabilities: Capabilities,
    /// Whether it calls tools in its text, where it can call them in no other way (`providers::text_calls`).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub text_calls: bool,
    #[serde(default)]
    pub options: ModelOptions,
}

impl ModelChoice {
    /// A model of which nothing special is known.
    pub fn new(provider: impl Into<String>, model: impl Into<String>) -> Self {
        ModelChoice {
            provider: provider.into(),
            model: model.into(),
            capabilities: Capabilities::default(),
            text_calls: false,
            options: ModelOptions::default(),
        }
    }

    /// Whether it can call tools in some way.
    pub fn calls(&self) -> bool {
        self.capabilities.tools || self.text_calls
    }

    /// The name by which operators and clients know the model: `PROVIDER:MODEL`.
    pub fn id(&self) -> String {
        format!("{}:{}", self.provider, self.model)
    }
}

/// What a deployment asks of a model in every call. What is absent is not sent, and the provider decides.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct ModelOptions {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// The provider's word for it: `low`, `medium`, `high` … Each has its own words and adds new ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning_effort: Option<String>,
    /// The most tokens that a reply may have, reasoning included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_output_tokens: Option<u64>,
}

/// What a model can do. What is known of single models stands in `profiles/capabilities.toml`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Capabilities {
    /// Without it the toolbelt is empty and a level is one text reply (N-170).
    pub tools: bool,
    /// Whether the model may emit several calls at once. The loop works either way (N-168, N-169).
    pub parallel_tool_calls: bool,
    /// Whether it thinks before it answers: such models have requests and refusals of their own.
    pub reasoning: bool,
    /// Whether the provider holds its text to a schema.
    pub structured_output: bool,
    /// Whether it reads images and PDFs.
    pub vision: bool,
}

impl Default for Capabilities {
    /// Of a model that nobody knows: tools, which nearly all have, and nothing that a server might refuse.
    fn default() -> Self {
        Capabilities {
            tools: true,
            parallel_tool_calls: true,
            reasoning: false,
            structured_output: false,
            vision: false,
        }
    }
}

/// A tool as a model sees it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolDefinition {
    pub name: String,
    pub description: String,
    /// A JSON Schema of type object.
    pub input_schema: Rc<RawValueEq>,
}

/// One message of a conversation with a model. Tagged from outside, since raw JSON within does not survive serde's
/// buffering of inner tags.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Message {
    User {
        content: Content,
    },
    Assistant {
        /// The answer's text; empty where the model only called tools.
        content: String,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        tool_calls: Vec<ToolCall>,
        /// The provider's own message, which goes back byte for byte, and only to where it came from (N-171).
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
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct ToolCall {
    /// The provider's id of the call; made up by the codec where the provider gives none.
    pub call_id: String,
    pub name: String,
    /// The arguments as the model wrote them: meant to be a JSON object, not known to be one.
    pub arguments: String,
}

/// An assistant message in its provider's own words. It may go back to what said it and to nothing else: the same
/// provider, over the same wire, and the same model, since models refuse what others thought (Mistral, OpenAI) or cannot
/// read it (Anthropic).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct RawMessage {
    pub provider: String,
    /// The codec's name for its wire.
    #[serde(default)]
    pub wire: String,
    #[serde(default)]
    pub model: String,
    /// The JSON of the message: unknown fields, signatures and order as they came.
    #[serde(with = "as_text")]
    #[cfg_attr(feature = "openapi", schemars(with = "String"))]
    pub json: RawValueEq,
}

impl RawMessage {
    /// What this model said over this wire.
    pub fn of(choice: &ModelChoice, wire: &str, json: RawValueEq) -> Self {
        let (provider, model) = (choice.provider.clone(), choice.model.clone());
        RawMessage { provider, wire: wire.to_owned(), model, json }
    }

    /// The message, where this model said it over this wire.
    pub fn for_model(&self, choice: &ModelChoice, wire: &str) -> Option<&RawValue> {
        let same = self.provider == choice.provider && self.wire == wire && self.model == choice.model;
        same.then_some(&*self.json.0)
    }
}

/// A [`RawValue`] that compares by its text.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RawValueEq(pub Box<RawValue>);

impl PartialEq for RawValueEq {
    fn eq(&self, other: &Self) -> bool {
        self.0.get() == other.0.get()
    }
}

/// Stores raw JSON as a string: serde reads tagged and flattened types through a buffer that has no raw JSON, so in a
/// journal entry or a stored message it could be written and never be read again.
pub mod as_text {
    use std::borrow::Borrow;

    use serde::{Deserialize, Deserializer, Serializer, de::Error};
    use serde_json::value::RawValue;

    use super::RawValueEq;

    /// The text of the JSON.
    pub fn serialize<S: Serializer>(raw: &impl Borrow<RawValueEq>, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(raw.borrow().0.get())
    }

    /// The JSON of a text, byte for byte.
    pub fn deserialize<'de, D, T>(deserializer: D) -> Result<T, D::Error>
    where
        D: Deserializer<'de>,
        T: From<RawValueEq>,
    {
        let text = String::deserialize(deserializer)?;
        RawValue::from_string(text).map(|raw| RawValueEq(raw).into()).map_err(D::Error::custom)
    }
}

/// Tokens of one call, as the provider counted them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct Usage {
    /// All input tokens, the cached ones included.
    pub input_tokens: u64,
    pub cached_tokens: u64,
    /// Input tokens that the provider wrote to its cache, where it charges for that.
    #[serde(default, skip_serializing_if = "is_zero")]
    #[cfg_attr(test, ts(as = "Option<u64>", optional))]
    pub cache_write_tokens: u64,
    pub output_tokens: u64,
}

fn is_zero(tokens: &u64) -> bool {
    *tokens == 0
}

/// What a decoder makes of a provider's stream. A stream is complete only with its `Finished`.
#[derive(Clone, Debug, PartialEq)]
pub enum ModelEvent {
    /// A piece of the answer; never empty.
    Text(String),
    /// A piece of reasoning; never empty.
    Reasoning(String),
    /// The call is complete. Nothing follows it.
    Finished(Box<ModelReply>),
}

/// A whole reply. Its text and reasoning are what the events before it said.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct ModelReply {
    #[serde(default)]
    pub text: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<ToolCall>,
    pub finish: ReplyFinish,
    /// Absent where the provider does not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw: Option<RawMessage>,
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
    /// The provider interrupted the model at work of its own; the same conversation, called again, goes on.
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

/// Why a model call failed. The message is for people: never an upstream body, never a secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct ModelError {
    pub kind: ModelErrorKind,
    pub message: String,
}

/// Classes of failures; each is an `error.code` on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ModelErrorKind {
    Auth,
    RateLimited,
    /// The account has nothing left to spend.
    Quota,
    Overloaded,
    BadRequest,
    ContextTooLong,
    Network,
    Protocol,
    /// The reply has more than this service takes: the model would say as much again.
    ReplyTooLarge,
}

impl ModelErrorKind {
    /// The wire's `error.code`.
    pub const fn code(self) -> &'static str {
        match self {
            ModelErrorKind::Auth => "provider_auth",
            ModelErrorKind::RateLimited => "provider_rate_limited",
            ModelErrorKind::Quota => "provider_quota",
            ModelErrorKind::Overloaded => "provider_overloaded",
            ModelErrorKind::BadRequest => "provider_bad_request",
            ModelErrorKind::ContextTooLong => "provider_context_too_long",
            ModelErrorKind::Network => "provider_network",
            ModelErrorKind::Protocol => "provider_protocol",
            ModelErrorKind::ReplyTooLarge => "provider_reply_too_large",
        }
    }

    /// Whether another model may answer what this one could not: it is about who was asked, not about the question.
    pub const fn may_be_answered_by_another(self) -> bool {
        matches!(
            self,
            ModelErrorKind::Auth
                | ModelErrorKind::RateLimited
                | ModelErrorKind::Quota
                | ModelErrorKind::Overloaded
                | ModelErrorKind::Network
        )
    }

    /// Whether the provider said that it did not answer the request, which then used nothing. A request that was not heard
    /// of again may have used all that it was allowed.
    pub const fn used_nothing(self) -> bool {
        !matches!(self, ModelErrorKind::Network | ModelErrorKind::Protocol)
    }

    /// Whether the same request may succeed later.
    pub const fn retryable(self) -> bool {
        matches!(
            self,
            ModelErrorKind::RateLimited
                | ModelErrorKind::Overloaded
                | ModelErrorKind::Network
                | ModelErrorKind::Protocol
        )
    }
}

impl From<SseError> for ModelError {
    fn from(error: SseError) -> Self {
        let message = match error {
            SseError::TooLarge => "The model provider sent an event that is too large.",
        };
        ModelError { kind: ModelErrorKind::Protocol, message: message.into() }
    }
}
