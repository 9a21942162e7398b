//! `read_file`, `write_file`, `edit_file`, `list_files`, `delete_file`: the files of a workspace.
//! The policy names the workspace. These tools check at each call that a path stays inside it. A level never overwrites
//! a file version that it has not read.

pub mod history;
mod operations;
pub mod path;
mod port;
#[cfg(target_arch = "wasm32")]
pub mod store;
#[cfg(test)]
mod turn_tests;

use std::num::NonZeroUsize;
use std::rc::Rc;

use futures::FutureExt;
use futures::future::LocalBoxFuture;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::marks::unmarked;
use engine::made_once;
use engine::ports::{Tool, ToolContext, ToolError};
use engine::toolbelt::arguments;
use engine::toolbelt::declare;
use engine::toolbelt::{PermissionClass, Reads, ToolSpec};
use engine::versions::Versions;
use operations::Workspace;
pub use operations::room;
pub use port::{FileInfo, FileRead, Files, FilesError, OnlyIf, Written};

/// The largest file in bytes, for tools and uploads.
pub const MAX_FILE_BYTES: usize = 1_048_576;
/// The most files of a workspace: the size of a page in R2.
pub const MAX_FILES: usize = 1_000;
/// The most named workspaces of a user.
pub const MAX_WORKSPACES: usize = 100;
/// The most bytes of a workspace.
pub const MAX_WORKSPACE_BYTES: u64 = 52_428_800;
/// The most bytes of one read or list: below the limit of a result, so that the engine never cuts it.
pub const MAX_TOLD_BYTES: usize = 45_000;
/// The lock that serializes the writes of a turn.
const LOCK: &str = "workspace";

/// The operation of a tool.
#[derive(Clone, Copy)]
enum Operation {
    Read,
    Write,
    Edit,
    List,
    Delete,
}

struct FileTool {
    spec: ToolSpec,
    operation: Operation,
    files: Rc<dyn Files>,
}

#[derive(Deserialize)]
pub(super) struct ReadArguments {
    path: String,
    from_line: Option<NonZeroUsize>,
    lines: Option<NonZeroUsize>,
}

#[derive(Deserialize)]
pub(super) struct WriteArguments {
    path: String,
    content: String,
}

#[derive(Deserialize)]
pub(super) struct EditArguments {
    path: String,
    old_text: String,
    new_text: String,
    #[serde(default)]
    replace_all: bool,
}

#[derive(Deserialize)]
pub(super) struct ListArguments {
    folder: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct DeleteArguments {
    path: String,
}

/// The tools, over these files.
pub fn tools(files: &Rc<dyn Files>) -> impl Iterator<Item = Rc<dyn Tool>> {
    let tool = |(operation, spec)| -> Rc<dyn Tool> {
        Rc::new(FileTool { spec, operation, files: Rc::clone(files) })
    };
    declarations().into_iter().map(tool)
}

/// The declarations of the tools.
pub(super) fn specs() -> impl Iterator<Item = ToolSpec> {
    declarations().into_iter().map(|(_, spec)| spec)
}

fn declarations() -> [(Operation, ToolSpec); 5] {
    made_once!([(Operation, ToolSpec); 5], declared())
}

// Long: one declaration for each tool.
fn declared() -> [(Operation, ToolSpec); 5] {
    let path = json!({"type": "string", "description": "relative to the workspace"});
    let spec = |name, description, properties: Value, required: &[&str], example: Value| {
        let schema = json!({"type": "object", "properties": properties, "required": required,
            "additionalProperties": false, "examples": [example]});
        ToolSpec { read_only: true, ..declare(name, PermissionClass::WorkspaceWrite, description, schema) }
    };
    let reads = |spec| ToolSpec { reads: Some(Reads::WorkspaceFile), ..spec };
    // Idempotent: a store recognises a repeated write by its operation id, and deleting a missing file succeeds.
    let writes = |spec| ToolSpec {
        parallel_safe: false,
        exclusive_lock: Some(LOCK.to_owned()),
        read_only: false,
        ..spec
    };
    [
        (
            Operation::Read,
            reads(spec(
                "read_file",
                "Reads a text file of the workspace. A long file comes in pieces: use from_line to read on.",
                json!({
                    "path": path,
                    "from_line": {"type": "integer", "minimum": 1, "description": "the first line, 1 if not given"},
                    "lines": {"type": "integer", "minimum": 1, "description": "how many lines at most"},
                }),
                &["path"],
                json!({"path": "notes/plan.md"}),
            )),
        ),
        (
            Operation::Write,
            writes(spec(
                "write_file",
                "Writes a text file of the workspace, new or in place of what it was. A file that is there must have been \
                 read before, and is not overwritten if it has changed since.",
                json!({"path": path, "content": {"type": "string"}}),
                &["path", "content"],
                json!({"path": "notes/plan.md", "content": "# Plan\n"}),
            )),
        ),
        (
            Operation::Edit,
            writes(spec(
                "edit_file",
                "Replaces a piece of a text file of the workspace that was read before. old_text must stand there exactly \
                 once, or replace_all be true.",
                json!({
                    "path": path,
                    "old_text": {"type": "string"},
                    "new_text": {"type": "string"},
                    "replace_all": {"type": "boolean"},
                }),
                &["path", "old_text", "new_text"],
                json!({"path": "notes/plan.md", "old_text": "open", "new_text": "done"}),
            )),
        ),
        (
            Operation::List,
            spec(
                "list_files",
                "Lists the files of the workspace with their sizes, or those of one folder.",
                json!({"folder": {"type": "string", "description": "relative to the workspace; all of it if not given"}}),
                &[],
                json!({"folder": "notes"}),
            ),
        ),
        (
            Operation::Delete,
            writes(spec(
                "delete_file",
                "Deletes a file of the workspace. Read it first.",
                json!({ "path": path }),
                &["path"],
                json!({"path": "notes/plan.md"}),
            )),
        ),
    ]
}

impl Tool for FileTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn content(&self, result: &str) -> Result<String, ToolError> {
        let why = "the file is no text, or too long for one result";
        unmarked(operations::CONTENT, result).ok_or_else(|| ToolError(why.to_owned()))
    }

    fn present_versions(
        &self,
        context: &ToolContext,
    ) -> Option<LocalBoxFuture<'static, Result<Versions, ToolError>>> {
        let workspace = Workspace::new(Rc::clone(&self.files), context);
        Some(async move { workspace?.versions().await }.boxed_local())
    }

    fn whole(&self, json: &str, root: Option<&str>) -> LocalBoxFuture<'static, Result<String, ToolError>> {
        let (files, root) = (Rc::clone(&self.files), root.map(str::to_owned));
        let path = arguments::read(&self.spec, json).map(|ReadArguments { path, .. }| path);
        async move { operations::whole(files.as_ref(), root.as_deref(), &path?).await }.boxed_local()
    }

    fn writes_files(&self) -> bool {
        matches!(self.operation, Operation::Write)
    }

    fn run(&self, json: &str, context: ToolContext) -> LocalBoxFuture<'static, Result<String, ToolError>> {
        let (files, operation) = (Rc::clone(&self.files), self.operation);
        let (spec, json) = (self.spec.clone(), json.to_owned());
        async move {
            let workspace = Workspace::new(files, &context)?;
            match operation {
                Operation::Read => workspace.read(arguments::read(&spec, &json)?).await,
                Operation::Write => workspace.write(arguments::read(&spec, &json)?).await,
                Operation::Edit => workspace.edit(arguments::read(&spec, &json)?).await,
                Operation::List => workspace.list(arguments::read(&spec, &json)?).await,
                Operation::Delete => workspace.delete(arguments::read(&spec, &json)?).await,
            }
        }
        .boxed_local()
    }
}

#[cfg(test)]
pub mod in_memory;
#[cfg(test)]
mod tests;
