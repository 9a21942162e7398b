//! Projects, with their tasks and documents.

use super::words::*;
use wire::protocol::{
    DocumentChange, MAX_PROJECT_DOCUMENT_CHARS, MAX_PROJECT_TEXT_CHARS, ProjectChange, TaskChange,
};

#[cfg(target_arch = "wasm32")]
use crate::routes::projects;
#[cfg(target_arch = "wasm32")]
use crate::routes::projects::{document_of, task_of, whole};
#[cfg(test)]
use wire::protocol::{DocumentDetail, ProjectDetail, ProjectEntry, ProjectList, ProjectTask, TemplateList};

routes! {
    /// Lists the templates of projects: the built-in ones, then the user's own.
    Get "/api/templates" => Templates, Needs(Read), Nothing, Reads,
        |r| projects::templates(r.call, r.caller.owner()?),
        |row| row.gives::<TemplateList>(200);
    /// Lists the user's projects, oldest first. A user has at most 100.
    Get "/api/projects" => Projects, Needs(Read), Nothing, Reads,
        |r| projects::list(r.call, r.caller.owner()?),
        |row| row.gives::<ProjectList>(200);
    /// Returns a project with its tasks and documents. It has at most 300 tasks and 50 documents.
    Get "/api/projects/{}" => Project(project), Needs(Read), Nothing, Reads,
        |r| projects::get(r.call, r.caller.owner()?, project),
        |row| row.of_project().gives::<ProjectDetail>(200);
    /// Changes a project's name or description. The answer is the project's entry of the list.
    Patch "/api/projects/{}" => ChangeProject(project), Needs(Write), json::<ProjectChange>(),
        Replaces(4 * MAX_PROJECT_TEXT_CHARS),
        |r| projects::change_project(r.call, r.caller.owner()?, project, r.body),
        |row| row.of_project().changes(json!({ "description": "Roses and herbs." })).gives::<ProjectEntry>(200);
    /// Deletes a project with its tasks and documents.
    Delete "/api/projects/{}" => DeleteProject(project), Needs(Write), Nothing, Deletes,
        |r| projects::delete(r.call, r.caller.owner()?, whole(project)),
        |row| row.of_project().gives_nothing("It is deleted.");
    /// Changes a task's title, notes or status. A task that waits for others cannot be done. To set it to `done` is 409
    /// `project_conflict`.
    Patch "/api/projects/{}/tasks/{}" => ChangeTask(project, task), Needs(Write), json::<TaskChange>(),
        Replaces(4 * MAX_PROJECT_TEXT_CHARS),
        |r| projects::change_task(r.call, r.caller.owner()?, task_of(project, task), r.body),
        |row| row.of_project().changes(json!({ "notes": "Ask the neighbours first." })).gives::<ProjectTask>(200);
    /// Deletes a task. Tasks that waited for it no longer do.
    Delete "/api/projects/{}/tasks/{}" => DeleteTask(project, task), Needs(Write), Nothing, Deletes,
        |r| projects::delete(r.call, r.caller.owner()?, task_of(project, task)),
        |row| row.of_project().gives_nothing("It is deleted.");
    /// Returns a document of a project, in Markdown.
    Get "/api/projects/{}/documents/{}" => ProjectDocument(project, document), Needs(Read), Nothing, Reads,
        |r| projects::document(r.call, r.caller.owner()?, document_of(project, document)),
        |row| row.of_project().gives::<DocumentDetail>(200);
    /// Changes a document's title or content. The title of another document of the project is 409 `project_conflict`.
    Patch "/api/projects/{}/documents/{}" => ChangeProjectDocument(project, document), Needs(Write), json::<DocumentChange>(),
        Replaces(4 * MAX_PROJECT_DOCUMENT_CHARS),
        |r| projects::change_document(r.call, r.caller.owner()?, document_of(project, document), r.body),
        |row| row.of_project().changes(json!({ "content": "# Roses\n" })).gives::<DocumentDetail>(200);
    /// Deletes a document of a project.
    Delete "/api/projects/{}/documents/{}" => DeleteProjectDocument(project, document), Needs(Write), Nothing,
        Deletes,
        |r| projects::delete(r.call, r.caller.owner()?, document_of(project, document)),
        |row| row.of_project().gives_nothing("It is deleted.");
}

/// The table `project_items`.
pub const TABLE: Table = users(
    "project_items",
    Rows {
        key: &["kind", "id"],
        line: Some("project_item"),
        columns: &[
            "kind AS item",
            "id",
            "project_id",
            "title",
            "body:json",
            "version",
            "operation",
            "created_at",
            "updated_at",
        ],
        ..ROWS
    },
    10,
);

#[cfg(test)]
impl Contract {
    /// A route of a project, or of a part of one.
    fn of_project(self) -> Self {
        self.refuses(&[E::ProjectNotFound])
    }

    /// A route that changes it, for example so.
    fn changes(self, example: Value) -> Self {
        self.takes(example).refuses(&[E::ProjectConflict])
    }
}
