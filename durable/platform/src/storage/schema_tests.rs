//! The tables as SQLite itself has them: older ones brought up to date, and the statements of a commit.

use std::collections::BTreeMap;

use rusqlite::Connection;

use super::rows::{INSERT_ENTRIES, INSERT_EVENTS};
use super::schema::{BURY, CLEAR, CREATE, CREATE_PLANS, NEWEST_READ, VERSION, upgrade};

/// What each `CREATE` that ever shipped made, with the rows of one turn, and the version that stands in it. All of
/// them call themselves 1: the version was not read before version 2.
const OLDER: [(&str, i64, &str); 4] = [
    ("1a", 1, include_str!("older/1a.sql")),
    ("1b", 1, include_str!("older/1b.sql")),
    ("1c", 1, include_str!("older/1c.sql")),
    ("1d", 1, include_str!("older/1d.sql")),
];

fn database(sql: &str) -> Connection {
    let database = Connection::open_in_memory().unwrap();
    database.execute_batch(sql).unwrap();
    database
}

/// As `storage::sql` does it.
fn bring_up_to_date(database: &Connection) {
    let version = number(database, "SELECT schema_version FROM meta");
    let has_column = |table: &str, column: &str| Ok(columns(database, table).contains_key(column));
    database.execute_batch("BEGIN").unwrap();
    upgrade::<rusqlite::Error>(version, has_column, |sql| database.execute_batch(sql)).unwrap();
    database.execute_batch("COMMIT").unwrap();
}

/// The columns of a table: type, NOT NULL, and place in the primary key.
fn columns(database: &Connection, table: &str) -> BTreeMap<String, (String, bool, i64)> {
    let mut statement = database.prepare(&format!("PRAGMA table_info({table})")).unwrap();
    let rows = statement.query_map([], |row| Ok((row.get(1)?, (row.get(2)?, row.get(3)?, row.get(5)?))));
    rows.unwrap().map(Result::unwrap).collect()
}

/// Tables with their columns, and the names of indexes that were made by name, with what they index.
fn shape(database: &Connection) -> BTreeMap<String, String> {
    let query = "SELECT type, name, tbl_name FROM sqlite_master WHERE name NOT LIKE 'sqlite_%'";
    let mut statement = database.prepare(query).unwrap();
    let rows = statement.query_map([], |row| {
        let (kind, name, table): (String, String, String) = (row.get(0)?, row.get(1)?, row.get(2)?);
        Ok((name.clone(), if kind == "table" { format!("{:?}", columns(database, &name)) } else { table }))
    });
    rows.unwrap().map(Result::unwrap).collect()
}

fn number(database: &Connection, sql: &str) -> i64 {
    database.query_row(sql, [], |row| row.get(0)).unwrap()
}

#[test]
fn each_older_database_comes_to_the_tables_of_today() {
    let today = shape(&database(CREATE));
    for (name, version, sql) in OLDER {
        let older = database(sql);
        assert_eq!(number(&older, "SELECT schema_version FROM meta"), version);
        assert_ne!(shape(&older), today, "{name} is older");
        bring_up_to_date(&older);
        assert_eq!(shape(&older), today, "{name}");
        assert_eq!(number(&older, "SELECT schema_version FROM meta"), VERSION, "{name}");
        for (table, rows) in
            [("messages", 2), ("events", 3), ("journal", 2), ("turns", 1), ("timers", 1), ("outbox", 1)]
        {
            assert_eq!(number(&older, &format!("SELECT count(*) FROM {table}")), rows, "{name}: {table}");
        }
        let query =
            "SELECT group_concat(key || piece, ' ') FROM (SELECT key, piece FROM journal ORDER BY row)";
        let journal: String = older.query_row(query, [], |row| row.get(0)).unwrap();
        assert_eq!(journal, "started:0 canned:00", "{name}");
        assert_eq!(number(&older, "SELECT count(*) FROM turns WHERE failing_since IS NULL"), 1, "{name}");
        assert_eq!(number(&older, "SELECT trimmed_through FROM meta"), 0, "{name}");
        assert!(number(&older, "SELECT due_at FROM outbox") <= 1_000, "{name}: its news are due");
    }
}

#[test]
fn an_up_to_date_database_stays_as_it_is() {
    for sql in [OLDER[0].2, CREATE] {
        let database = database(sql);
        if sql == CREATE {
            let meta = "INSERT INTO meta (one, schema_version, seq_reserved) VALUES (1, 1, 1)";
            database.execute_batch(meta).unwrap();
        }
        bring_up_to_date(&database);
        let once = shape(&database);
        bring_up_to_date(&database);
        assert_eq!(shape(&database), once);
    }
}

// A tombstone has no rows, and keeps its numbers.
#[test]
fn a_deleted_thread_is_brought_up_to_date_as_well() {
    for (name, _, sql) in OLDER {
        let older = database(sql);
        bring_up_to_date(&older);
        older.execute_batch(CREATE_PLANS).unwrap();
        older.execute_batch(CLEAR).unwrap();
        older.execute(BURY, [7]).unwrap();
        assert_eq!(number(&older, "SELECT seq_reserved FROM meta WHERE deleted_at = 7"), 65, "{name}");
    }
}

#[test]
fn code_reads_what_it_writes() {
    const { assert!(VERSION <= NEWEST_READ) };
    let newest = database(CREATE);
    assert_eq!(number(&newest, "SELECT count(*) FROM meta"), 0);
}

#[test]
fn a_repeated_journal_key_is_an_error_and_a_repeated_event_key_is_dropped() {
    let database = database(CREATE);
    let entries = |rows: &str| database.execute(INSERT_ENTRIES, ["turn", rows]);
    assert_eq!(entries(r#"[["started:", 0, "a"], ["started:", 1, "b"]]"#), Ok(2));
    assert!(entries(r#"[["stopped:", 0, "x"], ["started:", 1, "c"]]"#).is_err());
    assert_eq!(entries(r#"[["stopped:", 0, "x"]]"#), Ok(1), "nothing of the refused statement was written");
    assert_eq!(number(&database, "SELECT count(*) FROM journal"), 3);

    let events = |rows: &str| -> Vec<i64> {
        let mut statement = database.prepare(INSERT_EVENTS).unwrap();
        let written = statement.query_map(["turn", rows], |row| row.get(0)).unwrap();
        written.map(Result::unwrap).collect()
    };
    assert_eq!(events(r#"[[1, 1, "session", "session", "{}"]]"#), [1]);
    assert_eq!(events(r#"[[2, 2, "session", "session", "{}"], [3, 3, "done", "done", "{}"]]"#), [3]);
}
