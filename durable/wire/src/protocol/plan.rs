//! Plans as clients read them, in events, and as they are stored.

use serde::{Deserialize, Serialize};

/// What happens to a plan once it is made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ExecutionMode {
    /// It runs at once.
    #[default]
    AutoExecute,
    /// It waits for the user's word.
    DraftOnly,
    /// It runs once a reviewer approves it.
    AgentReview,
}

impl ExecutionMode {
    /// The name in JSON, in tables and in telemetry.
    pub const fn as_str(self) -> &'static str {
        match self {
            ExecutionMode::AutoExecute => "auto_execute",
            ExecutionMode::DraftOnly => "draft_only",
            ExecutionMode::AgentReview => "agent_review",
        }
    }
}

/// Where a plan stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum PlanStatus {
    /// It waits for the user's word: to run it, to change it, to drop it.
    PendingReview,
    Executing,
    /// All steps ended well.
    Completed,
    /// Some steps failed, were skipped or came to half of what they should.
    Partial,
    /// No step ended well.
    Failed,
    /// A reviewer refused it.
    Rejected,
    /// The user dropped it, or another plan took its place.
    Dropped,
    /// Its turn was stopped while it ran.
    Stopped,
}

/// Where a step of a plan stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum StepStatus {
    #[default]
    Pending,
    Completed,
    /// Its time or its model calls were used up: there is what it had by then.
    Partial,
    Failed,
    /// A step that it builds on failed, or the plan was stopped before it.
    Skipped,
}

impl StepStatus {
    /// Whether other steps may build on it.
    pub const fn has_result(self) -> bool {
        matches!(self, StepStatus::Completed | StepStatus::Partial)
    }
}

/// A reviewer's word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    Approved,
    #[serde(alias = "changes_requested")]
    NeedsChanges,
    Rejected,
}

/// What a reviewer said of a plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct PlanReview {
    pub verdict: Verdict,
    pub notes: String,
}

/// One step of a plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct PlanStep {
    pub id: String,
    pub title: String,
    pub instructions: String,
    /// The steps whose results it builds on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<String>,
    /// The tool that does its work, where one does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    #[serde(default)]
    pub status: StepStatus,
}

/// A plan. The thread's object is the authority for it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct Plan {
    pub id: String,
    pub objective: String,
    pub reasoning: String,
    pub context_type: String,
    /// What it is about, such as a project.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entity_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub intent_label: Option<String>,
    pub execution_mode: ExecutionMode,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub requested_outputs: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub priority_entities: Vec<String>,
    pub status: PlanStatus,
    pub steps: Vec<PlanStep>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub review: Option<PlanReview>,
    /// Grows with each change.
    pub revision: u32,
    pub created_at: u64,
}
