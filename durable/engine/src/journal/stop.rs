//! The reasons why a turn stops before its natural end.

use serde::Serialize;

use wire::model::ModelError;
use wire::protocol::BudgetReason;

/// The reason why a turn stops before its natural end.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
#[serde(tag = "why", rename_all = "snake_case")]
pub enum TurnStop {
    /// A reservation would have crossed a limit; `observed` is the value that it would have reached.
    Budget { reason: BudgetReason, limit: u64, observed: u64 },
    /// The root level used up its iterations.
    IterationLimit { limit: u32 },
    /// A hook blocked the answer of the root, and each rewriting of it.
    Blocked { hook: String, reason: String },
    /// A person cancelled.
    Cancelled,
    /// A newer request took over the thread.
    Superseded,
    /// The root's model call failed.
    Model { error: ModelError },
    /// The run was lost, and resuming it failed.
    Interrupted { detail: String },
    /// The service failed.
    Internal { detail: String },
}

wire::tagged!(TurnStop by "why" {
    "budget" => Budget { reason, limit, observed },
    "iteration_limit" => IterationLimit { limit },
    "blocked" => Blocked { hook, reason },
    "cancelled" => Cancelled,
    "superseded" => Superseded,
    "model" => Model { error },
    "interrupted" => Interrupted { detail },
    "internal" => Internal { detail },
});
