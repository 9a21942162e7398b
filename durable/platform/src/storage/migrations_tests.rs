//! D1's migrations, each applied to a database with rows of the version before. They only add, because a Worker that
//! was rolled back runs against them: it must find its columns, and D1 must still take its rows.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use rusqlite::types::Value;
use rusqlite::{Connection, params_from_iter};

/// The migrations, in the order in which they are applied.
fn migrations() -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../migrations");
    let files = fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
    let sql = files.filter(|path| path.extension().is_some_and(|extension| extension == "sql"));
    let mut migrations: Vec<_> = sql
        .map(|path| {
            (path.file_name().unwrap().to_str().unwrap().to_owned(), fs::read_to_string(&path).unwrap())
        })
        .collect();
    migrations.sort();
    migrations
}

/// A table as the Worker of some version knows it.
#[derive(Clone, Debug)]
struct Table {
    name: String,
    /// Names and types.
    columns: Vec<(String, String)>,
    /// The columns of the primary key and of unique indexes.
    unique: BTreeSet<String>,
}

fn texts(database: &Connection, sql: &str) -> Vec<String> {
    let mut statement = database.prepare(sql).unwrap();
    let rows = statement.query_map([], |row| row.get(0)).unwrap();
    rows.map(Result::unwrap).collect()
}

/// The tables without those that belong to an index of words.
fn tables(database: &Connection) -> Vec<Table> {
    let names = texts(
        database,
        "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE '%_fts%' AND name NOT LIKE 'sqlite_%'
        ORDER BY name",
    );
    let table = |name: String| {
        let mut statement = database.prepare(&format!("PRAGMA table_info({name})")).unwrap();
        let rows = statement.query_map([], |row| Ok((row.get(1)?, row.get(2)?, row.get::<_, i64>(5)?)));
        let rows: Vec<(String, String, i64)> = rows.unwrap().map(Result::unwrap).collect();
        let mut unique: BTreeSet<String> =
            rows.iter().filter(|(_, _, key)| *key > 0).map(|(column, ..)| column.clone()).collect();
        let indexes = format!("SELECT name FROM pragma_index_list('{name}') WHERE \"unique\"");
        for index in texts(database, &indexes) {
            unique.extend(texts(database, &format!("SELECT name FROM pragma_index_info('{index}')")));
        }
        let columns = rows.into_iter().map(|(column, kind, _)| (column, kind)).collect();
        Table { name, columns, unique }
    };
    names.into_iter().map(table).collect()
}

/// Writes a row as a Worker of that version would: with the columns that it knows. The rows differ only in the columns
/// that must be unique.
fn insert(database: &Connection, table: &Table, number: i64) -> rusqlite::Result<usize> {
    let columns: Vec<&str> = table.columns.iter().map(|(column, _)| column.as_str()).collect();
    let values = table.columns.iter().map(|(column, kind)| {
        let number = if table.unique.contains(column) { number } else { 1 };
        match kind.as_str() {
            "TEXT" => Value::Text(format!("{column} {number}")),
            "REAL" => Value::Real(0.5),
            _ => Value::Integer(number),
        }
    });
    let marks = vec!["?"; columns.len()].join(", ");
    let sql = format!("INSERT INTO {} ({}) VALUES ({marks})", table.name, columns.join(", "));
    database.execute(&sql, params_from_iter(values))
}

/// All rows of a table in the columns that are known, as one text.
fn rows(database: &Connection, table: &Table) -> rusqlite::Result<Vec<String>> {
    let columns: Vec<&str> = table.columns.iter().map(|(column, _)| column.as_str()).collect();
    let sql = format!("SELECT json_array({}) FROM {} ORDER BY 1", columns.join(", "), table.name);
    let mut statement = database.prepare(&sql)?;
    let rows = statement.query_map([], |row| row.get(0))?;
    rows.collect()
}

/// Applies a migration over rows of the version before. The error names the columns and rows that a Worker of that
/// version would miss.
fn apply(database: &Connection, sql: &str) -> Result<(), String> {
    let known = tables(database);
    for table in &known {
        for number in [1, 2] {
            insert(database, table, number).map_err(|error| format!("{}: {error}", table.name))?;
        }
    }
    let before: Vec<_> = known.iter().map(|table| rows(database, table).unwrap()).collect();
    database.execute_batch(sql).map_err(|error| error.to_string())?;
    for (table, before) in known.iter().zip(before) {
        let name = &table.name;
        let after = rows(database, table).map_err(|error| format!("{name}: {error}"))?;
        if after != before {
            return Err(format!("{name}: rows are others: {before:?} became {after:?}"));
        }
        insert(database, table, 3).map_err(|error| format!("{name}: an old row is refused: {error}"))?;
        database.execute(&format!("DELETE FROM {name}"), []).map_err(|error| format!("{name}: {error}"))?;
    }
    Ok(())
}

#[test]
fn each_migration_leaves_the_version_before_at_work() {
    let database = Connection::open_in_memory().unwrap();
    let migrations = migrations();
    assert!(migrations.len() >= 7);
    for (name, sql) in &migrations {
        apply(&database, sql).unwrap_or_else(|error| panic!("{name}: {error}"));
    }
    assert!(tables(&database).len() >= 10);
}

#[test]
fn a_migration_that_takes_something_away_is_found() {
    for (sql, what) in [
        ("ALTER TABLE threads DROP COLUMN title", "no such column"),
        ("ALTER TABLE threads RENAME COLUMN title TO name", "no such column"),
        ("DROP TABLE messages", "no such table"),
        ("ALTER TABLE threads ADD COLUMN kind TEXT NOT NULL", "NOT NULL"),
        ("UPDATE threads SET title = 'x'", "rows are others"),
        ("CREATE UNIQUE INDEX one ON tool_usage (tool_name)", "UNIQUE"),
        ("CREATE UNIQUE INDEX one ON threads (title, created_at, updated_at)", "UNIQUE"),
        (
            "CREATE TRIGGER t BEFORE INSERT ON threads BEGIN SELECT RAISE(ABORT, 'not any more'); END",
            "an old row is refused: not any more",
        ),
    ] {
        let database = Connection::open_in_memory().unwrap();
        for (_, migration) in migrations() {
            apply(&database, &migration).unwrap();
        }
        let error = apply(&database, sql).unwrap_err();
        assert!(error.contains(what), "{sql}: {error}");
    }
}
