//! Quotas: how much users, tenants, visitors and addresses may use over time. A turn is admitted before it starts,
//! which reserves the amounts that it may use. It is settled after it ended, by the amounts that it did use.
//!
//! `budget` limits a single turn; quotas limit many. A reservation becomes the turn's own limit. So the amounts of a
//! day never exceed the day's quota by more than a provider's counting differs from our estimate. Pure: `accounts` has
//! the object that keeps the accounts of a tenant.

mod imports;
mod ledger;
mod uploads;

pub use imports::Import;
pub use ledger::{Shelf, admit, forget_thread, go_on, park, release, renew, settle};
pub use uploads::{LEAST_BYTES, Stored, UploadAsk, reserve_upload, settle_upload};

use serde::{Deserialize, Serialize};

use engine::budget::Amount;
use engine::profiles::Grant;
use wire::protocol::{ApiError, ErrorCode};
use wire::redact::json_problem;

/// The most threads of a user that can be counted: their ids are one row, which stays far below the platform's 2 MB.
const MAX_THREADS: u32 = 10_000;
/// The most turns of an account at the same time: they too are part of one row.
const MAX_CONCURRENT: u32 = 10_000;
/// One turn a millisecond.
const MAX_PER_MINUTE: u32 = 60_000;

/// The limits of one account. An absent member sets no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Quota {
    /// Turns that run at the same time.
    pub concurrent_turns: Option<u32>,
    /// Turns that start: n at once, and from then on one each 60 / n seconds.
    pub turns_per_minute: Option<u32>,
    /// Input and output tokens of all model calls of a day (UTC).
    pub tokens_per_day: Option<u64>,
    /// The cost of these, in US dollars.
    pub usd_per_day: Option<f64>,
    /// Bytes of all that users store by themselves in a day (UTC): files, documents, share links, workflows, custom
    /// instructions, collections, restored agents, and the conversations that clients bring.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stored_bytes_per_day: Option<u64>,
    /// Texts that are embedded in a day (UTC): each piece of a document, and each question of a search.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub embeddings_per_day: Option<u64>,
}

/// The variable `QUOTAS`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
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

    /// The limits of turns alone. An object of the version before knows no others.
    fn of_turns(self) -> Self {
        Quota { stored_bytes_per_day: None, embeddings_per_day: None, ..self }
    }

    /// The limits of a call beside the turns: it takes no turn's place.
    fn of_calls(self) -> Self {
        let Quota { tokens_per_day, usd_per_day, .. } = self;
        Quota { tokens_per_day, usd_per_day, ..Quota::default() }
    }

    /// The limits of uploads alone.
    fn of_uploads(self) -> Self {
        let Quota { stored_bytes_per_day, embeddings_per_day, .. } = self;
        Quota { stored_bytes_per_day, embeddings_per_day, ..Quota::default() }
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
        let quotas: Quotas = wire::json::from_str(&json)
            .map_err(|error| format!("the variable QUOTAS: {}", json_problem(&error)))?;
        let within = |value: Option<u32>, most| value.is_none_or(|value| value <= most);
        for quota in quotas.all() {
            let usd = quota.usd_per_day.is_none_or(|usd| usd.is_finite() && usd >= 0.0);
            if !within(quota.concurrent_turns, MAX_CONCURRENT) || !usd {
                return Err(format!(
                    "the variable QUOTAS: concurrent_turns is at most {MAX_CONCURRENT}, usd_per_day not negative"
                ));
            }
            // A bucket of size 0 would never fill.
            if quota.turns_per_minute.is_some_and(|turns| !(1..=MAX_PER_MINUTE).contains(&turns)) {
                return Err(format!("the variable QUOTAS: turns_per_minute is 1 to {MAX_PER_MINUTE}"));
            }
        }
        if !within(quotas.threads_per_user, MAX_THREADS) {
            return Err(format!("the variable QUOTAS: threads_per_user is at most {MAX_THREADS}"));
        }
        Ok(quotas)
    }

    /// Whether nothing is limited.
    pub fn is_empty(&self) -> bool {
        *self == Quotas::default()
    }

    /// Whether turns are limited.
    pub fn limits_turns(&self) -> bool {
        self.threads_per_user.is_some() || self.all().iter().any(|quota| !quota.of_turns().is_empty())
    }

    /// Whether money is limited. Such a deployment needs models whose prices are known.
    pub fn limits_money(&self) -> bool {
        self.all().iter().any(|quota| quota.usd_per_day.is_some())
    }

    fn all(&self) -> [Quota; 4] {
        [self.user, self.tenant, self.anonymous, self.address]
    }

    /// The accounts of a turn that have limits. `anonymous`: the user is a visitor, from this address.
    pub fn rules(&self, user_id: &str, anonymous: bool, address: Option<&str>) -> Vec<Rule> {
        self.limiting(user_id, anonymous, address, Quota::of_turns)
    }

    /// The accounts of an upload that have limits.
    pub fn upload_rules(&self, user_id: &str, anonymous: bool, address: Option<&str>) -> Vec<Rule> {
        self.limiting(user_id, anonymous, address, Quota::of_uploads)
    }

    /// The accounts of a call that the service makes beside the turns. None: those of the visitor's address limit it, and
    /// nobody knows the address after the turn.
    pub fn call_rules(&self, user_id: &str, anonymous: bool) -> Option<Vec<Rule>> {
        if anonymous && !self.address.of_calls().is_empty() {
            return None;
        }
        Some(self.limiting(user_id, anonymous, None, Quota::of_calls))
    }

    fn limiting(
        &self,
        user_id: &str,
        anonymous: bool,
        address: Option<&str>,
        of: fn(Quota) -> Quota,
    ) -> Vec<Rule> {
        let mut rules = vec![(user_account(user_id), self.user), (TENANT.to_owned(), self.tenant)];
        if anonymous {
            rules.push((ANONYMOUS.to_owned(), self.anonymous));
            rules.extend(address.map(|address| (format!("{ADDRESS}{}", network(address)), self.address)));
        }
        let limited = rules.into_iter().map(|(account, quota)| Rule { account, quota: of(quota) });
        limited.filter(|rule| !rule.quota.is_empty()).collect()
    }

    /// The limits of an account by its name, as [`Quotas::rules`] names it.
    fn of_account(&self, account: &str) -> Quota {
        match account {
            TENANT => self.tenant,
            ANONYMOUS => self.anonymous,
            address if address.starts_with(ADDRESS) => self.address,
            _ => self.user,
        }
    }
}

/// The accounts that no single user has.
const TENANT: &str = "tenant";
const ANONYMOUS: &str = "anonymous";
const ADDRESS: &str = "address:";

/// The account of a user within its tenant.
pub fn user_account(user_id: &str) -> String {
    format!("user:{user_id}")
}

/// The customer behind an address: a customer with IPv6 has a /64, and could take a new address for each request.
pub fn network(address: &str) -> String {
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
    /// The limit of the user's threads, where this turn makes a thread.
    pub new_thread: Option<u32>,
    /// How long the turn counts as running without a further message about it, in milliseconds.
    pub lease_ms: u64,
    /// The limits that the turn has without quotas.
    pub most: Grant,
    /// The least amount that a turn can use: one call of the model.
    pub least: Amount,
    /// The conversation that the turn's thread begins with. Accounts of the version before do not count it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub import: Option<Import>,
}

/// A turn that ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settlement {
    pub turn: TurnKey,
    /// The amounts that it used; where they are not known, all that was reserved.
    pub used: Option<Amount>,
}

wire::tagged! {
    /// Why a turn may not start.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Refusal by "why" {
        /// As many turns run already as the limit allows.
        "concurrency" => Concurrency { limit: u32, retry_after_s: u64 },
        /// As many turns have just started as the limit allows.
        "rate" => Rate { limit: u32, retry_after_s: u64 },
        /// The day's tokens or money are used up, or reserved by running turns.
        "spent" => Spent { retry_after_s: u64 },
        /// The upload is larger than the rest of the day's bytes.
        "stored" => Stored { limit: u64, retry_after_s: u64 },
        /// The upload has more pieces than the rest of the day's embeddings.
        "embedded" => Embedded { limit: u64, retry_after_s: u64 },
        /// The user has as many threads as the limit allows.
        "threads" => Threads { limit: u32 },
    }
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
            Refusal::Stored { limit, retry_after_s } => {
                let detail = format!("{limit} bytes may be uploaded in a day: less than this is left");
                (ErrorCode::QuotaExceeded, detail, Some(retry_after_s))
            }
            Refusal::Embedded { limit, retry_after_s } => {
                let detail =
                    format!("{limit} texts may be embedded in a day: fewer than this needs are left");
                (ErrorCode::QuotaExceeded, detail, Some(retry_after_s))
            }
            Refusal::Threads { limit } => {
                (ErrorCode::TooManyThreads, format!("there are {limit} threads: delete some first"), None)
            }
        };
        let error = ApiError::new(code, detail);
        match retry_after_s {
            Some(seconds) => error.retry_after(seconds),
            None => error,
        }
    }
}

wire::tagged! {
    /// The commands of a thread's object to its tenant's quota object, as JSON in the body.
    #[derive(Clone, Debug, PartialEq)]
    pub enum QuotaCommand by "do" {
        /// Answered with an [`Admission`].
        "admit" => Admit(Ask),
        /// A turn that was admitted did not start.
        "release" => Release { turn: TurnKey },
        /// A turn goes on after its run was lost.
        "renew" => Renew { turn: TurnKey, lease_ms: u64 },
        /// A turn was parked for the `parking`th time, and waits for at most so long.
        "park" => Park { turn: TurnKey, parking: u32, wait_ms: u64 },
        /// A parked turn wants to go on. Answered with a [`Verdict`].
        "go_on" => GoOn(Box<GoOn>),
        /// An upload wants room. Answered with a [`Verdict`].
        "reserve_upload" => ReserveUpload(UploadAsk),
        /// The amounts that an upload used.
        "settle_upload" => SettleUpload { key: String, used: Stored },
        /// Turns that ended and threads that were deleted; may be sent twice.
        "settle" => Settle { ended: Vec<Settlement>, deleted: Vec<ThreadKey> },
    }
}

/// A thread of a user.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThreadKey {
    pub user_id: String,
    pub thread_id: String,
}

/// A parked turn that wants to go on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GoOn {
    pub turn: TurnKey,
    /// Which of the turn's parkings is over, from 1 on.
    pub parking: u32,
    /// As in [`Ask`].
    pub lease_ms: u64,
    /// The present limits: the accounts are those of the turn's admission.
    pub quotas: Quotas,
}

/// The answer to [`QuotaCommand::Admit`].
pub type Admission = Result<Grant, Refusal>;
/// The answer to a command that reserves nothing that the asker must know.
pub type Verdict = Result<(), Refusal>;

#[cfg(test)]
mod calls_tests;
#[cfg(test)]
mod imports_tests;
#[cfg(test)]
mod places_tests;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod uploads_tests;
