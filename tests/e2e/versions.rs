//! Versions of turns: `replaces_message_id` begins one beside the turn of a message, and `PATCH` chooses the path that is
//! the conversation. Nothing is deleted. Issue 19, item 2.

use espalier_test_support::case::first;
use espalier_test_support::client::assert_problem;
use espalier_test_support::{Case, Event, Value, call, deltas, json, new_id, stored, text};

/// Three turns in one thread, one after the other.
async fn conversation(case: &Case) -> (String, Vec<Vec<Event>>) {
    let thread = new_id();
    let mut turns = Vec::new();
    for path in ["one", "two", "three"] {
        case.script(path, [text(&format!("answer {path}"))]).await;
        let body = json!({ "thread_id": thread, "content": case.said(&format!("question {path}"), path) });
        turns.push(case.chat_with(&body).await);
    }
    (thread, turns)
}

fn words(messages: &[Value]) -> Vec<String> {
    let words = |message: &Value| {
        let content = message["content"].as_str().unwrap_or_default();
        content.split(" [[").next().unwrap_or_default().to_owned()
    };
    messages.iter().map(words).collect()
}

async fn said(case: &Case, thread: &str) -> Vec<String> {
    words(&case.client.messages(thread).await)
}

/// The id that a turn's session names.
fn named(events: &[Event], member: &str) -> String {
    first(events, "session").text(member).to_owned()
}

fn turn_id(events: &[Event]) -> String {
    first(events, "session").data["turn_id"].as_str().expect("a turn").to_owned()
}

/// A version beside the turn of a message. Its script is `path`.
async fn beside(case: &Case, thread: &str, message: &str, question: &str, path: &str) -> Vec<Event> {
    case.script(path, [text(&format!("answer {path}"))]).await;
    let body = json!({
        "thread_id": thread, "content": case.said(question, path), "replaces_message_id": message,
    });
    case.chat_with(&body).await
}

async fn choose(case: &Case, thread: &str, turn: &str) -> Value {
    let reply = case.client.patch(thread, &json!({ "current_turn_id": turn })).await;
    reply.expect(200).await.json().await
}

/// All messages of a thread, those beside its path included, with the versions of their turns.
async fn whole(case: &Case, thread: &str) -> (Vec<Value>, Vec<Value>) {
    let list = case.client.read(&format!("/api/threads/{thread}/messages?limit=200&versions=all")).await;
    let part = |name: &str| list[name].as_array().cloned().unwrap_or_default();
    (part("messages"), part("versions"))
}

// Long: one thread, whose steps follow each other.
#[tokio::test]
async fn an_edited_message_is_a_version_and_the_earlier_one_stays() {
    let case = Case::new().await;
    let (thread, turns) = conversation(&case).await;
    let replaced = named(&turns[1], "user_message_id");
    let turn = new_id();
    case.script("edited", [text("another answer")]).await;
    let body = json!({
        "thread_id": thread, "turn_id": turn, "content": case.said("question edited", "edited"),
        "replaces_message_id": replaced,
    });
    let events = case.chat_with(&body).await;
    assert_eq!(first(&events, "session").data["replaces_message_id"], *replaced);
    let edited = ["question one", "answer one", "question edited", "another answer"];
    assert_eq!(said(&case, &thread).await, edited);
    assert_eq!(case.client.thread(&thread).await["current_turn_id"], *turn);

    // The model gets the path alone.
    let requests = case.requests("edited").await.requests;
    assert_eq!(requests[0].roles(), ["system", "user", "assistant", "user"]);
    let body_text = requests[0].body.to_string();
    assert!(body_text.contains("answer one") && !body_text.contains("two"), "{body_text}");
    // A blind retry finds the turn, and begins no third version.
    assert_eq!(case.chat_with(&body).await, events);

    // The next turn goes on from it.
    case.script("next", [text("the next answer")]).await;
    case.chat_with(&json!({ "thread_id": thread, "content": case.said("next", "next") })).await;
    assert!(!case.requests("next").await.requests[0].body.to_string().contains("two"));

    // The earlier version has its answers, with their tree and cost, and the turn after it.
    let (messages, versions) = whole(&case, &thread).await;
    let all = [
        "question one",
        "answer one",
        "question two",
        "answer two",
        "question three",
        "answer three",
        "question edited",
        "another answer",
        "next",
        "the next answer",
    ];
    assert_eq!(words(&messages), all);
    assert!(
        messages[3]["usage"]["llm_calls"] == 1 && messages[3]["execution_tree"].is_object(),
        "{}",
        messages[3]
    );
    let one = turn_id(&turns[0]);
    let version = |turn: &str, on_path: bool| json!({ "turn_id": turn, "parent_turn_id": one, "question_of": turn, "on_path": on_path });
    assert_eq!(versions, [version(&turn_id(&turns[1]), false), version(&turn, true)]);
    let listed = case.client.read(&format!("/api/threads/{thread}/messages")).await;
    assert_eq!(listed["versions"], json!(versions), "the list of the path names the same");

    // Back to the first version, which goes on to its end.
    let detail = choose(&case, &thread, &turn_id(&turns[1])).await;
    assert_eq!(detail["current_turn_id"], turn_id(&turns[2]));
    assert_eq!(said(&case, &thread).await, all[..6]);
    case.script("four", [text("answer four")]).await;
    case.chat_with(&json!({ "thread_id": thread, "content": case.said("question four", "four") })).await;
    let body_text = case.requests("four").await.requests[0].body.to_string();
    assert!(body_text.contains("answer three") && !body_text.contains("edited"), "{body_text}");
    assert_eq!(choose(&case, &thread, &turn).await["running_turn_id"], Value::Null);
    let path = [&edited[..], &["next", "the next answer"]].concat();
    assert_eq!(said(&case, &thread).await, path);

    deleted_with_all(&case, &thread).await;
}

/// D1 knows which messages are beside the path, and a deletion leaves none of both.
async fn deleted_with_all(case: &Case, thread: &str) {
    let rows = async || {
        let sql = "SELECT content, beside FROM messages WHERE thread_id = ? ORDER BY created_at, id";
        stored::d1(sql, &[thread]).await
    };
    stored::eventually("D1 has the messages of all versions", || async {
        let rows = rows().await;
        let on_path: Vec<Value> = rows.iter().filter(|row| row["beside"] == 0).cloned().collect();
        let path =
            ["question one", "answer one", "question edited", "another answer", "next", "the next answer"];
        (rows.len() == 12 && words(&on_path) == path).then_some(())
    })
    .await;
    case.client.delete(thread).await;
    stored::eventually("D1 has none", || async { rows().await.is_empty().then_some(()) }).await;
    assert_problem(
        case.client.get(&format!("/api/threads/{thread}/messages?versions=all")).await,
        404,
        "thread_not_found",
        None,
    )
    .await;
}

#[tokio::test]
async fn answers_to_one_message_are_versions_of_it() {
    let case = Case::new().await;
    let (thread, turns) = conversation(&case).await;
    let question = case.said("question three", "three");
    let mut answer = named(&turns[2], "assistant_message_id");
    let mut expected = vec![turn_id(&turns[2])];
    for again in ["better", "best"] {
        // The same words, so that each is an answer to the same message.
        case.script("three", [text(again)]).await;
        let body = json!({ "thread_id": thread, "content": question, "replaces_message_id": answer });
        let events = case.chat_with(&body).await;
        answer = named(&events, "assistant_message_id");
        expected.push(turn_id(&events));
    }
    assert_eq!(said(&case, &thread).await[4..], ["question three", "best"]);
    let list = case.client.read(&format!("/api/threads/{thread}/messages?limit=2")).await;
    assert_eq!(list.get("versions"), None, "the first page has no turn with versions: {list}");
    let cursor = list["next_cursor"].as_str().expect("a second page").to_owned();
    let list = case.client.read(&format!("/api/threads/{thread}/messages?limit=200&cursor={cursor}")).await;
    let versions = list["versions"].as_array().expect("versions");
    let ids: Vec<&Value> = versions.iter().map(|version| &version["turn_id"]).collect();
    assert_eq!(json!(ids), json!(expected));
    assert!(versions.iter().all(|version| version["question_of"] == json!(expected[0])), "{list}");
}

// A reader of the log learns of the choice, and so does a page that asks for the newest number.
#[tokio::test]
async fn a_choice_is_an_event_of_the_log() {
    let case = Case::new().await;
    let (thread, turns) = conversation(&case).await;
    let edited = beside(&case, &thread, &named(&turns[0], "user_message_id"), "edited", "e").await;
    let before = case.client.thread(&thread).await["last_seq"].as_u64().expect("a number");
    let detail = choose(&case, &thread, &turn_id(&turns[0])).await;
    let after = detail["last_seq"].as_u64().expect("a number");
    assert!(after > before, "{detail}");
    let mut stream = case.client.stream(&thread, before).await.expect("an event");
    let changed = stream.until(|event| event.kind == "path_changed").await;
    assert_eq!(changed.data["turn_id"], turn_id(&turns[2]), "the path ends with the newest turn below");
    // To choose the path that is there changes nothing.
    assert_eq!(choose(&case, &thread, &turn_id(&turns[1])).await["last_seq"], after);
    // Each turn can still be read by its events.
    let all = case
        .client
        .get(&format!("/api/threads/{thread}/stream?after=0"))
        .await
        .expect(200)
        .await
        .text()
        .await;
    assert!(all.contains(&turn_id(&edited)) && all.contains("answer e"), "{all}");
}

#[tokio::test]
async fn a_title_that_nobody_gave_is_the_beginning_of_the_path() {
    let case = Case::new().await;
    for (title, edited, back) in [(None, "Edited", "First"), (Some("My own"), "My own", "My own")] {
        case.script("", [text("1")]).await;
        let events = case.chat("First").await;
        let session = first(&events, "session");
        let thread = session.text("thread_id");
        if let Some(title) = title {
            case.client.patch(thread, &json!({ "title": title })).await.expect(200).await;
        }
        beside(&case, thread, session.text("user_message_id"), "Edited", "e").await;
        let details = case.client.thread(thread).await;
        assert!(details["title"].as_str().is_some_and(|title| title.starts_with(edited)), "{details}");
        assert_eq!(said(&case, thread).await, ["Edited", "answer e"]);
        let details = choose(&case, thread, &turn_id(&events)).await;
        assert!(details["title"].as_str().is_some_and(|title| title.starts_with(back)), "{details}");
    }
}

#[tokio::test]
async fn a_search_finds_the_path_alone() {
    let case = Case::new().await;
    let (thread, turns) = conversation(&case).await;
    let edited = beside(&case, &thread, &named(&turns[2], "user_message_id"), "about quinces", "e").await;
    let found = async |wanted: &str| {
        let list = case.client.read(&format!("/api/threads?q={wanted}")).await;
        list["threads"].as_array().is_some_and(|threads| !threads.is_empty())
    };
    let eventually = async |wanted: &'static str, expected: bool| {
        stored::eventually(wanted, || async { (found(wanted).await == expected).then_some(()) }).await;
    };
    eventually("quinces", true).await;
    eventually("answer%20three", false).await;
    choose(&case, &thread, &turn_id(&turns[2])).await;
    eventually("quinces", false).await;
    eventually("answer%20three", true).await;
    choose(&case, &thread, &turn_id(&edited)).await;
    eventually("quinces", true).await;
}

#[tokio::test]
async fn a_running_turn_is_superseded_and_stays_as_a_version() {
    let case = Case::new().await;
    case.script("", [deltas(["I shall ", "go on"]).hanging()]).await;
    let mut stream = case.client.chat(&case.says("Go on")).await;
    stream.until(|event| event.text("content") == "go on").await;
    let session = first(stream.seen(), "session").clone();
    let thread = session.text("thread_id");
    case.script("e", [text("Done.")]).await;
    let mut body = json!({
        "thread_id": thread, "content": case.said("Stop there", "e"),
        "replaces_message_id": session.data["assistant_message_id"],
    });
    assert_problem(case.client.post("/api/chat", &body).await, 409, "turn_in_progress", None).await;
    // The path is that of the turn that runs.
    let chosen = json!({ "current_turn_id": session.data["turn_id"] });
    assert_problem(case.client.patch(thread, &chosen).await, 409, "turn_in_progress", None).await;
    body["request_seq"] = json!(1);
    case.chat_with(&body).await;
    assert_eq!(said(&case, thread).await, ["Stop there", "Done."]);
    choose(&case, thread, session.data["turn_id"].as_str().expect("a turn")).await;
    assert_eq!(said(&case, thread).await, ["Go on", "I shall go on"]);
}

#[tokio::test]
async fn only_messages_and_turns_of_the_thread_can_be_named() {
    let case = Case::new().await;
    let (thread, _) = conversation(&case).await;
    let (other, turns) = conversation(&case).await;
    let foreign = json!(named(&turns[0], "user_message_id"));
    for (thread, id) in [(&thread, foreign.clone()), (&thread, json!(new_id())), (&new_id(), json!(new_id()))]
    {
        let body = json!({ "thread_id": thread, "content": "x", "replaces_message_id": id });
        let reply = case.client.post("/api/chat", &body).await;
        assert_problem(reply, 400, "invalid_request", Some("replaces_message_id")).await;
    }
    for id in [turn_id(&turns[0]), new_id()] {
        let reply = case.client.patch(&thread, &json!({ "current_turn_id": id })).await;
        assert_problem(reply, 400, "invalid_request", Some("current_turn_id")).await;
    }
    let both = json!({ "current_turn_id": turn_id(&turns[0]), "title": "x" });
    assert_problem(case.client.patch(&other, &both).await, 400, "invalid_request", Some("title")).await;
    let reply = case.client.get(&format!("/api/threads/{thread}/messages?versions=some")).await;
    assert_problem(reply, 400, "invalid_request", Some("versions")).await;
    assert_eq!(said(&case, &thread).await.len(), 6);
    assert_eq!(said(&case, &other).await.len(), 6);
}

// A message has at most 50 versions.
#[tokio::test]
async fn the_fifty_first_version_is_refused() {
    let case = Case::new().await;
    case.endless_script("", [text("1")]).await;
    let events = case.chat("First").await;
    let thread = named(&events, "thread_id");
    let body = json!({
        "thread_id": thread, "content": case.said("First", ""),
        "replaces_message_id": named(&events, "user_message_id"),
    });
    for _ in 2..=50 {
        case.chat_with(&body).await;
    }
    let (messages, versions) = whole(&case, &thread).await;
    assert_eq!((messages.len(), versions.len()), (100, 50));
    assert_problem(case.client.post("/api/chat", &body).await, 409, "too_many_versions", None).await;
    // The conversation goes on, and another message can have versions.
    let next = case.chat_with(&json!({ "thread_id": thread, "content": case.said("Next", "") })).await;
    let mut body = body;
    body["replaces_message_id"] = json!(named(&next, "user_message_id"));
    case.chat_with(&body).await;
    assert_eq!(said(&case, &thread).await.len(), 4);
}

// N-032: the model knows the memories that the turns on the path wrote. Other threads know the same.
#[tokio::test]
async fn a_memory_of_a_version_is_known_on_its_path() {
    let case = Case::new().await;
    let thread = new_id();
    let turn = async |path: &str, question: &str, replaces: Option<&str>, remembers: Option<&str>| {
        let steps = remembers.map(|memory| call("remember", json!({ "content": memory })));
        case.script(path, steps.into_iter().chain([text("Noted.")])).await;
        let mut body = json!({
            "thread_id": thread, "content": case.said(question, path), "memory_enabled": true,
        });
        if let Some(id) = replaces {
            body["replaces_message_id"] = json!(id);
        }
        case.chat_with(&body).await
    };
    let first_turn = turn("a", "My dog?", None, Some("The user's dog is called Waldi.")).await;
    let asked = named(&first_turn, "user_message_id");
    let second = turn("b", "My dog!", Some(&asked), Some("The user's dog is called Bello.")).await;
    let knows = async |path: &str| case.requests(path).await.requests[0].body.to_string();
    assert!(!knows("b").await.contains("Waldi"), "the version does not know what the other one remembers");

    turn("c", "What is my dog called?", None, None).await;
    let known = knows("c").await;
    assert!(known.contains("Bello") && !known.contains("Waldi"), "{known}");
    choose(&case, &thread, &turn_id(&first_turn)).await;
    turn("d", "What is my dog called?", None, None).await;
    let known = knows("d").await;
    assert!(known.contains("Waldi") && !known.contains("Bello"), "{known}");

    let marked = async || {
        let sql = "SELECT beside FROM memories WHERE thread_id = ? ORDER BY created_at, id";
        json!(stored::d1(sql, &[&thread]).await.iter().map(|row| row["beside"].clone()).collect::<Vec<_>>())
    };
    stored::eventually("D1 marks the memory of the other version", || async {
        (marked().await == json!([0, 1])).then_some(())
    })
    .await;
    case.script("e", [text("So.")]).await;
    let body = json!({ "content": case.said("What is my dog called?", "e"), "memory_enabled": true });
    case.chat_with(&body).await;
    let known = knows("e").await;
    assert!(known.contains("Waldi") && !known.contains("Bello"), "another thread: {known}");
    // The user sees both, and a memory that two versions tell is on both paths.
    let list = case.client.read("/api/memories").await;
    assert_eq!(list["memories"].as_array().map(Vec::len), Some(2));
    choose(&case, &thread, &turn_id(&second)).await;
    turn("f", "My dog again", None, Some("The user's dog is called Waldi.")).await;
    choose(&case, &thread, &turn_id(&first_turn)).await;
    turn("g", "What is my dog called?", None, None).await;
    assert!(knows("g").await.contains("Waldi"));
}
