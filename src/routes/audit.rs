//! `GET /api/audit`: the audit log of the admin's tenant. And the entries that the routes write.

use bindings::d1::{Statement, number, text};
use wire::protocol::{ApiError, AuditAction, AuditPage, ErrorCode, Owner};

use crate::account::store::NO_ENTRY;
use crate::audit::Deed;
use crate::audit::statements::{HAS_SOMETHING, MAX_A_DAY};
use crate::audit::store::{self, Where};
use crate::auth::Verified;
use crate::auth::sessions::visit_of;
use crate::call::{Answer, Call};
use crate::cursor::{After, ListCursor};
use crate::problem::Failure;
use crate::reply::Reply;

const DAY_MS: u64 = 86_400_000;
/// The seconds after which a client that was refused asks again: by then some of its entries may be a day old.
const RETRY_S: u64 = 3_600;

/// A page, newest first.
pub async fn list(call: &Call, admin: Verified) -> Result<Answer, Failure> {
    let tenant = &admin.principal.owner.tenant;
    let read = async |limit, after: After<'_>| {
        let page = store::list(&call.env, tenant, after, limit).await;
        page.map_err(Failure::internal("reading the audit log"))
    };
    let (entries, next_cursor) =
        ListCursor::page(call.query(), read, |entry| (entry.created_at, &entry.id)).await?;
    Ok(Reply::json(200, &AuditPage { entries, next_cursor }).into())
}

/// The entry of the deletion that a request asks for. It belongs into the batch of the deletion, before it: `which` says that
/// there is something to delete.
pub fn deletion(call: &Call, owner: &Owner, which: Where<'_>) -> Result<Statement, Failure> {
    let none = || Failure::internal("writing an audit entry")("the row of the route is no deletion");
    entry(call, owner, (AuditAction::DataDeleted, call.deletion.get().ok_or_else(none)?), which)
}

/// Writes the entry of a deletion outside of D1, which has no batch with it. The caller has found something to delete, and
/// deletes it after this: the request fails where this does. An entry may stand for a deletion that failed.
pub async fn record_deletion(call: &Call, owner: &Owner) -> Result<(), Failure> {
    let always = Where { condition: "true", values: Vec::new() };
    write(deletion(call, owner, always)?).await
}

/// Writes the entry of an export, before it. `once_a_day`: unless the log has the same from the same address of the last day.
/// A visitor who has nothing leaves none.
pub async fn record_export(call: &Call, owner: &Owner, once_a_day: bool) -> Result<(), Failure> {
    let action = AuditAction::DataExported;
    check_room(call, owner, action).await?;
    let since = call.now.saturating_sub(DAY_MS);
    let condition = match once_a_day {
        true => format!("{HAS_SOMETHING} AND {NO_ENTRY}"),
        false => HAS_SOMETHING.to_owned(),
    };
    let values = [text(&visit_of(owner)), number(since)].into_iter().take(1 + usize::from(once_a_day));
    let which = Where { condition: &condition, values: values.collect() };
    write(entry(call, owner, (action, &owner.user_id()), which)?).await
}

/// Refuses a deed that costs nothing but its entry, where the user has done it too often in a day. Requests that come together
/// may pass it by their number.
pub async fn check_room(call: &Call, owner: &Owner, action: AuditAction) -> Result<(), Failure> {
    let full = store::is_full(&call.env, owner, action, call.now.saturating_sub(DAY_MS)).await;
    match full.map_err(Failure::internal("reading the audit log"))? {
        false => Ok(()),
        true => {
            let detail =
                format!("{MAX_A_DAY} entries of {} in a day are the most: try again later", action.as_str());
            Err(ApiError::new(ErrorCode::RateLimited, detail).retry_after(RETRY_S).into())
        }
    }
}

fn entry(
    call: &Call,
    owner: &Owner,
    (action, target): (AuditAction, &str),
    which: Where<'_>,
) -> Result<Statement, Failure> {
    let address = call.address_mark();
    let deed = Deed { owner, action, target, detail: None, address: address.as_deref() };
    let row = store::row_where(&call.env, &deed, call.now, which);
    row.map_err(Failure::internal("preparing an audit entry"))
}

async fn write(entry: Statement) -> Result<(), Failure> {
    entry.run().await.map_err(Failure::internal("writing an audit entry"))
}
