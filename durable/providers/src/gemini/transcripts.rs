//! Streams that others recorded from real servers.

use serde_json::{Value, json};

use super::Gemini;
use super::response_tests::fresh;
use crate::testing::{calls, cut_and_split, every_way, goes_back, raw_of, recorded, text_and_reasoning};
use wire::model::{ModelEvent, ModelReply, ReplyFinish};

#[test]
fn recorded_streams() {
    for recorded in recorded(&["gemini-"]) {
        println!("{}", recorded.name);
        let (events, end) = every_way(&fresh, &recorded.stream);
        assert_eq!(end, Ok(()));
        let Some(ModelEvent::Finished(reply)) = events.last() else { panic!("no reply") };
        cut_and_split(&fresh, &recorded.stream, Some(reply));
        check(&events, reply, &recorded.expect);
        goes_back(&Gemini::new("https://x.test", None), reply);
    }
}

fn check(events: &[ModelEvent], reply: &ModelReply, expect: &Value) {
    let (text, thinking) = text_and_reasoning(events);
    assert_eq!([&text, &thinking], [expect["text"].as_str().unwrap(), expect["thinking"].as_str().unwrap()]);
    assert_eq!(text, reply.text);
    let finish = match (expect["finish_reason"].as_str(), reply.tool_calls.is_empty()) {
        (None, _) => {
            assert_eq!(expect["block_reason"], "SAFETY");
            ReplyFinish::ContentFilter
        }
        (Some("MAX_TOKENS"), _) => ReplyFinish::Length,
        (Some("STOP"), true) => ReplyFinish::Stop,
        (Some("STOP"), false) => ReplyFinish::ToolCalls,
        (Some(other), _) => panic!("{other}"),
    };
    assert_eq!(reply.finish, finish);
    let expected: Vec<Value> = expect["tool_calls"].as_array().unwrap().clone();
    let made: Vec<Value> = calls(reply)
        .into_iter()
        .map(|(_, name, args)| json!({"name": name, "input": serde_json::from_str::<Value>(args).unwrap()}))
        .collect();
    let called: Vec<Value> =
        expected.iter().map(|call| json!({"name": call["name"], "input": call["input"]})).collect();
    assert_eq!(made, called);
    check_usage(reply, &expect["usage"]);
    // Every signature returns, at its own part.
    let signature = |call: &Value| call["thought_signature"].as_str().map(str::to_owned);
    let signed =
        expected.iter().any(|call| signature(call).is_some()) || expect["text_signature"].is_string();
    if signed {
        let parts = raw_of(reply);
        let sent: Vec<&Value> =
            parts.as_array().unwrap().iter().filter(|part| !part["functionCall"].is_null()).collect();
        let signatures: Vec<_> =
            sent.iter().map(|part| part["thoughtSignature"].as_str().map(str::to_owned)).collect();
        assert_eq!(signatures, expected.iter().map(signature).collect::<Vec<_>>());
        let of_text = parts.as_array().unwrap().iter().find(|part| part["text"].is_string());
        if let Some(text) = of_text {
            assert_eq!(text["thoughtSignature"], expect["text_signature"]);
        }
    } else {
        assert_eq!(reply.raw, None);
    }
}

fn check_usage(reply: &ModelReply, expect: &Value) {
    let Some(usage) = reply.usage else { return assert!(expect.is_null()) };
    let count = |name: &str| expect[name].as_u64().unwrap_or(0);
    assert_eq!(usage.input_tokens, count("promptTokenCount"));
    assert_eq!(usage.cached_tokens, count("cachedContentTokenCount"));
    assert_eq!(usage.output_tokens, count("candidatesTokenCount") + count("thoughtsTokenCount"));
}
