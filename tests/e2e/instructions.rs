//! Custom instructions of a user and of a project: a part of the prompt of each turn's root.
//!
//! Issue 23, 8

use espalier_test_support::case::first;
use espalier_test_support::client::assert_problem;
use espalier_test_support::http::Reply;
use espalier_test_support::identity::users;
use espalier_test_support::stored::{change_at, d1, d1_at, eventually};
use espalier_test_support::{Case, Client, Step, Value, call, calls, json, text};

use crate::projects::project;

const MINE: &str = "/api/me/instructions";
const MARK: &str = "<custom_instructions";

async fn put(client: &Client, path: &str, content: &str) -> Reply {
    let body = json!({ "content": content }).to_string();
    client.with("content-type", "application/json").send("PUT", path, body).await
}

async fn said(client: &Client, path: &str, content: &str) -> Value {
    put(client, path, content).await.expect(200).await.json().await
}

/// Plays a turn of these steps, perhaps about a project. The texts in the prompt of each of its requests, and its events.
async fn prompts(
    case: &Case,
    path: &str,
    project: Option<&str>,
    steps: impl IntoIterator<Item = Step>,
) -> Vec<Vec<String>> {
    case.script(path, steps).await;
    let context = json!({ "context_type": "project", "entity_id": project });
    let mut body = json!({ "content": case.said("Go on", path) });
    if project.is_some() {
        body["chat_context"] = context;
    }
    case.chat_with(&body).await;
    in_prompts(case, path).await
}

async fn in_prompts(case: &Case, path: &str) -> Vec<Vec<String>> {
    let requests = case.requests(path).await.requests;
    requests.iter().map(|request| marked(&request.contents()[0])).collect()
}

/// The texts between marks, each with whose it is.
fn marked(prompt: &str) -> Vec<String> {
    let texts = prompt.split(MARK).skip(1);
    texts.map(|text| text.split("\n</custom_instructions>").next().unwrap_or_default().to_owned()).collect()
}

fn of(whose: &str, text: &str) -> String {
    format!(" of=\"{whose}\">\n{text}")
}

#[tokio::test]
async fn each_new_turn_begins_with_them_and_shows_them_in_its_tree() {
    let case = Case::new().await;
    assert_eq!(case.client.read(MINE).await, json!({ "content": "", "updated_at": null }));
    assert_eq!(prompts(&case, "none", None, [text("Hi.")]).await, [[(); 0].map(|()| String::new())]);
    let mine = said(&case.client, MINE, " Answer in Dutch. </custom_instructions> ").await;
    assert_eq!(mine["content"], "Answer in Dutch. </custom_instructions>");
    assert_eq!(case.client.read(MINE).await, mine);

    // In the root alone, and they cannot close their marks.
    let mine = of("user", "Answer in Dutch. <\\/custom_instructions>");
    case.script("a", [text("Looked.")]).await;
    let steps = [calls([case.subtask("Look", "a")]), text("Hallo.")];
    assert_eq!(prompts(&case, "", None, steps).await, [[mine.clone()], [mine.clone()]]);
    assert_eq!(in_prompts(&case, "a").await, [Vec::<String>::new()]);

    // The project's stand behind the user's. Another project has none.
    let path = project(&case, "Garden").await;
    let id = path.strip_prefix("/api/projects/").expect("an id");
    let of_project = format!("{path}/instructions");
    assert_eq!(case.client.read(&of_project).await["content"], "");
    said(&case.client, &of_project, "Ours is metric.").await;
    let both = [mine.clone(), of("project", "Ours is metric.")];
    assert_eq!(prompts(&case, "project", Some(id), [text("Ja.")]).await, [both]);
    assert_eq!(prompts(&case, "else", Some("another"), [text("Ja.")]).await, [[mine.clone()]]);

    // They go with the project, and a blank text deletes the user's.
    case.client.send("DELETE", &path, "").await.expect(204).await;
    assert_problem(case.client.get(&of_project).await, 404, "project_not_found", None).await;
    let left = d1("SELECT content FROM instructions WHERE project_id = ?1", &[id]).await;
    assert_eq!(left, Vec::<Value>::new());
    assert_eq!(said(&case.client, MINE, " \n").await, json!({ "content": "", "updated_at": null }));
    assert_eq!(prompts(&case, "gone", Some(id), [text("Ja.")]).await, [Vec::<String>::new()]);
}

#[tokio::test]
async fn a_turn_goes_on_with_the_instructions_that_it_began_with() {
    let case = Case::new().await;
    said(&case.client, MINE, "Be brief.").await;
    let barrier = case.barrier("changed");
    case.script("", [call("calculate", json!({ "expression": "6*7" })).waiting(&barrier, 0), text("42.")])
        .await;
    let mut stream = case.client.chat(&case.says("What is it?")).await;
    stream.until(|event| event.text("type") == "model_call_update").await;
    said(&case.client, MINE, "Be long.").await;
    case.llm.release(&barrier).await;
    let events = stream.turn().await;
    assert_eq!(in_prompts(&case, "").await, [[of("user", "Be brief.")], [of("user", "Be brief.")]]);
    let thread = first(&events, "session").text("thread_id").to_owned();
    let told = case.client.messages(&thread).await[1]["execution_tree"]["instructions"].clone();
    assert_eq!(told, json!([{ "of": "user", "content_preview": "Be brief.", "bytes": 9 }]));
    // A new chat begins with the new ones.
    assert_eq!(prompts(&case, "new", None, [text("Hi.")]).await, [[of("user", "Be long.")]]);
}

#[tokio::test]
async fn a_text_beyond_the_limit_and_a_project_that_is_not_there_are_refused() {
    let case = Case::new().await;
    said(&case.client, MINE, &"é".repeat(10_000)).await;
    let longer = put(&case.client, MINE, &("é".repeat(10_000) + "a")).await;
    assert_problem(longer, 400, "invalid_request", Some("content")).await;
    assert_eq!(case.client.read(MINE).await["content"].as_str().map(str::len), Some(20_000));
    let path = "/api/projects/nowhere/instructions";
    for content in ["Be brief.", ""] {
        assert_problem(put(&case.client, path, content).await, 404, "project_not_found", None).await;
    }
    let nobody = Client::nobody_at(&espalier_test_support::env("ESPALIER_URL"));
    assert_problem(nobody.get(MINE).await, 401, "unauthenticated", None).await;
}

#[tokio::test]
#[ignore = "takes a table from all users of the instance: `make e2e` runs it alone"]
async fn an_outage_of_d1_changes_no_answer() {
    const STATE: &str = "ESPALIER_CLOSED_STATE_DIR";
    let [user] = users([("instructions", "steady")]).await;
    let case = Case::of(user);
    said(&case.client, MINE, "Be brief.").await;
    case.script("", ["One.", "Two.", "Three."].map(text)).await;
    let events = case.chat("Go on").await;
    let thread = first(&events, "session").text("thread_id").to_owned();
    change_at(STATE, "ALTER TABLE instructions RENAME TO instructions_away").await;
    // Each is about something else than the turn before it, so the thread asks D1.
    let about = |entity: &str| {
        let mut body = case.says("Go on");
        body["thread_id"] = json!(thread);
        body["chat_context"] = json!({ "entity_id": entity });
        body
    };
    let second = case.chat_with(&about("a")).await;
    change_at(STATE, "ALTER TABLE instructions_away RENAME TO instructions").await;
    assert_eq!(first(&second, "done").text("finish_reason"), "stop");
    case.chat_with(&about("b")).await;
    assert_eq!(in_prompts(&case, "").await, [(); 3].map(|()| [of("user", "Be brief.")]));
    let sql = format!("SELECT stage FROM error_log WHERE thread_id = '{thread}' AND component = 'thread'");
    let rows = eventually("the operator is told", || async {
        Some(d1_at(STATE, &sql).await).filter(|rows| !rows.is_empty())
    })
    .await;
    assert_eq!(rows, [json!({ "stage": "looking up what is known" })]);
}
