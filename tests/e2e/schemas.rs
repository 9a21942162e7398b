//! A tool with a schema as zod emits it, over each wire of a client: taken, offered, called, and checked as far as that can
//! be. The MCP servers of `mcp.rs` have such tools as well.
//!
//! Issue 44

use espalier_test_support::{Case, Value, call, json, text};

/// Zod's schema of an object with an e-mail address: draft 7, with look-around that this service does not compile.
fn zod() -> Value {
    json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "type": "object",
        "properties": {
            "to": {
                "type": "string", "format": "email",
                "pattern": r"^(?!\.)(?!.*\.\.)([A-Za-z0-9_'+\-\.]*)[A-Za-z0-9_+-]@([A-Za-z0-9][A-Za-z0-9\-]*\.)+[A-Za-z]{2,}$",
            },
            "at": { "type": "array", "items": [{ "type": "string" }, { "type": "number" }] },
        },
        "required": ["to"],
        "additionalProperties": false,
    })
}

/// A model that calls the tool wrongly first.
async fn called(name: &str) -> Case {
    let case = Case::new().await;
    let wrong = call(name, json!({ "at": ["x", 1] }));
    let right = call(name, json!({ "to": "ann@example.com", "at": ["x", 1] }));
    case.script("", [wrong, right, text("Sent.")]).await;
    case
}

/// The model was offered the tool, heard what was wrong, and called again.
async fn was_told(case: &Case, name: &str) {
    let requests = case.requests("").await.requests;
    assert!(requests[0].tools().contains(&name), "{:?}", requests[0].tools());
    let told = requests[1].contents();
    assert!(told.iter().any(|content| content.contains("invalid arguments")), "{told:?}");
    assert_eq!(requests.len(), 2);
}

#[tokio::test]
async fn over_our_own_route() {
    let case = called("ui_send").await;
    let mut body = case.says("Send it");
    body["chat_context"] = json!({ "kind": "editor" });
    body["client_tools"] = json!([{ "name": "ui_send", "description": "Sends.", "input_schema": zod() }]);
    let mut stream = case.client.chat(&body).await;
    stream.until(|event| event.text("state") == "waiting_on_user").await;
    was_told(&case, "ui_send").await;
}

#[tokio::test]
async fn over_both_apis_of_openai() {
    for (path, conversation, nested) in
        [("/v1/chat/completions", "messages", true), ("/v1/responses", "input", false)]
    {
        let case = called("ui_send").await;
        let function = json!({ "name": "send", "parameters": zod(), "strict": true });
        let mut tool = if nested { json!({ "function": function }) } else { function };
        tool["type"] = json!("function");
        let mut body = json!({ "model": "espalier", "tools": [tool] });
        body[conversation] = json!([{ "role": "user", "content": case.said("Send it", "") }]);
        let answer = case.client.post(path, &body).await.expect(200).await.json().await.to_string();
        assert!(answer.contains("ann@example.com") && answer.contains(r#""name":"send""#), "{answer}");
        was_told(&case, "ui_send").await;
    }
}

#[tokio::test]
async fn over_the_wire_of_the_ai_sdk() {
    let list = json!([{ "name": "send", "description": "Sends.", "inputSchema": zod() }]);
    // assistant-ui's transport sends a map.
    let map = json!({ "send": { "description": "Sends.", "parameters": zod() } });
    for tools in [list, map] {
        let case = called("ui_send").await;
        let parts = json!([{ "type": "text", "text": case.said("Send it", "") }]);
        let body = json!({ "id": "chat", "tools": tools, "messages": [{ "id": "m", "role": "user", "parts": parts }] });
        let answer = case.client.post("/api/ai-sdk/chat", &body).await.expect(200).await.text().await;
        assert!(answer.contains(r#""toolName":"send""#) && answer.contains("ann@example.com"), "{answer}");
        was_told(&case, "ui_send").await;
    }
}

#[tokio::test]
async fn a_name_that_our_prefix_makes_too_long_comes_back_whole() {
    let name = "A".repeat(64);
    let ours = format!("ui_{}_d53eda7a", "_a".repeat(26));
    let said = "Send it";
    let function = json!({ "type": "function", "name": name, "parameters": zod() });
    let nested = json!({ "type": "function", "function": { "name": name, "parameters": zod() } });
    let map = json!({ (&name): { "parameters": zod() } });
    for (path, member, tools) in [
        ("/v1/chat/completions", "name", json!([nested])),
        ("/v1/responses", "name", json!([function])),
        ("/api/ai-sdk/chat", "toolName", map),
    ] {
        let case = called(&ours).await;
        let content = case.said(said, "");
        let message = json!({ "role": "user", "content": content });
        let parts = json!([{ "type": "text", "text": content }]);
        let body = match path {
            "/v1/chat/completions" => json!({ "tools": tools, "messages": [message] }),
            "/v1/responses" => json!({ "tools": tools, "input": [message] }),
            _ => {
                json!({ "id": "c", "tools": tools, "messages": [{ "id": "m", "role": "user", "parts": parts }] })
            }
        };
        let answer = case.client.post(path, &body).await.expect(200).await.text().await;
        assert!(answer.contains(&format!(r#""{member}":"{name}""#)), "{answer}");
        was_told(&case, &ours).await;
    }
}

#[tokio::test]
async fn a_map_without_tools_is_a_message_without_tools() {
    let case = Case::new().await;
    case.script("", [text("Hello.")]).await;
    let parts = json!([{ "type": "text", "text": case.said("Hello", "") }]);
    let message = json!({ "id": "m1", "role": "user", "parts": parts, "metadata": { "custom": {} } });
    let body = json!({
        "tools": {}, "id": "chat-1", "messages": [message], "trigger": "submit-message", "metadata": {},
    });
    let answer = case.client.post("/api/ai-sdk/chat", &body).await.expect(200).await.text().await;
    assert!(answer.contains("Hello."), "{answer}");
}

#[tokio::test]
async fn a_refusal_names_the_member_of_its_body() {
    let case = Case::new().await;
    let values: Vec<u32> = (0..1_001).collect();
    let schema = json!({ "type": "object", "properties": { "n": { "enum": values } } });
    let tool = json!({ "type": "function", "function": { "name": "n", "parameters": schema } });
    let body = json!({ "messages": [{ "role": "user", "content": "Hello" }], "tools": [tool] });
    let refused =
        case.client.post("/v1/chat/completions", &body).await.expect(400).await.json().await["error"].clone();
    assert_eq!(refused["param"], "tools[0].parameters", "{refused}");
    let many: Vec<Value> =
        (0..129).map(|at| json!({ "type": "function", "function": { "name": format!("t{at}") } })).collect();
    let body = json!({ "messages": [{ "role": "user", "content": "Hello" }], "tools": many });
    let refused =
        case.client.post("/v1/chat/completions", &body).await.expect(400).await.json().await["error"].clone();
    assert_eq!(refused["param"], "tools", "{refused}");
}
