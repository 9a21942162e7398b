//! Hooks in a turn's record: the questions that are open, the verdicts, the states of the copies.

use std::collections::BTreeMap;

use super::Record;
use super::keys::{about_of, copy_of, work};
use crate::journal::{Entry, Fact, HookSaid, Work};
use wire::model::ModelReply;
use wire::protocol::{HookDecision, HookPoint, Place, TreeHook, TreeNode, preview};

/// A question that a hook has put to a model.
#[derive(Clone, Debug)]
pub(crate) struct OpenHook {
    pub(crate) hook: String,
    pub(crate) point: HookPoint,
    pub(crate) place: Place,
    /// Elapsed running time of the turn when it was asked.
    pub(crate) since_ms: u64,
}

/// The hooks of a turn. Questions have keys ([`hook_key`](super::keys::hook_key)).
#[derive(Clone, Debug, Default)]
pub(crate) struct Hooks {
    pub(crate) open: BTreeMap<String, OpenHook>,
    said: BTreeMap<String, HookSaid>,
    /// By the level of the copy and the hook's place there: its state, and whether it has quit.
    copies: BTreeMap<(String, usize), (String, bool)>,
}

impl Hooks {
    /// The verdict on a question.
    pub(crate) fn said(&self, key: &str) -> Option<&HookSaid> {
        self.said.get(key)
    }

    /// The state of a hook's copy in the level of these keys, and whether the hook has quit; none where the level has not
    /// changed it.
    pub(crate) fn copy(&self, about: &str, index: usize) -> Option<(&str, bool)> {
        let copy = self.copies.get(&(copy_of(about).to_owned(), index))?;
        Some((&copy.0, copy.1))
    }

    /// The verdicts on a step or a call, in the order of the hooks.
    pub(crate) fn on(&self, about: &str) -> impl Iterator<Item = &HookSaid> {
        let from = format!("{about}h");
        let mut found: Vec<_> = self
            .said
            .range(from.clone()..)
            .take_while(|(key, _)| key.starts_with(&from))
            .filter(|(key, _)| about_of(key).0 == about)
            .collect();
        found.sort_by_key(|(key, _)| about_of(key).1);
        found.into_iter().map(|(_, said)| said)
    }

    /// The hook that blocks a call, or the answer of a step, and its reason.
    pub(crate) fn blocks(&self, about: &str) -> Option<(&str, &str)> {
        let said = self.on(about).find(|said| said.decision == Some(HookDecision::Block))?;
        Some((&said.hook, &said.text))
    }
}

impl Record {
    pub(super) fn hook_heard(&mut self, entry: &Entry) {
        match &entry.fact {
            Fact::HookAsked { hook, point, place } => self.hook_asked(entry, hook, *point, place),
            Fact::HookSaid(said) => self.hook_said(entry, said),
            Fact::AnswerPassed => self.answer_passed(&entry.at),
            _ => {}
        }
    }

    fn hook_asked(&mut self, entry: &Entry, hook: &str, point: HookPoint, place: &Place) {
        let open =
            OpenHook { hook: hook.to_owned(), point, place: place.clone(), since_ms: entry.elapsed_ms };
        self.add_hook(&entry.at, &open);
        self.hooks.open.insert(entry.at.clone(), open);
    }

    fn hook_said(&mut self, entry: &Entry, said: &HookSaid) {
        let open = self.hooks.open.remove(&entry.at);
        if open.is_none() && said.is_told() {
            let HookSaid { hook, point, place, .. } = said.clone();
            self.add_hook(&entry.at, &OpenHook { hook, point, place, since_ms: entry.elapsed_ms });
        }
        let node = self.node_of.get(&self.ids.tool_call(&entry.at));
        if let Some(node) = node.and_then(|index| self.tree.nodes.get_mut(*index)) {
            node.duration_ms = open.map_or(0, |open| entry.elapsed_ms.saturating_sub(open.since_ms));
            node.result_preview = (!said.text.is_empty()).then(|| preview(&said.text));
            node.is_error = said.failed.then_some(true);
            if let Some(hook) = &mut node.hook {
                (hook.decision, hook.failed) = (said.decision, said.failed);
            }
        }
        if said.failed {
            let what = [said.hook.as_str(), said.text.as_str()];
            self.failed("hook", said.point.as_str(), None, "hook_failed", &what);
        }
        let (about, index) = about_of(&entry.at);
        let copy = (copy_of(about).to_owned(), index);
        if said.state.is_some() || said.decision == Some(HookDecision::Quit) {
            let copy = self.hooks.copies.entry(copy).or_default();
            copy.1 |= said.decision == Some(HookDecision::Quit);
            copy.0 = said.state.clone().unwrap_or_else(|| std::mem::take(&mut copy.0));
        }
        if said.point == HookPoint::Answer && said.blocks() && said.place.depth == 0 {
            self.draft.clear();
        }
        self.hooks.said.insert(entry.at.clone(), said.clone());
    }

    /// Readers have the answer of a level.
    fn answer_passed(&mut self, at: &str) {
        if work(at) == Work::Root {
            self.root_texts.append(&mut self.draft);
        }
    }

    /// Notes the text of a root's reply that hooks judge. Nobody judges the text beside calls, so nobody gets it.
    pub(super) fn drafted(&mut self, reply: &ModelReply) {
        match reply.tool_calls.is_empty() {
            true => self.draft.extend((!reply.text.is_empty()).then(|| reply.text.clone())),
            false => self.draft.clear(),
        }
    }

    /// The call that a question at an action is about.
    pub(crate) fn judged_call(&self, key: &str, point: HookPoint) -> Option<String> {
        (point == HookPoint::Action).then(|| self.ids.tool_call(about_of(key).0))
    }

    fn add_hook(&mut self, key: &str, open: &OpenHook) {
        let id = self.ids.tool_call(key);
        let hook = TreeHook {
            point: open.point,
            decision: None,
            failed: false,
            tool_call_id: self.judged_call(key, open.point),
        };
        self.node_of.insert(id.clone(), self.tree.nodes.len());
        self.tree.nodes.push(TreeNode {
            id,
            parent_id: open.place.parent_id.clone(),
            name: open.hook.clone(),
            started_ms: Some(open.since_ms),
            hook: Some(hook),
            ..TreeNode::default()
        });
    }
}
