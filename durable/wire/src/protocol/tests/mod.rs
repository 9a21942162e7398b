use serde_json::{Value, json};
use uuid::Uuid;

use super::*;

fn refused(body: &str) -> (String, Option<String>) {
    let error = ChatRequest::parse(body.as_bytes()).unwrap_err();
    (error.code.as_str().to_owned(), error.field.clone())
}

#[test]
fn a_body_of_invalid_utf8_is_refused() {
    let error = ChatRequest::parse(b"{\"content\": \"\xff\"}").unwrap_err();
    assert_eq!((error.code, error.field.clone()), (ErrorCode::InvalidJson, None));
}

// Issue 44
#[test]
fn the_name_of_a_time_zone_has_at_most_64_bytes() {
    let zone = |name: &str| json!({ "content": "Hello", "time_zone": name }).to_string();
    let parsed = |body: &str| ChatRequest::parse(body.as_bytes()).unwrap().time_zone;
    assert_eq!(parsed(&zone(&"x".repeat(64))), Some("x".repeat(64)));
    assert_eq!(parsed(r#"{"content": "Hello", "time_zone": null}"#), None);
    let bad = ("invalid_request".to_owned(), Some("time_zone".to_owned()));
    assert_eq!(refused(&zone(&"é".repeat(33))), bad);
    assert_eq!(refused(r#"{"content": "Hello", "time_zone": 1}"#), bad);
}

// Issue 19, 4
// Issue 20, 4.
#[test]
fn an_agent_is_named_shortly_and_has_no_mode() {
    let name = |bytes: usize| format!(r#"{{"content": "Hello", "agent": "{}"}}"#, "x".repeat(bytes));
    assert!(ChatRequest::parse(name(32).as_bytes()).is_ok());
    assert_eq!(refused(&name(33)).1.as_deref(), Some("agent"));
    let planning = r#"{"content": "Hello", "agent": "a", "mode_profile": "swarm"}"#;
    assert_eq!(refused(planning).1.as_deref(), Some("agent"));
}

#[test]
fn a_continuation_stands_instead_of_a_message() {
    let id = r#""continue": "0c0ffee0-0000-4000-8000-000000000000""#;
    let thread = r#""thread_id": "0c0ffee0-0000-4000-8000-000000000002""#;
    let replaces = r#""replaces_message_id": "0c0ffee0-0000-4000-8000-000000000001""#;
    let request = ChatRequest::parse(format!("{{{id}, {thread}}}").as_bytes()).unwrap();
    assert_eq!((request.content, request.continued.is_some()), (CONTINUE.into(), true));
    for (members, field) in [
        (format!(r#"{id}, {thread}, "content": "x""#), "continue"),
        (format!(r#"{id}, {thread}, "content": """#), "continue"),
        (format!("{id}, {thread}, {replaces}"), "continue"),
        (format!(r#"{id}, {thread}, "if_running": "queue""#), "if_running"),
        (id.to_owned(), "thread_id"),
        (format!(r#"{id}, "thread_id": null"#), "thread_id"),
        (format!(r#"{thread}, "continue": "7""#), "continue"),
    ] {
        let told = refused(&format!("{{{members}}}"));
        assert_eq!(told, ("invalid_request".to_owned(), Some(field.to_owned())), "{members}");
    }
}

#[test]
fn a_bad_body_names_its_member() {
    let long = format!(r#"{{"content": "{}"}}"#, "x".repeat(MAX_CONTENT_CHARS + 1));
    let deep = format!(r#"{{"content": "x", "extra": {}1{}}}"#, "[".repeat(64), "]".repeat(64));
    for (body, code, field) in [
        ("", "invalid_json", None),
        (" \n", "invalid_json", None),
        ("{", "invalid_json", None),
        (r#"{"content": "x"} y"#, "invalid_json", None),
        (&deep, "invalid_json", None),
        ("[]", "invalid_request", None),
        (r#"["x"]"#, "invalid_request", None),
        (r#"{"content": "x", "chat_context": ["thread"]}"#, "invalid_request", Some("chat_context")),
        (r#"{"content": "x", "browser_context": [null]}"#, "invalid_request", Some("browser_context")),
        (
            r#"{"content": "x", "client_tools": [["ui_a", "A tool.", {}]]}"#,
            "invalid_request",
            Some("client_tools[0]"),
        ),
        ("{}", "invalid_request", Some("content")),
        (r#"{"content": 1}"#, "invalid_request", Some("content")),
        (
            r#"{"content": "a", "chat_context": {"entity_id": "a\u0007"}}"#,
            "invalid_request",
            Some("chat_context.entity_id"),
        ),
        (r#"{"content": []}"#, "invalid_request", Some("content")),
        (&long, "invalid_request", Some("content")),
        (r#"{"content": "x", "thread_id": "7"}"#, "invalid_request", Some("thread_id")),
        (r#"{"content": "x", "request_seq": -1}"#, "invalid_request", Some("request_seq")),
        (r#"{"content": "x", "request_seq": 9007199254740992}"#, "invalid_request", Some("request_seq")),
        (
            r#"{"content": "x", "chat_context": {"kind": "swarm"}}"#,
            "invalid_request",
            Some("chat_context.kind"),
        ),
        (r#"{"content": "x", "chat_context": {"kind": 1}}"#, "invalid_request", Some("chat_context.kind")),
        (
            r#"{"content": "x", "collections": ["1", "2", "3", "4", "5", "6", "7", "8", "9"]}"#,
            "invalid_request",
            Some("collections"),
        ),
        (r#"{"content": "x", "collections": [1]}"#, "invalid_request", Some("collections[0]")),
    ] {
        let shown: String = body.chars().take(60).collect();
        assert_eq!(refused(body), (code.to_owned(), field.map(str::to_owned)), "{shown}");
    }
}

// N-020
#[test]
fn a_refusal_says_the_right_form_and_names_no_rust_type() {
    let with = |member: &str, value: Value| json!({"content": "x", member: value}).to_string();
    let part = |part: Value| json!({ "content": [part] }).to_string();
    for (body, detail) in [
        (with("request_seq", json!("7")), "must be a whole number that is not negative"),
        (with("request_seq", json!(-1)), "must be a whole number that is not negative"),
        (with("request_seq", json!(1.5)), "must be a whole number that is not negative"),
        (with("memory_enabled", json!("yes, expected so")), "must be true or false"),
        (with("thread_id", json!("7")), "must be a UUID"),
        (with("collections", json!("c")), "must be an array"),
        (with("collections", json!([1])), "must be a string"),
        (with("chat_context", json!("thread")), "must be an object"),
        (with("chat_context", json!({"kind": "swarm"})), "must be `thread` or `editor`"),
        (with("client_tools", json!({})), "must be an array"),
        (with("client_tools", json!([{"name": "ui_a"}])), "this member is required"),
        (
            with("client_tools", json!([{"name": "ui_a", "description": "d", "input_schema": []}])),
            "must be an object",
        ),
        (with("media_generation", json!(1)), "must be an object"),
        (
            with("media_generation", json!({"mode": "image"})),
            "media cannot be generated here: the one mode is `chat`",
        ),
        (
            with("media_generation", json!({"mode": 1})),
            "media cannot be generated here: the one mode is `chat`",
        ),
        (with("model", json!({})), "must be a string"),
        (json!({"content": 1}).to_string(), "must be a string or an array of parts"),
        (part(json!({"type": "file", "data": "x"})), "this member is required"),
        (part(json!({"type": "image", "data": 1})), "must be a string"),
        (part(json!({"type": "video"})), "must be `text`, `image` or `file`"),
        (part(json!("x")), "must be an object"),
        ("[]".to_owned(), "the body must be an object"),
        ("{\"content\": ".to_owned(), "the body ends before it is complete"),
        ("{\"content\": \"x\"} y".to_owned(), "the body is not JSON from line 1, column 18 on"),
    ] {
        let error = ChatRequest::parse(body.as_bytes()).unwrap_err();
        assert_eq!(error.detail, detail, "{body}");
    }
    for (body, place) in [
        (b"\xff".as_slice(), "line 1, column 1"),
        (b"{\"content\":\n\n \"\xc3\xa9\xff\"}", "line 3, column 5"),
    ] {
        let error = ChatRequest::parse(body).unwrap_err();
        assert_eq!(error.code, ErrorCode::InvalidJson);
        assert_eq!(error.detail, format!("the body is not JSON from {place} on"));
    }
}

// Long: a table with a row for each body, of members that get a value of each JSON type.
#[test]
fn no_refusal_names_a_rust_type() {
    type Parse = fn(&[u8]) -> Result<(), ApiError>;
    let bodies: [(&[&str], Parse); 9] = [
        (
            &[
                "content",
                "thread_id",
                "turn_id",
                "request_seq",
                "chat_context",
                "mode_profile",
                "browser_context",
                "cancel_on_disconnect",
                "model",
                "memory_enabled",
                "collections",
                "workflow_target",
                "workflow_id",
                "media_generation",
                "client_tools",
                "include",
                "replaces_message_id",
                "workspace",
            ],
            |body| ChatRequest::parse(body).map(|_| ()),
        ),
        (&["title", "current_turn_id", "pinned"], |body| ThreadChange::parse(body).map(|_| ())),
        (&["name", "tenant", "scopes", "user", "expires_at"], |body| NewKey::parse(body, 1_000).map(|_| ())),
        (&["name", "description"], |body| NewCollection::parse(body).map(|_| ())),
        (&["name", "description"], |body| ProjectChange::parse(body).map(|_| ())),
        (&["title", "notes", "status"], |body| TaskChange::parse(body).map(|_| ())),
        (&["title", "content"], |body| DocumentChange::parse(body).map(|_| ())),
        (&["tool_call_id", "result", "is_error"], |body| ToolResult::parse(body).map(|_| ())),
        (&["approval_id", "decision", "content"], |body| Approval::parse(body).map(|_| ())),
    ];
    let values = [
        json!(null),
        json!(true),
        json!(-1),
        json!(1.5),
        json!("x"),
        json!([]),
        json!([{}]),
        json!({}),
        json!({"kind": 1}),
    ];
    for (members, parse) in bodies {
        for member in members {
            for value in &values {
                let body = json!({ *member: value }).to_string();
                let Err(error) = parse(body.as_bytes()) else { continue };
                for word in [
                    "struct", "enum", "u64", "u32", "usize", "f64", "i64", "bool ", "at line", "variant",
                    "Content", "sequence", "a map",
                ] {
                    assert!(!error.detail.contains(word), "{body}: {}", error.detail);
                }
            }
        }
    }
}

#[test]
fn a_title_is_one_line() {
    let parse = |title: &str| ThreadChange::parse(json!({ "title": title }).to_string().as_bytes());
    let words = |title: &str| match parse(title).unwrap() {
        Change::Title(title) => title,
        other => panic!("{other:?}"),
    };
    assert_eq!(words(" a\n\tb\u{0}c  "), "a b c");
    assert_eq!(words(&"ä".repeat(200)).chars().count(), 200);
    for title in ["", " \n", &"ä".repeat(201)] {
        assert_eq!(parse(title).unwrap_err().field.as_deref(), Some("title"), "{title}");
    }
    for (body, code) in
        [("", "invalid_json"), ("{}", "invalid_request"), (r#"{"title": 1}"#, "invalid_request")]
    {
        assert_eq!(ThreadChange::parse(body.as_bytes()).unwrap_err().code.as_str(), code, "{body}");
    }
}

// Issue 19, item 2: a change of a thread names a title or a turn, and not both.
#[test]
fn a_path_is_chosen_by_a_turn() {
    let turn = Uuid::from_u128(7);
    let parse = |body: Value| ThreadChange::parse(body.to_string().as_bytes());
    assert_eq!(parse(json!({ "current_turn_id": turn })), Ok(Change::Path(turn)));
    assert_eq!(parse(json!({ "current_turn_id": turn, "title": null })), Ok(Change::Path(turn)));
    for (body, field) in [
        (json!({ "current_turn_id": turn, "title": "x" }), "title"),
        (json!({ "current_turn_id": null }), "title"),
        (json!({ "current_turn_id": "x" }), "current_turn_id"),
    ] {
        assert_eq!(parse(body.clone()).unwrap_err().field.as_deref(), Some(field), "{body}");
    }
}

// N-006 N-018 N-024 N-110 N-186 N-220 N-227
#[test]
fn members_without_a_meaning_are_ignored() {
    let plain = ChatRequest::parse(br#"{"content": "x"}"#).unwrap();
    assert_eq!(plain.kind(), ContextKind::Thread);
    let body =
        json!({"content": "x", "tools": ["write_secret"], "agent_mode": true, "mode": "swarm"}).to_string();
    let mut odd = ChatRequest::parse(body.as_bytes()).unwrap();
    assert_eq!((odd.ignored(), plain.ignored()), (vec!["agent_mode", "tools"], vec![]), "the log names them");
    (odd.agent_mode, odd.tools) = (None, None);
    assert_eq!(odd, plain);
    let longest = format!(r#"{{"content": "{}"}}"#, "ä".repeat(MAX_CONTENT_CHARS));
    assert!(ChatRequest::parse(longest.as_bytes()).is_ok());
    let parts = r#"{"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}"#;
    assert_eq!(ChatRequest::parse(parts.as_bytes()).unwrap().content.text(), "a\n\nb");
}

#[test]
fn owners_share_no_object() {
    let owner = |issuer: &str, tenant: &str, user: &str| Owner {
        issuer: issuer.to_owned(),
        tenant: tenant.to_owned(),
        user: user.to_owned(),
    };
    let thread = Uuid::from_u128(7);
    let names: std::collections::BTreeSet<String> = [
        owner("key", "a", "bc"),
        owner("key", "ab", "c"),
        owner("keya", "b", "c"),
        owner("key", "a", "b"),
        owner("key", "", "abc"),
        owner("anonymous", "a", "bc"),
    ]
    .iter()
    .map(|owner| owner.object_name(thread))
    .collect();
    assert_eq!(names.len(), 6);
    assert!(names.iter().all(|name| name.len() == 64));
    let one = owner("key", "a", "b");
    let tokens =
        [one.token(), owner("key", "ab", "").token(), one.token_of(&["x"]), one.token_of(&["x", "y"])];
    assert_eq!(std::collections::BTreeSet::from(tokens.clone()).len(), 4);
    assert!(tokens.iter().all(|token| token.len() == 32));
    assert_ne!(one.memory_id("t1", "call"), one.memory_id("t2", "call"));
    assert_eq!(one.derived_thread(thread), one.derived_thread(thread));
    assert_ne!(one.derived_thread(thread), one.derived_thread(Uuid::from_u128(8)));
    assert_ne!(one.derived_thread(thread), owner("key", "a", "c").derived_thread(thread));
}

// N-126
#[test]
fn previews_are_cut_by_characters() {
    assert_eq!(preview("short"), "short");
    assert_eq!(preview(&"ä".repeat(PREVIEW_CHARS)).chars().count(), PREVIEW_CHARS);
    let cut = preview(&"ä".repeat(PREVIEW_CHARS + 1));
    assert_eq!(cut.chars().count(), PREVIEW_CHARS);
    assert!(cut.ends_with('…'));
}

mod content;
mod envelope;
mod key;
mod size;
mod typescript;
