//! `planning_mode`: only calls that change nothing pass, until a call named by the option `until` has succeeded. The copies
//! of child levels stay read-only: there that call is blocked as well.

use serde_json::Value;

use super::{Builtin, Choice, Kind, text};
use crate::toolbelt::PermissionClass;
use crate::turn::Level;
use crate::turn::hooking::{Asked, Judge, Rule, Said};
use wire::protocol::{Hook, HookDecision, HookPoint};

pub(super) const HOOK: Builtin = Builtin {
    name: "planning_mode",
    points: &[HookPoint::Action],
    calls: &[],
    options: &[Choice { name: "until", kind: Kind::Text }],
    judge: Judge::Rule(&PlanningMode),
};

/// The option that a copy has, and no definition.
const COPY: &str = "is_copy";

struct PlanningMode;

impl Rule for PlanningMode {
    fn judge(&self, asked: &Asked<'_>) -> Result<Said, String> {
        let Some((call, spec)) = asked.call else { return Ok(Said::default()) };
        let (until, is_copy) = (text(asked.hook, "until"), asked.hook.options.contains_key(COPY));
        let is_end = until == Some(call.name.as_str());
        if is_end && is_copy {
            let why = "planning mode: only the agent that began it may end it";
            return Ok(Said::new(HookDecision::Block, why));
        }
        if self.has_ended(asked.hook, asked.level) {
            return Ok(Said::new(HookDecision::Quit, ""));
        }
        // The engine's own calls act on the turn alone; their levels have copies of this hook.
        let is_own = asked.turn.facts().find(&call.name).is_some();
        if is_end || is_own || spec.read_only || spec.permission_class == Some(PermissionClass::Safe) {
            return Ok(Said::default());
        }
        let end = until.filter(|_| !is_copy).map(|until| format!(" until {until} has succeeded"));
        let why =
            format!("planning mode: only calls that change nothing are allowed{}", end.unwrap_or_default());
        Ok(Said::new(HookDecision::Block, why))
    }

    fn has_ended(&self, hook: &Hook, level: &Level) -> bool {
        !hook.options.contains_key(COPY) && text(hook, "until").is_some_and(|until| level.has_made(until))
    }

    fn copied(&self, hook: &Hook) -> Hook {
        let mut copy = hook.clone();
        copy.options.insert(COPY.to_owned(), Value::Bool(true));
        copy
    }
}
