//! Asking again: what an answer says about it, how long to wait, how often. Pure; randomness is injected.

use std::time::UNIX_EPOCH;

#[cfg(test)]
mod tests;

/// The first wait, and the longest that we choose ourselves, in milliseconds. Each is twice the one before.
const FIRST_MS: u64 = 500;
const LONGEST_MS: u64 = 8_000;
/// Spreads those who were all told to come back at the same moment, in milliseconds.
const SPREAD_MS: f64 = 250.0;

/// What an answer's headers say about asking again.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RetryHints {
    /// `Retry-After`: seconds, or an HTTP date.
    pub retry_after: Option<String>,
    /// `retry-after-ms`, which OpenAI and Azure send beside it.
    pub retry_after_ms: Option<String>,
}

impl RetryHints {
    /// How long to wait from now on, in milliseconds. A date that has passed is now; what cannot be read says nothing.
    pub fn wait_ms(&self, now_ms: u64) -> Option<u64> {
        let number = |text: &Option<String>| {
            let number = text.as_deref()?.trim().parse::<f64>().ok()?;
            (number.is_finite() && number >= 0.0).then_some(number)
        };
        if let Some(ms) = number(&self.retry_after_ms) {
            return Some(ms.ceil() as u64);
        }
        if let Some(seconds) = number(&self.retry_after) {
            return Some((seconds * 1_000.0).ceil() as u64);
        }
        let date = httpdate::parse_http_date(self.retry_after.as_deref()?.trim()).ok()?;
        let at_ms = u64::try_from(date.duration_since(UNIX_EPOCH).ok()?.as_millis()).ok()?;
        Some(at_ms.saturating_sub(now_ms))
    }
}

/// How patient a call is with one model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Persistence {
    /// Requests in all.
    pub requests: u32,
    /// The longest wait that a provider may ask for, in milliseconds; whoever asks for more is given up.
    pub longest_wait_ms: u64,
}

impl Persistence {
    /// With a model that nobody can stand in for.
    pub const LAST: Persistence = Persistence { requests: 4, longest_wait_ms: 60_000 };
    /// With a model after which another one is asked: that one is likely to answer sooner.
    pub const ONE_OF_MANY: Persistence = Persistence { requests: 2, longest_wait_ms: 2_000 };

    /// How long to wait after so many requests have failed, or none where it is time to give up. `random` is 0 to 1.
    pub fn wait_ms(self, failed: u32, asked_ms: Option<u64>, random: f64) -> Option<u64> {
        if failed >= self.requests {
            return None;
        }
        let random = random.clamp(0.0, 1.0);
        let Some(asked_ms) = asked_ms else {
            let doubled = FIRST_MS.saturating_mul(1 << failed.saturating_sub(1).min(16)).min(LONGEST_MS);
            // Half of it for sure, the rest by chance.
            return Some(doubled / 2 + (doubled as f64 / 2.0 * random) as u64);
        };
        // Never earlier than the provider asked for.
        (asked_ms <= self.longest_wait_ms).then(|| asked_ms + (SPREAD_MS * random) as u64)
    }
}
