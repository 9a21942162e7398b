//! `single_minded`: one agent at a time. A `task` for another one, and a dump of others, are blocked until `terminate` has
//! ended the first.

use super::{Builtin, Choice, Kind, RESTORE, TASK, TERMINATE, agent_in, count};
use crate::turn::hooking::{Asked, Judge, Rule, Said};
use wire::protocol::{Hook, HookDecision, HookPoint};

/// At most `most` agents at a time.
pub(super) const HOOK: Builtin = Builtin {
    name: "single_minded",
    points: &[HookPoint::Action],
    calls: &[TASK, RESTORE],
    options: &[Choice { name: "most", kind: Kind::Count }],
    judge: Judge::Rule(&SingleMinded),
};

struct SingleMinded;

impl Rule for SingleMinded {
    /// A hook that an earlier release defined without a `match` has the call of then.
    fn watches_also(&self, hook: &Hook, call: &str) -> bool {
        call == RESTORE && hook.calls == [TASK]
    }

    fn judge(&self, asked: &Asked<'_>) -> Result<Said, String> {
        // A turn that former code began has this hook watch `terminate` as well.
        let Some((call, spec)) = asked.call.filter(|(call, _)| [TASK, RESTORE].contains(&call.name.as_str()))
        else {
            return Ok(Said::default());
        };
        let name = agent_in(spec, call);
        // A call of `task` without a name is refused by itself. The agents of a dump are new ones.
        if call.name == TASK && name.is_none() {
            return Ok(Said::default());
        }
        let record = asked.turn.record.borrow();
        let there: Vec<&str> = record.agents.made_by(asked.turn.maker(asked.level)).collect();
        // A call that speaks to an agent which is there is no new one.
        let is_there = name.is_some_and(|name| there.contains(&name.as_str()));
        if is_there || there.len() < count(asked.hook, "most", 1) as usize {
            return Ok(Said::default());
        }
        let why =
            format!("one thing at a time: go on with {}, or end it with {TERMINATE} first", there.join(", "));
        Ok(Said::new(HookDecision::Block, why))
    }
}
