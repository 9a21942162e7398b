//! The rules of queued messages: after which end of a turn the next one starts, and what a refusal of its turn leads to.
//! Pure; `queue.rs` carries them out.

use engine::journal::TurnEnd;
use wire::protocol::{ApiError, ErrorCode, FinishReason, PlanStatus, StopNote};

use crate::attempts;
use crate::duties::driver::place_ms;

/// The most bytes of a queued request, as JSON: the largest body of a request, and room for members that its JSON spells
/// out. Half of the platform's row of 2 MB stays for the words.
pub const MAX_PAYLOAD_BYTES: usize = (1 << 20) + 4_096;

/// The most `queue_update`s of a turn. Each has the beginnings of all messages, up to 50 kB of a queue with ten, and stays in
/// the turn's log. A person who fills the queue and changes each message of it makes a few dozen.
pub const MAX_QUEUE_EVENTS: u64 = 200;

/// Refuses a change of the queue after so many events of the turn, because its readers could not be told.
pub fn check_events(told: u64) -> Result<(), ApiError> {
    if told < MAX_QUEUE_EVENTS {
        return Ok(());
    }
    let detail = format!(
        "the queue has changed {MAX_QUEUE_EVENTS} times during this turn: change it again when the turn has ended"
    );
    Err(ApiError::new(ErrorCode::RateLimited, detail).retry_after(QUEUE_RETRY_S))
}

/// The seconds after which a client whose change was refused asks again: turns take about that long.
const QUEUE_RETRY_S: u64 = 30;

/// Whether the next message starts when a turn has ended like this. It does where the turn came to its end by itself, or
/// made way for another one. In all other cases a person looks first: after a stop, a failure or a limit, and where a plan
/// or the session of a workflow waits for the user's word, which the next message would be taken for. `stands`: the turn
/// stopped at a step of its session.
pub fn goes_on_after(end: &TurnEnd, stands: bool) -> bool {
    let asks = end.plans.iter().any(|plan| plan.status == PlanStatus::PendingReview);
    let superseded = end.message.stop.as_ref().is_some_and(|stop| stop.code == "superseded");
    match end.message.finish_reason {
        Some(FinishReason::Stop | FinishReason::Length | FinishReason::ContentFilter) => !asks && !stands,
        Some(FinishReason::Cancelled) => superseded,
        Some(FinishReason::Budget | FinishReason::Error | FinishReason::Interrupted) | None => false,
    }
}

/// The act that follows a refusal of the next message's turn.
#[derive(Clone, Debug, PartialEq)]
pub enum AfterRefusal {
    /// The message stays as it is: another turn runs, or a person changed the queue meanwhile.
    Leave,
    /// Its turn is tried again after this time, in milliseconds.
    Again { wait_ms: u64 },
    /// The message is told to have failed, and the queue holds.
    Fail(StopNote),
}

/// Decides by the refusal and by the number of refusals before it.
pub fn after_refusal(error: &ApiError, attempts: u64) -> AfterRefusal {
    use ErrorCode as E;
    match error.code {
        E::TurnInProgress | E::QueuedMessageNotFound | E::ThreadNotFound | E::StaleRequestSeq => {
            AfterRefusal::Leave
        }
        // The others that run will end, and the operator mends the service.
        E::TooManyTurns | E::Misconfigured | E::Internal if !attempts::queued_too_long(attempts) => {
            AfterRefusal::Again { wait_ms: place_ms(attempts + 1) }
        }
        code => AfterRefusal::Fail(StopNote::new(code.as_str(), error.detail.clone())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::protocol::{Role, StoredMessage};

    fn end(finish_reason: FinishReason, stop: Option<&str>) -> TurnEnd {
        let message = StoredMessage {
            id: "answer".to_owned(),
            turn_id: "turn".to_owned(),
            role: Role::Assistant,
            content: String::new(),
            created_at: 1,
            finish_reason: Some(finish_reason),
            stop: stop.map(|code| StopNote::new(code, "")),
            usage: None,
            execution_tree: None,
            parts: Vec::new(),
        };
        TurnEnd {
            agents: Vec::new(),
            lives: Vec::new(),
            session: None,
            message,
            history: Vec::new(),
            calls: Vec::new(),
            plans: Vec::new(),
            summary: None,
            used: None,
        }
    }

    // Issue 19, item 5.
    #[test]
    fn the_queue_goes_on_after_an_end_by_itself_and_holds_after_any_other() {
        let table = [
            (FinishReason::Stop, None, true),
            (FinishReason::Length, None, true),
            (FinishReason::ContentFilter, None, true),
            (FinishReason::Cancelled, Some("superseded"), true),
            (FinishReason::Cancelled, Some("cancelled"), false),
            (FinishReason::Budget, Some("budget_exceeded"), false),
            (FinishReason::Error, Some("provider_auth"), false),
            (FinishReason::Interrupted, Some("interrupted"), false),
        ];
        for (reason, stop, goes_on) in table {
            assert_eq!(goes_on_after(&end(reason, stop), false), goes_on, "{reason:?} {stop:?}");
            // Issue 21: a turn that stops at a step of its session waits for its user, unless another one took its place.
            let superseded = stop == Some("superseded");
            assert_eq!(goes_on_after(&end(reason, stop), true), superseded, "{reason:?} {stop:?}");
        }
    }

    // Issue 42, M1.
    #[test]
    fn a_turn_tells_its_queue_two_hundred_times() {
        assert_eq!(check_events(MAX_QUEUE_EVENTS - 1), Ok(()));
        let refused = check_events(MAX_QUEUE_EVENTS).unwrap_err();
        assert_eq!((refused.code.status(), refused.retry_after_s), (429, Some(QUEUE_RETRY_S)));
        assert!(refused.detail.contains("when the turn has ended"), "{}", refused.detail);
    }

    #[test]
    fn a_refusal_is_waited_for_told_or_none_of_the_messages_business() {
        let after = |code, attempts| after_refusal(&ApiError::new(code, "why"), attempts);
        for code in [ErrorCode::TurnInProgress, ErrorCode::QueuedMessageNotFound, ErrorCode::ThreadNotFound] {
            assert_eq!(after(code, 0), AfterRefusal::Leave, "{code:?}");
        }
        for code in [ErrorCode::TooManyTurns, ErrorCode::Misconfigured, ErrorCode::Internal] {
            assert_eq!(after(code, 0), AfterRefusal::Again { wait_ms: place_ms(1) }, "{code:?}");
            assert_eq!(after(code, 9), AfterRefusal::Again { wait_ms: 30_000 }, "{code:?}");
            let note = StopNote::new(code.as_str(), "why");
            assert_eq!(after(code, u64::MAX), AfterRefusal::Fail(note), "{code:?}: for a week");
        }
        for code in [ErrorCode::QuotaExceeded, ErrorCode::InvalidRequest, ErrorCode::CollectionNotFound] {
            assert!(
                matches!(after(code, 0), AfterRefusal::Fail(note) if note.code == code.as_str()),
                "{code:?}"
            );
        }
    }
}
