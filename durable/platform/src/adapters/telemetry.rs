//! Tells the operator's collector of the turns that have ended, with the news of the outbox.

use std::rc::Rc;

use futures::future::{Either, select};
use futures::pin_mut;

use crate::fetch::PermittedFetch;
use crate::storage::StoreError;
use crate::storage::outgoing::{News, Outgoing};
use crate::thread::Thread;
use features::telemetry::{Config, Finished, send};

/// How long the collector may take.
const PATIENCE_MS: u64 = 10_000;
/// How long a thread tries to tell of a turn: a collector that is gone must not keep rows in outboxes for ever.
const TRIED_MS: u64 = 24 * 60 * 60 * 1_000;

/// Tells the turns that ended, each at least once. A deployment without a collector does nothing.
pub async fn tell(thread: &Thread, rows: &[Outgoing]) -> Result<(), StoreError> {
    let now = thread.clock.now_ms();
    let turns: Vec<Finished<'_>> = rows.iter().filter_map(finished).collect();
    let turns: Vec<Finished<'_>> = turns.into_iter().filter(|turn| is_recent(turn, now)).collect();
    // Other news wait for no collector, and for no variable that is wrong.
    if turns.is_empty() {
        return Ok(());
    }
    let config = thread.deployment.once(|var| Config::from_env(var)).map_err(StoreError)?;
    let Some(config) = config.as_ref().clone() else { return Ok(()) };
    let http = Rc::new(PermittedFetch(thread.connections.permits.clone()));
    let (sending, patience) = (send(http.as_ref(), &config, &turns), thread.clock.sleep(PATIENCE_MS));
    pin_mut!(sending, patience);
    let sent = match select(sending, patience).await {
        Either::Left((sent, _)) => sent,
        Either::Right(_) => Err("the collector did not answer".to_owned()),
    };
    let refused = sent.map_err(|error| StoreError(format!("telemetry: {error}")))?;
    if let Some(why) = refused {
        worker::console_error!("telemetry: {} turns are lost: {why}", turns.len());
    }
    Ok(())
}

fn is_recent(turn: &Finished<'_>, now: u64) -> bool {
    now < turn.message.created_at.saturating_add(TRIED_MS)
}

fn finished(row: &Outgoing) -> Option<Finished<'_>> {
    let News::TurnEnded { question, message, calls, .. } = &row.news else { return None };
    Some(Finished {
        tenant: &row.tenant,
        thread_id: &row.thread_id,
        context_type: &calls.context_type,
        began_at: question.as_ref().map(|question| question.created_at),
        message,
        calls: &calls.records,
    })
}
