//! The life of a turn: single flight, repeated requests, readers that come and go, cancelling, failing providers.
//!
//! N-036 N-121 N-130 N-147 N-148 N-174 N-197

use espalier_test_support::case::first;
use espalier_test_support::client::assert_problem;
use espalier_test_support::{
    Case, Cut, Event, EventStream, Outcome, Step, Value, call, calls, cost_line, deltas, json, new_id,
    status, story, text, tree, wire,
};

/// A turn that has said `two` and waits at the barrier `hold`.
async fn held(case: &Case, more: Value) -> EventStream {
    case.script("", [deltas(["one ", "two ", "three"]).waiting(&case.barrier("hold"), 2)]).await;
    let mut body = case.says("Count");
    for (name, value) in more.as_object().into_iter().flatten() {
        body[name] = value.clone();
    }
    let mut stream = case.client.chat(&body).await;
    stream.until(|event| event.text("content") == "two ").await;
    stream
}

fn thread_of(events: &[Event]) -> String {
    first(events, "session").text("thread_id").to_owned()
}

#[tokio::test]
async fn a_thread_runs_one_turn_at_a_time() {
    let case = Case::new().await;
    let stream = held(&case, json!({})).await;
    let thread = thread_of(stream.seen());
    let second = json!({ "thread_id": thread, "content": case.said("Me too", "") });
    assert_problem(case.client.post("/api/chat", &second).await, 409, "turn_in_progress", None).await;
    case.llm.release(&case.barrier("hold")).await;
    let events = case.turn(stream).await;
    assert_eq!(first(&events, "done").text("finish_reason"), "stop");
    assert_eq!(case.all_requests().await.requests.len(), 1);
}

// The turn's id makes a request repeatable: there is one turn, running or ended, and all readers get the same events.
#[tokio::test]
async fn the_same_turn_id_streams_the_same_turn() {
    let case = Case::new().await;
    let turn = new_id();
    let stream = held(&case, json!({ "turn_id": turn })).await;
    let mut body = case.says("Count");
    body["turn_id"] = json!(turn);
    let twin = case.client.chat(&body).await;
    case.llm.release(&case.barrier("hold")).await;
    let events = case.turn(stream).await;
    assert_eq!(case.turn(twin).await, events);
    let late = case.client.chat(&body).await;
    assert_eq!(case.turn(late).await, events);
    assert_eq!(first(&events, "session").text("turn_id"), turn);
    assert_eq!(case.all_requests().await.requests.len(), 1);
    assert_eq!(case.client.messages(&thread_of(&events)).await.len(), 2);
}

#[tokio::test]
async fn a_newer_request_takes_the_place_of_a_running_turn_and_an_older_one_does_not() {
    let case = Case::new().await;
    let stream = held(&case, json!({ "request_seq": 5 })).await;
    let thread = thread_of(stream.seen());
    let request = |seq: u64, path: &str| json!({ "thread_id": thread, "request_seq": seq, "content": case.said("Next", path) });
    for stale in [0, 4, 5] {
        let reply = case.client.post("/api/chat", &request(stale, "next")).await;
        assert_problem(reply, 409, "stale_request_seq", None).await;
    }
    case.script("next", [text("Here I am.")]).await;
    let next = case.turn(case.client.chat(&request(6, "next")).await).await;
    let superseded = case.turn(stream).await;

    let words = story(&superseded);
    assert_eq!(words[words.len() - 3], "error superseded retryable=false");
    assert_eq!(words[words.len() - 1], "done message:2 cancelled");
    assert_eq!(case.stored(&superseded).await["content"], "one two ");
    case.llm.wait_for(&case.marker(""), 1, Outcome::Aborted).await;
    assert_eq!(first(&next, "done").text("finish_reason"), "stop");
    assert!(superseded.last().expect("done").seq < next[0].seq, "one turn ends before the next begins");
    // The provider accepts the history of the second turn, which has the text of the first one.
    let said = case.requests("next").await.requests[0].contents();
    assert!(said.iter().any(|content| content.contains("one two ")), "{said:?}");
}

// Closing the connection does not stop a turn, and a client can read exactly the missed events from any number on.
#[tokio::test]
async fn a_reader_may_go_and_come_back() {
    let case = Case::new().await;
    let stream = held(&case, json!({})).await;
    let mut events = stream.seen().to_vec();
    let (thread, seen) = (thread_of(&events), events[events.len() - 1].seq);
    drop(stream);
    let back = case.client.stream(&thread, seen).await.expect("the turn is still running");
    case.llm.release(&case.barrier("hold")).await;
    events.extend(back.rest().await);
    wire::check_turn(&events).unwrap_or_else(|error| panic!("{error}\n{}", story(&events).join("\n")));
    assert_eq!(
        story(&events),
        [
            "session message:1 message:2 openai fake-1",
            "agent_state thread thinking",
            "model:1 start fake-1",
            r#"part:1 "one ""#,
            r#"part:1 "two ""#,
            r#"part:1 "three""#,
            "model:1 end stop in=10 cached=0 out=5",
            &cost_line(1, 0, 0),
            "done message:2 stop",
        ]
    );
    assert_eq!(case.stored(&events).await["content"], "one two three");

    for (index, event) in events.iter().enumerate() {
        let rest = match case.client.stream(&thread, event.seq).await {
            Some(stream) => stream.rest().await,
            None => Vec::new(),
        };
        assert_eq!(rest, events[index + 1..], "after {}", event.seq);
    }
    let last = events[events.len() - 1].seq;
    case.client.get(&format!("/api/threads/{thread}/stream?after={last}")).await.expect(204).await;
    let all =
        EventStream::open(case.client.get(&format!("/api/threads/{thread}/stream?after=0")).await).await;
    assert_eq!(all.rest().await, events);
}

#[tokio::test]
async fn a_reader_may_ask_to_be_the_only_reason_for_the_turn() {
    let case = Case::new().await;
    let stream = held(&case, json!({ "cancel_on_disconnect": true })).await;
    drop(stream);
    case.llm.wait_for(&case.marker(""), 1, Outcome::Aborted).await;
}

// N-148 N-174 N-197: in the middle of the provider's stream.
#[tokio::test]
async fn cancelling_closes_the_providers_stream_and_keeps_the_text() {
    let case = Case::new().await;
    let stream = held(&case, json!({})).await;
    let thread = thread_of(stream.seen());
    let turn = first(stream.seen(), "session").data["turn_id"].clone();
    assert_eq!(case.client.cancel(&thread).await, turn);
    case.llm.wait_for(&case.marker(""), 1, Outcome::Aborted).await;
    let events = case.turn(stream).await;
    assert_eq!(
        story(&events),
        [
            "session message:1 message:2 openai fake-1",
            "agent_state thread thinking",
            "model:1 start fake-1",
            r#"part:1 "one ""#,
            r#"part:1 "two ""#,
            "model:1 end aborted no usage",
            "error cancelled retryable=false",
            "cost_summary llm=1 tools=0 subtasks=0 in=0 cached=0 out=0 usd=null; \
             fake-1: llm=1 in=0 cached=0 out=0 usd=null",
            "done message:2 cancelled",
        ]
    );
    assert_eq!(case.stored(&events).await["content"], "one two ");
    assert_eq!(case.client.cancel(&thread).await, Value::Null);
    assert_eq!(case.client.thread(&thread).await["running_turn_id"], Value::Null);
}

// N-130 N-197: in the middle of a tool, a subtask that hangs. Its call and the calls inside it get their ends.
#[tokio::test]
async fn cancelling_reaches_into_subtasks() {
    let case = Case::new().await;
    case.script("", [calls([case.subtask("Outer", "a")])]).await;
    case.script("a", [calls([case.subtask("Inner", "a/b")])]).await;
    case.script("a/b", [text("deep").hanging()]).await;
    let mut stream = case.client.chat(&case.says("Dive")).await;
    stream.until(|event| event.text("content") == "deep").await;
    case.client.cancel(&thread_of(stream.seen())).await;
    case.llm.wait_for(&case.marker("a/b"), 1, Outcome::Aborted).await;
    let events = case.turn(stream).await;
    let words = story(&events);
    let from = words.iter().position(|line| line.contains("\"deep\"")).expect("it was said");
    assert_eq!(
        words[from + 1..],
        [
            "2/call:2 model:3 end aborted no usage",
            "1/call:1 call:2 end run_subtask failed",
            "call:1 end run_subtask failed",
            "error cancelled retryable=false",
            "cost_summary llm=3 tools=2 subtasks=2 in=20 cached=0 out=10 usd=null; \
             fake-1: llm=3 in=20 cached=0 out=10 usd=null",
            "done message:2 cancelled",
        ]
    );

    // The next turn goes on with a history in which every call has its result.
    case.script("next", [text("Back.")]).await;
    let body = json!({ "thread_id": thread_of(&events), "content": case.said("And?", "next") });
    let next = case.chat_with(&body).await;
    assert_eq!(first(&next, "done").text("finish_reason"), "stop");
}

/// A turn whose second model call fails with this step.
async fn failing(step: Step) -> (Case, Vec<Event>) {
    let case = Case::new().await;
    case.script("", [call("calculate", json!({ "expression": "1+1" })).saying("First "), step]).await;
    let events = case.chat("Try").await;
    (case, events)
}

// N-130 N-174
#[tokio::test]
async fn a_provider_that_refuses_ends_the_turn_with_an_error() {
    for (code, error) in [
        (500, "error provider_overloaded retryable=true"),
        (503, "error provider_overloaded retryable=true"),
        (429, "error provider_rate_limited retryable=true"),
        (401, "error provider_auth retryable=false"),
        (400, "error provider_bad_request retryable=false"),
    ] {
        let (case, events) = failing(status(code)).await;
        let words = story(&events);
        assert_eq!(words[words.len() - 3], error, "{code}");
        assert_eq!(words[words.len() - 1], "done message:2 error", "{code}");
        // The provider's text does not matter here.
        let message = first(&events, "error").text("message").to_owned();
        assert!(!message.contains("scripted") && !message.contains("canary"), "{message}");
        // N-121: the results so far stay.
        assert_eq!(tree::ends(&events, "calculate")[0].text("result"), "2");
        assert!(case.stored(&events).await["content"].as_str().unwrap_or_default().contains("First"));
    }
}

#[tokio::test]
async fn a_provider_that_breaks_off_ends_the_turn_with_an_error_and_its_half_of_an_answer() {
    for cut in [Cut::Reset, Cut::Clean] {
        let (case, events) = failing(deltas(["half ", "an"]).cut(cut)).await;
        let error = first(&events, "error");
        assert!(["provider_network", "provider_protocol"].contains(&error.text("code")), "{}", error.data);
        assert_eq!(error.data["retryable"], true);
        assert_eq!(first(&events, "done").text("finish_reason"), "error");
        let stored = case.stored(&events).await;
        let content = stored["content"].as_str().unwrap_or_default();
        assert!(content.contains("First") && content.contains("half an"), "{cut:?}: {content}");
    }
}

// The service writes a long answer while it streams: a later reader gets the same events, whichever event it has last.
#[tokio::test]
async fn a_long_answer_is_stored_as_it_was_streamed() {
    let case = Case::new().await;
    let words = ["word "; 3_000];
    case.script("", [deltas(words)]).await;
    let events = case.chat("Count").await;
    let said = |events: &[Event]| -> String { events.iter().map(|event| event.text("content")).collect() };
    assert_eq!(said(&events), words.concat());
    let path = format!("/api/threads/{}/stream", thread_of(&events));
    for known in [0_usize, 1, 700, 1_400, 2_100, 2_990] {
        let after = known.checked_sub(1).map_or(0, |last| events[last].seq);
        let rest =
            EventStream::open(case.client.get(&format!("{path}?after={after}")).await).await.rest().await;
        assert!(rest == events[known..], "after {known} events");
    }
}

// Each reader costs memory, so a thread has a bounded number of them. The service tells further readers when to come
// back.
#[tokio::test]
async fn a_thread_has_thirty_two_open_streams_at_most() {
    let case = Case::new().await;
    let first_stream = held(&case, json!({})).await;
    let thread = thread_of(first_stream.seen());
    let path = format!("/api/threads/{thread}/stream?after=0");
    let mut streams = vec![first_stream];
    while streams.len() < 32 {
        streams.push(EventStream::open(case.client.get(&path).await).await);
    }
    let refused = case.client.get(&path).await;
    assert_eq!(refused.header("retry-after"), "15");
    assert_problem(refused, 429, "too_many_streams", None).await;
    let more = json!({ "thread_id": thread, "content": case.said("Me too", "") });
    assert_problem(case.client.post("/api/chat", &more).await, 429, "too_many_streams", None).await;
    // Routes without a stream still work, and each open stream gets all events.
    assert!(!case.client.thread(&thread).await["running_turn_id"].is_null());
    case.llm.release(&case.barrier("hold")).await;
    let mut ends = Vec::new();
    for stream in streams {
        ends.push(stream.turn().await);
    }
    assert!(ends.iter().all(|events| *events == ends[0]));
    assert_eq!(EventStream::open(case.client.get(&path).await).await.turn().await, ends[0]);
}
