//! The responses that the recorded log becomes.

use std::fs;

use serde_json::{Value, json};

use crate::mcp::Encoder;
use crate::recorded::{file, turn, turns, writes};
use crate::{Encode, Translation};
use wire::protocol::{
    AgentState, AnswerForm, Dialect, Event, FinishReason, Form, FormQuestion, McpGives, McpReply, Numbered,
    Role, StoredMessage,
};

const STREAM: AnswerForm = AnswerForm::Stream;
const NOW: AnswerForm = AnswerForm::Now;

fn how(gives: McpGives, form: AnswerForm) -> McpReply {
    McpReply {
        id: "7".to_owned(),
        progress: Some(r#""p""#.to_owned()),
        gives,
        form,
        is_modern: true,
        state: Some("signed".to_owned()),
        origin: "https://espalier.example".to_owned(),
        stops: form == STREAM,
    }
}

/// The response of a client that reads the turn up to its end, or up to its wait of this number.
fn encoded(events: &[Numbered], how: McpReply, waits: usize) -> String {
    let (mut encoder, mut out) = (Encoder::new(how), Vec::new());
    let mut left = waits;
    for (at, event) in events.iter().enumerate() {
        encoder.encode(event, 1_000 * at as u64, &mut out).unwrap();
        if is_parking(event) {
            if left == 0 {
                break;
            }
            left -= 1;
        }
    }
    let is_parked = !encoder.is_over();
    encoder.end(is_parked, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn is_parking(event: &Numbered) -> bool {
    matches!(event.event, Event::AgentState { state: AgentState::WaitingOnUser, .. })
}

fn waits(events: &[Numbered]) -> usize {
    events.iter().filter(|event| is_parking(event)).count()
}

fn frames(stream: &str) -> Vec<Value> {
    let data = stream.lines().filter_map(|line| line.strip_prefix("data: "));
    data.map(|data| serde_json::from_str(data).unwrap()).collect()
}

fn result(events: &[Numbered], gives: McpGives, waits: usize) -> Value {
    let message: Value = serde_json::from_str(&encoded(events, how(gives, NOW), waits)).unwrap();
    assert_eq!((&message["jsonrpc"], &message["id"]), (&json!("2.0"), &json!(7)));
    message["result"].clone()
}

// Issue 22
#[test]
fn the_frames_of_the_recorded_log_are_what_the_file_has() {
    let mut told = String::new();
    for (name, events) in turns() {
        for wait in 0..=waits(&events) {
            told.push_str(&format!("# {name} {wait}\n"));
            told.push_str(&encoded(&events, how(McpGives::Answer, STREAM), wait));
        }
        for gives in [McpGives::NewTask, McpGives::Task, McpGives::Nothing] {
            told.push_str(&format!("# {name} {gives:?}\n{}\n", encoded(&events, how(gives, NOW), 0)));
        }
    }
    if writes() {
        fs::write(file("mcp.txt"), &told).unwrap();
    }
    let written = fs::read_to_string(file("mcp.txt")).unwrap_or_default();
    assert!(written == told, "ESPALIER_WRITE_DIALECTS=1 cargo test -p dialects writes mcp.txt");
}

// Issue 22
#[test]
fn a_turn_is_progress_and_then_one_result() {
    for (name, events) in turns() {
        let frames = frames(&encoded(&events, how(McpGives::Answer, STREAM), usize::MAX));
        let (last, before) = frames.split_last().unwrap();
        for (at, frame) in before.iter().enumerate() {
            assert_eq!(frame["method"], "notifications/progress", "{name}");
            assert_eq!(
                (&frame["params"]["progressToken"], &frame["params"]["progress"]),
                (&json!("p"), &json!(at + 1))
            );
            assert!(
                frame["params"]["message"].as_str().is_some_and(|message| !message.is_empty()),
                "{name} {frame}"
            );
        }
        let result = &last["result"];
        assert_eq!((&last["id"], &result["resultType"]), (&json!(7), &json!("complete")), "{name}");
        let told = &result["structuredContent"];
        assert_eq!((&told["thread_id"], &told["turn_id"]), (&json!("thread"), &json!(name)), "{last}");
        let silent = McpReply { progress: None, ..how(McpGives::Answer, STREAM) };
        assert_eq!(self::frames(&encoded(&events, silent, usize::MAX)), std::slice::from_ref(last), "{name}");
    }
}

// Issue 22
#[test]
fn a_result_says_how_its_turn_went() {
    let of = |name: &str| {
        let result = result(&turn(name), McpGives::Answer, usize::MAX);
        let told = result["structuredContent"].clone();
        (told["answer"].clone(), told["finish_reason"].clone(), result["isError"].clone())
    };
    assert_eq!(of("text"), (json!("Hello there."), json!("stop"), json!(false)));
    assert_eq!(
        of("reset"),
        (json!("Hello there."), json!("stop"), json!(false)),
        "what broke off does not count"
    );
    assert_eq!(of("tools"), (json!("First. \n\nDone."), json!("stop"), json!(false)));
    assert_eq!(
        of("nested"),
        (json!("All is done."), json!("stop"), json!(false)),
        "no level below is the root's text"
    );
    assert_eq!((of("budget").1, of("budget").2), (json!("budget"), json!(false)));
    assert_eq!((of("failure").1, of("failure").2), (json!("error"), json!(true)));
    let failure = result(&turn("failure"), McpGives::Answer, usize::MAX);
    let texts: Vec<_> =
        failure["content"].as_array().unwrap().iter().map(|content| &content["text"]).collect();
    assert_eq!(texts.len(), 3, "the text, the failure, the ids: {texts:?}");
}

// Issue 22
#[test]
fn a_turn_that_waits_asks_the_client() {
    let events = turn("approval");
    let asked = result(&events, McpGives::Answer, 0);
    assert_eq!((&asked["resultType"], &asked["requestState"]), (&json!("input_required"), &json!("signed")));
    let requests = asked["inputRequests"].as_object().unwrap();
    assert_eq!(requests.len(), 1);
    let (id, question) = requests.iter().next().unwrap();
    assert!(id.starts_with("appr"), "{id}");
    assert_eq!(
        (&question["method"], &question["params"]["mode"]),
        (&json!("elicitation/create"), &json!("form"))
    );
    assert_eq!(question["params"]["message"], "The agent asks to call write with {}.");
    let choices = &question["params"]["requestedSchema"]["properties"]["decision"]["enum"];
    assert_eq!(*choices, json!(["approve", "deny", "approve_for_thread"]));

    let limit = result(&turn("limit"), McpGives::Answer, 0);
    let question = limit["inputRequests"].as_object().unwrap().values().next().unwrap();
    let choices = &question["params"]["requestedSchema"]["properties"]["decision"]["enum"];
    assert_eq!(*choices, json!(["approve", "deny"]), "a limit is raised for this turn alone");
    assert!(question["params"]["message"].as_str().unwrap().contains("tool_calls, 2"), "{question}");

    // Answered, the same turn has its result.
    let done = result(&events, McpGives::Answer, 1);
    assert_eq!(
        (&done["resultType"], &done["structuredContent"]["answer"]),
        (&json!("complete"), &json!("All is done."))
    );
}

/// The turn of the recorded log in which a person is asked, with a form of two questions in place of the call.
fn asking_with_a_form() -> Vec<Numbered> {
    let mut events = turn("approval");
    let question = |id: &str, schema: Value, order: &[&str]| FormQuestion {
        id: id.to_owned(),
        message: format!("Which {id}?"),
        schema: schema.as_object().unwrap().clone(),
        order: order.iter().map(|&name| name.to_owned()).collect(),
    };
    let schema =
        json!({ "type": "object", "properties": { "a": { "type": "string" }, "z": {} }, "required": ["z"] });
    let questions =
        vec![question("box", schema, &["z", "a"]), question("a/b", json!({ "type": "object" }), &[])];
    for numbered in &mut events {
        if let Event::ApprovalRequest { form, .. } = &mut numbered.event {
            *form = Some(Box::new(Form { server: "shop".to_owned(), questions: questions.clone() }));
        }
    }
    events
}

// Issue 22: a form of another server, which our turn calls, is passed on with its own schemas.
#[test]
fn the_questions_of_a_form_are_asked_with_their_schemas() {
    let events = asking_with_a_form();
    let asked = result(&events, McpGives::Answer, 0);
    assert_eq!(asked["resultType"], "input_required");
    let mut requests = asked["inputRequests"].as_object().unwrap().iter();
    let (second, first) = (requests.next().unwrap(), requests.next().unwrap());
    assert!(first.0.starts_with("appr") && first.0.ends_with("/box"), "{}", first.0);
    assert!(second.0.ends_with("/a/b"), "{}", second.0);
    let params = &first.1["params"];
    assert_eq!((&params["mode"], &params["message"]), (&json!("form"), &json!("shop asks: Which box?")));
    assert_eq!(params["requestedSchema"]["required"], json!(["z"]));
    let written = encoded(&events, how(McpGives::Answer, NOW), 0);
    assert!(written.contains(r#""properties":{"z":{},"a":{"type":"string"}}"#), "{written}");
    assert_eq!(second.1["params"]["requestedSchema"], json!({ "type": "object" }));
    // Answered, the questions are gone.
    assert_eq!(result(&events, McpGives::Answer, 1)["resultType"], "complete");
    // Somebody who dismissed it learns how the form is filled in elsewhere.
    let how = McpReply { state: None, ..how(McpGives::Answer, NOW) };
    let told = encoded(&events, how, 0);
    assert!(told.contains("content") && told.contains("Which box?"), "{told}");
}

// Issue 22
#[test]
fn a_client_without_forms_learns_where_a_person_decides() {
    let events = turn("approval");
    for is_modern in [true, false] {
        let how = McpReply { state: None, is_modern, ..how(McpGives::Answer, NOW) };
        let message: Value = serde_json::from_str(&encoded(&events, how, 0)).unwrap();
        let result = &message["result"];
        assert_eq!(result["structuredContent"]["finish_reason"], "waiting");
        let told = result["content"][0]["text"].as_str().unwrap();
        assert!(told.contains("POST https://espalier.example/api/threads/thread/approvals/appr"), "{told}");
        assert_eq!(result.get("resultType").is_some(), is_modern, "an earlier revision knows no such member");
        assert_eq!(result.get("_meta").is_some(), is_modern);
    }
    // A question for the client of another service is not asked here.
    let how = McpReply { ..how(McpGives::Answer, NOW) };
    let message: Value = serde_json::from_str(&encoded(&turn("client-tool"), how, 0)).unwrap();
    assert_eq!(message["result"]["structuredContent"]["finish_reason"], "waiting");
}

// Issue 22
#[test]
fn a_task_is_the_state_of_its_turn() {
    let events = turn("approval");
    let created = result(&events, McpGives::NewTask, usize::MAX);
    assert_eq!((&created["resultType"], &created["status"]), (&json!("task"), &json!("working")));
    assert!(created["result"].is_null() && created["inputRequests"].is_null(), "{created}");
    let waiting = result(&events, McpGives::Task, 0);
    assert_eq!((&waiting["resultType"], &waiting["status"]), (&json!("complete"), &json!("input_required")));
    assert_eq!(waiting["inputRequests"].as_object().unwrap().len(), 1);
    assert!(waiting["requestState"].is_null(), "the task's id names the turn");
    let done = result(&events, McpGives::Task, 1);
    assert_eq!((&done["resultType"], &done["status"]), (&json!("complete"), &json!("completed")));
    assert_eq!(done["result"]["structuredContent"]["answer"], "All is done.");
    for member in ["taskId", "createdAt", "ttlMs", "pollIntervalMs"] {
        assert_eq!(created[member], done[member], "{member}");
    }
    assert_eq!(result(&events, McpGives::Nothing, 0)["resultType"], "complete");
    // In the middle of the turn.
    let (mut encoder, mut out) = (Encoder::new(how(McpGives::Task, NOW)), Vec::new());
    for event in events.iter().take(3) {
        encoder.encode(event, 0, &mut out).unwrap();
    }
    encoder.end(false, &mut out).unwrap();
    let message: Value = serde_json::from_slice(&out).unwrap();
    assert_eq!(message["result"]["status"], "working");
    // Without forms the client is not asked; its person decides elsewhere.
    let how = McpReply { state: None, ..how(McpGives::Task, NOW) };
    let message: Value = serde_json::from_str(&encoded(&events, how, 0)).unwrap();
    assert_eq!(message["result"]["status"], "working");
    assert!(message["result"]["statusMessage"].as_str().unwrap().contains("/approvals/appr"));
}

// Issue 22
#[test]
fn a_stream_that_breaks_off_is_an_error() {
    let events = turn("text");
    let (mut encoder, mut out) = (Encoder::new(how(McpGives::Answer, STREAM)), Vec::new());
    for event in events.iter().take(4) {
        encoder.encode(event, 0, &mut out).unwrap();
    }
    encoder.end(false, &mut out).unwrap();
    let frames = frames(&String::from_utf8(out).unwrap());
    assert_eq!(frames.last().unwrap()["error"]["code"], -32603);
}

// Issue 22
#[test]
fn a_turn_whose_events_are_deleted_has_its_answer() {
    let answer = StoredMessage {
        content: "Hello there.".to_owned(),
        finish_reason: Some(FinishReason::Stop),
        ..stored(&turn("text"))
    };
    let mut first = turn("text").remove(0);
    if let Event::Session { messages, .. } = &mut first.event {
        messages.push(answer);
    }
    let result = result(&[first], McpGives::Answer, 0);
    assert_eq!(result["structuredContent"]["answer"], "Hello there.");
}

fn stored(events: &[Numbered]) -> StoredMessage {
    let Event::Session { assistant_message_id, .. } = &events[0].event else { panic!("no session") };
    StoredMessage {
        id: assistant_message_id.clone(),
        turn_id: "text".to_owned(),
        role: Role::Assistant,
        content: String::new(),
        created_at: 0,
        finish_reason: None,
        stop: None,
        usage: None,
        execution_tree: None,
        parts: Vec::new(),
    }
}

// Issue 22
#[test]
fn a_translation_reads_our_own_stream() {
    let (mut translation, mut out) =
        (Translation::new(Dialect::Mcp(Box::new(how(McpGives::Answer, STREAM))), 0, 0), Vec::new());
    for event in turn("text") {
        let data = serde_json::to_string(&event).unwrap();
        let frame = format!("id: {}\nevent: {}\ndata: {data}\n\n", event.seq, event.event.kind());
        translation.feed(frame.as_bytes(), 0, &mut out).unwrap();
    }
    assert!(translation.is_over());
    translation.end(&mut out).unwrap();
    let frames = frames(&String::from_utf8(out).unwrap());
    assert_eq!(frames.last().unwrap()["result"]["structuredContent"]["answer"], "Hello there.");
}
