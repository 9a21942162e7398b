//! Signing in exchanges an API key for a session cookie. The session acts as the key does, and ends with the key or
//! when somebody signs out. All but the last test run at the instance without anonymous visitors, as in production.

use espalier_test_support::client::assert_problem;
use espalier_test_support::http::Reply;
use espalier_test_support::identity::{ACCESS, GONE, answered, claims, tokens};
use espalier_test_support::{Case, Client, Value, env, json, new_id, stored, text};

const STATE: &str = "ESPALIER_CLOSED_STATE_DIR";

fn closed() -> Client {
    Client::nobody_at(&env("ESPALIER_CLOSED_URL"))
}

fn with_key(key: &Value) -> Client {
    closed().with("authorization", &format!("Bearer {}", key.as_str().expect("a key")))
}

fn admin() -> Client {
    with_key(&env("ESPALIER_ADMIN_KEY").into())
}

async fn mint(scopes: &[&str]) -> Value {
    let body = json!({ "name": "laptop", "scopes": scopes });
    admin().post("/api/keys", &body).await.expect(201).await.json().await
}

/// A client with the cookie that this answer sets.
fn browser(reply: &Reply) -> Client {
    let cookie = reply.header("set-cookie").split(';').next().unwrap_or_default();
    assert!(cookie.starts_with("espalier_session=esps_"), "{cookie}");
    closed().with("cookie", cookie)
}

async fn sign_in(key: &Value) -> Client {
    browser(&closed().post("/api/session", &json!({ "key": key })).await.expect(200).await)
}

async fn assert_out(client: &Client) {
    assert_problem(client.get("/api/threads").await, 401, "unauthenticated", None).await;
    assert_problem(client.post("/api/session", &json!({})).await, 401, "unauthenticated", None).await;
}

#[tokio::test]
async fn a_session_acts_as_its_key() {
    let key = mint(&["read", "write"]).await;
    let reply = closed().post("/api/session", &json!({ "key": key["key"] })).await.expect(200).await;
    let cookie = reply.header("set-cookie").to_owned();
    for attribute in ["HttpOnly", "SameSite=Lax", "Path=/", "Max-Age=2592000"] {
        assert!(cookie.split("; ").any(|found| found == attribute), "{attribute}: {cookie}");
    }
    let user = browser(&reply);
    let opened: Value = reply.json().await;
    let expected = json!({ "prefix": key["prefix"], "name": "laptop" });
    assert_eq!((&opened["user_id"], &opened["key"]), (&key["user_id"], &expected), "{opened}");
    assert_eq!(opened["scopes"], json!(["read", "write"]));

    // The user of the session is the user of the key, with the same threads.
    let case = Case::of(user.clone());
    case.script("", [text("Hi.")]).await;
    let thread = case.chat("Hello").await[0].text("thread_id").to_owned();
    assert_eq!(with_key(&key["key"]).messages(&thread).await.len(), 2);

    // A returning visitor is the same user, and gets no other cookie.
    let again = user.post("/api/session", &json!({})).await.expect(200).await;
    assert_eq!(again.header("set-cookie"), "");
    assert_eq!(again.json().await, opened);

    // D1 has neither the cookie nor the key.
    let secret = user.header("cookie").split_once('=').expect("a cookie").1.to_owned();
    let rows = stored::d1_at(STATE, "SELECT * FROM sessions").await;
    let rows = serde_json::to_string(&rows).expect("JSON");
    assert!(rows.contains(key["prefix"].as_str().expect("a prefix")) && !rows.contains(&secret), "{rows}");
}

#[tokio::test]
async fn a_session_may_do_what_its_key_may() {
    let says = json!({ "content": "Hello" });
    let reader = sign_in(&mint(&["read"]).await["key"]).await;
    reader.get("/api/threads").await.expect(200).await;
    assert_problem(reader.post("/api/chat", &says).await, 403, "insufficient_scope", None).await;
    assert_problem(reader.get("/api/keys").await, 403, "insufficient_scope", None).await;
    let administrator = sign_in(&mint(&["admin"]).await["key"]).await;
    // As a browser asks for something on its own page: without an `Origin`.
    for page in [&administrator, &administrator.with("sec-fetch-site", "same-origin")] {
        page.get("/api/keys").await.expect(200).await;
        page.get("/api/audit?limit=1").await.expect(200).await;
    }
    assert_problem(administrator.get("/api/threads").await, 403, "insufficient_scope", None).await;
}

#[tokio::test]
async fn signing_out_ends_a_copy_of_the_cookie_too() {
    let key = mint(&["read", "write"]).await;
    let (here, elsewhere) = (sign_in(&key["key"]).await, sign_in(&key["key"]).await);
    for client in [&here, &elsewhere] {
        client.get("/api/threads").await.expect(200).await;
    }
    for _ in 0..2 {
        let gone = here.send("DELETE", "/api/session", "").await.expect(204).await;
        let cookie = gone.header("set-cookie").to_owned();
        assert!(cookie.starts_with("espalier_session=;") && cookie.contains("Max-Age=0"), "{cookie}");
        assert_out(&here).await;
    }
    // The session of another browser stays valid, and so does the key.
    elsewhere.get("/api/threads").await.expect(200).await;
    with_key(&key["key"]).get("/api/threads").await.expect(200).await;
    // An unknown cookie is deleted as well.
    closed().send("DELETE", "/api/session", "").await.expect(204).await;
}

#[tokio::test]
async fn a_session_dies_with_its_key() {
    let revoked = mint(&["read"]).await;
    let user = sign_in(&revoked["key"]).await;
    user.get("/api/threads").await.expect(200).await;
    let prefix = |key: &Value| key["prefix"].as_str().expect("a prefix").to_owned();
    admin().send("DELETE", &format!("/api/keys/{}", prefix(&revoked)), "").await.expect(204).await;
    assert_out(&user).await;

    // Each of these sessions is looked up for the first time after the change.
    for change in [
        "UPDATE api_keys SET expires_at = 1 WHERE prefix = ",
        "DELETE FROM api_keys WHERE prefix = ",
        "UPDATE sessions SET expires_at = 1 WHERE key_prefix = ",
    ] {
        let key = mint(&["read"]).await;
        let user = sign_in(&key["key"]).await;
        stored::change_at(STATE, &format!("{change}'{}'", prefix(&key))).await;
        eprintln!("{change}");
        assert_out(&user).await;
    }
}

#[tokio::test]
async fn a_wrong_key_opens_nothing() {
    let revoked = mint(&["read"]).await;
    let path = format!("/api/keys/{}", revoked["prefix"].as_str().expect("a prefix"));
    admin().send("DELETE", &path, "").await.expect(204).await;
    let other_secret = format!("espk_e2eadmin_{}", "0".repeat(64));
    let unknown = format!("espk_nobody_{}", "0".repeat(64));
    for key in [json!(""), json!("x"), json!(other_secret), json!(unknown), revoked["key"].clone()] {
        let reply = closed().post("/api/session", &json!({ "key": key })).await;
        assert_eq!(reply.header("set-cookie"), "");
        assert_problem(reply, 401, "unauthenticated", None).await;
    }
    let reply = closed().post("/api/session", &json!({ "key": 7 })).await;
    assert_problem(reply, 400, "invalid_request", Some("key")).await;
    let json = closed().with("content-type", "application/json");
    assert_problem(json.send("POST", "/api/session", "{").await, 400, "invalid_json", None).await;
    let form = closed().with("content-type", "text/plain");
    let reply = form.send("POST", "/api/session", "{}").await;
    assert_problem(reply, 415, "unsupported_media_type", None).await;
    // A token of the right form that the service never made.
    assert_out(&closed().with("cookie", &format!("espalier_session=esps_{}", "0".repeat(64)))).await;
}

// A foreign page cannot use the session, end it, or sign the visitor in as another user.
#[tokio::test]
async fn a_foreign_page_changes_nothing_about_a_session() {
    let key = mint(&["read", "write", "admin"]).await;
    let user = sign_in(&key["key"]).await;
    let foreign = [("origin", "https://evil.example"), ("origin", "null"), ("sec-fetch-site", "cross-site")];
    for (name, value) in foreign {
        let page = user.with(name, value).with("content-type", "application/json");
        let says = json!({ "content": "Hello" }).to_string();
        let new_key = json!({ "name": "theirs" }).to_string();
        let theirs = json!({ "key": key["key"] }).to_string();
        for (method, path, body) in [
            ("POST", "/api/chat", says.as_str()),
            ("POST", "/api/keys", new_key.as_str()),
            ("POST", "/api/session", theirs.as_str()),
            ("DELETE", "/api/session", ""),
            ("DELETE", "/api/me/sessions", ""),
            ("DELETE", "/api/me/sessions/0123456789abcdef0123456789abcdef", ""),
        ] {
            let reply = page.send(method, path, body.to_owned()).await;
            assert_eq!(reply.header("set-cookie"), "");
            assert_problem(reply, 403, "forbidden_origin", None).await;
        }
    }
    user.get("/api/threads").await.expect(200).await;
}

// As many as `signed_in::MAX_SESSIONS`, whichever of the keys opened them.
#[tokio::test]
async fn a_user_has_a_hundred_sessions_and_the_oldest_makes_room() {
    let (key, user) = (mint(&["read"]).await, new_id());
    let of_user = json!({ "name": "desk", "scopes": ["read"], "user": user });
    let first = admin().post("/api/keys", &of_user).await.expect(201).await.json().await;
    let other = admin().post("/api/keys", &of_user).await.expect(201).await.json().await;
    let somebody = sign_in(&key["key"]).await;
    let oldest = sign_in(&first["key"]).await;
    let second = sign_in(&other["key"]).await;
    for _ in 0..98 {
        sign_in(&other["key"]).await;
    }
    let count = format!(
        "SELECT count(*) AS count FROM sessions JOIN api_keys ON prefix = key_prefix WHERE api_keys.user_id = 'key:{user}'"
    );
    assert_eq!(stored::d1_at(STATE, &count).await, [json!({ "count": 100 })]);
    let newest = sign_in(&first["key"]).await;
    assert_eq!(stored::d1_at(STATE, &count).await, [json!({ "count": 100 })]);
    assert_out(&oldest).await;
    second.get("/api/threads").await.expect(200).await;
    newest.get("/api/threads").await.expect(200).await;
    somebody.get("/api/threads").await.expect(200).await;
}

// The page gets the same answer from a service behind a proxy that signs people in.
#[tokio::test]
async fn a_token_that_a_proxy_adds_names_a_user() {
    let token = added_by_proxy(ACCESS).await;
    let ada = closed().with("cf-access-jwt-assertion", &token);
    answered(&ada).await.expect(200).await;
    let reply = ada.post("/api/session", &json!({})).await.expect(200).await;
    assert_eq!(reply.header("set-cookie"), "");
    let session: Value = reply.json().await;
    assert_eq!((&session["user_id"], &session["key"]), (&json!("access:ada"), &Value::Null), "{session}");
    assert!(session["expires_at"].is_u64(), "{session}");
    let forged = closed().with("cf-access-jwt-assertion", &format!("{token}x"));
    assert_out(&forged).await;
}

/// The token that a proxy adds to the requests of a user of this issuer.
async fn added_by_proxy(issuer: &str) -> String {
    tokens(&[("rsa", json!({ "alg": "RS256", "kid": "rsa" }), claims(issuer, "", "ada"))]).await.remove(0)
}

// The proxy's token names the user, and the cookie is valid too: without the proxy the cookie would count.
#[tokio::test]
async fn signing_out_behind_a_proxy_ends_the_cookies_session() {
    let token = added_by_proxy(ACCESS).await;
    for token in [token.as_str(), "forged"] {
        let user = sign_in(&mint(&["read"]).await["key"]).await;
        user.get("/api/threads").await.expect(200).await;
        let behind_proxy = user.with("cf-access-jwt-assertion", token);
        let gone = behind_proxy.send("DELETE", "/api/session", "").await.expect(204).await;
        assert!(gone.header("set-cookie").contains("Max-Age=0"), "{}", gone.header("set-cookie"));
        assert_out(&user).await;
    }
}

// An answer of 401 would make the page ask for an API key.
#[tokio::test]
async fn no_session_is_over_while_its_issuer_cannot_be_asked() {
    let ada = closed().with("cf-access-jwt-assertion", &added_by_proxy(GONE).await);
    let reply = ada.post("/api/session", &json!({})).await;
    assert_eq!((reply.header("set-cookie"), reply.header("retry-after")), ("", "5"));
    assert_problem(reply, 503, "issuer_unavailable", None).await;
}

// Where the deployment lets visitors in, a visitor can sign in too, and is a visitor again after signing out.
#[tokio::test]
async fn a_visitor_may_sign_in_too() {
    let main = Client::nobody_at(&env("ESPALIER_URL"));
    let admin = main.with("authorization", &format!("Bearer {}", env("ESPALIER_ADMIN_KEY")));
    let body = json!({ "name": "laptop", "user": new_id() });
    let key = admin.post("/api/keys", &body).await.expect(201).await.json().await;
    let reply = main.post("/api/session", &json!({ "key": key["key"] })).await.expect(200).await;
    let user = main.with("cookie", reply.header("set-cookie").split(';').next().unwrap_or_default());
    let session: Value = user.post("/api/session", &json!({})).await.expect(200).await.json().await;
    assert_eq!(session["user_id"], key["user_id"]);
    user.send("DELETE", "/api/session", "").await.expect(204).await;
    assert_problem(user.get("/api/threads").await, 401, "unauthenticated", None).await;
    let visitor: Value = user.post("/api/session", &json!({})).await.expect(200).await.json().await;
    assert_eq!(visitor["key"], Value::Null);
    assert_eq!(visitor["scopes"], json!(["read", "write"]));
}
