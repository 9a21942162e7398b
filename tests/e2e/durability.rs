//! The bounds of storage: trimmed events, a D1 that refuses, deleted threads.
//!
//! N-036 N-121 N-150 (rows of storage), and the promises of `docs/wire-protocol.md` about resuming.

use espalier_test_support::case::first;
use espalier_test_support::client::assert_problem;
use espalier_test_support::{Case, Event, EventStream, Value, deltas, json, new_id, stored, text};

fn thread_of(events: &[Event]) -> String {
    first(events, "session").text("thread_id").to_owned()
}

/// One more turn of a thread, whose answer is its own path.
async fn turn(case: &Case, thread: &str, path: &str) -> Vec<Event> {
    case.script(path, [text(path)]).await;
    case.chat_with(&json!({ "thread_id": thread, "content": case.said("Next", path) })).await
}

/// All events after a number.
async fn read(case: &Case, thread: &str, after: u64) -> Vec<Event> {
    case.client.stream(thread, after).await.expect("something newer").rest().await
}

// The main instance keeps the events of three turns. The messages stand for the events of older turns.
#[tokio::test]
async fn trimmed_turns_are_told_by_their_messages() {
    let case = Case::new().await;
    let (thread, repeated) = (new_id(), new_id());
    let mut turns = Vec::new();
    for path in ["1", "2", "3", "4", "5"] {
        let mut body = json!({ "thread_id": thread, "content": case.said("Next", path) });
        if path == "1" {
            body["turn_id"] = json!(repeated);
        }
        case.script(path, [text(path)]).await;
        turns.push(case.chat_with(&body).await);
    }
    let gone = |event: &Event| event.text("resumed") == "truncated";
    // The object trims a turn after D1 has its messages, and no event tells of that.
    stored::eventually("two turns are trimmed", || async {
        let all = read(&case, &thread, 0).await;
        (all.iter().filter(|event| gone(event)).count() == 2).then_some(())
    })
    .await;

    let messages = case.client.messages(&thread).await;
    let all = read(&case, &thread, 0).await;
    for (index, turn) in turns[..2].iter().enumerate() {
        let (session, done) = (first(turn, "session"), turn.last().expect("done"));
        let event = &all[index];
        assert!(gone(event), "{}", event.data);
        assert_eq!(event.seq, done.seq, "it stands for all of the turn");
        for member in ["turn_id", "thread_id", "user_message_id", "assistant_message_id"] {
            assert_eq!(event.data[member], session.data[member], "{member}");
        }
        assert_eq!(event.data["messages"], json!(messages[2 * index..2 * index + 2]));
    }
    assert_eq!(all[2..], turns[2..].concat(), "kept events are read as they were announced");

    // From each kind of place: within a turn without events, at its end, within a turn with events.
    let cursor = turns[1][2].seq;
    assert_eq!(read(&case, &thread, cursor).await, all[1..]);
    let cursor = turns[1].last().expect("done").seq;
    assert_eq!(read(&case, &thread, cursor).await, all[2..]);
    let cursor = turns[3][1].seq;
    assert_eq!(read(&case, &thread, cursor).await, [&turns[3][2..], &turns[4]].concat());

    // A repeated request finds its turn although its events are deleted.
    let again = json!({ "thread_id": thread, "turn_id": repeated, "content": case.said("Next", "1") });
    assert_eq!(case.client.chat(&again).await.rest().await, all[..1]);
}

/// The contents of a thread's messages in D1.
async fn in_d1(thread: &str) -> Vec<String> {
    let sql = "SELECT content FROM messages WHERE thread_id = ? ORDER BY created_at, id";
    let rows = stored::d1(sql, &[thread]).await;
    rows.iter().map(|row| row["content"].as_str().unwrap_or_default().to_owned()).collect()
}

// A row that D1 never takes holds up no other row, stops no chat, and is not lost. A short turn is one row: its question
// waits with its answer.
#[tokio::test]
async fn a_row_that_d1_refuses_holds_up_no_other() {
    let case = Case::new().await;
    let thread = new_id();
    let bad = case.marker("bad");
    stored::refuse(&bad).await;
    turn(&case, &thread, "bad").await;
    turn(&case, &thread, "good").await;
    let said = |path: &str| case.said("Next", path);
    stored::eventually("the rows beside it are in D1", || async {
        (in_d1(&thread).await == [said("good"), "good".to_owned()]).then_some(())
    })
    .await;
    assert_eq!(case.client.messages(&thread).await.len(), 4, "the object is the authority");
    turn(&case, &thread, "later").await;
    stored::eventually("new rows pass it at once", || async {
        in_d1(&thread).await.contains(&said("later")).then_some(())
    })
    .await;
    stored::take(&bad).await;
    turn(&case, &thread, "last").await;
    stored::eventually("it is told when D1 takes it again", || async {
        let all = in_d1(&thread).await;
        (all.contains(&said("bad")) && all.contains(&"bad".to_owned())).then_some(())
    })
    .await;
}

#[tokio::test]
async fn a_thread_that_is_deleted_while_d1_refuses_does_not_come_back() {
    let case = Case::new().await;
    let thread = new_id();
    let marker = case.marker("");
    stored::refuse(&marker).await;
    let events = turn(&case, &thread, "one").await;
    case.script("two", [deltas(["I shall ", "go on"]).hanging()]).await;
    let body = json!({ "thread_id": thread, "content": case.said("Next", "two") });
    let mut running = case.client.chat(&body).await;
    running.until(|event| event.text("content") == "go on").await;
    case.client.delete(&thread).await;
    stored::take(&marker).await;

    // The running turn was stopped, and its reader got its end; a client that comes back later finds no thread.
    let last = running.rest().await.pop().expect("an end");
    assert_eq!((last.kind.as_str(), last.text("finish_reason")), ("done", "cancelled"));
    for after in [0, events[1].seq, last.seq] {
        let reply = case.client.get(&format!("/api/threads/{thread}/stream?after={after}")).await;
        assert_problem(reply, 404, "thread_not_found", None).await;
    }
    // The object tells the usage after the deletion, so the row of the usage shows that D1 has both.
    stored::eventually("D1 has heard of it", || async {
        let sql = "SELECT id FROM llm_usage WHERE thread_id = ?";
        (stored::d1(sql, &[&thread]).await.len() == 2).then_some(())
    })
    .await;
    assert_eq!(in_d1(&thread).await, Vec::<String>::new());
    assert_eq!(stored::d1("SELECT id FROM threads WHERE id = ?", &[&thread]).await, Vec::<Value>::new());
    assert_eq!(case.client.threads().await, Vec::<Value>::new());
}

// The page reads a running turn from its first event on, instead of from the thread's beginning.
#[tokio::test]
async fn a_threads_details_say_where_its_running_turn_begins() {
    let case = Case::new().await;
    case.script("", [text("Hello.")]).await;
    let thread = thread_of(&case.chat("Hello").await);
    assert_eq!(case.client.thread(&thread).await["running_turn_first_seq"], Value::Null);
    case.script("held", [deltas(["one ", "two"]).waiting(&case.barrier("hold"), 1)]).await;
    let body = json!({ "thread_id": thread, "content": case.said("Next", "held") });
    let mut stream = case.client.chat(&body).await;
    stream.until(|event| event.text("content") == "one ").await;
    let seen = stream.seen().to_vec();
    let from = case.client.thread(&thread).await["running_turn_first_seq"].as_u64();
    assert_eq!(from, Some(seen[0].seq));
    let from = from.unwrap_or_default() - 1;
    let reply = case.client.get(&format!("/api/threads/{thread}/stream?after={from}")).await;
    let mut back = EventStream::open(reply).await;
    back.until(|event| event.text("content") == "one ").await;
    assert_eq!(back.seen(), seen);
    case.llm.release(&case.barrier("hold")).await;
    assert_eq!(case.turn(back).await, case.turn(stream).await);
}
