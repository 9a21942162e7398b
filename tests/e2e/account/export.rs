//! The export: everything is in it, in pages; nothing of anybody else and no secret is.

use std::collections::BTreeSet;

use base64::Engine;
use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD};
use espalier_test_support::client::assert_problem;
use espalier_test_support::stored::{change_object_at, d1, eventually};
use espalier_test_support::{Case, Client, Value, call, env, json, new_id, text};

use super::{LARGE, MAIN, PICTURE, failing, plant, texts};

/// All lines of an export, and the number of its pages. No page has more than a step beyond its limit.
pub async fn exported(client: &Client) -> (Vec<Value>, usize) {
    let (mut lines, mut cursor, mut pages) = (Vec::new(), String::new(), 0);
    loop {
        let reply = client.get(&format!("/api/me/export?cursor={cursor}")).await.expect(200).await;
        assert_eq!(reply.header("content-type"), "application/x-ndjson");
        let page = reply.text().await;
        assert!(page.len() < 3 << 20, "a page of {} bytes", page.len());
        pages += 1;
        lines.extend(page.lines().map(|line| serde_json::from_str::<Value>(line).expect("a line of JSON")));
        let last: Value = lines.pop().expect("a last line");
        match last["kind"].as_str() {
            Some("end") => {
                assert_eq!(last, json!({ "kind": "end", "complete": true }));
                return (lines, pages);
            }
            _ => cursor = last["next_cursor"].as_str().expect("a cursor").to_owned(),
        }
    }
}

// Long: the parts of one export.
#[tokio::test]
async fn an_export_has_everything_of_a_user() {
    let planted = plant(Case::new().await, &new_id().replace('-', "")).await;
    let (case, m) = (&planted.case, |what: &str| planted.marked(what));
    let expected = [
        "agent",
        "agent_life",
        "agent_round",
        "agent_state",
        "audit_entry",
        "bookmark",
        "collection",
        "document",
        "error",
        "export",
        "file",
        "file_version",
        "history",
        "hook",
        "instructions",
        "memory",
        "message",
        "model_call",
        "passage",
        "plan",
        "plan_state",
        "project_item",
        "record",
        "session",
        "share",
        "thread",
        "tool_call",
        "version",
        "workflow",
        "workflow_session",
        "workflow_step",
    ];
    // D1 and R2 hear of a turn after its end.
    let lines = eventually("everything is there", || async {
        let (lines, _) = exported(&case.client).await;
        let kinds: BTreeSet<_> = lines.iter().filter_map(|line| line["kind"].as_str()).collect();
        let all = expected.iter().all(|kind| kinds.contains(kind));
        (all && texts(&lines, "record", "path").len() == 4).then_some(lines)
    })
    .await;
    let kinds: BTreeSet<_> = lines.iter().filter_map(|line| line["kind"].as_str()).collect();
    assert_eq!(kinds.into_iter().collect::<Vec<_>>(), expected);
    assert_eq!((&lines[0]["kind"], &lines[0]["format"]), (&json!("export"), &json!(1)));
    assert_eq!(lines[0]["owner"]["issuer"], "anonymous");

    assert_eq!(texts(&lines, "memory", "content"), [m("memory")]);
    assert_eq!(texts(&lines, "instructions", "content"), [m("instructions")]);
    assert_eq!(texts(&lines, "collection", "name"), [m("collection")]);
    assert_eq!(texts(&lines, "document", "name"), [m("name")]);
    assert!(texts(&lines, "passage", "text")[0].contains(&m("document")));
    let of = |kind: &str| lines.iter().filter(|line| line["kind"] == kind).collect::<Vec<_>>();
    assert_eq!(of("workflow")[0]["definition"]["steps"][0]["instructions"], m("workflow"));
    let session = of("workflow_session")[0];
    assert_eq!((&session["goal"], &session["status"]), (&json!(m("goal")), &json!("complete")));
    assert_eq!(session["definition"]["steps"][0]["instructions"], m("workflow"));
    assert_eq!(session["context"], json!({ "value": m("value") }));
    let step = of("workflow_step")[0];
    assert!(step["notes"].as_str().expect("a text").starts_with(&m("notes")));
    assert_eq!(
        (&step["step_id"], &step["session_id"], &step["thread_id"], &step["context_updates"]),
        (&json!("a"), &session["session_id"], &session["thread_id"], &session["context"])
    );
    assert!(of("plan")[0]["payload"]["objective"].as_str().expect("a text").contains(&m("plan")));
    assert!(of("project_item").iter().any(|item| item["item"] == "project" && item["title"] == m("project")));

    // Both versions of the turn, with the answer's tree and the picture of the question.
    let messages: Vec<&Value> =
        of("message").into_iter().filter(|line| line["thread_id"] == planted.thread).collect();
    let roles: Vec<_> = messages.iter().map(|message| message["role"].as_str().unwrap_or_default()).collect();
    assert_eq!(roles, ["user", "assistant", "user", "assistant"]);
    assert_eq!(messages[0]["sent"][1]["data"], PICTURE);
    assert_eq!(
        (&messages[1]["content"], &messages[3]["content"]),
        (&json!(m("answer")), &json!(m("version")))
    );
    assert!(messages[1]["execution_tree"].is_object() && messages[2].get("sent").is_none());
    assert_eq!(of("version").len(), 2);

    // The agent, which the thread's path has not: as it was made, as the first turn left it, and its one round.
    let listed = case.client.get(&format!("/api/threads/{}/agents", planted.thread)).await.json().await;
    assert_eq!(listed["agents"], json!([]));
    let agent = of("agent").into_iter().find(|line| line["agent"]["name"] == "critic").expect("the critic");
    assert_eq!(agent["agent"]["instructions"], m("agent"));
    for kind in ["agent_state", "agent_round"] {
        let of_agent: Vec<_> =
            of(kind).into_iter().filter(|line| line["agent_id"] == agent["agent_id"]).collect();
        let [line] = of_agent[..] else { panic!("{kind}: {of_agent:?}") };
        assert_eq!(
            (&line["thread_id"], &line["turn_id"]),
            (&json!(planted.thread), &messages[0]["turn_id"]),
            "{kind}"
        );
    }
    assert!(of("agent_round")[0]["messages"].to_string().contains(&m("agents")));
    assert!(of("plan_state")[0]["plan"]["objective"].as_str().expect("a text").contains(&m("plan")));

    // A file that is larger than a piece comes in two, which together are the file.
    let path = |kind: &str, path: &str| {
        of(kind).into_iter().filter(|line| line["path"] == path).cloned().collect::<Vec<_>>()
    };
    let large = path("file", "shared/large.txt");
    let offsets: Vec<_> = large.iter().map(|piece| piece["offset"].clone()).collect();
    assert_eq!(offsets, [json!(0), json!(196_608)]);
    assert!(large.iter().all(|piece| piece["bytes"] == LARGE && piece["version"] == large[0]["version"]));
    let whole: String =
        large.iter().map(|piece| piece["content_base64"].as_str().unwrap_or_default()).collect();
    let decoded = decode(&whole);
    assert!(decoded.starts_with(&m("large")) && decoded.len() == LARGE, "{}", decoded.len());
    assert_eq!(decode(path("file", "notes.md")[0]["content_base64"].as_str().expect("a text")), m("newer"));
    assert_eq!(decode(of("file_version")[0]["content_base64"].as_str().expect("a text")), m("file"));
    let records: Vec<String> =
        texts(&lines, "record", "content_base64").iter().map(|record| decode(record)).collect();
    assert!(records.iter().any(|record| record.contains(&m("question"))));

    // Another user gets nothing of it.
    let stranger = Case::new().await;
    let (lines, pages) = exported(&stranger.client).await;
    assert_eq!((kinds_of(&lines), pages), (vec!["export"], 1), "a visitor who has nothing: {lines:?}");
}

/// The kinds of lines, in their order.
pub fn kinds_of(lines: &[Value]) -> Vec<&str> {
    lines.iter().filter_map(|line| line["kind"].as_str()).collect()
}

/// The text behind base64.
fn decode(text: &str) -> String {
    let bytes = BASE64_STANDARD.decode(text).expect("base64");
    String::from_utf8(bytes).expect("a text")
}

#[tokio::test]
async fn many_threads_come_in_several_pages_each_once() {
    let case = Case::new().await;
    let count = 24;
    case.script("", (0..count).map(|n| text(&n.to_string()))).await;
    let mut threads = Vec::new();
    for n in 0..count {
        let thread = new_id();
        let mut body = case.says(&format!("Hello {n}"));
        body["thread_id"] = json!(thread);
        case.chat_with(&body).await;
        threads.push(thread);
    }
    threads.sort();
    eventually("D1 knows all threads", || async {
        (case.client.threads().await.len() == count).then_some(())
    })
    .await;
    let (lines, pages) = exported(&case.client).await;
    assert_eq!(texts(&lines, "thread", "id"), threads);
    assert_eq!(texts(&lines, "message", "id").len(), 2 * count);
    assert!(pages > 1, "a page makes at most 45 requests");
}

// A thread in the middle of a turn: the message that waits, and the tool that a person allowed for good.
#[tokio::test]
async fn a_waiting_message_and_an_approval_are_in_it() {
    let case = Case::new().await;
    let erase = json!({ "name": "ui_erase", "description": "Erases.", "input_schema": { "type": "object" } });
    case.script("", [call("ui_erase", json!({})), text("Erased.")]).await;
    let (thread, mut body) = (new_id(), case.says("Erase it"));
    body["thread_id"] = json!(thread);
    body["chat_context"] = json!({ "kind": "editor" });
    body["client_tools"] = json!([erase]);
    let mut stream = case.client.chat(&body).await;
    let asked = stream.until(|event| event.kind == "approval_request").await;
    let path = format!("/api/threads/{thread}/approvals/{}", asked.text("approval_id"));
    case.client.post(&path, &json!({ "decision": "approve_for_thread" })).await.expect(200).await;
    // The turn waits for its client now.
    stream.until(|event| event.text("awaits") == "client").await;
    let content = json!([{ "type": "text", "text": "And then?" }, { "type": "image", "data": PICTURE }]);
    let next =
        json!({ "thread_id": thread, "content": content, "model": "other:fake-3", "if_running": "queue" });
    case.client.post("/api/chat", &next).await.expect(202).await;
    let lines = eventually("D1 knows the thread", || async {
        let (lines, _) = exported(&case.client).await;
        (!texts(&lines, "thread", "id").is_empty()).then_some(lines)
    })
    .await;
    let waiting: Vec<_> = lines.iter().filter(|line| line["kind"] == "queued_message").collect();
    assert_eq!(waiting.iter().map(|line| &line["request"]["content"]).collect::<Vec<_>>(), [&content]);
    assert_eq!(texts(&lines, "approval", "name"), ["ui_erase"]);
    assert!(["queued_message", "approval"].iter().all(|kind| texts(&lines, kind, "thread_id") == [&*thread]));
    // A place that is not in the thread.
    for (section, name) in [("messages", "x"), ("beside", "agent:x"), ("beside", "meta:1")] {
        let place = json!({ "section": section, "thread": thread, "after": [name] });
        let cursor = BASE64_URL_SAFE_NO_PAD.encode(place.to_string());
        let reply = case.client.get(&format!("/api/me/export?cursor={cursor}")).await;
        assert_problem(reply, 400, "invalid_request", Some("cursor")).await;
    }
}

// The object of one thread fails each time: the others come, and a line tells where that thread is read on.
#[tokio::test]
async fn a_thread_that_cannot_be_read_holds_up_no_other() {
    let case = Case::new().await;
    let (failing, object) = failing(&case.client).await;
    case.script("", [text("Hello.")]).await;
    let events = case.chat("Hello").await;
    let thread = events[0].text("thread_id").to_owned();
    let lines = eventually("D1 knows the thread", || async {
        let (lines, _) = exported(&case.client).await;
        texts(&lines, "thread", "id").contains(&thread).then_some(lines)
    })
    .await;
    assert_eq!(texts(&lines, "thread", "id"), [&*thread]);
    assert_eq!(texts(&lines, "unreadable", "thread_id"), [&*failing]);
    let cursor = &texts(&lines, "unreadable", "cursor")[0];
    change_object_at(MAIN, &object, "UPDATE meta SET schema_version = 4").await;
    let page =
        case.client.get(&format!("/api/me/export?cursor={cursor}")).await.expect(200).await.text().await;
    let lines: Vec<Value> = page.lines().map(|line| serde_json::from_str(line).expect("a line")).collect();
    assert_eq!((&lines[0]["kind"], &lines[0]["id"]), (&json!("thread"), &json!(failing)));
}

// A cursor that somebody made up begins an export as well, and the audit log has it.
#[tokio::test]
async fn an_export_by_a_cursor_that_is_made_up_has_its_entry() {
    let client = Client::anonymous().await;
    client.put("/api/me/instructions", &json!({ "content": "Briefly." })).await.expect(200).await;
    let session = client.post("/api/session", &json!({})).await.expect(200).await.json().await;
    let user = format!("anonymous:{}", session["user_id"].as_str().expect("a user"));
    eventually("the visitor has a row", || async {
        let rows = d1("SELECT 1 FROM sessions WHERE user_id = ?1", &[&user]).await;
        (!rows.is_empty()).then_some(())
    })
    .await;
    let cursor = BASE64_URL_SAFE_NO_PAD.encode(json!({ "section": "rows" }).to_string());
    let read = async || {
        let page =
            client.get(&format!("/api/me/export?cursor={cursor}")).await.expect(200).await.text().await;
        page.lines().filter(|line| line.contains("data_exported")).count()
    };
    assert_eq!((read().await, read().await), (1, 1), "one entry for one export");
}

#[tokio::test]
async fn it_needs_a_credential_and_a_cursor_of_its_own_and_shows_no_secret() {
    let closed = Client::nobody_at(&env("ESPALIER_CLOSED_URL"));
    assert_problem(closed.get("/api/me/export").await, 401, "unauthenticated", None).await;
    let admin = closed.with("authorization", &format!("Bearer {}", env("ESPALIER_ADMIN_KEY")));
    let user = new_id();
    let new = json!({ "name": "laptop", "user": user, "scopes": ["read", "write"] });
    let key = admin.post("/api/keys", &new).await.expect(201).await.json().await["key"].take();
    let key = key.as_str().expect("a key").to_owned();
    let client = closed.with("authorization", &format!("Bearer {key}"));
    let session = closed.post("/api/session", &json!({ "key": key })).await.expect(200).await;
    let cookie = session.header("set-cookie").split(';').next().unwrap_or_default().to_owned();
    let (lines, _) = exported(&client).await;
    let text = Value::from(lines.clone()).to_string();
    assert_eq!(
        (texts(&lines, "api_key", "name"), texts(&lines, "session", "id").len()),
        (vec!["laptop".to_owned()], 1)
    );
    let secrets =
        [key.split('_').next_back(), cookie.split('=').next_back()].map(|secret| secret.expect("a secret"));
    assert!(secrets.iter().all(|secret| !secret.is_empty() && !text.contains(*secret)));
    assert!(!text.contains("hash"));
    for cursor in ["x", "e30x", "' OR 1=1 --"] {
        let reply = client.get(&format!("/api/me/export?cursor={}", cursor.replace(' ', "%20"))).await;
        assert_problem(reply, 400, "invalid_request", Some("cursor")).await;
    }
    let writes = json!({ "name": "writes", "user": user, "scopes": ["write"] });
    let key = admin.post("/api/keys", &writes).await.expect(201).await.json().await["key"].take();
    let writes = closed.with("authorization", &format!("Bearer {}", key.as_str().expect("a key")));
    assert_problem(writes.get("/api/me/export").await, 403, "insufficient_scope", None).await;
}
