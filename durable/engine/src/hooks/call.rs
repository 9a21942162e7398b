//! `hook`: the call by which an agent makes a hook of its own, where the operator allows it. The hook watches the agent
//! from the end of the round on, and nothing that the agent can call ends it.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use super::{check_together, define};
use crate::journal::AgentChange;
use crate::own::OwnCall;
use crate::ports::ToolError;
use crate::toolbelt::ToolSpec;
use crate::toolbelt::arguments::{self, refused};
use crate::turn::composite::{Carrier, Outcome, Own};
use crate::turn::{Level, Turn};
use wire::protocol::{Hook, HookPoint, HookReach, NewHook};

pub const NAME: &str = "hook";

pub(crate) const CALL: Own = Own { facts: OwnCall::plain(NAME), carrier: Carrier::AtOnce(carry_out) };

#[derive(Deserialize)]
struct Arguments {
    name: String,
    on: Option<HookPoint>,
    #[serde(rename = "match")]
    calls: Option<Vec<String>>,
    builtin: Option<String>,
    options: Option<BTreeMap<String, Value>>,
    instructions: Option<String>,
    reads: Option<Vec<String>>,
    of: Option<HookReach>,
}

/// The declaration.
pub fn spec() -> ToolSpec {
    super::declared(NAME)
}

fn carry_out(turn: &Turn, level: &Level, arguments: &str) -> Outcome {
    match made(level, arguments) {
        Ok(hook) => {
            let told = format!("the hook {} watches you from now on", hook.name);
            let hook = Box::new(hook);
            // An agent that stays has its hooks whenever it is asked.
            let hooked = turn
                .agent_at(level)
                .map(|name| AgentChange::Hooked { name: name.to_owned(), hook: hook.clone() });
            let agents = hooked.into_iter().collect();
            Outcome { hook: Some(hook), agents, ..Outcome::of(Ok(told)) }
        }
        Err(refusal) => Outcome::of(Err(refusal)),
    }
}

fn made(level: &Level, arguments: &str) -> Result<Hook, ToolError> {
    let Arguments { name, on, calls, builtin, options, instructions, reads, of } =
        arguments::read(&spec(), arguments)?;
    if level.own_hooks().any(|hook| hook.name == name) {
        return Err(refused(&spec(), "name", "you have made a hook of this name"));
    }
    let new = NewHook { on, calls, builtin, options, instructions, reads, of };
    let hook = define(&name, new)
        .map_err(|error| refused(&spec(), error.field.as_deref().unwrap_or_default(), &error.detail))?;
    // The refusal tells nothing of the hooks that others have given the agent.
    let own = level.own_hooks().map(|hook| Hook::clone(hook));
    let all: Vec<Hook> = own.chain([hook.clone()]).collect();
    check_together(&all).map_err(|error| ToolError(error.into_detail()))?;
    Ok(hook)
}
