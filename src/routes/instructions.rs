//! The custom instructions of a user, and those of a project.

use features::instructions::InstructionsError;
use features::instructions::store::D1Instructions;
use wire::protocol::{ApiError, ErrorCode, Instructions, NewInstructions, Owner};

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
    let found = match route {
        InstructionsRoute::Instructions => store.get(None).await,
        InstructionsRoute::ProjectInstructions { project } => store.get(Some(project)).await,
        InstructionsRoute::PutInstructions => store.put(None, &NewInstructions::parse(body)?, call.now).await,
        InstructionsRoute::PutProjectInstructions { project } => {
            store.put(Some(project), &NewInstructions::parse(body)?, call.now).await
        }
    };
    let instructions: Instructions = found.map_err(unreachable)?.ok_or_else(not_found)?;
    Ok(Reply::json(200, &instructions).into())
}

fn not_found() -> ApiError {
    ApiError::new(ErrorCode::ProjectNotFound, "there is no such project")
}

fn unreachable(InstructionsError(error): InstructionsError) -> Failure {
    Failure::internal("reading custom instructions")(error)
}
