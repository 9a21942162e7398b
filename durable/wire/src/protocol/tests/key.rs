//! The body that makes an API key.

use serde_json::json;

use super::*;

#[test]
fn a_new_key_is_checked() {
    let parse = |more: serde_json::Value| {
        let mut body = json!({ "name": "ci" });
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        NewKey::parse(body.to_string().as_bytes(), 1_000)
            .map_err(|error| error.field.clone().unwrap_or_default())
    };
    let (longest, longer) = ("é".repeat(MAX_KEY_NAME_CHARS), "é".repeat(MAX_KEY_NAME_CHARS + 1));
    for good in [
        json!({}),
        json!({ "name": longest, "user": "ada.l-o_v@e+1", "scopes": ["read"], "expires_at": 1_001 }),
        json!({ "user": null, "scopes": null, "expires_at": null, "more": 1 }),
        json!({ "scopes": vec!["read"; MAX_SCOPES] }),
        json!({ "expires_at": (1_u64 << 53) - 1 }),
    ] {
        assert!(parse(good.clone()).is_ok(), "{good}");
    }
    for (bad, field) in [
        (json!({ "name": " " }), "name"),
        (json!({ "name": longer }), "name"),
        (json!({ "name": "a\nb" }), "name"),
        (json!({ "name": 7 }), "name"),
        (json!({ "user": "" }), "user"),
        (json!({ "user": "a:b" }), "user"),
        (json!({ "user": "é" }), "user"),
        (json!({ "user": "a".repeat(MAX_KEY_NAME_CHARS + 1) }), "user"),
        (json!({ "scopes": "read" }), "scopes"),
        (json!({ "scopes": [7] }), "scopes[0]"),
        (json!({ "scopes": vec!["read"; MAX_SCOPES + 1] }), "scopes"),
        (json!({ "expires_at": 1_000 }), "expires_at"),
        (json!({ "expires_at": 1_u64 << 53 }), "expires_at"),
        (json!({ "expires_at": "never" }), "expires_at"),
    ] {
        assert_eq!(parse(bad.clone()), Err(field.to_owned()), "{bad}");
    }
}
