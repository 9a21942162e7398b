//! What holds for every turn, and random turns to which it must apply.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use serde_json::json;

use super::support::*;
use crate::journal::TurnStop;
use crate::model::{Message, ModelErrorKind};
use crate::protocol::{CallStatus, Event, ExecutionTree, TreeNode, preview};

/// The invariants of a turn that has ended.
pub fn check(case: &Case) {
    let events = case.events();
    let context = || case.lines().join("\n");
    assert!(matches!(events.first(), Some(Event::Session { .. })), "{}", context());
    assert!(matches!(events.last(), Some(Event::Done { .. })), "{}", context());
    let count = |kind: &str| events.iter().filter(|event| event.kind() == kind).count();
    assert_eq!((count("done"), count("cost_summary"), count("session")), (1, 1, 1), "{}", context());
    assert!(count("error") <= 1 && count("budget_exceeded") <= 1, "{}", context());

    let (mut open_calls, mut all_calls) = (BTreeMap::new(), BTreeSet::new());
    let (mut open_models, mut open_parts) = (BTreeSet::new(), BTreeSet::new());
    let mut tree = ExecutionTree::default();
    let inside = |parent: &Option<String>, open: &BTreeMap<String, usize>, depth: u32| match parent {
        None => assert_eq!(depth, 0),
        Some(parent) => {
            let above = open.get(parent).unwrap_or_else(|| panic!("{parent} is not open\n{}", context()));
            assert_eq!(*above as u32 + 1, depth);
        }
    };
    for event in &events {
        match event {
            Event::ToolCallUpdate { tool_call_id, name, status: CallStatus::Start, place, args, .. } => {
                inside(&place.parent_id, &open_calls, place.depth);
                assert!(
                    all_calls.insert(tool_call_id.clone()),
                    "{tool_call_id} started twice\n{}",
                    context()
                );
                open_calls.insert(tool_call_id.clone(), place.depth as usize);
                let title = args.as_ref().and_then(|args| args["title"].as_str()).map(str::to_owned);
                tree.nodes.push(TreeNode {
                    id: tool_call_id.clone(),
                    parent_id: place.parent_id.clone(),
                    name: name.clone(),
                    title: (name == "run_subtask").then(|| title.unwrap_or_else(|| name.clone())),
                    ..TreeNode::default()
                });
            }
            Event::ToolCallUpdate { tool_call_id, result, is_error, duration_ms, .. } => {
                assert!(
                    open_calls.remove(tool_call_id).is_some(),
                    "{tool_call_id} ended unasked\n{}",
                    context()
                );
                let inside = tree.nodes.iter().filter(|node| node.parent_id.as_ref() == Some(tool_call_id));
                assert!(inside.into_iter().all(|node| !open_calls.contains_key(&node.id)), "{}", context());
                let node = tree.nodes.iter_mut().find(|node| node.id == *tool_call_id).unwrap();
                node.result_preview = result.as_deref().map(preview);
                node.is_error = is_error.then_some(true);
                node.duration_ms = duration_ms.unwrap();
            }
            Event::ModelCallUpdate { model_call_id, status, place, .. } => {
                inside(&place.parent_id, &open_calls, place.depth);
                match status {
                    CallStatus::Start => assert!(open_models.insert(model_call_id.clone())),
                    CallStatus::End => {
                        assert!(open_models.remove(model_call_id), "{}", context());
                        assert!(open_parts.is_empty() || !open_parts.contains(model_call_id));
                    }
                }
            }
            Event::Chunk { model_call_id, done, .. } => {
                assert!(open_models.contains(model_call_id), "{}", context());
                match done {
                    true => open_parts.remove(model_call_id),
                    false => open_parts.insert(model_call_id.clone()),
                };
            }
            _ => {}
        }
    }
    assert!(open_calls.is_empty() && open_models.is_empty() && open_parts.is_empty(), "{}", context());

    let end = case.end();
    let mut stored = end.message.execution_tree.unwrap();
    stored.nodes.iter_mut().for_each(|node| node.args_preview = None);
    assert_eq!(stored, tree, "the stored tree is the one that a client builds\n{}", context());
    let costs = end.message.usage.unwrap();
    let limits = case.limits;
    assert!(costs.llm_calls <= limits.llm_calls && costs.tool_calls <= limits.tool_calls, "{}", context());
    assert!(costs.subtasks <= limits.subtasks, "{}", context());
    assert_eq!(costs.by_model.values().map(|share| share.llm_calls).sum::<u32>(), costs.llm_calls);

    let mut unanswered: Vec<String> = Vec::new();
    for message in &end.history {
        match message {
            Message::Tool { call_id, .. } => {
                let at = unanswered.iter().position(|open| open == call_id).expect("a result without a call");
                unanswered.remove(at);
            }
            Message::Assistant { tool_calls, .. } => {
                assert!(unanswered.is_empty(), "a call without its result: {unanswered:?}");
                unanswered.extend(tool_calls.iter().map(|call| call.call_id.clone()));
            }
            Message::User { .. } => assert!(unanswered.is_empty()),
        }
    }
    assert!(unanswered.is_empty(), "a call without its result: {unanswered:?}");
}

fn structured(instructions: &str) -> serde_json::Value {
    let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]});
    json!({"title": "s", "instructions": instructions, "output_schema": schema})
}

fn call() -> impl Strategy<Value = (&'static str, serde_json::Value)> {
    prop_oneof![
        4 => (0..6_u32).prop_map(|n| ("run_subtask", json!({"title": format!("t{n}"), "instructions": format!("level {n}")}))),
        3 => Just(("echo", json!({}))),
        2 => Just(("fail", json!({}))),
        2 => Just(("write", json!({}))),
        1 => Just(("locked", json!({}))),
        1 => Just(("hang", json!({}))),
        2 => (0..6_u32).prop_map(|n| ("run_subtask", structured(&format!("level {n}")))),
        2 => Just(("finish_subtask", json!({"n": 1}))),
        2 => Just(("finish_subtask", json!({"n": "one"}))),
        1 => Just(("secret", json!({}))),
        1 => Just(("echo", json!("{not json"))),
        1 => Just(("run_subtask", json!({"title": 1}))),
        2 => (0..3_u32).prop_map(|n| ("memory_write", json!({"key": format!("k{n}"), "value": "v"}))),
        2 => (0..3_u32).prop_map(|n| ("memory_read", json!({"key": format!("k{n}")}))),
    ]
}

fn reply() -> impl Strategy<Value = Reply> {
    prop_oneof![
        3 => Just(Reply::Text("a few words")),
        6 => prop::collection::vec(call(), 1..5).prop_map(Reply::Calls),
        1 => prop::collection::vec(call(), 5..40).prop_map(Reply::Calls),
        2 => prop::collection::vec(call(), 1..4).prop_map(|calls| Reply::TextAndCalls("well, ", calls)),
        1 => Just(Reply::Hang("and then ")),
        1 => Just(Reply::Fail("oh ", ModelErrorKind::Overloaded)),
        1 => Just(Reply::Cut("cut ")),
    ]
}

/// A script in which any level may start any other: trees of any depth and width are asked for.
fn scripts() -> impl Strategy<Value = Script> {
    let level = || prop::collection::vec(reply(), 1..4);
    (level(), prop::collection::vec(level(), 6)).prop_map(|(root, levels)| {
        let numbered = levels.into_iter().enumerate().map(|(n, replies)| (format!("level {n}"), replies));
        numbered.chain([("go".to_owned(), root)]).collect()
    })
}

#[derive(Clone, Debug)]
struct Random {
    script: Script,
    limits: (u32, u32, u32, u32, u32),
    stop_at: Option<usize>,
    die_at: Option<usize>,
}

fn turns() -> impl Strategy<Value = Random> {
    let limits = (0..12_u32, 1..25_u32, 0..30_u32, 0..4_u32, 1..9_u32);
    (scripts(), limits, prop::option::of(0..200_usize), prop::option::of(1..40_usize))
        .prop_map(|(script, limits, stop_at, die_at)| Random { script, limits, stop_at, die_at })
}

fn case(random: &Random) -> Case {
    let (subtasks, llm_calls, tool_calls, depth, parallel) = random.limits;
    Case::new(random.script.clone()).limits(|limits| {
        *limits = crate::profiles::Limits {
            subtasks,
            llm_calls,
            tool_calls,
            depth,
            parallel,
            iterations: 6,
            wall_clock_ms: 60_000,
            ..*limits
        };
    })
}

fn play(random: &Random) -> Case {
    let mut case = case(random);
    let stop_at = random.stop_at;
    case.run_with(None, |turn, step| {
        if stop_at == Some(step) {
            turn.stop(TurnStop::Cancelled).unwrap();
        }
    });
    case
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_turn_is_bounded_and_well_formed(random in turns()) {
        let case = play(&random);
        check(&case);
        prop_assert!(case.tools.peak.get() <= 64);
        prop_assert_eq!(case.lines(), play(&random).lines(), "the same script gives the same events");
    }

    #[test]
    fn a_turn_that_dies_is_taken_up_and_ends_well(random in turns()) {
        let mut case = case(&random);
        case.run_with(random.die_at, |_, _| {});
        for _ in 0..40 {
            if case.disk.end.borrow().is_some() || case.disk.entries.borrow().is_empty() {
                break;
            }
            case.resume(random.die_at);
        }
        if case.disk.end.borrow().is_none() && !case.disk.entries.borrow().is_empty() {
            case.resume(None);
        }
        if !case.disk.entries.borrow().is_empty() {
            check(&case);
        }
    }
}
