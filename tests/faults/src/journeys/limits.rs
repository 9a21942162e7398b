//! Hooks of a thread that last and count over its turns: a limit is used up once, planning ends once, and a hook that asks a
//! model has its note.

use espalier_test_support::{Step, Value, call, calls, json, text};

use super::chat::{answer_of, ends};
use super::{Journey, Trip, Work};

pub struct Limits;

impl Journey for Limits {
    fn name(&self) -> &'static str {
        "limits"
    }

    fn play<'a>(&'a self, trip: &'a Trip) -> Work<'a, Result<Value, String>> {
        Box::pin(play(trip))
    }

    fn reply(&self, path: &str, number: &str, step: usize, body: &Value) -> Option<Step> {
        let mark = |place: usize| {
            ("record_again", json!({ "label": format!("limits/{path}#{number}.{step}.{place}") }))
        };
        let sum = ("calculate", json!({ "expression": "6 * 7" }));
        let note = |judge: &str| {
            ("memory_write", json!({ "key": "k", "value": format!("[[fake:limits/{judge}#{number}]]") }))
        };
        Some(match (path, step) {
            ("begin", 0) => text("Yes?"),
            ("plan", 0) => calls([mark(0)]),
            ("plan", 1) => calls([sum]),
            ("plan", 2) => calls([mark(0)]),
            ("count", 0) => calls([mark(0), mark(1), note("judge1")]),
            ("over", 0) => calls([mark(0), note("judge2")]),
            ("plan", 3) | ("count" | "over", 1) => text("That was all."),
            ("judge1", 0) => verdict("allow", "", "one note"),
            ("judge2", 0) => {
                let has_note = body.to_string().contains("one note");
                verdict("block", if has_note { "that was one" } else { "there is no note" }, "two notes")
            }
            _ => return None,
        })
    }

    fn stride(&self) -> u32 {
        30
    }
}

/// The verdict of a hook's model.
pub fn verdict(decision: &str, reason: &str, note: &str) -> Step {
    call("finish_subtask", json!({ "decision": decision, "text": reason, "note": note }))
}

async fn play(trip: &Trip) -> Result<Value, String> {
    let thread = trip.other_id(0);
    let path = format!("/api/threads/{thread}");
    let hooks = [
        ("few", json!({ "builtin": "spawn_limit", "match": ["record_again"], "options": { "most": 3 } })),
        ("plan", json!({ "builtin": "planning_mode", "options": { "until": "calculate" } })),
        (
            "notes",
            json!({ "on": "action", "match": ["memory_write"], "instructions": "Allow one note, then block." }),
        ),
    ];
    let mut turns = Vec::new();
    for (place, name) in [(1, "begin"), (2, "plan"), (3, "count"), (4, "over")] {
        let content = trip.message(name);
        let body = json!({ "thread_id": thread, "turn_id": trip.other_id(place), "content": content });
        let events = trip.chat(&body).await?;
        let results = ["record_again", "calculate", "memory_write"].map(|tool| ends(&events, tool));
        turns.push(json!([answer_of(&events), results]));
        if name == "begin" {
            for (name, hook) in &hooks {
                trip.expect(200, "PUT", &format!("{path}/hooks/{name}"), hook).await?;
            }
        }
    }
    let hooks = trip.get(&format!("{path}/hooks")).await?["hooks"].clone();
    Ok(json!({ "turns": turns, "hooks": hooks, "messages": trip.messages(&thread, 8).await? }))
}
