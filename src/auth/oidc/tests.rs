use serde_json::{Value, json};

use super::attempt::{Attempt, Random};
use super::discovery::Discovery;
use super::{MAX_PROVIDERS, Provider, Providers};
use crate::auth::api_key::KeyRow;
use crate::auth::jwt::Issuer;

pub fn entry(more: Value) -> Value {
    let mut entry = json!({
        "id": "acme", "label": "Acme", "issuer": "https://id.acme.example", "client_id": "espalier",
        "client_secret_secret": "ACME_SECRET",
    });
    for (name, value) in more.as_object().unwrap() {
        match value {
            Value::Null => entry.as_object_mut().unwrap().remove(name),
            value => entry.as_object_mut().unwrap().insert(name.clone(), value.clone()),
        };
    }
    entry
}

/// The providers of a variable, with the issuers of the variable `JWT`.
fn read(oidc: &str, jwt: &str) -> Result<Option<Providers>, String> {
    let issuers = Issuer::parse_all(jwt);
    let var = |name: &str| match name {
        "OIDC" => Some(oidc.to_owned()),
        "ACME_SECRET" => Some("s3cret & more".to_owned()),
        "EMPTY" => Some(String::new()),
        "SESSION_SECRET" => Some("s".repeat(32)),
        _ => None,
    };
    Providers::from_env(var, &issuers)
}

pub fn providers(entry: Value) -> Providers {
    read(&json!([entry]).to_string(), "[]").unwrap().unwrap()
}

pub fn provider(more: Value) -> Provider {
    providers(entry(more)).find("acme").unwrap().clone()
}

pub fn discovery() -> Discovery {
    Discovery {
        authorization_endpoint: "https://id.acme.example/authorize".to_owned(),
        token_endpoint: "https://id.acme.example/token".to_owned(),
        jwks_uri: "https://id.acme.example/jwks".to_owned(),
        secret_in_body: false,
        answers_name_issuer: false,
    }
}

pub fn attempt(provider: &Provider, now: u64) -> Attempt {
    let random = Random { state: [1; 16], nonce: [2; 16], verifier: [3; 32] };
    Attempt::begin(provider, random, "/?thread=x".to_owned(), now)
}

#[test]
fn providers_are_configured_or_refused() {
    for none in ["", " ", "[]"] {
        assert!(read(none, "[]").unwrap().is_none(), "{none:?}");
    }
    let one = |more| json!([entry(more)]).to_string();
    for good in [
        json!({}),
        json!({ "client_secret_secret": null }),
        json!({ "scopes": "profile openid" }),
        json!({ "algorithm": "ES256", "tenant": "acme" }),
        json!({ "issuer": "http://localhost:4000" }),
        json!({ "label": "é".repeat(40) }),
        json!({ "scopes": format!("openid {}", "x".repeat(193)) }),
    ] {
        assert!(read(&one(good.clone()), "[]").unwrap().is_some(), "{good}");
    }
    for bad in [
        json!({ "id": "" }),
        json!({ "id": "a:b" }),
        json!({ "id": "key" }),
        json!({ "id": "anonymous" }),
        json!({ "label": " " }),
        json!({ "label": "é".repeat(41) }),
        json!({ "label": "a\nb" }),
        json!({ "issuer": "http://id.acme.example" }),
        json!({ "issuer": "https://a@evil.example" }),
        json!({ "issuer": "https://id.acme.example?x" }),
        json!({ "client_id": "" }),
        json!({ "client_secret_secret": "MISSING" }),
        json!({ "client_secret_secret": "EMPTY" }),
        json!({ "client_secret": "hunter2" }),
        json!({ "scopes": "profile" }),
        json!({ "scopes": format!("openid {}", "x".repeat(194)) }),
        json!({ "algorithm": "none" }),
        json!({ "algorithm": "HS256" }),
        json!({ "tenant": "a", "tenant_claim": "b" }),
    ] {
        assert!(read(&one(bad.clone()), "[]").unwrap_err().contains("OIDC"), "{bad}");
    }
    let many = |count: usize| {
        let entry = |n| entry(json!({ "id": format!("p{n}"), "issuer": format!("https://p{n}.example") }));
        json!((0..count).map(entry).collect::<Vec<_>>()).to_string()
    };
    assert_eq!(read(&many(MAX_PROVIDERS), "[]").unwrap().unwrap().ways().len(), MAX_PROVIDERS);
    assert!(read(&many(MAX_PROVIDERS + 1), "[]").is_err());
    assert!(
        read(&json!([entry(json!({})), entry(json!({ "issuer": "https://b" }))]).to_string(), "[]").is_err()
    );
    assert!(read(&json!([entry(json!({})), entry(json!({ "id": "b" }))]).to_string(), "[]").is_err());
    assert!(read("{}", "[]").is_err());
}

#[test]
fn without_a_secret_nothing_is_signed() {
    let oidc = json!([entry(json!({ "client_secret_secret": null }))]).to_string();
    for (secrets, good) in [
        (vec![], false),
        (vec![("SESSION_SECRET", "short".to_owned())], false),
        (vec![("SESSION_SECRET", "s".repeat(32))], true),
        (vec![("WORKFLOW_SECRET", "w".repeat(32))], true),
    ] {
        let var = |name: &str| match name {
            "OIDC" => Some(oidc.clone()),
            name => secrets.iter().find(|(known, _)| *known == name).map(|(_, value)| value.clone()),
        };
        assert_eq!(Providers::from_env(var, &Ok(Vec::new())).is_ok(), good, "{secrets:?}");
    }
}

#[test]
fn a_user_is_the_same_as_by_a_token_of_the_same_issuer() {
    let jwt = json!([{
        "name": "acme", "issuer": "https://id.acme.example", "audience": "api", "jwks_url": "https://x/y",
        "tenant_claim": "org", "header": "cf-access-jwt-assertion",
    }])
    .to_string();
    let one = |more: Value| read(&json!([entry(more)]).to_string(), &jwt);
    let found = one(json!({})).unwrap().unwrap();
    let issuer = &found.find("acme").unwrap().issuer;
    assert_eq!((issuer.tenant_claim.as_deref(), issuer.audience.as_str()), (Some("org"), "espalier"));
    assert_eq!(issuer.header, None, "the ID token comes in no header");
    for (bad, why) in [
        (json!({ "id": "other" }), "its name there"),
        (json!({ "tenant": "acme" }), "its tenant"),
        (json!({ "tenant_claim": "org" }), "its tenant"),
        (json!({ "issuer": "https://other.example" }), "another issuer"),
    ] {
        let error = one(bad.clone()).unwrap_err();
        assert!(error.contains(why), "{bad}: {error}");
    }
    let other = json!({ "id": "other", "issuer": "https://other.example", "tenant": "t" });
    assert_eq!(one(other).unwrap().unwrap().find("other").unwrap().issuer.tenant.as_deref(), Some("t"));
    // Without the issuers of tokens nobody knows whose user it is.
    assert!(read(&json!([entry(json!({}))]).to_string(), "{").is_err());
}

#[test]
fn a_session_without_a_key_is_of_a_configured_provider() {
    let providers = providers(entry(json!({})));
    let row = |user_id: &str| KeyRow {
        prefix: String::new(),
        name: String::new(),
        hash: String::new(),
        tenant: "acme".to_owned(),
        user_id: user_id.to_owned(),
        scopes: String::new(),
        expires_at: Some(2_000),
        revoked_at: None,
        last_used_at: None,
        signed_in_at: Some(7),
    };
    let verified = providers.opens(row("acme:ada:1"), 1_999).unwrap();
    assert_eq!(verified.signed_in_at, Some(7));
    let owner = &verified.principal.owner;
    let expected = ("acme", "acme", "ada:1");
    assert_eq!((owner.issuer.as_str(), owner.tenant.as_str(), owner.user.as_str()), expected);
    assert_eq!((verified.principal.scopes.words(), verified.key), (vec!["read", "write"], None));
    for (user, now) in [
        ("acme:ada:1", 2_000),
        ("gone:ada", 1_000),
        ("key:ada", 1_000),
        ("anonymous:ada", 1_000),
        ("acme:", 1_000),
        ("acme", 1_000),
    ] {
        assert_eq!(providers.opens(row(user), now), None, "{user} {now}");
    }
}
