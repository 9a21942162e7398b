//! The models that the documents show: a first turn with tools works with each, where the fake LLM refuses what each
//! provider refuses of that model today. The makers stand behind a gateway, so `openai` speaks what it speaks at OpenAI.
//! Issue 43.
//!
//! N-168 N-170 N-171 N-172

use espalier_test_support::case::first;
use espalier_test_support::{Case, Client, Event, Value, call, canary, documents, env, json, text};

/// A case on the instance whose makers stand behind a gateway.
async fn behind_gateway() -> Case {
    Case::of(Client::anonymous_at(&env("ESPALIER_AI_URL")).await)
}

/// Two rounds of tools with thoughts, then the answer.
async fn script(case: &Case, name: &str) {
    let calculate = |expression: &str| call("calculate", json!({ "expression": expression }));
    case.script(
        name,
        [
            calculate("6*7").thinking("I need a product.").saying("I look."),
            calculate("42+1").thinking("One more."),
            text("It is 43.").thinking("Now I know."),
        ],
    )
    .await;
}

/// A turn on this model, in a thread or in a new one.
async fn play(case: &Case, model: &str, name: &str, thread: Option<&str>) -> Vec<Event> {
    script(case, name).await;
    let mut body = json!({ "content": case.said("Go", name), "model": model });
    if let Some(thread) = thread {
        body["thread_id"] = json!(thread);
    }
    case.chat_with(&body).await
}

/// The bodies of a turn's requests.
async fn bodies(case: &Case, name: &str) -> Vec<Value> {
    case.requests(name).await.requests.into_iter().map(|request| request.body).collect()
}

#[tokio::test]
async fn a_first_turn_with_tools_works_with_each_model_that_the_documents_show() {
    for model in documents::models() {
        let case = behind_gateway().await;
        let events = play(&case, &model, "", None).await;
        assert_eq!(first(&events, "done").text("finish_reason"), "stop", "{model}");
        let content = case.stored(&events).await["content"].clone();
        assert!(content.as_str().is_some_and(|content| content.ends_with("It is 43.")), "{model}: {content}");
        let bodies = bodies(&case, "").await;
        assert_eq!(bodies.len(), 3, "{model}");
        // Only Responses has an input.
        let is_responses = bodies.iter().all(|body| body["input"].is_array());
        assert_eq!(
            is_responses,
            model.starts_with("openai:") || model.starts_with("openai-responses:"),
            "{model}"
        );
    }
}

#[tokio::test]
async fn openai_behind_a_gateway_gets_todays_request() {
    let case = behind_gateway().await;
    let events = play(&case, "openai:gpt-6-luna", "", None).await;
    let requests = case.requests("").await.requests;
    let bodies: Vec<&Value> = requests.iter().map(|request| &request.body).collect();
    assert_eq!(requests[0].headers["authorization"], format!("Bearer {}", canary::OPENAI_API_KEY));
    for body in &bodies {
        assert_eq!((&body["service_tier"], body.get("temperature")), (&json!("flex"), None));
        assert_eq!(body["include"], json!(["reasoning.encrypted_content"]));
        assert_eq!(body["prompt_cache_key"], bodies[0]["prompt_cache_key"]);
    }
    let key = bodies[0]["prompt_cache_key"].as_str().expect("a key");
    let thread = first(&events, "session").text("thread_id");
    assert!(key.len() == 32 && thread.split('-').next().is_some_and(|part| !key.contains(part)), "{key}");
    // The next turn of the thread meets the same cache, another thread does not.
    play(&case, "openai:gpt-6-luna", "next", Some(thread)).await;
    play(&case, "openai:gpt-6-luna", "other", None).await;
    let of = async |name: &str| case.requests(name).await.requests[0].body["prompt_cache_key"].clone();
    assert_eq!(of("next").await, key);
    assert_ne!(of("other").await, key);
}

#[tokio::test]
async fn the_names_of_one_api_force_it_and_a_refusal_says_so() {
    let case = behind_gateway().await;
    play(&case, "openai-responses:gpt-6-luna", "", None).await;
    assert!(bodies(&case, "").await[0]["input"].is_array());

    let case = behind_gateway().await;
    script(&case, "").await;
    let mut body = case.says("Go");
    body["model"] = json!("openai-chat:gpt-6-luna");
    let events = case.client.chat(&body).await.turn().await;
    let error = first(&events, "error");
    assert_eq!(error.text("code"), "provider_bad_request");
    assert!(error.text("message").contains("openai-responses:MODEL"), "{}", error.data);
    let requests = bodies(&case, "").await;
    assert!(requests.len() == 1 && requests[0]["messages"].is_array(), "{requests:#?}");
}

// A thread whose turns were on Chat Completions goes on over Responses, and back.
#[tokio::test]
async fn a_thread_goes_on_over_the_other_api() {
    let case = behind_gateway().await;
    let events = play(&case, "openai-chat:gpt-5.4", "", None).await;
    let thread = first(&events, "session").text("thread_id");
    for (name, model) in [("second", "openai:gpt-6-luna"), ("third", "openai-chat:gpt-5.4")] {
        let events = play(&case, model, name, Some(thread)).await;
        assert_eq!(first(&events, "done").text("finish_reason"), "stop", "{model}");
    }
    let (second, third) = (bodies(&case, "second").await, bodies(&case, "third").await);
    assert!(second.iter().all(|body| body["input"].is_array()));
    // GPT-5.4 does not reason where no effort is asked for, so it takes the temperature.
    assert!(third.iter().all(|body| body["messages"].is_array() && body["temperature"] == 0.5));
}

#[tokio::test]
async fn anthropics_models_are_asked_for_what_each_takes() {
    let adaptive = json!({ "type": "adaptive", "display": "summarized" });
    for (model, thinking, temperature) in [
        ("anthropic:claude-opus-5-5", adaptive, Value::Null),
        ("anthropic:claude-haiku-4-5", Value::Null, json!(0.5)),
    ] {
        let case = behind_gateway().await;
        let events = play(&case, model, "", None).await;
        assert_eq!(first(&events, "done").text("finish_reason"), "stop", "{model}");
        for body in bodies(&case, "").await {
            assert_eq!((&body["thinking"], &body["temperature"]), (&thinking, &temperature), "{model}");
        }
        // Its words between two calls are there to read.
        let thoughts =
            events.iter().filter(|event| event.kind == "chunk" && event.text("kind") == "reasoning");
        assert!(thoughts.count() >= 3, "{model}");
    }
}

#[tokio::test]
async fn geminis_calls_go_back_with_their_signatures() {
    let case = behind_gateway().await;
    let events = play(&case, "gemini:gemini-3.8-flash", "", None).await;
    assert_eq!(first(&events, "done").text("finish_reason"), "stop");
    let last = bodies(&case, "").await.remove(2);
    let contents = last["contents"].as_array().expect("contents");
    let parts = contents.iter().flat_map(|content| content["parts"].as_array().expect("parts"));
    let calls: Vec<&Value> = parts.filter(|part| part["functionCall"].is_object()).collect();
    assert_eq!(calls.len(), 2);
    assert!(calls.iter().all(|part| part["thoughtSignature"].is_string()), "{calls:#?}");
    assert_eq!(last["generationConfig"], json!({ "thinkingConfig": { "includeThoughts": true } }));
}
