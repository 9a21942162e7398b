//! A job over storage in memory that fails, or loses its driver, at each of its calls; and the statements on real tables.

use std::collections::{BTreeMap, BTreeSet};

use futures::FutureExt;
use wire::protocol::Owner;

use super::{
    Confirmation, DRIVE_REQUESTS, Deleted, Driven, Erasing, Job, LEASE_MS, SETTLE_MS, STEP_REQUESTS, Stage,
    drive, receipt, wait_ms,
};
use crate::account::kinds::{self, Rows};

fn owner() -> Owner {
    Owner { issuer: "key".to_owned(), tenant: "acme".to_owned(), user: "ada".to_owned() }
}

/// When a call fails.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fault {
    Before(usize),
    After(usize),
}

/// The data of two users, and the job's row.
#[derive(Clone)]
struct Stores {
    threads: BTreeSet<String>,
    vectors: BTreeSet<String>,
    files: BTreeMap<String, u64>,
    rows: BTreeMap<String, u64>,
    others: u64,
    saved: Job,
    ended: bool,
    /// The call that fails, and the calls so far.
    fault: Option<Fault>,
    calls: usize,
    requests: u32,
    now: u64,
}

impl Stores {
    fn full() -> Self {
        let rows = kinds::of_users().map(|(table, rows)| (table.to_owned(), u64::from(rows.at_once) + 1));
        let files = kinds::of_owner(&owner()).into_iter().map(|folder| (folder.prefix, 3));
        let saved = Job {
            owner: owner(),
            started_at: 1_000,
            stage: Stage::default(),
            removed: BTreeMap::new(),
            lease: 0,
            lease_until: 0,
            failures: 0,
        };
        Stores {
            threads: (0..7).map(|n| format!("t{n}")).collect(),
            vectors: (0..3).map(|n| format!("d{n}")).collect(),
            files: files.collect(),
            rows: rows.collect(),
            others: 5,
            saved,
            ended: false,
            fault: None,
            calls: 0,
            requests: 0,
            now: 1_000,
        }
    }

    /// A call of the job: fails before or after its work.
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

    fn take(&mut self) -> Option<Job> {
        if self.ended || self.saved.lease_until > self.now {
            return None;
        }
        (self.saved.lease, self.saved.lease_until) = (self.saved.lease + 1, self.now + LEASE_MS);
        self.requests = 0;
        Some(self.saved.clone())
    }

    /// Drives the job to its end. A drive that fails is repeated when its row says.
    fn drive_to_end(&mut self) -> usize {
        for drives in 1..200 {
            if self.ended {
                return drives;
            }
            let Some(mut job) = self.take() else {
                self.now = self.saved.lease_until;
                continue;
            };
            if let Ok(Driven::Done) = drive(self, &mut job).now_or_never().unwrap() {
                return drives;
            }
            assert!(self.requests <= DRIVE_REQUESTS);
            self.now = self.now.max(self.saved.lease_until);
        }
        panic!("the job does not end: {:?}", self.saved);
    }

    fn assert_gone(&self, how: &str) {
        assert!(self.ended, "{how}");
        assert!(self.threads.is_empty() && self.vectors.is_empty(), "{how}: {:?}", self.threads);
        assert!(
            self.files.values().chain(self.rows.values()).all(|left| *left == 0),
            "{how}: {:?}",
            self.rows
        );
        assert_eq!(self.others, 5, "{how}");
        assert!(self.now >= self.saved.started_at + SETTLE_MS, "{how}: too early");
    }
}

fn some(set: &mut BTreeSet<String>, after: &str, most: usize, gone: bool) -> Deleted {
    let ids: Vec<String> = set.iter().filter(|id| id.as_str() > after).take(most).cloned().collect();
    if gone {
        set.retain(|id| !ids.contains(id));
    }
    let next = (ids.len() == most).then(|| ids.last().cloned()).flatten();
    Deleted { count: ids.len() as u64, next }
}

fn few(left: &mut u64, most: u64) -> Deleted {
    let count = (*left).min(most);
    *left -= count;
    Deleted { count, next: (count == most).then(String::new) }
}

impl Erasing for Stores {
    type Error = &'static str;

    async fn threads(&mut self, job: &Job) -> Result<Deleted, &'static str> {
        self.call(|stores| some(&mut stores.threads, &job.stage.after, 3, true))
    }

    async fn vectors(&mut self, job: &Job) -> Result<Deleted, &'static str> {
        self.call(|stores| some(&mut stores.vectors, &job.stage.after, 2, true))
    }

    async fn files(&mut self, _: &Job, prefix: &str) -> Result<Deleted, &'static str> {
        self.call(|stores| few(stores.files.get_mut(prefix).unwrap(), 2))
    }

    async fn rows(&mut self, _: &Job, table: &str, rows: &Rows) -> Result<Deleted, &'static str> {
        assert!(table != "documents" || self.vectors.is_empty(), "the rows tell which vectors there are");
        self.call(|stores| few(stores.rows.get_mut(table).unwrap(), rows.at_once.into()))
    }

    async fn save(&mut self, job: &Job, from: u64) -> Result<(), &'static str> {
        self.call(|stores| {
            if stores.saved.lease == job.lease {
                stores.saved = Job { lease_until: from, ..job.clone() };
            }
        })
    }

    async fn end(&mut self, job: &Job) -> Result<(), &'static str> {
        self.call(|stores| {
            (stores.saved, stores.ended) = (job.clone(), true);
        })
    }

    fn requests(&self) -> u32 {
        self.requests
    }

    fn now(&self) -> u64 {
        self.now
    }
}

// Issue 23, 4
#[test]
fn a_job_deletes_everything_of_its_user_in_two_sweeps() {
    let mut stores = Stores::full();
    stores.drive_to_end();
    stores.assert_gone("without a fault");
    let tables = kinds::of_users().map(|(table, rows)| (table.to_owned(), u64::from(rows.at_once) + 1));
    let mut expected: BTreeMap<String, u64> = tables.collect();
    expected.insert("files".to_owned(), 6);
    // The rows of threads in D1 are counted beside their objects.
    *expected.get_mut("threads").unwrap() += 7;
    assert_eq!(stores.saved.removed, expected);
}

#[test]
fn a_job_that_fails_or_is_killed_at_any_call_ends_in_the_same_state() {
    let mut whole = Stores::full();
    whole.drive_to_end();
    assert!(whole.calls > 40, "{}", whole.calls);
    for call in 1..=whole.calls {
        for fault in [Fault::Before(call), Fault::After(call)] {
            let mut stores = Stores { fault: Some(fault), ..Stores::full() };
            stores.drive_to_end();
            stores.assert_gone(&format!("{fault:?}"));
        }
        // A driver that is gone in the middle of a call stores nothing: its lease runs out.
        let mut stores = Stores { fault: Some(Fault::After(call)), ..Stores::full() };
        let mut job = stores.take().unwrap();
        let (saved, lease) = (stores.saved.clone(), stores.saved.lease_until);
        if drive(&mut stores, &mut job).now_or_never().unwrap().is_err() {
            stores.saved = saved;
            assert_eq!(stores.take(), None, "somebody else may still own it");
            stores.now = lease;
        }
        stores.drive_to_end();
        stores.assert_gone(&format!("killed at {call}"));
    }
}

#[test]
fn what_is_written_during_the_first_sweep_goes_with_the_second() {
    let mut stores = Stores::full();
    let mut job = stores.take().unwrap();
    while drive(&mut stores, &mut job).now_or_never().unwrap() != Ok(Driven::Later(1_000 + SETTLE_MS)) {
        job = stores.take().unwrap();
    }
    assert_eq!(stores.take(), None, "the second sweep waits");
    stores.threads.insert("late".to_owned());
    stores.rows.insert("memories".to_owned(), 1);
    stores.now = 1_000 + SETTLE_MS;
    stores.drive_to_end();
    stores.assert_gone("late rows");
    assert_eq!(stores.take(), None, "a job that ended deletes nothing of the next life");
}

#[test]
fn a_driver_begins_no_step_that_its_requests_or_its_lease_may_not_allow() {
    let mut stores = Stores::full();
    let mut job = stores.take().unwrap();
    stores.requests = DRIVE_REQUESTS - STEP_REQUESTS + 1;
    assert_eq!(drive(&mut stores, &mut job).now_or_never().unwrap(), Ok(Driven::Later(1_000)));
    assert_eq!(stores.calls, 1, "it stores where the job stands");
    let mut job = stores.take().unwrap();
    stores.requests = DRIVE_REQUESTS - STEP_REQUESTS;
    assert_eq!(drive(&mut stores, &mut job).now_or_never().unwrap(), Ok(Driven::Later(1_000)));
    assert_eq!(stores.calls, 3, "one step, and the place behind it");
    let mut job = stores.take().unwrap();
    stores.now = job.lease_until;
    drive(&mut stores, &mut job).now_or_never().unwrap().unwrap();
    assert_eq!(stores.calls, 4);
}

#[test]
fn the_wait_after_failures_grows_to_ten_minutes() {
    let waits = [1, 2, 3, 9, 10, 11, u32::MAX].map(wait_ms);
    assert_eq!(waits, [2_000, 4_000, 8_000, 512_000, 600_000, 600_000, 600_000]);
}

#[test]
fn only_the_word_confirms_and_only_receipts_are_looked_up() {
    assert_eq!(Confirmation::check(br#"{"confirm":"erase"}"#), Ok(()));
    for (body, code, field) in [
        (r#"{"confirm":"yes"}"#, "invalid_request", Some("confirm")),
        (r#"{"confirm":"Erase"}"#, "invalid_request", Some("confirm")),
        (r#"{"confirm":true}"#, "invalid_request", Some("confirm")),
        ("{}", "invalid_request", None),
        ("", "invalid_json", None),
    ] {
        let error = Confirmation::check(body.as_bytes()).unwrap_err();
        assert_eq!(error.code.as_str(), code, "{body}");
        assert!(field.is_none() || error.field.as_deref() == field, "{body}: {error:?}");
    }
    assert_eq!(receipt(Some("0123456789abcdef0123456789abcdef")), Ok("0123456789abcdef0123456789abcdef"));
    for text in
        [None, Some(""), Some("0123456789abcdef0123456789abcde"), Some("g123456789abcdef0123456789abcdef")]
    {
        assert_eq!(receipt(text).unwrap_err().code.as_str(), "erasure_not_found", "{text:?}");
    }
}
