//! A turn and its quotas: the turn is admitted before it starts, released if it does not start, and keeps its lease when
//! a lost run goes on. The outbox tells the quotas of its end; `place.rs` gives up the place of a parked turn.

use crate::respond::misconfigured;
use std::rc::Rc;

use crate::quota::{Ask as QuotaAsk, Import, Quotas, TurnKey};
use crate::storage::thread::ThreadMeta;
use engine::profiles::Grant;
use wire::protocol::{ApiError, Owner};

use super::accounts::{self, LEASE_MARGIN_MS};
use super::admission::TurnRequest;
use super::compose;
use super::respond::internal;
use super::thread::{Run, Thread};

fn turn_key(ask: &TurnRequest<'_>) -> TurnKey {
    TurnKey {
        user_id: ask.owner.user_id(),
        thread_id: ask.thread_id.to_string(),
        turn_id: ask.chat.turn_id.to_string(),
    }
}

/// The conversation that the request's thread begins with, where its bytes are limited.
fn import(quotas: &Quotas, ask: &TurnRequest<'_>) -> Option<Import> {
    if ask.chat.history.is_empty() {
        return None;
    }
    let address = ask.chat.visitor.as_ref().and_then(|visitor| visitor.address.as_deref());
    let mut rules = quotas.upload_rules(&ask.owner.user_id(), ask.chat.visitor.is_some(), address);
    rules.retain(|rule| rule.quota.stored_bytes_per_day.is_some());
    (!rules.is_empty()).then(|| Import { rules, bytes: Import::bytes_of(&ask.chat.history) })
}

impl Thread {
    /// Asks the quotas to admit the turn, and returns the amounts that it may use. A deployment without limits asks no
    /// quotas. If the quotas do not answer, the turn is refused.
    pub async fn admission(&self, ask: &TurnRequest<'_>, new_thread: bool) -> Result<Grant, ApiError> {
        let quotas = accounts::quotas(&self.env).map_err(misconfigured)?;
        let import = if new_thread { import(&quotas, ask) } else { None };
        if !quotas.limits_turns() && import.is_none() {
            return Ok(Grant::default());
        }
        let (limits, least) = compose::terms(self, &ask.chat.request, quotas.limits_money())?;
        let most = limits.at_most();
        let address = ask.chat.visitor.as_ref().and_then(|visitor| visitor.address.as_deref());
        let turn = turn_key(ask);
        let question = QuotaAsk {
            rules: quotas.rules(&turn.user_id, ask.chat.visitor.is_some(), address),
            turn,
            // A thread that stands in no list cannot be deleted by its user, and goes by itself.
            new_thread: quotas.threads_per_user.filter(|_| new_thread && !ask.chat.unlisted),
            lease_ms: limits.wall_clock_ms + LEASE_MARGIN_MS,
            most: Grant { tokens: most.turn_tokens, microusd: most.turn_cost_microusd },
            least,
            import,
        };
        match accounts::admit(&self.env, &self.clock, &ask.owner.tenant, question).await {
            Ok(admission) => admission.map_err(ApiError::from),
            Err(error) => {
                // The quotas may have admitted the turn before their answer was lost.
                self.release(ask).await;
                Err(internal(&error))
            }
        }
    }

    /// Gives back the grant of a turn that does not start. Should that fail, its place comes free when its lease ends,
    /// and its amounts come free at the end of the day.
    pub async fn release(&self, ask: &TurnRequest<'_>) {
        let asks_none = |quotas: Quotas| !quotas.limits_turns() && import(&quotas, ask).is_none();
        if accounts::quotas(&self.env).is_ok_and(asks_none) {
            return;
        }
        let released = accounts::release(&self.env, &self.clock, &ask.owner.tenant, turn_key(ask)).await;
        if let Err(error) = released {
            worker::console_error!("releasing a turn that did not start: {error}");
        }
    }

    /// Renews the lease of a turn whose lost run goes on. Should that fail, other turns may start in its place.
    pub fn keep_lease(self: &Rc<Self>, run: &Run) {
        let Some((owner, turn)) = self.limited(run) else { return };
        let lease_ms = lease_ms(run);
        let thread = Rc::clone(self);
        self.state.wait_until(async move {
            if let Err(error) =
                accounts::renew(&thread.env, &thread.clock, &owner.tenant, turn, lease_ms).await
            {
                worker::console_error!("keeping the place of a turn: {error}");
            }
        });
    }

    /// The owner of a run's turn, and the key by which the quotas know the turn; none in a deployment without limits.
    pub fn limited(&self, run: &Run) -> Option<(Owner, TurnKey)> {
        if accounts::quotas(&self.env).is_ok_and(|quotas| !quotas.limits_turns()) {
            return None;
        }
        let meta = self.store.meta().unwrap_or_else(|error| {
            worker::console_error!("the place of a turn: {error}");
            None
        });
        let ThreadMeta { owner, thread_id, .. } = meta?.thread?;
        let turn_id = run.turn.spec().turn_id.clone();
        let turn = TurnKey { user_id: owner.user_id(), thread_id, turn_id };
        Some((owner, turn))
    }
}

/// How long a turn counts as running after the last message about it.
pub fn lease_ms(run: &Run) -> u64 {
    run.turn.wall_clock_ms() + LEASE_MARGIN_MS
}
