//! The protocol on the wire: headers, statuses, the signed state of a turn, and what is refused.

use espalier_test_support::http::Reply;
use espalier_test_support::identity::users;
use espalier_test_support::{Case, Client, Value, env, json, new_id, text};

use super::{destroys, keyed, keyed_at};

const VERSION: &str = "2026-07-28";

/// A request of 2026-07-28 of a client with these capabilities.
pub async fn ask(client: &Client, capabilities: &Value, method: &str, params: Value) -> Reply {
    let mut params = params;
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": VERSION, "io.modelcontextprotocol/clientCapabilities": capabilities,
    });
    let name = ["name", "uri", "taskId"].into_iter().find_map(|member| params[member].as_str());
    let client = client.with("mcp-protocol-version", VERSION).with("mcp-method", method);
    let client = match name {
        Some(name) => client.with("mcp-name", name),
        None => client,
    };
    client.post("/mcp", &json!({ "jsonrpc": "2.0", "id": "a", "method": method, "params": params })).await
}

/// The result of such a request.
pub async fn result(client: &Client, capabilities: &Value, method: &str, params: Value) -> Value {
    let body = ask(client, capabilities, method, params).await.expect(200).await.json().await;
    assert_eq!((&body["jsonrpc"], &body["id"]), (&json!("2.0"), &json!("a")), "{body}");
    assert!(body["result"].is_object(), "{body}");
    body["result"].clone()
}

/// The status and the code of an error.
pub async fn refusal(reply: Reply) -> (u16, i64) {
    let status = reply.status;
    let body = reply.json().await;
    assert_eq!(body["jsonrpc"], "2.0", "{body}");
    (status, body["error"]["code"].as_i64().unwrap_or_else(|| panic!("no error: {body}")))
}

pub fn chat(case: &Case, words: &str) -> Value {
    json!({ "name": "chat", "arguments": { "message": case.said(words, "") } })
}

pub fn none() -> Value {
    json!({})
}

#[tokio::test]
async fn a_request_has_its_version_its_headers_and_its_result() {
    let (case, _) = keyed().await;
    let told = result(&case.client, &none(), "server/discover", none()).await;
    assert_eq!(told["supportedVersions"], json!([VERSION, "2025-11-25", "2025-06-18"]));
    assert_eq!(told["capabilities"]["extensions"], json!({ "io.modelcontextprotocol/tasks": {} }));
    assert_eq!((&told["resultType"], &told["cacheScope"]), (&json!("complete"), &json!("private")));
    assert_eq!(told["_meta"]["io.modelcontextprotocol/serverInfo"]["name"], "espalier");
    for (method, member) in [
        ("tools/list", "tools"),
        ("resources/list", "resources"),
        ("resources/templates/list", "resourceTemplates"),
    ] {
        let told = result(&case.client, &none(), method, none()).await;
        assert!(
            told[member].is_array() && told["ttlMs"].is_u64() && told["cacheScope"] == "private",
            "{told}"
        );
    }
    for (method, outcome) in [
        ("initialize", (404, -32601)),
        ("ping", (404, -32601)),
        ("prompts/list", (404, -32601)),
        ("subscriptions/listen", (404, -32601)),
        ("logging/setLevel", (404, -32601)),
    ] {
        assert_eq!(refusal(ask(&case.client, &none(), method, none()).await).await, outcome, "{method}");
    }
    let listed = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" });
    let modern = case.client.with("mcp-protocol-version", VERSION);
    assert_eq!(refusal(modern.post("/mcp", &listed).await).await, (400, -32602));
    let unknown = case.client.with("mcp-protocol-version", "1900-01-01");
    assert_eq!(refusal(unknown.post("/mcp", &listed).await).await, (400, -32022));
    let wrong = case.client.with("mcp-method", "tools/call");
    assert_eq!(refusal(ask(&wrong, &none(), "tools/list", none()).await).await.0, 400);

    // Earlier revisions: no session, and none of the members that they do not know.
    let begin = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": { "protocolVersion": "2025-06-18" } });
    let reply = case.client.post("/mcp", &begin).await.expect(200).await;
    assert_eq!(reply.header("mcp-session-id"), "");
    let told = reply.json().await["result"].clone();
    assert_eq!((&told["protocolVersion"], &told["resultType"]), (&json!("2025-06-18"), &Value::Null));
    let begun = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    let reply =
        case.client.with("mcp-protocol-version", "2025-06-18").post("/mcp", &begun).await.expect(202).await;
    assert_eq!(reply.text().await, "");
    let ping = json!({ "jsonrpc": "2.0", "id": 2, "method": "ping" });
    let pong = case.client.post("/mcp", &ping).await.expect(200).await.json().await;
    assert_eq!(pong, json!({ "jsonrpc": "2.0", "id": 2, "result": {} }));
    let discover = json!({ "jsonrpc": "2.0", "id": 3, "method": "server/discover" });
    assert_eq!(refusal(case.client.post("/mcp", &discover).await).await, (200, -32601));
    for method in ["GET", "DELETE"] {
        let reply = case.client.send(method, "/mcp", "").await.expect(405).await;
        assert_eq!(reply.header("allow"), "POST, OPTIONS");
    }
}

#[tokio::test]
async fn a_chat_is_answered_as_the_client_accepts_it() {
    let (case, _) = keyed().await;
    case.endless_script("", [text("It is 42.")]).await;
    let whole = result(&case.client, &none(), "tools/call", chat(&case, "What is it?")).await;
    assert_eq!(whole["structuredContent"]["answer"], "It is 42.");
    let events = case.client.with("accept", "application/json, text/event-stream");
    let reply = ask(&events, &none(), "tools/call", chat(&case, "What is it?")).await.expect(200).await;
    assert_eq!(reply.header("content-type"), "text/event-stream");
    let stream = reply.text().await;
    let frames: Vec<&str> = stream.lines().filter_map(|line| line.strip_prefix("data: ")).collect();
    // Without a token there is no progress.
    let [frame] = frames.as_slice() else { panic!("{stream}") };
    let frame: Value = serde_json::from_str(frame).expect("JSON");
    assert_eq!(frame["result"]["structuredContent"]["answer"], "It is 42.");
    // The same key is the same turn.
    let once = case.client.with("idempotency-key", "once");
    let first = result(&once, &none(), "tools/call", chat(&case, "Once")).await;
    assert_eq!(first, result(&once, &none(), "tools/call", chat(&case, "Once")).await);
    // Issue 46, L4
    let other = result(&once, &none(), "tools/call", chat(&case, "Twice")).await;
    assert!(other["isError"] == true && other.to_string().contains("idempotency_key_reused"), "{other}");
    assert_eq!(case.requests("").await.requests.len(), 3);
}

#[tokio::test]
async fn the_signed_state_leads_to_the_turn_and_to_no_other() {
    let url = env("ESPALIER_MCP_URL");
    let ((case, _), (stranger, _)) = (keyed_at(&url).await, keyed_at(&url).await);
    let step = destroys(&case).await;
    let forms = json!({ "elicitation": {} });
    let asked = result(&case.client, &forms, "tools/call", step["params"].clone()).await;
    assert_eq!(asked["resultType"], "input_required", "{asked}");
    let (id, _) = asked["inputRequests"].as_object().and_then(|all| all.iter().next()).expect("a question");
    let state = asked["requestState"].as_str().expect("a state");
    let with = |state: &str, responses: Value| {
        let mut params = step["params"].clone();
        params["requestState"] = json!(state);
        if !responses.is_null() {
            params["inputResponses"] = responses;
        }
        params
    };
    let approve = json!({ id: { "action": "accept", "content": { "decision": "approve" } } });
    let call = |client: &Client, params: Value| {
        let (client, forms) = (client.clone(), forms.clone());
        async move { ask(&client, &forms, "tools/call", params).await }
    };
    // Forged, cut, of another user, for another message: refused before anything is looked up.
    let mut forged = state.to_owned();
    let last = if forged.pop() == Some('A') { 'B' } else { 'A' };
    forged.push(last);
    for wrong in [forged.as_str(), "rs1.", "", &format!("{state}A")] {
        assert_eq!(
            refusal(call(&case.client, with(wrong, approve.clone())).await).await,
            (200, -32602),
            "{wrong}"
        );
    }
    assert_eq!(refusal(call(&stranger.client, with(state, approve.clone())).await).await, (200, -32602));
    let mut other = with(state, approve.clone());
    other["arguments"]["message"] = json!("Something else");
    assert_eq!(refusal(call(&case.client, other).await).await, (200, -32602));
    for wrong in
        [json!(7), json!({ id: 7 }), json!({ id: { "action": "accept", "content": { "decision": "yes" } } })]
    {
        assert_eq!(refusal(call(&case.client, with(state, wrong)).await).await, (200, -32602));
    }
    let mut without = step["params"].clone();
    without["inputResponses"] = approve.clone();
    assert_eq!(refusal(call(&case.client, without).await).await, (200, -32602));

    // Repeated without an answer, or with one to another question, it asks the same again.
    for responses in [Value::Null, json!({ "other": { "action": "decline" } })] {
        let again = result(&case.client, &forms, "tools/call", with(state, responses)).await;
        assert_eq!(
            (&again["inputRequests"], &again["requestState"]),
            (&asked["inputRequests"], &asked["requestState"])
        );
    }
    let done = result(&case.client, &forms, "tools/call", with(state, approve.clone())).await;
    assert_eq!(done["structuredContent"]["answer"], "It is destroyed.");
    // A repeated answer reads the same, and starts no second turn.
    assert_eq!(done, result(&case.client, &forms, "tools/call", with(state, approve)).await);
    assert_eq!(case.requests("").await.requests.len(), 2);
}

#[tokio::test]
async fn another_users_things_are_not_there() {
    let ((case, _), (stranger, _)) = (keyed().await, keyed().await);
    case.script("", [text("It is 42.")]).await;
    let thread = result(&case.client, &none(), "tools/call", chat(&case, "What is it?")).await;
    let thread = thread["structuredContent"]["thread_id"].as_str().expect("an id").to_owned();
    let workspace = format!("w{}", new_id());
    case.client.send("PUT", &format!("/api/workspaces/{workspace}/files/a"), "Mine").await.expect(200).await;
    let collection =
        case.client.post("/api/collections", &json!({ "name": "Mine" })).await.expect(201).await.json().await;
    for (name, arguments, code) in [
        ("read_thread", json!({ "thread_id": thread }), "thread_not_found"),
        ("list_files", json!({ "thread_id": thread }), "thread_not_found"),
        ("read_file", json!({ "thread_id": thread, "path": "a" }), "thread_not_found"),
        ("write_file", json!({ "thread_id": thread, "path": "a", "content": "x" }), "thread_not_found"),
        ("delete_file", json!({ "thread_id": thread, "path": "a" }), "thread_not_found"),
        ("read_file", json!({ "workspace": workspace, "path": "a" }), "file_not_found"),
        (
            "search_collection",
            json!({ "collection_id": collection["id"], "query": "a" }),
            "collection_not_found",
        ),
    ] {
        let told =
            result(&stranger.client, &none(), "tools/call", json!({ "name": name, "arguments": arguments }))
                .await;
        let text = told["content"][0]["text"].as_str().unwrap_or_default();
        assert!(told["isError"] == true && text.starts_with(code), "{name}: {told}");
    }
    for uri in [format!("espalier://threads/{thread}"), format!("espalier://workspaces/{workspace}/files/a")]
    {
        let reply = ask(&stranger.client, &none(), "resources/read", json!({ "uri": uri })).await;
        assert_eq!(refusal(reply).await, (200, -32602), "{uri}");
        result(&case.client, &none(), "resources/read", json!({ "uri": uri })).await;
    }
    // By the id of another user's thread a chat begins a thread of its own: the id means nothing without its owner.
    stranger.script("", [text("Hello.")]).await;
    let mut own = chat(&stranger, "Hello");
    own["arguments"]["thread_id"] = json!(thread);
    result(&stranger.client, &none(), "tools/call", own).await;
    assert_eq!(
        (case.client.messages(&thread).await.len(), stranger.client.messages(&thread).await.len()),
        (2, 2)
    );
}

#[tokio::test]
async fn a_tool_needs_the_scope_of_its_route() {
    let admin = format!("Bearer {}", env("ESPALIER_ADMIN_KEY"));
    let admin = Client::nobody_at(&env("ESPALIER_URL")).with("authorization", &admin);
    let body = json!({ "name": "reader", "scopes": ["read"] });
    let minted = admin.post("/api/keys", &body).await.expect(201).await.json().await;
    let key = format!("Bearer {}", minted["key"].as_str().expect("a key"));
    let reader = Client::nobody_at(&env("ESPALIER_URL")).with("authorization", &key);
    let tools = result(&reader, &none(), "tools/list", none()).await;
    let names: Vec<_> =
        tools["tools"].as_array().into_iter().flatten().filter_map(|tool| tool["name"].as_str()).collect();
    let reading = [
        "list_threads",
        "read_thread",
        "list_files",
        "read_file",
        "list_memories",
        "list_collections",
        "search_collection",
        "list_workflows",
    ];
    assert_eq!(names, reading);
    result(&reader, &none(), "tools/call", json!({ "name": "list_threads" })).await;
    for (name, arguments) in
        [("chat", json!({ "message": "Hello" })), ("delete_file", json!({ "workspace": "w", "path": "a" }))]
    {
        let reply =
            ask(&reader, &none(), "tools/call", json!({ "name": name, "arguments": arguments })).await;
        assert!(reply.header("www-authenticate").contains("insufficient_scope"), "{name}");
        assert_eq!(refusal(reply).await, (403, -32000), "{name}");
    }
}

#[tokio::test]
async fn strangers_pages_and_large_bodies_are_refused() {
    let (case, _) = keyed().await;
    let list = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" });
    let nobody = Client::nobody_at(&env("ESPALIER_URL"));
    let reply = nobody.post("/mcp", &list).await;
    assert_eq!(reply.header("www-authenticate"), "Bearer realm=\"espalier\"", "no issuer is configured here");
    assert_eq!(refusal(reply).await, (401, -32000));
    for origin in ["https://evil.example", "null", "http://127.0.0.1:1"] {
        assert_eq!(
            refusal(case.client.with("origin", origin).post("/mcp", &list).await).await,
            (403, -32000),
            "{origin}"
        );
    }
    let own = env("ESPALIER_URL");
    case.client.with("origin", own.trim_end_matches('/')).post("/mcp", &list).await.expect(200).await;
    for (body, outcome) in [("{", (400, -32700)), ("[]", (400, -32600)), ("", (400, -32700))] {
        let reply = case.client.with("content-type", "application/json").send("POST", "/mcp", body).await;
        assert_eq!(refusal(reply).await, outcome, "{body}");
    }
    let reply = case.client.with("content-type", "text/plain").send("POST", "/mcp", list.to_string()).await;
    assert_eq!(refusal(reply).await, (415, -32600));
    let padded = |bytes: usize| {
        let mut body = list.clone();
        body["params"] = json!({ "x": "" });
        let rest = bytes - body.to_string().len();
        body["params"]["x"] = json!("x".repeat(rest));
        body
    };
    case.client.post("/mcp", &padded(1 << 20)).await.expect(200).await;
    assert_eq!(refusal(case.client.post("/mcp", &padded((1 << 20) + 1)).await).await, (413, -32000));
}

#[tokio::test]
async fn a_deployment_with_issuers_tells_where_tokens_come_from() {
    let closed = Client::nobody_at(&env("ESPALIER_CLOSED_URL"));
    let url = env("ESPALIER_CLOSED_URL");
    for path in ["/.well-known/oauth-protected-resource", "/.well-known/oauth-protected-resource/mcp"] {
        let told = closed.read(path).await;
        assert_eq!(
            (&told["resource"], &told["bearer_methods_supported"]),
            (&json!(format!("{url}/mcp")), &json!(["header"]))
        );
        assert!(
            told["authorization_servers"].as_array().is_some_and(|servers| !servers.is_empty()),
            "{told}"
        );
        let none = Client::nobody_at(&env("ESPALIER_URL")).get(path).await.expect(404).await.json().await;
        assert_eq!(none["code"], "route_not_found");
    }
    let list = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" });
    let reply = closed.post("/mcp", &list).await.expect(401).await;
    let challenge = format!("resource_metadata=\"{url}/.well-known/oauth-protected-resource/mcp\"");
    assert!(reply.header("www-authenticate").ends_with(&challenge), "{}", reply.header("www-authenticate"));
    // A user of an issuer has the tools, and another one none of their threads.
    let [ada, eve] = users([("lab", &new_id()), ("lab", &new_id())]).await.map(Case::of);
    ada.script("", [text("Hello.")]).await;
    let told = result(&ada.client, &none(), "tools/call", chat(&ada, "Hello")).await;
    let thread = &told["structuredContent"]["thread_id"];
    let read = json!({ "name": "read_thread", "arguments": { "thread_id": thread } });
    for (client, is_error) in [(&ada.client, Value::Null), (&eve.client, json!(true))] {
        assert_eq!(result(client, &none(), "tools/call", read.clone()).await["isError"], is_error);
    }
    // A path that the Worker does not know there is not the page.
    closed.get("/.well-known/oauth-authorization-server").await.expect(404).await;
}
