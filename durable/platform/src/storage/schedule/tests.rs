//! The alarm and the work that is due, in each state of a thread.

use super::*;
use crate::storage::schema::{SELECT_ENDED_JOURNAL, SELECT_WAITING};

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
    let open = |status, retry_at| Schedule { open: Some(Open { status, retry_at }), ..Schedule::default() };
    assert_eq!(turn("b", "done", 2, "NULL, NULL"), Schedule::default());
    assert_eq!(turn("d", "running", 4, "NULL, NULL"), open(TurnStatus::Running, None));
    assert_eq!(turn("a", "done", 1, "NULL, NULL").open, open(TurnStatus::Running, None).open, "the newest");
    assert_eq!(turn("c", "running", 6, "5, 70"), open(TurnStatus::Running, Some(70)));
    assert_eq!(turn("e", "parked", 8, "5, NULL"), open(TurnStatus::Parked, Some(0)));

    let sql =
        "INSERT INTO timers (reason, due_at) VALUES ('turn', 1), ('parked', 2), ('queued', 3), ('outbox', 4),
          ('messages', 5), ('notices', 6), ('erase', 7),
          ('title', 8);
        INSERT INTO outbox (payload, attempts, due_at) VALUES ('', 1, 10), ('', 0, 30), ('', 0, 20)";
    database.execute_batch(sql).unwrap();
    let timers = Timers {
        turn: Some(1),
        parked: Some(2),
        queued: Some(3),
        outbox: Some(4),
        messages: Some(5),
        records: None,
        notices: Some(6),
        erase: Some(7),
        title: Some(8),
    };
    let all = Schedule { timers, news: Some(10), fresh_news: Some(20), ..open(TurnStatus::Parked, Some(0)) };
    assert_eq!(read(&database), all);
    assert!(all.has_due_news(10) && !all.has_due_news(9) && !Schedule::default().has_due_news(u64::MAX));
    database.execute_batch("DELETE FROM outbox WHERE attempts = 0").unwrap();
    assert_eq!(read(&database).fresh_news, None);
}

// Issue 20, 1.
#[test]
fn the_journals_of_ended_turns_are_records_that_wait() {
    let database = rusqlite::Connection::open_in_memory().unwrap();
    database.execute_batch(crate::storage::schema::CREATE).unwrap();
    let turns = "INSERT INTO turns (turn_id, status, generation, resumptions, assistant_message_id, seq_first, started_at)
        VALUES ('b', 'done', 1, 0, 'm', 2, 1), ('e', 'parked', 1, 0, 'm', 8, 1)";
    database.execute_batch(turns).unwrap();
    // The journal of the open turn is no record; those of ended turns are, at once or when R2 is asked again.
    let journal = |id: &str| {
        let sql = format!("INSERT INTO journal (turn_id, piece, payload) VALUES ('{id}', 0, '{{}}')");
        database.execute_batch(&sql).unwrap();
        read(&database).record
    };
    assert_eq!((journal("e"), journal("b"), journal("b")), (None, Some(0), Some(0)));
    database.execute_batch("INSERT INTO timers (reason, due_at) VALUES ('records', 90)").unwrap();
    assert_eq!((read(&database).record, read(&database).timers.records), (Some(90), Some(90)));
    let oldest = |sql: &str| database.query_row(sql, [], |row| row.get::<_, String>(0));
    assert_eq!(oldest(SELECT_ENDED_JOURNAL).unwrap(), "b");
    let waiting = database.query_row(SELECT_WAITING, [], |row| Ok((row.get(0)?, row.get(1)?)));
    assert_eq!(waiting.unwrap(), ("b".to_owned(), 4_u64), "of ended turns alone");
    database.execute_batch("DELETE FROM journal WHERE turn_id = 'b'").unwrap();
    assert_eq!(read(&database).record, None, "a timer alone is no reason");
    assert!(oldest(SELECT_ENDED_JOURNAL).is_err());
}

// W-101: an address that does not answer is asked again by the alarm, beside everything else.
#[test]
fn a_notice_that_waits_is_a_reason_of_its_own() {
    let of = |at| timers(Schedule::default(), Timers { notices: Some(at), ..Timers::default() });
    assert_eq!(of(NOW).due(NOW), Due { notices: true, ..Due::default() });
    assert_eq!(of(NOW).alarm_at(NOW, 0), Some(NOW + WATCH_MS), "should the sender fail");
    assert_eq!(of(NOW + 60_000).due(NOW), Due::default());
    assert_eq!(of(NOW + 60_000).alarm_at(NOW, 0), Some(NOW + 60_000));
}

// Issue 23, 9: a title holds up nothing, and nothing holds it up.
#[test]
fn a_title_is_a_reason_whether_a_turn_is_open_or_not() {
    let of = |state, at| timers(state, Timers { title: Some(at), ..Timers::default() });
    for state in [Schedule::default(), open(TurnStatus::Running)] {
        assert_eq!(of(state, NOW + 1).due(NOW), Due::default());
        assert_eq!(of(state, NOW + 1).alarm_at(NOW, NOW + 5), Some(NOW + 1));
        assert_eq!(of(state, NOW).due(NOW), Due { title: true, ..Due::default() });
    }
    assert_eq!(of(Schedule::default(), NOW).alarm_at(NOW, 0), Some(NOW + WATCH_MS), "should the call fail");
}

// Issue 20, 1.
#[test]
fn a_record_that_waits_is_a_reason_of_its_own() {
    let of = |at| Schedule { record: at, ..Schedule::default() };
    assert_eq!(of(Some(NOW)).due(NOW), Due { records: true, ..Due::default() });
    assert_eq!(of(Some(NOW)).alarm_at(NOW, 0), Some(NOW + WATCH_MS), "should the store fail");
    assert_eq!(of(Some(NOW + 60_000)).due(NOW), Due::default());
    assert_eq!(of(Some(NOW + 60_000)).alarm_at(NOW, 0), Some(NOW + 60_000));
    // R2 may be down while D1 is up, and the other way round.
    let both = Schedule { news: Some(NOW), fresh_news: Some(NOW), ..of(Some(NOW + 60_000)) };
    assert_eq!(both.due(NOW), Due { news: Some(DueNews::All), ..Due::default() });
    assert_eq!(both.alarm_at(NOW, 0), Some(NOW + WATCH_MS));
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
        (TurnStatus::Parked, Timers { parked: Some(NOW + 1), ..Timers::default() }, false, false, NOW + 1),
        (TurnStatus::Parked, Timers { parked: Some(NOW), ..Timers::default() }, true, false, NOW + WATCH_MS),
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

// Issue 22
#[test]
fn an_unlisted_thread_is_erased_whether_a_turn_is_open_or_not() {
    let of = |at| Timers { erase: Some(at), ..Timers::default() };
    for state in [Schedule::default(), open(TurnStatus::Parked)] {
        let parked = if state.open.is_some() { Some(NOW + 90_000) } else { None };
        let timers = |at| timers(state, Timers { parked, ..of(at) });
        assert_eq!(timers(NOW + 1).due(NOW), Due::default());
        assert_eq!(timers(NOW + 1).alarm_at(NOW, 0), Some(NOW + 1));
        assert_eq!(timers(NOW).due(NOW), Due { erase: true, ..Due::default() });
        assert_eq!(timers(NOW).alarm_at(NOW, 0), Some(NOW + WATCH_MS), "should the deletion fail");
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
