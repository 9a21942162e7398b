use std::rc::Rc;

use serde_json::{Value, json};

use super::*;
use crate::testing::{
    all_parts, assistant, body as sent, choice, definition, raw_json, request, tool, user, with_choice,
};
use wire::model::{Message, ModelChoice, RawMessage, ToolChoice};

fn body(request: &ModelRequest) -> Value {
    sent(&Anthropic::new("https://x.test", None), request)
}

/// The block with a cache mark.
fn cached(mut block: Value) -> Value {
    block["cache_control"] = json!({"type": "ephemeral"});
    block
}

fn text(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

#[test]
fn the_address_and_the_headers() {
    let table = [
        ("https://api.anthropic.com", "https://api.anthropic.com/v1/messages"),
        ("https://api.anthropic.com/v1/", "https://api.anthropic.com/v1/messages"),
        ("https://gateway.test/me/gw/anthropic", "https://gateway.test/me/gw/anthropic/v1/messages"),
        ("http://127.0.0.1:8080/v1?x=/y", "http://127.0.0.1:8080/v1/messages?x=/y"),
    ];
    for (base, url) in table {
        let codec = Anthropic::new(base, Some(Secret::new("sk-SECRET")));
        let sent = codec.encode(&request(vec![])).unwrap();
        assert_eq!(sent.url, url);
        for header in [
            ("x-api-key", "sk-SECRET"),
            ("anthropic-version", "2023-06-01"),
            ("content-type", "application/json"),
        ] {
            assert!(sent.headers.contains(&(header.0, header.1.into())), "{header:?}");
        }
        assert!(!sent.headers.iter().any(|(name, _)| *name == "authorization"));
        assert!(!format!("{sent:?} {codec:?}").contains("SECRET"));
    }
    let keyless = Anthropic::new("https://x.test", None).encode(&request(vec![])).unwrap();
    assert!(!keyless.headers.iter().any(|(name, _)| *name == "x-api-key"));
}

#[test]
fn a_conversation_with_calls_and_results() {
    let mut request = request(vec![
        user("hello"),
        assistant("Hi. \n", &[]),
        user("weather?"),
        assistant("Let me see.", &[("a", "f", "{\"x\": 1}"), ("b", "get it", "{\"cut")]),
        tool("a", "", false),
        tool("b", "", true),
        assistant("", &[("functions.f:0", "f", "")]),
        tool("functions.f:0", "gone", true),
    ]);
    request.system = "Be brief.".into();
    request.tools = Rc::new([definition("f")]);
    let mut expected = json!({
        "model": "m",
        "max_tokens": 32_000,
        "system": [cached(text("Be brief."))],
        "messages": [
            {"role": "user", "content": [text("hello")]},
            {"role": "assistant", "content": [text("Hi.")]},
            {"role": "user", "content": [text("weather?")]},
            {"role": "assistant", "content": [
                text("Let me see."),
                {"type": "tool_use", "id": "a", "name": "f", "input": {"x": 1}},
                {"type": "tool_use", "id": "b", "name": "get_it", "input": {"_raw": "{\"cut"}},
            ]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "a"},
                {"type": "tool_result", "tool_use_id": "b", "content": "error", "is_error": true},
            ]},
            {"role": "assistant", "content": [{"type": "tool_use", "id": "", "name": "f", "input": {}}]},
            {"role": "user", "content": [
                cached(json!({"type": "tool_result", "tool_use_id": "", "content": "gone", "is_error": true})),
            ]},
        ],
        "tools": [{"name": "f", "description": "does f", "input_schema": {"type": "object", "properties": {}}}],
        "stream": true,
    });
    let sent = body(&request);
    // The id is a digest. Call and result must have the same one.
    let made = sent["messages"][5]["content"][0]["id"].clone();
    expected["messages"][5]["content"][0]["id"] = made.clone();
    expected["messages"][6]["content"][0]["tool_use_id"] = made;
    assert_eq!(sent, expected);
}

#[test]
fn empty_parts_are_left_out_and_sides_alternate() {
    let sent = body(&request(vec![
        user("a"),
        assistant(" ", &[]),
        user("b"),
        assistant("", &[("a", "f", "{}")]),
        tool("a", "1", false),
        user("c"),
    ]));
    let expected = json!([
        {"role": "user", "content": [text("a"), text("b")]},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "f", "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": "1"}, cached(text("c"))]},
    ]);
    assert_eq!(sent["messages"], expected);
    assert_eq!((sent.get("system"), sent.get("tools"), sent.get("tool_choice")), (None, None, None));
}

#[test]
fn options_of_the_deployment_and_the_turn_are_sent() {
    let mut request = with_choice(request(vec![user("x")]), |choice| {
        choice.options.temperature = Some(0.5);
        choice.options.reasoning_effort = Some("low".into());
        choice.capabilities.structured_output = true;
    });
    request.max_output_tokens = Some(300);
    request.response_schema = Some(Rc::new(raw_json(r#"{"type":"object"}"#)));
    let sent = body(&request);
    assert_eq!((&sent["max_tokens"], &sent["temperature"]), (&json!(300), &json!(0.5)));
    assert_eq!(sent["thinking"], json!({"type": "adaptive", "display": "summarized"}));
    let format = json!({"type": "json_schema", "schema": {"type": "object"}});
    assert_eq!(sent["output_config"], json!({"effort": "low", "format": format}));
    request.tools = Rc::new([definition("f")]);
    let choices = [
        (ToolChoice::Auto, Value::Null),
        (ToolChoice::Required, Value::Null),
        (ToolChoice::None, json!({"type": "none"})),
    ];
    for (tool_choice, wire) in choices {
        assert_eq!(body(&ModelRequest { tool_choice, ..request.clone() })["tool_choice"], wire);
    }
    let one = with_choice(request, |choice| choice.capabilities.parallel_tool_calls = false);
    assert_eq!(body(&one)["tool_choice"], json!({"type": "auto", "disable_parallel_tool_use": true}));
}

// Issue 43: thinking is shown, without an effort and without what a model refuses beside it.
#[test]
fn models_that_adapt_their_thinking_are_asked_to_show_it() {
    let sent = |adapts, effort: Option<&str>, temperature| {
        let request = with_choice(request(vec![user("x")]), |choice| {
            choice.capabilities.adaptive_thinking = adapts;
            choice.options.reasoning_effort = effort.map(str::to_owned);
            choice.options.temperature = temperature;
        });
        let sent = body(&request);
        (!sent["thinking"].is_null(), sent["output_config"]["effort"].clone(), sent["temperature"].clone())
    };
    let (low, half) = (Some("low"), Some(0.5));
    assert_eq!(sent(Some(true), None, None), (true, json!(null), json!(null)));
    assert_eq!(sent(Some(true), low, None), (true, json!("low"), json!(null)));
    assert_eq!(sent(Some(true), None, half), (false, json!(null), json!(0.5)));
    assert_eq!(sent(Some(true), low, half), (true, json!("low"), json!(null)));
    assert_eq!(sent(Some(false), low, half), (false, json!("low"), json!(0.5)), "Claude Opus 4.5");
    assert_eq!(sent(None, None, half), (false, json!(null), json!(0.5)), "the journals of older code");
    assert_eq!(sent(None, low, half), (true, json!("low"), json!(0.5)));
}

// Issue 43
#[test]
fn a_service_tier_is_sent() {
    let tier = |choice: &mut ModelChoice| choice.options.service_tier = Some("standard_only".into());
    let sent = body(&with_choice(request(vec![user("x")]), tier));
    assert_eq!(sent["service_tier"], "standard_only");
}

#[test]
fn images_and_files() {
    let seeing = with_choice(request(vec![all_parts()]), |choice| choice.capabilities.vision = true);
    let source =
        |media_type: &str, data: &str| json!({"type": "base64", "media_type": media_type, "data": data});
    let expected = json!([
        text("look"),
        {"type": "image", "source": source("image/png", "iVBORw0KGgo=")},
        {"type": "document", "title": "a.pdf", "source": source("application/pdf", "JVBERi0xLjQK")},
        cached(text("File a.txt:\n\nhello")),
    ]);
    assert_eq!(body(&seeing)["messages"][0]["content"], expected);
    let blind = body(&request(vec![all_parts()]));
    assert_eq!(blind["messages"][0]["content"][1], text("[image/png, 1 kB] (you cannot see it)"));
}

const BLOCKS: &str = concat!(
    r#"[{"type":"thinking", "thinking":"\u0041\/","signature":"s"},{"type":"redacted_thinking","data":"d"},"#,
    r#"{"type":"server_tool_use","id":"s","name":"web","input":{ }},{"type":"tool_use","id":"a","name":"f","input":{}}]"#
);

fn raw(change: impl Fn(&mut RawMessage)) -> Message {
    let mut raw = RawMessage::of(&choice(), WIRE, raw_json(BLOCKS));
    change(&mut raw);
    let Message::Assistant { content, tool_calls, .. } = assistant("neutral", &[("a", "f", "{}")]) else {
        panic!()
    };
    Message::Assistant { content, tool_calls, raw: Some(raw) }
}

// N-171
#[test]
fn blocks_return_byte_for_byte_to_their_model() {
    let codec = Anthropic::new("https://x.test", None);
    let messages = vec![user("x"), raw(|_| {}), tool("a", "1", false)];
    let sent = String::from_utf8(codec.encode(&request(messages)).unwrap().body).unwrap();
    assert!(sent.contains(&format!("{{\"role\":\"assistant\",\"content\":{BLOCKS}}}")), "{sent}");
    let others: [&dyn Fn(&mut RawMessage); 3] =
        [&|raw| raw.provider = "there".into(), &|raw| raw.wire = "chat".into(), &|raw| {
            raw.model = "n".into()
        }];
    for other in others {
        let sent = body(&request(vec![user("x"), raw(other), tool("a", "1", false)]));
        let neutral = json!([text("neutral"), {"type": "tool_use", "id": "a", "name": "f", "input": {}}]);
        assert_eq!(sent["messages"][1]["content"], neutral);
    }
}

#[test]
fn thinking_goes_back_within_its_turn_only() {
    let kinds = |messages: Vec<Message>| -> Vec<String> {
        let sent = body(&request(messages));
        let blocks = sent["messages"][1]["content"].as_array().unwrap().clone();
        blocks.iter().map(|block| block["type"].as_str().unwrap().to_owned()).collect()
    };
    let current = vec![user("x"), raw(|_| {}), tool("a", "1", false)];
    assert_eq!(kinds(current.clone()), ["thinking", "redacted_thinking", "server_tool_use", "tool_use"]);
    let earlier = [current, vec![assistant("Done.", &[]), user("And now?")]].concat();
    assert_eq!(kinds(earlier), ["server_tool_use", "tool_use"]);
}

// Issue 43: what the service says within a turn does not begin a new one, and a cut leaves no thinking behind.
#[test]
fn thinking_stays_behind_remarks_and_goes_with_a_cut() {
    let round = |is_cut_off| raw(|raw| raw.is_cut_off = is_cut_off);
    let messages = |is_cut_off| {
        [user("x"), round(is_cut_off), tool("a", "1", false), user("[hook h] Mind the gap."), round(false)]
            .to_vec()
    };
    let kinds = |messages: Vec<Message>| -> Vec<Vec<String>> {
        let sent = body(&ModelRequest { turn_from: Some(0), ..request(messages) });
        let replies = sent["messages"].as_array().unwrap().iter().filter(|turn| turn["role"] == "assistant");
        let kind = |block: &Value| block["type"].as_str().unwrap().to_owned();
        replies.map(|turn| turn["content"].as_array().unwrap().iter().map(kind).collect()).collect()
    };
    let whole = ["thinking", "redacted_thinking", "server_tool_use", "tool_use"].map(str::to_owned).to_vec();
    assert_eq!(kinds(messages(false)), [whole.clone(), whole.clone()]);
    assert_eq!(kinds(messages(true)), [["text", "tool_use"].map(str::to_owned).to_vec(), whole]);
}

#[test]
fn a_paused_reply_is_sent_as_it_is_and_the_mark_stands_before_it() {
    let sent = body(&request(vec![user("x"), raw(|_| {})]));
    assert_eq!(sent["messages"][0]["content"], json!([cached(text("x"))]));
    assert_eq!(
        sent["messages"][1]["content"][3].get("cache_control"),
        None,
        "its bytes are not ours to change"
    );
    let others = body(&request(vec![user("x"), assistant("Searching.", &[])]));
    assert_eq!(others["messages"][2], json!({"role": "user", "content": [cached(text("Go on."))]}));
}
