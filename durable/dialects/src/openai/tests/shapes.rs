//! The shape that a request wants of the answer.

use serde_json::json;

use super::requests::{CHAT, RESPONSES, parse_text, refused, turn, user};
use wire::protocol::{ChatRequest, ErrorCode};

// Issue 51, 1: both APIs say which shape the answer has, and a blank message has none.
#[test]
fn a_request_may_want_a_shape_of_the_answer() {
    let schema = r#"{"type":"object","properties":{"b":{},"a":{}}}"#;
    let function = |name: &str| json!({ "type": "function", "function": { "name": name } });
    let chat = |more: &str| {
        let tools = json!([function("getWeather"), function("cut")]);
        let text = format!(r#"{{"messages":[{{"role":"user","content":"Hello"}}],"tools":{tools},{more}}}"#);
        turn(parse_text(CHAT, &text).unwrap()).0
    };
    let responses = |more: &str| {
        let tools = json!([{ "type": "function", "name": "getWeather" }]);
        turn(parse_text(RESPONSES, &format!(r#"{{"input":"Hello","tools":{tools},{more}}}"#)).unwrap()).0
    };
    // The client's own text: its order of members is the model's.
    let given =
        |request: &ChatRequest| request.response_schema.as_ref().map(|schema| schema.0.get().to_owned());
    let format = format!(
        r#""response_format":{{"type":"json_schema","json_schema":{{"name":"x","schema":{schema}}}}}"#
    );
    assert_eq!(given(&chat(&format)).as_deref(), Some(schema));
    let format = format!(r#""text":{{"format":{{"type":"json_schema","name":"x","schema":{schema}}}}}"#);
    assert_eq!(given(&responses(&format)).as_deref(), Some(schema));
    assert_eq!(
        given(&chat(r#""response_format":{"type":"json_object"}"#)).as_deref(),
        Some(r#"{"type":"object"}"#)
    );
    for text in [r#""response_format":{"type":"text"}"#, r#""response_format":null"#, r#""text":7"#] {
        assert_eq!(given(&chat(text)), None);
    }
    for text in [r#""text":{"verbosity":"low"}"#, r#""text":{"format":null}"#, r#""text":null"#] {
        assert_eq!(given(&responses(text)), None);
    }
    let all = Some(vec!["ui_get_weather".to_owned(), "ui_cut".to_owned()]);
    let one = Some(vec!["ui_get_weather".to_owned()]);
    for (choice, must_call) in [
        (r#""auto""#, None),
        ("null", None),
        (r#""required""#, all),
        (r#"{"type":"function","function":{"name":"getWeather"}}"#, one.clone()),
    ] {
        assert_eq!(chat(&format!(r#""tool_choice":{choice}"#)).must_call, must_call);
    }
    assert_eq!(responses(r#""tool_choice":{"type":"function","name":"getWeather"}"#).must_call, one);
    assert_eq!(responses(r#""parallel_tool_calls":true"#).client_tools_at_once, Some(true));
    assert_eq!(responses(r#""parallel_tool_calls":null"#).client_tools_at_once, Some(true));
    assert_eq!(responses(r#""parallel_tool_calls":false"#).client_tools_at_once, Some(false));
    let blank = json!({ "messages": [user(&json!(null))], "response_format": { "type": "json_object" } });
    assert_eq!(refused(CHAT, &blank), (ErrorCode::InvalidRequest, "response_format".to_owned()));
}

#[test]
fn a_shape_that_is_none_is_refused_by_its_member() {
    for (member, value, field) in [
        ("tool_choice", json!("required"), "tool_choice"),
        ("tool_choice", json!({ "type": "function" }), "tool_choice"),
        ("tool_choice", json!("any"), "tool_choice"),
        ("tool_choice", json!({ "type": "function", "function": { "name": "getWeather" } }), "tool_choice"),
        ("response_format", json!("json"), "response_format"),
        ("response_format", json!({ "type": "grammar" }), "response_format"),
        ("response_format", json!({ "type": "json_schema" }), "response_format.json_schema.schema"),
        (
            "response_format",
            json!({ "type": "json_schema", "json_schema": { "schema": null } }),
            "response_format.json_schema.schema",
        ),
    ] {
        let mut body = json!({ "messages": [user(&json!("Hello"))] });
        body[member] = value;
        assert_eq!(refused(CHAT, &body), (ErrorCode::InvalidRequest, field.to_owned()), "{body}");
    }
    for (format, field) in [
        (json!({ "type": "json_schema" }), "text.format.schema"),
        (json!({ "type": "xml" }), "text.format"),
        (json!(7), "text.format"),
    ] {
        let body = json!({ "input": "a", "text": { "format": format } });
        assert_eq!(refused(RESPONSES, &body), (ErrorCode::InvalidRequest, field.to_owned()), "{body}");
    }
}
