//! A turn's rows of telemetry: `llm_usage`, `tool_usage`, `error_log`.

use serde_json::{Value, json};

use super::{Calls, Outgoing};
use engine::journal::{CallRecord, FailureRecord};

pub(super) const INSERT_LLM_USAGE: &str = "
INSERT INTO llm_usage (tenant, user_id, id, thread_id, turn_id, provider, model, operation_type, context_type, profile,
  execution_mode, input_tokens, cached_tokens, output_tokens, cost_usd, first_byte_ms, duration_ms, retries, outcome,
  created_at)
SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 5, value ->> 6, value ->> 7,
  value ->> 8, value ->> 9, value ->> 10, value ->> 11, value ->> 12, value ->> 13, value ->> 14, value ->> 15,
  value ->> 16, value ->> 17, value ->> 18, value ->> 19 FROM json_each(?1) WHERE true
ON CONFLICT (tenant, user_id, id) DO NOTHING";

pub(super) const INSERT_TOOL_USAGE: &str = "
INSERT INTO tool_usage (tenant, user_id, id, thread_id, turn_id, tool_name, duration_ms, is_error, outcome, created_at,
  context_type, execution_mode, detail)
SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 5, value ->> 6, value ->> 7,
  value ->> 8, value ->> 9, value ->> 10, value ->> 11, value ->> 12 FROM json_each(?1) WHERE true
ON CONFLICT (tenant, user_id, id) DO NOTHING";

pub(super) const INSERT_ERROR_LOG: &str = "
INSERT INTO error_log (tenant, user_id, id, thread_id, turn_id, component, stage, tool_name, code, message,
  context_type, execution_mode, created_at)
SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 5, value ->> 6, value ->> 7,
  value ->> 8, value ->> 9, value ->> 10, value ->> 11, value ->> 12 FROM json_each(?1) WHERE true
ON CONFLICT (tenant, user_id, id) DO NOTHING";

/// The arguments of tools and the messages of failures may repeat text that a user deleted. The rest of these rows
/// stays, because usage must add up. The rows of a thread:
pub(super) const BLANK_DETAILS: &str = "
UPDATE tool_usage SET detail = NULL WHERE detail IS NOT NULL AND (tenant, user_id, id) IN (
  SELECT t.tenant, t.user_id, t.id FROM json_each(?1) JOIN tool_usage t ON t.tenant = value ->> 0
  AND t.user_id = value ->> 1 AND t.thread_id = value ->> 2 AND t.detail IS NOT NULL)";

/// The same of failures.
pub(super) const BLANK_ERRORS: &str = "
UPDATE error_log SET message = '' WHERE message <> '' AND (tenant, user_id, id) IN (
  SELECT e.tenant, e.user_id, e.id FROM json_each(?1) JOIN error_log e ON e.tenant = value ->> 0
  AND e.user_id = value ->> 1 AND e.thread_id = value ->> 2 AND e.message <> '')";

/// The column `execution_mode` of rows that belong to no plan.
const NO_PLAN: &str = "agent";

/// The part of the turn in which a failure happened.
#[derive(Default)]
struct Part<'a> {
    turn_id: &'a str,
    context_type: &'a str,
    execution_mode: Option<&'a str>,
}

/// The rows of telemetry.
#[derive(Default)]
pub(super) struct CallRows {
    pub(super) llm_usage: Vec<Value>,
    pub(super) tool_usage: Vec<Value>,
    pub(super) failures: Vec<Value>,
}

impl CallRows {
    /// A failure outside of a turn.
    pub(super) fn add_failure(&mut self, out: &Outgoing, failure: &FailureRecord, created_at: u64) {
        let id = format!("{}/{}", out.thread_id, failure.id);
        self.failures.push(failure_row(out, failure, &id, &Part::default(), created_at));
    }

    /// Adds the calls of a turn.
    // Long: it names each column of two tables.
    pub(super) fn add(&mut self, out: &Outgoing, calls: &Calls) {
        let unique = |id: &str| format!("{}/{id}", calls.message_id);
        let mode = calls.execution_mode.as_deref().unwrap_or(NO_PLAN);
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
                    mode,
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
                CallRecord::Tool { id, tool_name, duration_ms, is_error, detail, .. } => {
                    self.tool_usage.push(json!([
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
                        calls.context_type,
                        mode,
                        detail,
                    ]))
                }
                CallRecord::Failure(failure) => {
                    let (turn_id, context_type) = (calls.turn_id.as_str(), calls.context_type.as_str());
                    let part = Part { turn_id, context_type, execution_mode: Some(mode) };
                    let id = unique(&failure.id);
                    self.failures.push(failure_row(out, failure, &id, &part, calls.created_at));
                }
            }
        }
    }
}

/// The longest time from the beginning of a turn to its end, with room to spare: it may wait a week for a place, for the
/// operator, and for a person.
const LONGEST_TURN_MS: u64 = 30 * 24 * 3_600_000;

/// A lower bound of the ids of the calls that are told since a time. An id begins with its message's, which is a UUIDv7
/// of the beginning of the turn.
pub fn first_id(since_ms: u64) -> String {
    let ms = format!("{:012x}", since_ms.saturating_sub(LONGEST_TURN_MS));
    let (high, low) = ms.split_at_checked(8).unwrap_or((&ms, ""));
    format!("{high}-{low}")
}

fn failure_row(out: &Outgoing, failure: &FailureRecord, id: &str, part: &Part<'_>, created_at: u64) -> Value {
    let FailureRecord { component, stage, tool_name, code, message, .. } = failure;
    json!([
        out.tenant,
        out.user_id,
        id,
        out.thread_id,
        part.turn_id,
        component,
        stage,
        tool_name,
        code,
        message,
        part.context_type,
        part.execution_mode.unwrap_or(NO_PLAN),
        created_at,
    ])
}
