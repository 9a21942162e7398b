//! The rows of sessions in D1, beyond those of signing in (`signed_in::store`).

use bindings::d1::{Owned, Statement, batch, maybe, number, text, unowned};
use bindings::sql::OwnedSql;
use serde::Deserialize;
use wire::protocol::{Owner, SessionSummary};
use wire::store::StoreError;
use worker::Env;
use worker::wasm_bindgen::JsValue;

use super::statements::{IS_OPEN, end_of_visit};
use super::visitor_hash;
use crate::account::erasure::Stage;
use crate::account::store::BEGIN_AGAIN;
use crate::audit::Deed;
use crate::audit::store::{Where, row_where};
use crate::auth::api_key;
use crate::auth::session::{self, AnonymousSession};
use crate::retention::store::RENEW_VISITOR;

/// The sessions of a user (`?1`, `?2`): those of their keys, or those that an identity provider's answers opened.
pub fn of_owner(owner: &Owner) -> &'static str {
    match owner.issuer.as_str() {
        api_key::ISSUER => {
            "FROM sessions s JOIN api_keys k ON k.prefix = s.key_prefix WHERE k.tenant = ?1 AND k.user_id = ?2"
        }
        _ => "FROM sessions s WHERE s.tenant = ?1 AND s.user_id = ?2",
    }
}

/// Those of them that are not over at the time `?3`: of a key that still opens something.
fn open_of(owner: &Owner) -> String {
    let valid = match owner.issuer.as_str() {
        api_key::ISSUER => "AND k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > ?3)",
        _ => "",
    };
    format!("{} AND s.expires_at > ?3 {valid}", of_owner(owner))
}

/// The columns of [`ListedRow`], where `?4` is the digest of the caller's own session.
const LISTED: &str = "SELECT substr(s.hash, 1, 32) AS id, s.created_at, coalesce(s.seen_at, s.created_at) AS seen_at, \
    s.expires_at, coalesce(s.agent, '') AS agent, s.hash = ?4 AS is_current";

#[derive(Deserialize)]
struct ListedRow {
    id: String,
    created_at: u64,
    seen_at: u64,
    expires_at: u64,
    agent: String,
    is_current: u8,
}

impl From<ListedRow> for SessionSummary {
    fn from(row: ListedRow) -> Self {
        let ListedRow { id, created_at, seen_at, expires_at, agent, is_current } = row;
        SessionSummary { id, created_at, seen_at, expires_at, agent, current: is_current == 1 }
    }
}

/// The sessions of a user, newest first.
pub async fn list(
    env: &Env,
    owner: &Owner,
    current: &str,
    now: u64,
) -> Result<Vec<SessionSummary>, StoreError> {
    const ORDER: &str = "ORDER BY s.created_at DESC, s.hash";
    let listed: Vec<ListedRow> = match owner.issuer.as_str() {
        session::ISSUER => {
            let of_visitor =
                "FROM sessions s WHERE s.hash = ?1 AND s.revoked_at IS NULL AND s.expires_at > ?3";
            let own = text(&visitor_hash(&owner.user));
            let values = [own, JsValue::NULL, number(now), text(current)];
            unowned::by_secret(env, format!("{LISTED} {of_visitor}"), &values)?.rows().await?
        }
        _ => {
            let sql = format!("{LISTED} {} {ORDER}", open_of(owner));
            Owned::new(env, owner).select(OwnedSql::composed(&sql)?, &[number(now), text(current)]).await?
        }
    };
    Ok(listed.into_iter().map(SessionSummary::from).collect())
}

/// Ends the session with this id, of a user who is no visitor; false if they have none with it.
pub async fn end(env: &Env, deed: &Deed<'_>, now: u64) -> Result<bool, StoreError> {
    let open = open_of(deed.owner);
    let condition = format!("EXISTS (SELECT 1 {open} AND substr(s.hash, 1, 32) = ?4)");
    let query = format!(
        "DELETE FROM sessions WHERE hash IN (SELECT s.hash {open} AND substr(s.hash, 1, 32) = ?4) RETURNING hash"
    );
    let row = row_where(env, deed, now, Where { condition: &condition, values: Vec::new() })?;
    let values = [number(now), text(deed.target)];
    let end = Owned::new(env, deed.owner).statement(OwnedSql::composed(&query)?, &values)?;
    batch(env, vec![row, end]).await?.any(1)
}

/// Ends all sessions of a user who is no visitor but the current one.
pub async fn end_others(env: &Env, deed: &Deed<'_>, current: &str, now: u64) -> Result<(), StoreError> {
    let open = open_of(deed.owner);
    let query = format!("DELETE FROM sessions WHERE hash IN (SELECT s.hash {open} AND s.hash <> ?4)");
    let condition = format!("EXISTS (SELECT 1 {open} AND s.hash <> ?9)");
    let row = row_where(env, deed, now, Where { condition: &condition, values: vec![text(current)] })?;
    let values = [number(now), text(current)];
    let end = Owned::new(env, deed.owner).statement(OwnedSql::composed(&query)?, &values)?;
    batch(env, vec![row, end]).await.map(drop)
}

/// Writes down that a signed-in user has come back, where that is news.
pub async fn touch(env: &Env, hash: &str, now: u64, before: u64) -> Result<(), StoreError> {
    const QUERY: &str =
        "UPDATE sessions SET seen_at = ?2 WHERE hash = ?1 AND coalesce(seen_at, created_at) <= ?3";
    unowned::by_secret(env, QUERY, &[text(hash), number(now), number(before)])?.run().await
}

/// The state of a visitor's session, by its row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VisitorRow {
    /// There is none: the visitor has had no turn.
    None,
    Open,
    Ended,
}

/// The row of a visitor's session.
pub async fn of_visitor(env: &Env, hash: &str) -> Result<VisitorRow, StoreError> {
    const QUERY: &str = "SELECT revoked_at FROM sessions WHERE hash = ?1";
    #[derive(Deserialize)]
    struct Row {
        revoked_at: Option<u64>,
    }
    Ok(match unowned::by_secret(env, QUERY, &[text(hash)])?.first().await? {
        None => VisitorRow::None,
        Some(Row { revoked_at: None }) => VisitorRow::Open,
        Some(Row { revoked_at: Some(_) }) => VisitorRow::Ended,
    })
}

/// Writes the row of a visitor's session, unless there is one. It deletes the sessions that are over. Where the session has
/// ended with an erasure that found nothing, the erasure begins again: the visitor has stored something meanwhile.
pub async fn keep_visitor(
    env: &Env,
    session: &AnonymousSession,
    agent: &str,
    now: u64,
) -> Result<(), StoreError> {
    const INSERT: &str = "INSERT INTO sessions (hash, key_prefix, user_id, created_at, seen_at, expires_at, agent) \
        VALUES (?1, '', ?2, ?3, ?3, ?4, ?5) ON CONFLICT (hash) DO NOTHING";
    let owner = session.principal().owner;
    let (hash, user) = (text(&visitor_hash(&owner.user)), text(&owner.user_id()));
    let stage = text(&serde_json::to_string(&Stage::default())?);
    let again = [hash.clone(), user.clone(), number(now), stage];
    let again = unowned::by_secret(env, BEGIN_AGAIN, &again)?;
    let values = [hash, user, number(now), number(session.expires_at), text(agent)];
    let insert = unowned::by_secret(env, INSERT, &values)?;
    batch(env, vec![over(env, now)?, insert, again]).await.map(drop)
}

/// Writes down that a visitor's cookie is renewed, where the session has a row or the visitor has threads.
pub async fn renew_visitor(env: &Env, session: &AnonymousSession, now: u64) -> Result<(), StoreError> {
    let owner = session.principal().owner;
    let (hash, user) = (text(&visitor_hash(&owner.user)), text(&owner.user_id()));
    let values = [hash, number(now), number(session.expires_at), user];
    unowned::by_secret(env, RENEW_VISITOR, &values)?.run().await
}

/// Ends a visitor's session. The row stays until the last cookie that may be out there is over: one that was renewed now.
/// The audit log has the first end of a session that has stored something. False where the network with this mark has ended
/// too many that have not.
pub async fn end_visitor(
    env: &Env,
    deed: &Deed<'_>,
    session: &AnonymousSession,
    (network, now): (Option<&str>, u64),
) -> Result<bool, StoreError> {
    let (hash, user) = (text(&visitor_hash(&deed.owner.user)), text(&deed.owner.user_id()));
    let row = row_where(env, deed, now, Where { condition: IS_OPEN, values: vec![hash.clone()] })?;
    let values = [hash, user, number(now), number(session.expires_at), maybe(network, text)];
    let end = unowned::by_secret(env, end_of_visit(), &values)?;
    batch(env, vec![row, over(env, now)?, end]).await?.any(2)
}

/// Deletes the sessions that are over. Those of visitors stay until the retention has begun to erase the visitor's data:
/// no other row tells when they were last seen.
pub fn over(env: &Env, now: u64) -> Result<Statement, StoreError> {
    const QUERY: &str =
        "DELETE FROM sessions WHERE expires_at <= ?1 AND (user_id IS NULL OR tenant IS NOT NULL)";
    unowned::of_all(env, QUERY, &[number(now)])
}
