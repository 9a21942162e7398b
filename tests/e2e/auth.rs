//! Access: the closed instance, sessions, forged cookies, foreign origins.
//!
//! The section "Credentials" of `docs/wire-protocol.md`. API keys are in `keys.rs`, tokens in `tokens.rs`.

use espalier_test_support::client::assert_problem;
use espalier_test_support::{Case, Client, Value, env, json, new_id, text};

/// Every route that needs a credential.
fn guarded() -> Vec<(&'static str, String)> {
    let thread = format!("/api/threads/{}", new_id());
    vec![
        ("POST", "/api/chat".into()),
        ("GET", "/api/threads".into()),
        ("GET", thread.clone()),
        ("DELETE", thread.clone()),
        ("GET", format!("{thread}/messages")),
        ("GET", format!("{thread}/stream")),
        ("POST", format!("{thread}/cancel")),
        ("GET", "/api/keys".into()),
        ("POST", "/api/keys".into()),
        ("DELETE", "/api/keys/0000".into()),
    ]
}

async fn assert_out(client: &Client) {
    let client = client.with("content-type", "application/json");
    for (method, path) in guarded() {
        let body = if method == "POST" { json!({ "content": "Hello" }).to_string() } else { String::new() };
        assert_problem(client.send(method, &path, body).await, 401, "unauthenticated", None).await;
    }
}

#[tokio::test]
async fn each_request_needs_a_credential() {
    for instance in ["ESPALIER_URL", "ESPALIER_CLOSED_URL"] {
        assert_out(&Client::nobody_at(&env(instance))).await;
    }
}

#[tokio::test]
async fn a_closed_instance_gives_no_sessions_and_takes_none() {
    let closed = Client::nobody_at(&env("ESPALIER_CLOSED_URL"));
    let reply = closed.post("/api/session", &json!({})).await;
    assert_eq!(reply.header("set-cookie"), "");
    assert_problem(reply, 401, "unauthenticated", None).await;
    // A session of the main instance has the right signature, because both share the secret; here it is no credential.
    let guest = Client::anonymous().await;
    assert_out(&closed.with("cookie", guest.header("cookie"))).await;
    for value in ["", "Bearer", "Bearer ", "Bearer espk_nobody", "Basic dTpw", "bearer null"] {
        assert_out(&closed.with("authorization", value)).await;
    }
}

#[tokio::test]
async fn health_needs_no_credential_and_gives_no_secret_away() {
    for (instance, provider) in
        [("ESPALIER_URL", "openai"), ("ESPALIER_CLOSED_URL", "openai"), ("ESPALIER_DEMO_URL", "demo")]
    {
        let health = Client::nobody_at(&env(instance)).read("/api/health").await;
        assert_eq!(health["status"], "ok", "{health}");
        assert_eq!(health["provider"], provider, "{health}");
        assert!(health["version"].is_string() && health["model"].is_string(), "{health}");
        assert!(!health.to_string().contains("canary"), "{health}");
    }
}

#[tokio::test]
async fn a_session_is_kept_and_its_cookie_is_out_of_reach_of_scripts() {
    let nobody = Client::nobody_at(&env("ESPALIER_URL"));
    let reply = nobody.post("/api/session", &json!({})).await.expect(200).await;
    let cookie = reply.header("set-cookie").to_owned();
    for attribute in ["HttpOnly", "SameSite=", "Path=/"] {
        assert!(cookie.to_lowercase().contains(&attribute.to_lowercase()), "{attribute}: {cookie}");
    }
    let session = reply.json().await;
    assert!(session["user_id"].is_string() && session["expires_at"].is_u64(), "{session}");

    let somebody = nobody.with("cookie", cookie.split(';').next().unwrap_or_default());
    let again: Value = somebody.post("/api/session", &json!({})).await.expect(200).await.json().await;
    assert_eq!(again["user_id"], session["user_id"]);
    let other: Value = nobody.post("/api/session", &json!({})).await.expect(200).await.json().await;
    assert_ne!(other["user_id"], session["user_id"]);
}

// The signature protects every single character of the cookie.
#[tokio::test]
async fn a_forged_cookie_is_refused() {
    let somebody = Client::anonymous().await;
    let nobody = Client::nobody_at(&env("ESPALIER_URL"));
    let (name, value) = somebody.header("cookie").split_once('=').expect("name=value");
    somebody.get("/api/threads").await.expect(200).await;
    let mut forged =
        vec![String::new(), "x".into(), "..".into(), "a.b.c".into(), value.chars().skip(1).collect()];
    forged.push(value.chars().take(value.len() - 4).collect());
    forged.push(format!("{value}{value}"));
    // The last character of base64 has bits without a meaning, and a lenient decoder would not notice their change.
    for index in (0..value.len()).step_by(5) {
        let mut bytes = value.as_bytes().to_vec();
        bytes[index] = if bytes[index] == b'A' { b'B' } else { b'A' };
        forged.push(String::from_utf8(bytes).expect("ASCII"));
    }
    for value in forged {
        eprintln!("{value}");
        let reply = nobody.with("cookie", &format!("{name}={value}")).get("/api/threads").await;
        assert_problem(reply, 401, "unauthenticated", None).await;
    }
}

// A page of another site may make a browser send the cookie, but the service changes nothing for it.
#[tokio::test]
async fn a_foreign_origin_changes_nothing() {
    let case = Case::new().await;
    case.script("", [text("Hi.")]).await;
    let thread = case.chat("Hello").await[0].text("thread_id").to_owned();
    let path = format!("/api/threads/{thread}");
    let foreign = [
        case.client.with("origin", "https://evil.example"),
        case.client.with("origin", "null"),
        case.client.with("origin", &format!("{}.evil.example", env("ESPALIER_URL"))),
        // A request without an origin, but from a browser.
        case.client.with("sec-fetch-site", "cross-site"),
        case.client.with("sec-fetch-site", "none").with("sec-fetch-mode", "navigate"),
    ];
    for client in foreign {
        for (method, path) in [("POST", "/api/chat"), ("POST", &format!("{path}/cancel")), ("DELETE", &path)]
        {
            let client = client.with("content-type", "application/json");
            let reply = client.send(method, path, case.says("Hello").to_string()).await;
            assert_problem(reply, 403, "forbidden_origin", None).await;
        }
    }
    assert_eq!(case.client.messages(&thread).await.len(), 2);

    // The service's own page.
    let own = case.client.with("origin", &env("ESPALIER_URL")).with("sec-fetch-site", "same-origin");
    own.chat(&json!({ "thread_id": thread, "content": case.said("Again", "") })).await.turn().await;
    assert_eq!(case.client.messages(&thread).await.len(), 4);
}

// Node's own fetch sends `Sec-Fetch-Mode` although it is no browser; `tests/e2e/clients.rs` has the real one.
#[tokio::test]
async fn a_program_is_told_from_a_browser() {
    let program = Client::nobody_at(&env("ESPALIER_URL")).with("sec-fetch-mode", "cors");
    program.post("/api/session", &json!({})).await.expect(200).await;
}

// The allow-list of CORS does not name this origin: a page of it can read no answer.
#[tokio::test]
async fn no_foreign_page_may_read() {
    let client = Client::anonymous().await.with("origin", "https://evil.example");
    let reply = client.get("/api/threads").await;
    assert_eq!(reply.header("access-control-allow-origin"), "");
    let preflight =
        client.with("access-control-request-method", "POST").send("OPTIONS", "/api/chat", "").await;
    assert_eq!(preflight.header("access-control-allow-origin"), "");
}
