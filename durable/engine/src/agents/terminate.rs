//! `terminate`: ends an agent and all that it made.

use serde::Deserialize;

use crate::journal::AgentChange;
use crate::own::OwnCall;
use crate::toolbelt::{ToolError, ToolSpec, arguments};
use crate::turn::composite::{Carrier, Outcome, Own};
use crate::turn::{Level, Turn};

pub const NAME: &str = "terminate";

pub(crate) const CALL: Own =
    Own { facts: OwnCall { of_agents: true, ..OwnCall::plain(NAME) }, carrier: Carrier::AtOnce(terminate) };

#[derive(Deserialize)]
struct Arguments {
    name: String,
}

pub(crate) fn spec() -> ToolSpec {
    super::declared(NAME)
}

fn terminate(turn: &Turn, level: &Level, json: &str) -> Outcome {
    let Arguments { name } = match arguments::read(&spec(), json) {
        Ok(read) => read,
        Err(refusal) => return Outcome::of(Err(refusal)),
    };
    let record = turn.record.borrow();
    let own: Vec<&str> = record.agents.made_by(turn.maker(level)).collect();
    if !own.contains(&name.as_str()) {
        let all = if own.is_empty() { "none".to_owned() } else { own.join(", ") };
        return Outcome::of(Err(ToolError(format!("you have no agent {name:?}. Your agents are: {all}"))));
    }
    let ended = record.agents.below(&name);
    let told = format!("ended: {}", ended.join(", "));
    let agents = ended.into_iter().map(|name| AgentChange::Ended { name }).collect();
    Outcome { agents, ..Outcome::of(Ok(told)) }
}
