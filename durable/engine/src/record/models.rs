//! Model calls in a turn's record: the open ones, their usage, their text.

use super::{Record, keys};
use crate::budget::{Counted, Spending};
use crate::journal::{Entry, ModelOutcome, Summary, TextPart};
use crate::profiles::PricedModel;
use wire::model::{ModelError, Usage};
use wire::protocol::{CountedRequest, Place};

/// A model call that has no outcome yet.
#[derive(Clone, Debug)]
pub(crate) struct OpenModelCall {
    pub(crate) place: Place,
    /// Elapsed running time of the turn when it began.
    pub(crate) since_ms: u64,
    /// Announced text that is not written yet. A call whose run was lost has lost that text as well; its
    /// `live` is false.
    pub(crate) parts: Vec<TextPart>,
    /// How many parts were begun, written ones included.
    pub(crate) begun: usize,
    /// The weight of `parts`, as `announcing::UNWRITTEN_BYTES` counts it.
    pub(crate) unwritten: usize,
    /// The whole text of each part of kind text.
    pub(crate) said: Vec<String>,
    /// The text that readers do not get as it comes: a summary, a draft.
    pub(crate) unshown: String,
    pub(crate) live: bool,
    /// The model that is asked, as its place in the chain.
    pub(crate) asked: usize,
    /// Requests so far, and how many of them lost runs made.
    pub(crate) requests: u32,
    pub(crate) lost_requests: u32,
    /// Milliseconds from the call's start to the first word of the answer.
    pub(crate) first_byte_ms: Option<u64>,
    /// The spending of requests before the last one, as far as their providers counted it.
    pub(crate) earlier: Spending,
}

impl OpenModelCall {
    /// The usage and the cost of the call whose last request used this, those of an empty reply before it included.
    pub(super) fn whole(&self, asked: &PricedModel, usage: Option<Usage>) -> (Option<Usage>, Option<f64>) {
        let cost_usd = usage.and_then(|usage| asked.cost_usd(usage));
        let Spending { tokens, microusd } = self.earlier;
        (usage.map(|usage| usage.and(tokens)), cost_usd.map(|cost_usd| cost_usd + microusd / 1e6))
    }

    /// Takes the announced text that is not written. The last part goes on: it is closed only when the next
    /// one begins or the call ends.
    pub(crate) fn take_unwritten(&mut self) -> Vec<TextPart> {
        let mut parts = std::mem::take(&mut self.parts);
        self.unwritten = 0;
        let Some(last) = parts.last_mut() else { return parts };
        let (chunks, text) = (std::mem::take(&mut last.chunks), std::mem::take(&mut last.text));
        self.parts = vec![last.clone()];
        (last.chunks, last.text, last.more) = (chunks, text, true);
        parts.retain(|part| !part.chunks.is_empty());
        parts
    }
}

impl Record {
    /// Notes the model that an open call asks now.
    pub(crate) fn asking(&mut self, at: &str, asked: usize) {
        if let Some(open) = self.models.get_mut(at) {
            open.asked = asked;
        }
    }

    /// `held`: what the call's start says that it reserves. `is_cut`: its level left messages out just before it.
    pub(super) fn model_started(
        &mut self,
        entry: &Entry,
        place: &Place,
        (held, held_microusd): (Usage, Option<u64>),
        is_cut: bool,
    ) {
        self.has_cut |= is_cut && place.depth == 0;
        let lost = self.models.remove(&entry.at);
        if let Some(lost) = &lost {
            // Its run was lost; its usage still counts.
            let duration_ms = entry.elapsed_ms.saturating_sub(lost.since_ms);
            self.model_row(&entry.at, lost, "interrupted", None, duration_ms);
        }
        self.budget.count(Counted::LlmCall);
        let dearest = self.chain(&entry.at).dearest();
        self.budget.hold(&entry.at, Spending::held(held, held_microusd, dearest.as_ref()));
        let lost_requests = lost.map_or(0, |lost| lost.requests);
        let open = OpenModelCall {
            place: place.clone(),
            since_ms: entry.elapsed_ms,
            parts: Vec::new(),
            begun: 0,
            unwritten: 0,
            said: Vec::new(),
            unshown: String::new(),
            live: false,
            asked: 0,
            lost_requests,
            requests: lost_requests + 1,
            first_byte_ms: None,
            earlier: Spending::default(),
        };
        self.models.insert(entry.at.clone(), open);
    }

    /// The model that answered a model call that has its outcome.
    pub(crate) fn answered_by(&self, model_call_id: &str) -> Option<String> {
        let mut calls = self.tree.model_calls.iter().rev();
        calls.find(|call| call.id == model_call_id).map(|call| call.model.clone())
    }

    /// Whether another model call than this one waits for its provider.
    pub(crate) fn another_runs(&self, at: &str) -> bool {
        self.models.iter().any(|(other, open)| open.live && other != at)
    }

    /// The spending of a request that failed: all of its reservation where it is unknown.
    pub(crate) fn lost(&self, at: &str, failed: usize, error: &ModelError) -> Spending {
        let model = self.priced_model(at, failed);
        let known = error.used().map(|usage| Spending::of(usage, model.price.as_ref()));
        known.or_else(|| self.budget.held(at)).unwrap_or_default()
    }

    /// A request failed, and another one follows it.
    pub(super) fn model_retried(&mut self, at: &str, failed: usize, asked: usize, error: &ModelError) {
        self.budget.count(Counted::LlmCall);
        let (lost, model) = (self.lost(at, failed, error), self.priced_model(at, failed));
        let (used, choice) = (error.used(), &model.choice);
        let Some(open) = self.models.get_mut(at) else { return };
        open.asked = asked;
        open.requests += 1;
        let place = open.place.clone();
        if used.is_some() {
            open.earlier = open.earlier.and(lost);
        }
        self.budget.spend(lost);
        if used.and_then(|used| model.cost_usd(used)).is_none() {
            self.unpriced.insert(choice.model.clone());
        }
        self.share(&choice.model, 1);
        self.share_around(&place, |share| share.llm_calls += 1);
        self.failed("provider", "first_byte", None, error.kind.code(), &[&choice.id(), &error.message]);
    }

    /// The summary that a model call's text is; none where its level makes none.
    pub(crate) fn summary_in(&self, at: &str, open: &OpenModelCall, text: &str) -> Option<Summary> {
        let opening = self.opening(keys::level(at))?;
        Summary::of(opening.spec.covers.as_ref(), text, &self.priced_model(at, open.asked).choice.model)
    }

    /// The request of the conversation's newest reply, if the next turn may reserve by it.
    fn counted(&self, at: &str, open: &OpenModelCall, outcome: &ModelOutcome) -> Option<CountedRequest> {
        // The history of a turn with drafts lacks what its requests had.
        let ModelOutcome::Replied(reply) = outcome else { return None };
        self.spec.limits.turn_cost_microusd?;
        // Former code leaves messages out without a fact.
        if self.spec.estimates == 0 {
            return None;
        }
        // An agent that the user talks to has a conversation of its own.
        let talks_to_agent = self.spec.setting.agents.as_ref().is_some_and(|agents| agents.root.is_some());
        let is_whole = self.spec.summary.is_none() && self.summary.is_none() && !self.has_cut;
        let usage = reply.usage.filter(|usage| !usage.estimated && is_whole && !talks_to_agent)?;
        let (input_tokens, output_tokens) = (usage.input_tokens, usage.output_tokens);
        let model = self.priced_model(at, open.asked).choice.model.clone();
        Some(CountedRequest { model, input_tokens, output_tokens })
    }

    pub(super) fn model_ended(
        &mut self,
        at: &str,
        open: &OpenModelCall,
        outcome: &ModelOutcome,
        duration_ms: u64,
    ) {
        self.tree.model_calls.push(self.model_call(at, open, Some(outcome), duration_ms));
        let price = self.priced_model(at, open.asked).price;
        let is_root = open.place.depth == 0;
        if is_root {
            self.costs.last_request = self.counted(at, open, outcome);
        }
        let (reply, is_draft) = match outcome {
            ModelOutcome::Failed { error, said } => {
                let usage = error.used().filter(|_| open.first_byte_ms.is_none());
                self.model_row(at, open, error.kind.code(), usage, duration_ms);
                let stage = if open.first_byte_ms.is_none() { "first_byte" } else { "stream" };
                let id = self.priced_model(at, open.asked).choice.id();
                self.failed("provider", stage, None, error.kind.code(), &[&id, &error.message]);
                self.budget.settle(at, usage.map(|usage| Spending::of(usage, price.as_ref())));
                if is_root {
                    self.root_texts.extend((!said.is_empty()).then(|| said.clone()));
                }
                return;
            }
            ModelOutcome::Replied(reply) => (reply, false),
            ModelOutcome::Drafted(reply) => (reply, true),
        };
        self.model_row(at, open, "ok", reply.usage, duration_ms);
        if let Some(summary) = self.summary_in(at, open, &reply.text) {
            self.summary = Some(summary);
        }
        self.budget.settle(at, reply.usage.map(|usage| Spending::of(usage, price.as_ref())));
        if is_root {
            self.round.clear();
            self.unanswered.clear();
            match is_draft {
                true => self.drafted(reply),
                false => self.root_texts.extend((!reply.text.is_empty()).then(|| reply.text.clone())),
            }
        } else if !reply.tool_calls.is_empty() && !is_draft {
            // The text of a reply without calls is the level's result.
            self.note_text_within(at, &reply.text);
        }
        self.called(at, &reply.tool_calls, &open.place);
    }
}
