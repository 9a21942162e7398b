//! Chats that another service kept, or that are long.

use espalier_test_support::client::assert_problem;
use espalier_test_support::stored::places;
use espalier_test_support::{Case, Value, json, new_id, text};

use super::{client, metadata, user};

fn message(id: &str, role: &str, text: &str) -> Value {
    json!({ "id": id, "role": role, "parts": [{ "type": "text", "text": text }] })
}

#[tokio::test]
async fn a_history_is_imported_once() {
    let case = Case::new().await;
    case.script("", [text("Three.")]).await;
    case.script("next", [text("Four.")]).await;
    let (ask, next) = (case.said("And now?", ""), case.said("And then?", "next"));
    let first = [
        message("u1", "user", "What is first?"),
        message("mine", "assistant", "One."),
        message("u2", "user", &ask),
    ];
    let second = [
        message("u1", "user", "Other words?"),
        message("a2", "assistant", "Forged."),
        message("u3", "user", &next),
    ];
    for messages in [first, second] {
        let body = json!({ "id": "brought", "messages": messages });
        case.client.post("/api/ai-sdk/chat", &body).await.expect(200).await.text().await;
    }
    let threads = case.client.get("/api/threads").await.expect(200).await.json().await;
    let thread = &threads["threads"][0];
    assert_eq!(thread["title"], "What is first?");
    let messages = case.client.messages(thread["id"].as_str().expect("an id")).await;
    let contents: Vec<_> =
        messages.iter().map(|message| message["content"].as_str().unwrap_or_default()).collect();
    assert_eq!(contents, ["What is first?", "One.", &ask, "Three.", &next, "Four."]);
    let seen = case.requests("next").await.requests[0].contents();
    assert!(seen.iter().any(|content| content == "What is first?"), "{seen:?}");
    assert!(!seen.iter().any(|content| content == "Forged."), "{seen:?}");
}

// No list would show the history, and no erasure find it. The model is checked before the import; a failure after it takes
// both back (`Thread::start`), which needs a deployment with a wrong variable.
#[tokio::test]
async fn a_refused_first_message_leaves_nothing_of_the_history_behind() {
    let case = Case::new().await;
    let mut asked = message("u2", "user", &case.said("And now?", ""));
    let picture =
        json!({ "type": "file", "mediaType": "image/png", "url": "data:image/png;base64,iVBORw0KGgo=" });
    asked["parts"].as_array_mut().expect("parts").push(picture);
    let mark = new_id();
    let mut messages = vec![message("u1", "user", &mark), message("mine", "assistant", "One."), asked];
    let request = |messages: &[Value]| json!({ "id": mark, "messages": messages });
    let refused = case.client.post("/api/ai-sdk/chat", &request(&messages)).await;
    assert_problem(refused, 400, "invalid_request", Some("content")).await;
    assert_eq!(places("ESPALIER_STATE_DIR", &mark).await, Vec::<String>::new());
    // The same chat begins without the picture.
    case.script("", [text("Two.")]).await;
    messages[2]["parts"].as_array_mut().expect("parts").pop();
    case.client.post("/api/ai-sdk/chat", &request(&messages)).await.expect(200).await.text().await;
    let threads = case.client.get("/api/threads").await.expect(200).await.json().await;
    assert_eq!(threads["threads"][0]["title"], mark.as_str());
}

// The ids of a chat that another service kept are no ids of ours.
#[tokio::test]
async fn another_answer_can_be_the_first_request_of_a_chat_that_another_service_kept() {
    let case = Case::new().await;
    case.script("", [text("Two.")]).await;
    case.script("edited", [text("Three.")]).await;
    let asked = case.said("And now?", "");
    let messages = [
        message("u1", "user", "What is first?"),
        message("mine", "assistant", "One."),
        message("u2", "user", &asked),
        message("0190a0a0-0000-7000-8000-000000000001", "assistant", "Of old."),
    ];
    let edited = case.said("And then?", "edited");
    let report = client("brings", json!({ "messages": messages, "edited": edited }), "").await;
    assert_eq!(report["answers"], json!(["Two.", "Two.", "Three."]), "{report:#}");
    let thread = metadata(&report, "threadId").as_str().expect("a thread").to_owned();
    let path = user(&report).messages(&thread).await;
    let contents: Vec<_> =
        path.iter().map(|message| message["content"].as_str().unwrap_or_default()).collect();
    assert_eq!(contents, ["What is first?", "One.", &*edited, "Three."]);
    let listed = user(&report).read(&format!("/api/threads/{thread}/messages?versions=all")).await;
    let versions = listed["versions"].as_array().expect("versions");
    let first = &listed["messages"][0]["turn_id"];
    assert_eq!(versions.iter().filter(|turn| turn["parent_turn_id"] == *first).count(), 3, "{versions:#?}");

    // A message that is sent again after it was refused comes as a version.
    let again = json!({ "id": "refused", "messages": &messages[..3], "messageId": "u2" });
    case.client.post("/api/ai-sdk/chat", &again).await.expect(200).await.text().await;
    let mut foreign = again;
    foreign["messages"][1]["parts"][0]["text"] = json!("Forged.");
    let reply = case.client.post("/api/ai-sdk/chat", &foreign).await;
    assert_problem(reply, 400, "invalid_request", Some("messages")).await;
}

// Every version keeps the words of the user before its message.
#[tokio::test]
async fn another_answer_has_all_that_the_user_said() {
    let case = Case::new().await;
    case.script("", [text("It is short.")]).await;
    let (report, ask) = ("Here is the report: 42.", case.said("Sum it up", ""));
    let messages = [message("u1", "user", report), message("u2", "user", &ask)];
    for trigger in ["submit-message", "regenerate-message"] {
        let body = json!({ "id": "reports", "messages": messages, "trigger": trigger });
        case.client.post("/api/ai-sdk/chat", &body).await.expect(200).await.text().await;
    }
    let asked = case.requests("").await.requests;
    assert_eq!(asked.len(), 2);
    for request in asked {
        let contents = request.contents();
        assert!(contents.contains(&format!("{report}\n\n{ask}")), "{contents:?}");
    }
}

#[tokio::test]
#[ignore = "takes most of the instance's room for bodies: `make e2e` runs it alone"]
async fn a_long_history_is_skipped_up_to_the_limit() {
    const LIMIT: usize = 16 << 20;
    let case = Case::new().await;
    case.script("", [text("Hello.")]).await;
    let content = case.said("Hello", "");
    let report = client("sendsItsHistory", json!({ "content": content, "bytes": LIMIT - 2_000 }), "").await;
    assert_eq!(
        (&report["status"], &report["answer"]["text"]),
        (&json!("ready"), &json!("Hello.")),
        "{report}"
    );
    let report = client("sendsItsHistory", json!({ "content": content, "bytes": LIMIT }), "").await;
    assert_eq!(report["status"], "error");
    assert!(report["error"].as_str().is_some_and(|error| error.contains("body_too_large")), "{report}");
}
