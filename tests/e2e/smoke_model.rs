//! Real turns with a real model: `make smoke-model`. The tests do not assert a model's words.
//! They assert the rules of every turn: the wire, the stored message, the bounds.
//!
//! [`Case::turn`] reads every turn to its end and checks the promises of the wire.

// The words of a model are worth reading.
#![allow(clippy::print_stdout)]

use espalier_test_support::case::first;
use espalier_test_support::{Case, Event, Value, json, new_id, tree};

/// The limit in the configuration of the instance `smoke`.
const MAX_MODEL_CALLS: u64 = 8;

/// A whole turn, which stayed within its bounds.
async fn turn(case: &Case, body: Value) -> Vec<Event> {
    let events = case.chat_with(&body).await;
    let cost = first(&events, "cost_summary");
    assert!(cost.data["llm_calls"].as_u64().expect("a count") <= MAX_MODEL_CALLS, "{cost:?}");
    let done = first(&events, "done").text("finish_reason").to_owned();
    println!("{:.60}… → {done}: {:.80}", body["content"], case.stored(&events).await["content"]);
    events
}

/// Words of parsers and of Rust: no model can act on them.
const PARSERS_WORDS: [&str; 8] =
    ["EOF", "line 1 column", "unknown field", "missing field", "invalid type", "expected", "serde", "struct"];

/// Checks that each refused call was refused in plain words, and that each right expression was calculated. Returns the
/// number of calls.
fn assert_told_in_words(events: &[Event]) -> usize {
    let calls = events.iter().filter(|event| event.kind == "tool_call_update");
    let starts: Vec<_> = calls.filter(|event| event.text("status") == "start").collect();
    for start in &starts {
        let (name, args) = (start.text("name"), &start.data["args"]);
        let end = tree::result(events, start.text("tool_call_id"));
        let result = end.text("result");
        println!("    {name} {args} → {result:.160}");
        let is_refused = end.data["is_error"] == true;
        assert!(!is_refused || PARSERS_WORDS.iter().all(|word| !result.contains(word)), "{end:?}");
        let expression = args["expression"].as_str().unwrap_or_default().replace(' ', "");
        if name == "calculate" && ["17*23", "17×23", "17x23"].contains(&expression.as_str()) {
            assert_eq!(result, "391", "{end:?}");
        }
    }
    starts.len()
}

fn thread_of(events: &[Event]) -> String {
    first(events, "session").text("thread_id").to_owned()
}

/// Checks that the model answered the turn with text, as every model can.
fn assert_answered(events: &[Event]) {
    let done = first(events, "done").text("finish_reason");
    assert!(["stop", "length"].contains(&done), "{events:#?}");
    let said = events.iter().any(|event| event.kind == "chunk" && !event.text("content").is_empty());
    assert!(said, "an answer without a word: {events:#?}");
    let cost = first(events, "cost_summary");
    assert!(cost.data["input_tokens"].as_u64() > Some(0), "{cost:?}");
}

#[tokio::test]
#[ignore = "needs a model: make smoke-model"]
async fn a_conversation_of_three_turns() {
    let case = Case::new().await;
    let first_turn = turn(&case, json!({ "content": "Hello! Who are you?" })).await;
    assert_answered(&first_turn);
    let thread_id = thread_of(&first_turn);
    for content in ["What is the capital of France?", "And of Italy?"] {
        assert_answered(&turn(&case, json!({ "content": content, "thread_id": thread_id })).await);
    }
    assert_eq!(case.client.messages(&thread_id).await.len(), 6);
}

#[tokio::test]
#[ignore = "needs a model: make smoke-model"]
async fn all_kinds_of_text() {
    let case = Case::new().await;
    for content in [
        json!("Grüß dich 👋🏽, wie geht es dir? 日本語も？"),
        json!("Repeat: \"quotes\", \\backslashes\\, {braces} and <tags>\n\n```\ncode\n```"),
        json!([{ "type": "text", "text": "Say hello to Ada." },
            { "type": "file", "name": "note.txt", "data": "data:text/plain;base64,QWRhIGxpa2VzIGVuZ2luZXMu" }]),
        json!(format!("Summarize: {}", "The quick brown fox jumps over the lazy dog. ".repeat(40))),
    ] {
        assert_answered(&turn(&case, json!({ "content": content })).await);
    }
}

#[tokio::test]
#[ignore = "needs a model: make smoke-model"]
async fn two_threads_at_once() {
    let (one, other) = (Case::new().await, Case::new().await);
    let body = json!({ "content": "Tell me a short story about a river." });
    let (one, other) = tokio::join!(turn(&one, body.clone()), turn(&other, body));
    assert_answered(&one);
    assert_answered(&other);
}

#[tokio::test]
#[ignore = "needs a model: make smoke-model"]
async fn a_turn_is_cancelled_and_the_thread_goes_on() {
    let case = Case::new().await;
    let long = json!({ "content": "Write a very long story about the sea, with many chapters." });
    let mut stream = case.client.chat(&long).await;
    stream.until(|event| event.kind == "chunk").await;
    let thread_id = thread_of(stream.seen());
    case.client.cancel(&thread_id).await;
    let events = case.turn(stream).await;
    let done = first(&events, "done").text("finish_reason");
    assert!(["cancelled", "stop", "length"].contains(&done), "{done}: it may have been quick");
    assert_answered(&turn(&case, json!({ "content": "Thank you.", "thread_id": thread_id })).await);
}

#[tokio::test]
#[ignore = "needs a model: make smoke-model"]
async fn a_reader_goes_and_comes_back_and_the_same_request_is_the_same_turn() {
    let case = Case::new().await;
    let body = json!({ "content": "Count from one to twenty.", "turn_id": new_id() });
    let mut stream = case.client.chat(&body).await;
    stream.until(|event| event.kind == "chunk").await;
    let mut events = stream.seen().to_vec();
    drop(stream);
    let seen = events[events.len() - 1].seq;
    if let Some(back) = case.client.stream(&thread_of(&events), seen).await {
        events.extend(back.rest().await);
    }
    assert_eq!(case.turn(case.client.chat(&body).await).await, events);
}

// With tools on offer a small model acts in any way: it may call them wrongly, for ever, or break its server's
// template. The service must bound all of it.
#[tokio::test]
#[ignore = "needs a model: make smoke-model"]
async fn with_tools_on_offer_every_turn_is_bounded() {
    let case = Case::new().await;
    // The local model is bad at tools, so its other turns have none; this one has them.
    let without = std::env::var("SMOKE_TOOLS").is_ok_and(|tools| tools == "false");
    let model = std::env::var("SMOKE_MODEL").expect("SMOKE_MODEL");
    let mut calls = 0;
    for content in [
        "What is 17 * 23? Use the calculate tool.",
        "Calculate 15% of 80 with the calculate tool, with a precision of 2.",
        "What time is it? Use the current_time tool, for the timezone of Berlin.",
        "Write the word pear to memory under the key fruit, then list the memory.",
        "Research apples and pears, each in a subtask of its own, then compare them.",
    ] {
        let mut body = json!({ "content": content });
        if without {
            body["model"] = json!(format!("tools:{model}"));
        }
        let events = turn(&case, body).await;
        let done = first(&events, "done").text("finish_reason");
        assert!(["stop", "length", "error", "budget"].contains(&done), "{events:#?}");
        calls += assert_told_in_words(&events);
    }
    println!("{calls} calls");
}
