//! The statements of the queue, as SQLite itself runs them.
//!
//! Issue 19, item 5.

use proptest::prelude::*;
use rusqlite::{Connection, OptionalExtension, params};

use super::rows::{COUNT_QUEUE_EVENTS, Fresh, QUEUE_KEY, event_rows};
use super::schema::{
    CLEAR, CREATE, CREATE_QUEUE, IS_REMOVED, PUT_QUEUED, PUT_REMOVED, SELECT_NEXT, SELECT_QUEUE, TAKE_QUEUED,
    TRIM_REMOVED,
};
use wire::protocol::{Event, MAX_QUEUED, MAX_REMOVED};

fn database() -> Connection {
    let database = Connection::open_in_memory().unwrap();
    database.execute_batch(CREATE).unwrap();
    database.execute_batch(CREATE_QUEUE).unwrap();
    database
}

/// Queues a message; whether it is there.
fn put(database: &Connection, id: &str) -> bool {
    let row = database.query_row(PUT_QUEUED, params![id, "{}", id, "[]", 7, MAX_QUEUED as i64], |_| Ok(()));
    row.optional().unwrap().is_some()
}

fn take(database: &Connection, id: &str) -> bool {
    database.query_row(TAKE_QUEUED, [id], |_| Ok(())).optional().unwrap().is_some()
}

fn next(database: &Connection) -> Option<String> {
    database.query_row(SELECT_NEXT, [], |row| row.get(0)).optional().unwrap()
}

fn queue(database: &Connection) -> Vec<String> {
    let mut statement = database.prepare(SELECT_QUEUE).unwrap();
    let rows = statement.query_map([], |row| row.get(0)).unwrap();
    rows.map(Result::unwrap).collect()
}

fn has_queue(database: &Connection) -> bool {
    super::has_table(database, "queued_messages")
}

#[test]
fn the_eleventh_message_is_refused_and_the_ten_stay() {
    let database = database();
    let ids: Vec<String> = (0..MAX_QUEUED).map(|number| format!("m{number}")).collect();
    assert!(ids.iter().all(|id| put(&database, id)));
    assert!(!put(&database, "one too many"));
    assert_eq!(queue(&database), ids);
    assert!(take(&database, "m3"));
    assert!(put(&database, "one too many"), "there is room again");
    assert_eq!(queue(&database).last().unwrap(), "one too many");
}

fn is_removed(database: &Connection, id: &str) -> bool {
    database.query_row(IS_REMOVED, [id], |_| Ok(())).optional().unwrap().is_some()
}

#[test]
fn the_last_removed_messages_are_remembered() {
    let database = database();
    let remove = |id: &str| {
        database.execute(PUT_REMOVED, [id]).unwrap();
        database.execute(TRIM_REMOVED, [MAX_REMOVED as i64]).unwrap();
    };
    (0..MAX_REMOVED).for_each(|number| remove(&format!("m{number}")));
    assert!(is_removed(&database, "m0") && !is_removed(&database, "another"));
    remove("m0");
    assert!(is_removed(&database, "m0"), "a repetition forgets nothing");
    remove("one more");
    assert!(!is_removed(&database, "m0") && is_removed(&database, "m1") && is_removed(&database, "one more"));
    database.execute_batch(CLEAR).unwrap();
    let tables = "SELECT 1 FROM sqlite_master WHERE name = 'removed_messages'";
    assert!(!database.prepare(tables).unwrap().exists([]).unwrap(), "a deletion");
}

// Issue 42, M1: a restart of the object forgets how often the turn has told its queue, and counts it anew.
#[test]
fn the_events_of_a_turn_that_tell_its_queue_are_counted() {
    let database = database();
    let write = |seq: u64, key: String, event: Event| {
        for row in event_rows(&[], &[Fresh::new(seq, key, event).unwrap()]).unwrap() {
            let query = "INSERT INTO events (seq_first, seq_last, turn_id, payload) VALUES (?1, ?2, 't', ?3)";
            let (first, last) = (row.seq_first as i64, row.seq_last as i64);
            database.execute(query, params![first, last, row.payload]).unwrap();
        }
    };
    let update = || Event::QueueUpdate { held: false, messages: Vec::new() };
    for seq in [9, 10, 12_345] {
        write(seq, format!("{QUEUE_KEY}{seq}"), update());
    }
    write(11, "path:11".to_owned(), Event::PathChanged);
    let says_so = format!("[[12,\"{QUEUE_KEY}12\"");
    write(12, says_so, Event::PathChanged);
    let count =
        |first: i64| database.query_row(COUNT_QUEUE_EVENTS, [first], |row| row.get::<_, i64>(0)).unwrap();
    assert_eq!((count(1), count(10), count(12_346)), (3, 2, 0));
}

#[test]
fn a_deletion_leaves_no_queue() {
    let database = database();
    put(&database, "a");
    assert!(has_queue(&database));
    database.execute_batch(CLEAR).unwrap();
    assert!(!has_queue(&database));
    database.execute_batch(CLEAR).unwrap();
}

/// An act on the queue. A start takes the next message and writes its turn in one transaction, which a kill takes back.
#[derive(Clone, Debug)]
enum Act {
    Put(u8),
    Take(u8),
    Start { killed: bool },
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let act = prop_oneof![
        4 => (0..20_u8).prop_map(Act::Put),
        1 => (0..20_u8).prop_map(Act::Take),
        3 => any::<bool>().prop_map(|killed| Act::Start { killed }),
    ];
    prop::collection::vec(act, 0..60)
}

proptest! {
    // Each message that was taken in is in the queue, was removed, or has its turn: once, and in the order of the queue.
    #[test]
    fn no_act_and_no_kill_loses_or_doubles_a_message(acts in acts()) {
        let database = database();
        let (mut waiting, mut begun): (Vec<String>, Vec<String>) = (Vec::new(), Vec::new());
        for act in acts {
            match act {
                Act::Put(number) => {
                    let id = format!("m{number}");
                    // The object answers a repeated request with the turn, or with the queue, before it comes here.
                    let is_new = !begun.contains(&id) && !waiting.contains(&id);
                    if is_new {
                        let taken = put(&database, &id);
                        prop_assert_eq!(taken, waiting.len() < MAX_QUEUED);
                        if taken { waiting.push(id) }
                    } else if !begun.contains(&id) {
                        prop_assert!(!put(&database, &id), "it is there already");
                    }
                }
                Act::Take(number) => {
                    let id = format!("m{number}");
                    prop_assert_eq!(take(&database, &id), waiting.contains(&id));
                    waiting.retain(|each| *each != id);
                }
                Act::Start { killed } => {
                    let Some(id) = next(&database) else { continue };
                    database.execute_batch("BEGIN").unwrap();
                    prop_assert!(take(&database, &id));
                    let turn = "INSERT INTO turns (turn_id, status, generation, resumptions, assistant_message_id,
                        seq_first, started_at) VALUES (?1, 'done', 1, 0, 'a', 1, 1)";
                    database.execute(turn, [&id]).unwrap();
                    database.execute_batch(if killed { "ROLLBACK" } else { "COMMIT" }).unwrap();
                    if !killed {
                        prop_assert_eq!(&id, &waiting.remove(0), "the first comes first");
                        begun.push(id);
                    }
                }
            }
            prop_assert_eq!(queue(&database), waiting.clone());
            let turns: i64 = database.query_row("SELECT count(*) FROM turns", [], |row| row.get(0)).unwrap();
            prop_assert_eq!(turns as usize, begun.len());
        }
    }
}
