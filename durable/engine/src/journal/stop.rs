//! The reasons why a turn stops before its natural end.

use wire::model::ModelError;
use wire::protocol::BudgetReason;

wire::tagged! {
    /// The reason why a turn stops before its natural end.
    #[derive(Clone, Debug, PartialEq)]
    #[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
    pub enum TurnStop by "why" {
        /// A reservation would have crossed a limit; `observed` is the value that it would have reached.
        "budget" => Budget { reason: BudgetReason, limit: u64, observed: u64 },
        /// The root level used up its iterations.
        "iteration_limit" => IterationLimit { limit: u32 },
        /// A hook blocked the answer of the root, and each rewriting of it.
        "blocked" => Blocked { hook: String, reason: String },
        /// The model did not give the answer in the shape that the request wants.
        "shape_missed" => ShapeMissed { detail: String },
        /// A person cancelled.
        "cancelled" => Cancelled,
        /// A newer request took over the thread.
        "superseded" => Superseded,
        /// The root's model call failed.
        "model" => Model { error: ModelError },
        /// The call that the message asked for failed.
        "call" => Call { message: String },
        /// The run was lost, and resuming it failed.
        "interrupted" => Interrupted { detail: String },
        /// The service failed.
        "internal" => Internal { detail: String },
    }
}
