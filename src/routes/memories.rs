//! The service's memories of a user, for the user to read and to delete.

use bindings::d1::text;
use features::knowledge::Memories;
use features::knowledge::statements::{MEMORIES_THERE, MEMORY_THERE};
use features::knowledge::store::memories::D1Memories;
use wire::protocol::{ApiError, ErrorCode, MemoryList, Owner};
use wire::store::StoreError;

use super::audit;
use crate::audit::store::Where;
use crate::call::{Answer, Call};
use crate::cursor::{After, ListCursor};
use crate::problem::Failure;
use crate::reply::Reply;

/// `GET /api/memories`: newest first.
pub async fn list(call: &Call, owner: Owner) -> Result<Answer, Failure> {
    let memories = store(call, &owner);
    let read = async |limit, after: After<'_>| memories.page(limit, after).await.map_err(unreachable);
    let (memories, next_cursor) =
        ListCursor::page(call.query(), read, |memory| (memory.updated_at, &memory.id)).await?;
    Ok(Reply::json(200, &MemoryList { memories, next_cursor }).into())
}

/// `DELETE /api/memories/{id}`.
pub async fn forget(call: &Call, owner: Owner, id: &str) -> Result<Answer, Failure> {
    let there = Where { condition: MEMORY_THERE, values: vec![text(id)] };
    let memories = store(call, &owner).logging(audit::deletion(call, &owner, there)?);
    Answer::deleted(memories.forget(id).await.map_err(unreachable)?, || {
        ApiError::new(ErrorCode::MemoryNotFound, "there is no memory with this id")
    })
}

/// `DELETE /api/memories`: all of them.
pub async fn clear(call: &Call, owner: Owner) -> Result<Answer, Failure> {
    let there = Where { condition: MEMORIES_THERE, values: Vec::new() };
    let memories = store(call, &owner).logging(audit::deletion(call, &owner, there)?);
    memories.clear().await.map_err(unreachable)?;
    Ok(Reply::empty().into())
}

fn store(call: &Call, owner: &Owner) -> D1Memories {
    D1Memories::new(&call.env, owner)
}

fn unreachable(error: StoreError) -> Failure {
    Failure::internal("reading or writing memories")(error)
}
