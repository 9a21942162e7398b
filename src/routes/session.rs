//! `/api/session`: the session cookie. Somebody who signs in with an API key gets a session in D1. A visitor without a
//! key gets a signed cookie where the deployment allows that; for it nothing is stored.

use wire::protocol::{ErrorCode, SignIn};

use super::credentials;
use crate::auth::session::{AnonymousSession, clear_cookie, set_cookie, token_in};
use crate::auth::signed_in::{Opened, SessionToken, end_of, store};
use crate::auth::{Credential, unauthenticated};
use crate::call::{Answer, Call};
use crate::ids::uuid_v7;
use crate::problem::Failure;
use crate::reply::Reply;
use crate::settings::Anonymous;

/// `POST /api/session`.
pub async fn open(call: &Call, body: &[u8]) -> Result<Answer, Failure> {
    match SignIn::parse(body)?.key {
        Some(key) => sign_in(call, &key).await,
        None => resume(call).await,
    }
}

/// Opens a session that stands for the same user as the key.
async fn sign_in(call: &Call, key: &str) -> Result<Answer, Failure> {
    let key = credentials::of_key(call, key).await?;
    let mut secret = [0; 32];
    getrandom::fill(&mut secret).map_err(Failure::internal("drawing a session"))?;
    let token = SessionToken::mint(secret);
    let expires_at = end_of(&key, call.now);
    let prefix = key.key.as_ref().map_or("", |label| label.prefix.as_str());
    let stored = store::insert(&call.env, &token, prefix, call.now, expires_at).await;
    stored.map_err(Failure::internal("storing a session"))?;
    let cookie = set_cookie(token.reveal(), expires_at, call.now, call.is_https());
    let opened = Opened { expires_at: Some(expires_at), ..Opened::from(key) };
    Ok(Reply::json(200, &opened).with("set-cookie", cookie).into())
}

/// Tells the user of the request's cookie; without a valid one, begins a visitor's session.
async fn resume(call: &Call) -> Result<Answer, Failure> {
    match credentials::ambient(call)? {
        Some(Credential::Anonymous(token)) => visit(call, Some(&token)),
        Some(credential) => match credentials::verify(call, &credential).await {
            Ok(verified) => Ok(Reply::json(200, &Opened::from(verified)).into()),
            // The session is over: the caller goes on as a visitor.
            Err(Failure::Refused(error)) if error.code == ErrorCode::Unauthenticated => visit(call, None),
            Err(failure) => Err(failure),
        },
        None => visit(call, None),
    }
}

/// Keeps a visitor who has a valid token, else begins a new session.
fn visit(call: &Call, token: Option<&str>) -> Result<Answer, Failure> {
    let secrets = match &call.settings.anonymous {
        Anonymous::On(secrets) => secrets,
        Anonymous::Off => return Err(unauthenticated("sign in with an API key").into()),
        Anonymous::NoSecret => return Err(credentials::no_secret().into()),
    };
    let session = match token.and_then(|token| secrets.verify(token, call.now)) {
        Some(session) => session.renewed(call.now),
        None => {
            let user = uuid_v7(call.now).map_err(Failure::internal("drawing a visitor's id"))?;
            AnonymousSession::begin(user, call.now)
        }
    };
    let cookie = set_cookie(&secrets.sign(&session), session.expires_at, call.now, call.is_https());
    let opened = Opened {
        user_id: session.user.to_string(),
        expires_at: Some(session.expires_at),
        scopes: session.principal().scopes.words(),
        key: None,
    };
    Ok(Reply::json(200, &opened).with("set-cookie", cookie).into())
}

/// `DELETE /api/session`. It deletes the row before it answers, so a failure tells the caller that the session lives on.
pub async fn sign_out(call: &Call) -> Result<Answer, Failure> {
    // The session of the cookie, even where a proxy adds another credential.
    let cookies = call.header("cookie").unwrap_or_default();
    if let Some(token) = token_in(&cookies, call.is_https()).and_then(SessionToken::parse) {
        store::delete(&call.env, &token).await.map_err(Failure::internal("deleting a session"))?;
        credentials::forget_session(&token);
    }
    Ok(Reply::empty().with("set-cookie", clear_cookie(call.is_https())).into())
}
