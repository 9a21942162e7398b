//! Responses that follow others: by `previous_response_id`, and by a reference in place of an answer's text, as the AI SDK
//! sends it.

use espalier_test_support::{Value, env, json, text};

use super::{client, keyed};
use crate::clients::bearer;

fn user(content: &str) -> Value {
    json!({ "role": "user", "content": [{ "type": "input_text", "text": content }] })
}

/// The reference to the first item of a response.
fn reference(response: &Value) -> Value {
    json!({ "type": "item_reference", "id": response["output"][0]["id"] })
}

#[tokio::test]
async fn a_response_follows_another_one_and_may_be_followed_twice() {
    let (case, key) = keyed().await;
    for (path, answer) in [("first", "One."), ("second", "Two."), ("other", "Three.")] {
        case.script(path, [text(answer)]).await;
    }
    let given = json!({
        "first": case.said("First", "first"), "second": case.said("Second", "second"), "other": case.said("Other", "other"),
    });
    let report = client("follows", &key, given, "").await;
    let thread = |at: &str| report[at]["metadata"]["thread_id"].as_str().expect("a thread").to_owned();
    assert_eq!([thread("second"), thread("other")], [thread("first"), thread("first")]);
    let seen = case.requests("other").await.requests[0].contents();
    assert!(
        seen.iter().any(|content| content == "One.") && !seen.iter().any(|content| content == "Two."),
        "{seen:?}"
    );
    let path = case.client.messages(&thread("first")).await;
    let answers: Vec<_> = path
        .iter()
        .filter(|message| message["role"] == "assistant")
        .map(|message| &message["content"])
        .collect();
    assert_eq!(answers, ["One.", "Three."]);
}

// Issue 44
#[tokio::test]
async fn a_reference_goes_on_from_its_answer() {
    let (case, key) = keyed().await;
    for (path, answer) in [("", "One."), ("second", "Two."), ("other", "Three."), ("named", "Four.")] {
        case.script(path, [text(answer)]).await;
    }
    let ask = async |input: Value, members: Value| {
        let mut body = members;
        body["input"] = input;
        case.client.post("/v1/responses", &body).await
    };
    let said = ["", "second", "other", "named"].map(|path| case.said("Go on", path));
    let answered = async |input: Value| ask(input, json!({})).await.expect(200).await.json().await;
    let first = answered(json!([user(&said[0])])).await;
    let second = answered(json!([user(&said[0]), reference(&first), user(&said[1])])).await;
    let thread = |response: &Value| response["metadata"]["thread_id"].clone();
    assert_eq!(thread(&second), thread(&first));
    let seen = async |path: &str| case.requests(path).await.requests[0].contents().split_off(1);
    assert_eq!(seen("second").await, [&*said[0], "One.", &said[1]]);
    // Another version follows the first answer.
    let other = answered(json!([user(&said[0]), reference(&first), user("And"), user(&said[2])])).await;
    assert_eq!(thread(&other), thread(&first));
    assert_eq!(seen("other").await, [&*said[0], "One.", &format!("And\n\n{}", said[2])]);

    // A thread that is named has its own conversation.
    let input = json!([user("Begin"), reference(&first), user(&said[3])]);
    let named = ask(input.clone(), json!({ "metadata": { "thread_id": "mine" } })).await;
    assert_ne!(thread(&named.expect(200).await.json().await), thread(&first));
    assert_eq!(seen("named").await, [format!("Begin\n\n{}", said[3])]);
    // An answer of another user is not there.
    let (_, stranger) = keyed().await;
    assert_ne!(stranger, key);
    let stranger = bearer(&env("ESPALIER_URL"), &stranger);
    let refused =
        stranger.post("/v1/responses", &json!({ "input": input })).await.expect(404).await.json().await;
    assert_eq!(refused["error"]["code"], "message_not_found", "{refused}");
}
