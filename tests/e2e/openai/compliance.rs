//! The seven cases of Open Responses' list of compliance, in the schema of its specification of 2026-04-24: each member that
//! it demands of a response, an item and an event.
//!
//! Issue 51, 5

use espalier_test_support::{Case, Step, Value, call, deltas, json, text};

use super::{items, listed};

const PATH: &str = "/v1/responses";
/// An image of one pixel.
const IMAGE: &str = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/// The types that a member may have, as letters: text, number, bool, array, object, null.
const RESPONSE: &[(&str, &str)] = &[
    ("id", "t"),
    ("object", "t"),
    ("created_at", "n"),
    ("completed_at", "n0"),
    ("status", "t"),
    ("incomplete_details", "o0"),
    ("model", "t"),
    ("previous_response_id", "t0"),
    ("instructions", "t0"),
    ("output", "a"),
    ("error", "o0"),
    ("tools", "a"),
    ("tool_choice", "to"),
    ("truncation", "t"),
    ("parallel_tool_calls", "b"),
    ("text", "o"),
    ("top_p", "n"),
    ("presence_penalty", "n"),
    ("frequency_penalty", "n"),
    ("top_logprobs", "n"),
    ("temperature", "n"),
    ("reasoning", "o0"),
    ("usage", "o0"),
    ("max_output_tokens", "n0"),
    ("max_tool_calls", "n0"),
    ("store", "b"),
    ("background", "b"),
    ("service_tier", "t"),
    ("metadata", "o"),
    ("safety_identifier", "t0"),
    ("prompt_cache_key", "t0"),
];

const ITEMS: &[(&str, &[(&str, &str)])] = &[
    ("message", &[("id", "t"), ("status", "t"), ("role", "t"), ("content", "a")]),
    ("function_call", &[("id", "t"), ("call_id", "t"), ("name", "t"), ("arguments", "t"), ("status", "t")]),
];

const EVENTS: &[(&str, &[(&str, &str)])] = &[
    ("response.created", &[("response", "o")]),
    ("response.in_progress", &[("response", "o")]),
    ("response.output_item.added", &[("output_index", "n"), ("item", "o")]),
    (
        "response.content_part.added",
        &[("item_id", "t"), ("output_index", "n"), ("content_index", "n"), ("part", "o")],
    ),
    (
        "response.output_text.delta",
        &[("item_id", "t"), ("output_index", "n"), ("content_index", "n"), ("delta", "t"), ("logprobs", "a")],
    ),
    (
        "response.output_text.done",
        &[("item_id", "t"), ("output_index", "n"), ("content_index", "n"), ("text", "t"), ("logprobs", "a")],
    ),
    (
        "response.content_part.done",
        &[("item_id", "t"), ("output_index", "n"), ("content_index", "n"), ("part", "o")],
    ),
    ("response.function_call_arguments.delta", &[("item_id", "t"), ("output_index", "n"), ("delta", "t")]),
    ("response.function_call_arguments.done", &[("item_id", "t"), ("output_index", "n"), ("arguments", "t")]),
    ("response.output_item.done", &[("output_index", "n"), ("item", "o")]),
    ("response.completed", &[("response", "o")]),
];

fn has(thing: &Value, members: &[(&str, &str)]) {
    for (name, types) in members {
        let letter = match thing.get(name) {
            None => panic!("no {name}: {thing}"),
            Some(Value::Null) => '0',
            Some(Value::Bool(_)) => 'b',
            Some(Value::Number(_)) => 'n',
            Some(Value::String(_)) => 't',
            Some(Value::Array(_)) => 'a',
            Some(Value::Object(_)) => 'o',
        };
        assert!(types.contains(letter), "{name}: {thing}");
    }
}

/// The members of a thing of this type.
fn members(
    all: &[(&str, &'static [(&'static str, &'static str)])],
    thing: &Value,
) -> &'static [(&'static str, &'static str)] {
    let kind = thing["type"].as_str().unwrap_or_default();
    all.iter().find(|(name, _)| *name == kind).unwrap_or_else(|| panic!("{thing}")).1
}

fn conforms(response: &Value) {
    has(response, RESPONSE);
    assert_eq!(response["object"], "response");
    for item in listed(&response["output"]) {
        has(item, members(ITEMS, item));
        for part in listed(&item["content"]) {
            has(part, &[("type", "t"), ("text", "t"), ("annotations", "a")]);
        }
    }
    if response["usage"].is_object() {
        let counts = ["input_tokens", "output_tokens", "total_tokens"].map(|name| (name, "n"));
        has(&response["usage"], &counts);
        has(&response["usage"]["input_tokens_details"], &[("cached_tokens", "n")]);
        has(&response["usage"]["output_tokens_details"], &[("reasoning_tokens", "n")]);
    }
}

/// A request whose model gives this step, and its response.
async fn completed_response(case: &Case, step: Step, mut body: Value) -> Value {
    case.script("", [step]).await;
    body["model"] = json!("other:fake-3");
    let response = case.client.post(PATH, &body).await.expect(200).await.json().await;
    conforms(&response);
    assert_eq!(response["status"], "completed");
    response
}

/// The same as a stream: its events, and the last response.
async fn streamed(case: &Case, step: Step, mut body: Value) -> (Vec<Value>, Value) {
    case.script("", [step]).await;
    body["stream"] = json!(true);
    let stream = case.client.post(PATH, &body).await.expect(200).await.text().await;
    let data = stream.lines().filter_map(|line| line.strip_prefix("data: "));
    let events: Vec<Value> = data.map(|data| serde_json::from_str(data).expect("JSON")).collect();
    for (at, event) in events.iter().enumerate() {
        has(event, &[("sequence_number", "n")]);
        has(event, members(EVENTS, event));
        if event["response"].is_object() {
            conforms(&event["response"]);
        }
        assert_eq!(event["type"] == "response.completed", at + 1 == events.len(), "{event}");
    }
    let last = events.last().expect("events")["response"].clone();
    assert_eq!(last["status"], "completed");
    (events, last)
}

fn message(role: &str, content: Value) -> Value {
    json!({ "type": "message", "role": role, "content": content })
}

fn text_of(response: &Value) -> &Value {
    &items(response, "message")[0]["content"][0]["text"]
}

#[tokio::test]
async fn texts_whole_and_streamed() {
    let case = Case::new().await;
    let input = json!([message("user", json!(case.said("Say hello.", "")))]);
    let whole = completed_response(&case, text("Hello."), json!({ "input": input })).await;
    assert_eq!(text_of(&whole), "Hello.");
    let (events, last) = streamed(&case, deltas(["One ", "two."]), json!({ "input": input })).await;
    assert_eq!(text_of(&last), "One two.");
    let kinds: Vec<_> = events.iter().filter_map(|event| event["type"].as_str()).collect();
    for (kind, _) in EVENTS.iter().filter(|(kind, _)| !kind.contains("function_call")) {
        assert!(kinds.contains(kind), "{kind}: {kinds:?}");
    }
}

#[tokio::test]
async fn items_of_the_system_and_earlier_messages_reach_the_model() {
    let case = Case::new().await;
    let input = json!([
        message("system", json!("You are a pirate.")),
        message("user", json!("My name is Alice.")),
        message("assistant", json!("Hello Alice.")),
        message("user", json!(case.said("What is my name?", ""))),
    ]);
    let response = completed_response(&case, text("Alice."), json!({ "input": input })).await;
    assert_eq!(text_of(&response), "Alice.");
    let contents = case.requests("").await.requests[0].contents();
    assert!(contents[0].contains("\nYou are a pirate.\n"), "{contents:?}");
    for earlier in ["My name is Alice.", "Hello Alice."] {
        assert!(contents.iter().any(|content| content == earlier), "{contents:?}");
    }
}

#[tokio::test]
async fn functions_are_called_whole_and_streamed() {
    let tool = json!({
        "type": "function", "name": "get_weather", "description": "The weather.",
        "parameters": { "type": "object", "properties": { "location": { "type": "string" } }, "required": ["location"] },
    });
    let calls = || call("ui_get__weather", json!({ "location": "Oslo" }));
    let case = Case::new().await;
    let body = json!({ "input": [message("user", json!(case.said("The weather?", "")))], "tools": [tool] });
    let mut responses = vec![completed_response(&case, calls(), body.clone()).await];
    let (events, last) = streamed(&case, calls(), body).await;
    responses.push(last);
    for response in responses {
        let called = items(&response, "function_call");
        assert_eq!((called.len(), &called[0]["name"]), (1, &json!("get_weather")), "{response}");
    }
    let kinds: Vec<_> = events.iter().filter_map(|event| event["type"].as_str()).collect();
    for (kind, _) in EVENTS.iter().filter(|(kind, _)| kind.contains("function_call")) {
        assert!(kinds.contains(kind), "{kind}: {kinds:?}");
    }
}

#[tokio::test]
async fn an_image_reaches_a_model_that_sees() {
    let case = Case::new().await;
    let content = json!([
        { "type": "input_text", "text": case.said("What is this?", "") },
        { "type": "input_image", "image_url": IMAGE, "detail": "auto" },
    ]);
    let response =
        completed_response(&case, text("A dot."), json!({ "input": [message("user", content)] })).await;
    assert_eq!(text_of(&response), "A dot.");
    let request = case.requests("").await.requests[0].body.to_string();
    assert!(request.contains(IMAGE), "{request}");
}
