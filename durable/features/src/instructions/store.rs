//! The instructions in D1.

use serde::Deserialize;
use worker::Env;

use bindings::d1::{Owned, number, text};
use bindings::owned;
use bindings::sql::OwnedSql;
use wire::protocol::{Instructions, InstructionsOf, Owner};
use wire::store::StoreError;

const OF_TURN: OwnedSql = owned!(
    "SELECT project_id, content, updated_at FROM instructions
    WHERE tenant = ?1 AND user_id = ?2 AND project_id IN ('', ?3) ORDER BY project_id"
);

const GET: OwnedSql = owned!(
    "SELECT ?3 AS project_id, coalesce(content, '') AS content, coalesce(updated_at, 0) AS updated_at
    FROM (SELECT 1) LEFT JOIN instructions ON tenant = ?1 AND user_id = ?2 AND project_id = ?3
    WHERE ?3 = '' OR EXISTS (SELECT 1 FROM project_items
      WHERE tenant = ?1 AND user_id = ?2 AND kind = 'project' AND id = ?3)"
);

const DELETE: OwnedSql = owned!(
    "DELETE FROM instructions WHERE tenant = ?1 AND user_id = ?2 AND project_id = ?3
    RETURNING project_id, content, updated_at"
);

/// The project may be deleted at the same time: then its trigger has run, or this finds no project.
const PUT: OwnedSql = owned!(
    "INSERT INTO instructions (tenant, user_id, project_id, content, updated_at)
    SELECT ?1, ?2, ?3, ?4, ?5 WHERE ?3 = '' OR EXISTS (SELECT 1 FROM project_items
      WHERE tenant = ?1 AND user_id = ?2 AND kind = 'project' AND id = ?3)
    ON CONFLICT (tenant, user_id, project_id) DO UPDATE SET
      content = excluded.content, updated_at = excluded.updated_at
    RETURNING project_id, content, updated_at"
);

/// The instructions of one user.
pub struct D1Instructions(Owned);

#[derive(Deserialize)]
struct Row {
    project_id: String,
    content: String,
    updated_at: u64,
}

impl D1Instructions {
    /// The instructions of an owner.
    pub fn new(env: &Env, owner: &Owner) -> Self {
        D1Instructions(Owned::new(env, owner))
    }

    /// Those that a turn begins with: the user's, then the ones of the project that its request is about.
    pub async fn of_turn(&self, project: Option<&str>) -> Result<Vec<(InstructionsOf, String)>, StoreError> {
        let rows: Vec<Row> = self.0.select(OF_TURN, &[text(project.unwrap_or_default())]).await?;
        let of = |row: &Row| match row.project_id.is_empty() {
            true => InstructionsOf::User,
            false => InstructionsOf::Project,
        };
        Ok(rows.into_iter().map(|row| (of(&row), row.content)).collect())
    }

    /// The user's own, or those of a project. None: there is no such project.
    pub async fn get(&self, project: Option<&str>) -> Result<Option<Instructions>, StoreError> {
        Ok(self.0.first(GET, &[text(project.unwrap_or_default())]).await?.map(instructions_of))
    }

    /// Writes them; a text that is empty deletes them. None: there is no such project.
    pub async fn put(
        &self,
        project: Option<&str>,
        content: &str,
        now: u64,
    ) -> Result<Option<Instructions>, StoreError> {
        let id = text(project.unwrap_or_default());
        if content.is_empty() {
            self.0.any(DELETE, &[id]).await?;
            return self.get(project).await;
        }
        Ok(self.0.first(PUT, &[id, text(content), number(now)]).await?.map(instructions_of))
    }
}

fn instructions_of(Row { content, updated_at, .. }: Row) -> Instructions {
    Instructions { updated_at: (!content.is_empty()).then_some(updated_at), content }
}
