//! How long data stays: the variable `RETENTION`, and the run that deletes what is older, as a job in D1 (`crate::job`). A
//! run goes through its parts in steps. Pure: `routes::retention` has the port over D1 and the objects of threads.
//!
//! A visitor whose session was not seen for long is erased whole, by a job as a user's own (`account::erasure`).
//!
//! `src/retention.rs` has the variable and the run that deletes what is too old, `retention/store.rs` the statements,
//! `routes/retention.rs` the port; the first two are tested natively, the statements on the tables of all migrations.
//! A run is a job as an erasure is. The cron trigger drives erasures first, and a run with what is left of its
//! requests.
//!
//! Rows of D1 go by their age where no object would write them again: usage, failures, the audit log. A visitor is
//! found by the row of their session, which therefore stays after its cookie is over, and erased by a job.

pub mod store;

use serde::{Deserialize, Serialize};
use wire::redact::json_problem;

use crate::job::{self, Deleted, Job, Next, Port};

const DAY_MS: u64 = 86_400_000;
/// From the beginning of a run to the beginning of the next one. The unit of `RETENTION` is a day.
pub const EVERY_MS: u64 = DAY_MS;
/// The most days of a limit: a hundred years.
const MAX_DAYS: u32 = 36_500;
/// The fewest days for visitors. A visitor's cookie is valid for thirty days from a renewal (`auth::session`), so before
/// that they may still come back.
const MIN_VISITOR_DAYS: u32 = 30;
/// How long the row of a run stays at least: as long as the audit log does by default.
const KEPT_MS: u64 = 400 * DAY_MS;
/// The rows that one step reads, and so the most that it deletes. D1 ends a statement after 30 seconds:
/// <https://developers.cloudflare.com/d1/platform/limits/>.
pub const ROWS: u32 = 1_000;
/// The visitors that one step looks up or begins to erase.
pub const VISITORS: u32 = 100;
/// The threads that one step asks, a request each.
pub const THREADS: u32 = 15;
/// The most requests of one step: its threads, the list of them, and the stage.
pub const STEP_REQUESTS: u32 = THREADS + 2;
/// The pages of an index that one step merges: a page has 4 KB at most, and each one that changes is a written row.
pub const MERGED_PAGES: u32 = 200;
/// The steps of merging in one run. A larger index goes on with the next run.
const MERGES: usize = 100;

/// How many days the kinds of data stay; without a number for ever.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Retention {
    /// `llm_usage` and `tool_usage`.
    pub usage: Option<u32>,
    /// `error_log`.
    pub errors: Option<u32>,
    pub audit: Option<u32>,
    /// All data of a visitor, from the time at which their session was last seen.
    pub anonymous: Option<u32>,
    /// A thread, from its last message.
    pub threads: Option<u32>,
}

impl Default for Retention {
    fn default() -> Self {
        Retention { usage: Some(400), errors: Some(30), audit: Some(400), anonymous: Some(30), threads: None }
    }
}

/// The variable: a member that is absent has its default, and null is for ever.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Given {
    #[serde(default, deserialize_with = "given")]
    usage: Option<Option<u32>>,
    #[serde(default, deserialize_with = "given")]
    errors: Option<Option<u32>>,
    #[serde(default, deserialize_with = "given")]
    audit: Option<Option<u32>>,
    #[serde(default, deserialize_with = "given")]
    anonymous: Option<Option<u32>>,
    #[serde(default, deserialize_with = "given")]
    threads: Option<Option<u32>>,
}

/// A member that is there, null or not.
fn given<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Option<u32>>, D::Error> {
    Option::deserialize(deserializer).map(Some)
}

impl Retention {
    /// Reads the variable `RETENTION`. Where it is wrong, no run begins; the error is for the operator.
    pub fn parse(json: Option<&str>) -> Result<Self, String> {
        let json = json.map(str::trim).filter(|json| !json.is_empty()).unwrap_or("{}");
        let given: Given = wire::json::from_str(json)
            .map_err(|error| format!("the variable RETENTION: {}", json_problem(&error)))?;
        let or = Retention::default();
        let days = |name: &str, given: Option<Option<u32>>, or: Option<u32>, least: u32| match given {
            None => Ok(or),
            Some(Some(days)) if days < least || days > MAX_DAYS => {
                Err(format!("the variable RETENTION: {name} must be {least} to {MAX_DAYS} days, or null"))
            }
            Some(days) => Ok(days),
        };
        Ok(Retention {
            usage: days("usage", given.usage, or.usage, 1)?,
            errors: days("errors", given.errors, or.errors, 1)?,
            audit: days("audit", given.audit, or.audit, 1)?,
            anonymous: days("anonymous", given.anonymous, or.anonymous, MIN_VISITOR_DAYS)?,
            threads: days("threads", given.threads, or.threads, 1)?,
        })
    }

    /// How long the row of a run stays, in milliseconds: until it has told for how long runs have gone on.
    pub fn kept_ms(&self) -> u64 {
        KEPT_MS.max(u64::from(self.anonymous.unwrap_or_default().saturating_add(2)) * DAY_MS)
    }

    /// Up to which time a part deletes, in a run that began at another.
    fn until(&self, part: Part, started_at: u64) -> Option<u64> {
        let days = match part {
            Part::Visitors | Part::VisitorsWithoutRow => self.anonymous,
            Part::Threads => self.threads,
            Part::ModelCalls | Part::ToolCalls => self.usage,
            Part::Errors => self.errors,
            Part::Audit => self.audit,
            Part::Index => return Some(started_at),
        };
        Some(started_at.saturating_sub(u64::from(days?) * DAY_MS))
    }
}

/// A part of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// Visitors by the rows of their sessions.
    #[default]
    Visitors,
    /// Visitors whose row an earlier version deleted, or never wrote, by their threads.
    VisitorsWithoutRow,
    Threads,
    ModelCalls,
    ToolCalls,
    Errors,
    Audit,
    /// Merges the full-text index of documents, so that words that were deleted leave it. That of memories loses them at
    /// once.
    Index,
}

impl Part {
    /// The parts in their order, each with the name by which a run counts rows that it deletes, or visitors to erase.
    pub const ALL: [(Part, &'static str); 8] = [
        (Part::Visitors, "visitors"),
        (Part::VisitorsWithoutRow, "visitors"),
        (Part::Threads, "threads"),
        (Part::ModelCalls, "llm_usage"),
        (Part::ToolCalls, "tool_usage"),
        (Part::Errors, "error_log"),
        (Part::Audit, "audit"),
        (Part::Index, "merged"),
    ];
}

/// Where a run stands.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stage {
    pub part: Part,
    /// The key after which the part goes on; none at its beginning.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<String>,
    /// The steps of the part so far.
    #[serde(default)]
    pub steps: usize,
}

/// Drives a run as `job::drive` does. `delete` takes one step of a stage, which deletes what is not younger than a time, in
/// milliseconds since 1970. It may be repeated, and may fail before or after it has done its work.
pub async fn drive<P: Port<Stage = Stage>>(
    port: &mut P,
    retention: &Retention,
    run: &mut Job<Stage>,
    requests: u32,
    delete: impl AsyncFn(&mut P, &Stage, u64) -> Result<Deleted<Vec<String>>, P::Error>,
) -> Result<Option<u64>, P::Error> {
    let step = async |port: &mut P, run: &mut Job<Stage>| {
        let part = run.stage.part;
        let deleted = match retention.until(part, run.started_at) {
            None => Deleted::default(),
            Some(until) => delete(port, &run.stage, until).await?,
        };
        let mut parts = Part::ALL.into_iter().skip_while(|(other, _)| *other != part);
        if let Some((_, counted)) = parts.next() {
            run.count(counted, deleted.count);
        }
        let steps = run.stage.steps + 1;
        let goes_on = deleted.next.filter(|_| part != Part::Index || steps < MERGES);
        Ok(match (goes_on, parts.next()) {
            (Some(after), _) => Next::At(Stage { part, after, steps }),
            (None, Some((part, _))) => Next::At(Stage { part, ..Stage::default() }),
            (None, None) => Next::End,
        })
    };
    job::drive(port, run, requests, STEP_REQUESTS, step).await
}

#[cfg(test)]
mod tests;
