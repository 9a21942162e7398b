//! The audit log of a tenant: who did what, and when. `GET /api/audit` is for its admins, and nothing changes an entry.

use espalier_test_support::case::first;
use espalier_test_support::client::assert_problem;
use espalier_test_support::{Case, Client, Step, Value, call, env, json, new_id, stored, text};

fn with_key(key: &Value) -> Client {
    Client::nobody_at(&env("ESPALIER_URL"))
        .with("authorization", &format!("Bearer {}", key.as_str().expect("a key")))
}

fn admin() -> Client {
    with_key(&env("ESPALIER_ADMIN_KEY").into())
}

/// A new key of this user.
async fn mint(user: &str, scopes: &[&str]) -> Value {
    let body = json!({ "name": "laptop", "user": user, "scopes": scopes });
    admin().post("/api/keys", &body).await.expect(201).await.json().await
}

/// The tenant's entries about these targets, oldest first: action, target and detail.
async fn entries(targets: &[&str]) -> Vec<Value> {
    let (mut found, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = admin().read(&format!("/api/audit?limit=200&cursor={cursor}")).await;
        found.extend(page["entries"].as_array().expect("a list").clone());
        match page["next_cursor"].as_str() {
            Some(next) => cursor = next.to_owned(),
            None => break,
        }
    }
    let is_about = |entry: &Value| targets.iter().any(|target| entry["target"] == *target);
    let mut found: Vec<Value> = found.into_iter().filter(is_about).collect();
    found.reverse();
    found
}

fn told(entries: &[Value]) -> Vec<Value> {
    entries.iter().map(|entry| json!([entry["action"], entry["user_id"], entry["detail"]])).collect()
}

/// A thread of this user, with one turn that begins so.
async fn chatted(user: &str, step: Step) -> (Case, String) {
    let key = mint(user, &["read", "write"]).await["key"].take();
    let case = Case::of(with_key(&key));
    case.script("", [step, text("That is all.")]).await;
    let events = case.chat("Hello").await;
    let thread = first(&events, "session").text("thread_id").to_owned();
    (case, thread)
}

#[tokio::test]
async fn keys_and_sessions_leave_entries_without_a_secret() {
    let user = new_id();
    let minted = mint(&user, &["read", "write"]).await;
    let prefix = minted["prefix"].as_str().expect("a prefix").to_owned();
    let browser = Client::nobody_at(&env("ESPALIER_URL")).with("user-agent", "curl/8.17.0");
    let reply = browser.post("/api/session", &json!({ "key": minted["key"] })).await.expect(200).await;
    let cookie = reply.header("set-cookie").split(';').next().unwrap_or_default().to_owned();
    let signed_in = browser.with("cookie", &cookie);
    let session =
        signed_in.read("/api/me/sessions").await["sessions"][0]["id"].as_str().expect("an id").to_owned();
    signed_in.send("DELETE", "/api/session", "").await.expect(204).await;
    // A session ends once.
    signed_in.send("DELETE", "/api/session", "").await.expect(204).await;
    for _ in 0..2 {
        admin().send("DELETE", &format!("/api/keys/{prefix}"), "").await.expect(204).await;
    }
    let found = entries(&[&prefix, &session]).await;
    let who = format!("key:{user}");
    let by = found[0]["user_id"].clone();
    let expected = [
        json!(["key_minted", by, "read write"]),
        json!(["signed_in", who, null]),
        json!(["session_ended", who, null]),
        json!(["key_revoked", by, null]),
    ];
    assert_eq!(told(&found), expected);
    let members: Vec<&String> = found[0].as_object().expect("an object").keys().collect();
    assert_eq!(members, ["action", "address", "created_at", "detail", "id", "target", "user_id"]);
    let all = json!(found).to_string();
    for secret in
        [minted["key"].as_str().expect("a key"), cookie.split('=').nth(1).expect("a cookie"), "127.0.0.1"]
    {
        assert!(!all.contains(secret), "{all}");
    }
}

#[tokio::test]
async fn share_links_leave_entries_with_ids_alone() {
    let user = new_id();
    let (case, thread) = chatted(&user, text("Hi.")).await;
    let path = format!("/api/threads/{thread}/shares");
    let share = case.client.post(&path, &json!({})).await.expect(201).await.json().await;
    let id = share["id"].as_str().expect("an id");
    let unknown = new_id();
    for (id, status) in [(id, 204), (id, 404), (&unknown, 404)] {
        case.client.send("DELETE", &format!("/api/shares/{id}"), "").await.expect(status).await;
    }
    let found = entries(&[id, &unknown]).await;
    let who = format!("key:{user}");
    assert_eq!(told(&found), [json!(["share_created", who, thread]), json!(["share_revoked", who, null])]);
    let token = share["token"].as_str().expect("a token");
    assert!(!json!(found).to_string().contains(token), "{found:?}");
}

#[tokio::test]
async fn a_deleted_thread_leaves_an_entry_and_no_text() {
    let user = new_id();
    let (case, thread) = chatted(&user, text("Hi.")).await;
    case.client.send("DELETE", &format!("/api/threads/{thread}"), "").await.expect(204).await;
    let found = stored::eventually("the log has the deletion", || async {
        let found = entries(&[&thread]).await;
        (!found.is_empty()).then_some(found)
    })
    .await;
    assert_eq!(told(&found), [json!(["thread_deleted", format!("key:{user}"), null])]);
    let gone = case.client.send("DELETE", &format!("/api/threads/{thread}"), "").await;
    assert_problem(gone, 404, "thread_not_found", None).await;
    assert_eq!(entries(&[&thread]).await, found, "nothing was deleted twice");
}

#[tokio::test]
async fn a_refused_call_leaves_an_entry() {
    let user = new_id();
    let refused = call("write_secrets", json!({ "name": "x" }));
    let (_, thread) = chatted(&user, refused).await;
    let found = stored::eventually("the log has the refusal", || async {
        let found = entries(&[&thread]).await;
        (!found.is_empty()).then_some(found)
    })
    .await;
    assert_eq!(told(&found), [json!(["call_refused", format!("key:{user}"), "write_secrets"])]);
}

#[tokio::test]
async fn a_deletion_leaves_an_entry_that_has_no_name() {
    let user = new_id();
    let client = with_key(&mint(&user, &["read", "write"]).await["key"].take());
    let thread = new_id();
    let file = client.send("DELETE", &format!("/api/threads/{thread}/files/of%20{user}.md"), "").await;
    assert_eq!(file.status, 404, "there is no such file");
    client.send("DELETE", "/api/memories", "").await.expect(204).await;
    let nobody = Client::nobody_at(&env("ESPALIER_URL"));
    assert_problem(nobody.send("DELETE", "/api/memories", "").await, 401, "unauthenticated", None).await;
    let who = format!("key:{user}");
    let found = entries(&[&format!("threads/{thread}/files/{{*}}"), "memories"]).await;
    let own: Vec<Value> = found.into_iter().filter(|entry| entry["user_id"] == who.as_str()).collect();
    assert_eq!(told(&own), [json!(["data_deleted", who, null]), json!(["data_deleted", who, null])]);
    assert!(own.iter().all(|entry| entry["address"].is_string()), "{own:?}");
}

// A tool of our MCP server is a request to a route, with the entries of that route.
#[tokio::test]
async fn a_deletion_over_mcp_leaves_an_entry_too() {
    let user = new_id();
    let client = with_key(&mint(&user, &["read", "write"]).await["key"].take());
    let (workspace, memory) = (format!("w{user}"), new_id());
    let path = json!({ "workspace": workspace, "path": "notes.md" });
    let written = json!({ "workspace": workspace, "path": "notes.md", "content": "x" });
    for (name, arguments) in
        [("write_file", written), ("delete_file", path), ("forget_memory", json!({ "memory_id": memory }))]
    {
        let params = json!({ "name": name, "arguments": arguments });
        crate::mcp_server::raw::result(&client, &json!({}), "tools/call", params).await;
    }
    let who = format!("key:{user}");
    let found = entries(&["workspaces/{}/files/{*}", &format!("memories/{memory}")]).await;
    let own: Vec<Value> = found.into_iter().filter(|entry| entry["user_id"] == who.as_str()).collect();
    assert_eq!(told(&own), [json!(["data_deleted", who, null]), json!(["data_deleted", who, null])]);
}

#[tokio::test]
async fn only_an_admin_reads_the_log_and_only_of_the_own_tenant() {
    let user = new_id();
    let key = mint(&user, &["read", "write"]).await["key"].take();
    assert_problem(with_key(&key).get("/api/audit").await, 403, "insufficient_scope", None).await;
    let nobody = Client::nobody_at(&env("ESPALIER_URL"));
    assert_problem(nobody.get("/api/audit").await, 401, "unauthenticated", None).await;
    assert_problem(admin().get("/api/audit?cursor=x").await, 400, "invalid_request", Some("cursor")).await;
    assert_problem(admin().get("/api/audit?limit=201").await, 400, "invalid_request", Some("limit")).await;
    let other = new_id();
    let row = format!(
        "INSERT INTO audit (tenant, created_at, id, user_id, action, target) VALUES ('of {other}', 1, '{other}', 'key:x', 'key_minted', '{other}')"
    );
    stored::change_at("ESPALIER_STATE_DIR", &row).await;
    assert_eq!(entries(&[&other]).await, Vec::<Value>::new());
}
