//! Decides in which steps the outbox is drained, and how an outcome changes them. Pure: it never awaits, reads no clock
//! and holds no rows, so its tests run natively. `alarm.rs` carries the steps out.
//!
//! The machine sends one parcel after another. Parcels come in the order of [`Store::parcel`](crate::storage): the rows
//! that D1 refused least come first. [`Step::Tell`] is the only step that awaits, so everything that follows one answer
//! of D1 is written before anything else runs in the object.

use crate::storage::StoreError;
use crate::storage::outgoing::retry_after_ms;

/// The rows of one parcel, by their ids.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Batch {
    pub ids: Vec<u64>,
    /// How often D1 refused the first of them.
    pub attempts: u32,
}

/// The next step of a drain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Read the parcel that is told next; answered by [`Drain::read`].
    Read,
    /// Tell D1 the rows of the parcel; answered by [`Drain::answered`].
    Tell(Batch),
    /// D1 took these rows: delete them.
    Delete(Vec<u64>),
    /// Trim the events of old turns, which a delivery may have released.
    Trim,
    /// Report that D1 refused. It comes before the refusal is counted: the service reports nothing while a refusal
    /// stands in the outbox, so an outage is reported once, when D1 is back.
    Report { batch: Batch, error: StoreError },
    /// Count the refusal of these rows.
    Count(Batch),
    /// Set the timer of the outbox to so many milliseconds from now, and the alarm by the timers.
    Retry(Retry),
    /// Clear the timer of the outbox, since no refused row is left, and set the alarm by the rows that become due later.
    Rest,
    /// Stop.
    Done,
}

/// When the outbox asks D1 again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retry {
    pub wait_ms: u64,
    /// Whether an earlier timer stays: this drain has set it for another refused parcel.
    pub keep_earlier: bool,
}

/// One drain of the outbox.
#[derive(Debug)]
pub struct Drain {
    step: Step,
    /// Whether D1 may be asked for rows that it has refused: the alarm says that it is time, or D1 has just taken
    /// other rows.
    willing: bool,
    /// Whether D1 took rows in this drain.
    took: bool,
    /// The rows that D1 refused in this drain.
    refused: Vec<u64>,
}

impl Drain {
    /// `due`: the alarm says that it is time. Otherwise a D1 that has refused rows is left alone until then.
    pub fn new(due: bool) -> Self {
        Drain { step: Step::Read, willing: due, took: false, refused: Vec::new() }
    }

    /// The next step. Asking twice gives the same answer.
    pub fn next(&self) -> &Step {
        &self.step
    }

    /// Takes the parcel that was read; none where nothing is due.
    pub fn read(&mut self, batch: Option<Batch>) {
        self.step = match batch {
            None => Step::Rest,
            // The timer stands at its retry already.
            Some(batch) if batch.attempts > 0 && !self.willing => Step::Done,
            // Every row that is left was refused in this drain.
            Some(batch) if batch.ids.iter().any(|id| self.refused.contains(id)) => Step::Done,
            Some(batch) => Step::Tell(batch),
        };
    }

    /// Takes D1's answer to a parcel.
    pub fn answered(&mut self, batch: Batch, answer: Result<(), StoreError>) {
        self.step = match answer {
            Ok(()) => {
                (self.willing, self.took) = (true, true);
                Step::Delete(batch.ids)
            }
            Err(error) => Step::Report { batch, error },
        };
    }

    /// A step is done that only writes. [`Step::Read`] and [`Step::Tell`] stay: each needs its answer.
    pub fn written(&mut self) {
        self.step = match std::mem::replace(&mut self.step, Step::Done) {
            Step::Delete(_) => Step::Trim,
            Step::Trim => Step::Read,
            Step::Report { batch, .. } => Step::Count(batch),
            Step::Count(batch) => {
                let wait_ms = retry_after_ms(batch.attempts.saturating_add(1));
                let keep_earlier = !self.refused.is_empty();
                self.refused.extend(batch.ids);
                Step::Retry(Retry { wait_ms, keep_earlier })
            }
            // A D1 that takes other rows is up: the rows after this parcel need not wait.
            Step::Retry(_) if self.took => Step::Read,
            Step::Retry(_) | Step::Rest | Step::Done => Step::Done,
            step @ (Step::Read | Step::Tell(_)) => step,
        };
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use super::*;

    fn batch(ids: &[u64], attempts: u32) -> Batch {
        Batch { ids: ids.to_vec(), attempts }
    }

    fn refusal() -> StoreError {
        StoreError("D1 did not answer".to_owned())
    }

    /// The steps of a drain that reads these parcels, of which D1 refuses those that begin with a row of `refuses`. The
    /// drain ends at step number `until` at the latest, as it does when the storage refuses that step.
    fn steps_until(until: usize, due: bool, parcels: &[Batch], refuses: &[u64]) -> Vec<Step> {
        let (mut drain, mut steps) = (Drain::new(due), Vec::new());
        let mut parcels: VecDeque<_> = parcels.iter().cloned().collect();
        while steps.len() < until {
            let step = drain.next().clone();
            assert_eq!(drain.next(), &step, "asking changes nothing");
            steps.push(step.clone());
            match step {
                Step::Done => return steps,
                Step::Read => drain.read(parcels.pop_front()),
                Step::Tell(batch) => {
                    let refused = batch.ids.first().is_some_and(|id| refuses.contains(id));
                    drain.answered(batch, if refused { Err(refusal()) } else { Ok(()) });
                }
                _ => drain.written(),
            }
        }
        steps
    }

    fn steps(due: bool, parcels: &[Batch], refuses: &[u64]) -> Vec<Step> {
        steps_until(100, due, parcels, refuses)
    }

    fn taken(batch: Batch) -> Vec<Step> {
        vec![Step::Read, Step::Tell(batch.clone()), Step::Delete(batch.ids), Step::Trim]
    }

    fn refused(batch: Batch, wait_ms: u64, keep_earlier: bool) -> Vec<Step> {
        vec![
            Step::Read,
            Step::Tell(batch.clone()),
            Step::Report { batch: batch.clone(), error: refusal() },
            Step::Count(batch),
            Step::Retry(Retry { wait_ms, keep_earlier }),
        ]
    }

    #[test]
    fn the_parcels_go_one_after_another_and_then_the_timer_stands_at_the_next_row() {
        let (first, second) = (batch(&[1, 2], 0), batch(&[3], 0));
        let expected =
            [taken(first.clone()), taken(second.clone()), vec![Step::Read, Step::Rest, Step::Done]];
        assert_eq!(steps(false, &[first, second], &[]), expected.concat());
        assert_eq!(steps(false, &[], &[]), [Step::Read, Step::Rest, Step::Done]);
    }

    #[test]
    fn a_refusal_ends_the_drain_unless_d1_took_other_rows() {
        let (first, second) = (batch(&[1], 0), batch(&[2], 0));
        let parcels = [first.clone(), second.clone()];
        let stopped = [refused(first.clone(), 2_000, false), vec![Step::Done]].concat();
        assert_eq!(steps(false, &parcels, &[1]), stopped);
        assert_eq!(steps(true, &parcels, &[1]), stopped);
        let third = batch(&[3], 0);
        let skipped = [
            taken(first.clone()),
            refused(second.clone(), 2_000, false),
            taken(third.clone()),
            vec![Step::Read, Step::Rest, Step::Done],
        ];
        assert_eq!(steps(false, &[first, second, third], &[2]), skipped.concat());
    }

    #[test]
    fn a_second_refused_parcel_keeps_the_earlier_timer() {
        let parcels = [batch(&[1], 0), batch(&[2], 0), batch(&[3], 4)];
        let expected = [
            taken(parcels[0].clone()),
            refused(parcels[1].clone(), 2_000, false),
            refused(parcels[2].clone(), 32_000, true),
            vec![Step::Read, Step::Rest, Step::Done],
        ];
        assert_eq!(steps(false, &parcels, &[2, 3]), expected.concat());
    }

    #[test]
    fn rows_that_this_drain_has_refused_are_not_told_again() {
        let again = batch(&[2, 4], 1);
        let parcels = [batch(&[1], 0), batch(&[2, 3], 0), again];
        let expected = [
            taken(parcels[0].clone()),
            refused(parcels[1].clone(), 2_000, false),
            vec![Step::Read, Step::Done],
        ];
        assert_eq!(steps(true, &parcels, &[2]), expected.concat());
    }

    // While D1 is down, its timer alone decides when the thread asks it again; once D1 takes rows it gets the refused
    // ones too.
    #[test]
    fn refused_rows_wait_for_the_alarm_or_for_a_delivery() {
        let (fresh, old) = (batch(&[9], 0), batch(&[1], 5));
        assert_eq!(steps(false, std::slice::from_ref(&old), &[]), [Step::Read, Step::Done]);
        let rest = vec![Step::Read, Step::Rest, Step::Done];
        let alarm = [taken(old.clone()), rest.clone()].concat();
        assert_eq!(steps(true, std::slice::from_ref(&old), &[]), alarm);
        let after = [taken(fresh.clone()), taken(old.clone()), rest].concat();
        assert_eq!(steps(false, &[fresh, old], &[]), after);
    }

    #[test]
    fn the_wait_after_a_refusal_follows_the_number_of_refusals() {
        for (attempts, wait_ms) in
            [(0, 2_000), (1, 4_000), (5, 60_000), (64, 3_600_000), (u32::MAX, 3_600_000)]
        {
            let parcel = batch(&[1], attempts);
            let expected = [refused(parcel.clone(), wait_ms, false), vec![Step::Done]].concat();
            assert_eq!(steps(true, &[parcel], &[1]), expected, "{attempts}");
        }
    }

    // The storage may refuse any step, and the drain ends there. It deletes only rows that D1 has taken, and counts
    // only refusals that it has reported.
    #[test]
    fn a_drain_that_the_storage_ends_has_done_the_steps_before_and_no_other() {
        let parcels = [batch(&[1], 0), batch(&[2], 0), batch(&[3], 0)];
        let whole = steps(true, &parcels, &[2]);
        for until in 0..whole.len() {
            assert_eq!(steps_until(until, true, &parcels, &[2]), whole[..until]);
        }
    }

    #[test]
    fn reading_and_telling_need_their_answers() {
        let mut drain = Drain::new(true);
        drain.written();
        assert_eq!(drain.next(), &Step::Read);
        drain.read(Some(batch(&[1], 0)));
        drain.written();
        assert_eq!(drain.next(), &Step::Tell(batch(&[1], 0)));
    }
}
