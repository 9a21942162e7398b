use serde_json::json;
use wire::signing::{Keyring, Use};

use super::super::tests::{attempt, discovery, entry, provider, providers};
use super::{Attempts, LIFETIME_MS, MAX_RETURN_BYTES, clear_cookie, return_to};
use crate::auth::oidc::discovery::Discovery;

fn pair(cookie: &str) -> &str {
    cookie.split(';').next().unwrap()
}

#[test]
fn the_cookie_brings_the_sign_in_back() {
    let providers = providers(entry(json!({})));
    let attempts = &providers.attempts;
    let attempt = attempt(providers.find("acme").unwrap(), 1_000);
    let cookie = attempts.set_cookie(&attempt, false);
    for attribute in ["HttpOnly", "SameSite=Lax", "Path=/", "Max-Age=600"] {
        assert!(cookie.split("; ").any(|found| found == attribute), "{attribute}: {cookie}");
    }
    assert!(!cookie.contains("Secure"), "{cookie}");
    let secure = attempts.set_cookie(&attempt, true);
    assert!(secure.starts_with("__Host-espalier_oidc=oi1.") && secure.ends_with("; Secure"), "{secure}");
    assert!(clear_cookie(true).starts_with("__Host-espalier_oidc=; Path=/; Max-Age=0"));

    let end = 1_000 + LIFETIME_MS;
    let cookies = format!("a=b; {}; espalier_session=x", pair(&cookie));
    assert_eq!(attempts.in_cookies(&cookies, end - 1, false), Some(attempt.clone()));
    assert_eq!(attempts.in_cookies(&cookies, end, false), None, "it is over");
    assert_eq!(attempts.in_cookies(&cookies, 1_000, true), None, "a cookie that another host could set");
    assert_eq!(attempts.in_cookies(pair(&secure), 1_000, true), Some(attempt));
    for none in ["", "espalier_oidc=", "espalier_oidc=oi1.a.b.c", "espalier_session=x"] {
        assert_eq!(attempts.in_cookies(none, 1_000, false), None, "{none}");
    }
    let (signed, _) = pair(&cookie).rsplit_once('.').unwrap();
    let forged = format!("{signed}.{}", "A".repeat(43));
    assert_eq!(attempts.in_cookies(&forged, 1_000, false), None, "a changed cookie");
}

#[test]
fn a_sign_in_is_signed_for_this_use_alone() {
    let providers = providers(entry(json!({})));
    let attempt = attempt(providers.find("acme").unwrap(), 1_000);
    let value = |attempts: &Attempts| attempts.set_cookie(&attempt, false);
    let other = Attempts::from_env(|_| Some("t".repeat(32))).unwrap();
    assert_eq!(providers.attempts.in_cookies(pair(&value(&other)), 1_000, false), None, "another secret");
    // The same payload, signed by the same secret for another use.
    let (_, token) =
        pair(&value(&providers.attempts)).split_once('=').map(|(a, b)| (a.to_owned(), b.to_owned())).unwrap();
    let payload = providers.attempts.0.verify(&token).unwrap();
    let of = Use { begin: "oi1.", purpose: b"another use\0", key_id: b"espalier sign-in key id\0" };
    let stranger = Keyring::derived(&"s".repeat(32), super::LABEL, of).unwrap();
    let cookie = format!("espalier_oidc={}", stranger.sign(&payload));
    assert_eq!(providers.attempts.in_cookies(&cookie, 1_000, false), None, "another use");
}

#[test]
fn the_address_at_the_provider_has_what_the_flow_needs() {
    let provider = provider(json!({ "client_id": "a&b", "scopes": "openid email" }));
    let attempt = attempt(&provider, 1_000);
    let address = attempt.address(&provider, &discovery(), "https://chat.example/api/oidc/acme/callback");
    let (endpoint, query) = address.split_once('?').unwrap();
    assert_eq!(endpoint, "https://id.acme.example/authorize");
    let pairs: Vec<(String, String)> = form_urlencoded::parse(query.as_bytes()).into_owned().collect();
    let (state, nonce) = ("01".repeat(16), "02".repeat(16));
    // The challenge of 32 bytes of 3, by another implementation of SHA-256.
    let expected = [
        ("response_type", "code"),
        ("client_id", "a&b"),
        ("redirect_uri", "https://chat.example/api/oidc/acme/callback"),
        ("scope", "openid email"),
        ("state", &state),
        ("nonce", &nonce),
        ("code_challenge", "g77gcvvTQj90gfwWOCFjatjPtz-u8N0FgfOXnqDHMbk"),
        ("code_challenge_method", "S256"),
    ];
    assert_eq!(pairs, expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
    assert!(!address.contains(&attempt.verifier()));
    assert_eq!(attempt.verifier().len(), 43);
    assert_eq!(format!("{attempt:?}"), "Attempt(acme)");

    let with_query =
        Discovery { authorization_endpoint: "https://a.example/x?y=1".to_owned(), ..discovery() };
    assert!(
        attempt
            .address(&provider, &with_query, "r")
            .starts_with("https://a.example/x?y=1&response_type=code")
    );
}

#[test]
fn the_browser_returns_to_a_path_of_ours() {
    assert_eq!(return_to(None).unwrap(), "/");
    let longest = format!("/{}", "a".repeat(MAX_RETURN_BYTES - 1));
    for good in ["/", "/?thread=0190a0a0-0000-7000-8000-000000000001", "/a//b", &longest] {
        assert_eq!(return_to(Some(good.to_owned())).as_deref(), Ok(good));
    }
    let longer = format!("/{}", "a".repeat(MAX_RETURN_BYTES));
    for bad in [
        "",
        "chat",
        "//evil.example",
        "///evil.example",
        "/\\evil.example",
        "/a\\b",
        "\\/evil.example",
        "https://evil.example",
        "/a b",
        "/a\r\nset-cookie: x=y",
        "/\t/evil.example",
        "/é",
        "/#x",
        &longer,
    ] {
        let error = return_to(Some(bad.to_owned())).unwrap_err();
        assert_eq!(error.field.as_deref(), Some("return_to"), "{bad}");
    }
}
