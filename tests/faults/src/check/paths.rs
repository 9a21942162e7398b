//! Which messages are beside the path of their thread: D1 must say the same as the objects.
//!
//! A path is told twice, and the second time only after a minute. So a mark that is right when everything is quiet shows
//! that the first telling was delivered.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::{DELIVERY, databases};
use crate::d1::Database;
use crate::ledger::Ledger;

/// Waits until D1 marks the messages of each thread as its object has them. Returns how many turns are marked wrongly in
/// the end. The runtime may run.
pub async fn marked(folder: &Path, index: &Database, ledger: &Ledger) -> Result<u32, String> {
    let began = Instant::now();
    loop {
        let mut wrong = Vec::new();
        for object in databases(folder)? {
            wrong.extend(differences(&object, index)?);
        }
        if wrong.is_empty() || began.elapsed() > DELIVERY {
            for turn in wrong.iter().take(5) {
                ledger.violation(turn.clone());
            }
            return Ok(wrong.len() as u32);
        }
        sleep(Duration::from_millis(300)).await;
    }
}

/// The turns of an object whose messages D1 takes for part of the conversation although they are beside it, and those
/// that D1 takes for beside.
fn differences(object: &Database, index: &Database) -> Result<Vec<String>, String> {
    let tables = object.rows("SELECT 1 AS one FROM sqlite_master WHERE name = 'turns'", &[])?;
    if tables.is_empty() {
        return Ok(Vec::new());
    }
    let query = "SELECT turn_id, seq_first, parent_seq, (SELECT path_seq FROM meta) AS path_seq FROM turns
        ORDER BY seq_first";
    let rows = object.rows(query, &[])?;
    let turns: Vec<(u64, Option<u64>)> = rows
        .iter()
        .filter_map(|row| Some((row["seq_first"].as_u64()?, row["parent_seq"].as_u64())))
        .collect();
    let path = path(&turns, rows.first().and_then(|row| row["path_seq"].as_u64()));
    let mut wrong = Vec::new();
    for row in &rows {
        let is_beside = !row["seq_first"].as_u64().is_some_and(|seq| path.contains(&seq));
        let turn_id = row["turn_id"].as_str().unwrap_or_default();
        let marks = index.rows("SELECT DISTINCT beside FROM messages WHERE turn_id = ?1", &[turn_id])?;
        if marks.iter().any(|mark| (mark["beside"] == 1) != is_beside) {
            let place = if is_beside { "beside its path" } else { "on its path" };
            wrong.push(format!("turn {turn_id} is {place}, and D1 says otherwise"));
        }
    }
    Ok(wrong)
}

/// The turns from the beginning to the end of a path: each turn follows the one that it names, or the one before it. The
/// path ends with the turn that was chosen, or with the newest.
fn path(turns: &[(u64, Option<u64>)], chosen: Option<u64>) -> BTreeSet<u64> {
    let before = turns.iter().scan(0, |before, (seq, _)| Some(std::mem::replace(before, *seq)));
    let parents: BTreeMap<u64, u64> =
        turns.iter().zip(before).map(|((seq, parent), before)| (*seq, parent.unwrap_or(before))).collect();
    let newest = turns.last().map(|(seq, _)| *seq);
    let mut path = BTreeSet::new();
    let mut at = chosen.or(newest);
    while let Some(turn) = at.filter(|turn| *turn > 0 && path.insert(*turn)) {
        at = parents.get(&turn).copied();
    }
    path
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn database(name: &str, sql: &str) -> Database {
        let file = std::env::temp_dir().join(format!("espalier-paths-{name}-{}.sqlite", std::process::id()));
        let _ = std::fs::remove_file(&file);
        rusqlite::Connection::open(&file).unwrap().execute_batch(sql).unwrap();
        Database::open(&file).unwrap()
    }

    // Issue 19, item 2.
    #[test]
    fn a_mark_that_was_not_told_is_found() {
        let turns = [(1, None), (10, None), (20, Some(1)), (30, None), (40, Some(0))];
        let all = |chosen| path(&turns, chosen).into_iter().collect::<Vec<_>>();
        assert_eq!((all(None), all(Some(30)), all(Some(10))), (vec![40], vec![1, 20, 30], vec![1, 10]));

        let rows: Vec<String> =
            turns.iter().map(|(seq, parent)| format!("('t{seq}', {seq}, {})", json!(parent))).collect();
        let object = |chosen: &str| {
            let sql = format!(
                "CREATE TABLE turns (turn_id, seq_first, parent_seq); CREATE TABLE meta (path_seq);
                INSERT INTO meta VALUES ({chosen}); INSERT INTO turns VALUES {};",
                rows.join(", ")
            );
            database(&format!("object-{chosen}"), &sql)
        };
        let index = database(
            "index",
            "CREATE TABLE messages (turn_id, beside); INSERT INTO messages VALUES
            ('t1', 0), ('t1', 0), ('t10', 1), ('t20', 0), ('t30', 0), ('t40', 1);",
        );
        assert_eq!(differences(&object("30"), &index).unwrap(), [""; 0]);
        let told = differences(&object("10"), &index).unwrap();
        assert_eq!(
            told,
            [
                "turn t10 is on its path, and D1 says otherwise",
                "turn t20 is beside its path, and D1 says otherwise",
                "turn t30 is beside its path, and D1 says otherwise",
            ]
        );
    }
}
