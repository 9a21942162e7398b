//! `/api/oidc/{provider}`: signing in at an identity provider. The page begins a sign-in and sends the browser to the
//! provider, which sends it back to the callback with a code; the callback exchanges the code, verifies the ID token, opens
//! a session and sends the browser back to the page.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::time::Duration;

use wire::protocol::{ApiError, ErrorCode, StartSignIn, StartedSignIn};
use wire::redact::redacted;
use worker::wasm_bindgen::JsValue;
use worker::{Delay, Headers, Method, RequestInit, console_error};

use super::fetched::fetched;
use super::{credentials, jwks, session};
use crate::auth::jwt::{Issuer, Token};
use crate::auth::oidc::attempt::{Attempt, Random, clear_cookie, return_to};
use crate::auth::oidc::discovery::{self, Discovery, Known, Lookup, MAX_BYTES};
use crate::auth::oidc::exchange::{self, Refusal, TokenRequest};
use crate::auth::oidc::{LIFETIME_MS, Provider, Providers};
use crate::auth::{Authority, Verified};
use crate::call::{Answer, Call};
use crate::problem::Failure;
use crate::reply::Reply;
use crate::serve::report;

/// After how many seconds a client may try again: a fetch of another request is over by then.
const RETRY_AFTER_S: u64 = 5;

/// How often, and after which pauses, a sign-in asks for keys that another request is fetching. Together the pauses are as
/// long as a fetch may take.
const KEYS_TRIES: u32 = 10;
const KEYS_PAUSE: Duration = Duration::from_millis(500);

thread_local! {
    // By the provider's id, so the configuration bounds the map. Borrowed for single look-ups, never across an await.
    static KNOWN: RefCell<BTreeMap<String, Known>> = const { RefCell::new(BTreeMap::new()) };
}

/// `POST /api/oidc/{provider}`.
pub async fn start(call: &Call, id: &str, body: &[u8]) -> Result<Answer, Failure> {
    let (providers, provider) = configured(call, id)?;
    let return_to = return_to(StartSignIn::parse(body)?.return_to)?;
    let discovery = discovered(provider, call.now).await.map_err(|_| {
        let detail = "could not reach the identity provider; try again in a moment";
        ApiError::new(ErrorCode::IssuerUnavailable, detail).retry_after(RETRY_AFTER_S)
    })?;
    let mut random = Random::default();
    for part in [&mut random.state[..], &mut random.nonce[..], &mut random.verifier[..]] {
        getrandom::fill(part).map_err(Failure::internal("drawing a sign-in"))?;
    }
    let attempt = Attempt::begin(provider, random, return_to, call.now);
    let location = attempt.address(provider, &discovery, &redirect_uri(call, provider));
    let cookie = providers.attempts.set_cookie(&attempt, call.is_https());
    Ok(Reply::json(200, &StartedSignIn { location }).with("set-cookie", cookie).into())
}

/// `GET /api/oidc/{provider}/callback`. Whatever it comes to, this browser's sign-in is no longer on its way.
pub async fn callback(call: &Call, id: &str) -> Result<Answer, Failure> {
    let (providers, provider) = configured(call, id)?;
    let cookies = call.header("cookie").unwrap_or_default();
    let attempt = providers.attempts.in_cookies(&cookies, call.now, call.is_https());
    let return_to = attempt.as_ref().map_or("/", |attempt| attempt.return_to.as_str());
    let reply = match signed_in(call, provider, attempt.as_ref()).await {
        Ok(cookie) => see_other(return_to).with("set-cookie", cookie),
        Err(refusal) => see_other(&refusal.address(return_to)),
    };
    Ok(reply.with("set-cookie", clear_cookie(call.is_https())).into())
}

fn see_other(address: &str) -> Reply {
    Reply { status: 303, headers: vec![("location", address.to_owned())], body: None }
}

fn configured<'a>(call: &'a Call, id: &str) -> Result<(&'a Providers, &'a Provider), Failure> {
    let providers = credentials::providers(call)?;
    let found = providers.and_then(|providers| Some((providers, providers.find(id)?)));
    let unknown = || ApiError::new(ErrorCode::RouteNotFound, "there is no such identity provider");
    found.ok_or_else(|| unknown().into())
}

/// The address of the callback, which the provider has to know.
fn redirect_uri(call: &Call, provider: &Provider) -> String {
    format!("{}/api/oidc/{}/callback", call.own_origin().unwrap_or_default(), provider.issuer.name)
}

/// Opens a session of the user whom the provider's answer proves, and gives the value of `Set-Cookie`. The browser stands at
/// this address, so a failure of ours sends it back to the page like any other.
async fn signed_in(call: &Call, provider: &Provider, attempt: Option<&Attempt>) -> Result<String, Refusal> {
    let verified = verified(call, provider, attempt).await?;
    let expires_at = call.now.saturating_add(LIFETIME_MS);
    session::sign_in(call, &verified, expires_at).await.map_err(|failure| {
        report(call, &failure);
        Refusal::Failed
    })
}

/// The user whom the provider's answer proves.
async fn verified(call: &Call, provider: &Provider, attempt: Option<&Attempt>) -> Result<Verified, Refusal> {
    let attempt = attempt.ok_or(Refusal::Expired)?;
    let discovery = discovered(provider, call.now).await?;
    let code = exchange::code(call.query(), attempt, provider, &discovery).inspect_err(|refusal| {
        if *refusal == Refusal::Failed {
            tell(provider, "the answer is an error, or another provider's");
        }
    })?;
    let request = exchange::request(&code, attempt, provider, &discovery, &redirect_uri(call, provider));
    let id_token = exchanged(provider, request).await?;
    let proves_nothing = || {
        tell(provider, "the ID token is invalid");
        Refusal::Failed
    };
    let token = Token::of_answer(&id_token).ok_or_else(proves_nothing)?;
    let issuer = [Issuer { jwks_url: discovery.jwks_uri, ..provider.issuer.clone() }];
    let issuer = token.issuer(&issuer, Authority::Bearer).ok_or_else(proves_nothing)?;
    // The claims first: they cost nothing.
    let verified = issuer.verify_id_token(&token, &attempt.nonce(), call.now).ok_or_else(proves_nothing)?;
    match signed_by(issuer, &token, call.now).await {
        Ok(true) => Ok(verified),
        Ok(false) => Err(proves_nothing()),
        Err(failure) => {
            tell(provider, &failure.log_line().unwrap_or_else(|| "its keys cannot be fetched".to_owned()));
            Err(Refusal::Unavailable)
        }
    }
}

/// Tells whether the issuer signed the token. Another request may be fetching the keys now; this one waits for it, because
/// the code is spent.
async fn signed_by(issuer: &Issuer, token: &Token<'_>, now: u64) -> Result<bool, Failure> {
    for _ in 0..KEYS_TRIES {
        match jwks::signed_by(issuer, token, now).await {
            Err(Failure::Refused(error)) if error.code == ErrorCode::IssuerUnavailable => {
                Delay::from(KEYS_PAUSE).await;
            }
            signed => return signed,
        }
    }
    jwks::signed_by(issuer, token, now).await
}

async fn exchanged(provider: &Provider, request: TokenRequest) -> Result<String, Refusal> {
    let TokenRequest { url, authorization, body } = request;
    let (status, json) = match post(&url, authorization, &body).await {
        Ok(answer) => answer,
        Err(error) => {
            tell(provider, &format!("the token endpoint: {error}"));
            return Err(Refusal::Unavailable);
        }
    };
    exchange::id_token(status, &json).inspect_err(|_| {
        // An error's body may say why. One with a token stays out of the log.
        let why = if status == 200 { "no ID token".into() } else { String::from_utf8_lossy(&json) };
        tell(provider, &format!("the token endpoint: status {status}: {}", redacted(&why)));
    })
}

async fn post(url: &str, authorization: Option<String>, body: &str) -> worker::Result<(u16, Vec<u8>)> {
    let headers = Headers::new();
    headers.set("content-type", "application/x-www-form-urlencoded")?;
    headers.set("accept", "application/json")?;
    if let Some(authorization) = authorization {
        headers.set("authorization", &authorization)?;
    }
    let mut init = RequestInit::new();
    init.with_method(Method::Post).with_headers(headers).with_body(Some(JsValue::from_str(body)));
    fetched(url, init, MAX_BYTES).await
}

/// The provider's document, from this isolate's memory if it is there.
async fn discovered(provider: &Provider, now: u64) -> Result<Discovery, Refusal> {
    let name = &provider.issuer.name;
    let look = || KNOWN.with_borrow(|known| known.get(name).map_or(Lookup::Fetch, |known| known.look(now)));
    if look() == Lookup::Fetch {
        let read = read(provider).await;
        KNOWN.with_borrow_mut(|known| {
            let known = known.entry(name.clone()).or_default();
            match read {
                Ok(found) => known.fetched(found, now),
                Err(error) => {
                    tell(provider, &format!("its document: {error}"));
                    known.failed(now);
                }
            }
        });
    }
    match look() {
        Lookup::Found(discovery) => Ok(discovery),
        Lookup::Fetch | Lookup::Unavailable => Err(Refusal::Unavailable),
    }
}

async fn read(provider: &Provider) -> worker::Result<Discovery> {
    let mut init = RequestInit::new();
    init.with_method(Method::Get);
    match fetched(&discovery::address(provider), init, MAX_BYTES).await? {
        (200, json) => Ok(Discovery::parse(&json, provider)?),
        (status, _) => Err(format!("status {status}").into()),
    }
}

/// Tells the operator why nobody could sign in.
fn tell(provider: &Provider, why: &str) {
    console_error!("signing in at {}: {why}", provider.issuer.name);
}
