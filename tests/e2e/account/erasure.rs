//! The erasure: nothing of a user is left, in D1, R2, and the objects; nobody else loses anything; a new life begins.

use std::time::Duration;

use espalier_test_support::client::assert_problem;
use espalier_test_support::identity::{now_s, users};
use espalier_test_support::stored::{change_at, change_object_at, d1, eventually, object_at, places};
use espalier_test_support::{Case, Client, Value, call, env, json, new_id, text};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use uuid::Uuid;
use wire::protocol::Owner;

use super::erasers::signed_in;
use super::export::{exported, kinds_of};
use super::{MAIN, Planted, failing, plant};

pub const CLOSED: &str = "ESPALIER_CLOSED_STATE_DIR";

pub fn confirmed() -> String {
    json!({ "confirm": "erase" }).to_string()
}

/// Begins an erasure, and returns its receipt.
pub async fn begin(client: &Client) -> String {
    let client = client.with("content-type", "application/json");
    let reply = client.send("DELETE", "/api/me", confirmed()).await.expect(202).await;
    assert!(reply.header("set-cookie").contains("Max-Age=0"), "{}", reply.header("set-cookie"));
    let erasure = reply.json().await;
    assert_eq!((&erasure["ended_at"], &erasure["removed"]), (&Value::Null, &json!({})));
    erasure["receipt"].as_str().expect("a receipt").to_owned()
}

async fn progress(anybody: &Client, receipt: &str) -> Value {
    let progress = anybody.read(&format!("/api/me/erasure?receipt={receipt}")).await;
    assert_eq!(progress.get("receipt"), None, "only the first answer shows it");
    progress
}

/// Has the job begin its second sweep now: all credentials that were verified before it are as good as forgotten.
pub async fn settle(state: &str, user_id: &str) {
    let sql = format!(
        "UPDATE erasures SET started_at = started_at - 90000, lease_until = 0 WHERE user_id = '{user_id}'"
    );
    change_at(state, &sql).await;
}

/// Reads the progress until the job has ended.
pub async fn ended(anybody: &Client, receipt: &str) -> Value {
    eventually("the erasure ends", || async {
        let progress = progress(anybody, receipt).await;
        (!progress["ended_at"].is_null()).then_some(progress)
    })
    .await
}

/// Where the mark is in the main instance, once its turns and records have arrived.
async fn planted_everywhere(planted: &Planted) {
    let all = [
        "d1 bookmarks",
        "d1 chunks",
        "d1 collections",
        "d1 documents",
        "d1 instructions",
        "d1 memories",
        "d1 messages",
        "d1 plans",
        "d1 project_items",
        "d1 shares",
        "d1 tool_usage",
        "d1 workflows",
        "do agents",
        "do messages",
        "do workflow_sessions",
        "do workflow_steps",
        "r2 file",
    ];
    eventually("the mark is everywhere", || async {
        let found = places(MAIN, &planted.mark).await;
        all.iter().all(|place| found.iter().any(|found| found == place)).then_some(())
    })
    .await;
}

// Long: one life and the beginning of the next.
#[tokio::test]
async fn nothing_of_a_visitor_is_left() {
    let planted = plant(Case::new().await, &new_id().replace('-', "")).await;
    let neighbour = plant(Case::new().await, &new_id().replace('-', "")).await;
    planted_everywhere(&planted).await;
    planted_everywhere(&neighbour).await;
    let user_id =
        exported(&planted.case.client).await.0[0]["owner"]["user"].as_str().expect("a user").to_owned();

    let client = planted.case.client.with("content-type", "application/json");
    for (body, code, field) in [
        ("", "invalid_json", None),
        ("{}", "invalid_request", None),
        (r#"{"confirm":"yes"}"#, "invalid_request", Some("confirm")),
    ] {
        let reply = client.send("DELETE", "/api/me", body).await;
        if field.is_some() {
            assert_problem(reply, 400, code, field).await;
        } else {
            assert_eq!(reply.status, 400, "{body}");
        }
    }
    client.get("/api/threads").await.expect(200).await;

    let receipt = begin(&planted.case.client).await;
    assert_problem(client.get("/api/threads").await, 401, "unauthenticated", None).await;
    let anybody = Client::nobody_at(&env("ESPALIER_URL"));
    for receipt in ["", "x", &new_id().replace('-', "")] {
        let reply = anybody.get(&format!("/api/me/erasure?receipt={receipt}")).await;
        assert_problem(reply, 404, "erasure_not_found", None).await;
    }
    assert_eq!(progress(&anybody, &receipt).await["ended_at"], Value::Null, "the second sweep waits");
    settle(MAIN, &format!("anonymous:{user_id}")).await;
    let end = ended(&anybody, &receipt).await;
    let removed = |kind: &str| end["removed"][kind].as_u64().unwrap_or_default();
    assert!(removed("threads") >= 2 && removed("memories") == 1 && removed("files") == 1, "{end}");
    assert_eq!((removed("documents"), removed("workflows"), removed("plans") <= 1), (1, 1, true), "{end}");

    eventually("the mark is nowhere", || async {
        let found: Vec<String> = places(MAIN, &planted.mark).await;
        found.iter().all(|place| place.ends_with("freed")).then_some(())
    })
    .await;
    // A neighbour keeps everything.
    planted_everywhere(&neighbour).await;
    neighbour.case.client.get("/api/threads").await.expect(200).await;
    // The cookie stays refused, and a new one is another user's.
    assert_problem(client.get("/api/threads").await, 401, "unauthenticated", None).await;
}

pub fn with_key(key: &Value) -> Client {
    let closed = Client::nobody_at(&env("ESPALIER_CLOSED_URL"));
    closed.with("authorization", &format!("Bearer {}", key.as_str().expect("a key")))
}

pub async fn mint(with: &Client, user: &str, scopes: &[&str]) -> Value {
    let new = json!({ "name": "laptop", "user": user, "scopes": scopes });
    with.post("/api/keys", &new).await.expect(201).await.json().await["key"].take()
}

#[tokio::test]
async fn a_users_keys_and_sessions_end_and_a_new_key_begins_anew() {
    let (user, colleague) = (new_id(), new_id());
    let admin = with_key(&env("ESPALIER_ADMIN_KEY").into());
    let own = mint(&admin, &user, &["read", "write", "admin", "erase"]).await;
    let client = with_key(&own);
    let of_colleague = with_key(&mint(&client, &colleague, &["read", "write"]).await);
    let closed = Client::nobody_at(&env("ESPALIER_CLOSED_URL"));
    let session = closed.post("/api/session", &json!({ "key": own })).await.expect(200).await;
    let browser = closed.with("cookie", session.header("set-cookie").split(';').next().unwrap_or_default());
    let instructions = json!({ "content": "Briefly." });
    browser.put("/api/me/instructions", &instructions).await.expect(200).await;
    let reads = with_key(&mint(&admin, &user, &["read"]).await);

    let receipt = begin(&client).await;
    let between = with_key(&mint(&admin, &user, &["read", "write"]).await);
    for client in [&client, &reads, &browser, &between] {
        assert_problem(client.get("/api/threads").await, 401, "unauthenticated", None).await;
    }
    of_colleague.get("/api/threads").await.expect(200).await;
    progress(&closed, &receipt).await;
    settle(CLOSED, &format!("key:{user}")).await;
    let end = ended(&closed, &receipt).await;
    assert_eq!(end["removed"], json!({ "api_keys": 2, "instructions": 1 }), "{end}");

    // The key that was minted while the job ran opens an empty account; the colleague's is still theirs.
    assert_eq!(between.read("/api/me/instructions").await["content"], "");
    of_colleague.get("/api/threads").await.expect(200).await;
    assert_problem(client.get("/api/threads").await, 401, "unauthenticated", None).await;
    between.put("/api/me/instructions", &instructions).await.expect(200).await;
    progress(&closed, &receipt).await;
    assert_eq!(
        between.read("/api/me/instructions").await["content"],
        "Briefly.",
        "a job that ended deletes nothing"
    );
}

#[tokio::test]
async fn a_user_whom_a_token_names_is_refused_meanwhile_and_begins_anew() {
    let user = new_id();
    let [token] = users([("e2e", user.as_str())]).await;
    let case = Case::of(token.clone());
    case.script("", [text("Hello."), text("Anew.")]).await;
    case.chat("Hello").await;
    let user_id = exported(&token).await.0[0]["owner"].clone();
    // Its token says nothing of a sign-in.
    let asking = token.with("content-type", "application/json");
    let refused = asking.send("DELETE", "/api/me", confirmed()).await;
    assert_problem(refused, 403, "sign_in_again", None).await;
    let recent = signed_in(&user, now_s()).await;
    let receipt = begin(&recent.with("cf-connecting-ip", "203.0.113.9")).await;
    assert_problem(token.get("/api/threads").await, 409, "erasure_in_progress", None).await;
    let chat = token.post("/api/chat", &case.says("Hello")).await;
    assert_problem(chat, 409, "erasure_in_progress", None).await;
    let closed = Client::nobody_at(&env("ESPALIER_CLOSED_URL"));
    progress(&closed, &receipt).await;
    let (issuer, name) =
        (user_id["issuer"].as_str().expect("an issuer"), user_id["user"].as_str().expect("a user"));
    settle(CLOSED, &format!("{issuer}:{name}")).await;
    ended(&closed, &receipt).await;
    // The audit log alone still knows the user: the exports before and now, and the one entry of the erasure.
    let (lines, _) = exported(&token).await;
    assert_eq!(kinds_of(&lines), ["export", "audit_entry", "audit_entry", "audit_entry"], "{lines:?}");
    let actions: Vec<&str> = lines.iter().filter_map(|line| line["action"].as_str()).collect();
    assert_eq!(actions, ["data_exported", "data_erased", "data_exported"]);
    let removed: Value =
        lines[2]["detail"].as_str().and_then(|json| serde_json::from_str(json).ok()).expect("numbers");
    assert_eq!((&removed["threads"], lines[2]["address"].is_string()), (&json!(1), true));
    case.chat("Again").await;
    assert_eq!(token.threads().await.len(), 1);
}

// The user never asks for the progress: the cron trigger alone ends the job.
#[tokio::test]
async fn the_cron_trigger_carries_a_job_on() {
    let client = Client::anonymous().await;
    client.put("/api/me/instructions", &json!({ "content": "Briefly." })).await.expect(200).await;
    let session = client.post("/api/session", &json!({})).await.expect(200).await.json().await;
    let user_id = format!("anonymous:{}", session["user_id"].as_str().expect("a user"));
    begin(&client).await;
    let job = async || {
        let jobs = d1("SELECT stage, ended_at FROM erasures WHERE user_id = ?1", &[&user_id]).await;
        jobs.first().cloned().expect("a job")
    };
    let is_second = |job: &Value| job["stage"].as_str().is_some_and(|stage| stage.contains(r#""sweep":1"#));
    let anybody = Client::nobody_at(&env("ESPALIER_URL"));
    let visited = async || {
        anybody.get("/cdn-cgi/handler/scheduled").await.expect(200).await;
        job().await
    };
    eventually("the second sweep waits", || async { is_second(&visited().await).then_some(()) }).await;
    assert_eq!(visited().await["ended_at"], Value::Null);
    settle(MAIN, &user_id).await;
    eventually("the job ends", || async { (!visited().await["ended_at"].is_null()).then_some(()) }).await;
    let left = d1("SELECT content FROM instructions WHERE user_id = ?1", &[&user_id]).await;
    assert_eq!(left, Vec::<Value>::new());
}

// A credential may end while a body is on its way. The service asks about it again where the body took long, so nothing is
// written after the erasure.
#[tokio::test]
async fn a_request_with_a_slow_body_is_admitted_again() {
    let client = Client::anonymous().await;
    client.put("/api/me/instructions", &json!({ "content": "Briefly." })).await.expect(200).await;
    let session = client.post("/api/session", &json!({})).await.expect(200).await.json().await;
    let user = format!("anonymous:{}", session["user_id"].as_str().expect("a user"));
    let (url, cookie) = (env("ESPALIER_URL"), client.header("cookie"));
    let address = url.trim_start_matches("http://");
    let slow = async |has_ended: bool| {
        let body = json!({ "content": "Slowly." }).to_string();
        let (first, rest) = body.split_at(5);
        let head = format!(
            "PUT /api/me/instructions HTTP/1.1\r\nhost: {address}\r\norigin: {url}\r\ncookie: {cookie}\r\n\
             connection: close\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{first}",
            body.len()
        );
        let mut stream = TcpStream::connect(address).await.expect("a connection");
        stream.write_all(head.as_bytes()).await.expect("the beginning of a request");
        let receipt = if has_ended { Some(begin(&client).await) } else { None };
        // The delay is what is tested: the body takes longer than `BODY_MS`.
        tokio::time::sleep(Duration::from_secs(6)).await;
        stream.write_all(rest.as_bytes()).await.expect("the rest of it");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.expect("an answer");
        (answer.split(' ').nth(1).map(str::to_owned), receipt)
    };
    assert_eq!(slow(false).await.0.as_deref(), Some("200"), "the session is still valid");
    let (status, receipt) = slow(true).await;
    assert_eq!(status.as_deref(), Some("401"));
    settle(MAIN, &user).await;
    ended(&Client::nobody_at(&url), &receipt.expect("a receipt")).await;
    let left = d1("SELECT 1 FROM instructions WHERE user_id = ?1", &[&user]).await;
    assert!(left.is_empty(), "{left:?}");
}

/// A visitor's thread of which D1 refuses to hear, until the trigger goes.
pub struct Refused {
    pub user: String,
    pub mark: String,
    pub thread: String,
    /// The name of its object.
    pub object: String,
    /// The trigger.
    pub outage: String,
}

pub async fn refused_thread(case: &Case) -> Refused {
    let session = case.client.post("/api/session", &json!({})).await.expect(200).await.json().await;
    let name = session["user_id"].as_str().expect("a user").to_owned();
    let user = format!("anonymous:{name}");
    let outage = format!("outage_{}", name.replace('-', "_"));
    let refuse = format!(
        "CREATE TRIGGER {outage} BEFORE INSERT ON threads WHEN NEW.user_id = '{user}' \
         BEGIN SELECT RAISE(ABORT, 'an outage'); END"
    );
    change_at(MAIN, &refuse).await;
    let mark = format!("mark-{}", new_id());
    case.script("", [text(&format!("It is {mark}."))]).await;
    let events = case.chat("Hello").await;
    let thread = events[0].text("thread_id").to_owned();
    let owner = Owner { issuer: "anonymous".to_owned(), tenant: "public".to_owned(), user: name };
    let object = owner.object_name(Uuid::try_parse(&thread).expect("an id"));
    eventually("D1 has refused the turn", || async {
        let waits = object_at(MAIN, &object, "SELECT 1 FROM outbox WHERE attempts > 0").await;
        (!waits.is_empty()).then_some(())
    })
    .await;
    Refused { user, mark, thread, object, outage }
}

/// Ends the outage, and waits until no table and no file has the mark.
pub async fn is_erased_after(outage: &str, mark: &str) {
    change_at(MAIN, &format!("DROP TRIGGER {outage}")).await;
    eventually("the thread is gone", || async {
        places(MAIN, mark).await.iter().all(|place| place.ends_with("freed")).then_some(())
    })
    .await;
}

pub async fn has_no_rows(user: &str) {
    for table in ["threads", "messages", "llm_usage"] {
        let left = d1(&format!("SELECT 1 FROM {table} WHERE user_id = ?1"), &[user]).await;
        assert!(left.is_empty(), "{table}");
    }
}

// An erasure finds the threads that D1 knows. One that began while D1 was down goes as soon as D1 hears of it.
#[tokio::test]
async fn a_thread_of_which_d1_could_not_hear_goes_too() {
    let case = Case::new().await;
    let Refused { user, mark, thread, object, outage } = refused_thread(&case).await;
    // A turn of it is still open: its usage goes, too.
    case.script("waits", [call("ui_paste", json!({}))]).await;
    let tool = json!({ "name": "ui_paste", "description": "Pastes.", "input_schema": { "type": "object" } });
    let mut waiting = json!({ "thread_id": thread, "content": case.said("Paste it", "waits") });
    waiting["chat_context"] = json!({ "kind": "editor" });
    waiting["client_tools"] = json!([tool]);
    let mut stream = case.client.chat(&waiting).await;
    stream.until(|event| event.text("state") == "waiting_on_user").await;
    let receipt = begin(&case.client).await;
    settle(MAIN, &user).await;
    ended(&Client::nobody_at(&env("ESPALIER_URL")), &receipt).await;
    // `settle` has moved the beginning of the job before that of the thread.
    change_at(MAIN, &format!("UPDATE erasures SET started_at = started_at + 90000 WHERE user_id = '{user}'"))
        .await;
    let left = places(MAIN, &mark).await;
    assert!(left.iter().any(|place| place == "do messages"), "the job knows nothing of it: {left:?}");
    is_erased_after(&outage, &mark).await;
    // The deletion is told again after a minute. Nothing waits for that, the record of the turn that it stopped neither.
    let again =
        object_at(MAIN, &object, "SELECT 1 FROM outbox WHERE due_at > unixepoch('subsec') * 1000").await;
    assert_eq!(again.len(), 1);
    eventually("D1 has heard of all", || async {
        let waits = "SELECT 1 FROM outbox WHERE attempts > 0 OR due_at <= unixepoch('subsec') * 1000";
        object_at(MAIN, &object, waits).await.is_empty().then_some(())
    })
    .await;
    has_no_rows(&user).await;
}

// One object that fails keeps the job open, and nothing else of the user.
#[tokio::test]
async fn a_thread_that_cannot_be_deleted_holds_up_nothing_else() {
    let case = Case::new().await;
    let (thread, object) = failing(&case.client).await;
    assert_problem(case.client.get(&format!("/api/threads/{thread}")).await, 503, "object_too_new", None)
        .await;
    let user = exported(&case.client).await.0[0]["owner"]["user"].as_str().expect("a user").to_owned();
    let mark = new_id().replace('-', "");
    case.client.put("/api/me/instructions", &json!({ "content": mark })).await.expect(200).await;
    case.client.send("PUT", "/api/workspaces/shared/files/a.txt", mark.clone()).await.expect(200).await;
    let receipt = begin(&case.client).await;
    let anybody = Client::nobody_at(&env("ESPALIER_URL"));
    settle(MAIN, &format!("anonymous:{user}")).await;
    let left = eventually("all else is gone", || async {
        assert_eq!(progress(&anybody, &receipt).await["ended_at"], Value::Null);
        let left = places(MAIN, &mark).await;
        let stage = d1("SELECT stage FROM erasures WHERE user_id = 'anonymous:' || ?1", &[&user]).await;
        let stage: Value = serde_json::from_str(stage[0]["stage"].as_str().expect("JSON")).expect("a stage");
        // Both sweeps are over.
        let is_last = stage["sweep"] == 1 && stage["part"] == "rows";
        (left.iter().all(|place| place.ends_with("freed")) && is_last).then(|| stage["left"].clone())
    })
    .await;
    assert_eq!(left, json!([thread]));
    // The version that can read it is back.
    change_object_at(MAIN, &object, "UPDATE meta SET schema_version = 4").await;
    settle(MAIN, &format!("anonymous:{user}")).await;
    let end = ended(&anybody, &receipt).await;
    assert!(end["removed"]["threads"].as_u64() >= Some(1), "{end}");
    assert!(object_at(MAIN, &object, "SELECT 1 FROM messages").await.is_empty());
}
