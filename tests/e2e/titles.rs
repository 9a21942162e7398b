//! Titles by the model, at the instance with `TITLES=on`: a call beside the turns after a thread's first answer, with a usage
//! row and a reservation of its own.
//!
//! Issue 23, 9

use espalier_test_support::case::first;
use espalier_test_support::fake_llm::Record;
use espalier_test_support::stored::{change_object_at, d1, d1_at, eventually};
use espalier_test_support::{Case, Value, env, json, new_id, text};
use uuid::Uuid;
use wire::protocol::Owner;

use crate::clients::keyed_at;

/// The variable with the state of the instance, and that with its address.
const STATE: &str = "ESPALIER_VISITORS_STATE_DIR";
const URL: &str = "ESPALIER_VISITORS_URL";

/// A user with a key, whom the limits of visitors do not concern.
async fn user() -> Case {
    keyed_at(&env(URL)).await.0
}

/// The thread of a turn that answers "In winter.", and the title before a model makes one.
async fn answered(case: &Case) -> (String, String) {
    case.script("", [text("In winter.")]).await;
    let events = case.chat("How do I prune a pear?").await;
    let before: String = case.said("How do I prune a pear?", "").chars().take(80).collect();
    (first(&events, "session").text("thread_id").to_owned(), before)
}

async fn title(case: &Case, thread: &str) -> String {
    case.client.thread(thread).await["title"].as_str().expect("a title").to_owned()
}

/// The requests for titles.
async fn asked(case: &Case) -> Vec<Record> {
    case.requests("title").await.requests
}

/// The rows of a thread's model calls, once there are so many.
async fn usage(thread: &str, rows: usize) -> Vec<Value> {
    let columns =
        "operation_type, context_type, profile, execution_mode, model, input_tokens, output_tokens, outcome";
    let sql = format!("SELECT {columns} FROM llm_usage WHERE thread_id = '{thread}' ORDER BY operation_type");
    eventually("D1 has the calls", || async {
        let found = d1_at(STATE, &sql).await;
        assert!(found.len() <= rows, "{found:#?}");
        (found.len() == rows).then_some(found)
    })
    .await
}

fn row(operation: &str, outcome: &str, (input, output): (u64, u64)) -> Value {
    json!({
        "operation_type": operation, "context_type": "thread", "profile": "primary", "execution_mode": "agent",
        "model": "fake-1", "input_tokens": input, "output_tokens": output, "outcome": outcome,
    })
}

#[tokio::test]
async fn a_thread_is_named_after_its_first_answer_and_never_again() {
    let case = user().await;
    case.script("title", [text("<title>“Pruning **pears**.”</title>").using(70, 0, 6)]).await;
    let (thread, before) = answered(&case).await;
    eventually("the title", || async { (title(&case, &thread).await == "Pruning pears").then_some(()) })
        .await;
    assert_eq!(usage(&thread, 2).await, [row("chat", "ok", (10, 5)), row("thread_title", "ok", (70, 6))],);
    eventually("the list has it", || async {
        let threads = case.client.threads().await;
        threads
            .iter()
            .any(|listed| listed["id"] == *thread && listed["title"] == "Pruning pears")
            .then_some(())
    })
    .await;

    let requests = asked(&case).await;
    let [request] = requests.as_slice() else { panic!("{requests:#?}") };
    let messages = request.body["messages"].as_array().expect("messages");
    let [system, question] = messages.as_slice() else { panic!("{messages:#?}") };
    assert!(system["content"].as_str().is_some_and(|text| text.starts_with("You name a conversation")));
    let expected = format!(
        "<message from=\"user\">\n{}\n</message>\n<message from=\"assistant\">\nIn winter.\n</message>",
        case.said("How do I prune a pear?", "")
    );
    assert_eq!(question["content"], expected);
    assert!(request.body.get("tools").is_none() && before.starts_with("How do I"));

    // Neither a later turn nor another version of the first one asks again.
    let question = case.client.messages(&thread).await[0]["id"].clone();
    for replaces in [Value::Null, question] {
        case.script("later", [text("Yes.")]).await;
        let content = case.said("Sure?", "later");
        let body = json!({ "thread_id": thread, "content": content, "replaces_message_id": replaces });
        case.chat_with(&body).await;
    }
    assert_eq!(usage(&thread, 4).await.len(), 4);
    assert_eq!((asked(&case).await.len(), title(&case, &thread).await.as_str()), (1, "Pruning pears"));
    assert!(case.requests("later/title").await.requests.is_empty());
}

// A refusal in words, as any model may give one.
#[tokio::test]
async fn a_reply_that_is_no_title_changes_nothing() {
    let case = user().await;
    case.script("title", [text("I am sorry, I cannot name this.")]).await;
    let (thread, before) = answered(&case).await;
    assert_eq!(usage(&thread, 2).await, [row("chat", "ok", (10, 5)), row("thread_title", "ok", (10, 5))]);
    assert_eq!((title(&case, &thread).await, asked(&case).await.len()), (before, 1));
}

#[tokio::test]
async fn a_person_who_names_the_thread_wins() {
    // During the call.
    let case = user().await;
    let held = case.barrier("held");
    case.script("title", [text("<title>Theirs</title>").waiting(&held, 0)]).await;
    let (thread, _) = answered(&case).await;
    case.llm.wait(&case.marker("title"), 1).await;
    case.client.patch(&thread, &json!({ "title": "Mine" })).await.expect(200).await;
    case.llm.release(&held).await;
    assert_eq!(usage(&thread, 2).await[1], row("thread_title", "ok", (10, 5)), "the call was made");
    assert_eq!(title(&case, &thread).await, "Mine");

    // Before it: then there is none.
    let case = user().await;
    let held = case.barrier("held");
    case.script("", [text("In winter.").waiting(&held, 0)]).await;
    let thread = new_id();
    let content = case.said("How do I prune a pear?", "");
    let stream = case.client.chat(&json!({ "thread_id": thread, "content": content })).await;
    case.client.patch(&thread, &json!({ "title": "Mine" })).await.expect(200).await;
    case.llm.release(&held).await;
    stream.turn().await;
    case.script("later", [text("Yes.")]).await;
    case.chat_with(&json!({ "thread_id": thread, "content": case.said("Sure?", "later") })).await;
    usage(&thread, 2).await;
    assert_eq!((title(&case, &thread).await.as_str(), asked(&case).await.len()), ("Mine", 0));
}

// The call counts although nobody hears its reply.
#[tokio::test]
async fn a_deletion_during_the_call_wins_and_the_call_is_told() {
    let case = user().await;
    let held = case.barrier("held");
    case.script("title", [text("<title>Theirs</title>").waiting(&held, 0)]).await;
    let (thread, _) = answered(&case).await;
    case.llm.wait(&case.marker("title"), 1).await;
    case.client.delete(&thread).await;
    assert_eq!(usage(&thread, 2).await[1], row("thread_title", "aborted", (0, 0)));
    case.llm.release(&held).await;
    // The user's next thread is named, and the deleted one stays away.
    case.script("title", [text("<title>Next</title>")]).await;
    let (next, _) = answered(&case).await;
    eventually("the title", || async { (title(&case, &next).await == "Next").then_some(()) }).await;
    usage(&thread, 2).await;
    let threads: Vec<Value> = case.client.threads().await;
    assert_eq!(threads.iter().map(|thread| thread["id"].as_str()).collect::<Vec<_>>(), [Some(next.as_str())]);
}

// The rows that a kill during the call leaves behind: the alarm tells the lost call and makes the next one.
#[tokio::test]
async fn a_lost_call_is_told_and_made_once_more() {
    let case = user().await;
    let (thread, before) = answered(&case).await;
    usage(&thread, 2).await;
    let of_thread = format!("SELECT tenant, user_id FROM threads WHERE id = '{thread}'");
    let of = d1_at(STATE, &of_thread).await.remove(0);
    let (issuer, user) = of["user_id"].as_str().and_then(|id| id.split_once(':')).expect("a user");
    let tenant = of["tenant"].as_str().expect("a tenant").to_owned();
    let owner = Owner { issuer: issuer.to_owned(), tenant, user: user.to_owned() };
    let object = owner.object_name(Uuid::try_parse(&thread).expect("an id"));
    let turn = case.client.messages(&thread).await[0]["turn_id"].clone();
    let call = json!({ "id": new_id(), "provider": "openai", "model": "fake-1", "profile": "primary" });
    let wish =
        json!({ "turn_id": turn, "context_type": "thread", "before": before, "tries": 1, "call": call });
    let rows = format!(
        "INSERT INTO title_wish (one, wish) VALUES (1, '{wish}'); INSERT INTO timers VALUES ('title', 1)"
    );
    change_object_at(STATE, &object, &rows).await;
    case.script("title", [text("<title>Pruning pears</title>")]).await;
    // The end of a turn sets the alarm by the state of the thread.
    case.script("later", [text("Yes.")]).await;
    case.chat_with(&json!({ "thread_id": thread, "content": case.said("Sure?", "later") })).await;
    eventually("the title", || async { (title(&case, &thread).await == "Pruning pears").then_some(()) })
        .await;
    let chat = row("chat", "ok", (10, 5));
    let named = row("thread_title", "ok", (10, 5));
    let mut told = usage(&thread, 5).await;
    told.sort_by_key(|row| (row["operation_type"].to_string(), row["outcome"].to_string()));
    assert_eq!(told, [chat.clone(), chat, row("thread_title", "aborted", (0, 0)), named.clone(), named]);
    assert_eq!(asked(&case).await.len(), 2);
}

// A turn without an answer names nothing; the first finished one does.
#[tokio::test]
async fn the_first_finished_turn_names_the_thread() {
    let case = user().await;
    case.script("", [text("").finishing("content_filter")]).await;
    let events = case.chat("How do I prune a pear?").await;
    let thread = first(&events, "session").text("thread_id").to_owned();
    case.script("next", [text("In winter.")]).await;
    case.script("next/title", [text("<title>Pruning pears</title>")]).await;
    case.chat_with(&json!({ "thread_id": thread, "content": case.said("Say it", "next") })).await;
    eventually("the title", || async { (title(&case, &thread).await == "Pruning pears").then_some(()) })
        .await;
    assert!(asked(&case).await.is_empty());
}

// A thread of a client of OpenAI's API stands in no list, so nobody would see its title.
#[tokio::test]
async fn an_unlisted_thread_has_no_title() {
    let case = user().await;
    case.script("", [text("One."), text("Two.")]).await;
    let said = json!({ "role": "user", "content": case.said("Go on", "") });
    let body = json!({ "model": "espalier", "messages": [said] });
    let answer = case.client.post("/v1/chat/completions", &body).await.expect(200).await.json().await;
    let thread = answer["metadata"]["thread_id"].as_str().expect("a thread").to_owned();
    assert_eq!(usage(&thread, 1).await, [row("chat", "ok", (10, 5))]);
    assert!(asked(&case).await.is_empty());
}

// A day of a user has 1,000,000 tokens here. A turn reserves 12,192 of the last 13,000, so a title does not fit beside it.
#[tokio::test]
async fn quotas_refuse_the_call_and_the_title_stays() {
    let case = user().await;
    case.script("", [text("A long answer.").using(986_000, 0, 900)]).await;
    case.script("title", [text("<title>Long</title>").using(90, 0, 10)]).await;
    let events = case.chat("A long story").await;
    let long = first(&events, "session").text("thread_id").to_owned();
    usage(&long, 2).await;

    case.script("last", [text("In winter.").using(12_000, 0, 500)]).await;
    let events = case.chat_with(&json!({ "content": case.said("The last words", "last") })).await;
    let thread = first(&events, "session").text("thread_id").to_owned();
    assert_eq!(usage(&thread, 1).await, [row("chat", "ok", (12_000, 500))]);
    assert!(title(&case, &thread).await.starts_with("The last words"));
    assert!(case.requests("last/title").await.requests.is_empty());
}

// `TITLES` is not set at the main instance.
#[tokio::test]
async fn a_deployment_without_titles_makes_no_call() {
    let case = Case::new().await;
    let (thread, before) = answered(&case).await;
    let rows = eventually("D1 has the call", || async {
        let rows = d1("SELECT operation_type FROM llm_usage WHERE thread_id = ?", &[&thread]).await;
        (!rows.is_empty()).then_some(rows)
    });
    assert_eq!(rows.await, [json!({ "operation_type": "chat" })]);
    assert_eq!((title(&case, &thread).await, asked(&case).await.len()), (before, 0));
}
