//! `/api/me/sessions`: users see where they are signed in, and end sessions one by one or all but their own.

use espalier_test_support::client::assert_problem;
use espalier_test_support::{Case, Client, Value, env, json, new_id, stored, text};

const FIREFOX: &str = "Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:145.0) Gecko/20100101 Firefox/145.0";
const PHONE: &str = "Mozilla/5.0 (iPhone; CPU iPhone OS 18_6 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) \
    Version/18.6 Mobile/15E148 Safari/604.1";

fn closed() -> Client {
    Client::nobody_at(&env("ESPALIER_CLOSED_URL"))
}

fn with_key(key: &Value) -> Client {
    closed().with("authorization", &format!("Bearer {}", key.as_str().expect("a key")))
}

/// A new key of this user.
async fn mint(user: &str, scopes: &[&str]) -> Value {
    let body = json!({ "name": "laptop", "user": user, "scopes": scopes });
    let admin = with_key(&env("ESPALIER_ADMIN_KEY").into());
    admin.post("/api/keys", &body).await.expect(201).await.json().await["key"].take()
}

/// Signs in with this browser.
async fn sign_in(key: &Value, agent: &str) -> Client {
    let browser = closed().with("user-agent", agent);
    let reply = browser.post("/api/session", &json!({ "key": key })).await.expect(200).await;
    browser.with("cookie", reply.header("set-cookie").split(';').next().unwrap_or_default())
}

/// The agents of the listed sessions, and which of them is the client's own.
async fn listed(client: &Client) -> Vec<(String, bool)> {
    let list = client.read("/api/me/sessions").await;
    let sessions = list["sessions"].as_array().expect("a list");
    let mut listed: Vec<_> = sessions
        .iter()
        .map(|session| (session["agent"].as_str().expect("a text").to_owned(), session["current"] == true))
        .collect();
    listed.sort();
    listed
}

fn expected(sessions: &[(&str, bool)]) -> Vec<(String, bool)> {
    sessions.iter().map(|(agent, current)| ((*agent).to_owned(), *current)).collect()
}

/// The id of the session with this agent.
async fn id_of(client: &Client, agent: &str) -> String {
    let list = client.read("/api/me/sessions").await;
    let sessions = list["sessions"].as_array().expect("a list");
    let session = sessions.iter().find(|session| session["agent"] == agent).expect("the session");
    session["id"].as_str().expect("an id").to_owned()
}

async fn assert_out(client: &Client) {
    assert_problem(client.get("/api/threads").await, 401, "unauthenticated", None).await;
}

#[tokio::test]
async fn a_user_lists_and_ends_the_sessions_of_all_their_keys() {
    let user = new_id();
    let (first, second) = (mint(&user, &["read", "write"]).await, mint(&user, &["read", "write"]).await);
    let (desk, phone) = (sign_in(&first, FIREFOX).await, sign_in(&second, PHONE).await);
    let script = sign_in(&first, "curl/8.17.0").await;
    let stranger = sign_in(&mint(&new_id(), &["read", "write"]).await, FIREFOX).await;
    let all = [("Firefox, Windows", true), ("Safari, iPhone", false), ("curl", false)];
    assert_eq!(listed(&desk).await, expected(&all));
    let of_key = [("Firefox, Windows", false), ("Safari, iPhone", false), ("curl", false)];
    assert_eq!(listed(&with_key(&second)).await, expected(&of_key), "no session is a key's own");
    let row = desk.read("/api/me/sessions").await["sessions"][0].clone();
    let members: Vec<&str> = row.as_object().expect("an object").keys().map(String::as_str).collect();
    assert_eq!(members, ["agent", "created_at", "current", "expires_at", "id", "seen_at"]);

    // Each is verified and remembered before it ends.
    for client in [&desk, &phone, &script] {
        client.get("/api/threads").await.expect(200).await;
    }
    let of_phone = format!("/api/me/sessions/{}", id_of(&desk, "Safari, iPhone").await);
    assert_problem(stranger.send("DELETE", &of_phone, "").await, 404, "session_not_found", None).await;
    phone.get("/api/threads").await.expect(200).await;
    let gone = desk.send("DELETE", &of_phone, "").await.expect(204).await;
    assert_eq!(gone.header("set-cookie"), "");
    assert_out(&phone).await;
    assert_problem(desk.send("DELETE", &of_phone, "").await, 404, "session_not_found", None).await;

    desk.send("DELETE", "/api/me/sessions", "").await.expect(204).await;
    assert_out(&script).await;
    assert_eq!(listed(&desk).await, expected(&[("Firefox, Windows", true)]));
    stranger.get("/api/threads").await.expect(200).await;

    let own = format!("/api/me/sessions/{}", id_of(&desk, "Firefox, Windows").await);
    let gone = desk.send("DELETE", &own, "").await.expect(204).await;
    assert!(gone.header("set-cookie").contains("Max-Age=0"), "{}", gone.header("set-cookie"));
    assert_out(&desk).await;
    // The keys themselves stay, and a key ends all sessions.
    let again = sign_in(&second, PHONE).await;
    with_key(&first).send("DELETE", "/api/me/sessions", "").await.expect(204).await;
    assert_out(&again).await;
    assert_eq!(listed(&with_key(&first)).await, []);
}

#[tokio::test]
async fn other_texts_end_no_session_and_reading_ends_none() {
    let user = new_id();
    let (writes, reads) = (mint(&user, &["read", "write"]).await, mint(&user, &["read"]).await);
    let desk = sign_in(&writes, FIREFOX).await;
    let id = id_of(&desk, "Firefox, Windows").await;
    for other in [
        "x",
        &id.chars().skip(1).collect::<String>(),
        &format!("{id}0"),
        &id.to_uppercase(),
        &"0".repeat(32),
        &new_id(),
    ] {
        let reply = desk.send("DELETE", &format!("/api/me/sessions/{other}"), "").await;
        if reply.status != 404 {
            panic!("{other}: {}", reply.status);
        }
        assert_problem(reply, 404, "session_not_found", None).await;
    }
    for path in ["/api/me/sessions".to_owned(), format!("/api/me/sessions/{id}")] {
        let reply = with_key(&reads).send("DELETE", &path, "").await;
        assert_problem(reply, 403, "insufficient_scope", None).await;
    }
    assert_eq!(listed(&with_key(&reads)).await, expected(&[("Firefox, Windows", false)]));
    for (method, path) in [("GET", "/api/me/sessions"), ("DELETE", "/api/me/sessions")] {
        assert_problem(closed().send(method, path, "").await, 401, "unauthenticated", None).await;
    }
}

// A visit stores nothing. The first admitted turn writes one row, and later turns write none.
#[tokio::test]
async fn a_visitor_has_a_row_from_the_first_turn_on() {
    let visitor = Client::anonymous_at(&env("ESPALIER_URL")).await.with("user-agent", FIREFOX);
    let user = visitor.post("/api/session", &json!({})).await.expect(200).await.json().await;
    let user = user["user_id"].as_str().expect("an id").to_owned();
    let count = || async {
        let sql = "SELECT count(*) AS count, count(revoked_at) AS ended FROM sessions WHERE user_id = ?1";
        stored::d1(sql, &[&format!("anonymous:{user}")]).await
    };
    assert_eq!(listed(&visitor).await, []);
    assert_eq!(count().await, [json!({ "count": 0, "ended": 0 })]);
    // A refused message begins no session.
    assert_problem(
        visitor.post("/api/chat", &json!({ "content": 7 })).await,
        400,
        "invalid_request",
        Some("content"),
    )
    .await;
    assert_eq!(count().await, [json!({ "count": 0, "ended": 0 })]);
    let case = Case::of(visitor.clone());
    case.script("", [text("Hi."), text("Hi again.")]).await;
    case.chat("Hello").await;
    let one = [("Firefox, Windows".to_owned(), true)];
    stored::eventually("the row", || async { (listed(&visitor).await == one).then_some(()) }).await;
    case.chat("Hello").await;
    assert_eq!(count().await, [json!({ "count": 1, "ended": 0 })]);

    // A visitor ends no other session, and keeps the own one.
    let other = Client::anonymous_at(&env("ESPALIER_URL")).await;
    let own = format!("/api/me/sessions/{}", id_of(&visitor, "Firefox, Windows").await);
    assert_problem(other.send("DELETE", &own, "").await, 404, "session_not_found", None).await;
    visitor.send("DELETE", "/api/me/sessions", "").await.expect(204).await;
    visitor.get("/api/threads").await.expect(200).await;
    let gone = visitor.send("DELETE", &own, "").await.expect(204).await;
    assert!(gone.header("set-cookie").contains("Max-Age=0"), "{}", gone.header("set-cookie"));
    // The cookie is still signed, and opens nothing; the service does not take it back either.
    assert_out(&visitor).await;
    let next = visitor.post("/api/session", &json!({})).await.expect(200).await.json().await;
    assert_ne!(next["user_id"], json!(user));
    assert_eq!(count().await, [json!({ "count": 1, "ended": 1 })]);
}

// The retention finds a visitor's files by the row of their session, so each way of writing one leaves the row.
#[tokio::test]
async fn a_file_over_mcp_gives_a_visitor_a_row() {
    let visitor = Client::anonymous_at(&env("ESPALIER_URL")).await.with("user-agent", FIREFOX);
    let call = |name: &str, more: Value| {
        let mut arguments = json!({ "workspace": "w" });
        arguments.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        json!({ "name": name, "arguments": arguments })
    };
    let list = call("list_files", json!({}));
    crate::mcp_server::raw::result(&visitor, &json!({}), "tools/call", list).await;
    assert_eq!(listed(&visitor).await, [], "reading stores nothing");
    let write = call("write_file", json!({ "path": "a.md", "content": "x" }));
    crate::mcp_server::raw::result(&visitor, &json!({}), "tools/call", write).await;
    let one = [("Firefox, Windows".to_owned(), true)];
    stored::eventually("the row", || async { (listed(&visitor).await == one).then_some(()) }).await;
}

// Signing out ends the copies of a visitor's cookie, also before the first turn.
#[tokio::test]
async fn a_visitor_who_signs_out_leaves_no_valid_cookie() {
    let visitor = Client::anonymous_at(&env("ESPALIER_URL")).await;
    visitor.get("/api/threads").await.expect(200).await;
    for _ in 0..2 {
        visitor.send("DELETE", "/api/session", "").await.expect(204).await;
        assert_out(&visitor).await;
    }
    let forged = visitor.with("cookie", "espalier_session=0a1b2c3d.AAAA.AAAA");
    forged.send("DELETE", "/api/session", "").await.expect(204).await;
}
