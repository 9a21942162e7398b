//! Tool calls in a turn's record: open ones, the tree, the memory that they wrote, the plan that they change.

use super::keys::{call_key, call_of, work};
use super::{PendingCall, Record};
use crate::budget::Counted;
use crate::journal::{CallRecord, Entry, ToolEnd, Work};
use crate::memory::{Overlay, stored_bytes, task_key};
use crate::own::Settled;
use wire::model::ToolCall;
use wire::protocol::{Decision, Place, TreeNode, preview};

/// The work of the level that made a call.
fn work_of(call_key: &str) -> Work {
    work(call_key.rsplit_once('.').map_or(call_key, |(step, _)| step))
}

/// The source of a text of a level.
const SAID: &str = "It said";

impl Record {
    /// Adds calls that the service made in the model's place.
    pub(super) fn called_by_service(&mut self, at: &str, calls: &[ToolCall], place: &Place) {
        if place.depth == 0 {
            // They are a message that no provider has counted.
            self.costs.last_request = None;
        }
        if work(at) == Work::Read {
            self.agents.copied.add(calls.iter().map(|call| call.arguments.len()).sum());
        }
        self.called(at, calls, place);
    }

    /// Adds calls that have no result yet, whether a model or the service made them.
    pub(super) fn called(&mut self, at: &str, calls: &[ToolCall], place: &Place) {
        self.pending.extend(calls.iter().enumerate().map(|(index, call)| {
            let key = call_key(at, index);
            let id = self.ids.tool_call(&key);
            PendingCall { key, id, call: call.clone(), place: place.clone(), since_ms: None, charge: None }
        }));
    }

    pub(super) fn tool_started(&mut self, entry: &Entry, place: &Place, subtask: bool) {
        self.budget.count(Counted::ToolCall);
        self.root_calls += u32::from(place.depth == 0);
        if subtask {
            self.budget.count(Counted::Subtask);
        }
        if let Some(pending) = self.pending.iter_mut().find(|pending| pending.key == entry.at) {
            pending.since_ms = Some(entry.elapsed_ms);
            let pending = pending.clone();
            pending.hold(self);
            self.add_node(&pending, entry.elapsed_ms);
        }
    }

    /// A call has its result: changes the counters, the memory, the plan and the tree.
    pub(super) fn call_ended(&mut self, entry: &Entry, end: &ToolEnd) {
        self.budget.count_result(end.content.len());
        let decision = self.decision(&entry.at);
        let Some(index) = self.pending.iter().position(|pending| pending.key == entry.at) else { return };
        let pending = self.pending.remove(index);
        self.memory_bytes += self.written(&pending, end);
        let cost_usd = pending.settle(self, end);
        self.agents.apply(&end.agents);
        if let Some(change) = &end.session {
            self.session_changed(change);
        }
        // A call that the end of its turn cuts off is no failure of the tool.
        if end.is_error && self.stop.is_none() {
            let stage = if pending.since_ms.is_some() { "run" } else { "dispatch" };
            self.failed("tool", stage, Some(&pending.call.name), "tool_failed", &[&end.content]);
        }
        self.tool_ended(&pending, end, (decision, cost_usd), entry.elapsed_ms);
        // A model may call a tool that only the service may call: such a call is refused before it starts.
        let ran = pending.since_ms.is_some();
        let settles = self.own.find(&pending.call.name).and_then(|own| own.settles).filter(|_| ran);
        match settles.and_then(|settles| settles(&pending.call.arguments, end)) {
            Some(Settled::Step { plan_id, index }) if self.stop.is_none() => {
                self.plans.step_ended(&plan_id, index, end.status());
            }
            Some(Settled::Route(role)) => self.routed = role,
            Some(Settled::Step { .. }) | None => {}
        }
        if self.spec.is_answer(&pending.place, &pending.call.name) && !end.is_error && self.draft.is_empty() {
            self.draft.push(pending.call.arguments.clone());
        }
        self.note_unanswered(&pending, end);
        self.note_within(&pending, end);
        let goal = self.spec.setting.goal.as_ref();
        self.goal_reached |= !end.is_error && goal == Some(&pending.call.name);
        // A call that has ended waits no longer: its open waits are removed.
        self.waits.retain(|(at, _), wait| call_of(at) != entry.at || wait.answer.is_some());
        if pending.place.depth == 0 {
            self.round.insert(entry.at.clone(), end.clone());
        }
    }

    /// Notes the result of a call that contains levels, in place of the results within it.
    fn note_unanswered(&mut self, pending: &PendingCall, end: &ToolEnd) {
        let stands = self.own.find(&pending.call.name).is_some_and(|own| own.stands_for_inner);
        if stands && !end.is_error {
            let within = format!("{}-", pending.key);
            self.unanswered.retain(|key, _| !key.starts_with(&within));
            self.unanswered.insert(pending.key.clone(), end.content.clone());
        }
    }

    /// Notes the result of a call within another one, for as long as that one is open.
    fn note_within(&mut self, pending: &PendingCall, end: &ToolEnd) {
        let inside = format!("{}-", pending.key);
        self.within.retain(|(key, ..)| !key.starts_with(&inside));
        // The word of a hook is no work of the call around it.
        let is_work = pending.place.depth > 0 && work_of(&pending.key) != Work::Hook;
        if is_work && self.stop.is_none() {
            let failed = if end.is_error { " failed" } else { "" };
            let told = format!("{}({}){failed}", pending.call.name, preview(&pending.call.arguments));
            self.within.push((pending.key.clone(), told, end.content.clone()));
        }
    }

    /// Notes the text of a reply that is not the last one of its level, within a call that is open.
    pub(super) fn note_text_within(&mut self, at: &str, text: &str) {
        if !text.trim().is_empty() && work(at) != Work::Hook {
            self.within.push((at.to_owned(), SAID.to_owned(), text.to_owned()));
        }
    }

    /// The texts and results of the levels of an open call, each with words for its source.
    pub(crate) fn within(&self, call_key: &str) -> impl Iterator<Item = (String, String)> {
        let inside = format!("{call_key}-");
        let begun = self.models.iter().filter(|(_, open)| !open.said.concat().trim().is_empty());
        let begun = begun.map(|(at, open)| (at, SAID, open.said.concat()));
        let ended = self.within.iter().map(|(key, told, text)| (key, told.as_str(), text.clone()));
        let all = ended.chain(begun).filter(move |(key, ..)| key.starts_with(&inside));
        all.map(|(_, told, text)| (told.to_owned(), text))
    }

    /// Closes a call in the tree and in the telemetry; a refused one gets its node only now. The call that gives an answer has
    /// neither: the answer itself is told.
    fn tool_ended(
        &mut self,
        pending: &PendingCall,
        end: &ToolEnd,
        (decision, cost_usd): (Option<Decision>, Option<f64>),
        elapsed_ms: u64,
    ) {
        if self.spec.is_answer(&pending.place, &pending.call.name) {
            return;
        }
        if pending.since_ms.is_none() {
            self.add_node(pending, elapsed_ms);
        }
        let index = self.node_of.get(&pending.id).copied();
        if let Some(node) = index.and_then(|index| self.tree.nodes.get_mut(index)) {
            node.result_preview = Some(preview(&end.content));
            node.is_error = end.is_error.then_some(true);
            node.duration_ms = end.duration_ms;
            (node.decision, node.cost_usd) = (decision, cost_usd);
        }
        self.calls.push(CallRecord::Tool {
            id: pending.id.clone(),
            tool_name: pending.call.name.clone(),
            duration_ms: end.duration_ms,
            is_error: end.is_error,
            detail: self.own.root_only(&pending.call.name).then(|| preview(&pending.call.arguments)),
            refused: end.refused,
        });
    }

    fn add_node(&mut self, pending: &PendingCall, started_ms: u64) {
        let PendingCall { id, call, place, .. } = pending;
        if self.spec.is_answer(place, &call.name) {
            return;
        }
        let title = self.own.title(&call.name, &call.arguments);
        self.node_of.insert(id.clone(), self.tree.nodes.len());
        self.tree.nodes.push(TreeNode {
            id: id.clone(),
            parent_id: place.parent_id.clone(),
            name: call.name.clone(),
            title,
            args_preview: Some(preview(&call.arguments)),
            started_ms: Some(started_ms),
            ..TreeNode::default()
        });
    }

    /// The bytes that a call itself wrote to memory. A subtask counts with its result alone: its calls were
    /// counted one by one.
    fn written(&self, pending: &PendingCall, end: &ToolEnd) -> usize {
        if self.own.levels(&pending.call.name) == 0 {
            return stored_bytes(&end.overlay);
        }
        let key = task_key(&pending.id);
        end.overlay.get(&key).map_or(0, |text| stored_bytes(&Overlay::from([(key, text.clone())])))
    }
}
