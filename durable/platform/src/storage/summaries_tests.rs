//! The statements for summaries and for the turns beside them, in SQLite itself. Issue 19, item 3.

use rusqlite::{Connection, OptionalExtension, params};

use super::path::{Path, SELECT_TREE, Tree, newest_turns, oldest_turns, select_summary};
use super::schema::{CLEAR, CREATE, CREATE_SUMMARIES, TRIM_SUMMARIES, UPSERT_SUMMARY};
use wire::protocol::Seq;

/// A thread of ten turns. Turn 1 has the events 1 to 10, and so on; its answer has the row 10. Turn 11 is another version
/// of turn 4, and turn 12 follows it.
fn versions() -> Connection {
    let thread = Connection::open_in_memory().unwrap();
    thread.execute_batch(CREATE).unwrap();
    for turn in 1..=12 {
        let parent = (turn == 11).then_some(first_event(3));
        let row =
            "INSERT INTO turns (turn_id, status, generation, resumptions, assistant_message_id, seq_first,
            seq_last, started_at, parent_seq) VALUES (?1, 'done', 1, 0, ?2, ?3, ?4, 0, ?5)";
        let (turn_id, last) = (format!("turn-{turn}"), answer(turn));
        thread.execute(row, params![turn_id, last.to_string(), first_event(turn), last, parent]).unwrap();
        let message = "INSERT INTO messages (row, id, turn_id, role, content, created_at, history)
            VALUES (?1, ?1, ?2, ?3, '', 0, ?4)";
        thread.execute(message, params![first_event(turn), turn_id, "user", None::<String>]).unwrap();
        thread.execute(message, params![last, turn_id, "assistant", "[]"]).unwrap();
    }
    thread
}

fn first_event(turn: Seq) -> Seq {
    10 * turn - 9
}

/// The row of a turn's answer.
fn answer(turn: Seq) -> Seq {
    10 * turn
}

/// The path that ends with a turn.
fn path(thread: &Connection, last: Seq) -> Path {
    let mut statement = thread.prepare(SELECT_TREE).unwrap();
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    Tree(rows.map(Result::unwrap).collect()).path(first_event(last))
}

/// Keeps a summary of all turns up to this one.
fn keep(thread: &Connection, turn: Seq, created_at: i64) {
    let turn_id = format!("turn-{turn}");
    let row = params![answer(turn), turn_id, format!("up to {turn_id}"), "m", created_at];
    thread.execute(UPSERT_SUMMARY, row).unwrap();
    thread.execute_batch(TRIM_SUMMARIES).unwrap();
}

/// The summary for a turn that follows the turn `last`.
fn found(thread: &Connection, last: Seq) -> Option<String> {
    let bindings = params![path(thread, last).json(), answer(12)];
    thread.query_row(&select_summary(), bindings, |row| row.get(2)).optional().unwrap()
}

fn number(thread: &Connection, query: &str) -> i64 {
    thread.query_row(query, [], |row| row.get(0)).unwrap()
}

#[test]
fn a_summary_holds_on_each_path_that_has_its_last_turn() {
    let thread = versions();
    thread.execute_batch(CREATE_SUMMARIES).unwrap();
    keep(&thread, 2, 1);
    keep(&thread, 6, 2);
    assert_eq!(found(&thread, 10).unwrap(), "up to turn-6");
    assert_eq!(found(&thread, 6).unwrap(), "up to turn-6");
    assert_eq!(found(&thread, 5).unwrap(), "up to turn-2", "a version of turn 6 begins before it");
    assert_eq!(found(&thread, 1), None);
    assert_eq!(found(&thread, 12).unwrap(), "up to turn-2", "turns 4 to 6 are beside this path");
    keep(&thread, 11, 3);
    assert_eq!(found(&thread, 12).unwrap(), "up to turn-11");
    assert_eq!(found(&thread, 10).unwrap(), "up to turn-6", "the other path has its own one again");
    // A turn looks for a summary of the messages before it alone.
    let bindings = params![path(&thread, 10).json(), answer(6) - 1];
    let before: String = thread.query_row(&select_summary(), bindings, |row| row.get(2)).unwrap();
    assert_eq!(before, "up to turn-2");
}

#[test]
fn a_thread_keeps_its_newest_eight_summaries_and_a_deletion_takes_them_along() {
    let thread = versions();
    let has_table = || super::has_table(&thread, "summaries");
    assert!(!has_table(), "most threads have no such table");
    thread.execute_batch(CREATE_SUMMARIES).unwrap();
    for turn in 1..=9 {
        assert!(has_table());
        keep(&thread, turn, 10);
        keep(&thread, turn, 10 + i64::try_from(turn).unwrap());
        let kept = number(&thread, "SELECT count(*) FROM summaries");
        assert_eq!(kept, i64::try_from(turn.min(8)).unwrap(), "one for the same turns takes its place");
    }
    assert_eq!(number(&thread, "SELECT min(covers) FROM summaries"), 20, "the oldest one is gone");
    thread.execute_batch(CLEAR).unwrap();
    assert!(!has_table());
    thread.execute_batch(CLEAR).unwrap();
}

#[test]
fn the_turns_of_a_path_are_read_from_both_ends() {
    let thread = versions();
    let rows = |query: &str, last: Seq, (after, before): (Seq, Seq)| -> Vec<Seq> {
        let mut statement = thread.prepare(query).unwrap();
        let bindings = params![path(&thread, last).json(), after, before, 3];
        statement.query_map(bindings, |row| row.get(0)).unwrap().map(Result::unwrap).collect()
    };
    assert_eq!(rows(&newest_turns(), 10, (0, 121)), [100, 90, 80]);
    assert_eq!(rows(&newest_turns(), 10, (0, 21)), [20, 10]);
    assert_eq!(rows(&oldest_turns(), 10, (0, 121)), [10, 20, 30]);
    assert_eq!(rows(&oldest_turns(), 10, (30, 60)), [40, 50], "without the turns at both ends");
    assert_eq!(rows(&newest_turns(), 12, (0, 121)), [120, 110, 30]);
    assert_eq!(rows(&oldest_turns(), 12, (10, 121)), [20, 30, 110]);
}
