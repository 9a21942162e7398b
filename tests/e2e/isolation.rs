//! No user reaches another user's data: each route that takes an id, asked with another user's ids by users of the same
//! tenant, of other tenants and of other issuers. The answer is that of an id that never was, to the byte, so that not
//! even existence is told.
//!
//! A route that takes an id is one line of [`probes`], and `every_route_with_an_id_is_probed` says so when one is missing.

use espalier_test_support::case::first;
use espalier_test_support::identity::{EC, answered, claims, tokens, users};
use espalier_test_support::{Case, Client, Value, call, calls, env, json, new_id, text, tree};

/// The ids of somebody's things.
#[derive(Clone)]
struct Ids {
    thread: String,
    turn: String,
    project: String,
    memory: String,
    collection: String,
    document: String,
}

impl Ids {
    /// Of things that never were.
    fn unknown() -> Self {
        Ids {
            thread: new_id(),
            turn: new_id(),
            project: new_id(),
            memory: new_id(),
            collection: new_id(),
            document: new_id(),
        }
    }
}

/// A request that names somebody's things: method, path, body, and the code of its refusal. The pattern is the router's.
struct Probe {
    pattern: &'static str,
    request: fn(&Ids) -> (&'static str, String, Value),
    code: &'static str,
}

fn probes() -> Vec<Probe> {
    let probe = |pattern, request, code| Probe { pattern, request, code };
    vec![
        probe(
            "GET /api/threads/{}",
            |ids| ("GET", format!("/api/threads/{}", ids.thread), Value::Null),
            "thread_not_found",
        ),
        probe(
            "PATCH /api/threads/{}",
            |ids| ("PATCH", format!("/api/threads/{}", ids.thread), json!({ "title": "Mine now" })),
            "thread_not_found",
        ),
        probe(
            "DELETE /api/threads/{}",
            |ids| ("DELETE", format!("/api/threads/{}", ids.thread), Value::Null),
            "thread_not_found",
        ),
        probe(
            "GET /api/threads/{}/messages",
            |ids| ("GET", format!("/api/threads/{}/messages?limit=200", ids.thread), Value::Null),
            "thread_not_found",
        ),
        probe(
            "GET /api/threads/{}/messages/{}/content",
            |ids| ("GET", format!("/api/threads/{}/messages/{}/content", ids.thread, ids.turn), Value::Null),
            "thread_not_found",
        ),
        probe(
            "GET /api/threads/{}/stream",
            |ids| ("GET", format!("/api/threads/{}/stream?after=0", ids.thread), Value::Null),
            "thread_not_found",
        ),
        probe(
            "POST /api/threads/{}/cancel",
            |ids| ("POST", format!("/api/threads/{}/cancel", ids.thread), json!({ "turn_id": ids.turn })),
            "thread_not_found",
        ),
        probe(
            "POST /api/threads/{}/tool_results",
            |ids| {
                let body = json!({ "tool_call_id": ids.turn, "result": "done" });
                ("POST", format!("/api/threads/{}/tool_results", ids.thread), body)
            },
            "thread_not_found",
        ),
        probe(
            "POST /api/threads/{}/approvals/{}",
            |ids| {
                let body = json!({ "decision": "approve" });
                ("POST", format!("/api/threads/{}/approvals/{}", ids.thread, ids.turn), body)
            },
            "thread_not_found",
        ),
        probe(
            "GET /api/threads/{}/approvals",
            |ids| ("GET", format!("/api/threads/{}/approvals", ids.thread), Value::Null),
            "thread_not_found",
        ),
        probe(
            "DELETE /api/threads/{}/approvals/{}",
            |ids| ("DELETE", format!("/api/threads/{}/approvals/ui_erase", ids.thread), Value::Null),
            "thread_not_found",
        ),
        probe(
            "GET /api/threads/{}/files",
            |ids| ("GET", format!("/api/threads/{}/files", ids.thread), Value::Null),
            "thread_not_found",
        ),
        probe(
            "GET /api/threads/{}/files/{*}",
            |ids| ("GET", format!("/api/threads/{}/files/a", ids.thread), Value::Null),
            "thread_not_found",
        ),
        probe(
            "PUT /api/threads/{}/files/{*}",
            |ids| ("PUT", format!("/api/threads/{}/files/a", ids.thread), Value::Null),
            "thread_not_found",
        ),
        probe(
            "DELETE /api/threads/{}/files/{*}",
            |ids| ("DELETE", format!("/api/threads/{}/files/a", ids.thread), Value::Null),
            "thread_not_found",
        ),
        probe(
            "GET /api/projects/{}",
            |ids| ("GET", format!("/api/projects/{}", ids.project), Value::Null),
            "project_not_found",
        ),
        probe(
            "GET /api/projects/{}/documents/{}",
            |ids| ("GET", format!("/api/projects/{}/documents/{}", ids.project, ids.turn), Value::Null),
            "project_not_found",
        ),
        probe(
            "DELETE /api/memories/{}",
            |ids| ("DELETE", format!("/api/memories/{}", ids.memory), Value::Null),
            "memory_not_found",
        ),
        probe(
            "GET /api/collections/{}",
            |ids| ("GET", format!("/api/collections/{}", ids.collection), Value::Null),
            "collection_not_found",
        ),
        probe(
            "DELETE /api/collections/{}",
            |ids| ("DELETE", format!("/api/collections/{}", ids.collection), Value::Null),
            "collection_not_found",
        ),
        probe(
            "GET /api/collections/{}/documents",
            |ids| ("GET", format!("/api/collections/{}/documents", ids.collection), Value::Null),
            "collection_not_found",
        ),
        probe(
            "POST /api/collections/{}/documents",
            |ids| ("POST", format!("/api/collections/{}/documents?name=a", ids.collection), text_body()),
            "collection_not_found",
        ),
        probe(
            "DELETE /api/collections/{}/documents/{}",
            |ids| {
                (
                    "DELETE",
                    format!("/api/collections/{}/documents/{}", ids.collection, ids.document),
                    Value::Null,
                )
            },
            "collection_not_found",
        ),
        probe(
            "GET /api/collections/{}/search",
            |ids| ("GET", format!("/api/collections/{}/search?q=xyzzy", ids.collection), Value::Null),
            "collection_not_found",
        ),
    ]
}

/// A body that is a document's text.
fn text_body() -> Value {
    json!("A document.")
}

/// Others than `lab/ada`, and one who is nobody: some whose names look like hers when written one after the other.
async fn others() -> Vec<(&'static str, Client)> {
    let [colleague, namesake, shifted, colon] =
        users([("lab", "bob"), ("shop", "ada"), ("la", "bada"), ("lab", "rsa:ada")]).await;
    let by_ec = ("ec", json!({ "alg": "ES256", "kid": "ec" }), claims(EC, "lab", "ada"));
    let token = tokens(&[by_ec]).await.remove(0);
    let closed = Client::nobody_at(&env("ESPALIER_CLOSED_URL"));
    let by_ec = closed.with("authorization", &format!("Bearer {token}"));
    answered(&by_ec).await.expect(200).await;
    vec![
        ("somebody of the same tenant", colleague),
        ("the same name in another tenant", namesake),
        ("the same letters, divided otherwise", shifted),
        ("a name with a separator", colon),
        ("the same name of another issuer", by_ec),
        ("an administrator", closed.with("authorization", &format!("Bearer {}", env("ESPALIER_ADMIN_KEY")))),
    ]
}

async fn ask(client: &Client, probe: &Probe, ids: &Ids) -> (u16, Value) {
    let (method, path, body) = (probe.request)(ids);
    let reply = match body {
        Value::Null => client.send(method, &path, "").await,
        Value::String(text) => client.with("content-type", "text/plain").send(method, &path, text).await,
        body => client.with("content-type", "application/json").send(method, &path, body.to_string()).await,
    };
    (reply.status, reply.json().await)
}

#[tokio::test]
async fn data_of_another_user_is_not_found() {
    let [ada] = users([("lab", "ada")]).await;
    let case = Case::of(ada);
    let held = case.barrier("held");
    let remembers = call("remember", json!({ "content": "The code word is xyzzy." }));
    case.script("", [remembers, text("One.")]).await;
    case.script("second", [text("Two.").waiting(&held, 0)]).await;
    let thread = new_id();
    let body = json!({ "thread_id": thread, "content": case.said("First", ""), "memory_enabled": true });
    case.chat_with(&body).await;
    let known = case.client.read("/api/memories").await;
    let memory = known["memories"][0]["id"].as_str().expect("a memory").to_owned();
    let new = json!({ "name": "Mine", "description": "d", "template_id": "template_blank" });
    case.script("project", [call("create_project", new), text("There.")]).await;
    let context = json!({ "context_type": "project_create" });
    case.chat_with(&json!({ "content": case.said("A project", "project"), "chat_context": context })).await;
    let project =
        case.client.read("/api/projects").await["projects"][0]["id"].as_str().expect("an id").to_owned();
    // Something that could be stopped, too.
    let turn = new_id();
    let body = json!({ "thread_id": thread, "turn_id": turn, "content": case.said("Second", "second") });
    let running = case.client.chat(&body).await;
    let messages = case.client.messages(&thread).await;
    let made =
        case.client.post("/api/collections", &json!({ "name": "Hers" })).await.expect(201).await.json().await;
    let collection = made["id"].as_str().expect("a collection").to_owned();
    let path = format!("/api/collections/{collection}/documents");
    let writes = case.client.with("content-type", "text/plain");
    let document =
        writes.send("POST", &format!("{path}?name=a"), "The code word is xyzzy.").await.expect(201).await;
    let document = document.json().await["id"].as_str().expect("a document").to_owned();
    let documents = case.client.read(&path).await;
    let ids = Ids { thread: thread.clone(), turn, project, memory, collection, document };

    for (who, other) in others().await {
        for probe in probes() {
            let about = format!("{who}: {}", probe.pattern);
            let answer = ask(&other, &probe, &ids).await;
            let unknown = ask(&other, &probe, &Ids::unknown()).await;
            assert_eq!(answer, unknown, "{about}");
            let scope = answer.1["code"] == "insufficient_scope" && who == "an administrator";
            assert!(scope || answer.1["code"] == probe.code, "{about}: {}", answer.1);
        }
    }

    // The same ids in a message of one's own are one's own: nothing is shared, nothing is overwritten.
    for (who, other) in others().await.into_iter().filter(|(who, _)| *who != "an administrator") {
        let other = Case::of(other);
        other.script("", [text("Mine.")]).await;
        let body = json!({ "content": "xyzzy", "collections": [ids.collection] });
        let refused = other.client.post("/api/chat", &body).await.expect(404).await.json().await;
        assert_eq!(refused["code"], "collection_not_found", "{who}");
        // A document of hers is in no collection of one's own.
        let own = json!({ "name": "Own" });
        let own = other.client.post("/api/collections", &own).await.expect(201).await.json().await;
        let own = format!("/api/collections/{}", own["id"].as_str().expect("an id"));
        let stolen = other.client.send("DELETE", &format!("{own}/documents/{}", ids.document), "").await;
        assert_eq!(stolen.expect(404).await.json().await["code"], "document_not_found", "{who}");
        let found = other.client.read(&format!("{own}/search?q=xyzzy")).await;
        assert_eq!(found["results"], json!([]), "{who}");
        other.client.send("DELETE", &own, "").await.expect(204).await;

        // Words of her memory bring nothing up, and a user lists and clears their own memories alone.
        let hello = other.said("Hello, the code word?", "");
        let body = json!({
            "thread_id": ids.thread, "turn_id": ids.turn, "content": hello, "memory_enabled": true,
        });
        let events = other.chat_with(&body).await;
        assert_eq!(events[0].text("thread_id"), thread, "{who}");
        let theirs = other.client.messages(&thread).await;
        let contents: Vec<_> = theirs.iter().map(|message| message["content"].clone()).collect();
        assert_eq!(contents, [json!(hello), json!("Mine.")], "{who}");
        let ids =
            |messages: &[Value]| messages.iter().map(|message| message["id"].clone()).collect::<Vec<_>>();
        assert!(ids(&theirs).iter().all(|id| !ids(&messages).contains(id)), "{who}");
        let request = &other.requests("").await.requests[0].body;
        assert!(!request.to_string().contains("xyzzy"), "{who}: {request}");
        assert_eq!(other.client.read("/api/memories").await["memories"], json!([]), "{who}");
        other.client.send("DELETE", "/api/memories", "").await.expect(204).await;
        other.client.delete(&thread).await;
    }

    // And all the while nothing of hers was touched.
    assert_eq!(case.client.read("/api/memories").await, known);
    assert_eq!(case.client.read(&path).await, documents);
    let found = case.client.read(&format!("/api/collections/{}/search?q=xyzzy", ids.collection)).await;
    assert_eq!(found["results"].as_array().map(Vec::len), Some(1));
    case.llm.release(&held).await;
    let events = case.turn(running).await;
    assert_eq!(events.last().map(|event| event.text("finish_reason").to_owned()).as_deref(), Some("stop"));
    let after = case.client.messages(&thread).await;
    assert_eq!(after[..messages.len()], messages[..]);
    assert_eq!(after.len(), 4);
    let listed = case.client.threads().await;
    assert!(listed.iter().any(|listed| listed["id"] == json!(thread)), "{listed:?}");
}

// B-045 B-101: neither does anybody's model reach them: projects, their tasks and documents, plans that wait.
#[tokio::test]
async fn ids_of_projects_and_plans_are_their_users_alone() {
    let [ada] = users([("lab", "ada")]).await;
    let case = Case::of(ada);
    let new = json!({ "name": "Hers", "description": "d", "template_id": "template_software" });
    case.script("", [call("create_project", new), text("There.")]).await;
    let context = json!({ "context_type": "project_create" });
    let events =
        case.chat_with(&json!({ "content": case.said("A project", ""), "chat_context": context })).await;
    let made = tree::ends(&events, "create_project")[0].text("result").to_owned();
    let made: Value = serde_json::from_str(&made).expect("JSON");
    let project = made["project_id"].as_str().expect("an id").to_owned();
    let path = format!("/api/projects/{project}");
    let before = case.client.read(&path).await;
    let task = before["tasks"][0]["id"].as_str().expect("a task").to_owned();

    let drafts = json!({ "objective": case.said("Do it", "plan"), "execution_mode": "draft_only" });
    case.script("draft", [call("agent_create_plan", drafts), text("Shall I?")]).await;
    let step = json!({ "id": "a", "title": "a", "instructions": case.said("a", "a") });
    case.script("plan", [call("finish_subtask", json!({ "reasoning": "r", "steps": [step] }))]).await;
    let context = json!({ "context_type": "project", "entity_id": project });
    let body = json!({ "content": case.said("Plan it", "draft"), "chat_context": context });
    let events = case.chat_with(&body).await;
    let plan = first(&events, "plan_ready_for_review").data["plan"]["id"].as_str().expect("an id").to_owned();

    for (who, other) in others().await.into_iter().filter(|(who, _)| *who != "an administrator") {
        let other = Case::of(other);
        let mut told = Vec::new();
        for (at, [project, task, plan]) in
            [[&project, &task, &plan].map(String::clone), [new_id(), new_id(), new_id()]]
                .into_iter()
                .enumerate()
        {
            let path = format!("turn {at}");
            let tries = calls([
                ("get_project", json!({ "project_id": project })),
                ("list_tasks", json!({ "project_id": project })),
                ("audit_project", json!({ "project_id": project })),
                ("create_task", json!({ "project_id": project, "title": "Mine" })),
                ("update_task", json!({ "task_id": task, "status": "done" })),
                (
                    "publish_context_document",
                    json!({ "project_id": project, "title": "Mine", "content": "Mine" }),
                ),
                ("agent_update_plan", json!({ "plan_id": plan, "action": "run" })),
            ]);
            other.script(&path, [tries, text("No.")]).await;
            let context = json!({ "context_type": "project", "entity_id": project });
            let body = json!({ "content": other.said("Hers", &path), "chat_context": context });
            let events = other.chat_with(&body).await;
            let ends = events.iter().filter(|event| event.is("tool_call_update", &[("status", "end")]));
            let results: Vec<String> = ends
                .map(|event| {
                    assert_eq!(event.data["is_error"], true, "{who}: {}", event.data);
                    let result = event.text("result").replace(&project, "ID");
                    result.replace(&task, "ID").replace(&plan, "ID")
                })
                .collect();
            assert_eq!(results.len(), 7, "{who}");
            told.push(results);
        }
        assert_eq!(told[0], told[1], "{who}: what is hers is as what never was");
        assert_eq!(other.client.read("/api/projects").await, json!({ "projects": [] }), "{who}");
    }
    assert_eq!(case.client.read(&path).await, before, "nothing of hers was touched");
}

// Keys are a tenant's: an administrator of another one neither sees nor revokes them.
#[tokio::test]
async fn keys_of_another_tenant_are_not_there() {
    let main = Client::nobody_at(&env("ESPALIER_URL"));
    let admin = main.with("authorization", &format!("Bearer {}", env("ESPALIER_ADMIN_KEY")));
    let list = admin.get("/api/keys").await.expect(200).await.json().await;
    let foreign = list["keys"].as_array().expect("keys").iter().filter(|key| key["name"] == "elsewhere");
    assert_eq!(foreign.count(), 0, "{list}");
    let foreign = admin.send("DELETE", "/api/keys/e2eother", "").await.expect(404).await.json().await;
    let unknown = admin.send("DELETE", "/api/keys/0000", "").await.expect(404).await.json().await;
    assert_eq!(foreign, unknown);
}

/// A route that takes an id and is not probed is a hole in this file.
#[test]
fn every_route_with_an_id_is_probed() {
    let probed: Vec<_> = probes().iter().map(|probe| probe.pattern).collect();
    for pattern in espalier::router::patterns() {
        // A key's prefix: above. A workspace's name: tests/e2e/files.rs.
        let elsewhere = ["/api/keys/", "/api/workspaces/"].iter().any(|other| pattern.contains(other));
        assert!(!pattern.contains("{}") || elsewhere || probed.contains(&pattern.as_str()), "{pattern}");
    }
}
