//! The states of a session between its steps, and the rules of its notices.

use super::*;
use crate::sessions::notice::may_tell;
use engine::toolbelt::ToolRules;

// W-095: a right token forgets the refused ones before it, also where its request ends no step.
#[test]
fn only_refused_tokens_in_a_row_fail_a_session() {
    let (first, mut done) = (external(), Vec::new());
    let spent = token(&first);
    let second = on(&first, &mut done);
    let sends = |row: &SessionRow, token: &str, ended: &StepEnd| advance_with(row, &done, token, ended);
    let right = [
        sends(&second, &spent, &end_of(0, NOTES)),
        sends(&second, &spent, &end_of(0, &NOTES.to_uppercase())),
        sends(&second, &token(&second), &end_of(1, &"x".repeat(20_001))),
    ];
    assert_eq!(right[0], Ok(Advanced::Again(0)));
    assert_eq!(right[1], Err(Refusal::Spent));
    assert!(matches!(right[2], Err(Refusal::Wrong(_))));
    let wrong = sends(&second, "ct1.x.y.z", &end_of(1, NOTES));
    for right in &right {
        assert_eq!(second.judged(right, NOW), None, "there is none to forget");
        let twice = second.judged(&wrong, NOW).and_then(|row| row.judged(&wrong, NOW)).unwrap();
        assert_eq!((twice.refused, twice.status), (2, SessionStatus::Waiting));
        let forgot = twice.judged(right, NOW + 5).unwrap();
        assert_eq!(forgot, SessionRow { updated_at: twice.updated_at, ..second.clone() });
        assert_eq!(forgot.judged(&wrong, NOW).unwrap().status, SessionStatus::Waiting);
        assert_eq!(twice.judged(&wrong, NOW).unwrap().status, SessionStatus::Failed);
    }
    assert_eq!(
        second.judged(&sends(&second, &token(&second), &end_of(1, NOTES)), NOW),
        None,
        "it has its own row"
    );
}

// Issue 21: after a turn no session runs, and one that stands at a step holds the messages that wait.
#[test]
fn a_turn_leaves_a_session_at_rest() {
    use SessionStatus as S;
    let table = [
        (S::Running, Some(S::Waiting), false),
        (S::Waiting, None, true),
        (S::NeedsHumanReview, Some(S::Waiting), true),
        (S::Stuck, None, true),
        (S::Complete, None, false),
        (S::Failed, None, false),
    ];
    for (status, rested, stands) in table {
        let session = SessionRow { status, reason: Some("why".to_owned()), ..row(2, SessionMode::Service) };
        let after = session.rested(NOW + 1);
        assert_eq!((after.as_ref().map(|row| row.status), session.stands()), (rested, stands), "{status:?}");
        assert!(after.is_none_or(|row| row.reason == session.reason && row.nonce == session.nonce));
        let external = SessionRow { mode: SessionMode::External, ..session };
        assert_eq!((external.rested(NOW), external.stands()), (None, false), "no turn works on it");
    }
}

// W-101: a notice goes out as the calls of the class `network` do, and never where a person must allow them.
#[test]
fn a_notice_needs_the_class_network() {
    let rules = |json: &str| serde_json::from_str::<ToolRules>(json).unwrap();
    assert!(may_tell(ToolRules::default()));
    for (refused, json) in [
        (false, r#"{"safe": "off"}"#),
        (false, r#"{"network": "on"}"#),
        (true, r#"{"network": "off"}"#),
        (true, r#"{"network": "ask"}"#),
        (true, r#"{"workflow_notify": "off"}"#),
    ] {
        assert_eq!(may_tell(rules(json)), !refused, "{json}");
    }
}
