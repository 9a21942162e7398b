//! The project tools that read.

use serde::Deserialize;
use serde_json::{Value, json};
use wire::protocol::TaskStatus;

use super::operations::{Desk, Nothing, OfProject, OfTemplate};
use crate::projects::item::{Body, Item, ItemKind, Task, blockers, built_in};
use engine::ports::ToolError;

#[derive(Deserialize)]
pub(super) struct TasksOf {
    project_id: String,
    status: Option<TaskStatus>,
}

/// The longest document that `get_project` includes, in characters.
const TOLD_CHARS: usize = 4_000;

impl Desk {
    pub(super) async fn list_templates(&self, Nothing {}: Nothing) -> Result<String, ToolError> {
        let own = self.projects.list(ItemKind::Template, None).await?;
        let told = |item: Item| match item.body {
            Body::Template { description, tasks } => {
                json!({"template_id": item.id, "name": item.title, "description": description, "tasks": tasks.len()})
            }
            _ => Value::Null,
        };
        Ok(json!({"templates": built_in().into_iter().chain(own).map(told).collect::<Vec<_>>()}).to_string())
    }

    pub(super) async fn get_template(&self, of: OfTemplate) -> Result<String, ToolError> {
        let Item { id, title, body, .. } = self.template(&of.template_id).await?;
        Ok(json!({"template_id": id, "name": title, "template": body}).to_string())
    }

    pub(super) async fn list_projects(&self, Nothing {}: Nothing) -> Result<String, ToolError> {
        let projects = self.projects.list(ItemKind::Project, None).await?;
        let told = |item: &Item| json!({"project_id": item.id, "name": item.title});
        Ok(json!({"projects": projects.iter().map(told).collect::<Vec<_>>()}).to_string())
    }

    pub(super) async fn get_project(&self, of: OfProject) -> Result<String, ToolError> {
        let project = self.found(ItemKind::Project, &of.project_id).await?;
        let tasks = self.projects.list(ItemKind::Task, Some(&project.id)).await?;
        let documents = self.projects.list(ItemKind::Document, Some(&project.id)).await?;
        let documents: Vec<Value> = documents
            .iter()
            .map(|document| {
                let content = match &document.body {
                    Body::Document { content } => content.chars().take(TOLD_CHARS).collect(),
                    _ => String::new(),
                };
                json!({"document_id": document.id, "title": document.title, "content": content})
            })
            .collect();
        let description = match &project.body {
            Body::Project { description, .. } => description.as_str(),
            _ => "",
        };
        Ok(json!({
            "project_id": project.id,
            "name": project.title,
            "description": description,
            "tasks": standing(&tasks),
            "documents": documents,
        })
        .to_string())
    }

    pub(super) async fn list_tasks(&self, of: TasksOf) -> Result<String, ToolError> {
        self.found(ItemKind::Project, &of.project_id).await?;
        let all = self.projects.list(ItemKind::Task, Some(&of.project_id)).await?;
        let wanted = all.iter().filter_map(|item| Some((item, item.task()?)));
        let wanted = wanted.filter(|(_, task)| of.status.is_none_or(|status| task.status == status));
        let told: Vec<Value> = wanted.map(|(item, of)| task(&item.id, &item.title, of, &all)).collect();
        Ok(json!({ "tasks": told }).to_string())
    }

    pub(super) async fn audit(&self, of: OfProject) -> Result<String, ToolError> {
        let project = self.found(ItemKind::Project, &of.project_id).await?;
        let tasks = self.projects.list(ItemKind::Task, Some(&project.id)).await?;
        let documents = self.projects.list(ItemKind::Document, Some(&project.id)).await?;
        let mut findings: Vec<String> = Vec::new();
        for (item, of) in tasks.iter().filter_map(|item| Some((item, item.task()?))) {
            let open = blockers(of, &tasks);
            let names: Vec<&str> = open.iter().map(|item| item.title.as_str()).collect();
            match of.status {
                TaskStatus::Done if !open.is_empty() => {
                    findings.push(format!(
                        "{:?} is done, though it waits for: {}",
                        item.title,
                        names.join(", ")
                    ));
                }
                TaskStatus::InProgress if !open.is_empty() => {
                    findings.push(format!("{:?} was begun before: {}", item.title, names.join(", ")));
                }
                _ => {}
            }
            let lost = of.blocked_by.iter().filter(|id| tasks.iter().all(|task| task.id != **id)).count();
            if lost > 0 {
                findings.push(format!("{:?} waits for {lost} deleted task(s)", item.title));
            }
        }
        if documents.is_empty() {
            findings.push("no context document was published".to_owned());
        }
        if tasks.is_empty() {
            findings.push("there are no tasks".to_owned());
        }
        let blocked = tasks.iter().filter(|item| is_blocked(item, &tasks));
        let blocked: Vec<Value> =
            blocked.filter_map(|item| Some(task(&item.id, &item.title, item.task()?, &tasks))).collect();
        Ok(json!({
            "project_id": project.id,
            "name": project.title,
            "tasks": standing(&tasks),
            "blocked": blocked,
            "documents": documents.len(),
            "findings": findings,
        })
        .to_string())
    }
}

fn is_blocked(item: &Item, all: &[Item]) -> bool {
    item.task().is_some_and(|task| task.status != TaskStatus::Done && !blockers(task, all).is_empty())
}

/// Counts the tasks by status.
fn standing(tasks: &[Item]) -> Value {
    let count =
        |status| tasks.iter().filter(|item| item.task().is_some_and(|task| task.status == status)).count();
    json!({
        "open": count(TaskStatus::Open),
        "in_progress": count(TaskStatus::InProgress),
        "done": count(TaskStatus::Done),
        "blocked": tasks.iter().filter(|item| is_blocked(item, tasks)).count(),
    })
}

/// A task with its blockers.
pub(super) fn task(id: &str, title: &str, task: &Task, all: &[Item]) -> Value {
    let open = blockers(task, all);
    let open: Vec<Value> = open.iter().map(|item| json!({"task_id": item.id, "title": item.title})).collect();
    json!({"task_id": id, "title": title, "status": task.status, "notes": task.notes, "blockers": open})
}
