//! Calls that wait for somebody outside, and the decisions on them.

use serde::{Deserialize, Serialize};

/// The party that a waiting call needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Awaited {
    /// The client carries the call out.
    Client,
    /// A person allows the call.
    Approval,
    /// A person grants the turn its budget once more.
    Limit,
    /// A person fills in the form of a call that runs.
    Input,
}

impl Awaited {
    /// The wire's name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Awaited::Client => "client",
            Awaited::Approval => "approval",
            Awaited::Limit => "limit",
            Awaited::Input => "input",
        }
    }
}

/// The outcome of a request for approval.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    Approve,
    ApproveForThread,
    Deny,
    /// The request expired. Clients cannot send this decision.
    Expired,
    /// A person had allowed the tool for the whole thread before, so nobody was asked. Clients cannot send this decision.
    Standing,
}
