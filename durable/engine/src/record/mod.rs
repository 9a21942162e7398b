//! The sum of a turn's journal entries: counters, ledger, execution tree, open calls. Live and in replay the
//! same entries go through [`Record::apply`], so a rebuilt turn has the state of the lost one.
//!
//! Beside that an open model call holds what no entry has yet: unwritten text, and the model that it asks now. The
//! parts that readers have seen come from the log, which has the text.

pub(crate) mod agents;
mod calls;
pub(crate) mod canned;
pub(crate) mod charges;
mod copied;
pub(crate) mod frozen;
pub(crate) mod hooks;
pub(crate) mod keys;
mod models;
pub(crate) mod replay;
mod rows;
pub(crate) mod told;
mod waits;

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use self::agents::Agents;
use self::frozen::{Opening, Toolsets};
use self::keys::{WireIds, work};
pub(crate) use self::models::OpenModelCall;
use crate::budget::{Counted, Exceeded, TurnBudget};
use crate::journal::{
    Answer, Asking, CallRecord, Entry, Fact, LevelSpec, Session, SessionChange, Shown, Summary, ToolEnd,
    TurnSpec, TurnStop, Work,
};
use crate::memory::{MAX_TURN_BYTES, Overlay, stored_bytes};
use crate::own::OwnCalls;
use crate::plan::ledger::Ledger;
use crate::profiles::{Chain, PricedModel, Role};
use crate::toolbelt::{Charge, Toolbelt};
use wire::model::ToolCall;
use wire::protocol::{Awaited, CostSummary, ExecutionTree, ModelCost, Place, Plan, PlanStatus, ReachedLimit};

/// The ledger of a model or a subtask before its first call.
fn unused() -> ModelCost {
    ModelCost { cost_usd: Some(0.0), ..ModelCost::default() }
}

/// A call of a round that has no result yet; the record keeps them in the order in which the model made them.
#[derive(Clone, Debug)]
pub(crate) struct PendingCall {
    pub(crate) key: String,
    pub(crate) id: String,
    pub(crate) call: ToolCall,
    pub(crate) place: Place,
    /// Elapsed running time of the turn when the call began; none before it begins.
    pub(crate) since_ms: Option<u64>,
    /// The most that it may cost, where its tool costs money.
    pub(crate) charge: Option<Charge>,
}

/// A call that waits for an answer from outside, or a turn that waits at a limit.
#[derive(Clone, Debug)]
pub(crate) struct Wait {
    pub(crate) place: Place,
    pub(crate) name: String,
    /// When the wait began and when it expires (milliseconds since 1970).
    pub(crate) since: u64,
    pub(crate) until: u64,
    /// The limit that a person may raise.
    pub(crate) limit: Option<ReachedLimit>,
    /// The form that a person fills in, and whether its tool has got the answer.
    pub(crate) asking: Option<Asking>,
    pub(crate) given: bool,
    /// The turn's running time when the wait began, and when it was answered.
    pub(crate) since_ms: u64,
    pub(crate) over_ms: Option<u64>,
    /// The answer, and its time.
    pub(crate) answer: Option<(Answer, u64)>,
    /// Why a person denied the call, in their words.
    pub(crate) reason: Option<String>,
}

#[derive(Clone, Debug)]
pub(crate) struct Record {
    pub(crate) budget: TurnBudget,
    pub(crate) stop: Option<TurnStop>,
    pub(crate) pending: Vec<PendingCall>,
    pub(crate) models: BTreeMap<String, OpenModelCall>,
    /// By the call's key or the number of the limit's question, and the party that is waited for. Answered waits stay.
    pub(crate) waits: BTreeMap<(String, Awaited), Wait>,
    /// How often the turn was parked, and whether it is parked now.
    pub(crate) parkings: u32,
    pub(crate) parked: bool,
    /// The tools that a person allowed for the whole thread.
    pub(crate) approved: BTreeSet<String>,
    pub(crate) calls: Vec<CallRecord>,
    /// The texts of the root's replies: the part of the turn that a person reads.
    pub(crate) root_texts: Vec<String>,
    /// The texts of the root's draft, which hooks have not let pass.
    draft: Vec<String>,
    /// The parts that the written events and texts have shown to readers. No entry has them: a run that takes
    /// the turn up reads them from the log.
    pub(crate) shown: Shown,
    /// The toolsets of the turn's levels.
    pub(crate) toolsets: Toolsets,
    /// The openings of child levels, by their paths.
    levels: BTreeMap<String, Rc<Opening>>,
    /// The newest summary of earlier turns that the turn made.
    pub(crate) summary: Option<Summary>,
    /// Whether the root's requests have left messages out.
    has_cut: bool,
    /// The role whose models the router chose for the root.
    pub(crate) routed: Option<Role>,
    /// The results of the root's current round, which has not settled yet.
    round: BTreeMap<String, ToolEnd>,
    /// The results of subtasks and steps that the root has not answered yet, by the keys of their calls.
    unanswered: BTreeMap<String, String>,
    /// The texts and results within open calls, in the order in which they came: the key, the source, the text.
    within: Vec<(String, String, String)>,
    tree: ExecutionTree,
    node_of: BTreeMap<String, usize>,
    costs: CostSummary,
    ids: WireIds,
    spec: Rc<TurnSpec>,
    /// Tool calls of the root.
    root_calls: u32,
    /// Whether the turn reached the goal of its context.
    goal_reached: bool,
    /// The hooks that were asked.
    pub(crate) hooks: hooks::Hooks,
    /// The plans that the turn made or changed.
    pub(crate) plans: Ledger,
    /// The thread's agents.
    pub(crate) agents: Agents,
    /// The session on which the turn works.
    pub(crate) session: Option<Session>,
    /// The facts of the engine's own calls.
    own: OwnCalls,
    /// Dollars, and the models with a call of unknown cost. With such a model the cost of the turn is unknown
    /// too.
    cost_usd: f64,
    unpriced: BTreeSet<String>,
    /// The bytes that the turn's calls have written to memory so far, as [`stored_bytes`] counts.
    memory_bytes: usize,
}

impl Record {
    pub(crate) fn new(spec: &Rc<TurnSpec>, own: OwnCalls) -> Self {
        Record {
            spec: Rc::clone(spec),
            root_calls: 0,
            goal_reached: false,
            hooks: hooks::Hooks::default(),
            plans: Ledger::default(),
            agents: Agents::new(spec.setting.agents.as_ref()),
            session: spec.setting.session.as_deref().cloned(),
            own,
            budget: TurnBudget::new(spec.limits),
            stop: None,
            pending: Vec::new(),
            models: BTreeMap::new(),
            waits: BTreeMap::new(),
            parkings: 0,
            parked: false,
            approved: BTreeSet::new(),
            calls: Vec::new(),
            root_texts: Vec::new(),
            draft: Vec::new(),
            shown: Shown::default(),
            toolsets: Toolsets::new(Toolbelt::new(spec.tools.iter().cloned())),
            levels: BTreeMap::new(),
            summary: None,
            has_cut: false,
            routed: None,
            round: BTreeMap::new(),
            unanswered: BTreeMap::new(),
            within: Vec::new(),
            tree: ExecutionTree::default(),
            node_of: BTreeMap::new(),
            costs: CostSummary::default(),
            ids: WireIds::new(&spec.turn_id),
            cost_usd: 0.0,
            unpriced: BTreeSet::new(),
            memory_bytes: 0,
        }
    }

    pub(crate) fn tree(&self) -> ExecutionTree {
        let setting = &self.spec.setting;
        let instructions = setting.instructions.clone();
        let client_instructions = setting.client_instructions.clone();
        let plans = self.plans_at_end();
        ExecutionTree { plans, instructions, client_instructions, ..self.tree.clone() }
    }

    /// The plans that the turn touched, as they are when it ends.
    pub(crate) fn plans_at_end(&self) -> Vec<Plan> {
        self.plans.at_end(self.spec.setting.draft.as_deref())
    }

    /// Whether the turn made or changed a plan that now waits for the user's word.
    pub(crate) fn has_draft(&self) -> bool {
        self.plans_at_end().iter().any(|plan| plan.status == PlanStatus::PendingReview)
    }

    /// Whether the turn leaves a session that is not over.
    pub(crate) fn has_open_session(&self) -> bool {
        self.session.as_ref().is_some_and(|session| !session.status.is_over())
    }

    /// The usage of the model calls below a subtask so far.
    pub(crate) fn usage_below(&self, tool_call_id: &str) -> Option<ModelCost> {
        self.node_of.get(tool_call_id).and_then(|index| self.tree.nodes.get(*index))?.usage.clone()
    }

    /// The result of a call of the root's current round.
    pub(crate) fn round_result(&self, key: &str) -> Option<ToolEnd> {
        self.round.get(key).cloned()
    }

    /// Whether the turn may write this to memory on top of its earlier writes.
    pub(crate) fn memory_has_room(&self, overlay: &Overlay) -> bool {
        self.memory_bytes.saturating_add(stored_bytes(overlay)) <= MAX_TURN_BYTES
    }

    pub(crate) fn costs(&self) -> CostSummary {
        let mut by_model = self.costs.by_model.clone();
        for (model, share) in &mut by_model {
            share.cost_usd = share.cost_usd.filter(|_| !self.unpriced.contains(model));
        }
        CostSummary {
            cost_usd: self.unpriced.is_empty().then_some(self.cost_usd),
            by_model,
            llm_calls: self.budget.used(Counted::LlmCall),
            tool_calls: self.budget.used(Counted::ToolCall),
            subtasks: self.budget.used(Counted::Subtask),
            ..self.costs.clone()
        }
    }

    /// The opening of the level at this path.
    pub(crate) fn opening(&self, path: &str) -> Option<Rc<Opening>> {
        self.levels.get(path).map(Rc::clone)
    }

    /// The role whose models a model call asks. A level of format 1 has no journaled opening: there the
    /// level's kind of work decides.
    fn models(&self, at: &str) -> Option<Role> {
        match self.levels.get(keys::level(at)) {
            Some(opening) => opening.spec.models,
            None if work(at) == Work::Root => self.routed,
            None => work(at).models(),
        }
    }

    /// The models that a model call asks.
    pub(crate) fn chain(&self, at: &str) -> &Chain {
        self.spec.chain_of(self.models(at))
    }

    /// The results of finished subtasks and steps that no reply of the root has put into words yet.
    pub(crate) fn unanswered(&self) -> impl Iterator<Item = &str> {
        self.unanswered.values().map(String::as_str)
    }

    fn priced_model(&self, at: &str, asked: usize) -> PricedModel {
        self.chain(at).at(asked).clone()
    }

    /// The limit that this many more tool calls of the root would exceed (B-027).
    pub(crate) fn exceeded_at_root(&self, more: u32) -> Option<Exceeded> {
        self.budget.exceeded_at_root(self.root_calls.saturating_add(more))
    }

    /// Whether the turn has missed the goal of its context so far (B-013).
    pub(crate) fn misses_its_goal(&self) -> bool {
        self.spec.setting.goal.is_some() && !self.goal_reached
    }

    /// The ledger of a model, after adding this many requests.
    fn share(&mut self, model: &str, requests: u32) -> &mut ModelCost {
        let share = self.costs.by_model.entry(model.to_owned()).or_insert_with(unused);
        share.llm_calls += requests;
        share
    }

    // Long: an arm for each fact.
    pub(crate) fn apply(&mut self, entry: &Entry) {
        match &entry.fact {
            Fact::Started(_) | Fact::Resumed { .. } | Fact::FilesCompared { .. } | Fact::Unknown(_) => {}
            Fact::Toolset(specs) => self.toolsets.add(Toolbelt::new(specs.iter().cloned())),
            Fact::Opened(spec) => self.opened(&entry.at, spec),
            Fact::Waiting { on, place, since, until, limit, asking } => {
                let call = self.pending.iter().find(|pending| pending.key == keys::call_of(&entry.at));
                let wait = Wait {
                    place: place.clone(),
                    name: call.map(|pending| pending.call.name.clone()).unwrap_or_default(),
                    since: *since,
                    until: *until,
                    limit: *limit,
                    asking: asking.as_deref().cloned(),
                    given: false,
                    since_ms: entry.elapsed_ms,
                    over_ms: None,
                    answer: None,
                    reason: None,
                };
                self.waits.insert((entry.at.clone(), *on), wait);
            }
            Fact::InputGiven => self.input_given(&entry.at),
            Fact::Answered { .. } => self.answered(entry),
            Fact::Parked { .. } => {
                self.parkings += 1;
                self.parked = true;
            }
            Fact::Unparked { .. } => self.parked = false,
            Fact::Stopped(why) => self.stopped(why),
            Fact::ModelStarted { place, held, held_microusd, cut, .. } => {
                self.model_started(entry, place, (*held, *held_microusd), cut.is_some());
            }
            Fact::ModelRetried { failed, asked, error, .. } => {
                self.model_retried(&entry.at, *failed, *asked, error);
            }
            Fact::ModelEnded { outcome, duration_ms, asked, first_byte_ms, .. } => {
                if let Some(mut open) = self.models.remove(&entry.at) {
                    (open.asked, open.first_byte_ms) = (*asked, *first_byte_ms);
                    self.model_ended(&entry.at, &open, outcome, *duration_ms);
                }
            }
            Fact::HookAsked { .. } | Fact::HookSaid(_) | Fact::AnswerPassed => self.hook_heard(entry),
            Fact::Canned { text, .. } => self.canned(entry, text),
            Fact::Called { place, calls } => self.called_by_service(&entry.at, calls, place),
            Fact::ModelDropped => {
                if let Some(open) = self.models.remove(&entry.at) {
                    let duration_ms = entry.elapsed_ms.saturating_sub(open.since_ms);
                    self.tree.model_calls.push(self.model_call(&entry.at, &open, None, duration_ms));
                    self.model_row(&entry.at, &open, "aborted", None, duration_ms);
                    self.budget.settle(&entry.at, None);
                }
            }
            Fact::Plan(plan) => self.plans.changed(&entry.at, plan),
            Fact::Agents(changes) => self.agents.apply(changes),
            Fact::Steered(steered) => steered.change.iter().for_each(|change| self.session_changed(change)),
            Fact::Priced(charge) => {
                let pending = self.pending.iter_mut().find(|pending| pending.key == entry.at);
                pending.into_iter().for_each(|pending| pending.charge = Some(charge.clone()));
            }
            Fact::ToolStarted { place, subtask } => self.tool_started(entry, place, *subtask),
            Fact::ToolEnded(end) => self.call_ended(entry, end),
        }
    }

    fn session_changed(&mut self, change: &SessionChange) {
        if let Some(session) = &mut self.session {
            session.apply(change);
        }
    }

    /// The first stop wins.
    fn stopped(&mut self, why: &TurnStop) {
        if self.stop.is_none() {
            // The history of a stopped turn ends with a note of the service. The next turn would take it for the reply, and
            // all before it for counted.
            self.costs.last_request = None;
            self.stop_failed(why);
            self.stop = Some(why.clone());
        }
    }

    fn opened(&mut self, path: &str, spec: &LevelSpec) {
        let shared = self.toolsets.get(spec.toolset);
        self.levels.insert(path.to_owned(), Rc::new(Opening { spec: spec.clone(), shared }));
    }

    /// Counts something towards every subtask that a place lies in.
    fn share_around(&mut self, place: &Place, count: impl Fn(&mut ModelCost)) {
        let mut around = place.parent_id.clone();
        while let Some(id) = around {
            let index = self.node_of.get(&id).copied();
            let Some(node) = index.and_then(|index| self.tree.nodes.get_mut(index)) else { return };
            count(node.usage.get_or_insert_with(unused));
            around = node.parent_id.clone();
        }
    }
}
