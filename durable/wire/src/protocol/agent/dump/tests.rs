use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;

use super::*;
use crate::model::{ModelChoice, RawMessage, RawValueEq};
use crate::protocol::{ErrorCode, MAX_ATTACHED_BYTES, MAX_ATTACHMENTS, MAX_CONTENT_CHARS};

fn with_rounds(rounds: Value) -> Result<AgentDump, ApiError> {
    let dump = json!({"name": "a", "instructions": "A.", "rounds": rounds});
    AgentDump::parse(dump.to_string().as_bytes())
}

fn field(refused: Result<AgentDump, ApiError>) -> Option<String> {
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
    let whole = json!([user, call(&["1", "2"]), result("1"), result("2"), call(&[])]);
    assert_eq!(parse(whole).unwrap().rounds[1].len(), 5);
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
    assert_eq!(AgentDump::parse(least.as_bytes()).unwrap().rounds.len(), 0);
    assert!(AgentDump::parse(br#"{"name": 1}"#).is_err());
}

// Issue 42, M1.
#[test]
fn a_dump_has_no_more_rounds_and_messages_than_an_agent_remembers() {
    let user = json!({"user": {"content": "Hello."}});
    let parse = |rounds: usize, messages: usize| {
        let mut all = vec![vec![&user]; rounds];
        all[0].extend(std::iter::repeat_n(&user, messages - rounds));
        with_rounds(json!(all)).map(|dump| dump.rounds.len())
    };
    assert_eq!(parse(MAX_ROUNDS, MAX_ROUND_MESSAGES), Ok(MAX_ROUNDS));
    for (rounds, messages) in [(MAX_ROUNDS + 1, MAX_ROUNDS + 1), (1, MAX_ROUND_MESSAGES + 1)] {
        let refused = parse(rounds, messages).unwrap_err();
        assert_eq!(refused.field.as_deref(), Some("rounds"), "{rounds} {messages}");
        assert!(refused.detail.contains("1000 rounds"), "{}", refused.detail);
    }
}

// Issue 42, M5: at the limit, and just beyond it.
#[test]
fn a_dump_has_so_many_values() {
    // The dump, its three members and the list are values; so is each text.
    let heard = |texts: usize| {
        let dump = json!({"name": "a", "instructions": "A.", "heard": vec![""; texts]});
        AgentDump::parse(dump.to_string().as_bytes())
    };
    assert!(heard(MAX_DUMP_VALUES - 4).is_ok());
    assert_eq!(heard(MAX_DUMP_VALUES - 3).unwrap_err().code, ErrorCode::InvalidRequest);
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
        assert_eq!(field(AgentDump::parse(dump.to_string().as_bytes())).as_deref(), Some(place));
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

    assert!(parse(json!([png(MAX_ATTACHED_BYTES)])).is_ok());
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
    assert_eq!(json!(restored.rounds), given);
    assert_eq!(given[0][0]["user"]["content"], picture, "what may stay stays");
    assert_eq!(given[0][1]["user"]["content"], "Look.\n\n[image, 0 kB]\n\n[a.pdf, 0 kB]");
    assert_eq!(given[0][4]["assistant"].get("raw"), None);
    let messages: Vec<Message> = restored.rounds[0].iter().cloned().map(Message::from).collect();
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
        assert_eq!(json!(AgentDump::parse(given.to_string().as_bytes()).unwrap()), given);
    }
}
