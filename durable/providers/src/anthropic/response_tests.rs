//! Streams written by the API's documentation, each decoded in many splits.

use std::rc::Rc;

use serde_json::{Value, json};

use super::*;
use crate::MAX_REPLY_BYTES;
use crate::testing::{self, calls, raw_of, reasoning, text};
use wire::model::{ModelErrorKind, ModelEvent, ModelReply, ReplyFinish, Usage};

pub fn fresh() -> Box<dyn Decoder> {
    Anthropic::new("https://x.test", None).decoder(&testing::request(vec![]))
}

pub fn stream(events: &[Value]) -> Vec<u8> {
    let event = |event: &Value| format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap());
    events.iter().map(event).collect::<String>().into_bytes()
}

pub fn start() -> Value {
    json!({"type": "message_start", "message": {"id": "msg_1", "type": "message", "role": "assistant", "content": [],
        "model": "m", "stop_reason": null, "stop_sequence": null,
        "usage": {"input_tokens": 7, "cache_creation_input_tokens": 20, "cache_read_input_tokens": 100, "output_tokens": 1}}})
}

pub fn block(index: u64, block: Value) -> Value {
    json!({"type": "content_block_start", "index": index, "content_block": block})
}

pub fn delta(index: u64, kind: &str, member: &str, piece: &str) -> Value {
    json!({"type": "content_block_delta", "index": index, "delta": {"type": kind, member: piece}})
}

pub fn text_delta(index: u64, piece: &str) -> Value {
    delta(index, "text_delta", "text", piece)
}

pub fn input(index: u64, piece: &str) -> Value {
    delta(index, "input_json_delta", "partial_json", piece)
}

pub fn close(index: u64) -> Value {
    json!({"type": "content_block_stop", "index": index})
}

pub fn stop(reason: &str) -> [Value; 2] {
    let delta = json!({"stop_reason": reason, "stop_sequence": null});
    let usage = json!({"output_tokens": 15});
    [json!({"type": "message_delta", "delta": delta, "usage": usage}), json!({"type": "message_stop"})]
}

pub fn whole(events: &[Value], reason: &str) -> Vec<u8> {
    stream(&[&[start()], events, &stop(reason)].concat())
}

pub fn empty_text(index: u64) -> Value {
    block(index, json!({"type": "text", "text": ""}))
}

pub fn tool_use(index: u64, id: &str, name: &str) -> Value {
    block(index, json!({"type": "tool_use", "id": id, "name": name, "input": {}}))
}

pub fn reply(events: &[Value], reason: &str) -> (Vec<ModelEvent>, ModelReply) {
    testing::reply(&fresh, &whole(events, reason))
}

pub fn failure(stream: &[u8]) -> (Vec<ModelEvent>, ModelErrorKind) {
    let (events, error) = testing::failure(&fresh, stream);
    (events, error.kind)
}

#[test]
fn text_with_pings_and_usage() {
    let (events, reply) = reply(
        &[
            empty_text(0),
            json!({"type": "ping"}),
            text_delta(0, "Grüß"),
            text_delta(0, ""),
            text_delta(0, " dich 🌍\n"),
            close(0),
        ],
        "end_turn",
    );
    assert_eq!(events, [text("Grüß"), text(" dich 🌍\n")]);
    // Cache reads and cache writes count as input.
    let usage = Some(Usage {
        input_tokens: 127,
        cached_tokens: 100,
        cache_write_tokens: 20,
        output_tokens: 15,
        ..Usage::default()
    });
    let text = "Grüß dich 🌍\n".to_string();
    assert_eq!(reply, ModelReply { text, tool_calls: vec![], finish: ReplyFinish::Stop, usage, raw: None });
}

#[test]
fn the_last_usage_counts() {
    let of = |first: Value, last: Value| {
        let mut events =
            [vec![start(), empty_text(0), text_delta(0, "x")], stop("end_turn").to_vec()].concat();
        events[0]["message"]["usage"] = first;
        events[3]["usage"] = last;
        testing::reply(&fresh, &stream(&events)).1.usage
    };
    let usage = |input_tokens, cached_tokens, output_tokens| {
        Some(Usage { input_tokens, cached_tokens, output_tokens, ..Usage::default() })
    };
    assert_eq!(
        of(json!({"input_tokens": 5, "output_tokens": 1}), json!({"output_tokens": 9})),
        usage(5, 0, 9)
    );
    let later = json!({"input_tokens": 50, "cache_read_input_tokens": 3, "cache_creation_input_tokens": null, "output_tokens": 2});
    assert_eq!(of(json!({"input_tokens": 5}), later), usage(53, 3, 2));
    for unreadable in [json!(null), json!({}), json!(7), json!({"input_tokens": "many"})] {
        assert_eq!(of(unreadable, json!({"output_tokens": 9})), None);
    }
}

#[test]
fn stop_reasons() {
    let table = [
        ("end_turn", ReplyFinish::Stop),
        ("stop_sequence", ReplyFinish::Stop),
        ("max_tokens", ReplyFinish::Length),
        ("model_context_window_exceeded", ReplyFinish::Length),
        ("refusal", ReplyFinish::ContentFilter),
        ("pause_turn", ReplyFinish::Pause),
        ("tool_use", ReplyFinish::Stop),
        ("some_new_reason", ReplyFinish::Stop),
    ];
    for (reason, finish) in table {
        assert_eq!(
            reply(&[empty_text(0), text_delta(0, "x")], reason).1.finish,
            finish,
            "{reason} without calls"
        );
    }
    for reason in ["tool_use", "end_turn", "pause_turn"] {
        assert_eq!(
            reply(&[tool_use(0, "a", "f")], reason).1.finish,
            ReplyFinish::ToolCalls,
            "{reason} with one"
        );
    }
    let unsaid = [start(), empty_text(0), json!({"type": "message_stop"})];
    assert_eq!(testing::reply(&fresh, &stream(&unsaid)).1.finish, ReplyFinish::Stop);
}

#[test]
fn parallel_calls_with_arguments_whole_in_pieces_empty_and_interleaved() {
    let (events, reply) = reply(
        &[
            empty_text(0),
            text_delta(0, "Let me see."),
            close(0),
            tool_use(1, "toolu_1", "get_weather"),
            input(1, ""),
            input(1, "{\"city\": \"K"),
            tool_use(2, "toolu_2", "get_time"),
            input(2, "{\"zone\":"),
            input(1, "öln\"}"),
            input(2, " \"CET\"}"),
            close(1),
            close(2),
            tool_use(3, "toolu_3", "ping"),
            input(3, ""),
            close(3),
            // A gateway that does not stream.
            block(4, json!({"type": "tool_use", "id": "toolu_4", "name": "whole", "input": {"x":  1}})),
            close(4),
        ],
        "tool_use",
    );
    assert_eq!(events, [text("Let me see.")]);
    let expected = [
        ("toolu_1", "get_weather", "{\"city\": \"Köln\"}"),
        ("toolu_2", "get_time", "{\"zone\": \"CET\"}"),
        ("toolu_3", "ping", "{}"),
        ("toolu_4", "whole", "{\"x\":1}"),
    ];
    assert_eq!(calls(&reply), expected);
    assert_eq!((reply.finish, reply.raw), (ReplyFinish::ToolCalls, None), "text and calls say it all");
}

#[test]
fn a_call_that_was_cut_keeps_its_arguments_and_goes_back_as_an_object() {
    let thinking = block(0, json!({"type": "redacted_thinking", "data": "abc"}));
    let (_, reply) = reply(&[thinking, tool_use(1, "a", "get weather!"), input(1, "{\"x\": ")], "max_tokens");
    assert_eq!(calls(&reply), [("a", "get weather!", "{\"x\": ")]);
    assert_eq!(reply.finish, ReplyFinish::Length);
    let sent = json!({"type": "tool_use", "id": "a", "name": "get_weather_", "input": {"_raw": "{\"x\": "}});
    assert_eq!(raw_of(&reply)[1], sent);
}

#[test]
fn missing_duplicate_and_invalid_ids_are_replaced() {
    let events = [
        tool_use(0, "", "f"),
        tool_use(1, "a", "f"),
        tool_use(2, "a", "f"),
        tool_use(3, "functions.f:0", "f"),
    ];
    let mut events = events.to_vec();
    events.push(block(4, json!({"type": "redacted_thinking", "data": "abc"})));
    let (_, reply) = reply(&events, "tool_use");
    assert_eq!(
        calls(&reply).iter().map(|call| call.0).collect::<Vec<_>>(),
        ["call_0", "a", "call_1", "functions.f:0"]
    );
    let raw = raw_of(&reply);
    assert_eq!((&raw[0]["id"], &raw[2]["id"]), (&json!("call_0"), &json!("call_1")));
    // A call and its result return with the same valid id.
    let request = testing::answered(testing::request(vec![testing::user("x")]), reply);
    let mut request = request;
    request.messages.push(Rc::new(testing::tool("functions.f:0", "ok", false)));
    let sent = testing::body(&Anthropic::new("https://x.test", None), &request);
    let result = &sent["messages"][2]["content"][0]["tool_use_id"];
    assert_eq!(result, &sent["messages"][1]["content"][3]["id"]);
    assert!(result.as_str().unwrap().starts_with("call_"), "{result}");
}

// N-171
#[test]
fn unknown_blocks_and_deltas_are_returned() {
    let (events, reply) = reply(
        &[
            empty_text(0),
            text_delta(0, "Searching."),
            json!({"type": "content_block_delta", "index": 0, "delta": {"type": "citations_delta", "citation": {"n": 1}}}),
            json!({"type": "content_block_delta", "index": 0, "delta": {"type": "citations_delta", "citation": {"n": 2}}}),
            close(0),
            block(
                1,
                json!({"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}),
            ),
            input(1, "{\"query\":"),
            input(1, " \"x\"}"),
            close(1),
            block(
                2,
                json!({"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": [{"url": "u"}]}),
            ),
            close(2),
            block(3, json!({"type": "compaction", "content": null})),
            delta(3, "compaction_delta", "content", "All "),
            delta(3, "compaction_delta", "content", "so far."),
            json!({"type": "content_block_frobnicated", "index": 3, "delta": {"x": 1}}),
            block(4, json!({"type": "text", "text": "", "mood": "good"})),
            text_delta(4, " Done."),
        ],
        "end_turn",
    );
    assert_eq!(events, [text("Searching."), text(" Done.")]);
    assert_eq!(
        (reply.text.as_str(), reply.tool_calls.len()),
        ("Searching. Done.", 0),
        "its calls are not ours"
    );
    let expected = json!([
        {"type": "text", "text": "Searching.", "citations": [{"n": 1}, {"n": 2}]},
        {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "x"}},
        {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": [{"url": "u"}]},
        {"type": "compaction", "content": "All so far."},
        {"type": "text", "text": " Done.", "mood": "good"},
    ]);
    assert_eq!(raw_of(&reply), expected);
    testing::goes_back(&Anthropic::new("https://x.test", None), &reply);
}

#[test]
fn a_second_beginning_counts_alone_unless_something_was_answered() {
    let first = [
        start(),
        block(0, json!({"type": "thinking", "thinking": "", "signature": ""})),
        delta(0, "thinking_delta", "thinking", "First."),
        tool_use(1, "a", "f"),
        input(1, "{\"x\""),
    ];
    let second = [tool_use(0, "b", "f"), input(0, "{\"y\":1}")];
    let (events, reply) = testing::reply(&fresh, &[stream(&first), whole(&second, "tool_use")].concat());
    assert_eq!(events, [reasoning("First.")]);
    assert_eq!(calls(&reply), [("b", "f", "{\"y\":1}")]);
    assert_eq!(reply.raw, None, "nothing of the first one is left");
    let answered = [start(), empty_text(0), text_delta(0, "I am")];
    let (events, kind) = failure(&[stream(&answered), whole(&second, "tool_use")].concat());
    assert_eq!((events, kind), (vec![text("I am")], ModelErrorKind::Protocol));
}

#[test]
fn a_stream_is_complete_with_its_terminator_only() {
    let all = whole(&[empty_text(0), text_delta(0, "x"), close(0)], "end_turn");
    testing::cut_and_split(&fresh, &all, Some(&testing::reply(&fresh, &all).1));
    let open = stream(&[start(), empty_text(0), text_delta(0, "x"), close(0)]);
    for cut in [
        &b""[..],
        b"<html>no stream</html>",
        br#"{"content":[{"type":"text","text":"not streamed"}]}"#,
        &open,
    ] {
        assert_eq!(failure(cut).1, ModelErrorKind::Protocol);
    }
    let (events, reply) = testing::reply(&fresh, &[&all[..], b"data: nonsense after the end\n\n"].concat());
    assert_eq!((events, reply.text.as_str()), (vec![text("x")], "x"));
}

#[test]
fn errors_in_the_stream_keep_what_came_before() {
    let table = [
        ("overloaded_error", ModelErrorKind::Overloaded),
        ("api_error", ModelErrorKind::Overloaded),
        ("rate_limit_error", ModelErrorKind::RateLimited),
        ("authentication_error", ModelErrorKind::Auth),
        ("permission_error", ModelErrorKind::Auth),
        ("invalid_request_error", ModelErrorKind::BadRequest),
    ];
    for (word, kind) in table {
        let error = json!({"type": "error", "error": {"type": word, "message": "SECRET"}});
        let events = stream(&[start(), empty_text(0), text_delta(0, "x"), error]);
        assert_eq!(failure(&events), (vec![text("x")], kind), "{word}");
    }
    let too_long = json!({"type": "error", "error": {"type": "invalid_request_error", "message": "prompt is too long: 9 tokens"}});
    assert_eq!(failure(&stream(&[too_long])).1, ModelErrorKind::ContextTooLong);
    // Only the event's name has the type.
    assert_eq!(
        failure(b"event: error\ndata: {\"error\": {\"type\": \"overloaded_error\"}}\n\n").1,
        ModelErrorKind::Overloaded
    );
}

#[test]
fn events_without_a_name_or_without_a_type() {
    let all = whole(&[empty_text(0), text_delta(0, "x")], "end_turn");
    let nameless = String::from_utf8(all.clone()).unwrap().replace("event: ", ": ");
    assert_eq!(testing::reply(&fresh, nameless.as_bytes()).1.text, "x");
    let typeless = String::from_utf8(all).unwrap().replace("\"type\":\"content_block_delta\"", "\"x\":0");
    assert_eq!(testing::reply(&fresh, typeless.as_bytes()).1.text, "x");
}

#[test]
fn events_that_cannot_be_read_are_errors() {
    for data in ["{", "{} {}"] {
        let stream =
            [&stream(&[start()])[..], format!("data: {data}\n\n").as_bytes(), &stream(&stop("end_turn"))]
                .concat();
        assert_eq!(failure(&stream).1, ModelErrorKind::Protocol, "{data}");
    }
    // Issue 44: a member of another type counts as absent, and a delta without its words says nothing.
    let odd = json!({"type": "content_block_delta", "delta": 1});
    assert_eq!(reply(&[odd, text_delta(0, "x")], "end_turn").1.text, "x");
    // The arguments of a call that never began are not those of the call before it, and an empty reason is none.
    let lost = [start(), tool_use(1, "a", "f"), input(2, "{\"path\":1}")];
    assert_eq!(failure(&stream(&lost)).1, ModelErrorKind::Protocol);
    let unfinished = json!({"type": "message_delta", "delta": {"stop_reason": ""}});
    assert_eq!(failure(&stream(&[start(), text_delta(0, "x"), unfinished])).1, ModelErrorKind::Protocol);
}

#[test]
fn the_size_of_a_reply_is_bounded() {
    let big = "x".repeat(MAX_REPLY_BYTES / 4);
    let of = |kind: &str, member: &str, count: usize| {
        let first = [block(0, json!({"type": "tool_use", "id": "a", "name": "f", "input": {}}))];
        let piece = delta(0, kind, member, &big);
        whole(&[&first[..], &vec![piece; count]].concat(), "tool_use")
    };
    for (kind, member) in [
        ("text_delta", "text"),
        ("thinking_delta", "thinking"),
        ("signature_delta", "signature"),
        ("input_json_delta", "partial_json"),
        ("mystery_delta", "mystery"),
    ] {
        assert_eq!(testing::decode(&fresh, [&of(kind, member, 3)[..]]).1, Ok(()), "{kind}");
        let error = testing::decode(&fresh, [&of(kind, member, 5)[..]]).1.unwrap_err();
        assert_eq!(error.kind, ModelErrorKind::ReplyTooLarge, "{kind}");
    }
    let many =
        |count: u64| whole(&(0..count).map(|index| tool_use(index, "", "f")).collect::<Vec<_>>(), "tool_use");
    assert_eq!(testing::decode(&fresh, [&many(128)[..]]).1, Ok(()));
    let error = testing::decode(&fresh, [&many(129)[..]]).1.unwrap_err();
    assert_eq!(error.kind, ModelErrorKind::ReplyTooLarge);
    let texts = |count: u64| whole(&(0..count).map(empty_text).collect::<Vec<_>>(), "end_turn");
    assert_eq!(testing::decode(&fresh, [&texts(512)[..]]).1, Ok(()));
    assert!(testing::decode(&fresh, [&texts(513)[..]]).1.is_err());
}
