//! The timers of a thread, and the one alarm that stands at the earliest of them.

use super::StoreError;
use super::sql::{Store, int, unsigned};
use super::turn::Reason;

impl Store {
    /// Sets a timer; one that is there is moved.
    pub fn set_timer(&self, reason: Reason, due_at: u64) -> Result<(), StoreError> {
        let query = "INSERT INTO timers (reason, due_at) VALUES (?1, ?2)
            ON CONFLICT (reason) DO UPDATE SET due_at = excluded.due_at";
        self.run(query, [reason.as_str().into(), int(due_at)])
    }

    /// Sets a timer; one that is there is only brought forward.
    pub fn hasten_timer(&self, reason: Reason, due_at: u64) -> Result<(), StoreError> {
        let query = "INSERT INTO timers (reason, due_at) VALUES (?1, ?2)
            ON CONFLICT (reason) DO UPDATE SET due_at = min(due_at, excluded.due_at)";
        self.run(query, [reason.as_str().into(), int(due_at)])
    }

    /// Takes a timer away.
    pub fn clear_timer(&self, reason: Reason) -> Result<(), StoreError> {
        self.run("DELETE FROM timers WHERE reason = ?1", [reason.as_str().into()])
    }

    /// When a timer is due.
    pub fn timer(&self, reason: Reason) -> Result<Option<u64>, StoreError> {
        let row = self.row("SELECT due_at FROM timers WHERE reason = ?1", [reason.as_str().into()])?;
        Ok(row.and_then(|row| row.maybe_int(0)).map(unsigned))
    }

    /// Sets the alarm to the earliest timer, or takes it away where there is none.
    pub fn arm(&self) -> Result<(), StoreError> {
        let row = self.row("SELECT min(due_at) FROM timers", [])?;
        match row.and_then(|row| row.maybe_int(0)) {
            Some(due_at) => self.set_alarm(unsigned(due_at)),
            None => self.delete_alarm(),
        }
    }
}
