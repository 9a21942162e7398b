//! The deletion of a thread while a turn of it waits for somebody: nothing of it stays but its usage and an entry in the audit
//! log, and its id stays taken.

use espalier_test_support::{Step, Value, call, json, text};

use super::stored::rows_of;
use super::{Journey, Trip, Work};
use crate::script;

pub struct Deletion;

impl Journey for Deletion {
    fn name(&self) -> &'static str {
        "deletion"
    }

    fn play<'a>(&'a self, trip: &'a Trip) -> Work<'a, Result<Value, String>> {
        Box::pin(play(trip))
    }

    fn reply(&self, path: &str, _number: &str, step: usize, _body: &Value) -> Option<Step> {
        match (path, step) {
            ("waits", 0) => Some(call("ui_pick", json!({ "label": "here" }))),
            (_, 0) => Some(text("Stays for a while.")),
            _ => None,
        }
    }

    fn stride(&self) -> u32 {
        7
    }
}

/// The tables of an object that have the words of its thread.
const KEPT: [&str; 4] = ["messages", "events", "journal", "turns"];

async fn play(trip: &Trip) -> Result<Value, String> {
    let thread = trip.id();
    let path = format!("/api/threads/{thread}");
    let first = json!({ "thread_id": thread, "turn_id": trip.other_id(0), "content": trip.message("stays") });
    trip.whole_turn(&first).await?;
    trip.rows(2, "SELECT 1 FROM messages WHERE thread_id = ?1", &[&thread]).await?;
    let file = trip.other_id(2);
    trip.file(&format!("{path}/files/a.txt"), &file).await?;
    trip.in_r2(1, &file).await?;
    trip.in_r2(1, &trip.other_id(0)).await?;
    let object = trip.object(&trip.other_id(0))?;
    let mut second =
        json!({ "thread_id": thread, "turn_id": trip.other_id(1), "content": trip.message("waits") });
    second["chat_context"] = json!({ "kind": "editor" });
    second["client_tools"] = script::client_tools();
    trip.parked_turn(&second).await?;

    trip.gone(&path).await?;
    let audited = "SELECT action, target FROM audit WHERE target = ?1 AND action = 'thread_deleted'";
    let audited = trip.rows(1, audited, &[&thread]).await?;
    trip.rows(0, "SELECT 1 FROM threads WHERE id = ?1", &[&thread]).await?;
    trip.rows(0, "SELECT 1 FROM messages WHERE thread_id = ?1", &[&thread]).await?;
    for mark in [file, trip.other_id(0), trip.other_id(1)] {
        trip.in_r2(0, &mark).await?;
    }
    Ok(json!({
        "audited": audited, "left": rows_of(&object, &KEPT)?,
        "read": trip.ask("GET", &path, &[], &json!(null)).await?.status,
        "again": trip.ask("POST", "/api/chat", &[], &first).await?.status,
        "list": trip.get("/api/threads").await?["threads"],
    }))
}
