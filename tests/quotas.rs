//! Quotas, at the instance that has them: two turns at a time, 100 000 tokens a day and five threads per user.

// A helper may fail as its test does; clippy allows that in `#[test]` functions only.
#![allow(clippy::expect_used, clippy::indexing_slicing, clippy::panic)]

use espalier_test_support::client::assert_problem;
use espalier_test_support::identity::users;
use espalier_test_support::{Case, Client, env, json, new_id, stored, text};

/// Somebody of a tenant of their own, with accounts that no other test touches.
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

// The third turn waits for one of the first two, whichever way that one ends.
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
    // The same turn again is no other turn.
    let again = case.client.chat(&slow(&first)).await;

    let thread = two.until(|event| event.kind == "session").await.text("thread_id").to_owned();
    assert_eq!(case.client.cancel(&thread).await, json!(second));
    two.turn().await;
    // Its place is free once its end was told.
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

    // Others of the same tenant have places of their own.
    let other = somebody().await;
    other.script("", [text("Hi.").using(1, 0, 1)]).await;
    other.chat("Hello").await;
}

// Denial of wallet: whoever starts, cancels and retries as fast as they can is charged for each call what it might have
// cost, and stopped when that is the day's quota.
#[tokio::test]
async fn nobody_costs_more_than_their_quota() {
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
            // Two of them run, or the end of one was not told yet: at once again.
            429 if reply.header("retry-after") == "5" => {}
            429 => break reply,
            other => panic!("{other}: {}", reply.text().await),
        }
    };
    assert!(refusal.header("retry-after").parse::<u64>().is_ok_and(|seconds| seconds <= 86_400));
    assert_problem(refusal, 429, "quota_exceeded", None).await;
    // What the provider was asked for, as it counts: each call at most its prompt and the output that it was allowed.
    let requests = case.all_requests().await.requests;
    let most = |request: &serde_json::Value| {
        let allowed = ["max_completion_tokens", "max_tokens"].iter().find_map(|name| request[name].as_u64());
        // Four bytes are a token, if not more.
        allowed.expect("the output is bounded") + request["messages"].to_string().len() as u64 / 4
    };
    let all: u64 = requests.iter().map(|record| most(&record.body)).sum();
    assert!(all <= 100_000, "{} calls, {all} tokens", requests.len());
    assert!(started >= 1);

    // Another thread, another turn: the day is over for this user, and for nobody else.
    let body = json!({ "content": case.said("Hello", "") });
    refused(&case.client, &body, "quota_exceeded").await;
    let other = somebody().await;
    other.script("", [text("Hi.").using(1, 0, 1)]).await;
    other.chat("Hello").await;
}

// What a turn did not use is given back: many small turns fit where few reservations would.
#[tokio::test]
async fn what_was_not_used_is_given_back() {
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
    // One that is there goes on.
    case.chat_with(&json!({ "thread_id": threads[0], "content": case.said("Again", "") })).await;
    case.client.delete(&threads[1]).await;
    stored::eventually("there is room again", || async {
        let reply = case.client.post("/api/chat", &body).await;
        (reply.status == 200).then_some(())
    })
    .await;
}

// An instance without quotas asks nobody.
#[tokio::test]
async fn nothing_is_limited_where_nothing_is_set() {
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

// Of messages that come together one starts, and only that one is charged.
#[tokio::test]
async fn who_is_sent_away_pays_nothing() {
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
    // Ten reservations would have left nothing of the day.
    case.script("", [text("Hi.").using(1, 0, 1)]).await;
    case.chat_with(&json!({ "content": case.said("Hello", "") })).await;
}
