//! The retention: a run deletes the thread that nobody used for long, with its files and records, and leaves one that its
//! object knows to be in use. A run that a fault ends leaves the rest to the next one.

use espalier_test_support::{Step, Value, json, text};

use super::stored::{change_object, rows_of};
use super::{Journey, Trip, Work};

pub struct Retention;

/// The age at which threads go, and an age beyond it.
const DAYS: u64 = 2;
const DAY_MS: u64 = 86_400_000;

impl Journey for Retention {
    fn name(&self) -> &'static str {
        "retention"
    }

    fn play<'a>(&'a self, trip: &'a Trip) -> Work<'a, Result<Value, String>> {
        Box::pin(play(trip))
    }

    fn reply(&self, _path: &str, _number: &str, step: usize, _body: &Value) -> Option<Step> {
        (step == 0).then(|| text("An answer."))
    }

    fn vars(&self, _world: &str) -> Vec<(&'static str, String)> {
        vec![("RETENTION", json!({ "threads": DAYS }).to_string())]
    }

    fn stride(&self) -> u32 {
        7
    }
}

async fn play(trip: &Trip) -> Result<Value, String> {
    let [idle, live] = [0, 1].map(|place| trip.other_id(place));
    for (thread, place) in [(&idle, 2), (&live, 3)] {
        let content = trip.message(&place.to_string());
        trip.whole_turn(&json!({ "thread_id": thread, "turn_id": trip.other_id(place), "content": content }))
            .await?;
        trip.file(&format!("/api/threads/{thread}/files/a.txt"), &trip.other_id(place + 2)).await?;
        trip.rows(2, "SELECT 1 FROM messages WHERE thread_id = ?1", &[thread]).await?;
        trip.in_r2(1, &trip.other_id(place)).await?;
        // D1 has both as old, and the object of the first one alone. News whose answer was lost come again, with the time of
        // the message.
        let object = trip.object(&trip.other_id(place))?;
        let is_told = async || (rows_of(&object, &["outbox"]) == Ok(vec![0])).then_some(());
        trip.until("an outbox without rows", is_told).await?;
        let age = format!("UPDATE threads SET updated_at = updated_at - {} WHERE id = ?1", 2 * DAYS * DAY_MS);
        trip.change(&age, &[thread])?;
    }
    let age = format!("UPDATE messages SET created_at = created_at - {}", 2 * DAYS * DAY_MS);
    change_object(&trip.object(&trip.other_id(2))?, &age)?;
    // A run goes on without an object that failed, and the one of the next day asks it again.
    for _ in 0..2 {
        run(trip).await?;
    }
    trip.rows(0, "SELECT 1 FROM threads WHERE id = ?1", &[&idle]).await?;
    trip.rows(0, "SELECT 1 FROM messages WHERE thread_id = ?1", &[&idle]).await?;
    for mark in [2, 4] {
        trip.in_r2(0, &trip.other_id(mark)).await?;
    }
    for mark in [3, 5] {
        trip.in_r2(1, &trip.other_id(mark)).await?;
    }
    Ok(json!({ "idle": state(trip, &idle).await?, "live": state(trip, &live).await? }))
}

/// A whole run, on the next day.
async fn run(trip: &Trip) -> Result<(), String> {
    trip.change("DELETE FROM retention_runs", &[])?;
    let ended = async || {
        trip.visit().await;
        // The lease of an owner that died ends, and waits are over.
        trip.change("UPDATE retention_runs SET lease_until = 0 WHERE ended_at IS NULL", &[]).ok()?;
        let ended = "SELECT 1 FROM retention_runs WHERE ended_at IS NOT NULL";
        trip.world().database.rows(ended, &[]).ok().filter(|rows| !rows.is_empty())
    };
    trip.until("the end of a run", ended).await.map(drop)
}

async fn state(trip: &Trip, thread: &str) -> Result<Value, String> {
    let messages = trip.ask("GET", &format!("/api/threads/{thread}/messages"), &[], &json!(null)).await?;
    Ok(json!({
        "status": messages.status,
        "messages": messages.json()["messages"].as_array().map(Vec::len),
        "rows": trip.counts(&["messages"], "thread_id = ?1", thread)?,
    }))
}
