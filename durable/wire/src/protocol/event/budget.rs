//! The budget of a turn as clients see it.

use serde::{Deserialize, Serialize};

/// The limits of a turn whose use a client can display.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct TurnLimits {
    pub subtasks: u32,
    pub llm_calls: u32,
    pub tool_calls: u32,
    /// Running time, in milliseconds.
    pub wall_clock_ms: u64,
}

/// The limits whose crossing ends a turn. Depth, iterations and fan-out are not among them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum BudgetReason {
    /// `run_subtask` calls over the whole tree.
    Subtasks,
    /// Model calls over the whole tree.
    LlmCalls,
    /// Tool calls over the whole tree.
    ToolCalls,
    /// Milliseconds of running time.
    WallClock,
    /// Tokens over the whole tree.
    Tokens,
    /// Bytes of tool results.
    Bytes,
    /// Millionths of a US dollar of model calls; only if the deployment limits the cost.
    Cost,
}
