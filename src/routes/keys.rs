//! The API keys of a tenant: list, mint, revoke. A key is shown once; D1 has its digest alone. Revoking a key revokes all
//! that came of it: a key that leaked may have minted others.

use serde::Deserialize;
use wire::protocol::{ApiError, ErrorCode, KeyList, KeySummary, MintedKey, NewKey, hex};
use worker::Result;
use worker::wasm_bindgen::JsValue;

use super::credentials::{self, Administrator};
use crate::auth::api_key::{ApiKey, ISSUER};
use crate::auth::scope::{Scope, Scopes};
use crate::auth::unauthenticated;
use crate::body;
use crate::problem::Failure;
use crate::reply::Reply;
use crate::serve::Call;

/// The most keys of a tenant that open something, and the most beside them that do not any more: both together are what
/// one page can list.
const MAX_KEYS: u32 = 1_000;
/// How long a key is listed after it expired or was revoked: long enough to find out what became of it.
const LISTED_MS: u64 = 30 * 24 * 3_600_000;

/// A key that opens something, at the time `?2`.
const LIVE: &str = "revoked_at IS NULL AND (expires_at IS NULL OR expires_at > ?2)";
/// When a key ended; beyond all times where it has not.
const ENDED: &str = "min(ifnull(revoked_at, 9e15), ifnull(expires_at, 9e15))";

/// A row of `api_keys` without what proves the key.
#[derive(Deserialize)]
struct Row {
    prefix: String,
    name: String,
    user_id: String,
    scopes: String,
    created_at: u64,
    created_by: Option<String>,
    expires_at: Option<u64>,
    revoked_at: Option<u64>,
    last_used_at: Option<u64>,
}

impl From<Row> for KeySummary {
    fn from(row: Row) -> Self {
        KeySummary {
            prefix: row.prefix,
            name: row.name,
            user_id: row.user_id,
            scopes: words(Scopes::parse(&row.scopes)),
            created_at: row.created_at,
            created_by: row.created_by,
            expires_at: row.expires_at,
            revoked_at: row.revoked_at,
            last_used_at: row.last_used_at,
        }
    }
}

fn words(scopes: Scopes) -> Vec<String> {
    scopes.words().into_iter().map(str::to_owned).collect()
}

/// `GET /api/keys`.
pub async fn list(call: &Call, by: &Administrator) -> std::result::Result<Reply, Failure> {
    let rows = rows(call, &by.owner.tenant).await.map_err(Failure::internal("listing API keys"))?;
    Ok(Reply::json(200, &KeyList { keys: rows.into_iter().map(KeySummary::from).collect() }))
}

async fn rows(call: &Call, tenant: &str) -> Result<Vec<Row>> {
    const QUERY: &str = "SELECT prefix, name, user_id, scopes, created_at, created_by, expires_at, revoked_at, \
        last_used_at FROM api_keys WHERE tenant = ?1 ORDER BY created_at, prefix LIMIT ?2";
    let values = [JsValue::from_str(tenant), JsValue::from(2 * MAX_KEYS)];
    call.env.d1("DB")?.prepare(QUERY).bind(&values)?.all().await?.results()
}

/// `POST /api/keys`: a key for somebody of the same tenant.
pub async fn mint(call: &mut Call, by: &Administrator) -> std::result::Result<Reply, Failure> {
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
        created_by: by.key.clone(),
        expires_at: new.expires_at,
        revoked_at: None,
        last_used_at: None,
    };
    let tenant = &by.owner.tenant;
    purge(call, tenant).await.map_err(Failure::internal("purging API keys"))?;
    let stored = insert(call, tenant, &key, &summary).await;
    if !stored.map_err(Failure::internal("storing an API key"))? {
        let lives = lives(call, tenant, by.key.as_deref()).await;
        if !lives.map_err(Failure::internal("looking up an API key"))? {
            return Err(unauthenticated("the API key is not valid (any more)").into());
        }
        let detail = format!("a tenant has at most {MAX_KEYS} API keys that are valid: revoke some");
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

/// Deletes the keys that ended long ago, and the oldest of those that ended lately where they are too many to list. A key
/// that minted others stays as long as they do: a revocation finds them through it.
async fn purge(call: &Call, tenant: &str) -> Result<()> {
    let query = format!(
        "DELETE FROM api_keys WHERE tenant = ?1 AND {ENDED} <= ?2 \
            AND NOT EXISTS (SELECT 1 FROM api_keys made WHERE made.created_by = api_keys.prefix) \
            AND ({ENDED} <= ?3 OR prefix IN (SELECT prefix FROM api_keys WHERE tenant = ?1 AND {ENDED} <= ?2 ORDER BY {ENDED} DESC LIMIT -1 OFFSET ?4))"
    );
    let values = [
        JsValue::from_str(tenant),
        time(call.now),
        time(call.now.saturating_sub(LISTED_MS)),
        JsValue::from(MAX_KEYS),
    ];
    call.env.d1("DB")?.prepare(query).bind(&values)?.run().await.map(drop)
}

/// Whether it was stored: there was room, and the key that mints it is still good. That one may have been revoked a moment
/// ago, which this isolate need not have noticed; what came of it would outlive it.
async fn insert(call: &Call, tenant: &str, key: &ApiKey, summary: &KeySummary) -> Result<bool> {
    let query = format!(
        "INSERT INTO api_keys (prefix, hash, tenant, user_id, name, scopes, created_at, created_by, expires_at) \
        SELECT ?3, ?4, ?1, ?5, ?6, ?7, ?2, ?8, ?9 \
        WHERE (SELECT count(*) FROM api_keys WHERE tenant = ?1 AND {LIVE}) < ?10 \
        AND (?8 IS NULL OR EXISTS (SELECT 1 FROM api_keys WHERE tenant = ?1 AND prefix = ?8 AND {LIVE})) \
        RETURNING prefix"
    );
    let text = JsValue::from_str;
    let values = [
        text(tenant),
        time(summary.created_at),
        text(&summary.prefix),
        text(&hex(&key.digest())),
        text(&summary.user_id),
        text(&summary.name),
        text(&summary.scopes.join(" ")),
        summary.created_by.as_deref().map_or(JsValue::NULL, text),
        summary.expires_at.map_or(JsValue::NULL, time),
        JsValue::from(MAX_KEYS),
    ];
    let inserted = call.env.d1("DB")?.prepare(query).bind(&values)?.first::<String>(Some("prefix")).await?;
    Ok(inserted.is_some())
}

/// Whether a key still opens something.
async fn lives(call: &Call, tenant: &str, prefix: Option<&str>) -> Result<bool> {
    let Some(prefix) = prefix else { return Ok(true) };
    let query = format!("SELECT prefix FROM api_keys WHERE tenant = ?1 AND prefix = ?3 AND {LIVE}");
    let values = [JsValue::from_str(tenant), time(call.now), JsValue::from_str(prefix)];
    let found = call.env.d1("DB")?.prepare(query).bind(&values)?.first::<String>(Some("prefix")).await?;
    Ok(found.is_some())
}

/// `DELETE /api/keys/{prefix}`: from now on neither it nor any key that came of it opens anything. Revoking it again
/// changes nothing.
pub async fn revoke(call: &Call, by: &Administrator, prefix: &str) -> std::result::Result<Reply, Failure> {
    let tenant = &by.owner.tenant;
    let revoked = mark(call, tenant, prefix).await.map_err(Failure::internal("revoking an API key"))?;
    if revoked.is_empty() {
        return Err(ApiError::new(ErrorCode::KeyNotFound, "there is no API key with this prefix").into());
    }
    for Revoked { user_id } in revoked {
        let user = user_id.split_once(':').map_or("", |(_, user)| user);
        credentials::forget(tenant, user);
    }
    Ok(Reply::empty())
}

/// The user of a key that was revoked.
#[derive(Deserialize)]
struct Revoked {
    user_id: String,
}

/// Revokes a key and all keys that came of it.
async fn mark(call: &Call, tenant: &str, prefix: &str) -> Result<Vec<Revoked>> {
    const QUERY: &str = "UPDATE api_keys SET revoked_at = coalesce(revoked_at, ?3) \
        WHERE tenant = ?1 AND prefix IN (WITH RECURSIVE came(prefix) AS (SELECT ?2 UNION \
            SELECT made.prefix FROM api_keys made JOIN came ON made.created_by = came.prefix WHERE made.tenant = ?1) \
            SELECT prefix FROM came) RETURNING user_id";
    let values = [JsValue::from_str(tenant), JsValue::from_str(prefix), time(call.now)];
    call.env.d1("DB")?.prepare(QUERY).bind(&values)?.all().await?.results()
}

/// As a float: D1 has no 64-bit integers, and milliseconds do not fit into 32.
fn time(at: u64) -> JsValue {
    JsValue::from_f64(at as f64)
}
