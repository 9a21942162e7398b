use super::*;

#[test]
fn a_model_that_failed_rests_and_is_then_tried_out_by_one() {
    let breaker = Breaker::default();
    assert!(breaker.is_ready("a", 0));
    breaker.ask("a").failed(1_000, None);
    assert!(!breaker.is_ready("a", 1_000 + REST_MS - 1));
    assert!(breaker.is_ready("a", 1_000 + REST_MS));
    assert!(breaker.is_ready("b", 1_000), "other models do not rest");

    let probe = breaker.ask("a");
    assert!(!breaker.is_ready("a", 1_000 + REST_MS), "one is enough to try it out");
    let other = breaker.ask("a");
    drop(other);
    assert!(!breaker.is_ready("a", 1_000 + REST_MS), "it is still tried out by the first");
    drop(probe);
    assert!(breaker.is_ready("a", 1_000 + REST_MS), "one that was given up says nothing");

    breaker.ask("a").failed(40_000, None);
    assert!(!breaker.is_ready("a", 40_000 + 2 * REST_MS - 1), "the second rest is twice as long");
    assert!(breaker.is_ready("a", 40_000 + 2 * REST_MS));
    breaker.ask("a").answered();
    breaker.ask("a").failed(200_000, None);
    assert!(breaker.is_ready("a", 200_000 + REST_MS), "an answer made it forget");
}

#[test]
fn rests_are_as_long_as_the_provider_asks_within_limits() {
    let breaker = Breaker::default();
    breaker.ask("a").failed(0, Some(REST_MS + 5));
    assert!(!breaker.is_ready("a", REST_MS + 4) && breaker.is_ready("a", REST_MS + 5));
    breaker.ask("b").failed(0, Some(u64::MAX));
    assert!(!breaker.is_ready("b", LONGEST_REST_MS - 1) && breaker.is_ready("b", LONGEST_REST_MS));
    let mut now = 0;
    for _ in 0..100 {
        breaker.ask("c").failed(now, None);
        now += LONGEST_REST_MS;
        assert!(breaker.is_ready("c", now));
    }
    assert!(!breaker.is_ready("c", now - 1));
}

#[test]
fn calls_that_fail_side_by_side_count_once() {
    let breaker = Breaker::default();
    let asked: Vec<Asking> = (0..8).map(|_| breaker.ask("a")).collect();
    for (index, asking) in asked.into_iter().enumerate() {
        asking.failed(index as u64, None);
    }
    assert!(breaker.is_ready("a", REST_MS + 7));
}

#[test]
fn the_memory_is_bounded() {
    let breaker = Breaker::default();
    for index in 0..=MODELS {
        breaker.ask(&format!("m{index}")).failed(index as u64, None);
    }
    assert_eq!(breaker.0.borrow().len(), MODELS);
    assert!(breaker.is_ready("m0", 0), "the one that rests least long is forgotten");
    assert!(!breaker.is_ready("m1", 0) && !breaker.is_ready(&format!("m{MODELS}"), 0));
}
