//! Hostile input, as data: bodies that are no text, bodies that are large in odd ways, text that looks like the wire,
//! made-up cursors and event numbers, providers with wrong answers, clients that never read.
//!
//! Sizes, types and nesting of good JSON are in `bad_input.rs`, forged credentials in `auth.rs`, `keys.rs` and
//! `tokens.rs`, ids of others in `isolation.rs`, memory in `silent_readers.rs`, a silent provider in `chat_budget.rs`.
//! Hostile addresses are data beside the guard (`durable/features/src/web/addresses.json`, `chains.json`); servers with
//! wrong answers are in `web_tools.rs`.

mod bodies;

use espalier_test_support::client::assert_problem;
use espalier_test_support::fake_llm::Refusal;
use espalier_test_support::stored::rows;
use espalier_test_support::{
    Case, Client, Event, EventStream, Value, call, canary, deltas, json, status, stored, text,
};

/// Bodies, each with the code of its refusal and the member that the refusal names.
fn bodies() -> Vec<(&'static str, Vec<u8>, &'static str, Option<&'static str>)> {
    let with = |value: &str| format!(r#"{{"content": "Hello", "more": {value}}}"#).into_bytes();
    let bytes = |inside: &[u8]| [b"{\"content\": \"", inside, b"\"}"].concat();
    let utf16: Vec<u8> = "{\"content\": \"Hello\"}".encode_utf16().flat_map(u16::to_le_bytes).collect();
    vec![
        ("arrays, 64 deep", with(&format!("{}{}", "[".repeat(64), "]".repeat(64))), "invalid_json", None),
        (
            "objects, 64 deep",
            with(&format!("{}1{}", "{\"a\":".repeat(64), "}".repeat(64))),
            "invalid_json",
            None,
        ),
        ("half a million open arrays", "[".repeat(500_000).into_bytes(), "invalid_json", None),
        ("a string that never ends", with(&format!("\"{}", "x".repeat(500_000))), "invalid_json", None),
        ("escapes that never end", with(&format!("\"{}", "\\".repeat(500_000))), "invalid_json", None),
        ("overlong UTF-8", bytes(b"\xc0\xaf"), "invalid_json", None),
        ("a surrogate in UTF-8", bytes(b"\xed\xa0\x80"), "invalid_json", None),
        ("beyond Unicode", bytes(b"\xf4\x90\x80\x80"), "invalid_json", None),
        ("half a character", bytes(b"\xe2\x82"), "invalid_json", None),
        ("UTF-16", utf16, "invalid_json", None),
        ("a BOM", b"\xef\xbb\xbf{\"content\": \"Hello\"}".to_vec(), "invalid_json", None),
        ("a NUL", bytes(b"a\0b"), "invalid_json", None),
        ("a bare line break", bytes(b"a\nb"), "invalid_json", None),
        ("a comment", b"{\"content\": \"Hello\" /* x */}".to_vec(), "invalid_json", None),
        ("a trailing comma", b"{\"content\": \"Hello\",}".to_vec(), "invalid_json", None),
        ("NaN", b"{\"content\": \"Hello\", \"request_seq\": NaN}".to_vec(), "invalid_json", None),
        (
            "a number without end",
            format!(r#"{{"content": "Hello", "request_seq": {}}}"#, "9".repeat(100_000)).into_bytes(),
            "invalid_request",
            Some("request_seq"),
        ),
        (
            "a number that is infinite",
            b"{\"content\": \"Hello\", \"request_seq\": 1e999}".to_vec(),
            "invalid_request",
            Some("request_seq"),
        ),
        (
            "the same member twice",
            b"{\"content\": \"Hello\", \"content\": \"World\"}".to_vec(),
            "invalid_request",
            None,
        ),
    ]
}

#[tokio::test]
async fn bodies_that_are_made_to_hurt() {
    let client = Client::anonymous().await.with("content-type", "application/json");
    for (case, body, code, field) in bodies() {
        eprintln!("{case}");
        let reply = client.send("POST", "/api/chat", body).await;
        let problem = reply.expect(400).await.json().await;
        assert_eq!(problem["code"], code, "{case}: {problem}");
        if let Some(field) = field {
            assert_eq!(problem["field"], field, "{case}: {problem}");
        }
    }
    assert!(client.threads().await.is_empty());
}

// A wide body is not a deep one: the service ignores unknown members, as far as the values of a body go.
#[tokio::test]
async fn a_body_may_be_wide() {
    let case = Case::new().await;
    case.script("", [text("Hi.")]).await;
    let mut body = case.says("Hello");
    // The body and the message are values beside these members.
    for member in 0..9_998 {
        body[format!("m{member}")] = json!(0);
    }
    case.chat_with(&body).await;
    body["more"] = json!(0);
    assert_problem(case.client.post("/api/chat", &body).await, 400, "invalid_request", None).await;
}

/// Schemas of clients' tools that would cost a validator seconds or the stack, or lead it elsewhere, and whether the
/// service accepts them. It compiles and uses the accepted ones.
fn schemas() -> Vec<(&'static str, Value, bool)> {
    let of = |property: Value| json!({ "type": "object", "properties": { "a": property } });
    let nested = |depth: usize, wrap: fn(Value) -> Value| {
        (0..depth).fold(json!({ "type": "string" }), |inner, _| wrap(inner))
    };
    let mut doubling = json!({ "type": "object", "$defs": { "d0": { "type": "string" } } });
    for level in 1..=24 {
        let below = json!({ "$ref": format!("#/$defs/d{}", level - 1) });
        doubling["$defs"][format!("d{level}")] = json!({ "anyOf": [below, below] });
    }
    doubling["properties"] = json!({ "a": { "$ref": "#/$defs/d24" } });
    let wide: serde_json::Map<String, Value> = (0..1_100).map(|n| (format!("p{n}"), json!(true))).collect();
    vec![
        ("deep", nested(18, |inner| json!({ "type": "object", "properties": { "a": inner } })), false),
        ("wide", json!({ "type": "object", "properties": wide }), false),
        ("doubling", doubling, false),
        ("a huge enum", of(json!({ "enum": (0..1_001).collect::<Vec<_>>() })), false),
        (
            "the largest enum",
            of(json!({ "enum": (0..1_000).map(|n| n.to_string()).collect::<Vec<_>>() })),
            true,
        ),
        ("large", of(json!({ "description": "x".repeat(16 << 10) })), false),
        ("a reference to elsewhere", of(json!({ "$ref": "https://example.com/schema.json" })), false),
        ("a reference to a file", of(json!({ "$ref": "file:///etc/passwd" })), false),
        ("a reference to nothing", of(json!({ "$ref": "#/$defs/none" })), false),
        ("a dynamic reference", of(json!({ "$dynamicRef": "#a" })), false),
        ("a reference to itself", of(json!({ "$ref": "#/properties/a" })), false),
        ("a list", json!({ "type": "object", "properties": { "a": { "$ref": "#" } } }), true),
        ("a catastrophic pattern", of(json!({ "type": "string", "pattern": "^(a+)+$" })), true),
        ("many patterns", of(json!({ "type": "integer", "pattern": "(x{1,100}){1,100}".repeat(3) })), true),
        ("no object", json!({ "type": "string" }), false),
        ("look-around", of(json!({ "type": "integer", "pattern": "^(?!a)b" })), true),
        ("no type", json!({ "properties": { "a": { "type": "integer" } } }), true),
    ]
}

#[tokio::test]
async fn schemas_that_are_made_to_hurt() {
    let argument = format!("{}!", "a".repeat(50_000));
    for (name, schema, taken) in schemas() {
        eprintln!("{name}");
        let case = Case::new().await;
        case.script("", [call("ui_try", json!({ "a": argument })), text("Tried.")]).await;
        let mut body = case.says("Try");
        body["chat_context"] = json!({ "kind": "editor" });
        body["client_tools"] = json!([{ "name": "ui_try", "description": "Tries.", "input_schema": schema }]);
        if !taken {
            let reply = case.client.post("/api/chat", &body).await;
            assert_problem(reply, 400, "invalid_request", Some("client_tools[0].input_schema")).await;
            continue;
        }
        // The argument fits none of them: the model learns that within the turn's wall clock, and no call waits.
        let events = case.client.chat(&body).await.turn().await;
        let told = events.iter().any(|event| event.data["is_error"] == true);
        assert!(told && events.iter().any(|event| event.text("finish_reason") == "stop"), "{name}");
    }
}

/// Values in place of an id, in a path.
const IDS: [&str; 14] = [
    "..%2f..%2fapi%2fkeys",
    "%2e%2e",
    "....%2f%2f",
    "..%5c..%5cwindows",
    "%00",
    "a%0d%0aset-cookie:%20owned=1",
    "a%0aid:%201",
    "%c0%af",
    "%ff",
    "'%20OR%201=1%20--",
    "%22%3E%3Cscript%3Ealert(1)%3C/script%3E",
    "%7B0190c0de-0000-7000-8000-000000000000%7D",
    "%E2%80%AE",
    "__proto__",
];

// A route with an id answers 404 for each of them, with a JSON body and our headers.
#[tokio::test]
async fn texts_that_are_no_ids() {
    let case = Case::new().await;
    let long = "a".repeat(8_000);
    for id in IDS.into_iter().chain([long.as_str()]) {
        let thread = format!("/api/threads/{id}");
        for (method, path, body) in [
            ("GET", thread.clone(), ""),
            ("GET", format!("{thread}/messages"), ""),
            ("GET", format!("{thread}/stream"), ""),
            ("POST", format!("{thread}/cancel"), "{}"),
            ("POST", format!("{thread}/tool_results"), r#"{"tool_call_id": "a", "result": 1}"#),
            ("POST", format!("{thread}/approvals/{id}"), r#"{"decision": "approve"}"#),
            ("DELETE", thread.clone(), ""),
        ] {
            let client = case.client.with("content-type", "application/json");
            let reply = client.send(method, &path, body).await;
            assert_eq!(reply.status, 404, "{method} {path}");
            assert_eq!(reply.header("set-cookie"), "", "{method} {path}");
            assert_eq!(reply.header("x-content-type-options"), "nosniff", "{method} {path}");
            assert!(reply.json().await["code"].as_str().is_some_and(|code| code.ends_with("_not_found")));
        }
    }
}

// An answer finds no waiting call in a thread whose turn is over.
#[tokio::test]
async fn answers_without_a_waiting_call() {
    let case = Case::new().await;
    case.script("", [text("Hi.")]).await;
    let events = case.chat("Hello").await;
    let thread = format!("/api/threads/{}", events[0].text("thread_id"));
    let long = "a".repeat(4_000);
    for id in ["call_1", "call_0_0.0", "__proto__", "' OR 1=1 --", "\r\nid: 1", "\u{0}", long.as_str()] {
        let result = json!({ "tool_call_id": id, "result": { "pasted": true } });
        let reply = case.client.post(&format!("{thread}/tool_results"), &result).await;
        assert_problem(reply, 404, "not_waiting", None).await;
    }
    for id in IDS {
        let decision = json!({ "decision": "approve_for_thread" });
        let reply = case.client.post(&format!("{thread}/approvals/{id}"), &decision).await;
        assert_eq!(reply.status, 404, "{id}");
    }
}

/// Texts that would be frames, headers, markup or the end of the stream if a reader interpreted them.
const WIRE: [&str; 8] = [
    "\n\nevent: done\ndata: {\"type\":\"done\",\"finish_reason\":\"stop\"}\n\n",
    "\r\n\r\nevent: error\r\nid: 9007199254740991\r\n\r\n",
    "\rid: 1\rretry: 1\r",
    "data: x\n: comment\n\n",
    "\u{2028}\u{2029}\u{85}\u{b}\u{c}",
    "\u{feff}\u{202e}\u{0}\u{1b}[31m",
    "</script><script>alert(1)</script>",
    "\"},{\"type\":\"done\"}",
];

// The strict client of these tests reads every frame, so it would find an injected one.
#[tokio::test]
async fn text_that_looks_like_the_wire_is_text() {
    for wire in WIRE {
        let case = Case::new().await;
        case.script("", [deltas(["Before ", wire, " after"])]).await;
        let body = json!({ "content": case.said(wire, "") });
        let events = case.chat_with(&body).await;
        let said: String =
            events.iter().filter(|event| event.kind == "chunk").map(|event| event.text("content")).collect();
        assert_eq!(said, format!("Before {wire} after"));
        let thread = events[0].text("thread_id");
        let messages = case.client.messages(thread).await;
        assert_eq!(messages[0]["content"], case.said(wire, ""));
        assert_eq!(messages[1]["content"], format!("Before {wire} after"));
        // The same once more, from storage.
        let replay = EventStream::open(case.client.get(&format!("/api/threads/{thread}/stream")).await).await;
        assert_eq!(replay.turn().await.len(), events.len(), "{wire:?}");
    }
}

#[tokio::test]
async fn made_up_event_numbers() {
    let case = Case::new().await;
    case.script("", [text("Hi.")]).await;
    let events = case.chat("Hello").await;
    let stream = format!("/api/threads/{}/stream", events[0].text("thread_id"));
    for (id, status) in [
        ("9007199254740991", 204),
        ("9007199254740992", 400),
        ("99999999999999999999999999", 400),
        ("-1", 400),
        ("+1", 400),
        ("1e3", 400),
        ("0x1", 400),
        ("1.0", 400),
        ("1, 2", 400),
        ("null", 400),
        ("' OR 1=1 --", 400),
    ] {
        let reply = case.client.with("last-event-id", id).get(&stream).await;
        assert_eq!(reply.status, status, "{id}");
        if status == 400 {
            assert_problem(reply, 400, "invalid_request", Some("Last-Event-ID")).await;
        }
    }
    // A number of another user's thread is just a number.
    let all = case.client.with("last-event-id", "0").get(&stream).await;
    assert_eq!(EventStream::open(all).await.turn().await.len(), events.len());
}

// A client that never reads holds up nobody: the turn ends, another reader gets all events, and so does the first one
// when it reads at last.
#[tokio::test]
async fn a_client_that_never_reads_holds_up_no_other() {
    let case = Case::new().await;
    let piece = "x".repeat(4_000);
    let pieces: [&str; 100] = [piece.as_str(); 100];
    case.script("", [deltas(pieces)]).await;
    let silent = case.client.post("/api/chat", &case.says("Hello")).await.expect(200).await;
    let threads = stored::eventually("the thread is listed", || async {
        let threads = case.client.threads().await;
        (!threads.is_empty()).then_some(threads)
    })
    .await;
    let stream = format!("/api/threads/{}/stream", threads[0]["id"].as_str().unwrap_or_default());
    let other = EventStream::open(case.client.get(&stream).await).await.turn().await;
    let late = EventStream::open(silent).await.turn().await;
    let said = |events: &[Event]| -> usize {
        events.iter().filter(|event| event.kind == "chunk").map(|event| event.text("content").len()).sum()
    };
    assert_eq!((said(&other), said(&late)), (400_000, 400_000));
}

// A provider that never stops sending: the service bounds the reply and ends the turn with that reason.
#[tokio::test]
async fn a_provider_that_sends_without_end_is_cut_off() {
    let case = Case::new().await;
    let piece = "x".repeat(64 << 10);
    let pieces: [&str; 64] = [piece.as_str(); 64];
    case.script("", [deltas(pieces)]).await;
    let events = case.chat("Hello").await;
    let said: usize =
        events.iter().filter(|event| event.kind == "chunk").map(|event| event.text("content").len()).sum();
    assert!(said <= 1 << 20, "{said}");
    let error = events.iter().find(|event| event.kind == "error").expect("an error");
    assert!(error.text("code").starts_with("provider_"), "{}", error.data);
}

// A provider that repeats its key in its own words: the client gets none of it, and the search at the end of the run
// finds it in no row and no log.
#[tokio::test]
async fn a_provider_that_repeats_its_key() {
    for code in [400, 401, 500] {
        let case = Case::new().await;
        let mut step = status(code);
        let said = format!("Incorrect API key {key}; Bearer {key}", key = canary::LLM_API_KEY);
        let body = json!({ "error": { "message": said, "code": canary::LLM_API_KEY, "type": "auth" } });
        step.status = step.status.map(|refusal| Refusal { body: Some(body), ..refusal });
        case.script("", [step]).await;
        let events = case.chat("Hello").await;
        // D1 does not have it either.
        let logged = rows(&events, "error_log", "message").await;
        assert!(!logged.is_empty(), "{code}");
        assert!(!json!(logged).to_string().contains("canary"), "{code}: {logged:?}");
    }
}
