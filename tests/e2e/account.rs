//! All data of a user as a whole: its export and its erasure. Issue 23, items 3 and 4.

mod empty;
mod erasers;
mod erasure;
mod export;

use espalier_test_support::case::first;
use espalier_test_support::stored::change_at;
use espalier_test_support::{Case, Client, Step, Value, call, calls, json, text};

use crate::bookmarks::bookmark;
use crate::upgrades::{OLDER, planted_at};

const MAIN: &str = "ESPALIER_STATE_DIR";

/// As much of a picture as the service looks at.
const PICTURE: &str = "data:image/png;base64,iVBORw0KGgo=";
/// A file of more than one piece of the export: `PIECE_BYTES` and a few bytes more.
const LARGE: usize = 196_608 + 7;

/// A user with something of each kind that the service stores, and a mark in the contents of each.
struct Planted {
    case: Case,
    thread: String,
    mark: String,
}

impl Planted {
    /// The mark with a word behind it.
    fn marked(&self, what: &str) -> String {
        marked(&self.mark, what)
    }
}

/// One word, which no tokenizer cuts.
fn marked(mark: &str, what: &str) -> String {
    format!("{mark}{what}")
}

/// A planner's reply with one step.
fn planned(case: &Case, mark: &str) -> Step {
    let step = json!({ "id": "a", "title": marked(mark, "step"), "instructions": case.said("a", "a"), "depends_on": [] });
    call("finish_subtask", json!({ "reasoning": case.said("Because.", "review"), "steps": [step] }))
}

// Long: a line or two for each kind of data.
async fn plant(case: Case, mark: &str) -> Planted {
    let m = |what: &str| marked(mark, what);
    // A thread with an agent, a memory, a file, a failing call, a plan and a project.
    let agent = json!({ "name": "critic", "instructions": m("agent"), "prompt": case.said("Introduce yourself.", "critic") });
    let plan = json!({ "objective": case.said(&m("plan"), "plan"), "execution_mode": "auto_execute" });
    let project =
        json!({ "name": m("project"), "description": "A garden", "template_id": "template_software" });
    let steps = [
        calls([
            ("task", agent),
            ("remember", json!({ "content": m("memory") })),
            ("write_file", json!({ "path": "notes.md", "content": m("file") })),
            ("read_file", json!({ "path": m("missing") })),
        ]),
        text(&m("answer")),
    ];
    case.script("", steps).await;
    case.script("again", [text(&m("version"))]).await;
    case.script("planning", [calls([("agent_create_plan", plan)]), text("All done.")]).await;
    case.script("critic", [text(&m("agents"))]).await;
    case.script("plan", [planned(&case, mark)]).await;
    case.script("a", [text(&m("result"))]).await;
    let content = json!([
        { "type": "text", "text": case.said(&m("question"), "") },
        { "type": "image", "data": PICTURE },
    ]);
    let events = case
        .chat_with(
            &json!({ "content": content, "agents": true, "memory_enabled": true, "model": "other:fake-3" }),
        )
        .await;
    let [thread, message] =
        ["thread_id", "user_message_id"].map(|id| first(&events, "session").text(id).to_owned());
    let again = json!({ "thread_id": thread, "content": case.said(&m("again"), "again"), "replaces_message_id": message });
    // The path has no agent any more.
    case.chat_with(&again).await;
    let planning =
        json!({ "content": case.said("Please", "planning"), "chat_context": { "context_type": "general" } });
    case.chat_with(&planning).await;
    case.script("make", [call("create_project", project), text("Made.")]).await;
    let make = json!({ "content": case.said("Do it", "make"), "chat_context": { "context_type": "project_create" } });
    case.chat_with(&make).await;
    let client = &case.client;
    // An earlier version of a file, and a file of more than one piece.
    let files = format!("/api/threads/{thread}/files");
    client.send("PUT", &format!("{files}/notes.md"), m("newer")).await.expect(200).await;
    let large = m("large") + &"x".repeat(LARGE - m("large").len());
    client.send("PUT", "/api/workspaces/shared/files/large.txt", large).await.expect(200).await;
    let instructions = json!({ "content": m("instructions") });
    client.put("/api/me/instructions", &instructions).await.expect(200).await;
    let collection =
        client.post("/api/collections", &json!({ "name": m("collection") })).await.expect(201).await;
    let id = collection.json().await["id"].as_str().expect("an id").to_owned();
    let document = format!("/api/collections/{id}/documents?name={}", m("name"));
    let markdown = client.with("content-type", "text/markdown");
    markdown.send("POST", &document, format!("# Guide\n\n{}", m("document"))).await.expect(201).await;
    let step = json!({ "id": "a", "title": "A", "instructions": m("workflow") });
    client
        .put("/api/workflows/release", &json!({ "name": "A procedure", "steps": [step] }))
        .await
        .expect(200)
        .await;
    // A session of it, in a thread of its own.
    let sessions = "/api/workflows/release/sessions";
    let started = client.post(sessions, &json!({ "goal": m("goal") })).await.expect(200).await.json().await;
    let ended = json!({
        "continue_token": started["continue_token"], "notesMarkdown": format!("{} {}", m("notes"), "x".repeat(50)),
        "contextUpdates": { "value": m("value") },
    });
    let session = started["session_id"].as_str().expect("an id");
    client.post(&format!("{sessions}/{session}/continue"), &ended).await.expect(200).await;
    let hook = json!({ "builtin": "loop_guard", "options": { "times": 3 } });
    client.put(&format!("/api/threads/{thread}/hooks/guard"), &hook).await.expect(200).await;
    bookmark(client, &thread, &message).await;
    client.post(&format!("/api/threads/{thread}/shares"), &json!({})).await.expect(201).await;
    Planted { mark: mark.to_owned(), case, thread }
}

/// A thread of a visitor whose object fails each time, because a newer version of the service has written to it; and the
/// object's name.
async fn failing(client: &Client) -> (String, String) {
    let tables = format!("{}; UPDATE meta SET schema_version = 99", OLDER[6]);
    let (thread, object) = planted_at(MAIN, client, &tables).await;
    let session = client.post("/api/session", &json!({})).await.expect(200).await.json().await;
    let user = session["user_id"].as_str().expect("a user");
    let row = format!("'public', 'anonymous:{user}', '{thread}', '', 1, 1");
    let columns = "tenant, user_id, id, title, created_at, updated_at";
    change_at(MAIN, &format!("INSERT INTO threads ({columns}) VALUES ({row})")).await;
    (thread, object)
}

/// The texts of a JSON value's member in lines of a kind.
fn texts(lines: &[Value], kind: &str, member: &str) -> Vec<String> {
    let of_kind = lines.iter().filter(|line| line["kind"] == kind);
    of_kind.map(|line| line[member].as_str().unwrap_or_default().to_owned()).collect()
}
