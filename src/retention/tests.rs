//! The variable, and a run over storage in memory that fails, or loses its driver, at each of its calls.

use std::collections::BTreeMap;

use super::{DAY_MS, MERGES, Part, Retention, STEP_REQUESTS, Stage, drive};
use crate::job::Job;
use crate::job::testing::{self, Data, STARTED_AT, assert_faults, assert_limits};

type Deleted = crate::job::Deleted<Vec<String>>;
type Stores = testing::Stores<Ages>;

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

// A visitor without a row is erased once a run is as old as their limit, so such a run must still be there.
#[test]
fn runs_are_kept_for_longer_than_visitors() {
    for (anonymous, days) in
        [(None, 400), (Some(30), 400), (Some(398), 400), (Some(399), 401), (Some(36_500), 36_502)]
    {
        let retention = Retention { anonymous, ..Retention::default() };
        assert_eq!(retention.kept_ms(), days * DAY_MS, "{anonymous:?}");
    }
}

/// Ages in days, by the part's place; and the segments of the index.
struct Ages {
    ages: BTreeMap<usize, Vec<u64>>,
    segments: u64,
}

impl Data for Ages {
    type Stage = Stage;
    const REQUESTS: u32 = 45;

    fn full() -> Self {
        let ages = (0..Part::ALL.len() - 1).map(|part| (part, vec![0, 29, 30, 399, 400, 500])).collect();
        Ages { ages, segments: 4 }
    }

    async fn drive(stores: &mut Stores, run: &mut Job<Stage>) -> Result<Option<u64>, &'static str> {
        let most = stores.most_requests;
        drive(stores, &Retention::default(), run, most, Stores::delete).await
    }

    fn assert_done(stores: &Stores, how: &str) {
        assert!(stores.ended && stores.data.segments == 1, "{how}");
        let (month, year) = (vec![0, 29], vec![0, 29, 30, 399]);
        let left = [&month, &month, &vec![0, 29, 30, 399, 400, 500], &year, &year, &month, &year];
        for (part, left) in left.into_iter().enumerate() {
            assert_eq!(&stores.data.ages[&part], left, "{how}: {:?}", Part::ALL[part]);
        }
    }
}

impl Stores {
    async fn delete(&mut self, stage: &Stage, until: u64) -> Result<Deleted, &'static str> {
        let place = Part::ALL.iter().position(|(part, _)| *part == stage.part).unwrap();
        self.call(|stores| {
            let Ages { ages, segments } = &mut stores.data;
            let Some(ages) = ages.get_mut(&place) else {
                *segments = segments.saturating_sub(1).max(1);
                return Deleted { count: 1, next: (*segments > 1).then(Vec::new) };
            };
            let is_old = |age: &u64| STARTED_AT - age * DAY_MS <= until;
            // One row at a time.
            match ages.iter().position(is_old) {
                None => Deleted::default(),
                Some(at) => Deleted { count: 1, next: Some(vec![ages.remove(at).to_string()]) },
            }
        })
    }
}

#[test]
fn a_run_deletes_what_is_as_old_as_its_limit_and_counts_it() {
    for most_requests in [STEP_REQUESTS, 45] {
        let mut stores = Stores { most_requests, ..Stores::full() };
        stores.drive_to_end();
        Data::assert_done(&stores, "without a fault");
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
    assert_faults::<Ages>(25);
}

#[test]
fn a_driver_begins_no_step_that_its_requests_or_its_lease_may_not_allow() {
    assert_limits::<Ages>(STEP_REQUESTS);
}

#[test]
fn merging_is_bounded_in_a_run() {
    let mut stores = Stores::full();
    stores.data.segments = 1_000;
    stores.drive_to_end();
    assert_eq!(stores.saved.removed["merged"], MERGES as u64);
}
