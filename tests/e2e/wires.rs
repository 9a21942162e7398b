//! The wires: the same turns over Chat Completions, Responses, Messages and Gemini's API, with the requests that each provider gets.
//!
//! The fake LLM refuses what the real servers refuse, and [`Case::turn`] fails on a refusal.
//!
//! N-048 N-049 N-169 N-171 N-172

use espalier_test_support::case::first;
use espalier_test_support::fake_llm::{seal, signature};
use espalier_test_support::stored::rows;
use espalier_test_support::{
    Case, Client, Cut, Event, Outcome, Step, Value, call, calls, canary, deltas, env, json, level, status,
    text, tree,
};

/// A provider of the main instance for each wire, and its model.
const WIRES: [(&str, &str); 4] =
    [("openai", "fake-1"), ("openai-responses", "fake-5"), ("anthropic", "fake-6"), ("gemini", "fake-7")];

/// A turn over this wire that plays these steps.
async fn play(
    case: &Case,
    (provider, model): (&str, &str),
    steps: impl IntoIterator<Item = Step>,
) -> Vec<Event> {
    case.script("", steps).await;
    let mut body = case.says("Go");
    body["model"] = json!(format!("{provider}:{model}"));
    case.chat_with(&body).await
}

/// Reasoning, text, parallel calls, a subtask, another round, an answer.
async fn play_all(case: &Case, wire: (&str, &str)) -> Vec<Event> {
    case.script("a", [deltas(["Gre", "en."]).using(30, 0, 3)]).await;
    let both = calls([("calculate", json!({ "expression": "6*7" })), case.subtask("Pears", "a")]);
    let one = call("calculate", json!({ "expression": "42+1" }));
    let steps = [
        both.thinking("Two things ").thinking("at once.").saying("I look.").using(100, 60, 20),
        one.thinking("One more.").using(200, 150, 10),
        deltas(["It is ", "43."]).using(300, 250, 5),
    ];
    play(case, wire, steps).await
}

#[tokio::test]
async fn a_turn_is_the_same_over_each_wire() {
    for wire in WIRES {
        let (case, (provider, model)) = (Case::new().await, wire);
        let events = play_all(&case, wire).await;
        assert_eq!(
            level(&events, None),
            [
                &format!("session message:1 message:2 {provider} {model}"),
                "agent_state thread thinking",
                &format!("model:1 start {model}"),
                r#"part:1 reasoning "Two things ""#,
                r#"part:1 reasoning "at once.""#,
                r#"part:2 "I look.""#,
                "model:1 end tool_calls in=100 cached=60 out=20",
                "agent_state thread thinking executing_tool:calculate",
                r#"call:1 start calculate {"expression":"6*7"}"#,
                r#"call:2 start run_subtask {"instructions":"Pears [[fake:M/a]]","title":"Pears"}"#,
                r#"call:1 end calculate "42""#,
                r#"call:2 end run_subtask "Green.""#,
                "agent_state thread thinking",
                &format!("model:2 start {model}"),
                r#"part:3 reasoning "One more.""#,
                "model:2 end tool_calls in=200 cached=150 out=10",
                "agent_state thread thinking executing_tool:calculate",
                r#"call:3 start calculate {"expression":"42+1"}"#,
                r#"call:3 end calculate "43""#,
                "agent_state thread thinking",
                &format!("model:3 start {model}"),
                r#"part:4 "It is ""#,
                r#"part:4 "43.""#,
                "model:3 end stop in=300 cached=250 out=5",
                &format!(
                    "cost_summary llm=4 tools=3 subtasks=1 in=630 cached=460 out=38 usd=null; \
                     {model}: llm=4 in=630 cached=460 out=38 usd=null"
                ),
                "done message:2 stop",
            ],
            "{provider}"
        );
        let subtask = tree::starts(&events, "run_subtask")[0].text("tool_call_id");
        assert_eq!(
            level(&events, Some(subtask)),
            [
                &format!("model:1 start {model}"),
                r#"part:1 "Gre""#,
                r#"part:1 "en.""#,
                "model:1 end stop in=30 cached=0 out=3",
            ],
            "{provider}"
        );
    }
}

/// The body of the turn's last request, without its tools and its system prompt.
async fn last_body(wire: (&str, &str)) -> (Case, Value) {
    let case = Case::new().await;
    play_all(&case, wire).await;
    let mut last = case.requests("").await.requests.remove(2);
    let offered = last.tools();
    assert!(["calculate", "run_subtask"].iter().all(|name| offered.contains(name)), "{offered:?}");
    let body = last.body.as_object_mut().expect("an object");
    body.remove("tools");
    for system in ["system", "instructions", "systemInstruction"] {
        body.remove(system);
    }
    (case, last.body)
}

#[tokio::test]
async fn chat_completions_is_sent_its_own_message_and_its_reasoning() {
    let (case, body) = last_body(WIRES[0]).await;
    let call = |id: &str, name: &str, arguments: Value| json!({ "id": id, "type": "function", "function": { "name": name, "arguments": arguments.to_string() } });
    let ids = ids(&case);
    let expected = json!({
        "model": "fake-1",
        "messages": [
            body["messages"][0],
            { "role": "user", "content": case.said("Go", "") },
            {
                "role": "assistant", "content": "I look.", "reasoning_content": "Two things at once.",
                "tool_calls": [
                    call(&ids[0], "calculate", json!({ "expression": "6*7" })),
                    call(&ids[1], "run_subtask", case.subtask("Pears", "a").1),
                ],
            },
            { "role": "tool", "tool_call_id": ids[0], "content": "42" },
            { "role": "tool", "tool_call_id": ids[1], "content": "Green." },
            {
                "role": "assistant", "content": null, "reasoning_content": "One more.",
                "tool_calls": [call(&ids[2], "calculate", json!({ "expression": "42+1" }))],
            },
            { "role": "tool", "tool_call_id": ids[2], "content": "43" },
        ],
        "stream": true, "stream_options": { "include_usage": true },
    });
    assert_eq!(body, expected);
}

#[tokio::test]
async fn responses_is_sent_its_own_items_with_their_encrypted_reasoning() {
    let (case, body) = last_body(WIRES[1]).await;
    let ids = ids(&case);
    let [first, second] = [0, 1].map(|step| format!("{}_{step}", case.marker("")));
    let reasoning = |base: &str, text: &str| {
        json!({
            "type": "reasoning", "id": format!("rs_{base}"), "summary": [],
            "content": [{ "type": "reasoning_text", "text": text }], "encrypted_content": seal(text),
        })
    };
    let call = |base: &str, number: usize, call_id: &str, name: &str, arguments: Value| {
        json!({
            "type": "function_call", "id": format!("fc_{base}_{number}_after_rs_{base}"), "status": "completed",
            "call_id": call_id, "name": name, "arguments": arguments.to_string(),
        })
    };
    let output = |call_id: &str, output: &str| json!({ "type": "function_call_output", "call_id": call_id, "output": output });
    let expected = json!({
        "model": "fake-5",
        "input": [
            { "type": "message", "role": "user", "content": [{ "type": "input_text", "text": case.said("Go", "") }] },
            reasoning(&first, "Two things at once."),
            {
                "type": "message", "id": format!("msg_{first}_after_rs_{first}"), "role": "assistant",
                "status": "completed",
                "content": [{ "type": "output_text", "text": "I look.", "annotations": [], "logprobs": [] }],
            },
            call(&first, 0, &ids[0], "calculate", json!({ "expression": "6*7" })),
            call(&first, 1, &ids[1], "run_subtask", case.subtask("Pears", "a").1),
            output(&ids[0], "42"),
            output(&ids[1], "Green."),
            reasoning(&second, "One more."),
            call(&second, 0, &ids[2], "calculate", json!({ "expression": "42+1" })),
            output(&ids[2], "43"),
        ],
        "include": ["reasoning.encrypted_content"], "store": false, "stream": true,
    });
    assert_eq!(body, expected);
    let request = &case.requests("").await.requests[0];
    assert_eq!(request.headers["authorization"], format!("Bearer {}", canary::OPENAI_API_KEY));
}

#[tokio::test]
async fn messages_is_sent_its_own_blocks_with_their_signatures() {
    let (case, body) = last_body(WIRES[2]).await;
    let ids = ids(&case);
    // The fake checks the signatures, which bind a thought to all before it.
    let thinking = |text: &str, message: usize| json!({ "type": "thinking", "thinking": text, "signature": body["messages"][message]["content"][0]["signature"] });
    let call = |id: &str, name: &str, input: Value| json!({ "type": "tool_use", "id": id, "name": name, "input": input });
    let result =
        |id: &str, content: &str| json!({ "type": "tool_result", "tool_use_id": id, "content": content });
    let mut last = result(&ids[2], "43");
    last["cache_control"] = json!({ "type": "ephemeral" });
    let expected = json!({
        "model": "fake-6", "max_tokens": 32_000, "stream": true,
        "messages": [
            { "role": "user", "content": [{ "type": "text", "text": case.said("Go", "") }] },
            {
                "role": "assistant",
                "content": [
                    thinking("Two things at once.", 1),
                    { "type": "text", "text": "I look." },
                    call(&ids[0], "calculate", json!({ "expression": "6*7" })),
                    call(&ids[1], "run_subtask", case.subtask("Pears", "a").1),
                ],
            },
            { "role": "user", "content": [result(&ids[0], "42"), result(&ids[1], "Green.")] },
            {
                "role": "assistant",
                "content": [thinking("One more.", 3), call(&ids[2], "calculate", json!({ "expression": "42+1" }))],
            },
            { "role": "user", "content": [last] },
        ],
    });
    assert_eq!(body, expected);
    let headers = &case.requests("").await.requests[0].headers;
    assert_eq!((&*headers["x-api-key"], headers.get("authorization")), (canary::ANTHROPIC_API_KEY, None));
}

#[tokio::test]
async fn gemini_is_sent_its_own_parts_with_their_signatures() {
    let (case, body) = last_body(WIRES[3]).await;
    let ids = ids(&case);
    let said = |role: &str, parts: Value| json!({ "role": role, "parts": parts });
    let call = |id: &str, name: &str, args: Value| json!({ "functionCall": { "id": id, "name": name, "args": args } });
    let signed = |mut part: Value| {
        part["thoughtSignature"] = json!(signature(&part["functionCall"]));
        part
    };
    let result = |id: &str, name: &str, output: &str| json!({ "functionResponse": { "id": id, "name": name, "response": { "output": output } } });
    let expected = json!({
        "contents": [
            said("user", json!([{ "text": case.said("Go", "") }])),
            said("model", json!([
                { "text": "I look." },
                signed(call(&ids[0], "calculate", json!({ "expression": "6*7" }))),
                call(&ids[1], "run_subtask", case.subtask("Pears", "a").1),
            ])),
            said("user", json!([result(&ids[0], "calculate", "42"), result(&ids[1], "run_subtask", "Green.")])),
            said("model", json!([signed(call(&ids[2], "calculate", json!({ "expression": "42+1" })))])),
            said("user", json!([result(&ids[2], "calculate", "43")])),
        ],
    });
    assert_eq!(body, expected);
    let headers = &case.requests("").await.requests[0].headers;
    assert_eq!((&*headers["x-goog-api-key"], headers.get("authorization")), (canary::GEMINI_API_KEY, None));
}

/// The provider's ids of the calls of [`play_all`].
fn ids(case: &Case) -> [String; 3] {
    ["0_0", "0_1", "1_0"].map(|place| format!("call_{}_{place}", case.marker("")))
}

// N-171: the next turn of the thread repeats the conversation in neutral words.
#[tokio::test]
async fn the_next_turn_may_go_over_any_other_wire() {
    for (index, wire) in WIRES.into_iter().enumerate() {
        let case = Case::new().await;
        let events = play_all(&case, wire).await;
        let thread = first(&events, "session").text("thread_id");
        for (provider, model) in [WIRES[(index + 1) % WIRES.len()], wire] {
            let name = format!("next-{provider}");
            case.script(&name, [text("Yes.").thinking("Hm.")]).await;
            let body = json!({
                "thread_id": thread, "content": case.said("Sure?", &name), "model": format!("{provider}:{model}"),
            });
            let next = case.chat_with(&body).await;
            assert_eq!(first(&next, "done").text("finish_reason"), "stop");
        }
    }
}

// B-007 B-033: the service does not repeat a call that fails in the middle of its answer, and keeps its text.
#[tokio::test]
async fn a_provider_that_fails_in_the_middle_ends_the_turn() {
    for wire in WIRES {
        let (case, (provider, model)) = (Case::new().await, wire);
        let events = play(&case, wire, [deltas(["Half an ", "answer"]).thinking("Hm.").overloaded()]).await;
        assert_eq!(
            level(&events, None),
            [
                &format!("session message:1 message:2 {provider} {model}"),
                "agent_state thread thinking",
                &format!("model:1 start {model}"),
                r#"part:1 reasoning "Hm.""#,
                r#"part:2 "Half an ""#,
                r#"part:2 "answer""#,
                "model:1 end provider_overloaded no usage",
                "error provider_overloaded retryable=true",
                &format!(
                    "cost_summary llm=1 tools=0 subtasks=0 in=0 cached=0 out=0 usd=null; \
                     {model}: llm=1 in=0 cached=0 out=0 usd=null"
                ),
                "done message:2 error",
            ],
            "{provider}"
        );
        assert_eq!(case.stored(&events).await["content"], "Half an answer");
        assert_eq!(case.requests("").await.requests.len(), 1);
        assert_eq!(
            rows(&events, "llm_usage", "provider, outcome").await,
            [json!({ "provider": provider, "outcome": "provider_overloaded" })]
        );
        assert_eq!(
            rows(&events, "error_log", "stage, code").await,
            [json!({ "stage": "stream", "code": "provider_overloaded" })]
        );
    }
}

// B-007: each provider words its refusals in its own way.
#[tokio::test]
async fn a_refusal_is_read_over_each_wire() {
    for wire in WIRES {
        let case = Case::new().await;
        let events = play(&case, wire, [text("Here.").refusing(529, 1)]).await;
        assert_eq!(first(&events, "done").text("finish_reason"), "stop");
        assert_eq!(case.requests("").await.requests.len(), 2);

        let case = Case::new().await;
        let events = play(&case, wire, [status(401)]).await;
        assert_eq!(first(&events, "error").text("code"), "provider_auth");
        assert_eq!(case.requests("").await.requests.len(), 1);
    }
}

/// A case on the instance with a stand-in for the binding of Workers AI.
async fn with_binding() -> Case {
    Case::of(Client::anonymous_at(&env("ESPALIER_AI_URL")).await)
}

#[tokio::test]
async fn workers_ai_is_called_by_its_binding() {
    let case = with_binding().await;
    case.script("a", [deltas(["Gre", "en."]).using(30, 0, 3)]).await;
    let both = calls([("calculate", json!({ "expression": "6*7" })), case.subtask("Pears", "a")]);
    case.script("", [both.saying("I look.").using(100, 60, 20), deltas(["It is ", "42."]).using(200, 0, 5)])
        .await;
    let events = case.chat("Go").await;
    let model = "@cf/fake/7b";
    assert_eq!(
        level(&events, None),
        [
            &format!("session message:1 message:2 workers-ai {model}"),
            "agent_state thread thinking",
            &format!("model:1 start {model}"),
            r#"part:1 "I look.""#,
            "model:1 end tool_calls in=100 cached=60 out=20",
            "agent_state thread thinking executing_tool:calculate",
            r#"call:1 start calculate {"expression":"6*7"}"#,
            r#"call:2 start run_subtask {"instructions":"Pears [[fake:M/a]]","title":"Pears"}"#,
            r#"call:1 end calculate "42""#,
            r#"call:2 end run_subtask "Green.""#,
            "agent_state thread thinking",
            &format!("model:2 start {model}"),
            r#"part:2 "It is ""#,
            r#"part:2 "42.""#,
            "model:2 end stop in=200 cached=0 out=5",
            &format!(
                "cost_summary llm=3 tools=2 subtasks=1 in=330 cached=60 out=28 usd=null; \
                 {model}: llm=3 in=330 cached=60 out=28 usd=null"
            ),
            "done message:2 stop",
        ]
    );
}

#[tokio::test]
async fn exceptions_of_the_binding_and_an_end_in_the_middle_are_read() {
    let case = with_binding().await;
    case.script("", [text("Here.").refusing(429, 1)]).await;
    let events = case.chat("Go").await;
    assert_eq!(first(&events, "done").text("finish_reason"), "stop");
    assert_eq!(case.requests("").await.requests.len(), 2);
    for (step, code) in [
        (status(401), "provider_auth"),
        (deltas(["Half"]).overloaded(), "provider_overloaded"),
        (deltas(["Half"]).cut(Cut::Clean), "provider_protocol"),
    ] {
        let case = with_binding().await;
        case.script("", [step]).await;
        assert_eq!(first(&case.chat("Go").await, "error").text("code"), code);
    }
}

// B-007: an answer without a waiting turn costs nothing.
#[tokio::test]
async fn a_cancelled_turn_ends_its_call_of_the_binding() {
    let case = with_binding().await;
    case.script("", [deltas(["One"]).hanging()]).await;
    let mut stream = case.client.chat(&case.says("Go")).await;
    stream.until(|event| event.kind == "chunk").await;
    case.client.cancel(stream.seen()[0].text("thread_id")).await;
    let events = case.turn(stream).await;
    assert_eq!(first(&events, "done").text("finish_reason"), "cancelled");
    case.llm.wait_for(&case.marker(""), 1, Outcome::Aborted).await;
}
