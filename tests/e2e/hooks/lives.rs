//! Issue 45, 1 and 3: a hook lives as long as its agent, and so do the files that an agent knows.
//!
//! A-012 A-069 A-074 A-075 A-079 A-081 A-082 A-085 A-089

use espalier_test_support::case::first;
use espalier_test_support::client::assert_problem;
use espalier_test_support::{Case, Step, Value, call, json, text};

use super::of_threads::begun;
use super::{case, results};

// A-012 A-079 A-082: a limit and a `quit` last over the turns of a path; a version begins with the life before it; a PUT
// begins a new one.
#[tokio::test]
async fn a_hook_lives_as_long_as_its_conversation() {
    let case = Case::new().await;
    let (thread, path) = begun(&case).await;
    let once = json!({ "builtin": "spawn_limit", "match": ["calculate"], "options": { "most": 1 } });
    let plan = json!({ "builtin": "planning_mode", "options": { "until": "calculate" } });
    case.client.put(&format!("{path}/once"), &once).await.expect(200).await;
    case.client.put(&format!("{path}/plan"), &plan).await.expect(200).await;
    let sum = || call("calculate", json!({ "expression": "1+1" }));
    let turn = async |script: &str, replaces: Option<&str>| {
        case.script(script, [sum(), text("Done.")]).await;
        let mut body = json!({ "content": case.said("Add", script), "thread_id": thread });
        if let Some(message) = replaces {
            body["replaces_message_id"] = json!(message);
        }
        case.chat_with(&body).await
    };
    let quits = async || {
        let list = case.client.read(&path).await;
        let hooks = list["hooks"].as_array().cloned().unwrap_or_default();
        hooks.iter().map(|hook| hook["has_quit"] == true).collect::<Vec<_>>()
    };
    let begun = turn("first", None).await;
    assert_eq!(results(&begun), ["2"]);
    assert_eq!(quits().await, [false, true], "planning has ended with the call");
    let used_up =
        "blocked by hook once: calculate has its limit here, 1, and it is used up: go on without it";
    assert_eq!(results(&turn("second", None).await), [used_up]);
    let version = turn("version", Some(first(&begun, "session").text("user_message_id"))).await;
    assert_eq!(results(&version), ["2"], "it begins before the first call");
    assert_eq!(results(&turn("third", None).await), [used_up]);
    case.client.put(&format!("{path}/once"), &once).await.expect(200).await;
    assert_eq!(results(&turn("fourth", None).await), ["2"], "a hook that is put again has a life of its own");
    case.client.put(&format!("{path}/plan"), &plan).await.expect(200).await;
    assert_eq!(quits().await, [false, false]);
}

// A-069 A-085: a person changes a file between two turns, and the model hears of it before its first call.
#[tokio::test]
async fn a_person_changes_a_file_between_turns() {
    let case = Case::new().await;
    let (thread, path) = begun(&case).await;
    case.client.put(&format!("{path}/files"), &json!({ "builtin": "file_changed" })).await.expect(200).await;
    let file = format!("/api/threads/{thread}/files/notes.md");
    case.client.send("PUT", &file, "one").await.expect(200).await;
    let turn = async |name: &str, steps: Vec<Step>| {
        case.script(name, steps).await;
        let body = json!({ "content": case.said("Go", name), "thread_id": thread });
        case.chat_with(&body).await
    };
    turn("read", vec![call("read_file", json!({ "path": "notes.md" })), text("Read.")]).await;
    let write = call("write_file", json!({ "path": "notes.md", "content": "two" }));
    turn("write", vec![write, text("Written.")]).await;
    let newest = case.client.get(&file).await.expect(200).await;
    let version = newest.header("etag").to_owned();
    assert_eq!(newest.text().await, "two", "the agent knows the file from the turn before");
    case.client.with("if-match", &version).send("PUT", &file, "three").await.expect(200).await;
    turn("told", vec![text("I see.")]).await;
    let requests = case.requests("told").await.requests;
    let told = requests[0].contents().pop();
    assert_eq!(
        told.as_deref(),
        Some(
            "<hook name=\"files\">\nThese files have changed since you saw them: notes.md. Read them again before you build \
             on them.\n</hook>"
        )
    );
}

// a hook that the main agent makes stays, a person sees it and ends it, and an earlier turn that is answered again
// begins without it.
#[tokio::test]
async fn a_person_ends_a_hook_that_the_main_agent_made() {
    let case = case().await;
    let (thread, path) = begun(&case).await;
    let turn = async |script: &str, steps: Vec<Step>, replaces: Option<&str>| {
        case.script(script, steps).await;
        let mut body = json!({ "content": case.said("Add", script), "thread_id": thread });
        if let Some(message) = replaces {
            body["replaces_message_id"] = json!(message);
        }
        case.chat_with(&body).await
    };
    let write = || call("memory_write", json!({ "key": "k", "value": "v" }));
    let few = json!({ "name": "few", "builtin": "spawn_limit", "match": ["memory_write"], "options": { "most": 1 } });
    turn("make", vec![call("hook", few), write(), text("Done.")], None).await;
    let used_up =
        ["blocked by hook few: memory_write has its limit here, 1, and it is used up: go on without it"];
    let blocked = turn("blocked", vec![write(), text("Then not.")], None).await;
    assert_eq!(results(&blocked), used_up);
    let own = async || {
        let list = case.client.read(&path).await;
        list["own"].as_array().into_iter().flatten().map(|hook| hook["name"].clone()).collect::<Vec<Value>>()
    };
    assert_eq!(own().await, ["few"]);
    let agents = case.client.read(&format!("/api/threads/{thread}/agents")).await;
    assert_eq!(agents["main"]["own_hooks"][0]["name"], "few");
    // A hook of the thread goes before one of its name that the agent made.
    let plan = json!({ "builtin": "planning_mode" });
    case.client.put(&format!("{path}/few"), &plan).await.expect(200).await;
    let delete = async || case.client.send("DELETE", &format!("{path}/few"), "").await;
    delete().await.expect(204).await;
    assert_eq!(own().await, ["few"]);
    // A turn that has no end yet would write the hook of its agent again.
    case.script("waits", [call("ui_paste", json!({})), text("Pasted.")]).await;
    let tool =
        json!([{ "name": "ui_paste", "description": "Pastes.", "input_schema": { "type": "object" } }]);
    let body = json!({ "content": case.said("Paste", "waits"), "thread_id": thread, "client_tools": tool });
    let mut waits = case.client.chat(&body).await;
    waits.until(|event| event.text("state") == "waiting_on_user").await;
    assert_problem(delete().await, 409, "turn_in_progress", None).await;
    case.client.cancel(&thread).await;
    case.turn(waits).await;
    assert_eq!(own().await, ["few"]);
    for _ in 0..2 {
        delete().await.expect(204).await;
        assert_eq!(own().await, Vec::<Value>::new());
    }
    let message = first(&blocked, "session").text("user_message_id").to_owned();
    let again = turn("again", vec![write(), text("Done.")], Some(&message)).await;
    assert!(!results(&again)[0].starts_with("blocked"), "{:?}", results(&again));
    assert_eq!(own().await, Vec::<Value>::new());
}

// A-012 A-075: "allow two, then block": a hook has its note from one turn to the next.
#[tokio::test]
async fn a_smart_hook_counts_by_its_note() {
    let case = Case::new().await;
    let (thread, path) = begun(&case).await;
    let hook =
        json!({ "on": "action", "match": ["calculate"], "instructions": "Allow two sums, then block." });
    case.client.put(&format!("{path}/two"), &hook).await.expect(200).await;
    let verdicts =
        [("allow", "", "one sum"), ("allow", "", "two sums"), ("block", "that were two", "two sums")];
    for (number, (decision, reason, note)) in verdicts.into_iter().enumerate() {
        let judge = format!("judge{number}");
        let verdict = json!({ "decision": decision, "text": reason, "note": note });
        case.script(&judge, [call("finish_subtask", verdict)]).await;
        let sum = call("calculate", json!({ "expression": "1+1", "why": case.said("", &judge) }));
        let script = format!("turn{number}");
        case.script(&script, [sum, text("Done.")]).await;
        let body = json!({ "content": case.said("Add", &script), "thread_id": thread });
        let events = case.chat_with(&body).await;
        let asked = case.requests(&judge).await.requests[0].body.to_string();
        let expected = number.checked_sub(1).map(|before| verdicts[before].2);
        assert_eq!(asked.contains("<your_note>"), expected.is_some(), "{asked}");
        assert!(expected.is_none_or(|note| asked.contains(note)), "{asked}");
        let is_blocked = results(&events)[0] == "blocked by hook two: that were two";
        assert_eq!(is_blocked, decision == "block", "{:?}", results(&events));
    }
}
