//! The API keys of a tenant: list, mint, revoke. A key is shown once; D1 has its digest alone.

use espalier_durable::protocol::{ApiError, ErrorCode, KeyList, KeySummary, MintedKey, NewKey, Owner, hex};
use serde::Deserialize;
use worker::Result;
use worker::wasm_bindgen::JsValue;

use super::credentials;
use crate::auth::api_key::{ApiKey, ISSUER};
use crate::auth::scope::{Scope, Scopes};
use crate::body;
use crate::problem::Failure;
use crate::reply::Reply;
use crate::serve::Call;

/// The most keys of a tenant, revoked ones among them: what one page can list.
const MAX_KEYS: u32 = 1_000;

/// A row of `api_keys` without what proves the key.
#[derive(Deserialize)]
struct Row {
    prefix: String,
    name: String,
    user_id: String,
    scopes: String,
    created_at: u64,
    expires_at: Option<u64>,
    revoked_at: Option<u64>,
    last_used_at: Option<u64>,
}

impl From<Row> for KeySummary {
    fn from(row: Row) -> Self {
        let Row { prefix, name, user_id, scopes, created_at, expires_at, revoked_at, last_used_at } = row;
        let scopes = words(Scopes::parse(&scopes));
        KeySummary { prefix, name, user_id, scopes, created_at, expires_at, revoked_at, last_used_at }
    }
}

fn words(scopes: Scopes) -> Vec<String> {
    scopes.words().into_iter().map(str::to_owned).collect()
}

/// `GET /api/keys`.
pub async fn list(call: &Call, owner: &Owner) -> std::result::Result<Reply, Failure> {
    let rows = rows(call, owner).await.map_err(Failure::internal("listing API keys"))?;
    Ok(Reply::json(200, &KeyList { keys: rows.into_iter().map(KeySummary::from).collect() }))
}

async fn rows(call: &Call, owner: &Owner) -> Result<Vec<Row>> {
    const QUERY: &str = "SELECT prefix, name, user_id, scopes, created_at, expires_at, revoked_at, last_used_at \
        FROM api_keys WHERE tenant = ?1 ORDER BY created_at, prefix LIMIT ?2";
    let values = [JsValue::from_str(&owner.tenant), JsValue::from(MAX_KEYS)];
    call.env.d1("DB")?.prepare(QUERY).bind(&values)?.all().await?.results()
}

/// `POST /api/keys`: a key for somebody of the same tenant.
pub async fn mint(call: &mut Call, owner: &Owner) -> std::result::Result<Reply, Failure> {
    body::require_json(call.header("content-type").as_deref())?;
    let new = NewKey::parse(&call.body().await?, call.now)?;
    let scopes = match &new.scopes {
        None => Scopes::USER,
        Some(words) => scopes(words)?,
    };
    let (mut prefix, mut secret) = ([0; 6], [0; 32]);
    let drawn = getrandom::fill(&mut prefix).and_then(|()| getrandom::fill(&mut secret));
    drawn.map_err(Failure::internal("drawing an API key"))?;
    let key = ApiKey::mint(prefix, secret);
    let summary = KeySummary {
        prefix: key.prefix().to_owned(),
        user_id: format!("{ISSUER}:{}", new.user.as_deref().unwrap_or(key.prefix())),
        name: new.name,
        scopes: words(scopes),
        created_at: call.now,
        expires_at: new.expires_at,
        revoked_at: None,
        last_used_at: None,
    };
    let stored = insert(call, owner, &key, &summary).await;
    if !stored.map_err(Failure::internal("storing an API key"))? {
        let detail = format!("a tenant has at most {MAX_KEYS} API keys");
        return Err(ApiError::new(ErrorCode::InvalidRequest, detail).into());
    }
    Ok(Reply::json(201, &MintedKey { key: key.reveal().to_owned(), summary }))
}

fn scopes(words: &[String]) -> std::result::Result<Scopes, ApiError> {
    let scopes = words.iter().enumerate().map(|(index, word)| {
        let unknown = || ApiError::field(format!("scopes[{index}]"), "expected read, write or admin");
        Scope::of_word(word).ok_or_else(unknown)
    });
    let scopes: Scopes = scopes.collect::<std::result::Result<_, _>>()?;
    if scopes == Scopes::default() {
        return Err(ApiError::field("scopes", "a key without scopes is good for nothing"));
    }
    Ok(scopes)
}

/// Whether there was room for it.
async fn insert(call: &Call, owner: &Owner, key: &ApiKey, summary: &KeySummary) -> Result<bool> {
    const QUERY: &str = "INSERT INTO api_keys (prefix, hash, tenant, user_id, name, scopes, created_at, expires_at) \
        SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8 WHERE (SELECT count(*) FROM api_keys WHERE tenant = ?3) < ?9 \
        RETURNING prefix";
    let text = JsValue::from_str;
    // As floats: D1 has no 64-bit integers, and milliseconds do not fit into 32.
    let time = |at: u64| JsValue::from_f64(at as f64);
    let values = [
        text(&summary.prefix),
        text(&hex(&key.digest())),
        text(&owner.tenant),
        text(&summary.user_id),
        text(&summary.name),
        text(&summary.scopes.join(" ")),
        time(summary.created_at),
        summary.expires_at.map_or(JsValue::NULL, time),
        JsValue::from(MAX_KEYS),
    ];
    let inserted = call.env.d1("DB")?.prepare(QUERY).bind(&values)?.first::<String>(Some("prefix")).await?;
    Ok(inserted.is_some())
}

/// `DELETE /api/keys/{prefix}`: from now on it opens nothing. Revoking it again changes nothing.
pub async fn revoke(call: &Call, owner: &Owner, prefix: &str) -> std::result::Result<Reply, Failure> {
    let user_id = mark(call, owner, prefix).await.map_err(Failure::internal("revoking an API key"))?;
    let Some(user_id) = user_id else {
        return Err(ApiError::new(ErrorCode::KeyNotFound, "there is no API key with this prefix").into());
    };
    let user = user_id.split_once(':').map_or("", |(_, user)| user);
    credentials::forget(&owner.tenant, user);
    Ok(Reply::empty())
}

async fn mark(call: &Call, owner: &Owner, prefix: &str) -> Result<Option<String>> {
    const QUERY: &str = "UPDATE api_keys SET revoked_at = coalesce(revoked_at, ?3) \
        WHERE tenant = ?1 AND prefix = ?2 RETURNING user_id";
    let values =
        [JsValue::from_str(&owner.tenant), JsValue::from_str(prefix), JsValue::from_f64(call.now as f64)];
    call.env.d1("DB")?.prepare(QUERY).bind(&values)?.first::<String>(Some("user_id")).await
}
