//! Quotas, at the instance that has them: two turns at a time, 100 000 tokens and 2 500 000 uploaded bytes a day, and five
//! threads per user.

mod clients;
mod imports;
mod outage;

use espalier_test_support::case::first;
use espalier_test_support::client::assert_problem;
use espalier_test_support::identity::users;
use espalier_test_support::{Case, Client, EventStream, call, env, json, new_id, stored, text};

/// A user of a new tenant, whose accounts no other test uses.
async fn somebody() -> Case {
    let tenant = new_id();
    let [client] = users([(tenant.as_str(), "ada")]).await;
    Case::of(client)
}

async fn refused(client: &Client, body: &serde_json::Value, code: &str) -> u64 {
    let reply = client.post("/api/chat", body).await;
    let after = reply.header("retry-after").parse().unwrap_or(0);
    assert_problem(reply, 429, code, None).await;
    after
}

// The third turn waits until one of the first two ends, in whatever way.
#[tokio::test]
async fn two_turns_at_a_time() {
    let case = somebody().await;
    let held = case.barrier("held");
    case.script("held", [text("One.").using(10, 0, 5).waiting(&held, 0)]).await;
    case.script("", [text("Two.").using(10, 0, 5)]).await;
    let slow = |turn: &str| json!({ "turn_id": turn, "content": case.said("Hello", "held") });
    let quick = json!({ "turn_id": new_id(), "content": case.said("Hello", "") });
    let (first, second) = (new_id(), new_id());
    let one = case.client.chat(&slow(&first)).await;
    let mut two = case.client.chat(&slow(&second)).await;
    assert_eq!(refused(&case.client, &quick, "too_many_turns").await, 5);
    // A repeated request of the same turn takes no further place.
    let again = case.client.chat(&slow(&first)).await;

    let thread = two.until(|event| event.kind == "session").await.text("thread_id").to_owned();
    assert_eq!(case.client.cancel(&thread).await, json!(second));
    two.turn().await;
    // Its place is free once the quotas have heard of its end.
    stored::eventually("a place is free", || async {
        let reply = case.client.post("/api/chat", &quick).await;
        (reply.status == 200).then_some(reply)
    })
    .await
    .text()
    .await;
    case.llm.release(&held).await;
    one.turn().await;
    again.turn().await;

    // Other users of the same tenant have their own places.
    let other = somebody().await;
    other.script("", [text("Hi.").using(1, 0, 1)]).await;
    other.chat("Hello").await;
}

// Denial of wallet: a user who starts, cancels and retries as fast as possible is charged for each call the most that
// it could have cost, and is stopped at the day's quota.
#[tokio::test]
async fn no_user_costs_more_than_their_quota() {
    let case = somebody().await;
    case.endless_script("", [text("Hanging.").hanging()]).await;
    let thread = new_id();
    let mut started = 0;
    let refusal = loop {
        assert!(started < 50, "the quota never ends");
        let body = json!({ "thread_id": thread, "content": case.said("Hello", "") });
        let reply = case.client.post("/api/chat", &body).await;
        match reply.status {
            200 => {
                started += 1;
                case.client.cancel(&thread).await;
            }
            // Two of them run, or the quotas have not heard of an end yet: try again at once.
            429 if reply.header("retry-after") == "5" => {}
            429 => break reply,
            other => panic!("{other}: {}", reply.text().await),
        }
    };
    assert!(refusal.header("retry-after").parse::<u64>().is_ok_and(|seconds| seconds <= 86_400));
    assert_problem(refusal, 429, "quota_exceeded", None).await;
    // The provider counts the requests: each call has at most its prompt and its allowed output.
    let requests = case.all_requests().await.requests;
    let most = |request: &serde_json::Value| {
        let allowed = ["max_completion_tokens", "max_tokens"].iter().find_map(|name| request[name].as_u64());
        // Four bytes are at least one token.
        allowed.expect("the output is bounded") + request["messages"].to_string().len() as u64 / 4
    };
    let all: u64 = requests.iter().map(|record| most(&record.body)).sum();
    assert!(all <= 100_000, "{} calls, {all} tokens", requests.len());
    assert!(started >= 1);

    // Another thread, another turn: the day's quota of this user alone is used up.
    let body = json!({ "content": case.said("Hello", "") });
    refused(&case.client, &body, "quota_exceeded").await;
    // The same as OpenAI's clients read it. Issue 22
    let body = json!({ "input": case.said("Hello", "") });
    let reply = case.client.post("/v1/responses", &body).await.expect(429).await;
    assert!(reply.header("retry-after").parse::<u64>().is_ok_and(|seconds| seconds <= 86_400));
    let error = reply.json().await["error"].clone();
    assert_eq!((&error["type"], &error["code"]), (&json!("rate_limit_error"), &json!("quota_exceeded")));
    let other = somebody().await;
    other.script("", [text("Hi.").using(1, 0, 1)]).await;
    other.chat("Hello").await;
}

// A turn gives its unused rest back: many small turns fit where only a few reservations would.
#[tokio::test]
async fn the_unused_rest_is_given_back() {
    let case = somebody().await;
    case.script("", [text("Hi.").using(100, 0, 10)]).await;
    let thread = new_id();
    for _ in 0..12 {
        let body = json!({ "thread_id": thread, "content": case.said("Hello", "") });
        let reply = stored::eventually("a turn starts", || async {
            let reply = case.client.post("/api/chat", &body).await;
            (reply.status == 200).then_some(reply)
        })
        .await;
        assert!(reply.text().await.contains("\"finish_reason\":\"stop\""));
    }
}

#[tokio::test]
async fn five_threads() {
    let case = somebody().await;
    case.script("", [text("Hi.").using(1, 0, 1)]).await;
    let mut threads = Vec::new();
    for _ in 0..5 {
        threads.push(case.chat("Hello").await[0].text("thread_id").to_owned());
    }
    let body = json!({ "content": case.said("Hello", "") });
    let reply = case.client.post("/api/chat", &body).await;
    assert_problem(reply, 403, "too_many_threads", None).await;
    // A turn in an existing thread goes on.
    case.chat_with(&json!({ "thread_id": threads[0], "content": case.said("Again", "") })).await;
    case.client.delete(&threads[1]).await;
    stored::eventually("there is room again", || async {
        let reply = case.client.post("/api/chat", &body).await;
        (reply.status == 200).then_some(())
    })
    .await;
}

// An instance without quotas refuses no turn.
#[tokio::test]
async fn without_quotas_nothing_is_limited() {
    let health = Client::nobody_at(&env("ESPALIER_URL")).read("/api/health").await;
    assert_eq!(health["status"], "ok");
    let case = Case::new().await;
    let held = case.barrier("held");
    case.script("", [text("One.").waiting(&held, 0)]).await;
    let mut running = Vec::new();
    for _ in 0..4 {
        running.push(case.client.chat(&case.says("Hello")).await);
    }
    case.llm.release(&held).await;
    for stream in running {
        stream.turn().await;
    }
}

// Of messages that come together one starts, and the service charges only that one.
#[tokio::test]
async fn a_refused_request_costs_nothing() {
    let case = somebody().await;
    let held = case.barrier("held");
    case.script("", [text("Hi.").using(1, 0, 1).waiting(&held, 0)]).await;
    let thread = new_id();
    let body = json!({ "thread_id": thread, "content": case.said("Hello", "") });
    let replies = futures::future::join_all((0..10).map(|_| case.client.post("/api/chat", &body))).await;
    let (mut started, mut sent_away) = (Vec::new(), 0);
    for reply in replies {
        match reply.status {
            200 => started.push(reply),
            _ => {
                assert_problem(reply, 409, "turn_in_progress", None).await;
                sent_away += 1;
            }
        }
    }
    assert_eq!((started.len(), sent_away), (1, 9));
    case.llm.release(&held).await;
    assert!(started.remove(0).text().await.contains("\"finish_reason\":\"stop\""));
    // Ten reservations would have used up the day.
    case.script("", [text("Hi.").using(1, 0, 1)]).await;
    case.chat_with(&json!({ "content": case.said("Hello", "") })).await;
}

// The service refuses these before it counts a place, tokens or a thread.
#[tokio::test]
async fn ten_requests_that_are_refused_cost_nothing() {
    let case = somebody().await;
    let with = |member: &str, value: serde_json::Value| {
        let mut body = json!({ "thread_id": new_id(), "content": case.said("Hello", "") });
        body[member] = value;
        body
    };
    for _ in 0..10 {
        let nothing = case.client.post("/api/chat", &with("replaces_message_id", json!(new_id()))).await;
        assert_problem(nothing, 400, "invalid_request", Some("replaces_message_id")).await;
        let unknown = case.client.post("/api/chat", &with("model", json!("openai:nobody"))).await;
        assert_problem(unknown, 400, "invalid_request", Some("model")).await;
        let nowhere = case.client.post("/api/chat", &with("collections", json!([new_id()]))).await;
        assert_problem(nowhere, 404, "collection_not_found", Some("collections[0]")).await;
    }
    // The user still has their whole quota: five threads, of which two run at once.
    let held = case.barrier("held");
    case.script("held", [text("Hi.").using(1, 0, 1).waiting(&held, 0)]).await;
    let mut running = Vec::new();
    for _ in 0..2 {
        running.push(case.client.chat(&json!({ "content": case.said("Hello", "held") })).await);
    }
    case.llm.release(&held).await;
    for stream in running {
        stream.turn().await;
    }
    case.script("", [text("Hi.").using(1, 0, 1)]).await;
    for _ in 0..3 {
        let body = with("thread_id", json!(new_id()));
        stored::eventually("a turn starts", || async {
            let reply = case.client.post("/api/chat", &body).await;
            (reply.status == 200).then_some(())
        })
        .await;
    }
    let sixth = stored::eventually("no other turn runs", || async {
        let reply = case.client.post("/api/chat", &json!({ "content": case.said("Hello", "") })).await;
        (reply.header("retry-after") != "5").then_some(reply)
    });
    assert_problem(sixth.await, 403, "too_many_threads", None).await;
}

// A bad request does not stop the turn that it would supersede.
#[tokio::test]
async fn a_refused_request_supersedes_nothing() {
    let case = somebody().await;
    let held = case.barrier("held");
    case.script("held", [text("One.").using(1, 0, 1).waiting(&held, 0)]).await;
    let thread = new_id();
    let one = json!({ "thread_id": thread, "request_seq": 1, "content": case.said("Hello", "held") });
    let stream = case.client.chat(&one).await;
    for (member, value) in [("replaces_message_id", new_id()), ("model", "openai:nobody".to_owned())] {
        let mut body = json!({ "thread_id": thread, "request_seq": 2, "content": case.said("Hello", "") });
        body[member] = json!(value);
        let reply = case.client.post("/api/chat", &body).await;
        assert_problem(reply, 400, "invalid_request", Some(member)).await;
    }
    case.llm.release(&held).await;
    assert_eq!(first(&stream.turn().await, "done").text("finish_reason"), "stop");
}

/// A turn that waits for its client: its stream, its thread and the call.
async fn parked(case: &Case) -> (EventStream, String, String) {
    let schema = json!({ "type": "object", "properties": { "text": { "type": "string" } } });
    let tool = json!({ "name": "ui_paste", "description": "Pastes text.", "input_schema": schema });
    let body = json!({
        "content": case.said("Paste it", ""), "chat_context": { "kind": "editor" }, "client_tools": [tool],
    });
    let reply = stored::eventually("a turn starts", || async {
        let reply = case.client.post("/api/chat", &body).await;
        (reply.status == 200).then_some(reply)
    });
    let mut stream = EventStream::open(reply.await).await.following(&case.client, None, 0);
    stream.until(|event| event.text("state") == "waiting_on_user").await;
    let thread = first(stream.seen(), "session").text("thread_id").to_owned();
    let call = first(stream.seen(), "tool_call_update").text("tool_call_id").to_owned();
    (stream, thread, call)
}

// N-108: a parked turn takes no place, and an answered one needs a place to go on.
#[tokio::test]
async fn parking_is_no_way_around_the_turns_at_a_time() {
    let case = somebody().await;
    let held = case.barrier("held");
    let paste = call("ui_paste", json!({ "text": "x" })).using(10, 0, 5);
    case.script("", [paste, text("Pasted.").using(10, 0, 5).waiting(&held, 0)]).await;
    let mut turns = Vec::new();
    // Twice as many as may run, and one more: each gives its place to the next.
    for _ in 0..5 {
        turns.push(parked(&case).await);
    }
    let answered = turns.iter().map(|(_, thread, call)| {
        let path = format!("/api/threads/{thread}/tool_results");
        let result = json!({ "tool_call_id": call, "result": "done" });
        let client = case.client.clone();
        async move { client.post(&path, &result).await.expect(200).await.json().await }
    });
    for taken in futures::future::join_all(answered).await {
        assert_eq!(taken, json!({ "taken": true }));
    }
    // Each of them either asks its model, or says that it is queued.
    let mut queued = Vec::new();
    let mut running = Vec::new();
    for (mut stream, thread, call) in turns {
        let after = stream.seen().len();
        stream
            .until(|event| {
                event.text("details") == "queued" || event.is("model_call_update", &[("status", "start")])
            })
            .await;
        assert!(stream.seen().len() > after);
        let is_queued = stream.seen().last().is_some_and(|event| event.text("details") == "queued");
        if is_queued { queued.push((stream, thread, call)) } else { running.push(stream) }
    }
    assert_eq!((running.len(), queued.len()), (2, 3));
    // A queued turn is the thread's running one, and can be cancelled at once.
    let (stream, thread, call) = queued.remove(0);
    let result = json!({ "tool_call_id": call, "result": "done" });
    let again = case.client.post(&format!("/api/threads/{thread}/tool_results"), &result).await;
    assert_eq!(again.expect(200).await.json().await, json!({ "taken": false }));
    assert_ne!(case.client.thread(&thread).await["running_turn_id"], json!(null));
    case.client.cancel(&thread).await;
    assert_eq!(first(&stream.rest().await, "done").text("finish_reason"), "cancelled");
    let (stream, thread, _) = queued.remove(0);
    case.client.delete(&thread).await;
    assert_eq!(first(&stream.rest().await, "done").text("finish_reason"), "cancelled");
    // The last one goes on by itself once a place is free.
    case.llm.release(&held).await;
    for stream in running {
        assert_eq!(first(&stream.rest().await, "done").text("finish_reason"), "stop");
    }
    let (stream, _, _) = queued.remove(0);
    let rest = stream.rest().await;
    assert_eq!(first(&rest, "done").text("finish_reason"), "stop");
    let details: Vec<&str> =
        rest.iter().filter(|event| event.kind == "agent_state").map(|event| event.text("details")).collect();
    assert_eq!(details.first(), Some(&""), "it is queued no longer: {details:?}");
}

// Uploads that come together cannot pass one count, and a failed upload costs nothing.
#[tokio::test]
async fn uploaded_bytes_per_day_are_limited() {
    let case = somebody().await;
    let put = |path: String, bytes: usize| {
        let client = case.client.clone();
        async move { client.send("PUT", &format!("/api/workspaces/a/files/{path}"), vec![b'x'; bytes]).await }
    };
    // R2's condition refuses these: none of them is stored.
    for _ in 0..3 {
        let failing = case.client.with("if-match", "\"nothing\"");
        let reply = failing.send("PUT", "/api/workspaces/a/files/none", vec![b'x'; 1_000_000]).await;
        assert_problem(reply, 412, "precondition_failed", None).await;
    }
    let fits = stored::eventually("the failed uploads are given back", || async {
        let reply = put("whole".to_owned(), 500_000).await;
        (reply.status == 200).then_some(())
    });
    fits.await;
    // Something small counts as its row does: as a thousand bytes.
    let made = case.client.post("/api/collections", &json!({ "name": "Full" })).await.expect(201).await;
    put("empty".to_owned(), 0).await.expect(200).await;
    let replies = futures::future::join_all((0..8).map(|n| put(n.to_string(), 499_500))).await;
    let mut stored = 0;
    for reply in replies {
        match reply.status {
            200 => stored += 1,
            _ => {
                assert!(reply.header("retry-after").parse::<u64>().is_ok_and(|seconds| seconds <= 86_400));
                assert_problem(reply, 429, "quota_exceeded", None).await;
            }
        }
    }
    assert_eq!(stored, 4, "and the one before");
    // All else that a client stores counts together with files, and a deleted file still counts.
    case.client.send("DELETE", "/api/workspaces/a", "").await.expect(204).await;
    let id = made.json().await["id"].as_str().expect("an id").to_owned();
    let path = format!("/api/collections/{id}/documents?name=a");
    let reply = case.client.with("content-type", "text/plain").send("POST", &path, "One more byte.").await;
    assert_problem(reply, 429, "quota_exceeded", None).await;
    assert_eq!(case.client.read(&format!("/api/collections/{id}")).await["documents"], 0);
    let step = json!({ "id": "a", "title": "A", "instructions": "Do it." });
    let workflow = json!({ "name": "A procedure", "steps": [step] });
    for (path, body) in
        [("/api/me/instructions", json!({ "content": "Briefly." })), ("/api/workflows/release", workflow)]
    {
        assert_problem(case.client.put(path, &body).await, 429, "quota_exceeded", None).await;
    }
    let another = case.client.post("/api/collections", &json!({ "name": "Another" })).await;
    assert_problem(another, 429, "quota_exceeded", None).await;
    // To delete them is always allowed.
    case.client.put("/api/me/instructions", &json!({ "content": "" })).await.expect(200).await;
    // Other users have their own day.
    let other = somebody().await.client;
    other.send("PUT", "/api/workspaces/a/files/b", "x").await.expect(200).await;
}
