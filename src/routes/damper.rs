//! The platform's rate limiter, where the operator has bound one: it damps the requests of an address. It counts
//! roughly, and per location; quotas count exactly.

use wire::protocol::{ApiError, ErrorCode};
use worker::console_error;

use crate::call::Call;

/// The name of the binding (wrangler.toml). Optional.
const BINDING: &str = "RATE_LIMITER";
/// The platform's shortest period, in seconds.
const PERIOD_S: u64 = 10;

/// Refuses an address that asks too often. Should the limiter fail, everybody passes: quotas still bound all costs.
pub async fn check(call: &Call) -> Result<(), ApiError> {
    let (Ok(limiter), Some(address)) = (call.env.rate_limiter(BINDING), call.header("cf-connecting-ip"))
    else {
        return Ok(());
    };
    match limiter.limit(address).await {
        Ok(outcome) if outcome.success => Ok(()),
        Ok(_) => {
            let refusal = ApiError::new(ErrorCode::RateLimited, "this address sent too many requests");
            Err(refusal.retry_after(PERIOD_S))
        }
        Err(error) => {
            console_error!("the rate limiter: {error}");
            Ok(())
        }
    }
}
