//! A step of a workflow whose verifier sends it back once and then lets it pass, and a step without one.

use espalier_test_support::{Step, Value, calls, json, text};

use super::chat::answer_of;
use super::{Journey, Trip, Work};
use crate::script::steps::notes;

pub struct Verifier;

impl Journey for Verifier {
    fn name(&self) -> &'static str {
        "verifier"
    }

    fn stride(&self) -> u32 {
        2
    }

    fn play<'a>(&'a self, trip: &'a Trip) -> Work<'a, Result<Value, String>> {
        Box::pin(play(trip))
    }

    fn reply(&self, path: &str, number: &str, step: usize, _body: &Value) -> Option<Step> {
        let label = || json!({ "label": format!("verifier/{path}#{number}.{step}.0") });
        let end = |judge: &str| {
            let notes = format!("{} [[fake:verifier/{judge}#{number}]]", notes(1));
            ("complete_step", json!({ "notesMarkdown": notes }))
        };
        let verdict = |assessment: &str| {
            let verdict = json!({
                "assessment": assessment, "reasoning": "So it is.", "retry_instruction": "Look once more.",
            });
            calls([("finish_subtask", verdict)])
        };
        Some(match (path, step) {
            ("a", 0) => calls([("record_once", label()), end("early")]),
            ("a", 1) => calls([("record_again", label()), end("late")]),
            ("b", 0) => calls([("record_once", label()), end("unasked")]),
            ("early", 0) => verdict("retry"),
            ("late", 0) => verdict("pass"),
            ("", _) => text("All done."),
            _ => return None,
        })
    }

    fn journaled_level(&self, path: &str, step: usize) -> Option<&'static str> {
        match (path, step) {
            ("a", 1) => Some("early"),
            ("b", 0) => Some("late"),
            _ => None,
        }
    }
}

async fn play(trip: &Trip) -> Result<Value, String> {
    let step = |id: &str| {
        let instructions = format!("Do {id}. [[fake:{}]]", trip.marker(id));
        json!({ "id": id, "title": id, "instructions": instructions })
    };
    let mut judged = step("a");
    judged["verifier"] = json!({ "threshold": "high" });
    let definition = json!({ "name": "Judged", "steps": [judged, step("b")] });
    trip.ask("PUT", "/api/workflows/judged", &[], &definition).await?;
    let thread = trip.id();
    let body = json!({
        "thread_id": thread, "turn_id": thread, "content": trip.message(""), "workflow_target": "workflow",
        "workflow_id": "judged",
    });
    let events = trip.chat(&body).await?;
    let updates: Vec<Value> = events
        .iter()
        .filter(|event| event.kind == "workflow_update")
        .map(|event| json!([event.data["status"], event.data["reason"], event.data["step"]]))
        .collect();
    let detail = trip.get(&format!("/api/threads/{thread}")).await?;
    Ok(json!({
        "said": answer_of(&events), "updates": updates, "session": detail["workflow_session"],
        "messages": trip.messages(&thread, 2).await?,
    }))
}
