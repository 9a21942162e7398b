//! `/api/session`: the session cookie. With an API key somebody signs in, and D1 gets a row; a visitor without one gets a
//! signed cookie where the deployment allows that, and nothing is stored.

use wire::protocol::{ErrorCode, SignIn, hex};
use worker::wasm_bindgen::JsValue;

use super::credentials;
use crate::auth::session::{Session, clear_cookie, set_cookie, token_in};
use crate::auth::signed_in::{MAX_SESSIONS, Opened, SessionToken, end_of};
use crate::auth::{Credential, unauthenticated};
use crate::body;
use crate::ids::uuid_v7;
use crate::problem::Failure;
use crate::reply::Reply;
use crate::serve::Call;
use crate::settings::Anonymous;

/// `POST /api/session`.
pub async fn open(call: &mut Call) -> Result<Reply, Failure> {
    credentials::check_page(call)?;
    let body = call.body().await?;
    if !body.is_empty() {
        body::require_json(call.header("content-type").as_deref())?;
    }
    match SignIn::parse(&body)?.key {
        Some(key) => sign_in(call, &key).await,
        None => resume(call).await,
    }
}

/// Opens a session that stands for the same user as the key.
async fn sign_in(call: &Call, key: &str) -> Result<Reply, Failure> {
    let key = credentials::of_key(call, key).await?;
    let mut secret = [0; 32];
    getrandom::fill(&mut secret).map_err(Failure::internal("drawing a session"))?;
    let token = SessionToken::mint(secret);
    let expires_at = end_of(&key, call.now);
    let prefix = key.key.as_ref().map_or("", |label| label.prefix.as_str());
    store(call, &token, prefix, expires_at).await.map_err(Failure::internal("storing a session"))?;
    let cookie = set_cookie(token.reveal(), expires_at, call.now, call.is_https());
    let opened = Opened { expires_at: Some(expires_at), ..Opened::from(key) };
    Ok(Reply::json(200, &opened).with("set-cookie", cookie))
}

/// Says whom the request stands for; where it is nobody, a visitor's session begins.
async fn resume(call: &Call) -> Result<Reply, Failure> {
    match credentials::ambient(call)? {
        Some(Credential::Anonymous(token)) => visit(call, Some(&token)),
        Some(credential) => match credentials::verify(call, &credential).await {
            Ok(verified) => Ok(Reply::json(200, &Opened::from(verified))),
            // The session is over: a visitor goes on without it.
            Err(Failure::Refused(error)) if error.code == ErrorCode::Unauthenticated => visit(call, None),
            Err(failure) => Err(failure),
        },
        None => visit(call, None),
    }
}

/// Keeps a visitor who has a valid token, else begins a new session.
fn visit(call: &Call, token: Option<&str>) -> Result<Reply, Failure> {
    let keys = match &call.settings.anonymous {
        Anonymous::On(keys) => keys,
        Anonymous::Off => return Err(unauthenticated("sign in with an API key").into()),
        Anonymous::NoSecret => return Err(credentials::no_secret().into()),
    };
    let session = match token.and_then(|token| keys.verify(token, call.now)) {
        Some(session) => session.renewed(call.now),
        None => {
            let user = uuid_v7(call.now).map_err(Failure::internal("drawing a visitor's id"))?;
            Session::begin(user, call.now)
        }
    };
    let cookie = set_cookie(&keys.sign(&session), session.expires_at, call.now, call.is_https());
    let opened = Opened {
        user_id: session.user.to_string(),
        expires_at: Some(session.expires_at),
        scopes: session.principal().scopes.words(),
        key: None,
    };
    Ok(Reply::json(200, &opened).with("set-cookie", cookie))
}

/// `DELETE /api/session`. Nothing is answered before the row is gone, so a failure leaves somebody signed in, and says so.
pub async fn sign_out(call: &Call) -> Result<Reply, Failure> {
    credentials::check_page(call)?;
    // The cookie's own session, whatever else a proxy adds to the request.
    let cookies = call.header("cookie").unwrap_or_default();
    if let Some(token) = token_in(&cookies, call.is_https()).and_then(SessionToken::parse) {
        delete(call, &token).await.map_err(Failure::internal("deleting a session"))?;
        credentials::forget_session(&token);
    }
    Ok(Reply::empty().with("set-cookie", clear_cookie(call.is_https())))
}

/// Stores a session. Those that are over, and the oldest of the key beyond [`MAX_SESSIONS`], make room.
async fn store(call: &Call, token: &SessionToken, prefix: &str, expires_at: u64) -> worker::Result<()> {
    const INSERT: &str =
        "INSERT INTO sessions (hash, key_prefix, created_at, expires_at) VALUES (?1, ?2, ?3, ?4)";
    const OVER: &str = "DELETE FROM sessions WHERE expires_at <= ?1";
    const SURPLUS: &str = "DELETE FROM sessions WHERE hash IN (SELECT hash FROM sessions \
        WHERE key_prefix = ?1 ORDER BY created_at DESC, hash LIMIT -1 OFFSET ?2)";
    let text = JsValue::from_str;
    // As floats: D1 has no 64-bit integers, and milliseconds do not fit into 32.
    let time = |at: u64| JsValue::from_f64(at as f64);
    let database = call.env.d1("DB")?;
    let hash = hex(&token.digest());
    let statements = vec![
        database.prepare(OVER).bind(&[time(call.now)])?,
        database.prepare(INSERT).bind(&[text(&hash), text(prefix), time(call.now), time(expires_at)])?,
        database.prepare(SURPLUS).bind(&[text(prefix), JsValue::from(MAX_SESSIONS)])?,
    ];
    for result in database.batch(statements).await? {
        if let Some(error) = result.error() {
            return Err(error.into());
        }
    }
    Ok(())
}

async fn delete(call: &Call, token: &SessionToken) -> worker::Result<()> {
    const DELETE: &str = "DELETE FROM sessions WHERE hash = ?1";
    let hash = hex(&token.digest());
    call.env.d1("DB")?.prepare(DELETE).bind(&[JsValue::from_str(&hash)])?.run().await.map(drop)
}
