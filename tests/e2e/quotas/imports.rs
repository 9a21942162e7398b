//! The conversation that a client brings to a new thread.

use espalier_test_support::{json, stored, text};

use super::somebody;

// Issue 46, L6: 400 questions with their answers are 400,000 bytes, of which a day has 2,500,000.
#[tokio::test]
async fn a_conversation_that_a_client_brings_counts_as_an_upload() {
    let case = somebody().await;
    case.endless_script("", [text("Hi.").using(1, 0, 1)]).await;
    let rounds = |count: usize| {
        let round =
            [json!({ "role": "user", "content": "q" }), json!({ "role": "assistant", "content": "a" })];
        let newest = json!({ "role": "user", "content": case.said("Hello", "") });
        let messages = std::iter::repeat_n(round, count).flatten().chain([newest]);
        json!({ "messages": messages.collect::<Vec<_>>() })
    };
    let path = "/v1/chat/completions";
    let answered = async |count: usize| {
        stored::eventually("a turn starts", || async {
            let reply = case.client.post(path, &rounds(count)).await;
            // The end of the turn before may not have been heard.
            (reply.status != 429 || reply.header("retry-after") != "5").then_some(reply)
        })
        .await
    };
    for _ in 0..6 {
        answered(400).await.expect(200).await;
    }
    answered(99).await.expect(200).await;
    let refused = answered(2).await.expect(429).await;
    assert_eq!(refused.json().await["error"]["code"], "quota_exceeded");
    let last = answered(1).await.expect(200).await.json().await;
    answered(1).await.expect(429).await;
    // A thread that exists imports nothing, and one without a conversation before it starts.
    let thread = case.client.with("x-thread-id", last["metadata"]["thread_id"].as_str().expect("a thread"));
    stored::eventually("a turn starts", || async {
        (thread.post(path, &rounds(400)).await.status == 200).then_some(())
    })
    .await;
    answered(0).await.expect(200).await;
}
