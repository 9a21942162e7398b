//! Plans in events, in responses and in storage.

use serde::{Deserialize, Serialize};

/// How the service carries out a new plan.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ExecutionMode {
    /// The plan runs at once.
    #[default]
    AutoExecute,
    /// The plan waits until the user decides.
    DraftOnly,
    /// The plan runs once a reviewer approves it.
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

/// The status of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum PlanStatus {
    /// The plan waits until the user runs, changes or drops it.
    PendingReview,
    Executing,
    /// All steps completed.
    Completed,
    /// Some steps failed, were skipped or have only a partial result.
    Partial,
    /// No step completed.
    Failed,
    /// A reviewer rejected the plan.
    Rejected,
    /// The user dropped the plan, or another plan replaced it.
    Dropped,
    /// The turn stopped while the plan ran.
    Stopped,
}

/// The status of a step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum StepStatus {
    #[default]
    Pending,
    Completed,
    /// The step used up its time or its model calls, and has a partial result.
    Partial,
    Failed,
    /// A step that this step depends on failed, or the plan stopped before this step.
    Skipped,
}

impl StepStatus {
    /// Whether other steps may use its result.
    pub const fn has_result(self) -> bool {
        matches!(self, StepStatus::Completed | StepStatus::Partial)
    }
}

/// A reviewer's verdict.
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

/// A reviewer's opinion of a plan.
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
    /// The steps whose results this step uses.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<String>,
    /// The tool that carries the step out, if it needs only one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    #[serde(default)]
    pub status: StepStatus,
}

/// A plan. The thread's object has the authoritative copy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct Plan {
    pub id: String,
    pub objective: String,
    pub reasoning: String,
    pub context_type: String,
    /// The id of its subject, such as a project.
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
