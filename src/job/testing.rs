//! A job over storage in memory that fails, or loses its driver, at each of its calls.

use std::fmt::Debug;

use futures::FutureExt;

use super::{Job, LEASE_MS, MARGIN_MS, Port};

/// The time at which each job begins, in milliseconds since 1970.
pub const STARTED_AT: u64 = 1_000 * 86_400_000;

/// When a call fails.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fault {
    Before(usize),
    After(usize),
    /// The driver is gone before this call, and stores nothing any more: its lease runs out.
    Gone(usize),
}

/// The data on which a job works.
pub trait Data: Sized {
    type Stage: Clone + Debug + Default + PartialEq;
    /// The most requests of a drive, unless a test has it otherwise.
    const REQUESTS: u32;

    /// The data before the job.
    fn full() -> Self;
    fn drive(
        stores: &mut Stores<Self>,
        job: &mut Job<Self::Stage>,
    ) -> impl Future<Output = Result<Option<u64>, &'static str>>;
    /// Panics unless the job has done all of its work, and no more.
    fn assert_done(stores: &Stores<Self>, how: &str);
}

/// The data, and the job's row.
pub struct Stores<D: Data> {
    pub data: D,
    pub saved: Job<D::Stage>,
    pub ended: bool,
    /// The call that fails, and the calls so far.
    pub fault: Option<Fault>,
    pub calls: usize,
    /// The requests of the present drive, and the most that it may make.
    pub requests: u32,
    pub most_requests: u32,
    pub now: u64,
    pub is_gone: bool,
}

impl<D: Data> Stores<D> {
    pub fn full() -> Self {
        Stores {
            data: D::full(),
            saved: Job { started_at: STARTED_AT, ..Job::default() },
            ended: false,
            fault: None,
            calls: 0,
            requests: 0,
            most_requests: D::REQUESTS,
            now: STARTED_AT,
            is_gone: false,
        }
    }

    /// A call of the job: fails before or after its work.
    pub fn call<T>(&mut self, work: impl FnOnce(&mut Self) -> T) -> Result<T, &'static str> {
        (self.calls, self.requests) = (self.calls + 1, self.requests + 1);
        self.is_gone |= self.fault == Some(Fault::Gone(self.calls));
        if self.is_gone || self.fault == Some(Fault::Before(self.calls)) {
            return Err("before");
        }
        let done = work(self);
        match self.fault == Some(Fault::After(self.calls)) {
            true => Err("after"),
            false => Ok(done),
        }
    }

    pub fn take(&mut self) -> Option<Job<D::Stage>> {
        if self.ended || self.saved.lease_until > self.now {
            return None;
        }
        (self.saved.lease, self.saved.lease_until) = (self.saved.lease + 1, self.now + LEASE_MS);
        (self.requests, self.is_gone) = (0, false);
        Some(self.saved.clone())
    }

    /// Takes the job, and drives it once.
    pub fn drive(&mut self) -> Result<Option<u64>, &'static str> {
        let mut job = self.take().unwrap();
        D::drive(self, &mut job).now_or_never().unwrap()
    }

    /// Drives the job to its end. A drive that fails is repeated when its row says.
    pub fn drive_to_end(&mut self) {
        for _ in 0..300 {
            if self.ended {
                return;
            }
            if let Some(mut job) = self.take() {
                let _ = D::drive(self, &mut job).now_or_never().unwrap();
                assert!(self.requests <= self.most_requests, "{} requests", self.requests);
                assert!(!self.is_gone || self.take().is_none(), "the driver that is gone may still own it");
            }
            self.now = self.now.max(self.saved.lease_until);
        }
        panic!("the job does not end: {:?}", self.saved);
    }
}

impl<D: Data> Port for Stores<D> {
    type Stage = D::Stage;
    type Error = &'static str;

    async fn save(&mut self, job: &Job<D::Stage>, from: u64) -> Result<(), &'static str> {
        self.call(|stores| {
            if stores.saved.lease == job.lease {
                stores.saved = Job { lease_until: from, ..job.clone() };
            }
        })
    }

    async fn end(&mut self, job: &Job<D::Stage>) -> Result<(), &'static str> {
        self.call(|stores| (stores.saved, stores.ended) = (job.clone(), true))
    }

    fn requests(&self) -> u32 {
        self.requests
    }

    fn now(&self) -> u64 {
        self.now
    }
}

/// A job that fails or is killed at any of its calls, of which there are more than some, ends in the same state.
pub fn assert_faults<D: Data>(calls: usize) {
    let mut whole = Stores::<D>::full();
    whole.drive_to_end();
    assert!(whole.calls > calls, "{}", whole.calls);
    for call in 1..=whole.calls {
        for fault in [Fault::Before(call), Fault::After(call), Fault::Gone(call)] {
            let mut stores = Stores::<D> { fault: Some(fault), ..Stores::full() };
            stores.drive_to_end();
            D::assert_done(&stores, &format!("{fault:?}"));
        }
    }
}

/// A step that fails waits longer each time, and its success ends that.
pub fn assert_waits<D: Data>() {
    let mut stores = Stores::<D>::full();
    for (failures, wait) in [(1, 2_000), (2, 4_000), (3, 8_000)] {
        stores.fault = Some(Fault::Before(stores.calls + 1));
        assert_eq!(stores.drive(), Err("before"));
        assert_eq!((stores.saved.failures, stores.saved.lease_until), (failures, stores.now + wait));
        stores.now = stores.saved.lease_until;
    }
    assert!(stores.drive().is_ok() && stores.saved.failures == 0);
}

/// A driver begins no step that its requests or its lease may not allow. A step makes `of_step` requests at most; here it
/// makes one.
pub fn assert_limits<D: Data>(of_step: u32) {
    let (last, latest) = (D::REQUESTS - of_step, LEASE_MS - MARGIN_MS);
    for (requests, after_ms, steps) in [(last, latest, 1), (last + 1, 0, 0), (0, latest + 1, 0)] {
        let mut stores = Stores::<D>::full();
        let mut job = stores.take().unwrap();
        (stores.requests, stores.now) = (requests, stores.now + after_ms);
        assert_eq!(D::drive(&mut stores, &mut job).now_or_never().unwrap(), Ok(Some(stores.now)));
        assert_eq!(stores.calls, steps + 1, "it stores where the job stands");
        assert_eq!(stores.saved.lease_until, stores.now, "the next driver may come at once");
    }
}
