use std::rc::Rc;

use serde_json::{Value, json};

use super::*;
use crate::testing::{
    all_parts, answered, assistant, body as sent, choice, definition, raw_json, reply, request, tool, user,
    with_choice,
};
use wire::model::{Message, RawMessage, ToolChoice};

fn body(request: &ModelRequest) -> Value {
    sent(&Gemini::new("https://x.test", None), request)
}

fn said(role: &str, parts: Value) -> Value {
    json!({"role": role, "parts": parts})
}

#[test]
fn the_address_and_the_headers() {
    let stream = "models/m:streamGenerateContent?alt=sse";
    let table = [
        ("https://generativelanguage.googleapis.com", "https://generativelanguage.googleapis.com/v1beta/"),
        (
            "https://gateway.test/v1/me/gw/google-ai-studio",
            "https://gateway.test/v1/me/gw/google-ai-studio/v1beta/",
        ),
        ("http://127.0.0.1:8080/v1alpha/", "http://127.0.0.1:8080/v1alpha/"),
        ("http://127.0.0.1:8080/vault", "http://127.0.0.1:8080/vault/v1beta/"),
    ];
    for (base, url) in table {
        let codec = Gemini::new(base, Some(Secret::new("key-SECRET")));
        let sent = codec.encode(&request(vec![])).unwrap();
        assert_eq!(sent.url, format!("{url}{stream}"));
        assert!(sent.headers.contains(&("x-goog-api-key", "key-SECRET".into())));
        assert!(!sent.headers.iter().any(|(name, _)| *name == "authorization"));
        assert!(!format!("{sent:?} {codec:?}").contains("SECRET"));
    }
    let keyless = Gemini::new("https://x.test/v1?x=/y", None).encode(&request(vec![])).unwrap();
    assert_eq!(keyless.url, "https://x.test/v1/models/m:streamGenerateContent?x=/y&alt=sse");
    assert!(!keyless.headers.iter().any(|(name, _)| *name == "x-goog-api-key"));
    let tuned = with_choice(request(vec![]), |choice| choice.model = "tunedModels/a?b#c%".into());
    let url = Gemini::new("https://x.test", None).encode(&tuned).unwrap().url;
    assert_eq!(url, "https://x.test/v1beta/tunedModels/a%3Fb%23c%25:streamGenerateContent?alt=sse");
}

#[test]
fn a_conversation_with_calls_and_results() {
    let mut request = request(vec![
        user("hello"),
        assistant("Hi.", &[]),
        user("weather?"),
        assistant("Let me see.", &[("a", "f", "{\"x\": 1}"), ("b", "get it", "{\"cut")]),
        tool("a", "warm", false),
        tool("b", "no such tool", true),
        user("and now?"),
    ]);
    request.system = "Be brief.".into();
    request.tools = [definition("f")].into();
    let expected = json!({
        "systemInstruction": {"parts": [{"text": "Be brief."}]},
        "contents": [
            said("user", json!([{"text": "hello"}])),
            said("model", json!([{"text": "Hi."}])),
            said("user", json!([{"text": "weather?"}])),
            said("model", json!([
                {"text": "Let me see."},
                {"functionCall": {"name": "f", "args": {"x": 1}}},
                {"functionCall": {"name": "get_it", "args": {"_raw": "{\"cut"}}},
            ])),
            said("user", json!([
                {"functionResponse": {"name": "f", "response": {"output": "warm"}}},
                {"functionResponse": {"name": "f", "response": {"error": "no such tool"}}},
                {"text": "and now?"},
            ])),
        ],
        "tools": [{"functionDeclarations": [{
            "name": "f", "description": "does f", "parametersJsonSchema": {"type": "object", "properties": {}},
        }]}],
    });
    assert_eq!(body(&request), expected);
}

#[test]
fn its_own_parts_return_with_their_ids() {
    let first = json!({
        "functionCall": {"id": "fc-1", "name": "f", "args": {}}, "thoughtSignature": "c2ln",
    });
    let second = json!({"functionCall": {"name": "f", "args": {}}});
    let event = super::response_tests::event(json!([first, second]), "STOP");
    let (_, reply) = reply(&super::response_tests::fresh, &super::response_tests::stream(&[event]));
    let mut request = answered(request(vec![user("go")]), reply);
    request.messages.extend([tool("fc-1", "1", false), tool("call_0", "2", false)].map(Rc::new));
    let expected = json!([
        said("user", json!([{"text": "go"}])),
        said("model", json!([first, second])),
        // The second call has no id of the provider, so its result has none.
        said(
            "user",
            json!([
                {"functionResponse": {"id": "fc-1", "name": "f", "response": {"output": "1"}}},
                {"functionResponse": {"name": "f", "response": {"output": "2"}}},
            ])
        ),
    ]);
    assert_eq!(body(&request)["contents"], expected);
    // Another model gets our form of the message.
    let other = with_choice(request, |choice| choice.model = "n".into());
    assert_eq!(body(&other)["contents"][1]["parts"][0]["functionCall"], json!({"name": "f", "args": {}}));
}

#[test]
fn calls_of_another_model_are_signed_in_the_current_turn() {
    let calls: [(&str, &str, &str); 2] = [("a", "f", "{}"), ("b", "f", "{}")];
    let turn = |text: &str| [user(text), assistant("", &calls), tool("a", "1", false), tool("b", "2", false)];
    let request = request([turn("earlier"), turn("now")].into_iter().flatten().collect());
    let signatures = |request: &ModelRequest| -> Vec<Value> {
        let body = body(request);
        let parts = body["contents"].as_array().unwrap().iter().filter(|content| content["role"] == "model");
        parts
            .flat_map(|content| content["parts"].as_array().unwrap().clone())
            .map(|part| part["thoughtSignature"].clone())
            .collect()
    };
    let sign = json!("skip_thought_signature_validator");
    assert_eq!(signatures(&request), [Value::Null, Value::Null, sign, Value::Null]);
    let older = with_choice(request, |choice| choice.model = "gemini-2.5-flash".into());
    assert_eq!(signatures(&older), [Value::Null, Value::Null, Value::Null, Value::Null]);
}

// Issue 43
#[test]
fn calls_before_a_cut_get_the_signature_of_foreign_calls() {
    let signed =
        json!([{"functionCall": {"id": "fc-1", "name": "f", "args": {}}, "thoughtSignature": "c2ln"}]);
    let mut raw = RawMessage::of(&choice(), WIRE, raw_json(&signed.to_string()));
    raw.is_cut_off = true;
    let Message::Assistant { content, tool_calls, .. } = assistant("", &[("fc-1", "f", "{}")]) else {
        panic!()
    };
    let reply = Message::Assistant { content, tool_calls, raw: Some(raw) };
    // A remark of the service stands behind the call.
    let messages = vec![user("go"), reply, tool("fc-1", "1", false), user("[hook h] Mind the gap.")];
    let sent = body(&ModelRequest { turn_from: Some(0), ..request(messages) });
    let call = json!({"functionCall": {"name": "f", "args": {}}, "thoughtSignature": "skip_thought_signature_validator"});
    assert_eq!(sent["contents"][1], said("model", json!([call])));
    let result = json!({"functionResponse": {"name": "f", "response": {"output": "1"}}});
    assert_eq!(sent["contents"][2]["parts"][0], result, "a call without an id is answered without");
}

#[test]
fn parts_of_a_message() {
    let see = with_choice(request(vec![all_parts()]), |choice| choice.capabilities.vision = true);
    let expected = json!([
        {"text": "look"},
        {"inlineData": {"mimeType": "image/png", "data": "iVBORw0KGgo="}},
        {"inlineData": {"mimeType": "application/pdf", "data": "JVBERi0xLjQK"}},
        {"text": "File a.txt:\n\nhello"},
    ]);
    assert_eq!(body(&see)["contents"][0]["parts"], expected);
    let blind = body(&request(vec![all_parts()]));
    assert!(blind["contents"][0]["parts"][1]["text"].as_str().unwrap().contains("you cannot see it"));
    // An empty text would be refused. A reply at the end gets an answer.
    let request = request(vec![user(""), assistant("So far.", &[])]);
    let expected =
        json!([said("model", json!([{"text": "So far."}])), said("user", json!([{"text": "Go on."}]))]);
    assert_eq!(body(&request)["contents"], expected);
}

#[test]
fn wishes_and_options() {
    assert_eq!(body(&request(vec![])), json!({"contents": []}), "no option is sent that nobody set");
    let mut request = request(vec![]);
    request.max_output_tokens = Some(500);
    request.response_schema = Some(Rc::new(raw_json(r#"{"type":"object"}"#)));
    let thinks = with_choice(request, |choice| {
        choice.capabilities.reasoning = true;
        choice.capabilities.structured_output = true;
        choice.options.temperature = Some(0.5);
        choice.options.reasoning_effort = Some("low".into());
    });
    let config = json!({
        "maxOutputTokens": 500, "temperature": 0.5,
        "responseMimeType": "application/json", "responseJsonSchema": {"type": "object"},
        "thinkingConfig": {"includeThoughts": true, "thinkingLevel": "low"},
    });
    assert_eq!(body(&thinks)["generationConfig"], config);
    let budget = with_choice(thinks.clone(), |choice| choice.options.reasoning_effort = Some("1024".into()));
    let thinking = json!({"includeThoughts": true, "thinkingBudget": 1024});
    assert_eq!(body(&budget)["generationConfig"]["thinkingConfig"], thinking);

    // Issue 43
    let tiered = with_choice(thinks.clone(), |choice| choice.options.service_tier = Some("flex".into()));
    assert_eq!(body(&tiered)["serviceTier"], "flex");

    let mut tools = thinks;
    tools.tools = [definition("f")].into();
    assert_eq!(body(&tools)["generationConfig"]["responseJsonSchema"], Value::Null, "not beside tools");
    let modes = [
        (ToolChoice::Auto, Value::Null),
        (ToolChoice::Required, json!("ANY")),
        (ToolChoice::None, json!("NONE")),
    ];
    for (choice, mode) in modes {
        tools.tool_choice = choice;
        assert_eq!(body(&tools)["toolConfig"]["functionCallingConfig"]["mode"], mode);
    }
    tools.tools = [].into();
    assert_eq!(body(&tools)["toolConfig"], Value::Null, "no wish without tools");
}

#[test]
fn foreign_and_broken_raw_messages_are_not_sent() {
    for (wire, json) in [("chat", "[{\"text\":\"no\"}]"), (WIRE, "\"no list\"")] {
        let raw = RawMessage::of(&choice(), wire, raw_json(json));
        let message = Message::Assistant { content: "Hi.".into(), tool_calls: vec![], raw: Some(raw) };
        let sent = body(&request(vec![user("a"), message, user("b")]));
        assert_eq!(sent["contents"][1]["parts"], json!([{"text": "Hi."}]), "{wire}");
    }
}
