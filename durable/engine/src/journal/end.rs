//! The end of a turn, and the telemetry that D1 gets with it.

use serde::{Deserialize, Serialize};

use super::{AgentLife, AgentRow, SessionChange, Summary};
use crate::budget::Amount;
use wire::model::Message;
use wire::protocol::{Plan, StoredMessage};

/// The end of a turn: the message, history and telemetry that the thread keeps.
#[derive(Clone, Debug, PartialEq)]
pub struct TurnEnd {
    pub message: StoredMessage,
    /// The messages that the turn adds to the model's view of the conversation, from the user's message on.
    pub history: Vec<Message>,
    pub calls: Vec<CallRecord>,
    /// The plans that the turn made or changed, in their final state.
    pub plans: Vec<Plan>,
    /// The summary of earlier turns that the turn made.
    pub summary: Option<Summary>,
    /// The agents that the turn made, changed or ended.
    pub agents: Vec<AgentRow>,
    /// The lives that the turn changed, by the ids of their agents. That of `main` has its name.
    pub lives: Vec<(String, AgentLife)>,
    /// The state in which the turn leaves its session, where no entry has it.
    pub session: Option<SessionChange>,
    /// The amount that the service charges against quotas; none where it is unknown.
    pub used: Option<Amount>,
}

wire::tagged! {
    /// One row of telemetry.
    #[derive(Clone, Debug, PartialEq)]
    pub enum CallRecord by "of" {
        /// A model call: `llm_usage`.
        "model" => Model {
            /// The `model_call_id`.
            id: String,
            provider: String,
            model: String,
            operation_type: String,
            /// [`profile_of`](super::TurnSpec::profile_of).
            #[serde(default)]
            profile: String,
            input_tokens: u64,
            cached_tokens: u64,
            output_tokens: u64,
            /// None where the price or the tokens are unknown.
            #[serde(default)]
            cost_usd: Option<f64>,
            #[serde(default)]
            first_byte_ms: Option<u64>,
            duration_ms: u64,
            /// Requests beyond the first.
            #[serde(default)]
            retries: u32,
            /// `ok`, `aborted`, or the error's code.
            outcome: String,
        },
        /// A tool call: `tool_usage`.
        "tool" => Tool {
            id: String,
            tool_name: String,
            duration_ms: u64,
            is_error: bool,
            /// The arguments in short, for a call that makes or runs a plan.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            detail: Option<String>,
            /// Whether the policy or a hook refused it.
            #[serde(default, skip_serializing_if = "std::ops::Not::not")]
            refused: bool,
        },
        /// Something that failed: `error_log`.
        "failure" => Failure(FailureRecord),
    }
}

/// A failure, for the operator.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FailureRecord {
    /// Unique within the turn.
    pub id: String,
    /// The part that failed: `provider`, `tool`, `turn`, `outbox`, `thread`, `worker`.
    pub component: String,
    /// The step in which it failed.
    pub stage: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_name: Option<String>,
    pub code: String,
    /// Redacted.
    pub message: String,
}
