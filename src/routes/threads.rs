//! Threads: the list comes from the index in D1, everything else from the thread's own object.

use std::fmt::Write;

use uuid::Uuid;
use wire::protocol::{ApiError, ErrorCode, Owner, ThreadCommand, ThreadEnvelope, ThreadList, ThreadSummary};
use worker::Result;
use worker::wasm_bindgen::JsValue;

use super::object;
use crate::cursor::ListCursor;
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

/// `GET /api/threads`: newest first, all of them or those that have what is looked for.
pub async fn list(call: &Call, owner: &Owner) -> std::result::Result<Reply, Failure> {
    let Page { limit, cursor } = query::page(call.query())?;
    let from = cursor.as_deref().map(ListCursor::decode).transpose()?;
    let wanted = query::wanted(call.query())?;
    let selection = Selection { owner, wanted, from, limit };
    let mut threads = rows(call, selection).await.map_err(Failure::internal("listing threads"))?;
    // One row more than asked for tells whether there is another page.
    let next_cursor = ListCursor::cut(&mut threads, limit, |thread| (thread.updated_at, &thread.id));
    Ok(Reply::json(200, &ThreadList { next_cursor, threads }))
}

/// What the list's statement is told, in the order of its parameters.
struct Selection<'a> {
    owner: &'a Owner,
    wanted: Option<String>,
    from: Option<ListCursor>,
    limit: u32,
}

/// Looks in titles, then in messages, for a text; ASCII letters match in either case. Not by `LIKE`, whose patterns D1
/// limits to 50 bytes. A search reads all of the user's messages and nobody else's.
const FOUND_IN: &str = "(SELECT substr(content, max(1, instr(lower(content), lower(?4)) - 40), 160) FROM messages m \
    WHERE m.tenant = ?1 AND m.user_id = ?2 AND m.thread_id = threads.id AND instr(lower(content), lower(?4)) > 0 \
    ORDER BY created_at, id LIMIT 1) AS snippet";

async fn rows(call: &Call, selection: Selection<'_>) -> Result<Vec<ThreadSummary>> {
    let Selection { owner, wanted, from, limit } = selection;
    let mut values =
        vec![JsValue::from_str(&owner.tenant), JsValue::from_str(&owner.user_id()), JsValue::from(limit + 1)];
    let (mut columns, mut conditions) = ("NULL AS snippet", String::new());
    if let Some(wanted) = &wanted {
        values.push(JsValue::from_str(wanted));
        columns = FOUND_IN;
        conditions.push_str(" AND (snippet IS NOT NULL OR instr(lower(title), lower(?4)) > 0)");
    }
    if let Some(ListCursor { at, id }) = from {
        let _ = write!(conditions, " AND (updated_at, id) < (?{}, ?{})", values.len() + 1, values.len() + 2);
        // As a float: D1 has no 64-bit integers, and milliseconds do not fit into 32.
        values.extend([JsValue::from_f64(at as f64), JsValue::from_str(&id.to_string())]);
    }
    let query = format!(
        "SELECT id, title, created_at, updated_at, {columns} FROM threads \
        WHERE tenant = ?1 AND user_id = ?2{conditions} ORDER BY updated_at DESC, id DESC LIMIT ?3"
    );
    call.env.d1("DB")?.prepare(query).bind(&values)?.all().await?.results()
}
