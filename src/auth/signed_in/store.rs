//! The rows of signed-in sessions in D1. A row has the digest of its token, never the token.

use bindings::d1::{batch, database, number, rows, text};
use wire::protocol::{Owner, hex};
use worker::wasm_bindgen::JsValue;
use worker::{Env, Result};

use super::{MAX_SESSIONS, SessionToken};
use crate::auth::api_key::KeyRow;
use crate::auth::sessions;

/// The row of the key that opened a session. It ends when the session does, if that is earlier.
pub async fn find_key(env: &Env, token: &SessionToken) -> Result<Option<KeyRow>> {
    const QUERY: &str = "SELECT k.prefix, k.name, k.hash, k.tenant, k.user_id, k.scopes, \
        min(s.expires_at, coalesce(k.expires_at, s.expires_at)) AS expires_at, k.revoked_at, k.last_used_at \
        FROM sessions s JOIN api_keys k ON k.prefix = s.key_prefix WHERE s.hash = ?1";
    let found = rows(&database(env)?.prepare(QUERY).bind(&[hash(token)])?.all().await?)?;
    Ok(wire::json::from_str::<Vec<KeyRow>>(&found)?.pop())
}

/// A session that begins.
pub struct NewSession<'a> {
    pub token: &'a SessionToken,
    /// The prefix of its key.
    pub prefix: &'a str,
    pub agent: &'a str,
    pub now: u64,
    pub expires_at: u64,
}

/// Stores a session of a user. To make room it deletes the sessions that are over, and the oldest of the user beyond
/// [`MAX_SESSIONS`].
pub async fn insert(env: &Env, owner: &Owner, session: NewSession<'_>) -> Result<()> {
    const INSERT: &str = "INSERT INTO sessions (hash, key_prefix, created_at, seen_at, expires_at, agent) \
        VALUES (?1, ?2, ?3, ?3, ?4, ?5)";
    const SURPLUS: &str = "DELETE FROM sessions WHERE hash IN (SELECT s.hash FROM sessions s \
        JOIN api_keys k ON k.prefix = s.key_prefix WHERE k.tenant = ?1 AND k.user_id = ?2 \
        ORDER BY s.created_at DESC, s.hash LIMIT -1 OFFSET ?3)";
    let NewSession { token, prefix, agent, now, expires_at } = session;
    let database = database(env)?;
    let values = [hash(token), text(prefix), number(now), number(expires_at), text(agent)];
    let most = JsValue::from(MAX_SESSIONS);
    let statements = vec![
        sessions::store::over(env, now)?,
        database.prepare(INSERT).bind(&values)?,
        database.prepare(SURPLUS).bind(&[text(&owner.tenant), text(&owner.user_id()), most])?,
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
