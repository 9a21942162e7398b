//! The AI SDK's own client against its routes (`tests/clients/ai_sdk.mjs`).
//!
//! Issue 22, 1

mod imports;

use espalier_test_support::client::assert_problem;
use espalier_test_support::{Case, Client, Step, Value, call, calls, deltas, env, json, status, text};

use crate::clients::report;

/// Runs a case of the client, and gives its report.
async fn client(name: &str, mut given: Value, barrier: &str) -> Value {
    given["case"] = json!(name);
    let variables = [("CLIENT_CASE", &*given.to_string()), ("CLIENT_BARRIER", barrier)];
    report("node", "ai_sdk.mjs", &variables).await
}

/// A turn whose model plays these steps.
async fn says(case: &Case, body: Value, steps: impl IntoIterator<Item = Step>) -> Value {
    case.script("", steps).await;
    let given = json!({ "content": case.said("Hello", ""), "body": body });
    client("says", given, "").await
}

/// The parts of the last message, of a type.
fn parts<'a>(messages: &'a Value, kind: &str) -> Vec<&'a Value> {
    let last = messages.as_array().and_then(|messages| messages.last()).expect("a message");
    last["parts"].as_array().expect("parts").iter().filter(|part| part["type"] == kind).collect()
}

fn texts(messages: &Value) -> Vec<&str> {
    parts(messages, "text").into_iter().filter_map(|part| part["text"].as_str()).collect()
}

fn metadata<'a>(report: &'a Value, member: &str) -> &'a Value {
    let last = report["messages"].as_array().and_then(|messages| messages.last()).expect("a message");
    &last["metadata"][member]
}

fn finish(report: &Value) -> &Value {
    let finishes = report["told"]["finishes"].as_array().expect("finishes");
    &finishes.last().expect("a finish")["finishReason"]
}

/// The client's user at our own routes.
fn user(report: &Value) -> Client {
    Client::nobody_at(&env("ESPALIER_URL")).with("cookie", report["cookie"].as_str().expect("a cookie"))
}

#[tokio::test]
async fn text_reasoning_and_tools_are_a_message() {
    let case = Case::new().await;
    let mut thinks = deltas(["It is ", "42."]);
    thinks.reasoning = vec!["Six times seven.".to_owned()];
    let reckons = call("calculate", json!({ "expression": "6*7" }));
    let fails = call("calculate", json!({ "expression": "6*" }));
    let report = says(&case, json!({}), [reckons, fails, thinks]).await;
    assert_eq!((&report["status"], &report["error"]), (&json!("ready"), &Value::Null));
    assert_eq!(finish(&report), "stop");
    let messages = &report["messages"];
    assert_eq!(texts(messages), ["It is 42."]);
    assert_eq!(parts(messages, "reasoning")[0]["text"], "Six times seven.");
    let tools = parts(messages, "tool-calculate");
    assert_eq!(
        (&tools[0]["state"], &tools[0]["input"]),
        (&json!("output-available"), &json!({ "expression": "6*7" }))
    );
    assert!(tools[0]["output"].as_str().is_some_and(|output| output.contains("42")), "{}", tools[0]);
    assert_eq!((&tools[1]["state"], &tools[1]["providerExecuted"]), (&json!("output-error"), &json!(true)));
    assert_eq!(parts(messages, "step-start").len(), 3);
    assert_eq!(parts(messages, "data-cost")[0]["data"]["llm_calls"], 3);
    assert_eq!(parts(messages, "data-budget")[0]["data"]["limits"]["tool_calls"], 200);
    assert_eq!(metadata(&report, "usage")["tool_calls"], 2);
    assert!(
        report["told"]["data"]
            .as_array()
            .expect("data")
            .iter()
            .any(|data| data["type"] == "data-agent-state")
    );

    // The thread at our own routes, by the ids in the metadata.
    let thread = metadata(&report, "threadId").as_str().expect("a thread").to_owned();
    let stored = user(&report).messages(&thread).await;
    assert_eq!((stored.len(), &stored[1]["content"]), (2, &json!("It is 42.")));
    assert_eq!(stored[1]["id"], messages[1]["id"]);
}

#[tokio::test]
async fn a_nested_subtask_is_the_output_of_its_call() {
    let case = Case::new().await;
    case.script("a", [calls([case.subtask("Deeper", "a/b")]), text("a is done.")]).await;
    case.script("a/b", [call("current_time", json!({})), text("b is done.")]).await;
    let report = says(&case, json!({}), [calls([case.subtask("Deep", "a")]), text("All is done.")]).await;
    let messages = &report["messages"];
    assert_eq!(texts(messages), ["All is done."], "no level below is text of the root");
    let subtasks = parts(messages, "tool-run_subtask");
    assert_eq!(subtasks.len(), 1);
    assert_eq!(subtasks[0]["output"]["text"], "a is done.");
    let inside = subtasks[0]["output"]["calls"].as_array().expect("calls");
    let inside: Vec<_> =
        inside.iter().map(|call| json!([call["name"], call["depth"], call["state"]])).collect();
    assert_eq!(inside, [json!(["run_subtask", 1, "done"]), json!(["current_time", 2, "done"])]);
    assert!(report["told"]["preliminary"].as_u64() > Some(0), "{}", report["told"]);
}

/// A tool of the client that a person must allow first, and one that runs at once.
fn tools() -> Value {
    let tool =
        |name: &str| json!({ "name": name, "description": "Does it.", "inputSchema": { "type": "object" } });
    json!({ "tools": [tool("erase"), tool("getWeather")] })
}

#[tokio::test]
async fn a_clients_tool_runs_in_the_client() {
    let case = Case::new().await;
    let weather = call("ui_get_weather", json!({ "city": "Oslo" }));
    case.script("", [weather, text("It rains.")]).await;
    let given =
        json!({ "content": case.said("The weather", ""), "body": tools(), "output": { "rain": true } });
    let report = client("says", given, "").await;
    let messages = &report["messages"];
    assert_eq!((texts(messages), finish(&report)), (vec!["It rains."], &json!("stop")));
    assert_eq!(messages.as_array().map(Vec::len), Some(2), "the answer goes on in its message");
    let weather = parts(messages, "tool-getWeather");
    assert_eq!((weather.len(), &weather[0]["output"]), (1, &json!({ "rain": true })));
    let told = case.requests("").await.requests[1].contents();
    assert!(told.iter().any(|content| content == r#"{"rain":true}"#), "{told:?}");
}

#[tokio::test]
async fn a_call_in_a_subtask_waits_for_a_person() {
    for (approved, state, end) in
        [(true, "output-available", "Erased."), (false, "output-denied", "Then not.")]
    {
        let case = Case::new().await;
        case.script("", [calls([case.subtask("Erase", "a")]), text(end)]).await;
        case.script("a", [call("ui_erase", json!({ "path": "x" })), text("a is done.")]).await;
        let given = json!({
            "content": case.said("Erase it", ""), "body": tools(), "approved": approved, "output": "gone",
        });
        let report = client("asks", given, "").await;
        let asked = parts(&report["parked"], "tool-erase");
        assert_eq!((asked.len(), &asked[0]["state"]), (1, &json!("approval-requested")));
        assert_eq!(
            (&asked[0]["input"], &asked[0]["toolMetadata"]["depth"]),
            (&json!({ "path": "x" }), &json!(1))
        );
        let messages = &report["messages"];
        assert_eq!((texts(messages), finish(&report)), (vec![end], &json!("stop")), "{messages:#}");
        assert_eq!(parts(messages, "tool-erase")[0]["state"], state);
        assert_eq!(parts(messages, "tool-run_subtask")[0]["output"]["text"], "a is done.");
        assert_eq!(messages.as_array().map(Vec::len), Some(2));
    }
}

#[tokio::test]
async fn a_limit_is_a_question_and_then_data() {
    for (approved, state, end) in [(true, "output-available", "stop"), (false, "output-denied", "other")] {
        let case = Case::new().await;
        let times = |count: usize| calls(vec![("current_time", json!({})); count]);
        case.script("", [times(4), times(1), text("Counted.")]).await;
        let body = json!({ "chat_context": { "context_type": "project_audit" } });
        let given = json!({ "content": case.said("Count", ""), "body": body, "approved": approved });
        let report = client("asks", given, "").await;
        let messages = &report["messages"];
        assert_eq!(finish(&report), end, "{report:#}");
        assert_eq!(report["status"], "ready");
        let question = parts(messages, "tool-raise_limit");
        assert_eq!(
            (&question[0]["state"], &question[0]["input"]["reason"]),
            (&json!(state), &json!("tool_calls"))
        );
        let budget = &parts(messages, "data-budget")[0]["data"];
        let exceeded = if approved { Value::Null } else { json!("tool_calls") };
        assert_eq!(budget["exceeded"]["reason"], exceeded);
        assert_eq!(budget["limits"]["tool_calls"], if approved { 8 } else { 4 });
    }
}

// A client answers by itself once its last step is complete. It would do so for ever if a question were no part of it, and
// after the end of a turn that went no further.
#[tokio::test]
async fn a_client_whose_tool_has_run_waits_for_the_person_and_answers_no_turn_that_has_ended() {
    for (approved, state, end) in [(true, "output-available", "stop"), (false, "output-denied", "other")] {
        let case = Case::new().await;
        let times = calls(vec![("current_time", json!({})); 3]);
        case.script("", [calls([case.subtask("Look", "a")]), text("It rains.")]).await;
        case.script("a", [call("ui_get_weather", json!({})), times, text("a is done.")]).await;
        let mut body = tools();
        body["chat_context"] = json!({ "context_type": "project_audit" });
        let content = case.said("The weather", "");
        let given =
            json!({ "content": content, "body": body, "approved": approved, "output": { "rain": true } });
        let report = client("asks", given, "").await;
        let states = |messages: &Value| {
            let kinds = ["tool-getWeather", "tool-raise_limit"];
            kinds.map(|kind| parts(messages, kind)[0]["state"].clone())
        };
        assert_eq!(states(&report["parked"]), ["output-available", "approval-requested"]);
        assert_eq!(states(&report["messages"]), ["output-available", state]);
        assert_eq!((&report["status"], &report["error"]), (&json!("ready"), &Value::Null));
        let finishes = report["told"]["finishes"].as_array().expect("finishes").iter();
        let reasons: Vec<_> = finishes.map(|finish| &finish["finishReason"]).collect();
        assert_eq!(reasons, ["tool-calls", "tool-calls", end], "a request for each answer");
    }
}

#[tokio::test]
async fn a_failure_is_an_error_of_the_chat() {
    let case = Case::new().await;
    let report = says(&case, json!({}), [status(400)]).await;
    assert_eq!((&report["status"], finish(&report)), (&json!("error"), &json!("error")));
    assert!(report["error"].as_str().is_some_and(|error| !error.is_empty()));
    assert_eq!(metadata(&report, "stop")["code"], "provider_bad_request");
}

#[tokio::test]
async fn stopping_the_client_leaves_the_turn_and_the_route_stops_it() {
    let case = Case::new().await;
    let barrier = case.barrier("held");
    case.script("", [deltas(["It is ", "42."]).waiting(&barrier, 1)]).await;
    let report = client("stops", json!({ "content": case.said("What is it?", "") }), &barrier).await;
    assert_eq!(
        (&report["status"], &report["running"], &report["idle"]),
        (&json!("ready"), &json!(200), &json!(204))
    );
    assert_eq!(report["stopped"]["turn_id"], *metadata(&report, "turnId"));
    let replay = report["replay"].as_str().expect("a stream");
    assert!(replay.contains(r#""type":"abort""#) && replay.ends_with("data: [DONE]\n\n"), "{replay}");
    assert!(replay.contains(r#""finishReason":"interrupted""#), "{replay}");
}

#[tokio::test]
async fn a_stream_that_breaks_off_after_any_frame_is_resumed_to_the_same_message() {
    // A thread has 32 readers at once. There are 22 frames before the model waits, whatever the clock says.
    for (from, to) in [(0, 12), (12, 22)] {
        let case = Case::new().await;
        let barrier = case.barrier("held");
        case.script("a", [text("a is done.")]).await;
        let subtask = calls([case.subtask("Deep", "a"), ("current_time", json!({}))]).saying("Let me see. ");
        case.script("", [subtask, deltas(["It is ", "42."]).waiting(&barrier, 1)]).await;
        let given = json!({ "content": case.said("What is it?", ""), "from": from, "to": to });
        let report = client("resumes", given, &barrier).await;
        let expected = &report["messages"];
        assert_eq!(texts(expected), ["Let me see. ", "It is 42."]);
        assert_eq!(report["after"], 204);
        let resumed = report["resumed"].as_array().expect("clients");
        assert_eq!(resumed.len(), to - from);
        for messages in resumed {
            assert_eq!(messages, expected);
        }
    }
}

#[tokio::test]
async fn another_answer_and_another_question_are_versions() {
    let case = Case::new().await;
    case.script("", [text("One.")]).await;
    case.script("next", [text("Two.")]).await;
    case.script("edited", [text("Three.")]).await;
    let given = json!({
        "content": case.said("First", ""), "next": case.said("Second", "next"), "edited": case.said("Third", "edited"),
    });
    let report = client("versions", given, "").await;
    assert_eq!(report["answers"], json!(["One.", "Two.", "Two.", "Three.", "One."]));
    let thread = metadata(&report, "threadId").as_str().expect("a thread").to_owned();
    let listed = user(&report).read(&format!("/api/threads/{thread}/messages?versions=all")).await;
    let turns = listed["versions"].as_array().expect("versions");
    let beside = |parent: &Value| turns.iter().filter(|turn| turn["parent_turn_id"] == *parent).count();
    let first = &listed["messages"][0]["turn_id"];
    assert_eq!((beside(&Value::Null), beside(first)), (2, 3), "{turns:#?}");
    let path = user(&report).messages(&thread).await;
    assert_eq!(
        path.iter().map(|message| message["content"].as_str().unwrap_or_default()).collect::<Vec<_>>(),
        [&*case.said("First", ""), "One.",]
    );
}

#[tokio::test]
async fn the_same_request_is_the_same_turn() {
    let case = Case::new().await;
    case.script("", [text("Hello.")]).await;
    let report = client("repeats", json!({ "content": case.said("Hello", "") }), "").await;
    let answers = report["answers"].as_array().expect("answers");
    assert_eq!(answers[0], answers[1]);
    assert_eq!(answers[0]["header"], "v1");
    assert_eq!(case.requests("").await.requests.len(), 1);
}

#[tokio::test]
async fn a_wrong_request_names_its_member_and_another_users_chat_is_not_there() {
    let (case, other) = (Case::new().await, Case::new().await);
    case.script("", [text("Hello.")]).await;
    let message =
        |text: &str| json!({ "id": "m", "role": "user", "parts": [{ "type": "text", "text": text }] });
    let ok = json!({ "id": "chat", "messages": [message(&case.said("Hello", ""))] });
    case.client.post("/api/ai-sdk/chat", &ok).await.expect(200).await.text().await;
    for (member, value, field) in [
        ("id", json!(""), "id"),
        ("messages", json!([]), "messages"),
        ("model", json!("nonsense"), "model"),
        ("tools", json!([{ "name": "a", "description": " ", "inputSchema": {} }]), "tools[0].description"),
        ("collections", json!("x"), "collections"),
    ] {
        let mut body = ok.clone();
        // The same message would be the same turn.
        body["messages"][0]["id"] = json!(field);
        body[member] = value;
        let reply = case.client.post("/api/ai-sdk/chat", &body).await;
        assert_problem(reply, 400, "invalid_request", Some(field)).await;
    }
    let late = json!({
        "id": "m", "role": "assistant", "metadata": { "turnId": "t", "seq": 1 },
        "parts": [{ "type": "tool-a", "toolCallId": "t", "state": "output-available", "output": 1 }],
    });
    let late = json!({ "id": "chat", "messages": [late] });
    assert_problem(case.client.post("/api/ai-sdk/chat", &late).await, 404, "not_waiting", None).await;
    let path = "/api/ai-sdk/chat/chat/stream";
    assert_eq!(case.client.get(path).await.status, 204);
    // A page asks for the running turn of each chat that it shows, also of one that has not begun.
    assert_eq!(other.client.get(path).await.status, 204);
    assert_problem(other.client.send("DELETE", path, "").await, 404, "thread_not_found", None).await;
    assert_problem(other.client.post("/api/ai-sdk/chat", &late).await, 404, "thread_not_found", None).await;
    assert_problem(case.client.get("/api/ai-sdk/chat/%ff/stream").await, 404, "thread_not_found", None).await;
}
