//! Opens D1 and makes its statements. No other code does either.
//!
//! [`Owned`] has the statements about the rows of one owner. A statement that names no owner comes through a door of
//! [`unowned`], whose name says why.

use futures::FutureExt;
use futures::future::LocalBoxFuture;
use js_sys::{Array, JSON};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use wasm_bindgen::JsValue;
use worker::{D1Database, D1PreparedStatement, D1Result, Env, console_error};

use crate::rows::unsigned_integer;
use crate::sql::OwnedSql;
use wire::protocol::Owner;
use wire::store::StoreError;

/// The name of the binding (wrangler.toml).
pub const BINDING: &str = "DB";

type Answer<T> = LocalBoxFuture<'static, Result<T, StoreError>>;

/// D1 on behalf of one owner: each statement has the tenant as `?1` and the user as `?2`, and the given values from `?3` on.
#[derive(Clone)]
pub struct Owned {
    env: Env,
    owner: [JsValue; 2],
    log: Option<Statement>,
}

impl Owned {
    /// The rows of an owner.
    pub fn new(env: &Env, owner: &Owner) -> Self {
        Self::of_user(env, &owner.tenant, &owner.user_id())
    }

    /// The same by the columns that name the owner.
    pub fn of_user(env: &Env, tenant: &str, user_id: &str) -> Self {
        Owned { env: env.clone(), owner: [text(tenant), text(user_id)], log: None }
    }

    /// A deletion runs this statement before it, in its transaction.
    pub fn logging(self, log: Statement) -> Self {
        Owned { log: Some(log), ..self }
    }

    /// A statement for a batch.
    pub fn statement(&self, sql: OwnedSql<'_>, more: &[JsValue]) -> Result<Statement, StoreError> {
        prepare(&self.env, &sql, &[&self.owner, more].concat())
    }

    /// The rows that a statement gives back.
    pub fn select<T: DeserializeOwned + 'static>(
        &self,
        sql: OwnedSql<'_>,
        more: &[JsValue],
    ) -> Answer<Vec<T>> {
        let statement = self.statement(sql, more);
        async move { statement?.rows().await }.boxed_local()
    }

    /// The first of them.
    pub fn first<T: DeserializeOwned + 'static>(
        &self,
        sql: OwnedSql<'_>,
        more: &[JsValue],
    ) -> Answer<Option<T>> {
        let statement = self.statement(sql, more);
        async move { statement?.first().await }.boxed_local()
    }

    /// Whether a statement gives back a row: one that it found, or wrote.
    pub fn any(&self, sql: OwnedSql<'_>, more: &[JsValue]) -> Answer<bool> {
        let statement = self.statement(sql, more);
        async move { statement?.any().await }.boxed_local()
    }

    /// Deletes rows, behind the entry of the log. Returns whether a row came back.
    pub fn delete(&self, sql: OwnedSql<'_>, more: &[JsValue]) -> Answer<bool> {
        let (owned, statement) = (self.clone(), self.statement(sql, more));
        async move {
            let place = usize::from(owned.log.is_some());
            owned.batch(owned.log.iter().cloned().chain([statement?]).collect()).await?.any(place)
        }
        .boxed_local()
    }

    /// Runs all statements in one transaction, or none of them.
    pub async fn batch(&self, statements: Vec<Statement>) -> Result<Results, StoreError> {
        batch(&self.env, statements).await
    }
}

/// Statements that name no owner.
pub mod unowned {
    use super::{Env, JsValue, Statement, StoreError, prepare, text};

    /// About a row that a secret of the caller names: the digest of a token, the prefix of a key.
    pub fn by_secret(env: &Env, sql: impl AsRef<str>, values: &[JsValue]) -> Result<Statement, StoreError> {
        prepare(env, sql.as_ref(), values)
    }

    /// About the rows of a tenant, for its administrator. The tenant is `?1`.
    pub fn of_tenant(
        env: &Env,
        tenant: &str,
        sql: impl AsRef<str>,
        more: &[JsValue],
    ) -> Result<Statement, StoreError> {
        prepare(env, sql.as_ref(), &[&[text(tenant)], more].concat())
    }

    /// About the rows of all owners, for the service itself: what is over goes, a job goes on, the outbox of a thread brings
    /// rows that have their owners in them.
    pub fn of_all(env: &Env, sql: impl AsRef<str>, values: &[JsValue]) -> Result<Statement, StoreError> {
        prepare(env, sql.as_ref(), values)
    }
}

/// A statement with its parameters.
#[derive(Clone)]
pub struct Statement(D1PreparedStatement);

impl Statement {
    /// The rows that it gives back.
    pub async fn rows<T: DeserializeOwned>(self) -> Result<Vec<T>, StoreError> {
        read(&self.0.all().await.map_err(failed)?)
    }

    /// The first of them.
    pub async fn first<T: DeserializeOwned>(self) -> Result<Option<T>, StoreError> {
        Ok(self.rows().await?.into_iter().next())
    }

    /// Whether it gives back a row.
    pub async fn any(self) -> Result<bool, StoreError> {
        Ok(json(&self.0.all().await.map_err(failed)?)? != NO_ROWS)
    }

    /// Runs it for its effect.
    pub async fn run(self) -> Result<(), StoreError> {
        self.0.run().await.map(drop).map_err(failed)
    }
}

/// The results of a batch, in the order of its statements.
pub struct Results(Vec<D1Result>);

impl Results {
    /// The rows that the statement at this place gave back.
    pub fn rows<T: DeserializeOwned>(&self, place: usize) -> Result<Vec<T>, StoreError> {
        self.0.get(place).map_or(Ok(Vec::new()), read)
    }

    /// Whether it gave back a row.
    pub fn any(&self, place: usize) -> Result<bool, StoreError> {
        self.0.get(place).map_or(Ok(false), |result| Ok(json(result)? != NO_ROWS))
    }
}

/// The same of statements that are not all of one owner.
pub async fn batch(env: &Env, statements: Vec<Statement>) -> Result<Results, StoreError> {
    let statements = statements.into_iter().map(|Statement(statement)| statement).collect();
    let results = database(env).map_err(failed)?.batch(statements).await.map_err(failed)?;
    match results.iter().find_map(D1Result::error) {
        Some(error) => Err(failed(error.into())),
        None => Ok(Results(results)),
    }
}

/// Whether the deployment has the binding.
pub fn is_there(env: &Env) -> bool {
    database(env).is_ok()
}

fn database(env: &Env) -> worker::Result<D1Database> {
    env.d1(BINDING)
}

fn prepare(env: &Env, sql: &str, values: &[JsValue]) -> Result<Statement, StoreError> {
    database(env).map_err(failed)?.prepare(sql).bind(values).map(Statement).map_err(failed)
}

fn read<T: DeserializeOwned>(result: &D1Result) -> Result<Vec<T>, StoreError> {
    Ok(wire::json::from_str(&json(result)?)?)
}

/// The text of a result without rows.
const NO_ROWS: &str = "[]";

/// The rows of a result, as a JSON array of objects. A row crosses from JavaScript as one text: member by member it would
/// cost a crossing each, and another reader beside that of JSON for each type of row.
fn json(result: &D1Result) -> Result<String, StoreError> {
    #[derive(Deserialize)]
    #[serde(transparent)]
    struct Row(#[serde(with = "serde_wasm_bindgen::preserve")] JsValue);
    let rows: Array = result.results().map_err(failed)?.into_iter().map(|Row(row)| row).collect();
    Ok(JSON::stringify(&rows).map_err(|error| failed(error.into()))?.into())
}

/// The one place where a failure of D1 becomes ours. A tool gives its model a text without it, so the operator finds it here.
fn failed(error: worker::Error) -> StoreError {
    console_error!("D1: {error}");
    StoreError(format!("D1: {error}"))
}

/// A text as a parameter.
pub fn text(value: &str) -> JsValue {
    JsValue::from_str(value)
}

/// A number as a parameter. As a float: D1 has no 64-bit integers, and milliseconds do not fit into 32.
pub fn number(value: u64) -> JsValue {
    JsValue::from_f64(unsigned_integer(value) as f64)
}

/// A parameter that may be null.
pub fn maybe<T>(value: Option<T>, parameter: impl FnOnce(T) -> JsValue) -> JsValue {
    value.map_or(JsValue::NULL, parameter)
}
