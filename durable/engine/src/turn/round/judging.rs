//! Asks the hooks of a level about the calls of a round, after the policy and before a person is asked or anything is
//! reserved.

use std::rc::Rc;

use futures::future::try_join_all;

use super::super::hooking::{About, Judge, ask};
use super::super::{Halt, Turn};
use super::Round;
use crate::record::keys::call_key;
use crate::toolbelt::ToolSpec;
use wire::model::ToolCall;
use wire::protocol::{Awaited, Hook, HookPoint};

fn is_watched(turn: &Turn, hook: &Hook, call: &str) -> bool {
    let also = || matches!((turn.parts.judge)(hook), Judge::Rule(rule) if rule.watches_also(hook, call));
    hook.matches(call) || also()
}

impl Round<'_> {
    /// Asks the hooks about calls that are about to be admitted: those with a rule about each call in the model's order,
    /// then models about the calls that are left. The first block decides.
    pub(super) async fn judge(&self, indexes: &[usize]) -> Result<(), Halt> {
        let (turn, level) = (self.turn, self.level);
        if !level.hooks().iter().any(|hook| hook.on == HookPoint::Action) {
            return Ok(());
        }
        let mut asks = Vec::new();
        for (index, call) in indexes.iter().filter_map(|index| Some((*index, self.calls.get(*index)?))) {
            let key = call_key(&self.step_key, index);
            let Some(spec) = self.judged(call, &key) else { continue };
            let watches =
                |hook: &Rc<Hook>| hook.on == HookPoint::Action && is_watched(turn, hook, &call.name);
            let (rules, models): (Vec<_>, Vec<_>) = (0..level.hooks().len())
                .filter(|index| level.hooks().get(*index).is_some_and(watches))
                .partition(|index| level.hooks().get(*index).is_some_and(|hook| turn.decides_at_once(hook)));
            let mut is_blocked = false;
            for index in rules {
                let about = About { at: &key, call: Some((call, &spec)), changed: None };
                is_blocked = is_blocked || ask(turn, level, about, index).await?;
            }
            if !is_blocked && !models.is_empty() {
                asks.push((key, call, spec, models));
            }
        }
        let asks = asks.into_iter().map(|(key, call, spec, models)| async move {
            for index in models {
                let about = About { at: &key, call: Some((call, &spec)), changed: None };
                if ask(turn, level, about, index).await? {
                    break;
                }
            }
            Ok::<_, Halt>(())
        });
        try_join_all(asks).await.map(drop)
    }

    /// The declaration of a call that hooks are asked about. A call that the policy refuses, that comes too late, or
    /// that ends its level, needs no hook; one that has started, or that a person was asked about, has passed them.
    fn judged(&self, call: &ToolCall, key: &str) -> Option<Rc<ToolSpec>> {
        let turn = self.turn;
        let has_passed = turn.replay.tool(key).is_some()
            || turn.replay.tool_started(key)
            || turn.has_waited(key, Awaited::Approval);
        let ends_level = turn.facts().ends_level(&call.name);
        if has_passed || ends_level || self.too_late(call).is_some() { None } else { self.guard(call).ok() }
    }

    /// The refusal of a call that a hook blocks.
    pub(super) fn unblocked(&self, key: &str, spec: Rc<ToolSpec>) -> Result<Rc<ToolSpec>, String> {
        let record = self.turn.record.borrow();
        let blocked = record.hooks.blocks(key);
        blocked.map_or(Ok(spec), |(hook, why)| Err(format!("blocked by hook {hook}: {why}")))
    }
}
