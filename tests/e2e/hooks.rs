//! Issue 20, section 3: hooks comment and block, in real workerd, at the instance whose operator has some (`variables.rs`).
//!
//! A-012 A-013 A-014 A-015 A-016 A-017 A-018 A-068 A-070 A-071 A-073 A-081 A-082 A-083 CF-25 CF-27 W-097

mod answers;
mod lives;
mod of_threads;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use espalier_replay::{Record, replay};
use espalier_test_support::case::first;
use espalier_test_support::client::assert_problem;
use espalier_test_support::stored::{d1_at, eventually};
use espalier_test_support::{Case, Client, Event, Step, Value, call, calls, env, json, text};

const STATE: &str = "ESPALIER_MCP_STATE_DIR";

async fn case() -> Case {
    Case::of(Client::anonymous_at(&env("ESPALIER_MCP_URL")).await)
}

/// The reply of a hook's model. The fake finds it by the marker of the call that the hook reads.
fn verdict(decision: &str, words: &str) -> Step {
    call("finish_subtask", json!({ "decision": decision, "text": words }))
}

fn write(case: &Case) -> Step {
    call("memory_write", json!({ "key": "k", "value": case.said("v", "judge") }))
}

/// The verdicts of a turn: the hook, its point, its decision, its words.
fn verdicts(events: &[Event]) -> Vec<(&str, &str, &str, &str)> {
    let ends = events.iter().filter(|event| event.is("hook_update", &[("status", "end")]));
    ends.map(|end| (end.text("hook"), end.text("point"), end.text("decision"), end.text("text"))).collect()
}

/// The results of the agent's calls, in their order.
fn results(events: &[Event]) -> Vec<&str> {
    let is_end = |event: &&Event| event.is("tool_call_update", &[("status", "end")]);
    let of_agent = events.iter().filter(is_end).filter(|event| event.text("name") != "finish_subtask");
    of_agent.map(|event| event.text("result")).collect()
}

#[tokio::test]
async fn a_smart_guard_blocks_and_the_model_reads_why() {
    let case = case().await;
    case.script("", [write(&case), text("Then not.")]).await;
    case.script("judge", [verdict("block", "it is a secret")]).await;
    let events = case.chat("Keep it.").await;
    assert_eq!(verdicts(&events), [("guard", "action", "block", "it is a secret")]);
    assert_eq!(results(&events), ["blocked by hook guard: it is a secret"]);
    let told = case.requests("").await.requests[1].results();
    assert_eq!(told, ["Error: blocked by hook guard: it is a secret"]);
    let requests = case.requests("judge").await.requests;
    let asked = requests[0].body.to_string();
    assert!(asked.contains("Block each write of a secret.") && asked.contains("memory_write"), "{asked}");
    assert_eq!(requests[0].body["tools"].as_array().map(Vec::len), Some(1), "a hook has no tools");
    // It is a node with its costs, and its model call has a type of its own.
    let end = events.iter().find(|event| event.is("hook_update", &[("status", "end")])).expect("a verdict");
    assert_eq!(end.data["usage"]["llm_calls"], 1);
    let turn = first(&events, "session").text("turn_id").to_owned();
    eventually("D1 has the usage", || async {
        let sql = format!("SELECT operation_type FROM llm_usage WHERE turn_id = '{turn}'");
        let rows = d1_at(STATE, &sql).await;
        let kinds: Vec<&str> = rows.iter().filter_map(|row| row["operation_type"].as_str()).collect();
        (kinds.len() == 3).then(|| assert_eq!(kinds.iter().filter(|kind| **kind == "hook").count(), 1))
    })
    .await;
}

// Issue 42, M3: whichever models a request names, those of the operator judge for the operator's hook, which cannot quit. No
// request names them.
#[tokio::test]
async fn no_request_chooses_who_judges_for_the_operator() {
    let case = case().await;
    case.script("", [write(&case), text("Then not.")]).await;
    case.script("judge", [verdict("block", "it is a secret")]).await;
    let mut body = case.says("Keep it.");
    body["model"] = json!("secondary");
    let events = case.chat_with(&body).await;
    assert_eq!(verdicts(&events), [("guard", "action", "block", "it is a secret")]);
    let judged = case.requests("judge").await.requests;
    assert_eq!(judged.len(), 1);
    assert_eq!(judged[0].body["model"], "fake-guard");
    assert!(!judged[0].body.to_string().contains("quit"), "{}", judged[0].body);
    assert!(case.requests("").await.requests.iter().all(|request| request.body["model"] == "fake-2"));
    let turn = first(&events, "session").text("turn_id").to_owned();
    eventually("D1 has the usage", || async {
        let sql =
            format!("SELECT profile FROM llm_usage WHERE turn_id = '{turn}' AND operation_type = 'hook'");
        let rows = d1_at(STATE, &sql).await;
        rows.first().map(|row| assert_eq!(row["profile"], "guard"))
    })
    .await;
    for named in ["guard", "openai:fake-guard"] {
        let mut body = case.says("Hello");
        body["model"] = json!(named);
        let reply = case.client.post("/api/chat", &body).await;
        assert_problem(reply, 400, "invalid_request", Some("model")).await;
    }
}

#[tokio::test]
async fn a_guard_that_is_not_understood_blocks() {
    let case = case().await;
    case.script("", [write(&case), text("Then not.")]).await;
    case.script("judge", [text("Hm."), text("Well.")]).await;
    let events = case.chat("Keep it.").await;
    let why = "it gave no verdict: its answer was not understood";
    assert_eq!(verdicts(&events), [("guard", "action", "block", why)]);
    assert_eq!(results(&events), [format!("blocked by hook guard: {why}")]);
    let turn = first(&events, "session").text("turn_id").to_owned();
    eventually("D1 has the failure", || async {
        let sql = format!(
            "SELECT stage, code, message FROM error_log WHERE turn_id = '{turn}' AND component = 'hook'"
        );
        let rows = d1_at(STATE, &sql).await;
        let row = rows.first()?;
        assert_eq!((&row["stage"], &row["code"]), (&json!("action"), &json!("hook_failed")));
        row["message"].as_str()?.contains("not understood").then_some(())
    })
    .await;
}

#[tokio::test]
async fn a_comment_comes_before_the_next_model_call() {
    let case = case().await;
    let list = call("memory_list", json!({ "why": case.said("", "judge") }));
    case.script("", [list, text("I see.")]).await;
    case.script("judge", [verdict("comment", "The list is empty.")]).await;
    let events = case.chat("What is there?").await;
    assert_eq!(verdicts(&events), [("reader", "result", "comment", "The list is empty.")]);
    let requests = case.requests("").await.requests;
    let messages = requests.last().expect("a request").body["messages"].as_array().expect("messages").clone();
    let last = messages.last().expect("a message");
    assert_eq!(
        (&last["role"], &last["content"]),
        (&json!("user"), &json!("<hook name=\"reader\">\nThe list is empty.\n</hook>"))
    );
}

/// A user by a key, at the instance with a bucket whose operator has a hook.
fn closed(key: &str) -> Client {
    Client::nobody_at(&env("ESPALIER_CLOSED_URL")).with("authorization", &format!("Bearer {key}"))
}

// Issue 46, L2: a record, and an export, have digests in the place of the operator's words, but for an admin.
#[tokio::test]
async fn the_operators_words_are_in_no_record_but_an_admins() {
    for is_admin in [false, true] {
        let scopes: &[&str] = if is_admin { &["read", "write", "admin"] } else { &["read", "write"] };
        let new = json!({ "name": "laptop", "scopes": scopes });
        let minted = closed(&env("ESPALIER_ADMIN_KEY")).post("/api/keys", &new).await.expect(201).await;
        let case = Case::of(closed(minted.json().await["key"].as_str().expect("a key")));
        let look = call("memory_list", json!({ "why": case.said("", "judge") }));
        case.script("", [look, text("Then not.")]).await;
        case.script("judge", [verdict("block", "it is locked")]).await;
        let events = case.chat("What is there?").await;
        let session = |member: &str| first(&events, "session").text(member).to_owned();
        let path = format!("/api/threads/{}/turns/{}/record", session("thread_id"), session("turn_id"));
        let of_object = case.client.get(&path).await.expect(200).await.text().await;
        let list = format!("/api/threads/{}/records", session("thread_id"));
        eventually("the record is in R2", || async {
            (case.client.read(&list).await["records"].as_array().map(Vec::len) == Some(1)).then_some(())
        })
        .await;
        let stored = case.client.get(&path).await.expect(200).await.text().await;
        let export = case.client.get("/api/me/export").await.expect(200).await.text().await;
        let pieces = export.lines().filter_map(|line| {
            let line: Value = serde_json::from_str(line).ok()?;
            BASE64_STANDARD.decode(line["content_base64"].as_str()?).ok()
        });
        let exported = pieces.map(|piece| String::from_utf8_lossy(&piece).into_owned()).collect::<String>();
        for (place, record) in [("object", of_object), ("R2", stored), ("export", exported)] {
            assert_eq!(record.contains("Block each look at secrets."), is_admin, "{place}: {record}");
            assert!(record.contains("it is locked"), "{place}: {record}");
            let replayed = replay(&Record::read(&record).expect("a record")).expect("a replay");
            assert_eq!(replayed.difference, None, "{place}");
            assert_eq!(replayed.given_verdicts, usize::from(!is_admin), "{place}");
        }
    }
}

// A subtask has a copy, which blocks as well.
#[tokio::test]
async fn a_subtask_is_watched_by_a_copy() {
    let case = case().await;
    case.script("", [calls([case.subtask("Keep", "child")]), text("Done.")]).await;
    case.script("child", [write(&case), text("It was not allowed.")]).await;
    case.script("judge", [verdict("block", "no")]).await;
    let events = case.chat("Go.").await;
    assert_eq!(verdicts(&events), [("guard", "action", "block", "no")]);
    let verdict = events.iter().find(|event| event.kind == "hook_update").expect("a verdict");
    assert_eq!(verdict.data["depth"], 1);
}

// The same call three times in a row, and the operator's limit on a tool of an MCP server.
#[tokio::test]
async fn built_in_hooks_block_calls_of_every_kind() {
    let case = case().await;
    let read = || call("memory_read", json!({ "key": "k" }));
    let env = || call("mcp__everything__get-env", json!({}));
    case.script("", [read(), read(), read(), env(), env(), text("Done.")]).await;
    let events = case.chat("Go.").await;
    let blocked: Vec<(&str, &str)> =
        verdicts(&events).into_iter().map(|(hook, _, decision, _)| (hook, decision)).collect();
    assert_eq!(blocked, [("loops", "block"), ("once", "block")]);
    let results = results(&events);
    let refused: Vec<bool> = results.iter().map(|result| result.starts_with("blocked by hook ")).collect();
    assert_eq!(refused, [false, false, true, false, true], "{results:#?}");
    assert_eq!(first(&events, "cost_summary").data["tool_calls"], 3);
}

#[tokio::test]
async fn an_agent_makes_a_hook_and_cannot_end_it() {
    let case = case().await;
    let hook = json!({ "name": "never", "builtin": "spawn_limit", "match": ["mcp__everything__echo"], "options": { "most": 1 } });
    let echo = || call("mcp__everything__echo", json!({ "message": "hi" }));
    case.script("", [call("hook", hook), echo(), call("quit", json!({})), echo(), text("Done.")]).await;
    let events = case.chat("Go.").await;
    let said: Vec<&str> = verdicts(&events).into_iter().map(|(hook, ..)| hook).collect();
    assert_eq!(said, ["never"]);
    let results = results(&events);
    assert!(results[2].starts_with("the tool \"quit\" is not available"), "{results:#?}");
    assert!(results[3].starts_with("blocked by hook never"), "{results:#?}");
    let offered: Vec<Value> =
        case.requests("").await.requests[0].body["tools"].as_array().expect("tools").clone();
    assert!(offered.iter().any(|tool| tool["function"]["name"] == "hook"));
}
