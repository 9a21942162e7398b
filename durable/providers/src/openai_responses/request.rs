//! The request body.

use std::borrow::Cow;

use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::value::RawValue;

use crate::acceptable;
use crate::codec::unwritable;
use crate::json::Loose;
use crate::parts::{Piece, pieces, told_error};
use crate::replies::is_inline;
use crate::written::{Conversation, Written};
use wire::model::{
    Message, ModelChoice, ModelError, ModelRequest, RawValueEq, ToolCall, ToolChoice, ToolDefinition,
};

use super::WIRE;

/// The API requires a name for the schema and does not use it.
const SCHEMA_NAME: &str = "reply";

/// The body of a request for a streamed reply. `cache_key` is for OpenAI: other servers may refuse it.
pub fn body(
    request: &ModelRequest,
    cache_key: Option<&str>,
    written: &Written,
) -> Result<Vec<u8>, ModelError> {
    let choice = &*request.model;
    let tools: Vec<_> = request.tools.iter().map(Tool::of).collect();
    let schema = request.response_schema.as_deref().filter(|_| choice.capabilities.structured_output);
    let format = |schema| Format { kind: "json_schema", name: SCHEMA_NAME, schema, strict: false };
    let body = Body {
        model: &choice.model,
        instructions: &request.system,
        input: Conversation { system: None, messages: written.messages(request, input)? },
        tool_choice: match request.tool_choice {
            _ if tools.is_empty() => None,
            ToolChoice::Auto => None,
            ToolChoice::Required => Some("required"),
            ToolChoice::None => Some("none"),
        },
        parallel_tool_calls: (!tools.is_empty() && !choice.capabilities.parallel_tool_calls).then_some(false),
        tools,
        reasoning: choice.options.reasoning_effort.as_deref().map(|effort| Reasoning { effort }),
        text: schema.map(|schema| Text { format: format(schema) }),
        max_output_tokens: request.output_limit(),
        temperature: choice.options.temperature,
        store: false,
        // Models that do not reason refuse it: "Encrypted content is not supported with this model."
        include: choice.capabilities.reasoning.then_some(["reasoning.encrypted_content"]),
        service_tier: choice.options.service_tier.as_deref(),
        prompt_cache_key: cache_key,
        stream: true,
    };
    serde_json::to_vec(&body).map_err(unwritable)
}

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    instructions: &'a str,
    input: Conversation<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parallel_tool_calls: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning: Option<Reasoning<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<Text<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_output_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    store: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    include: Option<[&'static str; 1]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    service_tier: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt_cache_key: Option<&'a str>,
    stream: bool,
}

#[derive(Serialize)]
struct Reasoning<'a> {
    effort: &'a str,
}

#[derive(Serialize)]
struct Text<'a> {
    format: Format<'a>,
}

#[derive(Serialize)]
struct Format<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    name: &'static str,
    schema: &'a RawValueEq,
    /// False, because a strict schema must require every property.
    strict: bool,
}

#[derive(Serialize)]
struct Tool<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    name: &'a str,
    description: &'a str,
    parameters: &'a RawValueEq,
    /// False for the same reason; the API's default is true.
    strict: bool,
}

impl<'a> Tool<'a> {
    fn of(tool: &'a ToolDefinition) -> Self {
        Tool {
            kind: "function",
            name: &tool.name,
            description: &tool.description,
            parameters: &tool.input_schema,
            strict: false,
        }
    }
}

/// An item of the conversation.
pub enum InputItem<'a> {
    /// The provider's own item.
    Raw(&'a RawValue),
    User(Vec<Piece<'a>>),
    Assistant(&'a str),
    Call(&'a ToolCall),
    Output {
        call_id: &'a str,
        output: Cow<'a, str>,
    },
}

fn input<'a>(message: &'a Message, choice: &ModelChoice) -> Vec<InputItem<'a>> {
    match message {
        Message::User { content } => vec![InputItem::User(pieces(content, &choice.capabilities))],
        Message::Assistant { content, tool_calls, raw } => {
            // A raw message is the list of the reply's items.
            let items = raw.as_ref().and_then(|raw| raw.for_model(choice, WIRE));
            let items = items.and_then(|raw| wire::json::from_str::<Vec<&RawValue>>(raw.get()).ok());
            if let Some(items) = items.filter(|items| is_reply(items)) {
                return items.into_iter().map(InputItem::Raw).collect();
            }
            let text = (!content.is_empty()).then_some(InputItem::Assistant(content));
            text.into_iter().chain(tool_calls.iter().map(InputItem::Call)).collect()
        }
        Message::Tool { call_id, content, is_error, .. } => {
            vec![InputItem::Output { call_id, output: told_error(content, *is_error) }]
        }
    }
}

/// Whether raw items can be a reply to a request of ours, which offers functions alone. A server of its own may search.
/// Items of other types would have the provider run code, call servers or open objects of the operator's account. So would
/// reasoning without its text (`items::OutputKind::Reasoning`).
fn is_reply(items: &[&RawValue]) -> bool {
    #[derive(Deserialize)]
    struct Head<'a> {
        #[serde(borrow, default, rename = "type")]
        kind: Loose<'a>,
        #[serde(borrow, default)]
        role: Loose<'a>,
        #[serde(borrow, default)]
        encrypted_content: Loose<'a>,
        #[serde(default)]
        content: Option<Vec<IgnoredAny>>,
    }
    let is_ours = |head: Head<'_>| match head.kind.as_str() {
        "message" => head.role.as_str() == "assistant",
        "reasoning" => {
            !head.encrypted_content.as_str().is_empty()
                || head.content.is_some_and(|content| !content.is_empty())
        }
        "function_call" | "web_search_call" => true,
        _ => false,
    };
    let one = |item: &&RawValue| {
        wire::json::from_str::<Head<'_>>(item.get()).is_ok_and(is_ours) && is_inline(item, &[], &["file_id"])
    };
    !items.is_empty() && items.iter().all(one)
}

impl Serialize for InputItem<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        #[serde(tag = "type", rename_all = "snake_case")]
        enum Item<'a> {
            Message { role: &'static str, content: Content<'a> },
            FunctionCall { call_id: &'a str, name: &'a str, arguments: &'a str },
            FunctionCallOutput { call_id: &'a str, output: &'a str },
        }
        #[derive(Serialize)]
        #[serde(untagged)]
        enum Content<'a> {
            Text(&'a str),
            Parts(Vec<Part<'a>>),
        }
        #[derive(Serialize)]
        #[serde(tag = "type")]
        enum Part<'a> {
            #[serde(rename = "input_text")]
            Text { text: &'a str },
            #[serde(rename = "input_image")]
            Image { image_url: &'a str },
            #[serde(rename = "input_file")]
            File { filename: &'a str, file_data: &'a str },
        }
        match self {
            InputItem::Raw(raw) => raw.serialize(serializer),
            InputItem::User(pieces) => {
                let parts = pieces.iter().map(|piece| match piece {
                    Piece::Text(text) => Part::Text { text },
                    Piece::Image(data) => Part::Image { image_url: data.as_str() },
                    Piece::Pdf { name, data } => Part::File { filename: name, file_data: data.as_str() },
                });
                Item::Message { role: "user", content: Content::Parts(parts.collect()) }.serialize(serializer)
            }
            InputItem::Assistant(text) => {
                Item::Message { role: "assistant", content: Content::Text(text) }.serialize(serializer)
            }
            InputItem::Call(call) => Item::FunctionCall {
                call_id: &acceptable::call_id(&call.call_id),
                name: &acceptable::name(&call.name),
                arguments: &acceptable::arguments(&call.arguments),
            }
            .serialize(serializer),
            InputItem::Output { call_id, output } => {
                Item::FunctionCallOutput { call_id: &acceptable::call_id(call_id), output }
                    .serialize(serializer)
            }
        }
    }
}
