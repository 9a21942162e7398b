//! A sign-in at `oidc-provider`, through its own pages.

use espalier_test_support::{Case, Value, json, new_id, text};

use super::{Browser, url};

/// Follows redirects from this address until the service answers, and gives where it then sends the browser. `fill`: what
/// the browser does at the provider's own page, by its address.
async fn through(browser: &mut Browser, address: &str, fill: &str) -> String {
    let provider = address.split_once("/auth").expect("an endpoint").0.to_owned();
    let mut next = (String::from("GET"), address.to_owned(), String::new());
    for _ in 0..10 {
        let reply = browser.visit(&next.0, &next.1, &next.2).await;
        let location = reply.header("location").to_owned();
        let whole = if location.starts_with('/') { format!("{provider}{location}") } else { location };
        next = match (reply.status, fill) {
            (303, _) if next.1.starts_with(&url()) => return reply.header("location").to_owned(),
            (302 | 303, _) if whole.contains("/interaction/") && fill == "cancel" => {
                ("GET".to_owned(), format!("{whole}/abort"), String::new())
            }
            (302 | 303, _) if whole.contains("/interaction/") => {
                browser.visit("GET", &whole, "").await.expect(200).await;
                ("POST".to_owned(), whole, fill.to_owned())
            }
            (302 | 303, _) => ("GET".to_owned(), whole, String::new()),
            (status, _) => panic!("{status} from {}: {}", next.1, reply.text().await),
        };
    }
    panic!("redirected for ever");
}

#[tokio::test]
async fn a_real_provider_signs_people_in() {
    let user = new_id();
    let mut browser = Browser::default();
    let address = browser.begin("real", "/?thread=x").await;
    assert!(!address.starts_with(&url()), "{address}");
    let form = format!("prompt=login&login={user}&password=x");
    let mut callback = Browser::default();
    assert_eq!(through(&mut browser, &address, &form).await, "/?thread=x");
    let opened: Value =
        browser.client().post("/api/session", &json!({})).await.expect(200).await.json().await;
    let expected = json!({
        "user_id": format!("real:{user}"), "expires_at": opened["expires_at"], "scopes": ["read", "write"],
        "key": null, "provider": "Example ID",
    });
    assert_eq!(opened, expected);
    let case = Case::of(browser.client());
    case.script("", [text("Hi.")]).await;
    assert_eq!(case.chat("Hello").await.last().map(|event| event.kind.as_str()), Some("done"));
    // The same person again: the provider knows them, and asks nothing.
    let address = browser.begin("real", "/").await;
    assert_eq!(through(&mut browser, &address, "").await, "/");

    // Somebody who changes their mind.
    let address = callback.begin("real", "/").await;
    assert_eq!(through(&mut callback, &address, "cancel").await, "/?sign_in=denied");
    assert!(!callback.is_signed_in());
}
