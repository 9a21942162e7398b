//! The tools of the project domain: the user's templates, projects, tasks and documents.
//! New items get their ids from the operation, so a repeated call finds its own items. Changed items store the last
//! operation. A person must allow each deletion. A person also changes and deletes items on the page (`change.rs`).

pub mod change;
pub mod item;
mod operations;
mod port;
mod reading;
pub mod statements;
#[cfg(target_arch = "wasm32")]
pub mod store;

use std::rc::Rc;

use futures::FutureExt;
use futures::future::LocalBoxFuture;

use engine::declared;
use engine::ports::{Tool, ToolContext, ToolError};
use engine::toolbelt::ToolSpec;
use engine::toolbelt::arguments;
use operations::Desk;
pub use port::Projects;

/// The operation of a tool.
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

/// The tools, by their names in `tools.json`.
const OPERATIONS: [(&str, Operation); 13] = [
    ("list_templates", Operation::ListTemplates),
    ("get_template", Operation::GetTemplate),
    ("create_template", Operation::CreateTemplate),
    ("list_projects", Operation::ListProjects),
    ("get_project", Operation::GetProject),
    ("create_project", Operation::CreateProject),
    ("delete_project", Operation::DeleteProject),
    ("publish_context_document", Operation::PublishDocument),
    ("list_tasks", Operation::ListTasks),
    ("create_task", Operation::CreateTask),
    ("update_task", Operation::UpdateTask),
    ("delete_task", Operation::DeleteTask),
    ("audit_project", Operation::Audit),
];

struct ProjectTool {
    spec: ToolSpec,
    operation: Operation,
    projects: Rc<dyn Projects>,
}

/// The tools, over these projects.
pub fn tools(projects: &Rc<dyn Projects>) -> impl Iterator<Item = Rc<dyn Tool>> {
    let tool = |(name, operation)| -> Rc<dyn Tool> {
        let spec = declared(name);
        Rc::new(ProjectTool { spec, operation, projects: Rc::clone(projects) })
    };
    OPERATIONS.into_iter().map(tool)
}

/// The declarations of the tools.
pub(super) fn specs() -> impl Iterator<Item = ToolSpec> {
    OPERATIONS.into_iter().map(|(name, _)| declared(name))
}

fn declared(name: &str) -> ToolSpec {
    declared!("tools.json", name)
}

impl Tool for ProjectTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn is_opt_in(&self) -> bool {
        true
    }

    fn run(&self, json: &str, context: ToolContext) -> LocalBoxFuture<'static, Result<String, ToolError>> {
        let (spec, operation, json) = (self.spec.clone(), self.operation, json.to_owned());
        let desk = Desk::new(Rc::clone(&self.projects), &context);
        async move {
            match operation {
                Operation::ListTemplates => desk.list_templates(arguments::read(&spec, &json)?).await,
                Operation::GetTemplate => desk.get_template(arguments::read(&spec, &json)?).await,
                Operation::CreateTemplate => desk.create_template(arguments::read(&spec, &json)?).await,
                Operation::ListProjects => desk.list_projects(arguments::read(&spec, &json)?).await,
                Operation::GetProject => desk.get_project(arguments::read(&spec, &json)?).await,
                Operation::CreateProject => desk.create_project(arguments::read(&spec, &json)?).await,
                Operation::DeleteProject => desk.delete_project(arguments::read(&spec, &json)?).await,
                Operation::PublishDocument => desk.publish_document(arguments::read(&spec, &json)?).await,
                Operation::ListTasks => desk.list_tasks(arguments::read(&spec, &json)?).await,
                Operation::CreateTask => desk.create_task(arguments::read(&spec, &json)?).await,
                Operation::UpdateTask => desk.update_task(arguments::read(&spec, &json)?).await,
                Operation::DeleteTask => desk.delete_task(arguments::read(&spec, &json)?).await,
                Operation::Audit => desk.audit(arguments::read(&spec, &json)?).await,
            }
        }
        .boxed_local()
    }
}

#[cfg(test)]
mod change_tests;
#[cfg(test)]
pub mod in_memory;
#[cfg(test)]
mod tests;
