use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use uuid::Uuid;

use super::{AnonymousSession, LIFETIME_MS, SessionSecrets, clear_cookie, set_cookie, token_in};

const NOW: u64 = 1_763_000_000_000;
const DAY: u64 = 24 * 3_600_000;

fn key(secret: char) -> SessionSecrets {
    SessionSecrets::from_secrets(&secret.to_string().repeat(32)).unwrap()
}

fn session() -> AnonymousSession {
    AnonymousSession::begin(Uuid::from_u128(0x0190_a0a0), NOW)
}

#[test]
fn a_token_proves_its_session_until_it_is_over() {
    let token = key('a').sign(&session());
    assert_eq!(key('a').verify(&token, NOW), Some(session()));
    assert_eq!(key('a').verify(&token, NOW + LIFETIME_MS - 1), Some(session()));
    assert_eq!(key('a').verify(&token, NOW + LIFETIME_MS), None);
    assert_eq!(key('b').verify(&token, NOW), None, "another secret");
}

/// Cookies that are out there stay valid: the form of a token never changes.
#[test]
fn the_token_has_the_form_that_it_always_had() {
    let token =
        "5d411a48.AAAAAAAAAAAAAAAAAZCgoAAAAZp6_R4AAAABmxV75gA.ktFRuVOSXYVVK8vYIA_9H3WNqSBbVfS5P9b5E4tX22M";
    assert_eq!(key('a').sign(&session()), token);
    assert_eq!(key('a').verify(token, NOW), Some(session()));
}

#[test]
fn everybody_stays_logged_in_under_a_new_secret() {
    let [old, new, other] = ['a', 'b', 'c'].map(|secret| secret.to_string().repeat(32));
    let keys = |secrets: &[&str]| SessionSecrets::from_secrets(&secrets.join(" , ")).unwrap();
    let (before, during, after) = (keys(&[&old]), keys(&[&new, &old]), keys(&[&new]));
    let token = before.sign(&session());
    assert_eq!(during.verify(&token, NOW), Some(session()), "what the old secret signed goes on");
    assert_eq!(after.verify(&token, NOW), None, "until it is taken out");
    let renewed = during.sign(&session());
    assert_eq!(after.verify(&renewed, NOW), Some(session()), "the first secret signs");
    assert_eq!(before.verify(&renewed, NOW), None);
    assert_eq!(keys(&[&other, &new]).verify(&renewed, NOW), Some(session()), "wherever it stands");
    assert_eq!(keys(&[&other]).verify(&renewed, NOW), None);
}

#[test]
fn each_secret_of_a_list_is_long_enough() {
    let long = "s".repeat(32);
    let eight = [long.as_str(); 8].join(",");
    for (secrets, good) in [
        (String::new(), false),
        (long.clone(), true),
        ("s".repeat(31), false),
        (format!("{long},{long}"), true),
        (format!("{long},"), false),
        (format!("{long},short"), false),
        (format!("short,{long}"), false),
        (eight.clone(), true),
        (format!("{eight},{long}"), false),
    ] {
        assert_eq!(SessionSecrets::from_secrets(&secrets).is_some(), good, "{secrets}");
    }
}

#[test]
fn a_changed_token_is_invalid() {
    let token = key('a').sign(&session());
    for end in 0..token.len() {
        let cut: String = token.chars().take(end).collect();
        assert_eq!(key('a').verify(&cut, NOW), None, "cut after {end}");
    }
    for at in 0..token.len() {
        let mut bytes = token.clone().into_bytes();
        bytes[at] = if bytes[at] == b'A' { b'B' } else { b'A' };
        let changed = String::from_utf8(bytes).unwrap();
        assert_eq!(key('a').verify(&changed, NOW), None, "changed at {at}");
    }
}

#[test]
fn forged_tokens_are_refused() {
    let [id, payload, mac]: [String; 3] =
        key('a').sign(&session()).split('.').map(str::to_owned).collect::<Vec<_>>().try_into().unwrap();
    let foreign = key('b').sign(&session());
    let (_, foreign) = foreign.split_once('.').unwrap();
    let longer = AnonymousSession { expires_at: NOW + 10 * LIFETIME_MS, ..session() };
    let longer = key('b').sign(&longer);
    let longer = longer.split('.').nth(1).unwrap();
    let empty_mac = BASE64_URL_SAFE_NO_PAD.encode([]);
    let zero_mac = BASE64_URL_SAFE_NO_PAD.encode([0; 32]);
    let forged = [
        String::new(),
        ".".to_owned(),
        "..".to_owned(),
        "...".to_owned(),
        format!("{payload}.{mac}"),
        format!("{id}.{payload}"),
        format!("{id}.{payload}.{empty_mac}"),
        format!("{id}.{payload}.{zero_mac}"),
        format!("{id}.{longer}.{mac}"),
        format!("{id}.{foreign}"),
        format!("{id}.{payload}.{mac}.{mac}"),
        format!("{id}.{payload}.{mac}="),
        format!(" {id}.{payload}.{mac}"),
        format!("{}.{payload}.{mac}", id.to_uppercase() + "x"),
        format!("{id}.{payload}.é"),
        "x".repeat(100_000),
    ];
    for token in forged {
        assert_eq!(key('a').verify(&token, NOW), None, "{token:.80}");
    }
}

#[test]
fn a_secret_has_32_bytes() {
    assert!(SessionSecrets::from_secrets(&"x".repeat(31)).is_none());
    assert!(SessionSecrets::from_secrets(&"x".repeat(32)).is_some());
    assert!(!format!("{:?}", key('q')).contains("qqq"));
}

#[test]
fn the_cookie_is_renewed_in_the_second_half_of_its_life() {
    for (day, renewed) in [(0, false), (14, false), (15, false), (16, true), (29, true)] {
        let now = NOW + day * DAY;
        let next = session().renewed(now);
        assert_eq!(next.user, session().user);
        assert_eq!(next.expires_at, if renewed { now + LIFETIME_MS } else { session().expires_at }, "{day}");
    }
}

#[test]
fn the_cookie_is_kept_from_scripts_and_other_sites() {
    assert_eq!(
        set_cookie("t", session().expires_at, NOW, false),
        "espalier_session=t; Path=/; Max-Age=2592000; HttpOnly; SameSite=Lax"
    );
    assert!(set_cookie("t", session().expires_at, NOW, true).ends_with("; SameSite=Lax; Secure"));
    assert!(set_cookie("t", session().expires_at, NOW + DAY, true).contains("Max-Age=2505600;"));
}

#[test]
fn the_cookie_is_taken_back_under_its_own_name() {
    assert_eq!(clear_cookie(false), "espalier_session=; Path=/; Max-Age=0; HttpOnly; SameSite=Lax");
    let over_https = "__Host-espalier_session=; Path=/; Max-Age=0; HttpOnly; SameSite=Lax; Secure";
    assert_eq!(clear_cookie(true), over_https);
}

#[test]
fn the_token_is_found_among_other_cookies() {
    let table = [
        ("espalier_session=t", Some("t")),
        ("a=1; espalier_session=t; b=2", Some("t")),
        ("a=1;espalier_session=t", Some("t")),
        ("espalier_session=first; espalier_session=second", Some("first")),
        ("a=espalier_session=t", None),
        ("ESPALIER_SESSION=t", None),
        ("espalier_session", None),
        ("", None),
    ];
    for (cookies, token) in table {
        assert_eq!(token_in(cookies, false), token, "{cookies}");
        // Over https the cookie has the name that no other host can set.
        assert_eq!(token_in(cookies, true), None, "{cookies}");
    }
    assert_eq!(token_in("espalier_session=planted; __Host-espalier_session=own", true), Some("own"));
}
