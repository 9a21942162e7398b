//! TurnBudget: counts the calls, tokens and money that a turn's whole tree has used of its limits.
//!
//! A replay rebuilds the budget by counting journal entries, so a killed run gets nothing back. The caller
//! reserves each call before it makes it: it asks with [`TurnBudget::exceeded_by`] and commits the entry that
//! [`TurnBudget::count`] counts, without an await between the two. The turn itself measures the wall clock.

use std::collections::BTreeMap;

use crate::profiles::{Limits, MAX_GRANTS, OnLimit, Price};
use serde::{Deserialize, Serialize};
use wire::model::Usage;
use wire::protocol::BudgetReason;

/// Bytes of text per token, for estimates: the usual rule of thumb, which overestimates prose in Latin letters a
/// little and so errs on the side of pruning.
pub const BYTES_PER_TOKEN: usize = 4;

/// An amount of tokens, and of money in millionths of a US dollar.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Amount {
    pub tokens: u64,
    pub microusd: u64,
}

/// The kinds of call that the budget counts. Their limits are exact: the whole tree never exceeds them by one
/// call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counted {
    Subtask,
    LlmCall,
    ToolCall,
}

/// A limit that the next reservation would cross.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exceeded {
    pub reason: BudgetReason,
    pub limit: u64,
    /// The count or amount that the reservation would have reached.
    pub observed: u64,
    /// The limit after one more grant of a person, where the reservation would fit then; none where nobody is asked.
    pub raised_to: Option<u64>,
}

/// The tokens that model calls use, and their cost.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Spending {
    pub tokens: Usage,
    /// Millionths of a US dollar.
    pub microusd: f64,
}

/// The counters of one turn, shared by all its levels.
#[derive(Clone, Debug)]
pub struct TurnBudget {
    /// The limits with all that a person has granted, and the turn's own.
    limits: Limits,
    own: Limits,
    grants: u32,
    subtasks: u32,
    llm_calls: u32,
    tool_calls: u32,
    /// The spending of settled model calls, and the reservations of open ones by their place in the tree.
    spent: Spending,
    held: BTreeMap<String, Spending>,
    result_bytes: u64,
}

impl TurnBudget {
    /// A fresh budget: every root turn has its own.
    pub fn new(limits: Limits) -> Self {
        let (spent, held) = (Spending::default(), BTreeMap::new());
        TurnBudget {
            limits,
            own: limits,
            grants: 0,
            subtasks: 0,
            llm_calls: 0,
            tool_calls: 0,
            spent,
            held,
            result_bytes: 0,
        }
    }

    /// The limits as they are now.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// How often a person may still grant the budget once more.
    pub fn grants_left(&self) -> u32 {
        match self.own.on_limit {
            OnLimit::End => 0,
            OnLimit::Ask => MAX_GRANTS.saturating_sub(self.grants),
        }
    }

    /// A person grants the budget once more.
    pub fn grant(&mut self) {
        self.grants = self.grants.saturating_add(1);
        self.limits = self.own.with_grants(self.grants);
    }

    /// A limit that this count or amount would exceed, if it does.
    fn exceeded(
        &self,
        reason: BudgetReason,
        observed: u64,
        of: fn(&Limits) -> Option<u64>,
    ) -> Option<Exceeded> {
        let limit = of(&self.limits).filter(|limit| observed > *limit)?;
        let next = (self.grants_left() > 0).then(|| self.own.with_grants(self.grants.saturating_add(1)));
        let raised_to = next.and_then(|next| of(&next)).filter(|raised_to| observed <= *raised_to);
        Some(Exceeded { reason, limit, observed, raised_to })
    }

    /// The number of calls of this kind so far.
    pub fn used(&self, what: Counted) -> u32 {
        match what {
            Counted::Subtask => self.subtasks,
            Counted::LlmCall => self.llm_calls,
            Counted::ToolCall => self.tool_calls,
        }
    }

    /// The limit that reserving `more` calls would exceed, if any.
    pub fn exceeded_by(&self, what: Counted, more: u32) -> Option<Exceeded> {
        let observed = self.used(what).saturating_add(more).into();
        match what {
            Counted::Subtask => {
                self.exceeded(BudgetReason::Subtasks, observed, |limits| Some(limits.subtasks.into()))
            }
            Counted::LlmCall => {
                self.exceeded(BudgetReason::LlmCalls, observed, |limits| Some(limits.llm_calls.into()))
            }
            Counted::ToolCall => {
                self.exceeded(BudgetReason::ToolCalls, observed, |limits| Some(limits.tool_calls.into()))
            }
        }
    }

    /// The limit that this many tool calls of the root would exceed, if any (B-027).
    pub fn exceeded_at_root(&self, calls: u32) -> Option<Exceeded> {
        self.exceeded(BudgetReason::ToolCalls, calls.into(), |limits| limits.root_tool_calls.map(u64::from))
    }

    /// Counts a journaled reservation.
    pub fn count(&mut self, what: Counted) {
        let counter = match what {
            Counted::Subtask => &mut self.subtasks,
            Counted::LlmCall => &mut self.llm_calls,
            Counted::ToolCall => &mut self.tool_calls,
        };
        *counter = counter.saturating_add(1);
    }

    /// The limit that a model call with this reservation would exceed, if any. Tokens and money are checked
    /// against an estimate before the call and against the real usage after it.
    pub fn exceeded_by_tokens(&self, more: Spending) -> Option<Exceeded> {
        let request = more.tokens.input_tokens;
        // Pruning could not bring a request under the history's limit if it is still above it here.
        self.exceeded(BudgetReason::Tokens, request, |limits| Some(limits.history_tokens))
            .or_else(|| self.exceeded_by_spending(more))
    }

    /// The limit of the turn's tokens or money that this would exceed, if any.
    pub fn exceeded_by_spending(&self, more: Spending) -> Option<Exceeded> {
        let all = self.all().and(more);
        let tokens = all.tokens.input_tokens.saturating_add(all.tokens.output_tokens);
        let cost = all.whole_microusd();
        self.exceeded(BudgetReason::Tokens, tokens, |limits| limits.turn_tokens)
            .or_else(|| self.exceeded(BudgetReason::Cost, cost, |limits| limits.turn_cost_microusd))
    }

    /// The limit that one more tool result of this size would exceed, if any.
    pub fn exceeded_by_result(&self, bytes: usize) -> Option<Exceeded> {
        let observed = self.result_bytes.saturating_add(bytes as u64);
        self.exceeded(BudgetReason::Bytes, observed, |limits| limits.turn_result_bytes)
    }

    /// The money that is neither spent nor reserved, in millionths of a US dollar; none where the turn has no limit of
    /// money.
    pub fn room_microusd(&self) -> Option<u64> {
        Some(self.limits.turn_cost_microusd?.saturating_sub(self.all().whole_microusd()))
    }

    /// Holds the reservation of a call. An earlier reservation at the same place that was never settled
    /// counts as fully spent.
    pub fn hold(&mut self, at: &str, spending: Spending) {
        if let Some(lost) = self.held.insert(at.to_owned(), spending) {
            self.spent = self.spent.and(lost);
        }
    }

    /// Settles a call at its usage, or at the whole reservation where that is unknown.
    pub fn settle(&mut self, at: &str, used: Option<Spending>) {
        let held = self.held.remove(at).unwrap_or_default();
        self.spent = self.spent.and(used.unwrap_or(held));
    }

    /// The reservation of an open model call.
    pub fn held(&self, at: &str) -> Option<Spending> {
        self.held.get(at).copied()
    }

    /// The usage of a reply that its provider did not count: the prompt as it was reserved, and the bytes that came. It is
    /// at most the reservation where that bounds the output.
    pub fn estimated(&self, at: &str, bytes: usize) -> Option<Usage> {
        let held = self.held(at)?.tokens;
        let came = (bytes / BYTES_PER_TOKEN) as u64;
        // A request without a bound for its output reserves none.
        let output_tokens = if held.output_tokens > 0 { came.min(held.output_tokens) } else { came };
        Some(Usage { output_tokens, estimated: true, ..held })
    }

    /// Counts the spending of a request that failed. The reservation of its model call holds for the next request.
    pub fn spend(&mut self, spent: Spending) {
        self.spent = self.spent.and(spent);
    }

    fn all(&self) -> Spending {
        self.held.values().fold(self.spent, |total, held| total.and(*held))
    }

    /// The spending of settled calls and the reservations of open ones: the service charges this sum against
    /// quotas.
    pub fn charged(&self) -> Amount {
        let all = self.all();
        let tokens = all.tokens.input_tokens.saturating_add(all.tokens.output_tokens);
        Amount { tokens, microusd: all.whole_microusd() }
    }

    /// Counts the bytes of a tool's result.
    pub fn count_result(&mut self, bytes: usize) {
        self.result_bytes = self.result_bytes.saturating_add(bytes as u64);
    }

    /// The exceeded limit, if the turn has been running for its whole time.
    pub fn wall_clock(&self, elapsed_ms: u64) -> Option<Exceeded> {
        let limit = self.limits.wall_clock_ms;
        (elapsed_ms >= limit).then_some(Exceeded {
            reason: BudgetReason::WallClock,
            limit,
            observed: elapsed_ms,
            raised_to: None,
        })
    }
}

impl Spending {
    /// The spending of these tokens at this price. An unknown price counts as zero, so a limit of money has
    /// no effect then.
    pub fn of(tokens: Usage, price: Option<&Price>) -> Self {
        Spending { tokens, microusd: price.map_or(0.0, |price| price.cost_usd(tokens) * 1e6) }
    }

    /// An amount of money alone, in millionths of a US dollar.
    pub(crate) fn money(microusd: u64) -> Self {
        Spending { microusd: microusd as f64, ..Spending::default() }
    }

    /// A reservation, as the start of a model call records it. In a turn of former code it holds the price of its tokens.
    pub(crate) fn held(tokens: Usage, microusd: Option<u64>, dearest: Option<&Price>) -> Self {
        let held = microusd.map(|microusd| Spending { tokens, microusd: microusd as f64 });
        held.unwrap_or_else(|| Spending::of(tokens, dearest))
    }

    pub(crate) fn and(self, other: Spending) -> Spending {
        Spending { tokens: self.tokens.and(other.tokens), microusd: self.microusd + other.microusd }
    }

    /// Rounds up, after dropping the error of floating-point addition.
    fn whole_microusd(self) -> u64 {
        (self.microusd - 1e-3).ceil() as u64
    }
}

#[cfg(test)]
mod tests;
