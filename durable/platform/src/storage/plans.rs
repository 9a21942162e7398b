//! The plans of a thread in its object, which is the authority for them.

use wire::protocol::{Plan, PlanStatus};

use super::messages::word;
use super::path::{Path, select_draft};
use super::sql::Store;
use super::{StoreError, schema};

impl Store {
    /// The plan that waits for the user's word on a path.
    pub fn draft(&self, path: &Path) -> Result<Option<Plan>, StoreError> {
        if !self.has_table("plans")? {
            return Ok(None);
        }
        let row = self.row(&select_draft(), [path.json().into()])?;
        row.map(|mut row| Ok(wire::json::from_str(&row.text(0)?)?)).transpose()
    }

    /// Stores plans as they are at a turn's end. Belongs into the transaction of that end.
    pub fn keep_plans(&self, turn_id: &str, plans: &[Plan]) -> Result<(), StoreError> {
        if plans.is_empty() {
            return Ok(());
        }
        self.make_table("plans", schema::CREATE_PLANS)?;
        plans.iter().try_for_each(|plan| {
            let status: &PlanStatus = &plan.status;
            let payload = serde_json::to_string(plan)?;
            let bindings = [plan.id.as_str().into(), turn_id.into(), word(status)?.into(), payload.into()];
            self.run(schema::UPSERT_PLAN, bindings)
        })
    }
}
