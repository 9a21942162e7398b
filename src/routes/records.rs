//! The records of turns. The thread's object has them.

use uuid::Uuid;
use wire::protocol::{ApiError, ErrorCode, ThreadCommand};

use super::credentials::Caller;
use super::threads;
use crate::auth::scope::Scope;
use crate::call::{Answer, Call};
use crate::problem::Failure;
use crate::query::{self, Page};
use crate::router::RecordsRoute;

/// Does what a route of records is for.
pub async fn answer(call: &Call, caller: Caller, route: RecordsRoute<'_>) -> Result<Answer, Failure> {
    // An admin of the tenant reads the words of the operator's hooks.
    let whole = caller.has(Scope::Admin);
    let (id, command) = match route {
        RecordsRoute::Record { id, turn } => {
            let unknown = || ApiError::new(ErrorCode::RecordNotKept, "there is no turn with this id");
            let turn_id = Uuid::try_parse(turn).map_err(|_| unknown())?;
            (id, ThreadCommand::Record { turn_id, whole })
        }
        RecordsRoute::Records { id } => {
            let Page { limit, cursor } = query::page(call.query())?;
            (id, ThreadCommand::Records { limit, cursor })
        }
    };
    threads::ask(call, caller.owner()?, id, command).await
}
