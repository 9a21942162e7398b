//! The request body.

use std::borrow::Cow;

use serde::de::IgnoredAny;
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

use crate::model::{Message, ModelError, ModelErrorKind, ModelRequest, RawValueEq, ToolCall};

/// What a server calls the limit of a reply. There is no name that all of them know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputLimit {
    /// `max_completion_tokens`: the only one that OpenAI's reasoning models take.
    Completion,
    /// `max_tokens`: what everybody else knows. Mistral refuses the other, older Ollama and vLLM pass it over, and the
    /// limit with it.
    Plain,
}

impl OutputLimit {
    /// What the server behind this URL calls it.
    pub fn of_server(url: &str) -> Self {
        let host = url.split('/').nth(2).unwrap_or_default();
        let host = host.split(':').next().unwrap_or_default().to_ascii_lowercase();
        let openai =
            ["api.openai.com", "openrouter.ai"].contains(&&*host) || host.ends_with(".openai.azure.com");
        if openai { OutputLimit::Completion } else { OutputLimit::Plain }
    }
}

/// The body that asks for the next reply, streamed.
pub fn body(request: &ModelRequest, limit: OutputLimit) -> Result<Vec<u8>, ModelError> {
    let choice = &*request.model;
    let system = (!request.system.is_empty()).then(|| WireMessage::System { content: &request.system });
    let messages = request.messages.iter().map(|message| wire_message(message, &choice.provider));
    let tools: Vec<_> = request
        .tools
        .iter()
        .map(|tool| WireTool {
            kind: "function",
            function: WireFunction {
                name: &tool.name,
                description: &tool.description,
                parameters: &tool.input_schema,
            },
        })
        .collect();
    let body = Body {
        model: &choice.model,
        messages: system.into_iter().chain(messages).collect(),
        // Servers that know the member may still refuse it without tools, and true is everybody's default.
        parallel_tool_calls: (!tools.is_empty() && !choice.capabilities.parallel_tool_calls).then_some(false),
        tools,
        max_completion_tokens: request.max_output_tokens.filter(|_| limit == OutputLimit::Completion),
        max_tokens: request.max_output_tokens.filter(|_| limit == OutputLimit::Plain),
        stream: true,
        stream_options: StreamOptions { include_usage: true },
    };
    serde_json::to_vec(&body).map_err(|_| ModelError {
        kind: ModelErrorKind::BadRequest,
        message: "The request to the model cannot be written as JSON.".into(),
    })
}

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    messages: Vec<WireMessage<'a>>,
    /// An empty list is refused by OpenAI and others.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<WireTool<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parallel_tool_calls: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_completion_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u64>,
    stream: bool,
    stream_options: StreamOptions,
}

#[derive(Serialize)]
struct StreamOptions {
    include_usage: bool,
}

#[derive(Serialize)]
struct WireTool<'a> {
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

enum WireMessage<'a> {
    System {
        content: &'a str,
    },
    User {
        content: &'a str,
    },
    Assistant {
        content: Option<&'a str>,
        tool_calls: &'a [ToolCall],
    },
    /// The provider's own words.
    Raw(&'a RawValue),
    Tool {
        call_id: &'a str,
        content: Cow<'a, str>,
    },
}

fn wire_message<'a>(message: &'a Message, provider: &str) -> WireMessage<'a> {
    match message {
        Message::User { content } => WireMessage::User { content },
        Message::Assistant { raw: Some(raw), .. } if raw.provider == provider => {
            WireMessage::Raw(&raw.json.0)
        }
        Message::Assistant { content, tool_calls, .. } => {
            // Some servers refuse an empty text beside calls, all take null there, and none takes null alone.
            let content = (!content.is_empty() || tool_calls.is_empty()).then_some(content.as_str());
            WireMessage::Assistant { content, tool_calls }
        }
        Message::Tool { call_id, content, is_error, .. } => {
            // The wire has no mark for an error, so the text has to say it.
            let content =
                match *is_error && !content.get(..5).is_some_and(|s| s.eq_ignore_ascii_case("error")) {
                    true => Cow::Owned(format!("Error: {content}")),
                    false => Cow::Borrowed(content.as_str()),
                };
            WireMessage::Tool { call_id, content }
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
            WireMessage::User { content } => Plain { role: "user", content }.serialize(serializer),
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
                name: acceptable_name(&call.name),
                arguments: acceptable_arguments(&call.arguments),
            },
        }
    }
}

/// The name as every server takes it: OpenAI refuses what does not match `^[a-zA-Z0-9_-]{1,64}$`. Only a call that
/// the model got wrong has such a name, and its result, which says so, is found by its id.
pub fn acceptable_name(name: &str) -> Cow<'_, str> {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    match name.len() {
        0 => Cow::Borrowed("unnamed"),
        1..=64 if name.chars().all(fits) => Cow::Borrowed(name),
        _ => Cow::Owned(name.chars().take(64).map(|c| if fits(c) { c } else { '_' }).collect()),
    }
}

/// The arguments as every server takes them: vLLM, llama.cpp and the compatible endpoints of Gemini and Anthropic
/// parse them and refuse the whole conversation over what is not an object. What the model got wrong it gets back in
/// the form in which clients see it, too.
pub fn acceptable_arguments(arguments: &str) -> Cow<'_, str> {
    #[derive(Serialize)]
    struct Wrapped<'a> {
        _raw: &'a str,
    }
    let object =
        arguments.trim_start().starts_with('{') && serde_json::from_str::<IgnoredAny>(arguments).is_ok();
    match object {
        true => Cow::Borrowed(arguments),
        false if arguments.trim().is_empty() => Cow::Borrowed("{}"),
        false => {
            Cow::Owned(serde_json::to_string(&Wrapped { _raw: arguments }).unwrap_or_else(|_| "{}".into()))
        }
    }
}
