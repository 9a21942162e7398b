//! `replaces_message_id`: an edited message, or another answer to it, deletes all later messages.

use espalier_test_support::case::first;
use espalier_test_support::client::assert_problem;
use espalier_test_support::{Case, Event, Value, deltas, json, new_id, stored, text};

/// Three turns in one thread, one after the other.
async fn conversation(case: &Case) -> (String, Vec<Vec<Event>>) {
    let thread = new_id();
    let mut turns = Vec::new();
    for path in ["one", "two", "three"] {
        case.script(path, [text(&format!("answer {path}"))]).await;
        let body = json!({ "thread_id": thread, "content": case.said(&format!("question {path}"), path) });
        turns.push(case.chat_with(&body).await);
    }
    (thread, turns)
}

async fn said(case: &Case, thread: &str) -> Vec<String> {
    let messages = case.client.messages(thread).await;
    let words = |message: &Value| {
        let content = message["content"].as_str().unwrap_or_default();
        content.split(" [[").next().unwrap_or_default().to_owned()
    };
    messages.iter().map(words).collect()
}

#[tokio::test]
async fn an_edited_message_takes_the_place_of_all_that_came_after_it() {
    let case = Case::new().await;
    let (thread, turns) = conversation(&case).await;
    let session = first(&turns[1], "session");
    let replaced = &session.data["user_message_id"];
    let turn = new_id();
    case.script("edited", [text("another answer")]).await;
    let body = json!({
        "thread_id": thread, "turn_id": turn, "content": case.said("question edited", "edited"),
        "replaces_message_id": replaced,
    });
    let events = case.chat_with(&body).await;
    assert_eq!(first(&events, "session").data["replaces_message_id"], *replaced);
    let expected = ["question one", "answer one", "question edited", "another answer"];
    assert_eq!(said(&case, &thread).await, expected);

    // The model does not get replaced messages.
    let requests = case.requests("edited").await.requests;
    assert_eq!(requests[0].roles(), ["system", "user", "assistant", "user"]);
    let body_text = requests[0].body.to_string();
    assert!(body_text.contains("answer one") && !body_text.contains("two"), "{body_text}");

    // A blind retry finds the turn although the message that it replaces is deleted.
    let again = case.chat_with(&body).await;
    assert_eq!(again, events);

    // The next turn does not get it, and the index has deleted it.
    case.script("next", [text("the next answer")]).await;
    case.chat_with(&json!({ "thread_id": thread, "content": case.said("next", "next") })).await;
    assert!(!case.requests("next").await.requests[0].body.to_string().contains("two"));
    stored::eventually("D1 has the messages of the thread", || async {
        let sql = "SELECT content FROM messages WHERE thread_id = ? ORDER BY created_at, id";
        let rows = stored::d1(sql, &[&thread]).await;
        let contents: Vec<&str> =
            rows.iter().filter_map(|row| row["content"].as_str()?.split(" [[").next()).collect();
        let expected =
            ["question one", "answer one", "question edited", "another answer", "next", "the next answer"];
        (contents == expected).then_some(())
    })
    .await;
    assert_eq!(case.client.thread(&thread).await["title"], case.said("question one", "one"));
}

#[tokio::test]
async fn an_answer_is_made_again_by_naming_it() {
    let case = Case::new().await;
    let (thread, turns) = conversation(&case).await;
    let answer = &first(&turns[2], "session").data["assistant_message_id"];
    case.script("again", [text("a better answer")]).await;
    let body = json!({
        "thread_id": thread, "content": case.said("question three", "again"), "replaces_message_id": answer,
    });
    case.chat_with(&body).await;
    let expected =
        ["question one", "answer one", "question two", "answer two", "question three", "a better answer"];
    assert_eq!(said(&case, &thread).await, expected);
}

#[tokio::test]
async fn the_first_message_gives_its_thread_a_new_title_unless_it_was_renamed() {
    let case = Case::new().await;
    for (title, expected) in [(None, "Edited"), (Some("My own"), "My own")] {
        case.script("", [text("1")]).await;
        let events = case.chat("First").await;
        let session = first(&events, "session");
        let thread = session.text("thread_id");
        if let Some(title) = title {
            case.client.patch(thread, &json!({ "title": title })).await.expect(200).await;
        }
        case.script("e", [text("2")]).await;
        let body = json!({
            "thread_id": thread, "content": case.said("Edited", "e"),
            "replaces_message_id": session.data["user_message_id"],
        });
        case.chat_with(&body).await;
        let details = case.client.thread(thread).await;
        assert!(details["title"].as_str().is_some_and(|title| title.starts_with(expected)), "{details}");
        assert_eq!(said(&case, thread).await, ["Edited", "2"]);
    }
}

#[tokio::test]
async fn a_running_turn_is_superseded_and_replaced() {
    let case = Case::new().await;
    case.script("", [deltas(["I shall ", "go on"]).hanging()]).await;
    let mut stream = case.client.chat(&case.says("Go on")).await;
    stream.until(|event| event.text("content") == "go on").await;
    let session = first(stream.seen(), "session");
    case.script("e", [text("Done.")]).await;
    let mut body = json!({
        "thread_id": session.data["thread_id"], "content": case.said("Stop there", "e"),
        "replaces_message_id": session.data["user_message_id"],
    });
    assert_problem(case.client.post("/api/chat", &body).await, 409, "turn_in_progress", None).await;
    body["request_seq"] = json!(1);
    case.chat_with(&body).await;
    assert_eq!(said(&case, session.text("thread_id")).await, ["Stop there", "Done."]);
}

#[tokio::test]
async fn only_messages_of_the_thread_can_be_replaced() {
    let case = Case::new().await;
    let (thread, _) = conversation(&case).await;
    let (other, turns) = conversation(&case).await;
    let foreign = &first(&turns[0], "session").data["user_message_id"];
    for (thread, id) in [(&thread, foreign.clone()), (&thread, json!(new_id())), (&new_id(), json!(new_id()))]
    {
        let body = json!({ "thread_id": thread, "content": "x", "replaces_message_id": id });
        let reply = case.client.post("/api/chat", &body).await;
        assert_problem(reply, 400, "invalid_request", Some("replaces_message_id")).await;
    }
    assert_eq!(said(&case, &thread).await.len(), 6);
    assert_eq!(said(&case, &other).await.len(), 6);
}
