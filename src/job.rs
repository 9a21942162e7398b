//! A job in D1: work that is longer than one invocation. Its stage says what is next; each step does a bounded part, and may
//! be repeated. So a job that was killed at any moment goes on from the last stage that D1 has, and ends in the same state.
//! The erasure of a user's data and the retention are jobs; stages, steps and statements are their own. Pure: `routes::job`
//! has the values of a row for D1.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::DeserializeOwned;

/// How long a driver owns a job. Longer than the requests of one drive take.
pub const LEASE_MS: u64 = 120_000;
/// A driver begins no step in the last part of its lease: the longest step, a thread whose turn has to be stopped, takes
/// less.
const MARGIN_MS: u64 = 45_000;
/// The wait after a step that failed. It doubles up to the longest.
const FIRST_WAIT_MS: u64 = 2_000;
const LONGEST_WAIT_MS: u64 = 600_000;

/// The row of a job, as its driver has it.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(bound = "S: DeserializeOwned")]
pub struct Job<S> {
    /// In milliseconds since 1970, as `lease_until`.
    pub started_at: u64,
    #[serde(deserialize_with = "wire::json::column")]
    pub stage: S,
    /// The numbers of what is gone, by the names that the steps give.
    #[serde(deserialize_with = "wire::json::column")]
    pub removed: BTreeMap<String, u64>,
    /// The number of the driver that owns the job.
    pub lease: u64,
    pub lease_until: u64,
    /// The failures in a row.
    pub failures: u32,
}

impl<S> Job<S> {
    /// Counts what a step removed.
    pub fn count(&mut self, name: &str, count: u64) {
        if count > 0 {
            *self.removed.entry(name.to_owned()).or_default() += count;
        }
    }
}

/// The number of items that a step deleted, and the key after which its part goes on; none where the part is over.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Deleted<K> {
    pub count: u64,
    pub next: Option<K>,
}

/// How a job goes on after a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Next<S> {
    At(S),
    /// A stage that begins at this time, in milliseconds since 1970.
    Wait(S, u64),
    End,
}

/// The storage of a job's row. Each method may be repeated, and may fail before or after it has done its work.
pub trait Port {
    type Stage;
    type Error;

    /// Stores where the job stands, and gives it up until `from`.
    fn save(&mut self, job: &Job<Self::Stage>, from: u64) -> impl Future<Output = Result<(), Self::Error>>;
    /// Ends the job. The same statement says so, so that nothing of the next life is deleted.
    fn end(&mut self, job: &Job<Self::Stage>) -> impl Future<Output = Result<(), Self::Error>>;
    /// How many requests were made.
    fn requests(&self) -> u32;
    /// In milliseconds since 1970.
    fn now(&self) -> u64;
}

/// Drives a job as far as so many requests and the lease allow, and stores where it stands. A step makes `of_step` requests
/// at most. Gives the time from which there is more to do, in milliseconds since 1970; none where the job has ended.
pub async fn drive<P: Port>(
    port: &mut P,
    job: &mut Job<P::Stage>,
    requests: u32,
    of_step: u32,
    step: impl AsyncFn(&mut P, &mut Job<P::Stage>) -> Result<Next<P::Stage>, P::Error>,
) -> Result<Option<u64>, P::Error> {
    let mut from = 0;
    loop {
        let now = port.now();
        if now < from || port.requests() + of_step > requests || now + MARGIN_MS > job.lease_until {
            port.save(job, now.max(from)).await?;
            return Ok(Some(now.max(from)));
        }
        (job.stage, from) = match step(port, job).await {
            Ok(Next::At(stage)) => (stage, 0),
            Ok(Next::Wait(stage, from)) => (stage, from),
            Ok(Next::End) => return port.end(job).await.map(|()| None),
            Err(error) => {
                job.failures = job.failures.saturating_add(1);
                port.save(job, now + wait_ms(job.failures)).await?;
                return Err(error);
            }
        };
        job.failures = 0;
    }
}

/// The wait after so many failures in a row.
fn wait_ms(failures: u32) -> u64 {
    FIRST_WAIT_MS.saturating_mul(1 << failures.saturating_sub(1).min(16)).min(LONGEST_WAIT_MS)
}

#[cfg(test)]
pub mod testing;
#[cfg(test)]
mod tests;
