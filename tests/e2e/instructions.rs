//! Custom instructions of a user and of a project: a part of the prompt of each turn's root.
//!
//! Issue 23, 8

use espalier_test_support::case::first;
use espalier_test_support::client::assert_problem;
use espalier_test_support::http::Reply;
use espalier_test_support::identity::users;
use espalier_test_support::stored::{change_at, d1, d1_at, eventually};
use espalier_test_support::{Case, Client, Step, Value, call, calls, deltas, env, json, text};

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

const CLIENTS_MARK: &str = "<client_instructions of=\"application\">\n";

/// The instructions of a client in the newest prompt.
async fn of_client(case: &Case) -> Option<String> {
    let requests = case.requests("").await.requests;
    let prompt = requests.last()?.contents()[0].to_string();
    let (_, rest) = prompt.split_once(CLIENTS_MARK)?;
    Some(rest.split("\n</client_instructions>").next()?.to_owned())
}

// Issue 44: LangChain's system message, the instructions of agents, the system text of the AI SDK.
#[tokio::test]
async fn the_instructions_of_a_client_reach_the_model() {
    let case = Case::new().await;
    case.script("", vec![text("Arr."); 5]).await;
    let said = case.said("Hello", "");
    let user = json!({ "role": "user", "content": said });
    let system = json!({ "role": "system", "content": "You are a pirate." });
    let part = json!({ "type": "text", "text": "You are a pirate." });
    let ui = |id: &str, role: &str, text: &str| json!({ "id": id, "role": role, "parts": [{ "type": "text", "text": text }] });
    for (path, body) in [
        ("/api/chat", json!({ "content": said, "instructions": " You are a pirate.\n" })),
        ("/v1/chat/completions", json!({ "messages": [system, user] })),
        ("/v1/chat/completions", json!({ "messages": [{ "role": "developer", "content": [part] }, user] })),
        ("/v1/responses", json!({ "input": said, "instructions": "You are a pirate." })),
        ("/v1/responses", json!({ "input": [system, user] })),
        (
            "/api/ai-sdk/chat",
            json!({ "id": "a", "system": "You are a pirate.", "messages": [ui("u", "user", &said)] }),
        ),
        (
            "/api/ai-sdk/chat",
            json!({ "id": "b", "messages": [ui("s", "system", "You are a pirate."), ui("u", "user", &said)] }),
        ),
    ] {
        case.script("", [text("Arr.")]).await;
        let reply = case.client.post(path, &body).await.expect(200).await;
        assert_eq!(reply.header("warning"), "", "{path}");
        reply.text().await;
        assert_eq!(of_client(&case).await.as_deref(), Some("You are a pirate."), "{path} {body}");
    }
    // A turn without any has no section, and the tree of the others shows theirs.
    case.script("", [text("Hello.")]).await;
    let events = case.chat_with(&json!({ "content": said, "instructions": "Be kind." })).await;
    let messages = case.client.messages(first(&events, "session").text("thread_id")).await;
    let shown = json!({ "content_preview": "Be kind.", "bytes": 8 });
    assert_eq!(messages[1]["execution_tree"]["client_instructions"], shown);
    case.script("", [text("Hello.")]).await;
    case.chat("Hello").await;
    assert_eq!(of_client(&case).await, None);
    let long = json!({ "content": "Hello", "instructions": "x".repeat(20_001) });
    let refused = case.client.post("/api/chat", &long).await;
    assert_problem(refused, 400, "invalid_request", Some("instructions")).await;
}

// `CLIENT_INSTRUCTIONS=off`.
#[tokio::test]
async fn an_operator_may_keep_the_instructions_of_clients_out() {
    let case = Case::of(Client::anonymous_at(&env("ESPALIER_AI_URL")).await);
    let said = case.said("Hello", "");
    let long = json!({ "role": "system", "content": "x".repeat(20_001) });
    let chat = json!({ "messages": [long, { "role": "user", "content": said }] });
    let response = json!({ "input": said, "instructions": "You are a pirate." });
    for (path, body, ignored) in
        [("/v1/chat/completions", chat, "system"), ("/v1/responses", response, "instructions")]
    {
        case.script("", [deltas(["Hello."])]).await;
        let reply = case.client.post(path, &body).await.expect(200).await;
        assert_eq!(reply.header("warning"), format!("299 espalier \"ignored: {ignored}\""));
        reply.text().await;
        assert_eq!(of_client(&case).await, None);
    }
}
