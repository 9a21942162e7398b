//! The files of workspaces in R2, and what becomes of them when their thread is deleted.

use std::collections::BTreeSet;
use std::rc::Rc;

use futures::FutureExt;
use futures::future::LocalBoxFuture;
use worker::Env;

use crate::storage::StoreError;
use crate::storage::outgoing::{News, Outgoing};
use crate::thread::Thread;
use engine::journal::MAX_INSTRUCTIONS_BYTES;
use engine::ports::ToolError;
use engine::toolbelt::ToolPolicy;
use features::Resources;
use features::files::store::R2Files;
use features::files::{Files, FilesError, history};
use wire::protocol::{ApiError, Owner};

/// The largest template: the longest instructions, and a head above them.
const MAX_TEMPLATE_BYTES: usize = MAX_INSTRUCTIONS_BYTES + 4_000;

/// Adds the files, where R2 is bound.
pub fn provide(
    resources: &mut Resources,
    thread: &Thread,
    _: &Owner,
    _: &str,
    _: &ToolPolicy,
) -> Result<(), ApiError> {
    resources.files = R2Files::new(&thread.env).map(|files| Rc::new(files) as Rc<dyn Files>);
    Ok(())
}

/// Whether the deployment has workspaces.
pub fn has_workspaces(env: &Env) -> bool {
    R2Files::new(env).is_some()
}

/// Reads a template in a workspace. The model reads an error.
pub fn template(env: &Env, root: &str, path: &str) -> LocalBoxFuture<'static, Result<String, ToolError>> {
    let files = R2Files::new(env);
    let (key, shown) = (format!("{root}{path}"), path.to_owned());
    let checked = features::files::path::check(path);
    async move {
        checked.map_err(ToolError)?;
        let missing = || ToolError(format!("there is no file {shown:?} in this workspace"));
        let found = files.ok_or_else(missing)?.read(&key, MAX_TEMPLATE_BYTES).await;
        let found = found.map_err(|FilesError(error)| {
            worker::console_error!("reading a template: {error}");
            ToolError("the file cannot be read just now".to_owned())
        })?;
        let (info, body) = found.ok_or_else(missing)?;
        let body = body.ok_or_else(|| {
            let bytes = info.bytes;
            ToolError(format!("the file has {bytes} bytes, a template has at most {MAX_TEMPLATE_BYTES}"))
        })?;
        String::from_utf8(body).map_err(|_| ToolError("the file is not text in UTF-8".to_owned()))
    }
    .boxed_local()
}

/// Deletes the files of deleted threads, which no request can name any more.
pub async fn delete_of_threads(env: &Env, rows: &[Outgoing]) -> Result<(), StoreError> {
    let roots = rows.iter().filter_map(|row| match &row.news {
        News::ThreadDeleted { workspace_root, .. } => workspace_root.as_deref(),
        _ => None,
    });
    let roots: BTreeSet<&str> = roots.collect();
    let Some(files) = R2Files::new(env) else { return Ok(()) };
    for root in roots {
        for prefix in [root, &history::folder(root)] {
            files.delete_all(prefix).await.map_err(|FilesError(error)| StoreError(format!("R2: {error}")))?;
        }
    }
    Ok(())
}
