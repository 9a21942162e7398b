//! Telemetry in the record: a row for each model call and each failure, and its share of the costs.

use super::canned::CANNED;
use super::keys::work;
use super::{OpenModelCall, Record};
use crate::journal::{CallRecord, Entry, FailureRecord, TurnStop};
use wire::model::Usage;
use wire::protocol::ModelCost;
use wire::redact::redacted;

/// The most failures of one turn that leave a row: its tool calls may be 200, and the first ones say why.
const MAX_FAILURES: usize = 50;

impl Record {
    /// Records the service's own answer: a row of telemetry, without any spending.
    pub(super) fn canned(&mut self, entry: &Entry, text: &str) {
        self.root_texts.push(text.to_owned());
        self.tree.model_calls.push(self.canned_call(&entry.at, entry.elapsed_ms));
        let row = self.calls.iter().filter(|row| matches!(row, CallRecord::Model { .. })).count();
        self.calls.push(CallRecord::Model {
            id: format!("{}_{row}", self.ids.model_call(&entry.at)),
            provider: CANNED.to_owned(),
            model: CANNED.to_owned(),
            operation_type: if self.spec.is_blank() { "clarify_blank" } else { "direct_call" }.to_owned(),
            profile: self.spec.profile.clone(),
            input_tokens: 0,
            cached_tokens: 0,
            output_tokens: 0,
            cost_usd: Some(0.0),
            first_byte_ms: None,
            duration_ms: 0,
            retries: 0,
            outcome: "ok".to_owned(),
        });
    }

    /// Leaves a row of telemetry for a failure, unless there are many already.
    pub(crate) fn failed(
        &mut self,
        component: &str,
        stage: &str,
        tool_name: Option<&str>,
        code: &str,
        what: &[&str],
    ) {
        let before = self.calls.iter().filter(|row| matches!(row, CallRecord::Failure(_))).count();
        if before >= MAX_FAILURES {
            return;
        }
        self.calls.push(CallRecord::Failure(FailureRecord {
            id: format!("failure_{before}"),
            component: component.to_owned(),
            stage: stage.to_owned(),
            tool_name: tool_name.map(str::to_owned),
            code: code.to_owned(),
            message: redacted(&what.join(": ")),
        }));
    }

    /// Leaves a row for the stop of a turn. A stop by the user or by a newer message leaves none. A failed
    /// model call has left its row already.
    pub(super) fn stop_failed(&mut self, why: &TurnStop) {
        match why {
            TurnStop::Budget { reason, limit, observed } => {
                let what = format!("{reason:?}: {observed} of {limit}");
                self.failed("turn", "budget", None, "budget_exceeded", &[&what]);
            }
            TurnStop::IterationLimit { limit } => {
                self.failed(
                    "turn",
                    "iterations",
                    None,
                    "iteration_limit",
                    &[&format!("{limit} model calls")],
                );
            }
            // The reason may name what nobody should read.
            TurnStop::Blocked { hook, .. } => self.failed("turn", "answer", None, "blocked", &[hook]),
            TurnStop::ShapeMissed { detail } => {
                self.failed("turn", "answer", None, "shape_missed", &[detail])
            }
            TurnStop::Interrupted { detail } => self.failed("turn", "resume", None, "interrupted", &[detail]),
            TurnStop::Internal { detail } => self.failed("turn", "run", None, "internal", &[detail]),
            // The failures of the calls of a tool and of a model have rows of their own.
            TurnStop::Cancelled | TurnStop::Superseded | TurnStop::Model { .. } | TurnStop::Call { .. } => {}
        }
    }

    /// Leaves the telemetry of a model call: one row each, for every outcome. `usage` is none where it is
    /// unknown.
    pub(super) fn model_row(
        &mut self,
        at: &str,
        open: &OpenModelCall,
        outcome: &str,
        usage: Option<Usage>,
        duration_ms: u64,
    ) {
        let asked = self.priced_model(at, open.asked);
        let (usage, cost_usd) = open.whole(&asked, usage);
        let choice = asked.choice;
        let usage = usage.unwrap_or_default();
        // Providers are foreign: their counts may be any number.
        let add = |total: &mut u64, more: u64| *total = total.saturating_add(more);
        let count = |share: &mut ModelCost| {
            add(&mut share.input_tokens, usage.input_tokens);
            add(&mut share.cached_tokens, usage.cached_tokens);
            add(&mut share.output_tokens, usage.output_tokens);
            share.estimated |= usage.estimated;
            share.cost_usd = share.cost_usd.zip(cost_usd).map(|(sum, cost)| sum + cost);
        };
        count(self.share(&choice.model, 1));
        self.share_around(&open.place, |share| {
            share.llm_calls += 1;
            count(share);
        });
        add(&mut self.costs.input_tokens, usage.input_tokens);
        add(&mut self.costs.cached_tokens, usage.cached_tokens);
        add(&mut self.costs.output_tokens, usage.output_tokens);
        self.costs.estimated |= usage.estimated;
        match cost_usd {
            Some(cost_usd) => self.cost_usd += cost_usd,
            None => drop(self.unpriced.insert(choice.model.clone())),
        }
        let row = self.calls.iter().filter(|row| matches!(row, CallRecord::Model { .. })).count();
        self.calls.push(CallRecord::Model {
            id: format!("{}_{row}", self.ids.model_call(at)),
            provider: choice.provider.clone(),
            model: choice.model.clone(),
            operation_type: self.spec.operation_for(work(at)).to_owned(),
            profile: self.spec.profile_of(self.models(at)).to_owned(),
            input_tokens: usage.input_tokens,
            cached_tokens: usage.cached_tokens,
            output_tokens: usage.output_tokens,
            cost_usd,
            first_byte_ms: open.first_byte_ms,
            duration_ms,
            retries: open.requests.saturating_sub(open.lost_requests + 1),
            outcome: outcome.to_owned(),
        });
    }
}
