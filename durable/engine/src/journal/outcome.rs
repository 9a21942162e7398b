//! The outcomes of model calls and tool calls.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{AgentChange, SessionChange};
use crate::memory::Overlay;
use crate::versions::Versions;
use wire::model::{ModelError, ModelReply};
use wire::protocol::{Hook, StepStatus};

/// The outcome of a model call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ModelOutcome {
    Replied(Box<ModelReply>),
    /// The model replied in a level whose answers hooks judge. Readers get no text of it before they have let it pass
    /// ([`Fact::AnswerPassed`](super::Fact::AnswerPassed)). Older code cannot read it, so it does not show it either.
    Drafted(Box<ModelReply>),
    /// The call failed; `said` keeps the text before the failure.
    Failed {
        error: ModelError,
        said: String,
    },
}

impl ModelOutcome {
    /// The reply; none where the call failed.
    pub fn reply(&self) -> Option<&ModelReply> {
        match self {
            ModelOutcome::Replied(reply) | ModelOutcome::Drafted(reply) => Some(reply),
            ModelOutcome::Failed { .. } => None,
        }
    }

    /// The reply, to be changed.
    pub fn reply_mut(&mut self) -> Option<&mut ModelReply> {
        match self {
            ModelOutcome::Replied(reply) | ModelOutcome::Drafted(reply) => Some(reply),
            ModelOutcome::Failed { .. } => None,
        }
    }
}

/// The outcome of a tool call.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct ToolEnd {
    /// The text for the model.
    pub content: String,
    #[serde(default)]
    pub is_error: bool,
    /// Whether a step of a plan ran out of time or model calls; the content is then its partial result.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub partial: bool,
    /// The memory writes of the call (or of the whole subtask). The level merges them when the round settles.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub overlay: Overlay,
    /// The file versions that the call saw.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub versions: Versions,
    /// The hook that the call made. The level has it from the end of the round on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hook: Option<Box<Hook>>,
    /// The changes of the thread's agents that come with the call's end.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub agents: Vec<AgentChange>,
    /// The addresses that the result of a search of the web names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub addresses: Vec<String>,
    /// The change of the session that comes with the call's end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<Box<SessionChange>>,
    /// Whether the policy or a hook refused the call.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub refused: bool,
    #[serde(default)]
    pub duration_ms: u64,
    /// The cost of the call in millionths of a US dollar. None where it is unknown: the call then counts with all that it held.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paid_microusd: Option<u64>,
}

impl ToolEnd {
    /// The status of a step of a plan whose call ended so.
    pub fn status(&self) -> StepStatus {
        match (self.is_error, self.partial) {
            (true, _) => StepStatus::Failed,
            (false, true) => StepStatus::Partial,
            (false, false) => StepStatus::Completed,
        }
    }
}
