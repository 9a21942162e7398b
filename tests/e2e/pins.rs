//! Pinned threads: above the others, bounded, the user's own, gone with their thread. Issue 19, item 13.

use espalier_test_support::case::first;
use espalier_test_support::client::assert_problem;
use espalier_test_support::{Case, Value, deltas, json, new_id, stored, text};

/// So many threads a user may pin (docs/routes.md).
const MAX_PINNED: usize = 20;

async fn chat(case: &Case) -> String {
    case.endless_script("", [text("Yes.")]).await;
    let thread = first(&case.chat("Hello").await, "session").text("thread_id").to_owned();
    stored::eventually("the thread is listed", || async {
        case.client.threads().await.into_iter().find(|entry| entry["id"] == *thread)
    })
    .await;
    thread
}

async fn ids(case: &Case, query: &str) -> Vec<String> {
    let mut all = Vec::new();
    let mut cursor = String::new();
    loop {
        let page = case.client.read(&format!("/api/threads?{query}{cursor}")).await;
        let threads = page["threads"].as_array().expect("a list").clone();
        all.extend(threads.iter().filter_map(|thread| thread["id"].as_str().map(str::to_owned)));
        match page["next_cursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => return all,
        }
    }
}

#[tokio::test]
async fn pinned_threads_stand_above_the_others_on_every_page() {
    let case = Case::new().await;
    let [a, b, c, d] = &[chat(&case).await, chat(&case).await, chat(&case).await, chat(&case).await];
    for thread in [a, c] {
        let pinned =
            case.client.patch(thread, &json!({ "pinned": true })).await.expect(200).await.json().await;
        assert!(pinned["pinned_at"].is_u64() && pinned["id"] == **thread, "{pinned}");
        // A repetition changes nothing.
        case.client.patch(thread, &json!({ "pinned": true })).await.expect(200).await;
    }
    let order = [c, a, d, b].map(String::clone);
    for query in ["limit=50", "limit=1", "limit=2", "limit=3", "limit=2&q=Hello"] {
        assert_eq!(ids(&case, query).await, order, "{query}");
    }
    let list = case.client.threads().await;
    let pinned: Vec<bool> = list.iter().map(|thread| thread.get("pinned_at").is_some()).collect();
    assert_eq!(pinned, [true, true, false, false]);

    // A turn leaves its thread's pin as it is, and another title does.
    case.chat_with(&json!({ "thread_id": a, "content": case.said("More", "") })).await;
    case.client.patch(a, &json!({ "title": "First" })).await.expect(200).await;
    stored::eventually("the new title is listed", || async {
        case.client.threads().await.into_iter().find(|entry| entry["title"] == "First")
    })
    .await;
    assert_eq!(ids(&case, "limit=2").await, [a, c, d, b].map(String::clone));

    case.client.patch(a, &json!({ "pinned": false })).await.expect(200).await;
    assert_eq!(ids(&case, "limit=2").await, [c, a, d, b].map(String::clone));
    case.client.delete(c).await;
    let deleted = || async { (ids(&case, "limit=2").await == [a, d, b].map(String::clone)).then_some(()) };
    stored::eventually("the deleted thread is gone from the list", deleted).await;
    let rows = stored::d1("SELECT id FROM threads WHERE id = ?1", &[c]).await;
    assert_eq!(rows, Vec::<Value>::new(), "its pin went with it");
    assert_problem(case.client.patch(c, &json!({ "pinned": true })).await, 404, "thread_not_found", None)
        .await;
}

// The index has no row of the thread yet: its first turn has just begun.
#[tokio::test]
async fn a_thread_is_pinned_while_its_first_turn_runs() {
    let case = Case::new().await;
    let hold = case.barrier("hold");
    case.script("", [deltas(["It ", "is 4"]).waiting(&hold, 1)]).await;
    let thread = new_id();
    let body = json!({ "thread_id": thread, "content": case.said("What is 2+2?", "") });
    let mut stream = case.client.chat(&body).await;
    stream.until(|event| event.text("content") == "It ").await;
    case.client.patch(&thread, &json!({ "pinned": true })).await.expect(200).await;
    let [listed] = &case.client.threads().await[..] else { panic!("one thread") };
    assert!(
        listed["pinned_at"].is_u64() && listed["title"].as_str().is_some_and(|title| title.contains("2+2"))
    );
    case.client.cancel(&thread).await;
    let told = || async {
        let [listed] = &case.client.threads().await[..] else { panic!("one thread") };
        let rows = stored::d1("SELECT id FROM messages WHERE thread_id = ?1", &[&thread]).await;
        (!rows.is_empty()).then(|| listed["pinned_at"].is_u64())
    };
    assert!(stored::eventually("the turn is in the index", told).await, "the pin stays");
}

#[tokio::test]
async fn pins_are_bounded_and_each_user_has_their_own() {
    let (case, other) = (Case::new().await, Case::new().await);
    let (mine, theirs) = (chat(&case).await, chat(&other).await);
    assert_problem(
        other.client.patch(&mine, &json!({ "pinned": true })).await,
        404,
        "thread_not_found",
        None,
    )
    .await;
    let me = case.client.read("/api/threads").await["threads"][0]["id"].clone();
    assert_eq!(me, json!(mine));
    // Rows of threads that nobody opens: the bound counts rows of the index.
    let [owner] = &stored::d1("SELECT tenant, user_id FROM threads WHERE id = ?1", &[&mine]).await[..] else {
        panic!("one row")
    };
    let row = |member: &str| owner[member].as_str().unwrap_or_default().to_owned();
    for _ in 0..MAX_PINNED - 1 {
        let sql = "INSERT INTO threads (tenant, user_id, id, title, created_at, updated_at, pinned_at) \
            VALUES (?1, ?2, ?3, 'Old', 1, 1, 1)";
        stored::d1(sql, &[&row("tenant"), &row("user_id"), &new_id()]).await;
    }
    case.client.patch(&mine, &json!({ "pinned": true })).await.expect(200).await;
    let second = chat(&case).await;
    assert_problem(case.client.patch(&second, &json!({ "pinned": true })).await, 409, "too_many_pins", None)
        .await;
    other.client.patch(&theirs, &json!({ "pinned": true })).await.expect(200).await;
    case.client.patch(&mine, &json!({ "pinned": false })).await.expect(200).await;
    case.client.patch(&second, &json!({ "pinned": true })).await.expect(200).await;
    assert_problem(case.client.patch(&mine, &json!({ "pinned": true })).await, 409, "too_many_pins", None)
        .await;
}
