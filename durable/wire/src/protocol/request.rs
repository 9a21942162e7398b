//! The body of `POST /api/chat`: its type, and the checks that need no storage.

use std::str::from_utf8;

use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use uuid::Uuid;

use super::media::ONE_MODE;
use super::path;
use super::words::{self, not_json, not_utf8};
use super::workspace::check_workspace;
use super::{
    AGENT_NAME, ApiError, Content, ErrorCode, IfRunning, MAX_INSTRUCTIONS_BYTES, hook::name_of_agent,
};
use crate::json::or_default;
use crate::model::RawValueEq;

/// The longest name of a context's type or entity, in characters: prompts contain them.
const MAX_CONTEXT_CHARS: usize = 200;
/// The longest address and title of a tab, in characters.
const MAX_TAB_CHARS: usize = 2_000;
/// Text without control characters, for the schema.
#[cfg(feature = "openapi")]
const NO_CONTROL: &str = r"^[^\x00-\x1f\x7f-\x9f]*$";
/// The deepest nesting of a body. serde_json itself refuses 128 levels.
pub const MAX_JSON_DEPTH: usize = 64;
/// The most values of a body, and of each part of a chat that is read by itself. A tree of so many objects takes 3 ms to
/// build, and it is built again where it goes on to a thread. The largest tools that a request may bring have fewer.
pub const MAX_JSON_VALUES: usize = 10_000;
/// The largest integer of a body, `request_seq` among them: the largest that JavaScript represents exactly.
pub(super) const MAX_SEQ: u64 = (1 << 53) - 1;

/// The longest name of a time zone, in bytes.
const MAX_TIME_ZONE: usize = 64;
/// The most collections that one turn searches.
const MAX_CHOSEN: usize = 8;

/// The user's message in a turn that continues another one.
pub const CONTINUE: &str = "Continue.";

/// The content of a request without a message.
pub(super) fn unsaid() -> Content {
    Content::Parts(Vec::new())
}

/// A chat message with the options of the client. The service ignores unknown members. Older clients send `tools` and
/// `agent_mode`, which have no effect.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(optional_fields))]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
// An `anyOf` beside the properties would be another type to generators of types.
#[cfg_attr(
    feature = "openapi",
    schemars(extend("allOf" = [{"anyOf": [{"required": ["content"]}, {"required": ["continue"]}]}]))
)]
pub struct ChatRequest {
    /// The user's message. A request that continues a turn has none.
    #[serde(default = "unsaid")]
    #[cfg_attr(test, ts(optional, as = "Option<Content>"))]
    pub content: Content,
    /// The newest turn of the thread, which ended for a limit: the new turn goes on from its history with a budget of its
    /// own.
    #[serde(default, rename = "continue")]
    pub continued: Option<Uuid>,
    #[serde(default)]
    pub thread_id: Option<Uuid>,
    #[serde(default)]
    pub turn_id: Option<Uuid>,
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schemars(range(max = MAX_SEQ)))]
    pub request_seq: Option<u64>,
    /// How the request meets a turn that has not ended. Without it the request is refused, or stops that turn if it has a
    /// `request_seq`.
    #[serde(default)]
    pub if_running: Option<IfRunning>,
    #[serde(default)]
    pub chat_context: Option<ChatContext>,
    /// Asks for a router or a swarm. Without it a turn runs the plain loop.
    #[serde(default)]
    pub mode_profile: Option<ModeProfile>,
    #[serde(default)]
    pub browser_context: Option<BrowserContext>,
    #[serde(default)]
    pub cancel_on_disconnect: Option<bool>,
    #[serde(default)]
    pub model: Option<String>,
    #[serde(default)]
    pub memory_enabled: Option<bool>,
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schemars(with = "Option<Vec<Uuid>>", length(max = MAX_CHOSEN)))]
    pub collections: Option<Vec<String>>,
    /// `workflow`: the turn works on a session of the workflow `workflow_id`, whatever else the request asks for. Other
    /// values have no effect.
    #[serde(default)]
    pub workflow_target: Option<String>,
    #[serde(default)]
    pub workflow_id: Option<String>,
    /// The service makes no media: another `mode` than `chat` is refused. The other members have no effect.
    #[serde(default)]
    #[cfg_attr(test, ts(optional, type = "Record<string, unknown>"))]
    #[cfg_attr(feature = "openapi", schemars(extend("properties" = {"mode": {"enum": ["chat", null]}})))]
    pub media_generation: Option<Map<String, Value>>,
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schemars(length(max = 128)))]
    pub client_tools: Option<Vec<ClientTool>>,
    /// Whether calls of these tools in one reply are asked at once. Without it, and in the editor, they are asked one at a
    /// time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_tools_at_once: Option<bool>,
    /// A JSON Schema of type object. The answer is then JSON that satisfies it, as text, and comes once it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, ts(optional, type = "Record<string, unknown>"))]
    #[cfg_attr(feature = "openapi", schemars(with = "Option<Map<String, Value>>"))]
    pub response_schema: Option<RawValueEq>,
    /// The client's tools of which the model must call one before it answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schemars(length(min = 1, max = 128)))]
    pub must_call: Option<Vec<String>>,
    /// Instructions of the client for this turn, below those of the service. At most 20,000 bytes of UTF-8. A blank text is
    /// none.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schemars(length(max = MAX_INSTRUCTIONS_BYTES)))]
    pub instructions: Option<String>,
    /// The user's time zone, a name of the IANA time zone database: the model gets the time there beside UTC. An unknown
    /// name is refused.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schemars(length(max = MAX_TIME_ZONE)))]
    pub time_zone: Option<String>,
    #[serde(default)]
    pub include: Option<Vec<String>>,
    #[serde(default)]
    pub replaces_message_id: Option<Uuid>,
    /// The named workspace that the turn uses instead of the thread's own.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schemars(length(max = super::WORKSPACE_NAME.max), regex(pattern = super::WORKSPACE_NAME.pattern())))]
    pub workspace: Option<String>,
    /// Asks for agents that stay: the model may make them, and those of earlier turns are there again.
    #[serde(default)]
    pub agents: Option<bool>,
    /// The agent that answers in place of `main`, which does not hear it, or `hook:NAME`. It asks for agents as well.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schemars(length(max = super::HOOK_AGENT.len() + AGENT_NAME.max)))]
    pub agent: Option<String>,
    /// The service accepts and ignores this member (requirements N-018, N-186).
    #[serde(default, skip_serializing)]
    #[cfg_attr(test, ts(skip))]
    #[cfg_attr(feature = "openapi", schemars(with = "Value"))]
    pub agent_mode: Option<IgnoredAny>,
    /// The service ignores this member: it alone decides on tools (requirement N-110).
    #[serde(default, skip_serializing)]
    #[cfg_attr(test, ts(skip))]
    #[cfg_attr(feature = "openapi", schemars(with = "Value"))]
    pub tools: Option<IgnoredAny>,
}

/// A tool that the client carries out. Its calls wait for the client's result. The toolbelt checks the declaration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct ClientTool {
    #[cfg_attr(feature = "openapi", schemars(length(max = 64), regex(pattern = r"^ui_[a-z0-9_]+$")))]
    pub name: String,
    /// The client's own name for the tool, where `name` is a shortened form of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schemars(length(min = 1, max = 64), regex(pattern = "^[ -~]+$")))]
    pub client_name: Option<String>,
    #[cfg_attr(feature = "openapi", schemars(length(max = 2000), regex(pattern = r"\S")))]
    pub description: String,
    /// A JSON Schema of any draft, or of OpenAPI 3.0. It is of type object, and so is one without a type, null or none.
    #[serde(default, deserialize_with = "or_default", alias = "parameters", alias = "inputSchema")]
    #[cfg_attr(test, ts(type = "Record<string, unknown>"))]
    #[cfg_attr(feature = "openapi", schemars(with = "Option<Map<String, Value>>"))]
    pub input_schema: Map<String, Value>,
}

/// The mode that a request chooses for its turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ModeProfile {
    /// A router call decides between a short loop and a swarm.
    AutoRoute,
    /// A plan, its steps one after the other, a synthesis.
    Swarm,
}

/// The browser tab that the user has open beside the chat.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(optional_fields))]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct BrowserContext {
    #[cfg_attr(feature = "openapi", schemars(length(max = MAX_TAB_CHARS)))]
    #[serde(default, alias = "activeTabUrl", skip_serializing_if = "Option::is_none")]
    pub active_tab_url: Option<String>,
    #[cfg_attr(feature = "openapi", schemars(length(max = MAX_TAB_CHARS)))]
    #[serde(default, alias = "activeTabTitle", skip_serializing_if = "Option::is_none")]
    pub active_tab_title: Option<String>,
    #[cfg_attr(feature = "openapi", schemars(range(max = u32::MAX)))]
    #[serde(default, alias = "tabCount", skip_serializing_if = "Option::is_none")]
    pub tab_count: Option<u32>,
}

/// The context of the chat. It decides the toolbelt and the profile.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(optional_fields))]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct ChatContext {
    #[serde(default)]
    pub kind: ContextKind,
    #[cfg_attr(feature = "openapi", schemars(length(max = MAX_CONTEXT_CHARS), regex(pattern = NO_CONTROL)))]
    #[serde(default, alias = "contextType", skip_serializing_if = "Option::is_none")]
    pub context_type: Option<String>,
    #[serde(default, alias = "workflowId", skip_serializing_if = "Option::is_none")]
    pub workflow_id: Option<String>,
    #[cfg_attr(feature = "openapi", schemars(length(max = MAX_CONTEXT_CHARS), regex(pattern = NO_CONTROL)))]
    #[serde(default, alias = "entityId", skip_serializing_if = "Option::is_none")]
    pub entity_id: Option<String>,
}

/// The kinds of chat context; `thread` by default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(test, derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub enum ContextKind {
    #[default]
    Thread,
    Editor,
}

impl ContextKind {
    /// The wire's name.
    pub const fn as_str(self) -> &'static str {
        match self {
            ContextKind::Thread => "thread",
            ContextKind::Editor => "editor",
        }
    }
}

/// Reads the body of a dialect's request: a JSON object. The error names the first offending member.
pub fn read_body<'de, T: Deserialize<'de>>(body: &'de [u8]) -> Result<T, ApiError> {
    read(body)
}

/// Reads a body as a JSON object. The error names the first offending member.
pub(super) fn read<'de, T: Deserialize<'de>>(body: &'de [u8]) -> Result<T, ApiError> {
    check_size(body, MAX_JSON_VALUES)?;
    read_sized(body)
}

/// Reads a body whose size was checked.
pub(super) fn read_sized<'de, T: Deserialize<'de>>(body: &'de [u8]) -> Result<T, ApiError> {
    let text = from_utf8(body).map_err(|error| not_utf8(body, error.valid_up_to()))?;
    crate::json::from_str(text).map_err(|error| refusal(text, &error))
}

impl ChatRequest {
    /// Reads and checks a body. The error names the first offending member.
    pub fn parse(body: &[u8]) -> Result<ChatRequest, ApiError> {
        let mut request: ChatRequest = read(body)?;
        if request.continued.is_some() {
            request.check_continuation()?;
            request.content = CONTINUE.into();
        }
        request.checked()
    }

    /// The request, if its members are within their limits.
    pub fn checked(self) -> Result<ChatRequest, ApiError> {
        self.check()?;
        Ok(self)
    }

    fn check(&self) -> Result<(), ApiError> {
        self.content.check()?;
        let context = self.chat_context.as_ref();
        let names = [
            ("chat_context.context_type", context.and_then(|context| context.context_type.as_deref())),
            ("chat_context.entity_id", context.and_then(|context| context.entity_id.as_deref())),
        ];
        let browser = self.browser_context.as_ref();
        let tab = [
            ("browser_context.active_tab_url", browser.and_then(|browser| browser.active_tab_url.as_deref())),
            (
                "browser_context.active_tab_title",
                browser.and_then(|browser| browser.active_tab_title.as_deref()),
            ),
        ];
        for (field, text) in tab.into_iter().filter_map(|(field, text)| Some((field, text?))) {
            if text.chars().nth(MAX_TAB_CHARS).is_some() {
                return Err(ApiError::field(field, format!("at most {MAX_TAB_CHARS} characters")));
            }
        }
        for (field, name) in names.into_iter().filter_map(|(field, name)| Some((field, name?))) {
            if name.chars().nth(MAX_CONTEXT_CHARS).is_some() || name.chars().any(char::is_control) {
                let detail = format!("at most {MAX_CONTEXT_CHARS} characters, none of control");
                return Err(ApiError::field(field, detail));
            }
        }
        if self.instructions.as_ref().is_some_and(|text| text.len() > MAX_INSTRUCTIONS_BYTES) {
            return Err(ApiError::field("instructions", format!("at most {MAX_INSTRUCTIONS_BYTES} bytes")));
        }
        if self.time_zone.as_ref().is_some_and(|zone| zone.len() > MAX_TIME_ZONE) {
            return Err(ApiError::field("time_zone", format!("at most {MAX_TIME_ZONE} bytes")));
        }
        if self.collections.as_ref().is_some_and(|ids| ids.len() > MAX_CHOSEN) {
            return Err(ApiError::field("collections", format!("at most {MAX_CHOSEN} can be searched")));
        }
        if self.request_seq.is_some_and(|seq| seq > MAX_SEQ) {
            return Err(ApiError::field("request_seq", format!("the largest value is {MAX_SEQ}")));
        }
        if self.if_running == Some(IfRunning::Queue) && self.replaces_message_id.is_some() {
            let detail = "a message that replaces another one cannot be queued";
            return Err(ApiError::field("if_running", detail));
        }
        if self.agent.as_deref().is_some_and(|name| name_of_agent(name).len() > AGENT_NAME.max) {
            let detail = format!("a name has at most {} characters", AGENT_NAME.max);
            return Err(ApiError::field("agent", detail));
        }
        if self.agent.is_some() && self.mode_profile.is_some() {
            return Err(ApiError::field("agent", "an agent has no `mode_profile`: it makes no plans"));
        }
        if self.asks_for_media() {
            return Err(ApiError::field("media_generation.mode", ONE_MODE));
        }
        self.check_shape()?;
        self.check_workflow()?;
        let named = self.workspace.as_deref().map_or(Ok(()), check_workspace);
        named.map_err(|why| ApiError::field("workspace", why))
    }

    /// The members of this request that the service ignores, for the log.
    pub fn ignored(&self) -> Vec<&'static str> {
        let sent = [("agent_mode", self.agent_mode), ("tools", self.tools)];
        sent.into_iter().filter_map(|(name, value)| value.map(|_| name)).collect()
    }

    /// The kind of context, `thread` by default.
    pub fn kind(&self) -> ContextKind {
        self.chat_context.as_ref().map(|context| context.kind).unwrap_or_default()
    }
}

fn refusal(body: &str, error: &serde_json::Error) -> ApiError {
    // serde_json reports bad syntax for a number in place of an enum's name, although the body is valid JSON.
    if !error.is_data() && crate::json::from_str::<IgnoredAny>(body).is_err() {
        return not_json(error);
    }
    words::refusal(&path::of_error(body.as_bytes(), error), error)
}

/// Refuses a body that is empty, nested too deep, or has more than so many values, before anything is built of it.
pub fn check_size(body: &[u8], most: usize) -> Result<(), ApiError> {
    let invalid = |detail: String| Err(ApiError::new(ErrorCode::InvalidJson, detail));
    if body.iter().all(u8::is_ascii_whitespace) {
        return invalid("the body is empty".to_owned());
    }
    let (depth, values) = size(body);
    if depth > MAX_JSON_DEPTH {
        return invalid(format!("the body is nested deeper than {MAX_JSON_DEPTH} levels"));
    }
    match values > most {
        true => {
            Err(ApiError::new(ErrorCode::InvalidRequest, format!("the body has more than {most} values")))
        }
        false => Ok(()),
    }
}

/// The nesting of arrays and objects, and the number of values, without building them. It counts the signs before values,
/// so an empty array or object counts twice.
pub(super) fn size(json: &[u8]) -> (usize, usize) {
    let (mut depth, mut deepest, mut values, mut in_string, mut escaped) = (0_usize, 0, 1, false, false);
    for &byte in json {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            _ if in_string => {}
            b'{' | b'[' => {
                depth += 1;
                values += 1;
                deepest = deepest.max(depth);
            }
            b'}' | b']' => depth = depth.saturating_sub(1),
            b',' => values += 1,
            _ => {}
        }
    }
    (deepest, values)
}
