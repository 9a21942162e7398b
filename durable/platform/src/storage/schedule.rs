//! The work that is due, and the time of the one alarm, by the state of the thread. Pure.
//!
//! The row of a turn says that it runs, and the outbox says that D1 has not heard of everything. So both need no timer,
//! and a turn that runs from its start to its end writes none. The timers say the rest.

use std::cell::Cell;

use super::turn::{Reason, TurnStatus};

/// Reads a [`Schedule`]: the newest turn, the timers, the outbox and the journals of ended turns, each row with its kind,
/// its name and two times.
pub const SELECT: &str = "
SELECT * FROM (SELECT 'turn', status, iif(failing_since IS NULL, NULL, coalesce(retry_at, 0)), NULL FROM turns
  ORDER BY seq_first DESC LIMIT 1)
UNION ALL SELECT 'timer', reason, due_at, NULL FROM timers
UNION ALL SELECT 'news', NULL, min(due_at), min(iif(attempts = 0, due_at, NULL)) FROM outbox
UNION ALL SELECT 'record', NULL, coalesce((SELECT due_at FROM timers WHERE reason = 'records'), 0), NULL
  WHERE EXISTS (SELECT 1 FROM journal JOIN turns USING (turn_id) WHERE status = 'done')";

/// A row of [`SELECT`].
pub struct Part {
    pub kind: String,
    pub name: Option<String>,
    pub at: Option<u64>,
    pub fresh_at: Option<u64>,
}

/// How long work that is due waits for its next attempt, and the first alarm of a run for its beginning.
pub const WATCH_MS: u64 = 2_000;
/// The waits before the next alarms of a run that is in memory. The platform evicts no object that has work pending, so
/// a run that has gone on for a while is seldom lost.
const BEATS_MS: [u64; 2] = [4_000, 8_000];
/// All further waits. A request takes up a lost run at once; where nobody asks, the alarm does it within this time.
const LONGEST_BEAT_MS: u64 = 10_000;

/// The state of a thread, as far as its alarm depends on it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Schedule {
    /// The turn that has no end yet.
    pub open: Option<Open>,
    pub timers: Timers,
    /// When the first row of the outbox is due; none where it is empty.
    pub news: Option<u64>,
    /// When R2 is to take the record of an ended turn; none where none waits.
    pub record: Option<u64>,
    /// When the first row is due that D1 has never refused; none where there is no such row.
    pub fresh_news: Option<u64>,
}

/// The turn that has no end yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Open {
    pub status: TurnStatus,
    /// When the next attempt to rebuild it is made, where one has failed.
    pub retry_at: Option<u64>,
}

/// The rows of `timers`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Timers {
    pub turn: Option<u64>,
    pub parked: Option<u64>,
    pub queued: Option<u64>,
    pub messages: Option<u64>,
    pub outbox: Option<u64>,
    pub records: Option<u64>,
    pub notices: Option<u64>,
    pub erase: Option<u64>,
    pub title: Option<u64>,
}

impl Timers {
    fn timer_mut(&mut self, reason: Reason) -> &mut Option<u64> {
        match reason {
            Reason::Turn => &mut self.turn,
            Reason::Parked => &mut self.parked,
            Reason::Queued => &mut self.queued,
            Reason::Messages => &mut self.messages,
            Reason::Outbox => &mut self.outbox,
            Reason::Records => &mut self.records,
            Reason::Notices => &mut self.notices,
            Reason::Erase => &mut self.erase,
            Reason::Title => &mut self.title,
        }
    }
}

/// The work of an alarm, beside taking up a lost turn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Due {
    /// Calls of a parked turn have waited long enough.
    pub parked: bool,
    /// A queued turn may ask for its place again.
    pub queued: bool,
    /// The turn of the next queued message may start.
    pub messages: bool,
    pub news: Option<DueNews>,
    /// R2 is to take the records of ended turns.
    pub records: bool,
    /// Notices of sessions that have ended are to be sent.
    pub notices: bool,
    /// The thread is to be deleted.
    pub erase: bool,
    /// A model is to be asked for the thread's title.
    pub title: bool,
}

/// The news of which D1 is to hear.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DueNews {
    /// Those that D1 has not refused. The others wait.
    Fresh,
    All,
}

impl Schedule {
    /// The state that the rows of [`SELECT`] tell.
    pub fn of(rows: impl IntoIterator<Item = Part>) -> Self {
        let mut schedule = Schedule::default();
        for Part { kind, name, at, fresh_at } in rows {
            match (kind.as_str(), name.as_deref()) {
                ("turn", Some("running")) => {
                    schedule.open = Some(Open { status: TurnStatus::Running, retry_at: at });
                }
                ("turn", Some("parked")) => {
                    schedule.open = Some(Open { status: TurnStatus::Parked, retry_at: at });
                }
                ("turn", _) => {}
                ("timer", name) => {
                    // A timer of newer code waits for that code.
                    if let Some(reason) = name.and_then(Reason::named) {
                        *schedule.timers.timer_mut(reason) = at;
                    }
                }
                ("record", _) => schedule.record = at,
                _ => (schedule.news, schedule.fresh_news) = (at, fresh_at),
            }
        }
        schedule
    }

    /// Whether D1 is to hear of something now, whether it has refused it or not.
    pub fn has_due_news(&self, now: u64) -> bool {
        self.news.is_some_and(|at| at <= now)
    }

    fn runs(&self) -> bool {
        self.open.is_some_and(|open| open.status == TurnStatus::Running) && self.timers.queued.is_none()
    }

    /// The work that is due now.
    pub fn due(&self, now: u64) -> Due {
        let open = self.open.map(|open| open.status);
        let is_due = |timer: Option<u64>| timer.is_none_or(|at| at <= now);
        let refused = is_due(self.timers.outbox) && self.news.is_some_and(|at| at <= now);
        let fresh = self.fresh_news.is_some_and(|at| at <= now);
        Due {
            parked: open == Some(TurnStatus::Parked) && is_due(self.timers.parked),
            queued: open == Some(TurnStatus::Running) && !self.runs() && is_due(self.timers.turn),
            messages: open.is_none() && self.timers.messages.is_some_and(|at| at <= now),
            news: if refused { Some(DueNews::All) } else { fresh.then_some(DueNews::Fresh) },
            records: self.record.is_some_and(|at| at <= now),
            notices: self.timers.notices.is_some_and(|at| at <= now),
            erase: self.timers.erase.is_some_and(|at| at <= now),
            title: self.timers.title.is_some_and(|at| at <= now),
        }
    }

    /// The time of the next alarm; none where nothing is left to do. `beat_at`: when the run in memory is looked after
    /// next.
    pub fn alarm_at(&self, now: u64, beat_at: u64) -> Option<u64> {
        let open = self.open.map(|open| match open.status {
            TurnStatus::Parked => self.timers.parked.unwrap_or(now),
            _ if self.runs() => beat_at.max(open.retry_at.unwrap_or(now)),
            _ => self.timers.turn.unwrap_or(now),
        });
        // While a turn is open, its end starts the next message.
        let messages = self.timers.messages.filter(|_| self.open.is_none());
        let news = match (self.news, self.timers.outbox) {
            (Some(_), Some(retry_at)) => Some(self.fresh_news.unwrap_or(retry_at).min(retry_at)),
            (news, _) => news,
        };
        // The caller does the work that is due. Should it fail, the next alarm does it again: at the run's next beat, or
        // soon where no run is in memory.
        let again_at = if self.runs() && beat_at > now { beat_at } else { now + WATCH_MS };
        let at = |at: u64| if at <= now { again_at } else { at };
        let Timers { notices, erase, title, .. } = self.timers;
        [open, messages, news, self.record, notices, erase, title].into_iter().flatten().map(at).min()
    }
}

/// The beats at which the alarm looks after the run in memory.
#[derive(Debug, Default)]
pub struct Heartbeat {
    beats: Cell<usize>,
    at: Cell<u64>,
}

impl Heartbeat {
    /// A run begins.
    pub fn begin(&self, now: u64) {
        self.beats.set(0);
        self.at.set(now + WATCH_MS);
    }

    /// The alarm has found a run in memory.
    pub fn beat(&self, now: u64) {
        if now < self.at.get() {
            return;
        }
        let beats = self.beats.get();
        self.beats.set(beats + 1);
        self.at.set(now + BEATS_MS.get(beats).unwrap_or(&LONGEST_BEAT_MS));
    }

    /// When the next beat is.
    pub fn at(&self) -> u64 {
        self.at.get()
    }
}

#[cfg(test)]
mod tests;
