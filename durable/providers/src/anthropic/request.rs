//! The request body.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::acceptable;
use crate::codec::unwritable;
use crate::json::Loose;
use crate::parts::{Piece, pieces};
use crate::replies::is_inline;
use wire::model::{Message, ModelChoice, ModelError, ModelRequest, RawValueEq, ToolChoice, ToolDefinition};
use wire::protocol::DataUrl;

use super::WIRE;

/// The API requires a limit in every request. This is the smallest maximum of all current models (Claude Opus 4), and
/// thinking counts.
const MAX_TOKENS: u64 = 32_000;

/// The body of a request for a streamed reply.
pub fn body(request: &ModelRequest) -> Result<Vec<u8>, ModelError> {
    let choice = &*request.model;
    let effort = choice.options.reasoning_effort.as_deref();
    let schema = request.response_schema.as_deref().filter(|_| choice.capabilities.structured_output);
    let (thinks, adapts) = (thinks(choice), choice.capabilities.adaptive_thinking);
    let output = OutputConfig { effort, format: schema.map(|schema| Format { kind: "json_schema", schema }) };
    let system = System { kind: "text", text: &request.system, cache_control: CacheControl::EPHEMERAL };
    let body = Body {
        model: &choice.model,
        max_tokens: request.output_limit().unwrap_or(MAX_TOKENS),
        system: (!request.system.is_empty()).then_some([system]),
        messages: turns(request),
        tools: request.tools.iter().map(Tool::of).collect(),
        tool_choice: tool_choice(request),
        thinking: thinks.then_some(Thinking { kind: "adaptive", display: "summarized" }),
        output_config: (output.effort.is_some() || output.format.is_some()).then_some(output),
        temperature: choice.options.temperature.filter(|_| !(thinks && adapts == Some(true))),
        service_tier: choice.options.service_tier.as_deref(),
        stream: true,
    };
    serde_json::to_vec(&body).map_err(unwritable)
}

/// Whether the request asks for thinking. Models since Claude 4.6 adapt it to the request and to the effort, and show it
/// only on request: what they say between two calls would come empty. Beside thinking the API takes no temperature, so a
/// temperature without an effort asks for none.
fn thinks(choice: &ModelChoice) -> bool {
    let has_effort = choice.options.reasoning_effort.is_some();
    match choice.capabilities.adaptive_thinking {
        Some(adapts) => adapts && (has_effort || choice.options.temperature.is_none()),
        None => has_effort,
    }
}

/// The codec does not force a call, because the API refuses that for thinking models, and the newest models always
/// think. The loop's prompt asks for the call instead.
fn tool_choice(request: &ModelRequest) -> Option<Choice> {
    let one_at_a_time = !request.model.capabilities.parallel_tool_calls;
    match request.tool_choice {
        _ if request.tools.is_empty() => None,
        ToolChoice::None => Some(Choice { kind: "none", disable_parallel_tool_use: None }),
        ToolChoice::Auto | ToolChoice::Required => {
            one_at_a_time.then_some(Choice { kind: "auto", disable_parallel_tool_use: Some(true) })
        }
    }
}

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    max_tokens: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    system: Option<[System<'a>; 1]>,
    messages: Vec<Turn<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<Choice>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking: Option<Thinking>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_config: Option<OutputConfig<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    service_tier: Option<&'a str>,
    stream: bool,
}

/// A cache mark: the next request may read everything up to here from the cache. Tools precede the system prompt, so
/// its mark includes them. The other mark is at the end of the conversation, which the loop only extends. The API
/// allows four marks.
#[derive(Clone, Copy, Serialize)]
struct CacheControl {
    #[serde(rename = "type")]
    kind: &'static str,
}

impl CacheControl {
    const EPHEMERAL: CacheControl = CacheControl { kind: "ephemeral" };
}

#[derive(Serialize)]
struct System<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    text: &'a str,
    cache_control: CacheControl,
}

#[derive(Serialize)]
struct Tool<'a> {
    name: &'a str,
    description: &'a str,
    input_schema: &'a RawValueEq,
}

impl<'a> Tool<'a> {
    fn of(tool: &'a ToolDefinition) -> Self {
        Tool { name: &tool.name, description: &tool.description, input_schema: &tool.input_schema }
    }
}

#[derive(Serialize)]
struct Choice {
    #[serde(rename = "type")]
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    disable_parallel_tool_use: Option<bool>,
}

#[derive(Serialize)]
struct Thinking {
    #[serde(rename = "type")]
    kind: &'static str,
    display: &'static str,
}

#[derive(Serialize)]
struct OutputConfig<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    effort: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    format: Option<Format<'a>>,
}

#[derive(Serialize)]
struct Format<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    schema: &'a RawValueEq,
}

/// Consecutive messages of one side.
#[derive(Serialize)]
struct Turn<'a> {
    role: &'static str,
    content: Vec<Block<'a>>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Block<'a> {
    /// The provider's own block.
    Theirs(&'a RawValue),
    Ours {
        #[serde(flatten)]
        part: Part<'a>,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<CacheControl>,
    },
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Part<'a> {
    Text {
        text: Cow<'a, str>,
    },
    Image {
        source: Source<'a>,
    },
    Document {
        title: &'a str,
        source: Source<'a>,
    },
    ToolUse {
        id: Cow<'a, str>,
        name: Cow<'a, str>,
        input: Box<RawValue>,
    },
    ToolResult {
        tool_use_id: Cow<'a, str>,
        #[serde(skip_serializing_if = "str::is_empty")]
        content: &'a str,
        #[serde(skip_serializing_if = "is_false")]
        is_error: bool,
    },
}

#[derive(Serialize)]
struct Source<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    media_type: &'a str,
    data: &'a str,
}

fn is_false(flag: &bool) -> bool {
    !flag
}

/// The conversation. The results of parallel calls belong into one message, which may also have the user's next
/// message.
fn turns(request: &ModelRequest) -> Vec<Turn<'_>> {
    let messages = &request.messages;
    let current = request.current_turn();
    let mut turns: Vec<Turn<'_>> = Vec::new();
    for (place, message) in messages.iter().enumerate() {
        let (role, content) = match &**message {
            Message::User { .. } | Message::Tool { .. } => ("user", said(message, &request.model)),
            Message::Assistant { .. } => ("assistant", replied(message, &request.model, place > current)),
        };
        match turns.last_mut() {
            _ if content.is_empty() => {}
            Some(last) if last.role == role => last.content.extend(content),
            _ => turns.push(Turn { role, content }),
        }
    }
    if let Some(Turn { role: "assistant", content }) = turns.last()
        && matches!(content.last(), Some(Block::Ours { .. }))
    {
        // A paused reply of another model: the newest models continue only their own replies.
        let go_on = Part::Text { text: Cow::Borrowed("Go on.") };
        turns.push(Turn { role: "user", content: vec![block(go_on)] });
    }
    let ours = |turn: &&mut Turn<'_>| matches!(turn.content.last(), Some(Block::Ours { .. }));
    if let Some(Block::Ours { cache_control, .. }) =
        turns.iter_mut().rev().find(ours).and_then(|turn| turn.content.last_mut())
    {
        *cache_control = Some(CacheControl::EPHEMERAL);
    }
    turns
}

fn block(part: Part<'_>) -> Block<'_> {
    Block::Ours { part, cache_control: None }
}

/// The content of a user's message or of a tool's result.
fn said<'a>(message: &'a Message, choice: &ModelChoice) -> Vec<Block<'a>> {
    let source =
        |data: &'a DataUrl| Source { kind: "base64", media_type: data.media_type(), data: data.base64() };
    match message {
        Message::User { content } => pieces(content, &choice.capabilities)
            .into_iter()
            .filter_map(|piece| match piece {
                // Anthropic refuses an empty text.
                Piece::Text(text) if text.trim().is_empty() => None,
                Piece::Text(text) => Some(Part::Text { text }),
                Piece::Image(data) => Some(Part::Image { source: source(data) }),
                Piece::Pdf { name, data } => Some(Part::Document { title: name, source: source(data) }),
            })
            .map(block)
            .collect(),
        Message::Tool { call_id, content, is_error, .. } => {
            // Anthropic refuses an error without text.
            let content = if content.is_empty() && *is_error { "error" } else { content };
            let tool_use_id = acceptable::call_id(call_id);
            vec![block(Part::ToolResult { tool_use_id, content, is_error: *is_error })]
        }
        Message::Assistant { .. } => Vec::new(),
    }
}

/// A reply of the model: its own blocks, if this model wrote them.
/// The codec returns thinking only within its turn, where Anthropic requires it. It leaves out the thinking of earlier
/// turns, and of messages before a cut: the newest models bind a thinking block to everything before it, so with a new
/// system prompt or without the oldest messages the API would refuse the whole conversation for good. It takes a
/// conversation whose first thinking blocks are missing
/// (<https://platform.claude.com/docs/en/build-with-claude/preserved-thinking>).
fn replied<'a>(message: &'a Message, choice: &ModelChoice, is_current: bool) -> Vec<Block<'a>> {
    let Message::Assistant { content, tool_calls, raw } = message else { return Vec::new() };
    let blocks = raw.as_ref().and_then(|raw| raw.for_model(choice, WIRE));
    let blocks = blocks.and_then(|raw| wire::json::from_str::<Vec<&RawValue>>(raw.get()).ok());
    if let Some(blocks) = blocks.filter(|blocks| is_reply(blocks)) {
        return blocks
            .into_iter()
            .filter(|block| is_current || !is_thinking(block))
            .map(Block::Theirs)
            .collect();
    }
    // Anthropic refuses white space at the end of the last message.
    let text = content.trim_end();
    let text = (!text.is_empty()).then_some(Part::Text { text: Cow::Borrowed(text) });
    let calls = tool_calls.iter().filter_map(|call| {
        let input = RawValue::from_string(acceptable::arguments(&call.arguments).into_owned()).ok()?;
        Some(Part::ToolUse {
            id: acceptable::call_id(&call.call_id),
            name: acceptable::name(&call.name),
            input,
        })
    });
    text.into_iter().chain(calls).map(block).collect()
}

fn is_thinking(block: &RawValue) -> bool {
    kind(block).is_some_and(|kind| matches!(&*kind, "thinking" | "redacted_thinking"))
}

/// Whether raw blocks can be a reply. Anthropic's own tools have results of many types, with files that the code made; the
/// result of a tool of ours is the user's.
fn is_reply(blocks: &[&RawValue]) -> bool {
    let is_ours = |kind: Cow<'_, str>| match &*kind {
        "text" | "thinking" | "redacted_thinking" | "compaction" => true,
        "tool_use" | "server_tool_use" | "mcp_tool_use" => true,
        other => other.ends_with("_tool_result"),
    };
    let one = |block: &&RawValue| kind(block).is_some_and(is_ours) && is_inline(block, &["input"], &[]);
    !blocks.is_empty() && blocks.iter().all(one)
}

/// The type of a block; none where it has two.
fn kind(block: &RawValue) -> Option<Cow<'_, str>> {
    #[derive(Deserialize)]
    struct BlockType<'a> {
        #[serde(borrow, default, rename = "type")]
        kind: Loose<'a>,
    }
    wire::json::from_str::<BlockType<'_>>(block.get()).ok()?.kind.0
}
