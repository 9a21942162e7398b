//! The object's SQLite as our code wants it: rows by column, errors as values, transactions, the alarm.
//!
//! Statements without an await between them are one commit anyway. A transaction adds that a failure in the middle
//! takes all of them back. `SqlCursor::{one, to_array, next}` throw past Rust's `Result`, so only `raw` is used.

use std::cell::Cell;
use std::rc::Rc;

use wasm_bindgen::prelude::*;
use worker::{SqlCursor, SqlStorage, SqlStorageValue, State, Storage};

use super::remembered::{MAX_VALUES, Remembered};
use super::schedule::Heartbeat;
use super::{StoreError, schema};
use bindings::rows::{integer, unsigned_integer};

#[wasm_bindgen]
extern "C" {
    /// `transactionSync`, which worker 0.8.7 does not bind.
    type Transactional;

    #[wasm_bindgen(method, catch, js_name = transactionSync)]
    fn transaction_sync(
        this: &Transactional,
        body: &mut dyn FnMut() -> Result<JsValue, JsValue>,
    ) -> Result<JsValue, JsValue>;
}

/// The storage of one object.
pub struct Store {
    pub(super) storage: Storage,
    sql: SqlStorage,
    /// Whether they are known to be up to date.
    checked: Cell<bool>,
    /// The beats of the run in memory.
    pub heartbeat: Heartbeat,
    /// Whether the outbox got the start of the open turn since this memory began.
    pub told_start: Cell<bool>,
    /// The number of the thread's turns, where it is known.
    pub(super) turns: Cell<Option<u64>>,
    remembered: Remembered<Rc<[Row]>>,
    /// Whether a turn has ended after which the next queued message starts.
    pub next_is_due: Cell<bool>,
    /// Whether a turn has ended after which the thread wishes a title.
    pub title_is_wished: Cell<bool>,
    /// The alarm as this memory has set it (none: taken away), where that is known.
    alarm: Cell<Option<Option<u64>>>,
}

/// One row, by column.
#[derive(Clone)]
pub struct Row(Vec<SqlStorageValue>);

impl Row {
    /// A column that is never NULL.
    pub fn text(&mut self, column: usize) -> Result<String, StoreError> {
        self.maybe_text(column).ok_or_else(|| StoreError(format!("column {column} is not a text")))
    }

    /// A column that may be NULL.
    pub fn maybe_text(&mut self, column: usize) -> Option<String> {
        match self.0.get_mut(column) {
            Some(SqlStorageValue::String(text)) => Some(std::mem::take(text)),
            _ => None,
        }
    }

    /// Whether a column is this text.
    pub fn is(&self, column: usize, text: &str) -> bool {
        matches!(self.0.get(column), Some(SqlStorageValue::String(found)) if found == text)
    }

    /// A column that is never NULL.
    pub fn int(&self, column: usize) -> Result<i64, StoreError> {
        self.maybe_int(column).ok_or_else(|| StoreError(format!("column {column} is not an integer")))
    }

    /// A column that may be NULL.
    pub fn maybe_int(&self, column: usize) -> Option<i64> {
        match self.0.get(column) {
            Some(SqlStorageValue::Integer(value)) => Some(*value),
            _ => None,
        }
    }
}

/// An unsigned number as SQLite keeps it.
pub fn int(value: u64) -> SqlStorageValue {
    SqlStorageValue::Integer(unsigned_integer(value))
}

/// The parameters of a statement, with integers that JavaScript holds.
fn parameters<const N: usize>(values: [SqlStorageValue; N]) -> Vec<SqlStorageValue> {
    let parameter = |value| match value {
        SqlStorageValue::Integer(value) => SqlStorageValue::Integer(integer(value)),
        value => value,
    };
    values.into_iter().map(parameter).collect()
}

/// A number that SQLite gave back; ours are never negative.
pub fn unsigned(value: i64) -> u64 {
    u64::try_from(value).unwrap_or(0)
}

impl Store {
    /// The storage of the object with this state.
    pub fn new(state: &State) -> Self {
        let storage = state.storage();
        Store {
            sql: storage.sql(),
            storage,
            checked: Cell::new(false),
            heartbeat: Heartbeat::default(),
            told_start: Cell::new(false),
            turns: Cell::new(None),
            remembered: Remembered::default(),
            next_is_due: Cell::new(false),
            title_is_wished: Cell::new(false),
            alarm: Cell::new(None),
        }
    }

    /// Whether the object was ever written to. It makes no table.
    pub fn exists(&self) -> Result<bool, StoreError> {
        self.has_table("meta")
    }

    /// Reads the version of the tables at the first touch in this memory, and upgrades older tables. Returns the
    /// version where this code cannot read it, because it is newer: the caller may then read and write nothing.
    pub fn newer_version(&self) -> Result<Option<i64>, StoreError> {
        if self.checked.get() || !self.exists()? {
            return Ok(None);
        }
        let found = self.row("SELECT schema_version FROM meta", [])?;
        let version = found.map_or(Ok(schema::VERSION), |row| row.int(0))?;
        if version > schema::NEWEST_READ {
            return Ok(Some(version));
        }
        if version < schema::VERSION {
            self.transaction(|| {
                let has_column = |table: &str, column: &str| self.has_column(table, column);
                schema::upgrade(version, has_column, |sql| self.run(sql, []))
            })?;
            worker::console_log!("tables of version {version} are brought to {}", schema::VERSION);
        }
        self.checked.set(true);
        Ok(None)
    }

    fn has_column(&self, table: &str, column: &str) -> Result<bool, StoreError> {
        let mut columns = self.rows(&format!("PRAGMA table_info({table})"), [])?;
        Ok(columns.iter_mut().any(|row| row.maybe_text(1).is_some_and(|name| name == column)))
    }

    /// Runs a statement for its effect.
    pub(super) fn run<const N: usize>(
        &self,
        query: &str,
        bindings: [SqlStorageValue; N],
    ) -> Result<(), StoreError> {
        self.exec(query, bindings).map(drop)
    }

    fn exec<const N: usize>(
        &self,
        query: &str,
        bindings: [SqlStorageValue; N],
    ) -> Result<SqlCursor, StoreError> {
        self.remembered.run(query);
        self.sql.exec(query, parameters(bindings)).map_err(|error| StoreError(error.to_string()))
    }

    /// The rows of a statement that memory remembers, or of the storage.
    pub(super) fn remembered(&self, query: &'static str) -> Result<Rc<[Row]>, StoreError> {
        if let Some(rows) = self.remembered.get(query) {
            return Ok(rows);
        }
        let rows: Rc<[Row]> = self.rows(query, [])?.into();
        if rows.iter().map(|Row(values)| values.len()).sum::<usize>() <= MAX_VALUES {
            self.remembered.keep(query, Rc::clone(&rows));
        }
        Ok(rows)
    }

    /// Whether the object has a table. It makes none.
    pub fn has_table(&self, name: &str) -> Result<bool, StoreError> {
        Ok(self.remembered(schema::TABLES)?.iter().any(|row| row.is(0, name)))
    }

    /// Makes a table where it is not there. `create`: the statement that makes it.
    pub(super) fn make_table(&self, name: &str, create: &str) -> Result<(), StoreError> {
        if self.has_table(name)? { Ok(()) } else { self.run(create, []) }
    }

    /// Runs a statement for its rows.
    pub(super) fn rows<const N: usize>(
        &self,
        query: &str,
        bindings: [SqlStorageValue; N],
    ) -> Result<Vec<Row>, StoreError> {
        let cursor = self.exec(query, bindings)?;
        cursor.raw().map(|row| row.map(Row).map_err(|error| StoreError(error.to_string()))).collect()
    }

    /// The first row of a statement, if it has one.
    pub(super) fn row<const N: usize>(
        &self,
        query: &str,
        bindings: [SqlStorageValue; N],
    ) -> Result<Option<Row>, StoreError> {
        Ok(self.rows(query, bindings)?.into_iter().next())
    }

    /// Runs `body` as one transaction, which an error takes back. Transactions nest.
    pub fn transaction<T, E: From<StoreError>>(&self, body: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
        let (mut body, mut outcome) = (Some(body), None);
        let storage: &JsValue = self.storage.as_raw();
        let ran = storage.unchecked_ref::<Transactional>().transaction_sync(&mut || {
            let done = body.take().map(|body| body());
            let kept = matches!(done, Some(Ok(_)));
            outcome = done;
            if kept { Ok(JsValue::UNDEFINED) } else { Err(JsValue::from_str("taken back")) }
        });
        if !matches!((&outcome, &ran), (Some(Ok(_)), Ok(_))) {
            self.remembered.forget();
            self.turns.set(None);
        }
        match (outcome, ran) {
            (Some(Err(error)), _) => {
                // The transaction that was taken back may have told a start, or set the alarm.
                self.told_start.set(false);
                self.alarm.set(None);
                Err(error)
            }
            (Some(Ok(value)), Ok(_)) => Ok(value),
            (_, Err(thrown)) => Err(StoreError(format!("transaction: {thrown:?}")).into()),
            (None, Ok(_)) => Err(StoreError("the transaction did not run".to_owned()).into()),
        }
    }

    /// Completes when everything that was written so far is durable; at once where it is already.
    pub async fn sync(&self) -> Result<(), StoreError> {
        self.storage.sync().await.map_err(|error| StoreError(error.to_string()))
    }

    /// The alarm has gone off, so none is set.
    pub fn alarm_is_gone(&self) {
        self.alarm.set(Some(None));
    }

    /// Sets the object's one alarm, in the commit of the statements beside it. Its promise is dropped: where the alarm
    /// cannot be set, the commit fails as well.
    pub fn set_alarm(&self, at: u64) -> Result<(), StoreError> {
        if self.alarm.replace(Some(Some(at))) == Some(Some(at)) {
            return Ok(());
        }
        let at = js_sys::Date::new(&JsValue::from_f64(at as f64));
        let set = self.storage.as_raw().set_alarm(at, JsValue::NULL.into());
        set.map(drop).map_err(|error| StoreError(format!("alarm: {error:?}")))
    }

    /// Takes the alarm away.
    pub fn delete_alarm(&self) -> Result<(), StoreError> {
        if self.alarm.replace(Some(None)) == Some(None) {
            return Ok(());
        }
        let deleted = self.storage.as_raw().delete_alarm(JsValue::NULL.into());
        deleted.map(drop).map_err(|error| StoreError(format!("alarm: {error:?}")))
    }
}
