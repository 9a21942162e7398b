use super::{AGAIN_MS, FRESH_MS, GRACE_MS, KeySet, Known, Lookup};
use crate::auth::jwt::Algorithm::{ES256, RS256};
use serde_json::{Value, json};

fn rsa(kid: &str, bytes: usize) -> Value {
    json!({ "kid": kid, "kty": "RSA", "n": "n".repeat((bytes * 4).div_ceil(3)), "e": "AQAB" })
}

fn ec(kid: &str) -> Value {
    json!({ "kid": kid, "kty": "EC", "crv": "P-256", "x": "x", "y": "y" })
}

fn with(mut key: Value, member: &str, value: &str) -> Value {
    key[member] = json!(value);
    key
}

fn set(keys: &[Value], algorithm: super::Algorithm) -> KeySet {
    KeySet::parse(json!({ "keys": keys, "more": 1 }).to_string().as_bytes(), algorithm).unwrap()
}

#[test]
fn only_keys_for_this_algorithm_are_taken() {
    let odd = [json!(7), json!({}), json!({ "kid": "odd", "kty": 7 })];
    let keys = [
        rsa("good", 256),
        rsa("short", 255),
        with(rsa("for-sig", 256), "use", "sig"),
        with(rsa("for-enc", 256), "use", "enc"),
        with(rsa("rs256", 256), "alg", "RS256"),
        with(rsa("rs512", 256), "alg", "RS512"),
        json!({ "kid": "symmetric", "kty": "oct", "k": "c2VjcmV0" }),
        ec("curve"),
        with(ec("other-curve"), "crv", "P-384"),
    ];
    let keys = [&odd[..], &keys].concat();
    let kids = |algorithm| {
        let set = set(&keys, algorithm);
        set.0.iter().map(|key| key.kid.clone().unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(kids(RS256), ["good", "for-sig", "rs256"]);
    assert_eq!(kids(ES256), ["curve"]);
}

#[test]
fn a_key_is_found_by_its_id() {
    let (one, two) = (set(&[ec("a")], ES256), set(&[ec("a"), ec("b")], ES256));
    assert_eq!(two.find(Some("b")).unwrap().kid.as_deref(), Some("b"));
    assert_eq!(two.find(Some("c")), None);
    assert_eq!(two.find(None), None, "which one?");
    assert!(one.find(None).is_some(), "there is but one");
    assert_eq!(one.find(Some("b")), None);
    // The import gets no private member, and no member that could contradict it.
    let imported = serde_json::to_value(one.find(None).unwrap()).unwrap();
    assert_eq!(imported, json!({ "kty": "EC", "crv": "P-256", "x": "x", "y": "y" }));
}

#[test]
fn a_malformed_set_is_an_error() {
    for json in ["", "{", "[]", "{}", r#"{"keys": {}}"#, "<html>"] {
        assert!(KeySet::parse(json.as_bytes(), RS256).is_err(), "{json}");
    }
    let many: Vec<Value> = (0..100).map(|n| ec(&n.to_string())).collect();
    assert_eq!(set(&many, ES256).0.len(), 64);
}

fn look(known: &Known, kid: &str, at: u64) -> &'static str {
    match known.look(Some(kid), at) {
        Lookup::Key(_) => "key",
        Lookup::Unknown => "unknown",
        Lookup::Fetch => "fetch",
        Lookup::Unavailable => "unavailable",
    }
}

#[test]
fn one_request_asks_the_issuer_and_the_others_do_not_wait_for_it() {
    // No set is known yet: one of many concurrent requests asks, and the others are told to try again.
    let mut known = Known::default();
    assert_eq!(look(&known, "a", 1_000), "fetch");
    known.asks(1_000);
    assert_eq!(look(&known, "a", 1_000), "unavailable");
    assert_eq!(look(&known, "a", 1_000 + AGAIN_MS - 1), "unavailable");
    // A request that was lost on the way delays the next one no longer than that.
    assert_eq!(look(&known, "a", 1_000 + AGAIN_MS), "fetch");

    // The set is old: its keys serve while one request asks.
    known.fetched(set(&[ec("a")], ES256), 1_000);
    let old = 1_000 + FRESH_MS;
    assert_eq!(look(&known, "a", old), "fetch");
    known.asks(old);
    assert_eq!(look(&known, "a", old), "key");
    assert_eq!(look(&known, "b", old), "unavailable", "it may be the new one");
    known.fetched(set(&[ec("b")], ES256), old);
    assert_eq!((look(&known, "a", old), look(&known, "b", old)), ("unknown", "key"));

    // A set that is too old does not serve.
    let stale = old + GRACE_MS;
    known.asks(stale);
    assert_eq!(look(&known, "b", stale), "unavailable");
}

#[test]
fn a_set_is_fetched_when_it_is_old_or_lacks_the_key() {
    let mut known = Known::default();
    assert_eq!(known.look(Some("a"), 0), Lookup::Fetch);
    known.fetched(set(&[ec("a")], ES256), 1_000);
    assert_eq!(look(&known, "a", 1_000 + FRESH_MS - 1), "key");
    assert_eq!(look(&known, "a", 1_000 + FRESH_MS), "fetch");
    // A new key is found soon, and tokens with made-up keys cost one fetch in ten seconds.
    assert_eq!(look(&known, "b", 1_000 + AGAIN_MS - 1), "unknown");
    assert_eq!(look(&known, "b", 1_000 + AGAIN_MS), "fetch");

    // While the issuer is down, known keys serve for an hour.
    let at = 1_000 + FRESH_MS;
    known.failed(at);
    assert_eq!(look(&known, "a", at), "key");
    assert_eq!(look(&known, "b", at), "unknown");
    assert_eq!(look(&known, "a", at + AGAIN_MS), "fetch");
    let late = 1_000 + GRACE_MS;
    known.failed(late);
    assert_eq!(look(&known, "a", late), "unavailable");
    assert_eq!(look(&known, "a", late + AGAIN_MS), "fetch");

    // A withdrawn key is gone with the next set.
    let at = late + AGAIN_MS;
    known.fetched(set(&[ec("b")], ES256), at);
    assert_eq!(look(&known, "b", at), "key");
    assert_eq!(look(&known, "a", at), "unknown");
    known.failed(at + AGAIN_MS);
    assert_eq!(look(&known, "a", at + AGAIN_MS), "unknown");
    assert_eq!(look(&known, "a", at + GRACE_MS), "fetch");

    let mut never = Known::default();
    never.failed(5_000);
    assert_eq!(look(&never, "a", 5_000), "unavailable");
    assert_eq!(look(&never, "a", 5_000 + AGAIN_MS), "fetch");
}
