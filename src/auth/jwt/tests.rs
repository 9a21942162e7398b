use super::{Authority, BASE64_URL_SAFE_NO_PAD, Engine, Issuer, Token, looks_like_one};
use serde_json::{Value, json};

pub(super) const NOW: u64 = 1_763_000_000_000;
pub(super) const NOW_S: u64 = NOW / 1_000;

pub(super) fn issuer(more: Value) -> Issuer {
    let mut json = json!({
        "name": "acme", "issuer": "https://id.acme.example", "audience": "espalier",
        "jwks_url": "https://id.acme.example/jwks",
    });
    json.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    Issuer::parse_all(&json!([json]).to_string()).unwrap().remove(0)
}

pub(super) fn claims(more: Value) -> Value {
    let mut claims = json!({
        "iss": "https://id.acme.example", "aud": "espalier", "sub": "ada", "exp": NOW_S + 300,
    });
    for (name, value) in more.as_object().unwrap() {
        match value {
            Value::Null => claims.as_object_mut().unwrap().remove(name),
            value => claims.as_object_mut().unwrap().insert(name.clone(), value.clone()),
        };
    }
    claims
}

pub(super) fn token(header: Value, claims: Value) -> String {
    let part = |json: Value| BASE64_URL_SAFE_NO_PAD.encode(json.to_string());
    format!("{}.{}.c2ln", part(header), part(claims))
}

/// `tenant/user_id` of a token whose signature is good.
fn judged(issuer: &Issuer, claims: Value) -> Option<String> {
    let token = token(json!({ "alg": "RS256" }), claims);
    let verified = issuer.verify(&Token::parse(&token)?, Authority::Bearer, NOW)?;
    let owner = verified.principal.owner;
    Some(format!("{}/{}", owner.tenant, owner.user_id()))
}

#[test]
fn claims_are_judged() {
    let issuer = issuer(json!({}));
    let table = [
        ("good", json!({}), true),
        ("one audience of many", json!({ "aud": ["other", "espalier"] }), true),
        ("for somebody else", json!({ "aud": "other" }), false),
        ("for others", json!({ "aud": ["other", "espalier2"] }), false),
        ("for nobody", json!({ "aud": [] }), false),
        ("no audience", json!({ "aud": null }), false),
        ("another issuer", json!({ "iss": "https://id.acme.example/" }), false),
        ("no issuer", json!({ "iss": null }), false),
        ("no user", json!({ "sub": null }), false),
        ("a blank user", json!({ "sub": "" }), false),
        ("a user with a line break", json!({ "sub": "a\r\nb" }), false),
        ("the longest user", json!({ "sub": "é".repeat(255) }), true),
        ("a longer user", json!({ "sub": "é".repeat(256) }), false),
        ("no end", json!({ "exp": null }), false),
        ("an end in words", json!({ "exp": "tomorrow" }), false),
        ("just over, within the skew", json!({ "exp": NOW_S - 59 }), true),
        ("over", json!({ "exp": NOW_S - 60 }), false),
        ("fractions of a second", json!({ "exp": NOW_S as f64 + 0.5 }), true),
        ("not yet, within the skew", json!({ "nbf": NOW_S + 60 }), true),
        ("not yet", json!({ "nbf": NOW_S + 61 }), false),
        ("from the future", json!({ "iat": NOW_S + 61 }), false),
        ("issued just now", json!({ "iat": NOW_S, "nbf": NOW_S }), true),
    ];
    for (case, more, good) in table {
        assert_eq!(judged(&issuer, claims(more)).is_some(), good, "{case}");
    }
}

#[test]
fn a_user_belongs_to_its_issuer_and_tenant() {
    let plain = claims(json!({}));
    assert_eq!(judged(&issuer(json!({})), plain.clone()).unwrap(), "default/acme:ada");
    assert_eq!(judged(&issuer(json!({ "tenant": "t" })), plain.clone()).unwrap(), "t/acme:ada");
    let by_claim = issuer(json!({ "tenant_claim": "org" }));
    assert_eq!(judged(&by_claim, claims(json!({ "org": "lab" }))).unwrap(), "lab/acme:ada");
    for org in [json!(null), json!(""), json!(7), json!(["lab"])] {
        assert_eq!(judged(&by_claim, claims(json!({ "org": org }))), None, "{org}");
    }
}

#[test]
fn a_token_needs_its_own_header_and_the_pinned_algorithm() {
    let issuers = [
        issuer(json!({})),
        issuer(json!({ "name": "ec", "issuer": "https://ec.example", "algorithm": "ES256" })),
        issuer(
            json!({ "name": "access", "issuer": "https://team.example", "header": "cf-access-jwt-assertion" }),
        ),
    ];
    let table = [
        ("https://id.acme.example", "RS256", Authority::Bearer, Some("acme")),
        ("https://id.acme.example", "RS256", Authority::Ambient, None),
        ("https://id.acme.example", "none", Authority::Bearer, None),
        ("https://id.acme.example", "HS256", Authority::Bearer, None),
        ("https://id.acme.example", "rs256", Authority::Bearer, None),
        ("https://id.acme.example", "ES256", Authority::Bearer, None),
        ("https://ec.example", "ES256", Authority::Bearer, Some("ec")),
        ("https://ec.example", "RS256", Authority::Bearer, None),
        ("https://team.example", "RS256", Authority::Ambient, Some("access")),
        ("https://team.example", "RS256", Authority::Bearer, None),
        ("https://evil.example", "RS256", Authority::Bearer, None),
    ];
    for (iss, alg, authority, expected) in table {
        let token = token(json!({ "alg": alg }), claims(json!({ "iss": iss })));
        let found = Token::parse(&token).unwrap();
        let found = found.issuer(&issuers, authority).map(|issuer| issuer.name.as_str());
        assert_eq!(found, expected, "{iss} {alg} {authority:?}");
    }
}

#[test]
fn a_malformed_token_is_refused() {
    let good = json!({ "alg": "RS256", "kid": "k", "typ": "JWT" });
    let parsed = token(good.clone(), claims(json!({})));
    let parsed = Token::parse(&parsed).unwrap();
    assert_eq!((parsed.key_id(), parsed.signature.as_slice()), (Some("k"), &b"sig"[..]));

    let header = |more: Value| token(more, claims(json!({})));
    let whole = token(good.clone(), claims(json!({})));
    let [head, body, _]: [&str; 3] = whole.split('.').collect::<Vec<_>>().try_into().unwrap();
    let twice = BASE64_URL_SAFE_NO_PAD.encode(r#"{"iss":"a","iss":"b","aud":"c","sub":"d","exp":1}"#);
    let deep = BASE64_URL_SAFE_NO_PAD.encode(format!("{}{}", "[".repeat(4_000), "]".repeat(4_000)));
    let bad = [
        String::new(),
        "..".to_owned(),
        "a.b".to_owned(),
        "a.b.c".to_owned(),
        format!("{head}.{body}"),
        format!("{head}.{body}.c2ln.c2ln"),
        format!("{head}.{body}.!"),
        format!("{head}=.{body}.c2ln"),
        format!("{head}.{twice}.c2ln"),
        format!("{head}.{deep}.c2ln"),
        format!("{head}.{}.c2ln", BASE64_URL_SAFE_NO_PAD.encode(b"\xff\xfe")),
        header(json!({})),
        header(json!({ "alg": ["RS256"] })),
        header(json!({ "alg": "RS256", "crit": ["exp"], "exp": 1 })),
        header(json!({ "alg": "RS256", "typ": "secevent+jwt" })),
    ];
    for token in bad {
        assert!(Token::parse(&token).is_none() && Token::of_answer(&token).is_none(), "{token}");
    }
    // An answer may have what a header may not.
    let long = token(good, claims(json!({ "groups": "x".repeat(8 << 10) })));
    assert!(Token::parse(&long).is_none() && Token::of_answer(&long).is_some());
    assert!(looks_like_one("a.b.c") && !looks_like_one("a.b") && !looks_like_one("espk_a_b"));
}

// Issue 46, L5
#[test]
fn a_token_says_when_its_user_signed_in() {
    let signed_in_at = |more: Value| {
        let token = token(json!({ "alg": "RS256" }), claims(more));
        issuer(json!({})).verify(&Token::parse(&token).unwrap(), Authority::Bearer, NOW).unwrap().signed_in_at
    };
    assert_eq!(signed_in_at(json!({ "iat": NOW_S, "auth_time": 7 })), Some(7_000));
    assert_eq!(signed_in_at(json!({ "iat": 8 })), Some(8_000));
    assert_eq!(signed_in_at(json!({ "iat": 8, "auth_time": "7" })), Some(8_000));
    assert_eq!(signed_in_at(json!({})), None);
}

#[test]
fn issuers_are_configured_or_refused() {
    let base = json!({ "name": "a", "issuer": "i", "audience": "u", "jwks_url": "https://x/y" });
    let changed = |member: &str, value: Value| {
        let mut issuer = base.clone();
        issuer[member] = value;
        json!([issuer]).to_string()
    };
    for good in [
        "[]".to_owned(),
        json!([base]).to_string(),
        changed("jwks_url", json!("http://127.0.0.1:1/x")),
        changed("header", json!("cf-access-jwt-assertion")),
        changed("algorithm", json!("ES256")),
    ] {
        assert!(Issuer::parse_all(&good).is_ok(), "{good}");
    }
    for bad in [
        "".to_owned(),
        "{}".to_owned(),
        "[{}]".to_owned(),
        changed("name", json!("")),
        changed("name", json!("a:b")),
        changed("name", json!("key")),
        changed("name", json!("anonymous")),
        changed("issuer", json!("")),
        changed("audience", json!("")),
        changed("jwks_url", json!("http://example.com/jwks")),
        changed("jwks_url", json!("http://127.0.0.1.evil.example/jwks")),
        changed("algorithm", json!("none")),
        changed("algorithm", json!("HS256")),
        changed("header", json!("Cookie")),
        changed("header", json!("a b")),
        changed("secret", json!("x")),
        changed("tenant", json!("")),
        json!([base, base]).to_string(),
        json!(vec![base.clone(); 17]).to_string(),
        r#"[{"name":"a","issuer":"i","audience":"u","jwks_url":"https://x","tenant":"t","tenant_claim":"c"}]"#
            .to_owned(),
    ] {
        assert!(Issuer::parse_all(&bad).unwrap_err().contains("JWT"), "{bad}");
    }
}
