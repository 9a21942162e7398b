//! The money that a call of a tool costs beside the models of its turn. The tool says before the call what it may cost at
//! most (`Tool::charge`). The engine holds that amount, and settles what the tool paid.

use std::cell::Cell;

use serde::{Deserialize, Serialize};

/// The most that a call may cost, and who takes it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct Charge {
    pub provider: String,
    pub model: String,
    /// Millionths of a US dollar; none where the price is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub microusd: Option<u64>,
}

impl Charge {
    /// Whether a call that holds this may cost that: at most as much, at the same model.
    pub fn covers(&self, now: &Charge) -> bool {
        let is_paid = |held| now.microusd.is_some_and(|now| now <= held);
        (&self.provider, &self.model) == (&now.provider, &now.model) && self.microusd.is_none_or(is_paid)
    }
}

/// The amount that a running call has paid.
#[derive(Debug, Default)]
pub struct Paid(Cell<Option<u64>>);

impl Paid {
    /// Notes the amount in millionths of a US dollar. A call that notes nothing counts with all of its [`Charge`], as one whose
    /// outcome is unknown does.
    pub fn note(&self, microusd: u64) {
        self.0.set(Some(microusd));
    }

    /// The amount, if the call has noted one.
    pub fn microusd(&self) -> Option<u64> {
        self.0.get()
    }
}
