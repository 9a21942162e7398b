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

/// The tenant's entries of this user, oldest first: action and target.
async fn entries_of(user: &str) -> Vec<Value> {
    let sql = "SELECT action, target, address IS NOT NULL AS has_address FROM audit WHERE user_id = 'key:' || ?1 ORDER BY created_at, id";
    let rows = stored::d1(sql, &[user]).await;
    assert!(rows.iter().all(|row| row["has_address"] == 1), "{rows:?}");
    rows.iter().map(|row| json!([row["action"], row["target"]])).collect()
}

// Issue 42, M1: each left an entry with an id of the caller's own.
#[tokio::test]
async fn a_deletion_of_something_that_is_not_there_leaves_no_entry() {
    let user = new_id();
    let (case, thread) = chatted(&user, text("Hi.")).await;
    let before = entries_of(&user).await;
    let id = new_id();
    let absent = [
        format!("/api/threads/{thread}/files/none.md"),
        format!("/api/threads/{id}/files/none.md"),
        format!("/api/threads/{id}"),
        format!("/api/workspaces/w{user}/files/none.md"),
        format!("/api/workspaces/w{user}"),
        format!("/api/projects/{id}"),
        format!("/api/projects/{id}/tasks/{id}"),
        format!("/api/projects/{id}/documents/{id}"),
        "/api/memories".to_owned(),
        format!("/api/memories/{id}"),
        format!("/api/collections/{id}"),
        format!("/api/collections/{id}/documents/{id}"),
        "/api/workflows/none".to_owned(),
        format!("/api/shares/{id}"),
        format!("/api/me/sessions/{}", id.replace('-', "")),
        "/api/me/sessions".to_owned(),
        "/api/session".to_owned(),
    ];
    for path in absent {
        let status = case.client.send("DELETE", &path, "").await.status;
        assert!([204, 404].contains(&status), "{path}: {status}");
    }
    assert_eq!(entries_of(&user).await, before);
    let nobody = Client::nobody_at(&env("ESPALIER_URL"));
    assert_problem(nobody.send("DELETE", "/api/memories", "").await, 401, "unauthenticated", None).await;
}

/// Writes rows of a user into D1 that only turns write: a project with a task and a document, all with this id, and two
/// memories, of which one has it.
async fn plant_rows(user: &str, id: &str) {
    let of_user = format!("FROM api_keys WHERE user_id = 'key:{user}'");
    let item = |kind: &str, project: &str, body: Value| {
        format!(
            "INSERT INTO project_items (tenant, user_id, kind, id, project_id, title, body, version, operation, \
             created_at, updated_at) SELECT tenant, user_id, '{kind}', '{id}', '{project}', 'x', '{body}', 1, '', 1, 1 {of_user}"
        )
    };
    let memory = |id: &str| {
        format!(
            "INSERT INTO memories (tenant, user_id, id, thread_id, content, terms, scope, created_at, updated_at) \
             SELECT tenant, user_id, '{id}', '', '{id}', '', '', 1, 1 {of_user}"
        )
    };
    let rows = [
        item("project", "", json!({ "of": "project", "description": "" })),
        item("task", id, json!({ "of": "task" })),
        item("document", id, json!({ "of": "document", "content": "" })),
        memory(id),
        memory(&new_id()),
    ];
    stored::change_at("ESPALIER_STATE_DIR", &rows.join("; ")).await;
}

// Long: one deletion of each kind.
#[tokio::test]
async fn each_deletion_leaves_one_entry_that_has_no_name() {
    let user = new_id();
    let (case, thread) = chatted(&user, text("Hi.")).await;
    let (client, id) = (&case.client, new_id());
    plant_rows(&user, &id).await;
    for path in
        [format!("/api/threads/{thread}/files/of%20{user}.md"), format!("/api/workspaces/w{user}/files/a.md")]
    {
        client.send("PUT", &path, "x").await.expect(200).await;
    }
    let made = client.post("/api/collections", &json!({ "name": "c" })).await.expect(201).await.json().await;
    let collection = made["id"].as_str().expect("an id");
    let added = client
        .with("content-type", "text/plain")
        .send("POST", &format!("/api/collections/{collection}/documents?name=d"), "A text.")
        .await;
    let document = added.expect(201).await.json().await["id"].as_str().expect("an id").to_owned();
    let step = json!({ "id": "a", "title": "A", "instructions": "Do it." });
    client.put("/api/workflows/own", &json!({ "name": "Own", "steps": [step] })).await.expect(200).await;

    let before = entries_of(&user).await.len();
    let deletions = [
        (format!("/api/threads/{thread}/files/of%20{user}.md"), format!("threads/{thread}/files/{{*}}")),
        (format!("/api/workspaces/w{user}/files/a.md"), "workspaces/{}/files/{*}".to_owned()),
        // The deleted file is an earlier version there.
        (format!("/api/workspaces/w{user}"), "workspaces/{}".to_owned()),
        (format!("/api/projects/{id}/tasks/{id}"), format!("projects/{id}/tasks/{id}")),
        (format!("/api/projects/{id}/documents/{id}"), format!("projects/{id}/documents/{id}")),
        (format!("/api/projects/{id}"), format!("projects/{id}")),
        (format!("/api/memories/{id}"), format!("memories/{id}")),
        ("/api/memories".to_owned(), "memories".to_owned()),
        (
            format!("/api/collections/{collection}/documents/{document}"),
            format!("collections/{collection}/documents/{document}"),
        ),
        (format!("/api/collections/{collection}"), format!("collections/{collection}")),
        ("/api/workflows/own".to_owned(), "workflows/{}".to_owned()),
    ];
    for (path, _) in &deletions {
        client.send("DELETE", path, "").await.expect(204).await;
        // A repetition finds nothing.
        let again = client.send("DELETE", path, "").await.status;
        assert!([204, 404].contains(&again), "{path}: {again}");
    }
    let left = entries_of(&user).await.split_off(before);
    let expected: Vec<Value> = deletions.iter().map(|(_, target)| json!(["data_deleted", target])).collect();
    assert_eq!(left, expected);
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
    // There was no such memory.
    assert_eq!(entries_of(&user).await, [json!(["data_deleted", "workspaces/{}/files/{*}"])]);
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
