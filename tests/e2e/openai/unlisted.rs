//! The end of threads that no request names: they are erased 24 hours after their last message or answer to a call.
//!
//! Issue 22, 2

use espalier_test_support::stored::{change_object_at, d1, eventually, object_at, r2_keys};
use espalier_test_support::{Case, Value, call, json, text};
use uuid::Uuid;
use wire::protocol::Owner;

const STATE: &str = "ESPALIER_STATE_DIR";
const HOURS: u64 = 3_600_000;

/// A thread that stands in no list, its object, and the id of its last turn.
struct Unlisted {
    case: Case,
    thread: String,
    object: String,
    turn: String,
}

impl Unlisted {
    async fn new() -> Self {
        let case = Case::new().await;
        case.script("", [text("One."), text("Two.")]).await;
        Self::begun(case).await
    }

    /// The first message leads to its thread.
    async fn begun(case: Case) -> Self {
        let mut new = Unlisted { case, thread: String::new(), object: String::new(), turn: String::new() };
        let answer = new.answer(json!({})).await;
        let session = new.case.client.post("/api/session", &json!({})).await.expect(200).await.json().await;
        let user = session["user_id"].as_str().expect("a user").to_owned();
        let owner = Owner { issuer: "anonymous".to_owned(), tenant: "public".to_owned(), user };
        new.thread = answer["thread_id"].as_str().expect("a thread").to_owned();
        new.object = owner.object_name(Uuid::try_parse(&new.thread).expect("an id"));
        new
    }

    /// Says something, and gives the metadata of the answer.
    async fn answer(&mut self, metadata: Value) -> Value {
        let said = json!({ "role": "user", "content": self.case.said("Go on", "") });
        let body = json!({ "model": "espalier", "metadata": metadata, "messages": [said] });
        let answer =
            self.case.client.post("/v1/chat/completions", &body).await.expect(200).await.json().await;
        let metadata = answer["metadata"].clone();
        self.turn = metadata["turn_id"].as_str().unwrap_or_else(|| panic!("no turn: {answer}")).to_owned();
        metadata
    }

    /// When the thread is erased, in milliseconds since 1970.
    async fn end(&self) -> u64 {
        let rows = object_at(STATE, &self.object, "SELECT due_at FROM timers WHERE reason = 'erase'").await;
        rows[0]["due_at"].as_u64().unwrap_or_else(|| panic!("no time: {rows:?}"))
    }

    async fn records(&self) -> usize {
        r2_keys().await.iter().filter(|key| key.contains(&self.turn)).count()
    }
}

fn now() -> u64 {
    let since = std::time::UNIX_EPOCH.elapsed().expect("a clock");
    u64::try_from(since.as_millis()).expect("a time")
}

#[tokio::test]
async fn an_unlisted_thread_is_erased_a_day_after_its_last_message() {
    let before = now();
    let mut unlisted = Unlisted::new().await;
    let first = unlisted.end().await;
    assert!((before + 24 * HOURS..=now() + 24 * HOURS).contains(&first), "{first}");
    // The next message of such a client puts the end off.
    let metadata = json!({ "thread_id": unlisted.thread });
    assert_eq!(unlisted.answer(metadata).await["thread_id"], json!(unlisted.thread));
    assert!(unlisted.end().await > first);
    assert_eq!(unlisted.case.client.messages(&unlisted.thread).await.len(), 4);
    eventually("the record", || async { (unlisted.records().await == 1).then_some(()) }).await;

    // A day goes by. The alarm is the one that a new title sets, because the runtime has its time elsewhere.
    change_object_at(STATE, &unlisted.object, "UPDATE timers SET due_at = 1 WHERE reason = 'erase'").await;
    unlisted.case.client.patch(&unlisted.thread, &json!({ "title": "Anew" })).await.expect(200).await;
    let path = format!("/api/threads/{}/messages", unlisted.thread);
    eventually("the thread is gone", || async {
        (unlisted.case.client.get(&path).await.status == 404).then_some(())
    })
    .await;
    eventually("its records go", || async { (unlisted.records().await == 0).then_some(()) }).await;
    for (table, column, left) in
        [("threads", "id", 0), ("messages", "thread_id", 0), ("llm_usage", "thread_id", 2)]
    {
        let count = format!("SELECT count(*) AS n FROM {table} WHERE {column} = ?1");
        assert_eq!(d1(&count, &[&unlisted.thread]).await, [json!({ "n": left })], "{table}");
    }
}

#[tokio::test]
async fn messages_over_other_routes_and_answers_put_the_end_off() {
    let case = Case::new().await;
    case.script("", [text("One.")]).await;
    case.script("paste", [call("ui_paste", json!({})), text("Pasted.")]).await;
    let unlisted = Unlisted::begun(case).await;
    let Unlisted { case, thread, .. } = &unlisted;
    let first = unlisted.end().await;
    let mut body = json!({ "content": case.said("Paste it", "paste"), "thread_id": thread });
    body["chat_context"] = json!({ "kind": "editor" });
    let schema = json!({ "type": "object" });
    body["client_tools"] =
        json!([{ "name": "ui_paste", "description": "Pastes text.", "input_schema": schema }]);
    let mut stream = case.client.chat(&body).await;
    stream.until(|event| event.text("state") == "waiting_on_user").await;
    let second = unlisted.end().await;
    assert!(second > first);
    let called = stream.seen().iter().find(|event| event.kind == "tool_call_update").expect("a call");
    let result = json!({ "tool_call_id": called.text("tool_call_id"), "result": "pasted" });
    let path = format!("/api/threads/{thread}/tool_results");
    case.client.post(&path, &result).await.expect(200).await;
    assert!(unlisted.end().await > second);
    case.turn(stream).await;
}
