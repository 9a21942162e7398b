//! Limits end the turn at any depth, with the event, the reason and the results so far.

use serde_json::json;

use crate::journal::CallRecord;
use crate::profiles::{Limits, Price};
use crate::testing::*;
use wire::model::Message;
use wire::protocol::FinishReason;

fn last(case: &Case, count: usize) -> Vec<String> {
    let lines = case.lines();
    lines[lines.len() - count..].to_vec()
}

// N-039 N-119 N-136 N-137 N-142 N-147 N-148 N-179 N-195 N-224
#[test]
fn a_turn_ends_at_its_limit_of_model_calls() {
    let endless = vec![Reply::TextAndCalls("More. ", vec![("echo", json!({}))])];
    let case = Case::new(script(&[("go", endless)])).limits(|limits| limits.llm_calls = 3).run();
    assert_eq!(case.model.requests.borrow().len(), 3, "the fourth is never made");
    assert_eq!(
        last(&case, 4),
        ["budget LlmCalls 4 of 3", "error budget_exceeded", "cost 3 llm 3 tools 0 subtasks", "done Budget"]
    );
    let message = case.end().message;
    assert_eq!(message.content, "More. \n\nMore. \n\nMore. ");
    assert_eq!(message.stop.unwrap().code, "budget_exceeded");
    assert_eq!(message.execution_tree.unwrap().nodes.len(), 3);
}

// N-137 N-143 N-195 N-136
#[test]
fn tool_calls_are_counted_over_the_whole_tree() {
    let child = vec![Reply::Calls(vec![("echo", json!({})); 3]), Reply::Text("never")];
    let case = Case::new(script(&[
        (
            "go",
            vec![
                Reply::Calls(vec![("echo", json!({}))]),
                Reply::Calls(vec![subtask("a")]),
                Reply::Text("never"),
            ],
        ),
        ("a", child),
    ]))
    .limits(|limits| limits.tool_calls = 4)
    .run();
    assert_eq!(case.tools.ran.borrow().len(), 3, "of a round that does not fit, the calls that fit run");
    let tail = last(&case, 11);
    assert!(tail[2].starts_with("tool 1.0-0.0 echo End"), "{tail:#?}");
    assert!(tail[6].starts_with("tool 1.0 run_subtask End error"), "{tail:#?}");
    assert_eq!(
        tail[7..],
        ["budget ToolCalls 5 of 4", "error budget_exceeded", "cost 3 llm 4 tools 1 subtasks", "done Budget"]
    );
}

/// The results of the root's calls, in the model's order.
fn root_results(case: &Case) -> Vec<String> {
    let result = |message: &Message| match message {
        Message::Tool { content, .. } => Some(content.clone()),
        _ => None,
    };
    case.end().history.iter().filter_map(result).collect()
}

// N-141 N-195: with room for one subtask and three calls of it, one runs, and the numbers agree.
#[test]
fn the_calls_that_fit_run_and_only_the_rest_is_refused() {
    let three = vec![subtask("a"), subtask("b"), ("write", json!({})), subtask("c")];
    let levels = [
        ("go", vec![Reply::Calls(vec![subtask("a")]), Reply::Calls(three), Reply::Text("never")]),
        ("a", vec![Reply::Text("a done")]),
    ];
    let case = Case::new(script(&levels)).limits(|limits| limits.subtasks = 2).run();
    let results = root_results(&case);
    assert_eq!(results[..2], ["a done", "a done"]);
    assert!(results[2].starts_with("The call was not made."), "{results:#?}");
    assert!(results[3].starts_with("write"), "a call of another kind fits: {results:#?}");
    assert!(results[4].starts_with("The call was not made."), "{results:#?}");
    assert_eq!(
        last(&case, 4),
        ["budget Subtasks 3 of 2", "error budget_exceeded", "cost 4 llm 3 tools 2 subtasks", "done Budget"]
    );
    let summary = case.events().into_iter().find_map(|event| match event {
        wire::protocol::Event::CostSummary(costs) => Some(costs),
        _ => None,
    });
    let done = case.events().into_iter().find_map(|event| match event {
        wire::protocol::Event::Done { usage, .. } => usage,
        _ => None,
    });
    assert_eq!(done, summary, "B-026");
}

// A kill at each commit of such a turn: the calls that did not fit do not run after a kill either.
#[test]
fn a_round_that_does_not_fit_survives_a_kill() {
    let levels = [
        ("go", vec![Reply::Calls(vec![subtask("a"), subtask("b"), subtask("c")]), Reply::Text("never")]),
        ("a", vec![Reply::Calls(vec![("echo", json!({}))]), Reply::Text("a done")]),
        ("b", vec![Reply::Text("b done")]),
        ("c", vec![Reply::Text("never")]),
    ];
    let new = || Case::new(script(&levels)).limits(|limits| limits.subtasks = 2);
    let whole = new().run();
    assert_eq!(root_results(&whole)[..2], ["a done", "b done"]);
    for commits in 1..whole.disk.commits.get() {
        let mut case = new();
        case.run_with(Some(Kill::AfterCommits(commits)), |_, _| {});
        case.resume(None);
        case.check();
        assert_eq!(root_results(&case), root_results(&whole), "killed after commit {commits}");
    }
}

// N-059 N-141 N-195
#[test]
fn subtasks_are_counted_at_every_depth() {
    let child = vec![Reply::Calls(vec![subtask("b")]), Reply::Text("a")];
    let case = Case::new(script(&[
        ("go", vec![Reply::Calls(vec![subtask("a")]), Reply::Text("never")]),
        ("a", child),
        ("b", vec![Reply::Calls(vec![subtask("c")]), Reply::Text("never")]),
    ]))
    .limits(|limits| limits.subtasks = 2)
    .run();
    assert_eq!(
        last(&case, 4),
        ["budget Subtasks 3 of 2", "error budget_exceeded", "cost 3 llm 2 tools 2 subtasks", "done Budget"]
    );
}

// N-144 N-195 N-039
#[test]
fn the_wall_clock_ends_a_hung_provider_and_a_hung_tool() {
    let hung = Case::new(script(&[("go", vec![Reply::Hang("So far ")])]))
        .limits(|limits| limits.wall_clock_ms = 1_000)
        .run();
    assert_eq!(
        last(&hung, 6),
        [
            "chunk 0.0 \"\" done",
            "model 0 End aborted",
            "budget WallClock 1000 of 1000",
            "error budget_exceeded",
            "cost 1 llm 0 tools 0 subtasks",
            "done Budget",
        ]
    );
    assert_eq!(hung.model.aborted.get(), 1, "the provider's stream was dropped");
    assert_eq!(hung.end().message.content, "So far ");
    assert!(!hung.clock.advance_to_next(), "no timer is left behind");

    let tool = Case::new(script(&[("go", vec![Reply::Calls(vec![("hang", json!({}))])])]))
        .limits(|limits| limits.wall_clock_ms = 1_000)
        .run();
    let message = tool.end().message;
    assert_eq!(message.finish_reason, Some(FinishReason::Budget));
    let [node] = &message.execution_tree.unwrap().nodes[..] else { panic!("one call") };
    assert_eq!(
        (node.started_ms, node.duration_ms),
        (Some(0), 1_000),
        "a call that was stopped has run until then"
    );
}

// N-137 N-195: siblings that cross different limits at the same time end the turn for one reason, the first.
#[test]
fn the_first_reason_wins() {
    let echoes = |count: usize| vec![Reply::Calls(vec![("echo", json!({})); count]), Reply::Text("ok")];
    for (llm_calls, tool_calls, told) in [
        (60, 4, "budget ToolCalls 5 of 4"),
        (2, 4, "budget LlmCalls 3 of 2"),
        (3, 5, "budget LlmCalls 4 of 3"),
    ] {
        let case = Case::new(script(&[
            ("go", vec![Reply::Calls(vec![subtask("a"), subtask("b")]), Reply::Text("never")]),
            ("a", echoes(1)),
            ("b", echoes(2)),
        ]));
        let case =
            case.limits(|limits| (limits.llm_calls, limits.tool_calls) = (llm_calls, tool_calls)).run();
        let lines = case.lines();
        let budgets: Vec<&String> = lines.iter().filter(|line| line.starts_with("budget")).collect();
        assert_eq!(budgets, [told]);
    }
}

// N-039
#[test]
fn a_turn_without_budget_makes_no_call() {
    let case =
        Case::new(script(&[("go", vec![Reply::Text("never")])])).limits(|limits| limits.llm_calls = 0).run();
    assert!(case.model.requests.borrow().is_empty());
    let lines = case.lines();
    assert_eq!(lines[2], "budget LlmCalls 1 of 0");
}

// N-118 N-179 N-195
#[test]
fn limits_of_tokens_money_and_bytes_end_a_turn() {
    let endless = || script(&[("go", vec![Reply::Calls(vec![("echo", json!({}))])])]);
    // Each call reports 10 + 2 tokens. The reservation of a call is higher, so the turn ends well before the
    // limit.
    let many =
        |limits: &mut Limits| (limits.iterations, limits.llm_calls, limits.tool_calls) = (999, 999, 999);
    let tokens = Case::new(endless()).limits(many).limits(|limits| limits.turn_tokens = Some(12_000)).run();
    let tail = last(&tokens, 4);
    assert!(tail[0].starts_with("budget Tokens ") && tail[0].ends_with(" of 12000"), "{tail:?}");
    assert_eq!((tail[1].as_str(), tail[3].as_str()), ("error budget_exceeded", "done Budget"));
    assert_eq!(tokens.model.requests.borrow()[0].max_output_tokens, Some(8_192));

    let mut money =
        Case::new(endless()).limits(many).limits(|limits| limits.turn_cost_microusd = Some(20_000));
    money.price = Some(Price::flat(1.0, 0.5, 2.0));
    money.model.counts_nothing.set(true);
    let money = money.run();
    assert!(last(&money, 4)[0].starts_with("budget Cost "), "{:?}", last(&money, 4));
    let usd = money.end().message.usage.unwrap().cost_usd.unwrap();
    assert!(usd > 0.0 && usd <= 0.02, "{usd}");

    let bytes = Case::new(endless()).limits(|limits| limits.turn_result_bytes = Some(20)).run();
    assert_eq!(last(&bytes, 4)[0], "budget Bytes 21 of 20");
    assert_eq!(bytes.tools.ran.borrow().len(), 3, "three results of seven bytes do not fit into twenty");

    let refused = script(&[("go", vec![Reply::Calls(vec![("nonsense", json!({})); 2])])]);
    let refusals = Case::new(refused).limits(|limits| limits.turn_result_bytes = Some(250)).run();
    assert_eq!(last(&refusals, 4)[0], "budget Bytes 296 of 250", "refusals are results too");

    let long = Case::new(endless()).limits(|limits| limits.history_tokens = 10).run();
    assert!(last(&long, 4)[0].starts_with("budget Tokens "), "a request that cannot be pruned to fit");
    assert!(long.model.requests.borrow().is_empty());
}

// N-146: the token limit of a request counts its prompt and its tools as well as its messages.
#[test]
fn requests_are_pruned_to_fit_with_prompt_and_tools() {
    let pruned = || {
        let round = || Reply::Calls(vec![("echo", json!({ "text": "x".repeat(4_000) }))]);
        let replies = [vec![round(); 8], vec![Reply::Text("Done.")]].concat();
        Case::new(script(&[("go", replies)])).limits(|limits| limits.history_tokens = 6_000)
    };
    let mut case = pruned();
    let earlier = |n: u32| {
        let said = |content: String| Message::Assistant { content, tool_calls: Vec::new(), raw: None };
        [
            Message::User { content: format!("question {n}").into() },
            said(format!("{n} {}", "y".repeat(2_000))),
        ]
    };
    case.history = (0..40).flat_map(earlier).collect();
    let former = Case { estimates: 0, history: case.history.clone(), ..pruned() };
    // A cut leaves three fifths of the messages, in whole rounds: here the newest one.
    for (case, least) in [(former, 4_800), (case, 2_500)] {
        sends_at_least(case, least);
    }
}

fn sends_at_least(case: Case, least: u64) {
    let case = case.run();
    assert_eq!(case.end().message.finish_reason, Some(FinishReason::Stop));
    let requests = case.model.requests.borrow();
    for request in requests.iter() {
        let tokens = crate::turn::request_tokens(request);
        assert!((least..=6_000).contains(&tokens), "{tokens} tokens were sent");
        assert!(
            request.messages.iter().any(|m| matches!(&**m, Message::User { content } if content == "go"))
        );
    }
    assert!(requests[0].messages.len() > 5 && requests[8].messages.len() < 9);
    assert_eq!(case.end().history.len(), 18, "what is stored is whole");
}

// N-172 N-174
#[test]
fn the_cost_of_a_turn_is_known_or_null() {
    let answers = || {
        script(&[
            ("go", vec![Reply::Calls(vec![subtask("a")]), Reply::Text("Done.")]),
            ("a", vec![Reply::Text("ok")]),
        ])
    };
    let mut priced = Case::new(answers());
    priced.price = Some(Price::flat(1.0, 0.5, 2.0));
    let usage = priced.run().end().message.usage.unwrap();
    // Three calls, the child's included, each with 6 fresh, 4 cached and 2 output tokens.
    assert_eq!((usage.input_tokens, usage.cached_tokens, usage.output_tokens), (30, 12, 6));
    assert!((usage.cost_usd.unwrap() - 36e-6).abs() < 1e-12, "{usage:?}");
    assert_eq!(usage.by_model["m1"].cost_usd, usage.cost_usd);

    let unknown = Case::new(answers()).run().end().message.usage.unwrap();
    assert_eq!((unknown.cost_usd, unknown.by_model["m1"].cost_usd), (None, None));

    let mut cut = Case::new(script(&[("go", vec![Reply::Cut("half ")])]));
    cut.price = Some(Price::flat(1.0, 0.5, 2.0));
    assert_eq!(cut.run().end().message.usage.unwrap().cost_usd, None, "the usage of the cut call is unknown");

    let mut lost = Case::new(answers());
    lost.price = Some(Price::flat(1.0, 0.5, 2.0));
    lost.run_with(Some(Kill::AfterCommits(1)), |_, _| {});
    lost.resume(None);
    lost.check();
    let end = lost.end();
    assert_eq!(end.message.usage.unwrap().cost_usd, None, "nor what a call used whose run was lost");
    let rows = end.calls.iter().filter_map(|row| match row {
        CallRecord::Model { outcome, .. } => Some(outcome.as_str()),
        CallRecord::Tool { .. } | CallRecord::Failure(_) => None,
    });
    assert_eq!(rows.collect::<Vec<_>>(), ["interrupted", "ok", "ok", "ok"], "each call leaves its row");
}

// N-124
#[test]
fn each_subtask_has_its_start_and_the_usage_below_it() {
    let mut case = Case::new(script(&[
        (
            "go",
            vec![
                Reply::Calls(vec![subtask("a"), subtask("b")]),
                Reply::Calls(vec![("echo", json!({}))]),
                Reply::Text("Done."),
            ],
        ),
        ("a", vec![Reply::Calls(vec![subtask("c"), ("echo", json!({}))]), Reply::Text("a")]),
        ("b", vec![Reply::Cut("half ")]),
        ("c", vec![Reply::Text("c")]),
    ]));
    case.price = Some(Price::flat(1.0, 0.5, 2.0));
    let end = case.run().end();
    let told: Vec<_> = end
        .message
        .execution_tree
        .unwrap()
        .nodes
        .into_iter()
        .map(|node| {
            let usage = node
                .usage
                .map(|usage| (usage.llm_calls, usage.input_tokens, usage.output_tokens, usage.cost_usd));
            (node.title.unwrap_or(node.name), node.started_ms.unwrap(), usage)
        })
        .collect();
    let of = |llm_calls: u32, known: u32| {
        let each = |tokens: u64| tokens * u64::from(known);
        (llm_calls, each(10), each(2), (llm_calls == known).then_some(f64::from(known) * 12e-6))
    };
    assert_eq!(
        told,
        [
            ("do a".to_owned(), 0, Some(of(3, 3))),
            ("do b".to_owned(), 0, Some(of(1, 0))),
            ("do c".to_owned(), 0, Some(of(1, 1))),
            ("echo".to_owned(), 0, None),
            // The first round took as long as the tool in it: 5 ms.
            ("echo".to_owned(), 5, None),
        ]
    );
}
