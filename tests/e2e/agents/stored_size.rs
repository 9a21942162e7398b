//! How much a client stores with restored agents. Issue 42, M1.

use espalier_test_support::client::assert_problem;
use espalier_test_support::identity::users;
use espalier_test_support::{Case, Value, json, new_id, stored, text};

use super::agents;

/// A dump with so many rounds of so many bytes.
fn dump(name: &str, rounds: usize, bytes: usize) -> Value {
    let answer = json!({ "assistant": { "content": "Yes." } });
    let round =
        |number: usize| json!([{ "user": { "content": format!("{number} {}", "x".repeat(bytes)) } }, answer]);
    json!({ "name": name, "instructions": "Be brief.", "rounds": (0..rounds).map(round).collect::<Vec<_>>() })
}

/// A thread of one turn, and the path of its agents.
async fn thread(case: &Case) -> (String, String) {
    case.script("", [text("Hello.")]).await;
    let id = new_id();
    case.chat_with(&json!({ "thread_id": id, "content": case.said("Hello.", "") })).await;
    (id.clone(), format!("/api/threads/{id}/agents"))
}

// The quota of the instance is 2,500,000 bytes a day.
#[tokio::test]
async fn restored_agents_count_as_uploads_and_a_refused_one_does_not() {
    let tenant = new_id();
    let [user] = users([(tenant.as_str(), "ada")]).await;
    let case = Case::of(user);
    let (id, path) = thread(&case).await;
    let large = |name: &str| dump(name, 3, 380_000);
    case.client.post(&path, &large("one")).await.expect(200).await;
    assert_problem(case.client.post(&path, &large("one")).await, 409, "agent_exists", None).await;
    stored::eventually("the refused one is given back", || async {
        let reply = case.client.post(&path, &large("two")).await;
        (reply.status == 200).then_some(())
    })
    .await;
    // Its end gives nothing back, because the rows of a path stay.
    case.client.send("DELETE", &format!("{path}/two"), "").await.expect(204).await;
    let beyond = case.client.post(&path, &large("three")).await;
    assert!(beyond.header("retry-after").parse::<u64>().is_ok_and(|seconds| seconds <= 86_400));
    assert_problem(beyond, 429, "quota_exceeded", None).await;
    assert_eq!(agents(&case.client, &id).await.len(), 1);
    // Files count together with them.
    let file = format!("/api/threads/{id}/files/a");
    let reply = case.client.send("PUT", &file, vec![b'x'; 300_000]).await;
    assert_problem(reply, 429, "quota_exceeded", None).await;
}

#[tokio::test]
async fn an_agent_remembers_a_thousand_rounds() {
    let case = Case::new().await;
    let (id, path) = thread(&case).await;
    assert_problem(
        case.client.post(&path, &dump("many", 1_001, 1)).await,
        400,
        "invalid_request",
        Some("rounds"),
    )
    .await;
    let mut talks = dump("many", 1, 1);
    talks["rounds"][0] = json!(vec![talks["rounds"][0][0].clone(); 5_001]);
    assert_problem(case.client.post(&path, &talks).await, 400, "invalid_request", Some("rounds")).await;
    case.client.post(&path, &dump("many", 1_000, 1)).await.expect(200).await;
    let rounds = async || {
        let dump = case.client.read(&format!("{path}/many/dump")).await;
        let rounds = dump["rounds"].as_array().expect("a list").clone();
        let first = rounds[0][0]["user"]["content"].as_str().expect("a text").to_owned();
        (rounds.len(), first, dump)
    };
    let (count, first, _) = rounds().await;
    assert_eq!((count, first.as_str()), (1_000, "0 x"), "in their order");
    // One more: the oldest goes.
    case.script("more", [text("Yes.")]).await;
    let body = json!({ "thread_id": id, "content": case.said("Are you there?", "more"), "agent": "many" });
    case.chat_with(&body).await;
    let (count, first, mut dump) = rounds().await;
    assert_eq!((count, first.as_str()), (1_000, "1 x"));
    dump["name"] = json!("copy");
    case.client.post(&path, &dump).await.expect(200).await;
    // Its model got no more of them than that: two messages of each round, the prompt, and what is new.
    let asked = case.requests("more").await.requests;
    let heard = asked[0].body["messages"].as_array().expect("messages").len();
    assert!(heard <= 2_005, "{heard}");
}

// The end of one agent wrote all agents of the thread anew, each with all that it had heard.
#[tokio::test]
async fn the_end_of_an_agent_leaves_the_others_as_they_are() {
    let case = Case::new().await;
    let (id, path) = thread(&case).await;
    let mut listener = dump("listener", 0, 0);
    listener["heard"] = json!(["x".repeat(90_000)]);
    case.client.post(&path, &listener).await.expect(200).await;
    case.client.post(&path, &dump("short", 0, 0)).await.expect(200).await;
    case.client.send("DELETE", &format!("{path}/short"), "").await.expect(204).await;
    let session = case.client.post("/api/session", &json!({})).await.expect(200).await.json().await;
    let user = session["user_id"].as_str().expect("a user").to_owned();
    let owner = wire::protocol::Owner { issuer: "anonymous".to_owned(), tenant: "public".to_owned(), user };
    let object = owner.object_name(uuid::Uuid::try_parse(&id).expect("an id"));
    let states = "SELECT 1 FROM agent_states WHERE length(state) > 90000";
    assert_eq!(stored::object_at("ESPALIER_STATE_DIR", &object, states).await.len(), 1);
    assert_eq!(agents(&case.client, &id).await.len(), 1);
}
