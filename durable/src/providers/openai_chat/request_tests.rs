use std::rc::Rc;

use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::*;
use crate::model::{Capabilities, ModelChoice, ModelEvent, RawMessage, RawValueEq, ToolCall, ToolDefinition};

fn request(system: &str, messages: Vec<Message>) -> ModelRequest {
    ModelRequest {
        model: Rc::new(ModelChoice {
            provider: "openai".into(),
            model: "gpt-x".into(),
            capabilities: Capabilities::default(),
        }),
        system: system.into(),
        messages: messages.into_iter().map(Rc::new).collect(),
        tools: Rc::new([]),
        max_output_tokens: None,
    }
}

fn raw(json: &str) -> RawValueEq {
    RawValueEq(RawValue::from_string(json.into()).unwrap())
}

fn user(content: &str) -> Message {
    Message::User { content: content.into() }
}

fn assistant(content: &str, calls: &[(&str, &str, &str)]) -> Message {
    let call = |&(call_id, name, arguments): &(&str, &str, &str)| ToolCall {
        call_id: call_id.into(),
        name: name.into(),
        arguments: arguments.into(),
    };
    Message::Assistant { content: content.into(), tool_calls: calls.iter().map(call).collect(), raw: None }
}

fn tool(call_id: &str, content: &str, is_error: bool) -> Message {
    Message::Tool { call_id: call_id.into(), name: "f".into(), content: content.into(), is_error }
}

fn body(request: &ModelRequest) -> Value {
    let codec = OpenAiChat::new("https://x.test/v1", None);
    serde_json::from_slice(&codec.encode(request).unwrap().body).unwrap()
}

#[test]
fn the_address_and_the_headers() {
    let table = [
        ("https://x.test/v1", "https://x.test/v1/chat/completions"),
        ("http://127.0.0.1:11434/v1/", "http://127.0.0.1:11434/v1/chat/completions"),
        ("https://x.test/v1?api-version=1", "https://x.test/v1/chat/completions?api-version=1"),
    ];
    for (base, url) in table {
        let codec = OpenAiChat::new(base, Some(Secret::new("sk-SECRET")));
        let sent = codec.encode(&request("", vec![])).unwrap();
        assert_eq!(sent.url, url);
        assert!(sent.headers.contains(&("authorization", "Bearer sk-SECRET".into())));
        assert!(!format!("{sent:?} {codec:?}").contains("SECRET"));
    }
    let sent = OpenAiChat::new("https://x.test/v1", None).encode(&request("", vec![])).unwrap();
    assert!(!sent.headers.iter().any(|(name, _)| *name == "authorization"));
}

#[test]
fn a_conversation_with_calls_and_results() {
    let mut request = request(
        "Be brief.",
        vec![
            user("hello"),
            assistant("Hi.", &[]),
            user("weather?"),
            assistant("", &[("a", "f", "{\"x\": 1}"), ("b", "g", "")]),
            tool("a", "sunny", false),
            tool("b", "no such place", true),
            assistant("One more.", &[("c", "f", "{}")]),
            tool("c", "Error: gone", true),
        ],
    );
    request.tools = Rc::new([ToolDefinition {
        name: "f".into(),
        description: "does f".into(),
        input_schema: Rc::new(raw(r#"{"type":"object","properties":{}}"#)),
    }]);
    let call = |id: &str, name: &str, arguments: &str| json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}});
    let expected = json!({
        "model": "gpt-x",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "hello"},
            {"role": "assistant", "content": "Hi."},
            {"role": "user", "content": "weather?"},
            {"role": "assistant", "content": null, "tool_calls": [call("a", "f", "{\"x\": 1}"), call("b", "g", "{}")]},
            {"role": "tool", "tool_call_id": "a", "content": "sunny"},
            {"role": "tool", "tool_call_id": "b", "content": "Error: no such place"},
            {"role": "assistant", "content": "One more.", "tool_calls": [call("c", "f", "{}")]},
            {"role": "tool", "tool_call_id": "c", "content": "Error: gone"},
        ],
        "tools": [{"type": "function", "function": {
            "name": "f", "description": "does f", "parameters": {"type": "object", "properties": {}}
        }}],
        "stream": true,
        "stream_options": {"include_usage": true},
    });
    assert_eq!(body(&request), expected);
}

#[test]
fn what_is_not_needed_is_not_sent() {
    let mut request = request("", vec![user("x"), assistant("", &[])]);
    let mut choice = (*request.model).clone();
    choice.capabilities.parallel_tool_calls = false;
    request.model = Rc::new(choice);
    let sent = body(&request);
    assert_eq!(
        sent["messages"],
        json!([{"role": "user", "content": "x"}, {"role": "assistant", "content": ""}])
    );
    assert_eq!((sent.get("tools"), sent.get("parallel_tool_calls")), (None, None));
    let input_schema = Rc::new(raw("{}"));
    request.tools = Rc::new([ToolDefinition { name: "f".into(), description: String::new(), input_schema }]);
    assert_eq!(body(&request)["parallel_tool_calls"], json!(false));
}

#[test]
fn the_limit_of_a_reply_has_the_name_that_the_server_knows() {
    let mut request = request("", vec![]);
    request.max_output_tokens = Some(100);
    let table = [
        ("https://api.openai.com/v1", "max_completion_tokens"),
        ("https://me.openai.azure.com/openai/v1?api-version=1", "max_completion_tokens"),
        ("https://OpenRouter.ai:443/api/v1", "max_completion_tokens"),
        ("https://api.mistral.ai/v1", "max_tokens"),
        ("https://openai.com.example/v1", "max_tokens"),
        ("http://127.0.0.1:11434/v1", "max_tokens"),
    ];
    for (base, name) in table {
        let sent = OpenAiChat::new(base, None).encode(&request).unwrap();
        let sent: Value = serde_json::from_slice(&sent.body).unwrap();
        let names: Vec<_> = sent.as_object().unwrap().keys().filter(|key| key.starts_with("max_")).collect();
        assert_eq!((names, &sent[name]), (vec![&name.to_string()], &json!(100)), "{base}");
    }
}

#[test]
fn what_a_model_got_wrong_goes_back_in_a_form_that_apis_accept() {
    let (long, cut) = ("n".repeat(70), "n".repeat(64));
    let calls = [
        ("a", "f", "{\"cut"),
        ("b", "f", "[1]"),
        ("c", "f", "\"text\""),
        ("d", "", " \n"),
        ("e", "get weather!", "{}{}"),
        ("f", long.as_str(), " {\"ok\": [1, {}]} "),
    ];
    let sent = body(&request("", vec![assistant("", &calls)]));
    let functions: Vec<_> =
        sent["messages"][0]["tool_calls"].as_array().unwrap().iter().map(|c| &c["function"]).collect();
    let expected = [
        ("f", r#"{"_raw":"{\"cut"}"#),
        ("f", r#"{"_raw":"[1]"}"#),
        ("f", r#"{"_raw":"\"text\""}"#),
        ("unnamed", "{}"),
        ("get_weather_", r#"{"_raw":"{}{}"}"#),
        (&cut, " {\"ok\": [1, {}]} "),
    ];
    for (function, (name, arguments)) in functions.iter().zip(expected) {
        assert_eq!(**function, json!({"name": name, "arguments": arguments}));
    }
}

#[test]
fn a_raw_message_goes_back_byte_for_byte_to_its_own_provider_only() {
    let json = r#"{"role":"assistant", "content":null,"x":"\u0041\/","tool_calls":[]}"#;
    let message = |provider: &str| Message::Assistant {
        content: "neutral".into(),
        tool_calls: vec![],
        raw: Some(RawMessage { provider: provider.into(), json: raw(json) }),
    };
    let codec = OpenAiChat::new("https://x.test/v1", None);
    let own = codec.encode(&request("", vec![message("openai")])).unwrap();
    assert!(String::from_utf8(own.body).unwrap().contains(json));
    let other = body(&request("", vec![message("anthropic")]));
    assert_eq!(other["messages"], json!([{"role": "assistant", "content": "neutral"}]));
}

#[test]
fn what_comes_back_goes_back() {
    // A reply's raw message, with a call that was cut, through a second request.
    let stream = concat!(
        r#"data: {"choices":[{"index":0,"delta":{"reasoning_content":"hm","tool_calls":[{"index":0,"function":{"name":"f","arguments":"{\"x"}}]},"finish_reason":"length"}]}"#,
        "\n\ndata: [DONE]\n\n"
    );
    let codec = OpenAiChat::new("https://x.test/v1", None);
    let first = request("", vec![user("x"), assistant("", &[("p", "f", "{}")]), tool("p", "1", false)]);
    let mut events = vec![];
    codec.decoder(&first).feed(stream.as_bytes(), &mut events).unwrap();
    let Some(ModelEvent::Finished(reply)) = events.pop() else { panic!("no reply") };
    assert_eq!((&*reply.tool_calls[0].call_id, &*reply.tool_calls[0].arguments), ("call_1", "{\"x"));
    let mut second = first;
    let raw = reply.raw;
    second.messages.push(Rc::new(Message::Assistant {
        content: reply.text,
        tool_calls: reply.tool_calls,
        raw,
    }));
    let function = json!({"name": "f", "arguments": "{\"_raw\":\"{\\\"x\"}"});
    let expected = json!({"role": "assistant", "content": null, "reasoning_content": "hm",
        "tool_calls": [{"id": "call_1", "type": "function", "function": function}]});
    assert_eq!(body(&second)["messages"][3], expected);
}
