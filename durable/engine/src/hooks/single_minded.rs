//! `single_minded`: one agent at a time. A `task` for another one is blocked until `terminate` has ended the first.

use super::{Builtin, Choice, Kind, TASK, TERMINATE, agent_in, count, kept, state};
use crate::turn::hooking::{Asked, Judge, Rule, Said};
use wire::protocol::{HookDecision, HookPoint};

/// At most `most` agents at a time.
pub(super) const HOOK: Builtin = Builtin {
    name: "single_minded",
    points: &[HookPoint::Action],
    calls: &[TASK, TERMINATE],
    options: &[Choice { name: "most", kind: Kind::Count }],
    judge: Judge::Rule(&SingleMinded),
};

/// The state has the agents that the level has spoken to and not ended in this turn.
struct SingleMinded;

impl Rule for SingleMinded {
    fn judge(&self, asked: &Asked<'_>) -> Result<Said, String> {
        let Some((call, _)) = asked.call else { return Ok(Said::default()) };
        let mut agents: Vec<String> = state(asked)?;
        // A call without a name is refused by itself.
        let Some(name) = agent_in(&call.arguments) else { return Ok(Said::default()) };
        if call.name == TERMINATE {
            agents.retain(|agent| *agent != name);
        } else if !agents.contains(&name) {
            if agents.len() >= count(asked.hook, "most", 1) as usize {
                let there = agents.join(", ");
                let why =
                    format!("one thing at a time: go on with {there}, or end it with {TERMINATE} first");
                return Ok(Said::new(HookDecision::Block, why));
            }
            agents.push(name);
        }
        Ok(Said { state: kept(&agents), ..Said::default() })
    }
}
