//! `GET /api/usage`: the usage of the user's turns, by day, operation, model and context.

use platform::storage::index;
use wire::protocol::{Owner, UsageList};

use crate::call::{Answer, Call};
use crate::problem::Failure;
use crate::query;
use crate::reply::Reply;

/// The number of days by default and at most, including today.
const DAYS: u32 = 30;
const MAX_DAYS: u32 = 90;
/// The most rows: as many as a page can show.
const MAX_ROWS: u32 = 1_000;
const DAY_MS: u64 = 86_400_000;

/// The sums.
pub async fn sums(call: &Call, owner: Owner) -> Result<Answer, Failure> {
    let days = query::days(call.query(), DAYS, MAX_DAYS)?;
    let today = call.now - call.now % DAY_MS;
    let from = today.saturating_sub(u64::from(days - 1) * DAY_MS);
    let usage = index::usage(&call.env, &owner, from, MAX_ROWS).await;
    let usage = usage.map_err(Failure::internal("summing usage"))?;
    Ok(Reply::json(200, &UsageList { from, usage }).into())
}
