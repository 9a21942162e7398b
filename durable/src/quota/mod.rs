//! Quotas: what users, tenants, visitors and addresses may cost over time. A turn is admitted before it starts, which
//! reserves what it may use, and settled after it ended, by what it did use.
//!
//! What one turn may cost is `budget`'s; this is about many. A reservation becomes the turn's own limit, so what is
//! spent in a day never exceeds the day's quota by more than a provider's counting differs from our estimate. Pure: the
//! object that keeps the accounts of a tenant is `shell/quota`.

mod ledger;

pub use ledger::{Shelf, admit, forget_thread, renew, settle};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::protocol::{ApiError, ErrorCode};
use crate::redact::json_problem;

/// The most threads of a user that can be counted: their ids are one row, which stays far below the platform's 2 MB.
const MAX_THREADS: u32 = 10_000;
/// The most turns of an account at the same time: they too are part of one row.
const MAX_CONCURRENT: u32 = 10_000;
/// One turn a millisecond.
const MAX_PER_MINUTE: u32 = 60_000;

/// The limits of one account. What is absent is not limited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Quota {
    /// Turns that run at the same time.
    pub concurrent_turns: Option<u32>,
    /// Turns that start: so many at once, and from then on one each 60 / n seconds.
    pub turns_per_minute: Option<u32>,
    /// Input and output tokens of all model calls of a day (UTC).
    pub tokens_per_day: Option<u64>,
    /// What these cost, in US dollars.
    pub usd_per_day: Option<f64>,
}

/// The variable `QUOTAS`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Quotas {
    /// Each user.
    pub user: Quota,
    /// All users of a tenant together.
    pub tenant: Quota,
    /// All anonymous visitors together, since their sessions are free.
    pub anonymous: Quota,
    /// The anonymous visitors of one address together.
    pub address: Quota,
    /// Threads that a user has.
    pub threads_per_user: Option<u32>,
}

impl Quota {
    fn is_empty(&self) -> bool {
        *self == Quota::default()
    }

    fn usd_in_micro(&self) -> Option<u64> {
        self.usd_per_day.map(|usd| (usd * 1e6) as u64)
    }
}

impl Quotas {
    /// Reads the variable. The error is for the operator.
    pub fn from_env(var: impl Fn(&str) -> Option<String>) -> Result<Self, String> {
        let json = var("QUOTAS").unwrap_or_default();
        if json.trim().is_empty() {
            return Ok(Quotas::default());
        }
        // An object: serde would take an array for one without members, and nothing would be limited.
        let wrong = |error: serde_json::Error| format!("the variable QUOTAS: {}", json_problem(&error));
        let members: Map<String, Value> = serde_json::from_str(&json).map_err(wrong)?;
        let quotas: Quotas = serde_json::from_value(Value::Object(members)).map_err(wrong)?;
        let within = |value: Option<u32>, most| value.is_none_or(|value| value <= most);
        for quota in quotas.all() {
            let usd = quota.usd_per_day.is_none_or(|usd| usd.is_finite() && usd >= 0.0);
            if !within(quota.concurrent_turns, MAX_CONCURRENT) || !usd {
                return Err(format!(
                    "the variable QUOTAS: concurrent_turns is at most {MAX_CONCURRENT}, usd_per_day not negative"
                ));
            }
            // A bucket of none would never fill.
            if quota.turns_per_minute.is_some_and(|turns| !(1..=MAX_PER_MINUTE).contains(&turns)) {
                return Err(format!("the variable QUOTAS: turns_per_minute is 1 to {MAX_PER_MINUTE}"));
            }
        }
        if !within(quotas.threads_per_user, MAX_THREADS) {
            return Err(format!("the variable QUOTAS: threads_per_user is at most {MAX_THREADS}"));
        }
        Ok(quotas)
    }

    /// Whether anything is limited.
    pub fn is_empty(&self) -> bool {
        *self == Quotas::default()
    }

    /// Whether money is limited, which takes models whose price is known.
    pub fn limits_money(&self) -> bool {
        self.all().iter().any(|quota| quota.usd_per_day.is_some())
    }

    fn all(&self) -> [Quota; 4] {
        [self.user, self.tenant, self.anonymous, self.address]
    }

    /// The accounts of a turn that have limits. `anonymous`: the user is a visitor, from this address.
    pub fn rules(&self, user_id: &str, anonymous: bool, address: Option<&str>) -> Vec<Rule> {
        let mut rules = vec![(user_account(user_id), self.user), ("tenant".to_owned(), self.tenant)];
        if anonymous {
            rules.push(("anonymous".to_owned(), self.anonymous));
            rules.extend(address.map(|address| (format!("address:{}", network(address)), self.address)));
        }
        let limited = rules.into_iter().filter(|(_, quota)| !quota.is_empty());
        limited.map(|(account, quota)| Rule { account, quota }).collect()
    }
}

/// The account of a user within its tenant.
pub fn user_account(user_id: &str) -> String {
    format!("user:{user_id}")
}

/// Whom an address stands for: an IPv6 customer has a /64, and could take a new address for each request.
fn network(address: &str) -> String {
    match address.parse::<std::net::IpAddr>() {
        Ok(std::net::IpAddr::V6(address)) => match address.to_ipv4_mapped() {
            Some(mapped) => mapped.to_string(),
            None => {
                let [a, b, c, d, ..] = address.segments();
                format!("{a:x}:{b:x}:{c:x}:{d:x}::/64")
            }
        },
        Ok(address) => address.to_string(),
        Err(_) => "unknown".to_owned(),
    }
}

/// An account and its limits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rule {
    pub account: String,
    pub quota: Quota,
}

/// So many tokens and millionths of a US dollar.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Amount {
    pub tokens: u64,
    pub microusd: u64,
}

/// A turn, among all of a tenant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnKey {
    pub user_id: String,
    pub thread_id: String,
    pub turn_id: String,
}

/// A turn that wants to start.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ask {
    pub turn: TurnKey,
    pub rules: Vec<Rule>,
    /// The limit of the user's threads, where this turn makes one.
    pub new_thread: Option<u32>,
    /// How long the turn counts as running if nothing more is heard of it, in milliseconds.
    pub lease_ms: u64,
    /// The limits that the turn has anyhow.
    pub most: Grant,
    /// Less than this is good for nothing: one call of the model.
    pub least: Amount,
}

/// What a turn may use at most; absent is not limited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grant {
    pub tokens: Option<u64>,
    pub microusd: Option<u64>,
}

/// A turn that ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settlement {
    pub turn: TurnKey,
    /// What it used; all that was reserved where that is not known.
    pub used: Option<Amount>,
}

/// Why a turn may not start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "why", rename_all = "snake_case")]
pub enum Refusal {
    /// So many run already.
    Concurrency { limit: u32, retry_after_s: u64 },
    /// So many have just been started.
    Rate { limit: u32, retry_after_s: u64 },
    /// The day's tokens or money are used up, or reserved by what runs.
    Spent { retry_after_s: u64 },
    /// The user has so many threads.
    Threads { limit: u32 },
}

impl From<Refusal> for ApiError {
    fn from(refusal: Refusal) -> Self {
        let (code, detail, retry_after_s) = match refusal {
            Refusal::Concurrency { limit, retry_after_s } => {
                (ErrorCode::TooManyTurns, format!("{limit} turns are running"), Some(retry_after_s))
            }
            Refusal::Rate { limit, retry_after_s } => {
                (ErrorCode::RateLimited, format!("{limit} turns may start in a minute"), Some(retry_after_s))
            }
            Refusal::Spent { retry_after_s } => {
                let detail = "the day's quota is used up, or reserved by turns that are running";
                (ErrorCode::QuotaExceeded, detail.to_owned(), Some(retry_after_s))
            }
            Refusal::Threads { limit } => {
                (ErrorCode::TooManyThreads, format!("there are {limit} threads: delete some first"), None)
            }
        };
        ApiError { retry_after_s, ..ApiError::new(code, detail) }
    }
}

/// What a thread's object asks of its tenant's quota object: its body, as JSON.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case")]
pub enum QuotaCommand {
    /// Answered with an [`Admission`].
    Admit(Ask),
    /// A turn goes on after its run was lost.
    Renew { turn: TurnKey, lease_ms: u64 },
    /// What happened; may be told twice.
    Settle { ended: Vec<Settlement>, deleted: Vec<ThreadKey> },
}

/// A thread of a user.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThreadKey {
    pub user_id: String,
    pub thread_id: String,
}

/// The answer to [`QuotaCommand::Admit`].
pub type Admission = Result<Grant, Refusal>;

#[cfg(test)]
mod tests;
