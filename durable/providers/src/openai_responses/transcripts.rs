//! Streams that others recorded from real servers.

use serde_json::{Value, json};

use super::OpenAiResponses;
use super::response_tests::fresh;
use crate::testing::{calls, cut_and_split, every_way, goes_back, raw_of, recorded, text_and_reasoning};
use wire::model::{ModelErrorKind, ModelEvent, ModelReply, ReplyFinish};

#[test]
fn recorded_streams() {
    for recorded in recorded(&["responses-"]) {
        println!("{}", recorded.name);
        let (events, end) = every_way(&fresh, &recorded.stream);
        let Some(ModelEvent::Finished(reply)) = events.last() else {
            let raised = recorded.expect["sdk_raised"].as_str().unwrap();
            assert!(raised.contains("quota"), "{raised}");
            let error = end.unwrap_err();
            assert_eq!(error.kind, ModelErrorKind::Quota);
            assert!(
                error.message.contains("quota") && !error.message.contains("billing details"),
                "{error:?}"
            );
            cut_and_split(&fresh, &recorded.stream, None);
            continue;
        };
        assert_eq!(end, Ok(()));
        cut_and_split(&fresh, &recorded.stream, Some(reply));
        check(&recorded.name, &events, reply, &recorded.expect);
        goes_back(&OpenAiResponses::new("https://x.test", None), reply);
    }
}

fn check(name: &str, events: &[ModelEvent], reply: &ModelReply, expect: &Value) {
    let (text, reasoning) = text_and_reasoning(events);
    assert_eq!(text, reply.text);
    let refused = expect["events"].get("response.refusal.delta").is_some();
    match refused {
        // The SDK's text leaves refusals out. This codec treats a refusal as text and as a reason to finish.
        true => {
            assert_eq!((text.as_str(), &expect["text"]), ("I'm sorry, I can't assist with that.", &json!("")))
        }
        false => assert_eq!(expect["text"], *text),
    }
    let thought = ["response.reasoning_summary_text.delta", "response.reasoning_text.delta"];
    assert_eq!(reasoning.is_empty(), !thought.iter().any(|kind| expect["events"].get(kind).is_some()));
    let made: Vec<Value> = calls(reply)
        .into_iter()
        .map(|(call_id, name, arguments)| json!({"call_id": call_id, "name": name, "arguments": arguments}))
        .collect();
    assert_eq!(expect["function_calls"], Value::Array(made));
    let finish = match (expect["status"].as_str().unwrap(), reply.tool_calls.is_empty()) {
        _ if refused => ReplyFinish::ContentFilter,
        ("incomplete", _) => ReplyFinish::Length,
        (_, true) => ReplyFinish::Stop,
        (_, false) => ReplyFinish::ToolCalls,
    };
    assert_eq!(reply.finish, finish);
    let usage = reply.usage.unwrap();
    assert_eq!(expect["usage"]["input_tokens"], usage.input_tokens);
    assert_eq!(expect["usage"]["output_tokens"], usage.output_tokens);
    // Every item returns, except reasoning at the end of the output and reasoning without its encrypted text.
    let kinds = match &reply.raw {
        Some(_) => raw_of(reply).as_array().unwrap().iter().map(|item| item["type"].clone()).collect(),
        None => vec![],
    };
    let expected = match name {
        "responses-06-incomplete-max-tokens" => json!([]),
        _ => expect["output"].clone(),
    };
    assert_eq!(Value::Array(kinds), expected);
    if name == "responses-10-phase-tool-and-text" {
        assert_eq!(raw_of(reply)[1]["phase"], "commentary");
        assert!(raw_of(reply)[0]["encrypted_content"].as_str().unwrap().starts_with("gAAAAABqaR3-pGgS"));
    }
}
