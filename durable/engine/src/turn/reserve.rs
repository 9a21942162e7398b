//! Reservations: a level asks the budget for a call before it makes it, and journals the answer at once.
//!
//! [`Reservation`] collects the spending of one commit. Committing consumes it, and `clippy.toml` refuses an
//! await while one is held. So two parallel levels can never both pass a limit that has room for one.

use super::level::{Level, request_tokens};
use super::{Halt, Turn};
use crate::budget::{Counted, Exceeded, Spending};
use crate::journal::Commit;
use wire::model::{ModelRequest, Usage};

/// The spending of one commit, before it is written.
#[must_use]
pub(super) struct Reservation<'a> {
    turn: &'a Turn,
    tool_calls: u32,
    root_calls: u32,
    subtasks: u32,
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
        Reservation { turn: self, tool_calls: 0, root_calls: 0, subtasks: 0, result_bytes: 0 }
    }

    /// Stops the turn over a limit (N-147, N-179).
    pub(super) fn exceed<T>(&self, exceeded: Exceeded) -> Result<T, Halt> {
        let Exceeded { reason, limit, observed, .. } = exceeded;
        self.stop(crate::journal::TurnStop::Budget { reason, limit, observed })?;
        Err(Halt::Stopped)
    }
}

impl Reservation<'_> {
    /// Asks for one more tool call. A call that does not fit leaves the reservation as it was.
    pub(super) fn tool_call(&mut self, at_root: bool, subtask: bool) -> Result<(), Exceeded> {
        let (tool_calls, root_calls) = (self.tool_calls + 1, self.root_calls + u32::from(at_root));
        let subtasks = self.subtasks + u32::from(subtask);
        let record = self.turn.record.borrow();
        let exceeded = (subtask.then(|| record.budget.exceeded_by(Counted::Subtask, subtasks)).flatten())
            .or_else(|| at_root.then(|| record.exceeded_at_root(root_calls)).flatten())
            .or_else(|| record.budget.exceeded_by(Counted::ToolCall, tool_calls));
        if let Some(exceeded) = exceeded {
            return Err(exceeded);
        }
        (self.tool_calls, self.root_calls, self.subtasks) = (tool_calls, root_calls, subtasks);
        Ok(())
    }

    /// Asks for one model call that may use this many tokens.
    pub(super) fn model_call(&self, held: Spending) -> Result<(), Exceeded> {
        self.model_request(Some(held))
    }

    /// Asks for one more request of a model call. Its own tokens are held already; `lost` is the most that
    /// the request before it may have used.
    pub(super) fn model_request(&self, lost: Option<Spending>) -> Result<(), Exceeded> {
        let budget = &self.turn.record.borrow().budget;
        let exceeded = budget.exceeded_by(Counted::LlmCall, 1);
        exceeded.or_else(|| budget.exceeded_by_tokens(lost?)).map_or(Ok(()), Err)
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

/// The reservation of a model call: estimated input and greatest output, and what they cost at most.
pub(super) fn reservation_of(turn: &Turn, level: &Level, request: &ModelRequest) -> (Usage, Spending) {
    let output_tokens = request.max_output_tokens.unwrap_or(0);
    let input_tokens = request_tokens(request);
    let held = Usage { input_tokens, output_tokens, ..Usage::default() };
    let dearest = turn.spec.chain_of(level.models()).dearest();
    (held, Spending::of(held, dearest.as_ref()))
}
