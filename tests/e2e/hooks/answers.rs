//! The point `answer`: a drafted answer is judged before anybody gets it, over each way to read it.
//!
//! Issue 45, 15

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use espalier_test_support::case::first;
use espalier_test_support::client::assert_problem;
use espalier_test_support::stored::eventually;
use espalier_test_support::{Case, Client, Event, Step, Value, call, calls, deltas, env, json, text};

use super::{results, verdict, verdicts};
use crate::clients::keyed_at;

/// A thread with a hook that judges its answers, of a user with a key, and that user's client.
async fn judged(hook: Value) -> (Case, Client, String) {
    let (case, _) = keyed_at(&env("ESPALIER_URL")).await;
    let client = case.client.clone();
    case.script("begin", [text("Yes?")]).await;
    let body = json!({ "content": case.said("Hello", "begin") });
    let events = client.chat(&body).await.turn().await;
    let thread = first(&events, "session").text("thread_id").to_owned();
    client.put(&format!("/api/threads/{thread}/hooks/kind"), &hook).await.expect(200).await;
    (case, client, thread)
}

fn kind() -> Value {
    json!({ "on": "answer", "instructions": "Be kind." })
}

/// An answer in three deltas, and the marker by which the fake finds the verdict on it.
fn draft(case: &Case, words: &str, judge: &str) -> Step {
    deltas([words, " It is 42.", &case.said("", judge)])
}

async fn turn(case: &Case, client: &Client, thread: &str) -> Vec<Event> {
    let body = json!({ "thread_id": thread, "content": case.said("What is it?", "") });
    case.turn(client.chat(&body).await).await
}

/// The texts of the answer that a client saw.
fn answer_text(events: &[Event]) -> String {
    let is_root = |event: &&Event| event.kind == "chunk" && event.data["depth"] == 0;
    events.iter().filter(is_root).map(|event| event.text("content")).collect()
}

/// Whether any part of a text has words of a blocked draft.
fn is_rude(text: &str) -> bool {
    text.contains("fool")
}

/// All that the routes of a thread tell of a turn, as one text.
async fn stored_text(client: &Client, thread: &str, turn: &str) -> String {
    let mut text = String::new();
    let own = |path: &str| format!("/api/threads/{thread}/{path}");
    let record = own(&format!("turns/{turn}/record"));
    for path in [own("messages"), own("agents"), own("records"), record, "/api/me/export".to_owned()] {
        text.push_str(&client.get(&path).await.text().await);
    }
    // An export has records and files in base64.
    let pieces = text.lines().filter_map(|line| {
        serde_json::from_str::<Value>(line).ok()?["content_base64"].as_str().map(str::to_owned)
    });
    let pieces: Vec<Vec<u8>> = pieces.filter_map(|piece| BASE64_STANDARD.decode(piece).ok()).collect();
    assert!(!pieces.is_empty(), "the record of the first turn is in the export");
    pieces.iter().fold(text, |text, piece| text + &String::from_utf8_lossy(piece))
}

#[tokio::test]
async fn a_blocked_answer_is_written_again_and_only_that_is_shown() {
    let (case, client, thread) = judged(kind()).await;
    let now = call("current_time", json!({})).saying("You fool, wait. ");
    case.script("", [now, draft(&case, "You fool.", "rude"), draft(&case, "Dear friend.", "good")]).await;
    case.script("rude", [verdict("block", "that is unkind")]).await;
    case.script("good", [verdict("allow", "")]).await;
    let events = turn(&case, &client, &thread).await;
    assert_eq!(
        verdicts(&events),
        [("kind", "answer", "block", "that is unkind"), ("kind", "answer", "allow", "")]
    );
    assert!(answer_text(&events).starts_with("Dear friend. It is 42."), "{}", answer_text(&events));
    assert!(events.iter().all(|event| !is_rude(&event.data.to_string())), "{events:#?}");
    assert_eq!(first(&events, "done").text("finish_reason"), "stop");

    // The model reads the reason, and the hook reads the whole draft.
    let requests = case.requests("").await.requests;
    let last = requests.last().expect("a request").body["messages"].as_array().expect("messages").clone();
    let reason = last.last().expect("a message")["content"].as_str().expect("text").to_owned();
    assert!(
        reason.starts_with("<hook name=\"kind\">") && reason.ends_with("that is unkind\n</hook>"),
        "{reason}"
    );
    let asked = case.requests("rude").await.requests[0].body.to_string();
    assert!(asked.contains("Be kind.") && asked.contains("You fool. It is 42."), "{asked}");

    // No route of the thread shows the draft afterwards, and the next turn's model does not see it.
    let turn_id = first(&events, "session").text("turn_id").to_owned();
    let stored = stored_text(&client, &thread, &turn_id).await;
    assert!(stored.contains("Dear friend.") && !is_rude(&stored), "{stored}");
    let record = client.get(&format!("/api/threads/{thread}/turns/{turn_id}/record")).await;
    assert_problem(record, 404, "record_not_kept", None).await;
    case.script("next", [draft(&case, "Still 42.", "fine")]).await;
    case.script("fine", [verdict("allow", "")]).await;
    let body = json!({ "thread_id": thread, "content": case.said("And now?", "next") });
    client.chat(&body).await.turn().await;
    let seen = case.requests("next").await.requests[0].body.to_string();
    assert!(seen.contains("Dear friend.") && !is_rude(&seen) && !seen.contains("unkind"), "{seen}");
    // Records arrive in the order of their turns: with the last one R2 has the one that nobody may read.
    let list = format!("/api/threads/{thread}/records");
    eventually("the record of the next turn is in R2", || async {
        (client.read(&list).await["records"].as_array().map(Vec::len) == Some(2)).then_some(())
    })
    .await;
    let stored = stored_text(&client, &thread, &turn_id).await;
    assert!(stored.contains("Dear friend.") && !is_rude(&stored), "{stored}");
}

#[tokio::test]
async fn an_answer_that_never_passes_ends_the_turn() {
    let (case, client, thread) = judged(kind()).await;
    case.endless_script("", [draft(&case, "You fool.", "rude")]).await;
    case.endless_script("rude", [verdict("block", "that is unkind")]).await;
    let events = turn(&case, &client, &thread).await;
    let error = first(&events, "error");
    assert_eq!((error.text("code"), &error.data["retryable"]), ("blocked", &json!(false)));
    assert!(error.text("message").contains("that is unkind"), "{}", error.text("message"));
    assert_eq!(first(&events, "done").text("finish_reason"), "error");
    assert_eq!(verdicts(&events).len(), 3, "two rewritings");
    assert_eq!(answer_text(&events), "");
    let messages = client.messages(&thread).await;
    let last = messages.last().expect("a message");
    assert_eq!((&last["content"], &last["stop"]["code"]), (&json!(""), &json!("blocked")));
    let stored = stored_text(&client, &thread, first(&events, "session").text("turn_id")).await;
    assert!(!is_rude(&stored), "{stored}");
}

// A model that says something else twice, one that fails, and a decision that there is not: each of them blocks.
#[tokio::test]
async fn a_hook_that_fails_blocks() {
    for judge in [
        vec![text("Hm."), text("Well.")],
        vec![verdict("comment", "hm"), verdict("comment", "hm")],
        vec![text("Hm.").refusing(400, 9)],
    ] {
        let (case, client, thread) = judged(kind()).await;
        case.endless_script("", [draft(&case, "You fool.", "judge")]).await;
        case.endless_script("judge", judge).await;
        let events = turn(&case, &client, &thread).await;
        assert_eq!(first(&events, "error").text("code"), "blocked");
        let why = first(&events, "error").text("message");
        assert!(why.contains("it gave no verdict"), "{why}");
        assert_eq!(answer_text(&events), "");
        assert!(verdicts(&events).iter().all(|(_, _, decision, _)| *decision == "block"));
    }
}

// A reader that comes in the middle, one that reads from the start, and a stop: nobody gets a word of the draft.
#[tokio::test]
async fn a_reader_in_the_middle_gets_no_unjudged_text() {
    let (case, client, thread) = judged(kind()).await;
    let (held, judging) = (case.barrier("held"), case.barrier("judging"));
    let rude = draft(&case, "You fool.", "rude").waiting(&held, 2);
    case.script("", [rude, draft(&case, "Dear friend.", "good")]).await;
    case.script("rude", [verdict("block", "unkind").waiting(&judging, 0)]).await;
    case.script("good", [verdict("allow", "")]).await;
    let body = json!({ "thread_id": thread, "content": case.said("What is it?", "") });
    let mut first_reader = client.chat(&body).await;
    first_reader.until(|event| event.is("model_call_update", &[("status", "start")])).await;
    // While the model writes, and while the hook judges.
    case.llm.wait(&case.marker(""), 2).await;
    let after = first_reader.seen()[0].seq - 1;
    let mut early = client.stream(&thread, after).await.expect("a stream");
    early.until(|event| event.is("model_call_update", &[("status", "start")])).await;
    case.llm.release(&held).await;
    early.until(|event| event.is("hook_update", &[("status", "start")])).await;
    let stored = client.get(&format!("/api/threads/{thread}/messages")).await.text().await;
    assert!(!is_rude(&stored), "{stored}");
    let mut late = client.stream(&thread, after).await.expect("a stream");
    late.until(|event| event.is("hook_update", &[("status", "start")])).await;
    case.llm.release(&judging).await;
    for events in [first_reader.turn().await, early.turn().await, late.turn().await] {
        assert!(events.iter().all(|event| !is_rude(&event.data.to_string())), "{events:#?}");
        assert!(answer_text(&events).starts_with("Dear friend."));
    }
}

#[tokio::test]
async fn a_stop_while_the_hook_judges_leaves_nothing_of_the_draft() {
    let (case, client, thread) = judged(kind()).await;
    let judging = case.barrier("judging");
    case.script("", [draft(&case, "You fool.", "rude")]).await;
    case.script("rude", [verdict("block", "unkind").waiting(&judging, 0)]).await;
    let body = json!({ "thread_id": thread, "content": case.said("What is it?", "") });
    let mut reader = client.chat(&body).await;
    reader.until(|event| event.is("hook_update", &[("status", "start")])).await;
    client.cancel(&thread).await;
    let events = reader.turn().await;
    assert_eq!(first(&events, "done").text("finish_reason"), "cancelled");
    let stored = stored_text(&client, &thread, first(&events, "session").text("turn_id")).await;
    assert!(!is_rude(&stored) && events.iter().all(|event| !is_rude(&event.data.to_string())), "{stored}");
    case.llm.release(&judging).await;
}

// Over `/v1`, as a stream and as a whole, and over `/api/ai-sdk`.
#[tokio::test]
async fn other_services_clients_get_the_judged_answer_alone() {
    for (api, streams) in [("chat/completions", true), ("chat/completions", false), ("responses", true)] {
        let (case, client, thread) = judged(kind()).await;
        case.script("", [draft(&case, "You fool.", "rude"), draft(&case, "Dear friend.", "good")]).await;
        case.script("rude", [verdict("block", "unkind")]).await;
        case.script("good", [verdict("allow", "")]).await;
        let content = case.said("What is it?", "");
        let mut body = json!({ "model": "espalier", "stream": streams, "metadata": { "thread_id": thread } });
        match api {
            "responses" => body["input"] = json!(content),
            _ => body["messages"] = json!([{ "role": "user", "content": content }]),
        }
        let stored = client.post(&format!("/v1/{api}"), &body).await.expect(200).await.text().await;
        assert!(stored.contains("Dear friend.") && !is_rude(&stored), "{api}: {stored}");
    }
    let (case, client, thread) = judged(kind()).await;
    case.endless_script("", [draft(&case, "You fool.", "rude")]).await;
    case.endless_script("rude", [verdict("block", "unkind")]).await;
    let said = json!([{ "role": "user", "content": case.said("What is it?", "") }]);
    let body = json!({ "model": "espalier", "messages": said, "metadata": { "thread_id": thread } });
    let stored = client.post("/v1/chat/completions", &body).await.text().await;
    assert!(stored.contains("\"blocked\"") && !is_rude(&stored), "{stored}");
}

// A subtask has a copy, unless the hook watches the main agent alone. Its call fails, and nobody reads its words.
#[tokio::test]
async fn a_subtask_whose_answer_is_blocked_fails() {
    for (of, fails) in [("all", true), ("main", false)] {
        let (case, client, thread) =
            judged(json!({ "on": "answer", "instructions": "Be kind.", "of": of })).await;
        let child = calls([case.subtask("Ask", "child")]);
        case.script("", [child, draft(&case, "Dear friend.", "good")]).await;
        case.endless_script("child", [draft(&case, "You fool.", "rude")]).await;
        case.endless_script("rude", [verdict("block", "unkind")]).await;
        case.script("good", [verdict("allow", "")]).await;
        let events = turn(&case, &client, &thread).await;
        let result = results(&events)[0];
        assert_eq!(result.contains("\"error\":\"blocked\""), fails, "{of}: {result}");
        assert_eq!(events.iter().any(|event| is_rude(&event.data.to_string())), !fails, "{of}");
        assert!(answer_text(&events).starts_with("Dear friend."));
    }
}

// `match` names calls, and an answer is none.
#[tokio::test]
async fn a_hook_on_the_answer_watches_no_calls() {
    let (_, client, thread) = judged(kind()).await;
    let path = format!("/api/threads/{thread}/hooks/calls");
    let wrong = json!({ "on": "answer", "instructions": "x", "match": ["calculate"] });
    assert_problem(client.put(&path, &wrong).await, 400, "invalid_request", Some("match")).await;
    let wrong = json!({ "on": "answer", "builtin": "loop_guard" });
    assert_problem(client.put(&path, &wrong).await, 400, "invalid_request", Some("on")).await;
    let steelman = json!({ "on": "answer", "builtin": "steelman" });
    let kept = client.put(&path, &steelman).await.expect(200).await.json().await;
    assert_eq!((&kept["on"], &kept["builtin"]), (&json!("answer"), &json!("steelman")));
}
