//! Issue 19, item 3: a summary takes the place of the oldest turns of a long thread. It is a model call of its turn, kept
//! with the thread, and deleted with it.

use espalier_test_support::case::first;
use espalier_test_support::{Case, Event, Value, json, new_id, stored, text};

use crate::upgrades::{OLDER, planted};

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

    // The message has the note.
    let messages = case.client.messages(&thread).await;
    let note = json!({ "type": "summary", "text": "answer t1" });
    let answer = messages.last().expect("an answer");
    assert_eq!(answer["parts"][0], note);
    assert_eq!(answer["content"], format!("answer t{number}"));
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

// A version of a turn goes on from its own path: a summary that covers turns beside the path is not told, and serves again
// once its path is chosen.
#[tokio::test]
async fn a_summary_stands_on_the_paths_that_have_its_turns() {
    let case = Case::new().await;
    let thread = new_id();
    let (_, events) = until_summarised(&case, &thread).await;
    let summarised = first(&events, "session").data["turn_id"].as_str().expect("a turn").to_owned();
    let messages = case.client.messages(&thread).await;
    let ask = async |path: &str, replaces: Value| {
        case.script(path, [text("Hello.")]).await;
        let body = json!({
            "thread_id": thread, "content": long(&case, "Who am I?", path), "replaces_message_id": replaces,
            "chat_context": { "context_type": "project_audit" },
        });
        let events = case.chat_with(&body).await;
        assert!(events.iter().all(|event| event.kind != "history_summary"), "{path}");
        case.requests(path).await.requests[0].body.to_string()
    };
    let anew = ask("anew", messages[0]["id"].clone()).await;
    assert!(!anew.contains("conversation_summary") && !anew.contains("Ada"), "{anew}");
    let onward = ask("onward", Value::Null).await;
    assert!(!onward.contains("conversation_summary") && onward.contains("Hello."), "{onward}");

    let chosen = case.client.patch(&thread, &json!({ "current_turn_id": summarised })).await;
    chosen.expect(200).await;
    let back = ask("back", Value::Null).await;
    assert!(back.contains("<conversation_summary>") && back.contains("answer t1"), "{back}");
    assert_eq!(case.requests("t1").await.requests.len(), 2, "no summary was made again");
    // Another version of the turn that made the summary begins with it.
    let last = messages.iter().rfind(|message| message["role"] == "user").expect("a question");
    let beside = ask("beside", last["id"].clone()).await;
    assert!(beside.contains("<conversation_summary>") && beside.contains("answer t1"), "{beside}");
}

/// A thread of an earlier version that was never summarised, with so many turns of some 100 tokens each. The first one has a
/// fact, and the marker of `gist`.
fn long_ago(case: &Case, turns: u32) -> String {
    let first = case.said("My name is Ada.", "gist");
    let filler = "and so on ".repeat(18);
    // Turn 2 begins with event 100, turn 3 with event 110, and so on.
    format!(
        r#"{tables}
        UPDATE messages SET content = '{first}' WHERE row = 1;
        UPDATE messages SET history = replace(history, 'Are you old?', '{first}') WHERE row = 3;
        CREATE TEMP TABLE number AS
          WITH RECURSIVE number(turn) AS (VALUES (2) UNION ALL SELECT turn + 1 FROM number WHERE turn < {turns})
          SELECT turn, 80 + turn * 10 AS seq FROM number;
        INSERT INTO turns (turn_id, status, generation, resumptions, assistant_message_id, seq_first, seq_last, started_at)
          SELECT 'turn-' || turn, 'done', 1, 0, 'answer-' || turn, seq, seq + 9, 1000 FROM number;
        INSERT INTO messages (row, id, turn_id, role, content, created_at)
          SELECT seq, 'question-' || turn, 'turn-' || turn, 'user', 'Go on.', 1001 FROM number;
        INSERT INTO messages (row, id, turn_id, role, content, created_at, finish_reason, history)
          SELECT seq + 5, 'answer-' || turn, 'turn-' || turn, 'assistant', 'Noted.', 1002, 'stop',
            json_array(json_object('user', json_object('content', 'Go on ' || turn || ' {filler}')),
              json_object('assistant', json_object('content', 'Noted {filler}', 'tool_calls', json('[]'), 'raw', NULL)))
          FROM number;
        UPDATE meta SET seq_reserved = 100000;"#,
        tables = OLDER[6],
    )
}

// A thread of 500 turns that no version has summarised answers about its first: the oldest turns leave first, and each
// summary continues the one before it.
#[tokio::test]
async fn a_thread_of_500_turns_answers_about_its_first() {
    let case = Case::new().await;
    let (thread, _) = planted(&case.client, &long_ago(&case, 499)).await;
    // The fake answers the question for a summary by the first marker in it: of the first summary the marker of the first
    // turn, of each later one the marker in the summary before it.
    case.endless_script("gist", [text(&case.said("The user is Ada.", "gist"))]).await;
    case.script("last", [text("You are Ada.")]).await;
    let context = json!({ "context_type": "project_audit" });
    let body =
        json!({ "thread_id": thread, "content": case.said("Who am I?", "last"), "chat_context": context });
    let events = case.client.chat(&body).await.turn().await;
    let notes: Vec<&Event> = events.iter().filter(|event| event.kind == "history_summary").collect();
    assert!(notes.iter().all(|note| note.text("text").starts_with("The user is Ada.")), "{notes:?}");

    let summaries = case.requests("gist").await.requests;
    assert!((2..=4).contains(&summaries.len()) && summaries.len() == notes.len(), "{}", summaries.len());
    let question = |index: usize| summaries[index].body.to_string();
    assert!(question(0).contains("My name is Ada.") && question(0).contains("Go on 2 "));
    assert!((1..summaries.len()).all(|index| question(index).contains("<earlier_summary>")));
    let asked = case.requests("last").await.requests;
    let body = asked[0].body.to_string();
    assert!(body.contains("<conversation_summary>") && body.contains("The user is Ada."), "{body}");
    assert!(!body.contains("My name is Ada.") && body.contains("Go on 499 "), "{body}");
    assert_eq!(case.client.thread(&thread).await["current_turn_id"], events[0].data["turn_id"]);
}
