//! Issue 20, sections 3 and 5: the hooks of a thread, by their routes.
//!
//! A-070 A-071 A-078 A-110

use espalier_test_support::case::first;
use espalier_test_support::client::assert_problem;
use espalier_test_support::{Case, Client, Value, call, json, text};

use super::{case, results, verdict, verdicts};

/// A thread with one turn: the path of its hooks.
pub async fn begun(case: &Case) -> (String, String) {
    case.script("begin", [text("Yes?")]).await;
    let events = case.chat_with(&json!({ "content": case.said("Hello", "begin") })).await;
    let thread = first(&events, "session").text("thread_id").to_owned();
    let path = format!("/api/threads/{thread}/hooks");
    (thread, path)
}

fn loops() -> Value {
    json!({ "builtin": "loop_guard" })
}

/// A hook without the time at which it was put.
fn without_time(mut hook: Value) -> Value {
    assert!(
        hook.as_object_mut().and_then(|hook| hook.remove("put_at")).is_some_and(|at| at.is_u64()),
        "{hook}"
    );
    hook
}

async fn names(client: &Client, path: &str) -> Vec<String> {
    let list = client.read(path).await;
    let hooks = list["hooks"].as_array().expect("a list").iter();
    hooks.map(|hook| hook["name"].as_str().unwrap_or_default().to_owned()).collect()
}

// The list shows the words of the thread's hooks, and of the operator's hooks only when they are asked.
#[tokio::test]
async fn hooks_are_put_listed_and_deleted() {
    let case = case().await;
    let (_, path) = begun(&case).await;
    let guard = json!({
        "on": "action", "match": ["write_*"], "instructions": "Look twice.", "reads": ["plan"], "of": "main",
    });
    let client = &case.client;
    let put = client.put(&format!("{path}/twice"), &guard).await.expect(200).await.json().await;
    let mut expected = guard.clone();
    expected["name"] = json!("twice");
    assert_eq!(without_time(put), expected);
    let limit = json!({ "builtin": "spawn_limit", "options": { "most": 2 } });
    client.put(&format!("{path}/few"), &limit).await.expect(200).await;
    let mut list = client.read(&path).await;
    let hooks: Vec<Value> =
        list["hooks"].as_array().into_iter().flatten().cloned().map(without_time).collect();
    list["hooks"] = json!(hooks);
    let few = json!({
        "name": "few", "on": "action", "match": ["run_subtask", "task", "restore_agent"], "builtin": "spawn_limit",
        "options": { "most": 2 },
        "of": "all",
    });
    assert_eq!(list["hooks"], json!([expected, few]));
    let operators = json!([
        { "name": "guard", "on": "action", "match": ["memory_write"], "of": "all" },
        { "name": "reader", "on": "result", "match": ["memory_list"], "of": "all" },
        { "name": "loops", "on": "action", "match": ["memory_read"], "builtin": "loop_guard", "of": "all" },
        { "name": "once", "on": "action", "match": ["mcp__everything__get-env"], "builtin": "spawn_limit", "of": "all" },
    ]);
    assert_eq!(list["operators"], operators);

    // A hook keeps its place when another definition replaces it.
    client.put(&format!("{path}/twice"), &loops()).await.expect(200).await;
    assert_eq!(names(client, &path).await, ["twice", "few"]);
    for _ in 0..2 {
        client.send("DELETE", &format!("{path}/twice"), "").await.expect(204).await;
        assert_eq!(names(client, &path).await, ["few"]);
    }
}

#[tokio::test]
async fn bad_hooks_are_refused_with_their_member() {
    let case = Case::new().await;
    let (thread, path) = begun(&case).await;
    let put = async |name: &str, hook: &Value| case.client.put(&format!("{path}/{name}"), hook).await;
    for (hook, field) in [
        (json!({}), "instructions"),
        (json!({ "instructions": "x" }), "on"),
        (json!({ "on": "output", "instructions": "x" }), "on"),
        (json!({ "on": "action", "instructions": "x".repeat(20_001) }), "instructions"),
        (json!({ "on": "action", "instructions": "x", "match": vec!["x"; 17] }), "match"),
        (json!({ "on": "action", "instructions": "x", "reads": vec!["x"; 9] }), "reads"),
        (json!({ "builtin": "none" }), "builtin"),
        (json!({ "builtin": "loop_guard", "options": { "times": 0 } }), "options.times"),
        (json!({ "builtin": "loop_guard", "mach": ["echo"] }), "mach"),
    ] {
        assert_problem(put("guard", &hook).await, 400, "invalid_request", Some(field)).await;
    }
    for name in ["Guard", "1", "a%20b", &"a".repeat(33)] {
        assert_problem(put(name, &loops()).await, 400, "invalid_request", Some("name")).await;
        let deleted = case.client.send("DELETE", &format!("{path}/{name}"), "").await;
        assert_problem(deleted, 400, "invalid_request", Some("name")).await;
    }
    assert_eq!(names(&case.client, &path).await, Vec::<String>::new());

    // At the limits, and beyond them.
    let long = json!({ "on": "action", "instructions": "x".repeat(20_000) });
    for n in 0..4 {
        put(&format!("l{n}"), &long).await.expect(200).await;
    }
    assert_problem(put("l4", &long).await, 409, "too_many_hooks", None).await;
    for n in 4..16 {
        put(&format!("l{n}"), &loops()).await.expect(200).await;
    }
    assert_problem(put("l16", &loops()).await, 409, "too_many_hooks", None).await;
    put("l15", &json!({ "builtin": "spawn_limit" })).await.expect(200).await;
    assert_eq!(names(&case.client, &path).await.len(), 16);

    case.client.delete(&thread).await;
    assert_problem(case.client.get(&path).await, 404, "thread_not_found", None).await;
    assert_problem(put("guard", &loops()).await, 404, "thread_not_found", None).await;
}

// A running turn keeps the hooks that it began with; the next one has those that are there then.
#[tokio::test]
async fn a_threads_hook_watches_its_turns() {
    let case = Case::new().await;
    let (thread, path) = begun(&case).await;
    let hook =
        json!({ "on": "action", "match": ["calculate"], "instructions": "No sums.", "reads": ["spent"] });
    case.client.put(&format!("{path}/sums"), &hook).await.expect(200).await;

    let note = call("memory_write", json!({ "key": "spent", "value": "all of it" }));
    let sum = || call("calculate", json!({ "expression": format!("1+1 # {}", case.said("", "judge")) }));
    let held = sum().saying("see.").saying("Let me ").waiting(&case.barrier("held"), 1);
    case.script("", [note, held, text("No sum then.")]).await;
    case.script("judge", [verdict("block", "no sums here")]).await;
    let mut body = case.says("Count.");
    body["thread_id"] = json!(thread);
    let mut running = case.client.chat(&body).await;
    running.until(|event| event.text("content") == "Let me ").await;
    case.client.send("DELETE", &format!("{path}/sums"), "").await.expect(204).await;
    case.llm.release(&case.barrier("held")).await;
    let events = case.turn(running).await;
    assert_eq!(verdicts(&events), [("sums", "action", "block", "no sums here")]);
    assert_eq!(results(&events)[1], "blocked by hook sums: no sums here");
    let asked = case.requests("judge").await.requests[0].body.to_string();
    assert!(asked.contains("No sums.") && asked.contains("all of it"), "{asked}");

    case.script("after", [sum(), text("Two.")]).await;
    let again = json!({ "thread_id": thread, "content": case.said("Count.", "after") });
    let events = case.chat_with(&again).await;
    assert_eq!(verdicts(&events), []);
    assert_eq!(first(&events, "cost_summary").data["tool_calls"], 1);
}

// Issue 42, M2: a hook sees the reads of templates as it sees the calls of models, and its block refuses the agent. The
// first instance has a workspace, the second one MCP servers.
#[tokio::test]
async fn a_hook_sees_what_a_template_reads() {
    for (case, read, template) in [
        (Case::new().await, "read_file", "workspace:kind.md"),
        (case().await, "mcp__everything__read_resource", "mcp:everything:demo://resource/dynamic/text/3"),
    ] {
        let (thread, path) = begun(&case).await;
        let never = json!({ "builtin": "loop_guard", "match": [read], "options": { "times": 1 } });
        case.client.put(&format!("{path}/never"), &never).await.expect(200).await;
        let made = json!({ "name": "a", "template": template, "prompt": case.said("Go.", "a") });
        case.script("", [call("task", made), text("Then not.")]).await;
        let body = json!({ "thread_id": thread, "content": case.said("Make it.", ""), "agents": true });
        let events = case.chat_with(&body).await;
        let blocks: Vec<(&str, &str)> =
            verdicts(&events).into_iter().map(|(hook, _, decision, _)| (hook, decision)).collect();
        assert_eq!(blocks, [("never", "block")], "{read}");
        // The read, and the call that made it.
        let results = results(&events);
        let refusal = format!("the template \"{template}\" was not read: blocked by hook never: ");
        assert!(results.len() == 2 && results[1].starts_with(&refusal), "{read}: {results:?}");
        let list = case.client.read(&format!("/api/threads/{thread}/agents")).await;
        assert_eq!(list["agents"], json!([]));
        assert!(case.requests("a").await.requests.is_empty());
    }
}

// a hook of the thread with instructions answers a person, and remembers it. The operator's does not, nor one of code.
#[tokio::test]
async fn a_person_talks_to_a_hook_of_the_thread() {
    let case = case().await;
    let (thread, path) = begun(&case).await;
    let judge = json!({ "on": "action", "match": ["write_file"], "instructions": "You judge files." });
    case.client.put(&format!("{path}/judge"), &judge).await.expect(200).await;
    case.client.put(&format!("{path}/code"), &loops()).await.expect(200).await;
    let ask = async |marker: &str, words: &str| {
        case.script(marker, [text("I look at files.")]).await;
        let body = json!({ "thread_id": thread, "content": case.said(words, marker), "agent": "hook:judge" });
        let events = case.chat_with(&body).await;
        assert_eq!(first(&events, "model_call_update").data["agent"], "hook:judge");
        case.requests(marker).await.requests[0].body.clone()
    };
    let asked = ask("first", "What do you do?").await;
    assert_eq!(asked["messages"][0]["content"], "You judge files.");
    assert!(asked.get("tools").is_none_or(|tools| tools == &json!([])), "{asked}");
    let again = ask("second", "And why?").await.to_string();
    assert!(again.contains("What do you do?") && again.contains("I look at files."), "{again}");
    assert!(!again.contains("Yes?"), "it does not see the conversation: {again}");

    // `main` did not hear it, and it is no agent.
    case.script("main", [call("list_agents", json!({})), text("Nobody.")]).await;
    let body =
        json!({ "thread_id": thread, "content": case.said("Whom do you have?", "main"), "agents": true });
    case.chat_with(&body).await;
    let asked = case.requests("main").await.requests[1].body.to_string();
    assert!(asked.contains("Yes?") && !asked.contains("I look at files.") && !asked.contains("hook:judge"));
    let agents = format!("/api/threads/{thread}/agents");
    assert_eq!(case.client.read(&agents).await["agents"], json!([]));
    assert_eq!(case.client.read(&format!("{agents}/main/dump")).await.get("agents"), None);
    let rounds = case.client.read(&format!("{agents}/hook:judge/messages")).await;
    assert_eq!(rounds["rounds"].as_array().map(Vec::len), Some(2));
    assert_problem(case.client.get(&format!("{agents}/hook:judge/dump")).await, 404, "agent_not_found", None)
        .await;

    for other in ["hook:guard", "hook:loops", "hook:code", "hook:nobody", "hook:"] {
        let body = json!({ "thread_id": thread, "content": "Hello.", "agent": other });
        assert_problem(case.client.post("/api/chat", &body).await, 404, "agent_not_found", None).await;
    }
    let body =
        json!({ "thread_id": thread, "content": "Hello.", "agent": format!("hook:{}", "x".repeat(33)) });
    assert_problem(case.client.post("/api/chat", &body).await, 400, "invalid_request", Some("agent")).await;
    // A hook that is gone does not answer.
    case.client.send("DELETE", &format!("{path}/judge"), "").await.expect(204).await;
    let body = json!({ "thread_id": thread, "content": "Hello.", "agent": "hook:judge" });
    assert_problem(case.client.post("/api/chat", &body).await, 404, "agent_not_found", None).await;
}
