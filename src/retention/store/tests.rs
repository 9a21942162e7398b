//! The statements on the tables of all migrations.

use rusqlite::types::Value;
use rusqlite::{Connection, params_from_iter};

use super::*;
use crate::account::kinds::tests::{insert, migrated};
use crate::auth::sessions::visitor_hash;

fn values(list: &[&str]) -> Vec<Value> {
    list.iter().map(|text| Value::Text((*text).to_owned())).collect()
}

/// The rows of a statement, each as its columns with spaces between them.
fn run(database: &Connection, sql: &str, values: Vec<Value>) -> Vec<String> {
    let mut statement = database.prepare(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    let columns = statement.column_count();
    let values = values.into_iter().take(statement.parameter_count());
    let rows = statement.query_map(params_from_iter(values), |row| {
        let texts = (0..columns).map(|at| match row.get::<_, Value>(at).unwrap() {
            Value::Text(text) => text,
            Value::Integer(number) => number.to_string(),
            _ => String::new(),
        });
        Ok(texts.collect::<Vec<_>>().join(" "))
    });
    rows.unwrap().map(Result::unwrap).collect()
}

fn all(database: &Connection, sql: &str) -> Vec<String> {
    run(database, sql, Vec::new())
}

#[test]
fn one_run_is_open_and_the_next_begins_a_day_later() {
    let database = migrated();
    let begin = |now: i64| {
        let values = [Value::Integer(now), Value::Text("{}".to_owned()), Value::Integer(now - 100)];
        database.execute(BEGIN, params_from_iter(values)).unwrap()
    };
    let take = |now: i64| run(&database, TAKE, vec![Value::Integer(now), Value::Integer(now + 10)]).len();
    assert_eq!((begin(1_000), begin(1_001), begin(9_000)), (1, 0, 0), "one is open");
    assert_eq!((take(1_000), take(1_009), take(1_010)), (1, 0, 1), "one driver owns it");
    let write = |sql: &str, lease: i64, at: i64| {
        let own = [1_000, lease].map(Value::Integer).into_iter().chain(values(&["{}", "{}"]));
        let more = [Value::Integer(at), Value::Integer(0)];
        let count = database.prepare(sql).unwrap().parameter_count();
        database.execute(sql, params_from_iter(own.chain(more).take(count))).unwrap()
    };
    assert_eq!((write(SAVE, 1, 1_011), write(SAVE, 2, 1_011)), (0, 1), "the driver before stores nothing");
    assert_eq!((write(END, 1, 1_050), write(END, 2, 1_050), write(END, 2, 1_051)), (0, 1, 0));
    assert_eq!((begin(1_099), begin(1_100)), (0, 1), "a day after the last began");
    assert_eq!(database.execute(FORGET, [9_999]).unwrap(), 1, "an open run stays");
}

#[test]
fn rows_go_by_their_age_page_by_page() {
    let database = migrated();
    for table in ["llm_usage", "tool_usage", "error_log", "audit"] {
        for number in 1..=5 {
            insert(&database, table, if number < 4 { "key:ada" } else { "key:bob" }, number);
        }
    }
    for (table, sql) in [("error_log", delete_errors()), ("audit", delete_audit())] {
        assert_eq!(run(&database, &sql, vec![Value::Integer(4)]).len(), 4, "{table}");
        assert_eq!(all(&database, &format!("SELECT created_at FROM {table}")), ["5"], "{table}");
    }
    for table in ["llm_usage", "tool_usage"] {
        let key = |user: &str, id: &str| {
            let mut all = values(&["acme", user, id]);
            all.push(Value::Integer(4));
            all
        };
        assert_eq!(run(&database, &delete_page(table), key("key:ada", "key:ada 2")).len(), 2, "{table}");
        let left = all(&database, &format!("SELECT created_at FROM {table} ORDER BY created_at"));
        assert_eq!(left, ["1", "2", "5"], "{table}: those before the key are another step's");
        assert_eq!(run(&database, &end_of_page(table), key("", "")), Vec::<String>::new(), "{table}");
    }
}

#[test]
fn a_full_page_has_an_end_and_the_next_begins_there() {
    let database = migrated();
    for number in 1..=i64::from(ROWS) + 1 {
        insert(&database, "tool_usage", "key:ada", number);
        insert(&database, "threads", "key:ada", number);
    }
    let first = values(&["", "", ""]);
    let end = run(&database, &end_of_page("tool_usage"), first.clone());
    let ids = all(&database, "SELECT tenant || ' ' || user_id || ' ' || id FROM tool_usage ORDER BY id");
    assert_eq!(end, [ids[ROWS as usize - 1].clone()]);
    let old = |until: i64| first.iter().cloned().chain([Value::Integer(until)]).collect::<Vec<_>>();
    let none = run(&database, &idle_threads(), old(0));
    assert_eq!(none.len(), 1, "a page of threads in use has its end alone");
    assert!(none[0].ends_with(" 1"));
    let some = run(&database, &idle_threads(), old(9_999));
    assert_eq!(some.len(), THREADS as usize + 1);
    assert_eq!(run(&database, &delete_page("tool_usage"), old(9_999)).len(), ROWS as usize);
    assert_eq!(all(&database, "SELECT id FROM tool_usage").len(), 1);
}

/// A visitor with a session that was seen, a thread, and a model call, each at a time or none.
fn visitor(database: &Connection, name: &str, seen: Option<i64>, thread: Option<i64>, call: Option<i64>) {
    let user = format!("anonymous:{name}");
    if let Some(seen) = seen {
        let sql = "INSERT INTO sessions (hash, key_prefix, user_id, created_at, seen_at, expires_at) \
            VALUES (?1, '', ?2, 1, ?3, 9)";
        database.execute(sql, (visitor_hash(name), &user, seen)).unwrap();
    }
    if let Some(at) = thread {
        let sql = "INSERT INTO threads (tenant, user_id, id, title, created_at, updated_at) \
            VALUES ('public', ?1, ?2, '', 1, ?3)";
        database.execute(sql, (&user, name, at)).unwrap();
    }
    if let Some(at) = call {
        insert(database, "llm_usage", &user, 1);
        // Each id is within the bound, as the ids of the calls of a month are.
        let sql = "UPDATE llm_usage SET tenant = 'public', id = 'id 100', created_at = ?2 WHERE user_id = ?1";
        database.execute(sql, (&user, at)).unwrap();
    }
}

/// A step at the time 1000 that erases what was last used at 100.
fn begun(last: &str) -> Vec<Value> {
    let mut all = vec![Value::Integer(1_000), Value::Integer(100)];
    all.extend(values(&["id 100", "{}", last]));
    all
}

#[test]
fn visitors_who_were_not_seen_are_erased_and_no_others() {
    let database = migrated();
    visitor(&database, "gone", Some(100), Some(90), Some(100));
    visitor(&database, "without-thread", Some(50), None, None);
    visitor(&database, "seen", Some(101), Some(90), None);
    visitor(&database, "wrote", Some(50), Some(101), None);
    visitor(&database, "called", Some(50), Some(90), Some(101));
    // A key's session, and one of an identity provider.
    let sql = "INSERT INTO sessions (hash, key_prefix, user_id, tenant, created_at, expires_at) \
        VALUES (?1, ?2, ?3, ?4, 1, 9)";
    database.execute(sql, ("a", "espk", None::<&str>, None::<&str>)).unwrap();
    database.execute(sql, ("b", "", Some("acme:ada"), Some("acme"))).unwrap();
    assert_eq!(run(&database, &erase_visitors(), begun("")).len(), 2);
    run(&database, &forget_visitors(), begun(""));
    let jobs = all(&database, "SELECT user_id, started_at, length(receipt) FROM erasures ORDER BY user_id");
    assert_eq!(jobs, ["anonymous:gone 1000 64", "anonymous:without-thread 1000 64"]);
    let named = all(&database, "SELECT user_id FROM sessions WHERE user_id IS NOT NULL ORDER BY user_id");
    assert_eq!(named, ["acme:ada", "anonymous:called", "anonymous:seen", "anonymous:wrote"]);
    assert_eq!(run(&database, &erase_visitors(), begun("")).len(), 0, "a repeated step begins nothing");
}

#[test]
fn visitors_without_a_row_are_erased_by_their_threads() {
    let database = migrated();
    visitor(&database, "gone", None, Some(100), Some(100));
    visitor(&database, "wrote", None, Some(101), None);
    visitor(&database, "called", None, Some(90), Some(101));
    visitor(&database, "has-row", Some(50), Some(90), None);
    insert(&database, "threads", "key:ada", 1);
    let first = run(&database, &visitors_with_threads(), values(&[""]));
    assert_eq!(first, ["anonymous:called", "anonymous:gone", "anonymous:has-row", "anonymous:wrote"]);
    let rest = run(&database, &visitors_with_threads(), values(&["anonymous:gone"]));
    assert_eq!(rest, ["anonymous:has-row", "anonymous:wrote"]);
    let list = first.iter().map(|id| serde_json::json!([id, visitor_hash(id.split_once(':').unwrap().1)]));
    let list = serde_json::Value::Array(list.collect()).to_string();
    let begin = || run(&database, &erase_visitors_without_row(), begun(&list)).len();
    let ran = |at: i64| {
        let values = [Value::Integer(at), Value::Text("{}".to_owned()), Value::Integer(at)];
        database.execute(BEGIN, params_from_iter(values)).unwrap();
        database.execute("UPDATE retention_runs SET ended_at = 1", []).unwrap();
    };
    ran(101);
    assert_eq!(begin(), 0, "they may have come before there were rows for it");
    database.execute("DELETE FROM retention_runs", []).unwrap();
    ran(100);
    assert_eq!(begin(), 1);
    assert_eq!(all(&database, "SELECT user_id FROM erasures"), ["anonymous:gone"]);
}

#[test]
fn a_step_looks_up_so_many_visitors() {
    let database = migrated();
    for number in 0..=VISITORS {
        visitor(&database, &format!("{number:04}"), None, Some(1), None);
    }
    let first = run(&database, &visitors_with_threads(), values(&[""]));
    assert_eq!(first.len(), VISITORS as usize);
    let rest = run(&database, &visitors_with_threads(), values(&[first.last().unwrap()]));
    assert_eq!(rest, [format!("anonymous:{VISITORS:04}")]);
}

#[test]
fn merging_takes_deleted_words_out_of_the_index() {
    let database = migrated();
    // Each row is a segment of its own.
    for (user, number) in [("key:ada", 1), ("key:bob", 2), ("key:ada", 3)] {
        insert(&database, "chunks", user, number);
    }
    database.execute("DELETE FROM chunks WHERE user_id = 'key:ada'", []).unwrap();
    let has = |word: &str| {
        let mut blocks = database.prepare("SELECT block FROM chunks_fts_data").unwrap();
        let blocks = blocks.query_map([], |row| row.get::<_, Vec<u8>>(0)).unwrap();
        blocks.map(Result::unwrap).any(|block| block.windows(word.len()).any(|part| part == word.as_bytes()))
    };
    let segments = || all(&database, SEGMENTS)[0].parse::<u32>().unwrap();
    assert!(has("ada") && segments() > 1, "the words are there after the deletion");
    let mut steps = 0;
    while segments() > 1 {
        database.execute(&merge(steps == 0), []).unwrap();
        steps += 1;
        assert!(steps < 20);
    }
    assert!(!has("ada") && has("bob"));
}

// Issue 23, 1
#[test]
fn a_renewal_gives_a_visitor_with_threads_a_row_and_no_other() {
    let database = migrated();
    let renew = |name: &str, now: i64| {
        let user = format!("anonymous:{name}");
        database.execute(RENEW_VISITOR, (visitor_hash(name), now, now + 30, user)).unwrap()
    };
    let row = |name: &str| {
        let query = "SELECT seen_at || ' ' || expires_at FROM sessions WHERE hash = ?1";
        database.query_row(query, [visitor_hash(name)], |row| row.get::<_, String>(0)).ok()
    };
    assert_eq!((renew("ada", 1), row("ada")), (0, None), "a visit alone stores nothing");
    let thread = "INSERT INTO threads (tenant, user_id, id, title, created_at, updated_at) \
        VALUES ('public', 'anonymous:ada', 't', '', 1, 1)";
    database.execute(thread, []).unwrap();
    assert_eq!((renew("ada", 2), row("ada")), (1, Some("2 32".to_owned())));
    database.execute("DELETE FROM threads", []).unwrap();
    assert_eq!(
        (renew("ada", 3), row("ada")),
        (1, Some("3 33".to_owned())),
        "the row is renewed without threads"
    );
    assert_eq!(renew("bob", 3), 0);
}
