//! The amounts that users upload in a day: bytes of files and documents, and texts to embed. An upload reserves its
//! amounts before anything is stored or embedded, so that uploads that come together cannot pass one count. Its end
//! settles them by the amounts that it used.
//!
//! The sum of a day only grows: a user who deletes a file has still uploaded it. Workspaces and collections have their
//! own limits for the files that lie in them at the same time.

use serde::{Deserialize, Serialize};

use super::ledger::{DAY_MS, Shelf, read, write};
use super::{Refusal, Rule, Verdict};

/// Amounts of an upload: bytes that are stored and texts that are embedded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stored {
    pub bytes: u64,
    pub embeddings: u64,
}

/// The least bytes that something stored counts as: about as many as its row, its entry in a list, and the entry of its
/// deletion in the audit log. Without it an empty file would cost nothing, however often it is written and deleted.
pub const LEAST_BYTES: u64 = 1_000;

impl Stored {
    /// Something of so many bytes that is stored without embeddings.
    pub fn from_bytes(bytes: u64) -> Self {
        Stored { bytes: bytes.max(LEAST_BYTES), embeddings: 0 }
    }
}

/// An upload that wants room.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct UploadAsk {
    /// The same key for every request of this upload.
    pub key: String,
    pub rules: Vec<Rule>,
    /// All that the upload needs, with the amounts that it has reserved before.
    pub need: Stored,
}

/// The amounts that an account has uploaded in a day.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
struct Day {
    /// Days since 1970, UTC.
    day: u64,
    held: Stored,
}

/// The amounts that are reserved for an upload, and the accounts that they are reserved in.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
struct Reservation {
    day: u64,
    held: Stored,
    accounts: Vec<String>,
}

impl Day {
    fn of<S: Shelf>(shelf: &mut S, account: &str, day: u64) -> Result<Self, S::Error> {
        let known = read::<Day, S>(shelf, &day_key(account))?.filter(|known| known.day == day);
        Ok(known.unwrap_or(Day { day, held: Stored::default() }))
    }

    /// Puts one amount in the place of another.
    fn replace(&mut self, before: Stored, after: Stored) {
        let moved = |sum: u64, before: u64, after: u64| sum.saturating_sub(before).saturating_add(after);
        self.held.bytes = moved(self.held.bytes, before.bytes, after.bytes);
        self.held.embeddings = moved(self.held.embeddings, before.embeddings, after.embeddings);
    }

    fn write<S: Shelf>(&self, shelf: &mut S, account: &str) -> Result<(), S::Error> {
        write(shelf, &day_key(account), self, (self.day + 1) * DAY_MS)
    }
}

/// Reserves the amounts of an upload, in all its accounts or in none. A further request for the same upload reserves
/// only the difference.
pub fn reserve_upload<S: Shelf>(shelf: &mut S, ask: &UploadAsk, now: u64) -> Result<Verdict, S::Error> {
    let day = now / DAY_MS;
    let before = read::<Reservation, S>(shelf, &upload_key(&ask.key))?.filter(|known| known.day == day);
    let before = before.unwrap_or_default().held;
    let need = Stored {
        bytes: ask.need.bytes.max(before.bytes),
        embeddings: ask.need.embeddings.max(before.embeddings),
    };
    if let Err(refusal) = count(shelf, &ask.rules, (before, need), now)? {
        return Ok(Err(refusal));
    }
    let accounts = ask.rules.iter().map(|rule| rule.account.clone()).collect();
    let reservation = Reservation { day, held: need, accounts };
    write(shelf, &upload_key(&ask.key), &reservation, (day + 1) * DAY_MS)?;
    Ok(Ok(()))
}

/// Counts an amount in place of the one before, in all accounts or in none.
pub(super) fn count<S: Shelf>(
    shelf: &mut S,
    rules: &[Rule],
    (before, need): (Stored, Stored),
    now: u64,
) -> Result<Verdict, S::Error> {
    let day = now / DAY_MS;
    let retry_after_s = (DAY_MS - now % DAY_MS).div_ceil(1_000);
    let mut days = Vec::new();
    for Rule { account, quota } in rules {
        let mut sum = Day::of(shelf, account, day)?;
        let was = sum.held;
        sum.replace(before, need);
        // An amount that the upload does not need is never refused.
        let beyond = |limit: Option<u64>, was: u64, now: u64| limit.filter(|limit| now > *limit && now > was);
        if let Some(limit) = beyond(quota.stored_bytes_per_day, was.bytes, sum.held.bytes) {
            return Ok(Err(Refusal::Stored { limit, retry_after_s }));
        }
        if let Some(limit) = beyond(quota.embeddings_per_day, was.embeddings, sum.held.embeddings) {
            return Ok(Err(Refusal::Embedded { limit, retry_after_s }));
        }
        days.push((account, sum));
    }
    for (account, sum) in days {
        sum.write(shelf, account)?;
    }
    Ok(Ok(()))
}

/// Puts the amount that was used in place of the one that was counted on a day, as long as that day lasts.
pub(super) fn settle_count<S: Shelf>(
    shelf: &mut S,
    (day, accounts): (u64, &[String]),
    (held, used): (Stored, Stored),
    now: u64,
) -> Result<(), S::Error> {
    if day != now / DAY_MS {
        return Ok(());
    }
    for account in accounts {
        let mut sum = Day::of(shelf, account, day)?;
        sum.replace(held, used);
        sum.write(shelf, account)?;
    }
    Ok(())
}

/// Ends an upload with the amounts that it used: none, where it failed. Repeating it changes nothing.
pub fn settle_upload<S: Shelf>(shelf: &mut S, key: &str, used: Stored, now: u64) -> Result<(), S::Error> {
    let Some(reservation) = read::<Reservation, S>(shelf, &upload_key(key))? else { return Ok(()) };
    let Reservation { day, held, accounts } = reservation;
    settle_count(shelf, (day, &accounts), (held, used), now)?;
    shelf.remove(&upload_key(key))
}

fn day_key(account: &str) -> String {
    format!("uploads of {account}")
}

fn upload_key(key: &str) -> String {
    format!("upload:{key}")
}
