//! The variable, and a run over storage in memory that fails, or loses its driver, at each of its calls.

use std::collections::BTreeMap;

use futures::FutureExt;

use super::{
    DAY_MS, Deleted, MERGES, Part, Retaining, Retention, Run, STEP_REQUESTS, Stage, drive, lease_until,
};

// Issue 23, 1
#[test]
fn the_variable_says_how_many_days_or_is_refused() {
    let default = Retention {
        usage: Some(400),
        errors: Some(30),
        audit: Some(400),
        anonymous: Some(30),
        threads: None,
    };
    for absent in [None, Some(""), Some(" "), Some("{}")] {
        assert_eq!(Retention::parse(absent), Ok(default.clone()), "{absent:?}");
    }
    let json = r#"{"usage":1,"errors":null,"audit":36500,"anonymous":31,"threads":365}"#;
    let all = Retention {
        usage: Some(1),
        errors: None,
        audit: Some(36_500),
        anonymous: Some(31),
        threads: Some(365),
    };
    assert_eq!(Retention::parse(Some(json)), Ok(all));
    for (json, says) in [
        (r#"{"usage":0}"#, "usage must be 1 to 36500 days"),
        (r#"{"audit":36501}"#, "audit must be"),
        (r#"{"anonymous":29}"#, "anonymous must be 30 to 36500 days"),
        (r#"{"threads":"365"}"#, ""),
        (r#"{"threads":-1}"#, ""),
        (r#"{"thread":365}"#, ""),
        ("[]", ""),
        ("{", ""),
    ] {
        let problem = Retention::parse(Some(json)).unwrap_err();
        assert!(problem.contains("RETENTION") && problem.contains(says), "{json}: {problem}");
    }
}

/// When a call fails.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fault {
    Before(usize),
    After(usize),
}

const BEGAN: u64 = 1_000 * DAY_MS;

/// Ages in days, by part; and the run's row.
#[derive(Clone)]
struct Stores {
    ages: BTreeMap<usize, Vec<u64>>,
    segments: u64,
    saved: Run,
    ended: bool,
    fault: Option<Fault>,
    calls: usize,
    requests: u32,
    now: u64,
}

impl Stores {
    fn full() -> Self {
        let ages = (0..Part::ALL.len() - 1).map(|part| (part, vec![0, 29, 30, 399, 400, 500])).collect();
        let (stage, removed) = (Stage::default(), BTreeMap::new());
        let saved = Run { started_at: BEGAN, stage, removed, lease: 0, lease_until: 0, failures: 0 };
        Stores { ages, segments: 4, saved, ended: false, fault: None, calls: 0, requests: 0, now: BEGAN }
    }

    fn call<T>(&mut self, work: impl FnOnce(&mut Self) -> T) -> Result<T, &'static str> {
        self.calls += 1;
        self.requests += 1;
        if self.fault == Some(Fault::Before(self.calls)) {
            return Err("before");
        }
        let done = work(self);
        match self.fault == Some(Fault::After(self.calls)) {
            true => Err("after"),
            false => Ok(done),
        }
    }

    fn take(&mut self) -> Option<Run> {
        if self.ended || self.saved.lease_until > self.now {
            return None;
        }
        (self.saved.lease, self.saved.lease_until) = (self.saved.lease + 1, lease_until(self.now));
        self.requests = 0;
        Some(self.saved.clone())
    }

    /// Drives the run to its end, with so many requests at a time.
    fn drive_to_end(&mut self, requests: u32) {
        for _ in 0..300 {
            if self.ended {
                return;
            }
            if let Some(mut run) = self.take() {
                let _ = drive(self, &Retention::default(), &mut run, requests).now_or_never().unwrap();
                assert!(self.requests <= requests.max(STEP_REQUESTS) + 1);
            }
            self.now = self.now.max(self.saved.lease_until);
        }
        panic!("the run does not end: {:?}", self.saved);
    }

    fn assert_done(&self, how: &str) {
        assert!(self.ended && self.segments == 1, "{how}");
        let (month, year) = (vec![0, 29], vec![0, 29, 30, 399]);
        let left = [&month, &month, &vec![0, 29, 30, 399, 400, 500], &year, &year, &month, &year];
        for (part, left) in left.into_iter().enumerate() {
            assert_eq!(&self.ages[&part], left, "{how}: {:?}", Part::ALL[part]);
        }
    }
}

impl Retaining for Stores {
    type Error = &'static str;

    async fn step(&mut self, run: &Run, until: u64) -> Result<Deleted, &'static str> {
        let part = run.stage.part.place();
        self.call(|stores| {
            let Some(ages) = stores.ages.get_mut(&part) else {
                stores.segments = stores.segments.saturating_sub(1).max(1);
                return Deleted { count: 1, next: (stores.segments > 1).then(Vec::new) };
            };
            let is_old = |age: &u64| BEGAN - age * DAY_MS <= until;
            // One row at a time.
            match ages.iter().position(is_old) {
                None => Deleted::default(),
                Some(at) => Deleted { count: 1, next: Some(vec![ages.remove(at).to_string()]) },
            }
        })
    }

    async fn save(&mut self, run: &Run, from: u64) -> Result<(), &'static str> {
        self.call(|stores| {
            if stores.saved.lease == run.lease {
                stores.saved = Run { lease_until: from, ..run.clone() };
            }
        })
    }

    async fn end(&mut self, run: &Run) -> Result<(), &'static str> {
        self.call(|stores| (stores.saved, stores.ended) = (run.clone(), true))
    }

    fn requests(&self) -> u32 {
        self.requests
    }

    fn now(&self) -> u64 {
        self.now
    }
}

#[test]
fn a_run_deletes_what_is_as_old_as_its_limit_and_counts_it() {
    for requests in [STEP_REQUESTS, 45] {
        let mut stores = Stores::full();
        stores.drive_to_end(requests);
        stores.assert_done("without a fault");
        let removed = [
            ("audit", 2),
            ("error_log", 4),
            ("llm_usage", 2),
            ("merged", 3),
            ("tool_usage", 2),
            ("visitors", 8),
        ];
        let removed: BTreeMap<String, u64> =
            removed.into_iter().map(|(name, count)| (name.to_owned(), count)).collect();
        assert_eq!(stores.saved.removed, removed);
    }
}

#[test]
fn a_run_that_fails_or_is_killed_at_any_call_ends_in_the_same_state() {
    let mut whole = Stores::full();
    whole.drive_to_end(45);
    assert!(whole.calls > 25, "{}", whole.calls);
    for call in 1..=whole.calls {
        for fault in [Fault::Before(call), Fault::After(call)] {
            let mut stores = Stores { fault: Some(fault), ..Stores::full() };
            stores.drive_to_end(45);
            stores.assert_done(&format!("{fault:?}"));
        }
        // A driver that is gone in the middle of a call stores nothing: its lease runs out.
        let mut stores = Stores { fault: Some(Fault::After(call)), ..Stores::full() };
        let mut run = stores.take().unwrap();
        let (saved, lease) = (stores.saved.clone(), stores.saved.lease_until);
        let died = drive(&mut stores, &Retention::default(), &mut run, 45).now_or_never().unwrap().is_err();
        if died && !stores.ended {
            stores.saved = saved;
            assert_eq!(stores.take(), None, "somebody else may still own it");
            stores.now = lease;
        }
        stores.drive_to_end(45);
        stores.assert_done(&format!("killed at {call}"));
    }
}

#[test]
fn merging_is_bounded_in_a_run() {
    let mut stores = Stores { segments: 1_000, ..Stores::full() };
    stores.drive_to_end(45);
    assert_eq!(stores.saved.removed["merged"], MERGES as u64);
}
