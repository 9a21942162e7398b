//! Shared by the tests of all codecs: streams in every split, recorded streams, requests.

#![allow(dead_code, reason = "each codec uses a part of it")]

use std::path::PathBuf;
use std::rc::Rc;

use proptest::prelude::*;
use serde_json::Value;
use serde_json::value::RawValue;

use super::{Codec, Decoder};
use wire::model::{
    Message, ModelChoice, ModelError, ModelEvent, ModelReply, ModelRequest, RawValueEq, ReplyFinish,
    ToolCall, ToolDefinition,
};

/// The events, and how the stream ended.
pub type Outcome = (Vec<ModelEvent>, Result<(), ModelError>);

/// Makes a decoder for each reading of a stream.
pub type Fresh<'a> = &'a dyn Fn() -> Box<dyn Decoder>;

pub fn decode<'a>(fresh: Fresh<'_>, pieces: impl IntoIterator<Item = &'a [u8]>) -> Outcome {
    let mut decoder = fresh();
    let mut events = vec![];
    for piece in pieces {
        if let Err(error) = decoder.feed(piece, &mut events) {
            return (events, Err(error));
        }
    }
    let end = decoder.finish(&mut events);
    (events, end)
}

/// Decodes the stream whole, in pieces of many sizes, and with each line end.
pub fn every_way(fresh: Fresh<'_>, stream: &[u8]) -> Outcome {
    let whole = decode(fresh, [stream]);
    // A long stream takes long, so only the random splits test its odd sizes.
    let sizes = if stream.len() > 50_000 { 1..4 } else { 1..40 };
    for size in sizes {
        assert_eq!(decode(fresh, stream.chunks(size)), whole, "in pieces of {size}");
    }
    // JSON escapes line ends, so none stands inside a line.
    let lf = stream.iter().copied().filter(|&b| b != b'\r').collect::<Vec<u8>>();
    for end in [&b"\n"[..], b"\r", b"\r\n"] {
        let stream = lf.split(|&b| b == b'\n').collect::<Vec<_>>().join(end);
        assert_eq!(decode(fresh, [&stream[..]]), whole);
        assert_eq!(decode(fresh, stream.chunks(1)), whole);
    }
    whole
}

/// The reply of a complete stream, and the events before it.
pub fn reply(fresh: Fresh<'_>, stream: &[u8]) -> (Vec<ModelEvent>, ModelReply) {
    let (mut events, end) = every_way(fresh, stream);
    assert_eq!(end, Ok(()));
    match events.pop() {
        Some(ModelEvent::Finished(reply)) => (events, *reply),
        other => panic!("the last event is {other:?}"),
    }
}

/// The events of a stream that ends in an error. The error must not repeat the provider's text.
pub fn failure(fresh: Fresh<'_>, stream: &[u8]) -> (Vec<ModelEvent>, ModelError) {
    let (events, end) = every_way(fresh, stream);
    assert!(!events.iter().any(|event| matches!(event, ModelEvent::Finished(_))));
    let error = end.unwrap_err();
    assert!(!error.message.contains("SECRET"), "{error:?}");
    (events, error)
}

pub fn text(piece: &str) -> ModelEvent {
    ModelEvent::Text(piece.into())
}

pub fn reasoning(piece: &str) -> ModelEvent {
    ModelEvent::Reasoning(piece.into())
}

/// All text, and all reasoning.
pub fn text_and_reasoning(events: &[ModelEvent]) -> (String, String) {
    let mut told = (String::new(), String::new());
    for event in events {
        match event {
            ModelEvent::Text(piece) => told.0.push_str(piece),
            ModelEvent::Reasoning(piece) => told.1.push_str(piece),
            ModelEvent::Finished(_) => {}
        }
    }
    told
}

/// A reply's calls, as id, name and arguments.
pub fn calls(reply: &ModelReply) -> Vec<(&str, &str, &str)> {
    reply.tool_calls.iter().map(|call| (&*call.call_id, &*call.name, &*call.arguments)).collect()
}

/// A reply's raw message.
pub fn raw_of(reply: &ModelReply) -> Value {
    serde_json::from_str(reply.raw.as_ref().expect("a raw message").json.0.get()).unwrap()
}

/// `stream` gives the same events in random pieces as in one piece.
pub fn split_anywhere(
    fresh: Fresh<'_>,
    stream: &[u8],
    cuts: &[prop::sample::Index],
) -> Result<(), TestCaseError> {
    let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(stream.len() + 1)).collect();
    cuts.push(stream.len());
    cuts.sort_unstable();
    let mut from = 0;
    let pieces: Vec<&[u8]> = cuts.iter().map(|&to| &stream[std::mem::replace(&mut from, to)..to]).collect();
    let whole = decode(fresh, [stream]);
    prop_assert_eq!(&decode(fresh, pieces), &whole);
    prop_assert_eq!(&decode(fresh, stream.chunks(1)), &whole);
    // The events have the same text as the reply.
    if let Some(ModelEvent::Finished(reply)) = whole.0.last() {
        prop_assert_eq!(&text_and_reasoning(&whole.0).0, &reply.text);
    }
    Ok(())
}

/// `stream` with one byte replaced gives the same events in pieces of three bytes as in one piece.
pub fn broken_anywhere(
    fresh: Fresh<'_>,
    mut stream: Vec<u8>,
    at: prop::sample::Index,
    byte: u8,
) -> Result<(), TestCaseError> {
    let at = at.index(stream.len());
    stream[at] = byte;
    let whole = decode(fresh, [&stream[..]]);
    prop_assert_eq!(decode(fresh, stream.chunks(3)), whole);
    Ok(())
}

/// An event with these bytes as its data gives the same events in pieces of seven bytes as in one piece. `end` follows it.
pub fn random_data(fresh: Fresh<'_>, bytes: &[u8], end: &[u8]) -> Result<(), TestCaseError> {
    let stream = [b"data: ", bytes, b"\n\n", end].concat();
    prop_assert_eq!(decode(fresh, stream.chunks(7)), decode(fresh, [&stream[..]]));
    Ok(())
}

/// A stream that others recorded from a real server, with the result of their SDK.
pub struct Recorded {
    pub name: String,
    pub stream: Vec<u8>,
    pub expect: Value,
}

/// The recorded streams of these prefixes. They are not part of the project: where the folder is missing (or
/// `ESPALIER_TRANSCRIPTS` names another), the test says so and passes.
pub fn recorded(prefixes: &[&str]) -> Vec<Recorded> {
    let beside = || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/transcripts"));
    let folder = std::env::var_os("ESPALIER_TRANSCRIPTS").map_or_else(beside, PathBuf::from);
    let Ok(entries) = folder.read_dir() else {
        println!("skipped: no recorded streams at {}", folder.display());
        return vec![];
    };
    let mut names: Vec<String> = entries
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.strip_suffix(".sse").map(String::from))
        .filter(|name| prefixes.iter().any(|prefix| name.starts_with(prefix)))
        .collect();
    names.sort();
    println!("{} recorded streams: {names:?}", names.len());
    names
        .into_iter()
        .map(|name| Recorded {
            stream: std::fs::read(folder.join(format!("{name}.sse"))).unwrap(),
            expect: serde_json::from_slice(
                &std::fs::read(folder.join(format!("{name}.expect.json"))).unwrap(),
            )
            .unwrap(),
            name,
        })
        .collect()
}

/// Cuts the stream at every event and at random positions. A cut stream is an error, and never a shorter reply. A
/// stream that ends in an error may already have reported a limit, but never a complete reply.
pub fn cut_and_split(fresh: Fresh<'_>, stream: &[u8], reply: Option<&ModelReply>) {
    let ends = stream.windows(2).enumerate().filter(|(_, pair)| pair == b"\n\n").map(|(at, _)| at + 2);
    for end in ends {
        let (cut, outcome) = decode(fresh, [&stream[..end]]);
        match (cut.last(), reply) {
            (Some(ModelEvent::Finished(cut)), Some(whole)) => {
                assert_eq!((&cut.text, &cut.tool_calls), (&whole.text, &whole.tool_calls));
            }
            (Some(ModelEvent::Finished(cut)), None) => assert_eq!(cut.finish, ReplyFinish::Length),
            _ => assert!(outcome.is_err(), "cut at {end}"),
        }
    }
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig::with_cases(64));
    let cuts = prop::collection::vec(any::<prop::sample::Index>(), 0..40);
    runner.run(&cuts, |cuts| split_anywhere(fresh, stream, &cuts)).unwrap();
}

pub fn choice() -> ModelChoice {
    ModelChoice::new("here", "m")
}

pub fn request(messages: Vec<Message>) -> ModelRequest {
    let mut request = ModelRequest::new(Rc::new(choice()), "".into());
    request.messages = messages.into_iter().map(Rc::new).collect();
    request
}

/// The same request with another model.
pub fn with_choice(mut request: ModelRequest, change: impl Fn(&mut ModelChoice)) -> ModelRequest {
    change(Rc::make_mut(&mut request.model));
    request
}

pub fn raw_json(json: &str) -> RawValueEq {
    RawValueEq(RawValue::from_string(json.into()).unwrap())
}

pub fn user(content: &str) -> Message {
    Message::User { content: content.into() }
}

pub fn assistant(content: &str, calls: &[(&str, &str, &str)]) -> Message {
    let call = |&(call_id, name, arguments): &(&str, &str, &str)| ToolCall {
        call_id: call_id.into(),
        name: name.into(),
        arguments: arguments.into(),
    };
    Message::Assistant { content: content.into(), tool_calls: calls.iter().map(call).collect(), raw: None }
}

pub fn tool(call_id: &str, content: &str, is_error: bool) -> Message {
    Message::Tool { call_id: call_id.into(), name: "f".into(), content: content.into(), is_error }
}

pub fn definition(name: &str) -> ToolDefinition {
    let input_schema = Rc::new(raw_json(r#"{"type":"object","properties":{}}"#));
    ToolDefinition { name: name.into(), description: format!("does {name}"), input_schema }
}

/// The smallest valid PNG and PDF, and a text.
pub const PNG: &str = "data:image/png;base64,iVBORw0KGgo=";
pub const PDF: &str = "data:application/pdf;base64,JVBERi0xLjQK";
pub const TXT: &str = "data:text/plain;base64,aGVsbG8=";

/// A message with one part of each kind.
pub fn all_parts() -> Message {
    let content = serde_json::json!([
        {"type": "text", "text": "look"},
        {"type": "image", "data": PNG},
        {"type": "file", "name": "a.pdf", "data": PDF},
        {"type": "file", "name": "a.txt", "data": TXT},
    ]);
    Message::User { content: serde_json::from_value(content).unwrap() }
}

/// The request body as JSON.
pub fn body(codec: &dyn Codec, request: &ModelRequest) -> Value {
    serde_json::from_slice(&codec.encode(request).unwrap().body).unwrap()
}

/// The next request has the reply's raw message byte for byte, if there is one.
pub fn goes_back(codec: &dyn Codec, reply: &ModelReply) {
    let Some(raw) = &reply.raw else { return };
    // A list goes back element by element.
    let json = raw.json.0.get();
    let json = json.strip_prefix('[').and_then(|json| json.strip_suffix(']')).unwrap_or(json);
    let sent = codec.encode(&answered(request(vec![user("x")]), reply.clone())).unwrap();
    let sent = String::from_utf8(sent.body).unwrap();
    assert!(sent.contains(json), "{json} is not in {sent}");
}

/// The conversation after a reply, with the reply's raw message.
pub fn answered(mut request: ModelRequest, reply: ModelReply) -> ModelRequest {
    let ModelReply { text, tool_calls, raw, .. } = reply;
    request.messages.push(Rc::new(Message::Assistant { content: text, tool_calls, raw }));
    request
}
