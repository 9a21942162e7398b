//! The storage port of the workflows.

use futures::future::LocalBoxFuture;

use wire::protocol::WorkflowDefinition;

/// The newest version of a user's workflow.
#[derive(Clone, Debug, PartialEq)]
pub struct Stored {
    pub id: String,
    pub version: u32,
    pub definition: WorkflowDefinition,
    pub updated_at: u64,
}

/// The workflows of one user.
pub trait Workflows {
    /// All of them, by id.
    fn list(&self) -> LocalBoxFuture<'static, Result<Vec<Stored>, WorkflowsError>>;
    /// The workflow of this id, if there is one.
    fn get(&self, id: &str) -> LocalBoxFuture<'static, Result<Option<Stored>, WorkflowsError>>;
    /// Writes a definition as the next version, unless it is the newest already. None where it would be a workflow more
    /// than a user may have.
    fn put(
        &self,
        id: &str,
        definition: WorkflowDefinition,
        now: u64,
    ) -> LocalBoxFuture<'static, Result<Option<Stored>, WorkflowsError>>;
    /// Deletes a workflow. False where there was none.
    fn delete(&self, id: &str) -> LocalBoxFuture<'static, Result<bool, WorkflowsError>>;
}

/// The storage did not answer, or refused; the text is for the operator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkflowsError(pub String);
