//! The snapshot shows what its owner chose, and nothing else.

use serde_json::{Value, json};
use wire::protocol::{
    Content, ErrorCode, MAX_SNAPSHOT_BYTES, Role, SharedConversation, Shown, StoredMessage,
};

use super::{Cut, TOKEN_BYTES, digest, offered, shown, token};

const NOTHING: Shown = Shown { tools: false, reasoning: false, files: false };
const ALL: Shown = Shown { tools: true, reasoning: true, files: true };

fn message(value: Value) -> StoredMessage {
    let mut message = json!({ "id": "MARK-id", "turn_id": "MARK-turn", "created_at": 7 });
    message.as_object_mut().unwrap().extend(value.as_object().unwrap().clone());
    serde_json::from_value(message).unwrap()
}

/// An answer with a mark in each place but its text.
fn answer() -> StoredMessage {
    let node = |id: &str, parent: Value, name: &str| {
        json!({
            "id": id, "parent_id": parent, "name": name, "title": "MARK-title", "args_preview": "MARK-args",
            "result_preview": "MARK-result", "is_error": true, "duration_ms": 1,
        })
    };
    message(json!({
        "role": "assistant", "content": "First.Last.", "finish_reason": "stop",
        "stop": { "code": "MARK-stop", "message": "MARK-why" },
        "usage": {
            "llm_calls": 1, "tool_calls": 2, "subtasks": 0, "input_tokens": 1, "cached_tokens": 0, "output_tokens": 1,
            "cost_usd": 0.5, "by_model": {},
        },
        "execution_tree": {
            "version": 1,
            "nodes": [node("c1", Value::Null, "MARK-tool"), node("c2", json!("c1"), "MARK-inner")],
            "model_calls": [{
                "id": "MARK-call", "parent_id": null, "model": "MARK-model", "started_ms": 0, "duration_ms": 1,
                "finish_reason": "stop",
            }],
            "instructions": [{ "of": "user", "content_preview": "MARK-instructions", "bytes": 1 }],
        },
        "parts": [
            { "type": "summary", "text": "MARK-summary" },
            { "type": "reasoning", "text": "MARK-reasoning" },
            { "type": "text", "text": "First." },
            { "type": "call", "tool_call_id": "c1", "args": "MARK-whole", "sources": [{ "title": "MARK-source" }] },
            { "type": "text", "text": "MARK-within", "parent_id": "c1" },
            { "type": "reasoning", "text": "MARK-thought", "parent_id": "c1" },
            { "type": "call", "tool_call_id": "c2", "parent_id": "c1" },
            { "type": "text", "text": "Last." },
        ],
    }))
}

fn question(content: &str) -> StoredMessage {
    message(json!({ "role": "user", "content": content }))
}

fn sent() -> Content {
    serde_json::from_value(json!([
        { "type": "text", "text": "Look" },
        { "type": "image", "data": "data:image/png;base64,MARKpng=" },
        { "type": "file", "name": "MARK.pdf", "data": "data:application/pdf;base64,MARKpdf=" },
    ]))
    .unwrap()
}

fn parts(message: &StoredMessage, sent: Option<&Content>, chosen: Shown) -> Value {
    serde_json::to_value(shown(message, sent, chosen)).unwrap()["parts"].clone()
}

fn text(text: &str) -> Value {
    json!({ "type": "text", "text": text })
}

// Issue 23, 7
#[test]
fn a_snapshot_shows_no_more_than_its_owner_chose() {
    let asked = question("Look\n\n[image/png, 1 kB]\n\n[MARK.pdf, 1 kB]");
    assert_eq!(parts(&asked, Some(&sent()), NOTHING), json!([text("Look")]));
    assert_eq!(parts(&answer(), None, NOTHING), json!([text("First."), text("Last.")]));

    let reasoning = Shown { reasoning: true, ..NOTHING };
    let thought = json!({ "type": "reasoning", "text": "MARK-reasoning" });
    assert_eq!(parts(&answer(), None, reasoning), json!([thought, text("First."), text("Last.")]));
    assert_eq!(parts(&asked, Some(&sent()), reasoning), json!([text("Look")]));

    let tools = Shown { tools: true, ..NOTHING };
    let called = json!({
        "type": "call", "name": "MARK-tool", "arguments": "MARK-whole", "result": "MARK-result", "is_error": true,
    });
    assert_eq!(parts(&answer(), None, tools), json!([text("First."), called, text("Last.")]));

    let files = Shown { files: true, ..NOTHING };
    assert_eq!(parts(&asked, Some(&sent()), files), json!(sent()));
    assert_eq!(parts(&answer(), None, files), json!([text("First."), text("Last.")]));
    assert_eq!(parts(&answer(), None, ALL), json!([thought, text("First."), called, text("Last.")]));
}

#[test]
fn a_message_without_parts_shows_its_text() {
    let stored = message(json!({ "role": "assistant", "content": "Yes." }));
    assert_eq!(parts(&stored, None, ALL), json!([text("Yes.")]));
    let blank = message(json!({ "role": "assistant", "content": "" }));
    assert_eq!(parts(&blank, None, ALL), json!([]));
    assert_eq!(parts(&question("Hello"), None, NOTHING), json!([text("Hello")]));
    assert_eq!(shown(&blank, None, ALL).role, Role::Assistant);
}

// The service puts the results of subtasks into the text of a turn that cannot go on.
#[test]
fn an_interrupted_answer_shows_no_result_of_a_subtask() {
    let stored = message(json!({
        "role": "assistant", "content": "[Result of a finished subtask]\n\nMARK", "finish_reason": "interrupted",
        "parts": [{ "type": "call", "tool_call_id": "c1" }],
    }));
    assert_eq!(parts(&stored, None, NOTHING), json!([]));
}

/// The history of a long turn has lost the files, and their labels would still name them.
#[test]
fn no_label_names_a_file_that_is_not_shared() {
    for (content, shown) in [
        ("Look\n\n[image/png, 34 kB]", "Look"),
        ("[a [b] c].pdf, 120 kB]\n\nLook", "Look"),
        ("Look at [a](b), 34 kB", "Look at [a](b), 34 kB"),
        ("[x, y kB]", "[x, y kB]"),
        ("[x, 3 kB] and more", "[x, 3 kB] and more"),
    ] {
        assert_eq!(parts(&question(content), None, NOTHING), json!([text(shown)]), "{content}");
        assert_eq!(parts(&question(content), None, Shown { files: true, ..NOTHING }), json!([text(content)]));
    }
    assert_eq!(parts(&question("[MARK.pdf, 34 kB]"), None, NOTHING), json!([]));
    // The page puts text files into the words.
    let attached = "Look\n\nAttached file: MARK.txt\n`````\nMARK\n`````\n\nAttached file: MARK\n`````\n`````";
    assert_eq!(parts(&question(attached), None, NOTHING), json!([text("Look")]));
    assert_eq!(parts(&question(attached), None, Shown { files: true, ..NOTHING }), json!([text(attached)]));
    let sent: Content = serde_json::from_value(json!([
        { "type": "text", "text": attached }, { "type": "image", "data": "data:image/png;base64,MARK" },
    ]))
    .unwrap();
    assert_eq!(parts(&question(attached), Some(&sent), NOTHING), json!([text("Look")]));
    let mention = "Attached file: is what I said\n";
    assert_eq!(parts(&question(mention), None, Shown { files: true, ..NOTHING }), json!([text(mention)]));
    assert_eq!(parts(&question(mention), None, NOTHING), json!([text(mention.trim())]));
    let title = |title: &str, chosen| Cut::new(title, chosen, 7).end().unwrap().title;
    let cut = format!("Look\n\n[MARK{}", "x".repeat(70));
    assert_eq!(title(&cut, NOTHING), "Look");
    assert_eq!(title(&cut, ALL), "Look");
    let words = "a".repeat(66);
    assert_eq!(
        title(&format!("{words}\n\n[MARK-secret"), NOTHING),
        words,
        "80 characters, cut within the name"
    );
    assert_eq!(title("[MARK.pdf, 34 kB]", NOTHING), "");
    assert_eq!(title("Look\n\nAttached file: MARK.t", NOTHING), "Look");
    assert_eq!(title("[draft] Pears", NOTHING), "[draft] Pears");
    // Issue 53, fault 2: a thread that began with a file alone has the name of that file.
    for (content, name) in
        [("Attached file: MARK.txt\n`````\nx\n`````", "MARK.txt"), ("[MARK.pdf, 3 kB]", "MARK.pdf")]
    {
        let titled = |chosen, title| {
            let mut cut = Cut::new(title, chosen, 7);
            cut.add(&question(content), None).unwrap();
            cut.end().unwrap().title
        };
        assert_eq!(
            (titled(NOTHING, name), titled(ALL, name), titled(NOTHING, "Pears")),
            (String::new(), name.to_owned(), "Pears".to_owned())
        );
    }
}

#[test]
fn a_snapshot_is_the_answer_to_its_readers() {
    let mut cut = Cut::new("Pears", NOTHING, 9);
    cut.add(&question("Hello"), None).unwrap();
    cut.add(&answer(), None).unwrap();
    let snapshot = cut.end().unwrap();
    assert_eq!((snapshot.title.as_str(), snapshot.messages), ("Pears", 2));
    let read: Value = serde_json::from_str(&snapshot.content).unwrap();
    let expected = json!({
        "title": "Pears", "shared_at": 9,
        "messages": [
            { "role": "user", "created_at": 7, "parts": [text("Hello")] },
            { "role": "assistant", "created_at": 7, "parts": [text("First."), text("Last.")] },
        ],
    });
    assert_eq!(read, expected);
    assert!(!snapshot.content.contains("MARK"), "{}", snapshot.content);
}

// At the limit, and just beyond it.
#[test]
fn a_snapshot_has_a_limit() {
    let empty = SharedConversation { title: String::new(), shared_at: 9, messages: Vec::new() };
    let around = serde_json::to_string(&empty).unwrap().len()
        + serde_json::to_string(&shown(&question(""), None, NOTHING)).unwrap().len()
        + serde_json::to_string(&text("")).unwrap().len();
    let of = |chars: usize| {
        let mut cut = Cut::new("", NOTHING, 9);
        cut.add(&question(&"x".repeat(chars)), None)?;
        cut.end()
    };
    let longest = MAX_SNAPSHOT_BYTES - around;
    assert_eq!(of(longest).map(|snapshot| snapshot.content.len()), Ok(MAX_SNAPSHOT_BYTES));
    assert_eq!(of(longest + 1).unwrap_err().code, ErrorCode::ShareTooLarge);
    // A long conversation is refused before it is read to its end.
    let mut cut = Cut::new("", NOTHING, 9);
    cut.add(&question(&"x".repeat(MAX_SNAPSHOT_BYTES / 2)), None).unwrap();
    assert!(cut.add(&question(&"x".repeat(MAX_SNAPSHOT_BYTES / 2)), None).is_err());
}

#[test]
fn a_token_is_found_by_its_digest_alone() {
    let token = token([0xfb; TOKEN_BYTES]);
    assert_eq!(token.len(), 22);
    let known = digest(&token).unwrap();
    assert_eq!(known.len(), 64);
    assert!(!known.contains(&token));
    assert_ne!(digest("AAAAAAAAAAAAAAAAAAAAAA"), Some(known));
    for wrong in ["", "short", "AAAAAAAAAAAAAAAAAAAAAAA", "AAAAAAAAAAAAAAAAAAAAA=", "AAAAAAAAAAAAAAAAAAAAA%"]
    {
        assert_eq!(digest(wrong), None, "{wrong}");
    }
}

#[test]
fn the_operator_can_switch_it_off() {
    let read = |value: Option<&str>| offered(|name| value.filter(|_| name == "SHARES").map(str::to_owned));
    for (value, expected) in [(None, true), (Some(""), true), (Some(" on "), true), (Some("off"), false)] {
        assert_eq!(read(value), Ok(expected), "{value:?}");
    }
    for wrong in ["OFF", "false", "no"] {
        assert!(read(Some(wrong)).unwrap_err().contains("SHARES"), "{wrong}");
    }
}
