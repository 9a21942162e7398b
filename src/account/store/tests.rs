//! The statements of an erasure on real tables.

use rusqlite::{Connection, OptionalExtension, ToSql};

use super::{
    BEGIN_AGAIN, BEQUEATH, BY_MERGE, CREDENTIALS, END, END_VISIT, FORGET, HOUR_MS, MAX_ENDED, PROGRESS, RUNS,
    SAVE, SECURELY, TAKE, TAKE_ONE, begin as begin_sql, delete, may_end,
};
use crate::account::kinds::tests::{insert, migrated, plan};
use crate::account::kinds::{TABLES, of_users};

fn count(database: &Connection, sql: &str, values: &[&dyn ToSql]) -> usize {
    let mut statement = database.prepare(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    let rows = statement.query_map(values, |_| Ok(())).unwrap();
    rows.map(|row| row.unwrap_or_else(|error| panic!("{sql}: {error}"))).count()
}

/// A request for an erasure.
struct Request<'a> {
    tenant: &'a str,
    user: &'a str,
    receipt: &'a str,
    now: u64,
    has_files: bool,
    network: Option<&'a str>,
    is_visitor: bool,
}

const ADA: Request<'_> = Request {
    tenant: "acme",
    user: "key:ada",
    receipt: "r",
    now: 1_000,
    has_files: false,
    network: None,
    is_visitor: false,
};

/// Begins a job. The end of it, where there is nothing to do; none where it does not begin.
fn request_erasure(database: &Connection, request: &Request<'_>) -> Option<Option<u64>> {
    let Request { tenant, user, receipt, now, has_files, network, is_visitor } = request;
    let values: [&dyn ToSql; 9] =
        [tenant, user, &format!("visit of {user}"), receipt, now, &"{}", has_files, network, is_visitor];
    database.query_row(&begin_sql(), values.as_slice(), |row| row.get(0)).optional().unwrap()
}

fn begin(database: &Connection, receipt: &str, now: u64) -> bool {
    request_erasure(database, &Request { receipt, now, ..ADA }) == Some(None)
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
    assert_eq!(database.execute(&END, all.as_slice()).unwrap(), 1);
    assert_eq!(gone("memories"), 0, "the job has ended");
    assert_eq!(database.execute(&END, all.as_slice()).unwrap(), 0);
}

#[test]
fn one_job_of_a_user_runs_and_one_driver_owns_it() {
    let database = migrated();
    let runs = || count(&database, &RUNS, &[&"acme", &"key:ada"]) == 1;
    assert!(!runs() && begin(&database, "first", 1_000) && runs());
    assert!(!begin(&database, "second", 1_001), "a job runs");
    assert!(take(&database, 1_000) && !take(&database, 1_099) && take(&database, 1_100));
    let save = |lease: u64, from: u64| {
        let own: [&dyn ToSql; 4] = [&"acme", &"key:ada", &"", &""];
        let more: [&dyn ToSql; 5] = [&lease, &"{\"sweep\":1}", &"{}", &from, &0];
        let all: Vec<&dyn ToSql> = own.iter().chain(&more).copied().collect();
        database.execute(&SAVE, all.as_slice()).unwrap()
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
    database.execute(&BEQUEATH, ["acme", "key:ada"]).unwrap();
    assert_eq!(count(&database, &delete("api_keys", &rows), &[&"acme", &"key:ada", &"", &9, &1]), 2);
    let sql = "SELECT group_concat(prefix || ' ' || ifnull(created_by, '-'), ', ') FROM (SELECT * FROM api_keys ORDER BY prefix)";
    let left: String = database.query_row(sql, [], |row| row.get(0)).unwrap();
    assert_eq!(left, "b root, c root, root -");
}

// Issue 42, M4: 150 visitors who had nothing made 150 jobs.
#[test]
fn a_visitor_who_has_nothing_makes_no_job_and_whoever_has_something_does() {
    let database = migrated();
    let visitor = Request { user: "anonymous:1", receipt: "1", is_visitor: true, ..ADA };
    assert_eq!(request_erasure(&database, &visitor), Some(Some(1_000)), "it has ended with its beginning");
    assert!(!take(&database, 9_000) && count(&database, PROGRESS, &[&"1"]) == 1, "and has a receipt");
    insert(&database, "audit", "anonymous:1", 1);
    assert_eq!(
        request_erasure(&database, &visitor),
        Some(Some(1_000)),
        "the log stays, so it is nothing to erase"
    );
    let files = Request { has_files: true, ..visitor };
    assert_eq!(request_erasure(&database, &files), Some(None));
    for (number, (table, _)) in of_users().filter(|(table, _)| *table != "audit").enumerate() {
        let (user, receipt) = (format!("anonymous:{table}"), format!("of {table}"));
        insert(&database, table, &user, 10 + number as i64);
        if table == "sessions" {
            let session = format!("visit of {user}");
            database.execute("UPDATE sessions SET hash = ?1, tenant = NULL", [session]).unwrap();
        }
        let begun =
            request_erasure(&database, &Request { user: &user, receipt: &receipt, is_visitor: true, ..ADA });
        assert_eq!(begun, Some(None), "{table}");
    }
    // A user with a key has the key at least, so their credentials end with a job.
    assert_eq!(request_erasure(&database, &ADA), Some(None));
}

// Issue 42, M4.
#[test]
fn users_with_data_come_first_and_then_those_who_wait_longest() {
    let database = migrated();
    let job = |user: &str, now: u64| {
        assert_eq!(
            request_erasure(&database, &Request { user, receipt: user, now, ..ADA }),
            Some(None),
            "{user}"
        );
    };
    for (table, user) in [("api_keys", "key:empty"), ("memories", "key:late"), ("threads", "key:data")] {
        insert(&database, table, user, 1);
    }
    job("key:none", 10);
    job("key:empty", 20);
    job("key:data", 30);
    job("key:late", 40);
    let expired = "INSERT INTO erasures (tenant, user_id, receipt, started_at, stage, removed)
        VALUES ('public', 'anonymous:expired', 'x', 1, '{}', '{}')";
    database.execute(expired, []).unwrap();
    // The order of those that are equal is that in which they were given up.
    let given_up = "UPDATE erasures SET lease_until = started_at";
    database.execute(given_up, []).unwrap();
    let mut order = Vec::new();
    while let Some(user) =
        database.query_row(TAKE, [100, 200], |row| row.get::<_, String>(1)).optional().unwrap()
    {
        order.push(user);
    }
    assert_eq!(order, ["key:data", "key:late", "anonymous:expired", "key:none", "key:empty"]);
    let plan = plan(&database, TAKE);
    assert!(plan.contains("erasures_by_priority") && !plan.contains("TEMP B-TREE"), "{plan}");
}

// Issue 42, M4.
#[test]
fn a_network_ends_thirty_sessions_of_its_visitors_in_an_hour() {
    let database = migrated();
    let end = |number: u32, now: u64| {
        let (user, receipt) = (format!("anonymous:{number}"), format!("r{number}"));
        let network = Some("mark");
        let job = Request { user: &user, receipt: &receipt, now, network, is_visitor: true, ..ADA };
        let begun = request_erasure(&database, &job).is_some();
        let visit = format!("visit of {user}");
        let values: [&dyn ToSql; 5] = [&visit, &now, &(now + 1), &receipt, &network];
        assert_eq!(database.execute(END_VISIT, values.as_slice()).unwrap(), usize::from(begun), "{number}");
        begun
    };
    assert!((1..=MAX_ENDED).all(|number| end(number, u64::from(number))));
    assert!(!end(99, 100), "one more");
    let (other, unknown) = (Some("another"), None);
    for (user, network) in [("anonymous:o", other), ("anonymous:u", unknown)] {
        let job = Request { user, receipt: user, now: 100, network, is_visitor: true, ..ADA };
        assert!(request_erasure(&database, &job).is_some(), "{network:?}");
    }
    assert!(!end(99, HOUR_MS) && end(99, HOUR_MS + 1), "the first is an hour ago");
    let plan = plan(&database, &format!("SELECT {}", may_end("?1", "?2")));
    assert!(plan.contains("sessions_ended (network=? AND revoked_at>?)"), "{plan}");
}

// Issue 42, M4: a request that was admitted a moment before the erasure stores something after it.
#[test]
fn an_erasure_that_found_nothing_begins_again_when_its_visitor_stores_something() {
    let database = migrated();
    let visitor = Request { tenant: "public", user: "anonymous:1", receipt: "r", is_visitor: true, ..ADA };
    let again = |now: u64| {
        let values: [&dyn ToSql; 4] = [&"visit of anonymous:1", &"anonymous:1", &now, &"{\"sweep\":0}"];
        database.execute(BEGIN_AGAIN, values.as_slice()).unwrap()
    };
    assert_eq!(again(500), 0, "nobody asked for an erasure");
    assert_eq!(request_erasure(&database, &visitor), Some(Some(1_000)));
    assert_eq!(again(1_100), 0, "their session has no row, so it has not ended");
    let session: [&dyn ToSql; 5] = [&"visit of anonymous:1", &1_000, &9_000, &"r", &None::<&str>];
    assert_eq!(database.execute(END_VISIT, session.as_slice()).unwrap(), 1);
    assert_eq!((again(1_200), again(1_300)), (1, 0), "once: the job runs");
    assert!(take(&database, 1_300));
    let started: u64 = database.query_row("SELECT started_at FROM erasures", [], |row| row.get(0)).unwrap();
    assert_eq!(started, 1_200, "so threads that began until then are erased, too");
}

#[test]
fn the_credentials_are_tables_of_users() {
    assert!(CREDENTIALS.iter().all(|name| of_users().any(|(table, _)| table == *name)));
}
