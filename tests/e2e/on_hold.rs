//! Turns that cannot be rebuilt: they wait, clients can read the thread meanwhile, and they end with their remaining
//! text. The tests break their rows behind the runtime's back.
//!
//! N-036 N-121

use espalier_test_support::case::first;
use espalier_test_support::client::assert_problem;
use espalier_test_support::identity::users;
use espalier_test_support::stored::{change_object_at, d1, eventually, object_at};
use espalier_test_support::{
    Case, Client, Event, EventStream, Value, call, calls, env, json, new_id, parts, text, tree,
};
use uuid::Uuid;
use wire::protocol::Owner;

const MAIN: &str = "ESPALIER_STATE_DIR";
const BROKEN: &str = "ESPALIER_BROKEN_STATE_DIR";

async fn owner(client: &Client) -> Owner {
    let session = client.post("/api/session", &json!({})).await.expect(200).await.json().await;
    let user = session["user_id"].as_str().expect("a user").to_owned();
    Owner { issuer: "anonymous".to_owned(), tenant: "public".to_owned(), user }
}

fn object_name(owner: &Owner, thread: &str) -> String {
    owner.object_name(Uuid::try_parse(thread).expect("a thread's id"))
}

/// A turn that waits for its client: it has text, and one of its subtasks is finished.
struct Waiting {
    case: Case,
    state: &'static str,
    stream: EventStream,
    thread: String,
    turn: Value,
    call: String,
    object: String,
}

impl Waiting {
    async fn new() -> Self {
        let case = Case::new().await;
        let owner = owner(&case.client).await;
        Self::of(case, MAIN, &owner).await
    }

    /// A turn of this user, at the instance whose state is in the folder that this variable names.
    async fn of(case: Case, state: &'static str, owner: &Owner) -> Self {
        let schema = json!({ "type": "object", "properties": { "text": { "type": "string" } } });
        let tool = json!({ "name": "ui_paste", "description": "Pastes text.", "input_schema": schema });
        let mut body = case.says("Paste it");
        body["chat_context"] = json!({ "kind": "editor" });
        body["client_tools"] = json!([tool]);
        let paste = call("ui_paste", json!({ "text": "x" })).saying("Now I paste.");
        let look = calls([case.subtask("Look", "a")]).saying("First I look.");
        case.script("", [look, paste, text("Pasted.")]).await;
        case.script("a", [text("Nothing there.")]).await;
        let mut stream = case.client.chat(&body).await;
        stream.until(|event| event.text("state") == "waiting_on_user").await;
        let session = first(stream.seen(), "session").data.clone();
        let thread = session["thread_id"].as_str().expect("a thread").to_owned();
        let of_paste = |event: &&Event| event.text("name") == "ui_paste";
        let call = stream.seen().iter().find(of_paste).expect("a call").text("tool_call_id").to_owned();
        let object = object_name(owner, &thread);
        Waiting { case, state, stream, thread, turn: session["turn_id"].clone(), call, object }
    }

    async fn change(&self, sql: &str) {
        change_object_at(self.state, &self.object, sql).await;
    }

    async fn rows(&self, sql: &str) -> Vec<Value> {
        object_at(self.state, &self.object, sql).await
    }

    /// Breaks the journal: from here on the turn cannot be rebuilt.
    async fn break_journal(&self) {
        let sql = r#"UPDATE journal SET payload = replace(payload, '{"at":"0","elapsed_ms":', '{"at":"0","elapsed_ms":-')"#;
        self.change(sql).await;
    }

    async fn attempts(&self) -> Value {
        self.rows("SELECT failed_attempts FROM turns").await[0]["failed_attempts"].clone()
    }

    async fn answer(&self) -> espalier_test_support::http::Reply {
        let path = format!("/api/threads/{}/tool_results", self.thread);
        self.case.client.post(&path, &json!({ "tool_call_id": self.call, "result": "done" })).await
    }

    /// Checks that the turn has ended with its remaining text, and that the thread goes on.
    async fn assert_abandoned(self) {
        let events = self.stream.rest().await;
        let end: Vec<_> = events.iter().rev().take(3).map(|event| event.kind.as_str()).collect();
        assert_eq!(end, ["done", "cost_summary", "error"]);
        assert_eq!(first(&events, "done").text("finish_reason"), "interrupted");
        let ended = |event: &&Event| event.is("tool_call_update", &[("status", "end")]);
        let paste = events.iter().rfind(ended).expect("an end");
        assert_eq!((paste.text("tool_call_id"), &paste.data["is_error"]), (self.call.as_str(), &json!(true)));
        let messages = self.case.client.messages(&self.thread).await;
        let last = messages.last().expect("an answer");
        assert_eq!(
            (&last["finish_reason"], &last["stop"]["code"]),
            (&json!("interrupted"), &json!("interrupted"))
        );
        let said = "First I look.\n\nNow I paste.\n\n[Result of a finished subtask]\n\nNothing there.";
        assert_eq!(last["content"], said);
        // The service keeps the parts that readers saw, and the calls in them.
        parts::assert_matches(&events, &last["parts"], &last["content"]);
        tree::assert_matches(&events, &last["execution_tree"]);
        assert_eq!(self.case.client.thread(&self.thread).await["running_turn_id"], Value::Null);

        self.case.script("next", [text("Here I am.")]).await;
        let body = json!({ "thread_id": self.thread, "content": self.case.said("Next", "next") });
        let next = self.case.chat_with(&body).await;
        assert_eq!(first(&next, "done").text("finish_reason"), "stop");
        let told = self.case.requests("next").await.requests[0].contents();
        assert!(
            told.iter().any(|content| content.starts_with(said) && content.contains("was stopped")),
            "{told:?}"
        );
    }
}

#[tokio::test]
async fn a_parked_turn_that_cannot_be_rebuilt_can_be_read_and_cancelled() {
    let waiting = Waiting::new().await;
    waiting.break_journal().await;
    for _ in 0..5 {
        let reply = waiting.answer().await;
        assert!(reply.header("retry-after").parse::<u32>().expect("seconds") >= 1);
        assert_problem(reply, 503, "turn_on_hold", None).await;
    }
    assert!(waiting.attempts().await.as_u64().expect("attempts") < 5, "requests do not count");

    let client = &waiting.case.client;
    let detail = client.thread(&waiting.thread).await;
    assert_eq!(detail["running_turn_id"], waiting.turn);
    assert!(detail["running_ms"].is_u64(), "{detail}");
    let messages = client.messages(&waiting.thread).await;
    let id = messages[0]["id"].as_str().expect("an id");
    let sent = client.read(&format!("/api/threads/{}/messages/{id}/content", waiting.thread)).await;
    assert_eq!(sent["content"], waiting.case.said("Paste it", ""));

    assert_eq!(client.cancel(&waiting.thread).await, waiting.turn);
    waiting.assert_abandoned().await;
}

#[tokio::test]
async fn a_parked_turn_that_cannot_be_rebuilt_is_given_up_without_any_request() {
    let waiting = Waiting::new().await;
    waiting.break_journal().await;
    // The timer of its wait stands an hour ahead.
    assert_problem(waiting.answer().await, 503, "turn_on_hold", None).await;
    eventually("the alarm tries again", || async {
        (waiting.attempts().await.as_u64() >= Some(2)).then_some(())
    })
    .await;
    // Only the last attempt ends the turn.
    assert_eq!(waiting.case.client.thread(&waiting.thread).await["running_turn_id"], waiting.turn);
    waiting.change("UPDATE turns SET failed_attempts = 23, retry_at = 1").await;
    waiting.assert_abandoned().await;
}

// Without a waiting call no answer could resume the turn, and its alarm would go off for ever.
#[tokio::test]
async fn a_parked_turn_without_a_waiting_call_is_given_up() {
    let waiting = Waiting::new().await;
    // Each entry is a line.
    let others = "SELECT group_concat(value, char(10))
        FROM json_each('[' || replace(trim(payload, char(10)), char(10), ',') || ']')
        WHERE value ->> '$.fact.waiting' IS NULL";
    waiting.change(&format!("UPDATE journal SET payload = coalesce(({others}), '')")).await;
    waiting.change("UPDATE timers SET due_at = 1 WHERE reason = 'parked'").await;
    // Sets the alarm by the timers.
    waiting.case.client.patch(&waiting.thread, &json!({ "title": "Another" })).await.expect(200).await;
    waiting.assert_abandoned().await;
}

// The alarm comes before the end of the wait, as it does when another timer is due.
#[tokio::test]
async fn a_parked_turn_that_still_waits_is_not_given_up() {
    let waiting = Waiting::new().await;
    waiting.change("UPDATE timers SET due_at = 1 WHERE reason = 'parked'").await;
    // Sets the alarm by the timers.
    waiting.case.client.patch(&waiting.thread, &json!({ "title": "Another" })).await.expect(200).await;
    let later = "SELECT 1 FROM timers WHERE reason = 'parked' AND due_at > unixepoch() * 1000 + 60000";
    eventually("the alarm has come", || async {
        let ended = waiting.case.client.thread(&waiting.thread).await["running_turn_id"].is_null();
        assert!(!ended, "the turn is given up");
        (!waiting.rows(later).await.is_empty()).then_some(())
    })
    .await;
    waiting.answer().await.expect(200).await;
    assert_eq!(first(&waiting.stream.rest().await, "done").text("finish_reason"), "stop");
}

#[tokio::test]
async fn a_parked_turn_that_cannot_be_rebuilt_can_be_superseded_and_deleted() {
    let waiting = Waiting::new().await;
    waiting.break_journal().await;
    let Waiting { case, stream, thread, .. } = waiting;
    case.script("next", [text("Here I am.")]).await;
    case.script("queued", [text("And me.")]).await;
    let queued = json!({
        "thread_id": thread, "turn_id": new_id(), "content": case.said("Then", "queued"), "if_running": "queue"
    });
    case.client.post("/api/chat", &queued).await.expect(202).await;
    let body = json!({ "thread_id": thread, "request_seq": 1, "content": case.said("Next", "next") });
    let next = case.chat_with(&body).await;
    assert_eq!(first(&next, "done").text("finish_reason"), "stop");
    let old = stream.rest().await;
    assert_eq!(first(&old, "done").text("finish_reason"), "cancelled");
    assert_eq!(first(&old, "error").text("code"), "superseded");
    // The queue goes on, as after a turn that ran.
    let answered = || async {
        let messages = case.client.messages(&thread).await;
        messages.last().is_some_and(|last| last["content"] == "And me.").then_some(messages)
    };
    let messages = eventually("the queued message has its turn", answered).await;
    let stops: Vec<&Value> = messages.iter().map(|message| &message["stop"]["code"]).collect();
    assert_eq!(stops.iter().filter(|code| **code == "superseded").count(), 1, "{stops:?}");

    let waiting = Waiting::new().await;
    waiting.break_journal().await;
    let Waiting { case, stream, thread, .. } = waiting;
    case.client.delete(&thread).await;
    assert_eq!(first(&stream.rest().await, "done").text("finish_reason"), "interrupted");
    assert_problem(case.client.get(&format!("/api/threads/{thread}")).await, 404, "thread_not_found", None)
        .await;
}

/// The mark of a queued turn. The object takes up no run of a turn with this mark: the turn must ask for a place first.
const MARKS: &str = "SELECT due_at FROM timers WHERE reason = 'queued'";

/// A parked turn that was answered while two others hold all places, and the streams of these two.
async fn queued() -> (Waiting, [EventStream; 2]) {
    let tenant = new_id();
    let [client] = users([(tenant.as_str(), "ada")]).await;
    let owner = Owner { issuer: "rsa".to_owned(), tenant, user: "ada".to_owned() };
    let mut waiting = Waiting::of(Case::of(client), "ESPALIER_CLOSED_STATE_DIR", &owner).await;
    let held = waiting.case.barrier("held");
    waiting.case.script("held", [text("Hi.").waiting(&held, 0)]).await;
    let running = [run(&waiting.case).await, run(&waiting.case).await];
    waiting.answer().await.expect(200).await;
    waiting.stream.until(|event| event.text("details") == "queued").await;
    (waiting, running)
}

/// A turn that runs until the barrier is released. The place of the parked turn comes free a moment after it parked.
async fn run(case: &Case) -> EventStream {
    let body = json!({ "content": case.said("Hello", "held") });
    let reply = eventually("a place is free", || async {
        let reply = case.client.post("/api/chat", &body).await;
        (reply.status == 200).then_some(reply)
    });
    EventStream::open(reply.await).await
}

async fn release(case: &Case, running: [EventStream; 2]) {
    case.llm.release(&case.barrier("held")).await;
    for stream in running {
        stream.turn().await;
    }
}

#[tokio::test]
async fn a_queued_turn_that_cannot_be_rebuilt_leaves_no_mark_when_it_is_cancelled() {
    let (waiting, running) = queued().await;
    waiting.break_journal().await;
    assert_eq!(waiting.rows(MARKS).await.len(), 1);

    assert_eq!(waiting.case.client.cancel(&waiting.thread).await, waiting.turn);
    assert_eq!(waiting.rows(MARKS).await, Vec::<Value>::new());
    release(&waiting.case, running).await;
    assert_eq!(first(&waiting.stream.rest().await, "done").text("finish_reason"), "interrupted");
}

// The mark counts the refusals from the year 2100 on. A week has 20,163 of them: waits of 2, 4, 8 and 16 s, then of 30 s.
#[tokio::test]
async fn a_queued_turn_is_given_up_after_a_week_without_a_place() {
    let (waiting, running) = queued().await;
    waiting.change("UPDATE timers SET due_at = 4102444800000 + 20162 WHERE reason = 'queued'").await;
    let done = waiting.stream.rest().await;
    assert_eq!(first(&done, "done").text("finish_reason"), "interrupted");
    let messages = waiting.case.client.messages(&waiting.thread).await;
    let answer = messages.last().expect("an answer");
    assert!(answer["content"].as_str().is_some_and(|text| text.contains("Now I paste.")), "{answer}");
    let rows = object_at(waiting.state, &waiting.object, MARKS).await;
    assert_eq!(rows, Vec::<Value>::new());
    assert_eq!(waiting.case.client.thread(&waiting.thread).await["running_turn_id"], Value::Null);
    release(&waiting.case, running).await;
}

/// The tables, with one turn that has ended.
const TABLES: &str = include_str!("../../durable/platform/src/storage/older/1d.sql");

/// Makes a thread that no instance has in memory. `also`: rows beside those of [`TABLES`]. Returns its id, and the name
/// of its object.
async fn planted(client: &Client, state: &str, also: &str) -> (String, String) {
    let (owner, thread) = (owner(client).await, new_id());
    let object = object_name(&owner, &thread);
    let whose = serde_json::to_string(&owner).expect("an owner as JSON");
    let tables = TABLES.replace("OWNER", &whose).replace("USER", &owner.user_id()).replace("THREAD", &thread);
    change_object_at(state, &object, &(tables + also)).await;
    (thread, object)
}

/// A turn whose run was lost, without its journal.
fn running(turn: &str) -> String {
    format!(
        "INSERT INTO turns (turn_id, status, generation, resumptions, assistant_message_id, seq_first, started_at)
           VALUES ('{turn}', 'running', 1, 0, 'answer-{turn}', 10, 2000);
         INSERT INTO messages (id, turn_id, role, content, created_at)
           VALUES ('message-{turn}', '{turn}', 'user', 'Go', 2000);
         DELETE FROM journal;"
    )
}

// A version that knows no queue ends a queued turn and leaves its mark behind.
#[tokio::test]
async fn the_mark_of_an_earlier_turn_does_not_queue_the_next() {
    let case = Case::new().await;
    let mark = "INSERT INTO timers (reason, due_at) VALUES ('queued', 4102444800000);";
    let (thread, object) = planted(&case.client, MAIN, mark).await;
    let held = case.barrier("held");
    case.script("", [text("Here I am.").waiting(&held, 0)]).await;
    let body = json!({ "thread_id": thread, "content": case.said("Hello", "") });
    let mut stream = case.client.chat(&body).await;
    stream.until(|event| event.is("model_call_update", &[("status", "start")])).await;
    assert_eq!(object_at(MAIN, &object, MARKS).await, Vec::<Value>::new());
    case.llm.release(&held).await;
    assert_eq!(first(&stream.rest().await, "done").text("finish_reason"), "stop");
}

// The alarm stood at the next attempt, perhaps ten minutes away.
#[tokio::test]
async fn the_end_of_a_turn_that_is_given_up_is_in_d1_at_once() {
    let client = Client::anonymous().await;
    let turn = new_id();
    // So only the turn's end makes the object tell D1.
    let also = running(&turn) + "DELETE FROM outbox; DELETE FROM timers;";
    let (thread, object) = planted(&client, MAIN, &also).await;
    assert_eq!(client.thread(&thread).await["running_turn_id"], turn.as_str());
    // Its attempts have failed for a long time, and one is left.
    let last = "UPDATE turns SET failing_since = 1, failed_attempts = 23, retry_at = 1 WHERE failing_since IS NOT NULL";
    change_object_at(MAIN, &object, last).await;
    let messages = client.messages(&thread).await;
    assert_eq!(messages.last().expect("an answer")["finish_reason"], "interrupted");
    let answer = "SELECT finish_reason FROM messages WHERE turn_id = ?1 AND role = 'assistant'";
    eventually("D1 has the answer", || async {
        let rows = d1(answer, &[&turn]).await;
        (rows == [json!({ "finish_reason": "interrupted" })]).then_some(())
    })
    .await;
}

// The turn began at a deployment with right variables; this one has wrong ones.
#[tokio::test]
async fn a_wrong_configuration_is_waited_for() {
    let begun = Waiting::new().await;
    let entry =
        "SELECT substr(payload, 1, instr(payload, char(10)) - 1) AS payload FROM journal ORDER BY row";
    let started = object_at(MAIN, &begun.object, entry).await[0]["payload"].clone();
    let started = started.as_str().expect("entry 0").replace('\'', "''");
    begun.case.client.cancel(&begun.thread).await;

    let client = Client::anonymous_at(&env("ESPALIER_BROKEN_URL")).await;
    let turn = new_id();
    let entry = format!(
        "INSERT INTO journal (turn_id, key, piece, payload) VALUES ('{turn}', 'started:', 0, '{started}');"
    );
    let (thread, object) = planted(&client, BROKEN, &(running(&turn) + &entry)).await;

    for _ in 0..40 {
        assert_eq!(client.messages(&thread).await.len(), 3);
    }
    let row = async |columns: &str| {
        let sql = format!("SELECT {columns} FROM turns WHERE turn_id = '{turn}'");
        object_at(BROKEN, &object, &sql).await[0].clone()
    };
    assert_eq!(row("status, failed_attempts").await, json!({ "status": "running", "failed_attempts": 0 }));
    assert_eq!(client.thread(&thread).await["running_turn_id"], turn.as_str());
    let stream = format!("/api/threads/{thread}/stream");
    assert_problem(client.get(&format!("{stream}?after=3")).await, 503, "turn_on_hold", None).await;
    let again = json!({ "thread_id": thread, "turn_id": turn, "content": "Go" });
    assert_problem(client.post("/api/chat", &again).await, 503, "turn_on_hold", None).await;
    let other = json!({ "thread_id": thread, "content": "Go" });
    assert_problem(client.post("/api/chat", &other).await, 409, "turn_in_progress", None).await;

    // Seven days later.
    let sql = "UPDATE turns SET failing_since = 1, retry_at = 1 WHERE failing_since IS NOT NULL";
    change_object_at(BROKEN, &object, sql).await;
    let messages = client.messages(&thread).await;
    assert_eq!(messages.last().expect("an answer")["finish_reason"], "interrupted");
    assert_eq!(row("status").await["status"], "done");
}
