//! A limit of money: no turn begins whose cost nobody can know, and none costs more than its limit.
//!
//! Issue 43

use espalier_test_support::case::first;
use espalier_test_support::client::assert_problem;
use espalier_test_support::{Case, Client, call, env, json, text};

/// The limit of each turn in millionths of a US dollar (`tests/support/src/bin/e2e/variables.rs`).
const LIMIT: f64 = 60_000.0;

async fn case() -> Case {
    Case::of(Client::anonymous_at(&env("ESPALIER_MONEY_URL")).await)
}

#[tokio::test]
async fn a_turn_whose_price_is_not_known_is_refused_before_anything_is_spent() {
    let case = case().await;
    case.script("", [text("Hello.")]).await;
    let unpriced = json!({ "content": case.said("Hello", ""), "model": "other:fake-4" });
    let reply = case.client.post("/api/chat", &unpriced).await.expect(503).await;
    let problem = reply.json().await;
    assert_eq!(problem["code"], "misconfigured");
    let detail = problem["detail"].as_str().unwrap_or_default();
    assert!(
        detail.contains("LIMITS") && detail.contains("PRICES") && detail.contains("other:fake-4"),
        "{problem}"
    );
    // A dialect has its own form of the same refusal.
    let spoken = json!({ "model": "other:fake-4", "messages": [{ "role": "user", "content": "Hello" }] });
    let reply = case.client.post("/v1/chat/completions", &spoken).await.expect(503).await;
    assert!(reply.json().await["error"]["message"].as_str().unwrap_or_default().contains("other:fake-4"));
    assert_eq!(case.client.read("/api/threads").await["threads"], json!([]));
    assert!(case.requests("").await.requests.is_empty());

    // A model with a price answers.
    let priced = case.client.post("/api/chat", &json!({ "content": case.said("Hello", "") })).await;
    assert_eq!(priced.status, 200);
    let unnamed = json!({ "content": "Hello", "model": "nobody:none" });
    assert_problem(case.client.post("/api/chat", &unnamed).await, 400, "invalid_request", Some("model"))
        .await;
}

#[tokio::test]
async fn a_turn_spends_most_of_its_money_and_no_more() {
    let case = case().await;
    // Each call costs 6 000 and 4 times 500 millionths of a dollar.
    let more = call("calculate", json!({ "expression": "2+3" })).using(6_000, 0, 500);
    case.script("", vec![more; 20]).await;
    let events = case.chat("Add").await;
    let exceeded = first(&events, "budget_exceeded");
    assert_eq!((exceeded.text("reason"), &exceeded.data["limit"]), ("cost", &json!(60_000)));
    assert!(exceeded.data["observed"].as_f64().expect("a number") > LIMIT);
    let spent = first(&events, "done").data["usage"]["cost_usd"].as_f64().expect("a cost") * 1e6;
    assert!(spent > 0.85 * LIMIT && spent <= LIMIT, "{spent}");
    // The last call got the output that the rest of the money pays for.
    let requests = case.requests("").await.requests;
    let output = |at: usize| {
        let names = ["max_completion_tokens", "max_tokens"];
        names.iter().find_map(|name| requests[at].body[*name].as_u64()).expect("a limit")
    };
    let last = output(requests.len() - 1);
    assert!((256..8_192).contains(&last) && last < output(1), "{last} after {}", output(1));
}

// By its bytes alone the second turn would need more than the limit.
#[tokio::test]
async fn a_turn_reserves_by_what_the_turn_before_it_used() {
    let case = case().await;
    case.script("", [text("One.").using(8_000, 0, 2)]).await;
    let long = |letters: usize| case.said(&"x".repeat(letters), "");
    let events = case.chat_with(&json!({ "content": long(45_000) })).await;
    let counted = json!({ "model": "fake-1", "input_tokens": 8_000, "output_tokens": 2 });
    assert_eq!(first(&events, "done").data["usage"]["last_request"], counted);
    case.script("", [text("Two.").using(13_000, 0, 2)]).await;
    let thread = first(&events, "session").text("thread_id").to_owned();
    let events = case.chat_with(&json!({ "content": long(25_000), "thread_id": thread })).await;
    assert_eq!(first(&events, "done").data["finish_reason"], "stop");
    // The same bytes in a new thread.
    let fresh = case.chat_with(&json!({ "content": long(70_000) })).await;
    assert_eq!(first(&fresh, "done").data["finish_reason"], "budget");
}
