//! The rows of the audit log in D1.

use bindings::d1::{Owned, Statement, maybe, number, text, unowned};
use bindings::sql::OwnedSql;
use wire::protocol::{AuditAction, AuditEntry, Owner};
use wire::store::StoreError;
use worker::Env;
use worker::wasm_bindgen::JsValue;

use super::Deed;
use super::statements::{self, HAS_LEFT, MAX_A_DAY};
use crate::ids::uuid_v7;

/// A condition under which a deed gets its row, with the values of its parameters from `?9` on. Before them stand those of
/// the deed: tenant, user, time and target are `?1` to `?4`.
pub struct Where<'a> {
    pub condition: &'a str,
    pub values: Vec<JsValue>,
}

/// The statement that writes a deed. It belongs into the batch of the deed.
pub fn row(env: &Env, deed: &Deed<'_>, now: u64) -> Result<Statement, StoreError> {
    row_where(env, deed, now, Where { condition: "true", values: Vec::new() })
}

/// The statement that writes a deed where a condition holds.
pub fn row_where(env: &Env, deed: &Deed<'_>, now: u64, which: Where<'_>) -> Result<Statement, StoreError> {
    let id = uuid_v7(now).map_err(|error| StoreError(error.to_string()))?;
    let values = [
        number(now),
        text(deed.target),
        text(&id.to_string()),
        text(deed.action.as_str()),
        maybe(deed.detail, text),
        maybe(deed.address, text),
    ];
    let values = [values.as_slice(), &which.values].concat();
    let sql = statements::insert(which.condition);
    Owned::new(env, deed.owner).statement(OwnedSql::composed(&sql)?, &values)
}

/// Whether a user has left as many entries of an action since a time as a day takes.
pub async fn is_full(env: &Env, owner: &Owner, action: AuditAction, since: u64) -> Result<bool, StoreError> {
    let values = [number(since), text(action.as_str()), JsValue::from(MAX_A_DAY - 1)];
    Owned::new(env, owner).any(HAS_LEFT, &values).await
}

/// The log of a tenant after a place, newest first.
pub async fn list(
    env: &Env,
    tenant: &str,
    after: Option<(u64, &str)>,
    limit: u32,
) -> Result<Vec<AuditEntry>, StoreError> {
    let mut values = vec![JsValue::from(limit)];
    let mut beyond = "";
    if let Some((at, id)) = after {
        beyond = "AND (created_at, id) < (?3, ?4)";
        values.extend([number(at), text(id)]);
    }
    let query = format!(
        "SELECT id, created_at, user_id, action, target, detail, address FROM audit WHERE tenant = ?1 {beyond} \
        ORDER BY created_at DESC, id DESC LIMIT ?2"
    );
    unowned::of_tenant(env, tenant, query, &values)?.rows().await
}
