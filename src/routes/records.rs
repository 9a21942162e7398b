//! The records of turns. The thread's object has them.

use uuid::Uuid;
use wire::protocol::{ApiError, ErrorCode, Owner, ThreadCommand};

use super::threads;
use crate::call::{Answer, Call};
use crate::problem::Failure;
use crate::query::{self, Page};
use crate::router::RecordsRoute;

/// Does what a route of records is for.
pub async fn answer(call: &Call, owner: Owner, route: RecordsRoute<'_>) -> Result<Answer, Failure> {
    let (id, command) = match route {
        RecordsRoute::Record { id, turn } => {
            let unknown = || ApiError::new(ErrorCode::RecordNotKept, "there is no turn with this id");
            let turn_id = Uuid::try_parse(turn).map_err(|_| unknown())?;
            (id, ThreadCommand::Record { turn_id })
        }
        RecordsRoute::Records { id } => {
            let Page { limit, cursor } = query::page(call.query())?;
            (id, ThreadCommand::Records { limit, cursor })
        }
    };
    threads::ask(call, owner, id, command).await
}
