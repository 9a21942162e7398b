//! Step workflows: a procedure of steps that cannot be skipped, and a session that stands at one of them.

mod check;
mod route;
mod written;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub use check::check_workflow_id;
pub use route::{
    ContinueSession, NewSession, SessionAnswer, SessionMode, SessionStep, StepTitle, WorkflowDetail,
    WorkflowList, WorkflowSession, WorkflowSummary,
};
pub use written::WrittenDefinition;

/// The most bytes of a definition: one row of D1, and a part of entry 0 of each of its turns.
pub const MAX_DEFINITION_BYTES: usize = 64 << 10;
/// The most steps of a definition.
pub const MAX_STEPS: usize = 50;
/// The longest name and title, in characters.
pub const MAX_WORKFLOW_TITLE_CHARS: usize = 200;
/// The longest goal, in characters.
pub const MAX_GOAL_CHARS: usize = 4_000;
/// The longest instructions of a step, in characters.
pub const MAX_STEP_CHARS: usize = 20_000;
/// The longest instructions of a verifier, in characters: each of its requests has them.
pub const MAX_VERIFIER_CHARS: usize = 4_000;
/// The longest id of a step, in bytes.
pub const MAX_STEP_ID: usize = 64;
/// The most tools that a step names: as many as a turn can have.
pub const MAX_STEP_TOOLS: usize = 128;
/// The longest name of a tool that a step names, in bytes: more than providers take (64).
pub const MAX_TOOL_NAME: usize = 128;
/// The most workflows of a user.
pub const MAX_WORKFLOWS: usize = 100;
/// The longest address that hears of a session's end, in bytes: longer ones break in some servers.
pub const MAX_NOTIFY_URL: usize = 2_000;
/// The most bytes of a session's context, as JSON.
pub const MAX_CONTEXT_BYTES: usize = 64 << 10;
/// The fewest characters of a step's notes, after trimming (CF-16).
pub const MIN_NOTES_CHARS: usize = 50;
/// The longest notes of a step, in characters: later requests repeat them.
pub const MAX_NOTES_CHARS: usize = 20_000;
/// The most artifacts that a step names, and the longest of them in characters.
pub const MAX_ARTIFACTS: usize = 50;
pub const MAX_ARTIFACT_CHARS: usize = 500;

/// A procedure. Unknown members are ignored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(optional_fields))]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct WorkflowDefinition {
    #[cfg_attr(feature = "openapi", schemars(length(min = 1, max = MAX_WORKFLOW_TITLE_CHARS), regex(pattern = r"\S")))]
    pub name: String,
    /// The goal of each session, where a session has none of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schemars(length(max = MAX_GOAL_CHARS)))]
    pub goal: Option<String>,
    #[cfg_attr(feature = "openapi", schemars(length(min = 1, max = MAX_STEPS)))]
    pub steps: Vec<WorkflowStep>,
    #[serde(default, skip_serializing_if = "Stuck::is_abort")]
    #[cfg_attr(test, ts(as = "Option<Stuck>"))]
    pub stuck: Stuck,
    /// Hears of the end of each session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notify: Option<WorkflowNotify>,
}

/// One step of a procedure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(optional_fields))]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct WorkflowStep {
    /// Unique in the definition.
    #[cfg_attr(feature = "openapi", schemars(length(min = 1, max = MAX_STEP_ID), regex(pattern = "^[A-Za-z0-9_-]+$")))]
    pub id: String,
    #[cfg_attr(feature = "openapi", schemars(length(min = 1, max = MAX_WORKFLOW_TITLE_CHARS), regex(pattern = r"\S")))]
    pub title: String,
    #[cfg_attr(feature = "openapi", schemars(length(min = 1, max = MAX_STEP_CHARS), regex(pattern = r"\S")))]
    pub instructions: String,
    #[serde(default, rename = "type", alias = "stepType", skip_serializing_if = "StepType::is_agent")]
    #[cfg_attr(test, ts(as = "Option<StepType>"))]
    pub kind: StepType,
    #[serde(default, alias = "outputMode", skip_serializing_if = "OutputMode::is_tool_use")]
    #[cfg_attr(test, ts(as = "Option<OutputMode>"))]
    pub output_mode: OutputMode,
    /// The tools of the step, among those that the turn has; absent: all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schemars(length(max = MAX_STEP_TOOLS), inner(length(min = 1, max = MAX_TOOL_NAME))))]
    pub tools: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verifier: Option<WorkflowVerifier>,
    /// Of a `planned` step: a person sees its plan before it runs.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[cfg_attr(test, ts(as = "Option<bool>"))]
    pub review: bool,
}

/// The work of a step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum StepType {
    /// The model goes its own way to the end of the step.
    #[default]
    Agent,
    /// The model writes a plan, and the service carries it out.
    Planned,
}

impl StepType {
    fn is_agent(&self) -> bool {
        *self == StepType::Agent
    }
}

/// The form of a model's replies in a step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum OutputMode {
    /// Calls of tools, and `complete_step` at the end.
    #[default]
    ToolUse,
    /// One object with the calls to make, the notes, and whether the step is complete.
    StructuredOutput,
}

impl OutputMode {
    fn is_tool_use(&self) -> bool {
        *self == OutputMode::ToolUse
    }
}

/// A model that judges the work of a step after each batch of its calls.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(optional_fields))]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct WorkflowVerifier {
    /// The role whose models judge; absent: the models of the turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schemars(extend("enum" = ["primary", "secondary", "subagent", "speed", "balanced", "quality"])))]
    pub model: Option<String>,
    pub threshold: Threshold,
    /// The author's own rules for the judgement. They stand in its prompt, below ours.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schemars(length(min = 1, max = MAX_VERIFIER_CHARS), regex(pattern = r"\S")))]
    pub instructions: Option<String>,
}

/// The work that passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Threshold {
    /// An honest attempt.
    Low,
    /// All that the instructions name.
    Medium,
    /// All of it, each claim with its evidence in the results.
    High,
}

/// The consequence of a step that does not advance.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Stuck {
    /// The turn ends, and the session waits for the user.
    #[default]
    Abort,
    /// Readers are told, and the step goes on to its limit of model calls.
    NotifyOnly,
}

impl Stuck {
    fn is_abort(&self) -> bool {
        *self == Stuck::Abort
    }
}

/// The address that hears of the end of a session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct WorkflowNotify {
    /// An http or https address. The guard of the web tools judges it when it is used.
    #[cfg_attr(feature = "openapi", schemars(length(max = MAX_NOTIFY_URL), regex(pattern = "^https?://")))]
    pub url: String,
}

/// The state of a session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum SessionStatus {
    /// A turn works on its step.
    Running,
    /// No turn works on it; the next message goes on.
    #[default]
    Waiting,
    /// A person decides whether the work of the step passes.
    NeedsHumanReview,
    /// The model did not advance; the next message goes on.
    Stuck,
    Complete,
    /// It cannot go on.
    Failed,
}

impl SessionStatus {
    /// Whether nothing changes the session any more.
    pub const fn is_over(self) -> bool {
        matches!(self, SessionStatus::Complete | SessionStatus::Failed)
    }

    /// The name in JSON and in the session's row.
    pub const fn as_str(self) -> &'static str {
        match self {
            SessionStatus::Running => "running",
            SessionStatus::Waiting => "waiting",
            SessionStatus::NeedsHumanReview => "needs_human_review",
            SessionStatus::Stuck => "stuck",
            SessionStatus::Complete => "complete",
            SessionStatus::Failed => "failed",
        }
    }
}

/// The notes with which a step ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(optional_fields))]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct StepNotes {
    pub step_id: String,
    pub notes: String,
    /// Files or addresses that the step made.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(test, ts(as = "Option<Vec<String>>"))]
    pub artifacts: Vec<String>,
}

/// The values that the steps of a session have handed on, by name.
pub type SessionContext = Map<String, Value>;

#[cfg(test)]
mod tests;
