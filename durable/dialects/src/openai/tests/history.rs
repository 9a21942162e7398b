//! How libraries send the answers of a conversation: as references to their items in place of their texts (the AI SDK over
//! Responses), and with the reasoning in them.

use serde_json::{Value, json};
use uuid::Uuid;

use super::requests::{CHAT, RESPONSES, parsed, user};
use crate::ids;
use crate::openai::{Place, Wants};
use wire::protocol::{Content, OpenAiApi};

fn place(turn: u128) -> Place {
    Place { thread: Uuid::from_u128(1), turn: Uuid::from_u128(turn), segment: 3 }
}

/// The id of an item of the answer at this place.
fn item(kind: &str, turn: u128) -> Value {
    let place = place(turn);
    json!(ids::of_call(
        kind,
        &place.thread.to_string(),
        &place.turn.to_string(),
        place.segment,
        "part_7f_0.0"
    ))
}

fn reference(id: Value) -> Value {
    json!({ "type": "item_reference", "id": id })
}

/// The answer that a conversation refers to, the conversation before the message, and the message.
fn read(api: OpenAiApi, input: &[Value]) -> (Option<Place>, Vec<String>, Content) {
    read_in(api, input, json!({}))
}

/// The same of a request with this metadata.
fn read_in(api: OpenAiApi, input: &[Value], metadata: Value) -> (Option<Place>, Vec<String>, Content) {
    let member = if api == CHAT { "messages" } else { "input" };
    let sent = parsed(api, &json!({ member: input, "metadata": metadata }));
    let Wants::Turn { request, after: None, referred, history } = sent.wants else {
        panic!("{:?}", sent.wants)
    };
    (referred, history, request.content)
}

// Issue 44: the thread has the answer, and what comes before it.
#[test]
fn a_reference_leads_to_its_answer() {
    let said = |text: &str| user(&json!(text));
    let text = |text: &str| Content::Text(text.to_owned());
    for kind in ["msg", "rs", "fc", "mcp"] {
        let input =
            [said("One?"), reference(item(kind, 2)), said("Two?"), reference(item(kind, 4)), said("Three?")];
        assert_eq!(read(RESPONSES, &input), (Some(place(4)), vec![], text("Three?")), "{kind}");
    }
    // A type is optional. What the user said since is one message with the newest one.
    let input = [said("One?"), json!({ "id": item("msg", 2) }), said("And"), said("two?")];
    assert_eq!(read(RESPONSES, &input), (Some(place(2)), vec!["And".to_owned()], text("two?")));
    // Beside the items whole, as they follow each other in a conversation with a call.
    let call = json!({ "type": "function_call", "id": item("fc", 2), "call_id": item("call", 2), "name": "a", "arguments": "{}" });
    let output = json!({ "type": "function_call_output", "call_id": item("call", 2), "output": "b" });
    let input = [said("One?"), call, output, reference(item("msg", 2)), said("Two?")];
    assert_eq!(read(RESPONSES, &input), (Some(place(2)), vec![], text("Two?")));
}

// Issue 44: a thread that is named does not have the answers of another one, so the conversation is read past them.
#[test]
fn a_reference_to_another_thread_loses_nothing() {
    let said = |role: &str, text: &str| json!({ "role": role, "content": text });
    let input = [
        said("user", "One?"),
        said("assistant", "Yes."),
        said("user", "And?"),
        reference(item("msg", 2)),
        said("user", "So?"),
    ];
    let of = |thread: &str| read_in(RESPONSES, &input, json!({ "thread_id": thread }));
    let so = Content::Text("So?".to_owned());
    assert_eq!(of("mine"), (Some(place(2)), vec![], so.clone()));
    let history = ["One?", "Yes.", "And?"].map(str::to_owned).to_vec();
    assert_eq!(of("another"), (None, history, so));
}

// Issue 44: pydantic-ai sends reasoning as text before the answer.
#[test]
fn reasoning_before_an_answer_is_no_part_of_it() {
    let said = |role: &str, text: &str| json!({ "role": role, "content": text });
    for (sent, kept) in [
        ("<think>\nHm.\n</think>\n\nYes.", "Yes."),
        ("Yes: <think> is a tag, </think> too.", "Yes: <think> is a tag, </think> too."),
        ("<think>Yes.", "<think>Yes."),
    ] {
        let conversation =
            [said("user", "<think>a</think>One?"), said("assistant", sent), said("user", "Two?")];
        let history = vec!["<think>a</think>One?".to_owned(), kept.to_owned()];
        for api in [CHAT, RESPONSES] {
            assert_eq!(read(api, &conversation).1, history);
        }
    }
}

#[test]
fn a_reference_to_something_else_has_no_effect() {
    let said = |role: &str, text: &str| json!({ "role": role, "content": text });
    let history = vec!["One?\n\nTwo?".to_owned(), "Yes.".to_owned()];
    for id in [json!("msg_68a1"), item("resp", 2), item("call", 2), json!(5)] {
        let input = [
            said("user", "One?"),
            reference(id.clone()),
            said("user", "Two?"),
            said("assistant", "Yes."),
            said("user", "So?"),
        ];
        assert_eq!(read(RESPONSES, &input), (None, history.clone(), Content::Text("So?".to_owned())), "{id}");
    }
    // An answer of another service is newer than the one that is referred to.
    let input = [
        said("user", "One?"),
        reference(item("msg", 2)),
        said("user", "Two?"),
        said("assistant", "Yes."),
        said("user", "So?"),
    ];
    assert_eq!(read(RESPONSES, &input), (None, history, Content::Text("So?".to_owned())));
    // A part of a message whose id is one of ours is no reference.
    let mut message = said("user", "One?");
    message["id"] = item("msg", 2);
    assert_eq!(read(CHAT, &[message, said("user", "Two?")]).0, None);
}
