//! The rows of signed-in sessions in D1. A row has the digest of its token, never the token.

use bindings::d1::{Owned, batch, number, text, unowned};
use bindings::sql::OwnedSql;
use wire::protocol::{Owner, hex};
use wire::store::StoreError;
use worker::Env;
use worker::wasm_bindgen::JsValue;

use super::{MAX_SESSIONS, SessionToken};
use crate::audit::store::Where;
use crate::audit::{self, Deed};
use crate::auth::api_key::KeyRow;
use crate::auth::sessions;

/// The proof that a session's row stands for: a key, or an identity provider's answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SessionRow {
    /// The key that opened it. It ends when the session does, if that is earlier.
    OfKey(KeyRow),
    /// The user whom an identity provider sent: a row without a key, which lends its form.
    OfProvider(KeyRow),
}

/// The row of a session. A user whose data is erased has none from an identity provider meanwhile, whenever it began.
pub async fn find(env: &Env, token: &SessionToken) -> Result<Option<SessionRow>, StoreError> {
    // Without a key the row names its user. An earlier Worker finds no key for it, and refuses the session.
    const QUERY: &str = "SELECT s.key_prefix AS prefix, coalesce(k.name, '') AS name, coalesce(k.hash, '') AS hash, \
        coalesce(k.tenant, s.tenant) AS tenant, coalesce(k.user_id, s.user_id) AS user_id, \
        coalesce(k.scopes, '') AS scopes, min(s.expires_at, coalesce(k.expires_at, s.expires_at)) AS expires_at, \
        k.revoked_at, k.last_used_at, s.created_at AS signed_in_at FROM sessions s LEFT JOIN api_keys k ON k.prefix = s.key_prefix \
        WHERE s.hash = ?1 AND (k.prefix IS NOT NULL OR (s.key_prefix = '' AND s.tenant IS NOT NULL \
        AND NOT EXISTS (SELECT 1 FROM erasures e WHERE e.tenant = s.tenant AND e.user_id = s.user_id \
        AND e.ended_at IS NULL)))";
    let row: Option<KeyRow> = unowned::by_secret(env, QUERY, &[hash(token)])?.first().await?;
    Ok(row.map(|row| match row.prefix.as_str() {
        "" => SessionRow::OfProvider(row),
        _ => SessionRow::OfKey(row),
    }))
}

/// A session that begins.
pub struct NewSession<'a> {
    pub token: &'a SessionToken,
    /// The prefix of its key; none where an identity provider has sent the user.
    pub prefix: Option<&'a str>,
    pub agent: &'a str,
    pub now: u64,
    pub expires_at: u64,
}

/// Stores a session of a user. To make room it deletes the sessions that are over, and the oldest of the user beyond
/// [`MAX_SESSIONS`]. The deed is the sign-in of the user.
pub async fn insert(env: &Env, deed: &Deed<'_>, session: NewSession<'_>) -> Result<(), StoreError> {
    const INSERT: &str = "INSERT INTO sessions \
        (hash, key_prefix, created_at, seen_at, expires_at, agent, tenant, user_id) \
        VALUES (?1, ?2, ?3, ?3, ?4, ?5, ?6, ?7)";
    let NewSession { token, prefix, agent, now, expires_at } = session;
    let owner = deed.owner;
    let of_user = match prefix {
        // The key's row has its user.
        Some(_) => [JsValue::NULL, JsValue::NULL],
        None => [text(&owner.tenant), text(&owner.user_id())],
    };
    let values =
        [hash(token), text(prefix.unwrap_or_default()), number(now), number(expires_at), text(agent)];
    let surplus = format!(
        "DELETE FROM sessions WHERE hash IN (SELECT s.hash {} \
        ORDER BY s.created_at DESC, s.hash LIMIT -1 OFFSET ?3)",
        sessions::store::of_owner(owner)
    );
    let statements = vec![
        sessions::store::over(env, now)?,
        unowned::by_secret(env, INSERT, &[values.as_slice(), &of_user].concat())?,
        Owned::new(env, owner).statement(OwnedSql::composed(&surplus)?, &[JsValue::from(MAX_SESSIONS)])?,
        audit::store::row(env, deed, now)?,
    ];
    batch(env, statements).await.map(drop)
}

/// The user of a session, if there is one.
pub async fn owner(env: &Env, token: &SessionToken) -> Result<Option<Owner>, StoreError> {
    let found = find(env, token).await?.map(|row| match row {
        SessionRow::OfKey(row) | SessionRow::OfProvider(row) => (row.tenant, row.user_id),
    });
    Ok(found.and_then(|(tenant, user_id)| {
        let (issuer, user) = user_id.split_once(':')?;
        Some(Owner { issuer: issuer.to_owned(), tenant, user: user.to_owned() })
    }))
}

/// Ends a session. The deed, where somebody's session ends, is its end.
pub async fn delete(
    env: &Env,
    token: &SessionToken,
    deed: Option<&Deed<'_>>,
    now: u64,
) -> Result<(), StoreError> {
    const QUERY: &str = "DELETE FROM sessions WHERE hash = ?1";
    const THERE: &str = "EXISTS (SELECT 1 FROM sessions WHERE hash = ?9)";
    let there = || Where { condition: THERE, values: vec![hash(token)] };
    let row = deed.map(|deed| audit::store::row_where(env, deed, now, there())).transpose()?;
    let end = unowned::by_secret(env, QUERY, &[hash(token)])?;
    batch(env, row.into_iter().chain([end]).collect()).await.map(drop)
}

fn hash(token: &SessionToken) -> JsValue {
    text(&hex(&token.digest()))
}
