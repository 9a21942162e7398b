//! A turn that a limit ended says what is left, and the thread's next turn continues it with a budget of its own.
//!
//! Issue 19, 4. N-034 N-195

use espalier_test_support::case::first;
use espalier_test_support::client::assert_problem;
use espalier_test_support::{
    Case, Client, Event, Step, Value, call, calls, cost_line, json, stored, story, text, tree,
};

fn times(count: usize) -> Vec<(&'static str, Value)> {
    vec![("current_time", json!({})); count]
}

/// Plays a turn that ends at its 200th tool call, within a subtask. The model's reply after the service's last words in
/// its history is the last step.
async fn limited(case: &Case, then: impl IntoIterator<Item = Step>) -> Vec<Event> {
    let last_words = text("[the service writes this]");
    let steps = [calls(times(100)).saying("A hundred. "), calls([case.subtask("Count on", "a")]), last_words];
    case.script("", steps.into_iter().chain(then)).await;
    case.script("a", [calls(times(100)).saying("And more. "), text("never")]).await;
    case.chat("Count to two hundred").await
}

fn continuing(events: &[Event]) -> Value {
    let session = first(events, "session");
    json!({ "thread_id": session.text("thread_id"), "continue": session.text("turn_id") })
}

#[tokio::test]
async fn a_turn_goes_on_from_what_a_limit_left() {
    let case = Case::new().await;
    let events = limited(&case, [call("calculate", json!({"expression": "199 + 1"})), text("200.")]).await;
    let left = json!([{ "name": "run_subtask", "title": "Count on", "begun": true }]);
    let exceeded = first(&events, "budget_exceeded");
    assert_eq!(exceeded.data["left"], left);
    let stop = case.stored(&events).await["stop"].clone();
    assert_eq!(stop["left"], left, "live and stored say the same");
    assert_eq!(stop["budget"], json!({ "reason": "tool_calls", "limit": 200, "observed": 201 }));
    let rows = stored::eventually("the answer in D1", || async {
        let rows = stored::rows(&events, "messages", "role, stop").await;
        (rows.len() == 2).then_some(rows)
    });
    let of = |rows: &[Value], role: &str| rows.iter().find(|row| row["role"] == role).cloned();
    let rows = rows.await;
    assert_eq!(of(&rows, "user").map(|row| row["stop"].clone()), Some(Value::Null));
    let in_d1 = of(&rows, "assistant").and_then(|row| row["stop"].as_str().map(str::to_owned));
    assert_eq!(in_d1.and_then(|json| serde_json::from_str(&json).ok()), Some(stop));

    let mut body = continuing(&events);
    body["turn_id"] = json!("0c0ffee0-0000-4000-8000-000000000001");
    let next = case.chat_with(&body).await;
    let words = story(&next);
    assert_eq!(words[words.len() - 2..], [cost_line(2, 1, 0), "done message:2 stop".to_owned()]);
    assert_eq!(case.stored(&next).await["content"], "200.");
    let messages = case.client.messages(first(&events, "session").text("thread_id")).await;
    assert_eq!((messages.len(), messages[2]["content"].as_str()), (4, Some("Continue.")));

    // The model sees the results of the calls that had ended, within the subtask too, and what is left.
    let sent = case.requests("").await.requests[2].body["messages"].clone();
    let sent = sent.as_array().cloned().unwrap_or_default();
    let results: Vec<&str> =
        sent.iter().filter(|it| it["role"] == "tool").filter_map(|it| it["content"].as_str()).collect();
    assert_eq!(results.len(), 101);
    assert!(results[..100].iter().all(|result| result.contains("20")), "{results:?}");
    assert_eq!(results[100].matches("current_time({}):").count(), 99, "{}", results[100]);
    assert!(results[100].contains("It said:\nAnd more."), "{}", results[100]);
    let words = sent[sent.len() - 2]["content"].as_str().unwrap_or_default();
    assert!(words.contains("[Left to do: run_subtask \"Count on\"."), "{words}");
    assert_eq!(sent[sent.len() - 1]["content"], "Continue.");

    // The same request again is the same turn.
    let again = case.client.chat(&body).await.turn().await;
    assert_eq!(story(&again), story(&next));
    assert_eq!(case.requests("").await.requests.len(), 4, "nothing ran again");
    assert_eq!(tree::ends(&next, "current_time").len(), 0);
}

#[tokio::test]
async fn only_the_newest_turn_that_a_limit_ended_is_continued() {
    let case = Case::new().await;
    let events = limited(&case, [text("Well."), text("Enough.")]).await;
    let body = continuing(&events);
    let refused = async |client: &Client, change: Value, field: &str, why: &str| {
        let mut with = body.clone();
        with.as_object_mut().expect("an object").extend(change.as_object().expect("members").clone());
        let reply = client.post("/api/chat", &with).await;
        assert_eq!(reply.status, 400, "{with}");
        let problem = reply.json().await;
        assert_eq!(
            (&problem["code"], &problem["field"]),
            (&json!("invalid_request"), &json!(field)),
            "{problem}"
        );
        assert!(problem["detail"].as_str().is_some_and(|detail| detail.contains(why)), "{problem}");
    };
    let nobody = "0c0ffee0-0000-4000-8000-00000000dead";
    let message = first(&events, "session").text("user_message_id");
    let user = &case.client;
    refused(user, json!({ "continue": nobody }), "continue", "no turn with this id").await;
    refused(user, json!({ "content": "And then?" }), "continue", "instead of a message").await;
    refused(user, json!({ "replaces_message_id": message }), "continue", "replaces no message").await;
    refused(user, json!({ "thread_id": null }), "thread_id", "required").await;
    refused(user, json!({ "continue": "the last one" }), "continue", "UUID").await;
    // Another user's thread of this id is a thread of their own, which the refusal does not make.
    let stranger = Client::anonymous().await;
    refused(&stranger, json!({}), "continue", "no turn with this id").await;
    let thread = first(&events, "session").text("thread_id").to_owned();
    assert_problem(stranger.get(&format!("/api/threads/{thread}")).await, 404, "thread_not_found", None)
        .await;

    let next = case.chat_with(&body).await;
    assert_eq!(case.stored(&next).await["content"], "Well.");
    refused(user, json!({}), "continue", "not the last turn of this conversation").await;
    let ended = json!({ "continue": first(&next, "session").text("turn_id") });
    refused(user, ended, "continue", "no limit ended this turn").await;
    assert_eq!(user.messages(&thread).await.len(), 4, "a refusal leaves nothing");
}

// The model calls of the root are a limit too.
#[tokio::test]
async fn a_root_without_an_answer_is_continued() {
    let case = Case::new().await;
    let steps = std::iter::repeat_n(call("current_time", json!({})), 20);
    let then = [text("[the service writes this]"), text("Now I know.")];
    case.script("", steps.chain(then)).await;
    let events = case.chat("Loop").await;
    assert_eq!(first(&events, "error").text("code"), "iteration_limit");
    let next = case.chat_with(&continuing(&events)).await;
    assert_eq!(case.stored(&next).await["content"], "Now I know.");
}
