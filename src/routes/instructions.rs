//! The custom instructions of a user, and those of a project.

use features::instructions::store::D1Instructions;
use wire::protocol::{ApiError, ErrorCode, Instructions, NewInstructions, Owner};
use wire::store::StoreError;

use super::uploads;
use crate::call::{Answer, Call};
use crate::problem::Failure;
use crate::reply::Reply;
use crate::router::InstructionsRoute;

/// Does what a route of custom instructions is for.
pub async fn answer(
    call: &Call,
    owner: Owner,
    route: InstructionsRoute<'_>,
    body: &[u8],
) -> Result<Answer, Failure> {
    let store = D1Instructions::new(&call.env, &owner);
    let (project, new) = match route {
        InstructionsRoute::Instructions => (None, None),
        InstructionsRoute::ProjectInstructions { project } => (Some(project), None),
        InstructionsRoute::PutInstructions => (None, Some(NewInstructions::parse(body)?)),
        InstructionsRoute::PutProjectInstructions { project } => {
            (Some(project), Some(NewInstructions::parse(body)?))
        }
    };
    let found: Option<Instructions> = match new {
        None => store.get(project).await.map_err(unreachable)?,
        Some(content) => {
            let putting = async { store.put(project, &content, call.now).await.map_err(unreachable) };
            match content.is_empty() {
                // It deletes them, also where the day's quota is used up.
                true => putting.await?,
                false => uploads::within(call, &owner, content.len(), putting, Option::is_some).await?,
            }
        }
    };
    Ok(Reply::json(200, &found.ok_or_else(not_found)?).into())
}

fn not_found() -> ApiError {
    ApiError::new(ErrorCode::ProjectNotFound, "there is no such project")
}

fn unreachable(error: StoreError) -> Failure {
    Failure::internal("reading custom instructions")(error)
}
