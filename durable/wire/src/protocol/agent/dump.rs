//! An agent as a dump: all that it is and remembers, with its own agents, to be restored elsewhere. [`DumpBuilder`] makes a
//! dump, and [`SentDump`] reads one. A user may write a dump by hand. So its types have no place for a provider's own form
//! of a message (`model::RawMessage`), which the codecs return byte for byte, and a member that they do not know is refused.

use std::collections::{BTreeMap, VecDeque};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::model::{Message, ToolCall};
#[cfg(feature = "openapi")]
use crate::protocol::AGENT_NAME;
use crate::protocol::{Content, Hook, HookPoint, HookReach};

mod build;
mod sent;

pub use build::DumpBuilder;
pub use sent::SentDump;

/// The most bytes of a dump: what an agent and its own agents remember and have heard, their instructions, and the JSON
/// around them.
pub const MAX_DUMP_BYTES: usize = 2_000_000;
/// The most agents of a dump: `main`, and as many as a thread has beside it. They may all nest.
pub const MAX_DUMP_AGENTS: usize = 17;
/// The most rounds of a dump. An agent remembers no more of them: each is a row, and its messages are a part of each request
/// to the agent's model. The dumps of 70,000 rounds that fit into the bytes held up an isolate for 1.8 s.
pub const MAX_ROUNDS: usize = 1_000;
/// The most messages in these rounds, for the same reasons: a round may have any number of them.
pub const MAX_ROUND_MESSAGES: usize = 5 * MAX_ROUNDS;
/// The most bytes of one round as JSON, in its row and in a dump. The platform takes 2 MB in a row, and an agent remembers
/// 500,000 bytes of rounds.
pub const MAX_ROUND_BYTES: usize = 450_000;

/// The most values of a dump: an agent may remember 5 000 results of parallel calls, and each call with its result has ten.
/// One message, and what stands beside the rounds, have as many as other bodies.
const MAX_DUMP_VALUES: usize = 50_000;

/// An agent with all that it remembers, to be restored elsewhere.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema), schemars(rename = "AgentDump"))]
#[serde(deny_unknown_fields, bound(deserialize = "M: Deserialize<'de>"))]
pub struct AgentDump<M = AgentMessage> {
    #[cfg_attr(feature = "openapi", schemars(length(max = AGENT_NAME.max), regex(pattern = AGENT_NAME.whole_pattern())))]
    pub name: String,
    pub instructions: String,
    /// The call that answers in its place where another agent asks it; absent: a model answers.
    #[cfg_attr(feature = "openapi", schemars(extend("enum" = ["websearch", null])))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// The tools that it may use; absent: all that its maker has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<String>>,
    /// The MCP servers whose tools it has beside those, and the tools that it may not use.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub servers: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub denied: Vec<String>,
    /// The texts that it heard since it last answered.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub heard: Vec<String>,
    /// The agents of its own that answer, and those that only hear, in its next discussion that names nobody.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub speakers: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub listeners: Vec<String>,
    /// The hooks that it made for itself.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hooks: Vec<DumpedHook>,
    /// Its rounds, oldest first: a question each, with everything up to the answer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "openapi", schemars(length(max = MAX_ROUNDS)))]
    pub rounds: Vec<Vec<M>>,
    /// The agents that it made, each with those that it made itself.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "openapi", schemars(length(max = MAX_DUMP_AGENTS - 1)))]
    pub agents: Vec<AgentDump<M>>,
    /// The oldest texts of the dump were left out, because an agent or a dump has no more. It changes nothing for a
    /// restored agent.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cut: bool,
}

/// A hook of a dump.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct DumpedHook {
    pub name: String,
    pub on: HookPoint,
    /// The names of the calls that it watches; absent: every call.
    #[serde(default, rename = "match", skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub builtin: Option<String>,
    /// The options of the built-in hook.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub options: BTreeMap<String, Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reads: Vec<String>,
    /// Absent: `all`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of: Option<HookReach>,
    /// Its state, as the hook itself writes it: the count of a limit, the note of a model. A state that is longer than 10,000
    /// bytes is left out.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[cfg_attr(feature = "openapi", schemars(length(max = MAX_HOOK_STATE_BYTES)))]
    pub state: String,
    /// It has quit, and is not asked any more.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub has_quit: bool,
}

/// The longest state of a hook in a dump, in bytes.
pub const MAX_HOOK_STATE_BYTES: usize = 10_000;

/// A message that an agent remembers, without its provider's own form, which has the model's reasoning. A restored agent
/// goes on without it, as after a change of its model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum AgentMessage {
    /// What somebody asked or told the agent.
    User {
        #[cfg_attr(feature = "openapi", schemars(with = "AgentContent"))]
        content: Content,
    },
    /// What it answered, and the calls that it made.
    Assistant {
        content: String,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        tool_calls: Vec<AgentCall>,
    },
    /// The result of one of these calls.
    Tool { call_id: String, name: String, content: String, is_error: bool },
}

/// The schema of a question, whose text may be longer than a chat message: it has all that the agent heard.
#[cfg(feature = "openapi")]
#[derive(schemars::JsonSchema)]
#[schemars(untagged)]
#[expect(dead_code, reason = "its schema alone is used")]
enum AgentContent {
    Text(String),
    Parts(#[schemars(length(min = 1))] Vec<crate::protocol::ContentPart>),
}

/// A call that an agent made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct AgentCall {
    pub call_id: String,
    pub name: String,
    /// The arguments as the model wrote them.
    pub arguments: String,
}

/// Whether a round begins with a user's message and answers each call, in the order of the calls.
fn is_whole(round: &[AgentMessage]) -> bool {
    let mut open: VecDeque<&str> = VecDeque::new();
    for message in round {
        match message {
            AgentMessage::Tool { call_id, .. } if open.pop_front() == Some(call_id) => {}
            AgentMessage::Tool { .. } => return false,
            AgentMessage::User { .. } | AgentMessage::Assistant { .. } if !open.is_empty() => return false,
            AgentMessage::Assistant { tool_calls, .. } => {
                open.extend(tool_calls.iter().map(|call| call.call_id.as_str()));
            }
            AgentMessage::User { .. } => {}
        }
    }
    open.is_empty() && matches!(round.first(), Some(AgentMessage::User { .. }))
}

impl From<Hook> for DumpedHook {
    fn from(hook: Hook) -> Self {
        let Hook { name, on, calls, builtin, options, instructions, reads, of, put_at: _, has_quit: _ } =
            hook;
        let (state, has_quit) = (String::new(), false);
        DumpedHook { name, on, calls, builtin, options, instructions, reads, of: Some(of), state, has_quit }
    }
}

impl From<Message> for AgentMessage {
    /// A row may be older than the rules of a dump. The service gives no dump that it would not take.
    fn from(message: Message) -> Self {
        match message {
            Message::User { content } => AgentMessage::User { content: content.with_allowed_parts() },
            Message::Assistant { content, tool_calls, raw: _ } => {
                let call = |ToolCall { call_id, name, arguments }| AgentCall { call_id, name, arguments };
                AgentMessage::Assistant { content, tool_calls: tool_calls.into_iter().map(call).collect() }
            }
            Message::Tool { call_id, name, content, is_error } => {
                AgentMessage::Tool { call_id, name, content, is_error }
            }
        }
    }
}

impl From<AgentMessage> for Message {
    fn from(message: AgentMessage) -> Self {
        match message {
            AgentMessage::User { content } => Message::User { content },
            AgentMessage::Assistant { content, tool_calls } => {
                let call = |AgentCall { call_id, name, arguments }| ToolCall { call_id, name, arguments };
                let tool_calls = tool_calls.into_iter().map(call).collect();
                Message::Assistant { content, tool_calls, raw: None }
            }
            AgentMessage::Tool { call_id, name, content, is_error } => {
                Message::Tool { call_id, name, content, is_error }
            }
        }
    }
}

#[cfg(test)]
mod nested_tests;
#[cfg(test)]
mod tests;
