//! Tells D1, the index across threads, the news of one thread: one batch of the outbox's statements.

use worker::Env;

use bindings::d1::{batch, database, number, rows, text};
use wire::protocol::Owner;

use super::StoreError;
use super::outgoing::{Outgoing, statements};

/// Tells D1 the news of one thread, all of it or nothing.
pub async fn tell(env: &Env, outbox: &[Outgoing]) -> Result<(), StoreError> {
    let failed = |error: worker::Error| StoreError(format!("D1: {error}"));
    let statements = statements(outbox)?;
    // D1 refuses an empty batch: an unlisted thread may have nothing to tell.
    if statements.is_empty() {
        return Ok(());
    }
    let database = database(env).map_err(failed)?;
    let mut prepared = Vec::new();
    for statement in statements {
        prepared.push(database.prepare(statement.sql).bind(&[text(&statement.rows)]).map_err(failed)?);
    }
    batch(env, prepared).await.map(drop).map_err(failed)
}

const ERASED: &str = "SELECT 1 FROM erasures WHERE tenant = ?1 AND user_id = ?2 AND started_at >= ?3";

/// Whether all data of a user was erased since a time, in milliseconds since 1970.
pub async fn was_erased(env: &Env, owner: &Owner, since: u64) -> Result<bool, String> {
    let values = [text(&owner.tenant), text(&owner.user_id()), number(since)];
    let found = async { rows(&database(env)?.prepare(ERASED).bind(&values)?.all().await?) }.await;
    found.map(|found| found != "[]").map_err(|error| format!("D1: {error}"))
}
