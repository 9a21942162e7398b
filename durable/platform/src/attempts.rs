//! When a turn that cannot be rebuilt is tried again, and when it is given up. Pure.
//!
//! Attempts are counted by time: the wait between two of them doubles, and requests in the meantime change nothing.

use crate::duties::driver::place_ms;
use crate::storage::Failing;

/// The shortest wait: as long as the alarm of a running turn stands ahead.
const FIRST_WAIT_MS: u64 = 2_000;
/// The longest wait. It limits how late a turn goes on after the operator has mended a deployment, and the alarms of a
/// turn that waits for a week (about a thousand).
const LONGEST_WAIT_MS: u64 = 600_000;
/// The attempts that count before a turn is given up. With these waits they take two and a half hours: time enough to
/// notice a bad deployment and to roll it back.
pub const MAX_ATTEMPTS: u32 = 24;
/// How long a turn waits for a deployment whose variables are wrong, and a queued turn for its place: a week has the
/// working days that mending takes, and no user waits longer for an answer.
const GIVE_UP_MS: u64 = 7 * 86_400_000;

/// The next act for a turn without a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    Try,
    /// Make no attempt before this time (milliseconds since 1970).
    Wait(u64),
    GiveUp,
}

/// Why an attempt failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// The operator's variables are wrong: no attempt at all.
    Misconfigured,
    /// The journal cannot be read, or the storage refuses.
    Unreadable,
}

/// Decides by the failures in the turn's row.
pub fn next(failing: Option<Failing>, now: u64) -> Next {
    match failing {
        Some(failing) if now < failing.retry_at_ms => Next::Wait(failing.retry_at_ms),
        // The last attempt took the instance down.
        Some(failing) if failing.attempts >= MAX_ATTEMPTS => Next::GiveUp,
        _ => Next::Try,
    }
}

/// The turn's row before an attempt: the attempt counts even if it takes the instance down.
pub fn begun(before: Option<Failing>, now: u64) -> Failing {
    let since_ms = before.map_or(now, |before| before.since_ms);
    let wait = now.saturating_sub(since_ms).clamp(FIRST_WAIT_MS, LONGEST_WAIT_MS);
    let attempts = before.map_or(0, |before| before.attempts).saturating_add(1);
    Failing { since_ms, attempts, retry_at_ms: now.saturating_add(wait) }
}

/// The row that the alarm has on disk before it begins an attempt. It is [`begun`], except that a first attempt which
/// is cut off delays the next one by nothing: most often a deploy or an eviction cut it off, and not the attempt itself.
pub fn announced(before: Option<Failing>, now: u64) -> Failing {
    let begun = begun(before, now);
    Failing { retry_at_ms: if before.is_none() { now } else { begun.retry_at_ms }, ..begun }
}

/// Whether a queued turn that was refused its place so often has waited for it for a week, and is given up.
pub fn queued_too_long(refusals: u64) -> bool {
    // Each wait has `FIRST_WAIT_MS` at least, so that more refusals than these are a week in any case.
    let counted = refusals.min(GIVE_UP_MS / FIRST_WAIT_MS);
    (1..=counted).map(place_ms).sum::<u64>() >= GIVE_UP_MS
}

/// The row after a failed attempt; none if the turn is given up.
pub fn failed(begun: Failing, cause: Cause, now: u64) -> Option<Failing> {
    match cause {
        Cause::Misconfigured if now.saturating_sub(begun.since_ms) >= GIVE_UP_MS => None,
        Cause::Misconfigured => Some(Failing { attempts: begun.attempts.saturating_sub(1), ..begun }),
        Cause::Unreadable => (begun.attempts < MAX_ATTEMPTS).then_some(begun),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: u64 = 1_800_000_000_000;

    /// Fails each attempt as soon as it may be made. When they were made, and when the turn was given up.
    fn always(cause: Cause) -> (Vec<u64>, u64) {
        let (mut now, mut failing, mut made) = (START, None, Vec::new());
        loop {
            match next(failing, now) {
                Next::Wait(until) => now = until,
                Next::GiveUp => return (made, now),
                Next::Try => {
                    made.push(now - START);
                    assert!(made.len() < 10_000, "it is never given up");
                    failing = failed(begun(failing, now), cause, now);
                    if failing.is_none() {
                        return (made, now);
                    }
                }
            }
        }
    }

    #[test]
    fn waits_double_up_to_ten_minutes_and_then_the_turn_is_given_up() {
        let (made, given_up) = always(Cause::Unreadable);
        assert_eq!(made[..6], [0, 2_000, 4_000, 8_000, 16_000, 32_000]);
        assert_eq!(made.len(), MAX_ATTEMPTS as usize);
        assert!(made.windows(2).all(|pair| pair[1] - pair[0] <= LONGEST_WAIT_MS));
        assert_eq!(given_up - START, made[made.len() - 1], "with its last attempt, not one wait later");
        assert!((2..3).contains(&((given_up - START) / 3_600_000)), "{given_up}");
    }

    #[test]
    fn a_wrong_configuration_is_no_attempt_and_is_waited_for_a_week() {
        let (made, given_up) = always(Cause::Misconfigured);
        assert!(made.len() > 1_000, "attempts are made all the time");
        assert!((GIVE_UP_MS..GIVE_UP_MS + LONGEST_WAIT_MS).contains(&(given_up - START)));
        // Once the operator has mended the deployment, all attempts are left.
        let almost = Failing { since_ms: START, attempts: 0, retry_at_ms: START };
        let mended = begun(Some(almost), START + GIVE_UP_MS - 1);
        assert_eq!(failed(mended, Cause::Unreadable, START + GIVE_UP_MS - 1), Some(mended));
        assert_eq!(mended.attempts, 1);
    }

    #[test]
    fn requests_in_the_meantime_do_not_count() {
        let failing = failed(begun(None, START), Cause::Unreadable, START);
        for later in 0..2_000 {
            assert_eq!(next(failing, START + later), Next::Wait(START + 2_000));
        }
        assert_eq!(next(failing, START + 2_000), Next::Try);
    }

    // The row counts an attempt before it is made, so an attempt that never comes back counts.
    #[test]
    fn an_attempt_that_takes_the_instance_down_counts() {
        let (mut now, mut failing) = (START, None);
        let mut made = 0;
        let given_up = loop {
            match next(failing, now) {
                Next::Wait(until) => now = until,
                Next::Try => {
                    made += 1;
                    assert!(made <= MAX_ATTEMPTS, "it is never given up");
                    failing = Some(begun(failing, now));
                }
                Next::GiveUp => break now,
            }
        };
        assert_eq!(made, MAX_ATTEMPTS);
        assert_eq!(failing.map(|failing| failing.retry_at_ms), Some(given_up));
    }

    // The alarm has the count on disk before it makes the attempt, so that a loop of attempts that take the instance
    // down ends.
    #[test]
    fn an_announced_attempt_counts_and_only_the_first_delays_nothing() {
        let first = announced(None, START);
        assert_eq!(first, Failing { since_ms: START, attempts: 1, retry_at_ms: START });
        assert_eq!(next(Some(first), START), Next::Try);
        let second = announced(Some(first), START + 2_000);
        assert_eq!(second, begun(Some(first), START + 2_000));
        assert_eq!(next(Some(second), START + 3_999), Next::Wait(START + 4_000));
        let before = Failing { attempts: MAX_ATTEMPTS - 1, ..second };
        let last = announced(Some(before), second.retry_at_ms);
        assert_eq!(next(Some(last), last.retry_at_ms - 1), Next::Wait(last.retry_at_ms));
        assert_eq!(next(Some(last), last.retry_at_ms), Next::GiveUp);
    }

    #[test]
    fn a_queued_turn_is_given_up_after_a_week_of_refusals() {
        // 2, 4, 8 and 16 s, then 30 s each.
        let week = 4 + (GIVE_UP_MS - 30_000).div_ceil(30_000);
        assert_eq!((1..=week).map(place_ms).sum::<u64>(), GIVE_UP_MS);
        assert!(!queued_too_long(0));
        assert!(!queued_too_long(week - 1));
        assert!(queued_too_long(week));
        assert!(queued_too_long(week + 1));
        assert!(queued_too_long(u64::MAX));
    }

    #[test]
    fn the_first_attempt_is_made_at_once() {
        assert_eq!(next(None, START), Next::Try);
        assert_eq!(begun(None, START), Failing { since_ms: START, attempts: 1, retry_at_ms: START + 2_000 });
    }
}
