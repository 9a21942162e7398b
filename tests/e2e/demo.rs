//! The demo provider, as a newcomer meets it: no key, no network, and a question for each shape of a turn.
//!
//! N-001 N-002 N-012 N-014 N-054 N-112 N-113 N-121 N-222

use espalier_test_support::case::first;
use espalier_test_support::{Client, Event, Value, env, json, story, tree};

/// A new user asks the demo instance. The questions are the page's examples.
async fn ask(question: &str) -> (Client, Vec<Event>) {
    ask_with(&json!({ "content": question })).await
}

async fn ask_with(body: &Value) -> (Client, Vec<Event>) {
    let client = Client::anonymous_at(&env("ESPALIER_DEMO_URL")).await;
    let events = client.chat(body).await.turn().await;
    let done = first(&events, "done");
    assert_eq!(done.text("finish_reason"), "stop", "{}", story(&events).join("\n"));

    let messages = client.messages(first(&events, "session").text("thread_id")).await;
    assert_eq!(messages[1]["id"], done.data["message_id"]);
    tree::assert_matches(&events, &messages[1]["execution_tree"]);
    (client, events)
}

/// The root's last text.
fn answer(events: &[Event]) -> String {
    let last =
        events.iter().rposition(|event| event.kind == "model_call_update" && event.text("status") == "start");
    let chunks = events[last.unwrap_or_default()..].iter().filter(|event| event.kind == "chunk");
    chunks.map(|chunk| chunk.text("content")).collect()
}

/// Whether the second tool of this name started before the first one ended.
fn overlap(events: &[Event], first: &str, second: &str) -> bool {
    let at = |name: &str, status: &str| {
        events.iter().position(|event| event.is("tool_call_update", &[("name", name), ("status", status)]))
    };
    at(second, "start") < at(first, "end")
}

#[tokio::test]
async fn a_question_has_an_answer_that_says_whose_it_is() {
    let (_, events) = ask("What is an espalier?").await;
    let session = first(&events, "session");
    assert_eq!(session.text("provider"), "demo");
    assert!(!events.iter().any(|event| event.kind == "tool_call_update"));
    assert!(events.iter().filter(|event| event.kind == "chunk").count() > 1, "it streams");
    assert!(answer(&events).to_lowercase().contains("demo"), "{}", answer(&events));
}

#[tokio::test]
async fn a_calculation_is_a_tool_call() {
    let (_, events) = ask("What is 17 * 23?").await;
    let ends = tree::ends(&events, "calculate");
    assert_eq!(ends.len(), 1);
    assert_eq!(ends[0].text("result"), "391");
    assert!(answer(&events).contains("391"), "{}", answer(&events));
}

#[tokio::test]
async fn two_questions_are_two_calls_at_once() {
    let (_, events) = ask("What time is it, and what is 2^10?").await;
    assert_eq!(tree::ends(&events, "calculate")[0].text("result"), "1024");
    assert_eq!(tree::ends(&events, "current_time").len(), 1);
    assert!(overlap(&events, "current_time", "calculate") || overlap(&events, "calculate", "current_time"));
    assert!(answer(&events).contains("1024"), "{}", answer(&events));
}

#[tokio::test]
async fn work_that_can_be_divided_becomes_nested_subtasks() {
    let (_, events) = ask("Research apples, pears and figs, then compare them").await;
    let subtasks = tree::starts(&events, "run_subtask");
    assert!(subtasks.len() >= 3, "{}", story(&events).join("\n"));
    let deepest = events.iter().filter_map(|event| event.data["depth"].as_u64()).max();
    assert!(deepest >= Some(1), "{}", story(&events).join("\n"));
    let said = events.iter().map(|event| event.data.to_string()).collect::<String>();
    for fruit in ["apples", "pears", "figs"] {
        assert!(said.contains(fruit), "{fruit}");
    }
    let cost = first(&events, "cost_summary");
    assert_eq!(cost.data["subtasks"], subtasks.len());
}

// Issue 20: the demo of agents, which needs no key.
#[tokio::test]
async fn two_critics_discuss_and_answer_a_person() {
    let question = "Have two critics discuss apples";
    let (client, events) = ask_with(&json!({ "content": question, "agents": true })).await;
    let rounds = tree::ends(&events, "discuss");
    assert_eq!(rounds.len(), 2, "{}", story(&events).join("\n"));
    for round in rounds {
        let said: Vec<&str> = round.text("result").split("\n\n").collect();
        assert_eq!(said.len(), 2, "{said:?}");
        assert!(
            said[0].starts_with("<speaker name=\"gourmet\">\n")
                && said[1].starts_with("<speaker name=\"gardener\">\n"),
            "{said:?}"
        );
    }
    assert!(answer(&events).contains("demo model"), "{}", answer(&events));
    let thread = first(&events, "session").text("thread_id");
    let body = json!({ "thread_id": thread, "content": "And now?", "agent": "gourmet" });
    let alone = client.chat(&body).await.turn().await;
    assert!(answer(&alone).contains("There the gardener has a point"), "{}", answer(&alone));
    // Without agents the answer says how to have them.
    let (_, events) = ask(question).await;
    assert!(answer(&events).contains("agents are off in this chat"), "{}", answer(&events));
}

// The demo is deterministic: the same question has the same answer, but for the time of day.
#[tokio::test]
async fn the_same_question_has_the_same_answer() {
    let question = "Research apples, pears and figs, then compare them";
    let ((_, once), (_, twice)) = (ask(question).await, ask(question).await);
    assert_eq!(answer(&once), answer(&twice));
    let tools = |events: &[Event]| {
        let starts = events.iter().filter(|event| event.is("tool_call_update", &[("status", "start")]));
        let mut starts: Vec<String> =
            starts.map(|start| format!("{} {}", start.text("name"), start.data["args"])).collect();
        starts.sort();
        starts
    };
    assert_eq!(tools(&once), tools(&twice));
}

// Issue 19, items 3 and 14.
#[tokio::test]
async fn a_conversation_that_grows_too_long_is_summarised() {
    let (client, events) = ask("What is 17 * 23?").await;
    let thread = first(&events, "session").text("thread_id");
    let filler = "and so on ".repeat(9_500);
    for turn in 2..10 {
        let body = json!({ "thread_id": thread, "content": format!("What is {turn} + 1? {filler}") });
        let events = client.chat(&body).await.turn().await;
        assert_eq!(first(&events, "done").text("finish_reason"), "stop");
        if let Some(summary) = events.iter().find(|event| event.kind == "history_summary") {
            assert!(
                summary.text("text").contains("- What is 17 * 23?\n- What is 2 + 1?"),
                "{}",
                summary.data
            );
            assert_eq!(tree::ends(&events, "calculate")[0].text("result"), (turn + 1).to_string());
            return;
        }
    }
    panic!("nine messages of 95 000 characters fit into 128 000 tokens");
}

// The demo model reads the conversation like any other.
#[tokio::test]
async fn a_conversation_goes_on() {
    let (client, events) = ask("What is 17 * 23?").await;
    let thread = first(&events, "session").text("thread_id");
    let next = client.chat(&json!({ "thread_id": thread, "content": "What is 2 + 2?" })).await.turn().await;
    assert_eq!(tree::ends(&next, "calculate")[0].text("result"), "4");
    assert_eq!(client.messages(thread).await.len(), 4);
}
