//! Projects and usage as clients read them.

use serde::{Deserialize, Serialize};

/// A template.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct TemplateEntry {
    pub id: String,
    pub name: String,
    pub description: String,
    /// The titles of the tasks that its projects begin with.
    pub tasks: Vec<String>,
}

/// The templates.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct TemplateList {
    pub templates: Vec<TemplateEntry>,
}

/// A project as the list shows it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct ProjectEntry {
    pub id: String,
    pub name: String,
    pub description: String,
    pub template_id: Option<String>,
    pub created_at: u64,
    pub updated_at: u64,
}

/// The user's projects, oldest first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct ProjectList {
    pub projects: Vec<ProjectEntry>,
}

/// A project with its tasks and documents.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct ProjectDetail {
    #[serde(flatten)]
    pub project: ProjectEntry,
    pub tasks: Vec<ProjectTask>,
    pub documents: Vec<DocumentEntry>,
}

/// A task of a project.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct ProjectTask {
    pub id: String,
    pub title: String,
    pub status: TaskStatus,
    pub notes: String,
    /// The ids of the tasks that must be done before.
    pub blocked_by: Vec<String>,
    pub updated_at: u64,
}

/// A document as its project lists it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct DocumentEntry {
    pub id: String,
    pub title: String,
    pub updated_at: u64,
}

/// A document with its content.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct DocumentDetail {
    #[serde(flatten)]
    pub entry: DocumentEntry,
    /// Markdown.
    pub content: String,
}

/// The usage of all model calls of one day, operation, model and context.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct UsageRow {
    /// `2026-01-31`, UTC.
    pub day: String,
    pub operation_type: String,
    pub provider: String,
    pub model: String,
    pub context_type: String,
    pub calls: u32,
    pub input_tokens: u64,
    pub cached_tokens: u64,
    pub output_tokens: u64,
    /// Null if the price of a call is unknown.
    pub cost_usd: Option<f64>,
}

/// A user's usage, newest day first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct UsageList {
    /// The beginning of the first listed day, in milliseconds since 1970.
    pub from: u64,
    pub usage: Vec<UsageRow>,
}

/// The status of a task.
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum TaskStatus {
    #[default]
    Open,
    InProgress,
    Done,
}
