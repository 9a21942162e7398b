use serde_json::{Value, json};

use super::super::tests::{discovery, provider};
use super::{AGAIN_MS, Discovery, FRESH_MS, GRACE_MS, Known, Lookup, address};

fn document(more: Value) -> Vec<u8> {
    let mut document = json!({
        "issuer": "https://id.acme.example",
        "authorization_endpoint": "https://id.acme.example/authorize",
        "token_endpoint": "https://id.acme.example/token",
        "jwks_uri": "https://id.acme.example/jwks",
        "claims_supported": ["sub"],
    });
    for (name, value) in more.as_object().unwrap() {
        match value {
            Value::Null => document.as_object_mut().unwrap().remove(name),
            value => document.as_object_mut().unwrap().insert(name.clone(), value.clone()),
        };
    }
    document.to_string().into_bytes()
}

#[test]
fn a_document_is_at_the_issuers_address() {
    for (issuer, expected) in [
        ("https://id.acme.example", "https://id.acme.example/.well-known/openid-configuration"),
        ("https://id.acme.example/", "https://id.acme.example/.well-known/openid-configuration"),
        ("https://a.example/t/1/v2.0", "https://a.example/t/1/v2.0/.well-known/openid-configuration"),
    ] {
        assert_eq!(address(&provider(json!({ "issuer": issuer }))), expected);
    }
}

#[test]
fn a_document_is_of_the_issuer_and_names_secure_addresses() {
    let provider = provider(json!({}));
    assert_eq!(Discovery::parse(&document(json!({})), &provider), Ok(discovery()));
    for bad in [
        json!({ "issuer": "https://id.acme.example/" }),
        json!({ "issuer": "https://evil.example" }),
        json!({ "issuer": null }),
        json!({ "token_endpoint": null }),
        json!({ "token_endpoint": "http://id.acme.example/token" }),
        json!({ "token_endpoint": "http://127.0.0.1:1@evil.example/token" }),
        json!({ "jwks_uri": "http://id.acme.example/jwks" }),
        json!({ "authorization_endpoint": "javascript:alert(1)" }),
        json!({ "authorization_endpoint": "https://a.example/#x" }),
    ] {
        assert!(Discovery::parse(&document(bad.clone()), &provider).is_err(), "{bad}");
    }
    assert!(Discovery::parse(b"<html>", &provider).is_err());
    let local = json!({ "token_endpoint": "http://localhost:4000/token" });
    assert!(Discovery::parse(&document(local), &provider).is_ok());
}

#[test]
fn a_document_says_how_the_secret_is_sent() {
    let basic = "client_secret_basic";
    for (methods, in_body) in [
        (json!(null), false),
        (json!([basic]), false),
        (json!(["client_secret_post", basic]), false),
        (json!(["client_secret_post"]), true),
        (json!(["private_key_jwt"]), false),
    ] {
        let document = document(json!({
            "token_endpoint_auth_methods_supported": methods,
            "authorization_response_iss_parameter_supported": true,
        }));
        let found = Discovery::parse(&document, &provider(json!({}))).unwrap();
        assert_eq!((found.secret_in_body, found.answers_name_issuer), (in_body, true), "{methods}");
    }
}

#[test]
fn a_document_serves_for_an_hour_and_longer_while_it_cannot_be_fetched() {
    let found = || Lookup::Found(discovery());
    let mut known = Known::default();
    assert_eq!(known.look(0), Lookup::Fetch);
    known.failed(1_000);
    assert_eq!(known.look(999 + AGAIN_MS), Lookup::Unavailable);
    assert_eq!(known.look(1_000 + AGAIN_MS), Lookup::Fetch);
    known.fetched(discovery(), 20_000);
    assert_eq!(known.look(20_000 + FRESH_MS - 1), found());
    let later = 20_000 + FRESH_MS;
    assert_eq!(known.look(later), Lookup::Fetch);
    known.failed(later);
    assert_eq!(known.look(later + AGAIN_MS - 1), found(), "the old one goes on meanwhile");
    assert_eq!(known.look(later + AGAIN_MS), Lookup::Fetch);
    let last = 20_000 + GRACE_MS;
    known.failed(last - 1);
    assert_eq!(known.look(last - 1), found());
    assert_eq!(known.look(last), Lookup::Unavailable);
}
