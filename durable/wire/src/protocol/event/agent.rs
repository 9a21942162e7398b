//! Agents in events.

use serde::{Deserialize, Serialize};

/// The three states that a client shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum AgentState {
    /// A model call or a tool runs.
    Thinking,
    /// A plan's steps run.
    ExecutingPlan,
    /// The turn is parked until a person answers, or has ended with a decision left to a person.
    WaitingOnUser,
}

/// The state of an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum AgentStatus {
    Created,
    /// It is asked, and its model answers.
    Speaking,
    /// It has answered, or its answer was cut off.
    Silent,
    Terminated,
}
