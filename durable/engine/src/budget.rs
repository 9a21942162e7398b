//! TurnBudget: counts the calls, tokens and money that a turn's whole tree has used of its limits.
//!
//! A replay rebuilds the budget by counting journal entries, so a killed run gets nothing back. The caller
//! reserves each call before it makes it: it asks with [`TurnBudget::exceeded_by`] and commits the entry that
//! [`TurnBudget::count`] counts, without an await between the two. The turn itself measures the wall clock.

use std::collections::BTreeMap;

use crate::profiles::{Limits, Price};
use serde::{Deserialize, Serialize};
use wire::model::Usage;
use wire::protocol::BudgetReason;

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
    limits: Limits,
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
        TurnBudget { limits, subtasks: 0, llm_calls: 0, tool_calls: 0, spent, held, result_bytes: 0 }
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
        let (limit, reason) = match what {
            Counted::Subtask => (self.limits.subtasks, BudgetReason::Subtasks),
            Counted::LlmCall => (self.limits.llm_calls, BudgetReason::LlmCalls),
            Counted::ToolCall => (self.limits.tool_calls, BudgetReason::ToolCalls),
        };
        let observed = self.used(what).saturating_add(more);
        (observed > limit).then_some(Exceeded { reason, limit: limit.into(), observed: observed.into() })
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
        let all = self.all().and(more);
        let tokens = all.tokens.input_tokens.saturating_add(all.tokens.output_tokens);
        let cost = all.whole_microusd();
        // Pruning could not bring a request under the history's limit if it is still above it here.
        let request = (BudgetReason::Tokens, Some(self.limits.history_tokens), more.tokens.input_tokens);
        [
            request,
            (BudgetReason::Tokens, self.limits.turn_tokens, tokens),
            (BudgetReason::Cost, self.limits.turn_cost_microusd, cost),
        ]
        .into_iter()
        .find_map(|(reason, limit, observed)| over(reason, limit, observed))
    }

    /// The limit that one more tool result of this size would exceed, if any.
    pub fn exceeded_by_result(&self, bytes: usize) -> Option<Exceeded> {
        let observed = self.result_bytes.saturating_add(bytes as u64);
        over(BudgetReason::Bytes, self.limits.turn_result_bytes, observed)
    }

    /// Holds the reservation of a model call. An earlier reservation at the same place that was never settled
    /// counts as fully spent.
    pub fn hold(&mut self, at: &str, spending: Spending) {
        if let Some(lost) = self.held.insert(at.to_owned(), spending) {
            self.spent = self.spent.and(lost);
        }
    }

    /// Settles a model call at its real usage, or at the whole reservation where the provider reports no
    /// usage.
    pub fn settle(&mut self, at: &str, used: Option<Spending>) {
        let held = self.held.remove(at).unwrap_or_default();
        self.spent = self.spent.and(used.unwrap_or(held));
    }

    /// The reservation of an open model call.
    pub fn held(&self, at: &str) -> Option<Spending> {
        self.held.get(at).copied()
    }

    /// Counts the reservation as spent by a lost request, and holds the same amount again for the next
    /// request of the model call.
    pub fn forfeit(&mut self, at: &str) {
        self.spent = self.spent.and(self.held(at).unwrap_or_default());
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
        })
    }
}

fn over(reason: BudgetReason, limit: Option<u64>, observed: u64) -> Option<Exceeded> {
    limit.filter(|limit| observed > *limit).map(|limit| Exceeded { reason, limit, observed })
}

// A provider may report any number, so the sums saturate.
impl Spending {
    /// The spending of these tokens at this price. An unknown price counts as zero, so a limit of money has
    /// no effect then.
    pub fn of(tokens: Usage, price: Option<Price>) -> Self {
        Spending { tokens, microusd: price.map_or(0.0, |price| price.cost_usd(tokens) * 1e6) }
    }

    fn and(self, other: Spending) -> Spending {
        let (one, two) = (self.tokens, other.tokens);
        Spending {
            tokens: Usage {
                input_tokens: one.input_tokens.saturating_add(two.input_tokens),
                cached_tokens: one.cached_tokens.saturating_add(two.cached_tokens),
                cache_write_tokens: one.cache_write_tokens.saturating_add(two.cache_write_tokens),
                output_tokens: one.output_tokens.saturating_add(two.output_tokens),
            },
            microusd: self.microusd + other.microusd,
        }
    }

    /// Rounds up, after dropping the error of floating-point addition.
    fn whole_microusd(self) -> u64 {
        (self.microusd - 1e-3).ceil() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // N-136 N-141 N-142 N-143 N-119
    #[test]
    fn each_counter_refuses_just_beyond_its_limit() {
        let limits = Limits { subtasks: 2, llm_calls: 3, tool_calls: 4, ..Limits::default() };
        for (what, limit, reason) in [
            (Counted::Subtask, 2, BudgetReason::Subtasks),
            (Counted::LlmCall, 3, BudgetReason::LlmCalls),
            (Counted::ToolCall, 4, BudgetReason::ToolCalls),
        ] {
            let mut budget = TurnBudget::new(limits);
            for _ in 0..limit {
                assert_eq!(budget.exceeded_by(what, 1), None);
                budget.count(what);
            }
            let observed = u64::from(limit) + 1;
            assert_eq!(budget.exceeded_by(what, 1), Some(Exceeded { reason, limit: limit.into(), observed }));
            assert_eq!(budget.used(what), limit);
        }
    }

    // N-144
    #[test]
    fn the_wall_clock_ends_at_its_limit() {
        let budget = TurnBudget::new(Limits { wall_clock_ms: 1_000, ..Limits::default() });
        assert_eq!(budget.exceeded_by_tokens(Spending::default()), None);
        assert_eq!(budget.wall_clock(999), None);
        let at_limit = Exceeded { reason: BudgetReason::WallClock, limit: 1_000, observed: 1_000 };
        assert_eq!(budget.wall_clock(1_000), Some(at_limit));
    }

    fn tokens(input_tokens: u64, output_tokens: u64) -> Spending {
        Spending::of(Usage { input_tokens, cached_tokens: 0, cache_write_tokens: 0, output_tokens }, None)
    }

    // N-118 N-195
    #[test]
    fn tokens_are_held_then_settled() {
        let limits = Limits { turn_tokens: Some(100), history_tokens: 90, ..Limits::default() };
        let mut budget = TurnBudget::new(limits);
        assert_eq!(budget.exceeded_by_tokens(tokens(60, 40)), None);
        budget.hold("0", tokens(60, 40));
        let refused = budget.exceeded_by_tokens(tokens(1, 0));
        assert_eq!(refused, Some(Exceeded { reason: BudgetReason::Tokens, limit: 100, observed: 101 }));
        budget.settle("0", Some(tokens(50, 10)));
        assert_eq!(budget.exceeded_by_tokens(tokens(30, 10)), None);
        budget.hold("1", tokens(10, 0));
        budget.hold("1", tokens(10, 0));
        assert_eq!(budget.charged(), Amount { tokens: 80, microusd: 0 }, "settled, lost and open calls");
        assert!(
            budget.exceeded_by_tokens(tokens(20, 1)).is_some(),
            "a call whose run was lost stays paid for"
        );
        budget.settle("1", Some(tokens(u64::MAX, u64::MAX)));
        assert!(budget.exceeded_by_tokens(tokens(0, 0)).is_some(), "a count beyond all measure is one still");
        let long = TurnBudget::new(limits).exceeded_by_tokens(tokens(91, 0));
        assert_eq!(long, Some(Exceeded { reason: BudgetReason::Tokens, limit: 90, observed: 91 }));
    }

    #[test]
    fn money_and_result_bytes() {
        let limits = Limits { turn_cost_microusd: Some(10), turn_result_bytes: Some(5), ..Limits::default() };
        let price = Price { input: 1.0, cached: 0.5, cache_write: None, output: 2.0 };
        let mut budget = TurnBudget::new(limits);
        let priced = |input, output| Spending::of(tokens(input, output).tokens, Some(price));
        assert_eq!(budget.exceeded_by_tokens(priced(6, 2)), None);
        let refused = budget.exceeded_by_tokens(priced(7, 2));
        let beyond = Some(Exceeded { reason: BudgetReason::Cost, limit: 10, observed: 11 });
        assert_eq!(refused, beyond);
        // The budget holds a call at the dearest price of its chain and settles it at its own.
        budget.hold("0", priced(6, 2));
        assert_eq!(budget.exceeded_by_tokens(priced(1, 0)), beyond);
        budget.settle("0", Some(Spending { microusd: 0.1, ..priced(6, 2) }));
        for step in 1..=9 {
            assert_eq!(budget.exceeded_by_tokens(priced(0, 0)), None);
            budget.settle(&step.to_string(), Some(Spending { microusd: 1.1, ..Spending::default() }));
        }
        assert_eq!(budget.exceeded_by_tokens(priced(0, 0)), None, "ten, whatever adding made of it");
        assert_eq!(budget.exceeded_by_tokens(priced(1, 0)), beyond);
        assert_eq!(budget.charged(), Amount { tokens: 8, microusd: 10 });
        budget.hold("10", priced(2, 1));
        assert_eq!(budget.charged(), Amount { tokens: 11, microusd: 14 }, "what is open may still be used");
        budget.count_result(5);
        assert_eq!(budget.exceeded_by_result(0), None);
        let refused = budget.exceeded_by_result(1);
        assert_eq!(refused, Some(Exceeded { reason: BudgetReason::Bytes, limit: 5, observed: 6 }));
    }
}
