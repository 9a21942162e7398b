//! Streams that others recorded from real servers. They are not part of the project: where the folder is missing, the
//! test says so and passes.

use std::path::Path;

use serde_json::Value;

use super::response_tests::{decode, every_way};
use crate::model::{ModelEvent, ReplyFinish};

#[test]
fn recorded_streams() {
    let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../shared/transcripts"));
    let Ok(entries) = folder.read_dir() else {
        println!("skipped: no recorded streams here");
        return;
    };
    let mut names: Vec<String> = entries
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.strip_suffix(".sse").map(String::from))
        .collect();
    names.retain(|name| name.starts_with("chat-") || name.starts_with("local-"));
    names.sort();
    for name in &names {
        println!("{name}");
        let stream = std::fs::read(folder.join(format!("{name}.sse"))).unwrap();
        let expect = std::fs::read(folder.join(format!("{name}.expect.json"))).unwrap();
        check(&stream, &serde_json::from_slice(&expect).unwrap());
    }
    println!("{} recorded streams", names.len());
}

fn check(stream: &[u8], expect: &Value) {
    let (events, end) = every_way(stream);
    let choice = &expect["choices"]["0"];
    let reasoning: String = events
        .iter()
        .filter_map(|event| match event {
            ModelEvent::Reasoning(piece) => Some(&**piece),
            _ => None,
        })
        .collect();
    assert_eq!(choice["reasoning"], *reasoning);
    let Some(ModelEvent::Finished(reply)) = events.last() else {
        assert!(expect.get("sdk_raised").is_some(), "no reply: {end:?}");
        let shown = end.unwrap_err().message;
        let raised = expect["sdk_raised"].as_str().unwrap().trim_start_matches("APIError: ");
        assert!(!shown.contains(raised), "{shown}");
        return;
    };
    assert_eq!(end, Ok(()));
    assert_eq!(expect.get("sdk_raised"), None);
    // A refusal is text here, and a reason to finish.
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
    // Cut at every event, it is an error until it has ended well; never a shorter answer.
    for end in stream.windows(2).enumerate().filter(|(_, pair)| pair == b"\n\n").map(|(at, _)| at + 2) {
        let (cut, outcome) = decode([&stream[..end]]);
        match cut.last() {
            Some(ModelEvent::Finished(cut)) => {
                assert_eq!((&cut.text, &cut.tool_calls), (&reply.text, &reply.tool_calls))
            }
            _ => assert!(outcome.is_err()),
        }
    }
}
