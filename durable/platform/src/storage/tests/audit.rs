//! The rows of the audit log that a thread's news become.

use serde_json::{Value, json};

use super::outgoing::{outbox, owner};
use crate::storage::outgoing::{Audited, MAX_REFUSED, News, Outgoing, statements};
use engine::journal::CallRecord;
use wire::protocol::AuditAction;

// Issue 23: the audit log has refused calls, up to a number for each turn, and a turn without one costs it nothing.
#[test]
fn refused_calls_are_deeds_up_to_a_number() {
    let told_by = |tool_name: &str, refused: usize| {
        let mut ended = outbox().remove(1);
        let News::TurnEnded { calls, .. } = &mut ended.news else { panic!() };
        calls.records = (0..refused)
            .map(|n| CallRecord::Tool {
                id: format!("c{n}"),
                tool_name: tool_name.to_owned(),
                duration_ms: 0,
                is_error: true,
                detail: None,
                refused: true,
            })
            .collect();
        audited(&[ended])
    };
    let told = |refused| told_by("shell", refused);
    assert_eq!(audited(&outbox()), None, "no call was refused");
    for (refused, rows) in [(1, 1), (MAX_REFUSED, MAX_REFUSED), (MAX_REFUSED + 1, MAX_REFUSED)] {
        assert_eq!(told(refused).unwrap().as_array().unwrap().len(), rows, "{refused}");
    }
    let row = &told(1).unwrap()[0];
    assert_eq!((&row[0], &row[1]), (&json!("tenant"), &json!(7)));
    assert_eq!(
        row.as_array().unwrap()[3..6],
        *json!(["anonymous:user", "call_refused", "thread"]).as_array().unwrap()
    );
    assert_eq!(row[6], "shell");
    // A model may write any text in the place of a name.
    let detail = |name: &str| told_by(name, 1).unwrap()[0][6].take();
    assert_eq!(detail(&"n".repeat(64)), "[redacted]", "a name, and as long as a secret");
    for text in ["", "the user is ill", &"n".repeat(65)] {
        assert_eq!(detail(text), Value::Null, "{text}");
    }
    assert_eq!(detail("sk-abcdefghijklmnopqrstuvwxyz0123456789"), "[redacted]");
    assert_eq!(row[7], Value::Null, "no client made the call");
    assert_eq!(told(1), told(1), "told twice it is the same row");
}

// Issue 23: an erasure leaves the log, and with it the deeds that D1 has not heard of. It leaves no usage.
#[test]
fn deeds_survive_an_erasure_as_the_same_rows() {
    let mut ended = outbox().remove(1);
    let News::TurnEnded { calls, .. } = &mut ended.news else { panic!() };
    let call = |id: &str, refused| CallRecord::Tool {
        id: id.to_owned(),
        tool_name: "shell".to_owned(),
        duration_ms: 0,
        is_error: true,
        detail: Some("private".to_owned()),
        refused,
    };
    calls.records.extend([call("c0", true), call("c1", false), call("c2", true)]);
    let deeds = ended.deeds();
    assert_eq!(audited(&deeds), audited(std::slice::from_ref(&ended)));
    assert_eq!(statements(&deeds).unwrap().len(), 1, "nothing but the log");
    assert_eq!(ended.without_content().unwrap().deeds(), deeds, "after a deletion too");
    let again: Vec<_> = deeds.iter().flat_map(Outgoing::deeds).collect();
    assert_eq!(again, deeds);
    assert!(outbox().iter().all(|news| news.deeds().is_empty()), "no call was refused");
}

/// The rows of the audit log of these news.
fn audited(news: &[Outgoing]) -> Option<Value> {
    let all = statements(news).unwrap();
    let statement = all.iter().find(|statement| statement.sql.contains("INTO audit "))?;
    Some(serde_json::from_str(&statement.rows).unwrap())
}

// Issue 23
#[test]
fn a_deed_outlives_its_thread() {
    let deed = |key: &str| {
        let action = AuditAction::ApprovalDenied;
        let (detail, address) = (Some("write_file".to_owned()), Some("k.mac".to_owned()));
        let audited = Audited { key: key.to_owned(), action, at: 5, detail, address };
        Outgoing::new(&owner(), "thread", News::Audited { audited })
    };
    let row = audited(&[deed("a")]).unwrap()[0].take();
    let rest = json!(["anonymous:user", "approval_denied", "thread", "write_file", "k.mac"]);
    assert_eq!(row.as_array().unwrap()[3..], *rest.as_array().unwrap());
    assert!(uuid::Uuid::try_parse(row[2].as_str().unwrap()).is_ok());
    assert_ne!(audited(&[deed("b")]).unwrap()[0][2], row[2], "another call");
    assert_eq!(deed("a").without_content(), Some(deed("a")));
    assert_eq!(deed("a").unlisted(), Some(deed("a")));
    let read: Outgoing = serde_json::from_value(serde_json::to_value(deed("a")).unwrap()).unwrap();
    assert_eq!(read, deed("a"));
}
