//! The headers of answers for browsers: the API's own headers, CORS for allowed origins, the page's policy.

use espalier_test_support::client::assert_problem;
use espalier_test_support::http::Reply;
use espalier_test_support::identity::users;
use espalier_test_support::{Case, Client, env, json, new_id, text};

/// The origin that the closed instance allows.
const FRIEND: &str = "https://friend.example";

fn assert_guarded(reply: &Reply, about: &str) {
    for (name, value) in [
        ("cache-control", "no-store, no-transform"),
        ("x-content-type-options", "nosniff"),
        ("referrer-policy", "no-referrer"),
        ("content-security-policy", "default-src 'none'; frame-ancestors 'none'"),
        ("cross-origin-resource-policy", "same-origin"),
        ("strict-transport-security", "max-age=31536000"),
    ] {
        assert_eq!(reply.header(name), value, "{about}: {name}");
    }
}

#[tokio::test]
async fn every_answer_of_the_api_has_them() {
    let case = Case::new().await;
    case.script("", [text("Hi.")]).await;
    let stream = case.client.post("/api/chat", &case.says("Hello")).await;
    assert_guarded(&stream, "a stream");
    let events = stream.expect(200).await.text().await;
    assert!(events.contains("event: done"), "{events}");
    let client = case.client.with("content-type", "application/json");
    let thread = format!("/api/threads/{}", new_id());
    for (method, path, status) in [
        ("GET", "/api/health", 200),
        ("HEAD", "/api/health", 200),
        ("GET", "/openapi.json", 200),
        ("HEAD", "/openapi.json", 200),
        ("POST", "/openapi.json", 405),
        ("GET", "/api/threads", 200),
        ("POST", "/api/session", 200),
        ("OPTIONS", "/api/chat", 204),
        ("POST", "/api/chat", 400),
        ("PUT", "/api/chat", 405),
        ("GET", "/api/nothing", 404),
        ("GET", &thread, 404),
        ("GET", "/api/keys", 403),
    ] {
        let reply = client.send(method, path, "").await;
        assert_guarded(&reply, path);
        assert_eq!(reply.status, status, "{method} {path}");
    }
    assert_guarded(&Client::nobody_at(&env("ESPALIER_URL")).get(&thread).await, "401");
}

/// The description is an asset, which the Worker serves as one of its own answers.
#[tokio::test]
async fn the_description_of_the_api_is_the_file() {
    let anybody = Client::nobody_at(&env("ESPALIER_CLOSED_URL")).with("if-none-match", "*");
    let reply = anybody.get("/openapi.json").await.expect(200).await;
    assert_eq!(reply.header("content-type"), "application/json");
    assert_eq!(reply.header("etag"), "");
    assert_eq!(reply.text().await, include_str!("../../web/public/openapi.json"));
}

#[tokio::test]
async fn an_allowed_page_may_ask_and_read() {
    let [ada] = users([("lab", &new_id())]).await;
    let page = ada.with("origin", FRIEND);
    let read = page.get("/api/threads").await.expect(200).await;
    assert_eq!(read.header("access-control-allow-origin"), FRIEND);
    assert_eq!(read.header("vary"), "Origin");

    let nobody = Client::nobody_at(&env("ESPALIER_CLOSED_URL")).with("origin", FRIEND);
    let asked = nobody.with("access-control-request-method", "POST");
    let preflight = asked.send("OPTIONS", "/api/chat", "").await.expect(204).await;
    assert_eq!(preflight.header("access-control-allow-origin"), FRIEND);
    assert_eq!(preflight.header("access-control-allow-methods"), "POST, OPTIONS");
    let may_send = preflight.header("access-control-allow-headers");
    for header in ["authorization", "content-type", "last-event-id", "x-thread-id", "x-stainless-retry-count"]
    {
        assert!(may_send.split(", ").any(|allowed| allowed == header), "{header}: {may_send}");
    }
    // Refusals have the headers too, otherwise a page could not read the problem.
    let refused = nobody.get("/api/threads").await.expect(401).await;
    assert_eq!(refused.header("access-control-allow-origin"), FRIEND);

    let case = Case::of(page);
    case.script("", [text("Hi.")]).await;
    let stream = case.client.post("/api/chat", &case.says("Hello")).await.expect(200).await;
    assert_eq!(stream.header("access-control-allow-origin"), FRIEND);
    assert!(stream.text().await.contains("event: done"));
}

#[tokio::test]
async fn other_pages_may_not() {
    let [ada] = users([("lab", &new_id())]).await;
    let own = format!("{FRIEND}.evil.example");
    for origin in
        ["https://evil.example", "null", "http://friend.example", &own, "https://FRIEND.example:443"]
    {
        let page = ada.with("origin", origin);
        assert_eq!(page.get("/api/threads").await.header("access-control-allow-origin"), "", "{origin}");
        let asked = page.with("access-control-request-method", "POST");
        let preflight = asked.send("OPTIONS", "/api/chat", "").await;
        for header in ["access-control-allow-origin", "access-control-allow-methods"] {
            assert_eq!(preflight.header(header), "", "{origin}");
        }
    }
}

// The service bounds headers itself: the runtime's own limits differ between here and the edge.
#[tokio::test]
async fn a_head_has_limits() {
    let client = Client::nobody_at(&env("ESPALIER_URL"));
    let long = |bytes: usize| "x".repeat(bytes);
    client.with("x-note", &long(24 << 10)).get("/api/health").await.expect(200).await;
    let eight = long(8 << 10);
    let many = ["x-a", "x-b", "x-c", "x-d"]
        .into_iter()
        .fold(client.clone(), |client, name| client.with(name, &eight));
    for large in [client.with("x-note", &long(32 << 10)), client.with("cookie", &long(40 << 10)), many] {
        for (method, path) in [("GET", "/api/health"), ("POST", "/api/chat"), ("OPTIONS", "/api/chat")] {
            let reply = large.send(method, path, "").await;
            assert_guarded(&reply, path);
            assert_problem(reply, 431, "headers_too_large", None).await;
        }
    }
    client.get(&format!("/api/health?q={}", long(15 << 10))).await.expect(200).await;
    let reply = client.get(&format!("/api/health?q={}", long(16 << 10))).await;
    assert_guarded(&reply, "a long address");
    assert_problem(reply, 414, "uri_too_long", None).await;
}

// The page's policy allows its own files only, no frames and no inline code, and the page contains no secret.
#[tokio::test]
async fn the_page_is_locked_down() {
    let client = Client::nobody_at(&env("ESPALIER_URL"));
    for path in ["/", "/some/thread", "/index.html"] {
        let reply = client.get(path).await;
        if reply.status == 307 {
            continue;
        }
        let policy = reply.header("content-security-policy").to_owned();
        for rule in [
            "default-src 'none'",
            "script-src 'self'",
            "connect-src 'self'",
            "base-uri 'none'",
            "form-action 'none'",
            "frame-ancestors 'none'",
            "require-trusted-types-for 'script'",
        ] {
            assert!(policy.split(';').any(|found| found.trim() == rule), "{path}: {rule}: {policy}");
        }
        assert!(!policy.contains("unsafe"), "{policy}");
        assert_eq!(reply.header("x-content-type-options"), "nosniff");
        assert_eq!(reply.header("referrer-policy"), "no-referrer");
        assert_eq!(reply.header("strict-transport-security"), "max-age=31536000");
        let html = reply.text().await;
        assert!(!html.contains("canary") && !html.contains("espk_"), "{html}");
    }
    // A page cannot send this body without a preflight.
    let form = client.with("content-type", "text/plain").with("origin", "https://evil.example");
    form.send("POST", "/api/session", json!({}).to_string()).await.expect(403).await;
}
