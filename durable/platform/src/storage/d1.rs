//! D1, the index across threads: takes an outbox's statements as one batch.

use wasm_bindgen::JsValue;
use worker::{D1Database, Env};

use super::StoreError;
use super::outgoing::{Outgoing, statements};

/// The name of the binding (wrangler.toml).
pub const BINDING: &str = "DB";

/// Tells D1 the news of one thread, all of it or nothing.
pub async fn tell(env: &Env, outbox: &[Outgoing]) -> Result<(), StoreError> {
    let failed = |error: worker::Error| StoreError(format!("D1: {error}"));
    let database: D1Database = env.d1(BINDING).map_err(failed)?;
    let mut batch = Vec::new();
    for statement in statements(outbox)? {
        let prepared = database.prepare(statement.sql);
        batch.push(prepared.bind(&[JsValue::from_str(&statement.rows)]).map_err(failed)?);
    }
    for result in database.batch(batch).await.map_err(failed)? {
        if let Some(error) = result.error() {
            return Err(StoreError(format!("D1: {error}")));
        }
    }
    Ok(())
}
