use super::{AllowedOrigins, Provenance, cors, of_url};

const OWN: &str = "https://chat.example.com";
const HERE: Option<&str> = Some(OWN);

fn allowed() -> AllowedOrigins {
    AllowedOrigins::parse("https://app.example.com, http://localhost:5173/ ,HTTPS://Upper.example.com")
}

#[test]
fn a_cookie_changes_state_only_from_a_known_origin() {
    let table = [
        // Origin, Sec-Fetch-Site, passes
        (Some(OWN), true, true),
        (Some(OWN), false, true),
        (Some("https://app.example.com"), true, true),
        (Some("http://localhost:5173"), true, true),
        (Some("https://upper.example.com"), true, true),
        (None, false, true),
        (None, true, false),
        (Some("null"), true, false),
        (Some("null"), false, false),
        (Some(""), false, false),
        (Some("*"), false, false),
        (Some("https://evil.example"), true, false),
        (Some("https://evil.example"), false, false),
        (Some("http://chat.example.com"), true, false),
        (Some("https://chat.example.com:8443"), true, false),
        (Some("https://chat.example.com.evil.example"), true, false),
        (Some("https://sub.chat.example.com"), true, false),
        (Some("https://app.example.com, https://evil.example"), true, false),
        (Some("http://localhost:5174"), true, false),
    ];
    for (origin, from_browser, passes) in table {
        let provenance = Provenance { own: HERE, origin, from_browser };
        let verdict = provenance.may_change_state(&allowed());
        assert_eq!(verdict.is_ok(), passes, "{origin:?} {from_browser}");
        if let Err(error) = verdict {
            assert_eq!(error.code.as_str(), "forbidden_origin");
        }
    }
}

#[test]
fn a_request_without_an_origin_of_its_own_matches_none() {
    let provenance = Provenance { own: of_url(""), origin: Some(""), from_browser: false };
    assert!(provenance.may_change_state(&allowed()).is_err());
}

#[test]
fn only_allowed_origins_may_read_answers() {
    let headers = cors(HERE, "https://app.example.com", &allowed());
    assert_eq!(
        headers,
        [
            ("access-control-allow-origin", "https://app.example.com".to_owned()),
            ("access-control-allow-credentials", "true".to_owned()),
            ("access-control-expose-headers", "allow, retry-after, warning, www-authenticate".to_owned()),
            ("vary", "Origin".to_owned()),
        ]
    );
    for origin in ["", OWN, "null", "*", "https://evil.example"] {
        assert_eq!(cors(HERE, origin, &allowed()), [], "{origin:?}");
    }
}

#[test]
fn the_list_takes_origins_and_nothing_else() {
    let nothing = AllowedOrigins::default();
    for list in
        ["", " ", ",,", "*", "null", "app.example.com", "https://", "file:///x", "https://a.example/path"]
    {
        assert_eq!(AllowedOrigins::parse(list), nothing, "{list}");
    }
    assert_eq!(AllowedOrigins::parse("*,https://a.example"), AllowedOrigins::parse("https://a.example/"));
}

#[test]
fn an_origin_is_the_beginning_of_a_url() {
    let table = [
        ("http://localhost:8787/api/chat?x=1", Some("http://localhost:8787")),
        ("https://a.example", Some("https://a.example")),
        ("https://a.example?x", Some("https://a.example")),
        ("https://[::1]:8787/", Some("https://[::1]:8787")),
        ("ftp://a.example/", None),
        ("https:///x", None),
        ("/api/chat", None),
        ("", None),
    ];
    for (url, origin) in table {
        assert_eq!(of_url(url), origin, "{url}");
    }
}
