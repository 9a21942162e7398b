//! The hooks of a turn, as a client rebuilds them from events.

use std::collections::{BTreeMap, BTreeSet};

use super::{Call, Client, Shown, key};
use wire::protocol::{CallStatus, Event, HookDecision, HookPoint, Place, TreeHook, TreeNode, preview};

/// One question to a hook.
pub(super) struct Hook {
    pub(super) place: Place,
    pub(super) is_open: bool,
    /// The tokens of its model calls, as their own events say.
    pub(super) tokens: u64,
    node: TreeNode,
}

impl Hook {
    pub(super) fn node(&self) -> TreeNode {
        self.node.clone()
    }
}

impl Client {
    /// Reads an event of a hook: one end each, after its start where it asks a model.
    pub(super) fn hear_hook(&mut self, event: &Event, open_calls: &BTreeSet<String>, shown: &Shown<'_>) {
        let Event::HookUpdate { hook_call_id: id, hook, point, status, place, started_ms, .. } = event else {
            panic!("{event:?}")
        };
        let Event::HookUpdate { decision, text, failed, tool_call_id, duration_ms, usage, .. } = event else {
            panic!("{event:?}")
        };
        if !self.hooks.contains_key(id) {
            self.is_inside(place, false, open_calls, shown);
            let node = TreeNode {
                id: id.clone(),
                parent_id: place.parent_id.clone(),
                name: hook.clone(),
                started_ms: *started_ms,
                ..TreeNode::default()
            };
            self.hooks.insert(id.clone(), Hook { place: place.clone(), is_open: true, tokens: 0, node });
            self.nodes.push(id.clone());
        } else {
            assert_eq!(*status, CallStatus::End, "{id} was asked twice\n{shown}");
        }
        let known = self.hooks.get_mut(id).unwrap();
        assert!(known.is_open, "{id} ended twice\n{shown}");
        assert_eq!(tool_call_id.is_some(), *point == HookPoint::Action, "{shown}");
        if *status == CallStatus::End {
            known.is_open = false;
            let told = usage.as_ref().map_or(0, |usage| usage.input_tokens + usage.output_tokens);
            assert_eq!(told, known.tokens, "{id} used what was used below it\n{shown}");
            known.node.duration_ms = duration_ms.unwrap();
            known.node.result_preview = text.as_deref().map(preview);
            known.node.is_error = failed.then_some(true);
            known.node.usage.clone_from(usage);
            let (decision, tool_call_id) = (*decision, tool_call_id.clone());
            known.node.hook = Some(TreeHook { point: *point, decision, failed: *failed, tool_call_id });
        }
    }

    /// Nobody makes a call that a hook has blocked, and its result says so.
    pub(super) fn blocks_hold(&self, ran: &BTreeSet<String>, shown: &Shown<'_>) {
        let is_block =
            |hook: &&TreeHook| hook.point == HookPoint::Action && hook.decision == Some(HookDecision::Block);
        for hook in self.hooks.values().filter_map(|hook| hook.node.hook.as_ref()).filter(is_block) {
            let id = hook.tool_call_id.as_ref().unwrap();
            assert!(!ran.contains(key(id)), "{id} ran, and a hook had blocked it\n{shown}");
        }
        let calls: &BTreeMap<String, Call> = &self.calls;
        for (id, call) in calls.iter().filter(|(_, call)| call.result.starts_with("blocked by hook ")) {
            assert!(call.is_error && !ran.contains(key(id)), "{shown}");
        }
    }
}
