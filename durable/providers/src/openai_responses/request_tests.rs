use std::rc::Rc;

use serde_json::{Value, json};

use super::*;
use crate::testing::{
    PDF, PNG, all_parts, assistant, body as sent, choice, definition, raw_json, request, tool, user,
    with_choice,
};
use wire::model::{Message, RawMessage, ToolChoice};

fn body(request: &ModelRequest) -> Value {
    sent(&OpenAiResponses::new("https://x.test/v1", None), request)
}

fn said(role: &str, content: Value) -> Value {
    json!({"type": "message", "role": role, "content": content})
}

fn text(text: &str) -> Value {
    said("user", json!([{"type": "input_text", "text": text}]))
}

#[test]
fn the_address_and_the_headers() {
    let codec = OpenAiResponses::new("https://x.test/v1/?api-version=1", Some(Secret::new("sk-SECRET")));
    let sent = codec.encode(&request(vec![])).unwrap();
    assert_eq!(sent.url, "https://x.test/v1/responses?api-version=1");
    assert!(sent.headers.contains(&("authorization", "Bearer sk-SECRET".into())));
    assert!(!format!("{sent:?} {codec:?}").contains("SECRET"));
    let keyless = OpenAiResponses::new("https://x.test/v1", None).encode(&request(vec![])).unwrap();
    assert!(!keyless.headers.iter().any(|(name, _)| *name == "authorization"));
}

#[test]
fn a_conversation_with_calls_and_results() {
    let mut request = request(vec![
        user("hello"),
        assistant("Hi.", &[]),
        user("weather?"),
        assistant("Let me see.", &[("a", "f", "{\"x\": 1}"), ("b", "get it", "{\"cut")]),
        tool("a", "sunny", false),
        tool("b", "no such place", true),
        assistant("", &[]),
    ]);
    request.system = "Be brief.".into();
    request.tools = Rc::new([definition("f")]);
    let called = |id: &str, name: &str, arguments: &str| json!({"type": "function_call", "call_id": id, "name": name, "arguments": arguments});
    let result =
        |id: &str, output: &str| json!({"type": "function_call_output", "call_id": id, "output": output});
    let expected = json!({
        "model": "m",
        "instructions": "Be brief.",
        "input": [
            text("hello"),
            said("assistant", json!("Hi.")),
            text("weather?"),
            said("assistant", json!("Let me see.")),
            called("a", "f", "{\"x\": 1}"),
            called("b", "get_it", "{\"_raw\":\"{\\\"cut\"}"),
            result("a", "sunny"),
            result("b", "Error: no such place"),
        ],
        "tools": [{"type": "function", "name": "f", "description": "does f",
            "parameters": {"type": "object", "properties": {}}, "strict": false}],
        "store": false,
        "stream": true,
    });
    assert_eq!(body(&request), expected);
}

#[test]
fn options_of_the_deployment_and_the_turn_are_sent() {
    let mut request = with_choice(request(vec![user("x")]), |choice| {
        choice.options.temperature = Some(0.5);
        choice.options.reasoning_effort = Some("low".into());
        choice.capabilities.reasoning = true;
        choice.capabilities.structured_output = true;
        choice.capabilities.parallel_tool_calls = false;
    });
    request.max_output_tokens = Some(300);
    request.tool_choice = ToolChoice::Required;
    request.response_schema = Some(Rc::new(raw_json(r#"{"type":"object"}"#)));
    let sent = body(&request);
    assert_eq!((&sent["max_output_tokens"], &sent["temperature"]), (&json!(300), &json!(0.5)));
    assert_eq!(
        (&sent["reasoning"], &sent["include"]),
        (&json!({"effort": "low"}), &json!(["reasoning.encrypted_content"]))
    );
    let format =
        json!({"type": "json_schema", "name": "reply", "schema": {"type": "object"}, "strict": false});
    assert_eq!(sent["text"], json!({ "format": format }));
    assert_eq!(
        (sent.get("tool_choice"), sent.get("parallel_tool_calls")),
        (None, None),
        "there are no tools"
    );
    request.tools = Rc::new([definition("f")]);
    let sent = body(&request);
    assert_eq!((&sent["tool_choice"], &sent["parallel_tool_calls"]), (&json!("required"), &json!(false)));
    // Issue 43
    assert_eq!((sent.get("service_tier"), sent.get("prompt_cache_key")), (None, None));
    let tiered = with_choice(request.clone(), |choice| choice.options.service_tier = Some("flex".into()));
    assert_eq!(body(&tiered)["service_tier"], "flex");
    assert_eq!(body(&ModelRequest { tool_choice: ToolChoice::None, ..request })["tool_choice"], "none");
}

#[test]
fn images_and_files() {
    let seeing = with_choice(request(vec![all_parts()]), |choice| choice.capabilities.vision = true);
    let expected = json!([
        {"type": "input_text", "text": "look"},
        {"type": "input_image", "image_url": PNG},
        {"type": "input_file", "filename": "a.pdf", "file_data": PDF},
        {"type": "input_text", "text": "File a.txt:\n\nhello"},
    ]);
    assert_eq!(body(&seeing)["input"], json!([said("user", expected)]));
    let blind = body(&request(vec![all_parts()]));
    assert_eq!(blind["input"][0]["content"][1]["text"], "[image/png, 1 kB] (you cannot see it)");
}

// N-171
#[test]
fn items_return_byte_for_byte_to_their_model() {
    let items = r#"[{"type":"reasoning", "encrypted_content":"\u0041\/"},{"id":"fc_1","type":"function_call","call_id":"a","name":"f","arguments":"{}"}]"#;
    let message = |change: &dyn Fn(&mut RawMessage)| {
        let mut raw = RawMessage::of(&choice(), WIRE, raw_json(items));
        change(&mut raw);
        let Message::Assistant { content, tool_calls, .. } = assistant("neutral", &[("a", "f", "{}")]) else {
            panic!()
        };
        Message::Assistant { content, tool_calls, raw: Some(raw) }
    };
    let codec = OpenAiResponses::new("https://x.test/v1", None);
    let own = codec.encode(&request(vec![message(&|_| {})])).unwrap();
    let own = String::from_utf8(own.body).unwrap();
    assert!(own.contains(&format!("\"input\":{items}")), "{own}");
    let others: [&dyn Fn(&mut RawMessage); 4] = [
        &|raw| raw.provider = "there".into(),
        &|raw| raw.wire = "chat".into(),
        &|raw| raw.model = "n".into(),
        // Issue 43: a cut leaves no reasoning behind.
        &|raw| raw.is_cut_off = true,
    ];
    for other in others {
        let neutral = json!([
            said("assistant", json!("neutral")),
            {"type": "function_call", "call_id": "a", "name": "f", "arguments": "{}"},
        ]);
        assert_eq!(body(&request(vec![message(other)]))["input"], neutral);
    }
}
