//! The members that return to their provider.

use serde_json::{Value, json};

use super::OpenAiChat;
use super::response_tests::{call, delta, done, finish, reply};
use crate::testing::{answered, body, raw_of as raw, request, text, user};
use wire::model::ModelEvent;

#[test]
fn reasoning_is_told_once_and_goes_back_under_its_own_name() {
    let pieces = |name: &str| {
        [delta(json!({name: "Let me"})), delta(json!({name: " think"})), call(0, "a", "f", "{}")]
    };
    for name in ["reasoning_content", "reasoning"] {
        let (events, reply) = reply(&done(&pieces(name)));
        assert_eq!(events, ["Let me", " think"].map(|piece| ModelEvent::Reasoning(piece.into())));
        assert_eq!(raw(&reply)[name], "Let me think");
        assert_eq!(reply.raw.unwrap().provider, "here");
    }
    let both = json!({"reasoning": "hm", "reasoning_content": "hm"});
    let (events, reply) = reply(&done(&[delta(both), delta(json!({"content": "x"}))]));
    assert_eq!(events, [ModelEvent::Reasoning("hm".into()), text("x")]);
    let expected = json!({"role": "assistant", "content": "x", "reasoning_content": "hm", "reasoning": "hm"});
    assert_eq!(raw(&reply), expected);
}

#[test]
fn empty_reasoning_goes_back_beside_calls_only() {
    let empty = delta(json!({"role": "assistant", "content": null, "reasoning_content": ""}));
    let (_, with_call) = reply(&done(&[empty.clone(), call(0, "a", "f", "{}")]));
    assert_eq!(raw(&with_call)["reasoning_content"], "");
    let (_, without) = reply(&done(&[empty, delta(json!({"content": "x"}))]));
    assert_eq!(without.raw, None);
}

#[test]
fn signatures_go_back_byte_for_byte() {
    // Gemini's compatible endpoint puts the signature into the call; others into the function or the message.
    let stream = concat!(
        r#"data: {"choices":[{"index":0,"delta":{"role":"assistant","unknown":null,"annotations":[],"tool_calls":[{"#,
        r#""index":0,"id":"a","type":"function","function":{"name":"f","arguments":"","signature": "u003d\u003d"},"#,
        r#""extra_content": {"google":  {"thought_signature":"Eq\u0041\/=="}} }]},"finish_reason":"tool_calls"}]}"#,
        "\n\ndata: [DONE]\n\n"
    );
    let (_, reply) = reply(stream.as_bytes());
    let expected = concat!(
        r#"{"role":"assistant","content":null,"annotations":[],"tool_calls":[{"id":"a","type":"function","#,
        r#""function":{"name":"f","arguments":"{}","signature":"u003d\u003d"},"#,
        r#""extra_content":{"google":  {"thought_signature":"Eq\u0041\/=="}}}]}"#
    );
    assert_eq!(reply.raw.unwrap().json.0.get(), expected);
}

// Issue 43: DeepSeek refuses a call without its reasoning; signed reasoning is Anthropic's behind a gateway.
#[test]
fn plain_reasoning_goes_back_after_a_cut_and_signed_reasoning_does_not() {
    let sent = |member: &str, value: serde_json::Value, is_cut_off| {
        let (_, mut reply) = reply(&done(&[delta(json!({member: value})), call(0, "a", "f", "{}")]));
        reply.raw.as_mut().unwrap().is_cut_off = is_cut_off;
        let codec = OpenAiChat::new("https://x.test", None);
        let message = body(&codec, &answered(request(vec![user("x")]), reply))["messages"][1].clone();
        assert_eq!(message["tool_calls"][0]["id"], "a");
        message.get(member).is_some()
    };
    let signed = json!([{"type": "reasoning.text", "text": "hm", "signature": "sig"}]);
    for is_cut_off in [false, true] {
        assert!(sent("reasoning_content", json!("hm"), is_cut_off));
        assert_eq!(sent("reasoning_details", signed.clone(), is_cut_off), !is_cut_off);
        assert_eq!(sent("thinking_blocks", signed.clone(), is_cut_off), !is_cut_off);
    }
}

#[test]
fn unknown_members_in_pieces_are_joined() {
    let detail = |index: u64, text: &str| json!({"type": "reasoning.text", "text": text, "format": null, "index": index});
    let (_, reply) = reply(&done(&[
        delta(json!({"note": "a", "state": {"n": 1}, "reasoning_details": [detail(0, "We")]})),
        delta(
            json!({"note": "b", "state": {"n": 2}, "reasoning_details": [detail(0, " need"), detail(1, "x")]}),
        ),
        delta(
            json!({"note": "c", "reasoning_details": [{"type": "reasoning.text", "index": 1, "signature": "sig"}]}),
        ),
        delta(json!({"reasoning_details": [{"type": "reasoning.encrypted", "index": 1, "data": "abc"}, 7]})),
        finish("stop"),
    ]));
    let raw = raw(&reply);
    assert_eq!((&raw["note"], &raw["state"]), (&json!("abc"), &json!({"n": 2})));
    let expected = json!([
        {"type": "reasoning.text", "text": "We need", "format": null, "index": 0},
        {"type": "reasoning.text", "text": "x", "format": null, "index": 1, "signature": "sig"},
        {"type": "reasoning.encrypted", "index": 1, "data": "abc"},
        7,
    ]);
    assert_eq!(raw["reasoning_details"], expected);
}

// Issue 44: a server may repeat its reply as a message that is not the same to the letter.
#[test]
fn a_message_after_deltas_repeats_no_word() {
    let close =
        |message: Value| json!({"choices": [{"delta": {}, "message": message, "finish_reason": "stop"}]});
    for (told, message, text) in [
        (json!({"content": " Hi"}), json!({"content": "Hi"}), " Hi"),
        (json!({"content": "Hi"}), json!({"content": [{"type": "text", "text": "Hi"}]}), "Hi"),
        (json!({"refusal": "No"}), json!({"content": null, "refusal": "No"}), "No"),
    ] {
        assert_eq!(reply(&done(&[delta(told), close(message)])).1.text, text);
    }
    let again = json!({"tool_calls": [{"id": "a", "function": {"name": "f", "arguments": "{\"a\": 1}"}}]});
    let (_, told) = reply(&done(&[call(0, "a", "f", "{\"a\":1}"), close(again)]));
    assert_eq!((told.tool_calls.len(), &*told.tool_calls[0].arguments), (1, "{\"a\":1}"));
}
