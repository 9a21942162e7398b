//! `main` in the list of agents.

use espalier_test_support::case::first;
use espalier_test_support::{Case, Value, call, deltas, json, text};

use super::{discussed, heard};

// A-092 A-100 A-110: the list has `main` as well, with the prompt that its model gets and the words of its hooks.
#[tokio::test]
async fn main_is_listed_with_its_prompt_and_hooks() {
    let case = Case::new().await;
    let (thread, _) = discussed(&case).await;
    let hook = json!({ "on": "action", "match": ["write_file"], "instructions": "Only in the morning." });
    let path = format!("/api/threads/{thread}/hooks/early");
    case.client.put(&path, &hook).await.expect(200).await;
    let main = || async { case.client.read(&format!("/api/threads/{thread}/agents")).await["main"].clone() };
    let idle = main().await;
    assert_eq!((&idle["turn_id"], &idle["speakers"]), (&Value::Null, &json!(["sweet", "sour"])));
    assert_eq!(idle["hooks"][0]["instructions"], "Only in the morning.");
    assert_eq!(idle["operators"], json!([]));

    // A turn that runs.
    case.script("held", [deltas(["one ", "two "]).waiting(&case.barrier("hold"), 1)]).await;
    let body = json!({ "thread_id": thread, "content": case.said("Count.", "held"), "agents": true });
    let mut stream = case.client.chat(&body).await;
    stream.until(|event| event.text("content") == "one ").await;
    let open = main().await;
    assert_eq!(open["turn_id"], first(stream.seen(), "session").text("turn_id"));
    let asked = case.requests("held").await.requests;
    assert_eq!(open["instructions"], heard(&asked[0].body)[0].as_str());
    assert_eq!(idle["instructions"], open["instructions"], "the next turn had the prompt that was told");
    case.llm.release(&case.barrier("hold")).await;
    case.turn(stream).await;
    assert_eq!(main().await["turn_id"], Value::Null);

    // A turn that waits for its client.
    case.script("asks", [call("ui_paste", json!({})), text("Thanks.")]).await;
    let tool = json!({ "name": "ui_paste", "description": "Pastes.", "input_schema": { "type": "object" } });
    let body = json!({
        "thread_id": thread, "content": case.said("Paste.", "asks"), "client_tools": [tool],
        "chat_context": { "kind": "editor" },
    });
    let mut stream = case.client.chat(&body).await;
    stream.until(|event| event.text("state") == "waiting_on_user").await;
    let parked = main().await;
    assert_eq!(parked["turn_id"], first(stream.seen(), "session").text("turn_id"));
    let asked = case.requests("asks").await.requests;
    assert_eq!(parked["instructions"], heard(&asked[0].body)[0].as_str());
}
