//! The rows of API keys in D1. A row has the digest of its key, never the key.

use bindings::d1::{batch, maybe, number, text, unowned};
use serde::Deserialize;
use wire::protocol::{KeySummary, hex};
use wire::store::StoreError;
use worker::Env;
use worker::wasm_bindgen::JsValue;

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
pub async fn find(env: &Env, prefix: &str) -> Result<Option<KeyRow>, StoreError> {
    const QUERY: &str = "SELECT prefix, name, hash, tenant, user_id, scopes, expires_at, revoked_at, last_used_at \
        FROM api_keys k WHERE prefix = ?1 AND NOT EXISTS (SELECT 1 FROM erasures e \
        WHERE e.tenant = k.tenant AND e.user_id = k.user_id AND e.ended_at IS NULL)";
    unowned::by_secret(env, QUERY, &[text(prefix)])?.first().await
}

/// Writes down that a key was used.
pub async fn touch(env: &Env, prefix: &str, now: u64) -> Result<(), StoreError> {
    const QUERY: &str = "UPDATE api_keys SET last_used_at = ?2 WHERE prefix = ?1";
    unowned::by_secret(env, QUERY, &[text(prefix), number(now)])?.run().await
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
pub async fn list(env: &Env, tenant: &str) -> Result<Vec<KeySummary>, StoreError> {
    const QUERY: &str = "SELECT prefix, name, user_id, scopes, created_at, created_by, expires_at, revoked_at, \
        last_used_at FROM api_keys WHERE tenant = ?1 ORDER BY created_at, prefix LIMIT ?2";
    let listed: Vec<ListedRow> =
        unowned::of_tenant(env, tenant, QUERY, &[JsValue::from(2 * MAX_KEYS)])?.rows().await?;
    Ok(listed.into_iter().map(KeySummary::from).collect())
}

/// Deletes the keys that ended long ago. Where too many ended lately to list them, it deletes the oldest of those. A key
/// that minted others stays as long as they do: a revocation finds them through it.
pub async fn purge(env: &Env, tenant: &str, now: u64) -> Result<(), StoreError> {
    let query = format!(
        "DELETE FROM api_keys WHERE tenant = ?1 AND {ENDED} <= ?2 \
            AND NOT EXISTS (SELECT 1 FROM api_keys made WHERE made.created_by = api_keys.prefix) \
            AND ({ENDED} <= ?3 OR prefix IN (SELECT prefix FROM api_keys WHERE tenant = ?1 AND {ENDED} <= ?2 ORDER BY {ENDED} DESC LIMIT -1 OFFSET ?4))"
    );
    let values = [number(now), number(now.saturating_sub(LISTED_MS)), JsValue::from(MAX_KEYS)];
    unowned::of_tenant(env, tenant, query, &values)?.run().await
}

/// Stores a key if there is room and the key that mints it is live. Another isolate may have revoked that one a moment ago,
/// unnoticed here; the new key would outlive it. A key that is stored has its row in the audit log.
pub async fn insert(
    env: &Env,
    key: &ApiKey,
    summary: &KeySummary,
    deed: &Deed<'_>,
) -> Result<bool, StoreError> {
    const STORED: &str = "EXISTS (SELECT 1 FROM api_keys WHERE prefix = ?9 AND hash = ?10)";
    let query = format!(
        "INSERT INTO api_keys (prefix, hash, tenant, user_id, name, scopes, created_at, created_by, expires_at) \
        SELECT ?3, ?4, ?1, ?5, ?6, ?7, ?2, ?8, ?9 \
        WHERE (SELECT count(*) FROM api_keys WHERE tenant = ?1 AND {LIVE}) < ?10 \
        AND (?8 IS NULL OR EXISTS (SELECT 1 FROM api_keys WHERE tenant = ?1 AND prefix = ?8 AND {LIVE})) \
        RETURNING prefix"
    );
    let values = [
        number(summary.created_at),
        text(&summary.prefix),
        text(&hex(&key.digest())),
        text(&summary.user_id),
        text(&summary.name),
        text(&summary.scopes.join(" ")),
        maybe(summary.created_by.as_deref(), text),
        maybe(summary.expires_at, number),
        JsValue::from(MAX_KEYS),
    ];
    let stored = Where { condition: STORED, values: vec![text(&summary.prefix), text(&hex(&key.digest()))] };
    let statements = vec![
        unowned::of_tenant(env, &deed.owner.tenant, query, &values)?,
        audit::store::row_where(env, deed, summary.created_at, stored)?,
    ];
    batch(env, statements).await?.any(0)
}

/// Whether a key still opens something.
pub async fn is_live(env: &Env, tenant: &str, prefix: &str, now: u64) -> Result<bool, StoreError> {
    let query = format!("SELECT prefix FROM api_keys WHERE tenant = ?1 AND prefix = ?3 AND {LIVE}");
    unowned::of_tenant(env, tenant, query, &[number(now), text(prefix)])?.any().await
}

/// Revokes a key and all keys that it minted, directly or through others. Returns the `user_id` of each; none where the
/// tenant has no such key. The audit log has the first revocation.
pub async fn revoke(env: &Env, deed: &Deed<'_>, now: u64) -> Result<Vec<String>, StoreError> {
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
    let statements = vec![
        audit::store::row_where(env, deed, now, Where { condition: FIRST, values: Vec::new() })?,
        unowned::of_tenant(env, &deed.owner.tenant, QUERY, &[text(deed.target), number(now)])?,
    ];
    let revoked: Vec<Revoked> = batch(env, statements).await?.rows(1)?;
    Ok(revoked.into_iter().map(|Revoked { user_id }| user_id).collect())
}
