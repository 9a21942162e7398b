//! The erasure of a user's data, as a job in D1 (`crate::job`). Pure: `routes::account` has the port over D1, R2, Vectorize
//! and the threads' objects, and who drives jobs.
//!
//! The job sweeps twice. A credential that an isolate verified a moment before the job began still serves there for a
//! minute, so the user may write during the first sweep. The second one begins when no such credential can serve any more.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use wire::protocol::{ApiError, ErrorCode, Owner, read_body};

use super::kinds;
use super::store::{HOUR_MS, MAX_ENDED};
use crate::job::{self, Deleted, Job, Next, Port};

/// From the beginning of a job to its second sweep: a verified credential serves for a minute (`auth::seen`), the body of
/// its request comes within five seconds (`body::BODY_MS`), or the credential is asked again; the work on the body takes five
/// at most (`body::WORK_MS`); and a turn that begins at its end is in D1 within ten
/// (`platform::storage::schedule`).
pub const SETTLE_MS: u64 = 90_000;
/// How long the row of a job stays after its end.
pub const KEPT_MS: u64 = 30 * 86_400_000;
/// The threads that one step looks up.
pub const THREADS: u32 = 3;
/// The most threads that a job leaves for its end because their objects fail. Beyond that it waits: too much fails.
pub const MAX_LEFT: usize = 50;
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
    /// The mark of the address from which the user asked for it, for the entry in the audit log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    /// The threads whose objects failed: a newer version of the service has written to them, for example. The job deletes all
    /// else first, and ends when they are gone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left: Vec<String>,
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
        let (address, left) = (self.address.clone(), self.left.clone());
        Stage { sweep: 1, expired: self.expired, address, left, ..Stage::default() }
    }

    /// The beginning of a job for a user whose last credential is over: one sweep is enough.
    pub fn of_expired() -> Self {
        Stage { sweep: 1, expired: true, ..Stage::default() }
    }
}

/// The threads that a step deleted, and those whose objects failed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Threads {
    pub deleted: Deleted<String>,
    pub failed: Vec<String>,
}

/// The storage of all data. Each method may be repeated, and may fail before or after it has done its work.
pub trait Erasing: Port<Stage = Stage> {
    fn owner(&self) -> &Owner;
    /// Deletes some threads after an id, with their folders, but for those that are left for the end. Fails where
    /// more than [`MAX_LEFT`] would be left.
    fn threads(&mut self, after: &str, left: &[String])
    -> impl Future<Output = Result<Threads, Self::Error>>;
    /// Deletes a thread with its folders. Tells whether it was there.
    fn thread(&mut self, id: &str) -> impl Future<Output = Result<bool, Self::Error>>;
    /// Deletes the vectors of some documents after an id.
    fn vectors(&mut self, after: &str) -> impl Future<Output = Result<Deleted<String>, Self::Error>>;
    /// Deletes some files of a folder.
    fn files(&mut self, prefix: &str) -> impl Future<Output = Result<Deleted<String>, Self::Error>>;
    /// Deletes some rows of a table, as long as the driver with this lease owns the job.
    fn rows(
        &mut self,
        lease: u64,
        table: &str,
        rows: &kinds::Rows,
    ) -> impl Future<Output = Result<Deleted<String>, Self::Error>>;
}

/// Drives a job as `job::drive` does.
pub async fn drive<E: Erasing>(port: &mut E, job: &mut Job<Stage>) -> Result<Option<u64>, E::Error> {
    job::drive(port, job, DRIVE_REQUESTS, STEP_REQUESTS, step).await
}

/// Takes one step. The second sweep waits at its beginning, and so does the only one of a job that the retention began.
async fn step<E: Erasing>(port: &mut E, job: &mut Job<Stage>) -> Result<Next<Stage>, E::Error> {
    let (mut stage, again, settled_at) = (job.stage.clone(), job.stage.again(), job.started_at + SETTLE_MS);
    if stage == again && port.now() < settled_at {
        return Ok(Next::Wait(again, settled_at));
    }
    let (counted, deleted, behind) = match stage.part {
        Part::Threads => {
            let Threads { deleted, failed } = port.threads(&stage.after, &stage.left).await?;
            stage.left.extend(failed);
            ("threads", deleted, stage.part(Part::Vectors, 0))
        }
        Part::Vectors => ("", port.vectors(&stage.after).await?, stage.part(Part::Folders, 0)),
        Part::Folders => match kinds::of_owner(port.owner()).get(stage.at) {
            None => return Ok(Next::At(stage.part(Part::Rows, 0))),
            Some(folder) => {
                let deleted = port.files(&folder.prefix).await?;
                ("files", deleted, stage.part(Part::Folders, stage.at + 1))
            }
        },
        Part::Rows => match kinds::of_users().nth(stage.at) {
            None if stage.sweep > 0 => return last(port, job).await,
            None => return Ok(Next::Wait(again, settled_at)),
            Some((table, rows)) => {
                let deleted = port.rows(job.lease, table, &rows).await?;
                (table, deleted, stage.part(Part::Rows, stage.at + 1))
            }
        },
    };
    if !counted.is_empty() {
        // Not the rows of a deleted thread: the thread is counted.
        job.count(counted, deleted.count);
    }
    Ok(Next::At(match deleted.next {
        Some(after) => stage.after(after),
        None => behind,
    }))
}

/// Deletes a thread whose object failed before. When the last one is gone the rows go once more: such an object may have told
/// D1 of its turns meanwhile. The job ends when none is left.
async fn last<E: Erasing>(port: &mut E, job: &mut Job<Stage>) -> Result<Next<Stage>, E::Error> {
    let Some(id) = job.stage.left.first().cloned() else { return Ok(Next::End) };
    // Where it fails again, the others come before it.
    job.stage.left.rotate_left(1);
    let was_there = port.thread(&id).await?;
    job.count("threads", was_there.into());
    job.stage.left.pop();
    Ok(Next::At(match job.stage.left.is_empty() {
        true => job.stage.part(Part::Vectors, 0),
        false => job.stage.clone(),
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

/// The network of a visitor has ended too many sessions within the hour.
pub fn too_many_ended() -> ApiError {
    let detail = format!(
        "{MAX_ENDED} visitors of this network have ended their sessions within an hour: try again later"
    );
    ApiError::new(ErrorCode::RateLimited, detail).retry_after(HOUR_MS / 1_000)
}

/// The outcome of a request for an erasure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Begun {
    Job,
    /// The user has nothing: there is no job.
    Nothing,
}

impl Begun {
    /// Reads the row of the statement that begins a job ([`super::store::begin`]), and whether a job runs.
    pub fn from_row(begun: Option<&BegunRow>, runs: bool) -> Result<Self, ApiError> {
        match begun {
            Some(BegunRow { ended_at: None }) => Ok(Begun::Job),
            Some(BegunRow { ended_at: Some(_) }) => Ok(Begun::Nothing),
            None if runs => Err(in_progress()),
            None => Err(too_many_ended()),
        }
    }
}

/// The job that a statement began.
#[derive(Deserialize)]
pub struct BegunRow {
    ended_at: Option<u64>,
}

/// The user's data is being erased.
pub fn in_progress() -> ApiError {
    let detail = "all data of this user is being erased; when that is done, they may begin anew";
    ApiError::new(ErrorCode::ErasureInProgress, detail).retry_after(10)
}

#[cfg(test)]
mod tests;
