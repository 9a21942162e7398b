use super::api_key::KeyLabel;
use super::scope::Scopes;
use super::{Authority, Credential, Principal, RECENT_MS, Verified, presented};
use crate::auth::jwt::Issuer;
use wire::protocol::Owner;

const KEY: &str = "espk_0a1b2c3d_aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";

fn issuers(headers: &[Option<&str>]) -> Vec<Issuer> {
    let issuer = |(index, header): (usize, &Option<&str>)| Issuer {
        name: index.to_string(),
        issuer: index.to_string(),
        audience: "espalier".to_owned(),
        jwks_url: "https://id.example/jwks".to_owned(),
        algorithm: Default::default(),
        header: header.map(str::to_owned),
        tenant: None,
        tenant_claim: None,
    };
    headers.iter().enumerate().map(issuer).collect()
}

/// The credential in these headers: its kind and its text.
fn found(headers: &[(&str, &str)], issuers: &[Issuer]) -> (&'static str, String) {
    let header =
        |name: &str| headers.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned());
    match presented(header, issuers, false) {
        Ok(Credential::ApiKey(key)) => ("key", key.prefix().to_owned()),
        Ok(Credential::Jwt { token, authority: Authority::Bearer }) => ("bearer", token),
        Ok(Credential::Jwt { token, authority: Authority::Ambient }) => ("ambient", token),
        Ok(Credential::SignedIn(token)) => ("signed in", token.reveal().to_owned()),
        Ok(Credential::Anonymous(token)) => ("session", token),
        Err(error) => (error.code.as_str(), String::new()),
    }
}

const NONE: (&str, String) = ("unauthenticated", String::new());

#[test]
fn the_scheme_matches_in_any_case() {
    for scheme in ["Bearer ", "bearer ", "BEARER   "] {
        let header = format!("{scheme}{KEY}");
        assert_eq!(found(&[("authorization", &header)], &[]), ("key", "0a1b2c3d".to_owned()), "{scheme}");
    }
}

#[test]
fn the_cookie_counts_only_without_authorization() {
    let cookie = ("cookie", "espalier_session=token");
    assert_eq!(found(&[cookie], &[]), ("session", "token".to_owned()));
    for header in ["", "Bearer", "Bearer ", "Bearer token", "Basic dXNlcjpwYXNz", KEY, "Bearer espk_x"] {
        for issuers in [issuers(&[]), issuers(&[None, Some("x-token")])] {
            assert_eq!(found(&[("authorization", header), cookie], &issuers), NONE, "{header}");
        }
    }
}

#[test]
fn tokens_are_found_where_their_issuers_put_them() {
    let (bearer, own) = (("authorization", "Bearer a.b.c"), ("x-token", "d.e.f"));
    let cookie = ("cookie", "espalier_session=token");
    let (abc, def) = ("a.b.c".to_owned(), "d.e.f".to_owned());
    assert_eq!(found(&[bearer, own, cookie], &issuers(&[None, Some("x-token")])), ("bearer", abc.clone()));
    assert_eq!(found(&[own, cookie], &issuers(&[None, Some("x-token")])), ("ambient", def));
    assert_eq!(found(&[own, cookie], &issuers(&[None])), ("session", "token".to_owned()));
    assert_eq!(found(&[bearer, own, cookie], &issuers(&[Some("x-token")])), NONE);
    assert_eq!(found(&[bearer, cookie], &issuers(&[])), NONE);
    assert_eq!(found(&[bearer], &issuers(&[None])), ("bearer", abc));
}

#[test]
fn the_cookie_of_a_key_is_told_from_a_visitors() {
    let token = format!("esps_{}", "0".repeat(64));
    let cookies = format!("other=1; espalier_session={token}");
    assert_eq!(found(&[("cookie", &cookies)], &[]), ("signed in", token.clone()));
    // Only the cookie may carry it.
    assert_eq!(found(&[("authorization", &format!("Bearer {token}"))], &[]), NONE);
}

#[test]
fn a_request_without_a_credential_is_refused() {
    for cookies in ["", "other=1", "xespalier_session=1"] {
        assert_eq!(found(&[("cookie", cookies)], &[]), NONE, "{cookies:?}");
    }
    assert_eq!(found(&[], &[]), NONE);
}

/// The code with which an account is not erased, by a credential of this issuer; an empty one where it may be. `key`: one
/// opened it, or is it.
fn refusal(
    issuer: &str,
    authority: Authority,
    key: bool,
    scopes: &str,
    signed_in_at: Option<u64>,
) -> &'static str {
    let owner = Owner { issuer: issuer.to_owned(), tenant: "acme".to_owned(), user: "ada".to_owned() };
    let principal = Principal { owner, authority, scopes: Scopes::parse(scopes) };
    let key = key.then(|| KeyLabel { prefix: "0a1b".to_owned(), name: "laptop".to_owned() });
    let verified = Verified { principal, expires_at: None, key, signed_in_at };
    verified.may_erase(5_000_000).map_or_else(|error| error.code.as_str(), |()| "")
}

// Issue 46, L5
#[test]
fn an_account_is_erased_by_a_visitor_a_recent_sign_in_or_a_key_for_it() {
    use Authority::{Ambient, Bearer};
    let (recent, old) = (Some(5_000_000 - RECENT_MS), Some(5_000_000 - RECENT_MS - 1));
    let (scope, again) = ("insufficient_scope", "sign_in_again");
    assert_eq!(RECENT_MS, 10 * 60_000);
    for (issuer, authority, key, scopes, at, expected) in [
        ("anonymous", Ambient, false, "read write", None, ""),
        // A key, whatever else it may do.
        ("key", Bearer, true, "read write admin", None, scope),
        ("key", Bearer, true, "erase", None, ""),
        // A session of a key.
        ("key", Ambient, true, "read write", recent, ""),
        ("key", Ambient, true, "read write", old, again),
        ("key", Ambient, true, "read write erase", old, again),
        ("key", Ambient, true, "read", recent, scope),
        // A session by an identity provider, and tokens. Some tokens do not say when they were made.
        ("acme", Ambient, false, "read write", recent, ""),
        ("acme", Ambient, false, "read write", old, again),
        ("acme", Bearer, false, "read write", recent, ""),
        ("acme", Bearer, false, "read write", old, again),
        ("acme", Bearer, false, "read write", None, again),
        // The clock of an issuer may be ahead.
        ("acme", Bearer, false, "read write", Some(5_000_001), ""),
    ] {
        let found = refusal(issuer, authority, key, scopes, at);
        assert_eq!(found, expected, "{issuer} {authority:?} {key} {scopes} {at:?}");
    }
}
