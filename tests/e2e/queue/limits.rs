//! How often a turn tells its queue. Issue 42, M1.

use super::*;

/// The most `queue_update`s of a turn.
const MOST: usize = 200;

/// Holds the queue, or lets it go on.
async fn hold(case: &Case, thread: &str, held: bool) -> espalier_test_support::http::Reply {
    change(case, &format!("/api/threads/{thread}/queue"), json!({ "held": held })).await
}

#[tokio::test]
async fn a_change_that_changes_nothing_tells_nothing() {
    let (case, thread) = (Case::new().await, new_id());
    let stream = held(&case, &thread).await;
    let one = queue(&case, &thread, "one").await;
    for held in [false, true, true, true, false, false] {
        assert_eq!(hold(&case, &thread, held).await.expect(200).await.json().await["held"], held);
    }
    // The same words again.
    let same = json!({ "content": case.said("Go on", "one") });
    let path = format!("/api/threads/{thread}/queue/{one}");
    change(&case, &path, same).await.expect(200).await;
    case.llm.release(&case.barrier("hold")).await;
    let events = case.turn(stream).await;
    assert_eq!(told(&events), [1, 1, 1], "the message came, was held, and goes on");
    assert_eq!(ids(&follow(&case, &thread, &events).await), [&one]);
}

#[tokio::test]
async fn a_turn_tells_its_queue_two_hundred_times() {
    let (case, thread) = (Case::new().await, new_id());
    let stream = held(&case, &thread).await;
    let one = queue(&case, &thread, "one").await;
    let two = queue(&case, &thread, "two").await;
    let mut is_held = false;
    for _ in 2..MOST {
        is_held = !is_held;
        hold(&case, &thread, is_held).await.expect(200).await;
    }
    let another = case.client.post("/api/chat", &request(&case, &thread, "three")).await;
    assert!(another.header("retry-after").parse::<u64>().is_ok(), "{}", another.header("retry-after"));
    assert_problem(another, 429, "rate_limited", None).await;
    let words =
        change(&case, &format!("/api/threads/{thread}/queue/{one}"), json!({ "content": "No." })).await;
    assert_problem(words, 429, "rate_limited", None).await;
    assert_eq!(waiting(&case, &thread).await, (vec![one.clone(), two.clone()], false));
    // A person can still hold the queue and take a message out of it. No event tells that.
    hold(&case, &thread, true).await.expect(200).await;
    assert_problem(hold(&case, &thread, false).await, 429, "rate_limited", None).await;
    case.client.send("DELETE", &format!("/api/threads/{thread}/queue/{two}"), "").await.expect(204).await;
    assert_eq!(waiting(&case, &thread).await, (vec![one.clone()], true));
    case.llm.release(&case.barrier("hold")).await;
    let events = case.turn(stream).await;
    assert_eq!(told(&events).len(), MOST);
    // The queue is held, so nothing starts by itself.
    hold(&case, &thread, false).await.expect(200).await;
    assert_eq!(ids(&follow(&case, &thread, &events).await), [&one], "the next turn counts anew");
}
