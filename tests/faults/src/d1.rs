//! D1 in the protocol of its binding, over SQLite in this process. It outlives every kill. It refuses, answers late,
//! hangs, or loses its answer after it has written.

use std::io;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use hyper::Response;
use rusqlite::functions::{Context, FunctionFlags};
use rusqlite::types::{Value as Sql, ValueRef};
use rusqlite::{Connection, params_from_iter};
use serde_json::{Map, Value, json};

use crate::rng::Rng;
use crate::world::{Body, Moment, World, plain};

/// The database, with all migrations.
pub struct Database {
    connection: Mutex<Connection>,
    requests: std::sync::atomic::AtomicU64,
}

impl Database {
    /// An empty database, in memory.
    pub fn new(migrations: &Path) -> Result<Self, String> {
        let connection = Connection::open_in_memory().map_err(|error| error.to_string())?;
        let files =
            std::fs::read_dir(migrations).map_err(|error| format!("{}: {error}", migrations.display()))?;
        let mut files: Vec<_> = files.flatten().map(|file| file.path()).collect();
        files.sort();
        for file in files {
            let sql = std::fs::read_to_string(&file).map_err(|error| error.to_string())?;
            connection.execute_batch(&sql).map_err(|error| format!("{}: {error}", file.display()))?;
        }
        // D1 is built with the mathematical functions, and the index of memories uses this one.
        let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC;
        let ln = |context: &Context<'_>| Ok(context.get::<f64>(0)?.ln());
        connection.create_scalar_function("ln", 1, flags, ln).map_err(|error| error.to_string())?;
        Ok(Database { connection: Mutex::new(connection), requests: 0.into() })
    }

    /// Opens wrangler's own database beside wrangler, to read it.
    pub fn open(file: &Path) -> Result<Self, String> {
        let flags = rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY;
        let connection = Connection::open_with_flags(file, flags).map_err(|error| error.to_string())?;
        Ok(Database { connection: Mutex::new(connection), requests: 0.into() })
    }

    fn lock(&self) -> MutexGuard<'_, Connection> {
        self.connection.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The rows of a query, as objects.
    pub fn rows(&self, sql: &str, values: &[&str]) -> Result<Vec<Value>, String> {
        let connection = self.lock();
        run(&connection, sql, values.iter().map(|value| Sql::Text((*value).to_owned())).collect())
            .map_err(|error| format!("{sql}: {error}"))
    }

    /// Runs all statements, or none.
    fn batch(&self, statements: &[Value]) -> rusqlite::Result<Vec<Vec<Value>>> {
        let mut connection = self.lock();
        let transaction = connection.transaction()?;
        let mut results = Vec::new();
        for statement in statements {
            let values = statement["params"].as_array().map(Vec::as_slice).unwrap_or_default();
            let values = values.iter().map(bound).collect();
            results.push(run(&transaction, statement["sql"].as_str().unwrap_or_default(), values)?);
        }
        transaction.commit()?;
        Ok(results)
    }
}

fn bound(value: &Value) -> Sql {
    match value {
        Value::Null => Sql::Null,
        Value::Bool(flag) => Sql::Integer((*flag).into()),
        Value::Number(number) => {
            number.as_i64().map_or_else(|| Sql::Real(number.as_f64().unwrap_or_default()), Sql::Integer)
        }
        Value::String(text) => Sql::Text(text.clone()),
        other => Sql::Text(other.to_string()),
    }
}

fn run(connection: &Connection, sql: &str, values: Vec<Sql>) -> rusqlite::Result<Vec<Value>> {
    let mut statement = connection.prepare_cached(sql)?;
    let names: Vec<String> = statement.column_names().into_iter().map(str::to_owned).collect();
    let mut found = statement.query(params_from_iter(values))?;
    let mut rows = Vec::new();
    while let Some(row) = found.next()? {
        let mut object = Map::new();
        for (index, name) in names.iter().enumerate() {
            let value = match row.get_ref(index)? {
                ValueRef::Null => Value::Null,
                ValueRef::Integer(number) => json!(number),
                ValueRef::Real(number) => json!(number),
                ValueRef::Text(text) | ValueRef::Blob(text) => json!(String::from_utf8_lossy(text)),
            };
            object.insert(name.clone(), value);
        }
        rows.push(Value::Object(object));
    }
    Ok(rows)
}

/// Answers one request of the binding.
pub async fn answer(world: &World, query: &str, body: &[u8]) -> Result<Response<Body>, io::Error> {
    let body: Value = serde_json::from_slice(body)?;
    let many = body.as_array().cloned();
    let statements = many.clone().unwrap_or_else(|| vec![body]);
    let number = world.database.requests.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    let mut rng = Rng::of(world.seed, &format!("d1 {number}"));
    let refused = world.moment(Moment::D1Asked);
    let ill = rng.chance(world.weather().d1);
    let what = if refused {
        0
    } else if ill {
        rng.range(0, 4)
    } else {
        9
    };
    match what {
        0 => {
            world.ledger.d1("refused");
            return Ok(plain(500, &json!({ "success": false, "error": "D1 is overloaded" })));
        }
        1 => {
            world.ledger.d1("late");
            tokio::time::sleep(Duration::from_millis(rng.range(100, 1500))).await;
        }
        2 => {
            world.ledger.d1("hung");
            tokio::time::sleep(Duration::from_millis(rng.range(1000, 3000))).await;
            return Err(io::Error::other("scripted"));
        }
        _ => {}
    }
    let done = world.database.batch(&statements);
    let lost = world.moment(Moment::D1Done);
    if lost || what == 3 {
        world.ledger.d1("answer lost");
        return Err(io::Error::other("scripted"));
    }
    let results = match done {
        Ok(results) => results,
        Err(error) => {
            world.ledger.violation(format!("D1 could not carry out a batch: {error}"));
            return Ok(plain(500, &json!({ "success": false, "error": error.to_string() })));
        }
    };
    let as_rows = query.contains("ROWS_AND_COLUMNS");
    let results: Vec<Value> = results.into_iter().map(|rows| result(rows, as_rows)).collect();
    Ok(match many {
        Some(_) => plain(200, &Value::Array(results)),
        None => plain(200, results.first().unwrap_or(&Value::Null)),
    })
}

fn result(rows: Vec<Value>, as_rows: bool) -> Value {
    let results = if as_rows {
        let columns: Vec<String> = rows
            .first()
            .and_then(Value::as_object)
            .map(|row| row.keys().cloned().collect())
            .unwrap_or_default();
        let rows: Vec<Vec<Value>> =
            rows.iter().map(|row| columns.iter().map(|column| row[column].clone()).collect()).collect();
        json!({ "columns": columns, "rows": rows })
    } else {
        json!(rows)
    };
    let meta = json!({ "duration": 0, "changes": 0, "last_row_id": 0, "changed_db": false, "size_after": 0,
        "rows_read": 0, "rows_written": 0 });
    json!({ "success": true, "results": results, "meta": meta })
}
