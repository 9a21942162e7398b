//! Streams written by the API's documentation, each decoded in many splits.

use serde_json::{Value, json};

use super::*;
use crate::MAX_REPLY_BYTES;
use crate::testing::{self, Outcome, text};
use wire::model::{ModelErrorKind, ModelEvent, ModelReply, ReplyFinish, ToolCall, Usage};

pub fn fresh() -> Box<dyn Decoder> {
    numbered_from(0)
}

fn numbered_from(first: usize) -> Box<dyn Decoder> {
    let ids = vec![("a", "f", "{}"); first];
    OpenAiChat::new("https://x.test", None).decoder(&testing::request(vec![testing::assistant("", &ids)]))
}

pub fn decode<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Outcome {
    testing::decode(&fresh, pieces)
}

pub fn every_way(stream: &[u8]) -> Outcome {
    testing::every_way(&fresh, stream)
}

pub fn reply(stream: &[u8]) -> (Vec<ModelEvent>, ModelReply) {
    testing::reply(&fresh, stream)
}

fn stream(chunks: &[Value]) -> Vec<u8> {
    chunks.iter().fold(vec![], |stream, chunk| [stream, format!("data: {chunk}\n\n").into_bytes()].concat())
}

pub fn done(chunks: &[Value]) -> Vec<u8> {
    [stream(chunks), b"data: [DONE]\n\n".to_vec()].concat()
}

pub fn delta(delta: Value) -> Value {
    json!({"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "m",
        "choices": [{"index": 0, "delta": delta, "logprobs": null, "finish_reason": null}], "usage": null})
}

pub fn finish(reason: &str) -> Value {
    json!({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})
}

pub fn call(index: u64, id: &str, name: &str, arguments: &str) -> Value {
    delta(json!({"tool_calls": [
        {"index": index, "id": id, "type": "function", "function": {"name": name, "arguments": arguments}}
    ]}))
}

fn arguments(index: u64, piece: &str) -> Value {
    delta(json!({"tool_calls": [{"index": index, "function": {"arguments": piece}}]}))
}

fn calls(chunks: &[Value]) -> Vec<(String, String, String)> {
    let (_, reply) = reply(&done(&[chunks, &[finish("tool_calls")]].concat()));
    assert_eq!(reply.finish, ReplyFinish::ToolCalls);
    let parts = |call: ToolCall| (call.call_id, call.name, call.arguments);
    reply.tool_calls.into_iter().map(parts).collect()
}

fn three(a: &str, b: &str, c: &str) -> (String, String, String) {
    (a.into(), b.into(), c.into())
}

fn error(stream: &[u8]) -> ModelErrorKind {
    let (events, end) = every_way(stream);
    assert!(!events.iter().any(|event| matches!(event, ModelEvent::Finished(_))));
    end.unwrap_err().kind
}

#[test]
fn text_with_usage_in_a_chunk_of_its_own() {
    let (events, reply) = reply(&done(&[
        delta(json!({"role": "assistant", "content": "", "refusal": null})),
        delta(json!({"content": "Grüß"})),
        delta(json!({"content": " dich 🌍\n"})),
        finish("stop"),
        json!({"choices": [], "usage": {"prompt_tokens": 78, "completion_tokens": 9, "total_tokens": 87,
            "prompt_tokens_details": {"cached_tokens": 64, "audio_tokens": 0}}}),
    ]));
    assert_eq!(events, [text("Grüß"), text(" dich 🌍\n")]);
    let usage = Some(Usage { input_tokens: 78, cached_tokens: 64, output_tokens: 9, ..Usage::default() });
    let text = "Grüß dich 🌍\n".to_string();
    assert_eq!(reply, ModelReply { text, tool_calls: vec![], finish: ReplyFinish::Stop, usage, raw: None });
}

#[test]
fn content_in_parts_is_text_and_thinking() {
    let thinking = |pieces: Value| json!({"type": "thinking", "thinking": pieces});
    let said = |words: &str| json!({"type": "text", "text": words});
    let thought = |words: &str| ModelEvent::Reasoning(words.into());
    // Mistral: thinking first, in parts; then text, in parts or as a string.
    let (events, parts) = reply(&done(&[
        delta(json!({"role": "assistant", "content": ""})),
        delta(json!({"content": [thinking(json!([said("Let")]))]})),
        delta(json!({"content": [thinking(json!([said(" me \"see\"\n"), said("…")])), said("It")]})),
        delta(json!({"content": [said(" is")]})),
        delta(json!({"content": " 4."})),
        finish("stop"),
    ]));
    assert_eq!(events, [thought("Let"), thought(" me \"see\"\n…"), text("It"), text(" is"), text(" 4.")]);
    assert_eq!((&*parts.text, parts.finish, &parts.raw), ("It is 4.", ReplyFinish::Stop, &None));
    // A thought as a string, and unknown parts.
    let (events, odd) = reply(&done(&[
        delta(
            json!({"content": [thinking(json!("hm")), {"type": "reference", "reference_ids": [1]}, 7, null, "x", {}]}),
        ),
        delta(
            json!({"content": [{"type": "text"}, {"type": "text", "text": 7}, {"type": 7}, {"type": "thinking"}]}),
        ),
        delta(json!({"content": []})),
        delta(json!({"content": [said("ok")]})),
        finish("stop"),
    ]));
    assert_eq!((events, &*odd.text), (vec![thought("hm"), text("x"), text("ok")], "xok"));
    // Thinking in two forms appears once.
    let twice =
        delta(json!({"reasoning_content": "hm", "content": [thinking(json!([said("hm")])), said("ok")]}));
    assert_eq!(reply(&done(&[twice, finish("stop")])).0, [thought("hm"), text("ok")]);
    // The same with calls.
    let planned = delta(json!({"content": [thinking(json!([said("call it")]))]}));
    let (events, called) = reply(&done(&[planned, call(0, "a", "f", "{}"), finish("tool_calls")]));
    assert_eq!((events, called.tool_calls.len()), (vec![thought("call it")], 1));
    // Issue 44: one part without a list around it.
    let (_, alone) = reply(&done(&[delta(json!({"content": said("ok")})), finish("stop")]));
    assert_eq!(alone.text, "ok");
}

#[test]
fn usage_in_other_places_and_shapes() {
    let of = |usage: Value| {
        let last = json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}], "usage": usage});
        reply(&done(&[delta(json!({"content": "x"})), last])).1.usage
    };
    let deepseek = json!({"prompt_tokens": 5, "completion_tokens": 2, "prompt_cache_hit_tokens": 3});
    assert_eq!(
        of(deepseek),
        Some(Usage { input_tokens: 5, cached_tokens: 3, output_tokens: 2, ..Usage::default() })
    );
    let nulls = json!({"prompt_tokens": 5, "completion_tokens": null, "prompt_tokens_details": null});
    assert_eq!(of(nulls), Some(Usage { input_tokens: 5, output_tokens: 0, ..Usage::default() }));
    for unreadable in [json!(null), json!({}), json!(7), json!({"prompt_tokens": "many"})] {
        assert_eq!(of(unreadable), None);
    }
}

#[test]
fn finish_reasons() {
    let table = [
        ("stop", ReplyFinish::Stop),
        ("length", ReplyFinish::Length),
        ("content_filter", ReplyFinish::ContentFilter),
        ("end_turn", ReplyFinish::Stop),
        ("tool_calls", ReplyFinish::Stop),
    ];
    for (reason, expected) in table {
        let stream = done(&[delta(json!({"content": "x"})), finish(reason)]);
        assert_eq!(reply(&stream).1.finish, expected, "{reason} without calls");
    }
    let (_, stopped) = reply(&done(&[call(0, "a", "f", "{}"), finish("stop")]));
    assert_eq!(stopped.finish, ReplyFinish::ToolCalls, "Ollama and Gemini say stop");
    let (_, cut) = reply(&done(&[call(0, "a", "f", "{\"x"), finish("length")]));
    assert_eq!((cut.finish, &*cut.tool_calls[0].arguments), (ReplyFinish::Length, "{\"x"));
    for failed in ["error", "function_call_filter: MALFORMED_FUNCTION_CALL"] {
        let stream = done(&[delta(json!({"content": "x"})), finish(failed)]);
        assert_eq!(error(&stream), ModelErrorKind::Overloaded, "{failed}");
    }
}

#[test]
fn a_refusal_is_text_and_content_filter() {
    let (events, reply) = reply(&done(&[
        delta(json!({"role": "assistant", "content": null, "refusal": ""})),
        delta(json!({"refusal": "I'm sorry"})),
        delta(json!({"refusal": "."})),
        finish("stop"),
    ]));
    assert_eq!(events, [text("I'm sorry"), text(".")]);
    assert_eq!((&*reply.text, reply.finish), ("I'm sorry.", ReplyFinish::ContentFilter));
}

#[test]
fn parallel_calls_interleaved_by_index() {
    let calls = calls(&[
        delta(json!({"role": "assistant", "content": null})),
        call(0, "call_a", "get_weather", ""),
        call(1, "call_b", "get_time", ""),
        arguments(0, "{\"city\": "),
        arguments(1, "{\"zone\""),
        arguments(0, "\"Köln\"}"),
        arguments(1, ": \"CET\"}"),
    ]);
    let expected =
        [("call_a", "get_weather", "{\"city\": \"Köln\"}"), ("call_b", "get_time", "{\"zone\": \"CET\"}")];
    assert_eq!(calls, expected.map(|(id, name, arguments)| three(id, name, arguments)));
}

#[test]
fn the_order_of_calls_is_their_index() {
    assert_eq!(
        calls(&[call(1, "b", "g", "{}"), call(0, "a", "f", "{}")]),
        [three("a", "f", "{}"), three("b", "g", "{}")]
    );
}

#[test]
fn arguments_may_be_empty_absent_null_or_no_string() {
    let of = |function: Value| {
        calls(&[delta(json!({"tool_calls": [{"index": 0, "id": "a", "function": function}]}))]).remove(0).2
    };
    for empty in
        [json!({"name": "f", "arguments": ""}), json!({"name": "f"}), json!({"name": "f", "arguments": null})]
    {
        assert_eq!(of(empty), "{}");
    }
    assert_eq!(of(json!({"name": "f", "arguments": {"x": 1}})), "{\"x\":1}");
    assert_eq!(of(json!({"name": "f", "arguments": "{\"x\": \"\\\"\"}"})), "{\"x\": \"\\\"\"}");
}

#[test]
fn ids_and_names_in_pieces_repeated_or_missing() {
    let pieces = [call(0, "call_", "get_", ""), call(0, "a1", "weather", "{}")];
    assert_eq!(calls(&pieces), [three("call_a1", "get_weather", "{}")]);
    let repeated = [call(0, "a", "f", "{"), call(0, "a", "f", "}")];
    assert_eq!(calls(&repeated), [three("a", "f", "{}")]);
    let emptied = [call(0, "a", "f", "{"), call(0, "", "", "}")];
    assert_eq!(calls(&emptied), [three("a", "f", "{}")]);
    let nameless =
        json!({"tool_calls": [{"index": 0, "id": null, "function": {"name": null, "arguments": "{}"}}]});
    assert_eq!(calls(&[delta(nameless)]), [three("call_0", "", "{}")]);
}

#[test]
fn made_up_ids_are_unique() {
    let stream =
        done(&[call(0, "", "f", "{}"), call(1, "call_7", "f", "{}"), call(2, "", "f", "{}"), finish("stop")]);
    let mut decoder = numbered_from(7);
    let mut events = vec![];
    decoder.feed(&stream, &mut events).unwrap();
    let [ModelEvent::Finished(reply)] = &events[..] else { panic!("{events:?}") };
    let ids: Vec<_> = reply.tool_calls.iter().map(|call| &*call.call_id).collect();
    assert_eq!(ids, ["call_8", "call_7", "call_9"]);
    let twice = calls(&[call(0, "same", "f", "{}"), call(1, "same", "g", "{}")]);
    assert_eq!(twice, [three("same", "f", "{}"), three("call_0", "g", "{}")]);
}

#[test]
fn calls_without_an_index_or_all_with_the_same() {
    let whole = |id: &str, name: &str| {
        delta(json!({"tool_calls": [{"id": id, "function": {"name": name, "arguments": "{}"}}]}))
    };
    assert_eq!(calls(&[whole("a", "f"), whole("b", "f")]), [three("a", "f", "{}"), three("b", "f", "{}")]);
    let piece = delta(json!({"tool_calls": [{"function": {"arguments": " "}}]}));
    assert_eq!(
        calls(&[whole("a", "f"), whole("b", "f"), piece]),
        [three("a", "f", "{}"), three("b", "f", "{} ")]
    );
    let zero = [call(0, "a", "f", "{}"), call(0, "b", "f", "{\"x\":"), arguments(0, "1}")];
    assert_eq!(calls(&zero), [three("a", "f", "{}"), three("b", "f", "{\"x\":1}")]);
}

#[test]
fn only_the_first_choice_counts() {
    let (events, reply) = reply(&done(&[
        json!({"choices": [{"index": 1, "delta": {"content": "two"}}, {"index": 0, "delta": {"content": "one"}}]}),
        json!({"choices": [{"index": 1, "delta": {}, "finish_reason": "length"}]}),
        finish("stop"),
    ]));
    assert_eq!((events, reply.finish), (vec![text("one")], ReplyFinish::Stop));
}

#[test]
fn chunks_without_a_choice_are_skipped() {
    let mut stream = b": OPENROUTER PROCESSING\n\nretry: 1\nid: 5\nevent: ping\ndata:\n\n".to_vec();
    stream.extend(done(&[
        json!({"choices": [], "prompt_filter_results": [{"prompt_index": 0}]}),
        json!({"choices": null}),
        json!({"x_groq": {"id": "req"}}),
        json!({"choices": [{"index": 0, "delta": null, "finish_reason": null}], "error": null}),
        json!({"choices": [{"delta": {"content": "ok", "role": "assistant"}, "content_filter_results": {}}]}),
        finish("stop"),
    ]));
    stream.extend(b"data: nonsense after the end\n\n");
    let (events, reply) = reply(&stream);
    assert_eq!((events, reply.raw), (vec![text("ok")], None));
}

#[test]
fn a_stream_is_complete_with_its_terminator_only() {
    let text = delta(json!({"content": "x"}));
    assert_eq!(error(b""), ModelErrorKind::Protocol);
    assert_eq!(error(b"<html>not a stream</html>"), ModelErrorKind::Protocol);
    let (_, whole) = reply(br#"{"choices":[{"message":{"content":"not streamed"}}]}"#);
    assert_eq!(whole.text, "not streamed", "Issue 44: a whole completion is complete");
    assert_eq!(error(&stream(std::slice::from_ref(&text))), ModelErrorKind::Protocol);
    assert_eq!(
        error(&[stream(std::slice::from_ref(&text)), b"data: [DONE]".to_vec()].concat()),
        ModelErrorKind::Protocol
    );
    let (_, ended) = reply(&stream(&[text.clone(), finish("length")]));
    assert_eq!(ended.finish, ReplyFinish::Length, "a finish_reason is as good");
    let (_, done) = reply(&done(&[text]));
    assert_eq!(done.finish, ReplyFinish::Stop, "so is [DONE] alone");
}

#[test]
fn done_completes_the_reply_before_the_body_ends() {
    let mut decoder = fresh();
    let mut events = vec![];
    decoder.feed(&done(&[delta(json!({"content": "x"})), finish("stop")]), &mut events).unwrap();
    assert_eq!(events.len(), 2);
    decoder.finish(&mut events).unwrap();
    assert_eq!(events.len(), 2);
}

#[test]
fn errors_in_the_stream_keep_what_came_before() {
    let chunk = delta(json!({"content": "x"}));
    let llama = json!({"error": {"code": 500, "message": "SECRET", "type": "server_error"}});
    let openrouter = json!({"error": {"code": 400, "message": "SECRET"}, "choices": [{"index": 0, "delta": {"content": ""}}]});
    let in_choice = json!({"choices": [{"index": 0, "error": {"code": 429}, "finish_reason": "error"}]});
    let too_long = json!({"error": {"code": "context_length_exceeded"}});
    let bare = json!({"error": "SECRET"});
    let table = [
        (llama, ModelErrorKind::Overloaded),
        (openrouter, ModelErrorKind::BadRequest),
        (in_choice, ModelErrorKind::RateLimited),
        (too_long, ModelErrorKind::ContextTooLong),
        (bare, ModelErrorKind::Overloaded),
    ];
    for (wire, kind) in table {
        let (events, end) = every_way(&done(&[chunk.clone(), finish("length"), wire]));
        let error = end.unwrap_err();
        assert_eq!((events, error.kind), (vec![text("x")], kind));
        assert!(!error.message.contains("SECRET"));
    }
    let named = b"event: error\ndata: {\"type\": \"overloaded_error\"}\n\n";
    assert_eq!(error(named), ModelErrorKind::Overloaded);
    assert_eq!(error(b"event: error\ndata: {\"error\": {\"code\": 401}}\n\n"), ModelErrorKind::Auth);
}

#[test]
fn chunks_that_cannot_be_read_are_errors() {
    // Issue 44: a member of another type counts as absent, and a number is a token.
    for (chunk, told) in [(json!({"choices": 1}), ""), (delta(json!({"content": 1})), "1")] {
        assert_eq!(reply(&done(&[chunk, finish("stop")])).1.text, told);
    }
    for data in ["{", "{} {}"] {
        assert_eq!(
            error(format!("data: {data}\n\ndata: [DONE]\n\n").as_bytes()),
            ModelErrorKind::Protocol,
            "{data}"
        );
    }
}

#[test]
fn the_size_of_a_reply_is_bounded() {
    let big = "x".repeat(MAX_REPLY_BYTES / 4);
    let kinds: [&dyn Fn() -> Value; 6] = [
        &|| delta(json!({"content": big})),
        &|| delta(json!({"reasoning": big})),
        &|| delta(json!({"content": [{"type": "text", "text": big}]})),
        &|| delta(json!({"content": [{"type": "thinking", "thinking": [{"type": "text", "text": big}]}]})),
        &|| delta(json!({"mystery": big})),
        &|| arguments(0, &big),
    ];
    for chunk in kinds {
        let fits = done(&[chunk(), chunk(), chunk()]);
        assert_eq!(decode([&fits[..]]).1, Ok(()));
        let stream = done(&[chunk(), chunk(), chunk(), chunk(), chunk()]);
        assert_eq!(decode([&stream[..]]).1.unwrap_err().kind, ModelErrorKind::ReplyTooLarge);
    }
    let many = |count: u64| (0..count).map(|index| call(index, "", "f", "{}")).collect::<Vec<Value>>();
    assert_eq!(decode([&done(&many(128))[..]]).1, Ok(()));
    let error = decode([&done(&many(129))[..]]).1.unwrap_err();
    assert_eq!((error.kind, error.kind.retryable()), (ModelErrorKind::ReplyTooLarge, false));
    assert_eq!(error.message, "The model made more than 128 tool calls at once.");
    let endless = format!("data: {}", "x".repeat(8 * MAX_REPLY_BYTES));
    assert_eq!(decode([endless.as_bytes()]).1.unwrap_err().kind, ModelErrorKind::Protocol);
}
