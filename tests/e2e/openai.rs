//! OpenAI's own libraries against their routes (`tests/clients/openai.mjs`, `openai_client.py`).
//!
//! Issue 22, 2

mod compliance;
mod examples;
mod following;
mod repeated;
mod shaped;
mod unanswered;
mod unlisted;

use espalier_test_support::fake_llm::Outcome;
use espalier_test_support::{Case, Value, call, calls, deltas, env, json, status, text};

use crate::clients::{bearer, keyed_at, report};

async fn keyed() -> (Case, String) {
    keyed_at(&env("ESPALIER_URL")).await
}

/// Runs a program of a client, and gives its report.
async fn run(program: &str, script: &str, key: &str, given: Value, barrier: &str) -> Value {
    let variables = [("CLIENT_KEY", key), ("CLIENT_CASE", &*given.to_string()), ("CLIENT_BARRIER", barrier)];
    report(program, script, &variables).await
}

/// A case of the client in Node.
async fn client(name: &str, key: &str, mut given: Value, barrier: &str) -> Value {
    given["case"] = json!(name);
    run("node", "openai.mjs", key, given, barrier).await
}

fn items<'a>(response: &'a Value, kind: &str) -> Vec<&'a Value> {
    let output = response["output"].as_array().unwrap_or_else(|| panic!("no output: {response}"));
    output.iter().filter(|item| item["type"] == kind).collect()
}

fn listed(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

#[tokio::test]
async fn models_have_their_roles_and_the_default() {
    let (_, key) = keyed().await;
    let models = client("models", &key, json!({}), "").await;
    assert_eq!((&models[0], &models[1]), (&json!("espalier"), &json!("primary")), "{models}");
}

#[tokio::test]
async fn text_reasoning_and_our_tools() {
    let (case, key) = keyed().await;
    let mut thinks = deltas(["It is ", "42."]);
    thinks.reasoning = vec!["Six times seven.".to_owned()];
    let reckons = call("calculate", json!({ "expression": "6*7" }));
    let turn = [reckons, thinks];
    // Four turns, each in a thread of its own.
    case.script("", turn).await;
    let report = client("says", &key, json!({ "content": case.said("What is it?", "") }), "").await;
    let choice = &report["completion"]["choices"][0];
    assert_eq!(
        (&choice["message"]["content"], &choice["finish_reason"]),
        (&json!("It is 42."), &json!("stop"))
    );
    assert_eq!(choice["message"]["reasoning_content"], "Six times seven.");
    assert_eq!((&report["text"], &report["output"]), (&json!("It is 42."), &json!("It is 42.")));
    assert!(report["usage"]["total_tokens"].as_u64() > Some(0), "{}", report["usage"]);
    for response in [&report["response"], &report["streamed"]] {
        assert_eq!(response["status"], "completed");
        let called = items(response, "mcp_call");
        assert_eq!((called.len(), &called[0]["name"]), (1, &json!("calculate")));
        assert!(called[0]["output"].as_str().is_some_and(|output| output.contains("42")), "{called:?}");
        assert_eq!(items(response, "reasoning")[0]["summary"][0]["text"], "Six times seven.");
    }
    assert_eq!(report["response"]["usage"], report["streamed"]["usage"]);
    let kinds: Vec<_> = listed(&report["kinds"]).iter().filter_map(Value::as_str).collect();
    assert_eq!((kinds[0], kinds.last()), ("response.created", Some(&"response.completed")));

    // A thread of a request that names none stands in no list; by its id it is there.
    let thread = report["completion"]["metadata"]["thread_id"].as_str().expect("a thread").to_owned();
    assert_eq!(case.client.messages(&thread).await.len(), 2);
    let mentioned = case.chat_with(&json!({ "content": case.said("What is it?", "") })).await;
    let listed = espalier_test_support::stored::eventually("our own thread is listed", || async {
        let threads = case.client.threads().await;
        (!threads.is_empty()).then_some(threads)
    })
    .await;
    let ids: Vec<_> = listed.iter().map(|thread| &thread["id"]).collect();
    assert_eq!(ids, [&mentioned[0].data["thread_id"]]);
}

#[tokio::test]
async fn a_nested_subtask_is_no_text_of_the_answer() {
    let (case, key) = keyed().await;
    case.script("a", [calls([case.subtask("Deeper", "a/b")]), text("a is done.")]).await;
    case.script("a/b", [call("current_time", json!({})), text("b is done.")]).await;
    case.script("", [calls([case.subtask("Deep", "a")]), text("All is done.")]).await;
    let report = client("says", &key, json!({ "content": case.said("Go", "") }), "").await;
    assert_eq!((&report["text"], &report["output"]), (&json!("All is done."), &json!("All is done.")));
    let called = items(&report["streamed"], "mcp_call");
    assert_eq!((called.len(), &called[0]["output"]), (1, &json!("a is done.")));
}

#[tokio::test]
async fn a_clients_function_runs_in_the_client() {
    for stream in [false, true] {
        let (case, key) = keyed().await;
        let args = json!({ "city": "Oslo", "to": "ann@example.com", "unit": null });
        case.script("", [call("ui_get_weather", args.clone()), text("It rains.")]).await;
        let given = json!({
            "content": case.said("The weather", ""), "stream": stream, "instructions": "You are a pirate.",
        });
        let report = client("runsTools", &key, given, "").await;
        assert_eq!((&report["text"], &report["calls"]), (&json!("It rains."), &json!([args])));
        assert_eq!(report["roles"], json!(["system", "user", "assistant", "tool", "assistant"]));
        for request in case.requests("").await.requests {
            assert!(request.contents()[0].contains("\nYou are a pirate.\n"), "{:?}", request.contents());
        }
        let told = case.requests("").await.requests[1].contents();
        assert!(told.iter().any(|content| content == "It rains in Oslo."), "{told:?}");
    }
    let (case, key) = keyed().await;
    case.script("", [call("ui_get_weather", json!({ "city": "Oslo" })), text("It rains.")]).await;
    let report =
        client("respondsWithTools", &key, json!({ "content": case.said("The weather", "") }), "").await;
    let called = items(&report["first"], "function_call");
    assert_eq!(
        (&called[0]["name"], &called[0]["arguments"]),
        (&json!("getWeather"), &json!(r#"{"city":"Oslo"}"#))
    );
    assert_eq!(items(&report["second"], "message")[0]["content"][0]["text"], "It rains.");
    assert_eq!(report["second"]["previous_response_id"], report["first"]["id"]);
    assert_eq!(report["late"], "It rains.", "an answer that comes again reads the same");
    assert_eq!(case.requests("").await.requests.len(), 2);
}

#[tokio::test]
async fn a_call_in_a_subtask_waits_for_a_person() {
    for (approve, end) in [(true, "Erased."), (false, "Then not.")] {
        let (case, key) = keyed().await;
        case.script("", [calls([case.subtask("Erase", "a")]), text(end)]).await;
        case.script("a", [call("ui_erase", json!({ "path": "x" })), text("a is done.")]).await;
        let given = json!({ "content": case.said("Erase it", ""), "approve": approve });
        let report = client("asks", &key, given, "").await;
        let question = &report["question"];
        assert_eq!((&question["name"], &question["arguments"]), (&json!("erase"), &json!(r#"{"path":"x"}"#)));
        let last = &report["last"];
        assert_eq!(items(last, "message")[0]["content"][0]["text"], end, "{last}");
        assert_eq!(items(last, "mcp_call")[0]["output"], "a is done.");
    }
    // Chat Completions has no question: the client learns where a person decides.
    let (case, key) = keyed().await;
    case.script("", [call("ui_erase", json!({ "path": "x" })), text("Then not.")]).await;
    let report = client("isRefused", &key, json!({ "content": case.said("Erase it", "") }), "").await;
    assert_eq!((&report["message"]["content"], &report["finish_reason"]), (&Value::Null, &json!("stop")));
    let refusal = report["message"]["refusal"].as_str().expect("a refusal");
    let path = refusal.split("POST ").nth(1).and_then(|rest| rest.split(' ').next()).expect("a path");
    let taken = case.client.post(path, &json!({ "decision": "deny" })).await.expect(200).await.json().await;
    assert_eq!(taken, json!({ "taken": true }));
}

#[tokio::test]
async fn failures_limits_and_wrong_requests_are_errors_of_the_library() {
    let (case, key) = keyed().await;
    case.endless_script("", [status(400)]).await;
    let content = case.said("Hello", "");
    let failed = client("fails", &key, json!({ "content": content }), "").await;
    assert_eq!(
        (&failed["status"], &failed["code"]),
        (&json!(500), &json!("provider_bad_request")),
        "{failed}"
    );
    assert_eq!(case.requests("").await.requests.len(), 1, "the library repeats nothing");
    let failed = client("streamFails", &key, json!({ "content": content }), "").await;
    assert_eq!(failed["code"], "provider_bad_request", "{failed}");

    for (body, param) in [
        (json!({ "n": 2 }), "n"),
        (json!({ "logprobs": true }), "logprobs"),
        (json!({ "tool_choice": "required" }), "tool_choice"),
        (json!({ "model": "nonsense" }), "model"),
        (
            json!({ "tools": [{ "type": "function", "function": { "name": "a", "description": "x".repeat(2_001) } }] }),
            "tools[0].description",
        ),
    ] {
        let refused = client("fails", &key, json!({ "content": content, "body": body }), "").await;
        assert_eq!(
            (&refused["status"], &refused["param"], &refused["type"]),
            (&json!(400), &json!(param), &json!("invalid_request_error")),
            "{refused}"
        );
        let told = refused["message"].as_str().unwrap_or_default();
        assert!(told.starts_with(&format!("400 {param}: ")), "{told}");
    }
    let nobody = client("fails", "espk_nonsense", json!({ "content": content }), "").await;
    assert_eq!((&nobody["status"], &nobody["code"]), (&json!(401), &json!("unauthenticated")));

    case.endless_script("limit", [call("current_time", json!({}))]).await;
    let given = json!({ "requests": [{ "body": { "messages": [{ "role": "user", "content": case.said("Count", "limit") }] } }] });
    let report = client("requests", &key, given, "").await;
    assert_eq!(report[0]["data"]["choices"][0]["finish_reason"], "length");
    assert_eq!(report[0]["data"]["metadata"]["stop"], "iteration_limit");
}

#[tokio::test]
async fn a_closed_stream_of_a_completion_stops_its_turn() {
    // Each stream is found closed by its next heartbeat but one, so both wait at once.
    let stops = async |answers: bool| {
        let (case, key) = keyed().await;
        let barrier = case.barrier("held");
        let called = answers.then(|| call("ui_get_weather", json!({ "city": "Oslo" })));
        let says = deltas(["It is ", "42."]).waiting(&barrier, 1);
        case.script("", called.into_iter().chain([says])).await;
        let given = json!({ "content": case.said("What is it?", ""), "answers": answers });
        client("aborts", &key, given, &barrier).await;
        case.llm.wait_for(&case.marker(""), 1, Outcome::Aborted).await;
    };
    tokio::join!(stops(false), stops(true));
}

#[tokio::test]
async fn a_response_in_the_background_is_read_on_after_each_event() {
    let (case, key) = keyed().await;
    let barrier = case.barrier("held");
    case.script("", [call("current_time", json!({})), deltas(["It is ", "42."]).waiting(&barrier, 1)]).await;
    let report =
        client("background", &key, json!({ "content": case.said("What is it?", "") }), &barrier).await;
    for (at, status) in [("begun", "in_progress"), ("running", "in_progress"), ("ended", "completed")] {
        assert_eq!(report[at]["status"], status, "{at}");
        assert_eq!(report[at]["id"], report["begun"]["id"]);
        assert_eq!(report[at]["background"], true, "{at}");
    }
    let whole = listed(&report["whole"]);
    let read = listed(&report["read"]);
    assert!(read.len() > 8, "{}", read.len());
    for (at, rest) in read.iter().enumerate() {
        assert_eq!(listed(rest), &whole[at + 1..], "after {at}");
    }
    let last = &whole.last().expect("events")["response"];
    assert_eq!((&last["output"], &last["background"]), (&report["ended"]["output"], &json!(true)));
    assert_eq!(items(&report["ended"], "message")[0]["content"][0]["text"], "It is 42.");
}

#[tokio::test]
async fn a_response_is_cancelled() {
    let (case, key) = keyed().await;
    let barrier = case.barrier("held");
    case.script("", [deltas(["It is ", "42."]).waiting(&barrier, 1)]).await;
    let given = json!({ "content": case.said("What is it?", ""), "stops": true });
    let report = client("background", &key, given, &barrier).await;
    assert_eq!(report["cancelled"]["status"], "cancelled");
    assert_eq!(report["ended"]["output"], report["cancelled"]["output"]);
    assert_eq!(items(&report["ended"], "message")[0]["content"][0]["text"], "It is ");
    case.llm.wait_for(&case.marker(""), 1, Outcome::Aborted).await;
}

#[tokio::test]
async fn a_history_is_imported_once_and_a_named_thread_goes_on() {
    let (case, key) = keyed().await;
    case.script("", [text("Three.")]).await;
    case.script("next", [text("Four.")]).await;
    let message = |role: &str, content: &str| json!({ "role": role, "content": content });
    let (ask, next) = (case.said("And now?", ""), case.said("And then?", "next"));
    let history = [message("user", "What is first?"), message("assistant", "One."), message("user", &ask)];
    let named = json!({ "x-thread-id": "my thread" });
    let given = json!({ "requests": [
        { "body": { "messages": history, "temperature": 0.2, "max_tokens": 5 }, "headers": named },
        { "body": { "messages": [message("user", "Other words?"), message("assistant", "Forged."), message("user", &next)],
            "metadata": { "thread_id": "my thread" } } },
    ] });
    let report = client("requests", &key, given, "").await;
    let thread =
        |at: usize| report[at]["data"]["metadata"]["thread_id"].as_str().expect("a thread").to_owned();
    assert_eq!(thread(0), thread(1));
    assert_eq!(report[0]["warning"], r#"299 espalier "ignored: max_tokens, temperature""#);
    assert_eq!(report[1]["warning"], Value::Null);
    let messages = case.client.messages(&thread(0)).await;
    let contents: Vec<_> =
        messages.iter().map(|message| message["content"].as_str().unwrap_or_default()).collect();
    assert_eq!(contents, ["What is first?", "One.", &ask, "Three.", &next, "Four."]);
    let seen = case.requests("next").await.requests[0].contents();
    assert!(
        seen.iter().any(|content| content == "What is first?")
            && !seen.iter().any(|content| content == "Forged."),
        "{seen:?}"
    );
    let detail = case.client.thread(&thread(0)).await;
    assert_eq!(detail["title"], "What is first?");
}

#[tokio::test]
async fn another_users_responses_are_not_there() {
    let ((case, _), (_, other)) = (keyed().await, keyed().await);
    case.script("", [call("ui_get_weather", json!({})), text("It rains.")]).await;
    let tool = json!({ "type": "function", "name": "getWeather", "parameters": { "type": "object" } });
    let body = json!({ "input": case.said("Hello", ""), "tools": [tool] });
    let response = case.client.post("/v1/responses", &body).await.expect(200).await.json().await;
    let given = json!({ "id": response["id"] });
    let report = client("reads", &other, given, "").await;
    for at in ["retrieved", "cancelled", "followed"] {
        assert_eq!(report[at]["status"], 404, "{at}: {report}");
    }
    let call_id = &items(&response, "function_call")[0]["call_id"];
    let answer =
        json!({ "input": [{ "type": "function_call_output", "call_id": call_id, "output": "dry" }] });
    let stranger = bearer(&env("ESPALIER_URL"), &other);
    let refused = stranger.post("/v1/responses", &answer).await.expect(404).await.json().await;
    assert_eq!(refused["error"]["code"], "thread_not_found");
    assert_eq!(
        case.client.post("/v1/responses", &answer).await.expect(200).await.json().await["status"],
        "completed"
    );
    // The owner's own: a turn and a segment that do not exist.
    let id = response["id"].as_str().expect("an id").to_owned();
    let (thread, _) = id.split_at("resp_".len() + 32);
    let other_turn = format!("{thread}{}0", "0".repeat(32));
    for wrong in [format!("{id}7"), other_turn, "resp_1".to_owned()] {
        let missing = case.client.get(&format!("/v1/responses/{wrong}")).await.expect(404).await.json().await;
        assert!(missing["error"]["message"].is_string(), "{missing}");
    }
}

#[tokio::test]
#[ignore = "takes most of the instance's room for bodies: `make e2e` runs it alone"]
async fn a_long_history_is_skipped_up_to_the_limit() {
    const LIMIT: usize = 16 << 20;
    let (case, _) = keyed().await;
    case.script("", [text("Hello.")]).await;
    let body = |bytes: usize| {
        let messages = json!([
            { "role": "user", "content": "x".repeat(bytes) }, { "role": "assistant", "content": "Yes." },
            { "role": "user", "content": case.said("Hello", "") },
        ]);
        json!({ "messages": messages })
    };
    let answer =
        case.client.post("/v1/chat/completions", &body(LIMIT - 500)).await.expect(200).await.json().await;
    assert_eq!(answer["choices"][0]["message"]["content"], "Hello.");
    let refused = case.client.post("/v1/chat/completions", &body(LIMIT)).await.expect(413).await.json().await;
    assert_eq!(refused["error"]["code"], "body_too_large");
}

#[tokio::test]
async fn the_library_of_python_does_the_same() {
    let (case, key) = keyed().await;
    let barrier = case.barrier("held");
    let args = json!({ "city": "Oslo", "unit": null, "stop": ["Bergen", 2] });
    case.script("chat", [call("ui_get_weather", args.clone()), text("It rains.")]).await;
    case.script("respond", [call("current_time", json!({})), deltas(["It is ", "late."])]).await;
    case.script("background", [deltas(["It is ", "42."]).waiting(&barrier, 1)]).await;
    let given = json!({
        "chat": case.said("The weather", "chat"), "respond": case.said("The time", "respond"),
        "background": case.said("What is it?", "background"),
    });
    let python = concat!(env!("CARGO_MANIFEST_DIR"), "/.tools/contract/bin/python");
    let report = run(python, "openai_client.py", &key, given, &barrier).await;
    let expected = json!({ "name": "getWeather", "arguments": args, "text": "It rains." });
    assert_eq!(report["completion"], expected);
    for request in case.requests("chat").await.requests {
        assert!(request.contents()[0].contains("\nYou are a pirate.\n"), "{:?}", request.contents());
    }
    let response = &report["response"];
    assert_eq!((&response["text"], &response["status"]), (&json!("It is late."), &json!("completed")));
    assert!(listed(&response["kinds"]).contains(&json!("response.mcp_call.completed")), "{response}");
    assert_eq!(
        report["background"],
        json!({ "status": "in_progress", "text": "It is 42.", "last": "It is 42." })
    );
}
