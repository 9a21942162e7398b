//! The agents of a thread, as the routes tell of them.

use serde::{Deserialize, Serialize};

use super::Hook;

mod dump;

pub use dump::{
    AgentCall, AgentDump, AgentMessage, DumpBuilder, DumpedHook, MAX_DUMP_AGENTS, MAX_DUMP_BYTES,
    MAX_HOOK_STATE_BYTES, MAX_ROUND_BYTES, MAX_ROUND_MESSAGES, MAX_ROUNDS, SentDump,
};

/// The agents of a thread.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct AgentList {
    /// The agent that answers the user.
    pub main: MainAgent,
    /// The agents that were made.
    pub agents: Vec<AgentSummary>,
}

/// `main`, the agent that answers the user, with its hooks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct MainAgent {
    /// Its system prompt: the one that the open turn runs with, else that of a next turn without a chat context.
    pub instructions: String,
    /// The open turn that the prompt belongs to; null where none is open.
    pub turn_id: Option<String>,
    /// The agents that answer, and those that only hear, in its next discussion that names nobody.
    pub speakers: Vec<String>,
    pub listeners: Vec<String>,
    /// The hooks of the thread, which hold from the next turn on.
    pub hooks: Vec<Hook>,
    /// The hooks of the operator, without their words.
    pub operators: Vec<Hook>,
    /// The hooks that it has made itself in this conversation.
    #[serde(default)]
    pub own_hooks: Vec<Hook>,
}

/// An agent of a thread.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct AgentSummary {
    pub name: String,
    /// The agent that made it; null for one of `main`.
    pub parent: Option<String>,
    /// Its system prompt.
    pub instructions: String,
    /// The call that answers in its place where another agent asks it; null: a model answers.
    pub code: Option<String>,
    /// The texts that it heard since it last answered.
    pub heard: Vec<String>,
    /// The agents that answer, and those that only hear, in its next discussion that names nobody.
    pub speakers: Vec<String>,
    pub listeners: Vec<String>,
    /// The hooks that it made for itself.
    pub hooks: Vec<Hook>,
}

/// The rounds of an agent, oldest first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct AgentRounds {
    pub rounds: Vec<AgentRound>,
    /// Names the page of the rounds before these; null where there are none.
    pub next_cursor: Option<String>,
}

/// One question to an agent with everything up to its answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct AgentRound {
    pub turn_id: String,
    #[cfg_attr(test, ts(type = "unknown[]"))]
    pub messages: Vec<AgentMessage>,
}
