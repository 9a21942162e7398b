//! What a turn's journal entries add up to: counters, ledger, execution tree, what is open. Live and in replay the
//! same entries go through [`Record::apply`], so a rebuilt turn stands where the lost one stood.

use std::collections::{BTreeMap, BTreeSet};

use super::keys::{WireIds, call_key};
use crate::budget::{Counted, TurnBudget};
use crate::journal::{Answer, CallRecord, Entry, Fact, ModelOutcome, TextPart, ToolEnd, TurnSpec, TurnStop};
use crate::memory::{MAX_TURN_BYTES, Overlay, stored_bytes, task_key};
use crate::model::{ModelChoice, ToolCall, Usage};
use crate::profiles::Price;
use crate::protocol::{Awaited, CostSummary, ExecutionTree, Place, TreeNode, preview};
use crate::tools::run_subtask;

/// A call of a round that has no result yet, in the order in which the model made them.
#[derive(Clone, Debug)]
pub(super) struct PendingCall {
    pub(super) key: String,
    pub(super) id: String,
    pub(super) call: ToolCall,
    pub(super) place: Place,
    /// Elapsed running time of the turn when the call began; none before that.
    pub(super) since_ms: Option<u64>,
}

/// A call that waits for somebody outside.
#[derive(Clone, Debug)]
pub(super) struct Wait {
    pub(super) place: Place,
    pub(super) name: String,
    /// When it began and when it is over (milliseconds since 1970).
    pub(super) since: u64,
    pub(super) until: u64,
    /// What was said, and when.
    pub(super) answer: Option<(Answer, u64)>,
}

/// A model call that has no outcome yet.
#[derive(Clone, Debug)]
pub(super) struct OpenModelCall {
    pub(super) place: Place,
    /// Elapsed running time of the turn when it began.
    pub(super) since_ms: u64,
    /// What was announced so far. A call whose run was lost has lost it as well, and `live` is false.
    pub(super) parts: Vec<TextPart>,
    pub(super) live: bool,
}

#[derive(Debug)]
pub(super) struct Record {
    pub(super) budget: TurnBudget,
    pub(super) stop: Option<TurnStop>,
    pub(super) pending: Vec<PendingCall>,
    pub(super) models: BTreeMap<String, OpenModelCall>,
    /// By the call's key, and whom it waits for. Those that were answered stay.
    pub(super) waits: BTreeMap<(String, Awaited), Wait>,
    /// How often the turn was parked, and whether it is.
    pub(super) parkings: u32,
    pub(super) parked: bool,
    /// The tools that a person allowed for good.
    pub(super) approved: BTreeSet<String>,
    pub(super) calls: Vec<CallRecord>,
    /// The texts of the root's replies: what a person reads of the turn.
    pub(super) root_texts: Vec<String>,
    /// The results of the root's current round, which has not settled yet.
    round: BTreeMap<String, ToolEnd>,
    tree: ExecutionTree,
    node_of: BTreeMap<String, usize>,
    costs: CostSummary,
    ids: WireIds,
    model: ModelChoice,
    price: Option<Price>,
    /// A call whose tokens nobody knows: what the turn cost is then not known either.
    unpriced: bool,
    /// What the turn's calls have written to memory so far, as [`stored_bytes`] counts.
    memory_bytes: usize,
}

impl Record {
    pub(super) fn new(spec: &TurnSpec) -> Self {
        Record {
            budget: TurnBudget::new(spec.limits, spec.chain.dearest()),
            stop: None,
            pending: Vec::new(),
            models: BTreeMap::new(),
            waits: BTreeMap::new(),
            parkings: 0,
            parked: false,
            approved: BTreeSet::new(),
            calls: Vec::new(),
            root_texts: Vec::new(),
            round: BTreeMap::new(),
            tree: ExecutionTree::default(),
            node_of: BTreeMap::new(),
            costs: CostSummary::default(),
            ids: WireIds::new(&spec.turn_id),
            model: ModelChoice::clone(&spec.chain.first.choice),
            price: spec.chain.first.price,
            unpriced: false,
            memory_bytes: 0,
        }
    }

    pub(super) fn tree(&self) -> ExecutionTree {
        self.tree.clone()
    }

    /// The result of a call of the root's current round.
    pub(super) fn round_result(&self, key: &str) -> Option<ToolEnd> {
        self.round.get(key).cloned()
    }

    /// Whether the turn may write this to memory as well.
    pub(super) fn memory_has_room(&self, overlay: &Overlay) -> bool {
        self.memory_bytes.saturating_add(stored_bytes(overlay)) <= MAX_TURN_BYTES
    }

    pub(super) fn costs(&self) -> CostSummary {
        let price = self.price.filter(|_| !self.unpriced);
        let usd = |input_tokens, cached_tokens, output_tokens| {
            price.map(|price| price.cost_usd(Usage { input_tokens, cached_tokens, output_tokens }))
        };
        let mut by_model = self.costs.by_model.clone();
        for share in by_model.values_mut() {
            share.cost_usd = usd(share.input_tokens, share.cached_tokens, share.output_tokens);
        }
        CostSummary {
            cost_usd: usd(self.costs.input_tokens, self.costs.cached_tokens, self.costs.output_tokens),
            by_model,
            llm_calls: self.budget.used(Counted::LlmCall),
            tool_calls: self.budget.used(Counted::ToolCall),
            subtasks: self.budget.used(Counted::Subtask),
            ..self.costs.clone()
        }
    }

    pub(super) fn apply(&mut self, entry: &Entry) {
        match &entry.fact {
            Fact::Started(_) | Fact::Resumed { .. } => {}
            Fact::Waiting { on, place, since, until } => {
                let call = self.pending.iter().find(|pending| pending.key == entry.at);
                let name = call.map(|pending| pending.call.name.clone()).unwrap_or_default();
                let wait = Wait { place: place.clone(), name, since: *since, until: *until, answer: None };
                self.waits.insert((entry.at.clone(), *on), wait);
            }
            Fact::Answered { on, answer, at_ms } => {
                let wait = self.waits.get_mut(&(entry.at.clone(), *on));
                if let Some(wait) = wait.filter(|wait| wait.answer.is_none()) {
                    if *answer == Answer::ApproveForThread {
                        self.approved.insert(wait.name.clone());
                    }
                    wait.answer = Some((answer.clone(), *at_ms));
                }
            }
            Fact::Parked { .. } => {
                self.parkings += 1;
                self.parked = true;
            }
            Fact::Unparked { .. } => self.parked = false,
            Fact::Stopped(why) => self.stop = self.stop.take().or_else(|| Some(why.clone())),
            Fact::ModelStarted { place, held, .. } => {
                if let Some(lost) = self.models.remove(&entry.at) {
                    // Its run was lost; whatever it used was used.
                    self.model_row(
                        &entry.at,
                        "interrupted",
                        None,
                        entry.elapsed_ms.saturating_sub(lost.since_ms),
                    );
                }
                self.budget.count(Counted::LlmCall);
                self.budget.hold(&entry.at, *held);
                self.costs.by_model.entry(self.model.model.clone()).or_default().llm_calls += 1;
                let open = OpenModelCall {
                    place: place.clone(),
                    since_ms: entry.elapsed_ms,
                    parts: Vec::new(),
                    live: false,
                };
                self.models.insert(entry.at.clone(), open);
            }
            Fact::ModelEnded { outcome, duration_ms, place, .. } => {
                self.models.remove(&entry.at);
                self.model_ended(&entry.at, outcome, *duration_ms, place);
            }
            Fact::ToolStarted { subtask, .. } => {
                self.budget.count(Counted::ToolCall);
                if *subtask {
                    self.budget.count(Counted::Subtask);
                }
                if let Some(pending) = self.pending.iter_mut().find(|pending| pending.key == entry.at) {
                    pending.since_ms = Some(entry.elapsed_ms);
                    let pending = pending.clone();
                    self.add_node(&pending);
                }
            }
            Fact::ToolEnded(end) => {
                self.budget.count_result(end.content.len());
                if let Some(index) = self.pending.iter().position(|pending| pending.key == entry.at) {
                    let pending = self.pending.remove(index);
                    self.memory_bytes += written(&pending, end);
                    self.tool_ended(&pending, end);
                    if pending.place.depth == 0 {
                        self.round.insert(entry.at.clone(), end.clone());
                    }
                }
            }
        }
    }

    /// Closes a call in the tree and in the telemetry; a refused one gets its node only now.
    pub(super) fn tool_ended(&mut self, pending: &PendingCall, end: &ToolEnd) {
        if pending.since_ms.is_none() {
            self.add_node(pending);
        }
        let index = self.node_of.get(&pending.id).copied();
        if let Some(node) = index.and_then(|index| self.tree.nodes.get_mut(index)) {
            node.result_preview = Some(preview(&end.content));
            node.is_error = end.is_error.then_some(true);
            node.duration_ms = end.duration_ms;
        }
        self.calls.push(CallRecord::Tool {
            id: pending.id.clone(),
            tool_name: pending.call.name.clone(),
            duration_ms: end.duration_ms,
            is_error: end.is_error,
        });
    }

    /// Leaves the telemetry of a model call: one row each, however it ended.
    pub(super) fn model_row(&mut self, at: &str, outcome: &str, usage: Option<Usage>, duration_ms: u64) {
        self.unpriced |= usage.is_none();
        let usage = usage.unwrap_or_default();
        let attempt = self.calls.iter().filter(|row| matches!(row, CallRecord::Model { .. })).count();
        self.calls.push(CallRecord::Model {
            id: format!("{}_{attempt}", self.ids.model_call(at)),
            provider: self.model.provider.clone(),
            model: self.model.model.clone(),
            operation_type: "chat".to_owned(),
            input_tokens: usage.input_tokens,
            cached_tokens: usage.cached_tokens,
            output_tokens: usage.output_tokens,
            duration_ms,
            outcome: outcome.to_owned(),
        });
    }

    fn model_ended(&mut self, at: &str, outcome: &ModelOutcome, duration_ms: u64, place: &Place) {
        let reply = match outcome {
            ModelOutcome::Failed { error, said } => {
                self.model_row(at, error.kind.code(), None, duration_ms);
                self.budget.settle(at, None);
                if place.depth == 0 {
                    self.root_texts.extend((!said.is_empty()).then(|| said.clone()));
                }
                return;
            }
            ModelOutcome::Replied(reply) => reply,
        };
        self.model_row(at, "ok", reply.usage, duration_ms);
        self.budget.settle(at, reply.usage);
        let usage = reply.usage.unwrap_or_default();
        // Providers are foreign: what they count may be anything.
        let add = |total: &mut u64, more: u64| *total = total.saturating_add(more);
        add(&mut self.costs.input_tokens, usage.input_tokens);
        add(&mut self.costs.cached_tokens, usage.cached_tokens);
        add(&mut self.costs.output_tokens, usage.output_tokens);
        let share = self.costs.by_model.entry(self.model.model.clone()).or_default();
        add(&mut share.input_tokens, usage.input_tokens);
        add(&mut share.cached_tokens, usage.cached_tokens);
        add(&mut share.output_tokens, usage.output_tokens);
        if place.depth == 0 {
            self.round.clear();
            self.root_texts.extend((!reply.text.is_empty()).then(|| reply.text.clone()));
        }
        self.pending.extend(reply.tool_calls.iter().enumerate().map(|(index, call)| {
            let key = call_key(at, index);
            let id = self.ids.tool_call(&key);
            PendingCall { key, id, call: call.clone(), place: place.clone(), since_ms: None }
        }));
    }

    fn add_node(&mut self, pending: &PendingCall) {
        let PendingCall { id, call, place, .. } = pending;
        let title = match call.name == run_subtask::NAME {
            true => Some(run_subtask::title(&call.arguments)),
            false => None,
        };
        self.node_of.insert(id.clone(), self.tree.nodes.len());
        self.tree.nodes.push(TreeNode {
            id: id.clone(),
            parent_id: place.parent_id.clone(),
            name: call.name.clone(),
            title,
            args_preview: Some(preview(&call.arguments)),
            ..TreeNode::default()
        });
    }
}

/// What a call itself wrote to memory: of a subtask its result alone, since its calls were counted one by one.
fn written(pending: &PendingCall, end: &ToolEnd) -> usize {
    if pending.call.name != run_subtask::NAME {
        return stored_bytes(&end.overlay);
    }
    let key = task_key(&pending.id);
    end.overlay.get(&key).map_or(0, |text| stored_bytes(&Overlay::from([(key, text.clone())])))
}
