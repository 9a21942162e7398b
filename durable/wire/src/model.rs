//! The requests that the loop sends to a model, and the replies. The types are neutral: the codecs in `providers/`
//! translate them for each provider.

use std::rc::Rc;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::protocol::Content;

mod error;
mod usage;

pub use error::{ModelError, ModelErrorKind};
pub use usage::{ServiceTier, Usage};

/// One call of a model.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelRequest {
    /// Which model to call; frozen when the turn began.
    pub model: Rc<ModelChoice>,
    pub system: Rc<str>,
    /// The conversation, the system prompt excepted. Each tool call in it has exactly one result.
    pub messages: Vec<Rc<Message>>,
    /// Empty if the model or the level has no tools.
    pub tools: Rc<[ToolDefinition]>,
    pub tool_choice: ToolChoice,
    /// A JSON Schema of type object for the text of the reply. A codec leaves it out if the provider's API has no such
    /// option.
    pub response_schema: Option<Rc<RawValueEq>>,
    /// The most tokens of the reply, if the turn limits them.
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

    /// The most tokens of the reply: the smallest of the turn's limit, the operator's, and all that the model can write,
    /// because providers refuse a limit beyond that.
    pub fn output_limit(&self) -> Option<u64> {
        let limit = self.max_output_tokens.into_iter().chain(self.model.options.max_output_tokens).min();
        limit.map(|limit| limit.min(self.model.capabilities.output_tokens.unwrap_or(limit)))
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

/// A model with its abilities and options.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct ModelChoice {
    /// The provider's name: `demo`, `openai` …
    pub provider: String,
    /// The provider's name of the model.
    pub model: String,
    pub capabilities: Capabilities,
    /// Whether the model writes its calls into its text, because it has no other way to call tools
    /// (`providers::text_calls`).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub text_calls: bool,
    #[serde(default)]
    pub options: ModelOptions,
}

impl ModelChoice {
    /// A model with the default capabilities.
    pub fn new(provider: impl Into<String>, model: impl Into<String>) -> Self {
        ModelChoice {
            provider: provider.into(),
            model: model.into(),
            capabilities: Capabilities::default(),
            text_calls: false,
            options: ModelOptions::default(),
        }
    }

    /// Whether the model can call tools at all.
    pub fn calls(&self) -> bool {
        self.capabilities.tools || self.text_calls
    }

    /// The name by which operators and clients know the model: `PROVIDER:MODEL`.
    pub fn id(&self) -> String {
        format!("{}:{}", self.provider, self.model)
    }
}

/// The options that a deployment sets for a model in every call. The codec leaves out an absent option, and the
/// provider uses its default.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct ModelOptions {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// The provider's word for it: `low`, `medium`, `high` … Each provider has its own words and adds new ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning_effort: Option<String>,
    /// The most tokens of a reply, reasoning included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_output_tokens: Option<u64>,
}

/// The abilities of a model. `providers/src/catalogue` has those of known models.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Capabilities {
    /// Without it the toolbelt is empty and a level is one text reply (N-170).
    pub tools: bool,
    /// Whether the model may emit several calls at once. The loop works either way (N-168, N-169).
    pub parallel_tool_calls: bool,
    /// Whether the model reasons before it answers. Such models need other request parameters.
    pub reasoning: bool,
    /// Whether the provider enforces a schema on its text.
    pub structured_output: bool,
    /// Whether it reads images and PDFs.
    pub vision: bool,
    /// The most tokens of a request; absent if unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context_tokens: Option<u64>,
    /// The most tokens of a reply, reasoning included; absent if unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_tokens: Option<u64>,
}

impl Default for Capabilities {
    /// The defaults of an unknown model: tools, which nearly all models have, and no option that a server might refuse.
    fn default() -> Self {
        Capabilities {
            tools: true,
            parallel_tool_calls: true,
            reasoning: false,
            structured_output: false,
            vision: false,
            context_tokens: None,
            output_tokens: None,
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
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct ToolCall {
    /// The provider's id of the call. The codec makes one up if the provider sends none.
    pub call_id: String,
    pub name: String,
    /// The arguments as the model wrote them. They should be a JSON object, but nothing has checked that yet.
    pub arguments: String,
}

/// An assistant message as its provider wrote it. Codecs return it only to the same model of the same provider over the
/// same API: other models refuse foreign reasoning (Mistral, OpenAI) or cannot read it (Anthropic).
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
    /// A message that this model sent over this API.
    pub fn of(choice: &ModelChoice, wire: &str, json: RawValueEq) -> Self {
        let (provider, model) = (choice.provider.clone(), choice.model.clone());
        RawMessage { provider, wire: wire.to_owned(), model, json }
    }

    /// The message, if this model sent it over this API.
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

/// Stores raw JSON as a string: serde reads tagged and flattened types through a buffer that cannot hold raw JSON, so
/// it could write such a journal entry and then fail to read it.
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
