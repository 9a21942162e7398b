//! A procedure of three steps. A turn that fails leaves its session at a step, and the next turn of the thread goes on
//! there, so the model's replies go by the step that the request names and not by their number.

use espalier_test_support::fake_llm::{position, text_of};
use espalier_test_support::{Value, json};

/// The id of the workflow.
pub const WORKFLOW: &str = "storm";
/// The number of its steps.
pub const COUNT: u64 = 3;

/// The definition. The second step has one object in place of free calls, and the last one names its tools.
pub fn definition() -> Value {
    let step = |number: u64, more: Value| {
        let mut step = json!({ "id": format!("s{number}"), "title": format!("Part {number}"), "instructions": "Do it." });
        let members = more.as_object().cloned().unwrap_or_default();
        step.as_object_mut().into_iter().for_each(|step| step.extend(members.clone()));
        step
    };
    json!({
        "name": "Storm",
        "steps": [
            step(1, json!({})),
            step(2, json!({ "output_mode": "structured_output" })),
            step(3, json!({ "tools": ["record_once", "record_again"] })),
        ],
    })
}

/// The notes of a step.
pub fn notes(step: u64) -> String {
    format!("Part {step} of the storm is done, and each of its calls has left its row.")
}

/// The marker of the step that a request is about, and the number of the replies in it; none in any other turn.
pub fn place(body: &Value) -> Option<(String, usize)> {
    let (marker, _) = position(body)?;
    let (_, number) = marker.split_once("steps#")?;
    let messages = body["messages"].as_array()?;
    let begins = |message: &Value| message["role"] == "user" && step_of(message).is_some();
    let at = messages.iter().rposition(begins)?;
    let replies = messages.iter().skip(at).filter(|message| message["role"] == "assistant").count();
    Some((format!("steps/s{}#{number}", open(body)?), replies))
}

/// The step with which a message begins.
fn step_of(message: &Value) -> Option<u64> {
    let text = text_of(&message["content"]);
    if text.starts_with("All steps of the procedure") {
        return Some(COUNT + 1);
    }
    text.strip_prefix("Step ")?.split_once(" of ")?.0.parse().ok()
}

/// The step that a request is about: 1 to 3, or beyond them after the last one. None in any other turn.
pub fn open(body: &Value) -> Option<u64> {
    let messages = body["messages"].as_array()?;
    messages.iter().rev().filter(|message| message["role"] == "user").find_map(step_of)
}

/// The calls of the reply to a step: two that leave rows, and its end. `label` names a call by its place.
pub fn calls(step: u64, label: impl Fn(usize) -> Value) -> Option<Vec<(&'static str, Value)>> {
    let once = |place| ("record_once", label(place));
    let again = |place| ("record_again", label(place));
    let end = ("complete_step", json!({ "notesMarkdown": notes(step) }));
    Some(match step {
        1 => vec![once(0), again(1), end],
        2 => {
            let made = [once(0), again(1)].map(|(tool, params)| json!({ "tool": tool, "params": params }));
            let output = json!({ "notesMarkdown": notes(step), "isComplete": true, "toolCalls": made });
            vec![("__step_output__", output)]
        }
        3 => vec![again(0), end, once(2)],
        _ => return None,
    })
}
