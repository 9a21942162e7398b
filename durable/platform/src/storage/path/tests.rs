//! The tree of turns against a plain model of it, and its statements in SQLite itself. Issue 19, item 2.

use std::collections::BTreeSet;

use proptest::prelude::*;
use rusqlite::{Connection, OptionalExtension, params};

use super::*;
use crate::storage::schema::{CREATE, CREATE_PLANS, UPSERT_PLAN};

/// An act on a thread. A number picks a turn among those that are there.
#[derive(Clone, Debug)]
enum Act {
    GoOn,
    Beside(usize),
    Choose(usize),
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let act = prop_oneof![
        Just(Act::GoOn),
        any::<usize>().prop_map(Act::Beside),
        any::<usize>().prop_map(Act::Choose)
    ];
    proptest::collection::vec(act, 1..30)
}

/// A thread as a plain tree: each turn with its parent, by their numbers.
#[derive(Default)]
struct Plain {
    turns: Vec<(Seq, Seq)>,
    end: Seq,
}

impl Plain {
    fn parent(&self, turn: Seq) -> Seq {
        self.turns.iter().find(|(each, _)| *each == turn).map_or(NO_TURN, |(_, parent)| *parent)
    }

    fn path(&self, mut turn: Seq) -> BTreeSet<Seq> {
        let mut path = BTreeSet::new();
        while turn != NO_TURN {
            path.insert(turn);
            turn = self.parent(turn);
        }
        path
    }

    fn newest_below(&self, turn: Seq) -> Seq {
        let below = self.turns.iter().map(|(each, _)| *each).filter(|each| self.path(*each).contains(&turn));
        below.max().unwrap_or(turn)
    }

    fn pick(&self, index: usize) -> Option<Seq> {
        self.turns.get(index.checked_rem(self.turns.len())?).map(|(turn, _)| *turn)
    }
}

/// The same thread as its rows have it.
fn database() -> Connection {
    let database = Connection::open_in_memory().unwrap();
    database.execute_batch(CREATE).unwrap();
    database.execute_batch(CREATE_PLANS).unwrap();
    let meta = "INSERT INTO meta (one, schema_version, seq_reserved) VALUES (1, 5, 1)";
    database.execute_batch(meta).unwrap();
    database
}

fn insert(database: &Connection, turn: Seq, parent: Option<Seq>, question: &str) {
    let (turn_id, answer) = (format!("t{turn}"), format!("a{turn}"));
    database
        .execute(
            "INSERT INTO turns (turn_id, status, generation, resumptions, assistant_message_id, seq_first, seq_last,
            started_at, parent_seq) VALUES (?1, 'done', 1, 0, ?2, ?3, ?4, 0, ?5)",
            params![turn_id, answer, turn, turn + 5, parent],
        )
        .unwrap();
    let message =
        "INSERT INTO messages (row, id, turn_id, role, content, created_at) VALUES (?1, ?2, ?3, ?4, ?5, 0)";
    database.execute(message, params![turn, format!("q{turn}"), turn_id, "user", question]).unwrap();
    database.execute(message, params![turn + 5, answer, turn_id, "assistant", "said"]).unwrap();
}

fn number(database: &Connection, sql: &str, turn: Seq) -> Seq {
    database.query_row(sql, [turn], |row| row.get(0)).unwrap()
}

fn tree(database: &Connection) -> Tree {
    let mut statement = database.prepare(SELECT_TREE).unwrap();
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    Tree(rows.map(Result::unwrap).collect())
}

fn ends(database: &Connection) -> (Seq, Seq) {
    database.query_row(SELECT_ENDS, [], |row| Ok((row.get(0)?, row.get(1)?))).unwrap()
}

// Issue 52: one statement tells the ends and whether the newest turn runs or waits.
#[test]
fn the_ends_have_the_status_of_the_newest_turn() {
    let database = Connection::open_in_memory().unwrap();
    database.execute_batch(CREATE).unwrap();
    let status = || database.query_row(SELECT_ENDS, [], |row| row.get::<_, Option<String>>(2)).unwrap();
    assert_eq!(status(), None);
    let insert = "INSERT INTO turns (turn_id, status, generation, resumptions, assistant_message_id, seq_first, started_at)
        VALUES (?1, ?2, 1, 0, ?1, ?3, 0)";
    for (seq, status_of_newest) in [(1, "done"), (5, "parked")] {
        database.execute(insert, params![seq.to_string(), status_of_newest, seq]).unwrap();
        assert_eq!(status().as_deref(), Some(status_of_newest));
    }
}

fn ids(database: &Connection, sql: &str, one: &str, other: &str) -> Vec<String> {
    let mut statement = database.prepare(sql).unwrap();
    statement.query_map([one, other], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
}

fn siblings(database: &Connection, path: &Path) -> Vec<(Seq, TurnVersion)> {
    let mut statement = database.prepare(&select_siblings()).unwrap();
    let rows = statement.query_map(params![path.json(), 0, 1_000_000], |row| {
        let version = TurnVersion {
            turn_id: row.get(1)?,
            parent_turn_id: row.get(2)?,
            question_of: row.get(3)?,
            on_path: row.get(4)?,
        };
        Ok((row.get(0)?, version))
    });
    rows.unwrap().map(Result::unwrap).collect()
}

/// Plays an act on both, as `versions.rs` of the platform does it.
fn play(plain: &mut Plain, database: &Connection, act: &Act, number_of: Seq) {
    let (newest, end) = ends(database);
    let parent = match act {
        Act::GoOn => end,
        Act::Beside(index) => match plain.pick(*index) {
            Some(turn) => number(database, SELECT_PARENT, turn),
            None => end,
        },
        Act::Choose(index) => {
            let Some(turn) = plain.pick(*index) else { return };
            let before = tree(database).newest_below(turn);
            let query = "SELECT max(seq_first) FROM turns WHERE ?1 IS NULL OR seq_first < ?1";
            let chosen: Seq = database.query_row(query, [before], |row| row.get(0)).unwrap();
            assert_eq!(chosen, plain.newest_below(turn), "below {turn}");
            plain.end = chosen;
            let chosen = (chosen != newest).then_some(chosen);
            database.execute("UPDATE meta SET path_seq = ?1", [chosen]).unwrap();
            return;
        }
    };
    insert(database, number_of, (parent != newest).then_some(parent), "asked");
    database.execute_batch("UPDATE meta SET path_seq = NULL").unwrap();
    plain.turns.push((number_of, parent));
    plain.end = number_of;
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    // No act takes a turn away, and paths, parents, siblings and moved messages are those of the plain tree.
    #[test]
    fn a_thread_is_the_tree_of_its_acts(acts in acts()) {
        let (database, mut plain) = (database(), Plain::default());
        for (index, act) in (0_u64..).zip(&acts) {
            let before = tree(&database).path(ends(&database).1);
            let on_before = plain.path(plain.end);
            play(&mut plain, &database, act, 1 + index * 10);
            let (newest, end) = ends(&database);
            prop_assert_eq!((newest, end), (plain.turns.last().map_or(0, |(turn, _)| *turn), plain.end));
            let tree = tree(&database);
            let on_path = plain.path(end);
            let path = tree.path(end);
            for (turn, parent) in &plain.turns {
                prop_assert_eq!(path.has(*turn), on_path.contains(turn), "{} on {:?}", turn, path);
                prop_assert_eq!(number(&database, SELECT_PARENT, *turn), *parent);
            }
            for (parent, _) in plain.turns.iter().chain([&(NO_TURN, NO_TURN)]) {
                let children = plain.turns.iter().filter(|(_, of)| of == parent).count() as u64;
                prop_assert_eq!(number(&database, COUNT_CHILDREN, *parent), children, "children of {}", parent);
                let newest = plain.turns.iter().filter(|(_, of)| of == parent).map(|(turn, _)| format!("q{turn}")).next_back();
                let question = database.query_row(SELECT_QUESTION_AFTER, [parent], |row| row.get::<_, String>(0));
                prop_assert_eq!(question.optional().unwrap(), newest, "the newest question after {}", parent);
            }
            let moved: BTreeSet<String> = ids(&database, &select_moved(), &before.json(), &path.json()).into_iter().collect();
            let expected: BTreeSet<String> = on_before.symmetric_difference(&on_path)
                .flat_map(|turn| [format!("q{turn}"), format!("a{turn}")]).collect();
            prop_assert_eq!(moved, expected);
            for (point, version) in siblings(&database, &path) {
                let turn: Seq = version.turn_id.trim_start_matches('t').parse().unwrap();
                prop_assert_eq!(plain.parent(turn), point);
                prop_assert_eq!(version.on_path, on_path.contains(&turn));
            }
        }
    }
}

/// Three turns, two more versions of the second one, and one of the first.
fn branched() -> Connection {
    let database = database();
    for (turn, parent, question) in [
        (1, None, "first"),
        (11, None, "second"),
        (21, None, "third"),
        (31, Some(1), "second, edited"),
        (41, Some(1), "second"),
        (51, Some(0), "first, edited"),
    ] {
        insert(&database, turn, parent, question);
    }
    database
}

#[test]
fn versions_with_one_message_have_it_in_common() {
    let database = branched();
    let told: Vec<_> = siblings(&database, &tree(&database).path(41));
    let seen: Vec<_> = told
        .iter()
        .map(|(_, version)| {
            let parent = version.parent_turn_id.as_deref().unwrap_or("-");
            format!(
                "{} after {parent}, asks as {}, {}",
                version.turn_id, version.question_of, version.on_path
            )
        })
        .collect();
    let expected = [
        "t1 after -, asks as t1, true",
        "t51 after -, asks as t51, false",
        "t11 after t1, asks as t11, false",
        "t31 after t1, asks as t31, false",
        "t41 after t1, asks as t11, true",
    ];
    assert_eq!(seen, expected);
    let page = |ids: &[&'static str], whole| {
        let ids = ids.iter().copied().collect();
        super::versions_of_page(&told, &ids, whole)
            .into_iter()
            .map(|version| version.turn_id)
            .collect::<Vec<_>>()
    };
    assert_eq!(page(&["t41"], false), ["t11", "t31", "t41"], "all versions of the page's turns");
    assert_eq!(page(&["t1", "t11", "t21"], true), ["t1", "t11"], "each turn stands on its own page");
    assert_eq!(page(&["t21"], false), Vec::<String>::new());
}

#[test]
fn the_messages_beside_a_path_are_those_of_other_versions() {
    let database = branched();
    let all = r#"["q1","a11","q21","q31","a41","q51","unknown"]"#;
    let here = |last| {
        let (mut on_path, mut beside) = (Vec::new(), Vec::new());
        let mut statement = database.prepare(&select_here()).unwrap();
        let rows = statement.query_map([tree(&database).path(last).json().as_str(), all], |row| {
            Ok((row.get::<_, String>(0)?, row.get::<_, bool>(1)?))
        });
        for (id, is_beside) in rows.unwrap().map(Result::unwrap) {
            if is_beside { beside.push(id) } else { on_path.push(id) }
        }
        on_path.sort();
        beside.sort();
        (on_path.join(" "), beside.join(" "))
    };
    let expected = |on_path: &str, beside: &str| (on_path.to_owned(), beside.to_owned());
    assert_eq!(here(41), expected("a41 q1", "a11 q21 q31 q51"));
    assert_eq!(here(21), expected("a11 q1 q21", "a41 q31 q51"));
    assert_eq!(here(51), expected("q51", "a11 a41 q1 q21 q31"));
}

// A version that stored none has deleted the messages of replaced turns. Their rows are links of the path and no versions.
#[test]
fn a_turn_without_messages_is_no_version() {
    let database = database();
    for turn in [1, 11, 21] {
        insert(&database, turn, None, "asked");
    }
    database.execute_batch("DELETE FROM messages WHERE turn_id = 't11'").unwrap();
    insert(&database, 31, Some(1), "edited");
    assert_eq!(siblings(&database, &tree(&database).path(31)).len(), 1);
    assert_eq!(number(&database, COUNT_CHILDREN, 1), 2);
}

// A message of version 2 has a row that is no number of an event.
#[test]
fn a_question_of_an_old_row_is_found_by_its_answer() {
    let database = branched();
    database.execute_batch("UPDATE messages SET row = row + 1000 WHERE turn_id = 't11'").unwrap();
    let found = siblings(&database, &tree(&database).path(41));
    assert!(found.iter().any(|(_, version)| version.turn_id == "t11"));
}

#[test]
fn an_imported_turn_is_found_by_its_question_and_its_answer() {
    let database = database();
    for turn in [1, 11, 21, 31] {
        insert(&database, turn, None, if turn == 21 { "other" } else { "asked" });
    }
    database
        .execute_batch("UPDATE messages SET row = row - 4 WHERE role = 'assistant' AND row < 30")
        .unwrap();
    let found = |question: &str, answer: &str| {
        let found = database.query_row(SELECT_IMPORTED, [question, answer], |row| row.get::<_, Seq>(0));
        found.optional().unwrap()
    };
    assert_eq!(found("asked", "said"), Some(11), "the newest one, and no turn with events");
    assert_eq!(found("other", "said"), Some(21));
    assert_eq!((found("asked", "other"), found("never", "said")), (None, None));
}

// B-029: each version of a turn goes on from the plan as the turns before it left it.
#[test]
fn a_draft_waits_on_the_path_that_left_it() {
    let database = branched();
    let plan = |id: &str, turn: &str, status: &str| {
        let payload = format!("{id} of {turn}");
        database.execute(UPSERT_PLAN, params![id, turn, status, payload]).unwrap();
    };
    let draft = |last| {
        let path = tree(&database).path(last).json();
        database.query_row(&select_draft(), [path], |row| row.get::<_, String>(0)).optional().unwrap()
    };
    plan("p", "t1", "pending_review");
    plan("p", "t11", "done");
    plan("p", "t31", "pending_review");
    assert_eq!(draft(1).as_deref(), Some("p of t1"));
    assert_eq!(draft(21), None, "it was carried out");
    assert_eq!(draft(31).as_deref(), Some("p of t31"));
    assert_eq!(draft(41).as_deref(), Some("p of t1"), "another version has not touched it");
    assert_eq!(draft(51), None, "it was made beside this path");
}

#[test]
fn a_path_of_a_thread_without_versions_is_one_range() {
    let tree = Tree::default();
    assert_eq!(tree.path(7).json(), "[[1,7]]");
    assert_eq!(tree.path(NO_TURN).json(), "[]");
    assert_eq!(tree.newest_below(3), None);
    // A damaged tree ends the walk.
    assert_eq!(Tree(vec![(5, 9)]).path(6).json(), "[[1,4],[5,6]]");
}

// Issue 42, M1: a client that went to and fro between two versions filled the log of its thread.
#[test]
fn the_path_is_chosen_a_thousand_times_after_a_turn() {
    let database = Connection::open_in_memory().unwrap();
    database.execute_batch(CREATE).unwrap();
    let count = || database.query_row(COUNT_CHOICES, [3], |row| row.get::<_, i64>(0)).unwrap();
    assert_eq!(count(), 0, "there is no turn");
    for (first, last) in [(1, 4), (5, 9)] {
        let row =
            "INSERT INTO turns (turn_id, status, generation, resumptions, assistant_message_id, seq_first,
            seq_last, started_at) VALUES (?1, 'done', 1, 0, '', ?2, ?3, 0)";
        database.execute(row, params![format!("turn-{first}"), first, last]).unwrap();
    }
    let mut counts = Vec::new();
    for seq in [4, 9, 10, 11, 12, 13] {
        let row =
            "INSERT INTO events (seq_first, seq_last, turn_id, payload) VALUES (?1, ?1, 'turn-1', '[]')";
        database.execute(row, [seq]).unwrap();
        counts.push(count());
    }
    assert_eq!(counts, [0, 0, 1, 2, 3, 3], "the events of turns are none");
    assert_eq!(check_choices(MAX_CHOICES - 1), Ok(()));
    let refused = check_choices(MAX_CHOICES).unwrap_err();
    assert!(refused.code.status() == 429 && refused.detail.contains("send a message"), "{refused:?}");
}
