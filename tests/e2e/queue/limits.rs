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
    let mut is_held = false;
    for _ in 1..MOST {
        is_held = !is_held;
        hold(&case, &thread, is_held).await.expect(200).await;
    }
    let beyond = hold(&case, &thread, !is_held).await;
    assert!(beyond.header("retry-after").parse::<u64>().is_ok(), "{}", beyond.header("retry-after"));
    assert_problem(beyond, 429, "rate_limited", None).await;
    let another = case.client.post("/api/chat", &request(&case, &thread, "two")).await;
    assert_problem(another, 429, "rate_limited", None).await;
    // The queue is as it was, and a request that leaves it so is no change.
    assert_eq!(waiting(&case, &thread).await, (vec![one.clone()], is_held));
    hold(&case, &thread, is_held).await.expect(200).await;
    case.llm.release(&case.barrier("hold")).await;
    let events = case.turn(stream).await;
    assert_eq!(told(&events).len(), MOST);
    assert!(is_held, "so nothing starts by itself");
    hold(&case, &thread, false).await.expect(200).await;
    assert_eq!(ids(&follow(&case, &thread, &events).await), [&one], "the next turn counts anew");
}
