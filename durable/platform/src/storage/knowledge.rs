//! What D1 knows beyond threads, and how it is asked: every statement names tenant and user.

use serde::de::DeserializeOwned;
use wasm_bindgen::JsValue;
use worker::{D1Database, D1PreparedStatement, D1Result, Env};

use super::d1::BINDING;
use features::knowledge::KnowledgeError;
use wire::protocol::Owner;

/// D1, on behalf of one user.
#[derive(Clone)]
pub struct Asking {
    env: Env,
    pub owner: Owner,
}

impl Asking {
    pub fn new(env: &Env, owner: &Owner) -> Self {
        Asking { env: env.clone(), owner: owner.clone() }
    }

    /// A statement whose first two parameters are tenant and user.
    pub fn prepare(
        &self,
        sql: &str,
        values: impl IntoIterator<Item = JsValue>,
    ) -> Asked<D1PreparedStatement> {
        let own = [text(&self.owner.tenant), text(&self.owner.user_id())];
        let values: Vec<JsValue> = own.into_iter().chain(values).collect();
        self.database()?.prepare(sql).bind(&values).map_err(failed)
    }

    /// All statements, or none of them.
    pub async fn batch(&self, statements: Vec<D1PreparedStatement>) -> Asked<Vec<D1Result>> {
        let results = self.database()?.batch(statements).await.map_err(failed)?;
        match results.iter().find_map(D1Result::error) {
            Some(error) => Err(KnowledgeError(format!("D1: {error}"))),
            None => Ok(results),
        }
    }

    /// The rows of one statement.
    pub async fn rows<T: DeserializeOwned>(
        &self,
        sql: &str,
        values: impl IntoIterator<Item = JsValue>,
    ) -> Asked<Vec<T>> {
        let result = self.prepare(sql, values)?.all().await.map_err(failed)?;
        rows(&result)
    }

    fn database(&self) -> Asked<D1Database> {
        self.env.d1(BINDING).map_err(failed)
    }
}

pub type Asked<T> = Result<T, KnowledgeError>;

/// The rows of a statement's result.
pub fn rows<T: DeserializeOwned>(result: &D1Result) -> Asked<Vec<T>> {
    result.results().map_err(failed)
}

pub fn text(value: &str) -> JsValue {
    JsValue::from_str(value)
}

/// As a float: D1 has no 64-bit integers, and milliseconds do not fit into 32.
pub fn number(value: u64) -> JsValue {
    JsValue::from_f64(value as f64)
}

fn failed(error: worker::Error) -> KnowledgeError {
    worker::console_error!("D1: {error}");
    KnowledgeError(format!("D1: {error}"))
}
