//! The workflows in D1.

use futures::FutureExt;
use futures::future::LocalBoxFuture;
use serde::Deserialize;
use wasm_bindgen::JsValue;
use worker::{D1PreparedStatement, Env};

use crate::workflows::statements::DELETE;
use crate::workflows::{Stored, Workflows, WorkflowsError};
use bindings::d1::{self, number, text};
use wire::protocol::{MAX_WORKFLOWS, Owner, WorkflowDefinition};

const COLUMNS: &str = "id, version, definition, updated_at";

/// The workflows of one user.
pub struct D1Workflows {
    env: Env,
    tenant: String,
    user_id: String,
    log: Option<D1PreparedStatement>,
}

#[derive(Deserialize)]
struct Row {
    id: String,
    version: u32,
    definition: String,
    updated_at: u64,
}

impl D1Workflows {
    /// The workflows of an owner.
    pub fn new(env: &Env, owner: &Owner) -> Self {
        D1Workflows { env: env.clone(), tenant: owner.tenant.clone(), user_id: owner.user_id(), log: None }
    }

    /// A deletion runs this statement before it, in its transaction.
    pub fn logging(self, log: D1PreparedStatement) -> Self {
        D1Workflows { log: Some(log), ..self }
    }

    /// A statement about this user. Its first two parameters are tenant and user.
    fn prepare(&self, query: &str, more: Vec<JsValue>) -> Result<D1PreparedStatement, WorkflowsError> {
        let values: Vec<JsValue> =
            [text(&self.tenant), text(&self.user_id)].into_iter().chain(more).collect();
        let database = d1::database(&self.env).map_err(failed)?;
        database.prepare(query).bind(&values).map_err(failed)
    }
}

impl Workflows for D1Workflows {
    fn list(&self) -> LocalBoxFuture<'static, Result<Vec<Stored>, WorkflowsError>> {
        let query = format!(
            "SELECT {COLUMNS} FROM workflows WHERE tenant = ?1 AND user_id = ?2 ORDER BY id LIMIT ?3"
        );
        read(self.prepare(&query, vec![number(MAX_WORKFLOWS as u64)]))
    }

    fn get(&self, id: &str) -> LocalBoxFuture<'static, Result<Option<Stored>, WorkflowsError>> {
        let query = format!("SELECT {COLUMNS} FROM workflows WHERE tenant = ?1 AND user_id = ?2 AND id = ?3");
        first(read(self.prepare(&query, vec![text(id)])))
    }

    fn put(
        &self,
        id: &str,
        definition: WorkflowDefinition,
        now: u64,
    ) -> LocalBoxFuture<'static, Result<Option<Stored>, WorkflowsError>> {
        // One statement, so that of two requests that come together neither is lost.
        let query = format!(
            "INSERT INTO workflows (tenant, user_id, id, version, definition, created_at, updated_at)
            SELECT ?1, ?2, ?3, 1, ?4, ?5, ?5
            WHERE EXISTS (SELECT 1 FROM workflows WHERE tenant = ?1 AND user_id = ?2 AND id = ?3)
              OR (SELECT count(*) FROM workflows WHERE tenant = ?1 AND user_id = ?2) < ?6
            ON CONFLICT (tenant, user_id, id) DO UPDATE SET
              version = version + (definition <> excluded.definition),
              updated_at = iif(definition <> excluded.definition, excluded.updated_at, updated_at),
              definition = excluded.definition
            RETURNING {COLUMNS}"
        );
        let json = match serde_json::to_string(&definition) {
            Ok(json) => json,
            Err(error) => return async move { Err(WorkflowsError(error.to_string())) }.boxed_local(),
        };
        let more = vec![text(id), text(&json), number(now), number(MAX_WORKFLOWS as u64)];
        first(read(self.prepare(&query, more)))
    }

    fn delete(&self, id: &str) -> LocalBoxFuture<'static, Result<bool, WorkflowsError>> {
        let (env, log) = (self.env.clone(), self.log.clone());
        let delete = self.prepare(DELETE, vec![text(id)]);
        async move {
            let statements = log.into_iter().chain([delete?]).collect();
            let results = d1::batch(&env, statements).await.map_err(failed)?;
            let gone = results.last().map(d1::rows).transpose().map_err(failed)?;
            Ok(gone.is_some_and(|gone| gone != "[]"))
        }
        .boxed_local()
    }
}

fn first(
    rows: LocalBoxFuture<'static, Result<Vec<Stored>, WorkflowsError>>,
) -> LocalBoxFuture<'static, Result<Option<Stored>, WorkflowsError>> {
    async move { Ok(rows.await?.into_iter().next()) }.boxed_local()
}

fn read(
    statement: Result<D1PreparedStatement, WorkflowsError>,
) -> LocalBoxFuture<'static, Result<Vec<Stored>, WorkflowsError>> {
    async move {
        let result = statement?.all().await.map_err(failed)?;
        let rows: Vec<Row> = wire::json::from_str(&d1::rows(&result).map_err(failed)?)
            .map_err(|error| failed(error.into()))?;
        rows.into_iter().map(stored).collect()
    }
    .boxed_local()
}

fn stored(row: Row) -> Result<Stored, WorkflowsError> {
    let Row { id, version, definition, updated_at } = row;
    let definition = wire::json::from_str(&definition).map_err(|error| failed(error.into()))?;
    Ok(Stored { id, version, definition, updated_at })
}

fn failed(error: worker::Error) -> WorkflowsError {
    WorkflowsError(format!("D1: {error}"))
}
