//! Tells others what the thread owes them. Pure but for the [`Duty`]: its tests run natively.
//!
//! One batch goes after another, and [`Duty::deliver`] is the only step that awaits. So everything that follows one answer
//! is written before anything else runs in the object, and the platform makes these writes durable together.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

use crate::storage::StoreError;
use crate::storage::turn::Reason;

/// The longest wait while the other side may be down: each thread asks once a minute.
const LONG_MS: u64 = 60_000;
/// After so many refusals, about an hour, it is more likely that the other side will never take the rows.
const PATIENT_REFUSALS: u32 = 64;
/// The longest wait: the rows stay, and the thread asks again for ever.
const LAST_MS: u64 = 3_600_000;

/// The wait after so many refusals: 2, 4, 8 … seconds, and `longest_ms` at most.
fn back_off_ms(refusals: u64, longest_ms: u64) -> u64 {
    const FIRST_MS: u64 = 2_000;
    (FIRST_MS << refusals.saturating_sub(1).min(16)).min(longest_ms)
}

/// The wait of a turn or a message that a person waits for, before it asks for its place again: 2, 4, 8, 16 and then 30
/// seconds.
pub fn place_ms(refusals: u64) -> u64 {
    const LONGEST_MS: u64 = 30_000;
    back_off_ms(refusals, LONGEST_MS)
}

/// The wait of rows that may wait: up to a minute, and at last an hour.
pub fn patient_ms(refusals: u32) -> u64 {
    match refusals {
        0..=PATIENT_REFUSALS => back_off_ms(refusals.into(), LONG_MS),
        _ => LAST_MS,
    }
}

/// The rows that are told at once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Batch {
    pub ids: Vec<u64>,
    /// How often the first of them was refused.
    pub attempts: u32,
}

/// The end of rows that the other side refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum After {
    /// They are told again.
    Again,
    /// They are not told any more: the duty has forgotten them.
    Drop,
}

/// A kind of rows that a thread delivers to somebody outside, and the way there.
#[allow(
    async_fn_in_trait,
    reason = "a thread runs on one thread of the platform, so its futures need not be `Send`"
)]
pub trait Duty {
    /// The timer at which refused rows are told again.
    const REASON: Reason;
    /// The content of the rows.
    type Content;

    /// The rows that are told next; none where nothing is due.
    fn next(&mut self) -> Result<Option<(Batch, Self::Content)>, StoreError>;

    async fn deliver(&mut self, content: Self::Content) -> Result<(), StoreError>;

    /// The other side took them.
    fn took(&mut self, batch: &Batch) -> Result<(), StoreError>;

    /// The other side refused them, or did not answer. The timer is set after this.
    fn refused(&mut self, batch: &Batch, error: &StoreError) -> Result<After, StoreError>;

    /// The thread was deleted while they were on their way.
    async fn gone(&mut self) -> Result<(), StoreError> {
        Ok(())
    }

    /// The run ends, because no row is due any more. `any`: whether rows were taken or dropped.
    fn rest(&mut self, any: bool) -> Result<(), StoreError>;

    /// How long rows wait that were refused so often.
    fn wait_ms(refusals: u32) -> u64 {
        patient_ms(refusals)
    }
}

/// The thread that has a duty.
pub trait Debtor {
    /// Whether nobody wants the rows of this duty any more, since the thread was deleted.
    fn is_gone(&self, reason: Reason) -> Result<bool, StoreError>;

    /// Sets the timer of a duty, and the alarm by all timers. `keep_earlier`: an earlier timer stays.
    fn ask_again(&self, reason: Reason, wait_ms: u64, keep_earlier: bool) -> Result<(), StoreError>;
}

/// Tells all that is due. `due`: the alarm says that it is time; otherwise a side that has refused rows is left alone until
/// then.
pub async fn fulfil<D: Duty>(debtor: &impl Debtor, duty: &mut D, due: bool) -> Result<(), StoreError> {
    // Whether the other side may be asked to take what it has refused: it is time, or it has just taken other rows.
    let mut willing = due;
    let (mut took, mut any) = (false, false);
    // The rows that were refused in this run.
    let mut refused: Vec<u64> = Vec::new();
    loop {
        let Some((batch, content)) = duty.next()? else { return duty.rest(any) };
        if batch.attempts > 0 && !willing || batch.ids.iter().any(|id| refused.contains(id)) {
            // The timer stands at their next attempt.
            return Ok(());
        }
        let answer = duty.deliver(content).await;
        if debtor.is_gone(D::REASON)? {
            return duty.gone().await;
        }
        let Err(error) = answer else {
            duty.took(&batch)?;
            (willing, took, any) = (true, true, true);
            continue;
        };
        if duty.refused(&batch, &error)? == After::Drop {
            any = true;
            continue;
        }
        let wait_ms = D::wait_ms(batch.attempts.saturating_add(1));
        debtor.ask_again(D::REASON, wait_ms, !refused.is_empty())?;
        refused.extend(batch.ids);
        // A side that takes other rows is up: those after these need not wait.
        if !took {
            return Ok(());
        }
    }
}

/// The duties of a thread, as far as memory knows them.
#[derive(Debug, Default)]
pub struct Duties {
    /// Those that are being fulfilled: each of them once at a time, which keeps its order.
    under_way: Cell<u32>,
    /// How often a side has refused since it took something. A new life begins at zero, and so asks sooner.
    refusals: RefCell<BTreeMap<u32, u32>>,
}

impl Duties {
    /// Begins a duty; none where it is under way. It ends when the value is dropped.
    pub fn begin(&self, reason: Reason) -> Option<Begun<'_>> {
        if self.is_under_way(reason) {
            return None;
        }
        self.under_way.set(self.under_way.get() | 1 << reason as u32);
        Some(Begun { duties: self, reason })
    }

    pub fn is_under_way(&self, reason: Reason) -> bool {
        self.under_way.get() & 1 << reason as u32 != 0
    }

    /// How often this side has refused since it took something.
    pub fn refusals(&self, reason: Reason) -> u32 {
        self.refusals.borrow().get(&(reason as u32)).copied().unwrap_or_default()
    }

    /// Counts a refusal, or none any more.
    pub fn count(&self, reason: Reason, refusals: u32) {
        self.refusals.borrow_mut().insert(reason as u32, refusals);
    }
}

/// A duty that is under way.
#[derive(Debug)]
pub struct Begun<'d> {
    duties: &'d Duties,
    reason: Reason,
}

impl Drop for Begun<'_> {
    fn drop(&mut self) {
        let under_way = &self.duties.under_way;
        under_way.set(under_way.get() & !(1 << self.reason as u32));
    }
}

#[cfg(test)]
mod tests;
