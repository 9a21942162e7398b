//! The share links in D1.

use serde::Deserialize;
use worker::Env;

use super::statements;
use bindings::d1::{Owned, Statement, maybe, number, text, unowned};
use wire::protocol::{MAX_SHARED_BYTES, MAX_SHARES, Owner, ShareSummary};
use wire::store::StoreError;

/// The share links of one user.
pub struct D1Shares(Owned);

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
        D1Shares(Owned::new(env, owner))
    }

    /// The open ones, newest first: those of a thread, or all.
    pub async fn list(&self, thread: Option<&str>, now: u64) -> Result<Vec<ShareSummary>, StoreError> {
        let listed: Vec<Listed> =
            self.0.select(statements::LIST, &[number(now), maybe(thread, text)]).await?;
        Ok(listed.into_iter().map(summary_of).collect())
    }

    /// Writes a new link with its snapshot, and deletes the user's links whose time is over. False where the user has as
    /// many links, or bytes of snapshots, as allowed. `log` runs behind it, in the same transaction.
    pub async fn insert(
        &self,
        share: &ShareSummary,
        (hash, content): (&str, &str),
        log: Statement,
    ) -> Result<bool, StoreError> {
        let flag = |flag: bool| number(u64::from(flag));
        let more = [
            text(&share.id),
            text(&share.thread_id),
            text(&share.title),
            number(share.created_at),
            maybe(share.expires_at, number),
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
        let expire = self.0.statement(statements::EXPIRE, &[number(share.created_at)])?;
        let insert = self.0.statement(statements::INSERT, &more)?;
        self.0.batch(vec![expire, insert, log]).await?.any(1)
    }

    /// Deletes a link with its snapshot. False where the user has none with this id. `log` runs before, in the same
    /// transaction.
    pub async fn revoke(self, id: &str, log: Statement) -> Result<bool, StoreError> {
        self.0.logging(log).delete(statements::REVOKE, &[text(id)]).await
    }
}

/// The open link with this digest, perhaps with its snapshot.
pub async fn find(
    env: &Env,
    digest: &str,
    with_content: bool,
    now: u64,
) -> Result<Option<Found>, StoreError> {
    let column = if with_content { "content" } else { "'' AS content" };
    unowned::by_secret(env, statements::find(column), &[text(digest), number(now)])?.first().await
}

/// Deletes some links of all users whose time is over.
pub async fn expire(env: &Env, now: u64, most: u32) -> Result<(), StoreError> {
    unowned::of_all(env, statements::EXPIRE_SOME, &[number(now), number(most.into())])?.run().await
}

fn summary_of(row: Listed) -> ShareSummary {
    let Listed { id, thread_id, title, created_at, expires_at, tools, reasoning, files, messages, bytes } =
        row;
    let [tools, reasoning, files] = [tools, reasoning, files].map(|flag| flag == 1);
    ShareSummary { id, thread_id, title, created_at, expires_at, tools, reasoning, files, messages, bytes }
}
