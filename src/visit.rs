//! A visit of the cron trigger: it carries on the work that no request waits for. Each drive of it has so many requests, which
//! the retention and the erasures share. Pure: `routes::carry_on` does the work.

use crate::account::erasure;
use crate::retention;

/// The requests of the retention that find out whether there is a run to drive, and store where it stands.
pub const AROUND: u32 = 3;
/// The requests that the retention has in each drive before the erasures get theirs: its longest step. So many erasures delay
/// it, and do not stop it. Most of its steps are a request, and where nothing is too old it needs one.
pub const RETENTION_SHARE: u32 = retention::STEP_REQUESTS + AROUND;

// The erasures have a step in each drive, too: to forget the old ones, to take one, its step, and to store its stage.
const _: () = assert!(RETENTION_SHARE + erasure::STEP_REQUESTS + 3 <= erasure::DRIVE_REQUESTS);

/// How far a part of the work has come within its requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Driven {
    /// The requests that are left.
    pub left: u32,
    /// There is no work now. A failure counts as that: the next visit tries again.
    pub is_idle: bool,
}

/// A part of the work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    Retention,
    Erasures,
}

/// Makes a visit of at most so many drives. `drive` does a part of the work with at most so many requests.
pub async fn visit(drives: u32, mut drive: impl AsyncFnMut(Work, u32) -> Driven) {
    let (mut retention_idle, mut erasures_idle) = (false, false);
    for _ in 0..drives {
        let mut left = erasure::DRIVE_REQUESTS;
        for (work, most) in [
            (Work::Retention, RETENTION_SHARE),
            (Work::Erasures, erasure::DRIVE_REQUESTS),
            (Work::Retention, erasure::DRIVE_REQUESTS),
        ] {
            let is_idle = if work == Work::Retention { &mut retention_idle } else { &mut erasures_idle };
            if *is_idle {
                continue;
            }
            let given = left.min(most);
            let driven = drive(work, given).await;
            left -= given.saturating_sub(driven.left);
            *is_idle = driven.is_idle;
        }
        if retention_idle && erasures_idle {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::{Driven, RETENTION_SHARE, Work, visit};
    use crate::account::erasure::DRIVE_REQUESTS;

    /// The drives of a visit: the work, the requests that it had, and those that it used.
    fn drives(most: u32, mut work: impl FnMut(Work, u32) -> Driven) -> Vec<(Work, u32, u32)> {
        let mut all = Vec::new();
        let visit = visit(most, async |of, requests| {
            let driven = work(of, requests);
            all.push((of, requests, requests - driven.left));
            driven
        });
        visit.now_or_never().expect("no work waits");
        all
    }

    fn used(all: &[(Work, u32, u32)], of: Work) -> u32 {
        all.iter().filter(|(work, ..)| *work == of).map(|(_, _, used)| used).sum()
    }

    // Issue 42, M4: erasures without end kept the retention from every step.
    #[test]
    fn both_go_on_in_each_visit_however_much_there_is_to_do() {
        for most in [1, 20] {
            let all = drives(most, |_, _| Driven { left: 0, is_idle: false });
            assert_eq!(used(&all, Work::Retention), most * RETENTION_SHARE);
            assert_eq!(used(&all, Work::Erasures), most * (DRIVE_REQUESTS - RETENTION_SHARE));
        }
    }

    #[test]
    fn what_one_leaves_is_the_others() {
        // The retention makes a short step, and the erasures have all the rest of the drive.
        let short = |work, requests: u32| {
            let left = if work == Work::Retention { requests.saturating_sub(3) } else { 0 };
            Driven { left, is_idle: false }
        };
        let rest = DRIVE_REQUESTS - 3;
        let expected =
            [(Work::Retention, RETENTION_SHARE, 3), (Work::Erasures, rest, rest), (Work::Retention, 0, 0)];
        assert_eq!(drives(1, short), expected);
        // There is nothing to erase.
        let alone = drives(2, |work, requests| match work {
            Work::Retention => Driven { left: 0, is_idle: false },
            Work::Erasures => Driven { left: requests - 2, is_idle: true },
        });
        assert_eq!(used(&alone, Work::Retention), 2 * DRIVE_REQUESTS - 2);
        assert_eq!(alone.iter().filter(|(work, ..)| *work == Work::Erasures).count(), 1);
    }

    #[test]
    fn a_visit_ends_when_nothing_is_to_be_done() {
        let idle = |_, requests: u32| Driven { left: requests - 1, is_idle: true };
        assert_eq!(drives(20, idle), [(Work::Retention, RETENTION_SHARE, 1), (Work::Erasures, 44, 1)]);
    }
}
