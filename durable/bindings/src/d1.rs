//! Opens D1. No other code opens it.

use js_sys::{Array, JSON};
use serde::Deserialize;
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

/// The rows of a result, as a JSON array of objects. A row crosses from JavaScript as one text: member by member it would
/// cost a crossing each, and another reader beside that of JSON for each type of row.
pub fn rows(result: &D1Result) -> worker::Result<String> {
    #[derive(Deserialize)]
    #[serde(transparent)]
    struct Row(#[serde(with = "serde_wasm_bindgen::preserve")] JsValue);
    let rows: Array = result.results()?.into_iter().map(|Row(row)| row).collect();
    Ok(JSON::stringify(&rows)?.into())
}

/// A text as a parameter.
pub fn text(value: &str) -> JsValue {
    JsValue::from_str(value)
}

/// A number as a parameter. As a float: D1 has no 64-bit integers, and milliseconds do not fit into 32.
pub fn number(value: u64) -> JsValue {
    JsValue::from_f64(super::rows::unsigned_integer(value) as f64)
}
