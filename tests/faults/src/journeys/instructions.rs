//! Custom instructions of a user and of a project: a turn goes on with those that it began with, also where they change while
//! it waits for somebody.

use espalier_test_support::fake_llm::text_of;
use espalier_test_support::{Step, Value, call, json, text};

use super::{Journey, Trip, Work};
use crate::script;

pub struct Instructions;

/// The tool of the client for which the turn waits.
const TOOL: &str = "ui_pick";

impl Journey for Instructions {
    fn name(&self) -> &'static str {
        "instructions"
    }

    fn play<'a>(&'a self, trip: &'a Trip) -> Work<'a, Result<Value, String>> {
        Box::pin(play(trip))
    }

    /// Each reply says which instructions its request had.
    fn reply(&self, path: &str, number: &str, step: usize, body: &Value) -> Option<Step> {
        let has = in_prompt(body).join(" and ");
        Some(match (path, step) {
            ("make", 0) => {
                let description = format!("A garden of {number}");
                let new = json!({ "name": "Garden", "description": description, "template_id": "template_software" });
                call("create_project", new)
            }
            ("turn", 0) => call(TOOL, json!({ "label": "here" })).saying(&format!("First {has}. ")),
            ("turn", 1) => text(&format!("Then {has}.")),
            ("make", 1) | ("next", 0) => text(&format!("With {has}.")),
            _ => return None,
        })
    }

    /// A turn begins with the instructions of the turn before it where D1 does not answer: the first one of a thread begins
    /// without any, and stays without.
    fn without_d1(&self, mut outcome: Value) -> Value {
        for (turn, usual) in [(2, first_turn()), (3, next_turn())] {
            let bare = usual[0].as_str().unwrap_or_default().replace(BEFORE, "").replace(AFTER, "");
            if outcome[turn] == json!([bare, "stop", null]) {
                outcome[turn] = usual;
            }
        }
        outcome
    }

    fn stride(&self) -> u32 {
        15
    }
}

/// The instructions of both before they change, and after.
const BEFORE: &str = "mine of before and ours of before";
const AFTER: &str = "mine of after and ours of after";

/// The entry that the list must have for a turn that began with these instructions.
fn turn_with(answer: String, when: &str) -> Value {
    let of =
        |of: &str, content: String| json!({ "bytes": content.len(), "content_preview": content, "of": of });
    let both = [of("user", format!("mine of {when}")), of("project", format!("ours of {when}"))];
    json!([answer, "stop", both])
}

fn first_turn() -> Value {
    turn_with(format!("First {BEFORE}. \n\nThen {BEFORE}."), "before")
}

fn next_turn() -> Value {
    turn_with(format!("With {AFTER}."), "after")
}

/// The instructions in a request's prompt.
fn in_prompt(body: &Value) -> Vec<String> {
    let prompt = text_of(&body["messages"][0]["content"]);
    let marked = prompt.split("<custom_instructions of=\"").skip(1);
    marked.filter_map(|part| Some(part.split_once("\">\n")?.1.split_once("\n</")?.0.to_owned())).collect()
}

async fn play(trip: &Trip) -> Result<Value, String> {
    let mine = "/api/me/instructions";
    trip.expect(200, "PUT", mine, &json!({ "content": "mine of before" })).await?;
    let body = json!({
        "thread_id": trip.other_id(0), "turn_id": trip.other_id(1), "content": trip.message("make"),
        "chat_context": { "context_type": "project_create" },
    });
    trip.whole_turn(&body).await?;
    let projects = trip.get("/api/projects").await?;
    let [project] = projects["projects"].as_array().map_or(&[][..], Vec::as_slice) else {
        return Err(format!("one turn made the projects {projects}"));
    };
    let id = project["id"].as_str().ok_or("a project without an id")?.to_owned();
    let of_project = format!("/api/projects/{id}/instructions");
    trip.expect(200, "PUT", &of_project, &json!({ "content": "ours of before" })).await?;

    let thread = trip.other_id(2);
    let context = json!({ "kind": "editor", "context_type": "project", "entity_id": id });
    let mut body = json!({
        "thread_id": thread, "turn_id": trip.id(), "content": trip.message("turn"), "chat_context": context,
    });
    body["client_tools"] = script::client_tools();
    let call = trip.parked_turn(&body).await?;
    for (path, content) in [(mine, "mine of after"), (&of_project, "ours of after")] {
        trip.expect(200, "PUT", path, &json!({ "content": content })).await?;
    }
    let result = json!({ "tool_call_id": call, "result": "picked" });
    trip.expect(200, "POST", &format!("/api/threads/{thread}/tool_results"), &result).await?;
    trip.whole_turn(&body).await?;
    // Another thread's object has not read them before.
    let next = json!({
        "thread_id": trip.other_id(3), "turn_id": trip.other_id(4), "content": trip.message("next"),
        "chat_context": { "context_type": "project", "entity_id": id },
    });
    trip.whole_turn(&next).await?;
    let mut outcome = json!([trip.get(mine).await?, trip.get(&of_project).await?]);
    for thread in [thread, trip.other_id(3)] {
        let messages = trip.get(&format!("/api/threads/{thread}/messages")).await?;
        let answer = messages["messages"].as_array().and_then(|all| all.last()).cloned().unwrap_or_default();
        let tree = &answer["execution_tree"]["instructions"];
        outcome
            .as_array_mut()
            .into_iter()
            .for_each(|all| all.push(json!([answer["content"], answer["finish_reason"], tree])));
    }
    Ok(outcome)
}
