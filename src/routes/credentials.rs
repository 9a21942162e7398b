//! Verifies credentials with what the platform has: the clock, the session's secret, the keys in D1.

use std::cell::RefCell;

use espalier_durable::protocol::{ApiError, ErrorCode, Owner};
use worker::wasm_bindgen::JsValue;
use worker::{Env, console_error};

use crate::auth::api_key::{ApiKey, KeyRow, verify};
use crate::auth::seen::SeenKeys;
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
    Ok(principal(call).await?.owner)
}

/// Who changes something: with a cookie only as the origin rules allow.
pub async fn to_change(call: &Call) -> Result<Owner, Failure> {
    let principal = principal(call).await?;
    if principal.method == Method::Cookie {
        check_page(call)?;
    }
    Ok(principal.owner)
}

/// The rule for requests that a page may have sent with somebody's cookie: a known origin, and no body that a form
/// could have sent.
pub fn check_page(call: &Call) -> Result<(), ApiError> {
    call.provenance().may_change_state(&call.settings.allowed_origins)?;
    let has_body =
        call.request.inner().body().is_some() && call.header("content-length").as_deref() != Some("0");
    if has_body { body::require_json(call.header("content-type").as_deref()) } else { Ok(()) }
}

async fn principal(call: &Call) -> Result<Principal, Failure> {
    let (authorization, cookies) = (call.header("authorization"), call.header("cookie"));
    match presented(authorization.as_deref(), cookies.as_deref())? {
        Credential::ApiKey(key) => by_key(&call.env, key, call.now).await,
        Credential::Session(token) => match &call.settings.anonymous {
            Anonymous::On(key) => {
                let session = key.verify(token, call.now);
                let session =
                    session.ok_or_else(|| unauthenticated("the session is not valid (any more)"))?;
                Ok(session.principal())
            }
            Anonymous::Off => Err(unauthenticated("this service has no anonymous sessions").into()),
            Anonymous::NoSecret => Err(no_secret().into()),
        },
    }
}

/// Anonymous sessions are on, but nothing can sign them.
pub fn no_secret() -> ApiError {
    ApiError::new(ErrorCode::Misconfigured, "anonymous sessions are switched on, but not configured")
}

async fn by_key(env: &Env, key: ApiKey<'_>, now: u64) -> Result<Principal, Failure> {
    let digest = key.digest();
    if let Some(principal) = SEEN.with_borrow(|seen| seen.fresh(&digest, now)) {
        return Ok(principal);
    }
    let row = match row_of(env, key.prefix).await {
        Ok(row) => row,
        Err(failure) => {
            let principal = SEEN.with_borrow(|seen| seen.in_grace(&digest, now)).ok_or(failure)?;
            console_error!("D1 cannot be asked for API keys: a key that was verified before goes on");
            return Ok(principal);
        }
    };
    match row.and_then(|row| verify(row, &digest, now)) {
        Some(verified) => {
            let principal = verified.principal.clone();
            SEEN.with_borrow_mut(|seen| seen.remember(digest, verified, now));
            Ok(principal)
        }
        None => {
            SEEN.with_borrow_mut(|seen| seen.forget(&digest));
            Err(unauthenticated("the API key is not valid (any more)").into())
        }
    }
}

async fn row_of(env: &Env, prefix: &str) -> Result<Option<KeyRow>, Failure> {
    const QUERY: &str =
        "SELECT hash, tenant, user_id, expires_at, revoked_at FROM api_keys WHERE prefix = ?1";
    let looked_up = async {
        env.d1("DB")?.prepare(QUERY).bind(&[JsValue::from_str(prefix)])?.first::<KeyRow>(None).await
    };
    looked_up.await.map_err(Failure::internal("looking up an API key"))
}
