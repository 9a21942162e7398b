//! Fetches an issuer's public keys, and verifies the signature of a token by WebCrypto.

use std::cell::RefCell;
use std::collections::BTreeMap;

use wasm_bindgen::prelude::*;
use wire::protocol::{ApiError, ErrorCode};
use worker::js_sys::{Array, JSON, Object, Promise, Reflect, Uint8Array};
use worker::wasm_bindgen_futures::JsFuture;
use worker::{Method, RequestInit, console_error};

use super::fetched::fetched;
use crate::auth::jwks::{Jwk, KeySet, Known, Lookup, MAX_BYTES};
use crate::auth::jwt::{Algorithm, Issuer, Token};
use crate::auth::unauthenticated;
use crate::problem::Failure;

/// A client that came during another request's fetch may come again after this time: that fetch is over by then.
const RETRY_AFTER_S: u64 = 5;

thread_local! {
    // By the set's address and the algorithm that its keys are read for. Each borrow lasts for one look-up, never across an
    // await.
    static KNOWN: RefCell<BTreeMap<(String, &'static str), Known>> = const { RefCell::new(BTreeMap::new()) };
}

/// The most sets. The configuration names fewer issuers; but a provider may announce one address after the other.
const MAX_SETS: usize = 32;

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
            KNOWN.with_borrow_mut(|known| {
                let set = set_of(issuer);
                if known.len() >= MAX_SETS && !known.contains_key(&set) {
                    known.clear();
                }
                known.entry(set).or_default().asks(now);
            });
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
            Err(error.retry_after(RETRY_AFTER_S).into())
        }
    }
}

fn set_of(issuer: &Issuer) -> (String, &'static str) {
    (issuer.jwks_url.clone(), issuer.algorithm.as_str())
}

fn look(issuer: &Issuer, token: &Token<'_>, now: u64) -> Lookup {
    KNOWN.with_borrow(|known| match known.get(&set_of(issuer)) {
        Some(known) => known.look(token.key_id(), now),
        None => Lookup::Fetch,
    })
}

async fn fetch(issuer: &Issuer, now: u64) {
    let keys = read(issuer).await;
    KNOWN.with_borrow_mut(|known| {
        let known = known.entry(set_of(issuer)).or_default();
        match keys {
            Ok(keys) => known.fetched(keys, now),
            Err(error) => {
                console_error!("the keys of {}: {error}", issuer.name);
                known.failed(now);
            }
        }
    });
}

async fn read(issuer: &Issuer) -> worker::Result<KeySet> {
    let mut init = RequestInit::new();
    init.with_method(Method::Get);
    match fetched(&issuer.jwks_url, init, MAX_BYTES).await? {
        (200, json) => Ok(KeySet::parse(&json, issuer.algorithm)?),
        (status, _) => Err(format!("status {status}").into()),
    }
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
