//! The places in which the libraries give instructions.

use serde_json::{Value, json};

use super::requests::{CHAT, RESPONSES, parsed, refused, user};
use crate::openai::Sent;
use wire::protocol::{ChatRequest, ErrorCode};

/// The instructions that a turn gets.
pub(super) fn given(sent: &Sent) -> Option<String> {
    let mut request = ChatRequest::default();
    sent.instructions.clone().give(&mut request).unwrap();
    request.instructions
}

// Issue 44: in any of the forms that the libraries send.
#[test]
fn instructions_are_read_from_all_their_places() {
    let system = |role: &str, content: Value| json!({ "role": role, "content": content });
    let chat = |messages: Vec<Value>| given(&parsed(CHAT, &json!({ "messages": messages })));
    assert_eq!(chat(vec![user(&json!("Go"))]), None);
    let parts = json!([{ "type": "text", "text": "Two." }, { "type": "text", "text": "Three." }]);
    let messages = vec![system("system", json!("One.")), system("developer", parts), user(&json!("Go"))];
    assert_eq!(chat(messages).as_deref(), Some("One.\n\nTwo.\n\nThree."));
    let late = vec![user(&json!("Before")), system("system", json!("Late.")), user(&json!("Go"))];
    assert_eq!(chat(late).as_deref(), Some("Late."));
    // Behind a conversation of which only the end is read.
    let long = |text: &str| [user(&json!(text.repeat(120_000))), system("assistant", json!("Yes."))];
    let mut messages = vec![system("system", json!("First."))];
    messages.extend(long("a").into_iter().chain(long("b")));
    messages.push(user(&json!("Go")));
    assert_eq!(chat(messages).as_deref(), Some("First."));
    let mut messages = vec![system("system", json!("First."))];
    messages.extend((0..1_100).map(|_| user(&json!("x"))));
    assert_eq!(chat(messages).as_deref(), Some("First."), "more messages than are kept");

    let responses = |body: Value| given(&parsed(RESPONSES, &body));
    assert_eq!(responses(json!({ "input": "Go", "instructions": "One." })).as_deref(), Some("One."));
    let item = json!({ "type": "message", "role": "developer", "content": [{ "type": "input_text", "text": "Two." }] });
    let body = json!({ "input": [item, user(&json!("Go"))], "instructions": "One." });
    assert_eq!(responses(body).as_deref(), Some("One.\n\nTwo."));
    assert_eq!(responses(json!({ "input": "Go", "instructions": null })), None);
    assert_eq!(
        refused(RESPONSES, &json!({ "input": "Go", "instructions": 7 })),
        (ErrorCode::InvalidRequest, "instructions".to_owned())
    );
    // A text that is not even read.
    let sent = parsed(
        CHAT,
        &json!({ "messages": [system("system", json!("x".repeat(3_000_000))), user(&json!("Go"))] }),
    );
    let error = sent.instructions.give(&mut ChatRequest::default()).unwrap_err();
    assert_eq!(error.field.as_deref(), Some("messages"));
}
