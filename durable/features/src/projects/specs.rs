//! The declarations of the project tools.

use serde_json::{Value, json};

use super::Operation;
use crate::projects::item::{MAX_DOCUMENT, MAX_TEXT, MAX_TITLE};
use engine::made_once;
use engine::toolbelt::declare;
use engine::toolbelt::{PermissionClass, ToolSpec};

/// The lock that serializes the writes of a turn.
const LOCK: &str = "projects";

pub(super) fn declarations() -> [(Operation, ToolSpec); 13] {
    made_once!([(Operation, ToolSpec); 13], declared())
}

// Long: one declaration for each tool.
fn declared() -> [(Operation, ToolSpec); 13] {
    let id = |what: &str| json!({"type": "string", "description": format!("the id of the {what}")});
    let text = |most: usize| json!({"type": "string", "minLength": 1, "maxLength": most});
    let titles = json!({"type": "array", "items": {"type": "string"}, "description": "titles of tasks that must be done before"});
    let ids = json!({"type": "array", "items": {"type": "string"}, "description": "ids of tasks that must be done before"});
    let status = json!({"type": "string", "enum": ["open", "in_progress", "done"]});
    let spec = |name, description, properties: Value, required: &[&str], example: Value| {
        let schema = json!({"type": "object", "properties": properties, "required": required,
            "additionalProperties": false, "examples": [example]});
        ToolSpec { read_only: true, ..declare(name, PermissionClass::Knowledge, description, schema) }
    };
    let writes = |spec| ToolSpec {
        parallel_safe: false,
        exclusive_lock: Some(LOCK.to_owned()),
        read_only: false,
        ..spec
    };
    let destroys = |spec| ToolSpec { ask: true, ..writes(spec) };
    [
        (
            Operation::ListTemplates,
            spec(
                "list_templates",
                "Lists the templates that projects can be made from.",
                json!({}),
                &[],
                json!({}),
            ),
        ),
        (
            Operation::GetTemplate,
            spec(
                "get_template",
                "Returns a template: its description and the tasks that its projects begin with.",
                json!({"template_id": id("template")}),
                &["template_id"],
                json!({"template_id": "template_software"}),
            ),
        ),
        (
            Operation::CreateTemplate,
            writes(spec(
                "create_template",
                "Creates a template. Use it only if no existing template fits.",
                json!({
                    "name": text(MAX_TITLE),
                    "description": text(MAX_TEXT),
                    "tasks": {
                        "type": "array",
                        "items": {
                            "type": "object",
                            "properties": {"title": text(MAX_TITLE), "blocked_by": titles},
                            "required": ["title"],
                            "additionalProperties": false,
                        },
                    },
                }),
                &["name", "description"],
                json!({"name": "Move", "description": "Moving house.", "tasks": [{"title": "Pack"}, {"title": "Drive", "blocked_by": ["Pack"]}]}),
            )),
        ),
        (
            Operation::ListProjects,
            spec("list_projects", "Lists the user's projects.", json!({}), &[], json!({})),
        ),
        (
            Operation::GetProject,
            spec(
                "get_project",
                "Returns the description of a project, the status of its tasks, and its documents with their content.",
                json!({"project_id": id("project")}),
                &["project_id"],
                json!({"project_id": "project_1"}),
            ),
        ),
        (
            Operation::CreateProject,
            writes(spec(
                "create_project",
                "Creates a project from a template, with the template's tasks. Returns its id.",
                json!({"name": text(MAX_TITLE), "description": text(MAX_TEXT), "template_id": id("template")}),
                &["name", "description", "template_id"],
                json!({"name": "Site", "description": "Our new site.", "template_id": "template_software"}),
            )),
        ),
        (
            Operation::DeleteProject,
            destroys(spec(
                "delete_project",
                "Deletes a project with all its tasks and documents. The user is asked first.",
                json!({"project_id": id("project")}),
                &["project_id"],
                json!({"project_id": "project_1"}),
            )),
        ),
        (
            Operation::PublishDocument,
            writes(spec(
                "publish_context_document",
                "Publishes a document of a project, in place of the one with the same title: what whoever works on the \
                 project must know, in Markdown.",
                json!({"project_id": id("project"), "title": text(MAX_TITLE), "content": text(MAX_DOCUMENT)}),
                &["project_id", "title", "content"],
                json!({"project_id": "project_1", "title": "Brief", "content": "# Brief\n"}),
            )),
        ),
        (
            Operation::ListTasks,
            spec(
                "list_tasks",
                "Lists the tasks of a project with their status and their blockers.",
                json!({"project_id": id("project"), "status": status}),
                &["project_id"],
                json!({"project_id": "project_1", "status": "open"}),
            ),
        ),
        (
            Operation::CreateTask,
            writes(spec(
                "create_task",
                "Adds a task to a project.",
                json!({
                    "project_id": id("project"),
                    "title": text(MAX_TITLE),
                    "notes": {"type": "string", "maxLength": MAX_TEXT},
                    "blocked_by": ids,
                }),
                &["project_id", "title"],
                json!({"project_id": "project_1", "title": "Write the brief"}),
            )),
        ),
        (
            Operation::UpdateTask,
            writes(spec(
                "update_task",
                "Changes a task. Members that you leave out stay. A task cannot be done before its blockers are done.",
                json!({
                    "task_id": id("task"),
                    "status": status,
                    "title": text(MAX_TITLE),
                    "notes": {"type": "string", "maxLength": MAX_TEXT},
                    "blocked_by": ids,
                }),
                &["task_id"],
                json!({"task_id": "task_1", "status": "done"}),
            )),
        ),
        (
            Operation::DeleteTask,
            destroys(spec(
                "delete_task",
                "Deletes a task. The user is asked first.",
                json!({"task_id": id("task")}),
                &["task_id"],
                json!({"task_id": "task_1"}),
            )),
        ),
        (
            Operation::Audit,
            spec(
                "audit_project",
                "Examines a project: how its tasks stand, which are blocked and by what, what points nowhere, which \
                 documents are missing.",
                json!({"project_id": id("project")}),
                &["project_id"],
                json!({"project_id": "project_1"}),
            ),
        ),
    ]
}
