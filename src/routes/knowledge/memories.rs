//! The service's memories of a user, for the user to read and to delete.

use bindings::d1::text;
use features::knowledge::Memories;
use features::knowledge::statements::{MEMORIES_THERE, MEMORY_THERE};
use features::knowledge::store::memories::D1Memories;
use wire::protocol::{ApiError, ErrorCode, MemoryList, Owner};
use wire::store::StoreError;

use crate::audit::store::Where;
use crate::call::{Answer, Call};
use crate::cursor::ListCursor;
use crate::problem::Failure;
use crate::query::{self, Page};
use crate::reply::Reply;
use crate::routes::audit;

/// `GET /api/memories`: newest first.
pub async fn list(call: &Call, owner: &Owner) -> Result<Answer, Failure> {
    let Page { limit, cursor } = query::page(call.query())?;
    let (at, id) = ListCursor::place(cursor.as_deref())?.unzip();
    // One row more than asked for tells whether there is another page.
    let page = of(call, owner).page(limit + 1, at.zip(id.as_deref())).await;
    let mut memories = page.map_err(unreachable)?;
    let next_cursor = ListCursor::cut(&mut memories, limit, |memory| (memory.updated_at, &memory.id));
    Ok(Reply::json(200, &MemoryList { memories, next_cursor }).into())
}

/// `DELETE /api/memories/{id}`.
pub async fn forget(call: &Call, owner: &Owner, id: &str) -> Result<Answer, Failure> {
    let there = Where { condition: MEMORY_THERE, values: vec![text(id)] };
    let memories = of(call, owner).logging(audit::deletion(call, owner, there)?);
    match memories.forget(id).await.map_err(unreachable)? {
        true => Ok(Reply::empty().into()),
        false => Err(ApiError::new(ErrorCode::MemoryNotFound, "there is no memory with this id").into()),
    }
}

/// `DELETE /api/memories`: all of them.
pub async fn clear(call: &Call, owner: &Owner) -> Result<Answer, Failure> {
    let there = Where { condition: MEMORIES_THERE, values: Vec::new() };
    let memories = of(call, owner).logging(audit::deletion(call, owner, there)?);
    memories.clear().await.map_err(unreachable)?;
    Ok(Reply::empty().into())
}

fn of(call: &Call, owner: &Owner) -> D1Memories {
    D1Memories::new(&call.env, owner)
}

fn unreachable(error: StoreError) -> Failure {
    Failure::internal("reading or writing memories")(error)
}
