//! `route_request`: chooses the models and the amount of work for a request that asks for routing. The
//! service calls it once, before anything else.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{OwnCall, Settles};
use crate::profiles::Role;
use crate::toolbelt::declare;
use crate::toolbelt::{PermissionClass, ToolSpec};

pub const NAME: &str = "route_request";

/// Its facts.
pub(super) const CALL: OwnCall = OwnCall { settles: Some(Settles::Route), ..OwnCall::composite(NAME, 1) };

/// The role whose models suit a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RouteRole {
    Primary,
    Secondary,
    Subagent,
}

/// The amount of work in a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Complexity {
    Simple,
    Complex,
}

/// The router's decision, made in one call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RouteDecision {
    pub role: RouteRole,
    pub complexity: Complexity,
    pub reason: String,
}

impl RouteDecision {
    /// The decision when the router fails (S-009).
    pub fn fallback(why: &str) -> Self {
        let reason = format!("the router gave no decision: {why}");
        RouteDecision { role: RouteRole::Primary, complexity: Complexity::Simple, reason }
    }
}

/// The schema of the decision.
pub fn schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "role": {"enum": ["primary", "secondary", "subagent"]},
            "complexity": {"enum": ["simple", "complex"]},
            "reason": {"type": "string", "maxLength": 500},
        },
        "required": ["role", "complexity", "reason"],
        "additionalProperties": false,
    })
}

/// The role that a call's result names; none for the turn's own models.
pub fn role(result: &str) -> Option<Role> {
    match serde_json::from_str::<RouteDecision>(result).ok()?.role {
        RouteRole::Primary => None,
        RouteRole::Secondary => Some(Role::Secondary),
        RouteRole::Subagent => Some(Role::Subagent),
    }
}

/// Whether a call's result says that the request is complex.
pub fn is_complex(result: &str) -> bool {
    let decision = serde_json::from_str::<RouteDecision>(result);
    decision.is_ok_and(|decision| decision.complexity == Complexity::Complex)
}

/// The declaration, for the root's opening alone.
pub fn spec() -> ToolSpec {
    let mut spec = declare(
        NAME,
        PermissionClass::Subagent,
        "Decides which way a request goes.",
        json!({"type": "object"}),
    );
    spec.timeout_ms = None;
    spec
}
