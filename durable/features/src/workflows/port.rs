//! The storage port of the workflows.

use futures::future::LocalBoxFuture;
use serde::Deserialize;

use wire::protocol::WorkflowDefinition;
use wire::store::StoreError;

/// The newest version of a user's workflow.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Stored {
    pub id: String,
    pub version: u32,
    #[serde(deserialize_with = "wire::json::column")]
    pub definition: WorkflowDefinition,
    pub updated_at: u64,
}

/// The workflows of one user.
pub trait Workflows {
    /// All of them, by id.
    fn list(&self) -> LocalBoxFuture<'static, Result<Vec<Stored>, StoreError>>;
    /// The workflow of this id, if there is one.
    fn get(&self, id: &str) -> LocalBoxFuture<'static, Result<Option<Stored>, StoreError>>;
    /// Writes a definition as the next version, unless it is the newest already. None where it would be a workflow more
    /// than a user may have.
    fn put(
        &self,
        id: &str,
        definition: WorkflowDefinition,
        now: u64,
    ) -> LocalBoxFuture<'static, Result<Option<Stored>, StoreError>>;
    /// Deletes a workflow. False where there was none.
    fn delete(&self, id: &str) -> LocalBoxFuture<'static, Result<bool, StoreError>>;
}
