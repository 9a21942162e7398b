//! The answers of the recorded log, in both APIs.

use std::collections::BTreeMap;
use std::fs;

use serde_json::{Value, json};

use crate::openai::Encoder;
use crate::recorded::{file, turn, turns, writes};
use crate::{Encode, Translation};
use wire::protocol::{
    AgentState, AnswerForm, Dialect, Event, FinishReason, Numbered, OpenAi, OpenAiApi, Role, Seq,
    StoredMessage,
};

pub fn how(api: OpenAiApi, form: AnswerForm, segment: u32) -> OpenAi {
    OpenAi { api, form, usage: true, background: false, segment, after: None }
}

const CHAT: OpenAiApi = OpenAiApi::ChatCompletions;
const RESPONSES: OpenAiApi = OpenAiApi::Responses;
const STREAM: AnswerForm = AnswerForm::Stream;
const WHOLE: AnswerForm = AnswerForm::Whole;

pub fn encoded(events: &[Numbered], how: OpenAi) -> (u16, String) {
    let (mut encoder, mut out) = (Encoder::new(how), Vec::new());
    for event in events {
        encoder.encode(event, 0, &mut out).unwrap();
    }
    let is_parked = events.last().is_some_and(is_parking);
    encoder.end(is_parked, &mut out).unwrap();
    (encoder.head().0, String::from_utf8(out).unwrap())
}

fn is_parking(event: &Numbered) -> bool {
    matches!(event.event, Event::AgentState { state: AgentState::WaitingOnUser, .. })
}

/// How many answers a turn is.
fn answers(events: &[Numbered]) -> u32 {
    1 + u32::try_from(events.iter().filter(|event| is_parking(event)).count()).unwrap()
}

/// The data of the frames, but for `[DONE]`.
pub fn frames(stream: &str) -> Vec<Value> {
    let data = stream.lines().filter_map(|line| line.strip_prefix("data: "));
    data.filter(|data| *data != "[DONE]").map(|data| serde_json::from_str(data).unwrap()).collect()
}

fn json_of(events: &[Numbered], api: OpenAiApi, segment: u32) -> Value {
    let (status, body) = encoded(events, how(api, WHOLE, segment));
    let body: Value = serde_json::from_str(&body).unwrap();
    assert_eq!(status == 200, body["error"].is_null() || api == RESPONSES, "{body}");
    body
}

/// The message that a client puts together from a stream of Chat Completions.
fn message(stream: &str) -> (Value, Value, Value) {
    let mut message: BTreeMap<String, String> = BTreeMap::new();
    let (mut calls, mut finish, mut usage) = (Value::Null, Value::Null, Value::Null);
    for chunk in frames(stream) {
        usage = chunk["usage"].clone();
        let Some(choice) = chunk["choices"].get(0) else { continue };
        if !choice["finish_reason"].is_null() {
            finish = choice["finish_reason"].clone();
        }
        for (member, value) in choice["delta"].as_object().unwrap() {
            match value {
                Value::String(text) => message.entry(member.clone()).or_default().push_str(text),
                Value::Array(told) => calls = json!(told),
                _ => {}
            }
        }
    }
    let text = message.remove("content").filter(|text| !text.is_empty());
    let whole = json!({
        "role": message["role"], "content": text, "refusal": message.get("refusal"), "tool_calls": calls,
        "reasoning_content": message.get("reasoning_content"),
    });
    (whole, finish, usage)
}

// Issue 22
#[test]
fn the_frames_of_the_recorded_log_are_what_the_files_have() {
    for (name, api) in [("openai_chat.txt", CHAT), ("openai_responses.txt", RESPONSES)] {
        let mut told = String::new();
        for (name, events) in turns() {
            for segment in 0..answers(&events) {
                told.push_str(&format!("# {name} {segment}\n"));
                told.push_str(&encoded(&events, how(api, STREAM, segment)).1);
            }
        }
        if writes() {
            fs::write(file(name), &told).unwrap();
        }
        let written = fs::read_to_string(file(name)).unwrap_or_default();
        assert!(written == told, "ESPALIER_WRITE_DIALECTS=1 cargo test -p dialects writes {name}");
    }
}

// Issue 22
#[test]
fn a_streamed_completion_is_the_same_as_one_in_json() {
    for (name, events) in turns() {
        for segment in 0..answers(&events) {
            let body = json_of(&events, CHAT, segment);
            let (_, stream) = encoded(&events, how(CHAT, STREAM, segment));
            if name == "failure" {
                assert_eq!(frames(&stream).last(), Some(&body));
                continue;
            }
            assert!(stream.ends_with("data: [DONE]\n\n"), "{name}");
            let (told, finish, usage) = message(&stream);
            let choice = &body["choices"][0];
            for member in ["role", "content", "refusal", "reasoning_content"] {
                assert_eq!(told[member], choice["message"][member], "{name} {segment} {member}");
            }
            assert_eq!((&finish, &usage), (&choice["finish_reason"], &body["usage"]), "{name} {segment}");
            let calls = |calls: &Value| {
                let calls = calls.as_array().into_iter().flatten();
                calls.map(|call| json!([call["id"], call["function"]])).collect::<Vec<_>>()
            };
            assert_eq!(calls(&told["tool_calls"]), calls(&choice["message"]["tool_calls"]), "{name}");
        }
    }
}

// Issue 22
#[test]
fn a_completion_says_how_its_turn_went() {
    let of = |name: &str, segment| {
        let body = json_of(&turn(name), CHAT, segment);
        let choice = &body["choices"][0];
        (choice["message"]["content"].clone(), choice["finish_reason"].clone())
    };
    assert_eq!(of("text", 0), (json!("Hello there."), json!("stop")));
    assert_eq!(of("tools", 0), (json!("First. \n\nDone."), json!("stop")));
    assert_eq!(of("nested", 0), (json!("All is done."), json!("stop")), "no level below is the root's text");
    assert_eq!(of("budget", 0).1, "length");
    assert_eq!(of("client-tool", 0), (Value::Null, json!("tool_calls")));
    assert_eq!(of("client-tool", 1), (json!("It rains."), json!("stop")));
    let (status, body) = encoded(&turn("failure"), how(CHAT, WHOLE, 0));
    let body: Value = serde_json::from_str(&body).unwrap();
    assert_eq!((status, &body["error"]["type"]), (500, &json!("server_error")));
    assert_eq!(body["error"]["code"], "provider_bad_request");

    let asked = json_of(&turn("approval"), CHAT, 0);
    let choice = &asked["choices"][0];
    let refusal = choice["message"]["refusal"].as_str().unwrap();
    assert!(refusal.contains("write {}: POST /api/threads/thread/approvals/appr"), "{refusal}");
    assert_eq!(choice["finish_reason"], "stop");
}

/// The items that a client puts together from a stream of Responses, and the last response.
fn read(stream: &str) -> (Vec<Value>, Value) {
    let (mut items, mut last, mut number) = (Vec::<Value>::new(), Value::Null, None);
    for frame in frames(stream) {
        let at = frame["sequence_number"].as_u64();
        assert!(at > number, "{frame}");
        number = at;
        let kind = frame["type"].as_str().unwrap();
        let index = frame["output_index"].as_u64().map_or(0, |index| usize::try_from(index).unwrap());
        match kind {
            "response.output_item.added" => {
                assert_eq!(index, items.len());
                items.push(frame["item"].clone());
            }
            "response.output_text.delta" | "response.reasoning_summary_text.delta" => {
                let member = if items[index]["type"] == "message" { "content" } else { "summary" };
                let part = &mut items[index][member][0]["text"];
                *part = json!(format!("{}{}", part.as_str().unwrap(), frame["delta"].as_str().unwrap()));
            }
            "response.content_part.added" => items[index]["content"] = json!([frame["part"]]),
            "response.reasoning_summary_part.added" => items[index]["summary"] = json!([frame["part"]]),
            "response.output_text.done" => assert_eq!(items[index]["content"][0]["text"], frame["text"]),
            _ if kind.ends_with("_arguments.delta") => items[index]["arguments"] = frame["delta"].clone(),
            _ if kind.ends_with("_arguments.done") => {
                assert_eq!(items[index]["arguments"], frame["arguments"]);
            }
            "response.output_item.done" => {
                for member in ["content", "summary", "id", "call_id", "name", "arguments"] {
                    assert_eq!(items[index][member], frame["item"][member], "{frame}");
                }
                items[index] = frame["item"].clone();
            }
            "response.created" | "response.in_progress" => assert_eq!(frame["response"]["output"], json!([])),
            "response.completed" | "response.incomplete" | "response.failed" => {
                last = frame["response"].clone();
            }
            _ => {}
        }
    }
    (items, last)
}

// Issue 22
#[test]
fn a_streamed_response_is_the_same_as_one_in_json() {
    for (name, events) in turns() {
        for segment in 0..answers(&events) {
            let (items, last) = read(&encoded(&events, how(RESPONSES, STREAM, segment)).1);
            assert_eq!(last, json_of(&events, RESPONSES, segment), "{name} {segment}");
            let told: Vec<_> =
                items.into_iter().filter(|item| name != "reset" || item["status"] != "incomplete").collect();
            assert_eq!(json!(told), last["output"], "{name} {segment}");
        }
    }
}

// Issue 22: what a later reader knows of the request is in the id.
#[test]
fn a_response_in_the_background_says_so_by_its_id() {
    for (background, ids) in [
        (false, ["resp_threadclienttool0", "resp_threadclienttool1"]),
        (true, ["resp_threadclienttool0b", "resp_threadclienttool1b"]),
    ] {
        for (segment, before) in [(0, Value::Null), (1, json!(ids[0]))] {
            let of = OpenAi { background, ..how(RESPONSES, WHOLE, segment) };
            let body: Value = serde_json::from_str(&encoded(&turn("client-tool"), of).1).unwrap();
            assert_eq!(body["id"], ids[usize::try_from(segment).unwrap()]);
            assert_eq!((&body["background"], &body["previous_response_id"]), (&json!(background), &before));
        }
    }
}

fn kinds(response: &Value) -> Vec<String> {
    let items = response["output"].as_array().unwrap().iter();
    items
        .map(|item| [&item["type"], &item["name"]].map(|it| it.as_str().unwrap_or_default()).join(" "))
        .collect()
}

// Issue 22
#[test]
fn a_response_has_an_item_for_each_text_and_each_call_of_the_root() {
    let of = |name: &str, segment| json_of(&turn(name), RESPONSES, segment);
    let text = of("text", 0);
    assert_eq!(kinds(&text), ["reasoning ", "message "]);
    assert_eq!(text["output"][1]["content"][0]["text"], "Hello there.");
    assert_eq!((&text["id"], &text["status"]), (&json!("resp_threadtext0"), &json!("completed")));
    assert_eq!(text["metadata"], json!({ "thread_id": "thread", "turn_id": "text" }));
    let tools = of("tools", 0);
    assert_eq!(kinds(&tools), ["message ", "mcp_call echo", "mcp_call fail", "message "]);
    assert_eq!(tools["output"][1]["arguments"], r#"{"n":1}"#);
    let states =
        |at: usize| [&tools["output"][at]["status"], &tools["output"][at]["error"]].map(Value::is_string);
    assert_eq!((states(1), states(2)), ([true, false], [true, true]));
    assert_eq!(kinds(&of("nested", 0)), ["mcp_call run_subtask", "mcp_call run_subtask", "message "]);
    assert_eq!(of("budget", 0)["incomplete_details"]["reason"], "max_output_tokens");
    assert_eq!(
        (of("failure", 0)["status"].clone(), of("failure", 0)["error"]["code"].clone()),
        (json!("failed"), json!("server_error"))
    );
}

// Issue 22
#[test]
fn a_wait_ends_a_response_with_what_it_asks() {
    let of = |name: &str, segment| json_of(&turn(name), RESPONSES, segment);
    let asked = of("approval", 0);
    let question = asked["output"].as_array().unwrap().last().unwrap();
    assert_eq!((&question["type"], &question["name"]), (&json!("mcp_approval_request"), &json!("write")));
    assert!(question["id"].as_str().unwrap().starts_with("mcpr_threadapproval0_appr"), "{question}");
    // The call around it has begun in one answer and ends in the next one, with its arguments.
    let rest = of("approval", 1);
    assert_eq!((&rest["id"], &rest["previous_response_id"]), (&json!("resp_threadapproval1"), &asked["id"]));
    assert_eq!(kinds(&rest), ["mcp_call run_subtask", "message "]);
    assert_eq!(rest["output"][0]["output"], "a done");
    assert!(rest["output"][0]["arguments"].as_str().unwrap().contains("instructions"));

    let called = of("client-tool", 0);
    let call = called["output"].as_array().unwrap().last().unwrap();
    assert_eq!((&call["type"], &call["name"]), (&json!("function_call"), &json!("getWeather")));
    assert_eq!(call["arguments"], r#"{"city":"Oslo"}"#);
    assert!(call["call_id"].as_str().unwrap().starts_with("call_threadclienttool0_call"), "{call}");
    assert_eq!(kinds(&of("client-tool", 1)), ["message "]);
    let limit = of("limit", 0);
    assert_eq!(limit["output"].as_array().unwrap().last().unwrap()["name"], "raise_limit");
}

// Issue 22: the engine refused it, or a person did.
#[test]
fn a_function_that_was_refused_is_no_call_of_ours() {
    let mut events = turn("client-tool");
    events.retain(|event| !is_parking(event));
    for numbered in &mut events {
        if let Event::ToolCallUpdate { awaits, .. } = &mut numbered.event {
            *awaits = None;
        }
    }
    let (items, last) = read(&encoded(&events, how(RESPONSES, STREAM, 0)).1);
    assert_eq!(kinds(&last), ["mcp_call echo", "message "]);
    assert_eq!(json!(items), last["output"]);
}

// Issue 22
#[test]
fn a_stream_that_is_read_on_after_any_event_has_the_rest_of_it() {
    for (name, events) in turns() {
        for segment in 0..answers(&events) {
            let whole = frames(&encoded(&events, how(RESPONSES, STREAM, segment)).1);
            for (at, frame) in whole.iter().enumerate() {
                let after = frame["sequence_number"].as_u64();
                let rest = encoded(&events, OpenAi { after, ..how(RESPONSES, STREAM, segment) }).1;
                // The last event is told again.
                let expected = &whole[(at + 1).min(whole.len() - 1)..];
                assert_eq!(frames(&rest), expected, "{name} {segment} {at}");
            }
        }
    }
}

// Issue 22
#[test]
fn a_response_that_goes_on_is_told_as_far_as_it_is() {
    for (name, events) in turns() {
        for until in 1..events.len() {
            let now = encoded(&events[..until], how(RESPONSES, AnswerForm::Now, 0)).1;
            let now: Value = serde_json::from_str(&now).unwrap();
            let is_over = events[..until].iter().any(is_parking);
            assert_eq!(now["status"], if is_over { "completed" } else { "in_progress" }, "{name} {until}");
            assert_eq!(now["usage"].is_null(), !is_over);
            let (items, _) = read(&encoded(&events[..until], how(RESPONSES, STREAM, 0)).1);
            let is_left = |item: &&Value| name != "reset" || item["status"] != "incomplete";
            let ids = |items: &[Value]| {
                items.iter().filter(is_left).map(|item| item["id"].clone()).collect::<Vec<_>>()
            };
            if name != "reset" {
                assert_eq!(ids(now["output"].as_array().unwrap()), ids(&items), "{name} {until}");
            }
        }
    }
}

// Issue 22
#[test]
fn an_answer_that_there_is_not_is_missing() {
    for (name, events) in turns() {
        for api in [CHAT, RESPONSES] {
            let (status, body) = encoded(&events, how(api, WHOLE, answers(&events)));
            let body: Value = serde_json::from_str(&body).unwrap();
            assert_eq!((status, &body["error"]["code"]), (404, &json!("not_waiting")), "{name}");
        }
    }
    let stream = frames(&encoded(&turn("text"), how(RESPONSES, STREAM, 1)).1);
    assert_eq!((&stream[0]["type"], &stream[0]["code"]), (&json!("error"), &json!("not_waiting")));
}

// Issue 22
#[test]
fn a_turn_that_ended_long_ago_is_told_from_its_message() {
    let stored = StoredMessage {
        id: "0190a0a0-0000-7000-8000-000000000001".to_owned(),
        turn_id: "turn".to_owned(),
        role: Role::Assistant,
        content: "Hello.".to_owned(),
        created_at: 0,
        finish_reason: Some(FinishReason::Stop),
        stop: None,
        usage: None,
        execution_tree: None,
        parts: Vec::new(),
    };
    let event = Event::Session {
        thread_id: "thread".to_owned(),
        user_message_id: "q".to_owned(),
        assistant_message_id: stored.id.clone(),
        provider: String::new(),
        model: String::new(),
        limits: None,
        replaces_message_id: None,
        client_names: BTreeMap::new(),
        resumed: Some("truncated".to_owned()),
        messages: vec![stored],
    };
    let events = [Numbered { seq: 9, turn_id: "turn".to_owned(), event }];
    for segment in [0, 1] {
        let response = json_of(&events, RESPONSES, segment);
        assert_eq!(response["output"][0]["content"][0]["text"], "Hello.");
        assert_eq!(
            (&response["model"], &response["created_at"]),
            (&json!("espalier"), &json!(1_720_681_758_u64))
        );
    }
    assert_eq!(json_of(&events, CHAT, 0)["choices"][0]["message"]["content"], "Hello.");
    let late = OpenAi { after: Some(5_000), ..how(RESPONSES, STREAM, 0) };
    assert_eq!(read(&encoded(&events, late).1).1["status"], "completed");
}

// Issue 22
#[test]
fn json_has_no_heartbeats() {
    for (form, expected) in [(STREAM, ": \n\n"), (WHOLE, "")] {
        let mut out = Vec::new();
        let mut translation = Translation::new(Dialect::OpenAi(how(CHAT, form, 0)), 0 as Seq, 0);
        translation.feed(b": \n\n", 0, &mut out).unwrap();
        assert_eq!((out, translation.form()), (expected.as_bytes().to_vec(), form));
    }
}
