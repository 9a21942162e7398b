//! Usage: the cost and the outcomes of the turns of a user.

use super::words::*;

#[cfg(target_arch = "wasm32")]
use crate::routes::usage;
#[cfg(test)]
use wire::protocol::UsageList;

routes! {
    /// Sums the usage of the user's model calls by day, operation, model and context. The rows are those of the last 30
    /// days, or of as many as `days` says (1 to 90), newest day first, 1,000 at most. `day` is a day of UTC. A turn counts
    /// once D1 has its end.
    Get "/api/usage" => Usage, Needs(Read), Nothing, Reads,
        |r| usage::sums(r.call, r.caller.owner()?),
        |row| row.query(days()).gives::<UsageList>(200);
}

/// The table `llm_usage`.
pub const LLM_USAGE: Table = users(
    "llm_usage",
    Rows {
        key: &["id"],
        line: Some("model_call"),
        columns: &[
            "id",
            "thread_id",
            "turn_id",
            "provider",
            "model",
            "operation_type",
            "context_type",
            "profile",
            "execution_mode",
            "input_tokens",
            "cached_tokens",
            "output_tokens",
            "cost_usd",
            "duration_ms",
            "first_byte_ms",
            "retries",
            "outcome",
            "created_at",
        ],
        ..ROWS
    },
    500,
);

/// The table `tool_usage`.
pub const TOOL_USAGE: Table = users(
    "tool_usage",
    Rows {
        key: &["id"],
        line: Some("tool_call"),
        columns: &[
            "id",
            "thread_id",
            "turn_id",
            "tool_name",
            "context_type",
            "execution_mode",
            "detail",
            "duration_ms",
            "is_error",
            "outcome",
            "created_at",
        ],
        ..ROWS
    },
    100,
);

/// The table `error_log`.
pub const ERROR_LOG: Table = users(
    "error_log",
    Rows {
        key: &["id"],
        line: Some("error"),
        columns: &[
            "id",
            "thread_id",
            "turn_id",
            "component",
            "stage",
            "tool_name",
            "code",
            "message",
            "context_type",
            "execution_mode",
            "created_at",
        ],
        ..ROWS
    },
    100,
);

#[cfg(test)]
fn days() -> Parameter {
    let schema = json!({ "type": "integer", "minimum": 1, "maximum": 90, "default": 30 });
    Parameter::new("days", "The number of days, including today.", schema).such_as(json!(7))
}
