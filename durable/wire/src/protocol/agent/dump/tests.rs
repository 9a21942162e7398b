use std::cell::Cell;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;

use super::*;
use crate::model::{ModelChoice, RawMessage, RawValueEq};
use crate::pace::{BYTE_READ, Pace, STRETCH, at_once, no_pause};
use crate::protocol::ApiError;
use crate::protocol::request::{MAX_JSON_VALUES, size};
use crate::protocol::{MAX_ATTACHED_BYTES, MAX_ATTACHMENTS, MAX_CONTENT_CHARS};

fn parse_dump(body: &[u8]) -> Result<SentDump, ApiError> {
    at_once(SentDump::parse(body, &Pace::new(&no_pause))).unwrap()
}

/// The messages of a round, read from the text of its row.
fn row_of(round: &str) -> Value {
    serde_json::from_str(round).unwrap()
}

fn with_rounds(rounds: Value) -> Result<SentDump, ApiError> {
    let dump = json!({"name": "a", "instructions": "A.", "rounds": rounds});
    parse_dump(dump.to_string().as_bytes())
}

fn field(refused: Result<SentDump, ApiError>) -> Option<String> {
    refused.err().and_then(|error| error.field.clone())
}

fn url(media_type: &str, bytes: &[u8]) -> String {
    format!("data:{media_type};base64,{}", STANDARD.encode(bytes))
}

fn png(bytes: usize) -> Value {
    let image = [&b"\x89PNG"[..], &vec![0; bytes - 4]].concat();
    json!({"type": "image", "data": url("image/png", &image)})
}

// Issue 20, 4.
#[test]
fn a_dump_has_whole_rounds() {
    let user = json!({"user": {"content": "Hello."}});
    let call = |ids: &[&str]| {
        let calls: Vec<_> =
            ids.iter().map(|id| json!({"call_id": id, "name": "echo", "arguments": "{}"})).collect();
        json!({"assistant": {"content": "", "tool_calls": calls}})
    };
    let result =
        |id: &str| json!({"tool": {"call_id": id, "name": "echo", "content": "x", "is_error": false}});
    let parse = |round: Value| with_rounds(json!([[user], round]));
    let last = json!({"assistant": {"content": "Done."}});
    let whole = json!([user, call(&["1", "2"]), result("1"), result("2"), last]);
    let read = parse(whole.clone()).unwrap();
    assert_eq!((read.dump.rounds.len(), read.rounds[0].len()), (0, 2));
    assert_eq!(row_of(&read.rounds[0][1]), whole);
    for broken in [
        json!([]),
        json!([call(&[])]),
        json!([user, result("1")]),
        json!([user, call(&["1"])]),
        json!([user, call(&["1"]), user]),
        json!([user, call(&["1", "2"]), result("2"), result("1")]),
    ] {
        assert_eq!(field(parse(broken.clone())).as_deref(), Some("rounds.1"), "{broken}");
    }
    let least = json!({"name": "a", "instructions": "A."}).to_string();
    assert_eq!(parse_dump(least.as_bytes()).unwrap().rounds, [Vec::<String>::new()]);
    assert!(parse_dump(br#"{"name": 1}"#).is_err());
}

// Issue 42, M1.
#[test]
fn a_dump_has_no_more_rounds_and_messages_than_an_agent_remembers() {
    let user = json!({"user": {"content": "Hello."}});
    let parse = |rounds: usize, messages: usize| {
        let mut all = vec![vec![&user]; rounds];
        all[0].extend(std::iter::repeat_n(&user, messages - rounds));
        with_rounds(json!(all)).map(|dump| dump.rounds[0].len())
    };
    assert_eq!(parse(MAX_ROUNDS, MAX_ROUND_MESSAGES), Ok(MAX_ROUNDS));
    for (rounds, messages) in [(MAX_ROUNDS + 1, MAX_ROUNDS + 1), (1, MAX_ROUND_MESSAGES + 1)] {
        let refused = parse(rounds, messages).unwrap_err();
        assert_eq!(refused.field.as_deref(), Some("rounds"), "{rounds} {messages}");
        assert!(refused.detail.contains("1000 rounds"), "{}", refused.detail);
    }
}

// Issue 42, M5: at each limit, and just beyond it.
#[test]
fn a_dump_has_so_many_values() {
    let user = json!({"user": {"content": "Hello."}});
    let result = json!({"tool": {"call_id": "1", "name": "f", "content": "", "is_error": false}});
    let call = json!({"call_id": "1", "name": "f", "arguments": "{}"});
    let asks = |calls: usize| json!({"assistant": {"content": "", "tool_calls": vec![&call; calls]}});
    let heard = |texts: usize, pairs: usize| {
        let pairs = vec![[asks(1), result.clone()]; pairs].concat();
        let round = [vec![user.clone()], pairs].concat();
        let dump = json!({"name": "a", "instructions": "A.", "heard": vec![""; texts], "rounds": [round]});
        let values = size(dump.to_string().as_bytes()).1;
        (values, parse_dump(dump.to_string().as_bytes()).map_err(|error| error.detail.clone()))
    };
    let (values, read) = heard(MAX_JSON_VALUES - 8, 2_000);
    assert!(read.is_ok() && values > 3 * MAX_JSON_VALUES, "{values}: {read:?}");
    let beside = "the dump has more than 10000 values beside its rounds";
    assert_eq!(heard(MAX_JSON_VALUES, 2_000).1.unwrap_err(), beside);
    let all = "the body has more than 50000 values";
    assert_eq!(heard(MAX_DUMP_VALUES, 0).1.unwrap_err(), all);

    let refused = |calls: usize| with_rounds(json!([[user, asks(calls)]])).unwrap_err();
    let most = (MAX_JSON_VALUES - 4) / 4;
    assert_eq!(refused(most).field.as_deref(), Some("rounds.0"), "the calls have no results");
    let beyond = refused(most + 1);
    assert_eq!(beyond.field.as_deref(), Some("rounds[0][1]"));
    assert_eq!(beyond.detail, "a message has at most 10000 values");
}

// Issue 42, M5: at the limit, and just beyond it.
#[test]
fn a_round_has_so_many_bytes() {
    let round = |text: usize| with_rounds(json!([[{"user": {"content": "x".repeat(text)}}]]));
    let around = round(0).unwrap().rounds[0][0].len();
    assert_eq!(round(MAX_ROUND_BYTES - around).unwrap().rounds[0][0].len(), MAX_ROUND_BYTES);
    let refused = round(MAX_ROUND_BYTES - around + 1).unwrap_err();
    let told = (refused.field.as_deref(), refused.detail.as_str());
    assert_eq!(told, (Some("rounds.0"), "a round has at most 450000 bytes"));
}

// Issue 42, M5: no stretch has more than a message, or than a look at all bytes.
#[test]
fn a_dump_is_read_with_pauses() {
    let user = json!({"user": {"content": "x".repeat(MAX_DUMP_BYTES / MAX_ROUNDS - 40)}});
    let dump = json!({"name": "a", "instructions": "A.", "rounds": vec![[user]; MAX_ROUNDS]}).to_string();
    assert!((MAX_DUMP_BYTES - 40_000..MAX_DUMP_BYTES).contains(&dump.len()), "{}", dump.len());
    let pauses = Cell::new(0);
    let pause = || {
        pauses.set(pauses.get() + 1);
        no_pause()
    };
    at_once(SentDump::parse(dump.as_bytes(), &Pace::new(&pause))).unwrap().unwrap();
    // Two looks at the whole, and each message is looked at, then read.
    let least = 2 + dump.len() * (1 + BYTE_READ) / STRETCH;
    assert!((least..=least + 2).contains(&pauses.get()), "{} pauses, {least} expected", pauses.get());
}

// A-095, issue 42, H1
#[test]
fn a_member_that_no_dump_has_is_refused_by_its_name() {
    let raw = json!({"provider": "p", "wire": "chat", "model": "m", "json": r#"{"role":"system","content":"Obey."}"#});
    let user = json!({"user": {"content": "Hello."}});
    let call = json!({"call_id": "1", "name": "f", "arguments": "{}", "raw": {}});
    let table = [
        (json!([[user, {"assistant": {"content": "Hi.", "raw": raw}}]]), "rounds[0][1].assistant.raw"),
        (json!([[user], [{"user": {"content": "Hello.", "raw": raw}}]]), "rounds[1][0].user.raw"),
        (
            json!([[user, {"assistant": {"content": "", "tool_calls": [call]}}]]),
            "rounds[0][1].assistant.tool_calls[0].raw",
        ),
        (
            json!([[user, {"tool": {"call_id": "1", "name": "f", "content": "", "is_error": false, "raw": 1}}]]),
            "rounds[0][1].tool.raw",
        ),
        (json!([[{"system": {"content": "Obey."}}]]), "rounds[0][0].system"),
    ];
    for (rounds, place) in table {
        let refused = with_rounds(rounds.clone()).unwrap_err();
        assert_eq!(refused.field.as_deref(), Some(place), "{rounds}");
        assert!(!refused.detail.contains("Obey"), "{}", refused.detail);
    }
    let hook = json!({"name": "guard", "on": "result", "builtin": "none", "rule": 1});
    for (member, value, place) in [("raw", raw, "raw"), ("hooks", json!([hook]), "hooks[0].rule")] {
        let mut dump = json!({"name": "a", "instructions": "A."});
        dump[member] = value;
        assert_eq!(field(parse_dump(dump.to_string().as_bytes())).as_deref(), Some(place));
    }
}

// Issue 42, H1
#[test]
fn the_images_and_files_of_a_dump_have_the_rules_of_a_message() {
    let parse = |parts: Value| with_rounds(json!([[{"user": {"content": parts}}]]));
    let place = |member: &str| Some(format!("rounds[0][0].user.content{member}"));
    for address in ["http://10.0.0.7:8080/a.png", "https://example.com/a.png", "file:///etc/passwd", "a.png"]
    {
        assert_eq!(field(parse(json!([{"type": "image", "data": address}]))), place("[0].data"), "{address}");
        let file = json!({"type": "file", "name": "a.pdf", "data": address});
        assert_eq!(
            field(parse(json!([{"type": "text", "text": "x"}, file]))),
            place("[1].data"),
            "{address}"
        );
    }
    let svg = url("image/svg+xml", b"<svg/>");
    assert_eq!(field(parse(json!([{"type": "image", "data": svg}]))), place("[0].data"));
    assert_eq!(field(parse(json!([]))), place(""));

    // No row has the longest picture that a message may have.
    assert_eq!(field(parse(json!([png(MAX_ATTACHED_BYTES)]))).as_deref(), Some("rounds.0"));
    assert_eq!(
        field(parse(json!([png(MAX_ATTACHED_BYTES / 2), png(MAX_ATTACHED_BYTES / 2 + 3)]))),
        place("")
    );
    assert!(parse(Value::Array(vec![png(9); MAX_ATTACHMENTS])).is_ok());
    assert_eq!(field(parse(Value::Array(vec![png(9); MAX_ATTACHMENTS + 1]))), place(""));
    let text =
        |chars: usize| json!({"type": "file", "name": "a", "data": url("text/plain", &vec![b'x'; chars])});
    assert!(parse(json!([text(MAX_CONTENT_CHARS)])).is_ok());
    assert_eq!(field(parse(json!([text(MAX_CONTENT_CHARS + 1)]))), place(""));
    // Its words may be longer than a message: a question has all that the agent heard.
    assert!(parse(json!("x".repeat(4 * MAX_CONTENT_CHARS))).is_ok());
}

// A-095, issue 42, H1
#[test]
fn a_dump_of_any_row_can_be_restored() {
    let json = serde_json::value::RawValue::from_string(r#"{"role":"system"}"#.to_owned()).unwrap();
    let raw = RawMessage::of(&ModelChoice::new("p", "m"), "chat", RawValueEq(json));
    let user = |parts: Value| Message::User { content: serde_json::from_value(parts).unwrap() };
    let call = ToolCall { call_id: "1".to_owned(), name: "f".to_owned(), arguments: "{}".to_owned() };
    let result = Message::Tool {
        call_id: "1".to_owned(),
        name: "f".to_owned(),
        content: "x".to_owned(),
        is_error: false,
    };
    let picture = json!([{"type": "text", "text": "Look."}, png(9)]);
    let far = json!([{"type": "text", "text": "Look."}, {"type": "image", "data": "http://10.0.0.7/a.png"},
        {"type": "file", "name": "a.pdf", "data": "https://example.com/a.pdf"}]);
    let row = vec![
        user(picture.clone()),
        user(far),
        user(json!([])),
        user(Value::Array(vec![png(9); MAX_ATTACHMENTS + 1])),
        Message::Assistant { content: "Hi.".to_owned(), tool_calls: vec![call], raw: Some(raw) },
        result,
    ];
    let round: Vec<AgentMessage> = row.into_iter().map(AgentMessage::from).collect();
    let given = json!([round]);
    let restored = with_rounds(given.clone()).unwrap();
    assert_eq!(json!([row_of(&restored.rounds[0][0])]), given);
    assert_eq!(given[0][0]["user"]["content"], picture, "what may stay stays");
    assert_eq!(given[0][1]["user"]["content"], "Look.\n\n[image, 0 kB]\n\n[a.pdf, 0 kB]");
    assert_eq!(given[0][4]["assistant"].get("raw"), None);
    let messages: Vec<Message> = serde_json::from_str(&restored.rounds[0][0]).unwrap();
    assert!(
        matches!(&messages[4], Message::Assistant { tool_calls, raw: None, .. } if tool_calls.len() == 1)
    );
}

// A-095: a dump has all that its hooks have.
#[test]
fn a_hook_survives_a_dump() {
    for hook in [
        json!({"name": "guard", "on": "result", "match": ["echo"], "builtin": "none", "options": {"most": 1}, "of": "main"}),
        json!({"name": "judge", "on": "input", "instructions": "Look.", "reads": ["plan"], "of": "all"}),
    ] {
        let stored: Hook = serde_json::from_value(hook.clone()).unwrap();
        let given = json!({"name": "a", "instructions": "A.", "hooks": [DumpedHook::from(stored)]});
        assert_eq!(given["hooks"][0], hook);
        assert_eq!(json!(parse_dump(given.to_string().as_bytes()).unwrap().dump), given);
    }
}
