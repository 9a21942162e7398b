//! The share of an upload in a day's quotas: reserved before anything is stored or embedded, settled afterwards.

use platform::accounts;
use platform::quota::{Rule, Stored, UploadAsk};
use wire::protocol::{ApiError, ErrorCode, Owner};
use worker::console_error;

use crate::auth::session;
use crate::call::Call;
use crate::ids::uuid_v7;
use crate::problem::Failure;

/// An upload of a user.
pub struct Upload {
    tenant: String,
    key: String,
    /// The limits that apply. Without any, the quota object is not asked.
    rules: Vec<Rule>,
}

impl Upload {
    /// An upload that has reserved nothing yet.
    pub fn of(call: &Call, owner: &Owner) -> Result<Self, Failure> {
        let quotas =
            accounts::quotas(&call.env).map_err(|why| ApiError::new(ErrorCode::Misconfigured, why))?;
        let address = call.header("cf-connecting-ip");
        let rules =
            quotas.upload_rules(&owner.user_id(), owner.issuer == session::ISSUER, address.as_deref());
        let key = uuid_v7(call.now).map_err(Failure::internal("drawing an upload's id"))?.to_string();
        Ok(Upload { tenant: owner.tenant.clone(), key, rules })
    }

    /// Reserves the upload's whole need. This replaces an earlier, smaller reservation.
    pub async fn reserve(&self, call: &Call, need: Stored) -> Result<(), Failure> {
        if self.rules.is_empty() {
            return Ok(());
        }
        let ask = UploadAsk { key: self.key.clone(), rules: self.rules.clone(), need };
        let place = accounts::reserve_upload(&call.env, &self.tenant, ask).await;
        place
            .map_err(Failure::internal("reserving room for an upload"))?
            .map_err(|why| ApiError::from(why).into())
    }

    /// Replaces the reservation by the upload's real usage, which is zero where the upload failed. Should that fail, the
    /// reservation stands until the day is over.
    pub fn settle(self, call: &Call, used: Stored) {
        if self.rules.is_empty() {
            return;
        }
        let env = call.env.clone();
        call.context.wait_until(async move {
            if let Err(error) = accounts::settle_upload(&env, &self.tenant, self.key, used).await {
                console_error!("settling an upload: {error}");
            }
        });
    }
}
