//! Decides how a turn that has no run is taken up again: which step comes next, and what an outcome changes. Pure: it
//! never awaits, reads no clock and names no platform, so its tests run natively. `revive.rs` carries the steps out,
//! and awaits nothing between them: a request that comes next finds the turn running, on hold or ended.
//!
//! `attempts.rs` says when an attempt is made and how long the next one waits.
//!
//! A turn that cannot be rebuilt is on hold, parked or not. `platform/src/revival.rs` decides the steps of an attempt,
//! and `attempts.rs` says when the object tries it again and when it gives up; both are pure. Waits double up to ten
//! minutes. The alarm writes each attempt, and waits until the write is durable, before it makes the attempt. So an
//! attempt that takes the instance down counts. Wrong variables cost no attempt. Meanwhile clients can read everything
//! that is stored, and cancel, supersede or delete the turn. A turn that is given up ends as `interrupted`, with all
//! text that `storage/salvage.rs` can still read.
//!
//! The tables have a version (`storage/schema.rs`), which the object reads at the first touch in an instance. It
//! brings older tables up to date in one transaction, and leaves newer tables alone.

use super::attempts::{self, Cause, Next};
use crate::storage::Failing;
use crate::storage::turn::{Reason, TurnRow, TurnStatus};
use engine::journal::{Entry, Fact, TurnSpec};

/// The start of a turn, from its journal.
pub fn spec(entries: &[Entry]) -> Option<&TurnSpec> {
    entries.iter().find_map(|entry| match &entry.fact {
        Fact::Started(spec) => Some(spec.as_ref()),
        _ => None,
    })
}

/// How a turn is made anew from its journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Its run was lost: a new run goes on with it.
    Resume,
    /// It is parked or queued: it is rebuilt and does not run yet.
    Rebuild,
}

/// The next step of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Write the turn's row as [`Revival::turn`] has it. It counts the attempt, and stands outside the transaction of the
    /// rebuilding: a rebuilding that fails does not take it back.
    Begin,
    /// Set the alarm: the row of the running turn says when the next attempt is made.
    Watch,
    /// Make the turn anew; answered by [`Revival::rebuilt`].
    Rebuild(Way),
    /// Clear the failed attempts in the turn's row.
    Clear,
    /// Write the failed attempts into the turn's row, and bring the timer of the next attempt forward. A parked turn's
    /// timer stands at the end of its wait, which may be an hour away.
    Hold { failing: Failing, reason: Reason },
    /// End the turn with all text that the object holds of it.
    End,
    /// Stop; [`Revival::outcome`] has the outcome of the attempt.
    Done,
}

/// The outcome of an attempt to rebuild a turn. `R`: the run of the turn.
#[derive(Debug, PartialEq, Eq)]
pub enum Outcome<R> {
    Run(R),
    OnHold(TurnRow),
    GivenUp,
}

/// One attempt to take up a turn.
#[derive(Debug)]
pub struct Revival<R> {
    /// The turn's row as it will be.
    turn: TurnRow,
    way: Way,
    run: Option<R>,
    is_given_up: bool,
    step: Step,
}

impl<R> Revival<R> {
    /// An attempt at `now`, unless one has just failed. `turn` is the turn's row as it will be; `before`: how attempts
    /// failed, without one that the alarm has announced and that was not made.
    pub fn new(turn: TurnRow, before: Option<Failing>, way: Way, now: u64) -> Self {
        let mut revival = Revival { turn, way, run: None, is_given_up: false, step: Step::Done };
        match attempts::next(before, now) {
            Next::Wait(_) => {}
            Next::GiveUp => revival.give_up(now),
            Next::Try => {
                revival.turn.failing = Some(attempts::begun(before, now));
                revival.step = Step::Begin;
            }
        }
        revival
    }

    /// The outcome of an attempt that was made and has failed. `begun`: the attempt as it was counted.
    pub fn after_failure(turn: TurnRow, begun: Failing, cause: Cause, now: u64) -> Self {
        let turn = TurnRow { failing: Some(begun), ..turn };
        let mut revival =
            Revival { turn, way: Way::Rebuild, run: None, is_given_up: false, step: Step::Done };
        revival.rebuilt(Err(cause), now);
        revival
    }

    /// The turn's row as it is to be written.
    pub fn turn(&self) -> &TurnRow {
        &self.turn
    }

    /// The next step. Asking twice gives the same answer.
    pub fn next(&self) -> Step {
        self.step
    }

    /// A step is done that only writes. [`Step::Rebuild`] stays: it needs its answer.
    pub fn written(&mut self) {
        self.step = match self.step {
            Step::Begin if self.is_given_up => Step::End,
            Step::Begin => match self.way {
                // Should the rebuilding take the instance down, the alarm makes the next attempt.
                Way::Resume => Step::Watch,
                way @ Way::Rebuild => Step::Rebuild(way),
            },
            Step::Watch => Step::Rebuild(self.way),
            Step::Rebuild(way) => Step::Rebuild(way),
            Step::Clear | Step::Hold { .. } | Step::End | Step::Done => Step::Done,
        };
    }

    /// Takes the run, or the cause why the turn cannot be rebuilt: it then waits for the next attempt, or is given up.
    pub fn rebuilt(&mut self, run: Result<R, Cause>, now: u64) {
        let cause = match run {
            Ok(run) => {
                self.run = Some(run);
                self.step = Step::Clear;
                return;
            }
            Err(cause) => cause,
        };
        let failed = self.turn.failing.and_then(|begun| attempts::failed(begun, cause, now));
        let Some(failing) = failed else { return self.give_up(now) };
        self.turn.failing = Some(failing);
        let reason = match self.turn.status {
            TurnStatus::Parked => Reason::Parked,
            TurnStatus::Running | TurnStatus::Done => Reason::Turn,
        };
        self.step = Step::Hold { failing, reason };
    }

    /// The outcome of the attempt.
    pub fn outcome(self) -> Outcome<R> {
        match self.run {
            Some(run) => Outcome::Run(run),
            None if self.is_given_up => Outcome::GivenUp,
            None => Outcome::OnHold(self.turn),
        }
    }

    fn give_up(&mut self, now: u64) {
        // Should the storage refuse the end, the next attempt at it waits as long as any other.
        let again = attempts::begun(self.turn.failing, now);
        let attempts = again.attempts.max(attempts::MAX_ATTEMPTS);
        self.turn.failing = Some(Failing { attempts, ..again });
        self.is_given_up = true;
        self.step = Step::Begin;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: u64 = 1_800_000_000_000;
    const WEEK_MS: u64 = 7 * 86_400_000;

    fn failing(attempts: u32, retry_at_ms: u64) -> Failing {
        Failing { since_ms: NOW - 8_000, attempts, retry_at_ms }
    }

    fn turn(status: TurnStatus, failing: Option<Failing>) -> TurnRow {
        TurnRow {
            turn_id: "turn".to_owned(),
            status,
            generation: 2,
            resumptions: 1,
            assistant_message_id: "answer".to_owned(),
            seq_first: 1,
            seq_last: None,
            failing,
        }
    }

    /// The steps of an attempt whose rebuilding has this outcome, with the failed attempts in the row at each
    /// [`Step::Begin`], and the outcome of the attempt. The attempt ends after `until` steps at the latest, as it does
    /// when the storage refuses the step after them.
    fn steps(
        mut revival: Revival<&'static str>,
        run: Result<&'static str, Cause>,
        until: usize,
    ) -> (Vec<Step>, Vec<Option<Failing>>, Outcome<&'static str>) {
        let (mut steps, mut begun) = (Vec::new(), Vec::new());
        while steps.len() < until && revival.next() != Step::Done {
            let step = revival.next();
            assert_eq!(revival.next(), step, "asking changes nothing");
            steps.push(step);
            match step {
                Step::Rebuild(_) => revival.rebuilt(run, NOW),
                Step::Begin => {
                    begun.push(revival.turn().failing);
                    revival.written();
                }
                _ => revival.written(),
            }
        }
        (steps, begun, revival.outcome())
    }

    fn attempt(status: TurnStatus, before: Option<Failing>, way: Way) -> Revival<&'static str> {
        Revival::new(turn(status, before), before, way, NOW)
    }

    #[test]
    fn an_attempt_is_counted_before_it_is_made_and_forgotten_when_it_succeeds() {
        let first = Failing { since_ms: NOW, attempts: 1, retry_at_ms: NOW + 2_000 };
        let (running, parked) = (TurnStatus::Running, TurnStatus::Parked);
        let resumed = [Step::Begin, Step::Watch, Step::Rebuild(Way::Resume), Step::Clear];
        let done = steps(attempt(running, None, Way::Resume), Ok("run"), 100);
        assert_eq!(done, (resumed.to_vec(), vec![Some(first)], Outcome::Run("run")));
        // A parked turn and a queued one do not run yet, so the alarm does not watch over their run.
        let rebuilt = [Step::Begin, Step::Rebuild(Way::Rebuild), Step::Clear];
        for status in [parked, running] {
            let done = steps(attempt(status, None, Way::Rebuild), Ok("run"), 100);
            assert_eq!(done, (rebuilt.to_vec(), vec![Some(first)], Outcome::Run("run")));
        }
    }

    #[test]
    fn a_turn_that_cannot_be_read_waits_for_the_next_attempt() {
        let before = failing(2, NOW);
        let counted = Failing { attempts: 3, retry_at_ms: NOW + 8_000, ..before };
        let table = [
            (TurnStatus::Running, Way::Resume, Reason::Turn),
            (TurnStatus::Running, Way::Rebuild, Reason::Turn),
            (TurnStatus::Parked, Way::Rebuild, Reason::Parked),
        ];
        for (status, way, reason) in table {
            let mut expected = vec![Step::Begin, Step::Rebuild(way), Step::Hold { failing: counted, reason }];
            if way == Way::Resume {
                expected.insert(1, Step::Watch);
            }
            let done = steps(attempt(status, Some(before), way), Err(Cause::Unreadable), 100);
            let held = Outcome::OnHold(turn(status, Some(counted)));
            assert_eq!(done, (expected, vec![Some(counted)], held));
        }
    }

    #[test]
    fn a_wrong_configuration_takes_the_attempt_back() {
        let before = failing(2, NOW);
        let revival = attempt(TurnStatus::Parked, Some(before), Way::Rebuild);
        let (done, begun, outcome) = steps(revival, Err(Cause::Misconfigured), 100);
        let held = Failing { retry_at_ms: NOW + 8_000, ..before };
        assert_eq!(begun, [Some(Failing { attempts: 3, ..held })]);
        assert_eq!(done[2], Step::Hold { failing: held, reason: Reason::Parked });
        assert_eq!(outcome, Outcome::OnHold(turn(TurnStatus::Parked, Some(held))));
    }

    #[test]
    fn before_its_time_no_attempt_is_made() {
        let before = failing(2, NOW + 1);
        let done = steps(attempt(TurnStatus::Running, Some(before), Way::Resume), Ok("run"), 100);
        assert_eq!(done, (vec![], vec![], Outcome::OnHold(turn(TurnStatus::Running, Some(before)))));
    }

    // The last attempt took the instance down, or fails now. The row of a turn that is given up keeps the most
    // attempts: if the storage refuses the end, no further rebuilding is tried.
    #[test]
    fn a_turn_that_failed_too_often_ends() {
        let most = failing(attempts::MAX_ATTEMPTS, NOW);
        let lost = attempt(TurnStatus::Running, Some(most), Way::Resume);
        let given_up = Failing { attempts: attempts::MAX_ATTEMPTS + 1, retry_at_ms: NOW + 8_000, ..most };
        let done = steps(lost, Ok("run"), 100);
        assert_eq!(done, (vec![Step::Begin, Step::End], vec![Some(given_up)], Outcome::GivenUp));

        let last = failing(attempts::MAX_ATTEMPTS - 1, NOW);
        let revival = attempt(TurnStatus::Parked, Some(last), Way::Rebuild);
        let (done, begun, outcome) = steps(revival, Err(Cause::Unreadable), 100);
        assert_eq!(done, [Step::Begin, Step::Rebuild(Way::Rebuild), Step::Begin, Step::End]);
        let counted = Failing { attempts: attempts::MAX_ATTEMPTS, retry_at_ms: NOW + 8_000, ..last };
        assert_eq!(begun, [Some(counted), Some(given_up)]);
        assert_eq!(outcome, Outcome::GivenUp);
    }

    #[test]
    fn a_wrong_configuration_is_waited_for_a_week() {
        for (since_ms, held) in [(NOW - WEEK_MS + 1, true), (NOW - WEEK_MS, false)] {
            let before = Failing { since_ms, attempts: 0, retry_at_ms: NOW };
            let revival = attempt(TurnStatus::Running, Some(before), Way::Resume);
            let (done, begun, outcome) = steps(revival, Err(Cause::Misconfigured), 100);
            assert_eq!(matches!(outcome, Outcome::OnHold(_)), held);
            if !held {
                assert_eq!(done[3..], [Step::Begin, Step::End]);
                assert_eq!(begun[1].map(|failing| failing.attempts), Some(attempts::MAX_ATTEMPTS));
            }
        }
    }

    // The alarm counted this attempt before it made it: the row says one more than was made.
    #[test]
    fn an_announced_attempt_counts_once() {
        let before = failing(2, NOW);
        let announced = attempts::announced(Some(before), NOW);
        let row = turn(TurnStatus::Running, Some(announced));
        let (_, begun, _) = steps(Revival::new(row, Some(before), Way::Resume, NOW), Ok("run"), 100);
        assert_eq!(begun, [Some(announced)]);
    }

    #[test]
    fn an_expiry_that_cannot_be_written_is_an_attempt_that_failed() {
        let expiring = |attempts, cause| {
            let begun = failing(attempts, NOW + 8_000);
            let revival = Revival::after_failure(turn(TurnStatus::Parked, None), begun, cause, NOW);
            (begun, steps(revival, Ok("no rebuilding follows"), 100))
        };
        let (begun, done) = expiring(3, Cause::Unreadable);
        let hold = Step::Hold { failing: begun, reason: Reason::Parked };
        let held = Outcome::OnHold(turn(TurnStatus::Parked, Some(begun)));
        assert_eq!(done, (vec![hold], vec![], held));
        let (_, (steps, _, outcome)) = expiring(attempts::MAX_ATTEMPTS, Cause::Unreadable);
        assert_eq!((steps, outcome), (vec![Step::Begin, Step::End], Outcome::GivenUp));
    }

    // The storage may refuse any step: the attempt ends there, and nothing after it is done.
    #[test]
    fn an_attempt_that_the_storage_ends_has_done_the_steps_before_and_no_other() {
        let last = failing(attempts::MAX_ATTEMPTS - 1, NOW);
        let revival = || attempt(TurnStatus::Running, Some(last), Way::Resume);
        let (whole, ..) = steps(revival(), Err(Cause::Unreadable), 100);
        assert_eq!(whole.len(), 5);
        for until in 0..whole.len() {
            assert_eq!(steps(revival(), Err(Cause::Unreadable), until).0, whole[..until]);
        }
    }
}
