//! Issue 43: within a turn each request begins with the one before it, until messages leave for good. The fake binds
//! thinking to everything before it, as Claude 5.1 and later do, and refuses it behind another beginning.

use espalier_test_support::case::first;
use espalier_test_support::{Case, Event, Step, Value, call, json, new_id, text};

/// A turn of a thread whose requests have room for 24 000 tokens (`variables.rs`).
async fn turn(case: &Case, thread: &str, words: &str, path: &str) -> Vec<Event> {
    let body = json!({
        "thread_id": thread, "content": format!("{} {words}", case.said("Go on.", path)),
        "chat_context": { "context_type": "project_audit" }, "model": "anthropic:fake-6",
    });
    case.chat_with(&body).await
}

/// The messages of a request without the marks of the cache, which move.
fn messages(body: &Value) -> Vec<Value> {
    let mut messages = body["messages"].as_array().expect("messages").clone();
    let blocks = messages.iter_mut().filter_map(|message| message["content"].as_array_mut()).flatten();
    blocks.filter_map(Value::as_object_mut).for_each(|block| drop(block.remove("cache_control")));
    messages
}

/// The blocks of thinking in a request.
fn thoughts(body: &Value) -> usize {
    let messages = body["messages"].as_array().expect("messages");
    let blocks = messages.iter().filter_map(|message| message["content"].as_array()).flatten();
    blocks.filter(|block| block["type"] == "thinking").count()
}

#[tokio::test]
async fn messages_that_leave_within_a_turn_take_the_thinking_after_them_along() {
    let (case, thread) = (Case::new().await, new_id());
    for path in ["t1", "t2"] {
        case.script(path, [text(&format!("answer {path}"))]).await;
        turn(&case, &thread, &"and so on ".repeat(2_000), path).await;
    }
    // Four rounds of some 3 500 tokens each: the two turns before leave within the turn.
    let round = |number: usize| {
        let words = format!("Round {number}. {}", "and so on ".repeat(1_400));
        call("current_time", json!({})).thinking(&format!("Round {number}.")).saying(&words)
    };
    let steps: Vec<Step> = (1..=4).map(round).chain([text("Done.")]).collect();
    case.script("t3", steps).await;
    let events = turn(&case, &thread, "", "t3").await;
    assert_eq!(first(&events, "done").data["finish_reason"], "stop");
    assert_eq!(first(&events, "history_summary").data["text"], "answer t1");

    let requests = case.requests("t3").await.requests;
    assert_eq!(requests.len(), 5, "no request was refused");
    let sent: Vec<(Vec<Value>, usize)> =
        requests.iter().map(|request| (messages(&request.body), thoughts(&request.body))).collect();
    assert_eq!(sent[0].1, 0);
    let mut cuts = 0;
    for pair in sent.windows(2) {
        let [(before, had), (now, has)] = pair else { panic!("two requests") };
        let begins_alike = now.starts_with(before);
        cuts += usize::from(!begins_alike);
        assert_eq!(*has, if begins_alike { had + 1 } else { 0 }, "after a cut no older thinking is sent");
    }
    assert!(cuts > 0, "the turns before leave within this one");
}
