//! TurnBudget: what a turn's whole tree has used of what it may.
//!
//! Rebuilt by counting journal entries, so a kill returns nothing. A call is reserved before it is made: the caller
//! asks with [`TurnBudget::exceeded_by`] and commits the entry that [`TurnBudget::count`] counts, without an await
//! between the two. The wall clock is the turn's, not this module's.

use crate::profiles::Limits;
use crate::protocol::BudgetReason;

/// What is counted. For these the overshoot is zero over the whole tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counted {
    Subtask,
    LlmCall,
    ToolCall,
}

/// A limit that would have been crossed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exceeded {
    pub reason: BudgetReason,
    pub limit: u64,
    /// What was attempted.
    pub observed: u64,
}

/// The counters of one turn, shared by all its levels.
#[derive(Clone, Debug)]
pub struct TurnBudget {
    limits: Limits,
    subtasks: u32,
    llm_calls: u32,
    tool_calls: u32,
}

impl TurnBudget {
    /// A fresh budget: every root turn has its own.
    pub fn new(limits: Limits) -> Self {
        TurnBudget { limits, subtasks: 0, llm_calls: 0, tool_calls: 0 }
    }

    /// How many there were so far.
    pub fn used(&self, what: Counted) -> u32 {
        match what {
            Counted::Subtask => self.subtasks,
            Counted::LlmCall => self.llm_calls,
            Counted::ToolCall => self.tool_calls,
        }
    }

    /// What reserving `more` of these would exceed, if anything.
    pub fn exceeded_by(&self, what: Counted, more: u32) -> Option<Exceeded> {
        let (limit, reason) = match what {
            Counted::Subtask => (self.limits.subtasks, BudgetReason::Subtasks),
            Counted::LlmCall => (self.limits.llm_calls, BudgetReason::LlmCalls),
            Counted::ToolCall => (self.limits.tool_calls, BudgetReason::ToolCalls),
        };
        let observed = self.used(what).saturating_add(more);
        (observed > limit).then_some(Exceeded { reason, limit: limit.into(), observed: observed.into() })
    }

    /// Counts a reservation that was journaled.
    pub fn count(&mut self, what: Counted) {
        let counter = match what {
            Counted::Subtask => &mut self.subtasks,
            Counted::LlmCall => &mut self.llm_calls,
            Counted::ToolCall => &mut self.tool_calls,
        };
        *counter = counter.saturating_add(1);
    }

    /// What is exceeded once the turn has been running for so long.
    pub fn wall_clock(&self, elapsed_ms: u64) -> Option<Exceeded> {
        let limit = self.limits.wall_clock_ms;
        (elapsed_ms >= limit).then_some(Exceeded {
            reason: BudgetReason::WallClock,
            limit,
            observed: elapsed_ms,
        })
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
        assert_eq!(budget.wall_clock(999), None);
        let at_limit = Exceeded { reason: BudgetReason::WallClock, limit: 1_000, observed: 1_000 };
        assert_eq!(budget.wall_clock(1_000), Some(at_limit));
    }
}
