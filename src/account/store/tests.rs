//! The statements of an erasure on real tables.

use rusqlite::{Connection, ToSql};

use super::{BEGIN, BEQUEATH, BY_MERGE, END, FORGET, PROGRESS, RUNS, SAVE, SECURELY, TAKE, TAKE_ONE, delete};
use crate::account::kinds::tests::{insert, migrated};
use crate::account::kinds::{TABLES, of_users};

fn count(database: &Connection, sql: &str, values: &[&dyn ToSql]) -> usize {
    let mut statement = database.prepare(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    let rows = statement.query_map(values, |_| Ok(())).unwrap();
    rows.map(|row| row.unwrap_or_else(|error| panic!("{sql}: {error}"))).count()
}

fn begin(database: &Connection, receipt: &str, now: u64) -> bool {
    count(database, BEGIN, &[&"acme", &"key:ada", &receipt, &now, &"{}"]) == 1
}

fn take(database: &Connection, now: u64) -> bool {
    count(database, TAKE, &[&now, &(now + 100)]) == 1
}

// Issue 23, 4
#[test]
fn a_driver_deletes_the_rows_of_its_user_alone_and_only_while_it_owns_the_job() {
    let database = migrated();
    for (table, _) in of_users() {
        for (user, number) in [("key:ada", 1), ("key:ada", 2), ("key:ada", 3), ("key:bob", 4)] {
            insert(&database, table, user, number);
        }
    }
    assert!(begin(&database, "r", 1_000) && take(&database, 1_000));
    let left = |table: &str| count(&database, &format!("SELECT 1 FROM {table}"), &[]);
    for (table, rows) in of_users() {
        let gone = |lease: u64| {
            let sql = delete(table, &rows);
            count(&database, &sql, &[&"acme", &"key:ada", &"no digest", &2, &lease])
        };
        assert_eq!(gone(2), 0, "{table}: the lease of another driver");
        if rows.stays == Some("true") {
            assert_eq!((gone(1), left(table)), (0, 4), "{table} stays");
            continue;
        }
        database.execute_batch(SECURELY).unwrap();
        assert_eq!([gone(1), gone(1), gone(1)], [2, 1, 0], "{table}");
        database.execute_batch(BY_MERGE).unwrap();
        assert_eq!(left(table), 1, "{table}: what is another user's stays");
    }
    for index in ["memories_fts_data", "chunks_fts_data"] {
        let mut blocks = database.prepare(&format!("SELECT block FROM {index}")).unwrap();
        let mut blocks = blocks.query([]).unwrap();
        let mut others = false;
        while let Some(row) = blocks.next().unwrap() {
            let block: Vec<u8> = row.get(0).unwrap();
            assert!(!block.windows(3).any(|word| word == b"ada"), "{index} has words of what is deleted");
            others |= block.windows(3).any(|word| word == b"bob");
        }
        assert!(others, "{index}");
    }
    assert!(TABLES.len() > of_users().count());
}

#[test]
fn what_the_next_life_writes_is_no_jobs() {
    let database = migrated();
    assert!(begin(&database, "r", 1_000) && take(&database, 1_000));
    insert(&database, "api_keys", "key:ada", 2_000);
    insert(&database, "memories", "key:ada", 1);
    let gone = |table: &str| {
        let (_, rows) = of_users().find(|(name, _)| *name == table).unwrap();
        count(&database, &delete(table, &rows), &[&"acme", &"key:ada", &"no digest", &9, &1])
    };
    assert_eq!(gone("api_keys"), 0, "a key that was minted while the job runs");
    let own: [&dyn ToSql; 3] = [&"acme", &"key:ada", &""];
    let place: [&dyn ToSql; 5] = [&"", &1, &"{}", &"{}", &3_000];
    let all: Vec<&dyn ToSql> = own.iter().chain(&place).copied().collect();
    assert_eq!(database.execute(END, all.as_slice()).unwrap(), 1);
    assert_eq!(gone("memories"), 0, "the job has ended");
    assert_eq!(database.execute(END, all.as_slice()).unwrap(), 0);
}

#[test]
fn one_job_of_a_user_runs_and_one_driver_owns_it() {
    let database = migrated();
    let runs = || count(&database, RUNS, &[&"acme", &"key:ada"]) == 1;
    assert!(!runs() && begin(&database, "first", 1_000) && runs());
    assert!(!begin(&database, "second", 1_001), "a job runs");
    assert!(take(&database, 1_000) && !take(&database, 1_099) && take(&database, 1_100));
    let save = |lease: u64, from: u64| {
        let own: [&dyn ToSql; 4] = [&"acme", &"key:ada", &"", &""];
        let more: [&dyn ToSql; 5] = [&lease, &"{\"sweep\":1}", &"{}", &from, &0];
        let all: Vec<&dyn ToSql> = own.iter().chain(&more).copied().collect();
        database.execute(SAVE, all.as_slice()).unwrap()
    };
    assert_eq!([save(1, 0), save(2, 1_500)], [0, 1], "the first driver has lost its lease");
    let one = |receipt: &str, now: u64| count(&database, TAKE_ONE, &[&now, &(now + 100), &receipt]);
    assert_eq!([one("second", 2_000), one("first", 1_499), one("first", 1_500)], [0, 0, 1]);
    assert_eq!(count(&database, PROGRESS, &[&"first"]), 1);
    database.execute("UPDATE erasures SET ended_at = 5000", []).unwrap();
    assert!(!runs() && !take(&database, 9_000));
    assert_eq!(database.execute(FORGET, [4_999]).unwrap(), 0);
    assert!(begin(&database, "second", 6_000) && runs(), "a later life is erased too");
    assert_eq!(count(&database, PROGRESS, &[&"first"]), 0);
    database.execute("UPDATE erasures SET ended_at = 7000", []).unwrap();
    assert_eq!(database.execute(FORGET, [7_000]).unwrap(), 1);
}

#[test]
fn keys_that_a_users_keys_minted_for_others_stay_below_the_key_that_minted_the_users() {
    let database = migrated();
    for (prefix, user, by) in [
        ("root", "key:boss", None),
        ("a1", "key:ada", Some("root")),
        ("a2", "key:ada", Some("a1")),
        ("b", "key:bob", Some("a2")),
        ("c", "key:cleo", Some("a1")),
    ] {
        let sql = "INSERT INTO api_keys (prefix, hash, tenant, user_id, name, created_at, created_by)
            VALUES (?1, '', 'acme', ?2, '', 1, ?3)";
        database.execute(sql, (prefix, user, by)).unwrap();
    }
    assert!(begin(&database, "r", 1_000) && take(&database, 1_000));
    let (_, rows) = of_users().find(|(name, _)| *name == "api_keys").unwrap();
    database.execute(BEQUEATH, ["acme", "key:ada"]).unwrap();
    assert_eq!(count(&database, &delete("api_keys", &rows), &[&"acme", &"key:ada", &"", &9, &1]), 2);
    let sql = "SELECT group_concat(prefix || ' ' || ifnull(created_by, '-'), ', ') FROM (SELECT * FROM api_keys ORDER BY prefix)";
    let left: String = database.query_row(sql, [], |row| row.get(0)).unwrap();
    assert_eq!(left, "b root, c root, root -");
}
