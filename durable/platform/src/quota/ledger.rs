//! The accounts of a tenant: how turns are admitted, kept and settled. Every command is idempotent by the turn's key,
//! since each message may be sent again, and each answer may be lost.

use std::collections::{BTreeMap, BTreeSet};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::imports::{Imported, count_import};
use super::{
    Admission, Amount, Ask, GoOn, Grant, Quota, Refusal, Settlement, ThreadKey, TurnKey, Verdict,
    user_account,
};

pub(super) const DAY_MS: u64 = 86_400_000;
const MINUTE_MS: u64 = 60_000;
/// A turn reserves at most this share of the rest of a day, so that other turns can start beside it.
const SHARE: u64 = 4;
/// When to try again where as many turns run as the limit allows: most of them are over by then.
const TURN_S: u64 = 5;
/// How long a lease is kept after it is over: after an outage the turn may still be settled.
const KEPT_MS: u64 = 2 * DAY_MS;

/// Where the rows are kept. The calls between two awaits of its owner are one transaction.
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
    /// When the bucket of `turns_per_minute` is full again (generic cell rate algorithm).
    full_at: u64,
    /// The running turns, by thread: a thread has one turn at a time.
    running: BTreeMap<String, Running>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Running {
    turn_id: String,
    /// From this time on the turn does not count, even if it still runs.
    until: u64,
}

/// The amounts that are reserved for a turn, and the accounts that they are reserved in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Lease {
    day: u64,
    held: Amount,
    accounts: Vec<String>,
    grant: Grant,
    /// How far the turn's start has moved `full_at` of each account, in the order of the accounts.
    #[serde(default)]
    paces_ms: Vec<u64>,
    /// Whether the turn's thread was counted with it.
    #[serde(default)]
    new_thread: bool,
    /// The conversation that was counted with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    import: Option<Imported>,
    /// The newest parking of the turn, and the newest that is over: messages may come late.
    #[serde(default)]
    parked: u32,
    #[serde(default)]
    resumed: u32,
}

impl Lease {
    /// The time until which its row stays. Where only uploads are limited, no end of a turn comes here: the lease serves a
    /// request that is repeated while it runs.
    fn kept_until(&self, ends_at: u64) -> u64 {
        ends_at.saturating_add(if self.accounts.is_empty() { 0 } else { KEPT_MS })
    }
}

impl TurnKey {
    fn lease_key(&self) -> String {
        // The key is unambiguous: the last two ids are UUIDs, which have no slash.
        format!("lease:{}/{}/{}", self.user_id, self.thread_id, self.turn_id)
    }

    fn thread(&self) -> ThreadKey {
        ThreadKey { user_id: self.user_id.clone(), thread_id: self.thread_id.clone() }
    }

    fn running_key(&self) -> String {
        format!("{}/{}", self.user_id, self.thread_id)
    }
}

impl Account {
    /// The account as it is at this time.
    fn at(mut self, now: u64) -> Self {
        let day = now / DAY_MS;
        if self.day != day {
            self.day = day;
            self.held = Amount::default();
        }
        self.running.retain(|_, running| running.until > now);
        self
    }

    /// Whether the turn may run beside those of other threads.
    fn has_place(&self, quota: &Quota, turn: &TurnKey) -> Verdict {
        let Some(limit) = quota.concurrent_turns else { return Ok(()) };
        let own = self.running.contains_key(&turn.running_key());
        match self.running.len() - usize::from(own) >= limit as usize {
            true => Err(Refusal::Concurrency { limit, retry_after_s: TURN_S }),
            false => Ok(()),
        }
    }

    fn run(&mut self, turn: &TurnKey, until: u64) {
        let running = Running { turn_id: turn.turn_id.clone(), until };
        self.running.insert(turn.running_key(), running);
    }

    /// Frees the place of a turn, unless a newer one of its thread has it.
    fn vacate(&mut self, turn: &TurnKey) {
        let key = turn.running_key();
        if self.running.get(&key).is_some_and(|running| running.turn_id == turn.turn_id) {
            self.running.remove(&key);
        }
    }

    /// The amounts that this account lets a turn have.
    fn grants(&self, quota: &Quota, ask: &Ask, now: u64) -> Admission {
        self.has_place(quota, &ask.turn)?;
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

    /// Replaces the turn's reservation by the amounts that it used. An account forgets a day that is over, with the
    /// reservations of that day.
    fn spend(&mut self, lease: &Lease, used: Amount) {
        if self.day == lease.day {
            self.held = plus(minus(self.held, lease.held), used);
        }
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

/// Admits a turn and reserves the amounts that it may use, in all its accounts or in none. A turn that was admitted
/// before gets the same grant again.
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
    let new_thread = match ask.new_thread {
        None => false,
        Some(limit) => match count_thread(shelf, ask, limit)? {
            Counted::Before => false,
            Counted::Now => true,
            Counted::NoRoom => return Ok(Err(Refusal::Threads { limit })),
        },
    };
    let import = match count_import(shelf, ask, now)? {
        Ok(import) => import,
        Err(refusal) => {
            if new_thread {
                forget_thread(shelf, &ask.turn.thread())?;
            }
            return Ok(Err(refusal));
        }
    };
    let held = Amount { tokens: grant.tokens.unwrap_or(0), microusd: grant.microusd.unwrap_or(0) };
    let mut paces_ms = Vec::new();
    for (rule, account) in &mut accounts {
        account.held = plus(account.held, held);
        let paced = rule.quota.turns_per_minute.map(|limit| account.full_after_one_more(limit, now));
        let pace_ms = paced.map(|full_at| full_at - account.full_at.max(now));
        account.full_at = paced.unwrap_or(account.full_at);
        paces_ms.push(pace_ms.unwrap_or(0));
        if rule.quota.concurrent_turns.is_some() {
            account.run(&ask.turn, now + ask.lease_ms);
        }
        write(shelf, &rule.account, account, account.keep_until())?;
    }
    let accounts = ask.rules.iter().map(|rule| rule.account.clone()).collect();
    let day = now / DAY_MS;
    let lease = Lease { day, held, accounts, grant, paces_ms, new_thread, import, parked: 0, resumed: 0 };
    write(shelf, &lease_key, &lease, lease.kept_until(now + ask.lease_ms))?;
    Ok(Ok(grant))
}

/// Renews the lease of a turn that goes on: it counts as running again, even if other turns took its place meanwhile.
pub fn renew<S: Shelf>(shelf: &mut S, turn: &TurnKey, lease_ms: u64, now: u64) -> Result<(), S::Error> {
    let Some(lease) = read::<Lease, S>(shelf, &turn.lease_key())? else { return Ok(()) };
    each_account(shelf, &lease, now, |_, account| account.run(turn, now + lease_ms))?;
    write(shelf, &turn.lease_key(), &lease, lease.kept_until(now + lease_ms))
}

/// Frees the place of a parked turn, so that others may run. The turn keeps its reservation.
pub fn park<S: Shelf>(
    shelf: &mut S,
    turn: &TurnKey,
    parking: u32,
    wait_ms: u64,
    now: u64,
) -> Result<(), S::Error> {
    let Some(mut lease) = read::<Lease, S>(shelf, &turn.lease_key())? else { return Ok(()) };
    // The message is late: the turn has gone on since this parking.
    if parking <= lease.resumed {
        return Ok(());
    }
    lease.parked = lease.parked.max(parking);
    each_account(shelf, &lease, now, |_, account| account.vacate(turn))?;
    write(shelf, &turn.lease_key(), &lease, lease.kept_until(now.saturating_add(wait_ms)))
}

/// Gives a parked turn a place in all its accounts, or in none. A turn that has its place keeps it.
pub fn go_on<S: Shelf>(shelf: &mut S, ask: &GoOn, now: u64) -> Result<Verdict, S::Error> {
    let lease_key = ask.turn.lease_key();
    let Some(mut lease) = read::<Lease, S>(shelf, &lease_key)? else { return Ok(Ok(())) };
    // The message is late: the turn went on, and was parked again.
    if ask.parking < lease.parked {
        return Ok(Ok(()));
    }
    for key in &lease.accounts {
        let account = read::<Account, S>(shelf, key)?.unwrap_or_default().at(now);
        if let Err(refusal) = account.has_place(&ask.quotas.of_account(key), &ask.turn) {
            return Ok(Err(refusal));
        }
    }
    lease.resumed = lease.resumed.max(ask.parking);
    each_account(shelf, &lease, now, |_, account| account.run(&ask.turn, now + ask.lease_ms))?;
    write(shelf, &lease_key, &lease, lease.kept_until(now + ask.lease_ms))?;
    Ok(Ok(()))
}

/// Settles a turn that ended: its accounts get back the amounts that it did not use. Repeating it changes nothing.
pub fn settle<S: Shelf>(shelf: &mut S, ended: &Settlement, now: u64) -> Result<(), S::Error> {
    let lease_key = ended.turn.lease_key();
    let Some(lease) = read::<Lease, S>(shelf, &lease_key)? else { return Ok(()) };
    each_account(shelf, &lease, now, |_, account| {
        if let Some(used) = ended.used {
            account.spend(&lease, used);
        }
        account.vacate(&ended.turn);
    })?;
    shelf.remove(&lease_key)
}

/// Takes back the admission of a turn that did not start, with its start and a thread that was counted for it.
/// Repeating it changes nothing.
pub fn release<S: Shelf>(shelf: &mut S, turn: &TurnKey, now: u64) -> Result<(), S::Error> {
    let lease_key = turn.lease_key();
    let Some(lease) = read::<Lease, S>(shelf, &lease_key)? else { return Ok(()) };
    each_account(shelf, &lease, now, |place, account| {
        account.spend(&lease, Amount::default());
        account.full_at -= lease.paces_ms.get(place).copied().unwrap_or(0).min(account.full_at);
        account.vacate(turn);
    })?;
    if lease.new_thread {
        forget_thread(shelf, &turn.thread())?;
    }
    if let Some(import) = &lease.import {
        import.give_back(shelf, lease.day, now)?;
    }
    shelf.remove(&lease_key)
}

/// Changes the accounts of a lease, each with its place among them.
fn each_account<S: Shelf>(
    shelf: &mut S,
    lease: &Lease,
    now: u64,
    change: impl Fn(usize, &mut Account),
) -> Result<(), S::Error> {
    for (place, key) in lease.accounts.iter().enumerate() {
        let Some(account) = read::<Account, S>(shelf, key)? else { continue };
        let mut account = account.at(now);
        change(place, &mut account);
        write(shelf, key, &account, account.keep_until())?;
    }
    Ok(())
}

/// Uncounts a thread that was deleted: there is room for another.
pub fn forget_thread<S: Shelf>(shelf: &mut S, thread: &ThreadKey) -> Result<(), S::Error> {
    let key = threads_key(&thread.user_id);
    let Some(mut threads) = read::<BTreeSet<String>, S>(shelf, &key)? else { return Ok(()) };
    if !threads.remove(&thread.thread_id) {
        return Ok(());
    }
    if threads.is_empty() { shelf.remove(&key) } else { write(shelf, &key, &threads, u64::MAX) }
}

/// How the thread of a turn was counted.
enum Counted {
    Before,
    Now,
    NoRoom,
}

fn count_thread<S: Shelf>(shelf: &mut S, ask: &Ask, limit: u32) -> Result<Counted, S::Error> {
    let key = threads_key(&ask.turn.user_id);
    let mut threads = read::<BTreeSet<String>, S>(shelf, &key)?.unwrap_or_default();
    if threads.contains(&ask.turn.thread_id) {
        return Ok(Counted::Before);
    }
    if threads.len() >= limit as usize {
        return Ok(Counted::NoRoom);
    }
    threads.insert(ask.turn.thread_id.clone());
    write(shelf, &key, &threads, u64::MAX)?;
    Ok(Counted::Now)
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

pub(super) fn read<T: DeserializeOwned, S: Shelf>(shelf: &mut S, key: &str) -> Result<Option<T>, S::Error> {
    Ok(shelf.get(key)?.map(|value| wire::json::from_str(&value)).transpose()?)
}

pub(super) fn write<T: Serialize, S: Shelf>(
    shelf: &mut S,
    key: &str,
    value: &T,
    keep_until: u64,
) -> Result<(), S::Error> {
    shelf.put(key, &serde_json::to_string(value)?, keep_until)
}
