//! Projects and usage as clients read them.

use serde::{Deserialize, Serialize};

use super::request::read;
use super::{ApiError, line};

/// The longest description of a project and the longest notes of a task, in characters: they stand in a list.
pub const MAX_PROJECT_TEXT_CHARS: usize = 4_000;
/// The longest document of a project, in characters: the agent reads documents whole.
pub const MAX_PROJECT_DOCUMENT_CHARS: usize = 30_000;

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

/// The body of `PATCH /api/projects/{id}`. A member that is left out stays as it is.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(optional_fields))]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct ProjectChange {
    /// One line of 1 to 200 characters.
    #[cfg_attr(feature = "openapi", schemars(length(max = super::MAX_LINE_CHARS), regex(pattern = super::LINE)))]
    pub name: Option<String>,
    /// At most 4,000 characters.
    #[cfg_attr(feature = "openapi", schemars(length(max = MAX_PROJECT_TEXT_CHARS)))]
    pub description: Option<String>,
}

/// The body of `PATCH /api/projects/{id}/tasks/{task}`. A member that is left out stays as it is.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(optional_fields))]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct TaskChange {
    #[cfg_attr(feature = "openapi", schemars(length(max = super::MAX_LINE_CHARS), regex(pattern = super::LINE)))]
    pub title: Option<String>,
    /// At most 4,000 characters.
    #[cfg_attr(feature = "openapi", schemars(length(max = MAX_PROJECT_TEXT_CHARS)))]
    pub notes: Option<String>,
    pub status: Option<TaskStatus>,
}

/// The body of `PATCH /api/projects/{id}/documents/{document}`. A member that is left out stays as it is.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(optional_fields))]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct DocumentChange {
    #[cfg_attr(feature = "openapi", schemars(length(max = super::MAX_LINE_CHARS), regex(pattern = super::LINE)))]
    pub title: Option<String>,
    /// Markdown, of at most 30,000 characters.
    #[cfg_attr(feature = "openapi", schemars(length(max = MAX_PROJECT_DOCUMENT_CHARS)))]
    pub content: Option<String>,
}

impl ProjectChange {
    /// Reads and checks a body.
    pub fn parse(body: &[u8]) -> Result<ProjectChange, ApiError> {
        let ProjectChange { name, description } = read(body)?;
        within("description", description.as_deref(), MAX_PROJECT_TEXT_CHARS)?;
        Ok(ProjectChange { name: name.map(|name| line("name", &name)).transpose()?, description })
    }
}

impl TaskChange {
    /// Reads and checks a body.
    pub fn parse(body: &[u8]) -> Result<TaskChange, ApiError> {
        let TaskChange { title, notes, status } = read(body)?;
        within("notes", notes.as_deref(), MAX_PROJECT_TEXT_CHARS)?;
        Ok(TaskChange { title: title.map(|title| line("title", &title)).transpose()?, notes, status })
    }
}

impl DocumentChange {
    /// Reads and checks a body.
    pub fn parse(body: &[u8]) -> Result<DocumentChange, ApiError> {
        let DocumentChange { title, content } = read(body)?;
        within("content", content.as_deref(), MAX_PROJECT_DOCUMENT_CHARS)?;
        Ok(DocumentChange { title: title.map(|title| line("title", &title)).transpose()?, content })
    }
}

fn within(field: &str, text: Option<&str>, most: usize) -> Result<(), ApiError> {
    match text.is_some_and(|text| text.chars().nth(most).is_some()) {
        true => Err(ApiError::field(field, format!("expected at most {most} characters"))),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The member that a refusal names; the texts have `chars` characters.
    fn refused(member: &str, chars: usize) -> [Option<String>; 3] {
        let body = format!(r#"{{"{member}":"{}"}}"#, "é".repeat(chars));
        let field = |error: ApiError| error.field.clone().unwrap_or_default();
        [
            ProjectChange::parse(body.as_bytes()).err().map(field),
            TaskChange::parse(body.as_bytes()).err().map(field),
            DocumentChange::parse(body.as_bytes()).err().map(field),
        ]
    }

    // Issue 19, item 12: each text at its limit and beyond it. A body without the member is no refusal.
    #[test]
    fn texts_have_limits() {
        let table = [
            ("name", super::super::MAX_LINE_CHARS, [true, false, false]),
            ("title", super::super::MAX_LINE_CHARS, [false, true, true]),
            ("description", MAX_PROJECT_TEXT_CHARS, [true, false, false]),
            ("notes", MAX_PROJECT_TEXT_CHARS, [false, true, false]),
            ("content", MAX_PROJECT_DOCUMENT_CHARS, [false, false, true]),
        ];
        for (member, most, has) in table {
            assert_eq!(refused(member, most), [None, None, None], "{member}");
            assert_eq!(refused(member, most + 1), has.map(|has| has.then(|| member.to_owned())), "{member}");
        }
        assert_eq!(refused("name", 0)[0].as_deref(), Some("name"), "a blank name");
        assert_eq!(refused("description", 0), [None, None, None], "a project without a description");
    }

    #[test]
    fn a_title_is_one_line() {
        let change = ProjectChange::parse(br#"{"name":"  Garden "}"#).unwrap();
        assert_eq!(change, ProjectChange { name: Some("Garden".to_owned()), description: None });
        assert_eq!(TaskChange::parse(br#"{"title":"a\nb"}"#).unwrap_err().field.as_deref(), Some("title"));
        assert_eq!(TaskChange::parse(br#"{"status":"late"}"#).unwrap_err().field.as_deref(), Some("status"));
        let done = TaskChange { title: None, notes: None, status: Some(TaskStatus::Done) };
        assert_eq!(TaskChange::parse(br#"{"status":"done"}"#), Ok(done));
    }
}
