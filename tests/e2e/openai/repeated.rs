//! `Idempotency-Key`: the same request gets the same turn, and another one is refused.
//!
//! Issue 22, 2; issue 46, L4

use espalier_test_support::http::Reply;
use espalier_test_support::stored::{change_object_at, object_at};
use espalier_test_support::{Case, json, new_id, text};
use uuid::Uuid;
use wire::protocol::Owner;

use super::keyed;

const STATE: &str = "ESPALIER_STATE_DIR";

#[tokio::test]
async fn the_same_key_is_the_same_turn() {
    let (case, _) = keyed().await;
    case.script("", [text("Hello.")]).await;
    let once = case.client.with("idempotency-key", "once");
    let body = json!({ "messages": [{ "role": "user", "content": case.said("Hello", "") }] });
    let first = once.post("/v1/chat/completions", &body).await.expect(200).await.json().await;
    let again = once.post("/v1/chat/completions", &body).await.expect(200).await.json().await;
    assert_eq!(first, again);
    assert_eq!(case.requests("").await.requests.len(), 1);
}

/// The refusal of a request with a key that another one has used.
async fn assert_reused(reply: Reply) {
    let reply = reply.expect(409).await;
    assert_eq!(reply.header("x-should-retry"), "false");
    let error = reply.json().await["error"].clone();
    let expected = (&json!("idempotency_key_reused"), &json!("invalid_request_error"));
    assert_eq!((&error["code"], &error["type"]), expected, "{error}");
}

// The key names one request, of one of the APIs.
#[tokio::test]
async fn another_request_with_the_same_key_is_refused() {
    let case = Case::new().await;
    case.script("", [text("Hello.")]).await;
    let key = new_id();
    let once = case.client.with("idempotency-key", &key);
    let said = [json!({ "role": "user", "content": case.said("Hello", "") })];
    let (chat, response) = ("/v1/chat/completions", "/v1/responses");
    // A body that both APIs take.
    let body = json!({ "messages": said, "input": said });
    let first = once.post(chat, &body).await.expect(200).await.json().await;
    assert_reused(once.post(response, &body).await).await;
    for other in [
        json!({ "messages": said, "input": said, "stream": true }),
        json!({ "messages": [{ "role": "user", "content": case.said("Bye", "") }] }),
        json!({ "messages": [said[0], { "role": "assistant", "content": "Hi." }, said[0]] }),
    ] {
        assert_reused(once.post(chat, &other).await).await;
    }
    assert_eq!(once.post(chat, &body).await.expect(200).await.json().await, first);
    // Another user may have the same key, and so may another thread.
    let other = Case::new().await;
    other.script("", [text("Hi.")]).await;
    let theirs = json!({ "input": other.said("Hello", "") });
    other.client.with("idempotency-key", &key).post(response, &theirs).await.expect(200).await;
    assert_eq!(case.requests("").await.requests.len(), 1);

    // A turn that an older version began has no digest.
    let session = case.client.post("/api/session", &json!({})).await.expect(200).await.json().await;
    let user = session["user_id"].as_str().expect("a user").to_owned();
    let owner = Owner { issuer: "anonymous".to_owned(), tenant: "public".to_owned(), user };
    let thread = first["metadata"]["thread_id"].as_str().expect("a thread");
    let object = owner.object_name(Uuid::try_parse(thread).expect("an id"));
    let kept = object_at(STATE, &object, "SELECT length(digest) AS digits FROM request_digests");
    assert_eq!(kept.await, [json!({ "digits": 64 })]);
    change_object_at(STATE, &object, "DELETE FROM request_digests").await;
    let answer = once.post(response, &body).await.expect(200).await.json().await;
    assert_eq!(answer["output"][0]["content"][0]["text"], "Hello.");
}
