//! The notice of a session's end to the address of its definition.

use espalier_test_support::{Case, Value, json, stored};

use super::{NOTES, step, workflow_with};

/// Carries out a session of one step that tells this address, and returns its id.
async fn ended(case: &Case, url: &str, goal: &str) -> (String, String) {
    let definition = json!({ "name": "A procedure", "steps": [step(case, "a")], "notify": { "url": url } });
    let workflow = workflow_with(case, definition).await;
    let path = format!("/api/workflows/{workflow}/sessions");
    let started = case.client.post(&path, &json!({ "goal": goal })).await.expect(200).await.json().await;
    let session = started["session_id"].as_str().expect("an id").to_owned();
    let body = json!({ "continue_token": started["continue_token"], "notesMarkdown": NOTES });
    let answer = case.client.post(&format!("{path}/{session}/continue"), &body).await.expect(200).await;
    assert_eq!(answer.json().await["is_complete"], true);
    (workflow, session)
}

/// The messages that this hook got.
async fn told(case: &Case, name: &str, count: usize) -> Vec<Value> {
    let path = format!("/_fake/hooks/{name}");
    let requests = case.llm.wait(&path, count).await.requests;
    requests.into_iter().map(|record| record.body).collect()
}

// W-002 W-101 W-102: one message with these members, and the goal cut at 60 characters.
#[tokio::test]
async fn the_end_of_a_session_is_told_once() {
    let case = Case::new().await;
    let name = case.marker("hook").replace('/', "-");
    let url = format!("{}/_fake/hooks/{name}", case.llm.url());
    let goal = "é".repeat(80);
    let (workflow, session) = ended(&case, &url, &goal).await;
    let messages = told(&case, &name, 1).await;
    let message = &messages[0];
    let at = message["timestamp"].as_u64().expect("a time");
    assert!(at > 1_700_000_000_000);
    let expected = json!({
        "event": "workflow_session_ended", "workflowId": workflow, "sessionId": session, "outcome": "complete",
        "detail": null, "goal": "é".repeat(60), "timestamp": at,
    });
    assert_eq!(message, &expected);
    assert!(!message.to_string().contains("ct1."));
}

// W-101 W-102: an address that refuses is asked three times, and the session is complete whatever it says.
#[tokio::test]
async fn an_address_that_refuses_changes_nothing() {
    let case = Case::new().await;
    let name = case.marker("deaf").replace('/', "-");
    let url = format!("{}/_fake/hooks/{name}?refuse=9", case.llm.url());
    ended(&case, &url, "Find out").await;
    let messages = told(&case, &name, 3).await;
    assert_eq!(messages.len(), 3);
    assert!(messages.iter().all(|message| message == &messages[0]), "the same message each time");
    // The failure is told to the operator, and then nothing is tried any more.
    let sql = "SELECT 1 FROM error_log WHERE component = 'workflows' AND message LIKE ?";
    stored::eventually("the failure is told", || async {
        (!stored::d1(sql, &["%503%"]).await.is_empty()).then_some(())
    })
    .await;
    assert_eq!(told(&case, &name, 3).await.len(), 3);
}

// A private address that the operator did not name takes nothing.
#[tokio::test]
async fn a_private_address_is_told_nothing() {
    let case = Case::new().await;
    let url = "http://127.0.0.1:9/hook";
    ended(&case, url, "Find out").await;
    let sql = "SELECT 1 FROM error_log WHERE component = 'workflows' AND message LIKE ?";
    stored::eventually("the guard refuses", || async {
        (!stored::d1(sql, &["%127.0.0.1%"]).await.is_empty()).then_some(())
    })
    .await;
}
