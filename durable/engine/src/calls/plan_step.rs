//! `plan_step`: one step of a plan. It runs as a subtask that the service calls; no model is offered it.

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{OwnCall, Settles};
use crate::toolbelt::declare;
use crate::toolbelt::{PermissionClass, ToolSpec};
use wire::model::ToolCall;
use wire::protocol::PlanStep;

pub const NAME: &str = "plan_step";

/// Its facts.
pub(super) const CALL: OwnCall = OwnCall {
    counts_as_subtask: true,
    has_title: true,
    stands_for_inner: true,
    settles: Some(Settles::Step),
    ..OwnCall::composite(NAME, 1)
};

/// The arguments with which the service calls a step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Arguments {
    pub title: String,
    pub plan_id: String,
    pub step_id: String,
    /// Its place in the plan.
    pub index: usize,
    /// Its instructions, with the results of the steps that it builds on.
    pub instructions: String,
}

/// Reads the arguments of a call; none if they are not those of a step.
pub fn arguments(json: &str) -> Option<Arguments> {
    serde_json::from_str(json).ok()
}

/// The call of a step.
pub fn call(plan_id: &str, index: usize, step: &PlanStep, instructions: String) -> ToolCall {
    let arguments = Arguments {
        title: step.title.clone(),
        plan_id: plan_id.to_owned(),
        step_id: step.id.clone(),
        index,
        instructions,
    };
    let arguments = serde_json::to_string(&arguments).unwrap_or_default();
    ToolCall { call_id: format!("step_{index}"), name: NAME.to_owned(), arguments }
}

/// The declaration, for the level that runs a plan.
pub fn spec() -> ToolSpec {
    let mut spec = declare(NAME, PermissionClass::Subagent, "Carries out one step of a plan.", json!({}));
    spec.timeout_ms = None;
    spec
}
