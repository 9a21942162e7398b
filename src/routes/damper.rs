//! The platform's rate limiter, where the operator has bound one: a damper in front of everything, by address. It counts
//! per location and not exactly, so it is no budget; quotas are.

use wire::protocol::{ApiError, ErrorCode};
use worker::console_error;

use crate::serve::Call;

/// The name of the binding (wrangler.toml). Optional.
const BINDING: &str = "RATE_LIMITER";
/// The shortest period that the platform counts in, in seconds.
const PERIOD_S: u64 = 10;

/// Refuses an address that asks too often. A limiter that fails lets everybody through: what matters is limited behind it.
pub async fn check(call: &Call) -> Result<(), ApiError> {
    let (Ok(limiter), Some(address)) = (call.env.rate_limiter(BINDING), call.header("cf-connecting-ip"))
    else {
        return Ok(());
    };
    match limiter.limit(address).await {
        Ok(outcome) if outcome.success => Ok(()),
        Ok(_) => {
            let refusal = ApiError::new(ErrorCode::RateLimited, "too many requests from this address");
            Err(ApiError { retry_after_s: Some(PERIOD_S), ..refusal })
        }
        Err(error) => {
            console_error!("the rate limiter: {error}");
            Ok(())
        }
    }
}
