//! The project tools that write.

use std::rc::Rc;

use serde::Deserialize;
use serde_json::json;
use wire::protocol::TaskStatus;

use super::change::ATTEMPTS;
use super::reading;
use crate::projects::Projects;
use crate::projects::item::{
    Body, Item, ItemKind, MAX_DOCUMENT, MAX_TEXT, MAX_TITLE, Task, TemplateTask, blockers, built_in,
    in_a_circle,
};
use engine::ports::{Clock, ToolContext, ToolError};

/// The context of one call.
pub(super) struct Desk {
    pub(super) projects: Rc<dyn Projects>,
    /// The name of the call, unique across threads.
    operation: String,
    clock: Rc<dyn Clock>,
}

#[derive(Deserialize)]
pub(super) struct Nothing {}

#[derive(Deserialize)]
pub(super) struct OfTemplate {
    pub(super) template_id: String,
}

#[derive(Deserialize)]
pub(super) struct OfProject {
    pub(super) project_id: String,
}

#[derive(Deserialize)]
pub(super) struct OfTask {
    task_id: String,
}

#[derive(Deserialize)]
pub(super) struct NewTemplate {
    name: String,
    description: String,
    #[serde(default)]
    tasks: Vec<TemplateTask>,
}

#[derive(Deserialize)]
pub(super) struct NewProject {
    name: String,
    description: String,
    template_id: String,
}

#[derive(Deserialize)]
pub(super) struct Publish {
    project_id: String,
    title: String,
    content: String,
}

#[derive(Deserialize)]
pub(super) struct NewTask {
    project_id: String,
    title: String,
    #[serde(default)]
    notes: String,
    #[serde(default)]
    blocked_by: Vec<String>,
}

#[derive(Deserialize)]
pub(super) struct TaskChange {
    task_id: String,
    status: Option<TaskStatus>,
    title: Option<String>,
    notes: Option<String>,
    blocked_by: Option<Vec<String>>,
}

fn refused<T>(why: impl Into<String>) -> Result<T, ToolError> {
    Err(ToolError(why.into()))
}

fn within(name: &str, text: &str, least: usize, most: usize) -> Result<(), ToolError> {
    let chars = text.trim().chars().count();
    match chars < least || text.chars().nth(most).is_some() {
        true => refused(format!("invalid arguments at {name}: it must have {least} to {most} characters")),
        false => Ok(()),
    }
}

impl Desk {
    pub(super) fn new(projects: Rc<dyn Projects>, context: &ToolContext) -> Self {
        let call = context.operation_id.strip_prefix("call_").unwrap_or(&context.operation_id);
        let operation = format!("{}_{call}", projects.scope());
        Desk { projects, operation, clock: Rc::clone(&context.clock) }
    }

    /// Makes a new item with an id from its operation. A repeated operation makes the same item.
    fn item(&self, kind: ItemKind, number: usize, project_id: Option<&str>, title: &str, body: Body) -> Item {
        let now = self.clock.now_ms();
        Item {
            kind,
            id: format!("{}_{}_{number}", kind.as_str(), self.operation),
            project_id: project_id.map(str::to_owned),
            title: title.trim().to_owned(),
            body,
            version: 1,
            operation: self.operation.clone(),
            created_at: now,
            updated_at: now,
        }
    }

    /// Refuses an item beyond the limit, unless this operation has already made it.
    async fn has_room(&self, item: &Item, more: usize) -> Result<(), ToolError> {
        let there = self.projects.list(item.kind, item.project_id.as_deref()).await?;
        let again = there.iter().any(|known| known.id == item.id);
        let most = item.kind.most();
        match !again && there.len() + more > most {
            true => refused(format!("the limit is {most} {}s", item.kind.as_str())),
            false => Ok(()),
        }
    }

    pub(super) async fn template(&self, id: &str) -> Result<Item, ToolError> {
        if let Some(found) = built_in().into_iter().find(|template| template.id == id) {
            return Ok(found);
        }
        self.found(ItemKind::Template, id).await
    }

    pub(super) async fn found(&self, kind: ItemKind, id: &str) -> Result<Item, ToolError> {
        let found = self.projects.get(kind, id).await?;
        found.ok_or_else(|| ToolError(format!("there is no {} with the id {id:?}", kind.as_str())))
    }

    pub(super) async fn create_template(&self, new: NewTemplate) -> Result<String, ToolError> {
        within("name", &new.name, 1, MAX_TITLE)?;
        within("description", &new.description, 1, MAX_TEXT)?;
        if new.tasks.len() > ItemKind::Task.most() {
            return refused(format!("a template has at most {} tasks", ItemKind::Task.most()));
        }
        for (index, task) in new.tasks.iter().enumerate() {
            within(&format!("tasks[{index}].title"), &task.title, 1, MAX_TITLE)?;
            // A task may wait only for earlier tasks, so no task of a new project waits for itself.
            let before = new.tasks.get(..index).unwrap_or_default();
            if let Some(unknown) =
                task.blocked_by.iter().find(|title| before.iter().all(|t| t.title != **title))
            {
                return refused(format!(
                    "the task {:?} is blocked by {unknown:?}, which no task before it is",
                    task.title
                ));
            }
        }
        let body = Body::Template { description: new.description, tasks: new.tasks };
        let item = self.item(ItemKind::Template, 0, None, &new.name, body);
        self.has_room(&item, 1).await?;
        let id = item.id.clone();
        self.projects.create(vec![item]).await?;
        Ok(json!({ "template_id": id }).to_string())
    }

    pub(super) async fn create_project(&self, new: NewProject) -> Result<String, ToolError> {
        within("name", &new.name, 1, MAX_TITLE)?;
        within("description", &new.description, 1, MAX_TEXT)?;
        let template = self.template(&new.template_id).await?;
        let Body::Template { tasks, .. } = template.body else { return refused("this is no template") };
        let body = Body::Project { description: new.description, template_id: Some(new.template_id) };
        let project = self.item(ItemKind::Project, 0, None, &new.name, body);
        self.has_room(&project, 1).await?;
        let id_of = |title: &String| tasks.iter().position(|task| task.title == *title);
        let of_task = |number: usize, task: &TemplateTask| {
            let blocked_by = task.blocked_by.iter().filter_map(id_of);
            let ids =
                blocked_by.map(|at| self.item(ItemKind::Task, at, None, "", Body::Task(Task::default())).id);
            let body = Body::Task(Task { blocked_by: ids.collect(), ..Task::default() });
            self.item(ItemKind::Task, number, Some(&project.id), &task.title, body)
        };
        let tasks: Vec<Item> = tasks.iter().enumerate().map(|(number, task)| of_task(number, task)).collect();
        let told = json!({"project_id": project.id, "name": project.title, "tasks": tasks.len()});
        let items = std::iter::once(project).chain(tasks).collect();
        self.projects.create(items).await?;
        Ok(told.to_string())
    }

    pub(super) async fn delete_project(&self, of: OfProject) -> Result<String, ToolError> {
        self.projects.delete(ItemKind::Project, &of.project_id).await?;
        Ok(format!("deleted {:?} with its tasks and documents", of.project_id))
    }

    pub(super) async fn publish_document(&self, new: Publish) -> Result<String, ToolError> {
        within("title", &new.title, 1, MAX_TITLE)?;
        within("content", &new.content, 1, MAX_DOCUMENT)?;
        self.found(ItemKind::Project, &new.project_id).await?;
        let body = Body::Document { content: new.content };
        let item = self.item(ItemKind::Document, 0, Some(&new.project_id), &new.title, body.clone());
        for _ in 0..ATTEMPTS {
            let there = self.projects.list(ItemKind::Document, Some(&new.project_id)).await?;
            let Some(old) = there.into_iter().find(|document| document.title == item.title) else {
                self.has_room(&item, 1).await?;
                self.projects.create(vec![item.clone()]).await?;
                return Ok(json!({ "document_id": item.id }).to_string());
            };
            let id = old.id.clone();
            if self.write(old, |document| document.body = body.clone()).await? {
                return Ok(json!({ "document_id": id }).to_string());
            }
        }
        refused(BUSY)
    }

    pub(super) async fn create_task(&self, new: NewTask) -> Result<String, ToolError> {
        within("title", &new.title, 1, MAX_TITLE)?;
        within("notes", &new.notes, 0, MAX_TEXT)?;
        self.found(ItemKind::Project, &new.project_id).await?;
        let all = self.projects.list(ItemKind::Task, Some(&new.project_id)).await?;
        known(&new.blocked_by, &all)?;
        let task = Task { notes: new.notes, blocked_by: new.blocked_by, ..Task::default() };
        let item = self.item(ItemKind::Task, 0, Some(&new.project_id), &new.title, Body::Task(task));
        self.has_room(&item, 1).await?;
        let id = item.id.clone();
        self.projects.create(vec![item]).await?;
        Ok(json!({ "task_id": id }).to_string())
    }

    pub(super) async fn update_task(&self, change: TaskChange) -> Result<String, ToolError> {
        change.title.iter().try_for_each(|title| within("title", title, 1, MAX_TITLE))?;
        change.notes.iter().try_for_each(|notes| within("notes", notes, 0, MAX_TEXT))?;
        for _ in 0..ATTEMPTS {
            let item = self.found(ItemKind::Task, &change.task_id).await?;
            let all = self.projects.list(ItemKind::Task, item.project_id.as_deref()).await?;
            let mut task = item.task().cloned().unwrap_or_default();
            if let Some(blocked_by) = &change.blocked_by {
                known(blocked_by, &all)?;
                if in_a_circle(&item.id, blocked_by, &all) {
                    return refused("these tasks would wait for each other");
                }
                task.blocked_by.clone_from(blocked_by);
            }
            task.status = change.status.unwrap_or(task.status);
            change.notes.iter().for_each(|notes| task.notes.clone_from(notes));
            let open = blockers(&task, &all);
            if task.status == TaskStatus::Done && !open.is_empty() {
                let open: Vec<String> =
                    open.iter().map(|item| format!("{} ({})", item.title, item.id)).collect();
                return refused(format!("the task is blocked, so it cannot be done: {}", open.join(", ")));
            }
            let told = reading::task(&item.id, change.title.as_deref().unwrap_or(&item.title), &task, &all);
            let changed = |item: &mut Item| {
                change.title.iter().for_each(|title| item.title = title.trim().to_owned());
                item.body = Body::Task(task.clone());
            };
            if self.write(item, changed).await? {
                return Ok(told.to_string());
            }
        }
        refused(BUSY)
    }

    pub(super) async fn delete_task(&self, of: OfTask) -> Result<String, ToolError> {
        self.projects.delete(ItemKind::Task, &of.task_id).await?;
        Ok(format!("deleted {:?}", of.task_id))
    }

    /// Replaces an item by its changed version. Does nothing if this operation has already done so. False after a
    /// concurrent change.
    async fn write(&self, item: Item, change: impl FnOnce(&mut Item)) -> Result<bool, ToolError> {
        if item.operation == self.operation {
            return Ok(true);
        }
        let (over, mut item) = (item.version, item);
        change(&mut item);
        item.version = over.saturating_add(1);
        item.operation.clone_from(&self.operation);
        item.updated_at = self.clock.now_ms();
        Ok(self.projects.update(item, over).await?)
    }
}

const BUSY: &str = "this changed at the same time: read it again, then repeat the call";

/// Refuses unknown ids of tasks.
fn known(ids: &[String], all: &[Item]) -> Result<(), ToolError> {
    match ids.iter().find(|id| all.iter().all(|item| item.id != **id)) {
        Some(unknown) => refused(format!("there is no task {unknown:?} in this project")),
        None => Ok(()),
    }
}
