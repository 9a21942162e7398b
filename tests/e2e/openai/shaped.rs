//! Answers of a shape that the request wants: JSON of a schema, and a call of one of its functions first.
//!
//! N-060 N-072. Issue 51, 1 and 4

use espalier_test_support::{Case, Value, call, calls, json, text};

const CHAT: &str = "/v1/chat/completions";
const RESPONSES: &str = "/v1/responses";

fn schema() -> Value {
    json!({ "type": "object", "properties": { "city": { "type": "string" }, "days": { "type": "integer" } },
        "required": ["city", "days"], "additionalProperties": false })
}

fn answer() -> Value {
    json!({ "city": "Oslo", "days": 2 })
}

/// The members of a request in one of the APIs that wants JSON.
fn request_body(api: &str, content: &str) -> Value {
    match api {
        CHAT => json!({
            "messages": [{ "role": "user", "content": content }],
            "response_format": { "type": "json_schema", "json_schema": { "name": "trip", "schema": schema(), "strict": true } },
        }),
        _ => json!({
            "input": content,
            "text": { "format": { "type": "json_schema", "name": "trip", "schema": schema(), "strict": true } },
        }),
    }
}

/// The text of an answer in one of the APIs.
fn text_of(api: &str, answer: &Value) -> String {
    let text = match api {
        CHAT => &answer["choices"][0]["message"]["content"],
        _ => &answer["output"][0]["content"][0]["text"],
    };
    text.as_str().unwrap_or_else(|| panic!("no text: {answer}")).to_owned()
}

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

#[tokio::test]
async fn an_answer_satisfies_the_schema() {
    for api in [CHAT, RESPONSES] {
        let case = Case::new().await;
        let wrong = json!({ "city": "Oslo", "days": "two" });
        let script = [text("It is Oslo."), call("give_answer", wrong), call("give_answer", answer())];
        case.script("", script.clone()).await;
        let body = request_body(api, &case.said("Where to?", ""));
        let whole = case.client.post(api, &body).await.expect(200).await.json().await;
        assert_eq!(parsed(&text_of(api, &whole)), answer(), "{whole}");
        if api == RESPONSES {
            assert_eq!(whole["output"].as_array().map(Vec::len), Some(1), "the call is no item: {whole}");
        }
        let thread = whole["metadata"]["thread_id"].as_str().expect("a thread").to_owned();
        let messages = case.client.messages(&thread).await;
        assert_eq!(parsed(messages[1]["content"].as_str().unwrap_or_default()), answer());
        // The model is told what was wrong, and its prose reaches nobody.
        let requests = case.requests("").await.requests;
        assert!(
            requests[2].contents().iter().any(|content| content.contains("/days: ")),
            "{:?}",
            requests[2].contents()
        );

        case.script("streamed", script).await;
        let mut body = request_body(api, &case.said("Where to?", "streamed"));
        body["stream"] = json!(true);
        let stream = case.client.post(api, &body).await.expect(200).await.text().await;
        assert!(
            stream.contains("Oslo") && !stream.contains("It is") && !stream.contains("give_answer"),
            "{stream}"
        );
    }
}

#[tokio::test]
async fn an_answer_that_never_fits_is_an_error_of_the_api() {
    let case = Case::new().await;
    case.endless_script("", [text("It is Oslo.")]).await;
    let content = case.said("Where to?", "");
    let failed = case.client.post(CHAT, &request_body(CHAT, &content)).await.expect(500).await;
    assert_eq!(failed.header("x-should-retry"), "false");
    assert_eq!(failed.json().await["error"]["code"], "shape_missed");
    assert_eq!(case.requests("").await.requests.len(), 4);
    let failed =
        case.client.post(RESPONSES, &request_body(RESPONSES, &content)).await.expect(200).await.json().await;
    assert_eq!((&failed["status"], &failed["error"]["code"]), (&json!("failed"), &json!("server_error")));
    assert_eq!(failed["output"], json!([]), "{failed}");
}

#[tokio::test]
async fn our_own_route_takes_the_same() {
    let case = Case::new().await;
    case.script("", [call("give_answer", answer())]).await;
    let events =
        case.chat_with(&json!({ "content": case.said("Where to?", ""), "response_schema": schema() })).await;
    let told: String = events
        .iter()
        .filter(|event| event.data["type"] == "chunk")
        .filter_map(|event| event.data["content"].as_str())
        .collect();
    assert_eq!(parsed(&told), answer());
    let tool = json!({ "name": "ui_open", "description": "Opens." });
    for (body, field) in [
        (json!({ "response_schema": { "type": "array" } }), "response_schema"),
        (json!({ "response_schema": "x" }), "response_schema"),
        (json!({ "response_schema": schema(), "mode_profile": "swarm" }), "response_schema"),
        (json!({ "response_schema": schema(), "agent": "critic" }), "response_schema"),
        (json!({ "must_call": [] }), "must_call"),
        (json!({ "must_call": ["ui_close"], "client_tools": [tool] }), "must_call[0]"),
        // Outside the editor our own route takes no tools, so none can be called.
        (json!({ "must_call": ["ui_open"], "client_tools": [tool] }), "must_call"),
    ] {
        let mut body = body;
        body["content"] = json!("Hello");
        let refused = case.client.post("/api/chat", &body).await.expect(400).await.json().await;
        assert_eq!(refused["field"], field, "{refused}");
    }
}

fn functions() -> Value {
    let function = |name: &str| json!({ "type": "function", "function": { "name": name, "parameters": { "type": "object" } } });
    json!([function("getWeather"), function("getTime")])
}

// The functions of one reply are asked at once, and answered one by one, in any order.
#[tokio::test]
async fn a_forced_call_comes_before_the_answer_and_two_are_asked_at_once() {
    let case = Case::new().await;
    let both = calls([("ui_get_weather", json!({})), ("ui_get_time", json!({}))]);
    case.script("", [text("Well."), both, text("Rain at noon.")]).await;
    let mut messages = vec![json!({ "role": "user", "content": case.said("What now?", "") })];
    let ask = async |messages: &[Value], choice: Value| {
        let body = json!({ "messages": messages, "tools": functions(), "tool_choice": choice });
        let answer = case.client.post(CHAT, &body).await.expect(200).await.json().await;
        let choice = answer["choices"][0].clone();
        (choice["message"].clone(), choice["finish_reason"].clone())
    };
    let named = json!({ "type": "function", "function": { "name": "getWeather" } });
    let (first, finish) = ask(&messages, named).await;
    assert_eq!(finish, "tool_calls");
    let names = |message: &Value| -> Vec<Value> {
        let calls = message["tool_calls"].as_array().cloned().unwrap_or_default();
        calls.iter().map(|call| call["function"]["name"].clone()).collect()
    };
    assert_eq!(names(&first), ["getWeather", "getTime"]);
    let requests = case.requests("").await.requests;
    assert_eq!(requests[0].body["tool_choice"], "required");
    assert_eq!(requests.len(), 2, "the model that answered in prose was made to call");

    let result =
        |id: &Value, content: &str| json!({ "role": "tool", "tool_call_id": id, "content": content });
    messages.push(first.clone());
    // The second one first: the first one is asked again.
    messages.push(result(&first["tool_calls"][1]["id"], "Noon."));
    let (rest, finish) = ask(&messages, json!("auto")).await;
    assert_eq!((names(&rest), finish), (vec![json!("getWeather")], json!("tool_calls")));
    // Its first id does as well as the new one.
    messages.push(result(&first["tool_calls"][0]["id"], "Rain."));
    let (last, finish) = ask(&messages, json!("auto")).await;
    assert_eq!((&last["content"], finish), (&json!("Rain at noon."), json!("stop")));
    let told = case.requests("").await.requests[2].contents();
    assert!(
        told.iter().any(|content| content == "Rain.") && told.iter().any(|content| content == "Noon."),
        "{told:?}"
    );
}

#[tokio::test]
async fn one_at_a_time_where_the_client_wants_it() {
    let case = Case::new().await;
    case.script("", [calls([("ui_get_weather", json!({})), ("ui_get_time", json!({}))])]).await;
    let body = json!({
        "messages": [{ "role": "user", "content": case.said("What now?", "") }], "tools": functions(),
        "parallel_tool_calls": false,
    });
    let answer = case.client.post(CHAT, &body).await.expect(200).await.json().await;
    assert_eq!(answer["choices"][0]["message"]["tool_calls"].as_array().map(Vec::len), Some(1), "{answer}");
}
