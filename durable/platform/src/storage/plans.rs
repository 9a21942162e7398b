//! The plans of a thread in its object, which is the authority for them.

use worker::SqlStorageValue;

use wire::protocol::{Plan, PlanStatus};

use super::messages::word;
use super::sql::Store;
use super::{StoreError, schema};

/// A row after all rows: the largest integer that JavaScript represents exactly.
const LAST_ROW: i64 = (1 << 53) - 1;

impl Store {
    /// The plan that waits for the user's word, in the conversation before a row.
    pub fn draft(&self, before: Option<i64>) -> Result<Option<Plan>, StoreError> {
        if self.row(schema::HAS_PLANS, [])?.is_none() {
            return Ok(None);
        }
        let before = SqlStorageValue::Integer(before.unwrap_or(LAST_ROW));
        let row = self.row(schema::SELECT_DRAFT, [before])?;
        row.map(|mut row| Ok(serde_json::from_str(&row.text(0)?)?)).transpose()
    }

    /// Stores plans as they are at a turn's end. Belongs into the transaction of that end.
    pub fn keep_plans(&self, turn_id: &str, plans: &[Plan]) -> Result<(), StoreError> {
        if plans.is_empty() {
            return Ok(());
        }
        self.run(schema::CREATE_PLANS, [])?;
        plans.iter().try_for_each(|plan| {
            let status: &PlanStatus = &plan.status;
            let payload = serde_json::to_string(plan)?;
            let bindings = [plan.id.as_str().into(), turn_id.into(), word(status)?.into(), payload.into()];
            self.run(schema::UPSERT_PLAN, bindings)
        })
    }
}
