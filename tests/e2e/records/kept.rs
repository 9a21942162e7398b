//! Which turns have a record, and for how long: `RECORD_TURNS`, deletions, deployments without records, an R2 that refuses.
//!
//! Issue 20, 1. A-099

use espalier_replay::Record;
use espalier_test_support::client::assert_problem;
use espalier_test_support::stored::{d1_at, eventually, object_at, r2_keys_at};
use espalier_test_support::{Case, Client, Value, env, http, json, new_id, stored, text};

use super::{listed, path, session};
use crate::upgrades::{OLDER, planted_at};

/// The turns of which the instances keep the record (`variables.rs`).
const KEPT: usize = 3;
/// The state of the instance whose R2 can refuse.
const STATE: &str = "ESPALIER_AI_STATE_DIR";
/// `records::MAX_BYTES`.
const MAX_BYTES: usize = 8 << 20;

#[tokio::test]
async fn a_thread_keeps_the_newest_records_and_a_deletion_none() {
    let case = Case::new().await;
    case.script("", (0..KEPT + 2).map(|n| text(&n.to_string()))).await;
    let mut turns = vec![case.chat("One").await];
    let thread = session(&turns[0], "thread_id").to_owned();
    for n in 1..KEPT + 2 {
        let mut body = case.says(&format!("And {n}"));
        body["thread_id"] = json!(thread);
        turns.push(case.chat_with(&body).await);
        let records = listed(&case.client, &turns[n]).await;
        assert!(
            n >= KEPT || records.len() == n + 1,
            "{n}: none goes before there is one too many: {records:?}"
        );
    }
    let path_of = format!("/api/threads/{thread}/records");
    let kept: Vec<String> = eventually("the older records go", || async {
        let list = case.client.read(&path_of).await;
        let list = list["records"].as_array().cloned().unwrap_or_default();
        (list.len() == KEPT)
            .then(|| list.iter().map(|one| one["turn_id"].as_str().unwrap_or_default().to_owned()).collect())
    })
    .await;
    let newest = turns.iter().rev().take(KEPT).map(|events| session(events, "turn_id").to_owned());
    assert_eq!(kept, newest.collect::<Vec<_>>());
    assert_problem(case.client.get(&path(&turns[0])).await, 404, "record_not_kept", None).await;
    let unknown = format!("/api/threads/{thread}/turns/{}/record", new_id());
    assert_problem(case.client.get(&unknown).await, 404, "record_not_kept", None).await;
    let nobodys = format!("/api/threads/{}/records", new_id());
    assert_problem(case.client.get(&nobodys).await, 404, "thread_not_found", None).await;

    // Pages.
    let page = case.client.read(&format!("{path_of}?limit=2")).await;
    let cursor = page["next_cursor"].as_str().expect("a cursor").to_owned();
    assert_eq!(page["records"].as_array().map(Vec::len), Some(2));
    let rest = case.client.read(&format!("{path_of}?limit=2&cursor={cursor}")).await;
    assert_eq!(
        (rest["records"][0]["turn_id"].as_str(), &rest["next_cursor"]),
        (Some(kept[2].as_str()), &Value::Null)
    );
    let wrong = format!("{path_of}?cursor=../else");
    assert_problem(case.client.get(&wrong).await, 400, "invalid_request", Some("cursor")).await;

    // Another user's thread of this id has no records, and a deletion leaves none.
    let stranger = Client::anonymous().await;
    assert_problem(stranger.get(&path(&turns[KEPT])).await, 404, "thread_not_found", None).await;
    let of_turns = || async {
        let mut keys = stored::r2_keys().await;
        keys.retain(|key| kept.iter().any(|turn| key.contains(turn.as_str())));
        assert!(keys.iter().all(|key| key.starts_with("records/")), "{keys:?}");
        keys.len()
    };
    assert_eq!(of_turns().await, KEPT);
    case.client.delete(&thread).await;
    eventually("the records go with their thread", || async { (of_turns().await == 0).then_some(()) }).await;
    assert_problem(case.client.get(&path(&turns[KEPT])).await, 404, "thread_not_found", None).await;
}

#[tokio::test]
async fn a_deployment_without_records_says_so_and_keeps_no_journal() {
    let deployments = [
        ("no bucket", "ESPALIER_MCP_URL", "ESPALIER_MCP_STATE_DIR"),
        ("RECORD_TURNS is 0", "ESPALIER_VISITORS_URL", "ESPALIER_VISITORS_STATE_DIR"),
    ];
    for (why, url, state) in deployments {
        let case = Case::of(Client::anonymous_at(&env(url)).await);
        let (thread, object) = planted_at(state, &case.client, OLDER[6]).await;
        case.script("", [text("4")]).await;
        let mut body = case.says("What is 2+2?");
        body["thread_id"] = json!(thread);
        let events = case.chat_with(&body).await;
        assert_problem(case.client.get(&path(&events)).await, 404, "record_not_kept", None).await;
        let list = format!("/api/threads/{thread}/records");
        assert_problem(case.client.get(&list).await, 404, "record_not_kept", None).await;
        // The planted turn has left a journal, as if there had been records then.
        eventually(why, || async {
            let left = object_at(state, &object, "SELECT turn_id FROM journal").await;
            left.is_empty().then_some(())
        })
        .await;
    }
}

/// Ended turns whose journals wait, of 9 MB each in rows of 1.8 MB: results of two million characters.
fn waiting(turns: &[String]) -> String {
    let rows: String = (0..)
        .zip(turns)
        .map(|(number, turn)| {
            let seq = 10 + number * 10;
            format!(
                r#"INSERT INTO turns (turn_id, status, generation, resumptions, assistant_message_id, seq_first, seq_last, started_at)
                  VALUES ('{turn}', 'done', 1, 0, 'answer-{number}', {seq}, {seq} + 9, 1000);
                INSERT INTO journal (turn_id, piece, payload) SELECT '{turn}', 0,
                  '{{"at":"0.' || value || '","elapsed_ms":1,"fact":{{"tool_ended":{{"content":"' ||
                  hex(zeroblob(900000)) || '"}}}}}}' || char(10) FROM json_each('[0,1,2,3,4]');"#
            )
        })
        .collect();
    format!("{}\nDELETE FROM journal;\n{rows}", OLDER[6])
}

async fn refuses(verb: &str, folder: &str) {
    let url = format!("{}/api/_refusing/{folder}", env("ESPALIER_AI_URL"));
    http::send(verb, &url, &[], String::new()).await.expect(200).await;
}

// While R2 refuses, chats go on, D1 hears of everything, and 24 MiB of journals wait. Later R2 takes what has waited.
#[tokio::test]
async fn records_wait_for_an_r2_that_refuses_and_the_oldest_goes_when_they_are_too_many() {
    let case = Case::of(Client::anonymous_at(&env("ESPALIER_AI_URL")).await);
    let old: Vec<String> = (0..3).map(|_| new_id()).collect();
    let (thread, object) = planted_at(STATE, &case.client, &waiting(&old)).await;
    let folder = format!("records/{object}/");
    refuses("PUT", &folder).await;

    case.script("", [text("4")]).await;
    let mut body = case.says("What is 2+2?");
    body["thread_id"] = json!(thread);
    let events = case.chat_with(&body).await;
    let new = session(&events, "turn_id").to_owned();
    let rows = async |columns: &str, from: &str| {
        d1_at(STATE, &format!("SELECT {columns} FROM {from} WHERE thread_id = '{thread}'")).await
    };
    eventually("D1 has the turn", || async {
        let told = rows("id", &format!("messages JOIN (SELECT '{new}' AS new) ON turn_id = new")).await;
        (told.len() == 2).then_some(())
    })
    .await;
    let failures = eventually("D1 has both failures", || async {
        let mut told = rows("code, message", "error_log").await;
        told.sort_by_key(|row| row["code"].to_string());
        (told.len() >= 2).then_some(told)
    })
    .await;
    let codes: Vec<&Value> = failures.iter().map(|row| &row["code"]).collect();
    assert_eq!(codes, ["record_dropped", "record_refused"], "the oldest alone is dropped");
    assert!(failures[0]["message"].as_str().is_some_and(|why| why.contains(&old[0])), "{failures:?}");
    let waits = object_at(STATE, &object, "SELECT DISTINCT turn_id FROM journal ORDER BY row").await;
    let expected = [&old[1], &old[2], &new].map(|turn| json!({ "turn_id": turn }));
    assert_eq!(waits, expected);

    // A record that waits can be read, and is not listed.
    let text = case.client.get(&path(&events)).await.expect(200).await.text().await;
    assert_eq!(Record::read(&text).expect("a record").header.turn_id, new);
    let list = case.client.read(&format!("/api/threads/{thread}/records")).await;
    assert_eq!(list["records"], json!([]));

    refuses("DELETE", &folder).await;
    let records = listed(&case.client, &events).await;
    let turns: Vec<&Value> = records.iter().map(|record| &record["turn_id"]).collect();
    assert_eq!(turns, [&new, &old[2], &old[1]]);
    let of = |turn: &str| format!("/api/threads/{thread}/turns/{turn}/record");
    assert_problem(case.client.get(&of(&old[0])).await, 404, "record_not_kept", None).await;

    // A record that would be longer than the limit is shortened, and says where.
    let text = case.client.get(&of(&old[1])).await.expect(200).await.text().await;
    assert!(text.len() <= MAX_BYTES, "{}", text.len());
    let header = Record::read(&text).expect("a record").header;
    assert_eq!(header.shortened, ["0.0", "0.1", "0.2", "0.3", "0.4"]);
    assert!(!header.is_whole() && !header.cut);
    eventually("no journal is left", || async {
        let left = object_at(STATE, &object, "SELECT 1 FROM journal").await;
        left.is_empty().then_some(())
    })
    .await;
}

// A thread that is deleted while R2 refuses leaves no record: neither one that waited, nor one that R2 takes later.
#[tokio::test]
async fn a_thread_that_is_deleted_while_records_wait_leaves_none() {
    let case = Case::of(Client::anonymous_at(&env("ESPALIER_AI_URL")).await);
    let old: Vec<String> = (0..2).map(|_| new_id()).collect();
    let (thread, object) = planted_at(STATE, &case.client, &waiting(&old)).await;
    let folder = format!("records/{object}/");
    refuses("PUT", &folder).await;
    case.script("", [text("4")]).await;
    let mut body = case.says("What is 2+2?");
    body["thread_id"] = json!(thread);
    let events = case.chat_with(&body).await;
    let waits = "SELECT DISTINCT turn_id FROM journal";
    eventually("all three wait", || async {
        (object_at(STATE, &object, waits).await.len() == 3).then_some(())
    })
    .await;

    case.client.delete(&thread).await;
    assert_problem(case.client.get(&path(&events)).await, 404, "thread_not_found", None).await;
    assert_eq!(object_at(STATE, &object, waits).await, Vec::<Value>::new());
    refuses("DELETE", &folder).await;
    // The news of the deletion leave the object when D1 and R2 have heard of it; they are told once more a minute later.
    eventually("D1 and R2 have heard of it", || async {
        (object_at(STATE, &object, "SELECT 1 FROM outbox").await.len() <= 1).then_some(())
    })
    .await;
    assert_eq!(object_at(STATE, &object, waits).await, Vec::<Value>::new());
    let mut keys = r2_keys_at(STATE).await;
    keys.retain(|key| key.starts_with(&folder));
    assert_eq!(keys, Vec::<String>::new());
}
