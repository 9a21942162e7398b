//! The share links in D1.

use serde::Deserialize;
use wasm_bindgen::JsValue;
use worker::{D1PreparedStatement, Env};

use super::{SharesError, statements};
use bindings::d1::{self, number, text};
use wire::protocol::{MAX_SHARED_BYTES, MAX_SHARES, Owner, ShareSummary};

/// The share links of one user.
pub struct D1Shares {
    env: Env,
    tenant: String,
    user_id: String,
}

#[derive(Deserialize)]
struct Listed {
    id: String,
    thread_id: String,
    title: String,
    created_at: u64,
    expires_at: Option<u64>,
    tools: u8,
    reasoning: u8,
    files: u8,
    messages: u32,
    bytes: u64,
}

/// An open link, as somebody with its token finds it.
#[derive(Deserialize)]
pub struct Found {
    tenant: String,
    user_id: String,
    pub thread_id: String,
    /// The snapshot; empty where only the link was asked for.
    pub content: String,
}

impl Found {
    /// Whose it is. None for a row that names nobody.
    pub fn owner(&self) -> Option<Owner> {
        let (issuer, user) = self.user_id.split_once(':')?;
        Some(Owner { issuer: issuer.to_owned(), tenant: self.tenant.clone(), user: user.to_owned() })
    }
}

impl D1Shares {
    /// The share links of an owner.
    pub fn new(env: &Env, owner: &Owner) -> Self {
        D1Shares { env: env.clone(), tenant: owner.tenant.clone(), user_id: owner.user_id() }
    }

    /// The open ones, newest first: those of a thread, or all.
    pub async fn list(&self, thread: Option<&str>, now: u64) -> Result<Vec<ShareSummary>, SharesError> {
        let more = vec![number(now), thread.map_or(JsValue::NULL, text)];
        let result = self.prepare(&statements::list(), more)?.all().await.map_err(failed)?;
        let listed: Vec<Listed> = read(&d1::rows(&result).map_err(failed)?)?;
        Ok(listed.into_iter().map(told).collect())
    }

    /// Writes a new link with its snapshot, and deletes the user's links whose time is over. False where the user has as
    /// many links, or bytes of snapshots, as allowed. `log` runs behind it, in the same transaction.
    pub async fn insert(
        &self,
        share: &ShareSummary,
        (hash, content): (&str, &str),
        log: D1PreparedStatement,
    ) -> Result<bool, SharesError> {
        let flag = |flag: bool| number(u64::from(flag));
        let more = vec![
            text(&share.id),
            text(&share.thread_id),
            text(&share.title),
            number(share.created_at),
            share.expires_at.map_or(JsValue::NULL, number),
            flag(share.tools),
            flag(share.reasoning),
            flag(share.files),
            number(share.messages.into()),
            number(share.bytes),
            text(hash),
            text(content),
            number(MAX_SHARES.into()),
            number(MAX_SHARED_BYTES as u64),
        ];
        let expire = self.prepare(statements::EXPIRE, vec![number(share.created_at)])?;
        let insert = self.prepare(&statements::insert(), more)?;
        let results = d1::batch(&self.env, vec![expire, insert, log]).await.map_err(failed)?;
        Ok(results.get(1).map(d1::rows).transpose().map_err(failed)?.is_some_and(|rows| rows != "[]"))
    }

    /// Deletes a link with its snapshot. False where the user has none with this id. `log` runs before, in the same
    /// transaction.
    pub async fn revoke(&self, id: &str, log: D1PreparedStatement) -> Result<bool, SharesError> {
        let revoke = self.prepare(statements::REVOKE, vec![text(id)])?;
        let results = d1::batch(&self.env, vec![log, revoke]).await.map_err(failed)?;
        Ok(results.get(1).map(d1::rows).transpose().map_err(failed)?.is_some_and(|rows| rows != "[]"))
    }

    /// A statement about this user. Its first two parameters are tenant and user.
    fn prepare(&self, query: &str, more: Vec<JsValue>) -> Result<D1PreparedStatement, SharesError> {
        let values: Vec<JsValue> =
            [text(&self.tenant), text(&self.user_id)].into_iter().chain(more).collect();
        d1::database(&self.env).map_err(failed)?.prepare(query).bind(&values).map_err(failed)
    }
}

/// The open link with this digest, perhaps with its snapshot.
pub async fn find(
    env: &Env,
    digest: &str,
    with_content: bool,
    now: u64,
) -> Result<Option<Found>, SharesError> {
    let column = if with_content { "content" } else { "'' AS content" };
    let statement = d1::database(env).map_err(failed)?.prepare(statements::find(column));
    let result = statement.bind(&[text(digest), number(now)]).map_err(failed)?.all().await.map_err(failed)?;
    Ok(read::<Found>(&d1::rows(&result).map_err(failed)?)?.into_iter().next())
}

/// Deletes some links of all users whose time is over.
pub async fn expire(env: &Env, now: u64, most: u32) -> Result<(), SharesError> {
    let statement = d1::database(env).map_err(failed)?.prepare(statements::EXPIRE_SOME);
    let statement = statement.bind(&[number(now), number(most.into())]).map_err(failed)?;
    statement.run().await.map(drop).map_err(failed)
}

fn told(row: Listed) -> ShareSummary {
    let Listed { id, thread_id, title, created_at, expires_at, tools, reasoning, files, messages, bytes } =
        row;
    let [tools, reasoning, files] = [tools, reasoning, files].map(|flag| flag == 1);
    ShareSummary { id, thread_id, title, created_at, expires_at, tools, reasoning, files, messages, bytes }
}

fn read<T: serde::de::DeserializeOwned>(rows: &str) -> Result<Vec<T>, SharesError> {
    wire::json::from_str(rows).map_err(|error| failed(error.into()))
}

fn failed(error: worker::Error) -> SharesError {
    SharesError(format!("D1: {error}"))
}
