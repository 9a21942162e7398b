//! The projects in D1.

use futures::FutureExt;
use futures::future::LocalBoxFuture;
use uuid::Uuid;
use wasm_bindgen::JsValue;
use worker::Env;

use crate::projects::Projects;
use crate::projects::item::{Item, ItemKind};
use crate::projects::statements::DELETE;
use bindings::d1::{Owned, Statement, number};
use bindings::owned;
use bindings::sql::OwnedSql;
use wire::protocol::Owner;
use wire::store::StoreError;

const LIST: OwnedSql = owned!(
    "SELECT kind, id, project_id, title, body, version, operation, created_at, updated_at FROM project_items
    WHERE tenant = ?1 AND user_id = ?2 AND kind = ?3 AND project_id = ?4 ORDER BY created_at, id LIMIT ?5"
);

const GET: OwnedSql = owned!(
    "SELECT kind, id, project_id, title, body, version, operation, created_at, updated_at FROM project_items
    WHERE tenant = ?1 AND user_id = ?2 AND kind = ?3 AND id = ?4"
);

/// The project may have been deleted since it was read. Nobody would ever find what it leaves behind.
const INSERT: OwnedSql = owned!(
    "INSERT INTO project_items
      (tenant, user_id, kind, id, project_id, title, body, version, operation, created_at, updated_at)
    SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11 WHERE ?5 = '' OR EXISTS (SELECT 1 FROM project_items
      WHERE tenant = ?1 AND user_id = ?2 AND kind = 'project' AND id = ?5)
    ON CONFLICT (tenant, user_id, kind, id) DO NOTHING"
);

/// The first writer changes the version, so a concurrent writer finds no row.
const UPDATE: OwnedSql = owned!(
    "UPDATE project_items SET title = ?6, body = ?7, version = ?8, operation = ?9, updated_at = ?11
    WHERE tenant = ?1 AND user_id = ?2 AND kind = ?3 AND id = ?4 AND project_id = ?5 AND version = ?12
    AND created_at = ?10 RETURNING id"
);

/// How many characters of a thread's name the ids of its items have: 48 bits.
const SCOPE_CHARS: usize = 12;

/// The projects of one user.
pub struct D1Projects {
    owned: Owned,
    scope: String,
}

impl D1Projects {
    /// The projects of an owner. A caller without a thread only reads.
    pub fn new(env: &Env, owner: &Owner, thread_id: Option<Uuid>) -> Self {
        let name = thread_id.map(|id| owner.object_name(id)).unwrap_or_default();
        let scope = name.chars().take(SCOPE_CHARS).collect();
        D1Projects { owned: Owned::new(env, owner), scope }
    }

    /// A deletion runs this statement before it, in its transaction.
    pub fn logging(self, log: Statement) -> Self {
        D1Projects { owned: self.owned.logging(log), ..self }
    }
}

fn values(item: &Item) -> Result<[JsValue; 9], StoreError> {
    Ok([
        item.kind.as_str().into(),
        item.id.as_str().into(),
        item.project_id.as_deref().unwrap_or_default().into(),
        item.title.as_str().into(),
        serde_json::to_string(&item.body)?.into(),
        item.version.into(),
        item.operation.as_str().into(),
        number(item.created_at),
        number(item.updated_at),
    ])
}

impl Projects for D1Projects {
    fn scope(&self) -> &str {
        &self.scope
    }

    fn list(
        &self,
        kind: ItemKind,
        project_id: Option<&str>,
    ) -> LocalBoxFuture<'static, Result<Vec<Item>, StoreError>> {
        let most = u32::try_from(kind.most()).unwrap_or(u32::MAX);
        self.owned.select(LIST, &[kind.as_str().into(), project_id.unwrap_or_default().into(), most.into()])
    }

    fn get(&self, kind: ItemKind, id: &str) -> LocalBoxFuture<'static, Result<Option<Item>, StoreError>> {
        self.owned.first(GET, &[kind.as_str().into(), id.into()])
    }

    fn create(&self, items: Vec<Item>) -> LocalBoxFuture<'static, Result<(), StoreError>> {
        let insert = |item: &Item| self.owned.statement(INSERT, &values(item)?);
        let (owned, statements) = (self.owned.clone(), items.iter().map(insert).collect::<Result<_, _>>());
        async move { owned.batch(statements?).await.map(drop) }.boxed_local()
    }

    fn update(&self, item: Item, over: u32) -> LocalBoxFuture<'static, Result<bool, StoreError>> {
        let (owned, values) = (self.owned.clone(), values(&item));
        async move { owned.any(UPDATE, &[values?.as_slice(), &[over.into()]].concat()).await }.boxed_local()
    }

    fn delete(&self, kind: ItemKind, id: &str) -> LocalBoxFuture<'static, Result<(), StoreError>> {
        let deleting = self.owned.delete(DELETE, &[kind.as_str().into(), id.into()]);
        async move { deleting.await.map(drop) }.boxed_local()
    }
}
