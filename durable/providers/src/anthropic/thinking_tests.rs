//! Thinking: shown, and returned with its signature.

use serde_json::{Value, json};

use super::response_tests::*;
use crate::testing::{raw_of, reasoning, text};
use wire::model::ReplyFinish;

// N-171
#[test]
fn thinking_is_told_and_goes_back_with_its_signature() {
    let (events, reply) = reply(
        &[
            block(0, json!({"type": "thinking", "thinking": "", "signature": ""})),
            delta(0, "thinking_delta", "thinking", "Let me"),
            delta(0, "thinking_delta", "thinking", " think \"hard\""),
            delta(0, "signature_delta", "signature", "EqQB"),
            delta(0, "signature_delta", "signature", "CgI="),
            close(0),
            block(1, json!({"type": "redacted_thinking", "data": "EmwK\u{fc}"})),
            close(1),
            empty_text(2),
            text_delta(2, "Hi."),
            close(2),
            tool_use(3, "a", "f"),
            input(3, "{\"x\":1.0}"),
            close(3),
        ],
        "tool_use",
    );
    assert_eq!(events, [reasoning("Let me"), reasoning(" think \"hard\""), text("Hi.")]);
    let expected = concat!(
        r#"[{"type":"thinking","thinking":"Let me think \"hard\"","signature":"EqQBCgI="},"#,
        r#"{"type":"redacted_thinking","data":"EmwKü"},{"type":"text","text":"Hi."},"#,
        r#"{"type":"tool_use","id":"a","name":"f","input":{"x":1.0}}]"#
    );
    let raw = reply.raw.unwrap();
    assert_eq!((raw.provider.as_str(), raw.wire.as_str(), raw.model.as_str()), ("here", "messages", "m"));
    let sorted = |json: &str| serde_json::from_str::<Value>(json).unwrap();
    assert_eq!(sorted(raw.json.0.get()), sorted(expected));
    assert!(raw.json.0.get().contains(r#""input":{"x":1.0}"#), "numbers as the model wrote them");
}

#[test]
fn thinking_whose_text_is_withheld_goes_back_and_thinking_that_was_cut_does_not() {
    let withheld = [
        block(0, json!({"type": "thinking", "thinking": "", "signature": ""})),
        delta(0, "signature_delta", "signature", "sig"),
        empty_text(1),
        text_delta(1, "x"),
    ];
    let (_, kept) = reply(&withheld, "end_turn");
    assert_eq!(raw_of(&kept)[0], json!({"type": "thinking", "thinking": "", "signature": "sig"}));
    let cut = [
        block(0, json!({"type": "thinking", "thinking": "", "signature": ""})),
        delta(0, "thinking_delta", "thinking", "Let me"),
    ];
    let (events, cut) = reply(&cut, "max_tokens");
    assert_eq!((events, cut.raw, cut.finish), (vec![reasoning("Let me")], None, ReplyFinish::Length));
}
