//! A call that the service makes beside the turns: it uses tokens and money, and no turn's place. Issue 23, 9.

use serde_json::json;

use super::tests::{LEASE, Memory, NOW, ask, quotas};
use super::*;

/// A call of ada's in a thread that may use so many tokens.
fn call(limits: &Quotas, id: &str, tokens: u64) -> Ask {
    let amount = Amount { tokens, microusd: 0 };
    Ask {
        turn: TurnKey { user_id: "key:ada".to_owned(), thread_id: "t".to_owned(), turn_id: id.to_owned() },
        rules: limits.call_rules("key:ada", false).unwrap(),
        new_thread: None,
        lease_ms: LEASE,
        most: Grant { tokens: Some(tokens), microusd: Some(0) },
        least: amount,
        import: None,
    }
}

#[test]
fn a_call_takes_neither_the_place_nor_the_pace_of_a_turn() {
    let limits = quotas(json!({
        "user": { "concurrent_turns": 1, "turns_per_minute": 1, "tokens_per_day": 1_000 }, "threads_per_user": 1,
    }));
    let mut shelf = Memory::default();
    assert!(shelf.admit(&call(&limits, "a", 100), NOW).is_ok());
    let turn = ask(&limits, "t", "turn");
    assert!(shelf.admit(&turn, NOW).is_ok(), "no turn has started in this minute, and none runs");
    assert!(shelf.admit(&call(&limits, "b", 100), NOW).is_ok(), "a turn that runs keeps no call out");
    shelf.settle(&call(&limits, "b", 100).turn, 5, NOW);
    let other = shelf.admit(&Ask { new_thread: None, ..ask(&limits, "other", "o") }, NOW);
    assert!(matches!(other, Err(Refusal::Concurrency { .. })), "the turn still has its place");
}

#[test]
fn a_call_fits_into_the_rest_of_the_day_or_is_refused() {
    let limits =
        quotas(json!({ "user": { "tokens_per_day": 1_000 }, "tenant": { "tokens_per_day": 1_500 } }));
    let mut shelf = Memory::default();
    assert_eq!(shelf.admit(&call(&limits, "a", 1_000), NOW).unwrap().tokens, Some(1_000), "the last token");
    assert!(matches!(shelf.admit(&call(&limits, "b", 1), NOW), Err(Refusal::Spent { .. })));
    shelf.settle(&call(&limits, "a", 0).turn, 10, NOW);
    assert!(matches!(shelf.admit(&call(&limits, "c", 991), NOW), Err(Refusal::Spent { .. })));
    assert!(shelf.admit(&call(&limits, "d", 990), NOW).is_ok());
    // A call whose use nobody knows has used all that was reserved.
    let lost = Settlement { turn: call(&limits, "d", 0).turn, used: None };
    settle(&mut shelf, &lost, NOW).unwrap();
    assert!(shelf.admit(&call(&limits, "e", 1), NOW).is_err());
}

#[test]
fn the_accounts_of_a_call_are_those_with_amounts() {
    let accounts = |limits: &Quotas, user: &str, anonymous| {
        let rules = limits.call_rules(user, anonymous)?;
        Some(rules.into_iter().map(|rule| rule.account).collect::<Vec<_>>())
    };
    let turns = quotas(json!({
        "user": { "concurrent_turns": 1, "stored_bytes_per_day": 9 }, "address": { "turns_per_minute": 1 },
    }));
    assert_eq!(accounts(&turns, "key:ada", false), Some(Vec::new()), "nobody is asked");
    assert_eq!(accounts(&turns, "anonymous:bob", true), Some(Vec::new()));
    let amounts = quotas(json!({
        "user": { "tokens_per_day": 9 }, "tenant": { "usd_per_day": 1 }, "anonymous": { "tokens_per_day": 5 },
        "address": { "tokens_per_day": 1 },
    }));
    let of_ada = vec!["user:key:ada".to_owned(), "tenant".to_owned()];
    assert_eq!(accounts(&amounts, "key:ada", false), Some(of_ada));
    assert_eq!(accounts(&amounts, "anonymous:bob", true), None, "nobody knows the address");
    let open = Quotas { address: Quota::default(), ..amounts };
    let of_bob = ["user:anonymous:bob", "tenant", "anonymous"].map(str::to_owned).to_vec();
    assert_eq!(accounts(&open, "anonymous:bob", true), Some(of_bob));
}
