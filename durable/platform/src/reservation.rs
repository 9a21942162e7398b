//! A turn and its quotas: admitted before it starts, released where it does not start, kept when it goes on. Its end is
//! told with the outbox; what a parked turn gives up is `place`'s.

use std::rc::Rc;

use crate::quota::{Ask as QuotaAsk, TurnKey};
use crate::storage::thread::ThreadMeta;
use engine::profiles::Grant;
use wire::protocol::{ApiError, Owner};

use super::accounts::{self, LEASE_MARGIN_MS};
use super::chat::Ask;
use super::compose;
use super::respond::internal;
use super::thread::{Run, Thread};

fn turn_key(ask: &Ask<'_>) -> TurnKey {
    TurnKey {
        user_id: ask.owner.user_id(),
        thread_id: ask.thread_id.to_string(),
        turn_id: ask.turn_id.to_string(),
    }
}

impl Thread {
    /// What the turn may use. Where nothing is limited nobody is asked; where nobody answers nobody gets in.
    pub async fn admission(&self, ask: &Ask<'_>, new_thread: bool) -> Result<Grant, ApiError> {
        let quotas = accounts::quotas(&self.env).map_err(compose::misconfigured)?;
        if !quotas.limits_turns() {
            return Ok(Grant::default());
        }
        let (limits, least) = compose::terms(&self.env, ask.request, quotas.limits_money())?;
        let address = ask.visitor.and_then(|visitor| visitor.address.as_deref());
        let turn = turn_key(ask);
        let question = QuotaAsk {
            rules: quotas.rules(&turn.user_id, ask.visitor.is_some(), address),
            turn,
            new_thread: quotas.threads_per_user.filter(|_| new_thread),
            lease_ms: limits.wall_clock_ms + LEASE_MARGIN_MS,
            most: Grant { tokens: limits.turn_tokens, microusd: limits.turn_cost_microusd },
            least,
        };
        match accounts::admit(&self.env, &self.clock, &ask.owner.tenant, question).await {
            Ok(admission) => admission.map_err(ApiError::from),
            Err(error) => {
                // It may have been admitted all the same.
                self.release(ask).await;
                Err(internal(&error))
            }
        }
    }

    /// Gives back what was reserved for a turn that does not start. Should that fail, the place comes free with its lease,
    /// and what the turn might have spent with the day.
    pub async fn release(&self, ask: &Ask<'_>) {
        if accounts::quotas(&self.env).is_ok_and(|quotas| !quotas.limits_turns()) {
            return;
        }
        let released = accounts::release(&self.env, &self.clock, &ask.owner.tenant, turn_key(ask)).await;
        if let Err(error) = released {
            worker::console_error!("releasing a turn that did not start: {error}");
        }
    }

    /// A turn whose run was lost goes on: its place stays its own. Should that fail, others may start beside it.
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

    /// The turn of a run as its quotas know it, and whose it is; none where nothing is limited.
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

/// How long a turn counts as running if nothing more is heard of it.
pub fn lease_ms(run: &Run) -> u64 {
    run.turn.spec().limits.wall_clock_ms + LEASE_MARGIN_MS
}
