//! Tools that cost money: held before a call, settled with its end. N-020

use std::rc::Rc;

use serde_json::{Value, json};

use super::faults::killed_at_every_commit;
use crate::journal::{Answer, CallRecord, Fact, TurnStop};
use crate::profiles::{OnLimit, Price};
use crate::record::keys::WireIds;
use crate::testing::*;
use crate::toolbelt::{Charge, Rule, ToolSpec};
use crate::turn::Turn;
use wire::protocol::{Awaited, CallStatus, Event, FinishReason};

fn buy(arguments: Value) -> (&'static str, Value) {
    ("buy", arguments)
}

/// A turn whose model makes these calls in one reply, with this limit in millionths of a US dollar. Its model costs nothing.
fn case(calls: Vec<(&'static str, Value)>, limit: Option<u64>) -> Case {
    let mut case = Case::new(script(&[("go", vec![Reply::Calls(calls), Reply::Text("Done.")])]));
    case.price = Some(Price::flat(0.0, 0.0, 0.0));
    Rc::get_mut(&mut case.tools).unwrap().add_paid();
    case.limits(|limits| limits.turn_cost_microusd = limit)
}

/// The ends of the calls of `buy`: the result, and the cost.
fn ends(case: &Case) -> Vec<(String, Option<f64>)> {
    let ends = case.events().into_iter().filter_map(|event| match event {
        Event::ToolCallUpdate { name, status: CallStatus::End, result, cost_usd, .. } if name == "buy" => {
            Some((result.unwrap(), cost_usd))
        }
        _ => None,
    });
    ends.collect()
}

/// The cost of the turn: for the quotas, in the summary, and in the rows of telemetry.
fn costs(case: &Case) -> (u64, Option<f64>, Vec<Option<f64>>) {
    let end = case.end();
    let rows = end.calls.iter().filter_map(|row| match row {
        CallRecord::Model { model, cost_usd, .. } if model == "painter" => Some(*cost_usd),
        _ => None,
    });
    (end.used.unwrap().microusd, end.message.usage.unwrap().cost_usd, rows.collect())
}

/// A turn of each kind of call, in a subtask as well.
pub(crate) fn golden() -> Case {
    let levels = [
        (
            "go",
            vec![
                Reply::Calls(vec![buy(json!({"most": 40_000, "costs": 30_000})), subtask("a")]),
                Reply::Text("Done."),
            ],
        ),
        ("a", vec![Reply::Calls(vec![buy(json!({"costs": 1}))]), Reply::Text("No.")]),
    ];
    let mut case = Case::new(script(&levels));
    case.price = Some(Price::flat(0.0, 0.0, 0.0));
    Rc::get_mut(&mut case.tools).unwrap().add_paid();
    case.limits(|limits| limits.turn_cost_microusd = Some(100_000))
}

#[test]
fn a_call_holds_what_it_may_cost_and_settles_what_it_paid() {
    let mut case = case(vec![buy(json!({"most": 40_000, "costs": 30_000}))], Some(40_000));
    let mut most_held = 0;
    case.run_with(None, |turn, _| {
        let record = turn.record.borrow();
        most_held = most_held.max(record.budget.charged().microusd);
        assert!(record.budget.held("0.0").is_none_or(|held| held.microusd == 40_000.0));
    });
    case.check();
    assert_eq!((most_held, case.tools.spent.get()), (40_000, 30_000));
    assert_eq!(ends(&case), [("bought".to_owned(), Some(0.03))]);
    assert_eq!(costs(&case), (30_000, Some(0.03), vec![Some(0.03)]));
    let share = &case.end().message.usage.unwrap().by_model["painter"];
    assert_eq!((share.llm_calls, share.cost_usd), (0, Some(0.03)));
    let node = &case.end().message.execution_tree.unwrap().nodes[0];
    assert_eq!(node.cost_usd, Some(0.03));
    let CallRecord::Model { provider, operation_type, outcome, id, .. } = &case.end().calls[1] else {
        panic!()
    };
    assert_eq!(
        [provider, operation_type, outcome, id],
        ["shop", "buy", "ok", &WireIds::new("turn").tool_call("0.0")]
    );
}

// The last millionth counts.
#[test]
fn a_call_that_does_not_fit_is_refused_and_the_turn_goes_on() {
    let call = |most: u64| vec![buy(json!({"most": most, "costs": most}))];
    assert_eq!(costs(&case(call(40_000), Some(40_000)).run()).0, 40_000);
    let case = case(call(40_001), Some(40_000)).run();
    let [(told, cost)] = ends(&case).try_into().unwrap();
    assert_eq!(
        (told.as_str(), cost),
        (
            "This call may cost $0.040001, and the turn's limit of money has no room for that, so it was not made. Go on without it.",
            None,
        )
    );
    assert_eq!((costs(&case), case.tools.spent.get()), ((0, Some(0.0), vec![]), 0));
    assert_eq!(case.end().message.finish_reason, Some(FinishReason::Stop));
    assert_eq!(case.end().message.usage.unwrap().tool_calls, 0, "it did not run");
}

#[test]
fn calls_beside_each_other_cross_no_limit() {
    let calls = vec![buy(json!({"most": 30_000, "costs": 30_000})); 3];
    let case = case(calls, Some(60_000)).run();
    assert_eq!(case.tools.spent.get(), 60_000);
    let told: Vec<_> = ends(&case).into_iter().map(|(told, _)| told.starts_with("bought")).collect();
    assert_eq!(told.iter().filter(|bought| **bought).count(), 2);
}

#[test]
fn an_unknown_price_is_refused_where_money_is_limited() {
    let call = || vec![buy(json!({"costs": 5}))];
    let limited = case(call(), Some(1_000_000)).run();
    let [(told, cost)] = ends(&limited).try_into().unwrap();
    assert!(
        told.contains("the price of this call is not known here, so it was not made") && cost.is_none(),
        "{told}"
    );
    assert_eq!((limited.tools.spent.get(), costs(&limited)), (0, (0, Some(0.0), vec![])));
    // Elsewhere it runs. Its tool says what it paid, or the cost of the turn is unknown.
    assert_eq!(costs(&case(call(), None).run()), (5, Some(0.000005), vec![Some(0.000005)]));
    let silent = case(vec![buy(json!({"costs": 5, "silent": true}))], None).run();
    assert_eq!((costs(&silent), ends(&silent)), ((0, None, vec![None]), vec![("bought".to_owned(), None)]));
    assert_eq!(silent.end().message.usage.unwrap().by_model["painter"].cost_usd, None);
}

#[test]
fn a_call_that_does_not_say_what_it_paid_costs_all_that_it_held() {
    let silent = case(vec![buy(json!({"most": 9, "costs": 5, "silent": true}))], Some(10)).run();
    assert_eq!(costs(&silent), (9, Some(0.000009), vec![Some(0.000009)]));
    let failed = case(vec![buy(json!({"most": 9, "costs": 5, "fails": true}))], Some(10)).run();
    assert_eq!((costs(&failed), ends(&failed)[0].1), ((0, Some(0.0), vec![Some(0.0)]), Some(0.0)));
    // Its time is over, or the turn is stopped, after it has paid.
    let hangs = || vec![buy(json!({"most": 9, "costs": 5, "hangs": true}))];
    let late = case(hangs(), Some(10)).run();
    assert!(ends(&late)[0].0.contains("timed out after 30000 ms; it may have taken effect"));
    assert_eq!((costs(&late).0, ends(&late)[0].1), (9, Some(0.000009)));
    let mut stopped = case(hangs(), Some(10));
    let spent = Rc::clone(&stopped.tools.spent);
    stopped.run_with(None, |turn, _| {
        if spent.get() > 0 {
            turn.stop(TurnStop::Cancelled).unwrap();
        }
    });
    stopped.check();
    assert_eq!((costs(&stopped).0, ends(&stopped)[0].1), (9, Some(0.000009)));
    assert_eq!(stopped.end().message.finish_reason, Some(FinishReason::Cancelled));
}

#[test]
fn a_call_that_dies_is_not_repeated_and_costs_all_that_it_held() {
    let mut case = case(vec![buy(json!({"most": 40_000, "costs": 30_000}))], Some(50_000));
    // Entry 0 with the model call's start, its outcome with the call's start; the call's end is lost.
    case.run_with(Some(Kill::AfterCommits(2)), |_, _| {});
    assert_eq!(case.tools.spent.get(), 30_000);
    case.resume(None);
    case.check();
    assert_eq!(case.tools.spent.get(), 30_000);
    let [(told, cost)] = ends(&case).try_into().unwrap();
    assert_eq!(cost, Some(0.04));
    assert_eq!(
        told,
        "The call was interrupted: its result is unknown. shop:painter may have carried it out and taken money for it, at most \
         $0.04, which counts as spent. It was not repeated. Check before you make it again."
    );
    assert_eq!(costs(&case), (40_000, Some(0.04), vec![Some(0.04)]));
}

// A resumed turn holds what the journal says, whatever its tool would say now.
#[test]
fn a_price_is_frozen_when_its_call_comes() {
    let mut case = case(vec![buy(json!({"most": 40_000, "costs": 30_000}))], Some(50_000));
    case.run_with(Some(Kill::AfterCommits(2)), |_, _| {});
    for entry in case.disk.entries.borrow_mut().iter_mut() {
        if let Fact::Priced(Charge { microusd, .. }) = &mut entry.fact {
            *microusd = Some(7);
        }
    }
    case.resume(None);
    assert_eq!(costs(&case).0, 7);
}

// A deploy changes the price while a person decides.
#[test]
fn a_call_that_became_dearer_is_not_made() {
    for (held, spent) in [(15, 12), (14, 0)] {
        let mut case = case(vec![buy(json!({"most": 15, "costs": 12}))], None);
        case.offered_by.rules.unless_said("buy", Rule::Ask);
        case.run_with(None, |_, _| {});
        assert!(case.is_parked(), "{:#?}", case.lines());
        for entry in case.disk.entries.borrow_mut().iter_mut() {
            if let Fact::Priced(Charge { microusd, .. }) = &mut entry.fact {
                *microusd = Some(held);
            }
        }
        let approval = WireIds::new("turn").approval("0.0");
        case.say(None, |turn| turn.answer(&approval, Awaited::Approval, Answer::Approve).unwrap());
        case.check();
        assert_eq!((case.tools.spent.get(), costs(&case).0), (spent, spent), "{:?}", ends(&case));
    }
}

// The provider's bill wins over the estimate, so that the next call finds the room that is left.
#[test]
fn a_call_that_paid_more_than_it_held_counts_with_all_of_it() {
    let replies = |second: u64| {
        vec![
            Reply::Calls(vec![buy(json!({"most": 9, "costs": 12}))]),
            Reply::Calls(vec![buy(json!({"most": second, "costs": second}))]),
            Reply::Text("Done."),
        ]
    };
    for (second, spent) in [(8, 20), (9, 12)] {
        let mut case = Case::new(script(&[("go", replies(second))]));
        case.price = Some(Price::flat(0.0, 0.0, 0.0));
        Rc::get_mut(&mut case.tools).unwrap().add_paid();
        let case = case.limits(|limits| limits.turn_cost_microusd = Some(20)).run();
        assert_eq!(case.tools.spent.get(), spent, "{:?}", ends(&case));
    }
}

// The first call holds all the money, and gives most of it back.
#[test]
fn a_call_that_finds_no_money_waits_for_another_paid_call() {
    let calls = vec![buy(json!({"most": 10, "costs": 2})), buy(json!({"most": 8, "costs": 8}))];
    let case = case(calls, Some(10)).run();
    assert_eq!((case.tools.spent.get(), costs(&case).0), (10, 10), "{:?}", ends(&case));
}

#[test]
fn a_kill_at_every_commit_repeats_no_paid_call() {
    let calls = || {
        let levels = [
            (
                "go",
                vec![
                    Reply::Calls(vec![subtask("a"), buy(json!({"most": 9, "costs": 5}))]),
                    Reply::Calls(vec![buy(json!({"most": 3, "costs": 3})), ("echo", json!({}))]),
                    Reply::Calls(vec![("write", json!({}))]),
                    Reply::Calls(vec![("locked", json!({}))]),
                    Reply::Text("Done."),
                ],
            ),
            ("a", vec![Reply::Calls(vec![buy(json!({"most": 7, "costs": 7}))]), Reply::Text("Bought.")]),
        ];
        let mut case = Case::new(script(&levels));
        case.price = Some(Price::flat(0.0, 0.0, 0.0));
        Rc::get_mut(&mut case.tools).unwrap().add_paid();
        case.limits(|limits| limits.turn_cost_microusd = Some(1_000))
    };
    killed_at_every_commit(calls);
    for dies_after in 1..calls().run().disk.commits.get() {
        let mut case = calls();
        case.run_with(Some(Kill::AfterCommits(dies_after)), |_, _| {});
        case.resume(None);
        let (spent, told) = (case.tools.spent.get(), costs(&case).0);
        // The call that was cut off counts with 9 where it paid 5.
        assert!(spent == 15 && (15..=19).contains(&told), "{spent} {told} after commit {dies_after}");
    }
}

// A model call beside it holds all the money, and gives most of it back.
#[test]
fn a_call_that_finds_no_money_waits_for_a_model_call() {
    let levels = [
        ("go", vec![Reply::Calls(vec![subtask("a"), subtask("b")]), Reply::Text("Done.")]),
        ("a", vec![Reply::Calls(vec![buy(json!({"most": 8_000, "costs": 8_000}))]), Reply::Text("One.")]),
        ("b", vec![Reply::Calls(vec![("echo", json!({}))]), Reply::Text("Two.")]),
    ];
    let mut case = Case::seeded(script(&levels), 3);
    case.price = Some(Price::flat(0.0, 0.0, 2.0));
    Rc::get_mut(&mut case.tools).unwrap().add_paid();
    // Two calls with 8,192 tokens of output hold 32,768.
    let case = case.limits(|limits| limits.turn_cost_microusd = Some(24_000)).run();
    assert_eq!(ends(&case), [("bought".to_owned(), Some(0.008))], "{:#?}", case.lines());
}

#[test]
fn a_person_is_asked_before_a_call_crosses_the_limit() {
    let ask = |case: Case| case.limits(|limits| limits.on_limit = OnLimit::Ask);
    let call = || vec![buy(json!({"most": 15, "costs": 12}))];
    let decide = |turn: &Turn, answer| {
        turn.answer(&WireIds::new("turn").approval("limit.0"), Awaited::Approval, answer).unwrap();
    };
    for (answer, spent, reason) in
        [(Answer::Approve, 12, FinishReason::Stop), (Answer::Deny, 0, FinishReason::Budget)]
    {
        let mut case = ask(case(call(), Some(10)));
        case.run_with(None, |_, _| {});
        assert!(case.is_parked(), "{:#?}", case.lines());
        case.say(None, |turn| decide(turn, answer.clone()));
        case.check();
        assert_eq!((case.tools.spent.get(), case.end().message.finish_reason), (spent, Some(reason)));
    }
}

// Code that does not know prices would hold nothing.
#[test]
fn a_turn_with_a_tool_that_costs_money_names_its_reader() {
    let case = case(Vec::new(), None);
    assert_eq!(case.spec().least_reader, 11);
    let mut spec = case.spec();
    spec.tools.retain(|ToolSpec { costs, .. }| !costs);
    assert_eq!(spec.with_least_reader().least_reader, 2);
}
