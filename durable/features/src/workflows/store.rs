//! The workflows in D1.

use futures::FutureExt;
use futures::future::{LocalBoxFuture, ready};
use worker::Env;

use crate::workflows::statements::DELETE;
use crate::workflows::{Stored, Workflows};
use bindings::d1::{Owned, Statement, number, text};
use bindings::owned;
use bindings::sql::OwnedSql;
use wire::protocol::{MAX_WORKFLOWS, Owner, WorkflowDefinition};
use wire::store::StoreError;

const LIST: OwnedSql = owned!(
    "SELECT id, version, definition, updated_at FROM workflows WHERE tenant = ?1 AND user_id = ?2 ORDER BY id LIMIT ?3"
);

const GET: OwnedSql = owned!(
    "SELECT id, version, definition, updated_at FROM workflows WHERE tenant = ?1 AND user_id = ?2 AND id = ?3"
);

/// One statement, so that of two requests that come together neither is lost.
const PUT: OwnedSql = owned!(
    "INSERT INTO workflows (tenant, user_id, id, version, definition, created_at, updated_at)
    SELECT ?1, ?2, ?3, 1, ?4, ?5, ?5
    WHERE EXISTS (SELECT 1 FROM workflows WHERE tenant = ?1 AND user_id = ?2 AND id = ?3)
      OR (SELECT count(*) FROM workflows WHERE tenant = ?1 AND user_id = ?2) < ?6
    ON CONFLICT (tenant, user_id, id) DO UPDATE SET
      version = version + (definition <> excluded.definition),
      updated_at = iif(definition <> excluded.definition, excluded.updated_at, updated_at),
      definition = excluded.definition
    RETURNING id, version, definition, updated_at"
);

/// The workflows of one user.
pub struct D1Workflows(Owned);

impl D1Workflows {
    /// The workflows of an owner.
    pub fn new(env: &Env, owner: &Owner) -> Self {
        D1Workflows(Owned::new(env, owner))
    }

    /// A deletion runs this statement before it, in its transaction.
    pub fn logging(self, log: Statement) -> Self {
        D1Workflows(self.0.logging(log))
    }
}

impl Workflows for D1Workflows {
    fn list(&self) -> LocalBoxFuture<'static, Result<Vec<Stored>, StoreError>> {
        self.0.select(LIST, &[number(MAX_WORKFLOWS as u64)])
    }

    fn get(&self, id: &str) -> LocalBoxFuture<'static, Result<Option<Stored>, StoreError>> {
        self.0.first(GET, &[text(id)])
    }

    fn put(
        &self,
        id: &str,
        definition: WorkflowDefinition,
        now: u64,
    ) -> LocalBoxFuture<'static, Result<Option<Stored>, StoreError>> {
        match serde_json::to_string(&definition) {
            Ok(json) => {
                self.0.first(PUT, &[text(id), text(&json), number(now), number(MAX_WORKFLOWS as u64)])
            }
            Err(error) => ready(Err(error.into())).boxed_local(),
        }
    }

    fn delete(&self, id: &str) -> LocalBoxFuture<'static, Result<bool, StoreError>> {
        self.0.delete(DELETE, &[text(id)])
    }
}
