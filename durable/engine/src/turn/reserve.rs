//! Reservations: a level asks the budget for a call before it makes it, and journals the answer at once.
//!
//! [`Reservation`] collects the spending of one commit. Committing consumes it, and `clippy.toml` refuses an
//! await while one is held. So two parallel levels can never both pass a limit that has room for one.
//!
//! A tool that costs money says before a call what it may cost at most (`toolbelt/charge.rs`). The call holds that until its
//! end, as a model call does.
//!
//! The bound takes each model of the chain with its dearest rates (`PricedModel::most_microusd`) and the most tokens
//! of the request (`level/bound.rs`): what the provider counted for the request before it, also of the turn before
//! (`TurnSpec::last_request`), and the ratio of the model's family for all else (`MostTokens`, frozen with the price).
//! The entry of the call's start has the amount, which no later code estimates again. Output shrinks to the money that
//! is left, and a call waits while another one may give money back. Limits of tokens, and the cuts of a long
//! conversation, go by an estimate (`prune.rs`). Entry 0 says by which rules a turn estimates (`estimates`).

use std::future::poll_fn;
use std::task::Poll;

use super::level::{self, Level, most_tokens, request_tokens};
use super::parking::Tally;
use super::{Halt, Turn};
use crate::budget::{Counted, Exceeded, Spending, TurnBudget};
use crate::journal::{Commit, ModelOutcome};
use crate::profiles::Chain;
use crate::record::charges::Charges;
use wire::model::{ModelRequest, Usage};
use wire::protocol::BudgetReason;

/// The least output of a model call whose turn has little money left: a call and some words. With less the turn ends.
const LEAST_OUTPUT_TOKENS: u64 = 256;
/// The same of a model that reasons before it answers. All of a shorter output may be reasoning, which is paid for and
/// answers nothing.
const LEAST_REASONED_TOKENS: u64 = 2_048;

/// The spending of one commit, before it is written.
#[must_use]
pub(super) struct Reservation<'a> {
    turn: &'a Turn,
    tool_calls: u32,
    root_calls: u32,
    subtasks: u32,
    microusd: u64,
    result_bytes: usize,
}

impl Turn {
    /// Begins a reservation of calls. Refuses when the turn was stopped or its time is up.
    pub(super) fn reserve(&self) -> Result<Reservation<'_>, Halt> {
        self.check()?;
        Ok(self.reserve_room())
    }

    /// Begins a reservation of room for results. A call that has ended keeps its result, even after the
    /// turn's time is up.
    pub(super) fn reserve_room(&self) -> Reservation<'_> {
        Reservation { turn: self, tool_calls: 0, root_calls: 0, subtasks: 0, microusd: 0, result_bytes: 0 }
    }

    /// Stops the turn over a limit (N-147, N-179).
    pub(super) fn exceed<T>(&self, exceeded: Exceeded) -> Result<T, Halt> {
        let Exceeded { reason, limit, observed, .. } = exceeded;
        self.stop(crate::journal::TurnStop::Budget { reason, limit, observed })?;
        Err(Halt::Stopped)
    }
}

impl Reservation<'_> {
    /// Asks for one more tool call, which may cost so much. A call that does not fit leaves the reservation as it was.
    pub(super) fn tool_call(
        &mut self,
        at_root: bool,
        subtask: bool,
        microusd: Option<u64>,
    ) -> Result<(), Exceeded> {
        let all = self.microusd.saturating_add(microusd.unwrap_or(0));
        let (tool_calls, root_calls) = (self.tool_calls + 1, self.root_calls + u32::from(at_root));
        let subtasks = self.subtasks + u32::from(subtask);
        let record = self.turn.record.borrow();
        let exceeded = (subtask.then(|| record.budget.exceeded_by(Counted::Subtask, subtasks)).flatten())
            .or_else(|| at_root.then(|| record.exceeded_at_root(root_calls)).flatten())
            .or_else(|| record.budget.exceeded_by(Counted::ToolCall, tool_calls))
            .or_else(|| record.budget.exceeded_by_spending(Spending::money(microusd.map(|_| all)?)));
        if let Some(exceeded) = exceeded {
            return Err(exceeded);
        }
        (self.tool_calls, self.root_calls, self.subtasks) = (tool_calls, root_calls, subtasks);
        self.microusd = all;
        Ok(())
    }

    /// Whether a call that finds no money may find some later, because one of this reservation, or another one, holds it.
    pub(super) fn may_get_room(&self, at: &str, exceeded: &Exceeded) -> bool {
        (exceeded.reason == BudgetReason::Cost && self.microusd > 0) || self.turn.may_get_room(at, exceeded)
    }

    /// Asks for one model call that may use this many tokens.
    pub(super) fn model_call(&self, held: Spending) -> Result<(), Exceeded> {
        let budget = &self.turn.record.borrow().budget;
        let exceeded = budget.exceeded_by(Counted::LlmCall, 1);
        exceeded.or_else(|| budget.exceeded_by_tokens(held)).map_or(Ok(()), Err)
    }

    /// Asks for one more request of a model call. Its own tokens are held already; `lost` is the most that
    /// the request before it may have used.
    pub(super) fn model_request(&self, lost: Option<Spending>) -> Result<(), Exceeded> {
        let budget = &self.turn.record.borrow().budget;
        let exceeded = budget.exceeded_by(Counted::LlmCall, 1);
        exceeded.or_else(|| budget.exceeded_by_spending(lost?)).map_or(Ok(()), Err)
    }

    /// Asks for room for a tool's result.
    pub(super) fn result(&mut self, bytes: usize) -> Result<(), Exceeded> {
        let all = self.result_bytes.saturating_add(bytes);
        match self.turn.record.borrow().budget.exceeded_by_result(all) {
            Some(exceeded) => Err(exceeded),
            None => {
                self.result_bytes = all;
                Ok(())
            }
        }
    }

    /// Journals the calls that were asked for.
    pub(super) fn commit(self, commit: Commit) -> Result<(), Halt> {
        self.turn.commit(commit)
    }
}

/// The reservation of a model call that `budget` has to pay for: its estimated tokens, and the most that it may cost in
/// millionths of a US dollar. The second is the price of the first, and absent here, in a turn without a limit of money and
/// in one of former code.
pub(super) fn reservation_of(
    turn: &Turn,
    level: &Level,
    request: &ModelRequest,
    budget: &TurnBudget,
) -> (Usage, Option<u64>) {
    let Some(room) = budget.room_microusd().filter(|_| turn.spec.estimates > 0) else {
        return (estimate(request), None);
    };
    let chain = turn.spec.chain_of(level.models());
    // A person who may grant more is asked before the answers get short.
    let room = if budget.grants_left() > 0 { u64::MAX } else { room };
    let (held, microusd) = most(request, chain, level.counted(), Some(room));
    (held, Some(microusd))
}

/// The most that a request may cost that stands alone, as [`reservation_of`].
pub fn most_spending(request: &ModelRequest, chain: &Chain) -> Spending {
    let (held, microusd) = most(request, chain, None, None);
    Spending::held(held, Some(microusd), None)
}

fn estimate(request: &ModelRequest) -> Usage {
    let output_tokens = request.max_output_tokens.unwrap_or(0);
    Usage { input_tokens: request_tokens(request), output_tokens, ..Usage::default() }
}

/// The estimated tokens of a request, and the most that it may cost, whichever model of the chain answers. Where money is
/// limited, its output is what the `room` pays for, and the estimate is at most the bound of each model: a reply without
/// usage must not cost more than it held.
fn most(
    request: &ModelRequest,
    chain: &Chain,
    counted: Option<&level::Counted>,
    room: Option<u64>,
) -> (Usage, u64) {
    let bounds: Vec<_> = chain.iter().map(|offer| (most_tokens(request, offer, counted), offer)).collect();
    let held = estimate(request);
    let paid = room.and_then(|room| {
        bounds.iter().filter_map(|(tokens, offer)| offer.output_within(room, *tokens)).min()
    });
    let reasons = chain.iter().any(|offer| offer.choice.capabilities.reasoning);
    let least = if reasons { LEAST_REASONED_TOKENS } else { LEAST_OUTPUT_TOKENS };
    let output_tokens = held.output_tokens.min(paid.unwrap_or(u64::MAX).max(least));
    let microusd = bounds
        .iter()
        .filter_map(|(tokens, offer)| offer.most_microusd(*tokens, offer.choice.output_limit(output_tokens)));
    let bound = bounds.iter().map(|(tokens, _)| *tokens).filter(|_| room.is_some()).min();
    let input_tokens = held.input_tokens.min(bound.unwrap_or(u64::MAX));
    (Usage { input_tokens, output_tokens, ..held }, microusd.max().unwrap_or(0))
}

/// Notes what the provider counted for a request, so that the next one of the level is bounded by it.
pub(super) fn note_usage(
    turn: &Turn,
    level: &mut Level,
    at: &str,
    request: ModelRequest,
    outcome: &ModelOutcome,
) {
    let Some(reply) = outcome.reply() else { return };
    let model = turn.record.borrow().answered_by(&turn.ids.model_call(at));
    if let Some(model) = model {
        level.note_usage(&model, request, reply);
    }
}

impl Turn {
    /// The request of a model call that has started, with the output that its reservation pays for.
    pub(super) fn as_reserved(&self, at: &str, request: &ModelRequest) -> ModelRequest {
        let held = self.record.borrow().budget.held(at).map(|held| held.tokens.output_tokens);
        let max_output_tokens = request.max_output_tokens.map(|wished| held.unwrap_or(wished));
        ModelRequest { max_output_tokens, ..request.clone() }
    }

    /// Whether a call that finds no money may find some later, because another one gives back what it does not use. A turn
    /// that former code began ends at once.
    pub(super) fn may_get_room(&self, at: &str, exceeded: &Exceeded) -> bool {
        let is_money = exceeded.reason == BudgetReason::Cost && self.spec.estimates > 0;
        let record = self.record.borrow();
        is_money && (record.another_runs(at) || Charges(&record).another_holds(at))
    }

    /// Waits until a call of a model, or of a tool, has its outcome. The caller looks again then.
    pub(super) async fn another_ends(&self) -> Result<(), Halt> {
        // The turn does not park meanwhile.
        let _runs = Tally::of(&self.busy);
        let wakes = self.wakes.get();
        poll_fn(|context| {
            if self.wakes.get() != wakes {
                return Poll::Ready(());
            }
            self.wait_to_look(context.waker());
            Poll::Pending
        })
        .await;
        self.check()
    }
}
