//! What an upload takes of a day's quotas: reserved before anything is stored or embedded, settled when that is over.

use platform::accounts;
use platform::quota::{Rule, Stored, UploadAsk};
use wire::protocol::{ApiError, ErrorCode, Owner};
use worker::console_error;

use crate::auth::session;
use crate::ids::uuid_v7;
use crate::problem::Failure;
use crate::serve::Call;

/// An upload of a user.
pub struct Upload {
    tenant: String,
    key: String,
    /// The accounts that are limited. Where there are none, nobody is asked.
    rules: Vec<Rule>,
}

impl Upload {
    /// One that has reserved nothing yet.
    pub fn of(call: &Call, owner: &Owner) -> Result<Self, Failure> {
        let quotas =
            accounts::quotas(&call.env).map_err(|why| ApiError::new(ErrorCode::Misconfigured, why))?;
        let address = call.header("cf-connecting-ip");
        let rules =
            quotas.upload_rules(&owner.user_id(), owner.issuer == session::ISSUER, address.as_deref());
        let key = uuid_v7(call.now).map_err(Failure::internal("drawing an upload's id"))?.to_string();
        Ok(Upload { tenant: owner.tenant.clone(), key, rules })
    }

    /// Reserves all that the upload needs, what it has reserved before included.
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

    /// Tells what the upload came to: nothing, where it failed. Should that fail, it keeps what it reserved until the day
    /// is over.
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
