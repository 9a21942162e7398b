//! Agents that last over the turns of a thread: asked alone and in a discussion, with a hook that a person adds after they
//! were made. Each agent has its earlier rounds in its requests, each once and in order, and the hook its note.

use espalier_test_support::fake_llm::text_of;
use espalier_test_support::{Step, Value, call, calls, json, text};

use super::chat::{answer_of, ends};
use super::limits::verdict;
use super::{Journey, Trip, Work};

pub struct Lasting;

impl Journey for Lasting {
    fn name(&self) -> &'static str {
        "lasting"
    }

    fn play<'a>(&'a self, trip: &'a Trip) -> Work<'a, Result<Value, String>> {
        Box::pin(play(trip))
    }

    /// The marker of an agent has the number of its question: `a2` is the second one to `a`.
    fn reply(&self, path: &str, number: &str, step: usize, body: &Value) -> Option<Step> {
        let make = |who: &str| {
            let instructions = format!("You speak. [[speaker:lasting/{who}#{number}]]");
            json!({ "name": who, "instructions": instructions })
        };
        let ask = |who: &str, prompt: &str| ("task", json!({ "name": who, "prompt": prompt }));
        let note = |judge: &str| {
            call("memory_write", json!({ "key": "k", "value": format!("[[fake:lasting/{judge}#{number}]]") }))
        };
        Some(match (path, step) {
            ("meet", 0) => {
                let mut first = make("a");
                first["prompt"] = json!("One?");
                calls([("task", first), ("task", make("b"))])
            }
            ("again", 0) => {
                calls([ask("a", "Two?"), ("discuss", json!({ "prompt": "Three?", "speakers": ["a", "b"] }))])
            }
            ("last", 0) => calls([ask("b", "Four?"), ask("a", "Five?")]),
            ("meet" | "again" | "last", 1) => text("They have spoken."),
            ("a1" | "a3", 0) => {
                call("record_again", json!({ "label": format!("lasting/{path}#{number}.0.0") }))
            }
            ("b1", 0) => note("judge1"),
            ("b2", 0) => note("judge2"),
            ("a2" | "a4", 0) | ("a1" | "a3" | "b1" | "b2", 1) => {
                text(&format!("{path} heard {}", questions(body)))
            }
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

/// All questions of a request, in their order.
fn questions(body: &Value) -> String {
    let messages = body["messages"].as_array().into_iter().flatten();
    let questions = messages.filter(|message| message["role"] == "user");
    questions.map(|question| text_of(&question["content"])).collect::<Vec<_>>().join(", ")
}

async fn play(trip: &Trip) -> Result<Value, String> {
    let thread = trip.other_id(0);
    let path = format!("/api/threads/{thread}");
    let mut turns = Vec::new();
    for (place, name) in [(1, "meet"), (2, "again"), (3, "last")] {
        let content = trip.message(name);
        let body = json!({
            "thread_id": thread, "turn_id": trip.other_id(place), "content": content, "agents": true,
        });
        let events = trip.chat(&body).await?;
        let [asked, discussed, notes] = ["task", "discuss", "memory_write"].map(|tool| ends(&events, tool));
        turns.push(json!([answer_of(&events), asked, discussed, notes]));
        if name == "meet" {
            let hook = json!({ "on": "action", "match": ["memory_write"], "instructions": "Allow one note, then block." });
            trip.expect(200, "PUT", &format!("{path}/hooks/count"), &hook).await?;
        }
    }
    let agents = trip.get(&format!("{path}/agents")).await?["agents"].clone();
    let last = turns[2].to_string();
    let heard = [
        "a4 heard One?, Two?, Three?, <speaker name",
        "b2 heard Three?",
        "blocked by hook count: that was one",
    ];
    if let Some(missing) = heard.into_iter().find(|heard| !last.contains(heard)) {
        return Err(format!("the last turn has no {missing:?}: {last}"));
    }
    let [a, b] = [rounds(trip, &path, "a").await?, rounds(trip, &path, "b").await?];
    Ok(
        json!({ "turns": turns, "agents": agents, "a": a, "b": b, "messages": trip.messages(&thread, 6).await? }),
    )
}

async fn rounds(trip: &Trip, path: &str, name: &str) -> Result<Value, String> {
    Ok(trip.get(&format!("{path}/agents/{name}/messages")).await?["rounds"].clone())
}
