//! What a thread tells D1: the payloads of its outbox and the statements that they become. Pure.
//!
//! Every statement is an upsert or a deletion that names tenant and user, so it may arrive late or twice. Each takes
//! its rows as one JSON array, which keeps a batch of any size within D1's 100 bound parameters.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::journal::{CallRecord, Failure};
use crate::protocol::{Owner, StoredMessage};
use crate::quota::Amount;

use super::StoreError;
use super::rows::arrays;

/// One row of the outbox: what happened in which thread.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Outgoing {
    pub tenant: String,
    pub user_id: String,
    pub thread_id: String,
    pub news: News,
}

/// What D1 must learn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum News {
    TurnStarted {
        thread: ThreadRow,
        message: StoredMessage,
    },
    Renamed {
        thread: ThreadRow,
    },
    /// Messages whose place others took.
    MessagesReplaced {
        ids: Vec<String>,
    },
    TurnEnded {
        thread: ThreadRow,
        message: StoredMessage,
        calls: Calls,
    },
    /// What is kept of a turn whose thread was deleted before D1 heard of it: what was spent must add up.
    Spent {
        calls: Calls,
    },
    /// Something failed outside of a turn.
    Failed {
        failure: Failure,
        created_at: u64,
    },
    ThreadDeleted {
        /// Where its files were.
        #[serde(default)]
        workspace_root: Option<String>,
    },
}

/// The thread as the list shows it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ThreadRow {
    pub title: String,
    pub created_at: u64,
    pub updated_at: u64,
}

/// The calls of one turn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Calls {
    pub turn_id: String,
    /// The assistant message's id. Unique where a turn id is not, since clients choose that, it makes the rows' ids so.
    pub message_id: String,
    pub context_type: String,
    pub created_at: u64,
    pub records: Vec<CallRecord>,
    /// What quotas are charged; none where that is not known.
    #[serde(default)]
    pub used: Option<Amount>,
}

impl Outgoing {
    /// News of an owner's thread.
    pub fn new(owner: &Owner, thread_id: impl Into<String>, news: News) -> Self {
        let (tenant, user_id) = (owner.tenant.clone(), owner.user_id());
        Outgoing { tenant, user_id, thread_id: thread_id.into(), news }
    }

    /// The turn whose message this is.
    pub fn turn_id(&self) -> Option<&str> {
        match &self.news {
            News::TurnStarted { message, .. } | News::TurnEnded { message, .. } => Some(&message.turn_id),
            News::Renamed { .. }
            | News::MessagesReplaced { .. }
            | News::Spent { .. }
            | News::Failed { .. }
            | News::ThreadDeleted { .. } => None,
        }
    }

    /// The message that it brings.
    pub fn message_id(&self) -> Option<&str> {
        match &self.news {
            News::TurnStarted { message, .. } | News::TurnEnded { message, .. } => Some(&message.id),
            _ => None,
        }
    }

    /// The same as it is told now, which may be late and after what came later: with the thread's present title, and
    /// without its message where another took that one's place meanwhile.
    pub fn told_now(mut self, title: &str, replaced: bool) -> Self {
        if let News::TurnStarted { thread, .. } | News::TurnEnded { thread, .. } | News::Renamed { thread } =
            &mut self.news
        {
            title.clone_into(&mut thread.title);
        }
        match self.news {
            News::TurnStarted { thread, .. } if replaced => {
                Outgoing { news: News::Renamed { thread }, ..self }
            }
            News::TurnEnded { calls, .. } if replaced => Outgoing { news: News::Spent { calls }, ..self },
            _ => self,
        }
    }

    /// What of it survives the deletion of its thread.
    pub fn without_content(self) -> Option<Self> {
        match self.news {
            News::TurnEnded { mut calls, .. } | News::Spent { mut calls } => {
                // What a tool said of its failure may repeat what was deleted.
                calls.records.retain(|record| !matches!(record, CallRecord::Failure(_)));
                Some(Outgoing { news: News::Spent { calls }, ..self })
            }
            News::TurnStarted { .. }
            | News::Renamed { .. }
            | News::MessagesReplaced { .. }
            | News::Failed { .. }
            | News::ThreadDeleted { .. } => None,
        }
    }
}

/// A statement with its one parameter, a JSON array of rows.
#[derive(Clone, Debug, PartialEq)]
pub struct Statement {
    pub sql: &'static str,
    pub rows: String,
}

const UPSERT_THREADS: &str = "
INSERT INTO threads (tenant, user_id, id, title, created_at, updated_at)
SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 5 FROM json_each(?1) WHERE true
ON CONFLICT (tenant, user_id, id) DO UPDATE SET
  title = excluded.title, updated_at = max(updated_at, excluded.updated_at)";

const UPSERT_MESSAGES: &str = "
INSERT INTO messages (tenant, user_id, id, thread_id, turn_id, role, content, execution_tree, usage, finish_reason,
  created_at)
SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 5, value ->> 6, value ->> 7,
  value ->> 8, value ->> 9, value ->> 10 FROM json_each(?1) WHERE true
ON CONFLICT (tenant, user_id, id) DO UPDATE SET
  content = excluded.content, execution_tree = excluded.execution_tree, usage = excluded.usage,
  finish_reason = excluded.finish_reason";

const INSERT_LLM_USAGE: &str = "
INSERT INTO llm_usage (tenant, user_id, id, thread_id, turn_id, provider, model, operation_type, context_type, profile,
  execution_mode, input_tokens, cached_tokens, output_tokens, cost_usd, first_byte_ms, duration_ms, retries, outcome,
  created_at)
SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 5, value ->> 6, value ->> 7,
  value ->> 8, value ->> 9, value ->> 10, value ->> 11, value ->> 12, value ->> 13, value ->> 14, value ->> 15,
  value ->> 16, value ->> 17, value ->> 18, value ->> 19 FROM json_each(?1) WHERE true
ON CONFLICT (tenant, user_id, id) DO NOTHING";

const INSERT_TOOL_USAGE: &str = "
INSERT INTO tool_usage (tenant, user_id, id, thread_id, turn_id, tool_name, duration_ms, is_error, outcome, created_at)
SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 5, value ->> 6, value ->> 7,
  value ->> 8, value ->> 9 FROM json_each(?1) WHERE true
ON CONFLICT (tenant, user_id, id) DO NOTHING";

const INSERT_ERROR_LOG: &str = "
INSERT INTO error_log (tenant, user_id, id, thread_id, turn_id, component, stage, tool_name, code, message,
  context_type, execution_mode, created_at)
SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 5, value ->> 6, value ->> 7,
  value ->> 8, value ->> 9, value ->> 10, value ->> 11, value ->> 12 FROM json_each(?1) WHERE true
ON CONFLICT (tenant, user_id, id) DO NOTHING";

const DELETE_REPLACED: &str = "
DELETE FROM messages WHERE (tenant, user_id, id) IN (SELECT value ->> 0, value ->> 1, value ->> 2 FROM json_each(?1))";

const DELETE_MESSAGES: &str = "
DELETE FROM messages WHERE (tenant, user_id, thread_id) IN (SELECT value ->> 0, value ->> 1, value ->> 2
FROM json_each(?1))";

const DELETE_THREADS: &str = "
DELETE FROM threads WHERE (tenant, user_id, id) IN (SELECT value ->> 0, value ->> 1, value ->> 2 FROM json_each(?1))";

/// Until plans come, every call is made by the one agent loop (column `execution_mode`).
const EXECUTION_MODE: &str = "agent";

/// The statements of one D1 batch for these rows of the outbox, which are in the order in which they were written.
/// Deletions come last: a thread's object writes nothing after its own, and no message after its, so nothing can come
/// back.
pub fn statements(outbox: &[Outgoing]) -> Result<Vec<Statement>, StoreError> {
    let (mut threads, mut messages) = (Vec::new(), Vec::new());
    let mut rows = CallRows::default();
    let (mut replaced_messages, mut deleted) = (Vec::new(), Vec::new());
    for out in outbox {
        let Outgoing { tenant, user_id, thread_id, news } = out;
        if let News::TurnStarted { thread, .. } | News::TurnEnded { thread, .. } | News::Renamed { thread } =
            news
        {
            let ThreadRow { title, created_at, updated_at } = thread;
            threads.push((tenant, user_id, thread_id, title, created_at, updated_at));
        }
        match news {
            News::TurnStarted { message, .. } | News::TurnEnded { message, .. } => {
                messages.push(message_row(out, message)?);
            }
            News::MessagesReplaced { ids } => {
                replaced_messages.extend(ids.iter().map(|id| (tenant, user_id, id)));
            }
            News::ThreadDeleted { .. } => deleted.push((tenant, user_id, thread_id)),
            News::Failed { failure, created_at } => {
                let id = format!("{thread_id}/{}", failure.id);
                rows.failures.push(failure_row(out, failure, &id, "", "", *created_at));
            }
            News::Renamed { .. } | News::Spent { .. } => {}
        }
        if let News::TurnEnded { calls, .. } | News::Spent { calls } = news {
            rows.add(out, calls);
        }
    }
    let mut all = Vec::new();
    let mut add = |sql: &'static str, rows: Vec<String>| {
        all.extend(arrays(&rows).into_iter().map(|rows| Statement { sql, rows }));
    };
    add(UPSERT_THREADS, json_rows(&threads)?);
    add(UPSERT_MESSAGES, json_rows(&messages)?);
    add(INSERT_LLM_USAGE, json_rows(&rows.llm_usage)?);
    add(INSERT_TOOL_USAGE, json_rows(&rows.tool_usage)?);
    add(INSERT_ERROR_LOG, json_rows(&rows.failures)?);
    add(DELETE_REPLACED, json_rows(&replaced_messages)?);
    add(DELETE_MESSAGES, json_rows(&deleted)?);
    add(DELETE_THREADS, json_rows(&deleted)?);
    Ok(all)
}

fn json_rows<T: Serialize>(rows: &[T]) -> Result<Vec<String>, StoreError> {
    rows.iter().map(|row| Ok(serde_json::to_string(row)?)).collect()
}

fn message_row(out: &Outgoing, message: &StoredMessage) -> Result<Value, StoreError> {
    let text = |value: &Option<Value>| value.as_ref().map(ToString::to_string);
    let tree = message.execution_tree.as_ref().map(serde_json::to_value).transpose()?;
    let usage = message.usage.as_ref().map(serde_json::to_value).transpose()?;
    Ok(json!([
        out.tenant,
        out.user_id,
        message.id,
        out.thread_id,
        message.turn_id,
        message.role,
        message.content,
        text(&tree),
        text(&usage),
        message.finish_reason,
        message.created_at,
    ]))
}

/// The rows of telemetry.
#[derive(Default)]
struct CallRows {
    llm_usage: Vec<Value>,
    tool_usage: Vec<Value>,
    failures: Vec<Value>,
}

impl CallRows {
    fn add(&mut self, out: &Outgoing, calls: &Calls) {
        let unique = |id: &str| format!("{}/{id}", calls.message_id);
        for record in &calls.records {
            match record {
                CallRecord::Model {
                    id,
                    provider,
                    model,
                    operation_type,
                    profile,
                    input_tokens,
                    cached_tokens,
                    output_tokens,
                    cost_usd,
                    first_byte_ms,
                    duration_ms,
                    retries,
                    outcome,
                } => self.llm_usage.push(json!([
                    out.tenant,
                    out.user_id,
                    unique(id),
                    out.thread_id,
                    calls.turn_id,
                    provider,
                    model,
                    operation_type,
                    calls.context_type,
                    profile,
                    EXECUTION_MODE,
                    input_tokens,
                    cached_tokens,
                    output_tokens,
                    cost_usd,
                    first_byte_ms,
                    duration_ms,
                    retries,
                    outcome,
                    calls.created_at,
                ])),
                CallRecord::Tool { id, tool_name, duration_ms, is_error } => self.tool_usage.push(json!([
                    out.tenant,
                    out.user_id,
                    unique(id),
                    out.thread_id,
                    calls.turn_id,
                    tool_name,
                    duration_ms,
                    u8::from(*is_error),
                    if *is_error { "error" } else { "ok" },
                    calls.created_at,
                ])),
                CallRecord::Failure(failure) => {
                    let (turn_id, context) = (&calls.turn_id, &calls.context_type);
                    let id = unique(&failure.id);
                    self.failures.push(failure_row(out, failure, &id, turn_id, context, calls.created_at));
                }
            }
        }
    }
}

fn failure_row(
    out: &Outgoing,
    failure: &Failure,
    id: &str,
    turn_id: &str,
    context_type: &str,
    created_at: u64,
) -> Value {
    let Failure { component, stage, tool_name, code, message, .. } = failure;
    json!([
        out.tenant,
        out.user_id,
        id,
        out.thread_id,
        turn_id,
        component,
        stage,
        tool_name,
        code,
        message,
        context_type,
        EXECUTION_MODE,
        created_at,
    ])
}

/// How long a thread waits before it turns to D1 again, in milliseconds.
const FIRST_RETRY_MS: u64 = 2_000;
/// The longest wait while D1 may be down: each thread asks once a minute.
const LONG_RETRY_MS: u64 = 60_000;
/// After so many refusals, which is after about an hour, it is more likely that D1 will never take this.
const PATIENT_REFUSALS: u32 = 64;
/// The longest wait: it is kept, and asked about for ever.
const LAST_RETRY_MS: u64 = 3_600_000;

/// The wait after so many refusals: 2, 4, 8 … 60 seconds, at last an hour.
pub fn retry_after_ms(refusals: u32) -> u64 {
    match refusals {
        0..=PATIENT_REFUSALS => {
            FIRST_RETRY_MS.saturating_mul(1 << refusals.saturating_sub(1).min(16)).min(LONG_RETRY_MS)
        }
        _ => LAST_RETRY_MS,
    }
}

/// How long after a deletion D1 is told again: a batch that was given up as unanswered may still arrive, and D1 ends a
/// query after 30 s.
pub const DELETED_AGAIN_MS: u64 = 60_000;
