use std::rc::Rc;

use serde_json::{Value, json};

use super::*;
use crate::testing::{
    all_parts, answered, assistant, choice, definition, raw_json, request as request_of, tool, user,
    with_choice,
};
use wire::model::{Message, ModelEvent, RawMessage, ToolChoice};

fn request(system: &str, messages: Vec<Message>) -> ModelRequest {
    ModelRequest { system: system.into(), ..request_of(messages) }
}

fn body(request: &ModelRequest) -> Value {
    crate::testing::body(&OpenAiChat::new("https://x.test/v1", None), request)
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
    request.tools = Rc::new([definition("f")]);
    let call = |id: &str, name: &str, arguments: &str| json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}});
    let expected = json!({
        "model": "m",
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
fn unneeded_members_are_left_out() {
    let mut request = request("", vec![user("x"), assistant("", &[])]);
    Rc::make_mut(&mut request.model).capabilities.parallel_tool_calls = false;
    let sent = body(&request);
    assert_eq!(
        sent["messages"],
        json!([{"role": "user", "content": "x"}, {"role": "assistant", "content": ""}])
    );
    assert_eq!((sent.get("tools"), sent.get("parallel_tool_calls")), (None, None));
    request.tools = Rc::new([definition("f")]);
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
fn invalid_calls_are_rewritten_for_the_apis() {
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
    let of = |change: &dyn Fn(&mut RawMessage)| {
        let mut raw = RawMessage::of(&choice(), WIRE, raw_json(json));
        change(&mut raw);
        vec![Message::Assistant { content: "neutral".into(), tool_calls: vec![], raw: Some(raw) }]
    };
    let codec = OpenAiChat::new("https://x.test/v1", None);
    let own = codec.encode(&request("", of(&|_| {}))).unwrap();
    assert!(String::from_utf8(own.body).unwrap().contains(json));
    let others: [&dyn Fn(&mut RawMessage); 3] =
        [&|raw| raw.provider = "there".into(), &|raw| raw.wire = "responses".into(), &|raw| {
            raw.model = "n".into()
        }];
    for other in others {
        let sent = body(&request("", of(other)));
        assert_eq!(sent["messages"], json!([{"role": "assistant", "content": "neutral"}]));
    }
}

// N-168
#[test]
fn options_of_the_deployment_and_the_turn_are_sent() {
    let mut request = with_choice(request("", vec![user("x")]), |choice| {
        choice.options.temperature = Some(0.5);
        choice.options.reasoning_effort = Some("low".into());
        choice.options.max_output_tokens = Some(200);
    });
    request.max_output_tokens = Some(300);
    request.tool_choice = ToolChoice::Required;
    request.response_schema = Some(Rc::new(raw_json(r#"{"type":"object"}"#)));
    let sent = body(&request);
    assert_eq!((&sent["temperature"], &sent["reasoning_effort"]), (&json!(0.5), &json!("low")));
    assert_eq!(sent["max_tokens"], 200, "the lower of both limits");
    assert_eq!((sent.get("service_tier"), sent.get("prompt_cache_key")), (None, None));
    assert_eq!(
        (sent.get("tool_choice"), sent.get("response_format")),
        (None, None),
        "no tools, no such model"
    );
    request.tools = Rc::new([definition("f")]);
    let request = with_choice(request, |choice| choice.capabilities.structured_output = true);
    let sent = body(&request);
    assert_eq!(sent["tool_choice"], "required");
    let format =
        json!({"type": "json_schema", "json_schema": {"name": "reply", "schema": {"type": "object"}}});
    assert_eq!(sent["response_format"], format);
    // Issue 43
    let tiered = with_choice(request.clone(), |choice| choice.options.service_tier = Some("flex".into()));
    assert_eq!(body(&tiered)["service_tier"], "flex");
    assert_eq!(body(&ModelRequest { tool_choice: ToolChoice::None, ..request })["tool_choice"], "none");
}

#[test]
fn images_and_files() {
    use crate::testing::{PDF, PNG};
    let blind = request("", vec![all_parts()]);
    let text = "look\n\n[image/png, 1 kB] (you cannot see it)\n\n[a.pdf, 1 kB] (you cannot see it)\n\nFile a.txt:\n\nhello";
    assert_eq!(body(&blind)["messages"], json!([{"role": "user", "content": text}]));
    let seeing = with_choice(blind, |choice| choice.capabilities.vision = true);
    let content = json!([
        {"type": "text", "text": "look"},
        {"type": "image_url", "image_url": {"url": PNG}},
        {"type": "file", "file": {"filename": "a.pdf", "file_data": PDF}},
        {"type": "text", "text": "File a.txt:\n\nhello"},
    ]);
    assert_eq!(body(&seeing)["messages"], json!([{"role": "user", "content": content}]));
    // Issue 43: Mistral's models read pictures and no PDFs.
    let seeing = with_choice(seeing, |choice| choice.capabilities.pdf = Some(false));
    let sent = body(&seeing)["messages"][0]["content"].clone();
    assert_eq!(
        (&sent[1]["type"], &sent[2]["text"]),
        (&json!("image_url"), &json!("[a.pdf, 1 kB] (you cannot see it)"))
    );
}

#[test]
fn results_and_calls_keep_their_ids() {
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
    let second = answered(first, *reply);
    let function = json!({"name": "f", "arguments": "{\"_raw\":\"{\\\"x\"}"});
    let expected = json!({"role": "assistant", "content": null, "reasoning_content": "hm",
        "tool_calls": [{"id": "call_1", "type": "function", "function": function}]});
    assert_eq!(body(&second)["messages"][3], expected);
}
