//! Model calls in a turn's record: the open ones, their usage, their text.

use super::{OpenModelCall, Record, keys};
use crate::budget::{Counted, Spending};
use crate::journal::{Entry, ModelOutcome, Summary};
use wire::model::{ModelError, Usage};
use wire::protocol::Place;

impl Record {
    /// Notes the model that an open call asks now. If the request before failed, changes nothing and returns
    /// the model that it asked and the number of requests so far.
    pub(crate) fn asking(&mut self, at: &str, asked: usize, failed: bool) -> Option<(usize, u32)> {
        let open = self.models.get_mut(at)?;
        if failed {
            return Some((open.asked, open.requests));
        }
        open.asked = asked;
        None
    }

    pub(super) fn model_started(&mut self, entry: &Entry, place: &Place, held: Usage) {
        let lost = self.models.remove(&entry.at);
        if let Some(lost) = &lost {
            // Its run was lost; its usage still counts.
            let duration_ms = entry.elapsed_ms.saturating_sub(lost.since_ms);
            self.model_row(&entry.at, lost, "interrupted", None, duration_ms);
        }
        self.budget.count(Counted::LlmCall);
        let dearest = self.chain(&entry.at).dearest();
        self.budget.hold(&entry.at, Spending::of(held, dearest.as_ref()));
        let lost_requests = lost.map_or(0, |lost| lost.requests);
        let open = OpenModelCall {
            place: place.clone(),
            since_ms: entry.elapsed_ms,
            parts: Vec::new(),
            begun: 0,
            unwritten: 0,
            said: Vec::new(),
            live: false,
            asked: 0,
            lost_requests,
            requests: lost_requests + 1,
            first_byte_ms: None,
        };
        self.models.insert(entry.at.clone(), open);
    }

    /// A request failed, and another one follows it.
    pub(super) fn model_retried(&mut self, at: &str, failed: usize, asked: usize, error: &ModelError) {
        self.budget.count(Counted::LlmCall);
        let Some(open) = self.models.get_mut(at) else { return };
        open.asked = asked;
        open.requests += 1;
        let place = open.place.clone();
        let choice = self.priced_model(at, failed).choice;
        if !error.kind.used_nothing() {
            self.budget.forfeit(at);
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
        let reply = match outcome {
            ModelOutcome::Failed { error, said } => {
                let used_nothing = open.first_byte_ms.is_none() && error.kind.used_nothing();
                let usage = used_nothing.then(Usage::default);
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
            ModelOutcome::Replied(reply) => reply,
        };
        self.model_row(at, open, "ok", reply.usage, duration_ms);
        if let Some(summary) = self.summary_in(at, open, &reply.text) {
            self.summary = Some(summary);
        }
        self.budget.settle(at, reply.usage.map(|usage| Spending::of(usage, price.as_ref())));
        if is_root {
            self.round.clear();
            self.unanswered.clear();
            self.root_texts.extend((!reply.text.is_empty()).then(|| reply.text.clone()));
        } else if !reply.tool_calls.is_empty() {
            // The text of a reply without calls is the level's result.
            self.note_text_within(at, &reply.text);
        }
        self.called(at, &reply.tool_calls, &open.place);
    }
}
