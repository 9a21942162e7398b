//! The erasure of a user's data: wherever it is cut off, the cron trigger carries it on, and nothing of the user is left in D1,
//! R2, Vectorize and the objects.

use std::time::Duration;

use espalier_test_support::{Step, Value, json, text};
use tokio::time::sleep;

use super::documents::{collection, document};
use super::stored::{now_ms, rows_of};
use super::{Journey, Trip, Work};

pub struct Erasure;

impl Journey for Erasure {
    fn name(&self) -> &'static str {
        "erasure"
    }

    fn play<'a>(&'a self, trip: &'a Trip) -> Work<'a, Result<Value, String>> {
        Box::pin(play(trip))
    }

    fn reply(&self, _path: &str, _number: &str, step: usize, _body: &Value) -> Option<Step> {
        (step == 0).then(|| text("An answer."))
    }

    // Each of its two sweeps goes through all tables.
    fn stride(&self) -> u32 {
        15
    }
}

/// A job whose stage stays for so long has no owner.
const STILL: Duration = Duration::from_millis(150);
/// The tables with rows of this user. `audit` keeps its entries, `erasures` the job, and `sessions` refuses the cookie.
const TABLES: [&str; 11] = [
    "instructions",
    "collections",
    "chunks",
    "documents",
    "workflows",
    "shares",
    "llm_usage",
    "tool_usage",
    "error_log",
    "messages",
    "threads",
];

/// The tables of an object that have the words of its thread.
const KEPT: [&str; 4] = ["messages", "events", "journal", "turns"];

async fn play(trip: &Trip) -> Result<Value, String> {
    let user = trip.user_id().await?;
    let document = plant(trip).await?;
    let objects = [trip.object(&trip.other_id(2))?, trip.object(&trip.other_id(3))?];
    let body = json!({ "confirm": "erase" });
    // Where the answer was lost the session has ended with the beginning, and the client learns no receipt.
    let began = trip.ask("DELETE", "/api/me", &[], &body).await?;
    if ![202, 401].contains(&began.status) {
        return Err(format!("an erasure was answered with {}: {}", began.status, began.text));
    }
    let stage = || trip.world().database.rows("SELECT stage FROM erasures WHERE user_id = ?1", &[&user]);
    let ended = async || {
        // Where the job stands still, time goes by: each isolate knows that the credentials have ended, whoever owned the job
        // is gone, waits are over. A second owner beside a first one would do again what that left out.
        let before = stage().ok()?;
        sleep(STILL).await;
        let settle = "UPDATE erasures SET started_at = min(started_at, CAST(?2 AS INTEGER)), lease_until = 0 \
            WHERE user_id = ?1 AND ended_at IS NULL";
        if stage().ok()? == before {
            trip.change(settle, &[&user, &(now_ms() - 100_000).to_string()]).ok()?;
        }
        trip.visit().await;
        let ended = "SELECT 1 AS ended FROM erasures WHERE user_id = ?1 AND ended_at IS NOT NULL";
        trip.world().database.rows(ended, &[&user]).ok().filter(|rows| !rows.is_empty())
    };
    let ended = trip.until("the end of an erasure", ended).await?;
    let progress = match began.json()["receipt"].as_str() {
        Some(receipt) => trip.get(&format!("/api/me/erasure?receipt={receipt}")).await?["ended_at"].is_u64(),
        None => true,
    };
    let audited = "SELECT action FROM audit WHERE user_id = ?1 AND action = 'data_erased'";
    // The files of both threads and of the workspace, and the records of both turns.
    for mark in 2..7 {
        trip.in_r2(0, &trip.other_id(mark)).await?;
    }
    let rows = trip.counts(&TABLES, "user_id = ?1", &user)?;
    let vectors = trip.world().index.of_document(&document);
    let kept = [rows_of(&objects[0], &KEPT)?, rows_of(&objects[1], &KEPT)?];
    let is_left = rows.as_object().into_iter().flatten().any(|(_, count)| *count != 0);
    if is_left || vectors > 0 || kept.concat().iter().any(|count| *count > 0) {
        return Err(format!("an erasure left {rows} in D1, {vectors} vectors, and {kept:?} in objects"));
    }
    Ok(json!({
        "ended": ended, "progress": progress, "audited": trip.rows(1, audited, &[&user]).await?,
        "signed in": trip.ask("GET", "/api/threads", &[], &json!(null)).await?.status,
    }))
}

/// Gives the user something of each kind. Returns the id of a document.
async fn plant(trip: &Trip) -> Result<String, String> {
    let shared = trip.other_id(0);
    for place in [0, 1] {
        let (thread, turn, content) =
            (trip.other_id(place), trip.other_id(place + 2), trip.message(&place.to_string()));
        trip.whole_turn(&json!({ "thread_id": thread, "turn_id": turn, "content": content })).await?;
        trip.file(&format!("/api/threads/{thread}/files/a.txt"), &trip.other_id(place + 4)).await?;
        trip.rows(2, "SELECT 1 FROM messages WHERE thread_id = ?1", &[&thread]).await?;
        trip.in_r2(1, &turn).await?;
    }
    trip.file("/api/workspaces/shared/files/a.txt", &trip.other_id(6)).await?;
    trip.expect(200, "PUT", "/api/me/instructions", &json!({ "content": "Be brief." })).await?;
    trip.ask("POST", &format!("/api/threads/{shared}/shares"), &[], &json!({})).await?;
    let cars = collection(trip, "Cars").await?;
    document(trip, &cars, "one").await
}
