//! Turns that ask before they cross a limit: a person grants them the same budget once more, or they end there.
//!
//! In the main instance the context `project_audit` has four tool calls, and `task` eight model calls and little time to
//! answer; the turns of both ask.
//!
//! Issue 19, 4. N-022 N-195

use espalier_test_support::case::first;
use espalier_test_support::client::assert_problem;
use espalier_test_support::{
    Case, Event, EventStream, Step, Value, call, calls, cost_line, json, new_id, stored, story, text,
};

const WHOLE: usize = 4;

fn times(count: usize) -> Vec<(&'static str, Value)> {
    vec![("current_time", json!({})); count]
}

fn says(case: &Case, context: &str) -> Value {
    let mut body = case.says("Count the hours");
    body["chat_context"] = json!({ "context_type": context });
    body
}

/// A turn that has made four calls and waits at its fifth, in a subtask.
async fn waiting(case: &Case) -> (EventStream, Event, String) {
    let body = five_calls(case).await;
    asking(case.client.chat(&body).await).await
}

/// The request of a turn with five calls, all of them in a subtask but one.
async fn five_calls(case: &Case) -> Value {
    let inner = calls(times(3)).saying("And more. ");
    let root = calls([case.subtask("Count on", "a")]).saying("First. ");
    case.script("", [root, text("All."), text("Well.")]).await;
    case.script("a", [inner, call("current_time", json!({})), text("Counted.")]).await;
    says(case, "project_audit")
}

/// Reads until a turn waits. Returns its question, and the path for the answer.
async fn asking(mut stream: EventStream) -> (EventStream, Event, String) {
    let request = stream.until(|event| event.kind == "limit_request").await;
    stream.until(|event| event.text("state") == "waiting_on_user").await;
    let path = approval(stream.seen(), &request);
    (stream, request, path)
}

fn thread(events: &[Event]) -> &str {
    first(events, "session").text("thread_id")
}

fn approval(events: &[Event], request: &Event) -> String {
    format!("/api/threads/{}/approvals/{}", thread(events), request.text("approval_id"))
}

async fn decide(case: &Case, path: &str, decision: &str) -> Value {
    let body = json!({ "decision": decision });
    case.client.post(path, &body).await.expect(200).await.json().await["taken"].clone()
}

fn lines_of(events: &[Event], kinds: &[&str]) -> Vec<String> {
    story(events).into_iter().filter(|line| kinds.iter().any(|kind| line.contains(kind))).collect()
}

fn asked(events: &[Event]) -> usize {
    events.iter().filter(|event| event.kind == "limit_request").count()
}

#[tokio::test]
async fn a_person_grants_the_budget_once_more_at_any_depth() {
    let case = Case::new().await;
    let (stream, request, path) = waiting(&case).await;
    let told =
        ["reason", "limit", "observed", "raised_to", "grants_left", "depth"].map(|name| &request.data[name]);
    assert_eq!(json!(told), json!(["tool_calls", 4, 5, 8, 3, 1]));
    assert_eq!(request.data["usage"]["tool_calls"], 4);
    assert_eq!(request.data["parent_id"], first(stream.seen(), "tool_call_update").data["tool_call_id"]);
    assert_eq!(case.requests("a").await.requests.len(), 2, "the call that crosses the limit is not made");
    let for_good = json!({ "decision": "approve_for_thread" });
    assert_problem(case.client.post(&path, &for_good).await, 400, "invalid_request", Some("decision")).await;
    let forged = format!("{path}0");
    let yes = json!({ "decision": "approve" });
    assert_problem(case.client.post(&forged, &yes).await, 404, "not_waiting", None).await;
    assert_eq!(decide(&case, &path, "approve").await, true);
    assert_eq!(decide(&case, &path, "deny").await, false, "the first answer wins");
    let events = case.turn(stream).await;
    assert_eq!(
        lines_of(
            &events,
            &["may it", "approve", "waiting_on", "end current_time", "end run_subtask", "cost", "done"]
        )
        .iter()
        .map(|line| line.split(" end current_time").next().unwrap_or_default())
        .collect::<Vec<_>>(),
        [
            "1/call:1 call:2",
            "1/call:1 call:3",
            "1/call:1 call:4",
            "1/call:1 may it tool_calls? limit=4 observed=5 raised_to=8 left=3",
            "agent_state project_audit waiting_on_user",
            r#"1/call:1 approve {"llm_calls":120,"subtasks":64,"tool_calls":8,"wall_clock_ms":120000}"#,
            "1/call:1 call:5",
            r#"call:1 end run_subtask "Counted.""#,
            &cost_line(5, 5, 1),
            "done message:2 stop",
        ]
    );
    assert_eq!(case.stored(&events).await["content"], "First. \n\nAll.");
    assert_eq!(case.requests("a").await.requests.len(), 3, "nothing ran again");
}

#[tokio::test]
async fn a_denial_ends_the_turn_which_can_be_continued() {
    let case = Case::new().await;
    let (stream, _, path) = waiting(&case).await;
    assert_eq!(decide(&case, &path, "deny").await, true);
    let events = case.turn(stream).await;
    let exceeded = first(&events, "budget_exceeded");
    let left = json!([{ "name": "run_subtask", "title": "Count on", "begun": true }]);
    assert_eq!((&exceeded.data["observed"], &exceeded.data["left"]), (&json!(5), &left));
    assert_eq!(first(&events, "limit_resolved").text("decision"), "deny");
    let stop = case.stored(&events).await["stop"].clone();
    assert_eq!(stop["budget"], json!({ "reason": "tool_calls", "limit": 4, "observed": 5 }));
    let yes = json!({ "decision": "approve" });
    assert_problem(case.client.post(&path, &yes).await, 404, "not_waiting", None).await;
    let mut body = says(&case, "project_audit");
    body["thread_id"] = json!(thread(&events));
    body["continue"] = json!(first(&events, "session").text("turn_id"));
    body.as_object_mut().expect("an object").remove("content");
    let next = case.chat_with(&body).await;
    assert_eq!(first(&next, "done").text("finish_reason"), "stop");
    assert_eq!(asked(&next), 0, "it has a budget of its own");
}

#[tokio::test]
async fn a_question_that_nobody_answers_ends_the_turn() {
    let case = Case::new().await;
    let steps: Vec<Step> = (0..9).map(|_| call("current_time", json!({}))).collect();
    case.script("", steps).await;
    let stream = case.client.chat(&says(&case, "task")).await;
    let events = case.turn(stream).await;
    assert_eq!(case.requests("").await.requests.len(), 8);
    let told = lines_of(&events, &["may it", "expired", "budget_exceeded", "done"]);
    assert_eq!(
        told,
        [
            "may it llm_calls? limit=8 observed=9 raised_to=16 left=3",
            r#"expired {"llm_calls":8,"subtasks":32,"tool_calls":200,"wall_clock_ms":60000}"#,
            "budget_exceeded llm_calls limit=8 observed=9",
            "error budget_exceeded retryable=false",
            "done message:2 budget",
        ]
    );
}

// Two subtasks cross the limit together, and ask once. Each grant lets four more calls run, until none is left.
#[tokio::test]
async fn parallel_levels_ask_together_and_never_outrun_the_ceiling() {
    let case = Case::new().await;
    case.script("", [calls([case.subtask("A", "a"), case.subtask("B", "b")]), text("never")]).await;
    for level in ["a", "b"] {
        case.script(level, [calls(times(8)), text("never")]).await;
    }
    let mut stream = case.client.chat(&says(&case, "project_audit")).await;
    for number in 1..WHOLE {
        let request = stream.until(|event| event.kind == "limit_request").await;
        assert_eq!(request.data["limit"], 4 * number);
        let path = approval(stream.seen(), &request);
        assert_eq!(decide(&case, &path, "approve").await, true);
    }
    let events = case.turn(stream).await;
    let exceeded = first(&events, "budget_exceeded");
    assert_eq!((&exceeded.data["limit"], asked(&events)), (&json!(4 * WHOLE), WHOLE - 1));
    let costs = first(&events, "cost_summary");
    assert_eq!(costs.data["tool_calls"], 4 * WHOLE, "exactly the budget and three grants of it");
}

#[tokio::test]
async fn a_turn_that_asks_is_cancelled_superseded_and_deleted_like_any_other() {
    let case = Case::new().await;
    let (stream, _, path) = waiting(&case).await;
    assert_ne!(case.client.cancel(thread(stream.seen())).await, Value::Null);
    let events = case.turn(stream).await;
    assert_eq!(first(&events, "done").text("finish_reason"), "cancelled");
    let yes = json!({ "decision": "approve" });
    assert_problem(case.client.post(&path, &yes).await, 404, "not_waiting", None).await;

    let case = Case::new().await;
    let (stream, ..) = waiting(&case).await;
    case.script("next", [text("Here I am.")]).await;
    let thread_id = thread(stream.seen()).to_owned();
    let body = json!({ "thread_id": thread_id, "turn_id": new_id(), "request_seq": 1, "content": case.said("Next", "next") });
    assert_eq!(first(&case.chat_with(&body).await, "done").text("finish_reason"), "stop");
    assert_eq!(first(&case.turn(stream).await, "error").text("code"), "superseded");

    let case = Case::new().await;
    let (stream, ..) = waiting(&case).await;
    case.client.delete(thread(stream.seen())).await;
    assert_eq!(first(&stream.rest().await, "done").text("finish_reason"), "cancelled");
}

// The question is durable: a parked turn has no stream, and its answer starts it from the journal.
#[tokio::test]
async fn a_question_outlives_its_streams() {
    let case = Case::new().await;
    let body = five_calls(&case).await;
    let stream = EventStream::open(case.client.post("/api/chat", &body).await).await;
    let (mut stream, _, path) = asking(stream).await;
    while stream.next().await.is_some() {}
    assert!(stream.is_parked());
    let seen = stream.seen().to_vec();
    assert_eq!(
        case.client.thread(thread(&seen)).await["running_turn_id"],
        first(&seen, "session").data["turn_id"]
    );
    assert_eq!(decide(&case, &path, "approve").await, true);
    let last = seen.last().expect("events").seq;
    let back = case.client.stream(thread(&seen), last).await.expect("the turn goes on");
    let events: Vec<Event> = seen.into_iter().chain(back.rest().await).collect();
    assert_eq!((asked(&events), first(&events, "done").text("finish_reason")), (1, "stop"));
    let in_d1 = stored::eventually("the answer in D1", || async {
        let rows = stored::rows(&events, "messages", "role, content").await;
        (rows.len() == 2).then_some(rows)
    });
    let in_d1 = in_d1.await;
    let answer = in_d1.iter().find(|row| row["role"] == "assistant").map(|row| row["content"].clone());
    assert_eq!(answer, Some(json!("First. \n\nAll.")));
}
