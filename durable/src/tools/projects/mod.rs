//! The tools of the project domain: templates, projects, tasks, documents, of the user whose turn it is.
//!
//! What a call makes is named by its operation, so a call that runs again finds what it made. What is changed carries
//! the operation that changed it. Deleting asks a person first.

mod operations;
mod reading;
mod specs;

use std::rc::Rc;

use futures::FutureExt;
use futures::future::LocalBoxFuture;

use super::arguments;
use crate::ports::{Projects, Tool, ToolContext, ToolError};
use crate::toolbelt::ToolSpec;
use operations::Desk;

/// What one of the tools does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operation {
    ListTemplates,
    GetTemplate,
    CreateTemplate,
    ListProjects,
    GetProject,
    CreateProject,
    DeleteProject,
    PublishDocument,
    ListTasks,
    CreateTask,
    UpdateTask,
    DeleteTask,
    Audit,
}

struct ProjectTool {
    spec: ToolSpec,
    operation: Operation,
    projects: Rc<dyn Projects>,
}

/// The tools, over these projects.
pub fn tools(projects: &Rc<dyn Projects>) -> impl Iterator<Item = Rc<dyn Tool>> {
    let tool = |(operation, spec)| -> Rc<dyn Tool> {
        Rc::new(ProjectTool { spec, operation, projects: Rc::clone(projects) })
    };
    specs::declarations().into_iter().map(tool)
}

/// What the tools declare.
pub(super) fn specs() -> impl Iterator<Item = ToolSpec> {
    specs::declarations().into_iter().map(|(_, spec)| spec)
}

/// Their names: each turn asks for them, and a declaration is a schema to write.
const NAMES: [&str; 13] = [
    "list_templates",
    "get_template",
    "create_template",
    "list_projects",
    "get_project",
    "create_project",
    "delete_project",
    "publish_context_document",
    "list_tasks",
    "create_task",
    "update_task",
    "delete_task",
    "audit_project",
];

/// Whether a tool is one of the domain: only some contexts have it.
pub(super) fn has(name: &str) -> bool {
    NAMES.contains(&name)
}

impl Tool for ProjectTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn run(&self, json: &str, context: ToolContext) -> LocalBoxFuture<'static, Result<String, ToolError>> {
        let (spec, operation, json) = (self.spec.clone(), self.operation, json.to_owned());
        let desk = Desk::new(Rc::clone(&self.projects), &context);
        async move {
            match operation {
                Operation::ListTemplates => desk.list_templates(arguments(&spec, &json)?).await,
                Operation::GetTemplate => desk.get_template(arguments(&spec, &json)?).await,
                Operation::CreateTemplate => desk.create_template(arguments(&spec, &json)?).await,
                Operation::ListProjects => desk.list_projects(arguments(&spec, &json)?).await,
                Operation::GetProject => desk.get_project(arguments(&spec, &json)?).await,
                Operation::CreateProject => desk.create_project(arguments(&spec, &json)?).await,
                Operation::DeleteProject => desk.delete_project(arguments(&spec, &json)?).await,
                Operation::PublishDocument => desk.publish_document(arguments(&spec, &json)?).await,
                Operation::ListTasks => desk.list_tasks(arguments(&spec, &json)?).await,
                Operation::CreateTask => desk.create_task(arguments(&spec, &json)?).await,
                Operation::UpdateTask => desk.update_task(arguments(&spec, &json)?).await,
                Operation::DeleteTask => desk.delete_task(arguments(&spec, &json)?).await,
                Operation::Audit => desk.audit(arguments(&spec, &json)?).await,
            }
        }
        .boxed_local()
    }
}

#[cfg(test)]
pub mod in_memory;
#[cfg(test)]
mod tests;
