//! Models: the offer of a deployment, and the model that answers.
//!
//! N-146 N-170 N-171 N-172 B-007 B-033 B-034 B-035 B-107 B-109

use espalier_test_support::case::first;
use espalier_test_support::client::assert_problem;
use espalier_test_support::stored::rows;
use espalier_test_support::{Case, Client, Event, Step, Value, call, canary, env, json, status, story, text};

#[tokio::test]
async fn the_models_of_a_deployment_are_listed() {
    let list = Client::anonymous().await.read("/api/models").await;
    let model = |provider: &str, name: &str| {
        json!({
            "id": format!("{provider}:{name}"), "provider": provider, "model": name,
            "capabilities": {
                "tools": name != "fake-4", "parallel_tool_calls": true, "reasoning": name == "fake-5",
                "structured_output": false, "vision": name == "fake-3",
            },
            "price": null,
        })
    };
    let expected = json!({
        "roles": { "primary": ["openai:fake-1"], "secondary": ["openai:fake-2", "other:fake-3"] },
        "models": [
            model("openai", "fake-1"), model("openai", "fake-2"), model("other", "fake-3"),
            model("other", "fake-4"), model("openai-responses", "fake-5"), model("anthropic", "fake-6"),
            model("gemini", "fake-7"),
        ],
    });
    assert_eq!(list, expected);

    let demo = Client::anonymous_at(&env("ESPALIER_DEMO_URL")).await.read("/api/models").await;
    assert_eq!(demo["roles"], json!({ "primary": ["demo:demo"] }));
    assert_eq!(demo["models"][0]["price"], json!({ "input": 0.0, "cached": 0.0, "output": 0.0 }));

    let nobody = Client::nobody_at(&env("ESPALIER_URL"));
    assert_problem(nobody.get("/api/models").await, 401, "unauthenticated", None).await;
}

#[tokio::test]
async fn a_request_may_name_a_role_or_a_model_of_the_list() {
    for (named, provider, model) in [
        (Value::Null, "openai", "fake-1"),
        (json!("primary"), "openai", "fake-1"),
        (json!("secondary"), "openai", "fake-2"),
        (json!("other:fake-3"), "other", "fake-3"),
        (json!("other:fake-4"), "other", "fake-4"),
    ] {
        let case = Case::new().await;
        case.script("", [text("Here.")]).await;
        let mut body = case.says("Who are you?");
        body["model"] = named;
        let events = case.chat_with(&body).await;
        let session = first(&events, "session");
        assert_eq!((session.text("provider"), session.text("model")), (provider, model));
        let requests = case.requests("").await.requests;
        assert_eq!(requests.len(), 1);
        assert_eq!(requests[0].body["model"], model);
        let key = if provider == "other" { canary::OTHER_API_KEY } else { canary::LLM_API_KEY };
        assert_eq!(requests[0].headers["authorization"], format!("Bearer {key}"));
        assert_eq!(requests[0].tools().is_empty(), model == "fake-4", "N-170");
    }
}

#[tokio::test]
async fn any_other_model_is_refused_and_starts_nothing() {
    let case = Case::new().await;
    for named in ["", "fake-1", "speed", "openai:fake-9", "other:fake-1", "demo:demo", " primary"] {
        let mut body = case.says("Hello");
        body["model"] = json!(named);
        let reply = case.client.post("/api/chat", &body).await;
        assert_problem(reply, 400, "invalid_request", Some("model")).await;
    }
    assert!(case.all_requests().await.requests.is_empty());
    assert_eq!(case.client.read("/api/threads").await["threads"], json!([]));
}

const USAGE: &str = "provider, model, operation_type, context_type, profile, execution_mode, input_tokens, \
    cached_tokens, output_tokens, cost_usd, first_byte_ms IS NOT NULL AS answered, \
    first_byte_ms <= duration_ms AS in_order, retries, outcome";
const FAILURES: &str =
    "component, stage, tool_name, code, context_type, execution_mode, thread_id IS NOT NULL AS threaded";

fn usage(provider: &str, model: &str, retries: u32, outcome: &str) -> Value {
    let answered = outcome == "ok";
    let (input, output) = if answered { (10, 5) } else { (0, 0) };
    json!({
        "provider": provider, "model": model, "operation_type": "chat", "context_type": "thread",
        "profile": if provider == "other" { "secondary" } else { "primary" }, "execution_mode": "agent", "input_tokens": input, "cached_tokens": 0,
        "output_tokens": output, "cost_usd": if answered { Value::Null } else { json!(0) },
        "answered": u8::from(answered), "in_order": if answered { json!(1) } else { Value::Null },
        "retries": retries, "outcome": outcome,
    })
}

fn failure(code: &str) -> Value {
    json!({
        "component": "provider", "stage": "first_byte", "tool_name": null, "code": code,
        "context_type": "thread", "execution_mode": "agent", "threaded": 1,
    })
}

/// A turn on this role whose root says `step`.
async fn play(named: &str, step: Step) -> (Case, Vec<Event>) {
    let case = Case::new().await;
    case.script("", [step]).await;
    let mut body = case.says("Try");
    body["model"] = json!(named);
    let events = case.chat_with(&body).await;
    (case, events)
}

// B-007 B-033 B-034 B-035 B-109: the rows have each request, and each failure has its own row.
#[tokio::test]
async fn a_request_that_fails_is_made_again() {
    let (case, events) = play("primary", text("Here.").refusing(503, 2)).await;
    assert_eq!(
        story(&events),
        [
            "session message:1 message:2 openai fake-1",
            "agent_state thread thinking",
            "model:1 start fake-1",
            r#"part:1 "Here.""#,
            "model:1 end stop in=10 cached=0 out=5",
            "cost_summary llm=3 tools=0 subtasks=0 in=10 cached=0 out=5 usd=null; \
             fake-1: llm=3 in=10 cached=0 out=5 usd=null",
            "done message:2 stop",
        ]
    );
    assert_eq!(case.requests("").await.requests.len(), 3);
    assert_eq!(rows(&events, "llm_usage", USAGE).await, [usage("openai", "fake-1", 2, "ok")]);
    assert_eq!(rows(&events, "error_log", FAILURES).await, [(); 2].map(|()| failure("provider_overloaded")));
}

#[tokio::test]
async fn a_provider_that_asks_for_a_pause_gets_it_and_one_that_asks_for_too_much_is_given_up() {
    let step = text("Here.").refusing(429, 1).with_header("retry-after", "1");
    let (_, events) = play("primary", step).await;
    assert_eq!(first(&events, "done").text("finish_reason"), "stop");
    let row = &rows(&events, "llm_usage", "first_byte_ms, retries").await[0];
    assert_eq!(row["retries"], 1);
    assert!(row["first_byte_ms"].as_u64() >= Some(1_000), "{row}");

    // The turn has a minute, so that another one would be too long.
    let (case, events) = play("primary", status(429).with_header("retry-after-ms", "60000")).await;
    assert_eq!(first(&events, "error").text("code"), "provider_rate_limited");
    assert_eq!(case.requests("").await.requests.len(), 1);
}

// N-171: this provider gets the reply of another one in neutral words.
#[tokio::test]
async fn another_model_stands_in_and_is_named_and_paid() {
    let (case, events) = play("secondary", text("Here.").refusing(401, 1)).await;
    let models: Vec<&str> = events
        .iter()
        .filter(|event| event.kind == "model_call_update")
        .map(|event| event.text("model"))
        .collect();
    assert_eq!(models, ["fake-2", "fake-3"]);
    let cost = &first(&events, "cost_summary").data["by_model"];
    assert_eq!((&cost["fake-2"]["llm_calls"], &cost["fake-3"]["llm_calls"]), (&json!(1), &json!(1)));
    assert_eq!((&cost["fake-2"]["input_tokens"], &cost["fake-3"]["input_tokens"]), (&json!(0), &json!(10)));
    let requests = case.requests("").await.requests;
    let sent: Vec<(&Value, &str)> = requests
        .iter()
        .map(|request| (&request.body["model"], request.headers["authorization"].as_str()))
        .collect();
    let keys = [canary::LLM_API_KEY, canary::OTHER_API_KEY].map(|key| format!("Bearer {key}"));
    assert_eq!(sent, [(&json!("fake-2"), &*keys[0]), (&json!("fake-3"), &*keys[1])]);
    assert_eq!(rows(&events, "llm_usage", USAGE).await, [usage("other", "fake-3", 1, "ok")]);
    assert_eq!(rows(&events, "error_log", FAILURES).await, [failure("provider_auth")]);

    // The thread remembers the model: its next turn begins with the one that answered.
    case.script("next", [text("Again.")]).await;
    let thread = first(&events, "session").text("thread_id");
    let body = json!({ "thread_id": thread, "content": case.said("And now?", "next"), "model": "secondary" });
    let next = case.chat_with(&body).await;
    let requests = case.requests("next").await.requests;
    let asked: Vec<&Value> = requests.iter().map(|request| &request.body["model"]).collect();
    assert_eq!(asked, [&json!("fake-3")]);
    assert_eq!(first(&next, "cost_summary").data["llm_calls"], 1);
}

// Issue 43: the prompt as it was reserved, and the bytes that came.
#[tokio::test]
async fn the_usage_of_a_provider_that_counts_nothing_is_estimated() {
    let case = Case::new().await;
    let sum = call("calculate", json!({ "expression": "2+3" }));
    case.script("", [sum.uncounted(), text("It is 5.")]).await;
    let events = case.chat("Add").await;
    let is_end = |event: &&Event| event.kind == "model_call_update" && event.text("status") == "end";
    let usages: Vec<&Value> = events.iter().filter(is_end).map(|event| &event.data["usage"]).collect();
    let marks: Vec<&Value> = usages.iter().map(|usage| &usage["estimated"]).collect();
    assert_eq!(marks, [&json!(true), &Value::Null]);
    // "calculate" and its arguments have 29 bytes.
    assert_eq!(usages[0]["output_tokens"], 7);
    let prompt = usages[0]["input_tokens"].as_u64().expect("a number");
    assert!(prompt > 100, "{prompt}");
    let done = &first(&events, "done").data["usage"];
    assert_eq!((&done["estimated"], &done["input_tokens"]), (&json!(true), &json!(prompt + 10)));
    assert_eq!(done["by_model"]["fake-1"]["estimated"], true);
    let rows = rows(&events, "llm_usage", "input_tokens, output_tokens").await;
    assert_eq!(rows[0], json!({ "input_tokens": prompt, "output_tokens": 7 }));
}

#[tokio::test]
async fn an_account_without_credit_is_told_as_that() {
    let body =
        json!({ "error": { "message": "You exceeded your current quota", "type": "insufficient_quota" } });
    let (case, events) = play("primary", status(429).with_body(body)).await;
    let error = first(&events, "error");
    assert_eq!((error.text("code"), &error.data["retryable"]), ("provider_quota", &json!(false)));
    assert!(!error.text("message").contains("exceeded"), "{}", error.data);
    assert_eq!(case.requests("").await.requests.len(), 1);
    assert_eq!(rows(&events, "llm_usage", USAGE).await, [usage("openai", "fake-1", 0, "provider_quota")]);
    assert_eq!(rows(&events, "error_log", FAILURES).await, [failure("provider_quota")]);
}

// N-146
#[tokio::test]
async fn a_conversation_that_is_too_long_is_summarised_once() {
    let case = Case::new().await;
    case.script("first", [text("An answer that is long enough to be worth its place. ").saying("Well. ")])
        .await;
    let long = "word ".repeat(400);
    let events = case.chat_with(&json!({ "content": case.said(&long, "first") })).await;
    let thread = first(&events, "session").text("thread_id").to_owned();

    let too_long = json!({ "error": { "message": "too long", "code": "context_length_exceeded" } });
    case.script("", [text("Shorter.").refusing(400, 1).with_body(too_long)]).await;
    let mut body = case.says("And?");
    body["thread_id"] = json!(thread);
    let events = case.chat_with(&body).await;
    // The fake answers the question for a summary by the first marker in it: that of the first turn.
    assert_eq!(
        story(&events)[2..11],
        [
            "model:1 start fake-1",
            "model:1 end provider_context_too_long no usage",
            "agent_state thread thinking summarising_history",
            "model:2 start fake-1",
            "model:2 end stop in=10 cached=0 out=5",
            r#"history_summary "Well. An answer that is long enough to be worth its place.""#,
            "agent_state thread thinking",
            "model:3 start fake-1",
            r#"part:1 "Shorter.""#,
        ]
    );
    let roles: Vec<Vec<String>> = case
        .requests("")
        .await
        .requests
        .iter()
        .map(|request| request.roles().into_iter().map(str::to_owned).collect())
        .collect();
    assert_eq!(roles, [vec!["system", "user", "assistant", "user"], vec!["system", "user", "user"]]);
    let outcomes = rows(&events, "llm_usage", "outcome").await;
    assert_eq!(
        outcomes,
        ["provider_context_too_long", "ok", "ok"].map(|outcome| json!({ "outcome": outcome }))
    );
}

// B-035: the three tags of a failing tool.
#[tokio::test]
async fn a_tool_that_fails_leaves_a_row() {
    let case = Case::new().await;
    case.script("", [call("calculate", json!({ "expression": "1/" })), text("Sorry.")]).await;
    let events = case.chat("Divide").await;
    let expected = json!({
        "component": "tool", "stage": "run", "tool_name": "calculate", "code": "tool_failed",
        "context_type": "thread", "execution_mode": "agent", "threaded": 1,
    });
    assert_eq!(rows(&events, "error_log", FAILURES).await, [expected]);
}

#[tokio::test]
async fn a_message_is_read_as_it_was_sent() {
    let case = Case::new().await;
    let held = case.barrier("held");
    case.script("", [text("A picture.").waiting(&held, 0)]).await;
    let content = json!([
        { "type": "text", "text": case.said("What is this?", "") },
        { "type": "image", "data": "data:image/png;base64,iVBORw0KGgo=" },
        { "type": "file", "name": "a.txt", "data": "data:text/plain;base64,eA==" },
    ]);
    let body = json!({ "content": content, "model": "other:fake-3" });
    let mut stream = case.client.chat(&body).await;
    let session = stream.until(|event| event.kind == "session").await;
    let thread = session.text("thread_id").to_owned();
    let path = |id: &str| format!("/api/threads/{thread}/messages/{id}/content");
    let sent = path(session.text("user_message_id"));
    assert_eq!(case.client.read(&sent).await, json!({ "content": content }), "while the turn runs");
    case.llm.release(&held).await;
    let done = first(&case.turn(stream).await, "done").text("message_id").to_owned();
    assert_eq!(case.client.read(&sent).await, json!({ "content": content }), "when it is over");
    let listed = case.client.messages(&thread).await[0]["content"].clone();
    assert!(
        listed.as_str().is_some_and(|listed| listed.ends_with("\n\n[image/png, 1 kB]\n\n[a.txt, 1 kB]")),
        "{listed}"
    );

    // Plain text is a string, in its own turn; an answer was not sent by the user.
    case.script("plain", [text("Words.")]).await;
    let plain = case.said("Words", "plain");
    let events = case.chat_with(&json!({ "thread_id": thread, "content": plain })).await;
    let sent = path(first(&events, "session").text("user_message_id"));
    assert_eq!(case.client.read(&sent).await, json!({ "content": plain }));
    for nobody in [done, espalier_test_support::new_id()] {
        assert_problem(case.client.get(&path(&nobody)).await, 404, "message_not_found", None).await;
    }
}
