//! `read_file`, `write_file`, `edit_file`, `list_files`, `delete_file`: the files of a workspace.
//!
//! The frozen policy of a turn says where its workspace is. `path.rs` checks at each call that no path leads out of
//! it: it refuses each path that could be read in two ways.
//!
//! Each level records the file versions that it has seen. A write names the version that it replaces, and R2 refuses
//! it if the file has changed. So the agent never overwrites a file version that it has not read. A call's outcome in
//! the journal has the versions that the call saw. A write puts its operation id into the file's metadata, so a
//! repeated write recognises its own effect. A content that is replaced or deleted stays as an earlier version
//! (`history.rs`): it is copied before it goes, and the copy's key names the content, so a crash loses nothing and a
//! repeated call makes no second copy. Versions are R2 objects of their own folder; the key has all that the list
//! tells, so a version needs no row. Reading has the class `workspace_write` as writing has, but runs beside other
//! calls.

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

use crate::marks::unmarked;
use engine::declared;
use engine::ports::{Tool, ToolContext, ToolError};
use engine::toolbelt::ToolSpec;
use engine::toolbelt::arguments;
use engine::versions::Versions;
use operations::Workspace;
pub use operations::room;
pub use port::{FileInfo, FileRead, Files, OnlyIf, Written};

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

/// The operation of a tool.
#[derive(Clone, Copy)]
enum Operation {
    Read,
    Write,
    Edit,
    List,
    Delete,
}

/// The tools, by their names in `tools.json`.
const OPERATIONS: [(&str, Operation); 5] = [
    ("read_file", Operation::Read),
    ("write_file", Operation::Write),
    ("edit_file", Operation::Edit),
    ("list_files", Operation::List),
    ("delete_file", Operation::Delete),
];

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

/// The tools, over these files. Writes are idempotent: a store recognises a repeated one by its operation id, and deleting a
/// missing file succeeds.
pub fn tools(files: &Rc<dyn Files>) -> impl Iterator<Item = Rc<dyn Tool>> {
    let tool = |(name, operation)| -> Rc<dyn Tool> {
        let spec = declared(name);
        Rc::new(FileTool { spec, operation, files: Rc::clone(files) })
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
