//! Streams that others recorded from real servers.

use serde_json::Value;

use super::OpenAiChat;
use super::response_tests::{every_way, fresh};
use crate::testing::{cut_and_split, goes_back, recorded, text_and_reasoning};
use wire::model::{ModelEvent, ReplyFinish};

#[test]
fn recorded_streams() {
    for recorded in recorded(&["chat-", "local-"]) {
        println!("{}", recorded.name);
        check(&recorded.stream, &recorded.expect);
    }
}

fn check(stream: &[u8], expect: &Value) {
    let (events, end) = every_way(stream);
    let choice = &expect["choices"]["0"];
    assert_eq!(choice["reasoning"], *text_and_reasoning(&events).1);
    let Some(ModelEvent::Finished(reply)) = events.last() else {
        assert!(expect.get("sdk_raised").is_some(), "no reply: {end:?}");
        cut_and_split(&fresh, stream, None);
        let shown = end.unwrap_err().message;
        let raised = expect["sdk_raised"].as_str().unwrap().trim_start_matches("APIError: ");
        assert!(!shown.contains(raised), "{shown}");
        return;
    };
    assert_eq!(end, Ok(()));
    assert_eq!(expect.get("sdk_raised"), None);
    // This codec treats a refusal as text and as a reason to finish.
    let refusal = choice["refusal"].as_str().unwrap();
    assert_eq!([choice["text"].as_str().unwrap(), refusal].concat(), reply.text);
    let reason = match refusal {
        "" => choice["finish_reason"].as_str().unwrap(),
        _ => ReplyFinish::ContentFilter.as_str(),
    };
    assert_eq!(reason, reply.finish.as_str());
    let calls = choice["tool_calls"].as_object().unwrap();
    assert_eq!(calls.len(), reply.tool_calls.len());
    for (index, call) in reply.tool_calls.iter().enumerate() {
        let expected = &calls[&index.to_string()];
        assert_eq!(expected["id"], *call.call_id);
        assert_eq!(expected["name"], *call.name);
        assert_eq!(expected["arguments"], *call.arguments);
    }
    let usage = reply.usage.unwrap();
    assert_eq!(expect["usage"]["prompt_tokens"], usage.input_tokens);
    assert_eq!(expect["usage"]["completion_tokens"], usage.output_tokens);
    cut_and_split(&fresh, stream, Some(reply));
    goes_back(&OpenAiChat::new("https://x.test", None), reply);
}
