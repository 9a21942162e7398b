//! The rows of API keys in D1. A row has the digest of its key, never the key.

use bindings::d1::{batch, database, number, rows, text};
use serde::Deserialize;
use wire::protocol::{KeySummary, hex};
use worker::wasm_bindgen::JsValue;
use worker::{Env, Result};

use super::{ApiKey, KeyRow};
use crate::audit::store::Where;
use crate::audit::{self, Deed};
use crate::auth::scope::Scopes;

/// The most keys of a tenant that open something, and the most beside them that ended: one page lists both together.
pub const MAX_KEYS: u32 = 1_000;
/// How long a key is listed after it expired or was revoked: long enough to look into its end.
const LISTED_MS: u64 = 30 * 24 * 3_600_000;

/// A key that opens something, at the time `?2`.
const LIVE: &str = "revoked_at IS NULL AND (expires_at IS NULL OR expires_at > ?2)";
/// When a key ended; beyond all times where it has not.
const ENDED: &str = "min(ifnull(revoked_at, 9e15), ifnull(expires_at, 9e15))";

/// The row of the key with this prefix; none while its user's data is erased.
pub async fn find(env: &Env, prefix: &str) -> Result<Option<KeyRow>> {
    const QUERY: &str = "SELECT prefix, name, hash, tenant, user_id, scopes, expires_at, revoked_at, last_used_at \
        FROM api_keys k WHERE prefix = ?1 AND NOT EXISTS (SELECT 1 FROM erasures e \
        WHERE e.tenant = k.tenant AND e.user_id = k.user_id AND e.ended_at IS NULL)";
    let found = rows(&database(env)?.prepare(QUERY).bind(&[text(prefix)])?.all().await?)?;
    Ok(wire::json::from_str::<Vec<KeyRow>>(&found)?.pop())
}

/// Writes down that a key was used.
pub async fn touch(env: &Env, prefix: &str, now: u64) -> Result<()> {
    const QUERY: &str = "UPDATE api_keys SET last_used_at = ?2 WHERE prefix = ?1";
    database(env)?.prepare(QUERY).bind(&[text(prefix), number(now)])?.run().await.map(drop)
}

/// A row of `api_keys` without the digest.
#[derive(Deserialize)]
struct ListedRow {
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

impl From<ListedRow> for KeySummary {
    fn from(row: ListedRow) -> Self {
        KeySummary {
            prefix: row.prefix,
            name: row.name,
            user_id: row.user_id,
            scopes: Scopes::parse(&row.scopes).to_strings(),
            created_at: row.created_at,
            created_by: row.created_by,
            expires_at: row.expires_at,
            revoked_at: row.revoked_at,
            last_used_at: row.last_used_at,
        }
    }
}

/// The keys of a tenant, oldest first.
pub async fn list(env: &Env, tenant: &str) -> Result<Vec<KeySummary>> {
    const QUERY: &str = "SELECT prefix, name, user_id, scopes, created_at, created_by, expires_at, revoked_at, \
        last_used_at FROM api_keys WHERE tenant = ?1 ORDER BY created_at, prefix LIMIT ?2";
    let values = [text(tenant), JsValue::from(2 * MAX_KEYS)];
    let listed = rows(&database(env)?.prepare(QUERY).bind(&values)?.all().await?)?;
    Ok(wire::json::from_str::<Vec<ListedRow>>(&listed)?.into_iter().map(KeySummary::from).collect())
}

/// Deletes the keys that ended long ago. Where too many ended lately to list them, it deletes the oldest of those. A key
/// that minted others stays as long as they do: a revocation finds them through it.
pub async fn purge(env: &Env, tenant: &str, now: u64) -> Result<()> {
    let query = format!(
        "DELETE FROM api_keys WHERE tenant = ?1 AND {ENDED} <= ?2 \
            AND NOT EXISTS (SELECT 1 FROM api_keys made WHERE made.created_by = api_keys.prefix) \
            AND ({ENDED} <= ?3 OR prefix IN (SELECT prefix FROM api_keys WHERE tenant = ?1 AND {ENDED} <= ?2 ORDER BY {ENDED} DESC LIMIT -1 OFFSET ?4))"
    );
    let values = [text(tenant), number(now), number(now.saturating_sub(LISTED_MS)), JsValue::from(MAX_KEYS)];
    database(env)?.prepare(query).bind(&values)?.run().await.map(drop)
}

/// Stores a key if there is room and the key that mints it is live. Another isolate may have revoked that one a moment ago,
/// unnoticed here; the new key would outlive it. A key that is stored has its row in the audit log.
pub async fn insert(env: &Env, key: &ApiKey, summary: &KeySummary, deed: &Deed<'_>) -> Result<bool> {
    const STORED: &str = "EXISTS (SELECT 1 FROM api_keys WHERE prefix = ?9 AND hash = ?10)";
    let query = format!(
        "INSERT INTO api_keys (prefix, hash, tenant, user_id, name, scopes, created_at, created_by, expires_at) \
        SELECT ?3, ?4, ?1, ?5, ?6, ?7, ?2, ?8, ?9 \
        WHERE (SELECT count(*) FROM api_keys WHERE tenant = ?1 AND {LIVE}) < ?10 \
        AND (?8 IS NULL OR EXISTS (SELECT 1 FROM api_keys WHERE tenant = ?1 AND prefix = ?8 AND {LIVE})) \
        RETURNING prefix"
    );
    let values = [
        text(&deed.owner.tenant),
        number(summary.created_at),
        text(&summary.prefix),
        text(&hex(&key.digest())),
        text(&summary.user_id),
        text(&summary.name),
        text(&summary.scopes.join(" ")),
        summary.created_by.as_deref().map_or(JsValue::NULL, text),
        summary.expires_at.map_or(JsValue::NULL, number),
        JsValue::from(MAX_KEYS),
    ];
    let stored = Where { condition: STORED, values: vec![text(&summary.prefix), text(&hex(&key.digest()))] };
    let statements = vec![
        database(env)?.prepare(query).bind(&values)?,
        audit::store::row_where(env, deed, summary.created_at, stored)?,
    ];
    let results = batch(env, statements).await?;
    Ok(results.first().map(rows).transpose()?.is_some_and(|stored| stored != "[]"))
}

/// Whether a key still opens something.
pub async fn is_live(env: &Env, tenant: &str, prefix: &str, now: u64) -> Result<bool> {
    let query = format!("SELECT prefix FROM api_keys WHERE tenant = ?1 AND prefix = ?3 AND {LIVE}");
    has_prefix(env, &query, &[text(tenant), number(now), text(prefix)]).await
}

async fn has_prefix(env: &Env, query: &str, values: &[JsValue]) -> Result<bool> {
    let found = rows(&database(env)?.prepare(query).bind(values)?.all().await?)?;
    Ok(found != "[]")
}

/// Revokes a key and all keys that it minted, directly or through others. Returns the `user_id` of each; none where the
/// tenant has no such key. The audit log has the first revocation.
pub async fn revoke(env: &Env, deed: &Deed<'_>, now: u64) -> Result<Vec<String>> {
    const FIRST: &str =
        "EXISTS (SELECT 1 FROM api_keys WHERE tenant = ?1 AND prefix = ?4 AND revoked_at IS NULL)";
    const QUERY: &str = "UPDATE api_keys SET revoked_at = coalesce(revoked_at, ?3) \
        WHERE tenant = ?1 AND prefix IN (WITH RECURSIVE came(prefix) AS (SELECT ?2 UNION \
            SELECT made.prefix FROM api_keys made JOIN came ON made.created_by = came.prefix WHERE made.tenant = ?1) \
            SELECT prefix FROM came) RETURNING user_id";
    #[derive(Deserialize)]
    struct Revoked {
        user_id: String,
    }
    let values = [text(&deed.owner.tenant), text(deed.target), number(now)];
    let statements = vec![
        audit::store::row_where(env, deed, now, Where { condition: FIRST, values: Vec::new() })?,
        database(env)?.prepare(QUERY).bind(&values)?,
    ];
    let results = batch(env, statements).await?;
    let revoked = results.last().map(rows).transpose()?.unwrap_or_else(|| "[]".to_owned());
    let revoked: Vec<Revoked> = wire::json::from_str(&revoked)?;
    Ok(revoked.into_iter().map(|Revoked { user_id }| user_id).collect())
}
