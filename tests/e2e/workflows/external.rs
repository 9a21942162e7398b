//! Sessions that a client carries out.

use espalier_test_support::client::assert_problem;
use espalier_test_support::http::Reply;
use espalier_test_support::{Case, Client, Value, canary, json, stored, text};

use super::{NOTES, plain, step, workflow};

/// A session that a client carries out.
struct Session {
    client: Client,
    workflow: String,
    started: Value,
}

impl Session {
    async fn start(case: &Case, steps: &[&str]) -> Self {
        let steps: Vec<Value> = steps.iter().map(|id| step(case, id)).collect();
        let workflow = workflow(case, &steps).await;
        Session::of(&case.client, workflow).await
    }

    async fn of(client: &Client, workflow: String) -> Self {
        let path = format!("/api/workflows/{workflow}/sessions");
        let started = client.post(&path, &json!({ "goal": "Find out" })).await.expect(200).await.json().await;
        Session { client: client.clone(), workflow, started }
    }

    fn thread(&self) -> &str {
        text_of(&self.started, "thread_id")
    }

    async fn send(&self, token: &str, notes: &str) -> Reply {
        self.send_with(json!({ "continue_token": token, "notesMarkdown": notes })).await
    }

    async fn send_with(&self, body: Value) -> Reply {
        let session = text_of(&self.started, "session_id");
        let path = format!("/api/workflows/{}/sessions/{session}/continue", self.workflow);
        self.client.post(&path, &body).await
    }

    async fn go_on(&self, token: &str) -> Value {
        self.send(token, NOTES).await.expect(200).await.json().await
    }

    async fn detail(&self) -> Value {
        self.client.thread(self.thread()).await["workflow_session"].clone()
    }
}

fn text_of<'a>(value: &'a Value, member: &str) -> &'a str {
    value[member].as_str().unwrap_or_else(|| panic!("no {member}: {value}"))
}

fn token_of(answer: &Value) -> &str {
    text_of(answer, "continue_token")
}

// W-006 W-076 W-089 W-093: from step to step, to the end; the same request again gets the same answer, also later.
#[tokio::test]
async fn a_client_goes_from_step_to_step() {
    let case = Case::new().await;
    let session = Session::start(&case, &["a", "b", "c"]).await;
    let first = session.started.clone();
    assert_eq!(first["step"], json!({ "id": "a", "title": "Step a", "index": 0, "of": 3 }));
    let prompt = text_of(&first, "prompt");
    // W-028: a step asks the model to reason first.
    for part in ["Step 1 of 3: Step a", "Find out", "Do a.", "Reason about your approach before executing"] {
        assert!(prompt.contains(part), "{part}: {prompt}");
    }
    assert!(token_of(&first).starts_with(canary::STEP_TOKEN), "the canary is the beginning of each token");

    let body = json!({
        "continue_token": token_of(&first), "notesMarkdown": NOTES, "contextUpdates": { "colour": "red" },
        "artifacts": ["a.md"],
    });
    let second: Value = session.send_with(body.clone()).await.expect(200).await.json().await;
    assert_eq!((&second["step"]["id"], &second["is_complete"]), (&json!("b"), &json!(false)));
    assert!(text_of(&second, "prompt").contains(r#"{"colour":"red"}"#));
    let detail = session.detail().await;
    assert_eq!(
        (&detail["mode"], &detail["status"], &detail["step"]),
        (&json!("external"), &json!("waiting"), &json!(1))
    );
    assert_eq!(detail["notes"], json!([{ "step_id": "a", "notes": NOTES, "artifacts": ["a.md"] }]));
    assert_eq!(detail["steps"][2], json!({ "id": "c", "title": "Step c" }));

    let third = session.go_on(token_of(&second)).await;
    let again: Value = session.send_with(body).await.expect(200).await.json().await;
    assert_eq!(again, second, "the same request, the same answer, two steps later");
    let complete = session.go_on(token_of(&third)).await;
    assert_eq!((&complete["is_complete"], &complete["continue_token"]), (&json!(true), &Value::Null));
    assert_eq!(session.go_on(token_of(&third)).await, complete);
    let detail = session.detail().await;
    assert_eq!((&detail["status"], &detail["step"]), (&json!("complete"), &json!(3)));
    // It has a thread in the list, and no turn.
    let listed = case.client.threads().await;
    assert_eq!((&listed[0]["id"], &listed[0]["title"]), (&first["thread_id"], &json!("Find out")));
    assert!(case.client.messages(session.thread()).await.is_empty());
}

// W-005 W-068 W-071 W-077 W-083 W-086: whatever is wrong with a token or with notes, the step stays.
#[tokio::test]
async fn a_wrong_token_advances_nothing() {
    let case = Case::new().await;
    let session = Session::start(&case, &["a", "b"]).await;
    let other = Session::of(&case.client, session.workflow.clone()).await;
    let token = token_of(&session.started).to_owned();
    assert_problem(
        session.send(&token, &"x".repeat(49)).await,
        400,
        "invalid_request",
        Some("notesMarkdown"),
    )
    .await;
    // Each refused token is followed by a right one in another session, so none of them fails by the count.
    let [begin, key, payload, mac]: [&str; 4] =
        token.split('.').collect::<Vec<_>>().try_into().expect("four parts");
    let change = |part: &str| part.chars().rev().collect::<String>();
    let changed = [
        format!("ct2.{key}.{payload}.{mac}"),
        format!("{begin}.{}.{payload}.{mac}", change(key)),
        format!("{begin}.{key}.{}.{mac}", change(payload)),
        format!("{begin}.{key}.{payload}.{}", change(mac)),
        format!("{token}="),
        token_of(&other.started).to_owned(),
        String::new(),
    ];
    for wrong in changed {
        let fresh = Session::of(&case.client, session.workflow.clone()).await;
        let own = token_of(&fresh.started).to_owned();
        let wrong = wrong.replace(&token, &own);
        assert_problem(fresh.send(&wrong, NOTES).await, 409, "token_refused", None).await;
        assert_eq!(fresh.detail().await["step"], 0, "{wrong}");
        assert_eq!(fresh.go_on(&own).await["step"]["id"], "b", "the right one is still good");
    }
    let second = session.go_on(&token).await;
    let reused = session.send(&token, &format!("{NOTES} Otherwise.")).await;
    assert_problem(reused, 409, "token_spent", None).await;
    assert_eq!(session.go_on(token_of(&second)).await["is_complete"], true);
    // Another workflow's path, and another user.
    let unknown = Session {
        workflow: "code-review".to_owned(),
        started: session.started.clone(),
        client: case.client.clone(),
    };
    assert_problem(unknown.send(&token, NOTES).await, 404, "session_not_found", None).await;
    let stranger = Client::anonymous().await;
    let stolen =
        Session { client: stranger, workflow: session.workflow.clone(), started: other.started.clone() };
    assert_problem(stolen.send(token_of(&other.started), NOTES).await, 404, "session_not_found", None).await;
}

// W-095: three in a row end the session, and then no token goes on.
#[tokio::test]
async fn three_wrong_tokens_in_a_row_fail_a_session() {
    let case = Case::new().await;
    let session = Session::start(&case, &["a", "b"]).await;
    let token = token_of(&session.started).to_owned();
    for _ in 0..2 {
        assert_problem(session.send("ct1.x.y.z", NOTES).await, 409, "token_refused", None).await;
    }
    let second = session.go_on(&token).await;
    for refused in 1..=3 {
        assert_problem(session.send("ct1.x.y.z", NOTES).await, 409, "token_refused", None).await;
        let status = if refused == 3 { "failed" } else { "waiting" };
        assert_eq!(session.detail().await["status"], status);
    }
    assert_eq!(session.detail().await["reason"], "token_refused");
    assert_problem(session.send(token_of(&second), NOTES).await, 409, "token_refused", None).await;
    // The thread is an ordinary one now.
    case.script("", [text("Hello.")]).await;
    case.chat_with(&json!({ "thread_id": session.thread(), "content": case.said("Hello", "") })).await;
}

// W-093 W-095: only tokens that are refused one after the other count.
#[tokio::test]
async fn a_right_token_in_between_forgets_the_wrong_ones() {
    let case = Case::new().await;
    let session = Session::start(&case, &["a", "b"]).await;
    let spent = token_of(&session.started).to_owned();
    let second = session.go_on(&spent).await;
    for _ in 0..2 {
        for _ in 0..2 {
            assert_problem(session.send("ct1.x.y.z", NOTES).await, 409, "token_refused", None).await;
        }
        assert_eq!(session.go_on(&spent).await, second, "the same request again");
    }
    assert_eq!(session.detail().await["status"], "waiting");
    assert_eq!(session.go_on(token_of(&second)).await["is_complete"], true);
}

// W-092: of two at once one wins.
#[tokio::test]
async fn of_two_advances_at_once_one_wins() {
    let case = Case::new().await;
    let session = Session::start(&case, &["a", "b", "c"]).await;
    let token = token_of(&session.started);
    let (one, other) = (format!("{NOTES} One."), format!("{NOTES} Other."));
    let (one, other) = tokio::join!(session.send(token, &one), session.send(token, &other));
    let mut statuses = [one.status, other.status];
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 409]);
    let detail = session.detail().await;
    assert_eq!((&detail["step"], detail["notes"].as_array().map(Vec::len)), (&json!(1), Some(1)));
    // The same request twice at once is one advance, with one answer.
    let won = if one.status == 200 { one } else { other };
    let token = token_of(&won.json().await).to_owned();
    let (one, other) = tokio::join!(session.go_on(&token), session.go_on(&token));
    assert_eq!(one, other);
    assert_eq!(session.detail().await["step"], 2);
}

// N-019: no turn works on a session that a client carries out; an ordinary message is an ordinary turn.
#[tokio::test]
async fn the_thread_of_a_clients_session_has_ordinary_turns() {
    let case = Case::new().await;
    let session = Session::start(&case, &["a"]).await;
    let thread = session.thread();
    let asks = json!({
        "thread_id": thread, "content": "Go", "workflow_target": "workflow", "workflow_id": session.workflow,
    });
    assert_problem(case.client.post("/api/chat", &asks).await, 409, "workflow_running", None).await;
    case.script("", [text("Hello.")]).await;
    let events = case.chat_with(&json!({ "thread_id": thread, "content": case.said("Hello", "") })).await;
    assert!(!events.iter().any(|event| event.kind == "workflow_update"));
    let replaces = json!({
        "thread_id": thread, "content": "Again", "replaces_message_id": events[0].text("user_message_id"),
    });
    assert_problem(case.client.post("/api/chat", &replaces).await, 409, "workflow_running", None).await;
    assert_eq!(session.detail().await["status"], "waiting");

    // Its user wants the thread back.
    let path = format!("/api/threads/{thread}/workflow-session");
    case.client.send("DELETE", &path, "").await.expect(204).await;
    let detail = session.detail().await;
    assert_eq!((&detail["status"], &detail["reason"]), (&json!("failed"), &json!("cancelled")));
    assert_problem(case.client.send("DELETE", &path, "").await, 404, "session_not_found", None).await;
    let late = session.send(token_of(&session.started), NOTES).await;
    assert_problem(late, 409, "token_refused", None).await;
}

// A session keeps the definition with which it began.
#[tokio::test]
async fn a_session_keeps_its_version() {
    let case = Case::new().await;
    let session = Session::start(&case, &["a", "b"]).await;
    let path = format!("/api/workflows/{}", session.workflow);
    case.client.put(&path, &plain("Another")).await.expect(200).await;
    let second = session.go_on(token_of(&session.started)).await;
    assert_eq!(second["step"]["id"], "b");
    case.client.send("DELETE", &path, "").await.expect(204).await;
    assert_eq!(session.go_on(token_of(&second)).await["is_complete"], true);
    assert_eq!(session.detail().await["version"], 1);
    let gone = case.client.post(&format!("{path}/sessions"), &json!({})).await;
    assert_problem(gone, 404, "workflow_not_found", None).await;
}

// W-083: nothing stores a token: neither the rows of the thread's object nor D1.
#[tokio::test]
async fn no_row_has_a_token() {
    let case = Case::new().await;
    let session = Session::start(&case, &["a", "b"]).await;
    session.go_on(token_of(&session.started)).await;
    let sql = "SELECT id, definition FROM workflows WHERE id = ?";
    let rows = stored::d1(sql, &[&session.workflow]).await;
    assert_eq!(rows.len(), 1);
    let detail = case.client.thread(session.thread()).await;
    for shown in [json!(rows).to_string(), detail.to_string()] {
        assert!(!shown.contains("ct1."), "{shown}");
    }
    // The object's rows: `e2e` searches all files of all instances at the end of each run.
}
