//! The models of today refuse what they refuse, in their provider's form of an error, and take the rest. Issue 43.

use crate::http::{self, Reply};
use crate::{FakeLlm, Script, Step, Value, calls, json, text};

const OPENAI: [(&str, &str); 1] = [("authorization", "Bearer key")];
const ANTHROPIC: [(&str, &str); 2] = [("x-api-key", "key"), ("anthropic-version", "2023-06-01")];
const GOOGLE: [(&str, &str); 1] = [("x-goog-api-key", "key")];

async fn scripted(steps: impl IntoIterator<Item = Step>) -> FakeLlm {
    let llm = FakeLlm::start().await;
    llm.script("m", Script { steps: steps.into_iter().collect(), repeat: true }).await;
    llm
}

async fn post(llm: &FakeLlm, path: &str, headers: &[(&str, &str)], body: &Value) -> Reply {
    http::send("POST", &format!("{}{path}", llm.url()), headers, body.to_string()).await
}

fn with(mut body: Value, members: &Value) -> Value {
    for (name, value) in members.as_object().into_iter().flatten() {
        body[name] = value.clone();
    }
    body
}

/// A request with a tool: of Chat Completions, Responses, Messages and Gemini's API.
fn chat(model: &str) -> Value {
    let function = json!({ "name": "f", "parameters": { "type": "object" } });
    json!({
        "model": model, "stream": true, "messages": [{ "role": "user", "content": "[[fake:m]]" }],
        "tools": [{ "type": "function", "function": function }],
    })
}

fn responses(model: &str) -> Value {
    let tool =
        json!({ "type": "function", "name": "f", "parameters": { "type": "object" }, "strict": false });
    let said = json!({ "role": "user", "content": "[[fake:m]]" });
    json!({ "model": model, "store": false, "stream": true, "input": [said], "tools": [tool] })
}

fn messages(model: &str) -> Value {
    json!({
        "model": model, "max_tokens": 2000, "stream": true, "system": [{ "type": "text", "text": "Be." }],
        "messages": [{ "role": "user", "content": [{ "type": "text", "text": "[[fake:m]]" }] }],
        "tools": [{ "name": "f", "input_schema": { "type": "object" } }],
    })
}

fn gemini(config: Value) -> Value {
    let declaration = json!({ "name": "f", "parametersJsonSchema": { "type": "object" } });
    json!({
        "contents": [{ "role": "user", "parts": [{ "text": "[[fake:m]]" }] }],
        "tools": [{ "functionDeclarations": [declaration] }], "generationConfig": config,
    })
}

#[tokio::test]
async fn openais_models_refuse_tools_over_chat_completions_and_a_temperature() {
    let llm = scripted([text("Hi.")]).await;
    let effort = |effort: &str| json!({ "reasoning_effort": effort });
    let (luna, astra) = ("gpt-6-luna", "gpt-6-astra");
    for (model, members, refused) in [
        (luna, json!({}), Some(("reasoning_effort", "use /v1/responses"))),
        ("gpt-5.6-terra", effort("low"), Some(("reasoning_effort", "use /v1/responses"))),
        ("gpt-5.4", effort("low"), Some(("reasoning_effort", "use /v1/responses"))),
        ("gpt-6.1-sol-2026-11-01", effort("none"), Some(("reasoning_effort", "does not support 'none'"))),
        (
            luna,
            json!({ "reasoning_effort": "none", "max_tokens": 9 }),
            Some(("max_tokens", "max_completion_tokens")),
        ),
        ("gpt-5.5", json!({ "temperature": 0.5 }), Some(("temperature", "not supported"))),
        (luna, effort("none"), None),
        (luna, json!({ "reasoning_effort": "none", "temperature": 0.5, "prompt_cache_key": "k" }), None),
        ("gpt-5.4", json!({ "temperature": 0.5, "service_tier": "flex" }), None),
        ("gpt-4.1", json!({ "temperature": 0.5, "max_tokens": 9 }), None),
        ("fake-1", json!({ "temperature": 0.5, "reasoning_effort": "low" }), None),
    ] {
        let reply = post(&llm, "/v1/chat/completions", &OPENAI, &with(chat(model), &members)).await;
        assert_refused(reply, refused, &format!("{model} {members}")).await;
    }
    let reasoning = |effort: &str| json!({ "reasoning": { "effort": effort } });
    for (model, members, refused) in [
        (luna, json!({ "temperature": 0.5 }), Some(("temperature", "not supported"))),
        (astra, reasoning("none"), Some(("reasoning.effort", "does not support 'none'"))),
        (luna, json!({ "temperature": 0.5, "reasoning": { "effort": "none" } }), None),
        (luna, json!({}), None),
        (astra, reasoning("max"), None),
        ("gpt-4.1", json!({ "temperature": 0.5 }), None),
    ] {
        for path in ["/v1/responses", "/gateway/openai/responses"] {
            let reply = post(&llm, path, &OPENAI, &with(responses(model), &members)).await;
            assert_refused(reply, refused, &format!("{model} {members}")).await;
        }
    }
}

/// The refusal for this parameter with these words, in OpenAI's form.
async fn assert_refused(reply: Reply, refused: Option<(&str, &str)>, what: &str) {
    let Some((param, words)) = refused else {
        reply.expect(200).await;
        return;
    };
    let body: Value = serde_json::from_str(&reply.expect(400).await.text().await).expect("JSON");
    let error = &body["error"];
    assert_eq!((&error["type"], &error["param"]), (&json!("invalid_request_error"), &json!(param)), "{what}");
    assert!(error["message"].as_str().is_some_and(|message| message.contains(words)), "{what}: {error}");
}

#[tokio::test]
async fn claude_refuses_sampling_budgets_and_forced_tools() {
    let llm = scripted([text("Hi.")]).await;
    let thinking = |kind: &str| json!({ "thinking": { "type": kind } });
    let budget = json!({ "thinking": { "type": "enabled", "budget_tokens": 1024 } });
    let forced = json!({ "tool_choice": { "type": "any" } });
    let (opus, haiku, old) = ("claude-opus-5-5", "claude-haiku-5-5", "claude-haiku-4-5-20251001");
    for (model, members, refused) in [
        (opus, json!({ "temperature": 0.5 }), Some("`temperature` is deprecated")),
        (haiku, json!({ "top_p": 0.5 }), Some("`top_p` is deprecated")),
        ("claude-opus-4-7", json!({ "top_k": 5 }), Some("`top_k` is deprecated")),
        ("claude-opus-4-8", budget.clone(), Some("thinking.type.adaptive")),
        (opus, thinking("disabled"), Some("thinking.type.disabled")),
        (opus, forced.clone(), Some("tool_choice forces tool use")),
        (old, thinking("adaptive"), Some("not supported on this model")),
        (haiku, forced, None),
        (haiku, thinking("disabled"), None),
        (opus, json!({ "thinking": { "type": "adaptive", "display": "summarized" } }), None),
        ("claude-opus-4-6", budget, None),
        (old, json!({ "temperature": 0.5 }), None),
    ] {
        let reply = post(&llm, "/v1/messages", &ANTHROPIC, &with(messages(model), &members)).await;
        let Some(words) = refused else {
            reply.expect(200).await;
            continue;
        };
        let body: Value = serde_json::from_str(&reply.expect(400).await.text().await).expect("JSON");
        assert_eq!(
            (&body["type"], &body["error"]["type"]),
            (&json!("error"), &json!("invalid_request_error"))
        );
        assert!(body["error"]["message"].as_str().unwrap_or_default().contains(words), "{model}: {body}");
    }
}

/// The data of a stream's events.
fn deltas(stream: &str, member: &str) -> String {
    let data = stream.lines().filter_map(|line| line.strip_prefix("data: "));
    let events = data.filter_map(|data| serde_json::from_str::<Value>(data).ok());
    events.filter_map(|event| event["delta"][member].as_str().map(str::to_owned)).collect()
}

#[tokio::test]
async fn claudes_thinking_is_shown_on_request_and_bound_to_all_before_it() {
    let llm = scripted([calls([("f", json!({}))]).thinking("Hm.")]).await;
    let model = "claude-opus-5-5";
    let shown = json!({ "thinking": { "type": "adaptive", "display": "summarized" } });
    let ask = async |body: &Value| post(&llm, "/v1/messages", &ANTHROPIC, body).await;
    let silent = ask(&messages(model)).await.text().await;
    assert_eq!(deltas(&silent, "thinking"), "");
    let stream = ask(&with(messages(model), &shown)).await.text().await;
    assert_eq!(deltas(&stream, "thinking"), "Hm.");

    let block = json!({ "type": "thinking", "thinking": "Hm.", "signature": deltas(&stream, "signature") });
    let call = json!({ "type": "tool_use", "id": "a", "name": "f", "input": {} });
    let result = json!({ "type": "tool_result", "tool_use_id": "a", "content": "1" });
    let next = |first: Value, block: &Value| {
        with(
            messages(model),
            &json!({ "messages": [
            first,
            { "role": "assistant", "content": [block, call] },
            { "role": "user", "content": [result] },
        ] }),
        )
    };
    let said = |more: Value| {
        with(json!({ "role": "user", "content": [{ "type": "text", "text": "[[fake:m]]" }] }), &more)
    };
    let same = next(said(json!({})), &block);
    ask(&same).await.expect(200).await;
    // A cache mark changes nothing, and thinking may be left out.
    let mut marked = same.clone();
    marked["system"][0]["cache_control"] = json!({ "type": "ephemeral" });
    ask(&marked).await.expect(200).await;
    let mut without = same.clone();
    without["messages"][1]["content"] = json!([call]);
    ask(&without).await.expect(200).await;

    let mut changed =
        vec![next(said(json!({ "content": [{ "type": "text", "text": "Cut. [[fake:m]]" }] })), &block)];
    for member in ["system", "tools"] {
        let mut body = same.clone();
        body[member].as_array_mut().expect("a list").pop();
        body.as_object_mut().expect("an object").retain(|_, value| *value != json!([]));
        changed.push(body);
    }
    for body in changed {
        let refusal = ask(&body).await.expect(400).await.text().await;
        assert!(refusal.contains("messages.1.content.0: `thinking` blocks are valid only"), "{refusal}");
    }
    let older = with(
        next(said(json!({ "content": [{ "type": "text", "text": "Cut. [[fake:m]]" }] })), &block),
        &json!({ "model": "claude-opus-4-8" }),
    );
    let refusal = ask(&older).await.expect(400).await.text().await;
    assert!(refusal.contains("thinking"), "the block of another model: {refusal}");
}

#[tokio::test]
async fn gemini_refuses_calls_without_signatures_and_options_of_other_versions() {
    let llm = scripted([text("Hi.")]).await;
    let ask = async |prefix: &str, model: &str, body: Value| {
        let path = format!("{prefix}/v1beta/models/{model}:streamGenerateContent?alt=sse");
        post(&llm, &path, &GOOGLE, &body).await
    };
    let level = json!({ "thinkingConfig": { "thinkingLevel": "low" } });
    let budget = json!({ "thinkingConfig": { "thinkingBudget": 1024 } });
    let both = json!({ "thinkingConfig": { "thinkingLevel": "low", "thinkingBudget": 1024 } });
    let hot = json!({ "temperature": 0.5 });
    let unsigned = with(
        gemini(json!({})),
        &json!({ "contents": [
        { "role": "user", "parts": [{ "text": "[[fake:m]]" }] },
        { "role": "model", "parts": [{ "functionCall": { "name": "f", "args": {} } }] },
        { "role": "user", "parts": [{ "functionResponse": { "name": "f", "response": { "output": "1" } } }] },
    ] }),
    );
    let (new, old) = ("gemini-3.8-flash", "gemini-2.5-flash-lite");
    for (model, body, refused) in [
        (old, gemini(level.clone()), Some("Thinking level is not supported")),
        (new, gemini(both), Some("only set only one")),
        (new, gemini(hot.clone()), Some("Sampling")),
        (new, unsigned.clone(), Some("missing a thought_signature")),
        (old, unsigned, None),
        (old, gemini(budget), None),
        (new, gemini(level), None),
        ("gemini-3.5-flash", gemini(hot), None),
    ] {
        for prefix in ["", "/gateway/google-ai-studio"] {
            let reply = ask(prefix, model, body.clone()).await;
            let Some(words) = refused else {
                reply.expect(200).await;
                continue;
            };
            let body: Value = serde_json::from_str(&reply.expect(400).await.text().await).expect("JSON");
            assert_eq!(
                (&body["error"]["code"], &body["error"]["status"]),
                (&json!(400), &json!("INVALID_ARGUMENT"))
            );
            assert!(body["error"]["message"].as_str().unwrap_or_default().contains(words), "{model}: {body}");
        }
    }
}
