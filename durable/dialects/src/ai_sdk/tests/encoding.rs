//! The frames of the recorded log.

use std::collections::BTreeMap;
use std::fs;

use serde_json::{Value, json};

use super::client::{Client, frames};
use crate::Encode;
use crate::ai_sdk::Encoder;
use crate::recorded::{file, turn, turns, writes};
use wire::protocol::{CallStatus, Event, FinishReason, Numbered, Place, Role, Seq, Source, StoredMessage};

/// The clock of the tests: each event comes 100 ms after the one before it.
fn at(index: usize) -> u64 {
    index as u64 * 100
}

/// The frames of events for a client that has read up to `known`.
pub fn encoded(events: &[Numbered], known: Seq, ends: bool) -> Vec<u8> {
    let (mut encoder, mut out) = (Encoder::new(known, 0), Vec::new());
    for (index, event) in events.iter().enumerate() {
        encoder.encode(event, at(index), &mut out).unwrap();
    }
    if ends {
        encoder.end(true, &mut out).unwrap();
    }
    out
}

pub fn whole(events: &[Numbered]) -> Client {
    Client::default().read(&frames(&encoded(events, 0, false)))
}

pub fn part<'a>(client: &'a Client, kind: &str) -> &'a Value {
    let found = client.parts.iter().find(|part| part["type"] == kind);
    found.unwrap_or_else(|| panic!("no {kind} among {:#?}", client.parts))
}

pub fn texts(client: &Client) -> Vec<&str> {
    client
        .parts
        .iter()
        .filter(|part| part["type"] == "text")
        .filter_map(|part| part["text"].as_str())
        .collect()
}

// Issue 22
#[test]
fn the_frames_of_the_recorded_log_are_what_the_file_has() {
    let mut told = String::new();
    for (name, events) in turns() {
        told.push_str(&format!("# {name}\n"));
        told.push_str(std::str::from_utf8(&encoded(&events, 0, false)).unwrap());
    }
    let golden = file("ai_sdk.txt");
    if writes() {
        fs::write(&golden, &told).unwrap();
    }
    let written = fs::read_to_string(&golden).unwrap_or_default();
    assert!(written == told, "ESPALIER_WRITE_DIALECTS=1 cargo test -p dialects writes {}", golden.display());
}

// Issue 22
#[test]
fn every_turn_is_a_whole_message() {
    for (name, events) in turns() {
        let client = whole(&events);
        assert_eq!((client.id.as_str(), client.is_done), ("assistant-message", true), "{name}");
        assert_eq!(client.metadata["turnId"], json!(name));
        assert_eq!(client.metadata["seq"], json!(events.last().unwrap().seq), "{name}");
        assert!(client.metadata["usage"]["llm_calls"].is_number(), "{name}");
        let open = |part: &&Value| part["state"] == "streaming" || part["preliminary"] == true;
        let left = client.parts.iter().find(open);
        // The failed call of a model closes its part too.
        assert_eq!(left, None, "{name}");
    }
}

// Issue 22
#[test]
fn text_reasoning_and_steps_are_parts() {
    let client = whole(&turn("text"));
    let kinds: Vec<_> = client.parts.iter().map(|part| part["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["data-budget", "step-start", "reasoning", "text", "data-cost"]);
    assert_eq!(part(&client, "reasoning")["text"], "Let me see.");
    assert_eq!((texts(&client), client.finish.as_deref()), (vec!["Hello there."], Some("stop")));
}

// Issue 22
#[test]
fn a_reset_drops_the_parts_of_the_call() {
    let events = turn("reset");
    assert!(events.iter().any(|event| matches!(event.event, Event::ModelCallReset { .. })));
    assert_eq!(texts(&whole(&events)), ["Hello there."]);
}

// Issue 22
#[test]
fn tools_are_parts_that_the_service_carries_out() {
    let client = whole(&turn("tools"));
    let echo = part(&client, "tool-echo");
    assert_eq!((&echo["input"], &echo["state"]), (&json!({"n": 1}), &json!("output-available")));
    let failed = part(&client, "tool-fail");
    assert_eq!((&failed["state"], &failed["providerExecuted"]), (&json!("output-error"), &json!(true)));
    assert_eq!(client.parts.iter().filter(|part| part["type"] == "step-start").count(), 2);
}

// Issue 22
#[test]
fn the_work_of_subtasks_is_the_output_of_their_call() {
    let events = turn("nested");
    let client = whole(&events);
    assert_eq!(texts(&client), ["All is done."], "no level below is the root's text");
    let outputs: Vec<&Value> = client
        .parts
        .iter()
        .filter(|part| part["type"] == "tool-run_subtask")
        .map(|part| &part["output"])
        .collect();
    let of = |output: &Value| {
        let calls = output["calls"].as_array().unwrap().iter();
        calls.map(|call| format!("{} {} {}", call["name"], call["depth"], call["state"])).collect::<Vec<_>>()
    };
    assert_eq!((&outputs[0]["text"], &outputs[1]["text"]), (&json!("a done"), &json!("b done")));
    assert_eq!(of(outputs[0]), [r#""run_subtask" 1 "done""#, r#""fail" 2 "error""#]);
    assert_eq!(of(outputs[1]), [r#""echo" 1 "done""#]);

    let told = frames(&encoded(&events, 0, false));
    let preliminary = told.iter().flatten().filter(|frame| frame["preliminary"] == true).count();
    assert!(preliminary >= 2, "{preliminary}");
    let mut encoder = Encoder::new(0, 0);
    let mut out = Vec::new();
    events.iter().for_each(|event| encoder.encode(event, 0, &mut out).unwrap());
    let at_once = frames(&out);
    let once = at_once.iter().flatten().filter(|frame| frame["preliminary"] == true).count();
    assert_eq!(once, 2, "one of each call within 250 ms");
}

// Issue 22
#[test]
fn a_cut_stream_that_is_replayed_gives_the_same_message() {
    for (name, events) in turns() {
        let expected = whole(&events);
        for cut in 0..events.len() {
            // The events before the cut are stored and come at once, so other outputs are skipped than before.
            let (mut encoder, mut out) = (Encoder::new(0, 0), Vec::new());
            for (index, event) in events.iter().enumerate() {
                encoder.encode(event, at(index.max(cut)), &mut out).unwrap();
            }
            let again = Client::default().read(&frames(&out));
            assert_eq!(
                (&again.parts, &again.metadata),
                (&expected.parts, &expected.metadata),
                "{name} {cut}"
            );
        }
    }
}

// Issue 22
#[test]
fn a_call_below_the_root_that_asks_has_a_part_of_its_own() {
    for (name, state) in [("approval", "output-available"), ("denial", "output-denied")] {
        let client = whole(&turn(name));
        let write = part(&client, "tool-write");
        assert_eq!(write["state"], state);
        assert_eq!(write["toolMetadata"]["depth"], 1);
        assert_eq!(write["toolMetadata"]["parentId"], part(&client, "tool-run_subtask")["toolCallId"]);
    }
}

// Issue 22
#[test]
fn a_clients_tool_has_its_own_name_and_result() {
    let client = whole(&turn("client-tool"));
    let weather = part(&client, "tool-getWeather");
    assert_eq!((&weather["output"], &weather["providerExecuted"]), (&json!({"rain": true}), &Value::Null));
}

// Issue 44
#[test]
fn a_name_that_is_shortened_here_is_whole_at_the_client() {
    let mut events = turn("client-tool");
    for numbered in &mut events {
        if let Event::Session { client_names, .. } = &mut numbered.event {
            client_names.insert("ui_get_weather".to_owned(), "getTheWeather".to_owned());
        }
    }
    assert_eq!(part(&whole(&events), "tool-getTheWeather")["output"], json!({"rain": true}));
}

// Issue 22
#[test]
fn a_question_about_the_budget_is_asked_like_a_tool() {
    let client = whole(&turn("limit"));
    let question = part(&client, "tool-raise_limit");
    assert_eq!(
        (&question["input"]["reason"], &question["state"]),
        (&json!("tool_calls"), &json!("output-available"))
    );
    assert_eq!(part(&client, "data-budget")["data"]["limits"], question["output"]);
}

// Issue 22
#[test]
fn a_plan_is_data_that_changes() {
    let client = whole(&turn("plan"));
    let plan = &part(&client, "data-plan")["data"];
    assert_eq!(plan["status"], "completed", "{plan:#}");
    assert!(plan["steps"].as_array().unwrap().iter().all(|step| step["status"] == "completed"));
    assert_eq!(texts(&client), ["All is done."]);
}

// Issue 22
#[test]
fn a_limit_is_no_error_and_a_failure_is() {
    let client = whole(&turn("budget"));
    assert_eq!((client.finish.as_deref(), &client.error), (Some("other"), &None));
    assert_eq!(part(&client, "data-budget")["data"]["exceeded"]["reason"], "llm_calls");
    assert_eq!(client.metadata["stop"]["code"], "budget_exceeded");
    let client = whole(&turn("failure"));
    assert_eq!(client.finish.as_deref(), Some("error"));
    assert!(client.error.is_some());
}

pub fn numbered(seq: Seq, event: Event) -> Numbered {
    Numbered { seq, turn_id: "t".to_owned(), event }
}

pub fn session(messages: Vec<StoredMessage>) -> Numbered {
    let event = Event::Session {
        thread_id: "thread".to_owned(),
        user_message_id: "question".to_owned(),
        assistant_message_id: "answer".to_owned(),
        provider: String::new(),
        model: String::new(),
        limits: None,
        replaces_message_id: None,
        client_names: BTreeMap::new(),
        resumed: None,
        messages,
    };
    numbered(1, event)
}

// Issue 22
#[test]
fn a_stop_is_an_abort() {
    let error =
        Event::Error { code: "cancelled".to_owned(), message: "Stopped.".to_owned(), retryable: false };
    let done =
        Event::Done { message_id: "answer".to_owned(), finish_reason: FinishReason::Cancelled, usage: None };
    let told = frames(&encoded(&[session(Vec::new()), numbered(2, error), numbered(3, done)], 0, false));
    let kinds: Vec<_> = told.iter().flatten().map(|frame| frame["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["start", "abort", "finish"]);
    assert_eq!(told[1].as_ref().unwrap()["reason"], "Stopped.");
    assert_eq!(told[2].as_ref().unwrap()["finishReason"], "interrupted");
    assert_eq!(told.last(), Some(&None), "[DONE]");
}

// A line break would end the line of the frame.
#[test]
fn a_result_in_json_of_several_lines_is_one_line() {
    let mut events = turn("client-tool");
    for numbered in &mut events {
        if let Event::ToolCallUpdate { status: CallStatus::End, name, result, .. } = &mut numbered.event
            && name == "ui_get_weather"
        {
            *result = Some("{\r\n  \"rain\": \"a\\nb\"\n}".to_owned());
        }
    }
    let client = whole(&events);
    assert_eq!(part(&client, "tool-getWeather")["output"], json!({ "rain": "a\nb" }));
}

// Issue 22
#[test]
fn a_stream_that_breaks_off_is_an_error() {
    let mut out = Vec::new();
    let mut encoder = Encoder::new(0, 0);
    encoder.encode(&session(Vec::new()), 0, &mut out).unwrap();
    encoder.end(false, &mut out).unwrap();
    assert!(Client::default().read(&frames(&out)).error.is_some());
    let before = out.len();
    encoder.end(false, &mut out).unwrap();
    assert_eq!(out.len(), before, "it ends once");
}

// Issue 22
#[test]
fn a_turn_without_events_is_its_stored_answer() {
    let answer = StoredMessage {
        id: "answer".to_owned(),
        turn_id: "t".to_owned(),
        role: Role::Assistant,
        content: "Long ago.".to_owned(),
        created_at: 0,
        finish_reason: Some(FinishReason::Length),
        stop: None,
        usage: None,
        execution_tree: None,
        parts: Vec::new(),
    };
    let client = whole(&[session(vec![answer])]);
    assert_eq!((texts(&client), client.finish.as_deref()), (vec!["Long ago."], Some("length")));
}

pub fn call(seq: Seq, status: CallStatus, place: Place, sources: Vec<Source>) -> Numbered {
    let is_end = status == CallStatus::End;
    let event = Event::ToolCallUpdate {
        tool_call_id: format!("call-{}", place.depth),
        name: "search".to_owned(),
        status,
        started_ms: None,
        args: (!is_end).then(|| json!({"_raw": "{"})),
        result: is_end.then(|| "no JSON".to_owned()),
        is_error: is_end && sources.is_empty(),
        duration_ms: None,
        usage: None,
        decision: None,
        cost_usd: None,
        sources,
        awaits: None,
        expires_at: None,
        place,
    };
    numbered(seq, event)
}

// Issue 22
#[test]
fn arguments_that_are_no_json_are_an_error_of_the_input() {
    let (start, end) = (
        call(2, CallStatus::Start, Place::default(), Vec::new()),
        call(3, CallStatus::End, Place::default(), Vec::new()),
    );
    let told = frames(&encoded(&[session(Vec::new()), start, end], 0, false));
    assert_eq!(told.last().unwrap().as_ref().unwrap()["type"], "tool-input-error");
}

// Issue 22
#[test]
fn a_source_is_a_document_or_an_address() {
    let titles = ["Guide.md", "https://a.example/x"];
    let sources = titles.map(|title| Source { title: title.to_owned() }).into();
    let end = call(3, CallStatus::End, Place::default(), sources);
    let told = frames(&encoded(
        &[session(Vec::new()), call(2, CallStatus::Start, Place::default(), Vec::new()), end],
        0,
        false,
    ));
    let sources: Vec<_> = told.iter().flatten().filter(|frame| frame["sourceId"].is_string()).collect();
    assert_eq!((&sources[0]["type"], &sources[0]["title"]), (&json!("source-document"), &json!("Guide.md")));
    assert_eq!(
        (&sources[1]["type"], &sources[1]["url"]),
        (&json!("source-url"), &json!("https://a.example/x"))
    );
}
