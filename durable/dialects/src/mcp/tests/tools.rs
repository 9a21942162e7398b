//! The tools and resources: which request of ours each one is.

use serde_json::{Value, json};

use crate::mcp::tools::ROUTES;
use crate::mcp::tools::contents;
use crate::mcp::{listed, plan, resource, sample, templates, threads, tool_result, tools};

/// The object that has these members.
fn of(members: &[u8]) -> Value {
    serde_json::from_str(&format!("{{{}}}", std::str::from_utf8(members).unwrap())).unwrap()
}

fn planned(name: &str, arguments: Value) -> Result<String, String> {
    let arguments = arguments.as_object().unwrap().clone();
    let planned = plan(name, arguments).unwrap()?;
    Ok(format!("{} {} {}", planned.method, planned.path, String::from_utf8(planned.body).unwrap()))
}

// Issue 22
#[test]
fn each_tool_is_declared_and_has_a_route() {
    let declared = tools();
    let names: Vec<&str> = declared.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    let routes: Vec<&str> = ["chat"].into_iter().chain(ROUTES.iter().map(|(name, ..)| *name)).collect();
    assert_eq!(names, routes);
    for tool in &declared {
        assert_eq!(tool["inputSchema"]["type"], "object", "{tool}");
        assert_eq!(tool["inputSchema"]["additionalProperties"], false, "{tool}");
        assert!(
            tool["description"].is_string() && tool["title"].is_string() && tool["annotations"].is_object()
        );
        let properties: Vec<&String> =
            tool["inputSchema"]["properties"].as_object().into_iter().flat_map(|all| all.keys()).collect();
        let Some((_, path)) = sample(tool["name"].as_str().unwrap()) else { continue };
        for name in path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}')) {
            assert!(properties.iter().any(|of| *of == name), "{tool} lacks {name}");
        }
    }
    assert_eq!(sample("chat"), None);
    assert_eq!(sample("read_file"), Some(("GET", "/api/threads/-/files/{path}".to_owned())));
    assert_eq!(templates().len(), 3);
}

// Issue 22
#[test]
fn a_call_is_a_request_of_ours() {
    for (name, arguments, told) in [
        ("list_threads", json!({}), Ok("GET /api/threads ")),
        (
            "list_threads",
            json!({ "query": "a b&c", "limit": 2, "cursor": null }),
            Ok("GET /api/threads?limit=2&q=a%20b%26c "),
        ),
        ("read_thread", json!({ "thread_id": "T" }), Ok("GET /api/threads/T/messages ")),
        ("read_thread", json!({ "thread_id": "../keys" }), Ok("GET /api/threads/..%2Fkeys/messages ")),
        ("list_files", json!({ "workspace": "w" }), Ok("GET /api/workspaces/w/files ")),
        ("list_files", json!({ "thread_id": "T" }), Ok("GET /api/threads/T/files ")),
        (
            "read_file",
            json!({ "thread_id": "T", "path": "a/b c.md" }),
            Ok("GET /api/threads/T/files/a/b%20c.md "),
        ),
        (
            "write_file",
            json!({ "workspace": "w", "path": "a", "content": "ä\n" }),
            Ok("PUT /api/workspaces/w/files/a ä\n"),
        ),
        (
            "write_file",
            json!({ "workspace": "w", "path": "a", "content": "" }),
            Ok("PUT /api/workspaces/w/files/a "),
        ),
        ("delete_file", json!({ "workspace": "w", "path": "a" }), Ok("DELETE /api/workspaces/w/files/a ")),
        (
            "search_collection",
            json!({ "collection_id": "c", "query": "x" }),
            Ok("GET /api/collections/c/search?q=x "),
        ),
        (
            "start_workflow",
            json!({ "workflow_id": "w", "goal": "g" }),
            Ok(r#"POST /api/workflows/w/sessions {"goal":"g"}"#),
        ),
        (
            "continue_workflow",
            json!({ "workflow_id": "w", "session_id": "s", "continue_token": "t", "notesMarkdown": "n" }),
            Ok(r#"POST /api/workflows/w/sessions/s/continue {"continue_token":"t","notesMarkdown":"n"}"#),
        ),
        ("read_thread", json!({}), Err("thread_id must be a text that is not empty")),
        ("read_thread", json!({ "thread_id": "" }), Err("thread_id must be a text that is not empty")),
        ("read_thread", json!({ "thread_id": 7 }), Err("thread_id must be a text that is not empty")),
        ("list_files", json!({}), Err("thread_id must be a text that is not empty")),
        ("write_file", json!({ "workspace": "w", "path": "a" }), Err("content must be a text")),
        ("list_threads", json!({ "limit": [] }), Err("limit must be a text or a number")),
    ] {
        assert_eq!(
            planned(name, arguments.clone()),
            told.map(str::to_owned).map_err(str::to_owned),
            "{name} {arguments}"
        );
    }
    assert_eq!(plan("chat", Default::default()), None);
    assert_eq!(plan("other", Default::default()), None);
}

// Issue 22
#[test]
fn a_resource_is_a_thread_or_a_file() {
    for (uri, path) in [
        ("espalier://threads/T", Some("/api/threads/T/messages")),
        ("espalier://threads/T/files/a/b%20c", Some("/api/threads/T/files/a/b%20c")),
        ("espalier://workspaces/w/files/a", Some("/api/workspaces/w/files/a")),
        ("espalier://workspaces/w", None),
        ("espalier://threads", None),
        ("espalier://threads/", None),
        ("espalier://threads/T/files", None),
        ("espalier://threads/T/files/", None),
        ("espalier://threads/T/approvals/x", None),
        ("espalier://threads/T?limit=1", None),
        ("espalier://threads/T#x", None),
        ("espalier://keys/T", None),
        ("file:///threads/T", None),
        ("", None),
    ] {
        assert_eq!(resource(uri).as_deref(), path, "{uri}");
    }
    let list = json!({ "threads": [{ "id": "T", "title": "Roses" }, { "id": "U", "title": "" }], "next_cursor": "c" });
    let resource = |id, title| json!({ "uri": format!("espalier://threads/{id}"), "name": id, "title": title, "mimeType": "application/json" });
    assert_eq!(
        of(&threads(&list)),
        json!({ "resources": [resource("T", "Roses"), resource("U", "U")], "nextCursor": "c" })
    );
    assert_eq!(of(&threads(&json!({ "threads": [], "next_cursor": null }))), json!({ "resources": [] }));
    assert_eq!(of(&listed("a", &[json!(1), json!({ "b": 2 })])), json!({ "a": [1, { "b": 2 }] }));
    let contents = |uri, kind, body| -> Value { serde_json::from_slice(&contents(uri, kind, body)).unwrap() };
    assert_eq!(
        contents("u", "application/json", b"{}"),
        json!({ "uri": "u", "mimeType": "application/json", "text": "{}" })
    );
    assert_eq!(
        contents("u", "application/octet-stream", b"a"),
        json!({ "uri": "u", "mimeType": "text/plain", "text": "a" })
    );
    assert_eq!(
        contents("u", "application/octet-stream", b"\xff\x00"),
        json!({ "uri": "u", "mimeType": "application/octet-stream", "blob": "/wA=" })
    );
}

// Issue 22
#[test]
fn the_answer_of_a_route_is_a_result() {
    let text = |text: &str| json!([{ "type": "text", "text": text }]);
    for (status, kind, body, result) in [
        (
            200,
            "application/json",
            &br#"{"a":1}"#[..],
            json!({ "content": text(r#"{"a":1}"#), "structuredContent": { "a": 1 } }),
        ),
        (204, "", b"", json!({ "content": text("Done.") })),
        (200, "application/octet-stream", b"", json!({ "content": text("") })),
        (200, "application/octet-stream", b"a", json!({ "content": text("a") })),
        (
            404,
            "application/problem+json",
            br#"{"code":"thread_not_found","detail":"there is none"}"#,
            json!({ "content": text("thread_not_found: there is none"), "isError": true }),
        ),
        (
            400,
            "application/problem+json",
            br#"{"code":"invalid_request","title":"Not valid","field":"limit"}"#,
            json!({ "content": text("invalid_request (limit): Not valid"), "isError": true }),
        ),
    ] {
        assert_eq!(of(&tool_result(status, kind, body, "file:///x")), result, "{status} {kind}");
    }
    let blob = of(&tool_result(200, "application/octet-stream", b"\xff", "file:///x"));
    assert_eq!(blob["content"][0]["resource"]["blob"], "/w==");
    assert_eq!(blob["content"][0]["resource"]["uri"], "file:///x");
}
