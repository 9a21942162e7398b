//! No user reaches another user's data. Users of the same tenant, of other tenants and of other issuers ask each route
//! that takes an id with another user's ids. The service answers, to the byte, as it answers an id that never existed:
//! so it does not even tell that the thing exists.
//!
//! A route that takes an id is one line of [`probes`], and `every_route_with_an_id_is_probed` fails when one is missing.

mod probes;

use espalier_test_support::case::first;
use espalier_test_support::identity::{EC, answered, claims, tokens, users};
use espalier_test_support::{
    Case, Client, EventStream, Step, Value, call, calls, env, json, new_id, text, tree,
};

use crate::bookmarks::bookmark;
use probes::{Ids, ask, probes};

/// Users other than `lab/ada`, and an administrator, who is no user. The letters of some names together are the letters
/// of hers.
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

/// The id of a session, whose user has an API key: users of an issuer's tokens have no sessions.
async fn signed_in() -> String {
    let closed = Client::nobody_at(&env("ESPALIER_CLOSED_URL"));
    let admin = closed.with("authorization", &format!("Bearer {}", env("ESPALIER_ADMIN_KEY")));
    let new = json!({ "name": "hers", "scopes": ["read", "write"] });
    let key = admin.post("/api/keys", &new).await.expect(201).await.json().await["key"].take();
    closed.post("/api/session", &json!({ "key": key })).await.expect(200).await;
    let keyed = closed.with("authorization", &format!("Bearer {}", key.as_str().expect("a key")));
    id_of(&keyed.read("/api/me/sessions").await["sessions"][0])
}

/// A user with one thing of each kind, and an open turn. It waits for its client: the clock of the turn stands still
/// while the probes are made, however long that takes.
struct Owner {
    case: Case,
    ids: Ids,
    open: EventStream,
}

impl Owner {
    async fn new() -> Self {
        let [ada] = users([("lab", "ada")]).await;
        let case = Case::of(ada);
        let remembers = call("remember", json!({ "content": "The code word is xyzzy." }));
        case.script("", [remembers, text("One.")]).await;
        case.script("second", [call("ui_ask", json!({})), text("Two.")]).await;
        let thread = new_id();
        let body = json!({ "thread_id": thread, "content": case.said("First", ""), "memory_enabled": true });
        let message = first(&case.chat_with(&body).await, "session").text("assistant_message_id").to_owned();
        bookmark(&case.client, &thread, &message).await;
        let memory = id_of(&case.client.read("/api/memories").await["memories"][0]);
        let hook = json!({ "builtin": "spawn_limit", "options": { "most": 9 } });
        case.client.put(&format!("/api/threads/{thread}/hooks/guard"), &hook).await.expect(200).await;
        let new = json!({ "name": "Mine", "description": "d", "template_id": "template_blank" });
        case.script("project", [call("create_project", new), text("There.")]).await;
        let context = json!({ "context_type": "project_create" });
        case.chat_with(&json!({ "content": case.said("A project", "project"), "chat_context": context }))
            .await;
        let project = id_of(&case.client.read("/api/projects").await["projects"][0]);
        // A turn that another user could try to stop.
        let turn = new_id();
        let tool = json!({ "name": "ui_ask", "description": "Asks.", "input_schema": { "type": "object" } });
        let body = json!({
            "thread_id": thread, "turn_id": turn, "content": case.said("Second", "second"),
            "chat_context": { "kind": "editor" }, "client_tools": [tool],
        });
        let mut open = case.client.chat(&body).await;
        open.until(|event| event.text("state") == "waiting_on_user").await;
        let made = json!({ "name": "Hers" });
        let made = case.client.post("/api/collections", &made).await.expect(201).await.json().await;
        let collection = id_of(&made);
        let path = format!("/api/collections/{collection}/documents?name=a");
        let writes = case.client.with("content-type", "text/plain");
        let document = writes.send("POST", &path, "The code word is xyzzy.").await.expect(201).await;
        let document = id_of(&document.json().await);
        let workflow = new_id();
        let step = json!({ "id": "a", "title": "A", "instructions": "The code word is xyzzy." });
        let definition = json!({ "name": "Hers", "steps": [step] });
        case.client.put(&format!("/api/workflows/{workflow}"), &definition).await.expect(200).await;
        let started = case.client.post(&format!("/api/workflows/{workflow}/sessions"), &json!({})).await;
        let started = started.expect(200).await.json().await;
        let session = started["session_id"].as_str().expect("an id").to_owned();
        let sign_in = signed_in().await;
        let shared = case.client.post(&format!("/api/threads/{thread}/shares"), &json!({})).await;
        let share = id_of(&shared.expect(201).await.json().await);
        let ids = Ids {
            thread,
            turn,
            message,
            project,
            memory,
            collection,
            document,
            workflow,
            session,
            sign_in,
            share,
        };
        Owner { case, ids, open }
    }

    /// The lists that must stay as they are.
    async fn lists(&self) -> [Value; 5] {
        let documents = format!("/api/collections/{}/documents", self.ids.collection);
        let hooks = format!("/api/threads/{}/hooks", self.ids.thread);
        let client = &self.case.client;
        [
            client.read("/api/memories").await,
            client.read(&documents).await,
            client.read(&hooks).await,
            client.read("/api/workflows").await,
            client.read("/api/bookmarks").await,
        ]
    }
}

fn id_of(thing: &Value) -> String {
    thing["id"].as_str().unwrap_or_else(|| panic!("no id: {thing}")).to_owned()
}

#[tokio::test]
async fn data_of_another_user_is_not_found() {
    let owner = Owner::new().await;
    let (case, ids) = (&owner.case, &owner.ids);
    let lists = owner.lists().await;
    let messages = case.client.messages(&ids.thread).await;
    for (who, other) in others().await {
        for probe in probes() {
            let about = format!("{who}: {}", probe.pattern);
            let answer = ask(&other, &probe, ids).await;
            let unknown = ask(&other, &probe, &Ids::unknown()).await;
            assert_eq!(answer, unknown, "{about}");
            let code = answer.1.pointer("/error/code").unwrap_or(&answer.1["code"]).as_str();
            let scope = code == Some("insufficient_scope") && who == "an administrator";
            assert!(scope || code == probe.code(), "{about}: {}", answer.1);
        }
    }
    for (who, other) in others().await.into_iter().filter(|(who, _)| *who != "an administrator") {
        ids_in_a_message_are_its_users_own(who, &Case::of(other), ids, &messages).await;
    }

    // The probes have changed nothing of hers.
    assert_eq!(owner.lists().await, lists);
    let found = case.client.read(&format!("/api/collections/{}/search?q=xyzzy", ids.collection)).await;
    assert_eq!(found["results"].as_array().map(Vec::len), Some(1));
    let asked = first(owner.open.seen(), "tool_call_update").text("tool_call_id").to_owned();
    let result = json!({ "tool_call_id": asked, "result": "done" });
    case.client.post(&format!("/api/threads/{}/tool_results", ids.thread), &result).await.expect(200).await;
    let events = case.turn(owner.open).await;
    assert_eq!(events.last().map(|event| event.text("finish_reason").to_owned()).as_deref(), Some("stop"));
    let after = case.client.messages(&ids.thread).await;
    assert_eq!(after[..messages.len()], messages[..]);
    assert_eq!(after.len(), 4);
    let listed = case.client.threads().await;
    assert!(listed.iter().any(|listed| listed["id"] == json!(ids.thread)), "{listed:?}");
}

/// Another user's message with the same ids makes things of that user: nothing is shared, nothing is overwritten.
async fn ids_in_a_message_are_its_users_own(who: &str, other: &Case, hers: &Ids, messages: &[Value]) {
    let thread = &hers.thread;
    other.script("", [text("Mine.")]).await;
    let body = json!({ "content": "xyzzy", "collections": [hers.collection] });
    let refused = other.client.post("/api/chat", &body).await.expect(404).await.json().await;
    assert_eq!(refused["code"], "collection_not_found", "{who}");
    // A document of hers is in no collection of another user.
    let own = json!({ "name": "Own" });
    let own = other.client.post("/api/collections", &own).await.expect(201).await.json().await;
    let own = format!("/api/collections/{}", id_of(&own));
    let stolen = other.client.send("DELETE", &format!("{own}/documents/{}", hers.document), "").await;
    assert_eq!(stolen.expect(404).await.json().await["code"], "document_not_found", "{who}");
    let found = other.client.read(&format!("{own}/search?q=xyzzy")).await;
    assert_eq!(found["results"], json!([]), "{who}");
    other.client.send("DELETE", &own, "").await.expect(204).await;

    // Words of her memory bring nothing up, and a user lists and clears their own memories alone.
    let hello = other.said("Hello, the code word?", "");
    let body = json!({ "thread_id": thread, "turn_id": hers.turn, "content": hello, "memory_enabled": true });
    let events = other.chat_with(&body).await;
    assert_eq!(events[0].text("thread_id"), *thread, "{who}");
    let theirs = other.client.messages(thread).await;
    let contents: Vec<_> = theirs.iter().map(|message| message["content"].clone()).collect();
    assert_eq!(contents, [json!(hello), json!("Mine.")], "{who}");
    let ids = |messages: &[Value]| messages.iter().map(|message| message["id"].clone()).collect::<Vec<_>>();
    assert!(ids(&theirs).iter().all(|id| !ids(messages).contains(id)), "{who}");
    let request = &other.requests("").await.requests[0].body;
    assert!(!request.to_string().contains("xyzzy"), "{who}: {request}");
    assert_eq!(other.client.read("/api/memories").await["memories"], json!([]), "{who}");
    other.client.send("DELETE", "/api/memories", "").await.expect(204).await;
    other.client.delete(thread).await;
}

/// Calls of a model that name a project, a task and a plan.
fn calls_that_name(project: &str, task: &str, plan: &str) -> Step {
    let document = json!({ "project_id": project, "title": "Mine", "content": "Mine" });
    calls([
        ("get_project", json!({ "project_id": project })),
        ("list_tasks", json!({ "project_id": project })),
        ("audit_project", json!({ "project_id": project })),
        ("create_task", json!({ "project_id": project, "title": "Mine" })),
        ("update_task", json!({ "task_id": task, "status": "done" })),
        ("publish_context_document", document),
        ("agent_update_plan", json!({ "plan_id": plan, "action": "run" })),
    ])
}

// B-045 B-101: another user's model does not reach them either: projects, their tasks and documents, waiting plans.
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
            other.script(&path, [calls_that_name(&project, &task, &plan), text("No.")]).await;
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
        assert_eq!(told[0], told[1], "{who}: her ids are answered like ids that never existed");
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

/// A route that takes an id and is not probed would be a hole in this file.
#[test]
fn every_route_with_an_id_is_probed() {
    let probed: Vec<_> = probes().iter().map(|probe| probe.pattern).collect();
    for pattern in espalier::router::patterns() {
        // A key's prefix: above. A workspace's name: tests/e2e/files.rs. A workflow's id is its user's own. An
        // identity provider's is the deployment's, and its sign-ins are a browser's: tests/e2e/oidc.rs.
        // The token of a share link is its credential: tests/e2e/shares.rs.
        let elsewhere = ["/api/keys/", "/api/workspaces/", "PUT /api/workflows/", " /api/oidc/", "/shared/"];
        let elsewhere = elsewhere.iter().any(|other| pattern.contains(other));
        assert!(!pattern.contains("{}") || elsewhere || probed.contains(&pattern.as_str()), "{pattern}");
    }
}
