//! The wires beside Chat Completions: they refuse what the real APIs refuse, and a client of the real streams can read
//! these.

use crate::fake_llm::{BOUND, seal};
use crate::http::{self, Reply};
use crate::{FakeLlm, Outcome, Script, Step, Value, calls, deltas, json};

const KEY: (&str, &str) = ("authorization", "Bearer key");
const OTHER_KEY: (&str, &str) = ("x-api-key", "key");
const GOOGLE_KEY: (&str, &str) = ("x-goog-api-key", "key");
const VERSION: (&str, &str) = ("anthropic-version", "2023-06-01");

async fn scripted(steps: impl IntoIterator<Item = Step>) -> FakeLlm {
    let llm = FakeLlm::start().await;
    llm.script("m", Script { steps: steps.into_iter().collect(), repeat: false }).await;
    llm
}

async fn post(llm: &FakeLlm, path: &str, headers: &[(&str, &str)], body: &Value) -> Reply {
    http::send("POST", &format!("{}{path}", llm.url()), headers, body.to_string()).await
}

/// The body with these members set, and without those that are null.
fn with(mut body: Value, members: &Value) -> Value {
    for (name, value) in members.as_object().into_iter().flatten() {
        body[name] = value.clone();
    }
    if let Some(body) = body.as_object_mut() {
        body.retain(|_, value| !value.is_null());
    }
    body
}

fn messages(members: Value) -> Value {
    let body = json!({ "model": "m", "max_tokens": 9, "stream": true, "messages": [said("Hi [[fake:m]]")] });
    with(body, &members)
}

fn responses(members: Value) -> Value {
    with(json!({ "model": "m", "store": false, "stream": true, "input": [said("Hi [[fake:m]]")] }), &members)
}

fn said(text: &str) -> Value {
    json!({ "role": "user", "content": text })
}

/// The events of a stream: each says its name twice.
fn events(stream: &str) -> Vec<Value> {
    let blocks = stream.split("\n\n").filter(|block| !block.is_empty());
    let read = |block: &str| {
        let (name, data) = block.split_once('\n').expect("two lines");
        let data: Value = serde_json::from_str(data.strip_prefix("data: ").expect("data")).expect("JSON");
        assert_eq!(name.strip_prefix("event: "), data["type"].as_str());
        data
    };
    blocks.map(read).collect()
}

fn kinds(events: &[Value]) -> Vec<&str> {
    let mut kinds: Vec<&str> =
        events.iter().map(|event| event["type"].as_str().unwrap_or_default()).collect();
    kinds.dedup();
    kinds
}

fn work() -> Step {
    calls([("f", json!({ "a": "bcdefghijkl" })), ("g", json!({}))])
        .thinking("Hm.")
        .saying("So")
        .using(10, 4, 3)
}

/// A history as a request of Messages.
fn again(history: &[Value]) -> Value {
    messages(json!({ "messages": history }))
}

/// The assistant's message that asks for the work.
fn worked() -> Value {
    let thought = json!({ "type": "thinking", "thinking": "Hm.", "signature": seal("Hm.") });
    let call = |id: &str| json!({ "type": "tool_use", "id": id, "name": "f", "input": {} });
    json!({ "role": "assistant", "content": [thought, call("a"), call("b")] })
}

fn answered() -> Value {
    json!({ "role": "assistant", "content": "42" })
}

fn result(id: &str) -> Value {
    json!({ "type": "tool_result", "tool_use_id": id, "content": "1" })
}

fn results(blocks: &[Value]) -> Value {
    json!({ "role": "user", "content": blocks })
}

#[tokio::test]
async fn a_message_streams_as_the_real_api_streams_it() {
    let llm = scripted([work(), deltas(["4", "2"]), deltas(["x"]).overloaded()]).await;
    let headers = [OTHER_KEY, VERSION];
    let stream =
        post(&llm, "/v1/messages", &headers, &messages(json!({}))).await.expect(200).await.text().await;
    let events = events(&stream);
    let block = ["content_block_start", "content_block_delta", "content_block_stop"];
    let expected =
        [&["message_start", "ping"][..], &block.repeat(4), &["message_delta", "message_stop"]].concat();
    assert_eq!(kinds(&events), expected);
    let (usage, delta) = (&events[0]["message"]["usage"], &events[events.len() - 2]);
    assert_eq!((&usage["input_tokens"], &usage["cache_read_input_tokens"]), (&json!(6), &json!(4)));
    assert_eq!(
        (&delta["delta"]["stop_reason"], &delta["usage"]["output_tokens"]),
        (&json!("tool_use"), &json!(3))
    );
    let inputs = events.iter().filter_map(|event| event["delta"]["partial_json"].as_str());
    assert_eq!(inputs.collect::<String>(), r#"{"a":"bcdefghijkl"}{}"#);
    assert!(stream.contains(&seal("Hm.")));

    let whole = [said("Hi [[fake:m]]"), worked(), results(&[result("a"), result("b")])];
    let reply = post(&llm, "/v1/messages", &headers, &again(&whole)).await.text().await;
    assert!(reply.contains(r#""text":"4""#), "{reply}");
    let later = again(&[whole.to_vec(), vec![answered(), said("On.")]].concat());
    let reply = post(&llm, "/v1/messages", &headers, &later).await.text().await;
    assert!(reply.ends_with("}\n\n") && reply.contains("overloaded_error"), "{reply}");
    assert_eq!(llm.requests("m").await.requests[2].outcome, Outcome::Failed);
}

// Issue 43
#[tokio::test]
async fn bound_thinking_is_taken_behind_its_own_conversation_alone() {
    let thought = format!("{BOUND} Hm.");
    let llm = scripted([deltas(["So."]).thinking(&thought), deltas(["x"]), deltas(["y"])]).await;
    let post = async |body: &Value| post(&llm, "/v1/messages", &[OTHER_KEY, VERSION], body).await;
    let stream = post(&messages(json!({}))).await.expect(200).await.text().await;
    let signed =
        events(&stream).into_iter().find_map(|event| Some(event["delta"]["signature"].as_str()?.to_owned()));
    let thinking = json!({ "type": "thinking", "thinking": thought, "signature": signed });
    let text = json!({ "type": "text", "text": "So." });
    let goes_on = |first: &str, blocks: &[&Value]| {
        again(&[said(first), json!({ "role": "assistant", "content": blocks }), said("On.")])
    };
    post(&goes_on("Hi [[fake:m]]", &[&thinking, &text])).await.expect(200).await;
    post(&goes_on("Ho [[fake:m]]", &[&text])).await.expect(200).await;
    let refused = post(&goes_on("Ho [[fake:m]]", &[&thinking, &text])).await.expect(400).await.text().await;
    assert!(refused.contains("bound to a different conversation"), "{refused}");
}

#[tokio::test]
async fn messages_that_the_real_api_refuses_are_refused() {
    let llm = scripted([work()]).await;
    let headers = [OTHER_KEY, VERSION];
    let (hello, assistant, answer) = (said("Hi [[fake:m]]"), worked(), answered());
    let forged = json!({ "type": "thinking", "thinking": "Hm!", "signature": seal("Hm.") });
    let many: Vec<Value> = (0..5)
        .map(|_| json!({ "type": "text", "text": "x", "cache_control": { "type": "ephemeral" } }))
        .collect();
    let text = |text: &str| json!({ "type": "text", "text": text });
    let tool = |name: &str| json!({ "name": name, "input_schema": { "type": "object" } });
    for (body, complaint) in [
        (messages(json!({ "n": 1 })), "n: Extra inputs"),
        (messages(json!({ "max_tokens": null })), "max_tokens: Field required"),
        (messages(json!({ "messages": [] })), "at least one message"),
        (messages(json!({ "tools": [tool("a b")] })), "should match pattern"),
        (messages(json!({ "tools": [tool("a"), tool("a")] })), "must be unique"),
        (messages(json!({ "tool_choice": { "type": "auto" } })), "only be specified while providing tools"),
        (messages(json!({ "thinking": { "type": "adaptive" }, "temperature": 0.5 })), "only be set to 1"),
        (messages(json!({ "output_config": { "effort": "much" } })), "effort"),
        (again(&[hello.clone(), said("Again")]), "must alternate"),
        (again(std::slice::from_ref(&answer)), "must alternate"),
        (again(&[hello.clone(), assistant.clone()]), "immediately after: a, b"),
        (again(&[hello.clone(), assistant.clone(), results(&[result("a")])]), "immediately after: b"),
        (
            again(&[hello.clone(), assistant.clone(), results(&[result("a"), text("so"), result("b")])]),
            "come first",
        ),
        (again(&[results(&[result("a")])]), "unexpected `tool_use_id`"),
        (
            again(&[hello.clone(), json!({ "role": "assistant", "content": [forged] }), said("On.")]),
            "Invalid `signature`",
        ),
        (again(&[results(&[text(" ")])]), "non-whitespace"),
        (again(&[results(&many)]), "Found 5"),
        (again(&[hello.clone(), json!({ "role": "assistant", "content": [text("I")] })]), "prefill"),
        (messages(json!({ "messages": [said("[[fake:nobody]]")] })), "no script is registered for 'nobody'"),
    ] {
        let error = post(&llm, "/v1/messages", &headers, &body).await.expect(400).await.text().await;
        assert!(error.contains(complaint) && error.contains("invalid_request_error"), "{complaint}: {error}");
    }
    post(&llm, "/v1/messages", &[KEY, VERSION], &messages(json!({}))).await.expect(401).await;
    post(&llm, "/v1/messages", &[OTHER_KEY], &messages(json!({}))).await.expect(400).await;
}

/// The events of the first response.
async fn begun(llm: &FakeLlm) -> Vec<Value> {
    let asked = json!({ "include": ["reasoning.encrypted_content"] });
    events(&post(llm, "/v1/responses", &[KEY], &responses(asked)).await.expect(200).await.text().await)
}

/// The input of the next request: the message, the items of these events, and a result for each call.
fn input(events: &[Value]) -> Vec<Value> {
    let output = events[events.len() - 1]["response"]["output"].as_array().expect("items");
    let result =
        |call: &Value| json!({ "type": "function_call_output", "call_id": call["call_id"], "output": "1" });
    let results = [result(&output[2]), result(&output[3])];
    [vec![said("Hi [[fake:m]]")], output.clone(), results.to_vec()].concat()
}

/// A history as a request of Responses.
fn goes_on(input: &[Value]) -> Value {
    responses(json!({ "input": input }))
}

#[tokio::test]
async fn a_response_streams_as_the_real_api_streams_it() {
    let llm = scripted([work(), deltas(["4", "2"]).finishing("length"), deltas(["x"]).overloaded()]).await;
    let events = begun(&llm).await;
    let call = [
        "response.output_item.added",
        "response.function_call_arguments.delta",
        "response.function_call_arguments.done",
        "response.output_item.done",
    ];
    let expected = [
        &["response.created", "response.in_progress"][..],
        &["response.output_item.added", "response.reasoning_text.delta", "response.reasoning_text.done"],
        &["response.output_item.done", "response.output_item.added", "response.content_part.added"],
        &["response.output_text.delta", "response.output_text.done", "response.content_part.done"],
        &["response.output_item.done"],
        &call.repeat(2),
        &["response.completed"],
    ];
    assert_eq!(kinds(&events), expected.concat());
    let numbers: Vec<u64> = events.iter().filter_map(|event| event["sequence_number"].as_u64()).collect();
    assert_eq!(numbers, (0..events.len() as u64).collect::<Vec<_>>());
    let done = &events[events.len() - 1]["response"];
    assert_eq!(done["usage"]["input_tokens_details"]["cached_tokens"], 4);
    let output = done["output"].as_array().expect("items");
    assert_eq!(output.len(), 4);
    assert_eq!(output[0]["encrypted_content"], seal("Hm."));

    let whole = input(&events);
    let reply = post(&llm, "/v1/responses", &[KEY], &goes_on(&whole)).await.text().await;
    assert!(reply.contains("response.incomplete") && reply.contains(r#""delta":"4""#), "{reply}");
    let later = goes_on(&[whole, vec![answered(), said("On.")]].concat());
    let reply = post(&llm, "/v1/responses", &[KEY], &later).await.text().await;
    assert!(reply.contains("response.failed") && !reply.contains("response.completed"), "{reply}");
}

#[tokio::test]
async fn responses_that_the_real_api_refuses_are_refused() {
    let llm = scripted([work()]).await;
    let whole = input(&begun(&llm).await);
    let without = |index: usize| {
        let mut input = whole.clone();
        input.remove(index);
        input
    };
    let changed = |index: usize, name: &str, value: Value| {
        let mut input = whole.clone();
        input[index][name] = value;
        input
    };
    let part = |role: &str, kind: &str| json!([{ "role": role, "content": [{ "type": kind, "text": "x" }] }]);
    let tool = |members: Value| {
        let parameters = json!({ "type": "object", "properties": { "a": {} } });
        let tool = json!({ "type": "function", "name": "f", "parameters": parameters, "strict": false });
        responses(json!({ "tools": [with(tool, &members)] }))
    };
    for (body, complaint) in [
        (responses(json!({ "max_tokens": 5 })), "Unknown parameter: 'max_tokens'"),
        (responses(json!({ "max_output_tokens": 15 })), ">= 16"),
        (responses(json!({ "store": null })), "'store' false"),
        (responses(json!({ "tool_choice": "auto" })), "'tool_choice' is only allowed"),
        (tool(json!({ "strict": null })), "'required' is missing"),
        (tool(json!({ "function": {} })), "Unknown parameter: 'tools[0].function'"),
        (responses(json!({ "input": part("user", "output_text") })), "Supported values are"),
        (responses(json!({ "input": part("assistant", "input_text") })), "Supported values are"),
        (goes_on(&without(1)), "without its required 'reasoning' item"),
        (goes_on(&without(5)), "No tool output found"),
        (goes_on(&without(3)), "No tool call found"),
        (goes_on(&whole[..2]), "required following item"),
        (goes_on(&changed(1, "encrypted_content", Value::Null)), "not persisted"),
        (goes_on(&changed(1, "encrypted_content", json!(seal("Hm!")))), "could not be verified"),
        (goes_on(&changed(3, "id", json!("call_1"))), "begins with 'fc'"),
    ] {
        let error = post(&llm, "/v1/responses", &[KEY], &body).await.expect(400).await.text().await;
        assert!(error.contains(complaint), "{complaint}: {error}");
    }
    post(&llm, "/v1/responses", &[], &responses(json!({}))).await.expect(401).await;
}

const GEMINI: &str = "/v1beta/models/m:streamGenerateContent?alt=sse";

fn gemini(contents: Value, members: Value) -> Value {
    with(json!({ "contents": contents }), &members)
}

/// The events of a stream without names.
fn unnamed(stream: &str) -> Vec<Value> {
    let data = stream.split("\r\n\r\n").filter_map(|block| block.strip_prefix("data: "));
    data.map(|data| serde_json::from_str(data).expect("JSON")).collect()
}

#[tokio::test]
async fn gemini_streams_and_refuses_as_the_real_api_does() {
    let both = calls([("f", json!({ "a": 1 })), ("f", json!({}))]).thinking("Hm.").saying("I look.");
    let llm =
        scripted([both.using(10, 4, 9), deltas(["x"]).finishing("length"), deltas(["x"]).overloaded()]).await;
    let said = |role: &str, parts: Value| json!({ "role": role, "parts": parts });
    let asked = said("user", json!([{ "text": "Hi [[fake:m]]" }]));
    let begin = gemini(json!([asked]), json!({}));
    let events = unnamed(&post(&llm, GEMINI, &[GOOGLE_KEY], &begin).await.text().await);
    let part = |event: &Value| event["candidates"][0]["content"]["parts"].clone();
    assert_eq!(part(&events[0]), json!([{ "text": "Hm.", "thought": true }]));
    assert_eq!(part(&events[1]), json!([{ "text": "I look." }]));
    let parts = part(&events[2]);
    assert!(parts[0]["thoughtSignature"].is_string() && parts[1]["thoughtSignature"].is_null());
    assert_eq!(events[3]["candidates"][0]["finishReason"], "STOP");
    let usage = &events[3]["usageMetadata"];
    assert_eq!((&usage["candidatesTokenCount"], &usage["thoughtsTokenCount"]), (&json!(5), &json!(4)));

    let result = |number: usize| json!({ "functionResponse": { "id": parts[number]["functionCall"]["id"], "name": "f", "response": {} } });
    let results = said("user", json!([result(0), result(1)]));
    let whole = json!([asked, said("model", parts.clone()), results]);
    let later = gemini(whole.clone(), json!({}));
    let reply = post(&llm, GEMINI, &[GOOGLE_KEY], &later).await.text().await;
    assert!(reply.contains(r#""finishReason":"MAX_TOKENS""#), "{reply}");
    let mut last = whole.clone();
    let list = last.as_array_mut().expect("a list");
    list.extend([said("model", json!([{ "text": "On." }])), said("user", json!([{ "text": "And?" }]))]);
    let reply = post(&llm, GEMINI, &[GOOGLE_KEY], &gemini(last, json!({}))).await.text().await;
    assert!(reply.contains("UNAVAILABLE") && !reply.contains("STOP"), "{reply}");

    let changed = |pointer: &str, value: Value| {
        let mut contents = whole.clone();
        *contents.pointer_mut(pointer).expect("a member") = value;
        gemini(contents, json!({}))
    };
    let declared = |name: &str| json!({ "functionDeclarations": [{ "name": name, "parametersJsonSchema": { "type": "object" } }] });
    for (body, complaint) in [
        (gemini(json!([]), json!({})), "contents is not specified"),
        (gemini(json!([asked]), json!({ "model": "m" })), "Unknown name"),
        (gemini(json!([asked]), json!({ "tools": [declared("a b")] })), "Invalid function name"),
        (gemini(json!([asked]), json!({ "tools": [declared("f"), declared("f")] })), "Duplicate"),
        (changed("/1/parts/0/thoughtSignature", Value::Null), "missing a thought_signature"),
        (changed("/1/parts/0/thoughtSignature", json!("x")), "Corrupted"),
        (changed("/1/parts/0/functionCall/args", json!({ "a": 2 })), "Corrupted"),
        (changed("/2/parts", json!([result(0)])), "number of function response parts"),
        (changed("/2/parts", json!([result(1), result(0)])), "number of function response parts"),
        (changed("/2/parts/0/functionResponse/response", json!("x")), "Struct"),
        (changed("/0/parts", json!([])), "must not be empty"),
        (changed("/0/parts/0/text", json!("")), "must have one initialized field"),
        (changed("/0/role", json!("assistant")), "valid role"),
    ] {
        let error = post(&llm, GEMINI, &[GOOGLE_KEY], &body).await.expect(400).await.text().await;
        assert!(error.contains(complaint), "{complaint}: {error}");
    }
    post(&llm, GEMINI, &[], &begin).await.expect(403).await;
    post(&llm, "/v1beta/models/m:streamGenerateContent", &[GOOGLE_KEY], &begin).await.expect(404).await;
}
