//! A turn that asks before it crosses a limit: a person grants it the same budget once more, or the turn ends as it would
//! have. Issue 19, 4.

use std::collections::BTreeSet;

use serde_json::json;

use super::faults::view;
use crate::journal::{Answer, Fact, TurnStop};
use crate::profiles::{Grant, Limits, MAX_GRANTS, OnLimit};
use crate::record::keys::WireIds;
use crate::testing::*;
use crate::turn::{Asked, Ran, Receipt, Turn};
use wire::protocol::{Awaited, BudgetReason, FinishReason, ReachedLimit};

fn asking(script: Script, change: impl Fn(&mut Limits)) -> Case {
    Case::new(script).limits(|limits| {
        limits.on_limit = OnLimit::Ask;
        change(limits);
    })
}

fn endless() -> Script {
    script(&[("go", vec![Reply::TextAndCalls("More. ", vec![("echo", json!({}))])])])
}

fn id(number: usize) -> String {
    WireIds::new("turn").approval(&format!("limit.{number}"))
}

/// Answers the question of this number.
fn decide(turn: &Turn, number: usize, answer: Answer) -> Receipt {
    turn.answer(&id(number), Awaited::Approval, answer).unwrap()
}

/// The questions so far.
fn asked(case: &Case) -> usize {
    case.disk.count(|entry| matches!(entry.fact, Fact::Waiting { on: Awaited::Limit, .. }))
}

fn of_limits(case: &Case) -> Vec<String> {
    case.lines().into_iter().filter(|line| line.starts_with("limit ")).collect()
}

fn ran(case: &Case, name: &str) -> usize {
    case.tools.ran.borrow().iter().filter(|ran| ran.starts_with(name)).count()
}

#[test]
fn a_turn_parks_before_the_crossing_call_and_goes_on_with_a_grant() {
    let mut case = asking(endless(), |limits| limits.llm_calls = 2);
    case.run_with(None, |_, _| {});
    assert_eq!(case.ran, Some(Ok(Ran::Parked)));
    assert_eq!(case.clock.timers(), 0, "nothing keeps its object awake");
    assert_eq!(case.model.requests.borrow().len(), 2, "the crossing call is not made");
    let lines = case.lines();
    assert_eq!(lines[lines.len() - 2..], ["limit limit.0 LlmCalls 3 of 2, 4 next, 3 left", "state waiting"]);
    let receipts = case.say(None, |turn| {
        assert_eq!(turn.waiting(&id(0), Awaited::Approval), Some(Asked::Limit));
        assert_eq!(turn.waiting(&id(1), Awaited::Approval), None);
        [decide(turn, 1, Answer::Approve), decide(turn, 0, Answer::Approve), decide(turn, 0, Answer::Deny)]
    });
    assert_eq!(receipts, [Receipt::Unknown, Receipt::Taken, Receipt::Repeated]);
    assert_eq!(case.ran, Some(Ok(Ran::Parked)), "two calls later it asks again");
    let after = case.lines().split_off(lines.len());
    assert_eq!(after[..3], ["state thinking", "limit limit.0 Approve 4 llm 400 tools", "state thinking"]);
    assert_eq!(case.model.requests.borrow().len(), 4);
    for number in 1..MAX_GRANTS as usize {
        assert_eq!(case.say(None, |turn| decide(turn, number, Answer::Approve)), Receipt::Taken);
    }
    case.check();
    assert_eq!(case.model.requests.borrow().len(), 8, "the budget, and three grants of the same");
    let lines = case.lines();
    assert_eq!(lines[lines.len() - 4..lines.len() - 2], ["budget LlmCalls 9 of 8", "error budget_exceeded"]);
    let questions: Vec<String> = of_limits(&case).into_iter().filter(|line| line.contains("next")).collect();
    assert_eq!(
        questions,
        [
            "limit limit.0 LlmCalls 3 of 2, 4 next, 3 left",
            "limit limit.1 LlmCalls 5 of 4, 6 next, 2 left",
            "limit limit.2 LlmCalls 7 of 6, 8 next, 1 left"
        ]
    );
}

#[test]
fn a_denial_and_an_expiry_end_the_turn_as_its_limit_would() {
    let plain = Case::new(endless()).limits(|limits| limits.llm_calls = 2).run();
    for answer in [Answer::Deny, Answer::Expired] {
        let mut case = asking(endless(), |limits| limits.llm_calls = 2);
        case.run_with(None, |_, _| {});
        let parked = case.lines().len();
        match answer.clone() {
            Answer::Expired => {
                case.clock.pass(case.limits.approval_wait_ms - 1);
                assert!(!case.say(None, |turn| turn.expire().unwrap()), "not before its time");
                case.clock.pass(1);
                assert!(case.say(None, |turn| turn.expire().unwrap()));
            }
            answer => assert_eq!(case.say(None, |turn| decide(turn, 0, answer)), Receipt::Taken),
        }
        case.check();
        let mut lines = case.lines();
        let told = format!("limit limit.0 {answer:?} 2 llm 200 tools");
        let parking = lines.len() - 4 - parked;
        assert_eq!(lines.drain(parked - 2..parked + parking).skip(2).next_back(), Some(told));
        assert_eq!(lines, plain.lines(), "beside the question it is the same turn");
        let (ours, theirs) = (case.end(), plain.end());
        assert_eq!((ours.history, ours.message.stop), (theirs.history, theirs.message.stop));
    }
}

// A denial stops the turn in the commit of the answer, so that no run makes another call after it.
#[test]
fn a_denial_holds_even_where_others_still_run() {
    let levels = [
        ("go", vec![Reply::Calls(vec![subtask("a"), subtask("b")]), Reply::Text("All.")]),
        ("a", vec![Reply::Calls(vec![("echo", json!({})); 3]), Reply::Text("a done")]),
        ("b", vec![Reply::Hang("b begins ")]),
    ];
    let mut case = asking(script(&levels), |limits| limits.tool_calls = 3);
    let mut heard = None;
    case.run_with(None, |turn, _| {
        if heard.is_none() && turn.waiting(&id(0), Awaited::Approval).is_some() {
            heard = Some(decide(turn, 0, Answer::Deny));
        }
    });
    assert_eq!((heard, case.ran.clone()), (Some(Receipt::Taken), Some(Ok(Ran::Ended))));
    case.check();
    let stop = case.end().message.stop.unwrap();
    assert_eq!(stop.budget, Some(ReachedLimit { reason: BudgetReason::ToolCalls, limit: 3, observed: 4 }));
    assert_eq!(stop.left.len(), 2, "{:?}", stop.left);
    assert!(case.disk.count(|entry| matches!(entry.fact, Fact::Parked { .. })) == 0);
    assert!(case.disk.count(|entry| matches!(entry.fact, Fact::ToolStarted { .. })) == 3);
}

// One question stands for all levels that wait, at any depth; the others go on.
#[test]
fn one_question_stands_for_the_whole_tree() {
    let levels = [
        ("go", vec![Reply::Calls(vec![subtask("a"), subtask("b"), subtask("c")]), Reply::Text("All.")]),
        ("a", vec![Reply::Calls(vec![("echo", json!({})); 2]), Reply::Text("a done")]),
        ("b", vec![Reply::Calls(vec![subtask("d")]), Reply::Text("b done")]),
        ("c", vec![Reply::Text("c takes a few words longer")]),
        ("d", vec![Reply::Calls(vec![("echo", json!({})); 2]), Reply::Text("d done")]),
    ];
    let mut case = asking(script(&levels), |limits| limits.tool_calls = 4);
    case.run_with(None, |_, _| {});
    assert_eq!((case.ran.clone(), asked(&case)), (Some(Ok(Ran::Parked)), 1));
    let lines = case.lines().join("\n");
    assert!(lines.contains("tool 0.2 run_subtask End \"c takes"), "{lines}");
    assert!(lines.contains("of 4, 8 next, 3 left in 0.0"), "the question names its level: {lines}");
    assert_eq!(case.say(None, |turn| decide(turn, 0, Answer::Approve)), Receipt::Taken);
    case.check();
    assert_eq!((case.end().message.content.as_str(), asked(&case)), ("All.", 1));
    assert_eq!(case.tools.ran.borrow().len(), 4, "each call ran once");
}

// Nine calls wait at a limit of two. Each grant lets two more run, and after the last one the ninth is left out.
#[test]
fn parallel_calls_take_what_a_grant_gives_and_no_more() {
    let calls = vec![("echo", json!({})); 9];
    let mut case = asking(script(&[("go", vec![Reply::Calls(calls)])]), |limits| {
        (limits.tool_calls, limits.parallel) = (2, 9);
    });
    case.run_with(None, |_, _| {});
    for number in 0..MAX_GRANTS as usize {
        assert_eq!((case.ran.clone(), asked(&case)), (Some(Ok(Ran::Parked)), number + 1));
        assert_eq!(ran(&case, "echo"), 2 * (number + 1));
        assert_eq!(case.say(None, |turn| decide(turn, number, Answer::Approve)), Receipt::Taken);
    }
    case.check();
    assert_eq!((ran(&case, "echo"), asked(&case)), (8, 3));
    assert!(case.lines().contains(&"budget ToolCalls 9 of 8".to_owned()));
}

// A person allows a call, which then waits at a limit like any other.
#[test]
fn an_allowed_call_may_wait_at_a_limit_as_well() {
    let calls = vec![("echo", json!({})), ("write", json!({}))];
    let mut case = asking(script(&[("go", vec![Reply::Calls(calls), Reply::Text("Done.")])]), |limits| {
        limits.tool_calls = 1;
    });
    let rules = serde_json::from_str(r#"{"write": "ask"}"#).unwrap();
    case.policy = case.policy.narrowed(rules, BTreeSet::new());
    case.offered_by = case.policy.clone();
    case.run_with(None, |_, _| {});
    let call = WireIds::new("turn").approval("0.1");
    let allow = |turn: &Turn| turn.answer(&call, Awaited::Approval, Answer::Approve).unwrap();
    assert_eq!(case.say(None, allow), Receipt::Taken);
    assert_eq!((case.ran.clone(), asked(&case), ran(&case, "write")), (Some(Ok(Ran::Parked)), 1, 0));
    assert_eq!(case.say(None, |turn| decide(turn, 0, Answer::Approve)), Receipt::Taken);
    case.check();
    assert_eq!((case.end().message.content.as_str(), ran(&case, "write")), ("Done.", 1));
}

#[test]
fn a_cancelled_turn_asks_no_longer() {
    let mut case = asking(endless(), |limits| limits.llm_calls = 1);
    case.run_with(None, |_, _| {});
    case.say(None, |turn| turn.stop(TurnStop::Cancelled).unwrap());
    case.check();
    assert_eq!(case.end().message.finish_reason, Some(FinishReason::Cancelled));
    assert_eq!(of_limits(&case).len(), 1, "nobody has decided");
}

fn levels() -> Script {
    script(&[
        (
            "go",
            vec![
                Reply::TextAndCalls("First. ", vec![subtask("a"), ("write", json!({})), subtask("b")]),
                Reply::Text("All."),
            ],
        ),
        ("a", vec![Reply::Calls(vec![("write", json!({})), ("echo", json!({}))]), Reply::Text("a done")]),
        ("b", vec![Reply::Calls(vec![("echo", json!({}))]), Reply::Text("b done")]),
    ])
}

/// Plays a turn to its end, with this answer to each question. The run that makes this commit dies with it.
fn killed(kill: impl Fn(usize) -> Kill, dies_after: usize, answer: &Answer) -> Case {
    let case = asking(levels(), |limits| limits.tool_calls = 4);
    played(case, kill, dies_after, answer)
}

fn played(mut case: Case, kill: impl Fn(usize) -> Kill, dies_after: usize, answer: &Answer) -> Case {
    let mut left = Some(dies_after);
    while case.disk.end.borrow().is_none() {
        let dies = left.map(|commits| kill(commits - case.disk.commits.get()));
        if case.disk.commits.get() == 0 {
            case.run_with(dies, |_, _| {});
        } else if case.is_parked() {
            // A run that dies cannot take the answer.
            let _ = case.say(dies, |turn| {
                let open = (0..9).map(id).find(|id| turn.waiting(id, Awaited::Approval).is_some()).unwrap();
                turn.answer(&open, Awaited::Approval, answer.clone())
            });
        } else {
            case.resume(dies);
        }
        left = left.filter(|_| matches!(case.ran, Some(Ok(_))));
    }
    case.check();
    case
}

#[test]
fn a_kill_at_every_commit_asks_nobody_again_and_repeats_nothing() {
    for (answer, content) in [(Answer::Approve, "First. \n\nAll."), (Answer::Deny, "First. ")] {
        let whole = killed(Kill::AfterCommits, usize::MAX / 2, &answer);
        assert_eq!((whole.end().message.content.as_str(), asked(&whole)), (content, 1));
        let commits = whole.disk.commits.get();
        assert!(commits > 6, "{commits}");
        for dies_after in 1..commits {
            for kill in [Kill::AfterCommits, Kill::Unheard] {
                let case = killed(kill, dies_after, &answer);
                let of = format!("{answer:?}: killed after commit {dies_after}");
                assert_eq!(case.end().message.content, content, "{of}");
                assert_eq!(case.end().message.stop, whole.end().message.stop, "{of}");
                assert_eq!(of_limits(&case), of_limits(&whole), "{of}");
                assert_eq!(view(&case.seen), view(&case.disk.events.borrow()), "{of}");
                assert!(ran(&case, "write") <= 2, "{of}");
                let spent = case.end().message.usage.unwrap().llm_calls as usize;
                assert!(spent >= case.model.requests.borrow().len(), "{of}: every request is paid for");
            }
        }
    }
}

// Two levels hold more tokens at once than the turn has, and one after the other do not. The second one asks, and the
// first one gives its room back. A run that takes the turn up would have room for both: the question is answered all the
// same, and nobody is left with one that no level waits for.
#[test]
fn a_kill_at_every_commit_leaves_no_question_that_nobody_waits_for() {
    let levels = || {
        script(&[
            ("go", vec![Reply::Calls(vec![subtask("a"), subtask("b")]), Reply::Text("All.")]),
            ("a", vec![Reply::Calls(vec![("echo", json!({})), ("write", json!({}))]), Reply::Text("a done")]),
            ("b", vec![Reply::Calls(vec![("echo", json!({}))]), Reply::Text("b done")]),
        ])
    };
    let new = || asking(levels(), |limits| (limits.output_tokens, limits.turn_tokens) = (4_000, Some(7_000)));
    let whole = played(new(), Kill::AfterCommits, usize::MAX / 2, &Answer::Approve);
    assert_eq!((whole.end().message.content.as_str(), asked(&whole)), ("All.", 1));
    let commits = whole.disk.commits.get();
    assert!(commits > 6, "{commits}");
    for dies_after in 1..commits {
        for kill in [Kill::AfterCommits, Kill::Unheard] {
            let case = played(new(), kill, dies_after, &Answer::Approve);
            let of = format!("killed after commit {dies_after}");
            assert_eq!(case.end().message.content, "All.", "{of}");
            let lines = of_limits(&case);
            let granted = lines.iter().filter(|line| line.contains("Approve")).count();
            assert_eq!((granted, lines.len()), (asked(&case), 2 * asked(&case)), "{of}: {lines:?}");
            assert!(granted > 0, "{of}");
            assert_eq!(view(&case.seen), view(&case.disk.events.borrow()), "{of}");
        }
    }
}

// The bounds of a request, of results and of time are not asked for. Neither is a limit of nothing, nor one that a grant
// would not raise far enough.
#[test]
fn some_limits_are_never_asked_for() {
    type Change = fn(&mut Limits);
    let bounds: [Change; 7] = [
        |limits| limits.history_tokens = 10,
        |limits| limits.turn_result_bytes = Some(1),
        |limits| limits.wall_clock_ms = 20,
        |limits| limits.llm_calls = 0,
        |limits| limits.turn_tokens = Some(10),
        |limits| {
            (limits.turn_tokens, limits.quota) = (Some(9_000), Grant { tokens: Some(9_000), microusd: None });
        },
        |limits| (limits.llm_calls, limits.on_limit) = (2, OnLimit::End),
    ];
    for (at, change) in bounds.into_iter().enumerate() {
        let case = asking(endless(), |limits| {
            (limits.output_tokens, limits.llm_calls, limits.iterations) = (4_000, 1_000, 1_000);
            limits.tool_calls = 1_000;
            change(limits);
        });
        let case = case.run();
        assert_eq!(case.end().message.finish_reason, Some(FinishReason::Budget), "{at}");
        assert_eq!(asked(&case), 0, "{at}");
    }
}

// A grant brings running time as well: the turn has all of it, and ends when that is over.
#[test]
fn a_grant_brings_running_time() {
    let mut case = asking(endless(), |limits| (limits.llm_calls, limits.wall_clock_ms) = (2, 1_000));
    case.run_with(None, |_, _| {});
    case.clock.pass(50_000);
    let mut wall_clock_ms = 0;
    case.say(None, |turn| {
        assert_eq!(turn.wall_clock_ms(), 1_000);
        let receipt = decide(turn, 0, Answer::Approve);
        wall_clock_ms = turn.wall_clock_ms();
        receipt
    });
    assert_eq!((wall_clock_ms, case.ran), (2_000, Some(Ok(Ran::Parked))));
}

// A turn that stays within its limits writes the same whether it would ask or not.
#[test]
fn a_turn_within_its_limits_costs_no_more() {
    let levels = || script(&[("go", vec![Reply::Calls(vec![("echo", json!({}))]), Reply::Text("Done.")])]);
    let (asks, ends) = (asking(levels(), |_| {}).run(), Case::new(levels()).run());
    assert_eq!(asks.lines(), ends.lines());
    assert_eq!(asks.disk.commits.get(), ends.disk.commits.get());
    assert_eq!(asks.disk.entries.borrow().len(), ends.disk.entries.borrow().len());
}
