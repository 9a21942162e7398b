//! The lists of D1 across threads: a user's threads, and the sums of their usage. The threads' objects send the rows
//! (`outgoing.rs`).

use worker::Env;

use bindings::d1::{Owned, number, text};
use bindings::owned;
use bindings::sql::OwnedSql;
use wire::protocol::{Owner, ThreadSummary, UsageRow};
use wire::store::StoreError;
use wire::title::shown_title;

use super::outgoing::first_id;

/// Looks in titles, then in the messages on the path, for a text; ASCII letters match in either case. It does not use `LIKE`, whose
/// patterns D1 limits to 50 bytes. A search reads all messages of this user alone.
const FOUND_IN: &str = "(SELECT substr(content, max(1, instr(lower(content), lower(?4)) - 40), 160) FROM messages m \
    WHERE m.tenant = ?1 AND m.user_id = ?2 AND m.thread_id = threads.id AND m.beside = 0 AND instr(lower(content), lower(?4)) > 0 \
    ORDER BY created_at, id LIMIT 1) AS snippet";

/// Days are of UTC. A cost is null where one of its calls has no known price.
const USAGE: OwnedSql = owned!(
    "SELECT date(created_at / 1000, 'unixepoch') AS day, operation_type, provider, model, context_type, \
    count(*) AS calls, sum(input_tokens) AS input_tokens, sum(cached_tokens) AS cached_tokens, \
    sum(output_tokens) AS output_tokens, \
    CASE WHEN count(*) = count(cost_usd) THEN sum(cost_usd) END AS cost_usd \
    FROM llm_usage WHERE tenant = ?1 AND user_id = ?2 AND id >= ?5 AND created_at >= ?3 \
    GROUP BY day, operation_type, provider, model, context_type \
    ORDER BY day DESC, calls DESC, operation_type, provider, model, context_type LIMIT ?4"
);

/// The most pinned threads of a user: the others must stay in sight below them.
pub const MAX_PINNED: u32 = 20;

/// Stands before the time of a pinned thread in its place in the list, so that it comes before all others. Times in
/// milliseconds stay far below it, and D1 takes integers up to 2^53.
const PINNED: u64 = 1 << 52;

/// Writes the thread's row where its object has not told D1 of it yet. A pin that is there keeps its time. No row comes
/// back where the user has as many pins as allowed.
const PIN: OwnedSql = owned!(
    "INSERT INTO threads (tenant, user_id, id, title, created_at, updated_at, pinned_at) \
    SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7 WHERE (SELECT count(*) FROM threads \
    WHERE tenant = ?1 AND user_id = ?2 AND pinned_at IS NOT NULL AND id <> ?3) < ?8 \
    ON CONFLICT (tenant, user_id, id) DO UPDATE SET pinned_at = coalesce(pinned_at, excluded.pinned_at) RETURNING pinned_at"
);

const UNPIN: OwnedSql =
    owned!("UPDATE threads SET pinned_at = NULL WHERE tenant = ?1 AND user_id = ?2 AND id = ?3");

/// The threads of a user that a list has.
pub struct ThreadQuery<'a> {
    /// Only threads whose title or messages have this text.
    pub wanted: Option<&'a str>,
    /// Only threads after this [`place`] in the list, and its id.
    pub after: Option<(u64, &'a str)>,
    pub limit: u32,
}

/// The place of a thread in the list. The id breaks ties.
pub fn place(thread: &ThreadSummary) -> u64 {
    thread.updated_at + thread.pinned_at.map_or(0, |_| PINNED)
}

/// The threads of a user: the pinned ones, then the others, each newest first.
pub async fn threads(
    env: &Env,
    owner: &Owner,
    query: ThreadQuery<'_>,
) -> Result<Vec<ThreadSummary>, StoreError> {
    let ThreadQuery { wanted, after, limit } = query;
    let mut values = vec![limit.into()];
    let (mut columns, mut conditions) = ("NULL AS snippet", String::new());
    if let Some(wanted) = wanted {
        values.push(text(wanted));
        columns = FOUND_IN;
        conditions.push_str(" AND (snippet IS NOT NULL OR instr(lower(title), lower(?4)) > 0)");
    }
    let beyond = after.map(|(at, id)| {
        let condition = format!(" AND (updated_at, id) < (?{}, ?{})", values.len() + 3, values.len() + 4);
        values.extend([number(at % PINNED), text(id)]);
        (at >= PINNED, condition)
    });
    // Each half has an index of its own.
    let half = |pinned: bool| {
        let after = beyond.as_ref().filter(|(at_pinned, _)| *at_pinned == pinned);
        let after = after.map_or("", |(_, condition)| condition);
        let not = if pinned { " NOT" } else { "" };
        format!(
            "SELECT * FROM (SELECT id, title, created_at, updated_at, pinned_at, state, {columns} FROM threads \
            WHERE tenant = ?1 AND user_id = ?2 AND pinned_at IS{not} NULL{conditions}{after} \
            ORDER BY updated_at DESC, id DESC LIMIT ?3)"
        )
    };
    let sql = match beyond {
        Some((false, _)) => half(false),
        _ => format!(
            "SELECT * FROM ({} UNION ALL {}) ORDER BY pinned_at IS NULL, updated_at DESC, id DESC LIMIT ?3",
            half(true),
            half(false)
        ),
    };
    let mut threads: Vec<ThreadSummary> =
        Owned::new(env, owner).select(OwnedSql::composed(&sql)?, &values).await?;
    for thread in &mut threads {
        thread.title = shown_title(&thread.title);
    }
    Ok(threads)
}

/// Pins a thread of the user, or takes its pin away. False where the user has [`MAX_PINNED`] others.
pub async fn pin(
    env: &Env,
    owner: &Owner,
    thread: &ThreadSummary,
    pinned_at: Option<u64>,
) -> Result<bool, StoreError> {
    let owned = Owned::new(env, owner);
    let Some(now) = pinned_at else {
        owned.statement(UNPIN, &[text(&thread.id)])?.run().await?;
        return Ok(true);
    };
    let values = [
        text(&thread.id),
        text(&thread.title),
        number(thread.created_at),
        number(thread.updated_at),
        number(now),
        MAX_PINNED.into(),
    ];
    owned.any(PIN, &values).await
}

/// The usage of a user since a time, by day, operation, model and context.
pub async fn usage(env: &Env, owner: &Owner, since_ms: u64, limit: u32) -> Result<Vec<UsageRow>, StoreError> {
    let values = [number(since_ms), limit.into(), text(&first_id(since_ms))];
    Owned::new(env, owner).select(USAGE, &values).await
}
