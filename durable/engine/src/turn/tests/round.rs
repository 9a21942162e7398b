//! The order of a round.

use serde_json::{Value, json};

use crate::testing::*;
use wire::protocol::{CallStatus, Event};

fn starts(case: &Case) -> Vec<String> {
    case.lines()
        .iter()
        .filter(|line| line.starts_with("tool ") && !line.contains("run_subtask"))
        .map(|line| line.split(' ').take(4).collect::<Vec<_>>().join(" "))
        .collect()
}

fn echoes(count: usize) -> Vec<(&'static str, Value)> {
    (0..count).map(|n| ("echo", json!({ "n": n }))).collect()
}

fn one_round(calls: Vec<(&'static str, Value)>) -> Case {
    Case::new(script(&[("go", vec![Reply::Calls(calls), Reply::Text("Done.")])])).run()
}

// N-043 N-046 N-047 N-048 N-049 N-140
#[test]
fn eight_calls_run_together_then_the_serial_ones_then_the_surplus() {
    let calls = [vec![("write", json!({}))], echoes(10)].concat();
    let case = one_round(calls);
    assert_eq!(case.tools.peak.get(), 8);
    let together = (1..9).map(|n| format!("tool 0.{n} echo Start"));
    let ended = (1..9).map(|n| format!("tool 0.{n} echo End"));
    let rest = [(0, "write"), (9, "echo"), (10, "echo")]
        .into_iter()
        .flat_map(|(n, name)| [format!("tool 0.{n} {name} Start"), format!("tool 0.{n} {name} End")]);
    assert_eq!(starts(&case), together.chain(ended).chain(rest).collect::<Vec<_>>());
}

// N-046 N-133
#[test]
fn calls_that_start_together_have_the_same_start_time() {
    let case = Case::new(script(&[("go", vec![Reply::Calls(echoes(3)), Reply::Text("Done.")])]));
    case.clock.tick.set(1);
    let case = case.run();
    let times =
        |started: Vec<Option<u64>>| started.windows(2).all(|pair| pair[0] == pair[1] && pair[0].is_some());
    let nodes = case.end().message.execution_tree.unwrap().nodes;
    assert!(times(nodes.iter().map(|node| node.started_ms).collect()), "{nodes:?}");
    let told = case.seen.values().filter_map(|event| match event {
        Event::ToolCallUpdate { status: CallStatus::Start, started_ms, .. } => Some(*started_ms),
        _ => None,
    });
    let told: Vec<_> = told.collect();
    assert!(told.len() == 3 && times(told.clone()), "{told:?}");
}

// N-046 N-095
#[test]
fn a_lock_holds_across_sibling_subtasks() {
    let child = vec![Reply::Calls(vec![("locked", json!({})), ("locked", json!({}))]), Reply::Text("ok")];
    let case = Case::new(script(&[
        ("go", vec![Reply::Calls(vec![subtask("a"), subtask("b")]), Reply::Text("Done.")]),
        ("a", child.clone()),
        ("b", child),
    ]))
    .run();
    assert_eq!(case.tools.ran.borrow().len(), 4);
    assert_eq!(case.tools.peak.get(), 1);
}

// N-045
#[test]
fn a_hanging_tool_times_out_and_its_siblings_go_on() {
    let case = one_round(vec![("hang", json!({})), ("echo", json!({}))]);
    let lines = case.lines().join("\n");
    assert!(lines.contains("tool 0.0 hang End error \"timed out after 30000 ms"), "{lines}");
    assert!(lines.contains("tool 0.1 echo End \"echo {}\""), "{lines}");
}

#[test]
fn a_timed_out_call_says_whether_it_may_have_taken_effect() {
    let case = one_round(vec![("once", json!({}))]);
    let told = "tool 0.0 once End error \"timed out after 30000 ms; it may have taken effect\"";
    assert!(case.lines().contains(&told.to_owned()), "{:?}", case.lines());
    assert_eq!(case.end().message.execution_tree.unwrap().nodes[0].duration_ms, 30_000);
}

// N-145
#[test]
fn a_long_result_is_cut_at_a_characters_border() {
    let long = "ä".repeat(40_000);
    let calls = vec![("echo", json!({ "text": long }))];
    let case = one_round(calls);
    let requests = case.model.requests.borrow();
    let wire::model::Message::Tool { content, .. } = &**requests[1].messages.last().unwrap() else {
        panic!()
    };
    assert!(content.len() <= 50_000 && content.len() > 49_900);
    assert!(content.ends_with("bytes in all]"));
}

// N-145: results at the limit, just beyond it, and under a limit too small for the mark.
#[test]
fn no_result_is_longer_than_the_limit() {
    let text = |limit: usize| {
        let case = Case::new(script(&[(
            "go",
            vec![Reply::Calls(vec![("echo", json!({})), ("none", json!({}))]), Reply::Text("Done.")],
        )]));
        let case = case.limits(|limits| limits.tool_result_bytes = limit).run();
        let ends = case.events().into_iter().filter_map(|event| match event {
            wire::protocol::Event::ToolCallUpdate { result, .. } => result,
            _ => None,
        });
        ends.collect::<Vec<_>>()
    };
    assert_eq!(text(7)[1], "echo {}");
    assert_eq!(text(6), ["the to", "echo {"]);
    let refusal = &text(40)[0];
    assert!(refusal.len() == 40 && refusal.ends_with("bytes in all]"), "{refusal}");
}
