//! A job over storage in memory that fails, or loses its driver, at each of its calls; and the statements on real tables.

use std::collections::{BTreeMap, BTreeSet};

use wire::protocol::Owner;

use super::{
    Begun, BegunRow, Confirmation, DRIVE_REQUESTS, Erasing, MAX_LEFT, SETTLE_MS, STEP_REQUESTS, Stage,
    Threads, drive, receipt,
};
use crate::account::kinds::{self, Rows};
use crate::auth::seen::FRESH_MS;
use crate::body::{BODY_MS, WORK_MS};
use crate::job::testing::{self, Data, STARTED_AT, assert_faults, assert_limits, assert_waits};
use crate::job::{Job, LEASE_MS};

type Deleted = crate::job::Deleted<String>;
type Stores = testing::Stores<Users>;

/// The data of two users.
struct Users {
    owner: Owner,
    threads: BTreeSet<String>,
    vectors: BTreeSet<String>,
    files: BTreeMap<String, u64>,
    rows: BTreeMap<String, u64>,
    others: u64,
    /// The threads whose objects fail.
    stuck: BTreeSet<String>,
}

impl Data for Users {
    type Stage = Stage;
    const REQUESTS: u32 = DRIVE_REQUESTS;

    fn full() -> Self {
        let owner = Owner { issuer: "key".to_owned(), tenant: "acme".to_owned(), user: "ada".to_owned() };
        let rows = kinds::of_users().map(|(table, rows)| (table.to_owned(), u64::from(rows.at_once) + 1));
        let files = kinds::of_owner(&owner).into_iter().map(|folder| (folder.prefix, 3));
        Users {
            threads: (0..7).map(|n| format!("t{n}")).collect(),
            vectors: (0..3).map(|n| format!("d{n}")).collect(),
            files: files.collect(),
            rows: rows.collect(),
            others: 5,
            stuck: BTreeSet::new(),
            owner,
        }
    }

    async fn drive(stores: &mut Stores, job: &mut Job<Stage>) -> Result<Option<u64>, &'static str> {
        drive(stores, job).await
    }

    fn assert_done(stores: &Stores, how: &str) {
        let Users { threads, vectors, files, rows, others, .. } = &stores.data;
        assert!(stores.ended, "{how}");
        assert!(threads.is_empty() && vectors.is_empty(), "{how}: {threads:?}");
        assert!(files.values().chain(rows.values()).all(|left| *left == 0), "{how}: {rows:?}");
        assert_eq!(*others, 5, "{how}");
        assert!(stores.now >= stores.saved.started_at + SETTLE_MS, "{how}: too early");
    }
}

fn some(set: &mut BTreeSet<String>, after: &str, most: usize) -> Deleted {
    let ids: Vec<String> = set.iter().filter(|id| id.as_str() > after).take(most).cloned().collect();
    set.retain(|id| !ids.contains(id));
    let next = (ids.len() == most).then(|| ids.last().cloned()).flatten();
    Deleted { count: ids.len() as u64, next }
}

fn few(left: &mut u64, most: u64) -> Deleted {
    let count = (*left).min(most);
    *left -= count;
    Deleted { count, next: (count == most).then(String::new) }
}

impl Erasing for Stores {
    fn owner(&self) -> &Owner {
        &self.data.owner
    }

    async fn threads(&mut self, after: &str, left: &[String]) -> Result<Threads, &'static str> {
        self.call(|stores| {
            let Users { threads, stuck, .. } = &mut stores.data;
            let mut others = threads.clone();
            let Deleted { next, .. } = some(&mut others, after, 3);
            let found: Vec<String> =
                threads.difference(&others).filter(|id| !left.contains(id)).cloned().collect();
            let (failed, gone): (Vec<_>, Vec<_>) = found.into_iter().partition(|id| stuck.contains(id));
            threads.retain(|id| !gone.contains(id));
            match left.len() + failed.len() > MAX_LEFT {
                true => Err("a thread"),
                false => Ok(Threads { deleted: Deleted { count: gone.len() as u64, next }, failed }),
            }
        })?
    }

    async fn thread(&mut self, id: &str) -> Result<bool, &'static str> {
        self.call(|stores| match stores.data.stuck.contains(id) {
            true => Err("a thread"),
            false => {
                // Before it is gone it tells D1 of a turn.
                stores.data.rows.insert("llm_usage".to_owned(), 1);
                Ok(stores.data.threads.remove(id))
            }
        })?
    }

    async fn vectors(&mut self, after: &str) -> Result<Deleted, &'static str> {
        self.call(|stores| some(&mut stores.data.vectors, after, 2))
    }

    async fn files(&mut self, prefix: &str) -> Result<Deleted, &'static str> {
        self.call(|stores| few(stores.data.files.get_mut(prefix).unwrap(), 2))
    }

    async fn rows(&mut self, lease: u64, table: &str, rows: &Rows) -> Result<Deleted, &'static str> {
        assert!(table != "documents" || self.data.vectors.is_empty(), "the rows tell the vectors");
        assert_eq!(lease, self.saved.lease, "{table}");
        self.call(|stores| few(stores.data.rows.get_mut(table).unwrap(), rows.at_once.into()))
    }
}

// Issue 23, 4
#[test]
fn a_job_deletes_everything_of_its_user_in_two_sweeps() {
    let mut stores = Stores::full();
    stores.drive_to_end();
    Data::assert_done(&stores, "without a fault");
    let tables = kinds::of_users().map(|(table, rows)| (table.to_owned(), u64::from(rows.at_once) + 1));
    let mut expected: BTreeMap<String, u64> = tables.collect();
    expected.insert("files".to_owned(), 6);
    // The rows of threads in D1 are counted beside their objects.
    *expected.get_mut("threads").unwrap() += 7;
    assert_eq!(stores.saved.removed, expected);
}

#[test]
fn a_job_that_fails_or_is_killed_at_any_call_ends_in_the_same_state() {
    assert_faults::<Users>(40);
}

// Issue 42, H2: the longest way of a credential that was verified just before the job began to its last write. Ten seconds
// are those of a turn's end.
#[test]
fn the_second_sweep_begins_when_nobody_can_write_any_more() {
    const { assert!(FRESH_MS + BODY_MS + WORK_MS + 10_000 <= SETTLE_MS) };
}

#[test]
fn what_is_written_during_the_first_sweep_goes_with_the_second() {
    let mut stores = Stores::full();
    while stores.drive() != Ok(Some(STARTED_AT + SETTLE_MS)) {}
    assert_eq!(stores.take(), None, "the second sweep waits");
    stores.data.threads.insert("late".to_owned());
    stores.data.rows.insert("memories".to_owned(), 1);
    stores.now = STARTED_AT + SETTLE_MS;
    stores.drive_to_end();
    Data::assert_done(&stores, "late rows");
    assert_eq!(stores.take(), None, "a job that ended deletes nothing of the next life");
}

/// Drives a job so often, whatever fails.
fn drive_on(stores: &mut Stores, times: usize) {
    for _ in 0..times {
        let _ = stores.drive();
        stores.now = stores.now.max(stores.saved.lease_until) + LEASE_MS;
    }
}

#[test]
fn a_thread_whose_object_fails_each_time_holds_up_nothing_else() {
    let mut stores = Stores::full();
    stores.data.stuck = ["t1", "t4"].map(str::to_owned).into();
    drive_on(&mut stores, 60);
    let Users { threads, vectors, files, rows, stuck, .. } = &stores.data;
    assert_eq!((threads, stores.ended), (stuck, false));
    assert!(vectors.is_empty() && files.values().chain(rows.values()).all(|left| *left == 0));
    assert_eq!(stores.saved.stage.left.len(), 2);
    // One of them can be deleted again: the other one does not keep it.
    stores.data.stuck.remove("t4");
    drive_on(&mut stores, 4);
    assert_eq!((stores.data.threads.len(), &stores.saved.stage.left), (1, &vec!["t1".to_owned()]));
    stores.data.stuck.clear();
    stores.drive_to_end();
    Data::assert_done(&stores, "when both can be deleted");
    let threads = u64::from(kinds::of_users().find(|(table, _)| *table == "threads").unwrap().1.at_once) + 1;
    assert_eq!(stores.saved.removed["threads"], threads + 7, "each is counted once");
}

#[test]
fn a_job_waits_where_too_many_objects_fail() {
    for (count, goes_on) in [(MAX_LEFT, true), (MAX_LEFT + 1, false)] {
        let mut stores = Stores::full();
        stores.data.stuck = (0..count).map(|n| format!("s{n:03}")).collect();
        stores.data.threads.extend(stores.data.stuck.clone());
        drive_on(&mut stores, 100);
        assert_eq!(stores.data.vectors.is_empty(), goes_on, "{count}");
        assert!(!stores.ended && stores.saved.stage.left.len() <= MAX_LEFT);
    }
}

#[test]
fn a_job_that_the_retention_began_sweeps_once_when_no_credential_serves() {
    let mut stores = Stores::full();
    stores.saved.stage = Stage::of_expired();
    assert_eq!(stores.drive(), Ok(Some(STARTED_AT + SETTLE_MS)));
    assert_eq!((stores.calls, &stores.saved.stage), (1, &Stage::of_expired()), "it deletes nothing yet");
    stores.drive_to_end();
    Data::assert_done(&stores, "one sweep");
}

#[test]
fn a_driver_begins_no_step_that_its_requests_or_its_lease_may_not_allow() {
    assert_limits::<Users>(STEP_REQUESTS);
}

#[test]
fn a_step_that_fails_waits_longer_each_time() {
    assert_waits::<Users>();
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

// Issue 42, M4.
#[test]
fn a_request_begins_a_job_or_finds_nothing_or_says_why_not() {
    let outcome = |begun: &str, runs| {
        let rows: Vec<BegunRow> = wire::json::from_str(begun).unwrap();
        Begun::from_row(rows.first(), runs).map_err(|error| error.code.as_str())
    };
    assert_eq!(outcome(r#"[{"ended_at":null}]"#, true), Ok(Begun::Job));
    assert_eq!(outcome(r#"[{"ended_at":1000}]"#, false), Ok(Begun::Nothing));
    assert_eq!(outcome("[]", true), Err("erasure_in_progress"));
    assert_eq!(outcome("[]", false), Err("rate_limited"));
}
