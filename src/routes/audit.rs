//! `GET /api/audit`: the audit log of the admin's tenant. And the deeds that have no batch of their own.

use bindings::d1::number;
use wire::protocol::{AuditAction, AuditPage, Owner};

use crate::account::store::NO_ENTRY;
use crate::audit::Deed;
use crate::audit::store::{self, Where};
use crate::auth::Verified;
use crate::call::{Answer, Call};
use crate::cursor::ListCursor;
use crate::problem::Failure;
use crate::query::{self, Page};
use crate::reply::Reply;

const DAY_MS: u64 = 86_400_000;

/// A page, newest first.
pub async fn list(call: &Call, admin: Verified) -> Result<Answer, Failure> {
    let Page { limit, cursor } = query::page(call.query())?;
    let place = ListCursor::place(cursor.as_deref())?;
    let after = place.as_ref().map(|(at, id)| (*at, id.as_str()));
    // One row more than asked for tells whether there is another page.
    let entries = store::list(&call.env, &admin.principal.owner.tenant, after, limit + 1).await;
    let mut entries = entries.map_err(Failure::internal("reading the audit log"))?;
    let next_cursor = ListCursor::cut(&mut entries, limit, |entry| (entry.created_at, &entry.id));
    Ok(Reply::json(200, &AuditPage { entries, next_cursor }).into())
}

/// Writes a deed that has no batch of its own. The request that asks for the deed fails where this does, so there is no
/// deed without an entry. An entry may stand for a deed that was asked for and failed.
pub async fn record(call: &Call, owner: &Owner, action: AuditAction, target: &str) -> Result<(), Failure> {
    write(call, owner, (action, target), Where { condition: "true", values: Vec::new() }).await
}

/// Writes a user's deed about themselves, unless the log has the same from the same address of the last day.
pub async fn record_once_a_day(call: &Call, owner: &Owner, action: AuditAction) -> Result<(), Failure> {
    let since = number(call.now.saturating_sub(DAY_MS));
    write(call, owner, (action, &owner.user_id()), Where { condition: NO_ENTRY, values: vec![since] }).await
}

async fn write(
    call: &Call,
    owner: &Owner,
    (action, target): (AuditAction, &str),
    which: Where<'_>,
) -> Result<(), Failure> {
    let address = call.address_mark();
    let deed = Deed { owner, action, target, detail: None, address: address.as_deref() };
    let row = store::row_where(&call.env, &deed, call.now, which);
    let row = row.map_err(Failure::internal("preparing an audit entry"))?;
    row.run().await.map(drop).map_err(Failure::internal("writing an audit entry"))
}
