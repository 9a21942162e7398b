//! Quotas at work: the object that keeps a tenant's accounts, and the messages of a thread's object to it.
//!
//! A turn costs one question before it starts and one message after it has ended. Without limits it costs neither.
//!
//! A turn's budget (`engine/src/budget.rs`) bounds its own tree; quotas (`platform/src/quota/`) bound the cost of many
//! turns. `quota/ledger.rs` is pure, over a shelf of rows. `platform/src/accounts` is the object that has the shelf,
//! one per tenant: it judges a turn's user, tenant and address in one step and one request.
//!
//! A thread's object asks before it starts a turn, and tells its end with its outbox. It releases a turn that does not
//! start before it admits another request of its thread. A parked turn gives its place up. Once it is answered it is
//! queued (`platform/src/place.rs`) until the tenant's object gives it a place again. The answer's transaction writes
//! the mark of a queued turn, so a restart does not run it without a place. Uploads, which are all that a client
//! stores without a turn (`quota/uploads.rs`, `src/routes/uploads.rs`), reserve bytes and embeddings there too. The
//! conversation that a client brings to a new thread is counted with the turn that imports it (`quota/imports.rs`).
//! Each route of `src/resources` declares the bound of what it writes.

mod object;

use std::rc::Rc;

use futures::future::{Either, select};
use futures::pin_mut;
use serde::de::DeserializeOwned;
use worker::{Env, Method, Request, RequestInit};

use crate::quota::{
    Admission, Ask, GoOn, QuotaCommand, Quotas, Settlement, Stored, ThreadKey, TurnKey, UploadAsk, Verdict,
};
use crate::storage::StoreError;
use crate::storage::outgoing::{News, Outgoing};
use engine::ports::Clock;
use wire::protocol::quota_object_name;

use super::clock::JsClock;
use super::deployment::Deployment;

pub use object::QuotaObject;

/// The name of the binding (wrangler.toml).
pub const BINDING: &str = "QUOTA";
/// How long an answer may take. It takes milliseconds; without an answer the turn is refused.
const PATIENCE_MS: u64 = 10_000;
/// How much longer a lease lasts than the turn's own wall clock: the time from its admission to its start, and from its
/// end until the quotas hear of it.
pub const LEASE_MARGIN_MS: u64 = 30_000;

/// The quotas that the operator set.
pub fn quotas(env: &Env) -> Result<Quotas, String> {
    Deployment::of(env).once(|var| Quotas::from_env(var)).map(|quotas| *quotas)
}

/// Asks for a turn to be admitted.
pub async fn admit(
    env: &Env,
    clock: &Rc<dyn Clock>,
    tenant: &str,
    ask: Ask,
) -> Result<Admission, StoreError> {
    let answer = send(env, clock, tenant, &QuotaCommand::Admit(ask)).await?;
    answer.ok_or_else(|| StoreError("quota: no answer".to_owned()))
}

/// Tells the quotas that a turn which was admitted did not start.
pub async fn release(
    env: &Env,
    clock: &Rc<dyn Clock>,
    tenant: &str,
    turn: TurnKey,
) -> Result<(), StoreError> {
    send::<()>(env, clock, tenant, &QuotaCommand::Release { turn }).await.map(drop)
}

/// Tells the quotas that a turn was parked.
pub async fn park(
    env: &Env,
    clock: &Rc<dyn Clock>,
    tenant: &str,
    (turn, parking, wait_ms): (TurnKey, u32, u64),
) -> Result<(), StoreError> {
    send::<()>(env, clock, tenant, &QuotaCommand::Park { turn, parking, wait_ms }).await.map(drop)
}

/// Asks for a place for a turn that was parked.
pub async fn go_on(env: &Env, clock: &Rc<dyn Clock>, tenant: &str, ask: GoOn) -> Result<Verdict, StoreError> {
    let answer = send(env, clock, tenant, &QuotaCommand::GoOn(Box::new(ask))).await?;
    answer.ok_or_else(|| StoreError("quota: no answer".to_owned()))
}

/// Asks for room for an upload.
pub async fn reserve_upload(env: &Env, tenant: &str, ask: UploadAsk) -> Result<Verdict, StoreError> {
    let answer = send(env, &clock(), tenant, &QuotaCommand::ReserveUpload(ask)).await?;
    answer.ok_or_else(|| StoreError("quota: no answer".to_owned()))
}

/// Tells the quotas the amounts that an upload used.
pub async fn settle_upload(env: &Env, tenant: &str, key: String, used: Stored) -> Result<(), StoreError> {
    send::<()>(env, &clock(), tenant, &QuotaCommand::SettleUpload { key, used }).await.map(drop)
}

fn clock() -> Rc<dyn Clock> {
    Rc::new(JsClock)
}

/// Tells the quotas that a turn goes on.
pub async fn renew(
    env: &Env,
    clock: &Rc<dyn Clock>,
    tenant: &str,
    turn: TurnKey,
    lease_ms: u64,
) -> Result<(), StoreError> {
    send::<()>(env, clock, tenant, &QuotaCommand::Renew { turn, lease_ms }).await.map(drop)
}

/// Tells the quotas the part of an outbox that concerns them. All rows of it are of one tenant.
pub async fn tell(env: &Env, clock: &Rc<dyn Clock>, outbox: &[Outgoing]) -> Result<(), StoreError> {
    let Some(first) = outbox.first() else { return Ok(()) };
    if quotas(env).is_ok_and(|quotas| !quotas.limits_turns()) {
        return Ok(());
    }
    let (mut ended, mut deleted) = (Vec::new(), Vec::new());
    for out in outbox {
        let (user_id, thread_id) = (out.user_id.clone(), out.thread_id.clone());
        match &out.news {
            News::TurnEnded { calls, .. } | News::Spent { calls } => {
                let turn = TurnKey { user_id, thread_id, turn_id: calls.turn_id.clone() };
                ended.push(Settlement { turn, used: calls.used });
            }
            News::ThreadDeleted { .. } => deleted.push(ThreadKey { user_id, thread_id }),
            News::TurnStarted { .. }
            | News::Renamed { .. }
            | News::MessagesReplaced { .. }
            | News::PathChanged { .. }
            | News::PlanChanged { .. }
            | News::Audited { .. }
            | News::Failed { .. } => {}
        }
    }
    if ended.is_empty() && deleted.is_empty() {
        return Ok(());
    }
    send::<()>(env, clock, &first.tenant, &QuotaCommand::Settle { ended, deleted }).await.map(drop)
}

/// None where the answer is 204.
async fn send<T: DeserializeOwned>(
    env: &Env,
    clock: &Rc<dyn Clock>,
    tenant: &str,
    command: &QuotaCommand,
) -> Result<Option<T>, StoreError> {
    let sending = ask_object(env, tenant, serde_json::to_string(command)?);
    pin_mut!(sending);
    let answered = match select(sending, clock.sleep(PATIENCE_MS)).await {
        Either::Left((answered, _)) => answered.map_err(|error| StoreError(format!("quota: {error}")))?,
        Either::Right(_) => return Err(StoreError("quota: no answer in time".to_owned())),
    };
    match answered {
        (200, body) => Ok(Some(wire::json::from_str(&body)?)),
        (204, _) => Ok(None),
        (status, _) => Err(StoreError(format!("quota: status {status}"))),
    }
}

async fn ask_object(env: &Env, tenant: &str, body: String) -> worker::Result<(u16, String)> {
    let object = env.durable_object(BINDING)?.get_by_name(&quota_object_name(tenant))?;
    let mut init = RequestInit::new();
    init.with_method(Method::Post).with_body(Some(body.into()));
    // The host has no meaning: the stub decides where the request goes.
    let request = Request::new_with_init("https://quota/", &init)?;
    let mut response = object.fetch_with_request(request).await?;
    Ok((response.status_code(), response.text().await?))
}
