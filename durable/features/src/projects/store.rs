//! The projects in D1.

use futures::FutureExt;
use futures::future::LocalBoxFuture;
use serde::Deserialize;
use uuid::Uuid;
use wasm_bindgen::JsValue;
use worker::{D1PreparedStatement, Env};

use crate::projects::item::{Item, ItemKind};
use crate::projects::statements::DELETE;
use crate::projects::{Projects, ProjectsError};
use bindings::d1::{self, number};
use wire::protocol::Owner;

const COLUMNS: &str = "kind, id, project_id, title, body, version, operation, created_at, updated_at";

/// How many characters of a thread's name the ids of its items have: 48 bits.
const SCOPE_CHARS: usize = 12;

/// The projects of one user.
pub struct D1Projects {
    env: Env,
    scope: String,
    tenant: String,
    user_id: String,
    log: Option<D1PreparedStatement>,
}

#[derive(Deserialize)]
struct Row {
    kind: ItemKind,
    id: String,
    project_id: String,
    title: String,
    body: String,
    version: u32,
    operation: String,
    created_at: u64,
    updated_at: u64,
}

impl D1Projects {
    /// The projects of an owner. A caller without a thread only reads.
    pub fn new(env: &Env, owner: &Owner, thread_id: Option<Uuid>) -> Self {
        let name = thread_id.map(|id| owner.object_name(id)).unwrap_or_default();
        let scope = name.chars().take(SCOPE_CHARS).collect();
        D1Projects {
            env: env.clone(),
            scope,
            tenant: owner.tenant.clone(),
            user_id: owner.user_id(),
            log: None,
        }
    }

    /// A deletion runs this statement before it, in its transaction.
    pub fn logging(self, log: D1PreparedStatement) -> Self {
        D1Projects { log: Some(log), ..self }
    }

    /// A statement about this user. Its first two parameters are tenant and user.
    fn prepare(&self, query: &str, more: Vec<JsValue>) -> Result<D1PreparedStatement, ProjectsError> {
        let owner = [JsValue::from_str(&self.tenant), JsValue::from_str(&self.user_id)];
        let values: Vec<JsValue> = owner.into_iter().chain(more).collect();
        let database = d1::database(&self.env).map_err(failed)?;
        database.prepare(query).bind(&values).map_err(failed)
    }

    fn insert(&self, item: &Item) -> Result<D1PreparedStatement, ProjectsError> {
        // The project may have been deleted since it was read. Nobody would ever find what it leaves behind.
        let query = format!(
            "INSERT INTO project_items (tenant, user_id, {COLUMNS})
            SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11 WHERE ?5 = '' OR EXISTS (SELECT 1 FROM project_items
            WHERE tenant = ?1 AND user_id = ?2 AND kind = 'project' AND id = ?5)
            ON CONFLICT (tenant, user_id, kind, id) DO NOTHING"
        );
        self.prepare(&query, values(item)?)
    }
}

fn values(item: &Item) -> Result<Vec<JsValue>, ProjectsError> {
    let body = serde_json::to_string(&item.body).map_err(|error| ProjectsError(error.to_string()))?;
    Ok(vec![
        item.kind.as_str().into(),
        item.id.as_str().into(),
        item.project_id.as_deref().unwrap_or_default().into(),
        item.title.as_str().into(),
        body.into(),
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
    ) -> LocalBoxFuture<'static, Result<Vec<Item>, ProjectsError>> {
        let query = format!(
            "SELECT {COLUMNS} FROM project_items WHERE tenant = ?1 AND user_id = ?2 AND kind = ?3 AND project_id = ?4
            ORDER BY created_at, id LIMIT ?5"
        );
        let most = u32::try_from(kind.most()).unwrap_or(u32::MAX);
        let more = vec![kind.as_str().into(), project_id.unwrap_or_default().into(), most.into()];
        read(self.prepare(&query, more))
    }

    fn get(&self, kind: ItemKind, id: &str) -> LocalBoxFuture<'static, Result<Option<Item>, ProjectsError>> {
        let query = format!(
            "SELECT {COLUMNS} FROM project_items WHERE tenant = ?1 AND user_id = ?2 AND kind = ?3 AND id = ?4"
        );
        let found = read(self.prepare(&query, vec![kind.as_str().into(), id.into()]));
        async move { Ok(found.await?.into_iter().next()) }.boxed_local()
    }

    fn create(&self, items: Vec<Item>) -> LocalBoxFuture<'static, Result<(), ProjectsError>> {
        let statements: Result<Vec<_>, _> = items.iter().map(|item| self.insert(item)).collect();
        let env = self.env.clone();
        async move { d1::batch(&env, statements?).await.map(drop).map_err(failed) }.boxed_local()
    }

    fn update(&self, item: Item, over: u32) -> LocalBoxFuture<'static, Result<bool, ProjectsError>> {
        // The first writer changes the version, so a concurrent writer finds no row.
        let query =
            "UPDATE project_items SET title = ?6, body = ?7, version = ?8, operation = ?9, updated_at = ?11
            WHERE tenant = ?1 AND user_id = ?2 AND kind = ?3 AND id = ?4 AND project_id = ?5 AND version = ?12
            AND created_at = ?10 RETURNING id";
        let statement = values(&item).and_then(|mut values| {
            values.push(over.into());
            self.prepare(query, values)
        });
        async move {
            let result = statement?.all().await.map_err(failed)?;
            Ok(d1::rows(&result).map_err(failed)? != "[]")
        }
        .boxed_local()
    }

    fn delete(&self, kind: ItemKind, id: &str) -> LocalBoxFuture<'static, Result<(), ProjectsError>> {
        let statement = self.prepare(DELETE, vec![kind.as_str().into(), id.into()]);
        let (env, log) = (self.env.clone(), self.log.clone());
        async move {
            let statements = log.into_iter().chain([statement?]).collect();
            d1::batch(&env, statements).await.map(drop).map_err(failed)
        }
        .boxed_local()
    }
}

fn read(
    statement: Result<D1PreparedStatement, ProjectsError>,
) -> LocalBoxFuture<'static, Result<Vec<Item>, ProjectsError>> {
    async move {
        let result = statement?.all().await.map_err(failed)?;
        let rows = d1::rows(&result).map_err(failed)?;
        let rows: Vec<Row> = wire::json::from_str(&rows).map_err(|error| failed(error.into()))?;
        rows.into_iter().map(item).collect()
    }
    .boxed_local()
}

fn item(row: Row) -> Result<Item, ProjectsError> {
    let Row { kind, id, project_id, title, body, version, operation, created_at, updated_at } = row;
    let body = wire::json::from_str(&body).map_err(|error| ProjectsError(format!("{id}: {error}")))?;
    let project_id = Some(project_id).filter(|project_id| !project_id.is_empty());
    Ok(Item { kind, id, project_id, title, body, version, operation, created_at, updated_at })
}

fn failed(error: worker::Error) -> ProjectsError {
    worker::console_error!("D1: {error}");
    ProjectsError(error.to_string())
}
