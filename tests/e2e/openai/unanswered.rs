//! Messages of the user that no answer follows, in front of the newest one.
//!
//! Issue 22

use espalier_test_support::http::Reply;
use espalier_test_support::{Case, Value, json, text};

const CHAT: &str = "/v1/chat/completions";

fn user(content: &str) -> Value {
    json!({ "role": "user", "content": content })
}

/// The texts of the thread that an answer names.
async fn texts(case: &Case, answer: &Value) -> Vec<String> {
    let thread = answer["metadata"]["thread_id"].as_str().expect("a thread");
    let messages = case.client.messages(thread).await;
    messages.iter().map(|message| message["content"].as_str().unwrap_or_default().to_owned()).collect()
}

#[tokio::test]
async fn a_new_thread_takes_them_with_the_newest_one() {
    let case = Case::new().await;
    case.script("", [text("It is short.")]).await;
    case.script("named", [text("It is long.")]).await;
    let (report, ask) = ("Here is the report: 42.", case.said("Sum it up", ""));
    let body = json!({ "messages": [user(report), user(&ask)] });
    let answer = case.client.post(CHAT, &body).await.expect(200).await.json().await;
    let whole = format!("{report}\n\n{ask}");
    assert_eq!(texts(&case, &answer).await, [&*whole, "It is short."]);
    assert!(case.requests("").await.requests[0].contents().contains(&whole));

    // A conversation before it is imported. A thread that exists takes the newest message alone.
    let ask = case.said("Sum it up", "named");
    let (earlier, answered) = (user("Ready?"), json!({ "role": "assistant", "content": "Yes." }));
    let metadata = json!({ "thread_id": "reports" });
    let body = json!({ "messages": [earlier, answered, user(report), user(&ask)], "metadata": metadata });
    for _ in 0..2 {
        let answer = case.client.post(CHAT, &body).await.expect(200).await.json().await;
        let told = texts(&case, &answer).await;
        let first =
            ["Ready?".to_owned(), "Yes.".to_owned(), format!("{report}\n\n{ask}"), "It is long.".to_owned()];
        assert_eq!(told[..4], first);
        assert!(told.len() == 4 || told[4..] == [&*ask, "It is long."], "{told:?}");
    }
}

// A response's input has the new messages alone, so the thread has none of them.
#[tokio::test]
async fn they_follow_an_earlier_response() {
    let case = Case::new().await;
    case.script("", [text("Yes.")]).await;
    case.script("next", [text("It is short.")]).await;
    let first = json!({ "input": case.said("Ready?", "") });
    let first = case.client.post("/v1/responses", &first).await.expect(200).await.json().await;
    let (report, ask) = ("Here is the report: 42.", case.said("Sum it up", "next"));
    let body = json!({ "input": [user(report), user(&ask)], "previous_response_id": first["id"] });
    let answer = case.client.post("/v1/responses", &body).await.expect(200).await.json().await;
    let whole = format!("{report}\n\n{ask}");
    assert_eq!(texts(&case, &answer).await[2..], [&*whole, "It is short."]);
    assert!(case.requests("next").await.requests[0].contents().contains(&whole));
}

#[tokio::test]
async fn together_they_have_the_limit_of_a_message() {
    let case = Case::new().await;
    case.script("", [text("It is short.")]).await;
    let ask = case.said("Sum it up", "");
    let fits = 100_000 - ask.chars().count() - 2;
    let messages = |chars: usize| json!([user(&"x".repeat(chars)), user(&ask)]);
    let refused = async |reply: Reply, member: &str| {
        let reply = reply.expect(400).await;
        assert_eq!(reply.header("content-type"), "application/json");
        let error = reply.json().await["error"].clone();
        assert_eq!((&error["code"], &error["param"]), (&json!("invalid_request"), &json!(member)), "{error}");
    };
    for chars in [fits + 1, 300_000] {
        let messages = messages(chars);
        refused(case.client.post(CHAT, &json!({ "messages": messages })).await, "messages").await;
        refused(case.client.post("/v1/responses", &json!({ "input": messages })).await, "input").await;
    }
    case.client.post(CHAT, &json!({ "messages": messages(fits) })).await.expect(200).await;
}
