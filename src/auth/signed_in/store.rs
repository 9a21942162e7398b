//! The rows of signed-in sessions in D1. A row has the digest of its token, never the token.

use bindings::d1::{batch, database, number, rows, text};
use wire::protocol::hex;
use worker::wasm_bindgen::JsValue;
use worker::{Env, Result};

use super::{MAX_SESSIONS, SessionToken};
use crate::auth::api_key::KeyRow;

/// The row of the key that opened a session. It ends when the session does, if that is earlier.
pub async fn find_key(env: &Env, token: &SessionToken) -> Result<Option<KeyRow>> {
    const QUERY: &str = "SELECT k.prefix, k.name, k.hash, k.tenant, k.user_id, k.scopes, \
        min(s.expires_at, coalesce(k.expires_at, s.expires_at)) AS expires_at, k.revoked_at, k.last_used_at \
        FROM sessions s JOIN api_keys k ON k.prefix = s.key_prefix WHERE s.hash = ?1";
    let found = rows(&database(env)?.prepare(QUERY).bind(&[hash(token)])?.all().await?)?;
    Ok(wire::json::from_str::<Vec<KeyRow>>(&found)?.pop())
}

/// Stores a session of the key with this prefix. To make room it deletes the sessions that are over, and the oldest of the
/// key beyond [`MAX_SESSIONS`].
pub async fn insert(env: &Env, token: &SessionToken, prefix: &str, now: u64, expires_at: u64) -> Result<()> {
    const INSERT: &str =
        "INSERT INTO sessions (hash, key_prefix, created_at, expires_at) VALUES (?1, ?2, ?3, ?4)";
    const OVER: &str = "DELETE FROM sessions WHERE expires_at <= ?1";
    const SURPLUS: &str = "DELETE FROM sessions WHERE hash IN (SELECT hash FROM sessions \
        WHERE key_prefix = ?1 ORDER BY created_at DESC, hash LIMIT -1 OFFSET ?2)";
    let database = database(env)?;
    let statements = vec![
        database.prepare(OVER).bind(&[number(now)])?,
        database.prepare(INSERT).bind(&[hash(token), text(prefix), number(now), number(expires_at)])?,
        database.prepare(SURPLUS).bind(&[text(prefix), JsValue::from(MAX_SESSIONS)])?,
    ];
    batch(env, statements).await.map(drop)
}

/// Ends a session.
pub async fn delete(env: &Env, token: &SessionToken) -> Result<()> {
    const QUERY: &str = "DELETE FROM sessions WHERE hash = ?1";
    database(env)?.prepare(QUERY).bind(&[hash(token)])?.run().await.map(drop)
}

fn hash(token: &SessionToken) -> JsValue {
    text(&hex(&token.digest()))
}
