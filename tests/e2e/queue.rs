//! Messages that wait for the turn of their thread to end. `tests/faults` kills the runtime between two turns.
//!
//! Issue 19, item 5. N-130 N-197

mod limits;

use espalier_test_support::case::first;
use espalier_test_support::client::assert_problem;
use espalier_test_support::{
    Case, Event, EventStream, Value, call, deltas, json, new_id, stored, story, text, wire,
};

/// A turn on a new thread that has begun to speak and waits at the barrier `hold`.
async fn held(case: &Case, thread: &str) -> EventStream {
    case.script("", [deltas(["one ", "two"]).waiting(&case.barrier("hold"), 1)]).await;
    let mut stream =
        case.client.chat(&json!({ "thread_id": thread, "content": case.said("Count", "") })).await;
    stream.until(|event| event.text("content") == "one ").await;
    stream
}

/// A request for a turn that plays this path, if it may wait.
fn request(case: &Case, thread: &str, path: &str) -> Value {
    json!({
        "thread_id": thread, "turn_id": new_id(), "content": case.said("Go on", path), "if_running": "queue"
    })
}

/// Queues a message, and returns its id.
async fn queue(case: &Case, thread: &str, path: &str) -> String {
    case.script(path, [text(path)]).await;
    let body = request(case, thread, path);
    let answer = case.client.post("/api/chat", &body).await.expect(202).await.json().await;
    let last = answer["messages"].as_array().and_then(|messages| messages.last()).expect("a message");
    assert_eq!((&last["id"], &last["content"]), (&body["turn_id"], &body["content"]), "{answer}");
    body["turn_id"].as_str().unwrap_or_default().to_owned()
}

async fn listed(case: &Case, thread: &str) -> Value {
    case.client.read(&format!("/api/threads/{thread}/queue")).await
}

/// The ids of the messages that wait, and whether they are held.
async fn waiting(case: &Case, thread: &str) -> (Vec<String>, bool) {
    let list = listed(case, thread).await;
    let ids = list["messages"].as_array().into_iter().flatten();
    (ids.map(|message| message["id"].as_str().unwrap_or_default().to_owned()).collect(), list["held"] == true)
}

async fn change(case: &Case, path: &str, body: Value) -> espalier_test_support::http::Reply {
    case.client.with("content-type", "application/json").send("PATCH", path, body.to_string()).await
}

/// Reads the thread on from the last of these events, from turn to turn, until it is idle.
async fn follow(case: &Case, thread: &str, seen: &[Event]) -> Vec<Vec<Event>> {
    let mut turns: Vec<Vec<Event>> = Vec::new();
    let mut after = seen.last().expect("an event").seq;
    while let Some(stream) = case.client.stream(thread, after).await {
        // A stream that begins late has the turn before as well.
        for event in stream.rest().await {
            after = event.seq;
            match turns.last_mut().filter(|turn| turn[0].data["turn_id"] == event.data["turn_id"]) {
                Some(turn) => turn.push(event),
                None => turns.push(vec![event]),
            }
        }
    }
    // The thread keeps the events of three turns; one event stands for each of the others.
    for turn in turns.iter().filter(|turn| turn[0].data.get("resumed").is_none()) {
        wire::check_turn(turn).unwrap_or_else(|error| panic!("{error}\n{}", story(turn).join("\n")));
    }
    turns
}

fn ids(turns: &[Vec<Event>]) -> Vec<&str> {
    turns.iter().map(|turn| first(turn, "session").text("turn_id")).collect()
}

/// The previews of each `queue_update`.
fn told(events: &[Event]) -> Vec<usize> {
    let updates = events.iter().filter(|event| event.kind == "queue_update");
    updates.map(|event| event.data["messages"].as_array().map_or(0, Vec::len)).collect()
}

#[tokio::test]
async fn messages_wait_in_order_and_each_becomes_a_turn() {
    let case = Case::new().await;
    let thread = new_id();
    let stream = held(&case, &thread).await;
    let one = queue(&case, &thread, "one").await;
    let two = queue(&case, &thread, "two").await;
    assert_eq!(waiting(&case, &thread).await, (vec![one.clone(), two.clone()], false));
    assert_eq!(case.client.thread(&thread).await["queued"], 2);
    assert_eq!(case.client.messages(&thread).await.len(), 1, "a queued message is no message of the thread");

    case.llm.release(&case.barrier("hold")).await;
    let events = case.turn(stream).await;
    assert_eq!(told(&events), [1, 2]);
    let turns = follow(&case, &thread, &events).await;
    assert_eq!(ids(&turns), [&one, &two]);
    assert_eq!((told(&turns[0]), told(&turns[1])), (vec![1], vec![0]), "a new turn tells the rest");
    let flow = story(&turns[1]);
    assert_eq!(flow[0], "session message:1 message:2 openai fake-1");
    assert!(flow.contains(&"queue_update 0 held=false".to_owned()), "{flow:#?}");
    assert_eq!(flow.last().map(String::as_str), Some("done message:2 stop"));
    let said: Vec<Value> =
        case.client.messages(&thread).await.iter().map(|message| message["content"].clone()).collect();
    let user = |path: &str| json!(case.said("Go on", path));
    assert_eq!(said[1..], [json!("one two"), user("one"), json!("one"), user("two"), json!("two")]);
    assert_eq!(waiting(&case, &thread).await, (vec![], false));
    // A late reader gets the same.
    let all = case.client.stream(&thread, 0).await.expect("events").rest().await;
    assert_eq!(all, [events, turns.concat()].concat());
}

#[tokio::test]
async fn a_repeated_request_is_queued_once_and_finds_its_turn() {
    let case = Case::new().await;
    let thread = new_id();
    let stream = held(&case, &thread).await;
    case.script("one", [text("one")]).await;
    let body = request(&case, &thread, "one");
    for _ in 0..2 {
        let list = case.client.post("/api/chat", &body).await.expect(202).await.json().await;
        assert_eq!(list["messages"].as_array().map(Vec::len), Some(1), "{list}");
    }
    case.llm.release(&case.barrier("hold")).await;
    let events = case.turn(stream).await;
    let turns = follow(&case, &thread, &events).await;
    assert_eq!(turns.len(), 1);
    assert_eq!(case.client.chat(&body).await.rest().await, turns[0]);
    // No turn runs, so the message starts at once.
    case.script("two", [text("two")]).await;
    let now = case.chat_with(&request(&case, &thread, "two")).await;
    assert_eq!(told(&now), Vec::<usize>::new(), "a turn that did not wait tells of no queue");
}

#[tokio::test]
async fn the_eleventh_message_is_refused_and_ten_stay() {
    let case = Case::new().await;
    let thread = new_id();
    let stream = held(&case, &thread).await;
    let mut all = Vec::new();
    for number in 0..10 {
        all.push(queue(&case, &thread, &format!("m{number}")).await);
    }
    let full = case.client.post("/api/chat", &request(&case, &thread, "m10")).await;
    assert_problem(full, 409, "queue_full", None).await;
    assert_eq!(waiting(&case, &thread).await, (all.clone(), false));
    case.llm.release(&case.barrier("hold")).await;
    let events = case.turn(stream).await;
    assert_eq!(ids(&follow(&case, &thread, &events).await), all);
}

#[tokio::test]
async fn a_waiting_message_can_be_edited_and_removed_and_one_that_began_cannot() {
    let case = Case::new().await;
    let thread = new_id();
    let stream = held(&case, &thread).await;
    let path = |id: &str| format!("/api/threads/{thread}/queue/{id}");
    let one = queue(&case, &thread, "one").await;
    let two = queue(&case, &thread, "two").await;
    let three = queue(&case, &thread, "three").await;
    let said = json!({ "content": case.said("Rather this", "three") });
    let list = change(&case, &path(&three), said.clone()).await.expect(200).await.json().await;
    assert_eq!(list["messages"][2]["content"], said["content"]);
    case.client.send("DELETE", &path(&two), "").await.expect(204).await;
    assert_eq!(waiting(&case, &thread).await.0, [one.clone(), three.clone()]);
    let gone = case.client.send("DELETE", &path(&two), "").await;
    assert_problem(gone, 404, "queued_message_not_found", None).await;
    let long = json!({ "content": "x".repeat(100_001) });
    assert_problem(change(&case, &path(&one), long).await, 400, "invalid_request", Some("content")).await;

    case.llm.release(&case.barrier("hold")).await;
    let events = case.turn(stream).await;
    let turns = follow(&case, &thread, &events).await;
    assert_eq!(ids(&turns), [&one, &three]);
    let asked = case.client.messages(&thread).await;
    assert_eq!(asked[4]["content"], said["content"]);
    for reply in
        [change(&case, &path(&three), said).await, case.client.send("DELETE", &path(&three), "").await]
    {
        assert_problem(reply, 409, "message_begun", None).await;
    }
}

// Its client did not get the answer, and repeats the request.
#[tokio::test]
async fn a_removed_message_does_not_come_back() {
    let (case, thread) = (Case::new().await, new_id());
    let stream = held(&case, &thread).await;
    let body = request(&case, &thread, "a");
    case.client.post("/api/chat", &body).await.expect(202).await;
    let path = format!("/api/threads/{thread}/queue/{}", body["turn_id"].as_str().unwrap_or_default());
    case.client.send("DELETE", &path, "").await.expect(204).await;
    case.llm.release(&case.barrier("hold")).await;
    stream.rest().await;
    assert_problem(case.client.post("/api/chat", &body).await, 410, "message_removed", None).await;
    assert_eq!(case.client.messages(&thread).await.len(), 2);
}

#[tokio::test]
async fn images_and_files_wait_with_their_message() {
    let case = Case::new().await;
    let thread = new_id();
    let stream = held(&case, &thread).await;
    case.script("one", [text("Seen.")]).await;
    let mut body = request(&case, &thread, "one");
    let file = json!({ "type": "file", "name": "a.txt", "data": "data:text/plain;base64,SGk=" });
    body["content"] = json!([{ "type": "text", "text": "Read it" }, file]);
    case.client.post("/api/chat", &body).await.expect(202).await;
    let message = &listed(&case, &thread).await["messages"][0];
    assert_eq!(
        (&message["content"], &message["attachments"]),
        (&json!("Read it"), &json!(["[a.txt, 1 kB]"]))
    );
    let id = message["id"].as_str().unwrap_or_default();
    let path = format!("/api/threads/{thread}/queue/{id}");
    change(&case, &path, json!({ "content": case.said("Read", "one") })).await.expect(200).await;
    case.llm.release(&case.barrier("hold")).await;
    let events = case.turn(stream).await;
    let turns = follow(&case, &thread, &events).await;
    let asked = first(&turns[0], "session").text("user_message_id");
    let sent = case.client.read(&format!("/api/threads/{thread}/messages/{asked}/content")).await;
    assert_eq!(sent["content"], json!([{ "type": "text", "text": case.said("Read", "one") }, file]));
}

#[tokio::test]
async fn a_stop_holds_the_queue_until_somebody_lets_it_go_on() {
    let case = Case::new().await;
    let thread = new_id();
    let stream = held(&case, &thread).await;
    let one = queue(&case, &thread, "one").await;
    let two = queue(&case, &thread, "two").await;
    case.client.cancel(&thread).await;
    let events = case.turn(stream).await;
    assert_eq!(waiting(&case, &thread).await, (vec![one.clone(), two.clone()], true));
    assert!(follow(&case, &thread, &events).await.is_empty(), "nothing starts by itself");

    // A message that is sent now is no reason for those that are held.
    case.script("now", [text("Now.")]).await;
    let now = case.chat_with(&request(&case, &thread, "now")).await;
    assert_eq!(waiting(&case, &thread).await, (vec![one.clone(), two.clone()], true));
    let path = format!("/api/threads/{thread}/queue");
    let list = change(&case, &path, json!({ "held": false })).await.expect(200).await.json().await;
    assert_eq!(list["held"], false);
    assert_eq!(ids(&follow(&case, &thread, &now).await), [&one, &two]);
    // Neither an empty queue nor one that never was can be held.
    let list = change(&case, &path, json!({ "held": true })).await.expect(200).await.json().await;
    assert_eq!(list, json!({ "held": false, "messages": [] }));
}

#[tokio::test]
async fn a_message_that_is_sent_now_goes_before_those_that_wait() {
    let case = Case::new().await;
    let thread = new_id();
    let stream = held(&case, &thread).await;
    let one = queue(&case, &thread, "one").await;
    let two = queue(&case, &thread, "two").await;
    case.script("now", [text("Now.")]).await;
    let mut now = request(&case, &thread, "now");
    now["if_running"] = json!("supersede");
    let now = case.chat_with(&now).await;
    let events = case.turn(stream).await;
    assert_eq!(first(&events, "error").text("code"), "superseded");
    let turns = follow(&case, &thread, &now).await;
    assert_eq!(ids(&turns), [&one, &two]);
}

// The same id: the message leaves the queue and stops the turn that runs.
#[tokio::test]
async fn a_waiting_message_can_be_sent_now() {
    let case = Case::new().await;
    let thread = new_id();
    let stream = held(&case, &thread).await;
    let one = queue(&case, &thread, "one").await;
    let two = queue(&case, &thread, "two").await;
    let mut now = request(&case, &thread, "two");
    (now["turn_id"], now["if_running"]) = (json!(two), json!("supersede"));
    let now = case.chat_with(&now).await;
    assert_eq!(told(&now), [1]);
    case.turn(stream).await;
    assert_eq!(ids(&follow(&case, &thread, &now).await), [&one]);
    assert_eq!(case.client.messages(&thread).await.len(), 6, "no message twice");
}

#[tokio::test]
async fn messages_wait_for_a_parked_turn() {
    let case = Case::new().await;
    let thread = new_id();
    let tool = json!({ "name": "ui_ask", "description": "Asks.", "input_schema": { "type": "object" } });
    case.script("", [call("ui_ask", json!({})), text("Done.")]).await;
    let mut stream = case
        .client
        .chat(&json!({
            "thread_id": thread, "content": case.said("Ask", ""), "client_tools": [tool],
            "chat_context": { "kind": "editor" }
        }))
        .await;
    stream.until(|event| event.text("state") == "waiting_on_user").await;
    let asked = first(stream.seen(), "tool_call_update").text("tool_call_id").to_owned();
    let one = queue(&case, &thread, "one").await;
    assert_eq!(waiting(&case, &thread).await, (vec![one.clone()], false));
    let result = json!({ "tool_call_id": asked, "result": "yes" });
    case.client.post(&format!("/api/threads/{thread}/tool_results"), &result).await.expect(200).await;
    let events = case.turn(stream).await;
    assert_eq!(told(&events), [1]);
    assert_eq!(ids(&follow(&case, &thread, &events).await), [&one]);
}

// The collection is there when the message comes, and gone when its turn starts.
#[tokio::test]
async fn a_refusal_at_the_start_is_told_and_the_message_stays() {
    let case = Case::new().await;
    let thread = new_id();
    let made = case.client.post("/api/collections", &json!({ "name": "Handbook" })).await;
    let collection = made.expect(201).await.json().await["id"].as_str().unwrap_or_default().to_owned();
    let stream = held(&case, &thread).await;
    case.script("one", [text("one")]).await;
    let mut body = request(&case, &thread, "one");
    body["collections"] = json!([collection]);
    case.client.post("/api/chat", &body).await.expect(202).await;
    let two = queue(&case, &thread, "two").await;
    case.client.send("DELETE", &format!("/api/collections/{collection}"), "").await.expect(204).await;
    case.llm.release(&case.barrier("hold")).await;
    let events = case.turn(stream).await;
    assert!(follow(&case, &thread, &events).await.is_empty());
    let list = listed(&case, &thread).await;
    assert_eq!(list["held"], true);
    assert_eq!(list["messages"][0]["failure"]["code"], "collection_not_found", "{list}");
    assert_eq!(list["messages"][1]["id"], two);
    // Without it the queue goes on.
    let one = list["messages"][0]["id"].as_str().unwrap_or_default();
    let path = format!("/api/threads/{thread}/queue");
    case.client.send("DELETE", &format!("{path}/{one}"), "").await.expect(204).await;
    change(&case, &path, json!({ "held": false })).await.expect(200).await;
    assert_eq!(ids(&follow(&case, &thread, &events).await), [&two]);
}

#[tokio::test]
async fn a_failed_turn_holds_the_queue() {
    let (case, thread) = (Case::new().await, new_id());
    let refused = espalier_test_support::status(401).waiting(&case.barrier("hold"), 0);
    case.script("", [refused]).await;
    let mut stream =
        case.client.chat(&json!({ "thread_id": thread, "content": case.said("Count", "") })).await;
    stream.until(|event| event.kind == "model_call_update").await;
    let one = queue(&case, &thread, "one").await;
    case.llm.release(&case.barrier("hold")).await;
    let events = case.turn(stream).await;
    assert_eq!(first(&events, "done").text("finish_reason"), "error");
    assert_eq!(waiting(&case, &thread).await, (vec![one], true));
}

#[tokio::test]
async fn requests_that_cannot_wait_are_refused() {
    let (case, thread) = (Case::new().await, new_id());
    let stream = held(&case, &thread).await;
    let mut replaces = request(&case, &thread, "one");
    replaces["replaces_message_id"] = first(stream.seen(), "session").data["user_message_id"].clone();
    let reply = case.client.post("/api/chat", &replaces).await;
    assert_problem(reply, 400, "invalid_request", Some("if_running")).await;
    let mut word = request(&case, &thread, "one");
    word["if_running"] = json!("wait");
    assert_problem(case.client.post("/api/chat", &word).await, 400, "invalid_request", Some("if_running"))
        .await;
    let mut model = request(&case, &thread, "one");
    model["model"] = json!("nobody");
    assert_problem(case.client.post("/api/chat", &model).await, 400, "invalid_request", Some("model")).await;
    assert_eq!(waiting(&case, &thread).await, (vec![], false));
    // A number counts from the moment on at which its message waits.
    case.script("one", [text("one")]).await;
    let mut numbered = request(&case, &thread, "one");
    numbered["request_seq"] = json!(7);
    case.client.post("/api/chat", &numbered).await.expect(202).await;
    let stale = json!({ "thread_id": thread, "request_seq": 7, "content": case.said("Next", "one") });
    assert_problem(case.client.post("/api/chat", &stale).await, 409, "stale_request_seq", None).await;
    case.llm.release(&case.barrier("hold")).await;
    let events = case.turn(stream).await;
    assert_eq!(follow(&case, &thread, &events).await.len(), 1);
}

#[tokio::test]
async fn a_deleted_thread_has_no_queue_and_starts_nothing() {
    let (case, thread) = (Case::new().await, new_id());
    let stream = held(&case, &thread).await;
    queue(&case, &thread, "one").await;
    case.client.delete(&thread).await;
    drop(stream.rest().await);
    let list = case.client.get(&format!("/api/threads/{thread}/queue")).await;
    assert_problem(list, 404, "thread_not_found", None).await;
    stored::eventually("its rows are gone from the index", || async {
        let rows = stored::d1("SELECT id FROM messages WHERE thread_id = ?", &[&thread]).await;
        rows.is_empty().then_some(())
    })
    .await;
    assert_eq!(case.requests("one").await.requests.len(), 0, "its turn never ran");
}
