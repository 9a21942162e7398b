//! The list against the migrations, and its statements on real tables.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use rusqlite::{Connection, params_from_iter, types::Value};
use uuid::Uuid;
use wire::protocol::{FOLDERS, Owner};

use super::{Rows, TABLES, VERSIONS, Whose, of_owner, of_thread, of_users};
use crate::account::store;

/// A database with all migrations.
pub fn migrated() -> Connection {
    let database = Connection::open_in_memory().unwrap();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("migrations");
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()).collect();
    files.sort();
    for file in files {
        database.execute_batch(&std::fs::read_to_string(file).unwrap()).unwrap();
    }
    database
}

/// The tables with their columns, without those of the indexes of words.
fn columns(database: &Connection) -> BTreeMap<String, BTreeSet<String>> {
    let sql = "SELECT m.name, c.name FROM sqlite_master m, pragma_table_info(m.name) c
        WHERE m.type = 'table' AND m.name NOT LIKE '%_fts%' AND m.name NOT LIKE 'sqlite_%'";
    let mut statement = database.prepare(sql).unwrap();
    let rows = statement.query_map([], |row| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?)));
    let mut columns = BTreeMap::<String, BTreeSet<String>>::new();
    for row in rows.unwrap() {
        let (table, column) = row.unwrap();
        columns.entry(table).or_default().insert(column);
    }
    columns
}

#[test]
fn each_table_is_a_users_with_each_of_its_columns_or_nobodys_with_a_reason() {
    let there = columns(&migrated());
    let known: BTreeSet<_> = TABLES.iter().map(|table| table.name.to_owned()).collect();
    assert_eq!(there.keys().cloned().collect::<BTreeSet<_>>(), known, "give each table a place in TABLES");
    for table in TABLES {
        match table.whose {
            Whose::Nobodys(reason) => assert!(!reason.is_empty()),
            Whose::Users(rows) => {
                let exported = rows.columns.iter().filter(|column| !column.contains('('));
                let exported = exported.map(|column| {
                    let column = column.trim_end_matches(":json");
                    column.split(" AS ").next().unwrap_or(column)
                });
                let told: Vec<_> = exported.chain(rows.withheld.iter().copied()).map(str::to_owned).collect();
                let distinct: BTreeSet<_> = told.iter().cloned().collect();
                assert_eq!(told.len(), distinct.len(), "{}: a column is told twice", table.name);
                assert_eq!(distinct, there[table.name], "{}: export or withhold each column", table.name);
                assert_eq!(rows.line.is_some(), !rows.columns.is_empty(), "{}", table.name);
            }
        }
    }
}

#[test]
fn each_folder_of_r2_is_a_users() {
    let owner = Owner { issuer: "key".to_owned(), tenant: "acme".to_owned(), user: "ada".to_owned() };
    let folders = of_thread(&owner, Uuid::nil()).into_iter().chain(of_owner(&owner));
    let known: BTreeSet<String> = folders
        .map(|folder| folder.prefix.split_inclusive('/').next().unwrap_or_default().to_owned())
        .collect();
    let there = FOLDERS.into_iter().chain([VERSIONS]).map(str::to_owned).collect();
    assert_eq!(known, there);
    assert_eq!(features::files::history::folder(""), VERSIONS);
}

/// A row of a table for this user, whose texts say the user and the number.
pub fn insert(database: &Connection, table: &str, user: &str, number: i64) {
    let sql = format!("SELECT name, type FROM pragma_table_info('{table}')");
    let mut statement = database.prepare(&sql).unwrap();
    let columns = statement.query_map([], |row| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?)));
    let (mut names, mut values) = (Vec::new(), Vec::new());
    for column in columns.unwrap() {
        let (name, kind) = column.unwrap();
        let value = match (name.as_str(), kind.as_str()) {
            ("number", _) => continue,
            ("tenant", _) => Value::Text("acme".to_owned()),
            ("user_id", _) => Value::Text(user.to_owned()),
            ("key_prefix", _) => Value::Text(format!("{user} {number}")),
            ("created_by" | "revoked_at" | "ended_at", _) => Value::Null,
            ("kind", _) => Value::Text("task".to_owned()),
            (_, "INTEGER") => Value::Integer(number),
            (_, "REAL") => Value::Real(1.0),
            _ => Value::Text(format!("{user} {number}")),
        };
        names.push(name);
        values.push(value);
    }
    let places: Vec<_> = (1..=names.len()).map(|place| format!("?{place}")).collect();
    let sql = format!("INSERT INTO {table} ({}) VALUES ({})", names.join(", "), places.join(", "));
    database.execute(&sql, params_from_iter(values)).unwrap_or_else(|error| panic!("{sql}: {error}"));
}

// Issue 23, 3
#[test]
fn the_rows_of_a_user_come_in_pages_in_their_order_and_no_others_do() {
    let database = migrated();
    for (table, _) in of_users() {
        for (user, number) in [("key:ada", 1), ("key:ada", 2), ("key:ada", 3), ("key:bob", 4)] {
            insert(&database, table, user, number);
        }
    }
    for (table, rows) in of_users().filter(|(_, rows)| rows.line.is_some()) {
        let (mut after, mut found): (Vec<Value>, Vec<String>) = (Vec::new(), Vec::new());
        loop {
            let sql = store::select(table, &rows, !after.is_empty());
            let own = [Value::Text("acme".to_owned()), Value::Text("key:ada".to_owned())];
            let more = [Value::Text("no digest".to_owned()), Value::Integer(2)];
            let values = own.into_iter().chain(more).chain(after.clone());
            let mut statement = database.prepare(&sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
            let names: Vec<String> = statement.column_names().into_iter().map(str::to_owned).collect();
            let mut read = statement.query(params_from_iter(values)).unwrap();
            let mut count = 0;
            while let Some(row) = read.next().unwrap() {
                count += 1;
                let texts = (0..names.len()).filter_map(|at| row.get::<_, String>(at).ok());
                found.push(texts.collect::<Vec<_>>().join(" "));
                after = (0..rows.key.len())
                    .map(|at| row.get(format!("{}{at}", store::KEY).as_str()).unwrap())
                    .collect();
            }
            if count < 2 {
                break;
            }
        }
        assert_eq!(found.len(), 3, "{table}: {found:?}");
        assert!(found.iter().all(|row| !row.contains("bob")), "{table}: {found:?}");
    }
}

/// How SQLite finds the rows of a statement.
pub fn plan(database: &Connection, sql: &str) -> String {
    let mut statement = database.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
    let values = vec![Value::Null; statement.parameter_count()];
    let plan = statement.query_map(params_from_iter(values), |row| row.get::<_, String>(3)).unwrap();
    plan.map(Result::unwrap).collect::<Vec<_>>().join("; ")
}

// Each page of an export looks for an entry of its user: all visitors are one tenant, and it must not read the others'.
#[test]
fn the_audit_entry_of_a_user_is_found_by_an_index() {
    let plan = plan(&migrated(), &format!("SELECT {}", store::NO_ENTRY));
    assert!(plan.contains("user_id=? AND created_at>?"), "{plan}");
}

// A page costs what its user has, and not what the tenant has: all visitors are one tenant.
#[test]
fn the_rows_of_a_user_are_found_by_an_index() {
    let database = migrated();
    let own = |rows: &Rows| rows.line.is_some() && rows.of_user.ends_with("user_id = ?2");
    let tables: Vec<_> = of_users().filter(|(_, rows)| own(rows)).collect();
    assert!(tables.len() > 10, "{}", tables.len());
    for (table, rows) in tables {
        for after in [false, true] {
            let plan = plan(&database, &store::select(table, &rows, after));
            assert!(plan.contains("user_id=?"), "{table}: {plan}");
            assert!(!plan.contains("SCAN"), "{table}: {plan}");
        }
    }
}
