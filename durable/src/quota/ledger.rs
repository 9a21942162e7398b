//! The accounts of a tenant: how turns are admitted, kept and settled. Everything is idempotent by the turn's key, since
//! each message may be sent again, and each answer be lost.

use std::collections::{BTreeMap, BTreeSet};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::{Admission, Amount, Ask, Grant, Quota, Refusal, Settlement, ThreadKey, TurnKey, user_account};

const DAY_MS: u64 = 86_400_000;
const MINUTE_MS: u64 = 60_000;
/// A turn reserves at most this share of what is left of a day, so that others can start beside it.
const SHARE: u64 = 4;
/// When to try again where as many turns run as may: most turns are over by then.
const TURN_S: u64 = 5;

/// Where the rows are kept. What is asked of it between two awaits of its owner is one transaction.
pub trait Shelf {
    type Error: From<serde_json::Error>;
    /// The row of this key.
    fn get(&mut self, key: &str) -> Result<Option<String>, Self::Error>;
    /// Writes a row, which may be forgotten from `keep_until` on.
    fn put(&mut self, key: &str, value: &str, keep_until: u64) -> Result<(), Self::Error>;
    /// Removes a row.
    fn remove(&mut self, key: &str) -> Result<(), Self::Error>;
}

/// One account. Members that are missing come from an older version.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
struct Account {
    /// The day (since 1970, UTC) that the amounts are of.
    day: u64,
    /// Spent or reserved.
    held: Amount,
    /// When the bucket of `turns_per_minute` will be full again (generic cell rate algorithm).
    full_at: u64,
    /// What runs, by thread: a thread has one turn at a time.
    running: BTreeMap<String, Running>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Running {
    turn_id: String,
    /// From here on it does not count, whatever became of it.
    until: u64,
}

/// What was reserved for a turn, where.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Lease {
    day: u64,
    held: Amount,
    accounts: Vec<String>,
    grant: Grant,
}

impl TurnKey {
    fn lease_key(&self) -> String {
        // Unambiguous: the last two are UUIDs, which have no slash.
        format!("lease:{}/{}/{}", self.user_id, self.thread_id, self.turn_id)
    }

    fn running_key(&self) -> String {
        format!("{}/{}", self.user_id, self.thread_id)
    }
}

impl Account {
    /// As of now.
    fn at(mut self, now: u64) -> Self {
        let day = now / DAY_MS;
        if self.day != day {
            self.day = day;
            self.held = Amount::default();
        }
        self.running.retain(|_, running| running.until > now);
        self
    }

    /// What this account lets a turn have.
    fn grants(&self, quota: &Quota, ask: &Ask, now: u64) -> Admission {
        if let Some(limit) = quota.concurrent_turns {
            let own = self.running.contains_key(&ask.turn.running_key());
            if self.running.len() - usize::from(own) >= limit as usize {
                return Err(Refusal::Concurrency { limit, retry_after_s: TURN_S });
            }
        }
        if let Some(limit) = quota.turns_per_minute {
            let wait = self.full_after_one_more(limit, now).saturating_sub(now + MINUTE_MS);
            if wait > 0 {
                return Err(Refusal::Rate { limit, retry_after_s: wait.div_ceil(1_000) });
            }
        }
        let spent = Refusal::Spent { retry_after_s: (DAY_MS - now % DAY_MS).div_ceil(1_000) };
        let share = |limit: Option<u64>, held: u64, least: u64| match limit {
            None => Ok(None),
            Some(limit) => match limit.saturating_sub(held) {
                left if left < least.max(1) => Err(spent),
                left => Ok(Some((left / SHARE).max(least).min(left))),
            },
        };
        Ok(Grant {
            tokens: share(quota.tokens_per_day, self.held.tokens, ask.least.tokens)?,
            microusd: share(quota.usd_in_micro(), self.held.microusd, ask.least.microusd)?,
        })
    }

    fn full_after_one_more(&self, limit: u32, now: u64) -> u64 {
        self.full_at.max(now) + MINUTE_MS / u64::from(limit.max(1))
    }

    fn keep_until(&self) -> u64 {
        let running = self.running.values().map(|running| running.until).max().unwrap_or(0);
        ((self.day + 1) * DAY_MS).max(self.full_at).max(running)
    }
}

fn least_of(one: Option<u64>, other: Option<u64>) -> Option<u64> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

/// Admits a turn and reserves what it may use, in all its accounts or in none. One that was admitted before gets what it
/// got then.
pub fn admit<S: Shelf>(shelf: &mut S, ask: &Ask, now: u64) -> Result<Admission, S::Error> {
    let lease_key = ask.turn.lease_key();
    if let Some(lease) = read::<Lease, S>(shelf, &lease_key)? {
        return Ok(Ok(lease.grant));
    }
    let mut accounts = Vec::new();
    let mut grant = ask.most;
    for rule in &ask.rules {
        let account = read::<Account, S>(shelf, &rule.account)?.unwrap_or_default().at(now);
        match account.grants(&rule.quota, ask, now) {
            Err(refusal) => return Ok(Err(refusal)),
            Ok(share) => {
                grant.tokens = least_of(grant.tokens, share.tokens);
                grant.microusd = least_of(grant.microusd, share.microusd);
            }
        }
        accounts.push((rule, account));
    }
    if let Some(limit) = ask.new_thread
        && !count_thread(shelf, ask, limit)?
    {
        return Ok(Err(Refusal::Threads { limit }));
    }
    let held = Amount { tokens: grant.tokens.unwrap_or(0), microusd: grant.microusd.unwrap_or(0) };
    for (rule, account) in &mut accounts {
        account.held = plus(account.held, held);
        if let Some(limit) = rule.quota.turns_per_minute {
            account.full_at = account.full_after_one_more(limit, now);
        }
        if rule.quota.concurrent_turns.is_some() {
            let running = Running { turn_id: ask.turn.turn_id.clone(), until: now + ask.lease_ms };
            account.running.insert(ask.turn.running_key(), running);
        }
        write(shelf, &rule.account, account, account.keep_until())?;
    }
    let accounts = ask.rules.iter().map(|rule| rule.account.clone()).collect();
    let lease = Lease { day: now / DAY_MS, held, accounts, grant };
    // Long enough for whoever settles it after an outage; by then its day is over.
    write(shelf, &lease_key, &lease, now + ask.lease_ms + 2 * DAY_MS)?;
    Ok(Ok(grant))
}

/// A turn goes on: it counts as running again, even if meanwhile others took its place.
pub fn renew<S: Shelf>(shelf: &mut S, turn: &TurnKey, lease_ms: u64, now: u64) -> Result<(), S::Error> {
    let Some(lease) = read::<Lease, S>(shelf, &turn.lease_key())? else { return Ok(()) };
    for key in &lease.accounts {
        let Some(account) = read::<Account, S>(shelf, key)? else { continue };
        let mut account = account.at(now);
        let running = Running { turn_id: turn.turn_id.clone(), until: now + lease_ms };
        account.running.insert(turn.running_key(), running);
        write(shelf, key, &account, account.keep_until())?;
    }
    write(shelf, &turn.lease_key(), &lease, now + lease_ms + 2 * DAY_MS)
}

/// A turn ended: what it did not use is given back. Telling it twice changes nothing.
pub fn settle<S: Shelf>(shelf: &mut S, ended: &Settlement, now: u64) -> Result<(), S::Error> {
    let lease_key = ended.turn.lease_key();
    let Some(lease) = read::<Lease, S>(shelf, &lease_key)? else { return Ok(()) };
    for key in &lease.accounts {
        let Some(account) = read::<Account, S>(shelf, key)? else { continue };
        let mut account = account.at(now);
        // What was reserved on a day that is over is forgotten with it.
        if let Some(used) = ended.used
            && account.day == lease.day
        {
            account.held = plus(minus(account.held, lease.held), used);
        }
        let running = account.running.get(&ended.turn.running_key());
        if running.is_some_and(|running| running.turn_id == ended.turn.turn_id) {
            account.running.remove(&ended.turn.running_key());
        }
        write(shelf, key, &account, account.keep_until())?;
    }
    shelf.remove(&lease_key)
}

/// A thread was deleted: there is room for another.
pub fn forget_thread<S: Shelf>(shelf: &mut S, thread: &ThreadKey) -> Result<(), S::Error> {
    let key = threads_key(&thread.user_id);
    let Some(mut threads) = read::<BTreeSet<String>, S>(shelf, &key)? else { return Ok(()) };
    if !threads.remove(&thread.thread_id) {
        return Ok(());
    }
    if threads.is_empty() { shelf.remove(&key) } else { write(shelf, &key, &threads, u64::MAX) }
}

/// Whether there is room for the thread of a turn.
fn count_thread<S: Shelf>(shelf: &mut S, ask: &Ask, limit: u32) -> Result<bool, S::Error> {
    let key = threads_key(&ask.turn.user_id);
    let mut threads = read::<BTreeSet<String>, S>(shelf, &key)?.unwrap_or_default();
    if threads.contains(&ask.turn.thread_id) {
        return Ok(true);
    }
    if threads.len() >= limit as usize {
        return Ok(false);
    }
    threads.insert(ask.turn.thread_id.clone());
    write(shelf, &key, &threads, u64::MAX)?;
    Ok(true)
}

fn threads_key(user_id: &str) -> String {
    format!("threads of {}", user_account(user_id))
}

fn plus(one: Amount, other: Amount) -> Amount {
    Amount {
        tokens: one.tokens.saturating_add(other.tokens),
        microusd: one.microusd.saturating_add(other.microusd),
    }
}

fn minus(one: Amount, other: Amount) -> Amount {
    Amount {
        tokens: one.tokens.saturating_sub(other.tokens),
        microusd: one.microusd.saturating_sub(other.microusd),
    }
}

fn read<T: DeserializeOwned, S: Shelf>(shelf: &mut S, key: &str) -> Result<Option<T>, S::Error> {
    Ok(shelf.get(key)?.map(|value| serde_json::from_str(&value)).transpose()?)
}

fn write<T: Serialize, S: Shelf>(
    shelf: &mut S,
    key: &str,
    value: &T,
    keep_until: u64,
) -> Result<(), S::Error> {
    shelf.put(key, &serde_json::to_string(value)?, keep_until)
}
