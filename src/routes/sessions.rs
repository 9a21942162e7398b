//! `/api/me/sessions`: the sessions of the caller, listed and ended; and the row of a visitor's session, which the first
//! admitted turn writes.

use futures::channel::oneshot;
use uuid::Uuid;
use wire::protocol::{ANONYMOUS, ApiError, AuditAction, ErrorCode, Owner, SessionList, ThreadEnvelope};
use worker::web_sys::Response;
use worker::{Env, console_error};

use super::{credentials, object};
use crate::account::erasure::too_many_ended;
use crate::audit::Deed;
use crate::auth::session::{AnonymousSession, clear_cookie};
use crate::auth::sessions::{id_of, is_id, short_agent, store, visitor_hash};
use crate::call::{Answer, BROWSER, Call};
use crate::problem::Failure;
use crate::reply::Reply;

/// The browser of the request in short form.
pub fn agent(call: &Call) -> String {
    short_agent(&call.header(BROWSER).unwrap_or_default())
}

/// `GET /api/me/sessions`.
pub async fn list(call: &Call, owner: Owner) -> Result<Answer, Failure> {
    let current = credentials::own_session(call)?.unwrap_or_default();
    let sessions = store::list(&call.env, &owner, &current, call.now).await;
    let sessions = sessions.map_err(Failure::internal("listing sessions"))?;
    Ok(Reply::json(200, &SessionList { sessions }).into())
}

/// `DELETE /api/me/sessions/{id}`. Where it is the session of the request, the browser deletes its cookie too.
pub async fn end(call: &Call, owner: Owner, id: &str) -> Result<Answer, Failure> {
    let unknown = || ApiError::new(ErrorCode::SessionNotFound, "you have no session with this id");
    if !is_id(id) {
        return Err(unknown().into());
    }
    let current = credentials::own_session(call)?;
    let is_current = current.as_deref().is_some_and(|hash| id_of(hash) == id);
    match visitor_of(&owner) {
        // A visitor has one session.
        Some(user) if id == id_of(&visitor_hash(&owner.user)) => end_visit(call, user).await?,
        Some(_) => return Err(unknown().into()),
        None => {
            let address = call.address_mark();
            let (action, address) = (AuditAction::SessionEnded, address.as_deref());
            let deed = Deed { owner: &owner, action, target: id, detail: None, address };
            let ended = store::end(&call.env, &deed, call.now).await;
            if !ended.map_err(Failure::internal("ending a session"))? {
                return Err(unknown().into());
            }
            credentials::forget(&owner.tenant, &owner.user);
        }
    }
    Ok(match is_current {
        true => Reply::empty().with("set-cookie", clear_cookie(call.is_https())).into(),
        false => Reply::empty().into(),
    })
}

/// `DELETE /api/me/sessions`: all but the session of the request.
pub async fn end_others(call: &Call, owner: Owner) -> Result<Answer, Failure> {
    let current = credentials::own_session(call)?.unwrap_or_default();
    let (user_id, address) = (owner.user_id(), call.address_mark());
    let (action, address) = (AuditAction::SessionsEnded, address.as_deref());
    let deed = Deed { owner: &owner, action, target: &user_id, detail: None, address };
    let ended = store::end_others(&call.env, &deed, &current, call.now).await;
    ended.map_err(Failure::internal("ending sessions"))?;
    credentials::forget(&owner.tenant, &owner.user);
    Ok(Reply::empty().into())
}

fn visitor_of(owner: &Owner) -> Option<Uuid> {
    if owner.issuer != ANONYMOUS {
        return None;
    }
    // The signed cookie has the id, so it is one.
    Uuid::try_parse(&owner.user).ok()
}

/// Ends the session of a visitor.
pub async fn end_visit(call: &Call, user: Uuid) -> Result<(), Failure> {
    // The end of a cookie that was renewed now: none that is out there is valid for longer.
    let session = AnonymousSession::begin(user, call.now);
    let (owner, address) = (session.principal().owner, call.address_mark());
    let hash = visitor_hash(&owner.user);
    let (action, target, address) = (AuditAction::SessionEnded, id_of(&hash), address.as_deref());
    let deed = Deed { owner: &owner, action, target, detail: None, address };
    let network = call.network_mark();
    let ended = store::end_visitor(&call.env, &deed, &session, (network.as_deref(), call.now)).await;
    if !ended.map_err(Failure::internal("ending a session"))? {
        return Err(too_many_ended().into());
    }
    credentials::forget(&owner.tenant, &owner.user);
    Ok(())
}

/// Asks the object to begin a turn. Once it is admitted, a visitor's session gets its row, after the answer, and also where
/// the client has gone before it: an erasure finds by that row a thread of which D1 has not heard.
pub async fn begin_turn(call: &Call, envelope: ThreadEnvelope) -> Result<Response, Failure> {
    let Some(row) = visitor_of(&envelope.owner).map(|user| NewSessionRow::new(call, user)) else {
        return object::ask(&call.env, &envelope).await;
    };
    let (sender, answer) = oneshot::channel();
    let env = call.env.clone();
    call.context.wait_until(async move {
        let response = object::ask(&env, &envelope).await;
        let is_admitted = response.as_ref().is_ok_and(Response::ok);
        // It fails where nobody waits for the answer any more.
        let _ = sender.send(response);
        if is_admitted {
            row.keep().await;
        }
    });
    answer.await.map_err(Failure::internal("asking a thread's object"))?
}

/// Gives a visitor's session its row once it has stored something, without a turn too: the retention finds visitors by
/// their rows.
pub fn stored(call: &Call, owner: &Owner) {
    if let Some(user) = visitor_of(owner) {
        keep(call, user);
    }
}

fn keep(call: &Call, user: Uuid) {
    call.context.wait_until(NewSessionRow::new(call, user).keep());
}

/// The row that a visitor's session gets.
struct NewSessionRow {
    env: Env,
    session: AnonymousSession,
    agent: String,
    now: u64,
}

impl NewSessionRow {
    fn new(call: &Call, user: Uuid) -> Self {
        let session = AnonymousSession::begin(user, call.now);
        NewSessionRow { env: call.env.clone(), session, agent: agent(call), now: call.now }
    }

    /// Writes the row, unless this isolate knows of it.
    async fn keep(self) {
        let hash = visitor_hash(&self.session.user.to_string());
        if !credentials::is_first_turn(&hash) {
            return;
        }
        if let Err(error) = store::keep_visitor(&self.env, &self.session, &self.agent, self.now).await {
            console_error!("writing the row of a session: {error}");
            credentials::is_not_kept(&hash);
        }
    }
}
