//! The content of messages: parts, limits, refusals.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::*;

fn url(media_type: &str, bytes: &[u8]) -> String {
    format!("data:{media_type};base64,{}", STANDARD.encode(bytes))
}

fn content(content: Value) -> Result<Content, (String, Option<String>)> {
    let body = json!({ "content": content }).to_string();
    let request = ChatRequest::parse(body.as_bytes());
    request.map(|request| request.content).map_err(|error| (error.detail.clone(), error.field.clone()))
}

// Issue 22
#[test]
fn a_text_stands_before_any_message() {
    let image = json!({"type": "image", "data": url("image/png", b"\x89PNG\r\n\x1a\n")});
    for (message, text) in [
        (json!("Sum it up"), "A report.\n\nSum it up"),
        (json!([{"type": "text", "text": "Look"}, image]), "A report.\n\nLook\n\n[image/png, 1 kB]"),
    ] {
        let mut message = content(message).unwrap();
        message.put_before("A report.".to_owned());
        assert_eq!(message.text(), text);
    }
}

#[test]
fn parts_of_a_message() {
    let png = url("image/png", b"\x89PNG\r\n\x1a\n");
    let read = content(json!([
        {"type": "text", "text": "Look:"},
        {"type": "image", "data": png},
        {"type": "file", "name": "ü.txt", "data": url("text/plain;charset=utf-8", "größe".as_bytes())},
        {"type": "file", "name": "a.json", "data": url("application/json", b"{}")},
        {"type": "file", "name": "a.pdf", "data": url("application/pdf", b"%PDF-1.7")},
    ]))
    .unwrap();
    assert_eq!(read.text(), "Look:\n\n[image/png, 1 kB]\n\n[ü.txt, 1 kB]\n\n[a.json, 1 kB]\n\n[a.pdf, 1 kB]");
    assert!(read.needs_vision());
    let ContentPart::File { data, .. } = &read.parts()[2] else { panic!("{read:?}") };
    assert_eq!(data.file_text().as_deref(), Some("größe"));
    // The service stores the content as the client sent it, and plain text stays a string.
    assert_eq!(serde_json::from_value::<Content>(serde_json::to_value(&read).unwrap()).unwrap(), read);
    assert_eq!(serde_json::to_value(content(json!("x")).unwrap()).unwrap(), json!("x"));
    for (media_type, magic) in
        [("image/jpeg", &b"\xFF\xD8\xFF"[..]), ("image/gif", b"GIF89a"), ("image/webp", b"RIFF\0\0\0\0WEBP")]
    {
        let alone = content(json!([{"type": "image", "data": url(media_type, magic)}])).unwrap();
        assert_eq!(alone.text(), format!("[{media_type}, 1 kB]"), "an image says enough");
    }
    let text = content(json!([{"type": "file", "name": "a", "data": url("text/csv", b"a,b")}])).unwrap();
    assert!(!text.needs_vision(), "every model reads text");
}

#[test]
fn a_bad_part_is_named() {
    let image = |data: &str| json!([{"type": "text", "text": "x"}, {"type": "image", "data": data}]);
    let file = |name: &str, data: &str| json!([{"type": "file", "name": name, "data": data}]);
    let table = [
        (json!([{"type": "image"}]), "content[0].data"),
        (json!([{"type": "text", "text": "x"}, {"type": "image", "data": 1}]), "content[1].data"),
        (json!([{"type": "file", "data": url("text/plain", b"x")}]), "content[0].name"),
        (json!([{"type": "file", "name": null, "data": url("text/plain", b"x")}]), "content[0].name"),
        (json!([{"type": "text", "content": "x"}]), "content[0].text"),
        (json!([{"type": 0, "text": "x"}]), "content[0].type"),
        (json!([{"type": "video", "data": "x"}]), "content[0].type"),
        (json!([{"text": "x"}]), "content[0].type"),
        (json!(["x"]), "content[0]"),
        (json!([["text", "x"]]), "content[0]"),
        (json!({"type": "text", "text": "x"}), "content"),
        (json!(null), "content"),
        (image("https://example.com/a.png"), "content[1].data"),
        (image("data:image/png,abc"), "content[1].data"),
        (image(&url("image/svg+xml", b"<svg/>")), "content[1].data"),
        (image(&url("image/png", b"GIF89a")), "content[1].data"),
        (image("data:image/png;base64,!!!"), "content[1].data"),
        (image("data:image/png;base64,"), "content[1].data"),
        (file("", &url("text/plain", b"x")), "content[0].name"),
        (file("a\nb", &url("text/plain", b"x")), "content[0].name"),
        (file(&"x".repeat(256), &url("text/plain", b"x")), "content[0].name"),
        (file("a.exe", &url("application/x-msdownload", b"MZ")), "content[0].data"),
        (file("a.txt", &url("text/plain", b"\xff")), "content[0].data"),
        (file("a.pdf", &url("application/pdf", b"PDF")), "content[0].data"),
        (
            json!([{"type": "text", "text": ""}, {"type": "file", "name": "a", "data": url("text/plain", b" ")}]),
            "ok",
        ),
    ];
    for (parts, field) in table {
        let shown = parts.to_string();
        let refused = content(parts).map_or_else(|(_, field)| field, |_| Some("ok".into()));
        assert_eq!(refused.as_deref(), Some(field), "{shown}");
    }
}

#[test]
fn the_parts_of_a_message_are_bounded() {
    let png = |bytes: usize| {
        let image = [&b"\x89PNG"[..], &vec![0; bytes - 4]].concat();
        json!({"type": "image", "data": url("image/png", &image)})
    };
    assert!(content(json!([png(MAX_ATTACHED_BYTES)])).is_ok());
    let (detail, field) =
        content(json!([png(MAX_ATTACHED_BYTES / 2), png(MAX_ATTACHED_BYTES / 2 + 3)])).unwrap_err();
    assert_eq!((field.as_deref(), detail.contains("600000 bytes")), (Some("content"), true), "{detail}");
    assert!(content(Value::Array(vec![png(9); MAX_ATTACHMENTS])).is_ok());
    let (detail, field) = content(Value::Array(vec![png(9); MAX_ATTACHMENTS + 1])).unwrap_err();
    assert_eq!((field.as_deref(), detail.contains("more than 8")), (Some("content"), true), "{detail}");
    // Issue 42, M5.
    let words = json!({"type": "text", "text": "x"});
    assert!(content(Value::Array(vec![words.clone(); MAX_PARTS])).is_ok());
    let (detail, field) = content(Value::Array(vec![words; MAX_PARTS + 1])).unwrap_err();
    assert_eq!((field.as_deref(), detail.contains("at most 256 parts")), (Some("content"), true), "{detail}");
    // A text file counts as text.
    let text =
        |chars: usize| json!({"type": "file", "name": "a", "data": url("text/plain", &vec![b'x'; chars])});
    assert!(content(json!([{"type": "text", "text": "x"}, text(MAX_CONTENT_CHARS - 1)])).is_ok());
    let (detail, _) = content(json!([{"type": "text", "text": "x"}, text(MAX_CONTENT_CHARS)])).unwrap_err();
    assert!(detail.contains("100000 characters"), "{detail}");
}
