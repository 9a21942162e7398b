//! Streams and inputs by the binding's documentation and by its own clients.

use std::rc::Rc;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::MAX_REPLY_BYTES;
use crate::testing::{
    self, PNG, all_parts, answered, assistant, body, calls, definition, raw_json, raw_of, reasoning, request,
    split_anywhere, text, tool, user, with_choice,
};
use wire::model::{ModelErrorKind, ModelEvent, ModelReply, ReplyFinish, ToolChoice, Usage};

fn fresh() -> Box<dyn Decoder> {
    WorkersAi.decoder(&request(vec![]))
}

fn stream(chunks: &[Value]) -> Vec<u8> {
    let chunks: String = chunks.iter().map(|chunk| format!("data: {chunk}\n\n")).collect();
    chunks.into_bytes()
}

fn done(chunks: &[Value]) -> Vec<u8> {
    [stream(chunks), b"data: [DONE]\n\n".to_vec()].concat()
}

fn reply(chunks: &[Value]) -> (Vec<ModelEvent>, ModelReply) {
    testing::reply(&fresh, &done(chunks))
}

fn failure(stream: &[u8]) -> ModelErrorKind {
    testing::failure(&fresh, stream).1.kind
}

#[test]
fn text_in_the_bindings_own_form() {
    let (events, reply) = reply(&[
        json!({"response": "Grüß", "p": "abcdefgh"}),
        json!({"response": " dich "}),
        // A token that looks like a number.
        json!({"response": 42}),
        json!({"response": ""}),
        json!({"response": null, "tool_calls": [], "usage": {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}}),
    ]);
    assert_eq!(events, [text("Grüß"), text(" dich "), text("42")]);
    let usage = Some(Usage { input_tokens: 7, output_tokens: 3, ..Usage::default() });
    let text = "Grüß dich 42".to_string();
    assert_eq!(reply, ModelReply { text, tool_calls: vec![], finish: ReplyFinish::Stop, usage, raw: None });
}

#[test]
fn calls_in_the_bindings_own_form() {
    let (_, reply) = reply(&[
        json!({"response": "", "tool_calls": [
            {"name": "get_weather", "arguments": {"city": "Köln"}},
            {"name": "get_weather", "arguments": "{\"city\": \"Bonn\"}"},
            {"name": "ping"},
        ]}),
        json!({"response": null, "usage": {"prompt_tokens": 7, "completion_tokens": 3}}),
    ]);
    let expected = [
        ("call_0", "get_weather", "{\"city\":\"Köln\"}"),
        ("call_1", "get_weather", "{\"city\": \"Bonn\"}"),
        ("call_2", "ping", "{}"),
    ];
    assert_eq!((calls(&reply), reply.finish), (expected.to_vec(), ReplyFinish::ToolCalls));
}

#[test]
fn calls_in_pieces_that_null_closes() {
    let piece = |call: Value| json!({"response": "", "tool_calls": [call]});
    let (_, reply) = reply(&[
        piece(json!({"id": "a", "type": "function", "index": 0, "function": {"name": "f"}})),
        piece(json!({"index": 0, "function": {"arguments": "{\"x\":"}})),
        piece(json!({"id": "b", "type": "function", "index": 1, "function": {"name": "g", "arguments": ""}})),
        piece(json!({"index": 0, "function": {"arguments": "1}"}})),
        piece(json!({"id": null, "type": null, "index": 2, "function": {"name": null, "arguments": null}})),
    ]);
    assert_eq!(calls(&reply), [("a", "f", "{\"x\":1}"), ("b", "g", "{}")]);
}

// N-171
#[test]
fn openai_s_chunks() {
    let delta = |delta: Value| json!({"id": "1", "object": "chat.completion.chunk", "choices": [{"index": 0, "delta": delta}]});
    let (events, reply) = reply(&[
        delta(json!({"role": "assistant", "reasoning_content": "Hm."})),
        // A chunk in both formats.
        {
            let mut both = delta(json!({"content": "Hi."}));
            both["response"] = json!("Hi.");
            both
        },
        delta(json!({"tool_calls": [{"index": 0, "id": "a", "function": {"name": "f", "arguments": "{}"}}]})),
        json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "length"}],
            "usage": {"prompt_tokens": 7, "completion_tokens": 3, "prompt_tokens_details": {"cached_tokens": 5}}}),
    ]);
    assert_eq!(events, [reasoning("Hm."), text("Hi.")]);
    assert_eq!((calls(&reply), reply.finish), (vec![("a", "f", "{}")], ReplyFinish::Length));
    assert_eq!(
        reply.usage,
        Some(Usage { input_tokens: 7, cached_tokens: 5, output_tokens: 3, ..Usage::default() })
    );
    assert_eq!(raw_of(&reply)["reasoning_content"], "Hm.");
    assert_eq!(reply.raw.as_ref().unwrap().wire, "workers_ai");
    let sent = body(&WorkersAi, &answered(request(vec![user("x")]), reply.clone()));
    assert_eq!(sent["messages"][1], raw_of(&reply), "the raw message returns");
}

#[test]
fn an_answer_that_is_no_stream() {
    let answer = "{\"response\": {\"n\":\n 1},\r\n \"usage\": {\"prompt_tokens\": 1}}";
    let (events, reply) = testing::reply(&fresh, &as_stream(answer));
    assert_eq!(events, [text("{\"n\":  1}")]);
    assert_eq!(reply.usage.unwrap().input_tokens, 1);
}

#[test]
fn a_stream_is_complete_with_its_terminator_only() {
    let chunk = json!({"response": "x"});
    let all = done(std::slice::from_ref(&chunk));
    testing::cut_and_split(&fresh, &all, Some(&testing::reply(&fresh, &all).1));
    for cut in [&b""[..], b"<html>", &stream(std::slice::from_ref(&chunk))] {
        assert_eq!(failure(cut), ModelErrorKind::Protocol);
    }
    let (_, ended) =
        testing::reply(&fresh, &stream(&[chunk, json!({"response": "", "finish_reason": "length"})]));
    assert_eq!(ended.finish, ReplyFinish::Length);
}

#[test]
fn errors_in_the_stream_and_chunks_that_cannot_be_read() {
    let table = [
        (json!({"error": {"message": "SECRET"}}), ModelErrorKind::Overloaded),
        (json!({"errors": [{"code": 3040, "message": "SECRET"}]}), ModelErrorKind::Overloaded),
        (
            json!({"error": "This model's context window is too small. SECRET"}),
            ModelErrorKind::ContextTooLong,
        ),
    ];
    for (chunk, kind) in table {
        assert_eq!(failure(&done(&[json!({"response": "x"}), chunk.clone()])), kind, "{chunk}");
    }
    assert_eq!(failure(b"event: error\ndata: {\"message\": \"SECRET\"}\n\n"), ModelErrorKind::Overloaded);
    // Issue 44: a member of another type counts as absent.
    let odd = done(&[json!({"response": "x", "tool_calls": 1})]);
    assert_eq!(testing::reply(&fresh, &odd).1.text, "x");
    for data in ["{", "{} {}"] {
        assert_eq!(
            failure(format!("data: {data}\n\ndata: [DONE]\n\n").as_bytes()),
            ModelErrorKind::Protocol,
            "{data}"
        );
    }
    let big = json!({"response": "x".repeat(MAX_REPLY_BYTES / 4)});
    assert_eq!(testing::decode(&fresh, [&done(&vec![big.clone(); 4])[..]]).1, Ok(()));
    assert!(testing::decode(&fresh, [&done(&vec![big; 5])[..]]).1.is_err());
}

#[test]
fn exceptions_of_the_binding_are_classified() {
    let table = [
        ("3040: Capacity temporarily exceeded, please try again.", ModelErrorKind::RateLimited),
        ("AiError: AiError: 3036: You have used up your daily free allocation", ModelErrorKind::RateLimited),
        ("5007: No such model @cf/x/y or task", ModelErrorKind::BadRequest),
        ("5018: SECRET", ModelErrorKind::Auth),
        ("3007: Request timeout", ModelErrorKind::Overloaded),
        ("3006: Request is too large", ModelErrorKind::ContextTooLong),
        (
            "5021: The estimated number of tokens exceeded this model context window limit",
            ModelErrorKind::ContextTooLong,
        ),
        ("InferenceUpstreamError: SECRET", ModelErrorKind::Overloaded),
        ("", ModelErrorKind::Overloaded),
    ];
    for (message, kind) in table {
        let (status, body) = thrown(message);
        let error = WorkersAi.refusal(status, &body);
        assert_eq!(error.kind, kind, "{message}");
        assert!(!error.message.contains("SECRET"));
    }
}

#[test]
fn the_inputs() {
    let mut request = with_choice(
        request(vec![
            user("x"),
            assistant("", &[("a", "f", "{\"x\": 1}")]),
            tool("a", "gone", true),
            all_parts(),
        ]),
        |choice| {
            choice.model = "@cf/a/b".into();
            choice.capabilities.vision = true;
            choice.capabilities.structured_output = true;
            choice.options.temperature = Some(0.5);
        },
    );
    request.system = "Be brief.".into();
    request.tools = Rc::new([definition("f")]);
    request.tool_choice = ToolChoice::Required;
    request.response_schema = Some(Rc::new(raw_json(r#"{"type":"object"}"#)));
    let sent = WorkersAi.encode(&request).unwrap();
    assert_eq!((sent.url.as_str(), sent.headers), ("@cf/a/b", vec![]));
    let function = json!({"name": "f", "arguments": "{\"x\": 1}"});
    let expected = json!({
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "x"},
            {"role": "assistant", "content": "", "tool_calls": [{"id": "a", "type": "function", "function": function}]},
            {"role": "tool", "tool_call_id": "a", "content": "Error: gone"},
            {"role": "user", "content": [
                {"type": "text", "text": "look"},
                {"type": "image_url", "image_url": {"url": PNG}},
                {"type": "file", "file": {"filename": "a.pdf", "file_data": testing::PDF}},
                {"type": "text", "text": "File a.txt:\n\nhello"},
            ]},
        ],
        "tools": [{"type": "function", "function": {
            "name": "f", "description": "does f", "parameters": {"type": "object", "properties": {}}
        }}],
        "tool_choice": "required",
        "response_format": {"type": "json_schema", "json_schema": {"type": "object"}},
        "temperature": 0.5,
        "max_tokens": 4096,
        "stream": true,
    });
    assert_eq!(serde_json::from_slice::<Value>(&sent.body).unwrap(), expected);
    request.max_output_tokens = Some(9);
    assert_eq!(body(&WorkersAi, &request)["max_tokens"], 9);
}

/// Plausible chunks, in any order.
fn chunk() -> impl Strategy<Value = Value> {
    let word = prop_oneof![Just(""), Just("a"), Just("{\"x\":"), Just("1}"), Just("ü🌍"), Just("\"\\")];
    prop_oneof![
        word.clone().prop_map(|word| json!({"response": word})),
        word.clone().prop_map(|word| json!({"tool_calls": [{"name": word, "arguments": word}]})),
        word.clone()
            .prop_map(|word| json!({"tool_calls": [{"id": word, "index": 0, "function": {"name": word}}]})),
        word.prop_map(|word| json!({"choices": [{"delta": {"content": word}}]})),
        Just(json!({"response": 7, "usage": {"prompt_tokens": 1}})),
        Just(json!({"errors": [{"code": 500}]})),
    ]
}

proptest! {
    #[test]
    fn any_split_gives_the_same(chunks in prop::collection::vec(chunk(), 0..12), cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..12)) {
        split_anywhere(&fresh, &done(&chunks), &cuts)?;
    }

    #[test]
    fn random_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        testing::random_data(&fresh, &bytes, b"data: [DONE]\n\n")?;
    }
}
