//! Issue 19, item 3: a summary takes the place of the oldest turns of a long thread. It is a model call of its turn, kept
//! with the thread, and deleted with it.

use espalier_test_support::case::first;
use espalier_test_support::{Case, Event, Value, json, new_id, stored, text};

/// A message of some 5 000 tokens: a few of them fill a request of this context (`variables.rs`).
fn long(case: &Case, words: &str, path: &str) -> String {
    format!("{words} {} {}", case.said("", path), "and so on ".repeat(2_000))
}

async fn turn(case: &Case, thread: &str, words: &str, path: &str) -> Vec<Event> {
    case.script(path, [text(&format!("answer {path}"))]).await;
    let context = json!({ "context_type": "project_audit" });
    let body = json!({ "thread_id": thread, "content": long(case, words, path), "chat_context": context });
    case.chat_with(&body).await
}

/// Sends turns until one of them makes a summary.
async fn until_summarised(case: &Case, thread: &str) -> (usize, Vec<Event>) {
    for number in 1..10 {
        let words = if number == 1 { "My name is Ada." } else { "Go on." };
        let events = turn(case, thread, words, &format!("t{number}")).await;
        if events.iter().any(|event| event.kind == "history_summary") {
            return (number, events);
        }
    }
    panic!("ten turns of 5 000 tokens fit into 24 000 tokens");
}

#[tokio::test]
async fn a_long_thread_is_summarised_once_and_goes_on_with_the_summary() {
    let case = Case::new().await;
    let thread = new_id();
    let (number, events) = until_summarised(&case, &thread).await;
    // The fake answers the question for a summary by the first marker in it: that of the first turn.
    assert_eq!(first(&events, "history_summary").data["text"], "answer t1");
    let states: Vec<&Value> =
        events.iter().filter(|event| event.kind == "agent_state").map(|e| &e.data["details"]).collect();
    assert!(states.contains(&&json!("summarising_history")), "{states:?}");
    assert_eq!(first(&events, "done").data["usage"]["llm_calls"], 2);

    let asked = case.requests("t1").await.requests;
    assert_eq!(asked.len(), 2, "its own turn, and the summary");
    let question = asked[1].body.to_string();
    assert!(question.contains("My name is Ada.") && question.contains("answer t1"), "the turns are data");
    assert!(!question.contains(&format!("answer t{number}")));
    let answered = case.requests(&format!("t{number}")).await.requests;
    let body = answered[0].body.to_string();
    assert!(body.contains("<conversation_summary>") && !body.contains("My name is Ada."));

    // The message has the note, in the object and in D1.
    let messages = case.client.messages(&thread).await;
    let note = json!({ "type": "summary", "text": "answer t1" });
    let answer = messages.last().expect("an answer");
    assert_eq!(answer["parts"][0], note);
    assert_eq!(answer["content"], format!("answer t{number}"));
    stored::eventually("D1 has the note", || async {
        let rows = stored::d1("SELECT parts FROM messages WHERE id = ?", &[answer["id"].as_str()?]).await;
        rows.first()?["parts"].as_str()?.contains(r#""type":"summary""#).then_some(())
    })
    .await;
    stored::eventually("D1 has the summary's usage", || async {
        let sql =
            "SELECT operation_type FROM llm_usage WHERE thread_id = ? AND operation_type = 'history_summary'";
        (stored::d1(sql, &[&thread]).await.len() == 1).then_some(())
    })
    .await;

    // A later turn uses the same summary and asks for none.
    case.script("later", [text("You are Ada.")]).await;
    let context = json!({ "context_type": "project_audit" });
    let body =
        json!({ "thread_id": thread, "content": case.said("Who am I?", "later"), "chat_context": context });
    let events = case.chat_with(&body).await;
    assert!(events.iter().all(|event| event.kind != "history_summary"));
    assert_eq!(case.requests("t1").await.requests.len(), 2);
    let body = case.requests("later").await.requests[0].body.to_string();
    assert!(body.contains("<conversation_summary>") && body.contains("answer t1"));
}

// A replaced message is in no summary any more: what a turn sees is made of the messages that are there.
#[tokio::test]
async fn a_summary_does_not_outlive_its_messages() {
    let case = Case::new().await;
    let thread = new_id();
    let (_, events) = until_summarised(&case, &thread).await;
    let messages = case.client.messages(&thread).await;
    assert!(!events.is_empty());
    case.script("anew", [text("Hello.")]).await;
    let context = json!({ "context_type": "project_audit" });
    let body = json!({
        "thread_id": thread, "content": case.said("Anew", "anew"), "chat_context": context,
        "replaces_message_id": messages[0]["id"],
    });
    case.chat_with(&body).await;
    let body = case.requests("anew").await.requests[0].body.to_string();
    assert!(!body.contains("conversation_summary") && !body.contains("Ada"), "{body}");
}
