//! The tables as SQLite itself has them: older ones after the upgrade, and the statements of a commit.

use std::collections::BTreeMap;

use rusqlite::Connection;

use super::page::{Bound, LogRow, SELECT_PAGE, assemble};
use super::path::SELECT_ENDS;
use super::rows::items;
use super::schema::{BURY, CLEAR, CREATE, CREATE_PLANS, NEWEST_READ, VERSION, upgrade};

/// Each `CREATE` that ever shipped, with the rows of one turn, and the version that stands in it. Four of them say
/// version 1, because no code read the version before version 2.
const OLDER: [(&str, i64, &str); 7] = [
    ("1a", 1, include_str!("older/1a.sql")),
    ("1b", 1, include_str!("older/1b.sql")),
    ("1c", 1, include_str!("older/1c.sql")),
    ("1d", 1, include_str!("older/1d.sql")),
    ("2", 2, include_str!("older/2.sql")),
    ("3", 3, include_str!("older/3.sql")),
    ("4", 4, include_str!("older/4.sql")),
];

fn database(sql: &str) -> Connection {
    let database = Connection::open_in_memory().unwrap();
    database.execute_batch(sql).unwrap();
    database
}

/// Upgrades the tables as `storage::sql` does it.
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

/// Tables with their columns, and the indexes that have a name, with their columns.
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
        let query = "SELECT group_concat(piece || payload, ' ') FROM (SELECT * FROM journal ORDER BY row)";
        let journal: String = older.query_row(query, [], |row| row.get(0)).unwrap();
        assert_eq!(journal, r#"0{"at":""} 0{"at":"0"}"#, "{name}");
        let query =
            "SELECT payload FROM events WHERE seq_first = 3 AND seq_last = 3 AND turn_id = 'old-turn'";
        let done: String = older.query_row(query, [], |row| row.get(0)).unwrap();
        let event = r#"{"type":"done","message_id":"old-answer","finish_reason":"stop"}"#;
        assert_eq!(done, format!(r#"[[3,"done","done",{event}]]"#), "{name}: byte for byte");
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
        older.execute_batch("UPDATE meta SET hooks = '[]'").unwrap();
        older.execute_batch(CLEAR).unwrap();
        older.execute(BURY, [7]).unwrap();
        assert_eq!(number(&older, "SELECT hooks IS NULL FROM meta"), 1, "{name}");
        assert_eq!(number(&older, "SELECT seq_reserved FROM meta WHERE deleted_at = 7"), 65, "{name}");
    }
}

#[test]
fn code_reads_what_it_writes() {
    const { assert!(VERSION <= NEWEST_READ) };
    let newest = database(CREATE);
    assert_eq!(number(&newest, "SELECT count(*) FROM meta"), 0);
}

// A payload may have any form of JSON, and a key any character.
#[test]
fn older_events_come_back_byte_for_byte() {
    let older = database(OLDER[4].2);
    let payload = r#"{ "a": 1.0, "b":"\u00fc\"" }"#;
    let insert = "INSERT INTO events (seq_first, seq_last, turn_id, key, kind, payload) VALUES (4, 9, 'old-turn', ?1, 'x', ?2)";
    older.execute(insert, ["a \"key\"\n", payload]).unwrap();
    bring_up_to_date(&older);
    let query = "SELECT payload FROM events WHERE seq_first = 4 AND seq_last = 9";
    let row: String = older.query_row(query, [], |row| row.get(0)).unwrap();
    let items = items(&row).unwrap();
    assert_eq!((items[0].0, items[0].1.as_ref(), items[0].2.as_ref()), (4, "a \"key\"\n", "x"));
    assert_eq!(items[0].3.get(), payload);
}

#[test]
fn older_events_are_read_as_they_were() {
    for (name, _, sql) in OLDER {
        let older = database(sql);
        bring_up_to_date(&older);
        let mut statement = older.prepare(SELECT_PAGE).unwrap();
        let rows = statement.query_map([0, 100, 128, 1_000_000], |row| {
            Ok(LogRow { seq_first: row.get(0)?, turn_id: row.get(1)?, payload: row.get(2)? })
        });
        let rows: Vec<LogRow> = rows.unwrap().map(Result::unwrap).collect();
        let page = assemble(&rows, Bound { rows: 128, chars: 1_000_000 }, 0, 100).unwrap();
        let kinds: Vec<(u64, &str)> =
            page.events.iter().map(|event| (event.seq, event.event.kind.as_ref())).collect();
        assert_eq!(kinds, [(1, "session"), (2, "cost_summary"), (3, "done")], "{name}");
    }
}

// A drain may be telling the older rows while a deletion replaces them: it must not delete the new ones as told.
#[test]
fn a_new_row_of_the_outbox_comes_after_those_that_are_there() {
    let older = database(OLDER[4].2);
    bring_up_to_date(&older);
    let post =
        || older.execute("INSERT INTO outbox (payload, attempts, due_at) VALUES ('{}', 0, 0)", []).unwrap();
    let newest = number(&older, "SELECT max(id) FROM outbox");
    older.execute_batch(CLEAR).unwrap();
    post();
    assert_eq!(number(&older, "SELECT max(id) FROM outbox"), newest + 1);
    assert_eq!(older.execute("DELETE FROM outbox WHERE id <= ?1", [newest]), Ok(1));
    assert_eq!(number(&older, "SELECT count(*) FROM outbox"), 1);
}

// Issue 19, item 2: a thread of version 4 is one path, whatever it replaced. Its plans are those of turns that have
// messages.
#[test]
fn a_thread_without_versions_is_one_path_and_keeps_its_plans() {
    let older = database(OLDER[6].2);
    let turn = "INSERT INTO turns (turn_id, status, generation, resumptions, assistant_message_id, seq_first, started_at)
        VALUES (?1, 'done', 1, 0, ?1 || '-answer', ?2, 0)";
    older.execute(turn, rusqlite::params!["replaced", 4]).unwrap();
    older.execute(turn, rusqlite::params!["newest", 9]).unwrap();
    let plans = "CREATE TABLE plans (
          row INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, turn_id TEXT NOT NULL, status TEXT NOT NULL,
          payload TEXT NOT NULL);
        INSERT INTO plans (row, id, turn_id, status, payload) VALUES
          (3, 'gone', 'replaced', 'pending_review', '{}'), (4, 'kept', 'old-turn', 'pending_review', '{}')";
    older.execute_batch(plans).unwrap();
    bring_up_to_date(&older);
    assert_eq!(number(&older, "SELECT count(*) FROM turns WHERE parent_seq IS NOT NULL"), 0);
    let ends = |column| older.query_row(SELECT_ENDS, [], move |row| row.get::<_, i64>(column)).unwrap();
    assert_eq!((ends(0), ends(1)), (9, 9));
    let made = database(&format!("{CREATE}{CREATE_PLANS}"));
    assert_eq!(shape(&older), shape(&made), "with plans as well");
    let mut statement = older.prepare("SELECT number || id FROM plans").unwrap();
    let rows: Vec<String> = statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
    assert_eq!(rows, ["4kept"]);
}
