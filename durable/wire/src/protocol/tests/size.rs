//! The size of a body: its values and its depth.

use serde_json::json;

use super::*;

// Issue 42, M5: the values of a body at the limit, and just beyond it.
#[test]
fn a_body_has_so_many_values() {
    // The body, its two members and the list are values; so is each zero.
    let body = |zeros: usize| json!({ "content": "Hello", "more": vec![0; zeros] }).to_string();
    assert!(ChatRequest::parse(body(MAX_JSON_VALUES - 3).as_bytes()).is_ok());
    let (code, field) = refused(&body(MAX_JSON_VALUES - 2));
    assert_eq!((code.as_str(), field), ("invalid_request", None));
    // Signs within a text are no values.
    let text = json!({ "content": "\\\",[{".repeat(MAX_JSON_VALUES) }).to_string();
    assert!(ChatRequest::parse(text.as_bytes()).is_ok());
    let deep = |levels: usize| {
        format!(r#"{{"content": "Hello", "more": {}{}}}"#, "[".repeat(levels), "]".repeat(levels))
    };
    assert!(ChatRequest::parse(deep(MAX_JSON_DEPTH - 1).as_bytes()).is_ok());
    assert_eq!(refused(&deep(MAX_JSON_DEPTH)).0, "invalid_json");
}
