//! The rows that wait in the objects for D1, and the journals that wait for R2.

use std::path::Path;
use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::{DELIVERY, databases};
use crate::d1::Database;

/// Waits until D1 has taken the rows of all objects, and R2 the records of their ended turns, or for as long as the deliveries
/// may take. The runtime may run.
pub async fn quiet(folder: &Path) -> Result<(), String> {
    let began = Instant::now();
    while began.elapsed() < DELIVERY {
        let mut left = 0;
        for object in databases(folder)? {
            let tables = object.rows("SELECT 1 AS one FROM sqlite_master WHERE name = 'outbox'", &[])?;
            left += if tables.is_empty() { 0 } else { undelivered(&object)? + unrecorded(&object)? };
        }
        if left == 0 {
            return Ok(());
        }
        sleep(Duration::from_millis(300)).await;
    }
    Ok(())
}

/// The number of rows in the outbox of an object. A path and a deletion are told twice, and the second row is due when any
/// older batch must have ended. A row that has just come due is on its way: an alarm has 14 seconds, as in the report.
pub(super) fn undelivered(object: &Database) -> Result<u32, String> {
    let rows = object.rows(
        "SELECT count(*) AS rows FROM outbox
         WHERE coalesce(payload ->> '$.news.kind', '') NOT IN ('path_changed', 'thread_deleted') OR attempts > 0
             OR due_at <= (unixepoch('subsec') - 14) * 1000",
        &[],
    )?;
    Ok(rows.first().and_then(|row| row["rows"].as_u64()).unwrap_or(0) as u32)
}

/// The number of rows of the journals of ended turns, whose record R2 has not taken.
pub(super) fn unrecorded(object: &Database) -> Result<u32, String> {
    let query = "SELECT count(*) AS rows FROM journal JOIN turns USING (turn_id) WHERE status = 'done'";
    let rows = object.rows(query, &[])?;
    Ok(rows.first().and_then(|row| row["rows"].as_u64()).unwrap_or(0) as u32)
}
