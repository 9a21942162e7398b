//! Streams that others recorded from real servers.

use serde_json::{Value, json};

use super::Anthropic;
use super::response_tests::fresh;
use crate::testing::{calls, cut_and_split, every_way, goes_back, raw_of, recorded, text_and_reasoning};
use wire::model::{ModelEvent, ModelReply};

#[test]
fn recorded_streams() {
    for recorded in recorded(&["anthropic-"]) {
        println!("{}", recorded.name);
        let (events, end) = every_way(&fresh, &recorded.stream);
        let Some(ModelEvent::Finished(reply)) = events.last() else {
            let raised = recorded.expect["sdk_raised"].as_str().unwrap();
            assert!(raised.contains("overloaded_error"), "{raised}");
            let error = end.unwrap_err();
            assert_eq!(error.kind, wire::model::ModelErrorKind::Overloaded);
            cut_and_split(&fresh, &recorded.stream, None);
            continue;
        };
        assert_eq!(end, Ok(()));
        cut_and_split(&fresh, &recorded.stream, Some(reply));
        let mut expect = recorded.expect;
        if recorded.name == "anthropic-15-spliced-message-start" {
            // The SDK returns both messages as one. A gateway that asked again means the second one: see `begin`.
            expect["tool_calls"] =
                json!([{"id": "toolu_second", "name": "test-tool", "input": {"value": "Sparkle Day"}}]);
            expect["blocks"] = json!(["thinking", "tool_use"]);
        }
        check(&events, reply, &expect);
        goes_back(&Anthropic::new("https://x.test", None), reply);
    }
}

fn check(events: &[ModelEvent], reply: &ModelReply, expect: &Value) {
    let (text, thinking) = text_and_reasoning(events);
    assert_eq!([&text, &thinking], [expect["text"].as_str().unwrap(), expect["thinking"].as_str().unwrap()]);
    assert_eq!(text, reply.text);
    let reason = match reply.finish.as_str() {
        "stop" => "end_turn",
        "tool_calls" => "tool_use",
        "length" => "max_tokens",
        "pause" => "pause_turn",
        other => other,
    };
    assert_eq!(expect["stop_reason"], reason);
    let made: Vec<Value> = calls(reply)
        .into_iter()
        .map(|(id, name, input)| json!({"id": id, "name": name, "input": serde_json::from_str::<Value>(input).unwrap()}))
        .collect();
    assert_eq!(expect["tool_calls"], Value::Array(made));
    let usage = reply.usage.unwrap();
    let count = |name: &str| expect["usage"][name].as_u64().unwrap_or(0);
    let input =
        count("input_tokens") + count("cache_read_input_tokens") + count("cache_creation_input_tokens");
    assert_eq!((usage.input_tokens, usage.output_tokens), (input, count("output_tokens")));
    // All blocks return if they have more than text and calls.
    let blocks = expect["blocks"].as_array().unwrap();
    if blocks.iter().any(|kind| !["text", "tool_use"].contains(&kind.as_str().unwrap())) {
        let kinds: Vec<Value> =
            raw_of(reply).as_array().unwrap().iter().map(|block| block["type"].clone()).collect();
        assert_eq!(kinds, *blocks);
    }
}
