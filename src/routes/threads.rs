//! Threads: the list comes from the index in D1, everything else from the thread's own object.

use engine::agents::dump::rename;
use platform::storage::index::{self, ThreadQuery};
use uuid::Uuid;
use wire::pace::Pace;
use wire::protocol::{
    ApiError, Change, ErrorCode, Owner, SentDump, ThreadChange, ThreadCommand, ThreadDetail, ThreadEnvelope,
    ThreadList,
};
use worker::Date;

use super::{object, pauses, uploads};
use crate::call::{Answer, Call};
use crate::cursor::{After, ListCursor};
use crate::problem::Failure;
use crate::query::{self, Page};
use crate::reply::Reply;

/// Asks a thread's object. An id that is no UUID names no thread.
pub async fn ask(call: &Call, owner: Owner, id: &str, command: ThreadCommand) -> Result<Answer, Failure> {
    let thread_id = Uuid::try_parse(id)
        .map_err(|_| ApiError::new(ErrorCode::ThreadNotFound, "there is no thread with this id"))?;
    object::ask(&call.env, &ThreadEnvelope { owner, thread_id, command }).await.map(Answer::Object)
}

/// `POST /api/threads/{id}/agents`: a dump, within the day's quotas of uploads. `?as=` names its first agent anew.
pub async fn restore_agent(call: &Call, owner: Owner, id: &str, body: &[u8]) -> Result<Answer, Failure> {
    let pauses = pauses(Date::now().as_millis());
    let pace = Pace::new(&pauses);
    let SentDump { mut dump, rounds } = SentDump::parse(body, &pace).await?;
    pace.before(body.len()).await?;
    if let Some(name) = query::restored_as(call.query())? {
        rename(&mut dump, name)?;
    }
    let mut rounds = rounds.into_iter();
    let (own, below) = (rounds.next().unwrap_or_default(), rounds.collect());
    let command = ThreadCommand::RestoreAgent { dump: Box::new(dump), rounds: own, below };
    let asked = ask(call, owner.clone(), id, command);
    uploads::within(call, &owner, body.len(), asked, Answer::is_ok).await
}

/// `GET /api/threads`: the pinned ones first, then newest first; all of them or those that have a text.
pub async fn list(call: &Call, owner: Owner) -> Result<Answer, Failure> {
    let wanted = query::wanted(call.query())?;
    let read = async |limit, after: After<'_>| {
        let query = ThreadQuery { wanted: wanted.as_deref(), after, limit };
        index::threads(&call.env, &owner, query).await.map_err(Failure::internal("listing threads"))
    };
    let (threads, next_cursor) =
        ListCursor::page(call.query(), read, |thread| (index::place(thread), &thread.id)).await?;
    Ok(Reply::json(200, &ThreadList { next_cursor, threads }).into())
}

/// `PATCH /api/threads/{id}`: another title, another path, or a pin.
pub async fn change(call: &Call, owner: Owner, id: &str, body: &[u8]) -> Result<Answer, Failure> {
    let command = match ThreadChange::parse(body)? {
        Change::Title(title) => ThreadCommand::Rename { title },
        Change::Path(turn_id) => ThreadCommand::Choose { turn_id },
        Change::Pinned(pinned) => return pin(call, owner, id, pinned).await,
    };
    ask(call, owner, id, command).await
}

/// Pins a thread or takes its pin away. A pin is the user's and not the conversation's, and bounded across their
/// threads: so it stands in the index. The object tells whether there is such a thread.
async fn pin(call: &Call, owner: Owner, id: &str, pinned: bool) -> Result<Answer, Failure> {
    let Answer::Object(response) = ask(call, owner.clone(), id, ThreadCommand::Detail).await? else {
        return Err(Failure::internal("pinning a thread")("no answer of its object"));
    };
    if !response.ok() {
        return Ok(Answer::Object(response));
    }
    let mut thread: ThreadDetail = object::read(&response).await?;
    thread.summary.pinned_at = pinned.then_some(call.now);
    let done = index::pin(&call.env, &owner, &thread.summary, thread.summary.pinned_at).await;
    match done.map_err(Failure::internal("pinning a thread"))? {
        true => Ok(Reply::json(200, &thread).into()),
        false => {
            let detail = format!("a user has at most {} pinned threads", index::MAX_PINNED);
            Err(ApiError::new(ErrorCode::TooManyPins, detail).into())
        }
    }
}

/// `GET /api/threads/{id}/messages`: those on the path, or those of all versions.
pub async fn messages(call: &Call, owner: Owner, id: &str) -> Result<Answer, Failure> {
    let Page { limit, cursor } = query::page(call.query())?;
    let all = query::all_versions(call.query())?;
    ask(call, owner, id, ThreadCommand::Messages { limit, cursor, all }).await
}

/// `DELETE /api/threads/{id}`
pub async fn delete(call: &Call, owner: Owner, id: &str) -> Result<Answer, Failure> {
    ask(call, owner, id, ThreadCommand::Delete { address: call.address_mark() }).await
}

/// `GET /api/threads/{id}/stream`: the events after the last one that the client has.
pub async fn stream(call: &Call, owner: Owner, id: &str) -> Result<Answer, Failure> {
    let after = query::after(call.query(), call.header("last-event-id").as_deref())?;
    ask(call, owner, id, ThreadCommand::Stream { after }).await
}
