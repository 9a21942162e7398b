//! Turns that wait for somebody outside: a client that carries a tool out, a person who allows a call.
//!
//! N-022 N-107 N-108

use espalier_test_support::case::first;
use espalier_test_support::client::assert_problem;
use espalier_test_support::{
    Case, Client, Event, EventStream, Value, call, calls, cost_line, env, json, new_id, stored, story, text,
};

fn schema() -> Value {
    json!({ "type": "object", "properties": { "text": { "type": "string" } }, "required": ["text"] })
}

/// A request whose client has the tool `ui_paste`.
fn bringing(case: &Case) -> Value {
    let mut body = case.says("Paste it");
    body["client_tools"] =
        json!([{ "name": "ui_paste", "description": "Pastes text.", "input_schema": schema() }]);
    body
}

/// The same in the editor.
fn editing(case: &Case) -> Value {
    let mut body = bringing(case);
    body["chat_context"] = json!({ "kind": "editor" });
    body
}

/// A turn that waits for its client.
async fn waiting(case: &Case) -> (EventStream, String, String) {
    case.script("", [call("ui_paste", json!({ "text": "x" })), text("Pasted.")]).await;
    let mut stream = case.client.chat(&editing(case)).await;
    stream.until(|event| event.text("state") == "waiting_on_user").await;
    let seen = stream.seen();
    let thread = first(seen, "session").text("thread_id").to_owned();
    let call = first(seen, "tool_call_update").text("tool_call_id").to_owned();
    (stream, thread, call)
}

fn results(thread: &str) -> String {
    format!("/api/threads/{thread}/tool_results")
}

/// Sends an answer, and returns whether it was the first.
async fn answer(case: &Case, path: &str, body: &Value) -> Value {
    case.client.post(path, body).await.expect(200).await.json().await["taken"].clone()
}

const WAITING: [&str; 7] = [
    "session message:1 message:2 openai fake-1",
    "agent_state editor thinking",
    "model:1 start fake-1",
    "model:1 end tool_calls in=10 cached=0 out=5",
    "agent_state editor thinking executing_tool:ui_paste",
    r#"call:1 start ui_paste {"text":"x"} for the client"#,
    "agent_state editor waiting_on_user",
];

fn whole(end: &str) -> Vec<String> {
    let rest = [
        "agent_state editor thinking executing_tool:ui_paste",
        end,
        "agent_state editor thinking",
        "model:2 start fake-1",
        r#"part:1 "Pasted.""#,
        "model:2 end stop in=10 cached=0 out=5",
    ];
    let lines = WAITING.iter().chain(&rest).map(|line| (*line).to_owned());
    lines.chain([cost_line(2, 1, 0), "done message:2 stop".to_owned()]).collect()
}

#[tokio::test]
async fn a_clients_result_goes_on_with_the_turn() {
    let case = Case::new().await;
    let (stream, thread, call) = waiting(&case).await;
    assert_eq!(story(stream.seen()), WAITING);
    let turn = first(stream.seen(), "session").data["turn_id"].clone();
    assert_eq!(case.client.thread(&thread).await["running_turn_id"], turn, "a parked turn has no end yet");
    let body = json!({ "thread_id": thread, "content": case.said("Me too", "") });
    assert_problem(case.client.post("/api/chat", &body).await, 409, "turn_in_progress", None).await;

    let result = json!({ "tool_call_id": call, "result": { "pasted": 1 } });
    assert_eq!(answer(&case, &results(&thread), &result).await, true);
    // The stream of the POST stays open for a while, so the turn goes on in it.
    let events = case.turn(stream).await;
    assert_eq!(story(&events), whole(r#"call:1 end ui_paste "{\"pasted\":1}""#));
    let told = case.requests("").await.requests[1].contents();
    assert!(told.iter().any(|content| content == "{\"pasted\":1}"), "{told:?}");
    // After the end no call waits.
    assert_problem(case.client.post(&results(&thread), &result).await, 404, "not_waiting", None).await;
}

#[tokio::test]
async fn a_client_may_go_and_come_back_and_forged_answers_do_nothing() {
    let (case, other) = (Case::new().await, Case::new().await);
    let (stream, thread, call) = waiting(&case).await;
    let (seen, last) = (stream.seen().to_vec(), stream.seen().last().expect("events").seq);
    drop(stream);
    let result = json!({ "tool_call_id": call, "result": "done" });
    let forged = json!({ "tool_call_id": new_id(), "result": "done" });
    assert_problem(other.client.post(&results(&thread), &result).await, 404, "thread_not_found", None).await;
    assert_problem(case.client.post(&results(&thread), &forged).await, 404, "not_waiting", None).await;
    let approval = format!("/api/threads/{thread}/approvals/{call}");
    let yes = json!({ "decision": "approve" });
    assert_problem(case.client.post(&approval, &yes).await, 404, "not_waiting", None).await;
    let wrong = json!({ "tool_call_id": call });
    assert_problem(case.client.post(&results(&thread), &wrong).await, 400, "invalid_request", Some("result"))
        .await;

    assert!(case.client.stream(&thread, last).await.is_none(), "the turn waits");
    assert_eq!(answer(&case, &results(&thread), &result).await, true);
    let back = case.client.stream(&thread, last).await.expect("the turn goes on");
    let events: Vec<Event> = seen.into_iter().chain(back.rest().await).collect();
    assert_eq!(story(&events), whole(r#"call:1 end ui_paste "done""#));
}

#[tokio::test]
async fn a_parked_turn_has_no_open_stream_and_is_not_cancelled_with_it() {
    let case = Case::new().await;
    case.script("", [call("ui_paste", json!({ "text": "x" })), text("Pasted.")]).await;
    let mut body = editing(&case);
    body["cancel_on_disconnect"] = json!(true);
    let mut stream = EventStream::open(case.client.post("/api/chat", &body).await).await;
    while stream.next().await.is_some() {}
    assert!(stream.is_parked(), "it ends by itself and says why");
    assert_eq!(story(stream.seen()), WAITING);
    let seen = stream.seen().to_vec();
    let (session, last) = (first(&seen, "session"), seen.last().expect("events").seq);
    let thread = session.text("thread_id").to_owned();

    let path = format!("/api/threads/{thread}/stream");
    let head = case.client.get(&format!("{path}?after={last}")).await.expect(204).await;
    assert_eq!(head.header("retry-after"), "30");
    let rest = case.client.get(&format!("{path}?after={}", session.seq)).await;
    let mut rest = EventStream::open(rest).await;
    while rest.next().await.is_some() {}
    assert!(rest.is_parked());
    assert_eq!(rest.seen(), seen.get(1..).unwrap_or_default());
    assert_eq!(case.client.thread(&thread).await["running_turn_id"], session.data["turn_id"]);

    let result =
        json!({ "tool_call_id": first(&seen, "tool_call_update").text("tool_call_id"), "result": "done" });
    assert_eq!(answer(&case, &results(&thread), &result).await, true);
    let back = case.client.stream(&thread, last).await.expect("the turn goes on");
    let events: Vec<Event> = seen.into_iter().chain(back.rest().await).collect();
    assert_eq!(story(&events), whole(r#"call:1 end ui_paste "done""#));
    let idle = case.client.get(&format!("{path}?after={}", events.last().expect("done").seq)).await;
    assert_eq!(idle.expect(204).await.header("retry-after"), "", "there will be nothing more");
}

#[tokio::test]
async fn a_parked_turn_is_cancelled_superseded_and_deleted_like_any_other() {
    let case = Case::new().await;
    let (stream, thread, _) = waiting(&case).await;
    assert_ne!(case.client.cancel(&thread).await, Value::Null);
    assert_eq!(first(&case.turn(stream).await, "done").text("finish_reason"), "cancelled");

    let case = Case::new().await;
    let (stream, thread, _) = waiting(&case).await;
    case.script("next", [text("Here I am.")]).await;
    let body = json!({ "thread_id": thread, "request_seq": 1, "content": case.said("Next", "next") });
    let next = case.chat_with(&body).await;
    assert_eq!(first(&next, "done").text("finish_reason"), "stop");
    assert_eq!(first(&case.turn(stream).await, "error").text("code"), "superseded");

    let case = Case::new().await;
    let (stream, thread, _) = waiting(&case).await;
    case.client.delete(&thread).await;
    assert_eq!(first(&stream.rest().await, "done").text("finish_reason"), "cancelled");
}

// N-107 N-108
#[tokio::test]
async fn only_the_editor_has_client_tools() {
    let case = Case::new().await;
    case.script("", [text("Hello.")]).await;
    let mut body = editing(&case);
    body["chat_context"] = json!({ "kind": "thread" });
    case.chat_with(&body).await;
    assert!(!case.requests("").await.requests[0].body.to_string().contains("ui_paste"));
}

#[tokio::test]
async fn a_manifest_is_bounded() {
    let case = Case::new().await;
    let tool = editing(&case)["client_tools"][0].clone();
    let with = |member: &str, value: Value| {
        let mut changed = tool.clone();
        changed[member] = value;
        json!([changed])
    };
    let many: Vec<Value> = (0..129).map(|n| with("name", json!(format!("ui_{n}")))[0].clone()).collect();
    for (tools, field) in [
        (with("name", json!("paste")), "client_tools[0].name"),
        (with("name", json!("ui_")), "client_tools[0].name"),
        (with("name", json!(format!("ui_{}", "x".repeat(62)))), "client_tools[0].name"),
        (with("description", json!(" ")), "client_tools[0].description"),
        (with("input_schema", json!({ "type": "string" })), "client_tools[0].input_schema"),
        (with("input_schema", json!("string")), "client_tools[0].input_schema"),
        (json!([tool, tool]), "client_tools[1].name"),
        (json!(many), "client_tools"),
    ] {
        let mut body = editing(&case);
        body["client_tools"] = tools;
        assert_problem(case.client.post("/api/chat", &body).await, 400, "invalid_request", Some(field)).await;
    }
}

/// A turn of the editor whose client also has `ui_erase`, for which the main instance asks a person.
fn erasing(case: &Case, path: &str) -> Value {
    let mut body = editing(case);
    let mut tool = body["client_tools"][0].clone();
    tool["name"] = json!("ui_erase");
    body["client_tools"] = json!([tool]);
    body["content"] = json!(case.said("Erase it", path));
    body
}

/// Carries out each call that the turn leaves to its client, to the turn's end.
async fn serve(case: &Case, mut stream: EventStream, thread: &str) -> Vec<Event> {
    while let Some(event) = stream.next().await {
        if event.text("awaits") == "client" {
            let result = json!({ "tool_call_id": event.text("tool_call_id"), "result": "erased" });
            assert_eq!(answer(case, &results(thread), &result).await, true);
        }
    }
    case.turn(stream).await
}

#[tokio::test]
async fn a_person_is_asked_at_any_depth_and_once_for_good() {
    let case = Case::new().await;
    let erase = || call("ui_erase", json!({ "text": "x" }));
    case.script("root", [calls([case.subtask("Erase", "a")]), text("Done.")]).await;
    case.script("a", [erase(), erase(), text("Erased.")]).await;
    let mut stream = case.client.chat(&erasing(&case, "root")).await;
    let request = stream.until(|event| event.kind == "approval_request").await;
    assert_eq!((request.text("name"), request.text("permission_class")), ("ui_erase", "editor_mutate"));
    assert_eq!((&request.data["depth"], &request.data["args"]), (&json!(1), &json!({ "text": "x" })));
    stream.until(|event| event.text("state") == "waiting_on_user").await;
    let thread = first(stream.seen(), "session").text("thread_id").to_owned();
    let path = format!("/api/threads/{thread}/approvals/{}", request.text("approval_id"));
    let never = json!({ "decision": "expired" });
    assert_problem(case.client.post(&path, &never).await, 400, "invalid_request", Some("decision")).await;
    let early = json!({ "tool_call_id": request.text("tool_call_id"), "result": "erased" });
    assert_problem(case.client.post(&results(&thread), &early).await, 404, "not_waiting", None).await;
    let good = json!({ "decision": "approve_for_thread" });
    assert_eq!(answer(&case, &path, &good).await, true);
    assert_eq!(answer(&case, &path, &json!({ "decision": "deny" })).await, false, "the first answer wins");
    let events = serve(&case, stream, &thread).await;
    let asked = |events: &[Event]| events.iter().filter(|event| event.kind == "approval_request").count();
    assert_eq!(
        (asked(&events), first(&events, "approval_resolved").text("decision")),
        (1, "approve_for_thread")
    );
    assert_eq!(first(&events, "done").text("finish_reason"), "stop");

    // The thread's next turn does not ask.
    case.script("next", [erase(), text("Again.")]).await;
    let mut body = erasing(&case, "next");
    body["thread_id"] = json!(thread);
    assert_eq!(asked(&serve(&case, case.client.chat(&body).await, &thread).await), 0);

    // The thread lists a lasting approval and takes it back: then it asks again.
    let approvals = format!("/api/threads/{thread}/approvals");
    assert_eq!(case.client.read(&approvals).await, json!({ "approvals": [{ "name": "ui_erase" }] }));
    for _ in 0..2 {
        case.client.send("DELETE", &format!("{approvals}/ui_erase"), "").await.expect(204).await;
        assert_eq!(case.client.read(&approvals).await, json!({ "approvals": [] }));
    }
    case.script("again", [erase(), text("And again.")]).await;
    let mut body = erasing(&case, "again");
    body["thread_id"] = json!(thread);
    let mut stream = case.client.chat(&body).await;
    let request = stream.until(|event| event.kind == "approval_request").await;
    let path = format!("{approvals}/{}", request.text("approval_id"));
    assert_eq!(answer(&case, &path, &json!({ "decision": "approve" })).await, true);
    serve(&case, stream, &thread).await;
    assert_eq!(case.client.read(&approvals).await, json!({ "approvals": [] }), "once is not for good");
}

#[tokio::test]
async fn a_call_that_a_person_denies_ends_with_an_error() {
    let case = Case::new().await;
    let erase = call("ui_erase", json!({ "text": "x" }));
    case.script("no", [erase, text("Then not.")]).await;
    let mut stream = case.client.chat(&erasing(&case, "no")).await;
    let request = stream.until(|event| event.kind == "approval_request").await;
    let thread = first(stream.seen(), "session").text("thread_id").to_owned();
    let path = format!("/api/threads/{thread}/approvals/{}", request.text("approval_id"));
    assert_eq!(answer(&case, &path, &json!({ "decision": "deny" })).await, true);
    let events = case.turn(stream).await;
    let end = events.iter().find(|event| event.is("tool_call_update", &[("status", "end")])).expect("an end");
    assert!(end.data["is_error"] == true && end.text("result").contains("did not allow"), "{}", end.data);
}

// Issue 53, fault 3: the model is told why, and nothing else takes a reason.
#[tokio::test]
async fn a_person_says_why_they_deny_a_call() {
    let case = Case::new().await;
    case.script("why", [call("ui_erase", json!({ "text": "x" })), text("The other one, then.")]).await;
    let mut stream = case.client.chat(&erasing(&case, "why")).await;
    let request = stream.until(|event| event.kind == "approval_request").await;
    let thread = first(stream.seen(), "session").text("thread_id").to_owned();
    let path = format!("/api/threads/{thread}/approvals/{}", request.text("approval_id"));
    for body in [
        json!({ "decision": "approve", "reason": "Yes, go on." }),
        json!({ "decision": "deny", "reason": "x".repeat(2_001) }),
    ] {
        assert_problem(case.client.post(&path, &body).await, 400, "invalid_request", Some("reason")).await;
    }
    let why = json!({ "decision": "deny", "reason": "Erase the other line." });
    assert_eq!(answer(&case, &path, &why).await, true);
    let events = case.turn(stream).await;
    let end = events.iter().find(|event| event.is("tool_call_update", &[("status", "end")])).expect("an end");
    let told = "<reason_of_the_user>\nErase the other line.\n</reason_of_the_user>";
    assert!(
        end.text("result").contains("did not allow") && end.text("result").ends_with(told),
        "{}",
        end.data
    );
    assert_eq!(end.text("decision"), "deny");
}

// Issue 53, fault 10: lists say that a turn waits, that it goes on, and no more than that once it is over.
#[tokio::test]
async fn lists_say_what_a_thread_does() {
    let case = Case::new().await;
    let (stream, thread, call_id) = waiting(&case).await;
    let state = async || {
        let list = case.client.read("/api/threads").await;
        let threads = list["threads"].as_array().expect("threads").clone();
        threads.into_iter().find(|entry| entry["id"] == thread.as_str()).map(|entry| entry["state"].clone())
    };
    stored::eventually("the list says that it waits", || async {
        (state().await == Some(json!("waiting"))).then_some(())
    })
    .await;
    assert_eq!(case.client.thread(&thread).await["state"], "waiting");
    let result = json!({ "tool_call_id": call_id, "result": "pasted" });
    assert_eq!(answer(&case, &results(&thread), &result).await, true);
    case.turn(stream).await;
    stored::eventually("the list says nothing more", || async {
        (state().await == Some(Value::Null)).then_some(())
    })
    .await;
    assert_eq!(case.client.thread(&thread).await["state"], Value::Null);
}

// Issue 22: outside the editor the operator says over which wires a client may bring tools (`CLIENT_TOOLS`).
#[tokio::test]
async fn the_operator_says_which_clients_bring_tools() {
    for (url, own, foreign) in
        [("ESPALIER_URL", false, true), ("ESPALIER_MCP_URL", true, true), ("ESPALIER_AI_URL", false, false)]
    {
        let case = Case::of(Client::anonymous_at(&env(url)).await);
        case.script("", [text("Hi."), text("Hi."), text("Hi.")]).await;
        case.chat_with(&bringing(&case)).await;
        let function = json!({ "name": "paste", "description": "Pastes text.", "parameters": schema() });
        let body = json!({
            "model": "espalier",
            "messages": [{ "role": "user", "content": case.said("Paste it", "") }],
            "tools": [{ "type": "function", "function": function }],
        });
        case.client.post("/v1/chat/completions", &body).await.expect(200).await;
        case.chat_with(&editing(&case)).await;
        let requests = case.requests("").await.requests;
        let offered: Vec<bool> =
            requests.iter().map(|request| request.tools().contains(&"ui_paste")).collect();
        assert_eq!(offered, [own, foreign, true], "{url}");
    }
}
