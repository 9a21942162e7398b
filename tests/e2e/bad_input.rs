//! Wrong requests: each gets its status, its code and the name of the offending member, and starts nothing.
//!
//! The codes of `docs/routes.md`. `docs/wire-protocol.md`, "Errors before the stream", says more of some.

use espalier_test_support::client::assert_problem;
use espalier_test_support::stored::{d1, rows};
use espalier_test_support::{Case, Client, Value, env, json, new_id, text};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

// Issue 44: a text that was cut between two surrogates reads as U+FFFD, so a history that has one can be sent again.
#[tokio::test]
async fn a_lone_surrogate_is_read_at_each_door() {
    let case = Case::new().await;
    let client = case.client.with("content-type", "application/json");
    let said = case.said("cut HERE", "");
    let earlier = json!({ "role": "assistant", "content": "cut HERE" });
    let (before, now) =
        (json!({ "role": "user", "content": "a" }), json!({ "role": "user", "content": said }));
    let ui = json!({ "id": "m", "role": "user", "parts": [{ "type": "text", "text": said }] });
    for (path, body) in [
        ("/api/chat", json!({ "content": said })),
        ("/v1/chat/completions", json!({ "messages": [before, earlier, now] })),
        ("/v1/responses", json!({ "input": [before, earlier, now] })),
        ("/api/ai-sdk/chat", json!({ "id": "c", "messages": [ui] })),
    ] {
        case.script("", [text("Done.")]).await;
        let body = body.to_string().replace("HERE", r"\ud83d");
        client.send("POST", path, body).await.expect(200).await.text().await;
        let requests = case.requests("").await.requests;
        let heard = requests.last().expect("a request").contents().concat();
        assert!(heard.contains("cut \u{fffd}"), "{path}: {heard}");
    }
    let name = json!({ "name": "HERE", "version": "1" });
    let params = json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": name });
    let body = json!({ "jsonrpc": "2.0", "id": "a", "method": "initialize", "params": params });
    client.send("POST", "/mcp", body.to_string().replace("HERE", r"\ud83d")).await.expect(200).await;
}

#[tokio::test]
async fn a_body_with_a_wrong_member_names_it() {
    let client = Client::anonymous().await;
    let mut table: Vec<(Value, &str)> = vec![
        (json!({}), "content"),
        (json!({ "content": null }), "content"),
        (json!({ "content": 7 }), "content"),
        (json!({ "content": [] }), "content"),
        (json!({ "content": [{ "type": "text" }] }), "content[0].text"),
        (json!({ "content": [{ "type": "hologram", "url": "x" }] }), "content[0].type"),
        (
            json!({ "content": [{ "type": "file", "data": "data:text/plain;base64,eA==" }] }),
            "content[0].name",
        ),
        (json!({ "content": "x".repeat(100_001) }), "content"),
        (json!({ "content": [{ "type": "image", "data": "https://example.com/a.png" }] }), "content[0].data"),
        (
            json!({ "content": [{ "type": "image", "data": "data:image/png;base64,R0lGODlh" }] }),
            "content[0].data",
        ),
        // A real image, for a model that cannot see it.
        (
            json!({ "content": [{ "type": "image", "data": "data:image/png;base64,iVBORw0KGgo=" }] }),
            "content",
        ),
    ];
    for (member, wrong) in [
        ("thread_id", json!("not-a-uuid")),
        ("thread_id", json!(7)),
        ("turn_id", json!("1")),
        ("turn_id", json!({})),
        ("request_seq", json!(-1)),
        ("request_seq", json!(1.5)),
        ("request_seq", json!("1")),
        ("chat_context", json!("thread")),
        ("chat_context.kind", json!({ "kind": "kitchen" })),
        ("chat_context.kind", json!({ "kind": 1 })),
        ("cancel_on_disconnect", json!("yes")),
        ("memory_enabled", json!(1)),
        ("collections", json!("all")),
        ("collections[1]", json!(["a", 2])),
        ("model", json!(1)),
        ("workflow_target", json!(true)),
        ("workflow_id", json!([])),
        ("media_generation", json!("image")),
        ("client_tools", json!({})),
        ("include", json!("tool_input")),
        ("replaces_message_id", json!("x")),
    ] {
        let name = member.split(['.', '[']).next().unwrap_or_default();
        let mut body = json!({ "content": "Hello" });
        body[name] = wrong;
        table.push((body, member));
    }
    for (body, field) in table {
        eprintln!("{field}: {}", body.to_string().chars().take(100).collect::<String>());
        assert_problem(client.post("/api/chat", &body).await, 400, "invalid_request", Some(field)).await;
    }
    assert!(client.threads().await.is_empty());
}

#[tokio::test]
async fn a_body_that_is_not_json_is_refused() {
    let client = Client::anonymous().await.with("content-type", "application/json");
    let deep = format!(r#"{{"content": "Hello", "more": {}{}}}"#, "[".repeat(64), "]".repeat(64));
    let bomb = "[".repeat(200_000);
    for body in [
        "",
        "  ",
        "hello",
        "{",
        r#"{"content": "Hello""#,
        r#"{"content": "Hello"} x"#,
        "\u{feff}",
        &deep,
        &bomb,
    ] {
        eprintln!("{}", body.chars().take(100).collect::<String>());
        let reply = client.send("POST", "/api/chat", body.to_owned()).await;
        assert_problem(reply, 400, "invalid_json", None).await;
    }
    let not_utf8 = client.send("POST", "/api/chat", b"{\"content\": \"\xff\xfe\"}".to_vec()).await;
    assert_problem(not_utf8, 400, "invalid_json", None).await;
    // Well-formed JSON, but no object: there is no member to name.
    for body in ["[]", "7", "\"hello\"", "null"] {
        let reply = client.send("POST", "/api/chat", body).await;
        assert_problem(reply, 400, "invalid_request", None).await;
    }
}

#[tokio::test]
async fn only_json_is_read() {
    let client = Client::anonymous().await;
    let body = json!({ "content": "Hello" }).to_string();
    for kind in ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"] {
        let reply = client.with("content-type", kind).send("POST", "/api/chat", body.clone()).await;
        assert_problem(reply, 415, "unsupported_media_type", None).await;
    }
    assert_problem(client.send("POST", "/api/chat", body).await, 415, "unsupported_media_type", None).await;
}

#[tokio::test]
async fn parameters_of_the_media_type_do_not_matter() {
    let case = Case::new().await;
    case.script("", [text("Hi.")]).await;
    let client = case.client.with("content-type", "Application/JSON; charset=UTF-8");
    let reply = client.send("POST", "/api/chat", case.says("Hello").to_string()).await;
    case.turn(espalier_test_support::EventStream::open(reply).await).await;
}

#[tokio::test]
async fn a_body_of_more_than_a_mebibyte_is_refused() {
    let client = Client::anonymous().await;
    // Just below the limit of the body, the content is too long.
    let padded = |size: usize| json!({ "content": "Hello", "padding": "x".repeat(size) });
    let mut near = padded((1 << 20) - 100);
    near["content"] = json!(7);
    assert_problem(client.post("/api/chat", &near).await, 400, "invalid_request", Some("content")).await;
    assert_problem(client.post("/api/chat", &padded(1 << 20)).await, 413, "body_too_large", None).await;
}

/// Announces a body, sends the beginning of one, and goes away.
async fn broken_upload(method: &str, path: &str, cookie: &str) {
    let url = env("ESPALIER_URL");
    let address = url.trim_start_matches("http://");
    let mut stream = TcpStream::connect(address).await.expect("a connection");
    let head = format!(
        "{method} {path} HTTP/1.1\r\nhost: {address}\r\ncookie: {cookie}\r\ncontent-type: application/json\r\n\
         content-length: 100000\r\n\r\n{{\"content\": \"Hel"
    );
    stream.write_all(head.as_bytes()).await.expect("a request");
    stream.shutdown().await.expect("the end of it");
    // The service has noticed once it answers or closes.
    let mut answer = Vec::new();
    let end = tokio::time::timeout(std::time::Duration::from_secs(20), stream.read_to_end(&mut answer)).await;
    assert!(end.is_ok(), "{method} {path}: the connection stays open");
}

// The service does not count an aborted upload as its own failure: no row in `error_log`.
#[tokio::test]
async fn an_upload_that_breaks_off_is_no_error() {
    let case = Case::new().await;
    case.script("", [text("Hi.")]).await;
    let cookie = case.client.header("cookie");
    broken_upload("POST", "/api/chat", cookie).await;
    broken_upload("PUT", "/api/threads/0190a6e2-7d1c-7b3e-9f43-0c5d6e7f8a9b/files/a.txt", cookie).await;
    // A whole turn is stored after them, and with it all rows that they caused.
    let events = case.chat("Hello").await;
    rows(&events, "llm_usage", "outcome").await;
    let left = d1("SELECT message FROM error_log WHERE stage = ?1", &["reading a body"]).await;
    assert!(left.is_empty(), "{left:?}");
}

#[tokio::test]
async fn unknown_routes_and_methods_are_told_apart() {
    let client = Client::anonymous().await;
    let thread = format!("/api/threads/{}", new_id());
    for path in ["/api/", "/api/nothing", "/api/chat/more", &format!("{thread}/nothing")] {
        assert_problem(client.get(path).await, 404, "route_not_found", None).await;
    }
    let (stream, messages, cancel) =
        (format!("{thread}/stream"), format!("{thread}/messages"), format!("{thread}/cancel"));
    for (method, path, allowed) in [
        ("GET", "/api/chat", vec!["POST"]),
        ("PUT", "/api/chat", vec!["POST"]),
        ("GET", "/api/session", vec!["DELETE", "POST"]),
        ("POST", "/api/health", vec!["GET"]),
        ("POST", "/api/models", vec!["GET"]),
        ("POST", "/api/threads", vec!["GET"]),
        ("PUT", &thread, vec!["DELETE", "GET", "PATCH"]),
        ("POST", &messages, vec!["GET"]),
        ("DELETE", &stream, vec!["GET"]),
        ("GET", &cancel, vec!["POST"]),
    ] {
        let reply = client.with("content-type", "application/json").send(method, path, "{}").await;
        let mut allow: Vec<&str> = reply.header("allow").split(',').map(str::trim).collect();
        // A path may answer HEAD and OPTIONS as well.
        allow.retain(|method| !["HEAD", "OPTIONS"].contains(method));
        allow.sort_unstable();
        assert_eq!(allow, allowed, "{method} {path}");
        assert_problem(reply, 405, "method_not_allowed", None).await;
    }
}

#[tokio::test]
async fn a_thread_that_cannot_exist_is_not_found() {
    let client = Client::anonymous().await;
    for id in ["1", "not-a-uuid", "%00", "..%2f..%2fhealth", &"a".repeat(5000)] {
        for path in ["", "/messages", "/stream"] {
            let reply = client.get(&format!("/api/threads/{id}{path}")).await;
            assert_problem(reply, 404, "thread_not_found", None).await;
        }
    }
}

#[tokio::test]
async fn wrong_queries_name_their_parameter() {
    let case = Case::new().await;
    case.script("", [text("Hi.")]).await;
    let events = case.chat("Hello").await;
    let thread = format!("/api/threads/{}", events[0].text("thread_id"));
    for (path, field) in [
        ("/api/threads?limit=0".to_owned(), "limit"),
        ("/api/threads?limit=201".to_owned(), "limit"),
        ("/api/threads?limit=many".to_owned(), "limit"),
        ("/api/threads?cursor=nonsense".to_owned(), "cursor"),
        (format!("{thread}/messages?limit=-1"), "limit"),
        (format!("{thread}/messages?cursor=%F0%9F%92%A9"), "cursor"),
        (format!("{thread}/stream?after=soon"), "after"),
        (format!("{thread}/stream?after=-1"), "after"),
    ] {
        eprintln!("{path}");
        assert_problem(case.client.get(&path).await, 400, "invalid_request", Some(field)).await;
    }
}
