//! `spawn_limit` and `discuss_limit`: an agent makes at most so many calls of a kind in its life, and a subtask in its own.
//! Beyond that they are blocked.

use super::{Builtin, Choice, DISCUSS, Kind, RESTORE, TASK, count, kept, state};
use crate::calls::subtask;
use crate::turn::hooking::{Asked, Judge, Rule, Said};
use wire::protocol::{Hook, HookDecision, HookPoint};

const OPTIONS: &[Choice] = &[Choice { name: "most", kind: Kind::Count }];

/// At most `most` subtasks, agents and dumps that are restored.
pub(super) const SPAWN_LIMIT: Builtin = Builtin {
    name: "spawn_limit",
    points: &[HookPoint::Action],
    calls: &[subtask::NAME, TASK, RESTORE],
    options: OPTIONS,
    judge: Judge::Rule(&AtMost { default: 4 }),
};

/// At most `most` rounds of discussion.
pub(super) const DISCUSS_LIMIT: Builtin = Builtin {
    name: "discuss_limit",
    points: &[HookPoint::Action],
    calls: &[DISCUSS],
    options: OPTIONS,
    judge: Judge::Rule(&AtMost { default: 5 }),
};

/// The state is the number of calls that it let pass; another hook may have blocked one of them.
struct AtMost {
    default: u32,
}

impl Rule for AtMost {
    /// A hook that an earlier release defined without a `match` has the calls of then.
    fn watches_also(&self, hook: &Hook, call: &str) -> bool {
        call == RESTORE
            && hook.builtin.as_deref() == Some(SPAWN_LIMIT.name)
            && hook.calls == [subtask::NAME, TASK]
    }

    fn judge(&self, asked: &Asked<'_>) -> Result<Said, String> {
        let most = count(asked.hook, "most", self.default);
        let passed: u32 = state(asked)?;
        if passed >= most {
            let name = asked.call.map_or("", |(call, _)| call.name.as_str());
            let why = format!("{name} has its limit here, {most}, and it is used up: go on without it");
            return Ok(Said::new(HookDecision::Block, why));
        }
        Ok(Said { state: kept(&(passed + 1)), ..Said::default() })
    }
}
