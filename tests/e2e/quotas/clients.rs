//! Clients of OpenAI whose turn waits for its place after an answer.
//!
//! Issue 22

use espalier_test_support::{Value, call, json, new_id, stored, text};

use super::somebody;

#[tokio::test]
async fn an_answered_turn_without_a_place_can_be_asked_for_again() {
    let case = somebody().await;
    let held = case.barrier("held");
    case.script("held", [text("One.").using(1, 0, 1).waiting(&held, 0)]).await;
    case.script("", [call("ui_get__weather", json!({})).using(1, 0, 1), text("Rain.").using(1, 0, 1)]).await;
    let tools = json!([{ "type": "function", "function": { "name": "get_weather", "parameters": { "type": "object" } } }]);
    let mut messages = vec![json!({ "role": "user", "content": case.said("The weather?", "") })];
    let body = |messages: &[Value]| json!({ "messages": messages, "tools": tools });
    let chat = "/v1/chat/completions";
    let asked = case.client.post(chat, &body(&messages)).await.expect(200).await.json().await;
    let message = asked["choices"][0]["message"].clone();
    let id = message["tool_calls"][0]["id"].clone();
    messages.extend([message, json!({ "role": "tool", "tool_call_id": id, "content": "rain" })]);

    // Two turns take both places, the one of the turn that waits among them.
    let slow = || json!({ "turn_id": new_id(), "content": case.said("Hello", "held") });
    let first = case.client.chat(&slow()).await;
    let second = stored::eventually("the place of the turn that waits is free", async || {
        let reply = case.client.post("/api/chat", &slow()).await;
        (reply.status == 200).then_some(reply)
    })
    .await;
    let refused = case.client.post(chat, &body(&messages)).await.expect(503).await;
    assert_eq!(refused.header("x-should-retry"), "true");
    assert_eq!(refused.json().await["error"]["code"], "turn_on_hold");
    case.llm.release(&held).await;
    first.turn().await;
    second.text().await;
    let answer = stored::eventually("the turn has its place", async || {
        let reply = case.client.post(chat, &body(&messages)).await;
        (reply.status == 200).then_some(reply)
    })
    .await;
    assert_eq!(answer.json().await["choices"][0]["message"]["content"], "Rain.");
}
