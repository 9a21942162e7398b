//! The instructions in D1.

use serde::Deserialize;
use wasm_bindgen::JsValue;
use worker::{D1PreparedStatement, Env};

use super::InstructionsError;
use bindings::d1::{self, number, text};
use wire::protocol::{Instructions, InstructionsOf, Owner};

/// The instructions of one user.
pub struct D1Instructions {
    env: Env,
    tenant: String,
    user_id: String,
}

#[derive(Deserialize)]
struct Row {
    project_id: String,
    content: String,
    updated_at: u64,
}

impl D1Instructions {
    /// The instructions of an owner.
    pub fn new(env: &Env, owner: &Owner) -> Self {
        D1Instructions { env: env.clone(), tenant: owner.tenant.clone(), user_id: owner.user_id() }
    }

    /// Those that a turn begins with: the user's, then the ones of the project that its request is about.
    pub async fn of_turn(
        &self,
        project: Option<&str>,
    ) -> Result<Vec<(InstructionsOf, String)>, InstructionsError> {
        let query = "SELECT project_id, content, updated_at FROM instructions
            WHERE tenant = ?1 AND user_id = ?2 AND project_id IN ('', ?3) ORDER BY project_id";
        let rows = self.read(query, vec![text(project.unwrap_or_default())]).await?;
        let of = |row: &Row| match row.project_id.is_empty() {
            true => InstructionsOf::User,
            false => InstructionsOf::Project,
        };
        Ok(rows.into_iter().map(|row| (of(&row), row.content)).collect())
    }

    /// The user's own, or those of a project. None: there is no such project.
    pub async fn get(&self, project: Option<&str>) -> Result<Option<Instructions>, InstructionsError> {
        let query =
            "SELECT ?3 AS project_id, coalesce(content, '') AS content, coalesce(updated_at, 0) AS updated_at
            FROM (SELECT 1) LEFT JOIN instructions ON tenant = ?1 AND user_id = ?2 AND project_id = ?3
            WHERE ?3 = '' OR EXISTS (SELECT 1 FROM project_items
              WHERE tenant = ?1 AND user_id = ?2 AND kind = 'project' AND id = ?3)";
        let rows = self.read(query, vec![text(project.unwrap_or_default())]).await?;
        Ok(rows.into_iter().next().map(told))
    }

    /// Writes them; a text that is empty deletes them. None: there is no such project.
    pub async fn put(
        &self,
        project: Option<&str>,
        content: &str,
        now: u64,
    ) -> Result<Option<Instructions>, InstructionsError> {
        let id = text(project.unwrap_or_default());
        if content.is_empty() {
            let query = "DELETE FROM instructions WHERE tenant = ?1 AND user_id = ?2 AND project_id = ?3
                RETURNING project_id, content, updated_at";
            self.read(query, vec![id]).await?;
            return self.get(project).await;
        }
        // The project may be deleted at the same time: then its trigger has run, or this finds no project.
        let query = "INSERT INTO instructions (tenant, user_id, project_id, content, updated_at)
            SELECT ?1, ?2, ?3, ?4, ?5 WHERE ?3 = '' OR EXISTS (SELECT 1 FROM project_items
              WHERE tenant = ?1 AND user_id = ?2 AND kind = 'project' AND id = ?3)
            ON CONFLICT (tenant, user_id, project_id) DO UPDATE SET
              content = excluded.content, updated_at = excluded.updated_at
            RETURNING project_id, content, updated_at";
        let rows = self.read(query, vec![id, text(content), number(now)]).await?;
        Ok(rows.into_iter().next().map(told))
    }

    async fn read(&self, query: &str, more: Vec<JsValue>) -> Result<Vec<Row>, InstructionsError> {
        let result = self.prepare(query, more)?.all().await.map_err(failed)?;
        wire::json::from_str(&d1::rows(&result).map_err(failed)?).map_err(|error| failed(error.into()))
    }

    /// A statement about this user. Its first two parameters are tenant and user.
    fn prepare(&self, query: &str, more: Vec<JsValue>) -> Result<D1PreparedStatement, InstructionsError> {
        let values: Vec<JsValue> =
            [text(&self.tenant), text(&self.user_id)].into_iter().chain(more).collect();
        d1::database(&self.env).map_err(failed)?.prepare(query).bind(&values).map_err(failed)
    }
}

fn told(Row { content, updated_at, .. }: Row) -> Instructions {
    Instructions { updated_at: (!content.is_empty()).then_some(updated_at), content }
}

fn failed(error: worker::Error) -> InstructionsError {
    InstructionsError(format!("D1: {error}"))
}
