//! The ledger of a turn: the tokens and the costs of its model calls.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The ledger of a turn.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct CostSummary {
    pub llm_calls: u32,
    pub tool_calls: u32,
    pub subtasks: u32,
    pub input_tokens: u64,
    pub cached_tokens: u64,
    pub output_tokens: u64,
    /// Null if the price of a used model is unknown.
    pub cost_usd: Option<f64>,
    #[cfg_attr(feature = "openapi", schemars(with = "ModelCosts"))]
    pub by_model: BTreeMap<String, ModelCost>,
    /// The service estimated a part of these numbers, because a provider did not count it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[cfg_attr(test, ts(as = "Option<bool>", optional))]
    pub estimated: bool,
    /// The last request of the conversation, where money is limited, its provider counted it and it left nothing of the
    /// conversation out. The next turn reserves by it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, ts(optional))]
    pub last_request: Option<CountedRequest>,
}

// Generators of clients stop at a schema without a name that stands within two others.
/// The shares of models by their names.
#[cfg(feature = "openapi")]
#[derive(schemars::JsonSchema)]
#[schemars(transparent)]
pub struct ModelCosts(pub BTreeMap<String, ModelCost>);

/// A request as its provider counted it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct CountedRequest {
    /// The model that answered.
    pub model: String,
    pub input_tokens: u64,
    pub output_tokens: u64,
}

/// A share of a turn's ledger: one model's, or one subtask's.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct ModelCost {
    pub llm_calls: u32,
    pub input_tokens: u64,
    pub cached_tokens: u64,
    pub output_tokens: u64,
    pub cost_usd: Option<f64>,
    /// As in the whole ledger.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[cfg_attr(test, ts(as = "Option<bool>", optional))]
    pub estimated: bool,
}
