//! Chat contexts as data: their limits.

use serde::{Deserialize, Serialize};

/// The limits of one turn over its whole tree (DESIGN §4). The one place where their values stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// How deep subtasks may nest; the root has depth 0.
    pub depth: u32,
    /// Model calls of one level.
    pub iterations: u32,
    /// Calls of one reply that run at the same time.
    pub parallel: u32,
    /// `run_subtask` calls over the whole tree.
    pub subtasks: u32,
    /// Model calls over the whole tree.
    pub llm_calls: u32,
    /// Tool calls over the whole tree, subtasks included.
    pub tool_calls: u32,
    /// Milliseconds that the turn may be running.
    pub wall_clock_ms: u64,
    /// Bytes of one tool's result; what is longer is truncated.
    pub tool_result_bytes: usize,
    /// Tokens of one request; older rounds are pruned.
    pub history_tokens: u64,
    /// How often a structured result that does not satisfy its schema may be given again.
    pub schema_retries: u32,
}

impl Default for Limits {
    /// The profile `thread`.
    fn default() -> Self {
        Limits {
            depth: 3,
            iterations: 20,
            parallel: 8,
            subtasks: 32,
            llm_calls: 60,
            tool_calls: 200,
            wall_clock_ms: 180_000,
            tool_result_bytes: 50_000,
            history_tokens: 128_000,
            schema_retries: 3,
        }
    }
}
