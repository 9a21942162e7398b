//! The workflows of a user in D1, for the turns that work on their sessions.

use worker::Env;

use crate::respond::internal;
use bindings::d1::BINDING;
use bindings::env::is_bound;
use features::workflows::store::D1Workflows;
use features::workflows::{built_in, get};
use wire::protocol::{ApiError, Owner, WorkflowDetail};

/// The workflow of this id: the user's own, or else the built-in one.
pub async fn find(env: &Env, owner: &Owner, id: &str) -> Result<Option<WorkflowDetail>, ApiError> {
    if !is_bound(env, BINDING) {
        return Ok(built_in(id));
    }
    let found = get(&D1Workflows::new(env, owner), id).await;
    found.map_err(|error| internal(&error))
}
