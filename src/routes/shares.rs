//! Share links: made, listed and revoked by their owner; read by everybody who has one.

use bindings::d1::Statement;
use bindings::env::var;
use features::shares::statements::THERE;
use features::shares::store::{D1Shares, Found, expire as expire_some, find};
use features::shares::{TOKEN_BYTES, digest, not_found, offered, page as page_of, token};
use platform::quota::Stored;
use uuid::Uuid;
use wire::protocol::{
    ApiError, AuditAction, CreatedShare, ErrorCode, MAX_SHARED_BYTES, MAX_SHARES, NewShare, Owner, ShareList,
    ShareSummary, Shown, Snapshot, ThreadCommand, ThreadEnvelope,
};
use wire::store::StoreError;
use worker::{Date, Env, Fetcher};

use super::uploads::Upload;
use super::{object, threads};
use crate::audit::Deed;
use crate::audit::store::{Where, row_where};
use crate::call::{Answer, Call};
use crate::ids::uuid_v7;
use crate::page;
use crate::problem::Failure;
use crate::query;
use crate::reply::Reply;

const DAY_MS: u64 = 86_400_000;
/// The rows that one visit of the cron trigger deletes: their snapshots have 2 MB each at most.
const EXPIRE_AT_ONCE: u32 = 50;
/// The public page among the assets, without the ending of its file: the platform redirects from that.
const FILE: &str = "https://assets/shared";
const GONE: &str = "There is no such page, or it is no longer shared.\n";

/// `GET /api/shares?thread_id=`
pub async fn list(call: &Call, owner: Owner) -> Result<Answer, Failure> {
    let thread = query::thread(call.query())?.map(|id| id.to_string());
    let shares = D1Shares::new(&call.env, &owner).list(thread.as_deref(), call.now).await;
    let shares = shares.map_err(Failure::internal("listing share links"))?;
    Ok(Reply::json(200, &ShareList { shares }).into())
}

/// `DELETE /api/shares/{id}`
pub async fn revoke(call: &Call, owner: Owner, id: &str) -> Result<Answer, Failure> {
    let log = logged(call, &owner, AuditAction::ShareRevoked, id, None)?;
    let revoked = D1Shares::new(&call.env, &owner).revoke(id, log).await;
    Answer::deleted(revoked.map_err(Failure::internal("revoking a share link"))?, not_found)
}

/// `GET /api/shared/{token}`: the snapshot.
pub async fn snapshot(call: &Call, token: &str) -> Result<Answer, Failure> {
    check_offered(call)?;
    let found = alive(call, token, true).await?.ok_or_else(not_found)?;
    let reply = Reply::bytes(200, "application/json", found.content.into_bytes());
    Ok(unlisted(reply).into())
}

/// The form of a thread's id in D1. Other forms name the same thread.
pub fn canonical(id: &str) -> String {
    Uuid::try_parse(id).map_or_else(|_| id.to_owned(), |id| id.to_string())
}

/// Deletes links whose time is over.
pub async fn expire(env: &Env) -> Result<(), StoreError> {
    expire_some(env, Date::now().as_millis(), EXPIRE_AT_ONCE).await
}

/// Refuses where the operator has switched share links off.
fn check_offered(call: &Call) -> Result<(), ApiError> {
    match offered(|name| var(&call.env, name)) {
        Ok(true) => Ok(()),
        Ok(false) => Err(ApiError::new(ErrorCode::SharesOff, "this deployment has no share links")),
        // The health report names the variable.
        Err(_) => Err(ApiError::new(ErrorCode::Misconfigured, "share links are not configured")),
    }
}

/// `POST /api/threads/{id}/shares`
pub async fn create(call: &Call, owner: Owner, id: &str, body: &[u8]) -> Result<Answer, Failure> {
    check_offered(call)?;
    let NewShare { message_id, tools, reasoning, files, expires_in_days } = NewShare::parse(body)?;
    let thread_id = canonical(id);
    let command = ThreadCommand::Snapshot { until: message_id, shown: Shown { tools, reasoning, files } };
    let Answer::Object(response) = threads::ask(call, owner.clone(), id, command).await? else {
        return Err(Failure::internal("sharing a thread")("no answer of its object"));
    };
    if !response.ok() {
        return Ok(Answer::Object(response));
    }
    let Snapshot { title, messages, content } = object::read(&response).await?;
    let mut random = [0; TOKEN_BYTES];
    getrandom::fill(&mut random).map_err(Failure::internal("drawing a token"))?;
    let token = token(random);
    let share = ShareSummary {
        id: uuid_v7(call.now).map_err(Failure::internal("drawing an id"))?.to_string(),
        thread_id,
        title,
        created_at: call.now,
        expires_at: expires_in_days.map(|days| call.now + u64::from(days) * DAY_MS),
        tools,
        reasoning,
        files,
        messages,
        bytes: content.len() as u64,
    };
    let hash = digest(&token).unwrap_or_default();
    let upload = Upload::of(call, &owner)?;
    let need = Stored::from_bytes(share.bytes);
    upload.reserve(call, need).await?;
    let log = logged(call, &owner, AuditAction::ShareCreated, &share.id, Some(&share.thread_id))?;
    let stored = D1Shares::new(&call.env, &owner).insert(&share, (&hash, &content), log).await;
    upload.settle(call, if stored == Ok(true) { need } else { Stored::default() });
    if !stored.map_err(Failure::internal("storing a share link"))? {
        let detail = format!(
            "a user has at most {MAX_SHARES} share links, with at most {MAX_SHARED_BYTES} bytes: revoke one"
        );
        return Err(ApiError::new(ErrorCode::TooManyShares, detail).into());
    }
    let path = page_of(&token);
    Ok(Reply::json(201, &CreatedShare { share, token, path }).with("cache-control", "no-store").into())
}

/// The row of the audit log about a link, where the user has the link at that moment.
fn logged(
    call: &Call,
    owner: &Owner,
    action: AuditAction,
    target: &str,
    detail: Option<&str>,
) -> Result<Statement, Failure> {
    let address = call.address_mark();
    let deed = Deed { owner, action, target, detail, address: address.as_deref() };
    let there = Where { condition: THERE, values: Vec::new() };
    row_where(&call.env, &deed, call.now, there).map_err(Failure::internal("writing the audit log"))
}

/// The link of a token, if it is open and its thread is still there. The thread's object is asked, because D1 hears of a
/// deletion later where it fails at that moment.
async fn alive(call: &Call, token: &str, with_content: bool) -> Result<Option<Found>, Failure> {
    let Some(digest) = digest(token) else { return Ok(None) };
    let found = find(&call.env, &digest, with_content, call.now).await;
    let Some(found) = found.map_err(Failure::internal("reading a share link"))? else { return Ok(None) };
    let (Some(owner), Ok(thread_id)) = (found.owner(), Uuid::try_parse(&found.thread_id)) else {
        return Ok(None);
    };
    let response =
        object::ask(&call.env, &ThreadEnvelope { owner, thread_id, command: ThreadCommand::Detail }).await?;
    match response.status() {
        200 => Ok(Some(found)),
        status if status == ErrorCode::ThreadNotFound.status() => Ok(None),
        status => Err(Failure::internal("reading a share link")(format!("the object answered {status}"))),
    }
}

/// The page that shows a snapshot. A token that nobody has, one that was revoked and one whose time is over get the same
/// answer, and so does each token where the operator has switched share links off.
pub async fn public_page(call: &Call, token: &str) -> Result<Answer, Failure> {
    let is_off = match check_offered(call) {
        Ok(()) => false,
        Err(error) if error.code == ErrorCode::SharesOff => true,
        Err(error) => return Err(error.into()),
    };
    if is_off || alive(call, token, false).await?.is_none() {
        let reply = Reply::bytes(404, "text/plain; charset=utf-8", GONE.as_bytes().to_vec());
        return Ok(unlisted(reply).into());
    }
    let failed = |error: worker::Error| Failure::internal("reading the public page")(error);
    let assets: Fetcher = call.env.assets("ASSETS").map_err(failed)?;
    let mut file = assets.fetch(FILE, None).await.map_err(failed)?;
    if file.status_code() != 200 {
        return Err(failed(format!("the assets answer {}", file.status_code()).into()));
    }
    let body = file.bytes().await.map_err(failed)?;
    let reply = Reply::bytes(200, "text/html; charset=utf-8", body);
    Ok(unlisted(page::headers().fold(reply, |reply, (name, value)| reply.with(name, value))).into())
}

fn unlisted(reply: Reply) -> Reply {
    page::UNLISTED.into_iter().fold(reply, |reply, (name, value)| reply.with(name, value))
}
