//! Share links: read-only snapshots of conversations, for everybody who has the link.
//!
//! Issue 23, 7

use espalier_test_support::case::first;
use espalier_test_support::client::assert_problem;
use espalier_test_support::http::Reply;
use espalier_test_support::identity::users;
use espalier_test_support::stored::{change_at, d1, eventually, places};
use espalier_test_support::{Case, Client, Event, Value, call, calls, env, json, new_id, text};

const MAIN: &str = "ESPALIER_STATE_DIR";
const PICTURE: &str = "data:image/png;base64,iVBORw0KGgo=";
const DAY_MS: u64 = 86_400_000;

fn nobody() -> Client {
    Client::nobody_at(&env("ESPALIER_URL"))
}

async fn share(client: &Client, thread: &str, chosen: &Value) -> Value {
    let reply = client.post(&format!("/api/threads/{thread}/shares"), chosen).await.expect(201).await;
    assert!(reply.header("cache-control").contains("no-store"));
    reply.json().await
}

fn token(share: &Value) -> &str {
    let token = share["token"].as_str().expect("a token");
    assert_eq!(token.len(), 22, "128 bits as base64url");
    assert_eq!(share["path"], format!("/shared/{token}"));
    token
}

/// The share as lists show it: without what only its creation tells.
fn listed(share: &Value) -> Value {
    let mut listed = share.clone();
    for once in ["token", "path"] {
        listed.as_object_mut().and_then(|share| share.remove(once)).expect("it is told once");
    }
    listed
}

async fn read(share: &Value) -> Value {
    let reply = nobody().get(&format!("/api/shared/{}", token(share))).await.expect(200).await;
    assert_unlisted(&reply);
    reply.json().await
}

/// No search engine, no cache and no other site gets anything of it.
fn assert_unlisted(reply: &Reply) {
    assert_eq!(reply.header("x-robots-tag"), "noindex, nofollow, noarchive");
    assert_eq!(reply.header("referrer-policy"), "no-referrer");
    assert_eq!(reply.header("cache-control"), "private, no-store, no-transform");
}

async fn assert_dead(share: &Value) {
    let token = token(share);
    assert_problem(nobody().get(&format!("/api/shared/{token}")).await, 404, "share_not_found", None).await;
    assert_no_page(&nobody(), token).await;
}

/// All links that open nothing get the same answer.
async fn assert_no_page(client: &Client, token: &str) {
    let reply = client.get(&format!("/shared/{token}")).await.expect(404).await;
    assert_unlisted(&reply);
    assert_eq!(reply.header("content-type"), "text/plain; charset=utf-8");
    assert_eq!(reply.text().await, "There is no such page, or it is no longer shared.\n");
}

fn thread_of(events: &[Event]) -> String {
    first(events, "session").text("thread_id").to_owned()
}

fn words(text: &str) -> Value {
    json!({ "type": "text", "text": text })
}

/// The roles and parts of a shared conversation's messages.
fn messages(shared: &Value) -> Vec<(&str, &Value)> {
    let messages = shared["messages"].as_array().expect("messages");
    messages.iter().map(|message| (message["role"].as_str().expect("a role"), &message["parts"])).collect()
}

/// A turn with a mark in each kind of thing that is shared only where it is chosen. Its thread, and the words of its question.
async fn marked(case: &Case) -> (String, String) {
    let steps = [
        call("calculate", json!({ "expression": "6*7", "MARKargs": 1 }))
            .thinking("MARKreasoning")
            .saying("Let me see."),
        call("write_file", json!({ "path": "MARKpath.md", "content": "MARKfile" })),
        calls([case.subtask("MARKtitle", "in")]),
        text("It is 42."),
    ];
    case.script("", steps).await;
    case.script("in", [text("MARKinner")]).await;
    let question = case.said("What is it?", "");
    let attached = format!("{question}\n\nAttached file: MARKnotes.txt\n`````\nMARKtext\n`````");
    let content = json!([
        { "type": "text", "text": attached },
        { "type": "image", "data": PICTURE },
        { "type": "file", "name": "MARKdata.txt", "data": "data:text/plain;base64,TUFSSw==" },
    ]);
    let events = case.chat_with(&json!({ "content": content, "model": "other:fake-3" })).await;
    (thread_of(&events), question)
}

#[tokio::test]
async fn a_snapshot_shows_what_was_chosen_and_nothing_else() {
    let case = Case::new().await;
    let (thread, question) = marked(&case).await;
    let stored = case.client.messages(&thread).await;
    let bare = share(&case.client, &thread, &json!({})).await;
    let shared = read(&bare).await;
    let title: String = question.chars().take(80).collect();
    let expected = json!({
        "title": title, "shared_at": shared["shared_at"],
        "messages": [
            { "role": "user", "created_at": stored[0]["created_at"], "parts": [words(&question)] },
            {
                "role": "assistant", "created_at": stored[1]["created_at"],
                "parts": [words("Let me see."), words("It is 42.")],
            },
        ],
    });
    assert_eq!(shared, expected);
    let everything = shared.to_string();
    let ids = ["id", "turn_id"].map(|id| stored[1][id].as_str().expect("an id").to_owned());
    for secret in ["MARK", &thread, bare["id"].as_str().expect("an id"), &ids[0], &ids[1], "fake-1"] {
        assert!(!everything.contains(secret), "{secret}: {everything}");
    }

    let reasoning = read(&share(&case.client, &thread, &json!({ "reasoning": true })).await).await;
    let thought = json!({ "type": "reasoning", "text": "MARKreasoning" });
    assert_eq!(messages(&reasoning)[1].1, &json!([thought, words("Let me see."), words("It is 42.")]));
    assert_eq!(messages(&reasoning)[0].1, &json!([words(&question)]));

    let tools = read(&share(&case.client, &thread, &json!({ "tools": true })).await).await;
    let parts = messages(&tools)[1].1.as_array().expect("parts").clone();
    let kinds: Vec<_> = parts.iter().map(|part| part["name"].as_str().unwrap_or("text")).collect();
    assert_eq!(kinds, ["text", "calculate", "write_file", "run_subtask", "text"]);
    assert!(parts[2]["arguments"].as_str().expect("arguments").contains("MARKfile"), "{}", parts[2]);
    assert!(!tools.to_string().contains("MARKreasoning") && !tools.to_string().contains("MARKnotes"));

    let files = read(&share(&case.client, &thread, &json!({ "files": true })).await).await;
    let sent = messages(&files)[0].1;
    assert!(sent[0]["text"].as_str().expect("a text").contains("MARKnotes.txt"), "{sent}");
    assert_eq!(sent[1], json!({ "type": "image", "data": PICTURE }));
    assert_eq!((&sent[2]["type"], &sent[2]["name"]), (&json!("file"), &json!("MARKdata.txt")));
    assert_eq!(messages(&files)[1].1, messages(&shared)[1].1);
}

#[tokio::test]
async fn nothing_changes_a_snapshot_and_it_can_end_with_any_message() {
    let case = Case::new().await;
    case.script("", [text("One.")]).await;
    case.script("second", [text("Two.")]).await;
    case.script("again", [text("Another.")]).await;
    let thread = thread_of(&case.chat("First").await);
    let whole = share(&case.client, &thread, &json!({})).await;
    let before = read(&whole).await;
    let more = json!({ "thread_id": thread, "content": case.said("Second", "second") });
    let second = case.chat_with(&more).await;
    let asked = first(&second, "session").text("user_message_id").to_owned();
    let answered = first(&second, "session").text("assistant_message_id").to_owned();
    let again =
        json!({ "thread_id": thread, "content": case.said("Again", "again"), "replaces_message_id": asked });
    case.chat_with(&again).await;
    case.client.patch(&thread, &json!({ "title": "Renamed" })).await.expect(200).await;
    assert_eq!(read(&whole).await, before);

    // The path as it is now; the path to a message of another version; to a question.
    let texts = |shared: &Value| -> Vec<String> {
        messages(shared)
            .iter()
            .map(|(_, parts)| parts[0]["text"].as_str().unwrap_or_default().to_owned())
            .collect()
    };
    let (one, two, new) =
        (case.said("First", ""), case.said("Second", "second"), case.said("Again", "again"));
    let now = read(&share(&case.client, &thread, &json!({})).await).await;
    assert_eq!(
        (&now["title"], texts(&now)),
        (&json!("Renamed"), [&one, "One.", &new, "Another."].map(str::to_owned).into())
    );
    let until = |id: &str| json!({ "message_id": id });
    let other = share(&case.client, &thread, &until(&answered)).await;
    assert_eq!(other["messages"], 4);
    assert_eq!(texts(&read(&other).await), [&one, "One.", &two, "Two."].map(str::to_owned));
    let question = read(&share(&case.client, &thread, &until(&asked)).await).await;
    assert_eq!(texts(&question), [&one, "One.", &two].map(str::to_owned));
    let path = format!("/api/threads/{thread}/shares");
    for id in [&new_id(), "", "x"] {
        assert_problem(case.client.post(&path, &until(id)).await, 404, "message_not_found", None).await;
    }
    for (body, field) in
        [(json!({ "expires_in_days": 0 }), "expires_in_days"), (json!({ "tools": 1 }), "tools")]
    {
        assert_problem(case.client.post(&path, &body).await, 400, "invalid_request", Some(field)).await;
    }
}

#[tokio::test]
async fn the_title_of_another_version_is_not_in_a_snapshot() {
    let case = Case::new().await;
    case.script("", [text("One.")]).await;
    case.script("again", [text("Another.")]).await;
    let asked = case.chat("First").await;
    let (thread, message) = (thread_of(&asked), first(&asked, "session").text("user_message_id").to_owned());
    let answer = first(&asked, "session").text("assistant_message_id").to_owned();
    let again = json!({
        "thread_id": thread, "content": case.said("My resignation", "again"), "replaces_message_id": message,
    });
    case.chat_with(&again).await;
    let title = async |body: Value| read(&share(&case.client, &thread, &body).await).await["title"].take();
    let of_words = |words: String| Value::from(words.chars().take(80).collect::<String>());
    assert_eq!(title(json!({})).await, of_words(case.said("My resignation", "again")));
    let until = json!({ "message_id": answer });
    assert_eq!(title(until.clone()).await, of_words(case.said("First", "")));
    // A name that a person gave is the thread's, on each path.
    case.client.patch(&thread, &json!({ "title": "Renamed" })).await.expect(200).await;
    assert_eq!(title(until).await, "Renamed");
}

#[tokio::test]
async fn links_are_listed_and_revoked_by_their_owner_alone() {
    let (case, stranger) = (Case::new().await, Client::anonymous().await);
    case.script("", ["One.", "Two."].map(text)).await;
    let (here, there) = (thread_of(&case.chat("First").await), thread_of(&case.chat("Second").await));
    let first = share(&case.client, &here, &json!({ "tools": true, "expires_in_days": 7 })).await;
    let second = share(&case.client, &there, &json!({})).await;
    assert_eq!(first["expires_at"].as_u64(), first["created_at"].as_u64().map(|at| at + 7 * DAY_MS));
    assert_eq!(second["expires_at"], Value::Null);
    assert_eq!(first["bytes"].as_u64(), Some(read(&first).await.to_string().len() as u64));
    let list = case.client.read("/api/shares").await;
    assert_eq!(list, json!({ "shares": [listed(&second), listed(&first)] }));
    let of_thread = |id: &str| format!("/api/shares?thread_id={id}");
    let simple = here.replace('-', "").to_uppercase();
    for id in [&here, &simple] {
        assert_eq!(case.client.read(&of_thread(id)).await, json!({ "shares": [listed(&first)] }));
    }
    assert_eq!(case.client.read(&of_thread(&new_id())).await, json!({ "shares": [] }));
    assert_problem(case.client.get(&of_thread("x")).await, 400, "invalid_request", Some("thread_id")).await;
    assert_eq!(stranger.read("/api/shares").await, json!({ "shares": [] }));
    assert_eq!(stranger.read(&of_thread(&here)).await, json!({ "shares": [] }));

    let path = format!("/api/shares/{}", first["id"].as_str().expect("an id"));
    for (client, path) in [(&stranger, path.as_str()), (&case.client, "/api/shares/x")] {
        assert_problem(client.send("DELETE", path, "").await, 404, "share_not_found", None).await;
    }
    assert_problem(nobody().send("DELETE", &path, "").await, 401, "unauthenticated", None).await;
    read(&first).await;
    case.client.send("DELETE", &path, "").await.expect(204).await;
    assert_dead(&first).await;
    assert_problem(case.client.send("DELETE", &path, "").await, 404, "share_not_found", None).await;
    assert_eq!(case.client.read("/api/shares").await, json!({ "shares": [listed(&second)] }));

    // The database has the digest of the token, and the token nowhere.
    assert_eq!(places(MAIN, token(&second)).await, Vec::<String>::new());
    let hash = "SELECT hash FROM shares WHERE id = ?1";
    let rows = d1(hash, &[second["id"].as_str().expect("an id")]).await;
    assert_eq!(rows[0]["hash"].as_str().map(str::len), Some(64));
}

#[tokio::test]
async fn a_link_dies_with_its_thread_and_with_its_time() {
    let case = Case::new().await;
    case.script("", ["One.", "Two."].map(text)).await;
    let (here, there) = (thread_of(&case.chat("First").await), thread_of(&case.chat("Second").await));
    let [one, two] = [
        share(&case.client, &here, &json!({})).await,
        share(&case.client, &there, &json!({ "expires_in_days": 1 })).await,
    ];
    let row = |share: &Value| share["id"].as_str().expect("an id").to_owned();
    // D1 may hear of a deletion late.
    change_at(MAIN, &format!("CREATE TRIGGER keep_{0} BEFORE DELETE ON shares WHEN OLD.id = '{1}' BEGIN SELECT RAISE(ABORT, 'refused by a test'); END", row(&one).replace('-', ""), row(&one))).await;
    case.client.delete(&here).await;
    assert_dead(&one).await;
    change_at(MAIN, &format!("DROP TRIGGER keep_{}", row(&one).replace('-', ""))).await;
    let left = |id: String| async move { d1("SELECT id FROM shares WHERE id = ?1", &[&id]).await.len() };
    eventually("its snapshot is deleted", || async { (left(row(&one)).await == 0).then_some(()) }).await;
    assert_problem(
        case.client.post(&format!("/api/threads/{here}/shares"), &json!({})).await,
        404,
        "thread_not_found",
        None,
    )
    .await;

    read(&two).await;
    change_at(MAIN, &format!("UPDATE shares SET expires_at = 1 WHERE id = '{}'", row(&two))).await;
    assert_dead(&two).await;
    assert_eq!(case.client.read("/api/shares").await, json!({ "shares": [] }));
    // The next link deletes it, if no run of the retention did, which another test may begin.
    share(&case.client, &there, &json!({})).await;
    assert_eq!(left(row(&two)).await, 0);
}

#[tokio::test]
async fn a_user_has_a_limit_of_links_and_of_bytes() {
    let case = Case::new().await;
    case.script("", [text("One.")]).await;
    let thread = thread_of(&case.chat("First").await);
    let one = share(&case.client, &thread, &json!({})).await;
    let id = one["id"].as_str().expect("an id");
    let more = |count: u32| {
        format!(
            "INSERT INTO shares SELECT tenant, user_id, id || n, thread_id, hash || n, title, created_at, expires_at, tools, \
            reasoning, files, messages, 0, '' FROM shares, (WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c \
            WHERE n < {count}) SELECT n FROM c) WHERE id = '{id}'"
        )
    };
    change_at(MAIN, &more(98)).await;
    share(&case.client, &thread, &json!({})).await;
    let path = format!("/api/threads/{thread}/shares");
    assert_problem(case.client.post(&path, &json!({})).await, 409, "too_many_shares", None).await;
    change_at(MAIN, &format!("DELETE FROM shares WHERE id LIKE '{id}_%'")).await;

    let bytes = one["bytes"].as_u64().expect("a number");
    // The two that are left, and the new one.
    let room = |bytes: u64| format!("UPDATE shares SET bytes = {bytes} WHERE id = '{id}'");
    change_at(MAIN, &room(20_000_000 - 2 * bytes + 1)).await;
    assert_problem(case.client.post(&path, &json!({})).await, 409, "too_many_shares", None).await;
    change_at(MAIN, &room(20_000_000 - 2 * bytes)).await;
    share(&case.client, &thread, &json!({})).await;
}

#[tokio::test]
async fn a_snapshot_counts_as_an_upload() {
    let [user] = users([("lab", "sharer")]).await;
    let case = Case::of(user);
    case.script("", [text("One.")]).await;
    let thread = thread_of(&case.chat("First").await);
    let path = format!("/api/threads/{thread}/shares");
    let one = case.client.post(&path, &json!({})).await.expect(201).await.json().await;
    // The quota of the day is 2,500,000 bytes, and something small counts as a thousand.
    let bytes = one["bytes"].as_u64().expect("a number").max(1_000);
    let mut room = 2_500_000 - 2 * bytes;
    for file in ["a", "b", "c"] {
        let size = room.min(1_000_000);
        let path = format!("/api/threads/{thread}/files/{file}");
        case.client.send("PUT", &path, "x".repeat(size as usize)).await.expect(200).await;
        room -= size;
    }
    case.client.post(&path, &json!({})).await.expect(201).await;
    assert_problem(case.client.post(&path, &json!({})).await, 429, "quota_exceeded", None).await;
    assert_eq!(case.client.read("/api/shares").await["shares"].as_array().map(Vec::len), Some(2));
}

#[tokio::test]
async fn the_public_page_has_the_policy_of_the_page_and_is_unlisted() {
    let case = Case::new().await;
    case.script("", [text("One.")]).await;
    let thread = thread_of(&case.chat("First").await);
    let one = share(&case.client, &thread, &json!({})).await;
    let page = nobody().get(&format!("/shared/{}", token(&one))).await.expect(200).await;
    let home = nobody().get("/").await.expect(200).await;
    assert_unlisted(&page);
    assert_eq!(page.header("content-type"), "text/html; charset=utf-8");
    for name in [
        "content-security-policy",
        "x-content-type-options",
        "cross-origin-opener-policy",
        "permissions-policy",
    ] {
        assert!(!page.header(name).is_empty() && page.header(name) == home.header(name), "{name}");
    }
    let html = page.text().await;
    assert!(html.contains(r#"<meta name="robots" content="noindex, nofollow, noarchive" />"#), "{html}");
    assert!(!html.contains("First") && !html.contains(token(&one)));
    nobody().send("HEAD", &format!("/shared/{}", token(&one)), "").await.expect(200).await;
    for wrong in ["x", "AAAAAAAAAAAAAAAAAAAAAA", "AAAAAAAAAAAAAAAAAAAAAAA", "%2f"] {
        assert_no_page(&nobody(), wrong).await;
        assert_problem(nobody().get(&format!("/api/shared/{wrong}")).await, 404, "share_not_found", None)
            .await;
    }
}

#[tokio::test]
async fn a_deployment_can_switch_them_off() {
    let url = env("ESPALIER_AI_URL");
    let nobody = Client::nobody_at(&url);
    assert_eq!(nobody.read("/api/health").await["shares"], false);
    assert_eq!(Client::nobody_at(&env("ESPALIER_URL")).read("/api/health").await["shares"], true);
    let client = Client::anonymous_at(&url).await;
    let path = format!("/api/threads/{}/shares", new_id());
    assert_problem(client.post(&path, &json!({})).await, 403, "shares_off", None).await;
    let token = "AAAAAAAAAAAAAAAAAAAAAA";
    assert_problem(nobody.get(&format!("/api/shared/{token}")).await, 403, "shares_off", None).await;
    assert_no_page(&nobody, token).await;
    assert_eq!(client.read("/api/shares").await, json!({ "shares": [] }));
}
