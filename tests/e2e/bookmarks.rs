//! Bookmarks: messages that a user wants to find again. Issue 47

use espalier_test_support::case::first;
use espalier_test_support::client::assert_problem;
use espalier_test_support::stored::{d1, eventually};
use espalier_test_support::{Case, Client, Value, json, new_id, text};

/// So many bookmarks a user may have (docs/routes.md).
const MAX_BOOKMARKS: usize = 1_000;

fn path(thread: &str, message: &str) -> String {
    format!("/api/threads/{thread}/bookmarks/{message}")
}

/// Bookmarks a message.
pub async fn bookmark(client: &Client, thread: &str, message: &str) -> Value {
    client.send("PUT", &path(thread, message), "").await.expect(200).await.json().await
}

/// A chat, and the ids of its thread, its question and its answer.
async fn chat(case: &Case, answer: &str) -> [String; 3] {
    case.endless_script("", [text(answer)]).await;
    let events = case.chat("What is 6 * 7?").await;
    let session = first(&events, "session");
    ["thread_id", "user_message_id", "assistant_message_id"].map(|id| session.text(id).to_owned())
}

async fn page(case: &Case, query: &str) -> (Vec<Value>, Value) {
    let mut page = case.client.read(&format!("/api/bookmarks?{query}")).await;
    let next = page["next_cursor"].take();
    (page["bookmarks"].as_array().expect("a list").clone(), next)
}

async fn ids(case: &Case, query: &str) -> Vec<String> {
    let list = page(case, query).await.0;
    list.iter().map(|one| one["message_id"].as_str().expect("an id").to_owned()).collect()
}

#[tokio::test]
async fn a_message_is_bookmarked_and_found_again() {
    let case = Case::new().await;
    let long = "It is 42. ".repeat(60);
    let [thread, question, answer] = chat(&case, &long).await;
    let [other, _, second] = chat(&case, "It is 42.").await;
    assert_eq!(page(&case, "").await, (Vec::new(), Value::Null));
    let made = bookmark(&case.client, &thread, &answer).await;
    let turn = case.client.messages(&thread).await[1]["turn_id"].take();
    let created_at = made["created_at"].as_u64().expect("a time");
    let expected = json!({
        "message_id": answer, "thread_id": thread, "turn_id": turn, "role": "assistant",
        "excerpt": "It is 42. ".repeat(20), "created_at": created_at,
    });
    assert_eq!(made, expected);
    assert_eq!(bookmark(&case.client, &thread, &answer).await, expected, "a repetition changes nothing");
    bookmark(&case.client, &thread, &question).await;
    bookmark(&case.client, &other.to_uppercase(), &second).await;

    assert_eq!(ids(&case, "").await, [&second, &question, &answer].map(String::as_str));
    assert_eq!(ids(&case, &format!("thread_id={thread}")).await, [&question, &answer].map(String::as_str));
    assert_eq!(ids(&case, &format!("thread_id={}", new_id())).await, Vec::<String>::new());
    let (newest, next) = page(&case, "limit=2").await;
    assert_eq!((newest.len(), newest[1]["role"].as_str()), (2, Some("user")));
    let next = next.as_str().expect("a cursor").to_owned();
    assert_eq!(page(&case, &format!("limit=2&cursor={next}")).await, (vec![expected], Value::Null));

    case.client.send("DELETE", &format!("/api/bookmarks/{answer}"), "").await.expect(204).await;
    assert_eq!(ids(&case, "").await, [&second, &question].map(String::as_str));
    let gone = case.client.send("DELETE", &format!("/api/bookmarks/{answer}"), "").await;
    assert_problem(gone, 404, "bookmark_not_found", None).await;
    assert_eq!(case.client.messages(&thread).await.len(), 2, "the message stays");

    // They go with their thread.
    case.client.delete(&thread).await;
    eventually("the bookmark is gone", || async {
        (ids(&case, "").await == [second.as_str()]).then_some(())
    })
    .await;
}

#[tokio::test]
async fn only_a_message_of_the_thread_is_bookmarked() {
    let case = Case::new().await;
    let [thread, _, answer] = chat(&case, "Yes.").await;
    let [other, _, _] = chat(&case, "No.").await;
    bookmark(&case.client, &thread, &answer).await;
    for (thread, message, code) in [
        (other.as_str(), answer.as_str(), "message_not_found"),
        (&thread, &new_id(), "message_not_found"),
        (&thread, "%00", "message_not_found"),
        (&new_id(), &answer, "thread_not_found"),
        ("not-a-uuid", &answer, "thread_not_found"),
    ] {
        let reply = case.client.send("PUT", &path(thread, message), "").await;
        assert_problem(reply, 404, code, None).await;
    }
    for query in ["limit=0", "limit=201", "cursor=x", "thread_id=x"] {
        let field = query.split('=').next();
        let reply = case.client.get(&format!("/api/bookmarks?{query}")).await;
        assert_problem(reply, 400, "invalid_request", field).await;
    }
    assert_eq!(ids(&case, "").await, [answer]);
}

#[tokio::test]
async fn a_user_has_a_thousand_bookmarks() {
    let (case, neighbour) = (Case::new().await, Case::new().await);
    let [thread, question, answer] = chat(&case, "Yes.").await;
    bookmark(&case.client, &thread, &question).await;
    // All but one more: the next one fits, and no other.
    let copies = format!(
        "WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < {})
         INSERT INTO bookmarks SELECT tenant, user_id, printf('00000000-0000-4000-8000-%012d', n), thread_id, turn_id,
         role, excerpt, 1 FROM bookmarks, n WHERE message_id = ?1",
        MAX_BOOKMARKS - 2
    );
    d1(&copies, &[&question]).await;
    bookmark(&case.client, &thread, &answer).await;
    let [other, _, third] = chat(&case, "Again.").await;
    let refused = case.client.send("PUT", &path(&other, &third), "").await;
    assert_problem(refused, 409, "too_many_bookmarks", None).await;
    bookmark(&case.client, &thread, &answer).await;
    case.client.send("DELETE", &format!("/api/bookmarks/{question}"), "").await.expect(204).await;
    bookmark(&case.client, &other, &third).await;
    let [thread, _, answer] = chat(&neighbour, "Yes.").await;
    bookmark(&neighbour.client, &thread, &answer).await;
}
