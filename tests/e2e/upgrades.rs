//! Threads whose tables come from another version of the service: the object upgrades older ones and leaves newer ones
//! alone. The tests put the databases where the runtime looks for them, before anybody asks for the thread.
//!
//! N-121

use espalier_test_support::case::first;
use espalier_test_support::client::assert_problem;
use espalier_test_support::stored::{change_object_at, object_at};
use espalier_test_support::{Case, Client, json, new_id, text};
use platform::storage::schema::VERSION;
use uuid::Uuid;
use wire::protocol::Owner;

/// The tables of each `CREATE` that shipped, with the rows of one turn.
pub const OLDER: [&str; 7] = [
    include_str!("../../durable/platform/src/storage/older/1a.sql"),
    include_str!("../../durable/platform/src/storage/older/1b.sql"),
    include_str!("../../durable/platform/src/storage/older/1c.sql"),
    include_str!("../../durable/platform/src/storage/older/1d.sql"),
    include_str!("../../durable/platform/src/storage/older/2.sql"),
    include_str!("../../durable/platform/src/storage/older/3.sql"),
    include_str!("../../durable/platform/src/storage/older/4.sql"),
];

const STATE: &str = "ESPALIER_STATE_DIR";

/// Plants a thread of this client that other code made, or longer than a test can make it. Returns its id, and the name of its object.
pub async fn planted(client: &Client, sql: &str) -> (String, String) {
    planted_at(STATE, client, sql).await
}

/// The same at the instance whose state is in the folder that this variable names.
pub async fn planted_at(state: &str, client: &Client, sql: &str) -> (String, String) {
    let session = client.post("/api/session", &json!({})).await.expect(200).await.json().await;
    let user = session["user_id"].as_str().expect("a user").to_owned();
    let owner = Owner { issuer: "anonymous".to_owned(), tenant: "public".to_owned(), user };
    let thread = new_id();
    let name = owner.object_name(Uuid::try_parse(&thread).expect("a thread's id"));
    let whose = serde_json::to_string(&owner).expect("an owner as JSON");
    let sql = sql.replace("OWNER", &whose).replace("USER", &owner.user_id()).replace("THREAD", &thread);
    change_object_at(state, &name, &sql).await;
    (thread, name)
}

#[tokio::test]
async fn older_tables_are_brought_up_to_date_at_the_first_touch() {
    for sql in OLDER {
        let case = Case::new().await;
        let (thread, object) = planted(&case.client, sql).await;
        assert_eq!(case.client.thread(&thread).await["title"], "An old thread");
        let version = object_at(STATE, &object, "SELECT schema_version FROM meta").await;
        assert_eq!(version, [json!({ "schema_version": VERSION })]);

        let contents = async || {
            let messages = case.client.messages(&thread).await;
            messages.iter().map(|message| message["content"].clone()).collect::<Vec<_>>()
        };
        assert_eq!(contents().await, ["Are you old?", "Quite."]);
        let events = case.client.get(&format!("/api/threads/{thread}/stream?after=0")).await;
        let events = events.expect(200).await.text().await;
        assert!(["id: 1\n", "id: 3\n"].iter().all(|id| events.contains(id)), "{events}");

        // The next turn begins after the old one, and has it in its history.
        case.script("", [text("And new.")]).await;
        let mut body = case.says("And now?");
        body["thread_id"] = json!(thread);
        let turn = case.chat_with(&body).await;
        assert!(first(&turn, "session").seq >= 65, "no number is used twice");
        assert_eq!(contents().await[2..], [case.said("And now?", ""), "And new.".to_owned()]);
        let told = case.requests("").await.requests[0].contents();
        assert!(told.contains(&"Quite.".to_owned()), "{told:?}");
        case.client.delete(&thread).await;
    }
}

#[tokio::test]
async fn newer_tables_are_left_alone() {
    let case = Case::new().await;
    let newer = format!("{}\nUPDATE meta SET schema_version = 99;", OLDER[3]);
    let (thread, object) = planted(&case.client, &newer).await;
    let rows = async || {
        let tables = ["meta", "messages", "events", "journal", "turns", "timers", "outbox"];
        let mut rows = Vec::new();
        for table in tables {
            rows.extend(object_at(STATE, &object, &format!("SELECT * FROM {table}")).await);
        }
        rows
    };
    let before = rows().await;
    let body = json!({ "thread_id": thread, "content": case.said("And now?", "") });
    let path = format!("/api/threads/{thread}");
    let refused = async |reply| assert_problem(reply, 503, "object_too_new", None).await;
    let reply = case.client.get(&path).await;
    assert_eq!(reply.header("retry-after"), "60");
    refused(reply).await;
    refused(case.client.get(&format!("{path}/messages")).await).await;
    refused(case.client.get(&format!("{path}/stream")).await).await;
    refused(case.client.post("/api/chat", &body).await).await;
    refused(case.client.post(&format!("{path}/cancel"), &json!({})).await).await;
    refused(case.client.send("DELETE", &path, "").await).await;
    assert_eq!(rows().await, before, "nothing was written");

    // For this thread it is as if the newer version were back.
    change_object_at(STATE, &object, "UPDATE meta SET schema_version = 1").await;
    assert_eq!(case.client.messages(&thread).await.len(), 2);
}

// The object keeps its memory between these requests: its belief about the tables must not outlive the failure.
#[tokio::test]
async fn an_upgrade_that_failed_has_changed_nothing_and_is_tried_again() {
    let case = Case::new().await;
    // The second of the three missing columns exists already.
    let stuck = format!("{}\nALTER TABLE turns ADD COLUMN failed_attempts INTEGER;", OLDER[3]);
    let (thread, object) = planted(&case.client, &stuck).await;
    let rows = async || {
        let version = object_at(STATE, &object, "SELECT schema_version FROM meta").await;
        let turns = object_at(STATE, &object, "SELECT * FROM turns").await;
        [version, turns, object_at(STATE, &object, "SELECT * FROM outbox").await]
    };
    let before = rows().await;
    for _ in 0..3 {
        let reply = case.client.get(&format!("/api/threads/{thread}")).await;
        assert_problem(reply, 500, "internal", None).await;
    }
    assert_eq!(rows().await, before);

    change_object_at(STATE, &object, "ALTER TABLE turns DROP COLUMN failed_attempts").await;
    assert_eq!(case.client.thread(&thread).await["title"], "An old thread");
    assert_eq!(rows().await[0], [json!({ "schema_version": VERSION })]);
    case.client.delete(&thread).await;
}
