//! `/api/session`: the session cookie. Somebody who signs in, with an API key or at an identity provider (`oidc`), gets a
//! session in D1. A visitor without a
//! key gets a signed cookie where the deployment allows that; D1 has a row for it from the first turn on (`sessions`).

use wire::protocol::{AuditAction, ErrorCode, SignIn, SignInWay, hex};
use wire::store::StoreError;
use worker::console_error;

use super::sessions::agent;
use super::{audit, credentials};
use crate::audit::Deed;
use crate::auth::oidc::Providers;
use crate::auth::session::{AnonymousSession, SessionSecrets, clear_cookie, set_cookie, token_in};
use crate::auth::sessions::{self, SEEN_EVERY_MS, id_of};
use crate::auth::signed_in::store::{self, NewSession};
use crate::auth::signed_in::{Opened, SessionToken, end_of};
use crate::auth::{Credential, Verified};
use crate::call::{Answer, Call};
use crate::ids::uuid_v7;
use crate::problem::Failure;
use crate::reply::Reply;
use crate::settings::Anonymous;

/// `POST /api/session`.
pub async fn open(call: &Call, body: &[u8]) -> Result<Answer, Failure> {
    match SignIn::parse(body)?.key {
        Some(key) => sign_in_with_key(call, &key).await,
        None => resume(call).await,
    }
}

/// Opens a session that stands for the same user as the key.
async fn sign_in_with_key(call: &Call, key: &str) -> Result<Answer, Failure> {
    let key = credentials::of_key(call, key).await?;
    let expires_at = end_of(&key, call.now);
    let cookie = sign_in(call, &key, expires_at).await?;
    let opened = Opened { expires_at: Some(expires_at), ..Opened::from(key) };
    Ok(Reply::json(200, &opened).with("set-cookie", cookie).into())
}

/// Opens a session of a user who has proved who they are: every sign-in succeeds here. Gives the value of `Set-Cookie`.
pub async fn sign_in(call: &Call, verified: &Verified, expires_at: u64) -> Result<String, Failure> {
    audit::check_room(call, &verified.principal.owner, AuditAction::SignedIn).await?;
    let mut secret = [0; 32];
    getrandom::fill(&mut secret).map_err(Failure::internal("drawing a session"))?;
    let token = SessionToken::mint(secret);
    let prefix = verified.key.as_ref().map(|label| label.prefix.as_str());
    let agent = agent(call);
    let session = NewSession { token: &token, prefix, agent: &agent, now: call.now, expires_at };
    let (hash, address) = (hex(&token.digest()), call.address_mark());
    let deed = Deed {
        owner: &verified.principal.owner,
        action: AuditAction::SignedIn,
        target: id_of(&hash),
        detail: None,
        address: address.as_deref(),
    };
    let stored = store::insert(&call.env, &deed, session).await;
    stored.map_err(Failure::internal("storing a session"))?;
    Ok(set_cookie(token.reveal(), expires_at, call.now, call.is_https()))
}

/// Tells the user of the request's cookie; without a valid one, begins a visitor's session.
async fn resume(call: &Call) -> Result<Answer, Failure> {
    let Some(credential) = credentials::ambient(call)? else { return begin(call) };
    let verified = match credentials::verify(call, &credential).await {
        Ok(verified) => verified,
        // The session is over: the caller goes on as a visitor.
        Err(Failure::Refused(error)) if error.code == ErrorCode::Unauthenticated => return begin(call),
        Err(failure) => return Err(failure),
    };
    match &credential {
        Credential::Anonymous(token) => return renew(call, token).await,
        Credential::SignedIn(token) => touch(call, token),
        Credential::ApiKey(_) | Credential::Jwt { .. } => {
            return Ok(Reply::json(200, &Opened::from(verified)).into());
        }
    }
    let issuer = verified.principal.owner.issuer.as_str();
    let provider = credentials::providers(call)?.and_then(|providers| providers.find(issuer));
    let provider = provider.map(|provider| provider.label.clone());
    Ok(Reply::json(200, &Opened { provider, ..Opened::from(verified) }).into())
}

/// Writes down that a signed-in user has come back, after the answer.
fn touch(call: &Call, token: &SessionToken) {
    let (env, now, hash) = (call.env.clone(), call.now, hex(&token.digest()));
    call.context.wait_until(async move {
        if let Err(error) = sessions::store::touch(&env, &hash, now, now.saturating_sub(SEEN_EVERY_MS)).await
        {
            console_error!("writing down a visit: {error}");
        }
    });
}

/// Gives a visitor's session a new term when it is time. The row first: what deletes old visitors goes by the row, and
/// must not come before the cookie is over.
async fn renew(call: &Call, token: &str) -> Result<Answer, Failure> {
    let secrets = secrets(call)?;
    let Some(session) = secrets.verify(token, call.now) else { return begin(call) };
    let next = session.renewed(call.now);
    if next == session {
        return visiting(call, secrets, &session);
    }
    let renewed = sessions::store::renew_visitor(&call.env, &next, call.now).await;
    renewed.map_err(Failure::internal("renewing a session"))?;
    visiting(call, secrets, &next)
}

/// Begins a visitor's session.
fn begin(call: &Call) -> Result<Answer, Failure> {
    let secrets = secrets(call)?;
    let user = uuid_v7(call.now).map_err(Failure::internal("drawing a visitor's id"))?;
    let session = AnonymousSession::begin(user, call.now);
    // A session that begins now has not been ended. One that was looked up is not remembered anew: a visitor who comes back
    // each minute would never be looked up again.
    credentials::remember_visitor(&secrets.sign(&session), &session, call.now);
    visiting(call, secrets, &session)
}

fn secrets(call: &Call) -> Result<&SessionSecrets, Failure> {
    match &call.settings.anonymous {
        Anonymous::On(secrets) => Ok(secrets),
        Anonymous::Off => Err(Failure::SignedOut { sign_in: sign_in_ways(call)? }),
        Anonymous::NoSecret => Err(credentials::no_secret().into()),
    }
}

fn sign_in_ways(call: &Call) -> Result<Vec<SignInWay>, Failure> {
    Ok(credentials::providers(call)?.map(Providers::ways).unwrap_or_default())
}

/// The answer to a visitor, whose session is open.
fn visiting(call: &Call, secrets: &SessionSecrets, session: &AnonymousSession) -> Result<Answer, Failure> {
    let cookie = set_cookie(&secrets.sign(session), session.expires_at, call.now, call.is_https());
    // A visitor's id alone: it is a UUID, so it names no user of an issuer.
    let (user_id, sign_in) = (session.user.to_string(), sign_in_ways(call)?);
    let opened = Opened { user_id, sign_in, ..Opened::from(session.verified()) };
    Ok(Reply::json(200, &opened).with("set-cookie", cookie).into())
}

/// `DELETE /api/session`. It ends the session in D1 before it answers, so a failure tells the caller that the session lives
/// on.
pub async fn sign_out(call: &Call) -> Result<Answer, Failure> {
    // The session of the cookie, even where a proxy adds another credential.
    let cookies = call.header("cookie").unwrap_or_default();
    if let Some(token) = token_in(&cookies, call.is_https()) {
        match (SessionToken::parse(token), &call.settings.anonymous) {
            (Some(token), _) => {
                sign_out_of(call, &token).await.map_err(Failure::internal("deleting a session"))?;
                credentials::forget_session(&token.digest());
            }
            (None, Anonymous::On(secrets)) => {
                if let Some(session) = secrets.verify(token, call.now) {
                    let ended = super::sessions::end_visit(call, session.user).await;
                    // The browser forgets the session all the same: the next person at it is somebody else.
                    if let Err(refusal @ Failure::Refused(_)) = &ended {
                        let cookie = clear_cookie(call.is_https());
                        return Ok(refusal.reply().with("set-cookie", cookie).into());
                    }
                    ended?;
                }
            }
            (None, Anonymous::Off | Anonymous::NoSecret) => {}
        }
    }
    Ok(Reply::empty().with("set-cookie", clear_cookie(call.is_https())).into())
}

/// Ends the session of somebody who signed in.
async fn sign_out_of(call: &Call, token: &SessionToken) -> Result<(), StoreError> {
    let owner = store::owner(&call.env, token).await?;
    let (hash, address) = (hex(&token.digest()), call.address_mark());
    let (action, target, address) = (AuditAction::SessionEnded, id_of(&hash), address.as_deref());
    let deed = owner.as_ref().map(|owner| Deed { owner, action, target, detail: None, address });
    store::delete(&call.env, token, deed.as_ref(), call.now).await
}
