//! `single_minded`: one agent at a time. A `task` for another one is blocked until `terminate` has ended the first.

use super::{Builtin, Choice, Kind, TASK, TERMINATE, agent_in, count};
use crate::turn::hooking::{Asked, Judge, Rule, Said};
use wire::protocol::{HookDecision, HookPoint};

/// At most `most` agents at a time.
pub(super) const HOOK: Builtin = Builtin {
    name: "single_minded",
    points: &[HookPoint::Action],
    calls: &[TASK],
    options: &[Choice { name: "most", kind: Kind::Count }],
    judge: Judge::Rule(&SingleMinded),
};

struct SingleMinded;

impl Rule for SingleMinded {
    fn judge(&self, asked: &Asked<'_>) -> Result<Said, String> {
        // A turn that former code began has this hook watch `terminate` as well.
        let task = asked.call.filter(|(call, _)| call.name == TASK);
        // A call without a name is refused by itself.
        let Some(name) = task.and_then(|(call, spec)| agent_in(spec, call)) else {
            return Ok(Said::default());
        };
        let record = asked.turn.record.borrow();
        let there: Vec<&str> = record.agents.made_by(asked.turn.maker(asked.level)).collect();
        // A call that speaks to an agent which is there is no new one.
        let is_there = there.contains(&name.as_str());
        if is_there || there.len() < count(asked.hook, "most", 1) as usize {
            return Ok(Said::default());
        }
        let why =
            format!("one thing at a time: go on with {}, or end it with {TERMINATE} first", there.join(", "));
        Ok(Said::new(HookDecision::Block, why))
    }
}
