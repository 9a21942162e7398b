//! The states of a session between its steps, and the rules of its notices.

use super::*;

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
