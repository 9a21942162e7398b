//! Streams written by the API's documentation, each decoded in many splits.

use serde_json::{Value, json};

use super::*;
use crate::MAX_REPLY_BYTES;
use crate::testing::{self, calls, raw_of, reasoning, text};
use wire::model::{ModelErrorKind, ModelEvent, ModelReply, ReplyFinish, Usage};

pub fn fresh() -> Box<dyn Decoder> {
    OpenAiResponses::new("https://x.test", None).decoder(&testing::request(vec![]))
}

pub fn stream(events: &[Value]) -> Vec<u8> {
    let event = |event: &Value| format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap());
    events.iter().map(event).collect::<String>().into_bytes()
}

fn created() -> Value {
    json!({"type": "response.created", "sequence_number": 0, "response": {"id": "resp_1", "status": "in_progress",
        "error": null, "output": [], "usage": null}})
}

pub fn added(index: u64, item: Value) -> Value {
    json!({"type": "response.output_item.added", "output_index": index, "item": item})
}

pub fn done(index: u64, item: Value) -> Value {
    json!({"type": "response.output_item.done", "output_index": index, "item": item})
}

pub fn delta(kind: &str, index: u64, piece: &str) -> Value {
    json!({"type": format!("response.{kind}.delta"), "output_index": index, "content_index": 0, "item_id": "i",
        "delta": piece, "logprobs": [], "obfuscation": "xY"})
}

fn ended(kind: &str, response: Value) -> Value {
    let mut response = response;
    response["usage"] = json!({"input_tokens": 78, "input_tokens_details": {"cached_tokens": 64}, "output_tokens": 9,
        "output_tokens_details": {"reasoning_tokens": 4}, "total_tokens": 87});
    json!({"type": format!("response.{kind}"), "response": response})
}

pub fn whole(events: &[Value]) -> Vec<u8> {
    stream(&[&[created()], events, &[ended("completed", json!({"status": "completed"}))]].concat())
}

pub fn message(text: &str) -> Value {
    json!({"id": "msg_1", "type": "message", "status": "completed", "role": "assistant",
        "content": [{"type": "output_text", "annotations": [], "logprobs": [], "text": text}]})
}

pub fn call(id: &str, call_id: &str, name: &str, arguments: &str) -> Value {
    json!({"id": id, "type": "function_call", "status": "completed", "call_id": call_id, "name": name, "arguments": arguments})
}

pub fn thought(encrypted: Value) -> Value {
    json!({"id": "rs_1", "type": "reasoning", "summary": [], "encrypted_content": encrypted})
}

fn reply(events: &[Value]) -> (Vec<ModelEvent>, ModelReply) {
    testing::reply(&fresh, &whole(events))
}

fn failure(stream: &[u8]) -> (Vec<ModelEvent>, ModelErrorKind) {
    let (events, error) = testing::failure(&fresh, stream);
    (events, error.kind)
}

/// The types of the returned items.
fn kinds(reply: &ModelReply) -> Vec<String> {
    raw_of(reply).as_array().unwrap().iter().map(|item| item["type"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn text_with_usage() {
    let (events, reply) = reply(&[
        added(0, json!({"id": "msg_1", "type": "message", "status": "in_progress", "content": []})),
        json!({"type": "response.content_part.added", "output_index": 0, "part": {"type": "output_text", "text": ""}}),
        delta("output_text", 0, "Grüß"),
        delta("output_text", 0, ""),
        delta("output_text", 0, " dich 🌍\n"),
        json!({"type": "response.output_text.done", "output_index": 0, "text": "Grüß dich 🌍\n"}),
        done(0, message("Grüß dich 🌍\n")),
    ]);
    assert_eq!(events, [text("Grüß"), text(" dich 🌍\n")], "text that the end repeats appears once");
    assert_eq!((reply.text.as_str(), reply.finish), ("Grüß dich 🌍\n", ReplyFinish::Stop));
    assert_eq!(
        reply.usage,
        Some(Usage { input_tokens: 78, cached_tokens: 64, output_tokens: 9, ..Usage::default() })
    );
    let raw = reply.raw.as_ref().unwrap();
    assert_eq!((raw.provider.as_str(), raw.wire.as_str(), raw.model.as_str()), ("here", "responses", "m"));
    assert_eq!(raw_of(&reply), json!([message("Grüß dich 🌍\n")]));
}

#[test]
fn usage_that_is_absent_or_cannot_be_read() {
    for usage in [json!(null), json!({}), json!(7), json!({"input_tokens": "many"})] {
        let end = json!({"type": "response.completed", "response": {"usage": usage}});
        let (_, reply) = testing::reply(&fresh, &stream(&[delta("output_text", 0, "x"), end]));
        assert_eq!((reply.text.as_str(), reply.usage), ("x", None));
    }
}

#[test]
fn parallel_calls_with_arguments_whole_in_pieces_empty_and_interleaved() {
    let begun = |id: &str, call_id: &str, name: &str| call(id, call_id, name, "");
    let (events, reply) = reply(&[
        added(0, begun("fc_1", "call_1", "get_weather")),
        delta("function_call_arguments", 0, "{\"city\": \"K"),
        added(1, begun("fc_2", "call_2", "get_time")),
        delta("function_call_arguments", 1, "{\"zone\":"),
        delta("function_call_arguments", 0, "öln\"}"),
        delta("function_call_arguments", 1, " \"CET\"}"),
        done(1, call("fc_2", "call_2", "get_time", "{\"zone\": \"CET\"}")),
        done(0, call("fc_1", "call_1", "get_weather", "{\"city\": \"Köln\"}")),
        added(2, begun("fc_3", "call_3", "ping")),
        done(2, begun("fc_3", "call_3", "ping")),
        done(3, call("fc_4", "call_4", "whole", "{\"x\":  1}")),
    ]);
    assert_eq!(events, []);
    let expected = [
        ("call_1", "get_weather", "{\"city\": \"Köln\"}"),
        ("call_2", "get_time", "{\"zone\": \"CET\"}"),
        ("call_3", "ping", "{}"),
        ("call_4", "whole", "{\"x\":  1}"),
    ];
    assert_eq!(calls(&reply), expected);
    assert_eq!(reply.finish, ReplyFinish::ToolCalls);
    let raw = raw_of(&reply);
    assert_eq!(raw[0], call("fc_1", "call_1", "get_weather", "{\"city\": \"Köln\"}"));
    let ours = json!({"type": "function_call", "call_id": "call_3", "name": "ping", "arguments": "{}"});
    assert_eq!(raw[2], ours, "no arguments are no JSON");
}

#[test]
fn a_call_that_was_cut() {
    let incomplete = ended("incomplete", json!({"incomplete_details": {"reason": "max_output_tokens"}}));
    let stream = stream(&[
        created(),
        done(0, thought(json!("gAAA"))),
        added(1, call("fc_1", "call_1", "f", "")),
        delta("function_call_arguments", 1, "{\"x\": "),
        incomplete,
    ]);
    let (_, reply) = testing::reply(&fresh, &stream);
    assert_eq!((calls(&reply), reply.finish), (vec![("call_1", "f", "{\"x\": ")], ReplyFinish::Length));
    let ours = json!({"type": "function_call", "call_id": "call_1", "name": "f", "arguments": "{\"_raw\":\"{\\\"x\\\": \"}"});
    assert_eq!(raw_of(&reply), json!([thought(json!("gAAA")), ours]));
}

#[test]
fn missing_and_duplicate_ids_are_replaced() {
    let (_, reply) = reply(&[
        done(0, call("fc_1", "", "f", "{}")),
        done(1, call("fc_2", "a", "f", "{}")),
        done(2, call("fc_3", "a", "f", "{}")),
    ]);
    assert_eq!(calls(&reply).iter().map(|call| call.0).collect::<Vec<_>>(), ["call_0", "a", "call_1"]);
    let raw = raw_of(&reply);
    let ids: Vec<&Value> = raw.as_array().unwrap().iter().map(|item| &item["call_id"]).collect();
    assert_eq!(ids, [&json!("call_0"), &json!("a"), &json!("call_1")]);
}

// N-171
#[test]
fn reasoning_is_told_and_goes_back_encrypted() {
    let item = json!({"id": "rs_1", "type": "reasoning", "encrypted_content": "gAAA\u{fc}==", "new_field": {"b": 1, "a": 2},
        "summary": [{"type": "summary_text", "text": "One"}]});
    let (events, reply) = reply(&[
        added(0, thought(json!("older"))),
        json!({"type": "response.reasoning_summary_part.added", "output_index": 0, "summary_index": 0}),
        delta("reasoning_summary_text", 0, "One"),
        json!({"type": "response.reasoning_summary_part.added", "output_index": 0, "summary_index": 1}),
        delta("reasoning_summary_text", 0, "Two"),
        delta("reasoning_text", 0, "."),
        done(0, item.clone()),
        delta("output_text", 1, "Hi."),
        done(1, message("Hi.")),
    ]);
    assert_eq!(events, [reasoning("One"), reasoning("\n\n"), reasoning("Two"), reasoning("."), text("Hi.")]);
    let raw = reply.raw.unwrap();
    assert!(raw.json.0.get().starts_with(&format!("[{item},")), "as it came: {}", raw.json.0.get());
}

#[test]
fn unencrypted_reasoning_is_not_returned() {
    let answer = done(1, message("x"));
    for (item, expected) in [
        (thought(json!("gAAA")), vec!["reasoning", "message"]),
        (thought(json!(null)), vec!["message"]),
        (
            json!({"type": "reasoning", "content": [{"type": "reasoning_text", "text": "hm"}]}),
            vec!["reasoning", "message"],
        ),
    ] {
        assert_eq!(kinds(&reply(&[done(0, item), answer.clone()]).1), expected);
    }
    // OpenAI refuses reasoning at the end of the output.
    let (events, alone) = reply(&[done(0, thought(json!("gAAA")))]);
    assert_eq!((events, alone.raw), (vec![], None));
}

// N-171
#[test]
fn unknown_phases_and_items_are_returned() {
    let mut comment = message("I'll look.");
    comment["phase"] = json!("commentary");
    let search =
        json!({"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"query": "x"}});
    let (events, reply) = reply(&[
        delta("output_text", 0, "I'll look."),
        done(0, comment.clone()),
        added(1, json!({"type": "web_search_call", "id": "ws_1", "status": "in_progress"})),
        json!({"type": "response.web_search_call.searching", "output_index": 1}),
        json!({"type": "response.mystery.delta", "output_index": 1, "delta": {"x": [1]}}),
        done(1, search.clone()),
        delta("output_text", 2, "Found"),
        delta("output_text", 2, "."),
        done(2, message("Found.")),
    ]);
    assert_eq!(
        events,
        [text("I'll look."), text("\n\n"), text("Found"), text(".")],
        "two messages, two paragraphs"
    );
    assert_eq!(reply.text, "I'll look.\n\nFound.");
    assert_eq!(raw_of(&reply), json!([comment, search, message("Found.")]));
    testing::goes_back(&OpenAiResponses::new("https://x.test", None), &reply);
}

#[test]
fn a_refusal_is_text_and_content_filter() {
    let refusal = json!({"type": "message", "content": [{"type": "refusal", "refusal": "I'm sorry."}]});
    let (events, streamed) =
        reply(&[delta("refusal", 0, "I'm sorry"), delta("refusal", 0, "."), done(0, refusal.clone())]);
    assert_eq!(events, [text("I'm sorry"), text(".")]);
    assert_eq!((streamed.text.as_str(), streamed.finish), ("I'm sorry.", ReplyFinish::ContentFilter));
    let (events, whole) = reply(&[done(0, refusal)]);
    assert_eq!((events, whole.finish), (vec![text("I'm sorry.")], ReplyFinish::ContentFilter));
}

#[test]
fn incomplete_replies() {
    let of = |details: Value| {
        let end = ended("incomplete", json!({"incomplete_details": details}));
        let (_, reply) = testing::reply(&fresh, &stream(&[delta("output_text", 0, "x"), end]));
        assert_eq!(reply.raw, None, "a message that was cut goes back as text");
        reply.finish
    };
    assert_eq!(of(json!({"reason": "max_output_tokens"})), ReplyFinish::Length);
    assert_eq!(of(json!({"reason": "content_filter"})), ReplyFinish::ContentFilter);
    assert_eq!(of(json!({"reason": "some_new_reason"})), ReplyFinish::Length);
    assert_eq!(of(json!(null)), ReplyFinish::Length);
}

#[test]
fn servers_that_tell_all_at_once() {
    let items = [
        json!({"type": "reasoning", "summary": [{"text": "One"}, {"text": "Two"}], "encrypted_content": "g"}),
        message("Hi."),
        call("fc_1", "call_1", "f", "{}"),
    ];
    let expected = [reasoning("One\n\nTwo"), text("Hi.")];
    let dones: Vec<Value> = (0..).zip(&items).map(|(index, item)| done(index, item.clone())).collect();
    let nameless = dones.iter().cloned().map(|mut event| {
        event.as_object_mut().unwrap().remove("output_index");
        event
    });
    let last = ended("completed", json!({"output": items}));
    for stream in [whole(&dones), whole(&nameless.collect::<Vec<_>>()), stream(&[last])] {
        let (events, reply) = testing::reply(&fresh, &stream);
        assert_eq!((&events[..], calls(&reply)), (&expected[..], vec![("call_1", "f", "{}")]));
        assert_eq!(kinds(&reply), ["reasoning", "message", "function_call"]);
    }
}

#[test]
fn items_without_indices_are_found_by_id() {
    let strip = |mut event: Value, id: &str| {
        event.as_object_mut().unwrap().remove("output_index");
        if event.get("item").is_none() {
            event["item_id"] = json!(id);
        }
        event
    };
    let (_, reply) = reply(&[
        strip(added(0, call("fc_1", "call_1", "f", "")), ""),
        strip(added(0, call("fc_2", "call_2", "g", "")), ""),
        strip(delta("function_call_arguments", 0, "{\"a\":1}"), "fc_1"),
        strip(delta("function_call_arguments", 0, "{\"b\":2}"), "fc_2"),
        strip(done(0, call("fc_1", "call_1", "f", "{\"a\":1}")), ""),
    ]);
    assert_eq!(calls(&reply), [("call_1", "f", "{\"a\":1}"), ("call_2", "g", "{\"b\":2}")]);
}

#[test]
fn a_stream_is_complete_with_its_terminator_only() {
    let all = whole(&[delta("output_text", 0, "x"), done(0, message("x"))]);
    testing::cut_and_split(&fresh, &all, Some(&testing::reply(&fresh, &all).1));
    let open = stream(&[created(), delta("output_text", 0, "x"), done(0, message("x"))]);
    let done = [&open[..], b"data: [DONE]\n\n"].concat();
    for cut in [&b""[..], b"<html>no stream</html>", br#"{"object":"response","output":[]}"#, &open, &done] {
        assert_eq!(failure(cut).1, ModelErrorKind::Protocol);
    }
    let (events, reply) =
        testing::reply(&fresh, &[&all[..], b"data: [DONE]\n\ndata: nonsense after the end\n\n"].concat());
    assert_eq!((events, reply.text.as_str()), (vec![text("x")], "x"));
}

#[test]
fn errors_in_the_stream_keep_what_came_before() {
    let chunk = delta("output_text", 0, "x");
    let failed =
        |error: Value| json!({"type": "response.failed", "response": {"status": "failed", "error": error}});
    let table = [
        (
            json!({"type": "error", "code": "server_error", "message": "SECRET", "param": null}),
            ModelErrorKind::Overloaded,
        ),
        (
            json!({"type": "error", "error": {"type": "insufficient_quota", "message": "SECRET"}}),
            ModelErrorKind::Quota,
        ),
        (failed(json!({"code": "rate_limit_exceeded", "message": "SECRET"})), ModelErrorKind::RateLimited),
        (failed(json!({"code": "context_length_exceeded"})), ModelErrorKind::ContextTooLong),
        (failed(json!(null)), ModelErrorKind::Overloaded),
        (ended("completed", json!({"error": {"code": 400}})), ModelErrorKind::BadRequest),
        (json!({"type": "response.cancelled"}), ModelErrorKind::Overloaded),
    ];
    for (event, kind) in table {
        assert_eq!(
            failure(&stream(&[created(), chunk.clone(), event.clone()])),
            (vec![text("x")], kind),
            "{event}"
        );
    }
    assert_eq!(failure(b"event: error\ndata: {\"code\": \"invalid_api_key\"}\n\n").1, ModelErrorKind::Auth);
}

#[test]
fn comments_and_events_without_a_name_or_without_a_type() {
    let all = String::from_utf8(whole(&[delta("output_text", 0, "x"), done(0, message("x"))])).unwrap();
    let nameless = format!(": OPENROUTER PROCESSING\n\ndata:\n\n{}", all.replace("event: ", ": "));
    assert_eq!(testing::reply(&fresh, nameless.as_bytes()).1.text, "x");
    let typeless = all.replace("\"type\":\"response.output_text.delta\"", "\"x\":0");
    assert_eq!(testing::reply(&fresh, typeless.as_bytes()).1.text, "x");
}

#[test]
fn events_that_cannot_be_read_are_errors() {
    let item = "{\"type\": \"response.output_item.done\", \"item\": 7}";
    // Issue 44: a member of another type counts as absent.
    for data in ["{\"output_index\": \"x\"}", item] {
        let stream =
            [format!("data: {data}\n\n").as_bytes(), &whole(&[delta("output_text", 0, "x")])].concat();
        assert_eq!(testing::reply(&fresh, &stream).1.text, "x", "{data}");
    }
    for data in ["{", "{} {}"] {
        let stream = [format!("data: {data}\n\n").as_bytes(), &whole(&[])].concat();
        assert_eq!(failure(&stream).1, ModelErrorKind::Protocol, "{data}");
    }
}

#[test]
fn the_size_of_a_reply_is_bounded() {
    let big = "x".repeat(MAX_REPLY_BYTES / 4);
    for kind in ["output_text", "refusal", "reasoning_text", "function_call_arguments"] {
        let of = |count: usize| {
            let first = [added(0, call("fc_1", "a", "f", ""))];
            whole(&[&first[..], &vec![delta(kind, 0, &big); count]].concat())
        };
        assert_eq!(testing::decode(&fresh, [&of(3)[..]]).1, Ok(()), "{kind}");
        assert_eq!(
            testing::decode(&fresh, [&of(5)[..]]).1.unwrap_err().kind,
            ModelErrorKind::ReplyTooLarge,
            "{kind}"
        );
    }
    let mystery =
        |count: u64| whole(&(0..count).map(|index| done(index, json!({"x": big}))).collect::<Vec<_>>());
    assert_eq!(testing::decode(&fresh, [&mystery(3)[..]]).1, Ok(()));
    assert!(testing::decode(&fresh, [&mystery(5)[..]]).1.is_err());
    let many =
        |count: u64| whole(&(0..count).map(|index| done(index, call("", "", "f", "{}"))).collect::<Vec<_>>());
    assert_eq!(testing::decode(&fresh, [&many(128)[..]]).1, Ok(()));
    let error = testing::decode(&fresh, [&many(129)[..]]).1.unwrap_err();
    assert_eq!(error.kind, ModelErrorKind::ReplyTooLarge);
    let items =
        |count: u64| whole(&(0..count).map(|index| added(index, json!({"type": "x"}))).collect::<Vec<_>>());
    assert_eq!(testing::decode(&fresh, [&items(512)[..]]).1, Ok(()));
    assert!(testing::decode(&fresh, [&items(513)[..]]).1.is_err());
}
