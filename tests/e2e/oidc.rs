//! Signing in at an identity provider: at one that answers as each test wants, and at a real one, `oidc-provider`. All at
//! the instance without anonymous visitors.
//!
//! Issue 23, 6

mod real;

use std::collections::BTreeMap;

use espalier_test_support::client::assert_problem;
use espalier_test_support::http::{self, Reply};
use espalier_test_support::identity::{claims, now_s, tokens};
use espalier_test_support::{Case, Client, FakeLlm, Value, canary, env, json, new_id, stored, text};

const STATE: &str = "ESPALIER_CLOSED_STATE_DIR";

fn url() -> String {
    env("ESPALIER_CLOSED_URL")
}

fn fake_issuer() -> String {
    format!("{}/_fake/idp/fake", env("ESPALIER_FAKE_LLM_URL"))
}

/// A browser: it keeps cookies, and follows no redirect by itself.
#[derive(Clone, Default)]
struct Browser(BTreeMap<String, String>);

impl Browser {
    fn cookies(&self) -> String {
        self.0.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join("; ")
    }

    fn keep(&mut self, reply: &Reply) {
        for cookie in reply.headers.get_all("set-cookie") {
            let cookie = cookie.to_str().expect("a cookie");
            let (name, value) =
                cookie.split(';').next().and_then(|pair| pair.split_once('=')).expect("a pair");
            match value {
                "" => self.0.remove(name),
                value => self.0.insert(name.to_owned(), value.to_owned()),
            };
        }
    }

    /// A request to any server, as a browser that navigates.
    async fn visit(&mut self, method: &str, url: &str, form: &str) -> Reply {
        let cookies = self.cookies();
        let headers = [
            ("cookie", cookies.as_str()),
            ("content-type", "application/x-www-form-urlencoded"),
            ("sec-fetch-site", "cross-site"),
        ];
        let reply = http::send(method, url, &headers, form.to_owned()).await;
        self.keep(&reply);
        reply
    }

    /// The service, as a page in this browser asks it.
    fn client(&self) -> Client {
        Client::nobody_at(&url()).with("cookie", &self.cookies())
    }

    /// Begins a sign-in, and gives the address at the provider.
    async fn begin(&mut self, provider: &str, return_to: &str) -> String {
        let body = json!({ "return_to": return_to });
        let reply = self.client().post(&format!("/api/oidc/{provider}"), &body).await.expect(200).await;
        self.keep(&reply);
        reply.json().await["location"].as_str().expect("an address").to_owned()
    }

    /// The provider's answer: where the service sends the browser then.
    async fn answer(&mut self, provider: &str, query: &str) -> String {
        let reply = self.visit("GET", &format!("{}/api/oidc/{provider}/callback?{query}", url()), "").await;
        let reply = reply.expect(303).await;
        assert_eq!(reply.header("cache-control"), "no-store, no-transform");
        reply.header("location").to_owned()
    }

    fn is_signed_in(&self) -> bool {
        self.0.contains_key("espalier_session")
    }
}

/// A parameter of an address.
fn parameter(address: &str, name: &str) -> String {
    let query = address.split_once('?').expect("a query").1;
    let found = query.split('&').filter_map(|pair| pair.split_once('=')).find(|(known, _)| *known == name);
    found.unwrap_or_else(|| panic!("no {name} in {address}")).1.to_owned()
}

/// The claims of an ID token that answers the sign-in at this address.
fn answering(address: &str, user: &str) -> Value {
    let mut claims = claims(&fake_issuer(), "lab", user);
    claims["nonce"] = json!(parameter(address, "nonce"));
    claims["iat"] = json!(now_s());
    claims
}

fn rs256(kid: &str) -> Value {
    json!({ "alg": "RS256", "kid": kid, "typ": "JWT" })
}

/// Has the fake provider answer a new code so, and gives the code.
async fn code_for(answer: Value) -> String {
    let code = new_id();
    FakeLlm::from_env().publish(&format!("code-{code}"), &answer).await;
    code
}

/// The same with an ID token by this key.
async fn code_of(key: &str, header: Value, claims: Value) -> String {
    let token = tokens(&[(key, header, claims)]).await.remove(0);
    let body = json!({ "access_token": "x", "token_type": "Bearer", "id_token": token });
    code_for(json!({ "status": 200, "body": body })).await
}

/// A sign-in of this user at the fake provider.
async fn signed_in(user: &str) -> Browser {
    let mut browser = Browser::default();
    let address = browser.begin("fake", "/").await;
    let code = code_of("rsa", rs256("rsa"), answering(&address, user)).await;
    let query = format!("code={code}&state={}", parameter(&address, "state"));
    assert_eq!(browser.answer("fake", &query).await, "/");
    browser
}

#[tokio::test]
async fn the_user_is_the_one_of_the_same_issuers_tokens() {
    let user = new_id();
    let browser = signed_in(&user).await;
    assert_eq!(browser.0.keys().collect::<Vec<_>>(), ["espalier_session"], "the sign-in is over");
    let opened: Value =
        browser.client().post("/api/session", &json!({})).await.expect(200).await.json().await;
    let expected = json!({
        "user_id": format!("fake:{user}"), "expires_at": opened["expires_at"], "scopes": ["read", "write"],
        "key": null, "provider": "Fake ID",
    });
    assert_eq!(opened, expected);

    // The threads of a session are those of the same user's token.
    let case = Case::of(browser.client());
    case.script("", [text("Hi.")]).await;
    let thread = case.chat("Hello").await[0].text("thread_id").to_owned();
    let mut claims = claims(&fake_issuer(), "lab", &user);
    claims["aud"] = json!("espalier-api");
    let mut elsewhere = claims.clone();
    elsewhere["org"] = json!("other");
    let tokens = tokens(&[("rsa", rs256("rsa"), claims), ("rsa", rs256("rsa"), elsewhere)]).await;
    let with = |token: &str| Client::nobody_at(&url()).with("authorization", &format!("Bearer {token}"));
    assert_eq!(with(&tokens[0]).messages(&thread).await.len(), 2);
    let other_tenant = with(&tokens[1]).get(&format!("/api/threads/{thread}")).await;
    assert_problem(other_tenant, 404, "thread_not_found", None).await;

    // The scopes are a user's.
    assert_problem(browser.client().get("/api/keys").await, 403, "insufficient_scope", None).await;
    // D1 has the user, and neither cookie nor key.
    let rows = stored::d1_at(STATE, &format!("SELECT * FROM sessions WHERE user_id = 'fake:{user}'")).await;
    let [row] = rows.as_slice() else { panic!("{rows:?}") };
    assert_eq!((&row["tenant"], &row["key_prefix"]), (&json!("lab"), &json!("")), "{row}");
    assert!(!row.to_string().contains(&browser.0["espalier_session"]), "{row}");
}

#[tokio::test]
async fn sessions_are_listed_and_end() {
    let user = new_id();
    let [here, there, third] = [signed_in(&user).await, signed_in(&user).await, signed_in(&user).await];
    let stranger = signed_in(&new_id()).await;
    let listed = async || {
        let list: Value = here.client().read("/api/me/sessions").await;
        let sessions = list["sessions"].as_array().expect("a list").clone();
        assert_eq!(sessions.iter().filter(|session| session["current"] == true).count(), 1, "{list}");
        sessions
    };
    let sessions = listed().await;
    assert_eq!(sessions.len(), 3);
    // A stranger cannot end it; its user can.
    let id = there.client().read("/api/me/sessions").await["sessions"]
        .as_array()
        .and_then(|all| all.iter().find(|session| session["current"] == true).cloned())
        .expect("its own")["id"]
        .take();
    let path = format!("/api/me/sessions/{}", id.as_str().expect("an id"));
    let refused = stranger.client().send("DELETE", &path, "").await;
    assert_problem(refused, 404, "session_not_found", None).await;
    here.client().send("DELETE", &path, "").await.expect(204).await;
    assert_problem(there.client().get("/api/threads").await, 401, "unauthenticated", None).await;
    assert_eq!(listed().await.len(), 2);
    // All but the own.
    here.client().send("DELETE", "/api/me/sessions", "").await.expect(204).await;
    assert_problem(third.client().get("/api/threads").await, 401, "unauthenticated", None).await;
    assert_eq!(listed().await.len(), 1);
    // Signing out.
    here.client().send("DELETE", "/api/session", "").await.expect(204).await;
    assert_problem(here.client().get("/api/threads").await, 401, "unauthenticated", None).await;
    stranger.client().get("/api/threads").await.expect(200).await;
}

#[tokio::test]
async fn a_visitor_hears_of_the_providers_too() {
    let nobody = Client::nobody_at(&env("ESPALIER_VISITORS_URL"));
    let opened = nobody.post("/api/session", &json!({})).await.expect(200).await;
    let cookie = opened.header("set-cookie").split(';').next().unwrap_or_default().to_owned();
    let ways = json!([{ "id": "fake", "label": "Fake ID" }]);
    let first: Value = opened.json().await;
    assert_eq!((&first["sign_in"], &first["provider"]), (&ways, &Value::Null), "{first}");
    let visitor = nobody.with("cookie", &cookie);
    let again: Value = visitor.post("/api/session", &json!({})).await.expect(200).await.json().await;
    assert_eq!((&again["sign_in"], &again["user_id"]), (&ways, &first["user_id"]), "{again}");
    visitor.post("/api/oidc/fake", &json!({})).await.expect(200).await;
    // A session of another deployment's provider is none here.
    let stranger = signed_in(&new_id()).await;
    let here = nobody.with("cookie", &stranger.cookies());
    assert_problem(here.get("/api/threads").await, 401, "unauthenticated", None).await;
}

#[tokio::test]
async fn the_request_for_the_code_proves_who_asks() {
    let mut browser = Browser::default();
    let address = browser.begin("fake", "/").await;
    let code = code_of("rsa", rs256("rsa"), answering(&address, &new_id())).await;
    let state = parameter(&address, "state");
    browser.answer("fake", &format!("code={code}&state={state}")).await;
    let asked = FakeLlm::from_env().requests(&format!("/_fake/idp/fake/token/{code}")).await.requests;
    let [asked] = asked.as_slice() else { panic!("{} requests", asked.len()) };
    assert_eq!(asked.headers["authorization"], canary::OIDC_BASIC);
    let form = &asked.body;
    let redirect = format!("{}/api/oidc/fake/callback", url()).replace(':', "%3A").replace('/', "%2F");
    assert_eq!(parameter(&address, "redirect_uri"), redirect);
    assert_eq!(form["redirect_uri"], redirect.replace("%2F", "/"));
    assert_eq!(form["grant_type"], "authorization_code");
    assert_eq!(form["code_verifier"].as_str().map(str::len), Some(43));
    assert_eq!(form["client_secret"], Value::Null);
    for (name, value) in [("response_type", "code"), ("code_challenge_method", "S256"), ("scope", "openid")] {
        assert_eq!(parameter(&address, name), value);
    }
}

#[tokio::test]
async fn an_answer_counts_once_in_the_browser_that_asked() {
    let user = new_id();
    let mut browser = Browser::default();
    let address = browser.begin("fake", "/?thread=x").await;
    let state = parameter(&address, "state");
    let good =
        format!("code={}&state={state}", code_of("rsa", rs256("rsa"), answering(&address, &user)).await);

    // Without the cookie, or with that of another browser's sign-in.
    assert_eq!(Browser::default().answer("fake", &good).await, "/?sign_in=expired");
    let mut other = Browser::default();
    other.begin("fake", "/").await;
    assert_eq!(other.answer("fake", &good).await, "/?sign_in=expired");
    assert!(!other.is_signed_in());
    // A failed answer ends the sign-in, so the right one comes too late.
    let mut forged = browser.clone();
    let wrong = good.replace(&state, &"0".repeat(32));
    assert_eq!(forged.answer("fake", &wrong).await, "/?thread=x&sign_in=expired");
    assert_eq!(forged.answer("fake", &good).await, "/?sign_in=expired");
    // At the callback of another provider.
    assert_eq!(browser.clone().answer("real", &good).await, "/?thread=x&sign_in=expired");
    // A changed cookie.
    let mut changed = browser.clone();
    changed.0.entry("espalier_oidc".to_owned()).and_modify(|value| value.push('A'));
    assert_eq!(changed.answer("fake", &good).await, "/?sign_in=expired");

    let used = browser.clone();
    assert_eq!(browser.answer("fake", &good).await, "/?thread=x");
    assert!(browser.is_signed_in());
    assert_eq!(browser.answer("fake", &good).await, "/?sign_in=expired", "the cookie is gone");
    // An old cookie is worth nothing without a new code of the provider.
    let again = format!("code={}&state={state}", new_id());
    assert_eq!(used.clone().answer("fake", &again).await, "/?thread=x&sign_in=failed");
}

// Long: a table of answers.
#[tokio::test]
async fn an_answer_that_proves_nothing_opens_no_session() {
    let mut browser = Browser::default();
    let address = browser.begin("fake", "/").await;
    let state = parameter(&address, "state");
    let good = answering(&address, &new_id());
    let with = |name: &str, value: Value| {
        let mut claims = good.clone();
        claims[name] = value;
        claims
    };
    let none = json!({ "alg": "none" });
    let hs256 = json!({ "alg": "HS256", "kid": "rsa" });
    let bad = [
        ("a bad signature", "stranger", rs256("rsa"), good.clone()),
        ("an unknown key", "rotated", rs256("nobody"), good.clone()),
        ("no algorithm", "nobody", none, good.clone()),
        ("a public key as secret", "rsa", hs256, good.clone()),
        ("another algorithm", "ec", json!({ "alg": "ES256", "kid": "ec" }), good.clone()),
        ("another sign-in", "rsa", rs256("rsa"), with("nonce", json!("0".repeat(32)))),
        ("another issuer", "rsa", rs256("rsa"), with("iss", json!("https://rsa.example"))),
        ("another client", "rsa", rs256("rsa"), with("aud", json!("espalier-api"))),
        ("for several", "rsa", rs256("rsa"), with("aud", json!(["espalier", "other"]))),
        ("another party", "rsa", rs256("rsa"), with("azp", json!("other"))),
        ("over", "rsa", rs256("rsa"), with("exp", json!(now_s() - 61))),
        ("no tenant", "rsa", rs256("rsa"), with("org", Value::Null)),
    ];
    let mut codes = Vec::new();
    for (case, key, header, claims) in bad {
        codes.push((case, "failed", code_of(key, header, claims).await));
    }
    let answers = [
        ("a used code", "failed", json!({ "status": 400, "body": { "error": "invalid_grant" } })),
        ("a wrong secret", "failed", json!({ "status": 401, "body": { "error": "invalid_client" } })),
        ("no ID token", "failed", json!({ "status": 200, "body": { "access_token": "x" } })),
        ("no JSON object", "failed", json!({ "status": 200, "body": [] })),
        ("a redirect", "failed", json!({ "status": 307, "body": {} })),
        ("a failure", "unavailable", json!({ "status": 503, "body": {} })),
        ("too much", "unavailable", json!({ "status": 200, "body": { "id_token": "x".repeat(64 << 10) } })),
    ];
    for (case, reason, answer) in answers {
        codes.push((case, reason, code_for(answer).await));
    }
    for (case, reason, code) in codes {
        // Each has the cookie of the sign-in that is on its way.
        let mut copy = browser.clone();
        let told = copy.answer("fake", &format!("code={code}&state={state}")).await;
        assert_eq!(told, format!("/?sign_in={reason}"), "{case}");
        assert!(copy.0.is_empty(), "{case}: {:?}", copy.0.keys());
    }
    for (query, reason) in [
        ("error=access_denied", "denied"),
        ("error=server_error&error_description=hunter2", "failed"),
        ("iss=https%3A%2F%2Fevil.example&code=x", "failed"),
        ("", "failed"),
    ] {
        let told = browser.clone().answer("fake", &format!("{query}&state={state}")).await;
        assert_eq!(told, format!("/?sign_in={reason}"), "{query}");
    }
}

// The browser stands at the callback's address: it goes back to the page, and the operator reads why.
#[tokio::test]
#[ignore = "takes a table from all users of the instance: `make e2e` runs it alone"]
async fn a_session_that_cannot_be_stored_is_told_on_the_page() {
    let mut browser = Browser::default();
    let address = browser.begin("fake", "/").await;
    let code = code_of("rsa", rs256("rsa"), answering(&address, &new_id())).await;
    let query = format!("code={code}&state={}", parameter(&address, "state"));
    stored::change_at(STATE, "ALTER TABLE sessions RENAME TO sessions_away").await;
    let told = browser.answer("fake", &query).await;
    stored::change_at(STATE, "ALTER TABLE sessions_away RENAME TO sessions").await;
    assert_eq!((told.as_str(), browser.is_signed_in()), ("/?sign_in=failed", false));
    let sql = "SELECT code FROM error_log WHERE component = 'worker' AND stage = 'storing a session'";
    let rows = stored::eventually("the operator is told", || async {
        Some(stored::d1_at(STATE, sql).await).filter(|rows| !rows.is_empty())
    });
    assert_eq!(rows.await, [json!({ "code": "internal" })]);
    assert!(signed_in(&new_id()).await.is_signed_in());
}

#[tokio::test]
async fn a_sign_in_begins_at_a_configured_provider_and_returns_to_the_page() {
    let nobody = Client::nobody_at(&url());
    // The page hears of the providers where it hears that it has no session.
    let refused: Value = nobody.post("/api/session", &json!({})).await.expect(401).await.json().await;
    let ways = ["fake/Fake ID", "real/Example ID", "liar/Liar ID", "down/Down ID"];
    let ways = ways.map(|way| way.split_once('/').map(|(id, label)| json!({ "id": id, "label": label })));
    assert_eq!(refused["sign_in"], json!(ways), "{refused}");

    for provider in ["down", "liar"] {
        let reply = nobody.post(&format!("/api/oidc/{provider}"), &json!({})).await;
        assert!(!reply.header("retry-after").is_empty(), "{provider}");
        assert_problem(reply, 503, "issuer_unavailable", None).await;
    }
    assert_problem(nobody.post("/api/oidc/nobody", &json!({})).await, 404, "route_not_found", None).await;
    assert_problem(nobody.get("/api/oidc/nobody/callback").await, 404, "route_not_found", None).await;
    for return_to in ["//evil.example", "https://evil.example", "/\\evil.example", "chat", ""] {
        let reply = nobody.post("/api/oidc/fake", &json!({ "return_to": return_to })).await;
        assert_problem(reply, 400, "invalid_request", Some("return_to")).await;
    }
    // Only the service's own page begins a sign-in.
    let foreign = nobody.with("origin", "https://evil.example").post("/api/oidc/fake", &json!({})).await;
    assert_problem(foreign, 403, "forbidden_origin", None).await;
    let no_page = nobody.with("sec-fetch-site", "cross-site").post("/api/oidc/fake", &json!({})).await;
    assert_problem(no_page, 403, "forbidden_origin", None).await;
}
