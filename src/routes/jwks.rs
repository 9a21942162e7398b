//! Fetches an issuer's public keys, and verifies the signature of a token by WebCrypto.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::pin::pin;
use std::time::Duration;

use futures::StreamExt;
use futures::future::{Either, select};
use wasm_bindgen::prelude::*;
use wire::protocol::{ApiError, ErrorCode};
use worker::js_sys::{Array, JSON, Object, Promise, Reflect, Uint8Array};
use worker::wasm_bindgen_futures::JsFuture;
use worker::{AbortController, Delay, Fetch, Method, Request, RequestInit, RequestRedirect, console_error};

use crate::auth::jwks::{Jwk, KeySet, Known, Lookup, MAX_BYTES};
use crate::auth::jwt::{Algorithm, Issuer, Token};
use crate::auth::unauthenticated;
use crate::problem::Failure;

/// How long an issuer may take. The caller waits meanwhile.
const PATIENCE: Duration = Duration::from_secs(5);
/// A client that came during another request's fetch may come again after this time: that fetch is over by then.
const RETRY_AFTER_S: u64 = 5;

thread_local! {
    // By the issuer's name. Each borrow lasts for one look-up, never across an await. The configuration bounds the map.
    static KNOWN: RefCell<BTreeMap<String, Known>> = const { RefCell::new(BTreeMap::new()) };
}

#[wasm_bindgen]
extern "C" {
    #[wasm_bindgen(catch, js_namespace = ["crypto", "subtle"], js_name = importKey)]
    fn import_key(
        format: &str,
        key: &JsValue,
        algorithm: &JsValue,
        extractable: bool,
        usages: &Array,
    ) -> Result<Promise, JsValue>;

    #[wasm_bindgen(catch, js_namespace = ["crypto", "subtle"], js_name = verify)]
    fn subtle_verify(
        algorithm: &JsValue,
        key: &JsValue,
        signature: &Uint8Array,
        data: &Uint8Array,
    ) -> Result<Promise, JsValue>;
}

/// Tells whether the issuer signed the token.
pub async fn signed_by(issuer: &Issuer, token: &Token<'_>, now: u64) -> Result<bool, Failure> {
    let key = match look(issuer, token, now) {
        Lookup::Fetch => {
            // Before the first await, so that one of several concurrent requests fetches.
            KNOWN.with_borrow_mut(|known| known.entry(issuer.name.clone()).or_default().asks(now));
            fetch(issuer, now).await;
            look(issuer, token, now)
        }
        known => known,
    };
    match key {
        Lookup::Key(key) => verify(&key, issuer.algorithm, token)
            .await
            .map_err(|error| Failure::Internal { doing: "verifying a token", error: format!("{error:?}") }),
        Lookup::Unknown => Ok(false),
        Lookup::Fetch | Lookup::Unavailable => {
            let detail = "could not fetch the keys of the token's issuer; try again in a moment";
            let error = ApiError::new(ErrorCode::IssuerUnavailable, detail);
            Err(ApiError { retry_after_s: Some(RETRY_AFTER_S), ..error }.into())
        }
    }
}

fn look(issuer: &Issuer, token: &Token<'_>, now: u64) -> Lookup {
    KNOWN.with_borrow(|known| match known.get(&issuer.name) {
        Some(known) => known.look(token.key_id(), now),
        None => Lookup::Fetch,
    })
}

async fn fetch(issuer: &Issuer, now: u64) {
    let abort = AbortController::default();
    let signal = abort.signal();
    let reading = pin!(read(&issuer.jwks_url, &signal));
    let read = match select(reading, pin!(Delay::from(PATIENCE))).await {
        Either::Left((read, _)) => read,
        Either::Right(_) => {
            abort.abort();
            Err("no answer in time".into())
        }
    };
    let keys = read.and_then(|json| Ok(KeySet::parse(&json, issuer.algorithm)?));
    KNOWN.with_borrow_mut(|known| {
        let known = known.entry(issuer.name.clone()).or_default();
        match keys {
            Ok(keys) => known.fetched(keys, now),
            Err(error) => {
                console_error!("the keys of {}: {error}", issuer.name);
                known.failed(now);
            }
        }
    });
}

async fn read(url: &str, signal: &worker::AbortSignal) -> worker::Result<Vec<u8>> {
    let mut init = RequestInit::new();
    // A redirect would let another server choose the keys.
    init.with_method(Method::Get).with_redirect(RequestRedirect::Manual);
    let mut response = Fetch::Request(Request::new_with_init(url, &init)?).send_with_signal(signal).await?;
    if response.status_code() != 200 {
        return Err(format!("status {}", response.status_code()).into());
    }
    let mut json = Vec::new();
    let mut pieces = response.stream()?;
    while let Some(piece) = pieces.next().await {
        json.extend(piece?);
        if json.len() > MAX_BYTES {
            return Err(format!("more than {MAX_BYTES} bytes").into());
        }
    }
    Ok(json)
}

async fn verify(key: &Jwk, algorithm: Algorithm, token: &Token<'_>) -> Result<bool, JsValue> {
    let members = match algorithm {
        Algorithm::RS256 => [("name", "RSASSA-PKCS1-v1_5"), ("hash", "SHA-256")].as_slice(),
        Algorithm::ES256 => [("name", "ECDSA"), ("namedCurve", "P-256"), ("hash", "SHA-256")].as_slice(),
    };
    let parameters = Object::new();
    for (name, value) in members {
        Reflect::set(&parameters, &JsValue::from_str(name), &JsValue::from_str(value))?;
    }
    let json = serde_json::to_string(key).map_err(|error| JsValue::from_str(&error.to_string()))?;
    let usages = Array::of1(&JsValue::from_str("verify"));
    // A published key that cannot be imported verifies nothing.
    let imported =
        JsFuture::from(import_key("jwk", &JSON::parse(&json)?, &parameters, false, &usages)?).await;
    let Ok(imported) = imported else { return Ok(false) };
    let (signature, data) =
        (Uint8Array::from(token.signature.as_slice()), Uint8Array::from(token.signed.as_bytes()));
    let good = JsFuture::from(subtle_verify(&parameters, &imported, &signature, &data)?).await?;
    Ok(good.as_bool() == Some(true))
}

/// The refusal of a token.
pub fn refused() -> Failure {
    unauthenticated("the token is invalid or expired").into()
}
