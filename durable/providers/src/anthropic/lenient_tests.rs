//! Issue 44: replies that lack what the API promises.

use serde_json::json;

use super::response_tests::*;
use crate::testing::{self, calls, raw_of, reasoning, text};
use wire::model::{ModelErrorKind, ReplyFinish};

// A reason to stop says that the reply is whole.
#[test]
fn a_reply_without_message_stop_is_whole_if_its_reason_came() {
    let said = [&[start(), empty_text(0), text_delta(0, "x")][..], &stop("max_tokens")[..1]].concat();
    let (events, reply) = testing::reply(&fresh, &stream(&said));
    assert_eq!((events, reply.finish), (vec![text("x")], ReplyFinish::Length));
    assert_eq!(reply.usage.map(|usage| usage.output_tokens), Some(15));
    let overloaded = json!({"type": "error", "error": {"type": "overloaded_error"}});
    let failed = stream(&[&said[..], &[overloaded]].concat());
    assert_eq!(failure(&failed), (vec![text("x")], ModelErrorKind::Overloaded));
}

// Only a call needs the beginning of its block, which has its name.
#[test]
fn an_unreadable_beginning_of_a_block_loses_no_word() {
    for beginning in [
        json!(null),
        json!("x"),
        json!([]),
        json!({"type": 7, "text": ""}),
        json!({"type": "text", "text": 7}),
    ] {
        let thought = delta(1, "thinking_delta", "thinking", "hm");
        let signature = delta(1, "signature_delta", "signature", "sig");
        let events =
            [block(0, beginning.clone()), text_delta(0, "a"), block(1, json!(null)), thought, signature];
        let call = [tool_use(2, "a", "f"), input(2, "{}"), text_delta(3, "b"), text_delta(3, "c")];
        let (events, reply) = reply(&[&events[..], &call].concat(), "tool_use");
        assert_eq!(events, [text("a"), reasoning("hm"), text("b"), text("c")], "{beginning}");
        assert_eq!((reply.text.as_str(), calls(&reply)), ("abc", vec![("a", "f", "{}")]));
        let expected = json!([
            {"type": "text", "text": "a"},
            {"type": "thinking", "thinking": "hm", "signature": "sig"},
            {"type": "tool_use", "id": "a", "name": "f", "input": {}},
            {"type": "text", "text": "bc"},
        ]);
        assert_eq!(raw_of(&reply), expected, "{beginning}");
    }
    let (_, odd) =
        reply(&[block(0, json!({"type": "tool_use", "id": 7, "name": "f", "input": "x"}))], "tool_use");
    assert_eq!(calls(&odd), [("call_0", "f", "{}")]);
    let nameless = whole(&[block(0, json!(null)), input(0, "{}")], "tool_use");
    assert_eq!(failure(&nameless).1, ModelErrorKind::Protocol, "a call without its name");
}

// Gateways that write each member of a delta.
#[test]
fn empty_members_of_a_delta_say_nothing() {
    let delta = |index: u64, text: &str, json: &str| {
        let delta =
            json!({"type": "delta", "text": text, "thinking": "", "partial_json": json, "signature": ""});
        json!({"type": "content_block_delta", "index": index, "delta": delta})
    };
    let events = [
        delta(0, "", ""),
        empty_text(0),
        delta(0, "a", ""),
        tool_use(1, "a", "f"),
        delta(1, "", "{\"x\":1}"),
    ];
    let (events, reply) = reply(&events, "tool_use");
    assert_eq!((events, calls(&reply)), (vec![text("a")], vec![("a", "f", "{\"x\":1}")]));
    assert_eq!(reply.raw, None);
}
