//! The checks after a run, once everything is quiet again: in D1, and in the objects' own databases, read past the
//! service.

mod agents;
mod outbox;
mod paths;
mod sessions;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use espalier_replay::{Record, replay};
use espalier_test_support::Value;
use rusqlite::Connection;
use tokio::time::{Instant, sleep};

use crate::client::Ended;
use crate::d1::Database;
use crate::ledger::Ledger;
use crate::r2::Bucket;

pub use agents::remembered;
pub use outbox::quiet;
pub use paths::marked;

/// How long the deliveries may take. D1 refuses for seconds at most, so the retries are seconds apart; see
/// `patient_ms` in the service.
const DELIVERY: Duration = Duration::from_secs(75);

/// How long an attempt may take: the alarm is due at once, and the runtime may have to start first.
const ATTEMPT: Duration = Duration::from_secs(20);

/// Waits until D1 has a message and a tree for each turn that ended. Returns how many it lacks in the end.
pub async fn delivered(database: &Database, turns: &[Ended], ledger: &Ledger) -> u32 {
    let stands = |turn: &Ended| stands_in_d1(database, turn, ledger);
    missing(turns, stands, ledger, "is not in D1 as it ended").await
}

/// Waits until each turn stands where the service tells it. Returns how many do not in the end; `what` says of a turn
/// that it does not.
async fn missing(turns: &[Ended], stands: impl Fn(&Ended) -> bool, ledger: &Ledger, what: &str) -> u32 {
    let began = Instant::now();
    loop {
        let missing: Vec<&Ended> = turns.iter().filter(|turn| !stands(turn)).collect();
        if missing.is_empty() {
            return 0;
        }
        if began.elapsed() > DELIVERY {
            for turn in missing.iter().take(5) {
                ledger.violation(format!("turn {} {what}", turn.turn_id));
            }
            return missing.len() as u32;
        }
        sleep(Duration::from_millis(300)).await;
    }
}

/// The records of a run.
#[derive(Debug, Default)]
pub struct Recorded {
    /// The turns of which R2 lacks the record in the end, or has a part of it.
    pub missing: u32,
    /// The records, and those of them that were written more than once.
    pub records: usize,
    pub rewritten: usize,
    /// The records whose replay takes other steps than the turn did.
    pub different: u32,
}

/// Waits until R2 has a whole record of each turn that ended, and replays them.
pub async fn recorded(bucket: &Bucket, turns: &[Ended], ledger: &Ledger) -> Recorded {
    let missing = recorded_at_last(bucket, turns, ledger).await;
    let mut different = 0;
    for Ended { turn_id, .. } in turns {
        for record in bucket.texts(turn_id).iter().filter_map(|text| Record::read(text).ok()) {
            let is_given_up = record.end.is_none();
            let replayed = replay(&record).map(|replayed| replayed.difference.map(|at| at.to_string()));
            if let Some(why) = replayed.unwrap_or_else(|why| Some(why.0).filter(|_| !is_given_up)) {
                ledger.violation(format!("the record of turn {turn_id}: {why}"));
                different += 1;
            }
        }
    }
    let (records, rewritten) = bucket.counts();
    Recorded { missing, records, rewritten, different }
}

async fn recorded_at_last(bucket: &Bucket, turns: &[Ended], ledger: &Ledger) -> u32 {
    let stands = |turn: &Ended| is_recorded(bucket, turn);
    missing(turns, stands, ledger, "has no record in R2, or not a whole one").await
}

/// Whether R2 has one record of a turn, from its header to its end. One that the service gave up has no end.
fn is_recorded(bucket: &Bucket, turn: &Ended) -> bool {
    let records = bucket.texts(&turn.turn_id);
    let [text] = records.as_slice() else { return false };
    let may_be_given_up = turn.finish_reason == "interrupted";
    Record::read(text).is_ok_and(|record| {
        record.header.turn_id == turn.turn_id && (record.end.is_some() || may_be_given_up)
    })
}

/// Waits until D1 has both messages of a turn that was abandoned, which has no tree. Returns whether it has.
pub async fn told(database: &Database, turn_id: &str) -> Result<bool, String> {
    let began = Instant::now();
    while began.elapsed() < DELIVERY {
        if database.rows("SELECT id FROM messages WHERE turn_id = ?1", &[turn_id])?.len() == 2 {
            return Ok(true);
        }
        sleep(Duration::from_millis(300)).await;
    }
    Ok(false)
}

fn stands_in_d1(database: &Database, turn: &Ended, ledger: &Ledger) -> bool {
    let query = "SELECT id, thread_id, role, finish_reason, execution_tree FROM messages WHERE turn_id = ?1";
    let rows = match database.rows(query, &[&turn.turn_id]) {
        Ok(rows) => rows,
        Err(error) => {
            ledger.violation(format!("D1: {error}"));
            return false;
        }
    };
    let user = |row: &Value| row["role"] == "user" && row["id"] == turn.user_message_id;
    let assistant = |row: &Value| {
        row["role"] == "assistant"
            && row["id"] == turn.message_id
            && row["thread_id"] == turn.thread_id
            && row["finish_reason"] == turn.finish_reason
            && row["execution_tree"].as_str().is_some_and(|tree| tree.contains("\"nodes\""))
    };
    rows.len() == 2 && rows.iter().any(user) && rows.iter().any(assistant)
}

/// The findings in the databases of the objects.
#[derive(Default)]
pub struct Objects {
    pub turns: u32,
    /// Turns that are not over, or do not have exactly one terminal event, or have events after it, or lack a message.
    pub unfinished: u32,
    pub calls: u32,
    /// Calls in the stored history without exactly one result.
    pub unpaired: u32,
    /// Rows that D1 never took.
    pub undelivered: u32,
    /// Rows of the journals of ended turns, whose record R2 never took.
    pub unrecorded: u32,
}

/// Reads every object's database; `turns` are those that ended. The runtime must not run.
pub fn objects(folder: &Path, turns: &[Ended], ledger: &Ledger) -> Result<Objects, String> {
    let mut found = Objects::default();
    for database in databases(folder)? {
        object(&database, turns, &mut found, ledger)?;
    }
    Ok(found)
}

/// Changes the database of the object that has this turn, and returns its file. The runtime must not run.
pub fn change(folder: &Path, turn_id: &str, sql: &str) -> Result<PathBuf, String> {
    let file = object_of(folder, turn_id)?;
    let connection = Connection::open(&file).map_err(|error| error.to_string())?;
    connection.execute_batch(sql).map_err(|error| format!("{sql}: {error}"))?;
    Ok(file)
}

/// The file of the object that has this turn. The newest files come first. The runtime may run.
pub fn object_of(folder: &Path, turn_id: &str) -> Result<PathBuf, String> {
    let mut files = files(folder)?;
    files.sort_by_key(|file| std::cmp::Reverse(file.metadata().and_then(|about| about.modified()).ok()));
    for file in files {
        let connection = Connection::open(&file).map_err(|error| error.to_string())?;
        let query = "SELECT count(*) FROM turns WHERE turn_id = ?1";
        let found = connection.query_row(query, [turn_id], |row| row.get::<_, u32>(0));
        // An object that was never written to has no tables.
        if found == Ok(1) {
            return Ok(file);
        }
    }
    Err(format!("no object has the turn {turn_id}"))
}

/// Waits until the object has counted the first attempt to rebuild a turn, and until the attempt goes on. Returns
/// whether both happened. The runtime may run.
pub async fn attempted(file: &Path, turn_id: &str) -> Result<bool, String> {
    let began = Instant::now();
    let database = Database::open(file)?;
    let counted = || {
        let rows = database.rows("SELECT failed_attempts FROM turns WHERE turn_id = ?1", &[turn_id])?;
        Ok::<_, String>(rows.first().is_some_and(|row| row["failed_attempts"] == 1))
    };
    while began.elapsed() < ATTEMPT {
        if counted()? {
            // An attempt that ended would no longer be counted as the first.
            sleep(Duration::from_millis(500)).await;
            return counted();
        }
        sleep(Duration::from_millis(50)).await;
    }
    Ok(false)
}

/// Removes an object's database. The runtime must not run.
pub fn remove(file: &Path) -> Result<(), String> {
    for suffix in ["", "-wal", "-shm"] {
        let file = format!("{}{suffix}", file.display());
        match std::fs::remove_file(&file) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(format!("{file}: {error}"));
            }
            _ => {}
        }
    }
    Ok(())
}

/// The number of rows of the quotas that name one of these threads, none of which was ever made. The runtime must not
/// run.
pub fn kept(folder: &Path, threads: &[String], ledger: &Ledger) -> Result<u32, String> {
    let mut kept = 0;
    for database in databases(folder)? {
        for thread in threads {
            let query = "SELECT key, value FROM accounts WHERE instr(key, ?1) + instr(value, ?1) > 0";
            for row in database.rows(query, &[thread])? {
                kept += 1;
                ledger.violation(format!("a refused request left this in the quotas: {row}"));
            }
        }
    }
    Ok(kept)
}

fn databases(folder: &Path) -> Result<Vec<Database>, String> {
    files(folder)?.iter().map(|file| Database::open(file)).collect()
}

fn files(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let files = std::fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let is_object = |file: &PathBuf| {
        file.extension().is_some_and(|extension| extension == "sqlite") && !file.ends_with("metadata.sqlite")
    };
    Ok(files.flatten().map(|file| file.path()).filter(is_object).collect())
}

fn object(database: &Database, turns: &[Ended], found: &mut Objects, ledger: &Ledger) -> Result<(), String> {
    let tables = database.rows("SELECT 1 AS one FROM sqlite_master WHERE name = 'turns'", &[])?;
    if tables.is_empty() {
        return Ok(());
    }
    let query = "SELECT turn_id, status, seq_last,
        (SELECT count(*) FROM events e, json_each(e.payload) item
          WHERE e.turn_id = t.turn_id AND item.value ->> 2 = 'done') AS done,
        -- A choice of the path is an event of the turn with which the path ends.
        (SELECT max(e.seq_last) FROM events e
          WHERE e.turn_id = t.turn_id AND instr(e.payload, '\"path_changed\"') = 0) AS last,
        -- A new version deletes none of the others.
        (SELECT count(*) FROM messages m WHERE m.turn_id = t.turn_id) AS messages FROM turns t";
    for turn in database.rows(query, &[])? {
        found.turns += 1;
        // Old turns' events are trimmed once D1 has their messages.
        let trimmed = turn["last"].is_null();
        let whole = turn["done"] == 1 && turn["last"] == turn["seq_last"];
        if turn["status"] != "done" || !(whole || trimmed) || turn["messages"] != 2 {
            found.unfinished += 1;
            ledger.violation(format!("in its object: {turn}"));
        }
    }
    for row in database.rows("SELECT history FROM messages WHERE history IS NOT NULL", &[])? {
        let history = row["history"].as_str().unwrap_or_default();
        let messages: Vec<Value> = serde_json::from_str(history).map_err(|error| error.to_string())?;
        let (calls, unpaired) = pairs(&messages);
        found.calls += calls;
        found.unpaired += unpaired;
        if unpaired > 0 {
            ledger.violation(format!("calls without exactly one result: {history}"));
        }
    }
    found.undelivered += outbox::undelivered(database)?;
    sessions::led(database, turns, ledger)?;
    found.unrecorded += outbox::unrecorded(database)?;
    Ok(())
}

/// The number of calls in a history, and of those without exactly one result.
fn pairs(messages: &[Value]) -> (u32, u32) {
    let (mut calls, mut unpaired) = (0, 0);
    let mut open: BTreeSet<&str> = BTreeSet::new();
    for message in messages {
        if let Some(id) = message["tool"]["call_id"].as_str() {
            unpaired += u32::from(!open.remove(id));
            continue;
        }
        unpaired += open.len() as u32;
        let made = message["assistant"]["tool_calls"].as_array();
        open = made.into_iter().flatten().filter_map(|call| call["call_id"].as_str()).collect();
        calls += open.len() as u32;
    }
    (calls, unpaired + open.len() as u32)
}
