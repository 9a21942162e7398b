//! Threads as resources: list, search, details, title, messages, deletion, and the walls between users.
//!
//! N-036 N-122 N-150 (rows of storage), and the isolation that `docs/wire-protocol.md` promises.

use espalier_test_support::case::first;
use espalier_test_support::client::assert_problem;
use espalier_test_support::{Case, Client, Event, Outcome, Value, call, deltas, json, new_id, stored, text};

fn thread_of(events: &[Event]) -> String {
    first(events, "session").text("thread_id").to_owned()
}

/// The thread's entry in the user's list, once the index has it.
async fn listed(client: &Client, thread: &str) -> Value {
    stored::eventually("the thread is listed", || async {
        client.threads().await.into_iter().find(|entry| entry["id"] == *thread)
    })
    .await
}

#[tokio::test]
async fn a_thread_has_details_messages_and_an_entry_in_the_list() {
    let case = Case::new().await;
    case.script("", [text("4")]).await;
    let events = case.chat("What is 2+2?").await;
    let thread = thread_of(&events);

    let details = case.client.thread(&thread).await;
    assert_eq!(details["id"], thread);
    assert_eq!(details["last_seq"], events.last().expect("a turn has events").seq);
    assert_eq!(details["running_turn_id"], Value::Null);
    assert!(details["title"].as_str().is_some_and(|title| title.contains("2+2")), "{details}");
    assert!(details["created_at"].as_u64() <= details["updated_at"].as_u64(), "{details}");

    let messages = case.client.messages(&thread).await;
    let session = first(&events, "session");
    assert_eq!(messages.len(), 2);
    assert_eq!(messages[0]["id"], session.data["user_message_id"]);
    assert_eq!(messages[0]["role"], "user");
    assert_eq!(messages[0]["content"], case.said("What is 2+2?", ""));
    assert_eq!(messages[1]["id"], session.data["assistant_message_id"]);
    assert_eq!(messages[1]["content"], "4");
    assert!(messages.iter().all(|message| message["turn_id"] == session.data["turn_id"]));

    let entry = listed(&case.client, &thread).await;
    for member in ["id", "title", "created_at"] {
        assert_eq!(entry[member], details[member], "{entry}");
    }
}

#[tokio::test]
async fn lists_come_in_pages_that_neither_skip_nor_repeat() {
    let case = Case::new().await;
    case.script("", [text("1")]).await;
    let mut threads = Vec::new();
    for _ in 0..3 {
        let thread = thread_of(&case.chat("Hello").await);
        // The threads are updated one after the other, so that the test knows their order.
        listed(&case.client, &thread).await;
        threads.push(thread);
    }
    threads.reverse();
    assert_eq!(pages(&case.client, "/api/threads", "threads", "id").await, threads, "newest first");

    let thread = &threads[0];
    for turn in ["2", "3"] {
        case.script(turn, [text(turn)]).await;
        case.chat_with(&json!({ "thread_id": thread, "content": case.said("More", turn) })).await;
    }
    let path = format!("/api/threads/{thread}/messages");
    let said = pages(&case.client, &path, "messages", "content").await;
    let answers: Vec<&String> = said.iter().skip(1).step_by(2).collect();
    assert_eq!(answers, ["1", "2", "3"], "oldest first");
}

// The size of the messages bounds a page, not their number alone.
#[tokio::test]
async fn long_messages_come_in_more_pages() {
    let case = Case::new().await;
    case.endless_script("", [text("ok")]).await;
    let said = case.said("Read this", "");
    let long = format!("{said}{}", "x".repeat(100_000 - said.chars().count()));
    let thread = new_id();
    for _ in 0..11 {
        case.client.chat(&json!({ "thread_id": thread, "content": long })).await.turn().await;
    }
    let path = format!("/api/threads/{thread}/messages?limit=200");
    let first = case.client.read(&path).await;
    let shown = first["messages"].as_array().map(Vec::len);
    // The tenth long message fills the page: its answer and all later messages come with the next one.
    assert_eq!(shown, Some(19), "{}", first["next_cursor"]);
    let cursor = first["next_cursor"].as_str().unwrap_or_default();
    let second = case.client.read(&format!("{path}&cursor={cursor}")).await;
    assert_eq!(second["messages"].as_array().map(Vec::len), Some(3));
    assert_eq!(second["next_cursor"], json!(null));
}

/// One member of all items, read two at a time.
async fn pages(client: &Client, path: &str, list: &str, member: &str) -> Vec<String> {
    let mut all = Vec::new();
    let mut query = "limit=2".to_owned();
    loop {
        let page = client.read(&format!("{path}?{query}")).await;
        let items = page[list].as_array().unwrap_or_else(|| panic!("no {list}: {page}"));
        assert!(items.len() <= 2 && !(items.is_empty() && page["next_cursor"].is_string()), "{page}");
        all.extend(items.iter().map(|item| item[member].as_str().unwrap_or_default().to_owned()));
        match page["next_cursor"].as_str() {
            Some(cursor) => query = format!("limit=2&cursor={cursor}"),
            None => return all,
        }
    }
}

#[tokio::test]
async fn a_thread_is_renamed_for_good_even_while_its_turn_runs() {
    let case = Case::new().await;
    let hold = case.barrier("hold");
    case.script("", [deltas(["It ", "is 4"]).waiting(&hold, 1)]).await;
    let mut stream = case.client.chat(&case.says("What is 2+2?")).await;
    stream.until(|event| event.text("content") == "It ").await;
    let thread = thread_of(stream.seen());
    let reply = case.client.patch(&thread, &json!({ "title": "  Sums\nand more ", "other": 1 })).await;
    let details = reply.expect(200).await.json().await;
    assert_eq!(details["title"], "Sums and more");
    assert!(details["running_ms"].is_u64(), "{details}");
    case.llm.release(&hold).await;
    case.turn(stream).await;

    let details = case.client.thread(&thread).await;
    assert_eq!((&details["title"], &details["running_ms"]), (&json!("Sums and more"), &Value::Null));
    let entry = stored::eventually("the index has the title after the turn", || async {
        let entry = listed(&case.client, &thread).await;
        (entry["updated_at"] == details["updated_at"]).then_some(entry)
    })
    .await;
    assert_eq!(entry["title"], "Sums and more");

    for (body, field) in
        [(json!({}), "title"), (json!({ "title": " " }), "title"), (json!({ "title": 1 }), "title")]
    {
        let reply = case.client.patch(&thread, &body).await;
        assert_problem(reply, 400, "invalid_request", Some(field)).await;
    }
    let other = Client::anonymous().await;
    let reply = other.patch(&thread, &json!({ "title": "Mine" })).await;
    assert_problem(reply, 404, "thread_not_found", None).await;
}

#[tokio::test]
async fn threads_are_found_by_their_titles_and_messages() {
    let case = Case::new().await;
    let mut threads = Vec::new();
    for (path, question, answer) in [
        ("a", "Which pears keep well?", "Conference does, 100% of the time."),
        ("b", "And apples?", "Try a Boskoop_apple; it keeps like a PEAR."),
        ("c", "What is 2+2?", "4"),
    ] {
        case.script(path, [text(answer)]).await;
        let thread = thread_of(&case.chat_with(&json!({ "content": case.said(question, path) })).await);
        listed(&case.client, &thread).await;
        threads.push(thread);
    }
    let [pears, apples, _] = &threads[..] else { panic!("three threads") };
    let found = |words: &'static str| {
        let client = case.client.clone();
        async move {
            let list = client.read(&format!("/api/threads?q={words}")).await;
            let found = list["threads"].as_array().expect("threads").clone();
            found
                .into_iter()
                .map(|thread| (thread["id"].clone(), thread["snippet"].clone()))
                .collect::<Vec<_>>()
        }
    };
    let answer = "Try a Boskoop_apple; it keeps like a PEAR.";
    stored::eventually("the index has the answers", || async {
        (found("boskoop").await.len() == 1).then_some(())
    })
    .await;
    let pear = found("pear").await;
    assert_eq!(pear.len(), 2, "newest first, in titles and in messages, in either case: {pear:?}");
    assert_eq!(pear[0], (json!(apples), json!(answer)));
    assert_eq!(pear[1].0, json!(pears));
    // Characters of patterns stand for themselves.
    assert_eq!(found("100%25").await.len(), 1);
    assert_eq!(found("p_l").await.len(), 0);
    assert_eq!(found("Boskoop_").await.len(), 1);
    assert_eq!(found("'%20OR%201=1%20--").await, []);
    assert_eq!(found("%20%20").await.len(), 3, "blank is no search");

    let first = case.client.read("/api/threads?q=pear&limit=1").await;
    let cursor = first["next_cursor"].as_str().expect("there is more").to_owned();
    let second = case.client.read(&format!("/api/threads?q=pear&limit=1&cursor={cursor}")).await;
    assert_eq!((&second["threads"][0]["id"], &second["next_cursor"]), (&json!(pears), &Value::Null));

    let other = Client::anonymous().await;
    assert_eq!(other.read("/api/threads?q=pear").await["threads"], json!([]));
    let reply = case.client.get(&format!("/api/threads?q={}", "x".repeat(201))).await;
    assert_problem(reply, 400, "invalid_request", Some("q")).await;
}

#[tokio::test]
async fn a_deleted_thread_is_gone_for_good() {
    let case = Case::new().await;
    case.script("", [text("4")]).await;
    let thread = thread_of(&case.chat("What is 2+2?").await);
    listed(&case.client, &thread).await;
    case.client.delete(&thread).await;

    assert_gone(&case.client, &thread).await;
    let again = json!({ "thread_id": thread, "content": case.said("Again", "") });
    assert_problem(case.client.post("/api/chat", &again).await, 404, "thread_not_found", None).await;
    stored::eventually("the thread has left the list", || async {
        let threads = case.client.threads().await;
        (!threads.iter().any(|entry| entry["id"] == *thread)).then_some(())
    })
    .await;
    let rows = || async { stored::d1("SELECT id FROM messages WHERE thread_id = ?", &[&thread]).await };
    stored::eventually("its messages have left D1", || async { rows().await.is_empty().then_some(()) }).await;
}

/// The telemetry's copies of a thread's text.
async fn repeated(thread: &str) -> Vec<Value> {
    let sql = "SELECT detail AS words FROM tool_usage WHERE thread_id = ?1 AND detail IS NOT NULL \
        UNION ALL SELECT message FROM error_log WHERE thread_id = ?1 AND message <> ''";
    stored::d1(sql, &[thread]).await
}

/// A turn that leaves a plan's objective in `tool_usage`, and a failed call in `error_log`.
async fn telling(case: &Case, thread: &str) -> Vec<Event> {
    let drafts = json!({ "objective": case.said("My secret", "plan"), "execution_mode": "draft_only" });
    let nothing = call("read_file", json!({ "path": "secret.txt" }));
    case.script("draft", [nothing, call("agent_create_plan", drafts), text("Shall I?")]).await;
    let step = json!({ "id": "a", "title": "a", "instructions": "a" });
    case.script("plan", [call("finish_subtask", json!({ "reasoning": "r", "steps": [step] }))]).await;
    let context = json!({ "context_type": "project" });
    let body =
        json!({ "thread_id": thread, "content": case.said("Plan it", "draft"), "chat_context": context });
    let events = case.chat_with(&body).await;
    stored::eventually("D1 has both rows", || async { (repeated(thread).await.len() >= 2).then_some(()) })
        .await;
    events
}

// The rows of costs do not repeat deleted text.
#[tokio::test]
async fn a_deletion_blanks_the_copies_in_telemetry() {
    let case = Case::new().await;
    let (deleted, edited) = (new_id(), new_id());
    telling(&case, &deleted).await;
    let events = telling(&case, &edited).await;
    let calls = "SELECT count(*) AS calls FROM tool_usage WHERE thread_id = ?1";
    let before = stored::d1(calls, &[&deleted]).await;

    case.client.delete(&deleted).await;
    stored::eventually("nothing is repeated", || async { repeated(&deleted).await.is_empty().then_some(()) })
        .await;
    assert_eq!(stored::d1(calls, &[&deleted]).await, before, "its cost is still known");
    let other = repeated(&edited).await;
    assert!(other.len() >= 2, "the other thread is there");

    let answer = first(&events, "session").text("assistant_message_id").to_owned();
    case.script("", [text("Hello.")]).await;
    let body = json!({ "thread_id": edited, "replaces_message_id": answer, "content": case.said("Hi", "") });
    case.chat_with(&body).await;
    stored::eventually("D1 has marked the earlier version", || async {
        let beside = "SELECT id FROM messages WHERE thread_id = ?1 AND beside = 1";
        (stored::d1(beside, &[&edited]).await.len() == 2).then_some(())
    })
    .await;
    assert_eq!(
        repeated(&edited).await,
        other,
        "an earlier version keeps its calls until its thread is deleted"
    );
    case.client.delete(&edited).await;
    stored::eventually("nothing is repeated of any version", || async {
        repeated(&edited).await.is_empty().then_some(())
    })
    .await;
}

#[tokio::test]
async fn deleting_a_thread_stops_its_turn() {
    let case = Case::new().await;
    case.script("", [deltas(["I shall ", "go on"]).hanging()]).await;
    let mut stream = case.client.chat(&case.says("Go on")).await;
    let chunk = stream.until(|event| event.text("content") == "go on").await;
    let thread = thread_of(stream.seen());
    assert_eq!(case.client.thread(&thread).await["running_turn_id"], chunk.data["turn_id"]);
    case.client.delete(&thread).await;
    case.llm.wait_for(&case.marker(""), 1, Outcome::Aborted).await;
    assert_gone(&case.client, &thread).await;
}

/// No route finds the thread.
async fn assert_gone(client: &Client, thread: &str) {
    for (method, path) in [
        ("GET", String::new()),
        ("GET", "/messages".into()),
        ("GET", "/stream".into()),
        ("POST", "/cancel".into()),
        ("DELETE", String::new()),
    ] {
        let reply = client.send(method, &format!("/api/threads/{thread}{path}"), "").await;
        assert_problem(reply, 404, "thread_not_found", None).await;
    }
}

#[tokio::test]
async fn an_unknown_thread_is_found_by_no_route() {
    let client = Client::anonymous().await;
    assert_gone(&client, &new_id()).await;
    assert_eq!(client.threads().await, Vec::<Value>::new());
}

// Clients choose ids, so another user may choose the same ones: they name another thread.
#[tokio::test]
async fn the_same_ids_chosen_by_another_user_lead_to_nothing() {
    let (case, other) = (Case::new().await, Case::new().await);
    let (thread, turn) = (new_id(), new_id());
    case.script("", [text("The password is swordfish.")]).await;
    let body = json!({ "thread_id": thread, "turn_id": turn, "content": case.said("Tell me", "") });
    let events = case.chat_with(&body).await;
    assert_eq!(thread_of(&events), thread);
    listed(&case.client, &thread).await;

    assert_gone(&other.client, &thread).await;
    assert_eq!(other.client.threads().await, Vec::<Value>::new());

    // The same thread and the same turn of another user begin anew.
    other.script("", [text("Nothing.")]).await;
    let body = json!({ "thread_id": thread, "turn_id": turn, "content": other.said("What was it?", "") });
    other.chat_with(&body).await;
    let requests = other.all_requests().await.requests;
    assert_eq!(requests[0].roles(), ["system", "user"]);
    assert!(!requests[0].body.to_string().contains("swordfish"));

    // One user's deletion leaves the other user's thread, in the object and in the index.
    other.client.delete(&thread).await;
    assert_eq!(case.client.messages(&thread).await.len(), 2);
    listed(&case.client, &thread).await;
}

// Issue 53, fault 2: a title is the words of the first message. Earlier versions took its beginning as it was, with all that
// was attached: lists show the words of such a title.
#[tokio::test]
async fn a_title_is_the_words_of_the_first_message() {
    let case = Case::new().await;
    case.script("", [text("Pears.")]).await;
    let message =
        format!("Is this **it**?\n{}\n\nAttached file: guide.md\n`````\n# Guide\n`````", case.said("", ""));
    let events = case.chat_with(&json!({ "content": message })).await;
    let thread = first(&events, "session").text("thread_id").to_owned();
    assert_eq!(case.client.thread(&thread).await["title"], "Is this it?");
    let listed = async || {
        let list = case.client.read("/api/threads").await;
        let threads = list["threads"].as_array().expect("threads").clone();
        threads.into_iter().find(|entry| entry["id"] == thread.as_str()).map(|entry| entry["title"].clone())
    };
    stored::eventually("the index has the thread", || async { listed().await }).await;
    for (title, shown) in
        [(&*message, "Is this it?"), ("**Mine**", "**Mine**"), ("in\u{202e}voice", "invoice")]
    {
        let raw: String = title.chars().take(80).collect();
        stored::d1("UPDATE threads SET title = ?1 WHERE id = ?2", &[&raw, &thread]).await;
        assert_eq!(listed().await, Some(json!(shown)));
    }
}
