//! `loop_guard`: blocks the same call, with the same arguments, from the third time in a row on.

use serde::{Deserialize, Serialize};

use super::{Builtin, Choice, Kind, count, kept, state};
use crate::record::keys::Digest;
use crate::turn::hooking::{Asked, Judge, Rule, Said};
use wire::protocol::{HookDecision, HookPoint};

/// Blocks the call when it comes for the time `times`.
pub(super) const HOOK: Builtin = Builtin {
    name: "loop_guard",
    points: &[HookPoint::Action],
    calls: &[],
    options: &[Choice { name: "times", kind: Kind::Count }],
    judge: Judge::Rule(&LoopGuard),
};

const TIMES: u32 = 3;

/// The last call, and how often it came in a row.
#[derive(Default, Serialize, Deserialize)]
struct Last {
    call: String,
    times: u32,
}

struct LoopGuard;

impl Rule for LoopGuard {
    fn judge(&self, asked: &Asked<'_>) -> Result<Said, String> {
        let Some((call, _)) = asked.call else { return Ok(Said::default()) };
        let last: Last = state(asked)?;
        let same = Digest::new().with(&call.name).with(&call.arguments).hex();
        let times = if last.call == same { last.times.saturating_add(1) } else { 1 };
        let said = match times >= count(asked.hook, "times", TIMES) {
            true => Said::new(
                HookDecision::Block,
                format!(
                    "agent_stuck (repeated_tool_call): the same call for the time {times} in a row. Its result will not \
                     change: do something else, or answer with what there is"
                ),
            ),
            false => Said::default(),
        };
        Ok(Said { state: kept(&Last { call: same, times }), ..said })
    }

    /// A call that an earlier turn made is no loop of this one.
    fn lasts(&self) -> bool {
        false
    }
}
