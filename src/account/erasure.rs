//! The erasure of a user's data, as a job in D1. Its stage says what is next; each step deletes a bounded part, and may be
//! repeated. So a job that was killed at any moment goes on from the last stage that D1 has, and ends in the same state.
//! Pure: `routes::account` has the port over D1, R2, Vectorize and the threads' objects, and who drives jobs.
//!
//! The job sweeps twice. A credential that an isolate verified a moment before the job began still serves there for a
//! minute, so the user may write during the first sweep. The second one begins when no such credential can serve any more.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use wire::protocol::{ApiError, ErrorCode, Owner, read_body};

use super::kinds;

/// From the beginning of a job to its second sweep: a verified credential serves for a minute (`auth::seen`), and a turn
/// that begins at its end is in D1 within ten seconds (`platform::storage::schedule`).
pub const SETTLE_MS: u64 = 90_000;
/// How long a driver owns a job. Longer than the requests of one drive take.
pub const LEASE_MS: u64 = 120_000;
/// A driver begins no step in the last part of its lease: the longest step, a thread whose turn has to be stopped, takes
/// less.
pub const MARGIN_MS: u64 = 45_000;
/// The wait after a step that failed. It doubles up to the longest.
const FIRST_WAIT_MS: u64 = 2_000;
const LONGEST_WAIT_MS: u64 = 600_000;
/// How long the row of a job stays after its end.
pub const KEPT_MS: u64 = 30 * 86_400_000;
/// The threads that one step looks up.
pub const THREADS: u32 = 3;
/// The documents whose vectors one step deletes: few enough for one call of Vectorize, mostly.
pub const DOCUMENTS: u32 = 20;
/// The most requests of one step: to look threads up, and to delete each with its three folders, of which a list and a
/// deletion are a request each.
pub const STEP_REQUESTS: u32 = 1 + THREADS * 7;
/// The most requests of a drive. The free plan allows 50 in one invocation:
/// <https://developers.cloudflare.com/workers/platform/limits/#subrequests>.
pub const DRIVE_REQUESTS: u32 = 45;

/// The kind of data that a step deletes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    #[default]
    Threads,
    Vectors,
    /// The folders of R2 that belong to no thread, by their number.
    Folders,
    /// The rows of a table, by its number.
    Rows,
}

/// Where a job stands.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stage {
    /// 0 for the first sweep, 1 for the second.
    pub sweep: u32,
    pub part: Part,
    #[serde(default)]
    pub at: usize,
    /// The id after which the part goes on.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub after: String,
    /// Whether the retention began the job, because the user has not come for long. The audit log has the deeds of
    /// persons, and so no entry for it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub expired: bool,
}

impl Stage {
    fn part(&self, part: Part, at: usize) -> Self {
        Stage { part, at, after: String::new(), ..self.clone() }
    }

    fn after(&self, after: String) -> Self {
        Stage { after, ..self.clone() }
    }

    /// The beginning of the second sweep.
    fn again(&self) -> Self {
        Stage { sweep: 1, expired: self.expired, ..Stage::default() }
    }

    /// The beginning of a job for a user whose last credential is over: one sweep is enough.
    pub fn of_expired() -> Self {
        Stage { sweep: 1, expired: true, ..Stage::default() }
    }
}

/// A job, as its driver has it.
#[derive(Clone, Debug, PartialEq)]
pub struct Job {
    pub owner: Owner,
    pub started_at: u64,
    pub stage: Stage,
    /// The numbers of what is gone: threads, files, and rows by table.
    pub removed: BTreeMap<String, u64>,
    pub lease: u64,
    pub lease_until: u64,
    pub failures: u32,
}

/// How a drive ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Driven {
    /// There is more to do, from this time on.
    Later(u64),
    /// All is gone.
    Done,
}

/// Some items that a step deleted, and where its part goes on; none where the part is over.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Deleted {
    pub count: u64,
    pub next: Option<String>,
}

/// The storage of all data. Each method may be repeated, and may fail before or after it has done its work.
pub trait Erasing {
    type Error;

    /// Deletes some threads after an id, with their folders.
    fn threads(&mut self, job: &Job) -> impl Future<Output = Result<Deleted, Self::Error>>;
    /// Deletes the vectors of some documents after an id.
    fn vectors(&mut self, job: &Job) -> impl Future<Output = Result<Deleted, Self::Error>>;
    /// Deletes some files of a folder.
    fn files(&mut self, job: &Job, prefix: &str) -> impl Future<Output = Result<Deleted, Self::Error>>;
    /// Deletes some rows of a table.
    fn rows(
        &mut self,
        job: &Job,
        table: &str,
        rows: &kinds::Rows,
    ) -> impl Future<Output = Result<Deleted, Self::Error>>;
    /// Stores where the job stands, and gives it up until `from`.
    fn save(&mut self, job: &Job, from: u64) -> impl Future<Output = Result<(), Self::Error>>;
    /// Ends the job. The same statement says so, so that nothing of the next life is deleted.
    fn end(&mut self, job: &Job) -> impl Future<Output = Result<(), Self::Error>>;
    /// How many requests were made.
    fn requests(&self) -> u32;
    fn now(&self) -> u64;
}

/// Drives a job as far as the requests and the lease allow, and stores where it stands.
pub async fn drive<E: Erasing>(port: &mut E, job: &mut Job) -> Result<Driven, E::Error> {
    let settled_at = job.started_at + SETTLE_MS;
    loop {
        let (now, is_second) = (port.now(), job.stage.sweep > 0);
        let spent = port.requests() + STEP_REQUESTS > DRIVE_REQUESTS || now + MARGIN_MS > job.lease_until;
        if is_second && job.stage == job.stage.again() && now < settled_at {
            port.save(job, settled_at).await?;
            return Ok(Driven::Later(settled_at));
        }
        if spent {
            port.save(job, now).await?;
            return Ok(Driven::Later(now));
        }
        match step(port, job).await {
            Ok(Some(stage)) => (job.stage, job.failures) = (stage, 0),
            Ok(None) if is_second => {
                port.end(job).await?;
                return Ok(Driven::Done);
            }
            Ok(None) => (job.stage, job.failures) = (job.stage.again(), 0),
            Err(error) => {
                job.failures = job.failures.saturating_add(1);
                port.save(job, now + wait_ms(job.failures)).await?;
                return Err(error);
            }
        }
    }
}

/// The wait after so many failures in a row.
pub fn wait_ms(failures: u32) -> u64 {
    FIRST_WAIT_MS.saturating_mul(1 << failures.saturating_sub(1).min(16)).min(LONGEST_WAIT_MS)
}

/// Takes one step, and tells the next stage; none at the end of a sweep.
async fn step<E: Erasing>(port: &mut E, job: &mut Job) -> Result<Option<Stage>, E::Error> {
    let stage = job.stage.clone();
    let (counted, deleted, behind) = match stage.part {
        Part::Threads => ("threads", port.threads(job).await?, stage.part(Part::Vectors, 0)),
        Part::Vectors => ("", port.vectors(job).await?, stage.part(Part::Folders, 0)),
        Part::Folders => match kinds::of_owner(&job.owner).get(stage.at) {
            None => return Ok(Some(stage.part(Part::Rows, 0))),
            Some(folder) => {
                let deleted = port.files(job, &folder.prefix).await?;
                ("files", deleted, stage.part(Part::Folders, stage.at + 1))
            }
        },
        Part::Rows => match kinds::of_users().nth(stage.at) {
            None => return Ok(None),
            Some((table, rows)) => {
                let deleted = port.rows(job, table, &rows).await?;
                (table, deleted, stage.part(Part::Rows, stage.at + 1))
            }
        },
    };
    if deleted.count > 0 && !counted.is_empty() {
        // Not the rows of a deleted thread: the thread is counted.
        *job.removed.entry(counted.to_owned()).or_default() += deleted.count;
    }
    Ok(Some(match deleted.next {
        Some(after) => stage.after(after),
        None => behind,
    }))
}

/// The word that the body of `DELETE /api/me` must have.
pub const CONFIRMED: &str = "erase";

/// The body of `DELETE /api/me`.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Confirmation {
    /// `erase`: the caller knows that all data of the user is deleted for ever.
    #[cfg_attr(test, schemars(regex(pattern = r"^erase$")))]
    pub confirm: String,
}

impl Confirmation {
    /// Reads a body, and refuses any other word.
    pub fn check(body: &[u8]) -> Result<(), ApiError> {
        match read_body::<Confirmation>(body)?.confirm.as_str() {
            CONFIRMED => Ok(()),
            _ => Err(ApiError::field(
                "confirm",
                format!("expected `{CONFIRMED}`: all data of the user is deleted for ever"),
            )),
        }
    }
}

/// The progress of an erasure.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Erasure {
    /// Reads the progress, without any other credential. Only the answer to `DELETE /api/me` shows it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receipt: Option<String>,
    pub started_at: u64,
    /// Null as long as the erasure runs.
    pub ended_at: Option<u64>,
    /// The numbers of the threads, of the files in named workspaces, and of the rows of each table that are gone.
    pub removed: BTreeMap<String, u64>,
}

/// Reads a receipt: 128 random bits in hexadecimal. The error says no more than that of a receipt that nobody has.
pub fn receipt(text: Option<&str>) -> Result<&str, ApiError> {
    let is_receipt = |text: &&str| text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    text.filter(is_receipt).ok_or_else(not_found)
}

/// No job has this receipt, or it ended long ago.
pub fn not_found() -> ApiError {
    ApiError::new(ErrorCode::ErasureNotFound, "there is no erasure with this receipt")
}

/// The user's data is being erased.
pub fn in_progress() -> ApiError {
    let detail = "all data of this user is being erased; when that is done, they may begin anew";
    ApiError::new(ErrorCode::ErasureInProgress, detail).retry_after(10)
}

#[cfg(test)]
mod tests;
