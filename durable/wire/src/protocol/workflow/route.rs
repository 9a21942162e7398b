//! The bodies and answers of the routes of workflows, and a session as clients read it.

use serde::{Deserialize, Serialize};

use super::check::at_most;
use super::{
    MAX_ARTIFACT_CHARS, MAX_ARTIFACTS, MAX_CONTEXT_BYTES, MAX_GOAL_CHARS, MAX_NOTES_CHARS, MAX_WORKFLOWS,
    MIN_NOTES_CHARS, SessionContext, SessionStatus, StepNotes, WorkflowDefinition,
};
use crate::protocol::ApiError;
use crate::protocol::request::read;

/// The longest token that the service reads, in bytes: several times as long as its own.
const MAX_TOKEN: usize = 1_024;

/// A workflow as the list shows it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(optional_fields))]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct WorkflowSummary {
    pub workflow_id: String,
    pub name: String,
    /// The number of its steps.
    pub steps: u32,
    /// Grows with each change of the definition. A session keeps the version with which it began.
    pub version: u32,
    /// It comes with the service. A user's own workflow of the same id stands in its place.
    pub built_in: bool,
    /// When the user changed it last; absent on a built-in one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub updated_at: Option<u64>,
}

/// The user's workflows, by id, then the built-in ones.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct WorkflowList {
    pub workflows: Vec<WorkflowSummary>,
    /// The most workflows that a user may have, without the built-in ones.
    pub max: usize,
}

impl WorkflowList {
    /// A list of these.
    pub fn of(workflows: Vec<WorkflowSummary>) -> Self {
        WorkflowList { workflows, max: MAX_WORKFLOWS }
    }
}

/// A workflow with its definition.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct WorkflowDetail {
    #[serde(flatten)]
    pub summary: WorkflowSummary,
    pub definition: WorkflowDefinition,
    /// The members of the written definition that have no effect, by their paths; at most 50. Only the answer to a `PUT`
    /// has them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(test, ts(optional, as = "Option<Vec<String>>"))]
    pub ignored: Vec<String>,
}

/// The body of `POST …/sessions`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(optional_fields))]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct NewSession {
    /// The aim of the session; absent or blank: the definition's.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schemars(length(max = MAX_GOAL_CHARS)))]
    pub goal: Option<String>,
}

impl NewSession {
    /// Reads and checks a body.
    pub fn parse(body: &[u8]) -> Result<NewSession, ApiError> {
        let session: NewSession = read(body)?;
        at_most("goal", session.goal.as_deref().unwrap_or_default(), MAX_GOAL_CHARS)?;
        Ok(session)
    }
}

/// The body of `POST …/continue`: the end of the step at which the session stands.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(optional_fields))]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct ContinueSession {
    /// The token of the step, exactly as the service gave it.
    #[cfg_attr(feature = "openapi", schemars(length(max = MAX_TOKEN)))]
    pub continue_token: String,
    /// The work of the step and its results: at least 50 characters after trimming.
    #[serde(rename = "notesMarkdown", alias = "notes", alias = "notes_markdown")]
    #[cfg_attr(feature = "openapi", schemars(length(min = MIN_NOTES_CHARS, max = MAX_NOTES_CHARS), regex(pattern = r"\S[\s\S]{48,}\S")))]
    pub notes_markdown: String,
    /// Values for the steps that follow. They replace those of the same names.
    #[serde(default, rename = "contextUpdates", alias = "context_updates")]
    #[cfg_attr(test, ts(optional, type = "Record<string, unknown>"))]
    pub context_updates: SessionContext,
    /// Files or addresses that the step made.
    #[serde(default)]
    #[cfg_attr(test, ts(optional, as = "Option<Vec<String>>"))]
    #[cfg_attr(feature = "openapi", schemars(length(max = MAX_ARTIFACTS), inner(length(max = MAX_ARTIFACT_CHARS))))]
    pub artifacts: Vec<String>,
}

impl ContinueSession {
    /// Reads and checks a body. The notes are counted in characters and not in bytes, without the space around them.
    pub fn parse(body: &[u8]) -> Result<ContinueSession, ApiError> {
        let it: ContinueSession = read(body)?;
        if it.continue_token.len() > MAX_TOKEN {
            return Err(ApiError::field("continue_token", format!("at most {MAX_TOKEN} bytes")));
        }
        if it.notes_markdown.trim().chars().nth(MIN_NOTES_CHARS - 1).is_none() {
            let detail = format!("at least {MIN_NOTES_CHARS} characters, without the space around them");
            return Err(ApiError::field("notesMarkdown", detail));
        }
        at_most("notesMarkdown", &it.notes_markdown, MAX_NOTES_CHARS)?;
        if it.artifacts.len() > MAX_ARTIFACTS {
            return Err(ApiError::field("artifacts", format!("at most {MAX_ARTIFACTS} artifacts")));
        }
        for (at, artifact) in it.artifacts.iter().enumerate() {
            at_most(&format!("artifacts[{at}]"), artifact, MAX_ARTIFACT_CHARS)?;
        }
        let context = serde_json::to_string(&it.context_updates).unwrap_or_default();
        if context.len() > MAX_CONTEXT_BYTES {
            return Err(ApiError::field(
                "contextUpdates",
                format!("at most {MAX_CONTEXT_BYTES} bytes as JSON"),
            ));
        }
        Ok(it)
    }
}

/// The state of a session that another program carries out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(optional_fields))]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct SessionAnswer {
    pub session_id: String,
    /// The thread that has the session.
    pub thread_id: String,
    pub is_complete: bool,
    /// The step at which the session stands; absent once it is complete, as the two that follow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<SessionStep>,
    /// The step in words for a model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// Proves that the step was the one to end. Valid once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub continue_token: Option<String>,
}

/// A step of a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct SessionStep {
    pub id: String,
    pub title: String,
    /// Its place among the steps, from 0.
    pub index: u32,
    /// The number of steps.
    pub of: u32,
}

/// A step of a session's definition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct StepTitle {
    pub id: String,
    pub title: String,
}

/// The program that carries out a session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum SessionMode {
    /// The service: the turns of the thread work on it.
    #[default]
    Service,
    /// A client, by tokens.
    External,
}

impl SessionMode {
    /// The name in JSON and in the session's row.
    pub const fn as_str(self) -> &'static str {
        match self {
            SessionMode::Service => "service",
            SessionMode::External => "external",
        }
    }
}

/// The newest session of a thread.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(optional_fields))]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct WorkflowSession {
    pub session_id: String,
    pub workflow_id: String,
    pub version: u32,
    /// The name of its workflow.
    pub name: String,
    pub mode: SessionMode,
    pub status: SessionStatus,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    pub goal: String,
    /// The place of the step at which it stands, from 0; the number of steps once it is complete.
    pub step: u32,
    pub steps: Vec<StepTitle>,
    /// The notes of the finished steps, each with its first 4,000 characters.
    pub notes: Vec<StepNotes>,
    pub updated_at: u64,
}
