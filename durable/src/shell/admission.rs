//! A turn and its quotas: admitted before it starts, kept when it goes on. Its end is told with the outbox.
//!
//! What was admitted and did not start is not given back: a retry of the same turn finds it, and to release it would be
//! a race with that retry, which a client could win. All that is likely to fail is checked before.

use std::rc::Rc;

use crate::protocol::ApiError;
use crate::quota::{Ask as QuotaAsk, Grant, TurnKey};
use crate::storage::thread::ThreadMeta;

use super::chat::Ask;
use super::compose;
use super::quota::{self, LEASE_MARGIN_MS};
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
        let quotas = quota::quotas(&self.env).map_err(compose::misconfigured)?;
        if quotas.is_empty() {
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
        let admission = quota::admit(&self.env, &self.clock, &ask.owner.tenant, question).await;
        admission.map_err(|error| internal(&error))?.map_err(ApiError::from)
    }

    /// A turn whose run was lost, or that was parked, goes on: its place stays its own. Should that fail, others may
    /// start beside it.
    pub fn keep_lease(self: &Rc<Self>, run: &Run) {
        if quota::quotas(&self.env).is_ok_and(|quotas| quotas.is_empty()) {
            return;
        }
        let meta = match self.store.meta() {
            Ok(meta) => meta.and_then(|meta| meta.thread),
            Err(error) => return worker::console_error!("keeping the place of a turn: {error}"),
        };
        let Some(ThreadMeta { owner, thread_id, .. }) = meta else { return };
        let spec = run.turn.spec();
        let lease_ms = spec.limits.wall_clock_ms + LEASE_MARGIN_MS;
        let turn = TurnKey { user_id: owner.user_id(), thread_id, turn_id: spec.turn_id.clone() };
        let thread = Rc::clone(self);
        self.state.wait_until(async move {
            if let Err(error) = quota::renew(&thread.env, &thread.clock, &owner.tenant, turn, lease_ms).await
            {
                worker::console_error!("keeping the place of a turn: {error}");
            }
        });
    }
}
