//! The custom instructions of a user, and those of a project.

use features::instructions::store::D1Instructions;
use wire::protocol::{ApiError, ErrorCode, Instructions, NewInstructions, Owner};
use wire::store::StoreError;

use super::uploads;
use crate::call::{Answer, Call};
use crate::problem::Failure;
use crate::reply::Reply;

/// The user's, or those of a project.
pub async fn get(call: &Call, owner: Owner, project: Option<&str>) -> Result<Answer, Failure> {
    answer(D1Instructions::new(&call.env, &owner).get(project).await.map_err(unreachable)?)
}

/// Writes them. Empty ones delete them, also where the day's quota is used up.
pub async fn put(call: &Call, owner: Owner, project: Option<&str>, body: &[u8]) -> Result<Answer, Failure> {
    let new = NewInstructions::parse(body)?;
    let store = D1Instructions::new(&call.env, &owner);
    let putting = async { store.put(project, &new, call.now).await.map_err(unreachable) };
    answer(match new.is_empty() {
        true => putting.await?,
        false => uploads::within(call, &owner, new.len(), putting, Option::is_some).await?,
    })
}

/// None where the user has no such project.
fn answer(found: Option<Instructions>) -> Result<Answer, Failure> {
    let none = || ApiError::new(ErrorCode::ProjectNotFound, "there is no such project");
    Ok(Reply::json(200, &found.ok_or_else(none)?).into())
}

fn unreachable(error: StoreError) -> Failure {
    Failure::internal("reading custom instructions")(error)
}
