//! `agent_update_plan`: runs, changes or drops the plan that waits for the user's decision.

use serde::Deserialize;
use serde_json::json;

use super::OwnCall;
use crate::toolbelt::ToolError;
use crate::toolbelt::arguments::{self, refused};
use crate::toolbelt::declare;
use crate::toolbelt::{PermissionClass, ToolSpec};

pub const NAME: &str = "agent_update_plan";

/// Its facts: the plan is a level, and its steps are levels below it.
pub(super) const CALL: OwnCall =
    OwnCall { makes_plans: true, stands_for_inner: true, ..OwnCall::composite(NAME, 2) };

/// The longest description of a change, in characters.
const MAX_CHANGES: usize = 4_000;

/// The user's decision on the plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    Run,
    Change,
    Drop,
}

/// The arguments of a call.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Arguments {
    pub plan_id: String,
    pub action: Action,
    /// The changes that the user wants, in words.
    #[serde(default)]
    pub changes: String,
}

/// Reads and checks the arguments; the model reads the error.
pub fn arguments(json: &str) -> Result<Arguments, ToolError> {
    let arguments: Arguments = arguments::read(&spec(), json)?;
    let blank = arguments.changes.trim().is_empty();
    if arguments.action == Action::Change && (blank || arguments.changes.chars().nth(MAX_CHANGES).is_some()) {
        let rule = format!("it must say in 1 to {MAX_CHANGES} characters what to change");
        return Err(refused(&spec(), "changes", &rule));
    }
    Ok(arguments)
}

pub(super) fn spec() -> ToolSpec {
    let mut spec = declare(
        NAME,
        PermissionClass::Subagent,
        "Acts on the plan that waits for the user's word, as the user's message says: `run` carries it out, `change` \
         has it made anew with the changes and lets it wait again, `drop` gives it up.",
        json!({
            "type": "object",
            "properties": {
                "plan_id": {"type": "string"},
                "action": {"type": "string", "enum": ["run", "change", "drop"]},
                "changes": {"type": "string", "description": "for `change`: what the user wants to be different"},
            },
            "required": ["plan_id", "action"],
            "examples": [{"plan_id": "plan_1", "action": "run"}],
        }),
    );
    spec.timeout_ms = None;
    spec.parallel_safe = false;
    spec
}
