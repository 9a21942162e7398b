//! The timers of a thread, and the one alarm; `schedule.rs` says when it is.

use super::StoreError;
use super::schedule::{self, Part, Schedule};
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
        match self.timer(reason)? {
            None => Ok(()),
            Some(_) => self.run("DELETE FROM timers WHERE reason = ?1", [reason.as_str().into()]),
        }
    }

    /// Clears the timers of the turn.
    pub fn clear_turn_timers(&self) -> Result<(), StoreError> {
        Reason::ALL
            .into_iter()
            .filter(|reason| reason.is_of_turn())
            .try_for_each(|reason| self.clear_timer(reason))
    }

    /// Clears the timers of a turn that has ended, and that of the queued messages. Returns whether the queue went on: the
    /// caller lets it go on again, or lets it hold.
    pub fn clear_timers_at_end(&self) -> Result<bool, StoreError> {
        self.clear_turn_timers()?;
        let went_on = self.timer(Reason::Messages)?.is_some();
        self.clear_timer(Reason::Messages)?;
        Ok(went_on)
    }

    /// When a timer is due.
    pub fn timer(&self, reason: Reason) -> Result<Option<u64>, StoreError> {
        let timers = self.remembered("SELECT reason, due_at FROM timers")?;
        let found = timers.iter().find(|row| row.is(0, reason.as_str()));
        Ok(found.and_then(|row| row.maybe_int(1)).map(unsigned))
    }

    /// The state on which the alarm depends.
    pub fn schedule(&self) -> Result<Schedule, StoreError> {
        let mut parts = Vec::new();
        for mut row in self.rows(schedule::SELECT, [])? {
            let (at, fresh_at) = (row.maybe_int(2).map(unsigned), row.maybe_int(3).map(unsigned));
            parts.push(Part { kind: row.text(0)?, name: row.maybe_text(1), at, fresh_at });
        }
        Ok(Schedule::of(parts))
    }

    /// Sets the alarm by the state of the thread, or takes it away where nothing is left to do.
    pub fn arm(&self, now: u64) -> Result<(), StoreError> {
        self.arm_by(&self.schedule()?, now)
    }

    /// Sets the alarm by a state that the caller has read.
    pub fn arm_by(&self, schedule: &Schedule, now: u64) -> Result<(), StoreError> {
        match schedule.alarm_at(now, self.heartbeat.at()) {
            Some(at) => self.set_alarm(at),
            None => self.delete_alarm(),
        }
    }

    /// Sets the alarm for a run that begins. The alarm comes within two seconds and finds all other work that is due, so
    /// this reads no row.
    pub fn watch(&self, now: u64) -> Result<(), StoreError> {
        self.heartbeat.begin(now);
        self.set_alarm(self.heartbeat.at())
    }
}
