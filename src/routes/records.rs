//! The records of turns. The thread's object has them.

use uuid::Uuid;
use wire::protocol::{ApiError, ErrorCode, Owner, ThreadCommand};

use super::credentials::Caller;
use super::threads;
use crate::auth::scope::Scope;
use crate::call::{Answer, Call};
use crate::problem::Failure;
use crate::query::{self, Page};

/// `GET …/turns/{turn_id}/record`. An admin of the tenant reads the words of the operator's hooks.
pub async fn get(call: &Call, caller: Caller, id: &str, turn: &str) -> Result<Answer, Failure> {
    let unknown = || ApiError::new(ErrorCode::RecordNotKept, "there is no turn with this id");
    let turn_id = Uuid::try_parse(turn).map_err(|_| unknown())?;
    let whole = caller.has(Scope::Admin);
    threads::ask(call, caller.owner()?, id, ThreadCommand::Record { turn_id, whole }).await
}

/// `GET …/records`: newest turn first.
pub async fn list(call: &Call, owner: Owner, id: &str) -> Result<Answer, Failure> {
    let Page { limit, cursor } = query::page(call.query())?;
    threads::ask(call, owner, id, ThreadCommand::Records { limit, cursor }).await
}
