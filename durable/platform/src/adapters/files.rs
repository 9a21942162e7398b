//! The files of workspaces in R2, and what becomes of them when their thread is deleted.

use std::collections::BTreeSet;
use std::rc::Rc;

use worker::Env;

use crate::storage::StoreError;
use crate::storage::outgoing::{News, Outgoing};
use crate::thread::Thread;
use engine::toolbelt::ToolPolicy;
use features::Resources;
use features::files::store::R2Files;
use features::files::{Files, history};
use wire::protocol::{ApiError, Owner};

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
            files.delete_all(prefix).await?;
        }
    }
    Ok(())
}
