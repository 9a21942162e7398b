//! The models that a turn asks: chains, failed requests, a conversation that is too long for the model.

use serde_json::json;

use crate::journal::{CallRecord, Fact, FailureRecord, TurnStop};
use crate::profiles::{Chain, Price, PricedModel};
use crate::testing::*;
use wire::model::{Capabilities, Message, ModelErrorKind};
use wire::protocol::Event;

fn priced(model: &str, price: f64) -> PricedModel {
    let price = Some(Price::flat(price, price, price));
    PricedModel { price, ..offer(model, Capabilities::default()) }
}

/// A turn with a chain of three models.
pub(super) fn chained(script: Script) -> Case {
    let mut case = Case::new(script);
    case.price = Some(Price::flat(1.0, 1.0, 1.0));
    case.then = vec![priced("m2", 2.0), priced("m3", 100.0)];
    case
}

/// The models that the start and end events of the calls name.
fn borders(case: &Case) -> Vec<String> {
    let border = |event: &Event| match event {
        Event::ModelCallUpdate { model, status, .. } => Some(format!("{status:?} {model}")),
        _ => None,
    };
    case.events().iter().filter_map(border).collect()
}

/// Each call's row of telemetry: model, retries, outcome, millionths of a dollar.
pub(super) fn rows(case: &Case) -> Vec<(String, u32, String, Option<i64>)> {
    let row = |call: &CallRecord| match call {
        CallRecord::Model { model, retries, outcome, cost_usd, .. } => {
            let microusd = cost_usd.map(|usd| (usd * 1e6).round() as i64);
            Some((model.clone(), *retries, outcome.clone(), microusd))
        }
        _ => None,
    };
    case.end().calls.iter().filter_map(row).collect()
}

pub(super) fn row(
    model: &str,
    retries: u32,
    outcome: &str,
    microusd: Option<i64>,
) -> (String, u32, String, Option<i64>) {
    (model.to_owned(), retries, outcome.to_owned(), microusd)
}

// N-172 N-142 B-007
#[test]
fn the_model_that_answered_is_named_and_charged() {
    use ModelErrorKind::{Auth, Overloaded, RateLimited};
    let failures = vec![(0, Overloaded), (0, RateLimited), (1, Auth)];
    let case = chained(script(&[("go", vec![Reply::After(failures, "hello")])]));
    case.model.answers_at.set(2);
    let case = case.run();
    assert_eq!(borders(&case), ["Start m1", "End m3"]);
    // 10 input and 2 output tokens at 100 dollars for a million.
    assert_eq!(rows(&case), [row("m3", 3, "ok", Some(1_200))]);
    let usage = case.end().message.usage.unwrap();
    assert_eq!((usage.llm_calls, usage.input_tokens), (4, 10), "each request is a call of the budget");
    assert!((usage.cost_usd.unwrap() - 1.2e-3).abs() < 1e-9);
    let told = &case.end().message.execution_tree.unwrap().model_calls[0];
    assert_eq!(
        (told.model.as_str(), told.cost_usd, told.usage.unwrap().output_tokens),
        ("m3", usage.cost_usd, 2)
    );
    let shares: Vec<_> = usage
        .by_model
        .iter()
        .map(|(model, share)| (model.as_str(), share.llm_calls, share.input_tokens))
        .collect();
    assert_eq!(shares, [("m1", 2, 0), ("m2", 1, 0), ("m3", 1, 10)]);
    let retried = |entry: &crate::journal::Entry| match &entry.fact {
        Fact::ModelRetried { requests, failed, asked, .. } => Some((*requests, *failed, *asked)),
        _ => None,
    };
    let retries: Vec<_> = case.disk.entries.borrow().iter().filter_map(retried).collect();
    assert_eq!(retries, [(1, 0, 0), (2, 0, 1), (3, 1, 2)]);
}

// N-142 N-195
#[test]
fn no_request_is_made_beyond_the_budget() {
    use ModelErrorKind::Overloaded;
    let failures = || vec![(0, Overloaded), (0, Overloaded), (1, Overloaded)];
    let play = |llm_calls| {
        let case = chained(script(&[("go", vec![Reply::After(failures(), "hello")])]));
        case.limits(|limits| limits.llm_calls = llm_calls).run()
    };
    let enough = play(4);
    assert_eq!(enough.lines().last().unwrap(), "done Stop");
    let short = play(3);
    let lines = short.lines();
    let end = ["error provider_overloaded", "cost 3 llm 0 tools 0 subtasks", "done Error"];
    assert_eq!(lines[lines.len() - 3..], end, "the failure is why it ends");
    assert_eq!(rows(&short), [row("m2", 2, "provider_overloaded", Some(0))]);
    assert_eq!(short.model.aborted.get(), 1);
}

/// The rows of the error log.
fn failures(case: &Case) -> Vec<String> {
    let line = |call: &CallRecord| match call {
        CallRecord::Failure(FailureRecord { component, stage, tool_name, code, message, .. }) => {
            Some(format!("{component} {stage} {} {code} {message}", tool_name.as_deref().unwrap_or("-")))
        }
        _ => None,
    };
    case.end().calls.iter().filter_map(line).collect()
}

// B-028 B-035 B-073
#[test]
fn failures_leave_rows_up_to_a_limit() {
    use ModelErrorKind::{Network, RateLimited};
    let rounds = vec![
        Reply::Calls(vec![("fail", json!({})), ("secret", json!({})), ("echo", json!({}))]),
        Reply::Fail("half", RateLimited),
    ];
    let case = Case::new(script(&[("go", rounds)])).run();
    let rows = failures(&case);
    assert!(rows[0].starts_with("tool dispatch secret tool_failed "), "{rows:?}");
    assert!(rows[1].starts_with("tool run fail tool_failed "), "{rows:?}");
    assert_eq!(rows[2..], ["provider stream - provider_rate_limited scripted:m1: the provider said no"]);

    let case = chained(script(&[("go", vec![Reply::After(vec![(0, Network)], "ok")])]));
    case.model.answers_at.set(1);
    let retried = ["provider first_byte - provider_network scripted:m1: the provider said no"];
    assert_eq!(failures(&case.run()), retried);

    let endless = || script(&[("go", vec![Reply::Calls(vec![("fail", json!({})); 8])])]);
    let many = Case::new(endless()).run();
    assert_eq!(failures(&many).len(), 50);
    let budget = Case::new(endless()).limits(|limits| limits.tool_calls = 8).run();
    assert_eq!(failures(&budget)[8..], ["turn budget - budget_exceeded ToolCalls: 9 of 8"]);
    let cancelled = {
        let mut case = Case::new(script(&[("go", vec![Reply::Hang("so")])]));
        case.run_with(None, |turn, _| turn.stop(TurnStop::Cancelled).unwrap());
        case
    };
    assert_eq!(failures(&cancelled), [""; 0], "somebody wanted that");
}

#[test]
fn failed_requests_survive_the_run() {
    use ModelErrorKind::Overloaded;
    let failures = vec![(1, Overloaded), (2, Overloaded)];
    let script = script(&[("go", vec![Reply::After(failures, "hello")])]);
    let whole = chained(script.clone()).run();
    let commits = whole.disk.commits.get();
    for dies_after in 1..commits {
        let mut case = chained(script.clone());
        case.run_with(Some(Kill::AfterCommits(dies_after)), |_, _| {});
        case.resume(None);
        case.check();
        assert_eq!(case.end().message.content, "hello", "killed after commit {dies_after}");
        let usage = case.end().message.usage.unwrap();
        // The requests of the lost run count, and their cost is unknown.
        assert_eq!(usage.cost_usd.is_some(), usage.llm_calls == 3, "killed after commit {dies_after}");
        let rows = rows(&case);
        assert_eq!(rows.iter().map(|(_, retries, ..)| retries + 1).sum::<u32>(), usage.llm_calls);
        let outcomes: Vec<&str> = rows.iter().map(|(_, _, outcome, _)| outcome.as_str()).collect();
        let expected: &[&str] = if usage.llm_calls == 3 { &["ok"] } else { &["interrupted", "ok"] };
        assert_eq!(outcomes, expected, "killed after commit {dies_after}");
    }
}

// Before a model has answered, the call reserves the price of the dearest in the chain.
#[test]
fn money_is_reserved_at_the_dearest_price_and_settled_at_the_paid_one() {
    let endless = || script(&[("go", vec![Reply::Calls(vec![("echo", json!({}))])])]);
    let play = |microusd| {
        let case = chained(endless()).limits(|limits| limits.turn_cost_microusd = Some(microusd));
        case.run()
    };
    // More than 3 000 bytes of input, each of which may be a token, at 100 dollars.
    let poor = play(300_000);
    assert!(poor.model.requests.borrow().is_empty());
    let rich = play(1_000_000);
    assert_eq!(
        rich.model.requests.borrow().len(),
        20,
        "each call was settled at one dollar, not at a hundred"
    );
}

#[test]
fn subtasks_ask_their_own_models() {
    let mut case = chained(script(&[
        ("go", vec![Reply::Calls(vec![subtask("a")]), Reply::Text("Done.")]),
        ("a", vec![Reply::After(vec![(0, ModelErrorKind::RateLimited)], "ok")]),
    ]));
    case.model.answers_at.set(1);
    case.subtask_chain = Some(Chain { first: priced("s1", 3.0), then: vec![priced("s2", 4.0)] });
    let case = case.run();
    assert_eq!(borders(&case), ["Start m1", "End m1", "Start s1", "End s2", "Start m1", "End m1"]);
    let expected = [row("m1", 0, "ok", Some(12)), row("s2", 1, "ok", Some(48)), row("m1", 0, "ok", Some(12))];
    assert_eq!(rows(&case), expected);
    let asked: Vec<String> =
        case.model.requests.borrow().iter().map(|request| request.model.model.clone()).collect();
    assert_eq!(asked, ["m1", "s1", "m1"]);
    let end = case.end();
    let profiles = end.calls.iter().filter_map(|call| match call {
        CallRecord::Model { profile, .. } => Some(profile.clone()),
        _ => None,
    });
    assert_eq!(profiles.collect::<Vec<_>>(), ["primary", "subagent", "primary"]);
}

#[test]
fn a_model_call_gets_the_deadline_of_its_turn() {
    let mut case = Case::new(script(&[("go", vec![Reply::Hang("so ")])]));
    case.run_with(Some(Kill::AfterCommits(1)), |_, _| {});
    assert_eq!(case.model.until_ms.get(), 180_000);
    let clock = std::rc::Rc::clone(&case.clock);
    // The turn had been running for some time when its run was lost; the time between the runs is not charged
    // to it.
    case.disk.entries.borrow_mut().iter_mut().for_each(|entry| entry.elapsed_ms = 50_000);
    clock.set(1_000_000);
    case.resume(None);
    assert_eq!(case.model.until_ms.get(), 1_130_000);
}

/// A conversation of two turns before this one.
fn history() -> Vec<Message> {
    let long = "x".repeat(4_000);
    let turn = |n: usize| {
        let answer = Message::Assistant { content: long.clone(), tool_calls: Vec::new(), raw: None };
        [Message::User { content: format!("question {n}").into() }, answer]
    };
    [turn(1), turn(2)].concat()
}

/// The first words of each message, by request.
fn sent(case: &Case) -> Vec<Vec<String>> {
    let first = |message: &std::rc::Rc<Message>| match &**message {
        Message::User { content } => content.text().into_owned(),
        Message::Assistant { tool_calls, .. } => format!("reply with {} calls", tool_calls.len()),
        Message::Tool { .. } => "result".to_owned(),
    };
    case.model.requests.borrow().iter().map(|request| request.messages.iter().map(first).collect()).collect()
}

// N-146
#[test]
fn a_conversation_too_long_for_its_model_is_shortened_once() {
    use ModelErrorKind::ContextTooLong;
    let mut case = Case::new(script(&[("go", vec![Reply::Fail("", ContextTooLong)])]));
    case.history = history();
    let case = case.run();
    assert_eq!(
        sent(&case),
        [vec!["question 1", "reply with 0 calls", "question 2", "reply with 0 calls", "go"], vec!["go"],],
        "half of what was sent has no room for a turn of two thousand tokens"
    );
    assert_eq!(
        case.lines()[2..],
        [
            "model 0 start",
            "model 0 End provider_context_too_long",
            "model 1 start",
            "model 1 End provider_context_too_long",
            "error provider_context_too_long",
            "cost 2 llm 0 tools 0 subtasks",
            "done Error",
        ]
    );

    // The conversation has nothing to leave out: the first error ends the turn.
    let alone = Case::new(script(&[("go", vec![Reply::Fail("", ContextTooLong)])])).run();
    assert_eq!(sent(&alone), [["go"]]);
    // The model has said something: the level does not ask again.
    let mut said = Case::new(script(&[("go", vec![Reply::Fail("well", ContextTooLong)])]));
    said.history = history();
    assert_eq!(sent(&said.run()).len(), 1);
}

// N-146: the run after a crash shortens the conversation in the same way.
#[test]
fn a_shortened_turn_is_replayed() {
    let play = || {
        let replies = vec![
            Reply::Calls(vec![("echo", json!({}))]),
            Reply::TooLongThen(vec![("write", json!({}))]),
            Reply::Text("Done."),
        ];
        let mut case = Case::new(script(&[("go", replies)]));
        case.history = history();
        case
    };
    let whole = play().run();
    assert_eq!(whole.lines().last().unwrap(), "done Stop");
    let calls = sent(&whole);
    assert_eq!(calls[1].len(), 7, "{calls:?}");
    assert_eq!(calls[2], ["go", "reply with 1 calls", "result"], "the same step without the turns before");
    assert_eq!(calls[3], ["go", "reply with 1 calls", "result", "reply with 1 calls", "result"]);
    assert_eq!(
        whole.lines().iter().filter(|line| *line == "state thinking").count(),
        3,
        "told when it changes"
    );
    for dies_after in 1..whole.disk.commits.get() {
        let mut case = play();
        case.run_with(Some(Kill::AfterCommits(dies_after)), |_, _| {});
        case.resume(None);
        case.check();
        assert_eq!(case.end().message.content, "Done.", "killed after commit {dies_after}");
        assert_eq!(sent(&case).last(), calls.last(), "killed after commit {dies_after}");
    }
}

/// The charge of a turn that asked twice, where the first request failed in this way.
fn charged_after(kind: ModelErrorKind) -> (u64, Option<f64>, u64) {
    let mut case = chained(script(&[("go", vec![Reply::After(vec![(0, kind)], "hello")])]));
    case.model.answers_at.set(0);
    case = case.run();
    let end = case.end();
    let held = case.disk.entries.borrow().iter().find_map(|entry| match &entry.fact {
        Fact::ModelStarted { held, .. } => Some(held.input_tokens + held.output_tokens),
        _ => None,
    });
    (end.used.unwrap().tokens, end.message.usage.unwrap().cost_usd, held.unwrap())
}

// A request that got no answer may have used all of its reservation. A request that the provider refused used
// nothing.
#[test]
fn a_failed_retry_is_charged_its_reservation() {
    use ModelErrorKind::{Auth, Network, Overloaded, RateLimited};
    for told in [Auth, Overloaded, RateLimited] {
        let (charged, cost_usd, _) = charged_after(told);
        assert_eq!((charged, cost_usd), (12, Some(12e-6)), "{told:?}");
    }
    let (charged, cost_usd, held) = charged_after(Network);
    assert!(held > 12);
    assert_eq!((charged, cost_usd), (held + 12, None), "the cost is unknown");
}

#[test]
fn a_timed_out_call_is_charged_its_reservation() {
    use ModelErrorKind::{Network, Overloaded};
    for (kind, used) in [(Overloaded, false), (Network, true)] {
        let end = chained(script(&[("go", vec![Reply::Fail("", kind)])])).run().end();
        assert_eq!(end.used.unwrap().tokens > 0, used, "{kind:?}");
        assert_eq!(end.message.usage.unwrap().cost_usd, (!used).then_some(0.0), "{kind:?}");
    }
}

// The token limit of a turn covers its retries as well: with room for one request, there is no second one.
#[test]
fn a_charged_reservation_leaves_less_for_the_next_request() {
    use ModelErrorKind::{Network, Overloaded};
    for (kind, answered) in [(Overloaded, true), (Network, false)] {
        let case = chained(script(&[("go", vec![Reply::After(vec![(0, kind)], "hello")])]));
        case.model.answers_at.set(0);
        let case = case.limits(|limits| limits.turn_tokens = Some(15_000)).run();
        assert_eq!(case.end().message.content == "hello", answered, "{kind:?}");
        assert!(case.end().used.unwrap().tokens <= 15_000);
    }
}
