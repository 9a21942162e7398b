//! The lists of D1 across threads: a user's threads, and the sums of their usage. The threads' objects send the rows
//! (`outgoing.rs`).

use std::fmt::Write;

use worker::{Env, Result};

use bindings::d1::{database, number, rows, text};
use wire::protocol::{Owner, ThreadSummary, UsageRow};

use super::outgoing::first_id;

/// Looks in titles, then in the messages on the path, for a text; ASCII letters match in either case. It does not use `LIKE`, whose
/// patterns D1 limits to 50 bytes. A search reads all messages of this user alone.
const FOUND_IN: &str = "(SELECT substr(content, max(1, instr(lower(content), lower(?4)) - 40), 160) FROM messages m \
    WHERE m.tenant = ?1 AND m.user_id = ?2 AND m.thread_id = threads.id AND m.beside = 0 AND instr(lower(content), lower(?4)) > 0 \
    ORDER BY created_at, id LIMIT 1) AS snippet";

/// Days are of UTC. A cost is null where one of its calls has no known price.
const USAGE: &str = "SELECT date(created_at / 1000, 'unixepoch') AS day, operation_type, provider, model, context_type, \
    count(*) AS calls, sum(input_tokens) AS input_tokens, sum(cached_tokens) AS cached_tokens, \
    sum(output_tokens) AS output_tokens, \
    CASE WHEN count(*) = count(cost_usd) THEN sum(cost_usd) END AS cost_usd \
    FROM llm_usage WHERE tenant = ?1 AND user_id = ?2 AND id >= ?5 AND created_at >= ?3 \
    GROUP BY day, operation_type, provider, model, context_type \
    ORDER BY day DESC, calls DESC, operation_type, provider, model, context_type LIMIT ?4";

/// The threads of a user that a list has.
pub struct ThreadQuery<'a> {
    /// Only threads whose title or messages have this text.
    pub wanted: Option<&'a str>,
    /// Only threads after this place in the list: a time and an id.
    pub after: Option<(u64, &'a str)>,
    pub limit: u32,
}

/// The threads of a user, newest first.
pub async fn threads(env: &Env, owner: &Owner, query: ThreadQuery<'_>) -> Result<Vec<ThreadSummary>> {
    let ThreadQuery { wanted, after, limit } = query;
    let mut values = vec![text(&owner.tenant), text(&owner.user_id()), limit.into()];
    let (mut columns, mut conditions) = ("NULL AS snippet", String::new());
    if let Some(wanted) = wanted {
        values.push(text(wanted));
        columns = FOUND_IN;
        conditions.push_str(" AND (snippet IS NOT NULL OR instr(lower(title), lower(?4)) > 0)");
    }
    if let Some((at, id)) = after {
        let _ = write!(conditions, " AND (updated_at, id) < (?{}, ?{})", values.len() + 1, values.len() + 2);
        values.extend([number(at), text(id)]);
    }
    let sql = format!(
        "SELECT id, title, created_at, updated_at, {columns} FROM threads \
        WHERE tenant = ?1 AND user_id = ?2{conditions} ORDER BY updated_at DESC, id DESC LIMIT ?3"
    );
    Ok(wire::json::from_str(&rows(&database(env)?.prepare(sql).bind(&values)?.all().await?)?)?)
}

/// The usage of a user since a time, by day, operation, model and context.
pub async fn usage(env: &Env, owner: &Owner, since_ms: u64, limit: u32) -> Result<Vec<UsageRow>> {
    let (user_id, first) = (owner.user_id(), first_id(since_ms));
    let values = [text(&owner.tenant), text(&user_id), number(since_ms), limit.into(), text(&first)];
    Ok(wire::json::from_str(&rows(&database(env)?.prepare(USAGE).bind(&values)?.all().await?)?)?)
}
