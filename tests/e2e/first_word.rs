//! Failures before the first word of a reply, in an answer of status 200: they are refusals. Issue 43.
//!
//! N-171 N-172 B-007 B-033 B-035

use espalier_test_support::case::first;
use espalier_test_support::stored::rows;
use espalier_test_support::{Case, Event, Step, Value, json, story, text};

const ROLE: &str =
    "data: {\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\"}}]}\n\n";
const BUSY: &str = "data: {\"error\":{\"message\":\"Provider returned error\",\"code\":502}}\n\n";
const STOP: &str = "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n";
const USED: &str = "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":7,\"completion_tokens\":0}}\n\n";
const DONE: &str = "data: [DONE]\n\n";

/// A turn on these models whose root says `step`, and the models that were asked.
async fn play(named: &str, step: Step) -> (Vec<Event>, Vec<String>) {
    let case = Case::new().await;
    case.script("", [step]).await;
    let mut body = case.says("Try");
    body["model"] = json!(named);
    let events = case.chat_with(&body).await;
    let requests = case.requests("").await.requests;
    // Gemini has the model in the path.
    let model = |body: &Value| body["model"].as_str().unwrap_or_default().to_owned();
    (events, requests.iter().map(|request| model(&request.body)).collect())
}

#[tokio::test]
async fn after_each_kind_of_failure_another_model_answers() {
    let failed = STOP.replace("stop", "error");
    let malformed = STOP.replace("stop", "function_call_filter: MALFORMED_FUNCTION_CALL");
    let kinds = [
        ("an error", BUSY.to_owned(), "provider_overloaded"),
        ("an error behind comments", [": PROCESSING\n\n", BUSY, DONE].concat(), "provider_overloaded"),
        ("an error behind data", ["data: : PROCESSING\n\n", BUSY].concat(), "provider_overloaded"),
        ("an error behind a role", [ROLE, BUSY, DONE].concat(), "provider_overloaded"),
        (
            "a bare error",
            "data: {\"object\":\"error\",\"code\":429}\n\n".to_owned() + DONE,
            "provider_rate_limited",
        ),
        ("JSON", "{\n  \"error\": {\"code\": \"503\"}\n}\n".to_owned(), "provider_overloaded"),
        ("HTML", "<html><body>Bad gateway</body></html>".to_owned(), "provider_protocol"),
        ("a cut", ROLE.to_owned(), "provider_protocol"),
        ("a chunk that cannot be read", "data: {\"choices\":\n\n".to_owned(), "provider_protocol"),
        ("a reply that failed", [ROLE, &failed, DONE].concat(), "provider_overloaded"),
        ("a malformed call", [&*malformed, DONE].concat(), "provider_overloaded"),
    ];
    let turns = kinds.iter().map(|(_, body, _)| play("secondary", text("Here.").answering(body, 2)));
    let turns = futures::future::join_all(turns).await;
    for ((what, _, code), (events, models)) in kinds.iter().zip(turns) {
        assert_eq!(
            story(&events),
            [
                "session message:1 message:2 openai fake-2",
                "agent_state thread thinking",
                "model:1 start fake-2",
                r#"part:1 "Here.""#,
                "model:1 end stop in=10 cached=0 out=5",
                "cost_summary llm=3 tools=0 subtasks=0 in=10 cached=0 out=5 usd=null; \
                 fake-2: llm=2 in=0 cached=0 out=0 usd=null fake-3: llm=1 in=10 cached=0 out=5 usd=null",
                "done message:2 stop",
            ],
            "{what}"
        );
        assert_eq!(models, ["fake-2", "fake-2", "fake-3"], "{what}");
        let failures = rows(&events, "error_log", "component, stage, code").await;
        let failure = json!({ "component": "provider", "stage": "first_byte", "code": code });
        assert_eq!(failures, [failure.clone(), failure], "{what}");
        let calls = rows(&events, "llm_usage", "model, retries, outcome").await;
        assert_eq!(calls, [json!({ "model": "fake-3", "retries": 2, "outcome": "ok" })], "{what}");
    }
}

#[tokio::test]
async fn an_error_about_the_request_or_the_account_is_not_repeated() {
    let error = |code: u16| format!("data: {{\"error\":{{\"message\":\"no\",\"code\":{code}}}}}\n\n");
    let (events, models) = play("secondary", text("Here.").answering(&error(400), 9)).await;
    assert_eq!(first(&events, "error").text("code"), "provider_bad_request");
    assert_eq!(models, ["fake-2"]);
    let (events, models) = play("secondary", text("Here.").answering(&error(401), 1)).await;
    assert_eq!(first(&events, "done").text("finish_reason"), "stop");
    assert_eq!(models, ["fake-2", "fake-3"]);
}

#[tokio::test]
async fn a_provider_may_ask_for_a_pause_in_its_stream() {
    let asks =
        "data: {\"error\":{\"code\":\"rate_limit_exceeded\",\"message\":\"Please try again in 1.2s.\"}}\n\n";
    let (events, _) = play("primary", text("Here.").answering(asks, 1)).await;
    assert_eq!(first(&events, "done").text("finish_reason"), "stop");
    let row = &rows(&events, "llm_usage", "first_byte_ms, retries").await[0];
    assert_eq!(row["retries"], 1);
    assert!(row["first_byte_ms"].as_u64() >= Some(1_200), "{row}");
}

#[tokio::test]
async fn each_wire_has_its_own_failures() {
    let malformed = json!({ "candidates": [{ "content": {}, "finishReason": "MALFORMED_FUNCTION_CALL" }] });
    let overloaded = json!({ "type": "error", "error": { "type": "overloaded_error", "message": "no" } });
    let limited = json!({ "code": "rate_limit_exceeded", "message": "Please try again in 20ms." });
    let failed = json!({ "type": "response.failed", "response": { "status": "failed", "error": limited } });
    for (model, event) in
        [("gemini:fake-7", malformed), ("anthropic:fake-6", overloaded), ("openai-responses:fake-5", failed)]
    {
        let step = text("Here.").answering(&format!("data: {event}\n\n"), 1);
        let (events, models) = play(model, step).await;
        assert_eq!(first(&events, "done").text("finish_reason"), "stop", "{model}");
        assert_eq!(models.len(), 2, "{model}");
    }
}

#[tokio::test]
async fn an_empty_reply_is_repeated_once_and_both_are_paid() {
    let empty = [ROLE, STOP, USED, DONE].concat();
    let turn = |text: &str, cost: &str| {
        let mut turn = vec![
            "session message:1 message:2 openai fake-1".to_owned(),
            "agent_state thread thinking".to_owned(),
            "model:1 start fake-1".to_owned(),
        ];
        turn.extend(Some(text.to_owned()).filter(|text| !text.is_empty()));
        turn.push(format!("model:1 end stop {cost}"));
        turn.push(format!(
            "cost_summary llm=2 tools=0 subtasks=0 {cost} usd=null; fake-1: llm=2 {cost} usd=null"
        ));
        turn.push("done message:2 stop".to_owned());
        turn
    };
    let (events, _) = play("primary", text("Here.").answering(&empty, 1)).await;
    assert_eq!(story(&events), turn(r#"part:1 "Here.""#, "in=17 cached=0 out=5"));
    let failures = rows(&events, "error_log", "code").await;
    assert_eq!(failures, [json!({ "code": "provider_protocol" })]);
    // Then it is the answer.
    let (events, models) = play("secondary", text("Here.").answering(&empty, 9)).await;
    let twice = turn("", "in=14 cached=0 out=0");
    assert_eq!(story(&events), twice.iter().map(|line| line.replace("fake-1", "fake-2")).collect::<Vec<_>>());
    assert_eq!(models, ["fake-2", "fake-2"]);
}
