//! The bodies of the client.

use serde_json::{Value, json};
use uuid::Uuid;

use crate::ai_sdk::request::*;
use crate::given::{MAX_IMPORTED, unanswered};
use crate::pieces::MAX_MESSAGES;
use engine::testing::foreign_schemas;
use engine::toolbelt::client;
use wire::pace::{Pace, at_once, no_pause};
use wire::protocol::{ApiError, Content, Decision, GivenAnswer, IfRunning};

const ANSWER: &str = "0190a0a0-0000-7000-8000-000000000001";

fn user(id: &str, text: &str) -> Value {
    json!({"id": id, "role": "user", "parts": [{"type": "text", "text": text}]})
}

fn assistant(id: &str, parts: Value) -> Value {
    json!({"id": id, "role": "assistant", "parts": parts})
}

fn parse(body: &Value) -> Result<Sent, ApiError> {
    at_once(Sent::parse(body.to_string().as_bytes(), &Pace::new(&no_pause))).unwrap()
}

fn field(body: &Value) -> Option<String> {
    parse(body).err().and_then(|error| error.field.clone())
}

fn turn(body: &Value) -> (Box<wire::protocol::ChatRequest>, Option<(String, String)>, Option<Uuid>) {
    match parse(body).unwrap().wants {
        Wants::Turn { request, same, follows, .. } => (request, same, follows),
        Wants::Answers { answers, .. } => panic!("{answers:?}"),
    }
}

// Issue 22
#[test]
fn the_newest_message_of_the_user_counts() {
    let old = json!({"id": "x", "role": "assistant", "parts": "of no form that we know", "extra": [[[1]]]});
    let body = json!({
        "id": "chat 1", "trigger": "submit-message", "model": "espalier",
        "messages": [{"id": "s", "role": "system", "parts": []}, user("u1", "One"), old, user("u2", "Two")],
    });
    assert_eq!(parse(&body).unwrap().chat_id, "chat 1");
    let (request, same, follows) = turn(&body);
    assert_eq!(request.content, Content::from("Two"));
    assert_eq!((request.model.as_deref(), request.if_running), (None, Some(IfRunning::Supersede)));
    assert_eq!(same.map(|(id, _)| id).as_deref(), Some("u2"));
    assert_eq!(follows, None, "the thread is the authority of the history");
}

// Issue 44
#[test]
fn instructions_are_read_from_all_their_places() {
    let given = |body: Value| {
        let mut request = wire::protocol::ChatRequest::default();
        parse(&body).unwrap().instructions.give(&mut request).unwrap();
        request.instructions
    };
    let system = |text: &str| json!({"id": "s", "role": "system", "parts": [{"type": "text", "text": text}]});
    assert_eq!(given(json!({"id": "c", "messages": [user("u", "Go")]})), None);
    let body = json!({"id": "c", "system": "One.", "messages": [system("Two."), user("u", "Go")]});
    assert_eq!(given(body).as_deref(), Some("One.\n\nTwo."));
    let late = json!({"id": "c", "system": " ", "messages": [user("u0", "Before"), system("Late."), user("u", "Go")]});
    assert_eq!(given(late).as_deref(), Some("Late."));
    assert_eq!(
        field(&json!({"id": "c", "system": {}, "messages": [user("u", "Go")]})).as_deref(),
        Some("system")
    );
}

// Issue 22
#[test]
fn a_history_is_imported_in_turns() {
    let history = |messages: &[Value]| {
        let body = json!({"id": "c", "messages": messages});
        let Wants::Turn { history, .. } = parse(&body).unwrap().wants else { panic!() };
        history
    };
    let text = |text: &str| json!({"type": "text", "text": text});
    let tool =
        json!({"type": "tool-a", "toolCallId": "t", "state": "output-available", "output": "not imported"});
    let messages = [
        assistant("a0", json!([text("Welcome.")])),
        user("u1", "One"),
        json!({"id": "s", "role": "system", "parts": [text("Be brief.")]}),
        user("u2", "and two"),
        assistant("a1", json!([{"type": "step-start"}, tool, text("Three."), text("Four.")])),
        user("u3", "Unanswered"),
        user("u4", "Five"),
    ];
    assert_eq!(history(&messages), ["One\n\nand two", "Three.\n\nFour.", "Unanswered"]);
    assert_eq!(history(&messages[..2]), [""; 0], "an answer without its question");
    assert_eq!(history(&[user("u1", "One"), assistant("a", json!("no parts")), user("u2", "Two")]), ["One"]);

    // The newest messages of a list, and the newest characters of a conversation.
    let many = |rounds: usize| {
        let rounds = (0..rounds).flat_map(|_| [user("u", "q"), assistant("a", json!([text("a")]))]);
        history(&rounds.chain([user("u", "Now")]).collect::<Vec<_>>()).len()
    };
    let most = (MAX_MESSAGES - 1) / 2 * 2;
    assert_eq!((many(most / 2), many(most / 2 + 1)), (most, most));
    let long = |extra: usize| {
        let old = [user("u", "a"), assistant("a", json!([text("b")]))];
        let new = [
            user("u", &"q".repeat(MAX_IMPORTED / 2)),
            assistant("a", json!([text(&"r".repeat(MAX_IMPORTED / 2 - 2 + extra))])),
        ];
        history(&[&old[..], &new[..], &[user("u", "Now")]].concat()).len()
    };
    assert_eq!((long(0), long(1)), (4, 2));
}

// Issue 22
#[test]
fn a_version_follows_the_answer_before_its_message() {
    let history = [user("u1", "One"), assistant(ANSWER, json!([])), user("u2", "Two")];
    let body = |more: Value, messages: &[Value]| {
        let mut body = json!({"id": "c", "messages": messages});
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        body
    };
    let answer = Some(Uuid::parse_str(ANSWER).unwrap());
    let anew = json!({"trigger": "regenerate-message"});
    let edited = json!({"trigger": "submit-message", "messageId": "u2"});
    for (more, messages, expected) in [
        (&anew, &history[..], answer),
        (&edited, &history[..], answer),
        (&anew, &history[..1], Some(Uuid::nil())),
    ] {
        let (_, same, follows) = turn(&body(more.clone(), messages));
        assert_eq!((same, follows), (None, expected));
    }
    // An answer without words has its question all the same: a version takes what the user said after it.
    let between =
        [&history[..2], &[user("u", "Twice"), user("u", " "), user("u", "over")], &history[2..]].concat();
    for (messages, expected) in
        [(&history[..], None), (&between[..], Some("Twice\n\nover")), (&between[2..], Some("Twice\n\nover"))]
    {
        let Wants::Turn { mut history, .. } = parse(&body(anew.clone(), messages)).unwrap().wants else {
            panic!()
        };
        assert_eq!(unanswered(&mut history).as_deref(), expected);
    }
    let foreign = [user("u1", "One"), assistant("mine", json!([])), user("u2", "Two")];
    assert_eq!(turn(&body(anew.clone(), &foreign)).2, Some(Uuid::max()), "an answer of the history");
    assert_eq!(field(&body(anew, &history[..2])).as_deref(), Some("messages"));
}

// Issue 22
#[test]
fn answers_are_the_parts_that_a_client_sends_again() {
    let part = |more: Value| {
        let mut part = json!({"type": "tool-getWeather", "toolCallId": "t", "input": {}});
        part.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        part
    };
    let parts = json!([
        {"type": "step-start"},
        part(json!({"state": "output-available", "output": "by us", "providerExecuted": true})),
        part(json!({"state": "output-available", "output": {"rain": true}})),
        part(json!({"state": "output-available", "output": "a text"})),
        part(json!({"state": "output-error", "errorText": "No."})),
        part(json!({"state": "approval-requested", "approval": {"id": "a0"}})),
        part(json!({"state": "approval-responded", "approval": {"id": "a1", "approved": true}, "providerExecuted": true})),
        part(json!({"state": "approval-responded", "approval": {"id": "a2", "approved": false, "reason": "No."}})),
        {"type": "text", "text": "Well."},
    ]);
    let mut message = assistant(ANSWER, parts);
    message["metadata"] = json!({"turnId": "turn", "seq": 7, "usage": {}, "theirs": 1});
    let body = json!({"id": "c", "messages": [user("u1", "One"), message], "messageId": ANSWER});
    let Wants::Answers { answers, read } = parse(&body).unwrap().wants else { panic!() };
    let result = |content: &str, is_error| GivenAnswer {
        id: "t".to_owned(),
        decision: None,
        content: content.to_owned(),
        is_error,
    };
    let decision = |id: &str, decision| GivenAnswer {
        id: id.to_owned(),
        decision: Some(decision),
        content: String::new(),
        is_error: false,
    };
    let expected = [
        result(r#"{"rain":true}"#, false),
        result("a text", false),
        result("No.", true),
        decision("a1", Decision::Approve),
        decision("a2", Decision::Deny),
    ];
    assert_eq!(answers, expected);
    assert_eq!(read, Some(("turn".to_owned(), 7)));
}

// Issue 42, M5: no tree is made of an output, so it may have as many values as fit into a result.
#[test]
fn the_output_of_a_tool_may_have_many_values() {
    let output = json!(vec![0; 12_000]);
    let part = json!([{"type": "tool-a", "toolCallId": "t", "state": "output-available", "output": output}]);
    let body = json!({"id": "c", "messages": [user("u1", "One"), assistant("m", part)], "messageId": "m"});
    let Wants::Answers { answers, .. } = parse(&body).unwrap().wants else { panic!() };
    assert_eq!(answers[0].content, output.to_string());
}

// Issue 22
#[test]
fn an_answer_may_come_after_another_message_of_the_user() {
    let part = json!([{"type": "dynamic-tool", "toolCallId": "t", "state": "output-available", "output": 7}]);
    let body = json!({
        "id": "c", "messageId": "m", "trigger": "submit-message",
        "messages": [user("u1", "One"), assistant("m", part), user("u2", "Two")],
    });
    assert!(matches!(parse(&body).unwrap().wants, Wants::Answers { .. }));
}

// Issue 22
#[test]
fn files_are_images_and_files() {
    let png = "data:image/png;base64,iVBORw0KGgo=";
    let parts = json!([
        {"type": "file", "mediaType": "image/png", "url": png},
        {"type": "file", "mediaType": "text/plain", "filename": "a.txt", "url": "data:text/plain;base64,aGk="},
        {"type": "data-mine", "data": 1},
        {"type": "text", "text": "Look"},
    ]);
    let with = |parts: Value| json!({"id": "c", "messages": [{"id": "u", "role": "user", "parts": parts}]});
    let (request, ..) = turn(&with(parts));
    let Content::Parts(parts) = request.content else { panic!() };
    assert_eq!(
        parts.iter().map(|part| part.words().into_owned()).collect::<Vec<_>>(),
        ["[image/png, 1 kB]", "[a.txt, 1 kB]", "Look"]
    );
    let far = json!([{"type": "file", "mediaType": "image/png", "url": "https://a.example/a.png"}]);
    assert_eq!(field(&with(far)).as_deref(), Some("messages[0].parts[0].url"));
    let wrong = json!([{"type": "file", "mediaType": "image/png", "url": "data:image/png;base64,aGk="}]);
    assert_eq!(field(&with(wrong)).as_deref(), Some("messages[0].parts[0].data"));
}

// Issue 22
#[test]
fn tools_of_any_name_are_taken() {
    let tool = |name: &str| json!({"name": name, "description": "d", "inputSchema": {"type": "object"}});
    let with = |tools: Value| json!({"id": "c", "messages": [user("u", "One")], "tools": tools});
    let (request, ..) = turn(&with(json!([tool("getWeather"), tool("get-x")])));
    let names: Vec<_> = request.client_tools.into_iter().flatten().map(|tool| tool.name).collect();
    assert_eq!(names, ["ui_get_weather", "ui_get_2dx"]);
    let long = "A".repeat(64);
    let taken = turn(&with(json!([tool(&long)]))).0.client_tools.unwrap().remove(0);
    assert_eq!((taken.name.len(), taken.client_name), (64, Some(long.clone())));
    for name in ["", "\u{fc}", &format!("{long}A")] {
        assert_eq!(field(&with(json!([tool("ok"), tool(name)]))).as_deref(), Some("tools[1].name"));
    }
}

// Issue 44: assistant-ui's `AssistantChatTransport` sends its tools as a map, and `{}` where it has none.
#[test]
fn tools_may_be_a_map_from_names() {
    let with = |tools: Value| json!({"id": "c", "messages": [user("u", "One")], "tools": tools});
    assert_eq!(turn(&with(json!({}))).0.client_tools, Some(vec![]));
    let schema = json!({"$schema": "http://json-schema.org/draft-07/schema#", "type": "object"});
    let map = json!({
        "getWeather": {"description": "Tells it.", "parameters": schema},
        "plain": {"parameters": null},
    });
    let (request, ..) = turn(&with(map));
    let tools: Vec<Value> =
        request.client_tools.iter().flatten().map(|tool| serde_json::to_value(tool).unwrap()).collect();
    assert_eq!(
        tools,
        [
            json!({"name": "ui_get_weather", "description": "Tells it.", "input_schema": schema}),
            json!({"name": "ui_plain", "description": "plain", "input_schema": {}}),
        ]
    );
    assert_eq!(field(&with(json!({"a": 7}))).as_deref(), Some("tools.a"));
    assert_eq!(field(&with(json!({"\u{fc}": {}}))).as_deref(), Some("tools[0].name"));
    assert_eq!(field(&with(json!({"a": {"parameters": "no"}}))).as_deref(), Some("tools[0].parameters"));
    assert_eq!(field(&with(json!("no"))).as_deref(), Some("tools"));
}

// Issue 44: the schemas of `tests/schemas`, in a list and in a map.
#[test]
fn the_schemas_of_libraries_are_taken() {
    for row in foreign_schemas() {
        let list = json!([{"name": "t", "description": "d", "inputSchema": row.schema}]);
        let map = json!({"t": {"description": "d", "parameters": row.schema}});
        for tools in [list, map] {
            let (request, ..) = turn(&json!({"id": "c", "messages": [user("u", "One")], "tools": tools}));
            let tools = request.client_tools.unwrap();
            assert_eq!(client::check(&tools), Ok(()), "{row:?}");
            row.check(&client::spec(&tools[0], false));
        }
    }
}

// Issue 22
#[test]
fn a_wrong_body_is_refused_by_its_member() {
    let ok = json!({"id": "c", "messages": [user("u", "One")]});
    for (member, value, expected) in [
        ("id", json!(1), "id"),
        ("id", json!(""), "id"),
        ("id", json!("x".repeat(MAX_CHAT_ID + 1)), "id"),
        ("messages", json!([]), "messages"),
        ("messages", json!("x"), "messages"),
        ("messages", json!([assistant("a", json!([]))]), "messages"),
        ("messages", json!([{"id": "u", "role": "user", "parts": 1}]), "messages[0].parts"),
        ("messages", json!([{"id": "u", "role": "user", "parts": []}]), "messages[0].parts"),
        ("messages", json!([{"role": "user", "parts": []}]), "messages[0].id"),
        ("messages", json!([{"id": "u", "role": "robot", "parts": []}]), "messages[0].role"),
        ("trigger", json!("resume-stream"), "trigger"),
        ("trigger", json!(null), "trigger"),
        ("chat_context", json!({"kind": 7}), "chat_context.kind"),
        ("tools", json!([{"name": 7}]), "tools[0].name"),
        ("messages", json!([7]), "messages[0]"),
        ("workspace", json!("../x"), "workspace"),
        ("time_zone", json!("x".repeat(65)), "time_zone"),
        ("time_zone", json!(1), "time_zone"),
    ] {
        let mut body = ok.clone();
        body[member] = value;
        assert_eq!(field(&body).as_deref(), Some(expected), "{body}");
    }
    let mut longest = ok.clone();
    longest["id"] = json!("x".repeat(MAX_CHAT_ID));
    assert!(parse(&longest).is_ok());
    let result = |bytes: usize| {
        let part = json!([{"type": "tool-a", "toolCallId": "t", "state": "output-available", "output": "x".repeat(bytes)}]);
        field(&json!({"id": "c", "messages": [assistant("a", part)]}))
    };
    assert_eq!(result(1 << 20), None);
    assert_eq!(result((1 << 20) + 1).as_deref(), Some("messages[0].parts"));
}
