//! Threads: the list comes from the index in D1, everything else from the thread's own object.

use platform::storage::index::{self, ThreadQuery};
use uuid::Uuid;
use wire::protocol::{
    ApiError, Change, ErrorCode, Owner, ThreadChange, ThreadCommand, ThreadEnvelope, ThreadList,
};

use super::object;
use crate::call::{Answer, Call};
use crate::cursor::ListCursor;
use crate::problem::Failure;
use crate::query::{self, Page};
use crate::reply::Reply;

/// Asks a thread's object. An id that is no UUID names no thread.
pub async fn ask(call: &Call, owner: Owner, id: &str, command: ThreadCommand) -> Result<Answer, Failure> {
    let thread_id = Uuid::try_parse(id)
        .map_err(|_| ApiError::new(ErrorCode::ThreadNotFound, "there is no thread with this id"))?;
    object::ask(&call.env, &ThreadEnvelope { owner, thread_id, command }).await.map(Answer::Object)
}

/// `GET /api/threads`: newest first, all of them or those that have a text.
pub async fn list(call: &Call, owner: Owner) -> Result<Answer, Failure> {
    let Page { limit, cursor } = query::page(call.query())?;
    let (at, id) = ListCursor::place(cursor.as_deref())?.unzip();
    let wanted = query::wanted(call.query())?;
    // One row more than asked for tells whether there is another page.
    let after = at.zip(id.as_deref());
    let query = ThreadQuery { wanted: wanted.as_deref(), after, limit: limit + 1 };
    let threads = index::threads(&call.env, &owner, query).await;
    let mut threads = threads.map_err(Failure::internal("listing threads"))?;
    let next_cursor = ListCursor::cut(&mut threads, limit, |thread| (thread.updated_at, &thread.id));
    Ok(Reply::json(200, &ThreadList { next_cursor, threads }).into())
}

/// `PATCH /api/threads/{id}`: another title, or another path.
pub async fn change(call: &Call, owner: Owner, id: &str, body: &[u8]) -> Result<Answer, Failure> {
    let command = match ThreadChange::parse(body)? {
        Change::Title(title) => ThreadCommand::Rename { title },
        Change::Path(turn_id) => ThreadCommand::Choose { turn_id },
    };
    ask(call, owner, id, command).await
}

/// `GET /api/threads/{id}/messages`: those on the path, or those of all versions.
pub async fn messages(call: &Call, owner: Owner, id: &str) -> Result<Answer, Failure> {
    let Page { limit, cursor } = query::page(call.query())?;
    let all = query::all_versions(call.query())?;
    ask(call, owner, id, ThreadCommand::Messages { limit, cursor, all }).await
}
