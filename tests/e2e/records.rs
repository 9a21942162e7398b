//! The records of turns: each shape of turn is recorded, read and replayed.
//!
//! Issue 20, 1. A-099
//!
//! `ESPALIER_WRITE_RECORDS=1` writes the thirteen records anew that the tests of `espalier-replay` replay.

mod kept;

use std::fs;
use std::path::Path;

use espalier_replay::{Record, Replayed, replay};
use espalier_test_support::canary::{found, secrets};
use espalier_test_support::case::first;
use espalier_test_support::{
    Case, Client, Event, Value, call, calls, env, json, new_id, status, stored, text,
};

fn session<'a>(events: &'a [Event], member: &str) -> &'a str {
    first(events, "session").text(member)
}

fn path(events: &[Event]) -> String {
    format!("/api/threads/{}/turns/{}/record", session(events, "thread_id"), session(events, "turn_id"))
}

/// The list of a thread's records, once R2 has the newest of these turns.
async fn listed(client: &Client, events: &[Event]) -> Vec<Value> {
    let path = format!("/api/threads/{}/records", session(events, "thread_id"));
    let turn = session(events, "turn_id");
    stored::eventually("the record is in R2", || async {
        let records = client.read(&path).await["records"].as_array().cloned().unwrap_or_default();
        records.first().is_some_and(|newest| newest["turn_id"] == turn).then_some(records)
    })
    .await
}

/// Reads the record of a turn twice, from the object or from R2, and replays it. Writes it under this name where that is
/// asked for.
async fn recorded(case: &Case, name: &str, events: &[Event]) -> (Record, Replayed) {
    let reply = case.client.get(&path(events)).await.expect(200).await;
    assert_eq!(reply.header("content-type"), "application/x-ndjson");
    let text = reply.text().await;
    listed(&case.client, events).await;
    let stored = case.client.get(&path(events)).await.expect(200).await.text().await;
    assert_eq!(text, stored, "{name}: the object and R2 have the same record");
    assert_eq!(found(text.as_bytes(), &secrets(&env("ESPALIER_ADMIN_KEY"))), Vec::<&str>::new(), "{name}");

    let (record, replayed) = read(name, &text, events);
    if std::env::var_os("ESPALIER_WRITE_RECORDS").is_some() {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/records/{name}.jsonl"));
        fs::write(file, &text).expect("the record is written");
    }
    (record, replayed)
}

/// Reads and replays the record of a turn.
fn read(name: &str, text: &str, events: &[Event]) -> (Record, Replayed) {
    let record = Record::read(text).unwrap_or_else(|why| panic!("{name}: {why}"));
    assert_eq!(record.header.turn_id, session(events, "turn_id"), "{name}");
    assert_eq!(record.header.thread_id, session(events, "thread_id"), "{name}");
    assert!(record.header.limits.is_some() && record.header.is_whole(), "{name}");
    let replayed = replay(&record).unwrap_or_else(|why| panic!("{name}: {why}"));
    if let Some(difference) = &replayed.difference {
        panic!("{name}: {difference}");
    }
    (record, replayed)
}

/// The same, for a turn whose requests all reached the fake LLM: the replay has rebuilt each of them.
async fn rebuilt(case: &Case, name: &str, events: &[Event]) {
    let (_, replayed) = recorded(case, name, events).await;
    let last = |texts: Vec<String>| texts.last().cloned().unwrap_or_default();
    let mut sent: Vec<_> = case.all_requests().await.requests;
    sent.retain(|request| session(events, "turn_id").is_empty() || !request.body.is_null());
    let mut sent: Vec<(usize, String)> =
        sent.iter().map(|request| (request.contents().len(), last(request.contents()))).collect();
    let mut again: Vec<(usize, String)> = replayed
        .requests
        .iter()
        .map(|request| {
            let message =
                request.messages.last().map(|message| serde_json::to_value(&**message).expect("JSON"));
            let message = message.unwrap_or_default();
            let content = ["user", "tool", "assistant"].iter().map(|role| &message[*role]["content"]);
            let content = content.filter_map(Value::as_str).next().unwrap_or_default().to_owned();
            // The system prompt is a message of its own on this wire.
            (request.messages.len() + 1, content)
        })
        .collect();
    sent.sort();
    again.sort();
    assert_eq!(again, sent, "{name}");
}

#[tokio::test]
async fn a_direct_answer_is_recorded() {
    let case = Case::new().await;
    case.script("", [text("4")]).await;
    let events = case.chat("What is 2+2?").await;
    rebuilt(&case, "direct", &events).await;
}

#[tokio::test]
async fn tools_are_recorded() {
    let case = Case::new().await;
    let three = [
        ("calculate", json!({ "expression": "6*7" })),
        ("calculate", json!({ "expression": "1/0" })),
        ("memory_write", json!({ "key": "sum", "value": 42 })),
    ];
    case.script("", [calls(three).saying("Let me see. "), call("current_time", json!({})), text("42.")])
        .await;
    let events = case.chat("What is 6*7?").await;
    rebuilt(&case, "tools", &events).await;
}

#[tokio::test]
async fn subtasks_are_recorded() {
    let case = Case::new().await;
    case.script("", [calls([case.subtask("One", "a"), case.subtask("Two", "b")]), text("Both.")]).await;
    case.script("a", [calls([case.subtask("Below", "a/c")]), text("One is done.")]).await;
    case.script("a/c", [call("calculate", json!({ "expression": "2+2" })), text("Four.")]).await;
    case.script("b", [call("memory_write", json!({ "key": "b", "value": 1 })), text("Two is done.")]).await;
    let events = case.chat("Divide it").await;
    rebuilt(&case, "subtasks", &events).await;
}

#[tokio::test]
async fn a_plan_is_recorded() {
    let case = Case::new().await;
    let makes = (
        "agent_create_plan",
        json!({ "objective": case.said("Do it", "plan"), "execution_mode": "auto_execute" }),
    );
    case.script("", [calls([makes]), text("All done.")]).await;
    let step = |id: &str, needs: &[&str]| json!({ "id": id, "title": id, "instructions": case.said(id, id), "depends_on": needs });
    let steps =
        json!({ "reasoning": "Because.", "steps": [step("x", &[]), step("y", &[]), step("z", &["x", "y"])] });
    case.script("plan", [call("finish_subtask", steps)]).await;
    case.script("x", [call("list_projects", json!({})), text("one")]).await;
    case.script("y", [text("two")]).await;
    case.script("z", [text("three")]).await;
    let mut body = case.says("Please");
    body["chat_context"] = json!({ "context_type": "general" });
    let events = case.chat_with(&body).await;
    recorded(&case, "plan", &events).await;
}

#[tokio::test]
async fn answers_of_people_and_clients_are_recorded() {
    let case = Case::new().await;
    case.script("", [call("ui_erase", json!({})), call("ui_paste", json!({})), text("Done.")]).await;
    let tool =
        |name: &str| json!({ "name": name, "description": "Does it.", "input_schema": { "type": "object" } });
    let mut body = case.says("Erase and paste");
    body["chat_context"] = json!({ "kind": "editor" });
    body["client_tools"] = json!([tool("ui_erase"), tool("ui_paste")]);
    let mut stream = case.client.chat(&body).await;
    let request = stream.until(|event| event.kind == "approval_request").await;
    let approval = request.text("approval_id").to_owned();
    let erased = request.text("tool_call_id").to_owned();
    let thread = first(stream.seen(), "session").text("thread_id").to_owned();
    let answer = async |path: String, body: Value| {
        case.client.post(&format!("/api/threads/{thread}/{path}"), &body).await.expect(200).await;
    };
    answer(format!("approvals/{approval}"), json!({ "decision": "approve" })).await;
    let waits =
        |event: &Event, other: &str| event.text("awaits") == "client" && event.text("tool_call_id") != other;
    let call = stream.until(|event| waits(event, "")).await.text("tool_call_id").to_owned();
    assert_eq!(call, erased);
    answer("tool_results".to_owned(), json!({ "tool_call_id": call, "result": "erased" })).await;
    let call = stream.until(|event| waits(event, &erased)).await.text("tool_call_id").to_owned();
    answer("tool_results".to_owned(), json!({ "tool_call_id": call, "result": { "pasted": 1 } })).await;
    let events = case.turn(stream).await;
    rebuilt(&case, "answers", &events).await;
}

#[tokio::test]
async fn a_failed_turn_is_recorded() {
    let case = Case::new().await;
    case.script("", [call("calculate", json!({ "expression": "2+2" })), status(400)]).await;
    let stream = case.client.chat(&case.says("Fail")).await;
    let events = stream.turn().await;
    assert_eq!(first(&events, "done").text("finish_reason"), "error");
    recorded(&case, "failed", &events).await;
}

#[tokio::test]
async fn a_request_that_another_model_answers_is_recorded() {
    let case = Case::new().await;
    case.script("", [text("Here I am.").refusing(503, 2)]).await;
    let stream = case.client.chat(&case.says("Fall back")).await;
    let events = stream.turn().await;
    assert_eq!(first(&events, "done").text("finish_reason"), "stop");
    recorded(&case, "retried", &events).await;
}

#[tokio::test]
async fn a_stopped_turn_is_recorded() {
    let case = Case::new().await;
    case.script("", [calls([case.subtask("One", "a"), case.subtask("Two", "b")])]).await;
    case.script("a", [call("calculate", json!({ "expression": "2+2" })), text("so far").hanging()]).await;
    case.script("b", [text("Two is done.")]).await;
    let mut stream = case.client.chat(&case.says("Wait for me")).await;
    stream.until(|event| event.text("content") == "so far").await;
    case.client.cancel(first(stream.seen(), "session").text("thread_id")).await;
    let events = case.turn(stream).await;
    let (record, _) = recorded(&case, "stopped", &events).await;
    assert_eq!(record.end.and_then(|end| end.stop).map(|stop| stop.code), Some("cancelled".to_owned()));
}

#[tokio::test]
async fn a_turn_at_its_limit_and_the_one_that_continues_it_are_recorded() {
    let case = Case::new().await;
    let steps = std::iter::repeat_n(call("current_time", json!({})), 20);
    case.script("", steps.chain([text("[the service writes this]"), text("Now I know.")])).await;
    let events = case.chat("Loop").await;
    assert_eq!(first(&events, "error").text("code"), "iteration_limit");
    recorded(&case, "limited", &events).await;
    let body = json!({ "thread_id": session(&events, "thread_id"), "continue": session(&events, "turn_id") });
    let next = case.chat_with(&body).await;
    let (record, replayed) = recorded(&case, "continued", &next).await;
    let earlier = &record.history.turns;
    assert_eq!(
        (earlier.len(), earlier[0].messages.len()),
        (1, 42),
        "the conversation before the turn is in it"
    );
    assert_eq!(earlier[0].id.turn_id, session(&events, "turn_id"));
    assert_eq!(replayed.requests[0].messages.len(), 43);
    let list = listed(&case.client, &next).await;
    let turns: Vec<&str> = list.iter().filter_map(|record| record["turn_id"].as_str()).collect();
    assert_eq!(turns, [session(&next, "turn_id"), session(&events, "turn_id")], "newest first");
    assert!(list.iter().all(|record| record["bytes"].as_u64() > Some(1_000)), "{list:?}");
}

#[tokio::test]
async fn a_turn_that_asked_at_its_limit_is_recorded() {
    let case = Case::new().await;
    // This context asks before its fifth call (`variables.rs`).
    let five = std::iter::repeat_n(call("current_time", json!({})), 5);
    case.script("", five.chain([text("Now I know.")])).await;
    let mut body = case.says("Loop");
    body["chat_context"] = json!({ "context_type": "project_audit" });
    let mut stream = case.client.chat(&body).await;
    let request = stream.until(|event| event.kind == "limit_request").await;
    let thread = session(stream.seen(), "thread_id");
    let path = format!("/api/threads/{thread}/approvals/{}", request.text("approval_id"));
    case.client.post(&path, &json!({ "decision": "approve" })).await.expect(200).await;
    let events = case.turn(stream).await;
    assert_eq!(first(&events, "done").text("finish_reason"), "stop");
    rebuilt(&case, "asked", &events).await;
}

#[tokio::test]
async fn a_turn_that_made_a_summary_is_recorded() {
    let case = Case::new().await;
    // Some messages of this length fill a request of this context (`variables.rs`).
    let thread = new_id();
    for number in 1..10 {
        let (path, long) = (format!("t{number}"), "and so on ".repeat(2_000));
        case.script(&path, [text(&format!("answer {number}"))]).await;
        let content = format!("Go on. {} {long}", case.said("", &path));
        let context = json!({ "context_type": "project_audit" });
        let body = json!({ "thread_id": thread, "content": content, "chat_context": context });
        let events = case.chat_with(&body).await;
        if events.iter().any(|event| event.kind == "history_summary") {
            let (record, replayed) = recorded(&case, "summarised", &events).await;
            assert_eq!(record.history.turns.len(), number - 1);
            assert_eq!(replayed.model_calls, 2);
            let shorter = replayed.requests[1].messages.len();
            assert!(shorter < 2 * number, "the summary stands for the oldest turns: {shorter} messages");
            return;
        }
    }
    panic!("nine turns of 5 000 tokens fit into 24 000 tokens");
}

// Both versions of a turn have a record, and each has the conversation of its own path.
#[tokio::test]
async fn a_version_and_the_turn_beside_it_are_recorded() {
    let case = Case::new().await;
    case.script("", ["One.", "Two.", "Two again."].map(text)).await;
    let one = case.chat("First").await;
    let mut body = case.says("Second");
    body["thread_id"] = json!(session(&one, "thread_id"));
    let two = case.chat_with(&body).await;
    body["replaces_message_id"] = json!(session(&two, "user_message_id"));
    let beside = case.chat_with(&body).await;
    for events in [&two, &beside] {
        let text = case.client.get(&path(events)).await.expect(200).await.text().await;
        let (record, _) = read("a version", &text, events);
        let earlier: Vec<&str> = record.history.turns.iter().map(|past| past.id.turn_id.as_str()).collect();
        assert_eq!(earlier, [session(&one, "turn_id")]);
    }
    assert_eq!(listed(&case.client, &beside).await.len(), 3);
}

// Issue 20, section 3: the verdicts of hooks are in the record, so a replay asks nobody.
#[tokio::test]
async fn a_turn_with_hooks_is_recorded() {
    let case = Case::new().await;
    case.script("before", [text("Yes?")]).await;
    let before = case.chat_with(&json!({ "content": case.said("Hello", "before") })).await;
    let thread = session(&before, "thread_id").to_owned();
    let hooks = [
        (
            "sums",
            json!({ "on": "action", "match": ["calculate"], "instructions": "No sums.", "reads": ["spent"] }),
        ),
        (
            "reader",
            json!({ "on": "result", "match": ["memory_write"], "instructions": "Say what is missing." }),
        ),
        ("loops", json!({ "builtin": "loop_guard", "match": ["current_time"], "options": { "times": 2 } })),
    ];
    for (name, hook) in hooks {
        case.client.put(&format!("/api/threads/{thread}/hooks/{name}"), &hook).await.expect(200).await;
    }
    let verdict =
        |decision: &str, words: &str| call("finish_subtask", json!({ "decision": decision, "text": words }));
    let note = call("memory_write", json!({ "key": "spent", "value": case.said("", "reads") }));
    let sum = ("calculate", json!({ "expression": format!("1+1 # {}", case.said("", "judge")) }));
    let now = || ("current_time", json!({}));
    case.script("", [note, calls([sum, now()]), calls([now()]), text("Enough.")]).await;
    case.script("reads", [verdict("comment", "The date is missing.")]).await;
    case.script("judge", [verdict("block", "no sums here")]).await;
    let mut body = case.says("Count.");
    body["thread_id"] = json!(thread);
    let events = case.chat_with(&body).await;
    let said = events.iter().filter(|event| event.is("hook_update", &[("status", "end")]));
    let said: Vec<(&str, &str)> = said.map(|end| (end.text("hook"), end.text("decision"))).collect();
    assert_eq!(said, [("reader", "comment"), ("sums", "block"), ("loops", "block")]);
    let (_, replayed) = recorded(&case, "hooked", &events).await;
    assert_eq!(replayed.model_calls, 6);
}
