//! Streams written by the API's documentation, each decoded in many splits.

use serde_json::{Value, json};

use super::*;
use crate::codec::{MAX_CALLS, MAX_REPLY_BYTES};
use crate::testing::{self, calls, raw_of, reasoning, text as told};
use wire::model::{ModelErrorKind, ModelEvent, ModelReply, ReplyFinish, Usage};

pub fn fresh() -> Box<dyn Decoder> {
    Gemini::new("https://x.test", None).decoder(&testing::request(vec![]))
}

pub fn stream(events: &[Value]) -> Vec<u8> {
    events.iter().map(|event| format!("data: {event}\n\n")).collect::<String>().into_bytes()
}

pub fn text(text: &str) -> Value {
    json!({"text": text})
}

pub fn thought(text: &str) -> Value {
    json!({"text": text, "thought": true})
}

pub fn call(name: &str, args: Value) -> Value {
    json!({"functionCall": {"name": name, "args": args}})
}

/// The last event, with these parts.
pub fn event(parts: Value, reason: &str) -> Value {
    json!({
        "candidates": [{"content": {"parts": parts, "role": "model"}, "finishReason": reason, "index": 0}],
        "usageMetadata": {"promptTokenCount": 10, "candidatesTokenCount": 2, "totalTokenCount": 12},
        "modelVersion": "m", "responseId": "r",
    })
}

/// An event with one part.
pub fn part(part: Value) -> Value {
    json!({"candidates": [{"content": {"parts": [part], "role": "model"}, "index": 0}]})
}

fn reply(events: &[Value]) -> (Vec<ModelEvent>, ModelReply) {
    testing::reply(&fresh, &stream(events))
}

fn failure(events: &[Value]) -> (Vec<ModelEvent>, ModelErrorKind) {
    let (events, error) = testing::failure(&fresh, &stream(events));
    (events, error.kind)
}

#[test]
fn text_with_usage_after_the_end() {
    let late = json!({"usageMetadata": {
        "promptTokenCount": 100, "cachedContentTokenCount": 60, "toolUsePromptTokenCount": 7,
        "candidatesTokenCount": 5, "thoughtsTokenCount": 20, "trafficType": "ON_DEMAND",
    }});
    let events = [part(text("Grüß")), part(text(" Gott")), event(json!([text("")]), "STOP"), late];
    let (events, reply) = reply(&events);
    assert_eq!(events, [told("Grüß"), told(" Gott")]);
    let usage = Usage { input_tokens: 107, cached_tokens: 60, output_tokens: 25, ..Usage::default() };
    let expected = ModelReply {
        text: "Grüß Gott".into(),
        tool_calls: vec![],
        finish: ReplyFinish::Stop,
        usage: Some(usage),
        raw: None,
    };
    assert_eq!(reply, expected);
}

#[test]
fn thoughts_are_told_and_signatures_return() {
    let signed = json!({"text": "Three", "thoughtSignature": "c2ln"});
    let parts = [thought("Hm, "), thought("three."), signed, text(" sta"), text("rs.")];
    let events: Vec<Value> = parts.into_iter().map(part).chain([event(json!([]), "STOP")]).collect();
    let (events, reply) = reply(&events);
    assert_eq!(events, [reasoning("Hm, "), reasoning("three."), told("Three"), told(" sta"), told("rs.")]);
    assert_eq!(reply.text, "Three stars.");
    // The summary of thoughts stays here, the text without a signature is one part.
    let expected = json!([{"text": "Three", "thoughtSignature": "c2ln"}, {"text": " stars."}]);
    assert_eq!(raw_of(&reply), expected);
}

#[test]
fn a_signature_of_its_own_part_returns_there() {
    let alone = json!({"text": "", "thoughtSignature": "c2ln"});
    let (_, reply) = reply(&[part(text("Yes.")), event(json!([alone]), "STOP")]);
    assert_eq!(raw_of(&reply), json!([{"text": "Yes."}, {"text": "", "thoughtSignature": "c2ln"}]));
}

#[test]
fn plain_calls_need_no_raw_message() {
    let parts = json!([text("I look."), call("f", json!({"x": 1})), call("g", json!({}))]);
    let (_, reply) = reply(&[event(parts, "STOP")]);
    assert_eq!(reply.finish, ReplyFinish::ToolCalls);
    assert_eq!(calls(&reply), [("call_0", "f", r#"{"x":1}"#), ("call_1", "g", "{}")]);
    assert_eq!(reply.raw, None);
}

#[test]
fn calls_return_with_their_ids_and_signatures() {
    let first = json!({
        "functionCall": {"id": "fc-1", "name": "f", "args": {"x": 1}, "later": [1]},
        "thoughtSignature": "c2ln",
    });
    let second = json!({"functionCall": {"id": "fc-1", "name": "get it"}});
    let (_, reply) = reply(&[event(json!([first, second]), "STOP")]);
    // Two calls have two ids. A name that the API would refuse becomes another.
    assert_eq!(calls(&reply), [("fc-1", "f", r#"{"x":1}"#), ("call_0", "get it", "{}")]);
    let expected = json!([
        {
            "functionCall": {"id": "fc-1", "name": "f", "args": {"x": 1}, "later": [1]},
            "thoughtSignature": "c2ln",
        },
        {"functionCall": {"id": "call_0", "name": "get_it", "args": {}}},
    ]);
    assert_eq!(raw_of(&reply), expected);
}

#[test]
fn arguments_in_pieces() {
    let begin = json!({"functionCall": {"name": "f", "willContinue": true}, "thoughtSignature": "c2ln"});
    let piece = |path: &str, text: &str| {
        let piece = json!({"jsonPath": path, "stringValue": text, "willContinue": true});
        part(json!({"functionCall": {"partialArgs": [piece], "willContinue": true}}))
    };
    let end = json!({"functionCall": {}});
    let events = [
        part(begin.clone()),
        piece("$.city", "San "),
        piece("$.city", "Francisco"),
        piece("$.list[0]", "a"),
        part(end.clone()),
        part(json!({"functionCall": {"name": "g", "willContinue": true}})),
        event(json!([end]), "STOP"),
    ];
    let (_, reply) = reply(&events);
    let both = [("call_0", "f", r#"{"city":"San Francisco","list":["a"]}"#), ("call_1", "g", "{}")];
    assert_eq!(calls(&reply), both);
    assert_eq!(raw_of(&reply)[0]["thoughtSignature"], "c2ln");

    // A call that a limit cut has no whole arguments, so the loop does not run it.
    let events = [part(begin.clone()), piece("$.city", "San "), event(json!([]), "MAX_TOKENS")];
    let (_, cut) = self::reply(&events);
    assert_eq!(calls(&cut), [("call_0", "f", r#"{"city":"San ""#)]);
    assert_eq!(cut.finish, ReplyFinish::Length);
    let (_, kind) = failure(&[part(begin.clone()), piece("$.city", "San "), event(json!([]), "STOP")]);
    assert_eq!(kind, ModelErrorKind::Protocol);
    let (_, kind) = failure(&[part(begin), piece("nowhere", "x"), event(json!([end]), "STOP")]);
    assert_eq!(kind, ModelErrorKind::Protocol);
}

#[test]
fn unknown_parts_return_and_tell_nothing() {
    let code = json!({"executableCode": {"language": "PYTHON", "code": "1+1"}});
    let (events, reply) = reply(&[part(code.clone()), event(json!([text("2")]), "STOP")]);
    assert_eq!(events, [told("2")]);
    assert_eq!(raw_of(&reply), json!([code, {"text": "2"}]));
    testing::goes_back(&Gemini::new("https://x.test", None), &reply);
}

#[test]
fn another_reply_does_not_count() {
    let other =
        json!({"candidates": [{"content": {"parts": [text("no")]}, "index": 1, "finishReason": "SAFETY"}]});
    let (events, reply) = reply(&[event(json!([text("yes")]), "STOP"), other]);
    assert_eq!((events, reply.finish), (vec![told("yes")], ReplyFinish::Stop));
}

#[test]
fn every_reason_to_stop() {
    let table = [
        ("STOP", ReplyFinish::Stop),
        ("OTHER", ReplyFinish::Stop),
        ("MAX_TOKENS", ReplyFinish::Length),
        ("SAFETY", ReplyFinish::ContentFilter),
        ("RECITATION", ReplyFinish::ContentFilter),
        ("LANGUAGE", ReplyFinish::ContentFilter),
        ("BLOCKLIST", ReplyFinish::ContentFilter),
        ("PROHIBITED_CONTENT", ReplyFinish::ContentFilter),
        ("SPII", ReplyFinish::ContentFilter),
    ];
    for (reason, finish) in table {
        assert_eq!(reply(&[event(json!([text("a")]), reason)]).1.finish, finish, "{reason}");
    }
    let unread = [
        "MALFORMED_FUNCTION_CALL",
        "UNEXPECTED_TOOL_CALL",
        "MALFORMED_RESPONSE",
        "MISSING_THOUGHT_SIGNATURE",
    ];
    for reason in unread {
        let (events, kind) = failure(&[event(json!([text("a")]), reason)]);
        assert_eq!((events, kind), (vec![told("a")], ModelErrorKind::Protocol), "{reason}");
        // Another reason, with the usage, mends nothing.
        let (_, kind) = failure(&[event(json!([text("a")]), reason), event(json!([]), "STOP")]);
        assert_eq!(kind, ModelErrorKind::Protocol, "{reason}");
    }
}

#[test]
fn a_blocked_prompt_is_an_empty_reply() {
    let (events, reply) = reply(&[json!({"promptFeedback": {"blockReason": "SAFETY", "safetyRatings": []}})]);
    assert_eq!(events, []);
    assert_eq!((reply.text.as_str(), reply.finish, reply.usage), ("", ReplyFinish::ContentFilter, None));
}

#[test]
fn a_stream_without_its_reason_is_an_error() {
    let (events, kind) = failure(&[part(text("a"))]);
    assert_eq!((events, kind), (vec![told("a")], ModelErrorKind::Protocol));
    assert_eq!(failure(&[]).1, ModelErrorKind::Protocol);
    assert_eq!(failure(&[json!({"candidates": 3})]).1, ModelErrorKind::Protocol);
}

#[test]
fn errors_in_the_stream() {
    let table = [
        (json!({"code": 503, "message": "SECRET", "status": "UNAVAILABLE"}), ModelErrorKind::Overloaded),
        (
            json!({"code": 429, "message": "SECRET", "status": "RESOURCE_EXHAUSTED"}),
            ModelErrorKind::RateLimited,
        ),
        (json!({"code": 400, "message": "SECRET", "status": "INVALID_ARGUMENT"}), ModelErrorKind::BadRequest),
        (json!({"status": "PERMISSION_DENIED"}), ModelErrorKind::Auth),
    ];
    for (error, kind) in table {
        let (events, found) = failure(&[part(text("a")), json!({"error": error})]);
        assert_eq!((events, found), (vec![told("a")], kind), "{error}");
    }
}

#[test]
fn refusals_in_both_forms() {
    let codec = Gemini::new("https://x.test", None);
    let error = json!({"code": 400, "message": "The input token count exceeds the maximum number of tokens allowed. SECRET", "status": "INVALID_ARGUMENT"});
    for body in [json!({"error": error}), json!([{"error": error}])] {
        let refused = codec.refusal(400, body.to_string().as_bytes());
        assert_eq!(refused.kind, ModelErrorKind::ContextTooLong);
        assert!(!refused.message.contains("SECRET"));
    }
    assert_eq!(codec.refusal(403, b"").kind, ModelErrorKind::Auth);
}

#[test]
fn a_reply_is_bounded() {
    let most = MAX_REPLY_BYTES / 2;
    let half = part(text(&"x".repeat(most)));
    let decode = |events: &[Value]| testing::decode(&fresh, [&stream(events)[..]]);
    let (events, end) = decode(&[half.clone(), half.clone(), event(json!([]), "STOP")]);
    assert_eq!((events.len(), end), (3, Ok(())));
    let (_, end) = decode(&[half.clone(), half, event(json!([text("x")]), "STOP")]);
    assert_eq!(end.unwrap_err().kind, ModelErrorKind::ReplyTooLarge);

    let many = |count: usize| event(vec![call("f", json!({})); count].into(), "STOP");
    assert!(decode(&[many(MAX_CALLS)]).1.is_ok());
    assert_eq!(decode(&[many(MAX_CALLS + 1)]).1.unwrap_err().kind, ModelErrorKind::ReplyTooLarge);
    let signed = json!({"text": "a", "thoughtSignature": "c2ln"});
    let many = |count: usize| event(vec![signed.clone(); count].into(), "STOP");
    assert!(decode(&[many(4 * MAX_CALLS)]).1.is_ok());
    assert_eq!(decode(&[many(4 * MAX_CALLS + 1)]).1.unwrap_err().kind, ModelErrorKind::Protocol);
}
