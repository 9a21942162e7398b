//! `GET /api/usage`: what the user's turns used, by day, operation, model and context.

use wire::protocol::{Owner, UsageList, UsageRow};
use worker::wasm_bindgen::JsValue;

use crate::problem::Failure;
use crate::query;
use crate::reply::Reply;
use crate::serve::Call;

/// How many days are told by default and at most, today being one of them.
const DAYS: u32 = 30;
const MAX_DAYS: u32 = 90;
/// The most rows: what a page can show.
const MAX_ROWS: u32 = 1_000;
const DAY_MS: u64 = 86_400_000;

/// Days are of UTC. A cost is null where the price of one of its calls is not known.
const QUERY: &str = "SELECT date(created_at / 1000, 'unixepoch') AS day, operation_type, provider, model, context_type, \
    count(*) AS calls, sum(input_tokens) AS input_tokens, sum(cached_tokens) AS cached_tokens, \
    sum(output_tokens) AS output_tokens, \
    CASE WHEN count(*) = count(cost_usd) THEN sum(cost_usd) END AS cost_usd \
    FROM llm_usage WHERE tenant = ?1 AND user_id = ?2 AND created_at >= ?3 \
    GROUP BY day, operation_type, provider, model, context_type \
    ORDER BY day DESC, calls DESC, operation_type, provider, model, context_type LIMIT ?4";

/// The sums.
pub async fn sums(call: &Call, owner: &Owner) -> Result<Reply, Failure> {
    let days = query::days(call.query(), DAYS, MAX_DAYS)?;
    let today = call.now - call.now % DAY_MS;
    let from = today.saturating_sub(u64::from(days - 1) * DAY_MS);
    let rows = rows(call, owner, from).await.map_err(Failure::internal("summing usage"))?;
    Ok(Reply::json(200, &UsageList { from, usage: rows }))
}

async fn rows(call: &Call, owner: &Owner, from: u64) -> worker::Result<Vec<UsageRow>> {
    let values = [
        JsValue::from_str(&owner.tenant),
        JsValue::from_str(&owner.user_id()),
        JsValue::from_f64(from as f64),
        JsValue::from(MAX_ROWS),
    ];
    call.env.d1("DB")?.prepare(QUERY).bind(&values)?.all().await?.results()
}
