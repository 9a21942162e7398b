//! The work that is due, and the time of the one alarm, by the state of the thread. Pure.
//!
//! The row of a turn says that it runs, and the outbox says that D1 has not heard of everything. So both need no timer,
//! and a turn that runs from its start to its end writes none. The timers say the rest.

use std::cell::Cell;

use super::turn::TurnStatus;

/// Reads a [`Schedule`]: the newest turn, the timers and the outbox, each row with its kind, its name and two times.
pub const SELECT: &str = "
SELECT * FROM (SELECT 'turn', status, iif(failing_since IS NULL, NULL, coalesce(retry_at, 0)), NULL FROM turns
  ORDER BY seq_first DESC LIMIT 1)
UNION ALL SELECT 'timer', reason, due_at, NULL FROM timers
UNION ALL SELECT 'news', NULL, min(due_at), min(iif(attempts = 0, due_at, NULL)) FROM outbox";

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
            let timers = &mut schedule.timers;
            match (kind.as_str(), name.as_deref()) {
                ("turn", Some("running")) => {
                    schedule.open = Some(Open { status: TurnStatus::Running, retry_at: at });
                }
                ("turn", Some("parked")) => {
                    schedule.open = Some(Open { status: TurnStatus::Parked, retry_at: at });
                }
                ("turn", _) => {}
                ("timer", Some("turn")) => timers.turn = at,
                ("timer", Some("parked")) => timers.parked = at,
                ("timer", Some("queued")) => timers.queued = at,
                ("timer", Some("messages")) => timers.messages = at,
                ("timer", _) => timers.outbox = at,
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
        [open, messages, news].into_iter().flatten().map(at).min()
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
mod tests {
    use super::*;

    const NOW: u64 = 1_800_000_000_000;

    fn open(status: TurnStatus) -> Schedule {
        Schedule { open: Some(Open { status, retry_at: None }), ..Schedule::default() }
    }

    fn timers(schedule: Schedule, timers: Timers) -> Schedule {
        Schedule { timers, ..schedule }
    }

    #[test]
    fn a_run_of_a_minute_has_seven_alarms() {
        let heartbeat = Heartbeat::default();
        heartbeat.begin(NOW);
        let mut alarms = Vec::new();
        while heartbeat.at() < NOW + 60_000 {
            let at = open(TurnStatus::Running).alarm_at(heartbeat.at() - 1, heartbeat.at()).unwrap();
            alarms.push(at - NOW);
            heartbeat.beat(at - 1);
            assert_eq!(heartbeat.at(), at, "an alarm for another reason is no beat");
            heartbeat.beat(at);
        }
        assert_eq!(alarms, [2_000, 6_000, 14_000, 24_000, 34_000, 44_000, 54_000]);
        heartbeat.begin(NOW);
        assert_eq!(heartbeat.at(), NOW + WATCH_MS);
    }

    #[test]
    fn a_thread_with_nothing_to_do_has_no_alarm() {
        assert_eq!(Schedule::default().alarm_at(NOW, NOW + 1), None);
        assert_eq!(Schedule::default().due(NOW), Due::default());
        // Timers that nothing needs any more.
        let left = Timers { turn: Some(1), parked: Some(1), outbox: Some(1), ..Timers::default() };
        assert_eq!(timers(Schedule::default(), left).alarm_at(NOW, 0), None);
        assert_eq!(timers(Schedule::default(), left).due(NOW), Due::default());
    }

    fn read(database: &rusqlite::Connection) -> Schedule {
        let mut statement = database.prepare(SELECT).unwrap();
        let parts = statement.query_map([], |row| {
            let (at, fresh_at) = (row.get(2)?, row.get(3)?);
            Ok(Part { kind: row.get(0)?, name: row.get(1)?, at, fresh_at })
        });
        Schedule::of(parts.unwrap().map(Result::unwrap))
    }

    #[test]
    fn one_statement_reads_the_state() {
        let database = rusqlite::Connection::open_in_memory().unwrap();
        database.execute_batch(crate::storage::schema::CREATE).unwrap();
        assert_eq!(read(&database), Schedule::default(), "a thread without a turn");

        let turn = |id: &str, status: &str, seq: u64, failing: &str| {
            let sql = format!(
                "INSERT INTO turns (turn_id, status, generation, resumptions, assistant_message_id, seq_first,
                  started_at, failing_since, retry_at) VALUES ('{id}', '{status}', 1, 0, 'm', {seq}, 1, {failing})"
            );
            database.execute_batch(&sql).unwrap();
            read(&database)
        };
        let open =
            |status, retry_at| Schedule { open: Some(Open { status, retry_at }), ..Schedule::default() };
        assert_eq!(turn("b", "done", 2, "NULL, NULL"), Schedule::default());
        assert_eq!(turn("d", "running", 4, "NULL, NULL"), open(TurnStatus::Running, None));
        assert_eq!(
            turn("a", "done", 1, "NULL, NULL").open,
            open(TurnStatus::Running, None).open,
            "the newest"
        );
        assert_eq!(turn("c", "running", 6, "5, 70"), open(TurnStatus::Running, Some(70)));
        assert_eq!(turn("e", "parked", 8, "5, NULL"), open(TurnStatus::Parked, Some(0)));

        let sql = "INSERT INTO timers (reason, due_at) VALUES ('turn', 1), ('parked', 2), ('queued', 3), ('outbox', 4),
              ('messages', 5);
            INSERT INTO outbox (payload, attempts, due_at) VALUES ('', 1, 10), ('', 0, 30), ('', 0, 20)";
        database.execute_batch(sql).unwrap();
        let timers =
            Timers { turn: Some(1), parked: Some(2), queued: Some(3), outbox: Some(4), messages: Some(5) };
        let all =
            Schedule { timers, news: Some(10), fresh_news: Some(20), ..open(TurnStatus::Parked, Some(0)) };
        assert_eq!(read(&database), all);
        assert!(all.has_due_news(10) && !all.has_due_news(9) && !Schedule::default().has_due_news(u64::MAX));
        database.execute_batch("DELETE FROM outbox WHERE attempts = 0").unwrap();
        assert_eq!(read(&database).fresh_news, None);
    }

    #[test]
    fn a_lost_run_is_taken_up_by_an_alarm_that_stands_close() {
        let running = open(TurnStatus::Running);
        assert_eq!(running.alarm_at(NOW, 0), Some(NOW + WATCH_MS), "an object that has just begun to live");
        assert_eq!(running.alarm_at(NOW, NOW + 10_000), Some(NOW + 10_000));
        assert_eq!(running.due(NOW), Due::default(), "it writes nothing");
        let held = Schedule {
            open: Some(Open { status: TurnStatus::Running, retry_at: Some(NOW + 60_000) }),
            ..Schedule::default()
        };
        assert_eq!(held.alarm_at(NOW, 0), Some(NOW + 60_000));
    }

    #[test]
    fn turns_that_wait_have_their_timers() {
        let table = [
            (
                TurnStatus::Parked,
                Timers { parked: Some(NOW + 1), ..Timers::default() },
                false,
                false,
                NOW + 1,
            ),
            (
                TurnStatus::Parked,
                Timers { parked: Some(NOW), ..Timers::default() },
                true,
                false,
                NOW + WATCH_MS,
            ),
            (TurnStatus::Parked, Timers::default(), true, false, NOW + WATCH_MS),
            (
                TurnStatus::Running,
                Timers { queued: Some(u64::MAX), turn: Some(NOW + 30_000), ..Timers::default() },
                false,
                false,
                NOW + 30_000,
            ),
            (
                TurnStatus::Running,
                Timers { queued: Some(u64::MAX), ..Timers::default() },
                false,
                true,
                NOW + WATCH_MS,
            ),
        ];
        for (status, rows, parked, queued, at) in table {
            let schedule = timers(open(status), rows);
            assert_eq!(schedule.due(NOW), Due { parked, queued, ..Due::default() }, "{schedule:?}");
            // Neither has a run in memory, whatever the beat was.
            assert_eq!(schedule.alarm_at(NOW, NOW + 5), Some(at), "{schedule:?}");
        }
    }

    // Issue 19, item 5.
    #[test]
    fn a_queued_message_is_a_reason_while_no_turn_is_open() {
        let of = |at| Timers { messages: Some(at), ..Timers::default() };
        let idle = |at| timers(Schedule::default(), of(at));
        assert_eq!(idle(NOW + 1).due(NOW), Due::default());
        assert_eq!(idle(NOW + 1).alarm_at(NOW, 0), Some(NOW + 1));
        assert_eq!(idle(NOW).due(NOW), Due { messages: true, ..Due::default() });
        assert_eq!(idle(NOW).alarm_at(NOW, 0), Some(NOW + WATCH_MS), "should the start fail");
        for status in [TurnStatus::Running, TurnStatus::Parked] {
            let busy = timers(open(status), Timers { parked: Some(NOW + 9), ..of(NOW) });
            let without = timers(open(status), Timers { parked: Some(NOW + 9), ..Timers::default() });
            assert_eq!(busy.due(NOW), Due::default(), "{status:?}");
            assert_eq!(busy.alarm_at(NOW, NOW + 5), without.alarm_at(NOW, NOW + 5), "{status:?}");
        }
    }

    #[test]
    fn news_are_told_when_they_are_due_and_refused_ones_when_d1_is_asked_again() {
        let of = |news, fresh_news, outbox| Schedule {
            news,
            fresh_news,
            timers: Timers { outbox, ..Timers::default() },
            ..Schedule::default()
        };
        let (past, later, retry) = (Some(NOW - 1), Some(NOW + 60_000), Some(NOW + 9_000));
        let table = [
            (of(past, past, None), Some(DueNews::All), NOW + WATCH_MS),
            (of(later, later, None), None, NOW + 60_000),
            (of(past, None, retry), None, NOW + 9_000),
            (of(past, later, retry), None, NOW + 9_000),
            (of(past, past, retry), Some(DueNews::Fresh), NOW + WATCH_MS),
            (of(past, None, past), Some(DueNews::All), NOW + WATCH_MS),
            // A refusal whose timer is gone.
            (of(past, None, None), Some(DueNews::All), NOW + WATCH_MS),
        ];
        for (schedule, news, at) in table {
            assert_eq!(schedule.due(NOW), Due { news, ..Due::default() }, "{schedule:?}");
            assert_eq!(schedule.alarm_at(NOW, 0), Some(at), "{schedule:?}");
        }
        // While a turn runs, its beat is soon enough.
        let running = Schedule { open: open(TurnStatus::Running).open, ..of(past, past, None) };
        assert_eq!(running.alarm_at(NOW, NOW + 4_000), Some(NOW + 4_000));
    }
}
