//! `list_agents`: the agents of the agent that calls it.

use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::journal::{Agent, shortened};
use crate::own::OwnCall;
use crate::toolbelt::{ToolError, ToolSpec, arguments};
use crate::turn::composite::{Carrier, Outcome, Own};
use crate::turn::{Level, Turn};

pub const NAME: &str = "list_agents";

/// The most bytes of an agent's instructions in the list: the list of 16 agents is one result.
const MAX_LISTED_BYTES: usize = 1_000;

pub(crate) const CALL: Own =
    Own { facts: OwnCall { of_agents: true, ..OwnCall::plain(NAME) }, carrier: Carrier::AtOnce(list_agents) };

#[derive(Deserialize)]
struct Arguments {}

/// An agent, as its maker reads of it.
#[derive(Serialize)]
struct Listed<'a> {
    name: &'a str,
    instructions: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tools: Option<&'a [String]>,
    /// The number of texts that it heard since it last answered.
    heard: usize,
    /// The agents that it made.
    agents: Vec<&'a str>,
}

pub(crate) fn spec() -> ToolSpec {
    super::declared(NAME)
}

fn list_agents(turn: &Turn, level: &Level, json: &str) -> Outcome {
    if let Err(refusal) = arguments::read::<Arguments>(&spec(), json) {
        return Outcome::of(Err(refusal));
    }
    let record = turn.record.borrow();
    let maker = turn.maker(level);
    let own = record.agents.made_by(maker).filter_map(|name| record.agents.get(name));
    let listed = |agent: &'_ Agent| {
        json!(Listed {
            name: &agent.name,
            instructions: shortened(&agent.instructions, MAX_LISTED_BYTES),
            code: agent.code.as_deref(),
            tools: agent.tools.as_deref(),
            heard: agent.heard.len(),
            agents: record.agents.made_by(&agent.name).collect(),
        })
    };
    let agents: Vec<_> = own.map(listed).collect();
    let people = record.agents.interlocutors(maker);
    let list = json!({"agents": agents, "speakers": people.speakers, "listeners": people.listeners});
    Outcome::of(serde_json::to_string(&list).map_err(|error| ToolError(error.to_string())))
}
