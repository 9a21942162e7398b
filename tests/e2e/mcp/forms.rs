//! A server that asks a person for input in the middle of a call. Issue 22.

use espalier_test_support::case::first;
use espalier_test_support::client::assert_problem;
use espalier_test_support::{
    Case, Client, Event, EventStream, FakeMcp, Value, call, env, json, new_id, text,
};

use super::{case, marked, said};

/// A turn that calls a tool which asks a person, up to its question. Returns the stream, the question and its route.
async fn ordered(case: &Case, mark: &str) -> (EventStream, Event, String) {
    let (name, arguments) = marked("modern__order", mark);
    case.script("", [call(&name, arguments), text("Done.")]).await;
    let mut stream = case.client.chat(&case.says("Work")).await;
    let request = stream.until(|event| event.kind == "approval_request").await;
    stream.until(|event| event.text("state") == "waiting_on_user").await;
    let thread = first(stream.seen(), "session").text("thread_id").to_owned();
    let path = format!("/api/threads/{thread}/approvals/{}", request.text("approval_id"));
    (stream, request, path)
}

// Issue 22: elicitation. The server asks a person in the middle of a call, and gets the answer with the same request.
#[tokio::test]
async fn a_server_asks_a_person_in_the_middle_of_a_call() {
    let filled = json!({"box": {"size": "large", "name": "Ada", "count": 2, "gift": true}});
    for (answer, given) in [
        (
            json!({"decision": "approve", "content": filled}),
            json!({"box": {"action": "accept", "content": filled["box"]}}),
        ),
        (json!({"decision": "deny"}), json!({"box": {"action": "decline"}})),
    ] {
        let (case, mark) = (case().await, new_id());
        let (stream, request, path) = ordered(&case, &mark).await;
        assert_eq!(request.data["form"]["server"], "modern");
        let question = &request.data["form"]["questions"][0];
        assert_eq!((&question["id"], &question["message"]), (&json!("box"), &json!("What shall I order?")));
        assert_eq!(question["schema"]["required"], json!(["size"]));
        assert_eq!(request.data.get("state"), None, "the server's state is for the server");
        for (wrong, field) in [
            (json!({"decision": "approve"}), "content.box"),
            (json!({"decision": "approve", "content": {"box": {"size": "medium"}}}), "content.box"),
            (json!({"decision": "approve", "content": {"box": {"size": "large"}, "bag": {}}}), "content.bag"),
            (json!({"decision": "approve", "content": 7}), "content"),
            (json!({"decision": "approve_for_thread"}), "decision"),
        ] {
            let refused = case.client.post(&path, &wrong).await;
            assert_problem(refused, 400, "invalid_request", Some(field)).await;
        }
        let stranger = Client::anonymous_at(&env("ESPALIER_MCP_URL")).await;
        stranger.post(&path, &answer).await.expect(404).await;
        let taken = case.client.post(&path, &answer).await.expect(200).await.json().await;
        assert_eq!(taken, json!({ "taken": true }));
        case.turn(stream).await;
        let told = case.requests("").await.requests[1].results();
        let content: Value = serde_json::from_str(&said(&told[0])).expect("JSON");
        assert_eq!(content, json!({"mark": mark, "given": given, "state": "asked"}));
        let asked = FakeMcp::from_env().requests().await;
        assert_eq!(asked.iter().filter(|asked| asked["mark"] == json!(mark)).count(), 2);
    }
}

// Issue 22: a client of another wire knows no forms, so the server is told that nobody can answer.
#[tokio::test]
async fn a_client_of_another_wire_is_not_asked() {
    let (case, mark) = (case().await, new_id());
    let (name, arguments) = marked("modern__order", &mark);
    case.script("", [call(&name, arguments), text("Done.")]).await;
    let says = case.says("Work");
    let body = json!({"model": "espalier", "messages": [{"role": "user", "content": says["content"]}]});
    let answer = case.client.post("/v1/chat/completions", &body).await.expect(200).await.json().await;
    assert_eq!(answer["choices"][0]["message"]["content"], "Done.", "{answer}");
    let told = case.requests("").await.requests[1].results();
    let content: Value = serde_json::from_str(&said(&told[0])).expect("JSON");
    assert_eq!(content, json!({"mark": mark, "given": null, "state": null}));
}
