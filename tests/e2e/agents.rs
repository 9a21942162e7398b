//! Agents that stay: made by a model, kept with the turns of the thread's path, listed, talked to, dumped and restored by
//! routes. Issue 20, items 2 and 4.

mod dumps;
mod hostile;
mod listed;
mod stored_size;
mod websearch;

use espalier_test_support::case::first;
use espalier_test_support::client::assert_problem;
use espalier_test_support::{Case, Client, Event, Value, call, calls, env, json, new_id, stored, text};

fn task(case: &Case, name: &str) -> (&'static str, Value) {
    let prompt = case.said(&format!("Introduce yourself, {name}."), name);
    ("task", json!({ "name": name, "instructions": format!("You are {name}."), "prompt": prompt }))
}

/// A turn whose model makes two critics and has them discuss apples.
async fn discussed(case: &Case) -> (String, Vec<Event>) {
    case.script("sweet", [text("I am sweet."), text("Like honey."), text("Still like honey.")]).await;
    case.script("sour", [text("I am sour."), text("Like vinegar."), text("Still like vinegar.")]).await;
    let people = json!({ "prompt": "What of apples?", "speakers": ["sweet", "sour"] });
    let steps =
        [calls([task(case, "sweet"), task(case, "sour")]), call("discuss", people), text("They disagree.")];
    case.script("meeting", steps).await;
    let thread = new_id();
    let body =
        json!({ "thread_id": thread, "content": case.said("Discuss apples.", "meeting"), "agents": true });
    let events = case.chat_with(&body).await;
    (thread, events)
}

fn updates(events: &[Event]) -> Vec<String> {
    let updates = events.iter().filter(|event| event.kind == "agent_update");
    updates.map(|event| format!("{} {}", event.text("name"), event.text("status"))).collect()
}

fn result_of(events: &[Event], name: &str) -> String {
    let ends = |event: &&Event| event.data["name"] == name && event.data["status"] == "end";
    let end = events.iter().filter(|event| event.kind == "tool_call_update").find(ends);
    end.unwrap_or_else(|| panic!("{name} has no end")).text("result").to_owned()
}

/// The texts of the messages that a model got, in order.
fn heard(request: &Value) -> Vec<String> {
    let messages = request["messages"].as_array().cloned().unwrap_or_default();
    let words = |message: &Value| message["content"].as_str().unwrap_or_default().to_owned();
    messages.iter().map(|message| words(message).split(" [[").next().unwrap_or_default().to_owned()).collect()
}

async fn agents(client: &Client, thread: &str) -> Vec<Value> {
    client.read(&format!("/api/threads/{thread}/agents")).await["agents"]
        .as_array()
        .cloned()
        .unwrap_or_default()
}

async fn rounds(client: &Client, thread: &str, name: &str) -> Vec<Value> {
    let list = client.read(&format!("/api/threads/{thread}/agents/{name}/messages")).await;
    assert_eq!(list["next_cursor"], Value::Null);
    list["rounds"].as_array().cloned().unwrap_or_default()
}

// A-029 A-032 A-045 A-047 A-048 A-092 A-095 A-100 A-110
#[tokio::test]
async fn two_critics_discuss() {
    let case = Case::new().await;
    let (thread, events) = discussed(&case).await;
    let expected = [
        "sweet created",
        "sweet speaking",
        "sweet silent",
        "sour created",
        "sour speaking",
        "sour silent",
        "sweet speaking",
        "sweet silent",
        "sour speaking",
        "sour silent",
    ];
    assert_eq!(updates(&events), expected);
    let both = [says("sweet", "Like honey."), says("sour", "Like vinegar.")].join("\n\n");
    assert_eq!(result_of(&events, "discuss"), both);
    let asked = case.requests("sour").await.requests;
    let last = &asked[1].body;
    assert_eq!(
        heard(last),
        [
            "You are sour.",
            "Introduce yourself, sour.",
            "I am sour.",
            &format!("What of apples?\n\n{}", says("sweet", "Like honey."))
        ]
    );
    let usage = &first(&events, "done").data["usage"];
    assert_eq!((&usage["subtasks"], &usage["llm_calls"]), (&json!(4), &json!(3 + 4)));
    let ends = |event: &&Event| event.kind == "model_call_update" && event.data["status"] == "end";
    let by: Vec<_> = events
        .iter()
        .filter(ends)
        .map(|event| event.data["agent"].clone())
        .filter(|by| !by.is_null())
        .collect();
    assert_eq!(by, ["sweet", "sour", "sweet", "sour"]);
    stored::eventually("D1 has the speakers' usage", || async {
        let sql = "SELECT 1 FROM llm_usage WHERE thread_id = ? AND operation_type = 'agent'";
        (stored::d1(sql, &[&thread]).await.len() == 4).then_some(())
    })
    .await;

    let list = agents(&case.client, &thread).await;
    let names: Vec<_> =
        list.iter().map(|agent| (agent["name"].as_str(), agent["instructions"].as_str())).collect();
    assert_eq!(names, [(Some("sour"), Some("You are sour.")), (Some("sweet"), Some("You are sweet."))]);
    assert_eq!(list[1]["heard"], json!([says("sour", "Like vinegar.")]));
    assert_eq!(rounds(&case.client, &thread, "sour").await.len(), 2);
}

/// The words of a speaker, as others get them.
fn says(name: &str, words: &str) -> String {
    format!("<speaker name=\"{name}\">\n{words}\n</speaker>")
}

// A-029 A-053 A-057 A-095: agents live on in later turns, on the path that has the turns which they took part in.
#[tokio::test]
async fn critics_remember_on_the_path_of_their_turns() {
    let case = Case::new().await;
    let (thread, _) = discussed(&case).await;
    // Nobody is named, so the same people go on.
    case.script("again", [call("discuss", json!({ "prompt": "Again?" })), text("As before.")]).await;
    let body = json!({ "thread_id": thread, "content": case.said("Go on.", "again"), "agents": true });
    let events = case.chat_with(&body).await;
    let both = [says("sweet", "Still like honey."), says("sour", "Still like vinegar.")].join("\n\n");
    assert_eq!(result_of(&events, "discuss"), both);
    let asked = case.requests("sweet").await.requests;
    assert_eq!(
        heard(&asked[2].body)[3..],
        ["What of apples?", "Like honey.", &format!("{}\n\nAgain?", says("sour", "Like vinegar."))]
    );

    // A version of that turn stands on another path, where the second discussion was never held.
    let message = first(&events, "session").text("user_message_id").to_owned();
    case.script("instead", [text("Hello.")]).await;
    let body = json!({
        "thread_id": thread, "content": case.said("Hello.", "instead"), "agents": true, "replaces_message_id": message,
    });
    case.chat_with(&body).await;
    assert_eq!(rounds(&case.client, &thread, "sweet").await.len(), 2);
    assert_eq!(agents(&case.client, &thread).await.len(), 2);

    // Without `agents` the toolbelt is as it was.
    case.script("plain", [text("Hello.")]).await;
    let body = json!({ "thread_id": thread, "content": case.said("Hello.", "plain") });
    case.chat_with(&body).await;
    let offered = |request: &Value| request["tools"].to_string().contains("\"discuss\"");
    assert!(!offered(&case.requests("plain").await.requests[0].body));
    assert!(offered(&case.requests("instead").await.requests[0].body));
}

// A-092, issue 20, 4: the agent answers, and `main` does not hear it.
#[tokio::test]
async fn a_person_talks_to_an_agent() {
    let case = Case::new().await;
    let (thread, _) = discussed(&case).await;
    case.script("talk", [text("Only to you.")]).await;
    let body = json!({ "thread_id": thread, "content": case.said("A secret?", "talk"), "agent": "sweet" });
    let events = case.chat_with(&body).await;
    assert_eq!(first(&events, "model_call_update").data["agent"], "sweet");
    let asked = heard(&case.requests("talk").await.requests[0].body);
    assert_eq!(asked[0], "You are sweet.");
    assert_eq!(asked[5..], [&says("sour", "Like vinegar."), "A secret?"]);
    assert_eq!(case.client.messages(&thread).await.last().expect("an answer")["content"], "Only to you.");
    assert_eq!(rounds(&case.client, &thread, "sweet").await.len(), 3);

    case.script("main", [text("What secret?")]).await;
    let body = json!({ "thread_id": thread, "content": case.said("Hello.", "main"), "agents": true });
    case.chat_with(&body).await;
    let asked = case.requests("main").await.requests[0].body.to_string();
    assert!(!asked.contains("secret") && asked.contains("They disagree."));

    for (agent, thread) in [("nobody", thread.clone()), ("sweet", new_id())] {
        let body = json!({ "thread_id": thread, "content": "Hello.", "agent": agent });
        assert_problem(case.client.post("/api/chat", &body).await, 404, "agent_not_found", None).await;
    }
    let body = json!({ "thread_id": thread, "content": "Hello.", "agent": "x".repeat(33) });
    assert_problem(case.client.post("/api/chat", &body).await, 400, "invalid_request", Some("agent")).await;
}

// A-095 A-096 A-108, issue 20, 4
#[tokio::test]
async fn an_agent_is_dumped_restored_and_ended() {
    let case = Case::new().await;
    let (thread, _) = discussed(&case).await;
    let of = |thread: &str, name: &str| format!("/api/threads/{thread}/agents/{name}");
    let mut dump = case.client.read(&format!("{}/dump", of(&thread, "sour"))).await;
    assert_eq!(dump["rounds"].as_array().map(Vec::len), Some(2));
    let there = format!("/api/threads/{thread}/agents");
    assert_problem(case.client.post(&there, &dump).await, 409, "agent_exists", None).await;
    dump["name"] = json!("bitter");
    let list: Value = case.client.post(&there, &dump).await.expect(200).await.json().await;
    assert_eq!(list["agents"].as_array().map(Vec::len), Some(3));

    // In another thread as well; it hears that it woke.
    case.script("other", [text("Hello.")]).await;
    let other = new_id();
    case.chat_with(&json!({ "thread_id": other, "content": case.said("Hello.", "other") })).await;
    case.client.post(&format!("/api/threads/{other}/agents"), &dump).await.expect(200).await;
    case.script("woken", [text("Where am I?")]).await;
    let body =
        json!({ "thread_id": other, "content": case.said("Good morning.", "woken"), "agent": "bitter" });
    case.chat_with(&body).await;
    let asked = heard(&case.requests("woken").await.requests[0].body);
    assert_eq!(asked[..3], ["You are sour.", "Introduce yourself, sour.", "I am sour."]);
    assert!(asked[5].starts_with("[You were restored from a copy"), "{asked:?}");

    // It ends, and its name is free.
    case.client.send("DELETE", &of(&thread, "bitter"), "").await.expect(204).await;
    assert_eq!(agents(&case.client, &thread).await.len(), 2);
    case.client.post(&there, &dump).await.expect(200).await;
    for name in ["nobody", "main"] {
        let gone = case.client.send("DELETE", &of(&thread, name), "").await;
        assert_problem(gone, 404, "agent_not_found", None).await;
    }
    let gone = case.client.get(&format!("{}/dump", of(&thread, "nobody"))).await;
    assert_problem(gone, 404, "agent_not_found", None).await;
    dump["name"] = json!("Not A Name");
    assert_problem(case.client.post(&there, &dump).await, 400, "invalid_request", Some("name")).await;
    dump["rounds"] = json!([[{ "assistant": { "content": "first" } }]]);
    assert_problem(case.client.post(&there, &dump).await, 400, "invalid_request", Some("rounds.0")).await;

    // A dump may be larger than other bodies.
    let round = json!([{ "user": { "content": "x".repeat(400_000) } }]);
    let mut dump = json!({ "name": "huge", "instructions": "Be brief.", "rounds": [round, round, round] });
    case.client.post(&there, &dump).await.expect(200).await;
    dump["instructions"] = json!("x".repeat(2_000_000));
    assert_problem(case.client.post(&there, &dump).await, 413, "body_too_large", None).await;

    case.client.delete(&thread).await;
    assert_problem(case.client.get(&there).await, 404, "thread_not_found", None).await;
}

/// The system prompt and the names of the tools of a model's first request.
async fn opened(case: &Case, marker: &str) -> (String, Vec<String>) {
    let requests = case.requests(marker).await.requests;
    let tools = requests[0].tools().into_iter().map(str::to_owned).collect();
    (heard(&requests[0].body)[0].clone(), tools)
}

fn has(tools: &[String], name: &str) -> bool {
    tools.iter().any(|tool| tool == name)
}

// A-024 A-035 A-088 A-103, issue 42, M2: instructions come from a template of ours, or from a file of the workspace, which a
// call of its own reads.
#[tokio::test]
async fn templates_are_ours_or_files_of_the_workspace() {
    let case = Case::new().await;
    case.script("ours", [text("Dull.")]).await;
    case.script("filed", [text("Kind.")]).await;
    let head = "---\ndeny: memory_write, task\n---\nBe kind.";
    let made = |name: &str, template: &str, marker: &str| {
        ("task", json!({ "name": name, "template": template, "prompt": case.said("Go.", marker) }))
    };
    let steps = [
        call("write_file", json!({ "path": "agents/kind.md", "content": head })),
        calls([made("a", "critic", "ours"), made("b", "workspace:agents/kind.md", "filed")]),
        calls([
            made("c", "workspace:agents/none.md", "ours"),
            made("d", "workspace:../kind.md", "ours"),
            made("e", "nobody", "ours"),
            made("f", "mcp:library:a://b", "ours"),
        ]),
        text("Done."),
    ];
    case.script("templates", steps).await;
    let body =
        json!({ "thread_id": new_id(), "content": case.said("Make them.", "templates"), "agents": true });
    let events = case.chat_with(&body).await;
    assert!(opened(&case, "ours").await.0.starts_with("You are a critic."));
    let (instructions, tools) = opened(&case, "filed").await;
    assert_eq!(instructions, "Be kind.");
    assert!(has(&tools, "memory_read") && !has(&tools, "memory_write"), "{tools:?}");
    assert!(has(&tools, "discuss") && !has(&tools, "task"), "{tools:?}");
    let told = case.requests("templates").await.requests[3].results();
    let refused = &told[told.len() - 4..];
    for (told, why) in refused.iter().zip(["no file", "..", "no template", "no tool that reads it"]) {
        assert!(told.starts_with("Error: ") && told.contains(why), "{told}");
    }
    let reads = events
        .iter()
        .filter(|event| event.is("tool_call_update", &[("name", "read_file"), ("status", "end")]));
    assert_eq!(
        reads.map(|event| event.data["depth"].clone()).collect::<Vec<_>>(),
        [json!(1), json!(1), json!(1)]
    );
    let used = stored::rows(&events, "tool_usage", "tool_name").await;
    assert_eq!(used.iter().filter(|row| row["tool_name"] == "read_file").count(), 3, "{used:?}");
}

// A-103 A-106: a resource of a configured MCP server is a template, and may add the tools of that server.
#[tokio::test]
async fn a_template_of_an_mcp_server_adds_its_tools() {
    let case = Case::of(Client::anonymous_at(&env("ESPALIER_MCP_URL")).await);
    case.script("read", [text("Read.")]).await;
    case.script("more", [text("More.")]).await;
    let uri = "mcp:everything:demo://resource/dynamic/text/3";
    let steps = [
        calls([
            (
                "task",
                json!({ "name": "a", "template": uri, "tools": [], "prompt": case.said("Go.", "read") }),
            ),
            (
                "task",
                json!({
                    "name": "b", "template": "mcp:oauth:template://with-tools", "tools": ["memory_read"],
                    "prompt": case.said("Go.", "more"),
                }),
            ),
        ]),
        text("Done."),
    ];
    case.script("mcp-templates", steps).await;
    let body =
        json!({ "thread_id": new_id(), "content": case.said("Make it.", "mcp-templates"), "agents": true });
    case.chat_with(&body).await;
    let told = case.requests("mcp-templates").await.requests[1].results();
    assert!(told.iter().all(|told| !told.starts_with("Error")), "{told:?}");
    let (instructions, tools) = opened(&case, "read").await;
    assert!(instructions.starts_with("Resource 3:"), "{instructions}");
    assert!(!has(&tools, "mcp__everything__echo"), "{tools:?}");
    let (instructions, tools) = opened(&case, "more").await;
    assert_eq!(instructions, "Use them.");
    assert!(has(&tools, "mcp__everything__echo") && has(&tools, "memory_read"), "{tools:?}");
    assert!(!has(&tools, "memory_write"), "{tools:?}");
}
