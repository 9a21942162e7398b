//! The service as an MCP server: the protocol's own libraries (`tests/clients/mcp.mjs`), and requests as they are on the
//! wire.
//!
//! Issue 22, 3

mod forms;
pub mod raw;
mod tasks;

use espalier_test_support::stored::eventually;
use espalier_test_support::{Case, Value, call, deltas, env, json, new_id, text};

use crate::clients::{keyed_at, report};

const ERAS: [(&str, &str); 2] = [("modern", "2026-07-28"), ("legacy", "2025-11-25")];

async fn keyed() -> (Case, String) {
    keyed_at(&env("ESPALIER_URL")).await
}

/// Runs the client of an era, and gives its report.
async fn client(era: &str, url: &str, key: &str, mut given: Value, barrier: &str) -> Value {
    given["era"] = json!(era);
    given["url"] = json!(url);
    let case = given.to_string();
    let variables =
        [("CLIENT_KEY", key), ("ESPALIER_KEY", key), ("CLIENT_CASE", &*case), ("CLIENT_BARRIER", barrier)];
    report("node", "mcp.mjs", &variables).await
}

/// The configuration of a desktop client, as its readers copy it.
#[tokio::test]
async fn the_example_of_a_configuration_works() {
    let (case, key) = keyed().await;
    case.script("", [text("Hello.")]).await;
    let config: Value = serde_json::from_str(include_str!("../../examples/mcp/mcp.json")).expect("JSON");
    for (era, _) in ERAS {
        let given = json!({ "config": config, "steps": [{ "method": "listTools" }] });
        let report = client(era, "", &key, given, "").await;
        assert!(
            names(&report["results"][0]["result"]["tools"], "name").contains(&"chat".to_owned()),
            "{report}"
        );
    }
    let given = json!({ "config": config, "steps": [said(&case, "Hello", "")] });
    assert_eq!(told(&client("modern", "", &key, given, "").await, 0)["answer"], "Hello.");
}

/// The step that calls a tool.
fn tool(name: &str, arguments: Value) -> Value {
    json!({ "method": "callTool", "params": { "name": name, "arguments": arguments } })
}

fn said(case: &Case, words: &str, path: &str) -> Value {
    tool("chat", json!({ "message": case.said(words, path) }))
}

/// The structured content of a step's result.
fn told(report: &Value, step: usize) -> &Value {
    let told = &report["results"][step]["result"]["structuredContent"];
    assert!(told.is_object(), "{step}: {report:#}");
    told
}

fn names(list: &Value, member: &str) -> Vec<String> {
    let list = list.as_array().unwrap_or_else(|| panic!("no list: {list}"));
    list.iter().map(|one| one[member].as_str().expect("a name").to_owned()).collect()
}

// Long: the story of a client, from its first request on.
#[tokio::test]
async fn both_libraries_find_the_tools_and_chat() {
    for (era, version) in ERAS {
        let (case, key) = keyed().await;
        case.script("", [call("current_time", json!({})), deltas(["It is ", "42."])]).await;
        case.script("next", [text("Still 42.")]).await;
        let url = env("ESPALIER_URL");
        let steps = json!([
            { "method": "listTools" }, said(&case, "What is it?", ""), { "method": "listResourceTemplates" },
        ]);
        let report = client(era, &url, &key, json!({ "steps": steps }), "").await;
        assert_eq!(
            (&report["version"], &report["server"]["name"]),
            (&json!(version), &json!("espalier")),
            "{report}"
        );
        let tools = names(&report["results"][0]["result"]["tools"], "name");
        let all = [
            "chat",
            "list_threads",
            "read_thread",
            "list_files",
            "read_file",
            "write_file",
            "delete_file",
            "list_memories",
            "forget_memory",
            "list_collections",
            "search_collection",
            "list_workflows",
            "start_workflow",
            "continue_workflow",
        ];
        assert_eq!(tools, all);
        let answer = told(&report, 1);
        assert_eq!((&answer["answer"], &answer["finish_reason"]), (&json!("It is 42."), &json!("stop")));
        let progress = report["results"][1]["progress"].as_array().expect("a list");
        let numbers: Vec<_> = progress.iter().map(|told| told[0].as_u64()).collect();
        assert_eq!(numbers, (1..=progress.len() as u64).map(Some).collect::<Vec<_>>());
        assert_eq!(progress[0][1], "The agent calls current_time.");
        assert_eq!(report["results"][2]["result"]["resourceTemplates"].as_array().map(Vec::len), Some(3));

        // The same thread goes on, and its messages are a tool's result and a resource.
        let thread = answer["thread_id"].as_str().expect("an id");
        let (uri, id) = (format!("espalier://threads/{thread}"), json!({ "thread_id": thread }));
        let next = json!({ "message": case.said("And now?", "next"), "thread_id": thread });
        let steps = json!([
            tool("chat", next), tool("read_thread", id), { "method": "readResource", "params": { "uri": uri } },
        ]);
        let report = client(era, &url, &key, json!({ "steps": steps }), "").await;
        assert_eq!(told(&report, 0)["answer"], "Still 42.");
        let contents: Vec<String> = names(&told(&report, 1)["messages"], "content");
        assert_eq!(
            contents,
            [
                case.said("What is it?", ""),
                "It is 42.".into(),
                case.said("And now?", "next"),
                "Still 42.".into()
            ]
        );
        let resource = &report["results"][2]["result"]["contents"][0];
        assert_eq!((&resource["uri"], &resource["mimeType"]), (&json!(uri), &json!("application/json")));
        let read: Value = serde_json::from_str(resource["text"].as_str().expect("a text")).expect("JSON");
        assert_eq!(read, *told(&report, 1));
        // D1 hears of the thread a moment later.
        let listed = eventually("the thread is listed", || async {
            let steps = json!([tool("list_threads", json!({ "limit": 5 })), { "method": "listResources" }]);
            let report = client(era, &url, &key, json!({ "steps": steps }), "").await;
            let threads = names(&told(&report, 0)["threads"], "id");
            (!threads.is_empty())
                .then_some((threads, names(&report["results"][1]["result"]["resources"], "uri")))
        })
        .await;
        assert_eq!(listed, (vec![thread.to_owned()], vec![uri.clone()]));
    }
}

// Long: a step for each tool.
#[tokio::test]
async fn files_memories_collections_and_workflows_are_tools() {
    for (era, _) in ERAS {
        let (case, key) = keyed().await;
        let workspace = format!("w{}", new_id());
        let made = case
            .client
            .post("/api/collections", &json!({ "name": "Handbook" }))
            .await
            .expect(201)
            .await
            .json()
            .await;
        let collection = made["id"].as_str().expect("an id");
        let document = case.client.with("content-type", "text/plain");
        document
            .send("POST", &format!("/api/collections/{collection}/documents?name=a"), "The xyzzy opens.")
            .await
            .expect(201)
            .await;
        let file = |more: Value| {
            let mut arguments = json!({ "workspace": workspace, "path": "notes/a b.md" });
            arguments
                .as_object_mut()
                .expect("an object")
                .extend(more.as_object().expect("an object").clone());
            arguments
        };
        let steps = json!([
            tool("write_file", file(json!({ "content": "Grüße\n" }))),
            tool("read_file", file(json!({}))),
            tool("list_files", json!({ "workspace": workspace })),
            { "method": "readResource", "params": { "uri": format!("espalier://workspaces/{workspace}/files/notes/a%20b.md") } },
            tool("delete_file", file(json!({}))),
            tool("read_file", file(json!({}))),
            tool("list_memories", json!({})),
            tool("forget_memory", json!({ "memory_id": new_id() })),
            tool("search_collection", json!({ "collection_id": collection, "query": "xyzzy" })),
            tool("list_collections", json!({})),
            tool("list_workflows", json!({})),
            tool("start_workflow", json!({ "workflow_id": "incident-checklist", "goal": "Mend it." })),
        ]);
        let report = client(era, &env("ESPALIER_URL"), &key, json!({ "steps": steps }), "").await;
        let text_of = |step: usize| {
            report["results"][step]["result"]["content"][0]["text"].as_str().unwrap_or_default().to_owned()
        };
        assert_eq!(told(&report, 0)["path"], "notes/a b.md");
        assert_eq!(text_of(1), "Grüße\n");
        assert_eq!(names(&told(&report, 2)["files"], "path"), ["notes/a b.md"]);
        assert_eq!(report["results"][3]["result"]["contents"][0]["text"], "Grüße\n");
        assert_eq!(text_of(4), "Done.");
        for (step, code) in [(5, "file_not_found: "), (7, "memory_not_found: ")] {
            assert_eq!(report["results"][step]["result"]["isError"], true, "{report}");
            assert!(text_of(step).starts_with(code), "{}", text_of(step));
        }
        assert_eq!(*told(&report, 6), json!({ "memories": [], "next_cursor": null }));
        assert!(
            told(&report, 8)["results"][0]["text"].as_str().is_some_and(|content| content.contains("xyzzy")),
            "{report:#}"
        );
        assert_eq!(names(&told(&report, 9)["collections"], "id"), [collection]);
        assert!(
            names(&told(&report, 10)["workflows"], "workflow_id").contains(&"incident-checklist".to_owned())
        );
        // The session goes on with its token.
        let session = told(&report, 11);
        let goes_on = json!({
            "workflow_id": "incident-checklist", "session_id": session["session_id"],
            "continue_token": session["continue_token"], "notesMarkdown": "I have looked at everything that there is to see here.",
        });
        let forged = json!({ "workflow_id": "incident-checklist", "session_id": session["session_id"],
            "continue_token": "ct1.forged", "notesMarkdown": "I have looked at everything that there is to see here." });
        let steps = json!([tool("continue_workflow", goes_on), tool("continue_workflow", forged)]);
        let report = client(era, &env("ESPALIER_URL"), &key, json!({ "steps": steps }), "").await;
        assert!(told(&report, 0)["continue_token"].is_string(), "{report:#}");
        assert_ne!(told(&report, 0)["continue_token"], session["continue_token"]);
        assert_eq!(report["results"][1]["result"]["isError"], true);
    }
}

/// A turn that calls a tool of a fake server which asks a person first.
async fn destroys(case: &Case) -> Value {
    let (name, mark) = ("mcp__tools__destroy", new_id());
    case.script("", [call(name, json!({ "mark": mark })), text("It is destroyed.")]).await;
    said(case, "Destroy it", "")
}

#[tokio::test]
async fn a_person_decides_in_the_client() {
    let url = env("ESPALIER_MCP_URL");
    let accept = |decision: &str| json!({ "action": "accept", "content": { "decision": decision } });
    for (answer, destroyed) in
        [(accept("approve"), true), (accept("deny"), false), (json!({ "action": "decline" }), false)]
    {
        let (case, key) = keyed_at(&url).await;
        let step = destroys(&case).await;
        let report = client("modern", &url, &key, json!({ "steps": [step], "answer": answer }), "").await;
        let asked = report["asked"].as_array().expect("a list");
        assert_eq!(asked.len(), 1, "{report}");
        assert!(
            asked[0]["message"].as_str().is_some_and(|told| told.contains("mcp__tools__destroy")),
            "{report}"
        );
        assert_eq!(told(&report, 0)["answer"], "It is destroyed.");
        // One turn, whatever was answered.
        let requests = case.requests("").await;
        assert_eq!(requests.requests.len(), 2);
        assert_eq!(
            requests.requests[1].results()[0].contains("destroy: "),
            destroyed,
            "{:?}",
            requests.requests[1].results()
        );
    }
}

#[tokio::test]
async fn a_client_without_forms_learns_where_a_person_decides() {
    let url = env("ESPALIER_MCP_URL");
    for (era, dismisses) in [("modern", false), ("legacy", false), ("modern", true)] {
        let (case, key) = keyed_at(&url).await;
        let step = destroys(&case).await;
        let mut given = json!({ "steps": [step] });
        if dismisses {
            given["answer"] = json!({ "action": "cancel" });
        }
        let report = client(era, &url, &key, given, "").await;
        assert_eq!(report["asked"].as_array().map(Vec::len), Some(usize::from(dismisses)));
        let answer = told(&report, 0).clone();
        assert_eq!(answer["finish_reason"], "waiting", "{report}");
        let texts = names(&report["results"][0]["result"]["content"], "text").concat();
        let path = texts.split("POST ").nth(1).and_then(|rest| rest.split(' ').next()).expect("an address");
        let path = path.strip_prefix(&url).expect("our own address");
        case.client.post(path, &json!({ "decision": "approve" })).await.expect(200).await;
        let thread = answer["thread_id"].as_str().expect("an id").to_owned();
        let messages = eventually("the turn has ended", || async {
            let messages = case.client.messages(&thread).await;
            messages.iter().any(|message| message["content"] == "It is destroyed.").then_some(messages)
        })
        .await;
        assert_eq!(messages.len(), 2);
    }
}

#[tokio::test]
async fn a_closed_stream_stops_its_turn() {
    let (case, key) = keyed().await;
    let barrier = case.barrier("held");
    case.script("", [call("current_time", json!({})), deltas(["It is ", "42."]).waiting(&barrier, 1)]).await;
    let mut step = said(&case, "What is it?", "");
    step["abort"] = json!(true);
    let report = client("modern", &env("ESPALIER_URL"), &key, json!({ "steps": [step] }), &barrier).await;
    assert!(report["results"][0]["error"]["message"].is_string(), "{report}");
    let listed = eventually("the turn is over", || async {
        let threads = case.client.threads().await;
        let id = threads.first()?["id"].as_str()?.to_owned();
        let messages = case.client.messages(&id).await;
        messages.into_iter().find(|message| message["finish_reason"] == "cancelled")
    })
    .await;
    assert_eq!(listed["role"], "assistant");
    case.llm.release(&barrier).await;
}

#[tokio::test]
async fn failures_are_results_and_refusals_errors() {
    for (era, _) in ERAS {
        let (case, key) = keyed().await;
        case.endless_script("", [espalier_test_support::status(400)]).await;
        let steps = json!([
            said(&case, "Hello", ""), tool("chat", json!({})), tool("chat", json!({ "message": "a", "thread_id": "x" })),
            tool("nonsense", json!({})), tool("read_thread", json!({})),
            { "method": "readResource", "params": { "uri": "espalier://threads/x" } },
        ]);
        let report = client(era, &env("ESPALIER_URL"), &key, json!({ "steps": steps }), "").await;
        let results = report["results"].as_array().expect("a list");
        for (step, word) in [
            (0, "provider"),
            (1, "invalid_request (message)"),
            (2, "invalid_request (thread_id)"),
            (4, "thread_id must be"),
        ] {
            let result = &results[step]["result"];
            assert_eq!(result["isError"], true, "{step}: {report:#}");
            let texts = names(&result["content"], "text").concat();
            assert!(step == 0 || texts.contains(word), "{step}: {texts}");
        }
        assert_eq!(told(&report, 0)["finish_reason"], "error");
        assert_eq!(results[3]["error"]["code"], -32602, "{report:#}");
        let missing = if era == "modern" { -32602 } else { -32002 };
        assert_eq!(results[5]["error"]["code"], missing, "{report:#}");
        let nobody = client(era, &env("ESPALIER_URL"), "espk_nonsense", json!({}), "").await;
        assert!(nobody["refused"]["message"].is_string(), "{nobody}");
    }
}
