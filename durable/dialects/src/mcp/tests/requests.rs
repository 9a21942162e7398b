//! Messages of clients: their forms, their headers, their answers to questions.

use serde_json::{Value, json};

use crate::mcp::request::MAX_ID;
use crate::mcp::{Abilities, Era, Message, Refusal, Request, decisions, read};
use wire::protocol::{Decision, MAX_FORM_CONTENT, MAX_JSON_VALUES};

const META: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",
    "io.modelcontextprotocol/clientCapabilities":{}}"#;

fn body_of(refusal: &Refusal) -> Value {
    serde_json::from_slice(&refusal.body).unwrap()
}

fn sent(body: &str, headers: &[(&str, &str)]) -> Result<Message, (u16, i64)> {
    let header =
        |name: &str| headers.iter().find(|(of, _)| *of == name).map(|(_, value)| (*value).to_owned());
    read(body.as_bytes(), header)
        .map_err(|refusal| (refusal.status, body_of(&refusal)["error"]["code"].as_i64().unwrap()))
}

fn request(body: &str, headers: &[(&str, &str)]) -> Request {
    match sent(body, headers) {
        Ok(Message::Request(request)) => request,
        other => panic!("{body}: {other:?}"),
    }
}

/// A request of 2026-07-28 and its headers.
fn modern(method: &str, params: &str) -> (String, Vec<(&'static str, String)>) {
    let body = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{{{params}{META}}}}}"#);
    (body, vec![("mcp-protocol-version", "2026-07-28".to_owned()), ("mcp-method", method.to_owned())])
}

// Issue 22
#[test]
fn a_message_is_one_request_or_notification() {
    for (body, outcome) in [
        ("", Err((400, -32700))),
        ("{", Err((400, -32700))),
        ("[]", Err((400, -32600))),
        (r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#, Err((400, -32600))),
        ("7", Err((400, -32600))),
        (r#"{"id":1,"method":"ping"}"#, Err((400, -32600))),
        (r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#, Err((400, -32600))),
        (r#"{"jsonrpc":"2.0","id":1}"#, Err((400, -32600))),
        (r#"{"jsonrpc":"2.0","id":1,"result":{}}"#, Err((400, -32600))),
        (r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, Err((400, -32600))),
        (r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#, Err((400, -32600))),
        (r#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#, Err((400, -32600))),
        (r#"{"jsonrpc":"2.0","id":1,"method":7}"#, Err((400, -32600))),
        (r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}"#, Err((400, -32600))),
        (r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#, Ok(Message::Notification)),
    ] {
        assert_eq!(sent(body, &[]), outcome, "{body}");
    }
    for id in [json!("a"), json!(0), json!(-1), json!(u64::MAX)] {
        let body = json!({ "jsonrpc": "2.0", "id": id, "method": "ping" }).to_string();
        let read = request(&body, &[]);
        assert_eq!((read.id, read.method.as_str(), read.era), (id, "ping", Era::Legacy));
    }
    let with_id = |letters: usize| {
        sent(&json!({ "jsonrpc": "2.0", "id": "i".repeat(letters), "method": "ping" }).to_string(), &[])
    };
    assert!(with_id(MAX_ID).is_ok());
    assert_eq!(with_id(MAX_ID + 1), Err((400, -32600)));
}

// Issue 22
#[test]
fn the_version_decides_how_a_client_speaks() {
    let with = |version: Option<&str>, meta: Value| {
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": { "_meta": meta } })
            .to_string();
        let headers: Vec<_> = version
            .map(|version| ("mcp-protocol-version", version))
            .into_iter()
            .chain([("mcp-method", "tools/list")])
            .collect();
        match sent(&body, &headers) {
            Ok(Message::Request(request)) => Ok(request.era),
            Ok(Message::Notification) => panic!("a notification"),
            Err(refusal) => Err(refusal),
        }
    };
    let told = |version: &str| json!({ "io.modelcontextprotocol/protocolVersion": version, "io.modelcontextprotocol/clientCapabilities": {} });
    let modern = Ok(Era::Modern(Abilities::default()));
    for (header, meta, outcome) in [
        (None, Value::Null, Ok(Era::Legacy)),
        (Some("2025-06-18"), Value::Null, Ok(Era::Legacy)),
        (Some("2025-11-25"), json!({}), Ok(Era::Legacy)),
        (Some("2025-11-25"), told("2025-11-25"), Ok(Era::Legacy)),
        (Some("2026-07-28"), told("2026-07-28"), modern),
        (Some("2026-07-28"), Value::Null, Err((400, -32602))),
        (
            Some("2026-07-28"),
            json!({ "io.modelcontextprotocol/protocolVersion": "2026-07-28" }),
            Err((400, -32602)),
        ),
        (Some("2026-07-28"), told("2025-11-25"), Err((400, -32020))),
        (Some("2025-11-25"), told("2026-07-28"), Err((400, -32020))),
        (None, told("2026-07-28"), Err((400, -32020))),
        (Some("2099-01-01"), told("2099-01-01"), Err((400, -32022))),
        (Some("2025-03-26"), Value::Null, Err((400, -32022))),
    ] {
        assert_eq!(with(header, meta.clone()), outcome, "{header:?} {meta}");
    }
    let body = json!({ "jsonrpc": "2.0", "id": 7, "method": "tools/list" }).to_string();
    let refusal = read(body.as_bytes(), |_| Some("1900-01-01".to_owned())).unwrap_err();
    assert_eq!(
        body_of(&refusal),
        json!({ "jsonrpc": "2.0", "id": 7, "error": { "code": -32022, "message": "Unsupported protocol version",
            "data": { "supported": ["2026-07-28", "2025-11-25", "2025-06-18"], "requested": "1900-01-01" } } })
    );
}

// Issue 22
#[test]
fn the_headers_say_the_same_as_the_body() {
    for (method, member, name) in [
        ("tools/call", "name", "chat"),
        ("resources/read", "uri", "espalier://threads/ä"),
        ("tasks/get", "taskId", "task_1"),
        ("tasks/update", "taskId", "task_1"),
        ("tasks/cancel", "taskId", "task_1"),
        ("prompts/get", "name", "p"),
    ] {
        let (body, headers) = modern(method, &format!(r#""{member}":"{name}","#));
        let outcome = |more: &[(&str, &str)]| {
            let headers = headers.iter().map(|(name, value)| (*name, value.as_str()));
            sent(&body, &headers.chain(more.iter().copied()).collect::<Vec<_>>()).map(|_| ())
        };
        assert_eq!(outcome(&[("mcp-name", name)]), Ok(()), "{method}");
        for wrong in
            [&[][..], &[("mcp-name", "other")], &[("mcp-name", "=?base64?%?=")], &[("mcp-name", "CHAT")]]
        {
            assert_eq!(outcome(wrong), Err((400, -32020)), "{method} {wrong:?}");
        }
    }
    let (body, headers) = modern("resources/read", r#""uri":"espalier://threads/ä","#);
    let headers = headers.iter().map(|(name, value)| (*name, value.as_str()));
    let encoded = [("mcp-name", "=?base64?ZXNwYWxpZXI6Ly90aHJlYWRzL8Ok?=")];
    assert!(sent(&body, &headers.chain(encoded).collect::<Vec<_>>()).is_ok());

    let (body, _) = modern("tools/list", "");
    for method in [None, Some("TOOLS/LIST"), Some("prompts/list")] {
        let named = method.map(|method| ("mcp-method", method));
        let headers: Vec<_> = [("mcp-protocol-version", "2026-07-28")].into_iter().chain(named).collect();
        assert_eq!(sent(&body, &headers).map(|_| ()), Err((400, -32020)), "{method:?}");
    }
}

// Issue 22
#[test]
fn a_client_says_what_it_can_do() {
    for (capabilities, forms, tasks) in [
        (json!({}), false, false),
        (json!({ "elicitation": {} }), true, false),
        (json!({ "elicitation": { "form": {} } }), true, false),
        (json!({ "elicitation": { "url": {} } }), false, false),
        (json!({ "elicitation": { "form": {}, "url": {} } }), true, false),
        (json!({ "extensions": { "io.modelcontextprotocol/tasks": {} } }), false, true),
        (
            json!({ "elicitation": true, "extensions": { "io.modelcontextprotocol/tasks": null } }),
            false,
            false,
        ),
    ] {
        let meta = json!({ "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": capabilities, "progressToken": "p" });
        let body =
            json!({ "jsonrpc": "2.0", "id": 1, "method": "ping", "params": { "_meta": meta } }).to_string();
        let read = request(&body, &[("mcp-protocol-version", "2026-07-28"), ("mcp-method", "ping")]);
        assert_eq!(read.abilities(), Abilities { forms, tasks }, "{capabilities}");
        assert_eq!(read.progress().as_deref(), Some(r#""p""#));
    }
    let body = r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":{"progressToken":{}}}}"#;
    let read = request(body, &[]);
    assert_eq!((read.progress(), read.abilities(), read.is_modern()), (None, Abilities::default(), false));
}

// Issue 22: the questions of a form are requests of their own, and one answer.
#[test]
fn answers_to_the_questions_of_a_form_are_one_content() {
    let accept = |content: Value| json!({ "action": "accept", "content": content });
    let no = |action: &str| json!({ "action": action });
    let approved = |content: &str| Some((Decision::Approve, content.to_owned()));
    let denied = Some((Decision::Deny, String::new()));
    for (told, expected, is_open) in [
        (json!({ "w/a": accept(json!({ "x": 1 })) }), approved(r#"{"a":{"x":1}}"#), false),
        (
            json!({ "w/a": accept(json!({})), "w/b/c": accept(json!({ "y": "z" })) }),
            approved(r#"{"a":{},"b/c":{"y":"z"}}"#),
            false,
        ),
        (json!({ "w/a": accept(json!({})), "w/b": no("decline") }), denied.clone(), false),
        (json!({ "w/a": no("decline"), "w/b": no("cancel") }), None, true),
    ] {
        let (answers, left) = decisions(&told).unwrap();
        let answers = answers.into_iter().map(|answer| {
            assert_eq!((answer.id.as_str(), answer.is_error), ("w", false));
            (answer.decision.unwrap(), answer.content)
        });
        assert_eq!((answers.collect::<Vec<_>>(), left), (Vec::from_iter(expected), is_open), "{told}");
    }
    for wrong in [json!({ "action": "accept" }), accept(json!("x")), accept(Value::Null), json!({})] {
        assert!(decisions(&json!({ "w/a": wrong })).is_err());
    }
    let of_bytes = |bytes: usize| {
        let bare = json!({ "a": { "x": "" } }).to_string().len();
        decisions(&json!({ "w/a": accept(json!({ "x": "y".repeat(bytes - bare) })) })).is_ok()
    };
    assert_eq!((of_bytes(MAX_FORM_CONTENT), of_bytes(MAX_FORM_CONTENT + 1)), (true, false));
}

// Issue 42, M5: the values of a message at the limit, and just beyond it.
#[test]
fn a_message_has_so_many_values() {
    // The message, its four members, the parameter and its zeros are values.
    let message = |zeros: usize| {
        let params = json!({ "arguments": vec![0; zeros] });
        json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": params }).to_string()
    };
    assert!(sent(&message(MAX_JSON_VALUES - 6), &[]).is_ok());
    assert_eq!(sent(&message(MAX_JSON_VALUES - 5), &[]).map(drop), Err((400, -32600)));
}

// Issue 22
#[test]
fn answers_to_questions_are_decisions() {
    let accept = |decision: &str| json!({ "action": "accept", "content": { "decision": decision } });
    let told = json!({
        "a": accept("approve"), "b": accept("deny"), "c": accept("approve_for_thread"), "d": { "action": "decline" },
        "e": { "action": "cancel" },
    });
    let (answers, is_open) = decisions(&told).unwrap();
    let answers: Vec<_> = answers.into_iter().map(|answer| (answer.id, answer.decision.unwrap())).collect();
    let expected = [
        ("a", Decision::Approve),
        ("b", Decision::Deny),
        ("c", Decision::ApproveForThread),
        ("d", Decision::Deny),
    ];
    assert_eq!(answers, expected.map(|(id, decision)| (id.to_owned(), decision)));
    assert!(is_open);
    assert_eq!(decisions(&json!({})).unwrap(), (Vec::new(), false));
    for wrong in [
        Value::Null,
        json!(7),
        json!([]),
        json!({ "a": 7 }),
        json!({ "a": {} }),
        json!({ "a": { "action": "accept" } }),
        json!({ "a": accept("expired") }),
        json!({ "a": accept("yes") }),
        json!({ "a": { "action": "Accept" } }),
    ] {
        assert!(decisions(&wrong).is_err(), "{wrong}");
    }
    let many = |count: usize| {
        let answers = (0..count).map(|at| (at.to_string(), json!({ "action": "decline" })));
        decisions(&Value::Object(answers.collect())).map(|(answers, _)| answers.len())
    };
    assert_eq!(many(crate::given::MAX_ANSWERS), Ok(crate::given::MAX_ANSWERS));
    assert!(many(crate::given::MAX_ANSWERS + 1).is_err());
}
