//! Retries: the hints of a response, the waits, the number of attempts. Pure; the caller supplies randomness.

use std::time::UNIX_EPOCH;

#[cfg(test)]
mod tests;

/// The first and the longest wait that this service chooses, in milliseconds. Each wait is twice the one before.
const FIRST_MS: u64 = 500;
const LONGEST_MS: u64 = 8_000;
/// The jitter in milliseconds, which spreads clients that got the same `Retry-After`.
const SPREAD_MS: f64 = 250.0;

/// The hints of a response about the next attempt.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RetryHints {
    /// `Retry-After`: seconds, or an HTTP date. Where the header is missing, the seconds of the body.
    pub retry_after: Option<String>,
    /// `retry-after-ms`, which OpenAI and Azure send beside it.
    pub retry_after_ms: Option<String>,
}

impl RetryHints {
    /// The wait from now on, in milliseconds. Zero for a date in the past, none for an unreadable header.
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

/// How often and how long a call retries one model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Persistence {
    /// The most requests.
    pub requests: u32,
    /// The longest wait that a provider may ask for, in milliseconds. The call gives up if a provider asks for more.
    pub longest_wait_ms: u64,
}

impl Persistence {
    /// For the last model of a chain.
    pub const LAST: Persistence = Persistence { requests: 4, longest_wait_ms: 60_000 };
    /// For a model with a successor in the chain, which is likely to answer sooner.
    pub const ONE_OF_MANY: Persistence = Persistence { requests: 2, longest_wait_ms: 2_000 };

    /// The wait after this many failed requests, or none to give up. `random` is 0 to 1.
    pub fn wait_ms(self, failed: u32, asked_ms: Option<u64>, random: f64) -> Option<u64> {
        if failed >= self.requests {
            return None;
        }
        let random = random.clamp(0.0, 1.0);
        let Some(asked_ms) = asked_ms else {
            let doubled = FIRST_MS.saturating_mul(1 << failed.saturating_sub(1).min(16)).min(LONGEST_MS);
            // Half of the wait is fixed, and the rest is random.
            return Some(doubled / 2 + (doubled as f64 / 2.0 * random) as u64);
        };
        // At least as long as the provider asked for.
        (asked_ms <= self.longest_wait_ms).then(|| asked_ms + (SPREAD_MS * random) as u64)
    }
}
