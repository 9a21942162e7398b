//! Verifies credentials with what the platform has: the clock, the session's secrets, the keys and sessions in D1, and the
//! keys of issuers.

use std::cell::RefCell;

use sha2::{Digest, Sha256};
use wire::protocol::{ApiError, ErrorCode, Owner, hex};
use worker::wasm_bindgen::JsValue;
use worker::{Env, console_error};

use super::jwks;
use crate::auth::api_key::{self, ApiKey, KeyDigest, KeyRow, Verified};
use crate::auth::jwt::{Issuer, Token};
use crate::auth::scope::Scope;
use crate::auth::seen::SeenKeys;
use crate::auth::signed_in::SessionToken;
use crate::auth::{Credential, Method, Principal, presented, unauthenticated};
use crate::body;
use crate::problem::Failure;
use crate::serve::Call;
use crate::settings::Anonymous;

thread_local! {
    // Borrowed for single look-ups only, never across an await.
    static SEEN: RefCell<SeenKeys> = const { RefCell::new(SeenKeys::new()) };
}

/// Who reads. Other sites cannot read answers to a cookie (CORS), so their origin needs no check.
pub async fn to_read(call: &Call) -> Result<Owner, Failure> {
    Ok(principal(call, Scope::Read).await?.owner)
}

/// Who changes something: with what a browser sends by itself only as the origin rules allow.
pub async fn to_change(call: &Call) -> Result<Owner, Failure> {
    from_a_page_we_know(call, principal(call, Scope::Write).await?)
}

/// Who posts a document, whose type is its own and may be one that a form can send: what is no page that we know is told
/// by its origin alone.
pub async fn to_upload(call: &Call) -> Result<Owner, Failure> {
    let principal = principal(call, Scope::Write).await?;
    if principal.method == Method::Ambient {
        call.provenance().may_change_state(&call.settings.allowed_origins)?;
    }
    Ok(principal.owner)
}

/// Somebody who looks after the API keys of a tenant.
pub struct Administrator {
    pub owner: Owner,
    /// The prefix of the key that they came with, or signed in with.
    pub key: Option<String>,
}

/// Who looks after the API keys of a tenant.
pub async fn to_administer(call: &Call) -> Result<Administrator, Failure> {
    let Verified { principal, key, .. } = verified(call, Scope::Admin).await?;
    let owner = from_a_page_we_know(call, principal)?;
    Ok(Administrator { owner, key: key.map(|key| key.prefix) })
}

fn from_a_page_we_know(call: &Call, principal: Principal) -> Result<Owner, Failure> {
    if principal.method == Method::Ambient {
        check_page(call)?;
    }
    Ok(principal.owner)
}

/// The rule for requests that a page may have sent with somebody's cookie: a known origin, and no body that a form
/// could have sent. Forms only POST; whatever a script sends by another method asks first (CORS).
pub fn check_page(call: &Call) -> Result<(), ApiError> {
    call.provenance().may_change_state(&call.settings.allowed_origins)?;
    let posts_body = call.request.inner().method() == "POST"
        && call.request.inner().body().is_some()
        && call.header("content-length").as_deref() != Some("0");
    if posts_body { body::require_json(call.header("content-type").as_deref()) } else { Ok(()) }
}

async fn principal(call: &Call, scope: Scope) -> Result<Principal, Failure> {
    Ok(verified(call, scope).await?.principal)
}

/// Whom the request's credential stands for, if that has the scope.
async fn verified(call: &Call, scope: Scope) -> Result<Verified, Failure> {
    let credential = presented(|name| call.header(name), issuers(call)?, call.is_https())?;
    let verified = verify(call, &credential).await?;
    if !verified.principal.scopes.has(scope) {
        let detail = format!("this needs the scope {}", scope.as_str());
        return Err(ApiError::new(ErrorCode::InsufficientScope, detail).into());
    }
    Ok(verified)
}

fn issuers(call: &Call) -> Result<&[Issuer], ApiError> {
    // Nobody is let in by half of a configuration; `/api/health` says what is wrong.
    call.settings.issuers.as_deref().map_err(|_| misconfigured("the issuers of tokens are not configured"))
}

/// The credential that the browser, or a proxy in front of us, added by itself.
pub fn ambient(call: &Call) -> Result<Option<Credential>, ApiError> {
    let header = |name: &str| if name == "authorization" { None } else { call.header(name) };
    Ok(presented(header, issuers(call)?, call.is_https()).ok())
}

/// Whom a credential stands for.
pub async fn verify(call: &Call, credential: &Credential) -> Result<Verified, Failure> {
    match credential {
        Credential::ApiKey(key) => by_key(call, key).await,
        Credential::Jwt { token, method } => by_token(issuers(call)?, token, *method, call.now).await,
        Credential::SignedIn(token) => by_session(call, token).await,
        Credential::Anonymous(token) => match &call.settings.anonymous {
            Anonymous::On(keys) => {
                let session = keys.verify(token, call.now).ok_or_else(session_refused)?;
                let expires_at = Some(session.expires_at);
                Ok(Verified { principal: session.principal(), expires_at, key: None })
            }
            Anonymous::Off => Err(unauthenticated("this service has no anonymous sessions").into()),
            Anonymous::NoSecret => Err(no_secret().into()),
        },
    }
}

/// Whom an API key stands for that somebody signs in with.
pub async fn of_key(call: &Call, key: &str) -> Result<Verified, Failure> {
    match ApiKey::parse(key.trim()) {
        Some(key) => by_key(call, &key).await,
        None => Err(key_refused().into()),
    }
}

/// Anonymous sessions are on, but nothing can sign them.
pub fn no_secret() -> ApiError {
    misconfigured("anonymous sessions are switched on, but not configured")
}

fn misconfigured(detail: &str) -> ApiError {
    ApiError::new(ErrorCode::Misconfigured, detail)
}

fn key_refused() -> ApiError {
    unauthenticated("the API key is not valid (any more)")
}

fn session_refused() -> ApiError {
    unauthenticated("the session is not valid (any more)")
}

/// Who a token stands for. One that was verified a moment ago costs no second signature.
async fn by_token(issuers: &[Issuer], text: &str, method: Method, now: u64) -> Result<Verified, Failure> {
    // The way it came is part of what is remembered: it decides whether the origin rules hold.
    let way = [u8::from(method == Method::Ambient)];
    let digest = Sha256::new().chain_update(way).chain_update(text).finalize().into();
    if let Some(verified) = SEEN.with_borrow(|seen| seen.fresh(&digest, now)) {
        return Ok(verified);
    }
    let token = Token::parse(text).ok_or_else(jwks::refused)?;
    let issuer = token.issuer(issuers, method).ok_or_else(jwks::refused)?;
    // The claims first: they cost nothing, and what is over needs no signature.
    let verified = issuer.verify(&token, method, now).ok_or_else(jwks::refused)?;
    if !jwks::signed_by(issuer, &token, now).await? {
        return Err(jwks::refused());
    }
    SEEN.with_borrow_mut(|seen| seen.remember(digest, verified.clone(), now));
    Ok(verified)
}

async fn by_key(call: &Call, key: &ApiKey) -> Result<Verified, Failure> {
    const QUERY: &str = "SELECT prefix, name, hash, tenant, user_id, scopes, expires_at, revoked_at, last_used_at \
        FROM api_keys WHERE prefix = ?1";
    let (digest, now) = (key.digest(), call.now);
    let row = row_of(&call.env, QUERY, key.prefix());
    let known = by_row(call, digest, row, |row| api_key::verify(row, &digest, now)).await?;
    known.ok_or_else(|| key_refused().into())
}

/// A session is no more than its key, which must be good still, and ends no later.
async fn by_session(call: &Call, token: &SessionToken) -> Result<Verified, Failure> {
    const QUERY: &str = "SELECT k.prefix, k.name, k.hash, k.tenant, k.user_id, k.scopes, \
        min(s.expires_at, coalesce(k.expires_at, s.expires_at)) AS expires_at, k.revoked_at, k.last_used_at \
        FROM sessions s JOIN api_keys k ON k.prefix = s.key_prefix WHERE s.hash = ?1";
    let digest = token.digest();
    let hash = hex(&digest);
    // The digest has found the row: there is nothing left to compare.
    let row = row_of(&call.env, QUERY, &hash);
    let known = by_row(call, digest, row, |row| row.opens(Method::Ambient, call.now)).await?;
    known.ok_or_else(|| session_refused().into())
}

/// Whom a row of D1 stands for; `None` refuses. What was verified a moment ago costs no query, and while D1 fails it goes
/// on for longer.
async fn by_row(
    call: &Call,
    digest: KeyDigest,
    row: impl Future<Output = Result<Option<KeyRow>, Failure>>,
    verify: impl FnOnce(KeyRow) -> Option<Verified>,
) -> Result<Option<Verified>, Failure> {
    let now = call.now;
    if let Some(verified) = SEEN.with_borrow(|seen| seen.fresh(&digest, now)) {
        return Ok(Some(verified));
    }
    let row = match row.await {
        Ok(row) => row,
        Err(failure) => {
            let verified = SEEN.with_borrow(|seen| seen.in_grace(&digest, now)).ok_or(failure)?;
            console_error!("D1 cannot be asked for API keys: a key that was verified before goes on");
            return Ok(Some(verified));
        }
    };
    let used = row.as_ref().filter(|row| row.use_is_news(now)).map(|row| row.prefix.clone());
    let verified = row.and_then(verify);
    match &verified {
        Some(verified) => {
            SEEN.with_borrow_mut(|seen| seen.remember(digest, verified.clone(), now));
            if let Some(prefix) = used {
                let env = call.env.clone();
                call.context.wait_until(async move {
                    if let Err(error) = touch(&env, &prefix, now).await {
                        console_error!("writing down the use of an API key: {error}");
                    }
                });
            }
        }
        None => SEEN.with_borrow_mut(|seen| seen.forget(&digest)),
    }
    Ok(verified)
}

/// A session was signed out: this isolate notices at once, the others within a minute.
pub fn forget_session(token: &SessionToken) {
    SEEN.with_borrow_mut(|seen| seen.forget(&token.digest()));
}

/// A key of this user was revoked: this isolate notices at once, the others within a minute.
pub fn forget(tenant: &str, user: &str) {
    SEEN.with_borrow_mut(|seen| seen.forget_user(tenant, user));
}

/// The row that this query finds by its one parameter.
async fn row_of(env: &Env, query: &str, by: &str) -> Result<Option<KeyRow>, Failure> {
    let looked_up =
        async { env.d1("DB")?.prepare(query).bind(&[JsValue::from_str(by)])?.first::<KeyRow>(None).await };
    looked_up.await.map_err(Failure::internal("looking up an API key"))
}

async fn touch(env: &Env, prefix: &str, now: u64) -> worker::Result<()> {
    const QUERY: &str = "UPDATE api_keys SET last_used_at = ?2 WHERE prefix = ?1";
    // As a float: D1 has no 64-bit integers, and milliseconds do not fit into 32.
    let values = [JsValue::from_str(prefix), JsValue::from_f64(now as f64)];
    env.d1("DB")?.prepare(QUERY).bind(&values)?.run().await.map(drop)
}
