//! Tests of the SQL for D1, read from the sources: each statement about an owner's table names the owner, or stands in a
//! list with its reason.

use std::collections::BTreeMap;

use super::sources;
use crate::account::kinds::of_users;

/// The texts of a Rust source, without those of tests and comments, each in one line.
fn texts(source: &str) -> Vec<String> {
    let code = source.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let code: Vec<&str> = code.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
    let code = code.join("\n").replace("'\"'", "");
    let (mut texts, mut rest) = (Vec::new(), code.as_str());
    while let Some((before, begun)) = rest.split_once('"') {
        // A raw text ends with as many signs as it begins with. In another, a backslash stands before a quote that ends nothing.
        let signs = before.len() - before.trim_end_matches('#').len();
        let end = match signs {
            0 => begun.match_indices('"').map(|(at, _)| at).find(|at| {
                let (text, _) = begun.split_at(*at);
                (text.len() - text.trim_end_matches('\\').len()).is_multiple_of(2)
            }),
            _ => begun.find(&format!("\"{}", "#".repeat(signs))),
        };
        let Some(end) = end else { break };
        let (text, after) = begun.split_at(end);
        texts.push(text.replace("\\\n", " ").split_whitespace().collect::<Vec<_>>().join(" "));
        rest = after.strip_prefix('"').unwrap_or_default();
    }
    texts
}

/// The parts of a statement between parentheses and those around them, each without what stands deeper.
fn scopes(sql: &str) -> Vec<String> {
    let (mut open, mut closed) = (vec![String::new()], Vec::new());
    for sign in sql.chars() {
        match sign {
            '(' => open.push(String::new()),
            ')' if open.len() > 1 => closed.extend(open.pop()),
            _ => open.last_mut().unwrap().push(sign),
        }
    }
    closed.into_iter().chain(open).collect()
}

/// How often a part of a statement reads, changes or deletes rows of these tables.
fn uses(scope: &str, tables: &[&str]) -> usize {
    let words: Vec<&str> = scope.split([' ', ',']).filter(|word| !word.is_empty()).collect();
    let names = |word: &str| tables.contains(&word) || word.starts_with('{');
    words.windows(2).filter(|pair| matches!(pair[0], "FROM" | "JOIN" | "UPDATE") && names(pair[1])).count()
}

/// How often it says whose the rows are: the owner's, or those of the owner of another row of it.
fn owners(scope: &str) -> usize {
    // Without the names of tables, and the sign that keeps SQLite from an index.
    let words =
        scope.split(' ').map(|word| word.rsplit('.').next().unwrap_or_default().trim_start_matches('+'));
    let bare = words.collect::<Vec<_>>().join(" ");
    ["tenant = ?1 AND user_id = ?2", "tenant = tenant AND user_id = user_id"]
        .iter()
        .map(|clause| bare.matches(clause).count())
        .sum()
}

/// Whether each use of an owner's table in a statement is the owner's.
fn is_owned(sql: &str, tables: &[&str]) -> bool {
    let is_others = |table: &&str| {
        let insert = format!("INSERT INTO {table} (");
        sql.contains(&insert)
            && !(sql.contains(&format!("{insert}tenant, user_id, ")) && sql.contains(" SELECT ?1, ?2, "))
    };
    !tables.iter().any(is_others) && scopes(sql).iter().all(|scope| uses(scope, tables) <= owners(scope))
}

/// The statements that do not name an owner, by their files: how many there are, and why.
const UNOWNED: [(&str, usize, &str); 13] = [
    (
        "durable/features/src/shares/statements.rs",
        2,
        "a link is found by the digest of its token; all that are over go",
    ),
    ("durable/platform/src/storage/outgoing.rs", 8, "the rows of an outbox have their owners in them"),
    ("durable/platform/src/storage/outgoing/audit.rs", 1, "the same"),
    ("durable/platform/src/storage/outgoing/moves.rs", 3, "the same"),
    ("durable/platform/src/storage/outgoing/telemetry.rs", 5, "the same"),
    (
        "src/account/store.rs",
        8,
        "texts of `TABLES`, whose conditions name the owner; sessions of a network, of a key, of a \
        visitor; the keys that the user's keys minted for others",
    ),
    ("src/audit/statements.rs", 1, "a visitor's session, by the digest of its token"),
    ("src/audit/store.rs", 1, "the log of a tenant, for its administrator"),
    ("src/auth/api_key/store.rs", 9, "a key by its prefix; the keys of a tenant, for its administrator"),
    ("src/auth/sessions/statements.rs", 2, "a visitor's session, by the digest of its token"),
    ("src/auth/sessions/store.rs", 8, "the same; sessions of the user's keys; all that are over go"),
    (
        "src/auth/signed_in/store.rs",
        5,
        "a session by the digest of its token; those of the user by their digests",
    ),
    ("src/retention/store.rs", 12, "the retention deletes what is too old of all users"),
];

/// The sources that may have SQL for D1. The object of a thread has tables of its own.
fn sources_of_d1() -> Vec<(String, String)> {
    let all = [sources("src"), sources("durable")].concat().into_iter().map(|(path, source)| {
        let below = path.strip_prefix(env!("CARGO_MANIFEST_DIR")).unwrap();
        (below.to_string_lossy().into_owned(), source)
    });
    let is_of_d1 = |place: &str, source: &str| {
        !place.starts_with("durable/platform/")
            || source.contains("bindings::d1")
            || place.contains("/outgoing")
    };
    all.filter(|(place, source)| {
        !place.contains("test") && !place.starts_with("src/walls") && is_of_d1(place, source)
    })
    .collect()
}

// Issue 47, 1
#[test]
fn each_statement_about_an_owners_table_names_the_owner() {
    let tables: Vec<&str> = of_users().map(|(table, _)| table).collect();
    let (mut owned, mut unowned) = (0, BTreeMap::<String, Vec<String>>::new());
    for (place, source) in sources_of_d1() {
        for sql in texts(&source) {
            match is_owned(&sql, &tables) {
                true => owned += usize::from(scopes(&sql).iter().any(|scope| uses(scope, &tables) > 0)),
                false => unowned.entry(place.clone()).or_default().push(sql),
            }
        }
    }
    assert!(owned > 50, "the test no longer finds the statements: {owned}");
    let found: Vec<_> = unowned.iter().map(|(place, all)| (place.as_str(), all.len())).collect();
    let known: Vec<_> = UNOWNED.iter().map(|(place, count, _)| (*place, *count)).collect();
    assert_eq!(found, known, "name the owner, or give the statement a reason: {unowned:#?}");
}

// Issue 47, 1: a statement for D1 is made in one place, which binds the owner.
#[test]
fn statements_are_made_in_one_place() {
    for (place, source) in sources_of_d1() {
        let is_bindings = place.starts_with("durable/bindings/src/");
        for sign in [".prepare(", "OwnedSql::literal("] {
            assert!(is_bindings || !source.contains(sign), "{place}: {sign}");
        }
    }
}

// Issue 47, 1
#[test]
fn a_statement_is_its_owners_by_each_table_that_it_uses() {
    let is_owned = |sql: &str| is_owned(sql, &["a", "b"]);
    for sql in [
        "SELECT 1 FROM a WHERE tenant = ?1 AND user_id = ?2",
        "SELECT 1 FROM a x JOIN b y ON y.tenant = x.tenant AND y.user_id = x.user_id WHERE x.tenant = ?1 AND x.user_id = ?2",
        "INSERT INTO a (tenant, user_id, id) SELECT ?1, ?2, ?3",
        "SELECT 1 FROM others",
    ] {
        assert!(is_owned(sql), "{sql}");
    }
    for sql in [
        "SELECT 1 FROM a WHERE tenant = ?1",
        "SELECT 1 FROM a JOIN b USING (id) WHERE a.tenant = ?1 AND a.user_id = ?2",
        "SELECT (SELECT count(*) FROM b) FROM a WHERE tenant = ?1 AND user_id = ?2",
        "SELECT 1 FROM a WHERE id IN (SELECT id FROM b WHERE tenant = ?1 AND user_id = ?2)",
        "INSERT INTO a (id, tenant, user_id) SELECT ?3, ?1, ?2",
        "INSERT INTO a (tenant, user_id, id) VALUES (?3, ?4, ?1)",
        "DELETE FROM a",
        "UPDATE a SET id = ?3 WHERE tenant = ?1 AND user_id = ?3",
        "SELECT 1 FROM {table} WHERE {condition}",
    ] {
        assert!(!is_owned(sql), "{sql}");
    }
}
