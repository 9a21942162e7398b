use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::storage::StoreError;

pub(super) const DAY: u64 = 86_400_000;
/// Noon of some day.
pub(super) const NOW: u64 = 20_000 * DAY + DAY / 2;
pub(super) const LEASE: u64 = 200_000;

#[derive(Default)]
pub(super) struct Memory(pub(super) BTreeMap<String, (String, u64)>);

impl Shelf for Memory {
    type Error = StoreError;
    fn get(&mut self, key: &str) -> Result<Option<String>, StoreError> {
        Ok(self.0.get(key).map(|(value, _)| value.clone()))
    }
    fn put(&mut self, key: &str, value: &str, keep_until: u64) -> Result<(), StoreError> {
        self.0.insert(key.to_owned(), (value.to_owned(), keep_until));
        Ok(())
    }
    fn remove(&mut self, key: &str) -> Result<(), StoreError> {
        self.0.remove(key);
        Ok(())
    }
}

impl Memory {
    pub(super) fn admit(&mut self, ask: &Ask, now: u64) -> Admission {
        admit(self, ask, now).unwrap()
    }

    pub(super) fn settle(&mut self, turn: &TurnKey, tokens: u64, now: u64) {
        let used = Some(Amount { tokens, microusd: 0 });
        settle(self, &Settlement { turn: turn.clone(), used }, now).unwrap();
    }

    /// Runs the object's alarm.
    pub(super) fn forget_old(&mut self, now: u64) {
        self.0.retain(|_, (_, keep_until)| *keep_until > now);
    }
}

pub(super) fn quotas(json: serde_json::Value) -> Quotas {
    Quotas::from_env(|_| Some(json.to_string())).unwrap()
}

/// A turn of ada, in a thread of its own unless one is named.
pub(super) fn ask(quotas: &Quotas, thread: &str, turn: &str) -> Ask {
    Ask {
        turn: TurnKey {
            user_id: "key:ada".to_owned(),
            thread_id: thread.to_owned(),
            turn_id: turn.to_owned(),
        },
        rules: quotas.rules("key:ada", false, None),
        new_thread: quotas.threads_per_user,
        lease_ms: LEASE,
        most: Grant::default(),
        least: Amount { tokens: 10, microusd: 1 },
        import: None,
    }
}

#[test]
fn concurrent_turns_are_limited() {
    let limits = quotas(json!({ "user": { "concurrent_turns": 2 } }));
    let mut shelf = Memory::default();
    let [one, two, three] = ["1", "2", "3"].map(|name| ask(&limits, name, name));
    assert_eq!(shelf.admit(&one, NOW), Ok(Grant::default()));
    assert_eq!(shelf.admit(&two, NOW), Ok(Grant::default()));
    assert_eq!(shelf.admit(&three, NOW), Err(Refusal::Concurrency { limit: 2, retry_after_s: 5 }));
    // The turn asks again, because the answer was lost: its amounts are counted once.
    assert!(shelf.admit(&one, NOW).is_ok());
    shelf.settle(&one.turn, 0, NOW);
    assert!(shelf.admit(&three, NOW).is_ok());
    // The end is told twice: the place comes back once.
    shelf.settle(&one.turn, 0, NOW);
    assert!(shelf.admit(&one, NOW).is_err());
}

#[test]
fn a_newer_message_takes_the_place_of_its_threads_turn() {
    let limits = quotas(json!({ "user": { "concurrent_turns": 1 } }));
    let mut shelf = Memory::default();
    let (old, new) = (ask(&limits, "t", "old"), ask(&limits, "t", "new"));
    assert!(shelf.admit(&old, NOW).is_ok());
    assert!(
        shelf.admit(&new, NOW).is_ok(),
        "the old turn was stopped, though the quotas have not heard of it yet"
    );
    shelf.settle(&old.turn, 0, NOW);
    assert!(shelf.admit(&ask(&limits, "other", "1"), NOW).is_err(), "the new one runs");
}

#[test]
fn the_place_of_a_lost_turn_comes_free_and_a_resumed_turn_keeps_its_own() {
    let limits = quotas(json!({ "user": { "concurrent_turns": 1, "tokens_per_day": 1_000 } }));
    let mut shelf = Memory::default();
    let (lost, next, third) = (ask(&limits, "1", "1"), ask(&limits, "2", "2"), ask(&limits, "3", "3"));
    assert!(shelf.admit(&lost, NOW).is_ok());
    assert!(shelf.admit(&next, NOW + LEASE - 1).is_err());
    let grant = shelf.admit(&next, NOW + LEASE).unwrap();
    assert_eq!(grant.tokens, Some((1_000 - 250) / 4), "the reservation of the lost turn stays spent");

    // The turn was not lost after all: it runs on, and no new turn starts before one of both is over.
    renew(&mut shelf, &lost.turn, LEASE, NOW + LEASE).unwrap();
    shelf.settle(&next.turn, 0, NOW + LEASE);
    assert!(shelf.admit(&third, NOW + LEASE).is_err());
    shelf.settle(&lost.turn, 100, NOW + LEASE + 1);
    assert_eq!(shelf.admit(&third, NOW + LEASE + 1).unwrap().tokens, Some(900 / 4));
    // The accounts ignore a turn that they do not know.
    renew(&mut shelf, &ask(&limits, "x", "x").turn, LEASE, NOW).unwrap();
    shelf.settle(&ask(&limits, "x", "x").turn, 5, NOW);
}

#[test]
fn turns_per_minute_are_limited() {
    let limits = quotas(json!({ "user": { "turns_per_minute": 3 } }));
    let mut shelf = Memory::default();
    let mut start = |name: &str, now| shelf.admit(&ask(&limits, name, name), now);
    for name in ["1", "2", "3"] {
        assert!(start(name, NOW).is_ok(), "{name}");
    }
    assert_eq!(start("4", NOW), Err(Refusal::Rate { limit: 3, retry_after_s: 20 }));
    assert_eq!(start("4", NOW + 5_500), Err(Refusal::Rate { limit: 3, retry_after_s: 15 }));
    assert!(start("4", NOW + 20_000).is_ok());
    assert!(start("5", NOW + 20_000).is_err());
    // A minute of silence fills the bucket, a longer one no further.
    for name in ["5", "6", "7"] {
        assert!(start(name, NOW + 500_000).is_ok(), "{name}");
    }
    assert!(start("8", NOW + 500_000).is_err());
}

#[test]
fn tokens_per_day_are_limited() {
    let limits = quotas(json!({ "user": { "tokens_per_day": 100 } }));
    let mut shelf = Memory::default();
    let mut granted = Vec::new();
    let mut count = 0;
    let midnight = NOW + DAY / 2;
    loop {
        count += 1;
        let name = count.to_string();
        match shelf.admit(&ask(&limits, &name, &name), NOW) {
            Ok(grant) => granted.push(grant.tokens.unwrap()),
            Err(refusal) => {
                assert_eq!(refusal, Refusal::Spent { retry_after_s: DAY / 2_000 });
                break;
            }
        }
    }
    // Each turn gets a quarter of the rest of the day, but at least the least that it can use, and never more than the
    // rest.
    assert_eq!(granted, [25, 18, 14, 10, 10, 10, 10]);
    shelf.settle(&ask(&limits, "1", "1").turn, 5, NOW);
    assert_eq!(shelf.admit(&ask(&limits, "n", "n"), NOW).unwrap().tokens, Some(10));
    // The next day is new, and the amounts of the old day do not touch it.
    assert_eq!(shelf.admit(&ask(&limits, "d", "d"), midnight).unwrap().tokens, Some(25));
    shelf.settle(&ask(&limits, "2", "2").turn, 0, midnight);
    assert_eq!(shelf.admit(&ask(&limits, "e", "e"), midnight).unwrap().tokens, Some(18));
}

#[test]
fn the_narrowest_account_decides() {
    let limits = quotas(json!({
        "user": { "tokens_per_day": 1_000 }, "tenant": { "tokens_per_day": 400, "usd_per_day": 0.5 },
    }));
    let mut shelf = Memory::default();
    let first = shelf.admit(&ask(&limits, "1", "1"), NOW).unwrap();
    assert_eq!(first, Grant { tokens: Some(100), microusd: Some(125_000) });
    let own = Grant { tokens: Some(40), microusd: None };
    let second = shelf.admit(&Ask { most: own, ..ask(&limits, "2", "2") }, NOW).unwrap();
    assert_eq!(second, Grant { tokens: Some(40), microusd: Some(93_750) });
}

#[test]
fn a_refusal_takes_nothing() {
    let limits = quotas(json!({
        "user": { "turns_per_minute": 1, "tokens_per_day": 100, "concurrent_turns": 5 },
        "tenant": { "concurrent_turns": 1 }, "threads_per_user": 9,
    }));
    let mut shelf = Memory::default();
    shelf.admit(&ask(&limits, "1", "1"), NOW).unwrap();
    let before = shelf.0.clone();
    for now in [NOW, NOW + 70_000] {
        shelf.admit(&ask(&limits, "2", "2"), now).unwrap_err();
        assert_eq!(shelf.0, before);
    }
}

#[test]
fn threads_per_user_are_limited() {
    let limits = quotas(json!({ "threads_per_user": 2 }));
    let mut shelf = Memory::default();
    let thread = |id: &str| ThreadKey { user_id: "key:ada".to_owned(), thread_id: id.to_owned() };
    assert!(shelf.admit(&ask(&limits, "a", "1"), NOW).is_ok());
    assert!(shelf.admit(&ask(&limits, "a", "2"), NOW).is_ok(), "the same thread again");
    assert!(shelf.admit(&ask(&limits, "b", "3"), NOW).is_ok());
    assert_eq!(shelf.admit(&ask(&limits, "c", "4"), NOW), Err(Refusal::Threads { limit: 2 }));
    assert!(shelf.admit(&Ask { new_thread: None, ..ask(&limits, "c", "5") }, NOW).is_ok(), "no new one");
    for _ in 0..2 {
        forget_thread(&mut shelf, &thread("a")).unwrap();
    }
    forget_thread(&mut shelf, &thread("z")).unwrap();
    assert!(shelf.admit(&ask(&limits, "c", "6"), NOW).is_ok());
    assert!(shelf.admit(&ask(&limits, "d", "7"), NOW).is_err());
    // Other users have their own limits.
    let mut bob = ask(&limits, "d", "8");
    bob.turn.user_id = "key:bob".to_owned();
    assert!(shelf.admit(&bob, NOW).is_ok());
}

#[test]
fn old_rows_are_forgotten() {
    let limits = quotas(json!({ "user": { "concurrent_turns": 1, "turns_per_minute": 9 } }));
    let mut shelf = Memory::default();
    let turn = ask(&limits, "1", "1");
    shelf.admit(&turn, NOW).unwrap();
    shelf.forget_old(NOW + LEASE);
    assert_eq!(shelf.0.len(), 2, "an account and a lease");
    shelf.forget_old(NOW + 3 * DAY);
    assert_eq!(shelf.0.len(), 0);
    shelf.settle(&turn.turn, 1, NOW + 3 * DAY);
    assert_eq!(shelf.0.len(), 0);
}

#[test]
fn a_turn_is_charged_to_its_accounts() {
    let limits = quotas(json!({
        "user": { "concurrent_turns": 1 }, "tenant": { "concurrent_turns": 2 },
        "anonymous": { "concurrent_turns": 3 }, "address": { "concurrent_turns": 4 },
    }));
    let accounts = |anonymous, address| {
        let rules = limits.rules("i:u", anonymous, address);
        rules.into_iter().map(|rule| rule.account).collect::<Vec<_>>()
    };
    assert_eq!(accounts(false, Some("1.2.3.4")), ["user:i:u", "tenant"]);
    assert_eq!(accounts(true, None), ["user:i:u", "tenant", "anonymous"]);
    for (address, account) in [
        ("1.2.3.4", "address:1.2.3.4"),
        ("::ffff:1.2.3.4", "address:1.2.3.4"),
        ("2001:db8:1:2:3:4:5:6", "address:2001:db8:1:2::/64"),
        ("2001:db8:1:2::", "address:2001:db8:1:2::/64"),
        ("nonsense", "address:unknown"),
    ] {
        assert_eq!(accounts(true, Some(address)), ["user:i:u", "tenant", "anonymous", account], "{address}");
    }
    let one = quotas(json!({ "address": { "concurrent_turns": 4 } }));
    assert_eq!(one.rules("i:u", false, Some("1.2.3.4")), []);
}

#[test]
fn the_variable_is_checked() {
    for empty in ["", " ", "{}", r#"{"user": {}}"#] {
        assert!(Quotas::from_env(|_| Some(empty.to_owned())).unwrap().is_empty(), "{empty:?}");
    }
    assert!(Quotas::from_env(|_| None).unwrap().is_empty());
    for good in [
        json!({ "user": { "concurrent_turns": 0, "turns_per_minute": 60_000, "usd_per_day": 0 } }),
        json!({ "threads_per_user": 10_000, "address": { "concurrent_turns": 10_000 } }),
    ] {
        assert!(!quotas(good.clone()).is_empty(), "{good}");
    }
    for bad in [
        json!([]),
        json!({ "users": {} }),
        json!({ "user": { "turns": 1 } }),
        json!({ "user": { "concurrent_turns": -1 } }),
        json!({ "user": { "concurrent_turns": 10_001 } }),
        json!({ "user": { "turns_per_minute": 0 } }),
        json!({ "user": { "turns_per_minute": 60_001 } }),
        json!({ "tenant": { "usd_per_day": -1 } }),
        json!({ "tenant": { "tokens_per_day": "many" } }),
        json!({ "threads_per_user": 10_001 }),
    ] {
        assert!(Quotas::from_env(|_| Some(bad.to_string())).unwrap_err().contains("QUOTAS"), "{bad}");
    }
    assert!(quotas(json!({ "address": { "usd_per_day": 1 } })).limits_money());
    assert!(!quotas(json!({ "user": { "tokens_per_day": 1 } })).limits_money());
}

#[derive(Clone, Debug)]
enum Act {
    Start {
        thread: u8,
        turn: u8,
    },
    Resume {
        thread: u8,
        turn: u8,
    },
    /// The turn uses this part of its grant, in percent.
    End {
        thread: u8,
        turn: u8,
        used: u64,
    },
    Pass {
        ms: u64,
    },
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let turn = || (0..4_u8, 0..4_u8);
    let act = prop_oneof![
        4 => turn().prop_map(|(thread, turn)| Act::Start { thread, turn }),
        1 => turn().prop_map(|(thread, turn)| Act::Resume { thread, turn }),
        3 => (turn(), 0..=100_u64).prop_map(|((thread, turn), used)| Act::End { thread, turn, used }),
        2 => prop_oneof![Just(1_u64), Just(20_000), Just(LEASE), Just(DAY)].prop_map(|ms| Act::Pass { ms }),
    ];
    prop::collection::vec(act, 0..80)
}

proptest! {
    // Users act at random and messages are lost at random. Turns that stay within their grants never use more than the
    // quota of the day in which they started.
    #[test]
    fn a_day_never_costs_more_than_its_quota(acts in acts(), limit in 1_u64..500) {
        let limits = quotas(json!({
            "user": { "tokens_per_day": limit, "concurrent_turns": 3 }, "tenant": { "tokens_per_day": limit },
        }));
        let mut shelf = Memory::default();
        let mut now = NOW;
        // Of each admitted turn: its day, its grant, and when its lease is forgotten.
        let mut turns: BTreeMap<(u8, u8), (u64, u64, u64)> = BTreeMap::new();
        let mut ended: Vec<(u64, u64)> = Vec::new();
        for act in acts {
            match act {
                Act::Start { thread, turn } => {
                    let ask = ask(&limits, &thread.to_string(), &turn.to_string());
                    if let Ok(grant) = shelf.admit(&ask, now) {
                        let granted = grant.tokens.unwrap();
                        let known = turns.entry((thread, turn)).or_insert((now / DAY, granted, now + LEASE + 2 * DAY));
                        prop_assert_eq!(known.1, granted, "asked twice, answered alike");
                    }
                }
                Act::Resume { thread, turn } => {
                    let key = ask(&limits, &thread.to_string(), &turn.to_string()).turn;
                    renew(&mut shelf, &key, LEASE, now).unwrap();
                    turns.entry((thread, turn)).and_modify(|known| known.2 = now + LEASE + 2 * DAY);
                }
                Act::End { thread, turn, used } => {
                    if let Some((day, granted, _)) = turns.remove(&(thread, turn)) {
                        let used = granted * used / 100;
                        ended.push((day, used));
                        let key = ask(&limits, &thread.to_string(), &turn.to_string()).turn;
                        shelf.settle(&key, used, now);
                        shelf.settle(&key, used, now);
                    }
                }
                Act::Pass { ms } => {
                    now += ms;
                    shelf.forget_old(now);
                    // A turn that is never settled has used its whole grant, and comes back as another turn.
                    turns.retain(|_, (day, granted, forgotten_at)| {
                        let old = *forgotten_at <= now;
                        if old { ended.push((*day, *granted)); }
                        !old
                    });
                }
            }
            let running = turns.values().map(|(day, granted, _)| (*day, *granted));
            let mut by_day: BTreeMap<u64, u64> = BTreeMap::new();
            for (day, tokens) in running.chain(ended.iter().copied()) {
                *by_day.entry(day).or_default() += tokens;
            }
            prop_assert!(by_day.values().all(|tokens| *tokens <= limit), "{by_day:?}");
        }
    }
}
