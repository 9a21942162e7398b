//! The share of an upload in a day's quotas: reserved before anything is stored or embedded, settled afterwards. An upload is
//! whatever a client stores by itself, without a turn.

use platform::accounts;
use platform::quota::{Rule, Stored, UploadAsk};
use wire::protocol::{ApiError, ErrorCode, Owner};
use worker::console_error;

use super::sessions;
use crate::auth::session;
use crate::call::Call;
use crate::ids::uuid_v7;
use crate::problem::Failure;

/// An upload of a user.
pub struct Upload {
    owner: Owner,
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
        Ok(Upload { owner: owner.clone(), key, rules })
    }

    /// Reserves the upload's whole need. This replaces an earlier, smaller reservation.
    pub async fn reserve(&self, call: &Call, need: Stored) -> Result<(), Failure> {
        if self.rules.is_empty() {
            return Ok(());
        }
        let ask = UploadAsk { key: self.key.clone(), rules: self.rules.clone(), need };
        let place = accounts::reserve_upload(&call.env, &self.owner.tenant, ask).await;
        place
            .map_err(Failure::internal("reserving room for an upload"))?
            .map_err(|why| ApiError::from(why).into())
    }

    /// Replaces the reservation by the upload's real usage, which is zero where the upload failed. Should that fail, the
    /// reservation stands until the day is over. A visitor's session gets its row with the first bytes.
    pub fn settle(self, call: &Call, used: Stored) {
        if used.bytes > 0 {
            sessions::stored(call, &self.owner);
        }
        if self.rules.is_empty() {
            return;
        }
        let env = call.env.clone();
        call.context.wait_until(async move {
            if let Err(error) = accounts::settle_upload(&env, &self.owner.tenant, self.key, used).await {
                console_error!("settling an upload: {error}");
            }
        });
    }
}

/// Stores something of so many bytes within the day's quotas. `is_stored` tells an outcome that stored it from one that did
/// not, which gives the bytes back.
pub async fn within<T>(
    call: &Call,
    owner: &Owner,
    bytes: usize,
    storing: impl Future<Output = Result<T, Failure>>,
    is_stored: impl FnOnce(&T) -> bool,
) -> Result<T, Failure> {
    let (upload, need) = (Upload::of(call, owner)?, Stored::from_bytes(bytes as u64));
    upload.reserve(call, need).await?;
    let outcome = storing.await;
    let stored = outcome.as_ref().is_ok_and(is_stored);
    upload.settle(call, if stored { need } else { Stored::default() });
    outcome
}
