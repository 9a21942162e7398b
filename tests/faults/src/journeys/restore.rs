//! An agent that is dumped in one thread and restored in another: it is there once, remembers what it did, and hears once that
//! it woke elsewhere. And a conversation that comes with the first request of a client: the thread imports it once.

use espalier_test_support::{Step, Value, call, json, text};

use super::{Journey, Trip, Work};

pub struct Restore;

impl Journey for Restore {
    fn name(&self) -> &'static str {
        "restore"
    }

    fn play<'a>(&'a self, trip: &'a Trip) -> Work<'a, Result<Value, String>> {
        Box::pin(play(trip))
    }

    fn reply(&self, path: &str, number: &str, step: usize, body: &Value) -> Option<Step> {
        Some(match (path, step) {
            ("begin", 0) => {
                let prompt = format!("Dig. [[fake:restore/hand#{number}]]");
                call("task", json!({ "name": "hand", "instructions": "You dig.", "prompt": prompt }))
            }
            ("hand", 0) => text("Dug."),
            ("again", 0) => text(&format!("I remember {}.", own_answers(body))),
            ("begin", 1) | ("plain" | "import", 0) => text(&format!("After {}.", own_answers(body))),
            _ => return None,
        })
    }

    fn stride(&self) -> u32 {
        7
    }
}

/// The model's earlier answers in its request.
fn own_answers(body: &Value) -> String {
    let messages = body["messages"].as_array().into_iter().flatten();
    let own = messages.filter(|message| message["role"] == "assistant");
    own.filter_map(|message| message["content"].as_str()).collect::<Vec<_>>().join(", ")
}

async fn play(trip: &Trip) -> Result<Value, String> {
    let [from, to] = [0, 1].map(|place| trip.other_id(place));
    let turn = async |thread: &str, place: u32, path: &str, more: Value| {
        let mut body =
            json!({ "thread_id": thread, "turn_id": trip.other_id(place), "content": trip.message(path) });
        for (name, value) in more.as_object().into_iter().flatten() {
            body[name] = value.clone();
        }
        trip.whole_turn(&body).await
    };
    turn(&from, 2, "begin", json!({ "agents": true })).await?;
    turn(&to, 3, "plain", json!({})).await?;
    let dump = trip.get(&format!("/api/threads/{from}/agents/hand/dump")).await?;
    let there = format!("/api/threads/{to}/agents");
    let restored = trip.ask("POST", &format!("{there}?as=boss"), &[], &dump).await?;
    // Where the first answer was lost its name is taken.
    if restored.status != 200 && restored.json()["code"] != "agent_exists" {
        return Err(format!("a dump was answered with {}: {}", restored.status, restored.text));
    }
    let woken = trip.get(&format!("{there}/boss/dump")).await?;
    turn(&to, 4, "again", json!({ "agent": "boss" })).await?;
    let list = trip.get(&there).await?;

    let messages = json!([
        { "role": "user", "content": "Which tree?" },
        { "role": "assistant", "content": "A pear." },
        { "role": "user", "content": trip.message("import") },
    ]);
    let key = trip.id();
    let body = json!({ "messages": messages });
    let answer = trip.ask("POST", "/v1/chat/completions", &[("idempotency-key", &key)], &body).await?;
    if answer.status != 200 {
        return Err(format!("a completion was answered with {}: {}", answer.status, answer.text));
    }
    let thread = answer.json()["metadata"]["thread_id"].as_str().unwrap_or_default().to_owned();
    let imported = trip.get(&format!("/api/threads/{thread}/messages")).await?;
    Ok(json!({
        "woken": woken, "agents": list["agents"], "speaks": texts(trip, &to).await?,
        "answer": [json!(answer.status), answer.json()["choices"][0]["message"]["content"].clone()],
        "imported": imported["messages"].as_array().map(|all| all.iter().map(words).collect::<Vec<_>>()),
        "threads": trip.get("/api/threads").await?["threads"].as_array().map(Vec::len),
    }))
}

async fn texts(trip: &Trip, thread: &str) -> Result<Value, String> {
    let messages = trip.get(&format!("/api/threads/{thread}/messages")).await?;
    Ok(messages["messages"].as_array().into_iter().flatten().map(words).collect())
}

fn words(message: &Value) -> Value {
    json!([message["role"], message["content"]])
}
