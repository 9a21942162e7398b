//! The places of a user while D1 is down.

use espalier_test_support::case::first;
use espalier_test_support::{json, new_id, stored, text};

use super::somebody;

// The quotas hear of a turn's end also while D1 hears of nothing. One place is free at least, so that each turn begins.
#[tokio::test]
#[ignore = "takes a table from all users of the instance: `make e2e` runs it alone"]
async fn an_outage_of_d1_takes_no_place() {
    const STATE: &str = "ESPALIER_CLOSED_STATE_DIR";
    let case = somebody().await;
    case.script("", [text("Hello.").using(1, 0, 1)]).await;
    let thread = first(&case.chat("Hello").await, "session").text("thread_id").to_owned();
    let outage = format!("outage_{}", thread.replace('-', "_"));
    let refuse = format!(
        "ALTER TABLE erasures RENAME TO erasures_away;
        CREATE TRIGGER {outage} BEFORE INSERT ON messages WHEN NEW.thread_id = '{thread}'
        BEGIN SELECT RAISE(ABORT, 'an outage'); END"
    );
    stored::change_at(STATE, &refuse).await;
    // The tables come back whatever its outcome is.
    let turns = tokio::spawn(async move {
        for _ in 0..4 {
            let turn = json!({ "turn_id": new_id(), "thread_id": thread, "content": case.said("Hello", "") });
            let begun = async || {
                let reply = case.client.post("/api/chat", &turn).await;
                (reply.status == 200).then_some(reply)
            };
            stored::eventually("a place is free", begun).await.text().await;
        }
    });
    let turns = turns.await;
    stored::change_at(STATE, &format!("ALTER TABLE erasures_away RENAME TO erasures; DROP TRIGGER {outage}"))
        .await;
    turns.expect("every turn had a place");
}
