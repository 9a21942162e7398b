//! Tells D1, the index across threads, the news of one thread: one batch of the outbox's statements.

use worker::Env;

use bindings::d1::{Owned, batch, number, text, unowned};
use bindings::owned;
use bindings::sql::OwnedSql;
use wire::protocol::Owner;

use super::StoreError;
use super::outgoing::{Outgoing, statements};

/// Tells D1 the news of one thread, all of it or nothing.
pub async fn tell(env: &Env, outbox: &[Outgoing]) -> Result<(), StoreError> {
    let statements = statements(outbox)?;
    // D1 refuses an empty batch: an unlisted thread may have nothing to tell.
    if statements.is_empty() {
        return Ok(());
    }
    let prepared = statements.iter().map(|one| unowned::of_all(env, one.sql, &[text(&one.rows)]));
    batch(env, prepared.collect::<Result<_, _>>()?).await?;
    Ok(())
}

const ERASED: OwnedSql =
    owned!("SELECT 1 FROM erasures WHERE tenant = ?1 AND user_id = ?2 AND started_at >= ?3");

/// Whether all data of a user was erased since a time, in milliseconds since 1970.
pub async fn was_erased(env: &Env, owner: &Owner, since: u64) -> Result<bool, StoreError> {
    Ok(Owned::new(env, owner).any(ERASED, &[number(since)]).await?)
}
