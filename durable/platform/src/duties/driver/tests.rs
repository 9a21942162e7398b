//! Each order of answers, as the list of all that a run does.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

use futures::executor::block_on;

use super::*;

#[derive(Clone, Debug, PartialEq, Eq)]
enum Did {
    Next,
    Tell(u64),
    Took(Vec<u64>),
    Refused(Vec<u64>),
    Again { wait_ms: u64, keep_earlier: bool },
    Gone,
    Rest { any: bool },
}

use Did::{Again, Gone, Next, Refused, Rest, Tell, Took};

/// The events of a run, and its acts.
#[derive(Default)]
struct Script {
    /// The rows and attempts of the parcels that are read one after another.
    parcels: RefCell<VecDeque<(Vec<u64>, u32)>>,
    /// The first rows of the parcels that the other side refuses.
    refuses: Vec<u64>,
    /// Those of them that are then dropped.
    drops: Vec<u64>,
    /// The storage refuses the act with this number.
    fails_at: Option<usize>,
    /// The thread is deleted while this parcel is on its way.
    deleted_at: Option<u64>,
    did: RefCell<Vec<Did>>,
}

impl Script {
    fn write(&self, did: Did) -> Result<(), StoreError> {
        if self.fails_at == Some(self.did.borrow().len()) {
            return Err(StoreError("the storage refuses".to_owned()));
        }
        self.did.borrow_mut().push(did);
        Ok(())
    }
}

/// A duty and its thread.
#[derive(Clone)]
struct Side(Rc<Script>);

impl Duty for Side {
    const REASON: Reason = Reason::Outbox;
    type Content = u64;

    fn next(&mut self) -> Result<Option<(Batch, u64)>, StoreError> {
        self.0.write(Next)?;
        let read = self.0.parcels.borrow_mut().pop_front();
        Ok(read.map(|(ids, attempts)| (Batch { ids: ids.clone(), attempts }, ids[0])))
    }

    async fn deliver(&mut self, first: u64) -> Result<(), StoreError> {
        self.0.write(Tell(first))?;
        let refused = || StoreError("D1 did not answer".to_owned());
        if self.0.refuses.contains(&first) { Err(refused()) } else { Ok(()) }
    }

    fn took(&mut self, batch: &Batch) -> Result<(), StoreError> {
        self.0.write(Took(batch.ids.clone()))
    }

    fn refused(&mut self, batch: &Batch, _: &StoreError) -> Result<After, StoreError> {
        self.0.write(Refused(batch.ids.clone()))?;
        let is_dropped = batch.ids.iter().any(|id| self.0.drops.contains(id));
        Ok(if is_dropped { After::Drop } else { After::Again })
    }

    async fn gone(&mut self) -> Result<(), StoreError> {
        self.0.write(Gone)
    }

    fn rest(&mut self, any: bool) -> Result<(), StoreError> {
        self.0.write(Rest { any })
    }
}

impl Debtor for Side {
    fn is_gone(&self, _: Reason) -> Result<bool, StoreError> {
        let told = self.0.did.borrow().last().cloned();
        Ok(self.0.deleted_at.is_some_and(|at| told == Some(Tell(at))))
    }

    fn ask_again(&self, _: Reason, wait_ms: u64, keep_earlier: bool) -> Result<(), StoreError> {
        self.0.write(Again { wait_ms, keep_earlier })
    }
}

fn script(parcels: &[(&[u64], u32)], refuses: &[u64]) -> Script {
    let parcels = parcels.iter().map(|(ids, attempts)| (ids.to_vec(), *attempts)).collect();
    Script { parcels: RefCell::new(parcels), refuses: refuses.to_vec(), ..Script::default() }
}

/// The acts of a run, and whether it ended well.
fn play(due: bool, script: Script) -> (Vec<Did>, bool) {
    let side = Side(Rc::new(script));
    let ended = block_on(fulfil(&side, &mut side.clone(), due));
    let did = side.0.did.take();
    (did, ended.is_ok())
}

fn run(due: bool, parcels: &[(&[u64], u32)], refuses: &[u64]) -> Vec<Did> {
    let (did, ended_well) = play(due, script(parcels, refuses));
    assert!(ended_well, "{did:?}");
    did
}

fn taken(ids: &[u64]) -> Vec<Did> {
    vec![Next, Tell(ids[0]), Took(ids.to_vec())]
}

fn refused(ids: &[u64], wait_ms: u64, keep_earlier: bool) -> Vec<Did> {
    vec![Next, Tell(ids[0]), Refused(ids.to_vec()), Again { wait_ms, keep_earlier }]
}

#[test]
fn the_parcels_go_one_after_another_and_then_the_duty_rests() {
    let expected = [taken(&[1, 2]), taken(&[3]), vec![Next, Rest { any: true }]].concat();
    assert_eq!(run(false, &[(&[1, 2], 0), (&[3], 0)], &[]), expected);
    assert_eq!(run(false, &[], &[]), [Next, Rest { any: false }]);
}

#[test]
fn a_refusal_ends_the_run_unless_other_parcels_were_taken() {
    let parcels: [(&[u64], u32); 2] = [(&[1], 0), (&[2], 0)];
    assert_eq!(run(false, &parcels, &[1]), refused(&[1], 2_000, false));
    assert_eq!(run(true, &parcels, &[1]), refused(&[1], 2_000, false));
    let skipped =
        [taken(&[1]), refused(&[2], 2_000, false), taken(&[3]), vec![Next, Rest { any: true }]].concat();
    assert_eq!(run(false, &[(&[1], 0), (&[2], 0), (&[3], 0)], &[2]), skipped);
}

#[test]
fn a_second_refused_parcel_keeps_the_earlier_timer() {
    let expected = [
        taken(&[1]),
        refused(&[2], 2_000, false),
        refused(&[3], 32_000, true),
        vec![Next, Rest { any: true }],
    ];
    assert_eq!(run(false, &[(&[1], 0), (&[2], 0), (&[3], 4)], &[2, 3]), expected.concat());
}

#[test]
fn rows_that_this_run_has_seen_refused_are_not_told_again() {
    let expected = [taken(&[1]), refused(&[2, 3], 2_000, false), vec![Next]].concat();
    assert_eq!(run(true, &[(&[1], 0), (&[2, 3], 0), (&[2, 4], 1)], &[2]), expected);
}

// While the other side is down, its timer alone decides when the thread asks it again; once it takes a parcel it gets the
// refused ones too.
#[test]
fn refused_parcels_wait_for_the_alarm_or_for_a_delivery() {
    let old: (&[u64], u32) = (&[1], 5);
    assert_eq!(run(false, &[old], &[]), [Next]);
    let rest = vec![Next, Rest { any: true }];
    assert_eq!(run(true, &[old], &[]), [taken(&[1]), rest.clone()].concat());
    assert_eq!(run(false, &[(&[9], 0), old], &[]), [taken(&[9]), taken(&[1]), rest].concat());
}

#[test]
fn a_parcel_that_is_dropped_holds_up_no_other() {
    let dropped = Script { drops: vec![1], ..script(&[(&[1], 2), (&[2], 0)], &[1]) };
    let expected =
        [vec![Next, Tell(1), Refused(vec![1])], taken(&[2]), vec![Next, Rest { any: true }]].concat();
    assert_eq!(play(true, dropped), (expected, true));
}

// The run counts no refusal and sets no timer where the thread was deleted meanwhile: the timer would wake it for ever.
#[test]
fn a_deleted_thread_owes_nothing() {
    for refuses in [&[][..], &[1]] {
        let deleted = Script { deleted_at: Some(1), ..script(&[(&[1], 0), (&[2], 0)], refuses) };
        assert_eq!(play(true, deleted), (vec![Next, Tell(1), Gone], true));
    }
}

// The storage may refuse any act, and the run ends there. It forgets only what was taken.
#[test]
fn a_run_that_the_storage_ends_has_done_the_acts_before_and_no_other() {
    let parcels: [(&[u64], u32); 3] = [(&[1], 0), (&[2], 0), (&[3], 0)];
    let whole = run(true, &parcels, &[2]);
    for at in (0..whole.len()).filter(|at| !matches!(whole[*at], Tell(_))) {
        let failing = Script { fails_at: Some(at), ..script(&parcels, &[2]) };
        assert_eq!(play(true, failing), (whole[..at].to_vec(), false));
    }
}

#[test]
fn the_wait_doubles_up_to_its_longest() {
    let waits = [1, 2, 3, 4, 5, 6, 7, 64, 65, u32::MAX].map(patient_ms);
    let minute = 60_000;
    let expected = [2_000, 4_000, 8_000, 16_000, 32_000, minute, minute, minute, 3_600_000, 3_600_000];
    assert_eq!(waits, expected);
    let waits = [0, 1, 2, 3, 4, 5, 6, u64::MAX].map(place_ms);
    assert_eq!(waits, [2_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000]);
}

#[test]
fn a_duty_is_fulfilled_once_at_a_time() {
    let duties = Duties::default();
    let records = duties.begin(Reason::Records);
    assert!(records.is_some() && duties.is_under_way(Reason::Records));
    assert!(!duties.is_under_way(Reason::Outbox) && duties.begin(Reason::Records).is_none());
    let outbox = duties.begin(Reason::Outbox);
    drop(records);
    assert!(outbox.is_some() && duties.is_under_way(Reason::Outbox));
    assert!(!duties.is_under_way(Reason::Records));
    duties.count(Reason::Records, 2);
    assert_eq!((duties.refusals(Reason::Records), duties.refusals(Reason::Outbox)), (2, 0));
}
