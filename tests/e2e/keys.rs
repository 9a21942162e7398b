//! API keys: callers with the scope `admin` mint, list and revoke them; the routes that they open.

use espalier_test_support::client::assert_problem;
use espalier_test_support::{Case, Client, Value, env, json, new_id, stored, text};

fn with_key(key: &str) -> Client {
    Client::nobody_at(&env("ESPALIER_URL")).with("authorization", &format!("Bearer {key}"))
}

fn admin() -> Client {
    with_key(&env("ESPALIER_ADMIN_KEY"))
}

async fn mint(body: Value) -> Value {
    admin().post("/api/keys", &body).await.expect(201).await.json().await
}

fn text_of<'a>(value: &'a Value, member: &str) -> &'a str {
    value[member].as_str().unwrap_or_default()
}

async fn listed(prefix: &str) -> Value {
    let list = admin().get("/api/keys").await.expect(200).await.json().await;
    let keys = list["keys"].as_array().expect("keys").iter();
    keys.clone().find(|key| key["prefix"] == prefix).expect("the key is listed").clone()
}

#[tokio::test]
async fn a_key_is_minted_used_listed_and_revoked() {
    let minted = mint(json!({ "name": "ci" })).await;
    let (key, prefix) = (text_of(&minted, "key"), text_of(&minted, "prefix"));
    assert!(key.starts_with(&format!("espk_{prefix}_")), "{minted}");
    assert_eq!(minted["scopes"], json!(["read", "write"]));
    assert_eq!(minted["user_id"], format!("key:{prefix}"));

    let case = Case::of(with_key(key));
    case.script("", [text("Hi.")]).await;
    case.chat("Hello").await;

    let used = stored::eventually("the use of the key is written down", || async {
        let key = listed(prefix).await;
        key["last_used_at"].is_u64().then_some(key)
    })
    .await;
    let members: Vec<_> = used.as_object().expect("an object").keys().collect();
    let expected = [
        "created_at",
        "created_by",
        "expires_at",
        "last_used_at",
        "name",
        "prefix",
        "revoked_at",
        "scopes",
        "user_id",
    ];
    assert_eq!(members, expected, "nothing that proves a key is listed");
    assert_eq!(used["created_by"], "e2eadmin");
    assert_eq!((&used["name"], &used["revoked_at"]), (&json!("ci"), &Value::Null));

    for _ in 0..2 {
        admin().send("DELETE", &format!("/api/keys/{prefix}"), "").await.expect(204).await;
    }
    assert_problem(case.client.get("/api/threads").await, 401, "unauthenticated", None).await;
    assert!(listed(prefix).await["revoked_at"].is_u64());
}

async fn mint_with(client: &Client, body: Value) -> Value {
    client.post("/api/keys", &body).await.expect(201).await.json().await
}

// A leaked key may have minted others: its revocation revokes those too, and no further key.
#[tokio::test]
async fn revoking_a_key_revokes_the_keys_that_it_minted() {
    let all = json!(["read", "write", "admin"]);
    let lost = mint(json!({ "name": "lost", "scopes": all })).await;
    let keyed = |minted: &Value| with_key(text_of(minted, "key"));
    let child = mint_with(&keyed(&lost), json!({ "name": "child", "scopes": all })).await;
    let grandchild = mint_with(&keyed(&child), json!({ "name": "grandchild" })).await;
    let beside = mint(json!({ "name": "beside", "scopes": all })).await;
    assert_eq!((&child["created_by"], &grandchild["created_by"]), (&lost["prefix"], &child["prefix"]));
    // The isolate verified these a moment ago, and forgets them as well.
    for minted in [&child, &grandchild, &beside] {
        keyed(minted).get("/api/threads").await.expect(200).await;
    }
    admin().send("DELETE", &format!("/api/keys/{}", text_of(&lost, "prefix")), "").await.expect(204).await;
    for minted in [&lost, &child, &grandchild] {
        assert_problem(keyed(minted).get("/api/threads").await, 401, "unauthenticated", None).await;
        assert!(listed(text_of(minted, "prefix")).await["revoked_at"].is_u64());
    }
    keyed(&beside).get("/api/threads").await.expect(200).await;
    assert_eq!(listed(text_of(&beside, "prefix")).await["revoked_at"], Value::Null);

    // The key is revoked in D1 alone. An isolate that knows it still accepts it for a while, but mints no key with it.
    let prefix = text_of(&beside, "prefix");
    let sql = format!("UPDATE api_keys SET revoked_at = 1 WHERE prefix = '{prefix}'");
    stored::change_at("ESPALIER_STATE_DIR", &sql).await;
    let reply = keyed(&beside).post("/api/keys", &json!({ "name": "late" })).await;
    assert_problem(reply, 401, "unauthenticated", None).await;
}

// An ended key stays as long as a key that it minted: the revocation finds that one through it.
#[tokio::test]
async fn a_purge_breaks_no_line_of_descent() {
    let first = mint(json!({ "name": "first", "scopes": ["admin"] })).await;
    let client = with_key(text_of(&first, "key"));
    let middle = mint_with(&client, json!({ "name": "middle", "scopes": ["admin"] })).await;
    let last =
        mint_with(&with_key(text_of(&middle, "key")), json!({ "name": "last", "scopes": ["read"] })).await;
    let ended = format!(
        "UPDATE api_keys SET revoked_at = 1, expires_at = 1 WHERE prefix = '{}'",
        text_of(&middle, "prefix")
    );
    stored::change_at("ESPALIER_STATE_DIR", &ended).await;
    // Minting a key purges the old ones.
    mint_with(&client, json!({ "name": "another" })).await;
    let list = client.get("/api/keys").await.expect(200).await.json().await;
    let is_there =
        |prefix: &str| list["keys"].as_array().expect("keys").iter().any(|key| key["prefix"] == prefix);
    assert!(is_there(text_of(&last, "prefix")));
    client.send("DELETE", &format!("/api/keys/{}", text_of(&first, "prefix")), "").await.expect(204).await;
    let reply = with_key(text_of(&last, "key")).get("/api/threads").await;
    assert_problem(reply, 401, "unauthenticated", None).await;
}

// Ended keys once filled a tenant up for ever.
#[tokio::test]
async fn only_keys_that_are_valid_count_and_old_ones_are_purged() {
    const STATE: &str = "ESPALIER_STATE_DIR";
    const DAY: u64 = 24 * 3_600_000;
    let minted = mint(json!({ "name": "full", "scopes": ["admin"] })).await;
    // The tenant is new, and no isolate remembers the key yet.
    let (prefix, tenant) = (text_of(&minted, "prefix"), new_id());
    let now = minted["created_at"].as_u64().expect("a time");
    stored::change_at(STATE, &format!("UPDATE api_keys SET tenant = '{tenant}' WHERE prefix = '{prefix}'"))
        .await;
    let fill = async |kind: &str, count: u32, expires_at: &str, revoked_at: &str| {
        let sql = format!(
            "WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < {count}) \
            INSERT INTO api_keys (prefix, hash, tenant, user_id, name, scopes, created_at, expires_at, revoked_at) \
            SELECT '{kind}' || '{prefix}' || n, '', '{tenant}', 'key:x', '{kind}', 'read', n, {expires_at}, {revoked_at} FROM n"
        );
        stored::change_at(STATE, &sql).await;
    };
    fill("live", 998, "NULL", "NULL").await;
    fill("expired", 600, &format!("{} - n", now - DAY), "NULL").await;
    fill("revoked", 600, "NULL", &format!("{} - n", now - 2 * DAY)).await;
    fill("old", 5, &format!("{} - n", now - 30 * DAY), "NULL").await;
    fill("older", 5, "NULL", &format!("{} - n", now - 30 * DAY)).await;
    let client = with_key(text_of(&minted, "key"));
    let count = async || {
        let list = client.get("/api/keys").await.expect(200).await.json().await;
        let keys = list["keys"].as_array().expect("keys").clone();
        ["live", "expired", "revoked", "old", "older"]
            .map(|kind| keys.iter().filter(|key| key["name"] == kind).count())
    };
    // The thousandth valid key, beside all the ended ones; of these the newest thousand stay for thirty days.
    mint_with(&client, json!({ "name": "last" })).await;
    assert_eq!(count().await, [998, 600, 400, 0, 0]);
    let reply = client.post("/api/keys", &json!({ "name": "one more" })).await;
    assert_problem(reply, 400, "invalid_request", None).await;
    client.send("DELETE", &format!("/api/keys/live{prefix}1"), "").await.expect(204).await;
    mint_with(&client, json!({ "name": "in its place" })).await;
}

#[tokio::test]
async fn a_key_may_do_what_its_scopes_say() {
    let routes = [
        ("GET", "/api/threads".to_owned(), "read"),
        ("GET", format!("/api/threads/{}", new_id()), "read"),
        ("GET", format!("/api/threads/{}/messages", new_id()), "read"),
        ("GET", format!("/api/threads/{}/stream", new_id()), "read"),
        ("POST", "/api/chat".to_owned(), "write"),
        ("POST", format!("/api/threads/{}/cancel", new_id()), "write"),
        ("DELETE", format!("/api/threads/{}", new_id()), "write"),
        ("GET", "/api/keys".to_owned(), "admin"),
        ("POST", "/api/keys".to_owned(), "admin"),
        ("DELETE", "/api/keys/0000".to_owned(), "admin"),
        // Without a body it erases nothing.
        ("DELETE", "/api/me".to_owned(), "erase"),
    ];
    for scope in ["read", "write", "admin", "erase"] {
        let minted = mint(json!({ "name": scope, "scopes": [scope] })).await;
        let client = with_key(text_of(&minted, "key")).with("content-type", "application/json");
        for (method, path, needed) in &routes {
            let reply = client.send(method, path, if *method == "POST" { "{}" } else { "" }).await;
            if scope == *needed {
                assert!(![401, 403].contains(&reply.status), "{scope}: {method} {path}: {}", reply.status);
            } else {
                assert!(reply.header("www-authenticate").contains("insufficient_scope"));
                assert_problem(reply, 403, "insufficient_scope", None).await;
            }
        }
    }
    // Visitors and users without the scope cannot list a tenant's keys.
    let guest = Client::anonymous().await;
    assert_problem(guest.get("/api/keys").await, 403, "insufficient_scope", None).await;
}

// Keys can be replaced without losing the threads.
#[tokio::test]
async fn two_keys_of_one_user_open_the_same_threads() {
    let user = new_id();
    let [old, new, other] = [Some(&user), Some(&user), None].map(|user| json!({ "name": "k", "user": user }));
    let case = Case::of(with_key(text_of(&mint(old).await, "key")));
    case.script("", [text("Hi.")]).await;
    let thread = case.chat("Hello").await[0].text("thread_id").to_owned();
    let new = with_key(text_of(&mint(new).await, "key"));
    assert_eq!(new.messages(&thread).await.len(), 2);
    let other = with_key(text_of(&mint(other).await, "key"));
    assert_problem(other.get(&format!("/api/threads/{thread}")).await, 404, "thread_not_found", None).await;
}

#[tokio::test]
async fn wrong_keys_are_not_minted() {
    for (body, field) in [
        (json!({}), "name"),
        (json!({ "name": "" }), "name"),
        (json!({ "name": "x", "scopes": [] }), "scopes"),
        (json!({ "name": "x", "scopes": ["read", "root"] }), "scopes[1]"),
        (json!({ "name": "x", "user": "a b" }), "user"),
        (json!({ "name": "x", "expires_at": 1 }), "expires_at"),
    ] {
        let reply = admin().post("/api/keys", &body).await;
        assert_problem(reply, 400, "invalid_request", Some(field)).await;
    }
    for prefix in ["0000", "%27%20OR%201=1", &"a".repeat(5_000)] {
        let reply = admin().send("DELETE", &format!("/api/keys/{prefix}"), "").await;
        assert_problem(reply, 404, "key_not_found", None).await;
    }
}
