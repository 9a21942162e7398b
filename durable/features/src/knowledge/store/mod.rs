//! The knowledge of users in D1. Every statement names tenant and user.

pub mod collections;
pub mod conversion;
pub mod deletion;
mod intents;
pub mod memories;
pub mod vectors;

use serde::de::DeserializeOwned;
use wasm_bindgen::JsValue;
use worker::{D1PreparedStatement, D1Result, Env};

use crate::knowledge::KnowledgeError;
use bindings::d1::{self, text};
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
        let database = d1::database(&self.env).map_err(failed)?;
        database.prepare(sql).bind(&values).map_err(failed)
    }

    /// Runs all statements, or none of them.
    pub async fn batch(&self, statements: Vec<D1PreparedStatement>) -> Asked<Vec<D1Result>> {
        d1::batch(&self.env, statements).await.map_err(failed)
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
}

pub type Asked<T> = Result<T, KnowledgeError>;

/// The rows of a statement's result.
pub fn rows<T: DeserializeOwned>(result: &D1Result) -> Asked<Vec<T>> {
    wire::json::from_str(&d1::rows(result).map_err(failed)?).map_err(|error| failed(error.into()))
}

fn failed(error: worker::Error) -> KnowledgeError {
    worker::console_error!("D1: {error}");
    KnowledgeError(format!("D1: {error}"))
}
