//! The money of tool calls in a turn's record. It counts as that of model calls does: held from the start of a call,
//! settled with its end.

use super::{PendingCall, Record};
use crate::budget::Spending;
use crate::journal::{CallRecord, ToolEnd};
use crate::toolbelt::Charge;
use wire::protocol::ModelCost;

/// The charges of open calls.
pub(crate) struct Charges<'a>(pub(crate) &'a Record);

impl<'a> Charges<'a> {
    /// The charge of a call.
    pub(crate) fn charge_of(&self, key: &str) -> Option<&'a Charge> {
        self.0.pending.iter().find(|pending| pending.key == key)?.charge.as_ref()
    }

    /// Whether a running call other than this one holds money, of which it may give some back. One that waits for a person
    /// may wait for days.
    pub(crate) fn another_holds(&self, key: &str) -> bool {
        let holds = |pending: &PendingCall| {
            let charge = pending.charge.as_ref().filter(|_| pending.since_ms.is_some());
            charge.is_some_and(|charge| charge.microusd > Some(0)) && !self.0.waits_for_input(&pending.key)
        };
        self.0.pending.iter().any(|pending| pending.key != key && holds(pending))
    }

    /// The cost in US dollars of a call that ends so; none where it costs nothing, or an unknown amount.
    pub(crate) fn cost_usd(&self, key: &str, end: &ToolEnd) -> Option<f64> {
        let pending = self.0.pending.iter().find(|pending| pending.key == key)?;
        Some(pending.microusd(end)? as f64 / 1e6)
    }
}

impl PendingCall {
    /// The cost of a call that ends so; none for one that did not start.
    fn microusd(&self, end: &ToolEnd) -> Option<u64> {
        let charge = self.charge.as_ref().filter(|_| self.since_ms.is_some())?;
        end.paid_microusd.or(charge.microusd)
    }

    /// Holds the money of the call, which starts.
    pub(super) fn hold(&self, record: &mut Record) {
        if let Some(microusd) = self.charge.as_ref().and_then(|charge| charge.microusd) {
            record.budget.hold(&self.key, Spending::money(microusd));
        }
    }

    /// Settles the money of the call, which has ended, and leaves its row of telemetry. Returns its cost in US dollars.
    pub(super) fn settle(&self, record: &mut Record, end: &ToolEnd) -> Option<f64> {
        let charge = self.charge.as_ref().filter(|_| self.since_ms.is_some())?;
        let microusd = self.microusd(end);
        let cost_usd = microusd.map(|microusd| microusd as f64 / 1e6);
        record.budget.settle(&self.key, microusd.map(Spending::money));
        let count = |share: &mut ModelCost| {
            share.cost_usd = share.cost_usd.zip(cost_usd).map(|(sum, cost)| sum + cost);
        };
        count(record.share(&charge.model, 0));
        record.share_around(&self.place, count);
        match cost_usd {
            Some(cost_usd) => record.cost_usd += cost_usd,
            None => drop(record.unpriced.insert(charge.model.clone())),
        }
        record.calls.push(CallRecord::Model {
            id: self.id.clone(),
            provider: charge.provider.clone(),
            model: charge.model.clone(),
            operation_type: self.call.name.clone(),
            profile: record.spec.profile.clone(),
            input_tokens: 0,
            cached_tokens: 0,
            output_tokens: 0,
            cost_usd,
            first_byte_ms: None,
            duration_ms: end.duration_ms,
            retries: 0,
            outcome: if end.is_error { "error" } else { "ok" }.to_owned(),
        });
        cost_usd
    }
}
