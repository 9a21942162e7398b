//! The request body.

use std::borrow::Cow;
use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::acceptable;
use crate::codec::unwritable;
use crate::json::{Loose, Object};
use crate::parts::{Piece, pieces};
use wire::model::{Message, ModelError, ModelRequest, RawValueEq, ToolCall, ToolChoice, ToolDefinition};

use super::WIRE;

/// The signature of a call that another model made, or that was made before a cut. Gemini 3 refuses a call of the current
/// turn without a signature, and takes this one for it (<https://ai.google.dev/gemini-api/docs/thought-signatures>).
const FOREIGN: &str = "skip_thought_signature_validator";

/// The beginning of the names of models that check no signatures.
const UNSIGNED: [&str; 2] = ["gemini-1", "gemini-2"];

/// The body of a request for a streamed reply.
pub fn body(request: &ModelRequest) -> Result<Vec<u8>, ModelError> {
    let choice = &*request.model;
    let tools: Vec<_> = request.tools.iter().map(Declaration::of).collect();
    // Models before Gemini 3 refuse a schema beside tools.
    let schema = request.response_schema.as_deref();
    let schema = schema.filter(|_| choice.capabilities.structured_output && tools.is_empty());
    let mode = match request.tool_choice {
        _ if tools.is_empty() => None,
        ToolChoice::Auto => None,
        ToolChoice::Required => Some("ANY"),
        ToolChoice::None => Some("NONE"),
    };
    let config = Config {
        max_output_tokens: request.output_limit(),
        temperature: choice.options.temperature,
        response_mime_type: schema.map(|_| "application/json"),
        response_json_schema: schema,
        thinking_config: thinking(request),
    };
    let system = Part::text(Cow::Borrowed(&*request.system));
    let body = Body {
        system_instruction: (!request.system.is_empty())
            .then_some(Content { role: None, parts: vec![system] }),
        contents: contents(request),
        tools: (!tools.is_empty()).then_some([Tools { function_declarations: tools }]),
        tool_config: mode.map(|mode| ToolConfig { function_calling_config: CallingConfig { mode } }),
        generation_config: config.is_set().then_some(config),
        service_tier: choice.options.service_tier.as_deref(),
    };
    serde_json::to_vec(&body).map_err(unwritable)
}

/// Asks a model that reasons for its thoughts. The effort is a level (Gemini 3) or a number of tokens (before).
fn thinking(request: &ModelRequest) -> Option<Thinking<'_>> {
    let effort = request.model.options.reasoning_effort.as_deref();
    let budget = effort.and_then(|effort| effort.parse::<i64>().ok());
    let level = effort.filter(|_| budget.is_none());
    let thinks = request.model.capabilities.reasoning || effort.is_some();
    thinks.then_some(Thinking { include_thoughts: true, thinking_level: level, thinking_budget: budget })
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Body<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    system_instruction: Option<Content<'a>>,
    contents: Vec<Content<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tools: Option<[Tools<'a>; 1]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_config: Option<ToolConfig>,
    #[serde(skip_serializing_if = "Option::is_none")]
    generation_config: Option<Config<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    service_tier: Option<&'a str>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Config<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    max_output_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_mime_type: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_json_schema: Option<&'a RawValueEq>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking_config: Option<Thinking<'a>>,
}

impl Config<'_> {
    fn is_set(&self) -> bool {
        self.max_output_tokens.is_some()
            || self.temperature.is_some()
            || self.response_json_schema.is_some()
            || self.thinking_config.is_some()
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Thinking<'a> {
    include_thoughts: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking_level: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking_budget: Option<i64>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Tools<'a> {
    function_declarations: Vec<Declaration<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Declaration<'a> {
    name: &'a str,
    description: &'a str,
    parameters_json_schema: &'a RawValueEq,
}

impl<'a> Declaration<'a> {
    fn of(tool: &'a ToolDefinition) -> Self {
        Declaration {
            name: &tool.name,
            description: &tool.description,
            parameters_json_schema: &tool.input_schema,
        }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ToolConfig {
    function_calling_config: CallingConfig,
}

#[derive(Serialize)]
struct CallingConfig {
    mode: &'static str,
}

/// Consecutive messages of one side.
#[derive(Serialize)]
struct Content<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    role: Option<&'static str>,
    parts: Vec<Part<'a>>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Part<'a> {
    /// The provider's own part.
    Theirs(&'a RawValue),
    Ours(OurPart<'a>),
}

/// A part with one of its members.
#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct OurPart<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    inline_data: Option<InlineData<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    function_call: Option<FunctionCall<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thought_signature: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    function_response: Option<FunctionResponse<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct InlineData<'a> {
    mime_type: &'a str,
    /// In base64.
    data: &'a str,
}

#[derive(Serialize)]
struct FunctionCall<'a> {
    name: Cow<'a, str>,
    args: Box<RawValue>,
}

#[derive(Serialize)]
struct FunctionResponse<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
    name: Cow<'a, str>,
    response: Response<'a>,
}

/// A result. The API takes an object, with one of these names for a text.
#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
enum Response<'a> {
    Output(&'a str),
    Error(&'a str),
}

impl<'a> Part<'a> {
    fn text(text: Cow<'a, str>) -> Self {
        Part::Ours(OurPart { text: Some(text), ..OurPart::default() })
    }
}

/// The conversation. The results of parallel calls belong into one content.
fn contents(request: &ModelRequest) -> Vec<Content<'_>> {
    let messages = &request.messages;
    let current = request.current_turn();
    let mut contents: Vec<Content<'_>> = Vec::new();
    // The ids that the provider gave: a result names its call only by such an id.
    let mut ids: BTreeSet<Cow<'_, str>> = BTreeSet::new();
    for (place, message) in messages.iter().enumerate() {
        let (role, parts) = match &**message {
            Message::User { .. } => ("user", said(message, request)),
            Message::Tool { .. } => ("user", result(message, &ids).into_iter().collect()),
            Message::Assistant { .. } => ("model", replied(message, request, place > current, &mut ids)),
        };
        match contents.last_mut() {
            _ if parts.is_empty() => {}
            Some(last) if last.role == Some(role) => last.parts.extend(parts),
            _ => contents.push(Content { role: Some(role), parts }),
        }
    }
    if contents.last().is_some_and(|last| last.role == Some("model")) {
        // A paused reply of another model.
        contents.push(Content { role: Some("user"), parts: vec![Part::text(Cow::Borrowed("Go on."))] });
    }
    contents
}

fn said<'a>(message: &'a Message, request: &'a ModelRequest) -> Vec<Part<'a>> {
    let Message::User { content } = message else { return Vec::new() };
    let parts = pieces(content, &request.model.capabilities).into_iter().filter_map(|piece| match piece {
        // The API refuses an empty text.
        Piece::Text(text) if text.is_empty() => None,
        Piece::Text(text) => Some(Part::text(text)),
        Piece::Image(data) | Piece::Pdf { data, .. } => {
            let inline_data = Some(InlineData { mime_type: data.media_type(), data: data.base64() });
            Some(Part::Ours(OurPart { inline_data, ..OurPart::default() }))
        }
    });
    parts.collect()
}

fn result<'a>(message: &'a Message, ids: &BTreeSet<Cow<'a, str>>) -> Option<Part<'a>> {
    let Message::Tool { call_id, name, content, is_error } = message else { return None };
    let response = if *is_error { Response::Error(content) } else { Response::Output(content) };
    let id = ids.contains(call_id.as_str()).then_some(call_id.as_str());
    let function_response = Some(FunctionResponse { id, name: acceptable::name(name), response });
    Some(Part::Ours(OurPart { function_response, ..OurPart::default() }))
}

/// A reply of the model: its own parts, if this model wrote them.
fn replied<'a>(
    message: &'a Message,
    request: &'a ModelRequest,
    is_current: bool,
    ids: &mut BTreeSet<Cow<'a, str>>,
) -> Vec<Part<'a>> {
    let Message::Assistant { content, tool_calls, raw } = message else { return Vec::new() };
    let parts = raw.as_ref().and_then(|raw| raw.for_model(&request.model, WIRE));
    let parts = parts.and_then(|raw| wire::json::from_str::<Vec<&RawValue>>(raw.get()).ok());
    if let Some(parts) = parts.filter(|parts| is_reply(parts)) {
        ids.extend(parts.iter().filter_map(|part| id_of(part)));
        return parts.into_iter().map(Part::Theirs).collect();
    }
    let text = (!content.is_empty()).then(|| Part::text(Cow::Borrowed(content)));
    let signs = is_current && !UNSIGNED.iter().any(|name| request.model.model.starts_with(name));
    let calls = tool_calls.iter().enumerate().filter_map(|(number, call)| {
        // The first one of parallel calls has the signature.
        let thought_signature = (signs && number == 0).then_some(FOREIGN);
        Some(Part::Ours(OurPart {
            function_call: Some(called(call)?),
            thought_signature,
            ..OurPart::default()
        }))
    });
    text.into_iter().chain(calls).collect()
}

/// The members of the parts of a reply. `fileData` and `functionResponse` are the user's
/// (<https://ai.google.dev/api/caching#Part>); they have names in snake case too.
const OF_REPLIES: [&str; 7] = [
    "text",
    "thought",
    "thoughtSignature",
    "functionCall",
    "executableCode",
    "codeExecutionResult",
    "inlineData",
];

/// Whether raw parts can be a reply.
fn is_reply(parts: &[&RawValue]) -> bool {
    let one = |part: &&RawValue| {
        let members = wire::json::from_str::<Object<'_>>(part.get());
        members
            .is_ok_and(|members| members.unknown.iter().all(|(name, _)| OF_REPLIES.contains(&name.as_str())))
    };
    !parts.is_empty() && parts.iter().all(one)
}

fn called(call: &ToolCall) -> Option<FunctionCall<'_>> {
    let args = RawValue::from_string(acceptable::arguments(&call.arguments).into_owned()).ok()?;
    Some(FunctionCall { name: acceptable::name(&call.name), args })
}

/// The id of a part that is a call with an id.
fn id_of<'a>(part: &'a RawValue) -> Option<Cow<'a, str>> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Known<'a> {
        #[serde(borrow, default)]
        function_call: Option<KnownCall<'a>>,
    }
    #[derive(Deserialize)]
    struct KnownCall<'a> {
        #[serde(borrow, default)]
        id: Loose<'a>,
    }
    wire::json::from_str::<Known<'a>>(part.get()).ok()?.function_call?.id.0
}
