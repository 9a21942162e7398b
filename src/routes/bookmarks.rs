//! Bookmarks: messages that a user wants to find again.

use bindings::d1::Owned;
use features::bookmarks;
use wire::protocol::{
    ApiError, Bookmark, BookmarkList, ErrorCode, Excerpt, MAX_BOOKMARKS, Owner, ThreadCommand,
};
use wire::store::StoreError;

use super::shares::canonical;
use super::{object, threads};
use crate::call::{Answer, Call};
use crate::cursor::{After, ListCursor};
use crate::problem::Failure;
use crate::query;
use crate::reply::Reply;

/// `GET /api/bookmarks?thread_id=`
pub async fn list(call: &Call, owner: Owner) -> Result<Answer, Failure> {
    let owned = Owned::new(&call.env, &owner);
    let thread = query::thread(call.query())?.map(|id| id.to_string());
    let read = async |limit, after: After<'_>| {
        bookmarks::list(&owned, thread.as_deref(), limit, after).await.map_err(unreachable)
    };
    let (bookmarks, next_cursor) =
        ListCursor::page(call.query(), read, |one| (one.created_at, &one.message_id)).await?;
    Ok(Reply::json(200, &BookmarkList { bookmarks, next_cursor }).into())
}

/// `PUT /api/threads/{id}/bookmarks/{message_id}`
pub async fn put(call: &Call, owner: Owner, thread: &str, message: &str) -> Result<Answer, Failure> {
    let owned = Owned::new(&call.env, &owner);
    let command = ThreadCommand::Excerpt { message_id: message.to_owned() };
    let Answer::Object(response) = threads::ask(call, owner, thread, command).await? else {
        return Err(Failure::internal("reading a message")("no answer of its object"));
    };
    if !response.ok() {
        return Ok(Answer::Object(response));
    }
    let Excerpt { turn_id, role, excerpt } = object::read(&response).await?;
    let (message_id, thread_id) = (message.to_owned(), canonical(thread));
    let new = Bookmark { message_id, thread_id, turn_id, role, excerpt, created_at: call.now };
    let full = || {
        let detail = format!("a user has at most {MAX_BOOKMARKS} bookmarks: delete some");
        ApiError::new(ErrorCode::TooManyBookmarks, detail)
    };
    let stored = bookmarks::put(&owned, &new).await.map_err(unreachable)?.ok_or_else(full)?;
    Ok(Reply::json(200, &stored).into())
}

/// `DELETE /api/bookmarks/{message_id}`
pub async fn delete(call: &Call, owner: Owner, message: &str) -> Result<Answer, Failure> {
    let deleted = bookmarks::delete(&Owned::new(&call.env, &owner), message).await.map_err(unreachable)?;
    Answer::deleted(deleted, || {
        ApiError::new(ErrorCode::BookmarkNotFound, "you have no bookmark of a message with this id")
    })
}

fn unreachable(error: StoreError) -> Failure {
    Failure::internal("reading or writing bookmarks")(error)
}
