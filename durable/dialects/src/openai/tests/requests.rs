//! The bodies of both APIs.

use serde_json::{Value, json};
use uuid::Uuid;

use crate::ids::{self, MAX_ID};
use crate::openai::{Place, Sent, Wants, response};
use crate::unanswered;
use engine::testing::foreign_schemas;
use engine::toolbelt::client;
use wire::pace::{Pace, at_once, no_pause};
use wire::protocol::{
    AnswerForm, ApiError, ChatRequest, Content, ContentPart, Decision, ErrorCode, GivenAnswer, IfRunning,
    MAX_JSON_VALUES, OpenAiApi,
};

pub(super) const CHAT: OpenAiApi = OpenAiApi::ChatCompletions;
pub(super) const RESPONSES: OpenAiApi = OpenAiApi::Responses;
const THREAD: Uuid = Uuid::from_u128(1);
const TURN: Uuid = Uuid::from_u128(2);

fn id(kind: &str, segment: u32, id: &str) -> String {
    ids::of_call(kind, &THREAD.to_string(), &TURN.to_string(), segment, id)
}

fn parse(api: OpenAiApi, body: &Value) -> Result<Sent, ApiError> {
    parse_text(api, &body.to_string())
}

pub(super) fn parse_text(api: OpenAiApi, body: &str) -> Result<Sent, ApiError> {
    let thread_of = |name: Option<String>| Ok(name.map(|name| if name == "mine" { THREAD } else { TURN }));
    at_once(Sent::parse(body.as_bytes(), api, &Pace::new(&no_pause), &thread_of)).unwrap()
}

pub(super) fn parsed(api: OpenAiApi, body: &Value) -> Sent {
    parse(api, body).unwrap_or_else(|error| panic!("{body}: {error:?}"))
}

/// The code and the member of a refusal.
pub(super) fn refused(api: OpenAiApi, body: &Value) -> (ErrorCode, String) {
    let error = parse(api, body).map(|sent| format!("{sent:?}")).unwrap_err();
    (error.code, error.field.clone().unwrap_or_default())
}

pub(super) fn user(content: &Value) -> Value {
    json!({ "role": "user", "content": content })
}

pub(super) fn turn(sent: Sent) -> (ChatRequest, Option<Place>, Vec<String>) {
    let Wants::Turn { request, after, history, .. } = sent.wants else { panic!("{:?}", sent.wants) };
    (*request, after, history)
}

fn answers(sent: Sent) -> (Vec<GivenAnswer>, Place) {
    let Wants::Answers { answers, place } = sent.wants else { panic!("{:?}", sent.wants) };
    (answers, place)
}

// Issue 44: the schemas of `tests/schemas` over both APIs.
#[test]
fn the_schemas_of_libraries_are_taken() {
    for row in foreign_schemas() {
        let chat = json!({
            "messages": [{ "role": "user", "content": "Hello" }],
            "tools": [{ "type": "function", "function": { "name": "t", "parameters": row.schema } }],
        });
        let responses = json!({
            "input": "Hello", "tools": [{ "type": "function", "name": "t", "parameters": row.schema, "strict": true }],
        });
        for (api, body) in [(CHAT, chat), (RESPONSES, responses)] {
            let tools = turn(parsed(api, &body)).0.client_tools.unwrap();
            assert_eq!(client::check(&tools), Ok(()), "{row:?}");
            let mut spec = client::spec(&tools[0], false);
            if row.schema.is_null() {
                // A function without parameters has the schema of an object.
                spec.given_schema = Some("{}".to_owned());
            }
            row.check(&spec);
        }
    }
}

// Issue 22
#[test]
fn the_newest_message_of_the_user_is_a_turn() {
    let body = json!({
        "model": "espalier", "stream": true, "stream_options": { "include_usage": true }, "temperature": 0.1,
        "max_tokens": 7, "top_p": null, "tool_choice": "auto", "n": 1, "logprobs": false,
        "messages": [{ "role": "system", "content": "Be brief." }, user(&json!("Hello"))],
        "tools": [{ "type": "function", "function": { "name": "getWeather", "description": "Tells it." } }],
        "metadata": { "thread_id": "mine" },
    });
    let sent = parsed(CHAT, &body);
    assert_eq!(sent.ignored, ["max_tokens", "temperature"]);
    assert_eq!((sent.thread, sent.how.form, sent.how.usage), (Some(THREAD), AnswerForm::Stream, true));
    let (request, after, history) = turn(sent);
    assert_eq!((request.content, request.model), (Content::Text("Hello".to_owned()), None));
    assert_eq!(request.if_running, Some(IfRunning::Supersede));
    assert_eq!((request.cancel_on_disconnect, after, history), (Some(true), None, Vec::new()));
    let tools = request.client_tools.unwrap();
    assert_eq!((tools.len(), tools[0].name.as_str()), (1, "ui_get_weather"));
    assert_eq!(Value::Object(tools[0].input_schema.clone()), json!({ "type": "object" }));

    let (request, after, _) = turn(parsed(
        RESPONSES,
        &json!({ "input": "Hello", "model": "thinking", "previous_response_id": id("resp", 3, "") }),
    ));
    assert_eq!(
        (request.content, request.model.as_deref()),
        (Content::Text("Hello".to_owned()), Some("thinking"))
    );
    assert_eq!(after, Some(Place { thread: THREAD, turn: TURN, segment: 3 }));
    assert_eq!(request.cancel_on_disconnect, Some(false), "a response can be read on");
    for (members, form) in [
        (json!({}), AnswerForm::Whole),
        (json!({ "background": true }), AnswerForm::Now),
        (json!({ "background": true, "stream": true }), AnswerForm::Stream),
    ] {
        let mut body = members;
        body["input"] = json!("Hello");
        assert_eq!(parsed(RESPONSES, &body).how.form, form);
    }
    let none =
        json!({ "input": "Hello", "tool_choice": "none", "tools": [{ "type": "function", "name": "a" }] });
    assert_eq!(turn(parsed(RESPONSES, &none)).0.client_tools, Some(vec![]));
}

// Issue 22
#[test]
fn parts_are_texts_images_and_files() {
    let image = "data:image/png;base64,iVBORw0KGgo=";
    let file = "data:text/plain;base64,SGVsbG8=";
    let chat = json!([
        { "type": "text", "text": "Look" }, { "type": "image_url", "image_url": { "url": image } },
        { "type": "file", "file": { "filename": "a.txt", "file_data": file } },
    ]);
    let responses = json!([
        { "type": "input_text", "text": "Look" }, { "type": "input_image", "image_url": image },
        { "type": "input_file", "filename": "a.txt", "file_data": file },
    ]);
    let of_chat = turn(parsed(CHAT, &json!({ "messages": [user(&chat)] }))).0.content;
    let of_responses = turn(parsed(RESPONSES, &json!({ "input": [user(&responses)] }))).0.content;
    assert_eq!(of_chat, of_responses);
    let Content::Parts(parts) = of_chat else { panic!() };
    assert!(matches!(
        &parts[..],
        [ContentPart::Text { .. }, ContentPart::Image { .. }, ContentPart::File { .. }]
    ));
}

// Issue 22
#[test]
fn results_and_decisions_lead_to_their_turn() {
    let call = json!({ "role": "assistant", "tool_calls": [] });
    let tool = |segment, at: &str, content: Value| json!({ "role": "tool", "tool_call_id": id("call", segment, at), "content": content });
    let parts = json!([{ "type": "text", "text": "wet" }]);
    let messages =
        json!([user(&json!("Go")), call, tool(1, "call_a_0.0", json!("dry")), tool(1, "b", parts)]);
    let sent = parsed(CHAT, &json!({ "messages": messages }));
    assert_eq!(sent.how.segment, 2, "the next part of the turn answers");
    let (given, place) = answers(sent);
    assert_eq!(place, Place { thread: THREAD, turn: TURN, segment: 1 });
    let result = |id: &str, content: &str| GivenAnswer {
        id: id.to_owned(),
        decision: None,
        content: content.to_owned(),
        is_error: false,
    };
    assert_eq!(given, [result("call_a_0.0", "dry"), result("b", "wet")]);

    let input = json!([
        user(&json!("Go")),
        { "type": "function_call", "call_id": id("call", 0, "a"), "name": "x", "arguments": "{}" },
        { "type": "function_call_output", "call_id": id("call", 0, "a"), "output": "dry" },
        { "type": "mcp_approval_response", "approval_request_id": id("mcpr", 0, "q"), "approve": false },
    ]);
    let (given, _) = answers(parsed(RESPONSES, &json!({ "input": input })));
    let denied = GivenAnswer { decision: Some(Decision::Deny), ..result("q", "") };
    assert_eq!(given, [result("a", "dry"), denied]);

    // The user has gone on.
    let messages = json!([tool(0, "a", json!("dry")), user(&json!("No matter"))]);
    assert_eq!(
        turn(parsed(CHAT, &json!({ "messages": messages }))).0.content,
        Content::Text("No matter".to_owned())
    );
}

// Issue 22
#[test]
fn a_member_without_an_effect_is_named() {
    for (members, ignored) in [
        (json!({ "store": true, "parallel_tool_calls": true, "user": null }), &[][..]),
        (
            json!({ "store": false, "parallel_tool_calls": false, "user": "u", "seed": 7 }),
            &["seed", "store", "user"],
        ),
    ] {
        for (api, member) in [(CHAT, "messages"), (RESPONSES, "input")] {
            let mut body = members.clone();
            body[member] = json!([user(&json!("Hello"))]);
            assert_eq!(parsed(api, &body).ignored, ignored, "{body}");
        }
    }
    let system = json!({ "role": "system", "content": "Be brief." });
    let tool = json!({ "role": "tool", "tool_call_id": id("call", 0, "a"), "content": "dry" });
    let messages = json!([system, user(&json!("Go")), { "role": "assistant", "tool_calls": [{}] }, tool]);
    let sent = parsed(CHAT, &json!({ "messages": messages }));
    assert_eq!((sent.ignored.len(), sent.instructions.names().collect::<Vec<_>>()), (0, vec!["system"]));
}

// Issue 22
#[test]
fn a_history_is_imported_in_turns() {
    let message = |role: &str, content: Value| json!({ "role": role, "content": content });
    let messages = json!([
        message("assistant", json!("Welcome.")), message("user", json!("One")), message("user", json!("and two")),
        message("assistant", json!([{ "type": "text", "text": "Three." }])), message("system", json!("Be brief.")),
        { "role": "assistant", "tool_calls": [{}] }, { "role": "tool", "tool_call_id": "foreign", "content": "x" },
        message("assistant", json!("Four.")), message("user", json!("Unanswered")), message("user", json!("As well")),
        message("user", json!("Five")),
    ]);
    let sent = parsed(CHAT, &json!({ "messages": messages }));
    assert_eq!(super::instructions::given(&sent).as_deref(), Some("Be brief."));
    let (request, _, mut history) = turn(sent);
    assert_eq!(request.content, Content::Text("Five".to_owned()));
    assert_eq!(history, ["One\n\nand two", "Three.\n\nFour.", "Unanswered\n\nAs well"]);
    assert_eq!(unanswered(&mut history).as_deref(), Some("Unanswered\n\nAs well"));
    assert_eq!((history.len(), unanswered(&mut history)), (2, None));
}

// Issue 22
#[test]
fn an_imported_history_has_200_000_characters() {
    let messages = |extra: usize| {
        let message = |role: &str, content: String| json!({ "role": role, "content": content });
        let (old, new) = ("o".repeat(100_000), "n".repeat(100_000 - 4 + extra));
        json!({ "messages": [
            message("user", "a".to_owned()), message("assistant", "b".to_owned()), message("user", old),
            message("assistant", new), message("user", "c".to_owned()), message("assistant", "d".to_owned()),
            message("user", "Now".to_owned()),
        ] })
    };
    assert_eq!(turn(parsed(CHAT, &messages(0))).2.len(), 6);
    assert_eq!(turn(parsed(CHAT, &messages(1))).2.len(), 4, "the first question, and its answer with it");

    // A question without an answer is cut and never left out, so that the thread refuses it.
    let said = |chars: usize| {
        let messages = [json!("a"), json!("x".repeat(chars)), json!("Now")].map(|text| user(&text));
        turn(parsed(CHAT, &json!({ "messages": messages }))).2.remove(0).len()
    };
    assert_eq!((said(199_999), said(200_000), said(200_001)), (200_002, 200_003, 200_000));
}

// Issue 22: the members of a body are in a list, so their number is bounded.
#[test]
fn a_body_has_so_many_members() {
    let body = |more: usize| {
        let mut body = json!({ "messages": [user(&json!("Hello"))] });
        for number in 0..more {
            body[format!("x{number}")] = json!(0);
        }
        parse(CHAT, &body)
    };
    assert_eq!(body(127).unwrap().ignored.len(), 32);
    let refusal = body(128).unwrap_err();
    let told = &refusal.detail;
    assert!(refusal.code == ErrorCode::InvalidRequest && told.contains("at most 128 members"), "{refusal:?}");
}

// Issue 22
// Long: a row for each member.
#[test]
fn a_refusal_names_its_member() {
    let invalid = |field: &str| (ErrorCode::InvalidRequest, field.to_owned());
    let ok = json!({ "messages": [user(&json!("Hello"))] });
    for (member, value, field) in [
        ("n", json!(2), "n"),
        ("logprobs", json!(true), "logprobs"),
        ("top_logprobs", json!(1), "top_logprobs"),
        ("stream", json!("yes"), "stream"),
        ("model", json!(7), "model"),
        ("stream_options", json!([true]), "stream_options"),
        ("metadata", json!(["mine"]), "metadata"),
        ("metadata", json!({ "thread_id": "" }), "metadata.thread_id"),
        ("metadata", json!({ "thread_id": "x".repeat(1_025) }), "metadata.thread_id"),
        ("tools", json!({}), "tools"),
        ("tools", json!([{ "type": "web_search" }]), "tools[0].type"),
        ("tools", json!([{ "type": "function", "function": { "name": "ü" } }]), "tools[0].name"),
        (
            "tools",
            json!([{ "type": "function", "function": { "name": "a", "parameters": 1 } }]),
            "tools[0].parameters",
        ),
        ("messages", json!([]), "messages"),
        ("messages", json!("Hello"), "messages"),
        ("messages", json!([7]), "messages[0]"),
        ("messages", json!([{ "role": "system", "content": "x" }]), "messages"),
        ("messages", json!([user(&json!("a")), { "role": "assistant", "content": "b" }]), "messages[1]"),
        ("messages", json!([user(&json!(7))]), "messages[0].content"),
        ("messages", json!([user(&json!([{ "type": "audio" }]))]), "messages[0].content[0]"),
        (
            "messages",
            json!([user(&json!([{ "type": "image_url", "image_url": { "url": "http://a" } }]))]),
            "messages[0].content[0]",
        ),
    ] {
        let mut body = ok.clone();
        body[member] = value;
        assert_eq!(refused(CHAT, &body), invalid(field), "{body}");
    }
    assert!(
        parse(RESPONSES, &json!({ "metadata": { "thread_id": "x".repeat(1_024) }, "input": "a" })).is_ok()
    );
    assert_eq!(refused(CHAT, &json!({})), invalid("messages"));
    assert_eq!(
        refused(RESPONSES, &json!({ "input": "a", "previous_response_id": "resp_1" })).0,
        ErrorCode::MessageNotFound
    );

    let tool = |id: &str| json!({ "role": "tool", "tool_call_id": id, "content": "x" });
    let foreign = json!({ "messages": [tool("call_abc")] });
    assert_eq!(refused(CHAT, &foreign).0, ErrorCode::NotWaiting);
    let other = ids::of_call("call", &THREAD.to_string(), &THREAD.to_string(), 0, "a");
    let both = json!({ "messages": [tool(&id("call", 0, "a")), tool(&other)] });
    assert_eq!(refused(CHAT, &both), invalid("messages[0]"));
    let long = json!({ "messages": [{ "role": "tool", "tool_call_id": id("call", 0, "a"), "content": "x".repeat((1 << 20) + 1) }] });
    assert_eq!(refused(CHAT, &long), invalid("messages[0]"));
}

// Issue 22
#[test]
fn only_ids_of_ours_are_read() {
    let place = Place { thread: THREAD, turn: TURN, segment: 7 };
    let whole = ids::of_answer("resp", &THREAD.to_string(), &TURN.to_string(), 7);
    assert_eq!(response(&whole), Ok((place, false)));
    assert_eq!(response(&format!("{whole}b")), Ok((place, true)));
    assert_eq!(ids::read("call", &id("call", 7, "call_a_0.0")), Some((place, "call_a_0.0")));
    for wrong in [
        whole.replacen("resp", "call", 1),
        whole.trim_end_matches('7').to_owned(),
        format!("{whole}x"),
        format!("{whole}bb"),
        whole.replacen("0000", "000g", 1),
        format!("{whole}999999999999"),
        "resp_".to_owned(),
        format!("resp_{}", "\u{fc}".repeat(40)),
    ] {
        assert_eq!(response(&wrong).map_err(|error| error.code), Err(ErrorCode::MessageNotFound), "{wrong}");
    }
    let longest = id("call", 0, &"x".repeat(MAX_ID - id("call", 0, "").len()));
    assert!(ids::read("call", &longest).is_some() && ids::read("call", &format!("{longest}x")).is_none());
}

// A tree of so many values has more bytes than an isolate.
#[test]
fn a_member_or_a_message_has_a_limit_of_values() {
    let wide = |values: usize| json!(vec![0; values]);
    for (name, values, refused) in [
        ("metadata", MAX_JSON_VALUES, Some("metadata")),
        ("tools", MAX_JSON_VALUES, Some("tools")),
        ("x_unknown", MAX_JSON_VALUES, Some("x_unknown")),
        ("x_unknown", MAX_JSON_VALUES - 1, None),
    ] {
        let mut body = json!({ "messages": [{ "role": "user", "content": "Hello" }] });
        body[name] = wide(values);
        let error = parse(CHAT, &body).err();
        assert_eq!(error.and_then(|error| error.field.clone()).as_deref(), refused, "{name} {values}");
    }
    let message = json!({ "role": "user", "content": "Hello", "x": wide(MAX_JSON_VALUES) });
    let body = json!({ "messages": [message] });
    let error = parse(CHAT, &body).err().unwrap();
    assert_eq!(error.field.as_deref(), Some("messages[0]"));
    // Signs within a text are no values.
    let text =
        json!({ "input": "\\\",[{".repeat(10) , "metadata": { "x": "\\\",[{".repeat(MAX_JSON_VALUES) } });
    assert!(parse(RESPONSES, &text).is_ok());
}
