use super::{Credential, presented};

const KEY: &str = "espk_0a1b2c3d_aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";

#[test]
fn a_key_is_found_whatever_the_scheme_is_spelt_like() {
    for scheme in ["Bearer ", "bearer ", "BEARER   "] {
        let header = format!("{scheme}{KEY}");
        assert!(matches!(presented(Some(&header), None), Ok(Credential::ApiKey(_))), "{scheme}");
    }
}

#[test]
fn the_cookie_counts_only_without_authorization() {
    let cookies = Some("espalier_session=token");
    assert_eq!(presented(None, cookies), Ok(Credential::Session("token")));
    for header in ["", "Bearer", "Bearer ", "Bearer token", "Basic dXNlcjpwYXNz", KEY, "Bearer espk_x"] {
        assert_eq!(
            presented(Some(header), cookies).unwrap_err().code.as_str(),
            "unauthenticated",
            "{header}"
        );
    }
}

#[test]
fn nothing_is_no_credential() {
    for cookies in [None, Some(""), Some("other=1"), Some("xespalier_session=1")] {
        assert_eq!(presented(None, cookies).unwrap_err().code.as_str(), "unauthenticated", "{cookies:?}");
    }
}
