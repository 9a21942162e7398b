//! Old clients: the service accepts their requests, and the shape of their answers has not changed.
//!
//! N-006 N-018 N-024 N-025 N-026 N-027 N-110 N-111 N-115 N-116 N-117 N-205 N-220

use espalier_test_support::{Case, Event, Value, call, calls, json, story, text};

/// Plays the same conversation with further members beside the content. Returns the events and the provider's requests.
async fn chat_with(more: Value) -> (Vec<String>, Vec<Value>) {
    let case = Case::new().await;
    case.script("", [call("calculate", json!({ "expression": "2+2" })), text("4")]).await;
    let mut body = case.says("What is 2+2?");
    for (name, value) in more.as_object().into_iter().flatten() {
        body[name] = value.clone();
    }
    let events = case.chat_with(&body).await;
    let marker = case.marker("");
    let requests = case.all_requests().await.requests;
    let requests = requests.into_iter().map(|record| {
        // Only the marker may differ.
        let body = record.body.to_string().replace(&marker, "M");
        serde_json::from_str(&body).expect("still JSON")
    });
    (story(&events), requests.collect())
}

// N-006 N-018 N-024 N-025 N-026 N-027 N-110 N-205 N-220: none of these members changes an event, an offered tool or a
// word to the provider.
#[tokio::test]
async fn members_without_a_meaning_change_nothing() {
    let plain = chat_with(json!({})).await;
    for more in [
        json!({ "chat_context": { "kind": "thread" } }),
        json!({ "chat_context": null }),
        json!({ "agent_mode": true }),
        json!({ "agent_mode": false }),
        json!({ "agent_mode": "plan" }),
        json!({ "tools": ["write_secret"] }),
        json!({ "tools": [{ "type": "function", "function": { "name": "write_secret" } }] }),
        json!({ "tools": 7 }),
        json!({ "workflow_id": "wf-1" }),
        json!({ "memory_enabled": false, "collections": [], "media_generation": { "mode": "chat" } }),
        json!({ "something_new": { "that": ["nobody", "knows"] } }),
    ] {
        let other = chat_with(more.clone()).await;
        assert_eq!(other.0, plain.0, "{more}");
        assert_eq!(other.1, plain.1, "{more}");
    }
}

// N-026: a request of the editor names its context, and the events repeat it.
#[tokio::test]
async fn the_editor_is_a_context_of_its_own() {
    for context in [
        json!({ "kind": "editor", "workflow_id": "wf-1" }),
        json!({ "kind": "editor", "workflowId": "wf-1" }),
    ] {
        let (events, _) = chat_with(json!({ "chat_context": context })).await;
        assert_eq!(events[1], "agent_state editor thinking");
    }
}

/// The members of an event that a client without nesting knows.
#[derive(Debug, PartialEq)]
enum OldEvent {
    Text(String),
    ToolCall { id: String, name: String },
    ToolResult { id: String, result: String },
    Other,
}

/// The client's parser reads the members that it knows and ignores the others.
fn old_parser(event: &Event) -> OldEvent {
    match event.kind.as_str() {
        "chunk" => OldEvent::Text(event.text("content").to_owned()),
        "tool_call_update" => {
            let (id, name) = (event.text("tool_call_id").to_owned(), event.text("name").to_owned());
            match event.data["result"].as_str() {
                Some(result) => OldEvent::ToolResult { id, result: result.to_owned() },
                None => OldEvent::ToolCall { id, name },
            }
        }
        _ => OldEvent::Other,
    }
}

// N-111 N-115 N-116 N-117: read flat, a nested turn is still a chat with tools.
#[tokio::test]
async fn an_old_client_reads_a_nested_turn_as_a_flat_chat() {
    let case = Case::new().await;
    case.script("", [calls([case.subtask("Add", "a")]).saying("Wait. "), text("Four.")]).await;
    case.script("a", [call("calculate", json!({ "expression": "2+2" })), text("4 ")]).await;
    let events = case.chat("2+2?").await;
    let old: Vec<OldEvent> =
        events.iter().map(old_parser).filter(|event| *event != OldEvent::Other).collect();
    let said: String =
        old.iter().map(|event| if let OldEvent::Text(text) = event { text.as_str() } else { "" }).collect();
    assert_eq!(said, "Wait. 4 Four.");
    let mut open = Vec::new();
    for event in &old {
        match event {
            OldEvent::ToolCall { id, name } => open.push((id, name)),
            OldEvent::ToolResult { id, result } => {
                assert!(!result.is_empty());
                open.retain(|(started, _)| *started != id);
            }
            OldEvent::Text(_) | OldEvent::Other => {}
        }
    }
    assert!(open.is_empty(), "cards without an end: {open:?}");
}
