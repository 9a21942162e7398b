//! Opens D1. No other code opens it.

use wasm_bindgen::JsValue;
use worker::{D1Database, D1PreparedStatement, D1Result, Env};

/// The name of the binding (wrangler.toml).
pub const BINDING: &str = "DB";

/// Opens the database.
pub fn database(env: &Env) -> worker::Result<D1Database> {
    env.d1(BINDING)
}

/// Runs all statements in one transaction, or none of them.
pub async fn batch(env: &Env, statements: Vec<D1PreparedStatement>) -> worker::Result<Vec<D1Result>> {
    let results = database(env)?.batch(statements).await?;
    match results.iter().find_map(D1Result::error) {
        Some(error) => Err(error.into()),
        None => Ok(results),
    }
}

/// A text as a parameter.
pub fn text(value: &str) -> JsValue {
    JsValue::from_str(value)
}

/// A number as a parameter. As a float: D1 has no 64-bit integers, and milliseconds do not fit into 32.
pub fn number(value: u64) -> JsValue {
    JsValue::from_f64(value as f64)
}
