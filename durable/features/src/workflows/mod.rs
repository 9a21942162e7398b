//! The workflows of users: definitions of procedures, in versions. The service brings three of its own. It has no tools:
//! the engine carries out the steps, and the thread's object keeps the sessions.
//!
//! `durable/features/src/workflows` has the definitions, whose newest versions are rows of D1. A session is a row of
//! its thread's object, with the definition with which it began; each ended step has a row of its own, so no row grows
//! with the session (`storage/session_rows.rs`). `platform/src/sessions` has its rules: `way.rs` says whether a chat
//! request works on the session, before everything else that decides its turn; `advance.rs` is the only way from one
//! step to the next.

mod builtin;
mod port;
pub mod statements;
#[cfg(target_arch = "wasm32")]
pub mod store;

pub use builtin::{BUILTIN, detail as built_in};
pub use port::{Stored, Workflows};

use wire::protocol::{WorkflowDefinition, WorkflowDetail, WorkflowSummary};
use wire::store::StoreError;

/// The user's workflows, then the built-in ones that none of them replaces.
pub async fn list(workflows: &dyn Workflows) -> Result<Vec<WorkflowSummary>, StoreError> {
    let own = workflows.list().await?;
    let replaced = |id: &str| own.iter().any(|stored| stored.id == id);
    let built_in = BUILTIN.iter().filter(|(id, _)| !replaced(id));
    let built_in: Vec<_> = built_in.filter_map(|(id, _)| builtin::summary(id)).collect();
    Ok(own.into_iter().map(|stored| summary(&stored)).chain(built_in).collect())
}

/// The workflow of this id: the user's own, or else the built-in one.
pub async fn get(workflows: &dyn Workflows, id: &str) -> Result<Option<WorkflowDetail>, StoreError> {
    Ok(match workflows.get(id).await? {
        Some(stored) => Some(detail(stored)),
        None => builtin::detail(id),
    })
}

/// Makes the next version of a workflow. A definition that is the newest version already stays that version, so a request
/// may be repeated. None where the user has as many workflows as a user may have.
pub async fn put(
    workflows: &dyn Workflows,
    id: &str,
    definition: WorkflowDefinition,
    now: u64,
) -> Result<Option<WorkflowDetail>, StoreError> {
    Ok(workflows.put(id, definition, now).await?.map(detail))
}

fn detail(stored: Stored) -> WorkflowDetail {
    WorkflowDetail { summary: summary(&stored), definition: stored.definition, ignored: Vec::new() }
}

fn summary(stored: &Stored) -> WorkflowSummary {
    WorkflowSummary {
        workflow_id: stored.id.clone(),
        name: stored.definition.name.clone(),
        steps: steps(&stored.definition),
        version: stored.version,
        built_in: false,
        updated_at: Some(stored.updated_at),
    }
}

fn steps(definition: &WorkflowDefinition) -> u32 {
    u32::try_from(definition.steps.len()).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod in_memory;
#[cfg(test)]
mod tests;
