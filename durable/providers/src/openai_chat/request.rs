//! The request body.

use std::borrow::Cow;

use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::value::RawValue;

use crate::acceptable;
use crate::codec::unwritable;
use crate::json::Text;
use crate::parts::{Piece, pieces, plain, told_error};
use crate::replies::is_inline;
use crate::written::{Conversation, Written};
use wire::model::{
    Message, ModelChoice, ModelError, ModelRequest, RawMessage, RawValueEq, ToolCall, ToolChoice,
    ToolDefinition,
};

use super::WIRE;

/// The name of the limit of a reply. Servers differ, so no name works for all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputLimit {
    /// `max_completion_tokens`: the only name that OpenAI's reasoning models accept.
    Completion,
    /// `max_tokens`: the name that all other servers know. Mistral refuses the other name, and older versions of Ollama
    /// and vLLM ignore it.
    Plain,
}

impl OutputLimit {
    /// The name that the server of this URL knows.
    pub fn of_server(url: &str) -> Self {
        let host = url.split('/').nth(2).unwrap_or_default();
        let host = host.split(':').next().unwrap_or_default().to_ascii_lowercase();
        let openai =
            ["api.openai.com", "openrouter.ai"].contains(&&*host) || host.ends_with(".openai.azure.com");
        if openai { OutputLimit::Completion } else { OutputLimit::Plain }
    }
}

/// The body of a request for a streamed reply. `cache_key` is for OpenAI: other servers may refuse it.
pub fn body(
    request: &ModelRequest,
    limit: OutputLimit,
    cache_key: Option<&str>,
    written: &Written,
) -> Result<Vec<u8>, ModelError> {
    let choice = &*request.model;
    let tools: Vec<_> = request.tools.iter().map(WireTool::of).collect();
    let output = request.output_limit();
    let body = Body {
        model: &choice.model,
        messages: Conversation {
            system: system(request),
            messages: written
                .messages(request, |message, choice| vec![wire_message(message, choice, WIRE)])?,
        },
        // Left out without tools, because some servers refuse these members then. All servers have the same defaults.
        parallel_tool_calls: (!tools.is_empty() && !choice.capabilities.parallel_tool_calls).then_some(false),
        tool_choice: tool_choice(request),
        tools,
        response_format: response_format(request),
        temperature: choice.options.temperature,
        reasoning_effort: choice.options.reasoning_effort.as_deref(),
        max_completion_tokens: output.filter(|_| limit == OutputLimit::Completion),
        max_tokens: output.filter(|_| limit == OutputLimit::Plain),
        service_tier: choice.options.service_tier.as_deref(),
        prompt_cache_key: cache_key,
        stream: true,
        stream_options: StreamOptions { include_usage: true },
    };
    serde_json::to_vec(&body).map_err(unwritable)
}

/// The conversation with its system prompt. Raw messages of `wire` return unchanged.
pub fn messages<'a>(request: &'a ModelRequest, wire: &str) -> Vec<WireMessage<'a>> {
    let messages = request.messages.iter().map(|message| wire_message(message, &request.model, wire));
    system(request).into_iter().chain(messages).collect()
}

fn system(request: &ModelRequest) -> Option<WireMessage<'_>> {
    (!request.system.is_empty()).then(|| WireMessage::System { content: &request.system })
}

/// `tool_choice`, if it differs from the default.
pub fn tool_choice(request: &ModelRequest) -> Option<&'static str> {
    match request.tool_choice {
        _ if request.tools.is_empty() => None,
        ToolChoice::Auto => None,
        ToolChoice::Required => Some("required"),
        ToolChoice::None => Some("none"),
    }
}

/// `response_format`, if there is a schema and the model supports structured output.
fn response_format(request: &ModelRequest) -> Option<ResponseFormat<'_>> {
    let schema =
        request.response_schema.as_deref().filter(|_| request.model.capabilities.structured_output)?;
    Some(ResponseFormat { kind: "json_schema", json_schema: NamedSchema { name: SCHEMA_NAME, schema } })
}

/// The API requires a name for the schema and does not use it.
const SCHEMA_NAME: &str = "reply";

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    messages: Conversation<WireMessage<'a>>,
    /// OpenAI and others refuse an empty list.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<WireTool<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parallel_tool_calls: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_format: Option<ResponseFormat<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_effort: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_completion_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    service_tier: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt_cache_key: Option<&'a str>,
    stream: bool,
    stream_options: StreamOptions,
}

#[derive(Serialize)]
struct ResponseFormat<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    json_schema: NamedSchema<'a>,
}

#[derive(Serialize)]
struct NamedSchema<'a> {
    name: &'static str,
    schema: &'a RawValueEq,
}

#[derive(Serialize)]
struct StreamOptions {
    include_usage: bool,
}

/// A tool. Workers AI uses the same form.
#[derive(Serialize)]
pub struct WireTool<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    function: WireFunction<'a>,
}

#[derive(Serialize)]
struct WireFunction<'a> {
    name: &'a str,
    description: &'a str,
    parameters: &'a RawValueEq,
}

impl<'a> WireTool<'a> {
    pub fn of(tool: &'a ToolDefinition) -> Self {
        let (name, description) = (&*tool.name, &*tool.description);
        WireTool {
            kind: "function",
            function: WireFunction { name, description, parameters: &tool.input_schema },
        }
    }
}

pub enum WireMessage<'a> {
    System {
        content: &'a str,
    },
    User {
        content: UserContent<'a>,
    },
    Assistant {
        content: Option<&'a str>,
        tool_calls: &'a [ToolCall],
    },
    /// The provider's own message.
    Raw(&'a RawValue),
    Tool {
        call_id: &'a str,
        content: Cow<'a, str>,
    },
}

impl WireMessage<'_> {
    /// Replaces a null content by an empty text, because Workers AI refuses null.
    pub fn with_text(self) -> Self {
        match self {
            WireMessage::Assistant { content: None, tool_calls } => {
                WireMessage::Assistant { content: Some(""), tool_calls }
            }
            other => other,
        }
    }
}

fn wire_message<'a>(message: &'a Message, choice: &ModelChoice, wire: &str) -> WireMessage<'a> {
    match message {
        Message::User { content } => {
            let pieces = pieces(content, &choice.capabilities);
            // Many servers accept only a string.
            WireMessage::User {
                content: plain(&pieces).map_or(UserContent::Parts(pieces), UserContent::Text),
            }
        }
        Message::Assistant { content, tool_calls, raw } => {
            if let Some(raw) = raw.as_ref().and_then(|raw| raw_reply(raw, choice, wire)) {
                return WireMessage::Raw(raw);
            }
            // Some servers refuse an empty text beside calls. All accept null there, and none accepts null without
            // calls.
            let content = (!content.is_empty() || tool_calls.is_empty()).then_some(content.as_str());
            WireMessage::Assistant { content, tool_calls }
        }
        Message::Tool { call_id, content, is_error, .. } => {
            WireMessage::Tool { call_id, content: told_error(content, *is_error) }
        }
    }
}

/// The raw message of a reply of this API, in the form of `response::raw_message`. It returns even after a cut, because
/// DeepSeek refuses a call without its reasoning, and plain reasoning is bound to no other message. Gateways to Anthropic
/// have signed blocks beside it, which are.
fn raw_reply<'a>(raw: &'a RawMessage, choice: &ModelChoice, wire: &str) -> Option<&'a RawValue> {
    #[derive(Deserialize)]
    struct Head<'a> {
        #[serde(borrow)]
        role: Text<'a>,
        /// A list of parts could have pictures.
        #[serde(borrow, default, rename = "content")]
        _content: Option<Text<'a>>,
        /// OpenRouter's name.
        #[serde(default)]
        reasoning_details: Option<IgnoredAny>,
        /// LiteLLM's name.
        #[serde(default)]
        thinking_blocks: Option<IgnoredAny>,
    }
    let json = raw.of_model(choice, wire)?;
    let head = wire::json::from_str::<Head<'_>>(json.get()).ok()?;
    let is_signed = head.reasoning_details.is_some() || head.thinking_blocks.is_some();
    // `audio` names a reply in the operator's account.
    let is_reply = head.role.as_str() == "assistant" && is_inline(json, &[], &["file_id", "audio"]);
    (is_reply && !(is_signed && raw.is_cut_off)).then_some(json)
}

/// The content of a user's message.
pub enum UserContent<'a> {
    Text(String),
    Parts(Vec<Piece<'a>>),
}

impl Serialize for UserContent<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        #[serde(tag = "type", rename_all = "snake_case")]
        enum Part<'a> {
            Text { text: &'a str },
            ImageUrl { image_url: Url<'a> },
            File { file: File<'a> },
        }
        #[derive(Serialize)]
        struct Url<'a> {
            url: &'a str,
        }
        #[derive(Serialize)]
        struct File<'a> {
            filename: &'a str,
            file_data: &'a str,
        }
        match self {
            UserContent::Text(text) => serializer.serialize_str(text),
            UserContent::Parts(pieces) => serializer.collect_seq(pieces.iter().map(|piece| match piece {
                Piece::Text(text) => Part::Text { text },
                Piece::Image(data) => Part::ImageUrl { image_url: Url { url: data.as_str() } },
                Piece::Pdf { name, data } => {
                    Part::File { file: File { filename: name, file_data: data.as_str() } }
                }
            })),
        }
    }
}

impl Serialize for WireMessage<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Plain<'a> {
            role: &'static str,
            content: &'a str,
        }
        #[derive(Serialize)]
        struct User<'a> {
            role: &'static str,
            content: &'a UserContent<'a>,
        }
        #[derive(Serialize)]
        struct Assistant<'a> {
            role: &'static str,
            content: Option<&'a str>,
            #[serde(skip_serializing_if = "Vec::is_empty")]
            tool_calls: Vec<WireCall<'a>>,
        }
        #[derive(Serialize)]
        struct Tool<'a> {
            role: &'static str,
            tool_call_id: &'a str,
            content: &'a str,
        }
        match self {
            WireMessage::System { content } => Plain { role: "system", content }.serialize(serializer),
            WireMessage::User { content } => User { role: "user", content }.serialize(serializer),
            WireMessage::Assistant { content, tool_calls } => {
                let tool_calls = tool_calls.iter().map(WireCall::of).collect();
                Assistant { role: "assistant", content: *content, tool_calls }.serialize(serializer)
            }
            WireMessage::Raw(raw) => raw.serialize(serializer),
            WireMessage::Tool { call_id, content } => {
                Tool { role: "tool", tool_call_id: call_id, content }.serialize(serializer)
            }
        }
    }
}

#[derive(Serialize)]
struct WireCall<'a> {
    id: &'a str,
    #[serde(rename = "type")]
    kind: &'static str,
    function: WireCalled<'a>,
}

#[derive(Serialize)]
struct WireCalled<'a> {
    name: Cow<'a, str>,
    arguments: Cow<'a, str>,
}

impl<'a> WireCall<'a> {
    fn of(call: &'a ToolCall) -> Self {
        WireCall {
            id: &call.call_id,
            kind: "function",
            function: WireCalled {
                name: acceptable::name(&call.name),
                arguments: acceptable::arguments(&call.arguments),
            },
        }
    }
}
