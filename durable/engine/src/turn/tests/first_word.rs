//! Requests that end before the first word of a reply: their cost, and replies without words. Issue 43.

use super::models::{chained, row, rows};
use crate::journal::Fact;
use crate::testing::*;
use wire::model::{ModelErrorKind, ServiceTier, Usage};

/// The reservation of a turn's first model call: prompt and output.
pub(super) fn reserved(case: &Case) -> (u64, u64) {
    let held = case.disk.entries.borrow().iter().find_map(|entry| match &entry.fact {
        Fact::ModelStarted { held, .. } => Some((held.input_tokens, held.output_tokens)),
        _ => None,
    });
    held.unwrap()
}

/// All tokens of that reservation.
pub(super) fn held(case: &Case) -> u64 {
    let (prompt, output) = reserved(case);
    prompt + output
}

/// The tokens that a turn was charged, and its cost in millionths of a dollar.
pub(super) fn charged(case: &Case) -> (u64, Option<i64>) {
    let end = case.end();
    let cost_usd = end.message.usage.unwrap().cost_usd;
    (end.used.unwrap().tokens, cost_usd.map(|usd| (usd * 1e6).round() as i64))
}

// A provider that had accepted the request may charge for it, although it reports an overload.
#[test]
fn a_failed_request_that_was_accepted_is_charged_its_reservation() {
    use ModelErrorKind::{Auth, Overloaded, RateLimited};
    for kind in [Auth, Overloaded, RateLimited] {
        let script = script(&[("go", vec![Reply::AfterAccepted(vec![(0, kind)], "hello")])]);
        let case = chained(script.clone()).run();
        assert_eq!(charged(&case), (held(&case) + 12, None), "{kind:?}");
        // With room for one request there is no second one.
        let poor = chained(script).limits(|limits| limits.turn_tokens = Some(15_000)).run();
        assert_eq!(poor.end().message.content, "", "{kind:?}");
        assert_eq!(charged(&poor), (held(&poor), None), "{kind:?}");
    }
}

fn empty_then(text: &'static str, usage: Option<Usage>) -> Case {
    chained(script(&[("go", vec![Reply::Empty(usage, text)])]))
}

const COUNTED: Usage = Usage {
    input_tokens: 7,
    cached_tokens: 0,
    cache_write_tokens: 0,
    cache_write_1h_tokens: 0,
    output_tokens: 1,
    service_tier: ServiceTier::Standard,
    unknown_members: 0,
    estimated: false,
};

#[test]
fn an_empty_reply_is_repeated_and_both_are_paid() {
    let case = empty_then("hello", Some(COUNTED)).run();
    assert_eq!(
        case.lines(),
        [
            "session",
            "state thinking",
            "model 0 start",
            "chunk 0.0 \"hello\"",
            "chunk 0.0 \"\" done",
            "model 0 End stop",
            "cost 2 llm 0 tools 0 subtasks",
            "done Stop",
        ]
    );
    assert_eq!(rows(&case), [row("m1", 1, "ok", Some(20))]);
    assert_eq!(charged(&case), (20, Some(20)));
    let end = case.end();
    let (usage, tree) = (end.message.usage.unwrap(), end.message.execution_tree.unwrap());
    let told = tree.model_calls[0].usage.unwrap();
    assert_eq!((usage.input_tokens, usage.output_tokens), (17, 3));
    assert_eq!((told.input_tokens, told.output_tokens), (17, 3), "a call has all its requests");
}

// A provider may count more than the service estimates. The limit of a request's length is for estimates.
#[test]
fn an_empty_reply_that_its_provider_found_long_is_repeated() {
    let long = Usage { input_tokens: 200_000, ..COUNTED };
    let case = empty_then("hello", Some(long)).run();
    assert!(case.limits.history_tokens < 200_000);
    assert_eq!(case.end().message.content, "hello");
}

// A provider that does not count: the prompt as it was reserved, and the bytes that came.
#[test]
fn an_empty_reply_without_usage_is_estimated() {
    let case = empty_then("hello", None).run();
    assert_eq!(charged(&case).0, reserved(&case).0 + 12);
    assert!(case.end().message.usage.unwrap().estimated);
}

#[test]
fn an_empty_reply_is_the_answer_where_the_budget_has_no_room_for_another() {
    let case = empty_then("hello", Some(COUNTED)).limits(|limits| limits.llm_calls = 1).run();
    assert_eq!(
        case.lines(),
        [
            "session",
            "state thinking",
            "model 0 start",
            "model 0 End stop",
            "cost 1 llm 0 tools 0 subtasks",
            "done Stop",
        ]
    );
    assert_eq!(charged(&case), (8, Some(8)));
}

#[test]
fn an_empty_reply_survives_the_run() {
    let commits = empty_then("hello", Some(COUNTED)).run().disk.commits.get();
    for dies_after in 1..commits {
        let mut case = empty_then("hello", Some(COUNTED));
        case.run_with(Some(Kill::AfterCommits(dies_after)), |_, _| {});
        case.resume(None);
        case.check();
        assert_eq!(case.end().message.content, "hello", "killed after commit {dies_after}");
        let requests: u32 = rows(&case).iter().map(|(_, retries, ..)| retries + 1).sum();
        assert_eq!(requests, case.end().message.usage.unwrap().llm_calls, "killed after commit {dies_after}");
    }
}
