//! Places and amounts come back from a turn that did not start, and from one that waits for somebody outside.

use serde_json::json;

use super::tests::{DAY, LEASE, Memory, NOW, ask, quotas};
use super::*;

const WAIT: u64 = 7 * DAY;

fn going_on(quotas: &Quotas, turn: &TurnKey, parking: u32) -> GoOn {
    GoOn { turn: turn.clone(), parking, lease_ms: LEASE, quotas: *quotas }
}

impl Memory {
    fn park(&mut self, turn: &TurnKey, parking: u32, now: u64) {
        park(self, turn, parking, WAIT, now).unwrap();
    }

    fn go_on(&mut self, ask: &GoOn, now: u64) -> Verdict {
        go_on(self, ask, now).unwrap()
    }
}

#[test]
fn a_turn_that_did_not_start_leaves_nothing_behind() {
    let limits = quotas(json!({
        "user": { "concurrent_turns": 1, "turns_per_minute": 1, "tokens_per_day": 100, "usd_per_day": 1 },
        "tenant": { "turns_per_minute": 2, "tokens_per_day": 100 }, "threads_per_user": 1,
    }));
    let mut shelf = Memory::default();
    let first = ask(&limits, "t", "first");
    let granted = shelf.admit(&first, NOW).unwrap();
    for refused in 0..10 {
        let turn = ask(&limits, "t", &refused.to_string());
        release(&mut shelf, &first.turn, NOW).unwrap();
        assert_eq!(shelf.admit(&turn, NOW), Ok(granted), "as if the one before had never asked");
        for _ in 0..2 {
            release(&mut shelf, &turn.turn, NOW).unwrap();
        }
    }
    assert_eq!(shelf.admit(&ask(&limits, "other", "1"), NOW), Ok(granted), "its thread was never counted");
    assert_eq!(
        shelf.admit(&ask(&limits, "t", "1"), NOW + DAY),
        Err(Refusal::Threads { limit: 1 }),
        "a turn that started keeps its thread"
    );
}

#[test]
fn a_refused_turn_does_not_take_a_thread_that_is_there() {
    let limits = quotas(json!({ "threads_per_user": 1, "user": { "concurrent_turns": 9 } }));
    let mut shelf = Memory::default();
    assert!(shelf.admit(&ask(&limits, "t", "1"), NOW).is_ok());
    assert!(shelf.admit(&ask(&limits, "t", "2"), NOW).is_ok());
    release(&mut shelf, &ask(&limits, "t", "2").turn, NOW).unwrap();
    assert_eq!(shelf.admit(&ask(&limits, "u", "3"), NOW), Err(Refusal::Threads { limit: 1 }));
}

// Parking is no way around `concurrent_turns`.
#[test]
fn of_600_parked_turns_only_the_limit_goes_on() {
    let limits = quotas(json!({ "user": { "concurrent_turns": 4 }, "tenant": { "concurrent_turns": 3 } }));
    let mut shelf = Memory::default();
    let turns: Vec<TurnKey> = (0..600)
        .map(|number| {
            let ask = ask(&limits, &number.to_string(), "1");
            shelf.admit(&ask, NOW).unwrap();
            shelf.park(&ask.turn, 1, NOW);
            ask.turn
        })
        .collect();
    let mut waiting = turns.clone();
    let mut now = NOW + DAY;
    let mut rounds = 0;
    while !waiting.is_empty() {
        let (run, refused): (Vec<_>, Vec<_>) =
            waiting.into_iter().partition(|turn| shelf.go_on(&going_on(&limits, turn, 1), now).is_ok());
        assert_eq!(run.len(), 3);
        // The answer was lost: the turn still has its place.
        assert!(shelf.go_on(&going_on(&limits, &run[0], 1), now).is_ok());
        run.iter().for_each(|turn| shelf.settle(turn, 0, now));
        (waiting, now, rounds) = (refused, now + 30_000, rounds + 1);
    }
    assert_eq!(rounds, 200);
}

#[test]
fn messages_about_parking_may_come_late() {
    let limits = quotas(json!({ "user": { "concurrent_turns": 1, "tokens_per_day": 1_000 } }));
    let mut shelf = Memory::default();
    let (parked, other) = (ask(&limits, "1", "1"), ask(&limits, "2", "2"));
    let first_of = |turn: &Ask, number| going_on(&limits, &turn.turn, number);
    assert!(shelf.admit(&parked, NOW).is_ok());
    // The turn went on before the object heard that it was parked.
    assert!(shelf.go_on(&first_of(&parked, 1), NOW).is_ok());
    shelf.park(&parked.turn, 1, NOW);
    assert!(shelf.admit(&other, NOW).is_err(), "it runs");
    shelf.park(&parked.turn, 2, NOW);
    assert_eq!(shelf.admit(&other, NOW).unwrap().tokens, Some(750 / 4), "its reservation stays");
    assert!(shelf.go_on(&first_of(&parked, 1), NOW).is_ok(), "this was about the parking before");
    shelf.settle(&other.turn, 0, NOW);
    assert!(shelf.admit(&ask(&limits, "3", "3"), NOW).is_ok(), "it took no place");
    let refusal = Err(Refusal::Concurrency { limit: 1, retry_after_s: 5 });
    assert_eq!(shelf.go_on(&first_of(&parked, 2), NOW), refusal);
    // The turn was stopped while it waited: it has nothing to give back.
    shelf.settle(&parked.turn, 0, NOW);
    assert!(shelf.go_on(&first_of(&parked, 2), NOW).is_ok());
    shelf.settle(&ask(&limits, "3", "3").turn, 0, NOW);
    assert!(shelf.admit(&ask(&limits, "4", "4"), NOW).is_ok());
}

#[test]
fn a_parked_turn_is_known_as_long_as_it_waits() {
    let limits = quotas(json!({ "user": { "concurrent_turns": 1 } }));
    let mut shelf = Memory::default();
    let (parked, other) = (ask(&limits, "1", "1"), ask(&limits, "2", "2"));
    assert!(shelf.admit(&parked, NOW).is_ok());
    shelf.park(&parked.turn, 1, NOW);
    let late = NOW + WAIT;
    shelf.forget_old(late);
    assert!(shelf.admit(&other, late).is_ok());
    assert!(shelf.go_on(&going_on(&limits, &parked.turn, 1), late).is_err());
    // Without limits, every turn goes on.
    assert!(shelf.go_on(&going_on(&Quotas::default(), &parked.turn, 1), late).is_ok());
}

#[test]
fn each_account_has_its_own_limits() {
    let limits = quotas(json!({
        "user": { "concurrent_turns": 1 }, "tenant": { "concurrent_turns": 2 },
        "anonymous": { "concurrent_turns": 3 }, "address": { "concurrent_turns": 4 },
    }));
    let rules = limits.rules("i:u", true, Some("::1"));
    assert_eq!(rules.len(), 4);
    for Rule { account, quota } in rules {
        assert_eq!(limits.of_account(&account), quota, "{account}");
    }
}
