//! The project domain as data: templates, projects, tasks, documents. Pure.

use serde::{Deserialize, Deserializer, Serialize};
use wire::protocol::TaskStatus;

/// The most items of a kind that one user has, or one project where they belong to one.
pub const MAX_PROJECTS: usize = 100;
pub const MAX_TEMPLATES: usize = 50;
pub const MAX_TASKS: usize = 300;
pub const MAX_DOCUMENTS: usize = 50;
/// The longest title, text and document, in characters.
pub const MAX_TITLE: usize = wire::protocol::MAX_LINE_CHARS;
pub const MAX_TEXT: usize = wire::protocol::MAX_PROJECT_TEXT_CHARS;
pub const MAX_DOCUMENT: usize = wire::protocol::MAX_PROJECT_DOCUMENT_CHARS;

/// The kind of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ItemKind {
    Template,
    Project,
    Task,
    Document,
}

impl ItemKind {
    /// The name in the table.
    pub const fn as_str(self) -> &'static str {
        match self {
            ItemKind::Template => "template",
            ItemKind::Project => "project",
            ItemKind::Task => "task",
            ItemKind::Document => "document",
        }
    }

    /// The most items of this kind.
    pub const fn most(self) -> usize {
        match self {
            ItemKind::Template => MAX_TEMPLATES,
            ItemKind::Project => MAX_PROJECTS,
            ItemKind::Task => MAX_TASKS,
            ItemKind::Document => MAX_DOCUMENTS,
        }
    }
}

/// A template, project, task or document, as its row has it.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Item {
    pub kind: ItemKind,
    pub id: String,
    /// The project that a task or a document belongs to.
    #[serde(deserialize_with = "unless_empty")]
    pub project_id: Option<String>,
    pub title: String,
    #[serde(deserialize_with = "wire::json::column")]
    pub body: Body,
    /// Grows with each change.
    pub version: u32,
    /// The last operation that wrote the item.
    pub operation: String,
    pub created_at: u64,
    pub updated_at: u64,
}

fn unless_empty<'de, D: Deserializer<'de>>(column: D) -> Result<Option<String>, D::Error> {
    Ok(Some(String::deserialize(column)?).filter(|id| !id.is_empty()))
}

wire::tagged! {
    /// The content of an item, by its kind.
    #[derive(Clone, Debug, PartialEq)]
    pub enum Body by "of" {
        "template" => Template {
            description: String,
            tasks: Vec<TemplateTask>,
        },
        "project" => Project {
            description: String,
            #[serde(default, skip_serializing_if = "Option::is_none")]
            template_id: Option<String>,
        },
        "task" => Task(Task),
        "document" => Document {
            content: String,
        },
    }
}

/// A task of a template, which each of its projects begins with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TemplateTask {
    pub title: String,
    /// The titles of the tasks that must be done before.
    #[serde(default)]
    pub blocked_by: Vec<String>,
}

/// A task.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    #[serde(default)]
    pub status: TaskStatus,
    #[serde(default)]
    pub notes: String,
    /// The ids of the tasks that must be done before.
    #[serde(default)]
    pub blocked_by: Vec<String>,
}

impl Item {
    /// The item as a task, if it is one.
    pub fn task(&self) -> Option<&Task> {
        match &self.body {
            Body::Task(task) => Some(task),
            _ => None,
        }
    }
}

/// The blockers of a task that are not done.
pub fn blockers<'a>(task: &Task, all: &'a [Item]) -> Vec<&'a Item> {
    let is_done = |item: &Item| item.task().is_some_and(|task| task.status == TaskStatus::Done);
    all.iter().filter(|item| task.blocked_by.contains(&item.id) && !is_done(item)).collect()
}

/// Whether a task would wait for itself, directly or indirectly.
pub fn in_a_circle(id: &str, blocked_by: &[String], all: &[Item]) -> bool {
    let mut seen: Vec<&str> = Vec::new();
    let mut next: Vec<&str> = blocked_by.iter().map(String::as_str).collect();
    while let Some(at) = next.pop() {
        if at == id {
            return true;
        }
        if !seen.contains(&at) {
            seen.push(at);
            let task = all.iter().find(|item| item.id == at).and_then(Item::task);
            next.extend(task.into_iter().flat_map(|task| &task.blocked_by).map(String::as_str));
        }
    }
    false
}

/// The built-in templates of all users.
pub fn built_in() -> Vec<Item> {
    let template = |id: &str, title: &str, description: &str, tasks: &[(&str, &[&str])]| {
        let tasks = tasks.iter().map(|(title, blocked_by)| TemplateTask {
            title: (*title).to_owned(),
            blocked_by: blocked_by.iter().map(|title| (*title).to_owned()).collect(),
        });
        Item {
            kind: ItemKind::Template,
            id: id.to_owned(),
            project_id: None,
            title: title.to_owned(),
            body: Body::Template { description: description.to_owned(), tasks: tasks.collect() },
            version: 1,
            operation: String::new(),
            created_at: 0,
            updated_at: 0,
        }
    };
    vec![
        template("template_blank", "Blank", "A project without tasks.", &[]),
        template(
            "template_software",
            "Software",
            "Something that is built and released.",
            &[
                ("Write down what it must do", &[]),
                ("Design it", &["Write down what it must do"]),
                ("Build it", &["Design it"]),
                ("Test it", &["Build it"]),
                ("Release it", &["Test it"]),
            ],
        ),
        template(
            "template_research",
            "Research",
            "A question that is looked into and answered.",
            &[
                ("Say the question", &[]),
                ("Collect sources", &["Say the question"]),
                ("Weigh what they say", &["Collect sources"]),
                ("Write the answer", &["Weigh what they say"]),
            ],
        ),
    ]
}
