//! Threads: the list comes from the index in D1, everything else from the thread's own object.

use espalier_durable::protocol::{
    ApiError, ErrorCode, Owner, ThreadCommand, ThreadEnvelope, ThreadList, ThreadSummary,
};
use uuid::Uuid;
use worker::Result;
use worker::wasm_bindgen::JsValue;

use super::object;
use crate::cursor::ThreadCursor;
use crate::problem::Failure;
use crate::query::{self, Page};
use crate::reply::Reply;
use crate::serve::{Answer, Call};

/// Asks a thread's object. An id that is no UUID names no thread.
pub async fn ask(
    call: &Call,
    owner: Owner,
    id: &str,
    command: ThreadCommand,
) -> std::result::Result<Answer, Failure> {
    let thread_id = Uuid::try_parse(id)
        .map_err(|_| ApiError::new(ErrorCode::ThreadNotFound, "there is no thread with this id"))?;
    object::ask(&call.env, &ThreadEnvelope { owner, thread_id, command }).await.map(Answer::Object)
}

/// `GET /api/threads`: newest first.
pub async fn list(call: &Call, owner: &Owner) -> std::result::Result<Reply, Failure> {
    let Page { limit, cursor } = query::page(call.query())?;
    let from = cursor.as_deref().map(ThreadCursor::decode).transpose()?;
    let mut threads = rows(call, owner, from, limit).await.map_err(Failure::internal("listing threads"))?;
    // One row more than asked for tells whether there is another page.
    let more = threads.len() > limit as usize;
    threads.truncate(limit as usize);
    let last = threads.last().filter(|_| more);
    let next = last.and_then(|thread| {
        Some(ThreadCursor { updated_at: thread.updated_at, id: Uuid::try_parse(&thread.id).ok()? })
    });
    Ok(Reply::json(200, &ThreadList { next_cursor: next.map(ThreadCursor::encode), threads }))
}

async fn rows(
    call: &Call,
    owner: &Owner,
    from: Option<ThreadCursor>,
    limit: u32,
) -> Result<Vec<ThreadSummary>> {
    const FIRST: &str = "SELECT id, title, created_at, updated_at FROM threads \
        WHERE tenant = ?1 AND user_id = ?2 ORDER BY updated_at DESC, id DESC LIMIT ?3";
    const NEXT: &str = "SELECT id, title, created_at, updated_at FROM threads \
        WHERE tenant = ?1 AND user_id = ?2 AND (updated_at, id) < (?4, ?5) \
        ORDER BY updated_at DESC, id DESC LIMIT ?3";
    let mut values =
        vec![JsValue::from_str(&owner.tenant), JsValue::from_str(&owner.user_id()), JsValue::from(limit + 1)];
    if let Some(ThreadCursor { updated_at, id }) = from {
        // As a float: D1 has no 64-bit integers, and milliseconds do not fit into 32.
        values.extend([JsValue::from_f64(updated_at as f64), JsValue::from_str(&id.to_string())]);
    }
    let query = if from.is_some() { NEXT } else { FIRST };
    call.env.d1("DB")?.prepare(query).bind(&values)?.all().await?.results()
}
