//! Verdicts of hooks, as the journal keeps them.

use serde::{Deserialize, Serialize};

use wire::protocol::{HookDecision, HookPoint, Place};

/// A hook has said its verdict. The entry's `at` is the key of the question.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct HookSaid {
    /// The name of the hook.
    pub hook: String,
    #[serde(default)]
    pub point: HookPoint,
    #[serde(default)]
    pub place: Place,
    /// None where the end of a step cut the hook off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<HookDecision>,
    /// The comment, or the reason.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// The hook gave no verdict: the decision is the one of a hook that fails.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub failed: bool,
    /// The hook's state from here on; none where it stays as it is. Each level's copy has its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
}

impl HookSaid {
    /// Whether it blocks what it was asked about.
    pub fn blocks(&self) -> bool {
        self.decision == Some(HookDecision::Block)
    }

    /// Whether readers hear of it.
    pub fn is_told(&self) -> bool {
        self.failed || self.decision.is_some_and(|decision| decision != HookDecision::Allow)
    }
}
