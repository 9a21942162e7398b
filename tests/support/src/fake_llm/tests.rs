//! Tests of the fake LLM over its wire: the end-to-end tests rely on these facts when they blame the service.

use crate::fake_llm::{Barrier, Refusal};
use crate::http::{self, Reply};
use crate::{Cut, FakeLlm, Outcome, Script, Step, Value, call, calls, deltas, json, status, text};

async fn scripted(steps: impl IntoIterator<Item = Step>) -> FakeLlm {
    let llm = FakeLlm::start().await;
    llm.script("m", Script { steps: steps.into_iter().collect(), repeat: false }).await;
    llm
}

async fn ask(llm: &FakeLlm, messages: Value) -> Reply {
    let body = json!({
        "model": "fake-1", "stream": true, "stream_options": { "include_usage": true }, "messages": messages,
    });
    let url = format!("{}/v1/chat/completions", llm.url());
    http::send("POST", &url, &[("authorization", "Bearer key")], body.to_string()).await
}

fn user() -> Value {
    json!({ "role": "user", "content": "Hello [[fake:m]]" })
}

/// The `data:` lines of a stream.
fn data(stream: &str) -> Vec<Value> {
    let lines = stream.split("\n\n").filter(|block| !block.is_empty());
    let lines = lines.map(|block| block.strip_prefix("data: ").expect("only data"));
    lines.map(|data| serde_json::from_str(data).unwrap_or(json!(data))).collect()
}

#[tokio::test]
async fn a_text_streams_as_the_real_api_streams_it() {
    let llm = scripted([deltas(["4", "2"]).using(7, 3, 2)]).await;
    let stream = ask(&llm, json!([user()])).await.expect(200).await.text().await;
    let chunks = data(&stream);
    let contents: Vec<&Value> = chunks.iter().map(|chunk| &chunk["choices"][0]["delta"]["content"]).collect();
    let null = Value::Null;
    assert_eq!(contents, [&json!(""), &json!("4"), &json!("2"), &null, &null, &null]);
    assert_eq!(chunks[3]["choices"][0]["finish_reason"], "stop");
    assert_eq!(chunks[4]["choices"], json!([]));
    assert_eq!(chunks[4]["usage"]["prompt_tokens"], 7);
    assert_eq!(chunks[4]["usage"]["prompt_tokens_details"]["cached_tokens"], 3);
    assert_eq!(chunks[5], "[DONE]");
    let record = &llm.wait_for("m", 1, Outcome::Finished).await.requests[0];
    assert_eq!((record.headers["authorization"].as_str(), record.step), ("Bearer key", 0));
}

#[tokio::test]
async fn calls_come_in_pieces_by_index_and_the_step_follows_from_the_history() {
    let (first, second) = (json!({ "expression": "1+1" }), json!({ "key": "ä" }));
    let llm =
        scripted([calls([("calculate", first.clone()), ("memory_read", second.clone())]), text("2")]).await;
    let chunks = data(&ask(&llm, json!([user()])).await.text().await);
    let mut arguments = [String::new(), String::new()];
    let mut ids = Vec::new();
    for delta in chunks.iter().filter_map(|chunk| chunk["choices"][0]["delta"]["tool_calls"].get(0)) {
        arguments[delta["index"].as_u64().unwrap() as usize] +=
            delta["function"]["arguments"].as_str().unwrap();
        ids.extend(delta["id"].as_str().map(str::to_owned));
    }
    assert_eq!(arguments, [first.to_string(), second.to_string()]);
    assert_eq!(ids, ["call_m_0_0", "call_m_0_1"]);

    let call = |index: usize| json!({ "id": ids[index], "type": "function", "function": { "name": "t", "arguments": "{}" } });
    let result = |index: usize| json!({ "role": "tool", "tool_call_id": ids[index], "content": "1" });
    let assistant = json!({ "role": "assistant", "content": null, "tool_calls": [call(0), call(1)] });
    let whole = json!([user(), assistant, result(0), result(1)]);
    assert!(ask(&llm, whole).await.text().await.contains(r#""content":"2""#));

    for (history, complaint) in [
        (json!([user(), assistant, result(0)]), "did not have response messages: call_m_0_1"),
        (json!([user(), assistant, result(0), user()]), "did not have response messages: call_m_0_1"),
        (json!([user(), result(0)]), "must be a response to a preceding message"),
        (json!([user(), assistant, result(0), result(0)]), "must be a response to a preceding message"),
        (json!([{ "role": "assistant", "content": null }]), "expected a string"),
        (json!([]), "too short"),
        (json!([{ "role": "user", "content": "[[fake:nobody]]" }]), "no script is registered for 'nobody'"),
    ] {
        let error = ask(&llm, history).await.expect(400).await.text().await;
        assert!(error.contains(complaint), "{error}");
    }
    let refused = llm.requests("m").await.requests;
    assert_eq!(refused.iter().filter(|record| record.outcome == Outcome::Refused).count(), 4);
}

#[tokio::test]
async fn a_question_about_the_words_of_others_plays_the_script_of_its_last_marker() {
    let llm = scripted([text("The last one.")]).await;
    for beginning in ["conversation", "verified_step", "step_of_results"] {
        let question = format!("<{beginning}>\nWords [[fake:other]]\n</{beginning}>\nThe call [[fake:m]]");
        let stream = ask(&llm, json!([{ "role": "user", "content": question }])).await.expect(200).await;
        assert!(stream.text().await.contains("The last one."), "{beginning}");
    }
    // The step to plan has the marker; the actions after it are data of the service.
    let plan = "<planned_step>\nMeasure [[fake:m]]\n</planned_step>\n[[fake:other]]";
    let stream = ask(&llm, json!([{ "role": "user", "content": plan }])).await.expect(200).await;
    assert!(stream.text().await.contains("The last one."));
}

#[tokio::test]
async fn without_a_key_there_is_no_answer() {
    let llm = scripted([text("4")]).await;
    let url = format!("{}/v1/chat/completions", llm.url());
    http::send("POST", &url, &[], "{}").await.expect(401).await;
}

#[tokio::test]
async fn an_exhausted_script_says_so_and_an_endless_one_goes_on() {
    let llm = scripted([]).await;
    assert!(ask(&llm, json!([user()])).await.text().await.contains("IS EXHAUSTED"));

    llm.script("m", Script { steps: vec![call("current_time", json!({}))], repeat: true }).await;
    let said = json!({ "role": "assistant", "content": "so" });
    assert!(ask(&llm, json!([user(), said, said])).await.text().await.contains("call_m_2_0"));
}

#[tokio::test]
async fn a_status_can_pass_after_some_times() {
    let headers = [("retry-after".to_owned(), "1".to_owned())].into();
    let refusal = Refusal { code: 429, body: None, bytes: None, headers, times: Some(1) };
    let llm = scripted([Step { status: Some(refusal), ..text("4") }]).await;
    let reply = ask(&llm, json!([user()])).await.expect(429).await;
    assert_eq!(reply.header("retry-after"), "1");
    ask(&llm, json!([user()])).await.expect(200).await;

    let llm = scripted([text("4").answering("data: {}\n\n", 1)]).await;
    assert_eq!(ask(&llm, json!([user()])).await.expect(200).await.text().await, "data: {}\n\n");
    assert!(ask(&llm, json!([user()])).await.expect(200).await.text().await.contains("[DONE]"));

    let llm = scripted([status(500)]).await;
    ask(&llm, json!([user()])).await.expect(500).await;
    ask(&llm, json!([user()])).await.expect(500).await;
}

#[tokio::test]
async fn a_barrier_holds_until_all_are_there_and_the_peak_is_counted() {
    let llm = scripted([text("4").meeting("gate", 3)]).await;
    let (a, b) = (ask(&llm, json!([user()])).await, ask(&llm, json!([user()])).await);
    let waiting = llm.wait("m", 2).await;
    assert!(waiting.requests.iter().all(|record| record.outcome == Outcome::Running));
    let c = ask(&llm, json!([user()])).await;
    for reply in [a, b, c] {
        assert!(reply.text().await.ends_with("[DONE]\n\n"));
    }
    // The gate stays open.
    ask(&llm, json!([user()])).await.text().await;
    let all = llm.wait_for("m", 4, Outcome::Finished).await;
    assert_eq!(all.peak, 3);
    let ended = all.requests[..3].iter().filter_map(|record| record.ended).max().unwrap();
    assert!(ended < all.requests[3].arrived);
}

#[tokio::test]
async fn a_test_can_hold_a_reply_between_two_deltas() {
    let llm = scripted([deltas(["one", "two"]).waiting("gate", 1)]).await;
    let mut reply = ask(&llm, json!([user()])).await;
    let mut seen = String::new();
    while !seen.contains("one") {
        seen += std::str::from_utf8(&reply.read().await.unwrap().unwrap()).unwrap();
    }
    assert!(!seen.contains("two"));
    llm.release("gate").await;
    assert!(reply.text().await.contains("two"));
}

#[tokio::test]
async fn a_test_can_hold_a_refusal() {
    let llm = scripted([status(401).waiting("gate", 0)]).await;
    let (reply, ()) = tokio::join!(ask(&llm, json!([user()])), async {
        let waiting = llm.wait("m", 1).await;
        assert_eq!(waiting.requests[0].outcome, Outcome::Running);
        llm.release("gate").await;
    });
    reply.expect(401).await;
}

#[tokio::test]
async fn a_client_that_goes_away_is_noticed_at_once_in_each_state_of_the_reply() {
    let barrier = Barrier { name: "never".into(), count: None, after: 0 };
    for step in [deltas(["one"]).hanging(), Step { barrier: vec![barrier], ..text("4") }] {
        let llm = scripted([step]).await;
        let reply = ask(&llm, json!([user()])).await;
        drop(reply);
        llm.wait_for("m", 1, Outcome::Aborted).await;
    }
}

#[tokio::test]
async fn a_stream_can_be_cut_in_two_ways() {
    let llm = scripted([text("half").cut(Cut::Clean)]).await;
    let stream = ask(&llm, json!([user()])).await.text().await;
    assert!(stream.contains("half") && !stream.contains("[DONE]"));

    let llm = scripted([text("half").cut(Cut::Reset)]).await;
    let mut reply = ask(&llm, json!([user()])).await;
    let broken = loop {
        match reply.read().await {
            Ok(Some(_)) => {}
            end => break end,
        }
    };
    assert!(broken.is_err());
    assert_eq!(llm.requests("m").await.requests[0].outcome, Outcome::Cut);
}
