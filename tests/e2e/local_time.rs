//! The time of a person: the zone that a request names, in the prompt and in `current_time`.
//!
//! Issue 44

use espalier_test_support::case::first;
use espalier_test_support::{Case, Value, call, calls, deltas, json, new_id, text, tree};

/// A zone without summer time.
const ZONE: &str = "Asia/Kolkata";
const MARK: &str = "[Added by the service: the time of the next message is ";

/// The messages that tell the time, in each request of a level.
async fn times(case: &Case, path: &str) -> Vec<Vec<String>> {
    let requests = case.requests(path).await.requests;
    let of = |contents: Vec<String>| contents.into_iter().filter(|text| text.starts_with(MARK)).collect();
    requests.iter().map(|request| of(request.contents())).collect()
}

/// Both times, of one moment.
fn assert_told(told: &str) {
    assert!(told.contains("+05:30 (") && told.contains(&format!(", {ZONE}), ")), "{told}");
    assert!(told.trim_end_matches(".]").ends_with("Z (UTC)"), "{told}");
}

fn ui(text: &str) -> Value {
    json!({ "id": "u", "role": "user", "parts": [{ "type": "text", "text": text }] })
}

#[tokio::test]
async fn a_request_by_each_door_may_name_a_zone() {
    let case = Case::new().await;
    let said = case.said("Hello", "");
    let user = json!({ "role": "user", "content": said });
    for (number, (path, body)) in [
        ("/api/chat", json!({ "content": said, "time_zone": ZONE })),
        ("/api/ai-sdk/chat", json!({ "id": "a", "messages": [ui(&said)], "time_zone": ZONE })),
        ("/v1/chat/completions", json!({ "messages": [user], "time_zone": ZONE })),
        ("/v1/chat/completions", json!({ "messages": [user], "metadata": { "time_zone": ZONE } })),
        ("/v1/responses", json!({ "input": said, "time_zone": ZONE })),
        ("/v1/responses", json!({ "input": said, "metadata": { "time_zone": ZONE } })),
    ]
    .into_iter()
    .enumerate()
    {
        case.script("", [deltas(["Hello."])]).await;
        let reply = case.client.post(path, &body).await.expect(200).await;
        assert_eq!(reply.header("warning"), "", "{path}");
        reply.text().await;
        let times = times(&case, "").await;
        let [told] = &times[number][..] else { panic!("{path}: {times:?}") };
        assert_told(told);
    }
    let requests = case.requests("").await.requests;
    assert!(requests.iter().all(|request| !request.contents()[0].contains(ZONE)), "no prompt has the time");
}

#[tokio::test]
async fn a_zone_that_is_none_is_refused_by_each_door() {
    let case = Case::new().await;
    let user = json!({ "role": "user", "content": "Hello" });
    for zone in ["Asia/Nowhere", "", &"x".repeat(65)] {
        for (path, body, field) in [
            ("/api/chat", json!({ "content": "Hello", "time_zone": zone }), "time_zone"),
            (
                "/api/ai-sdk/chat",
                json!({ "id": "a", "messages": [ui("Hello")], "time_zone": zone }),
                "time_zone",
            ),
            ("/v1/chat/completions", json!({ "messages": [user], "time_zone": zone }), "time_zone"),
            (
                "/v1/responses",
                json!({ "input": "Hello", "metadata": { "time_zone": zone } }),
                "metadata.time_zone",
            ),
        ] {
            let reply = case.client.post(path, &body).await.expect(400).await.json().await;
            let named = reply["field"].as_str().or(reply["error"]["param"].as_str());
            assert_eq!(named, Some(field), "{path}: {reply}");
        }
    }
    assert_eq!(case.client.threads().await, Vec::<Value>::new());
}

#[tokio::test]
async fn current_time_tells_the_time_of_the_user_and_of_a_named_zone() {
    let case = Case::new().await;
    let ask = |arguments: Value| ("current_time", arguments);
    let of_child = [calls([ask(json!({}))]), text("Late.")];
    let steps = [
        calls([
            ask(json!({})),
            ask(json!({ "time_zone": "America/New_York" })),
            ask(json!({ "time_zone": "UTC" })),
            ask(json!({ "time_zone": "Mars" })),
            case.subtask("Look", "a"),
        ]),
        text("It is late."),
    ];
    case.script("a", of_child).await;
    case.script("", steps).await;
    let events =
        case.chat_with(&json!({ "content": case.said("How late is it?", ""), "time_zone": ZONE })).await;
    let ends = tree::ends(&events, "current_time");
    let told: Vec<&str> = ends.iter().map(|end| end.text("result")).collect();
    assert_eq!(told.len(), 5, "{told:?}");
    let has = |part: &str| told.iter().filter(|text| text.contains(part)).count();
    // The root's and the subtask's own.
    assert_eq!((has(&format!(", {ZONE}), ")), has(", America/New_York), ")), (2, 1), "{told:?}");
    assert_eq!(told.iter().filter(|text| text.ends_with('Z')).count(), 1, "{told:?}");
    assert_eq!(ends.iter().filter(|end| end.data["is_error"] == true).count(), 1);
    assert_eq!(has("time_zone is unknown: give a name of the IANA time zone database"), 1, "{told:?}");
    assert_eq!(times(&case, "a").await[0], times(&case, "").await[0], "the subtask has the time too");
}

// A thread sends the times of earlier turns as it sent them then, so a provider reads them from its cache. A turn without
// a zone adds none.
#[tokio::test]
async fn a_turn_keeps_its_time_and_later_turns_repeat_it() {
    let (case, thread) = (Case::new().await, new_id());
    let tool =
        json!({ "name": "ui_paste", "description": "Pastes text.", "input_schema": { "type": "object" } });
    let body = json!({
        "thread_id": thread, "content": case.said("Paste it", ""), "time_zone": ZONE,
        "chat_context": { "kind": "editor" }, "client_tools": [tool],
    });
    case.script("", [call("ui_paste", json!({})), text("Pasted.")]).await;
    let mut stream = case.client.chat(&body).await;
    stream.until(|event| event.text("state") == "waiting_on_user").await;
    let call = first(stream.seen(), "tool_call_update").text("tool_call_id").to_owned();
    let result = json!({ "tool_call_id": call, "result": "x" });
    case.client.post(&format!("/api/threads/{thread}/tool_results"), &result).await.expect(200).await;
    case.turn(stream).await;
    case.script("next", [text("Yes.")]).await;
    case.chat_with(&json!({ "thread_id": thread, "content": case.said("Done?", "next") })).await;

    let (of_turn, of_next) = (times(&case, "").await, times(&case, "next").await);
    assert_eq!(of_turn.len(), 2);
    assert_told(&of_turn[0][0]);
    assert_eq!((&of_turn[0], of_turn[0].len()), (&of_turn[1], 1), "the turn that went on says the same time");
    assert_eq!(of_next, [of_turn[0].clone()]);
    let messages = case.client.messages(&thread).await;
    assert!(messages.iter().all(|message| !message.to_string().contains(ZONE)), "no stored message has it");
}

#[tokio::test]
async fn a_message_that_waited_has_the_zone_of_its_request() {
    let (case, thread) = (Case::new().await, new_id());
    let barrier = case.barrier("hold");
    case.script("", [deltas(["one ", "two"]).waiting(&barrier, 1)]).await;
    let mut stream =
        case.client.chat(&json!({ "thread_id": thread, "content": case.said("Count", "") })).await;
    stream.until(|event| event.text("content") == "one ").await;
    case.script("queued", [text("Three.")]).await;
    let queued = json!({
        "thread_id": thread, "content": case.said("Go on", "queued"), "if_running": "queue", "time_zone": ZONE,
    });
    case.client.post("/api/chat", &queued).await.expect(202).await;
    case.llm.release(&barrier).await;
    stream.turn().await;
    case.llm.wait(&case.marker("queued"), 1).await;
    let times = times(&case, "queued").await;
    assert_eq!(times[0].len(), 1, "{times:?}");
    assert_told(&times[0][0]);
}
