//! The effects of the limits of steps and plans on a running plan.

use serde_json::{Value, json};

use super::{project, result};
use crate::journal::Answer;
use crate::ports::Clock;
use crate::profiles::OnLimit;
use crate::record::keys::WireIds;
use crate::testing::*;
use wire::model::ModelErrorKind;
use wire::protocol::{Awaited, FinishReason};

// B-085 S-001 S-002 S-012 S-046 S-048: a step that builds on a failed one is skipped, three failures in a row
// stop the plan, and the root hears of it.
#[test]
fn failed_steps_skip_or_stop_the_rest() {
    let fails = || vec![Reply::Fail("", ModelErrorKind::Auth)];
    let skipped = project(&[
        ("go", vec![Reply::Calls(vec![plan("ship", "auto_execute")]), Reply::Text("Half.")]),
        ("plan ship", vec![planned(&[("a", &[]), ("b", &[]), ("c", &["a"])])]),
        ("a", fails()),
        ("b", vec![Reply::Text("b done")]),
    ])
    .run();
    assert!(skipped.lines().contains(&"executor Partial 1 1 1".to_owned()), "{:#?}", skipped.lines());
    let told = result(&skipped, "agent_create_plan");
    let statuses: Vec<&Value> =
        told["steps"].as_array().unwrap().iter().map(|step| &step["status"]).collect();
    assert_eq!(statuses, ["failed", "completed", "skipped"]);

    let stopped = project(&[
        ("go", vec![Reply::Calls(vec![plan("ship", "auto_execute")]), Reply::Text("Nothing.")]),
        ("plan ship", vec![planned(&[("a", &[]), ("b", &[]), ("c", &[]), ("d", &[])])]),
        ("a", fails()),
        ("b", fails()),
        ("c", fails()),
        ("d", vec![Reply::Text("d done")]),
    ])
    .run();
    assert!(stopped.lines().contains(&"executor Partial 1 3 0".to_owned()), "all of one wave ran");
    assert_eq!(stopped.end().message.content, "Nothing.");
}

// S-021 S-047: a step that runs out of model calls ends with its partial result, and the plan goes on.
#[test]
fn a_step_out_of_calls_is_partial() {
    let endless = vec![Reply::TextAndCalls("still at it ", vec![("echo", json!({}))])];
    let case = project(&[
        ("go", vec![Reply::Calls(vec![plan("ship", "auto_execute")]), Reply::Text("Half.")]),
        ("plan ship", vec![planned(&[("a", &[]), ("b", &["a"])])]),
        ("a", endless),
        ("b", vec![Reply::Text("b done")]),
    ])
    .limits(|limits| limits.step_iterations = 3)
    .run();
    let lines = case.lines();
    assert!(lines.contains(&"step a Partial".to_owned()) && lines.contains(&"step b Completed".to_owned()));
    assert_eq!(case.tools.ran.borrow().len(), 3);
    let told = result(&case, "agent_create_plan");
    assert_eq!(told["status"], "partial");
    let result = told["steps"][0]["result"].as_str().unwrap();
    assert!(result.starts_with("still at it") && result.ends_with("what it had by then]"), "{result}");
}

// S-051: a step whose time is over ends its open calls, and the next step starts.
#[test]
fn a_step_out_of_time_is_partial() {
    let case = project(&[
        ("go", vec![Reply::Calls(vec![plan("ship", "auto_execute")]), Reply::Text("Half.")]),
        ("plan ship", vec![planned(&[("a", &[]), ("b", &["a"])])]),
        ("a", vec![Reply::TextAndCalls("I wait ", vec![subtask("deep"), ("hang", json!({}))])]),
        ("deep", vec![Reply::Hang("and wait ")]),
        ("b", vec![Reply::Text("b done")]),
    ])
    .limits(|limits| (limits.step_ms, limits.plan_ms) = (5_000, 60_000))
    .run();
    let lines = case.lines();
    assert!(lines.contains(&"step a Partial".to_owned()) && lines.contains(&"step b Completed".to_owned()));
    assert!(
        lines.contains(&"model 0.0-w0.0-0.0-0 End aborted in 0.0-w0.0-0.0 depth 3".to_owned()),
        "{lines:#?}"
    );
    assert!(
        lines
            .iter()
            .any(|line| line.starts_with("tool 0.0-w0.0-0.1 hang End error \"The call was stopped with"))
    );
    assert_eq!(case.end().message.finish_reason, Some(FinishReason::Stop));
    assert_eq!(case.model.aborted.get(), 1);
}

// Issue 19, 4. A step asks at a limit while another one runs: its time stands still until the answer, and then both have
// the rest of theirs. So no question outlives the level that asked it.
#[test]
fn a_step_does_not_run_out_of_time_while_it_asks() {
    let mut case = project(&[
        ("go", vec![Reply::Calls(vec![plan("ship", "auto_execute")]), Reply::Text("Half.")]),
        ("plan ship", vec![planned(&[("a", &[]), ("b", &[])])]),
        ("a", vec![Reply::Calls(vec![("echo", json!({}))]), Reply::Text("a done")]),
        ("b", vec![Reply::Hang("slowly ")]),
    ])
    .limits(|limits| {
        (limits.step_ms, limits.plan_ms) = (5_000, 60_000);
        (limits.on_limit, limits.tool_calls) = (OnLimit::Ask, 4);
    });
    let question = WireIds::new("turn").approval("limit.0");
    let began = case.clock.now_ms();
    let mut heard = Vec::new();
    let clock = std::rc::Rc::clone(&case.clock);
    case.run_with(None, |turn, _| {
        let is_late = clock.now_ms() >= began + 5_000;
        if is_late && turn.waiting(&question, Awaited::Approval).is_some() {
            heard.push(clock.now_ms() - began);
            // The steps have seen by now that their time would be over.
            if heard.len() == 2 {
                turn.answer(&question, Awaited::Approval, Answer::Approve).unwrap();
            }
        }
    });
    case.check();
    let lines = case.lines();
    assert_eq!(heard, [5_000; 2], "{lines:#?}");
    let of_steps: Vec<_> =
        lines.iter().filter(|line| line.starts_with("step ") || line.starts_with("limit ")).collect();
    assert_eq!(
        of_steps,
        [
            "step a start 0.0-w0.0",
            "step b start 0.0-w0.1",
            "limit limit.0 ToolCalls 5 of 4, 8 next, 3 left in 0.0-w0.0 depth 2",
            "limit limit.0 Approve 120 llm 8 tools in 0.0-w0.0 depth 2",
            "step a Completed",
            "step b Partial"
        ]
    );
    assert_eq!(clock.now_ms() - began, 10_000, "the other step has the rest of its time");
}

// S-047 S-051: clients saw the words that a step had streamed, so its result and the synthesis have them, behind what it
// had said before.
#[test]
fn a_step_out_of_time_keeps_its_words() {
    let case = project(&[
        ("go", vec![Reply::Calls(vec![plan("ship", "auto_execute")]), Reply::Text("Half.")]),
        ("plan ship", vec![planned(&[("a", &[])])]),
        ("a", vec![Reply::TextAndCalls("I look.", vec![("echo", json!({}))]), Reply::Hang("It is blue ")]),
    ])
    .limits(|limits| (limits.step_ms, limits.plan_ms) = (5_000, 60_000))
    .run();
    let told = result(&case, "agent_create_plan");
    let words = "I look.\n\nIt is blue \n\n[This step's time was over: this is what it had by then]";
    assert_eq!(told["steps"][0]["result"], words);
    let requests = case.model.requests.borrow();
    let synthesis = format!("{:?}", requests.last().unwrap().messages);
    assert!(synthesis.contains("It is blue "), "{synthesis}");
}

// N-148: a step's time is over, and its result exceeds the turn's bytes: the turn keeps the words of the
// step's levels.
#[test]
fn a_step_out_of_time_and_bytes_loses_no_word() {
    let script = || {
        [
            ("go", vec![Reply::Calls(vec![plan("ship", "auto_execute")]), Reply::Text("Half.")]),
            ("plan ship", vec![planned(&[("a", &[])])]),
            ("a", vec![Reply::Calls(vec![subtask("deep")])]),
            ("deep", vec![Reply::Hang("and wait ")]),
        ]
    };
    let case = project(&script())
        .limits(|limits| (limits.step_ms, limits.turn_result_bytes) = (5_000, Some(100)))
        .run();
    assert!(case.lines().iter().any(|line| line.starts_with("budget Bytes")), "{:#?}", case.lines());
    let stored = crate::turn::tests::faults::view(&case.disk.events.borrow());
    assert!(stored.iter().any(|line| line.ends_with(": and wait ")), "{stored:#?}");
    assert_eq!(crate::turn::tests::faults::view(&case.seen), stored);
}

// S-052: a plan whose time is over starts no more steps, and the root hears the results so far.
#[test]
fn a_plan_out_of_time_skips_the_rest() {
    let case = project(&[
        ("go", vec![Reply::Calls(vec![plan("ship", "auto_execute")]), Reply::Text("Half.")]),
        ("plan ship", vec![planned(&[("a", &[]), ("b", &["a"])])]),
        ("a", vec![Reply::Hang("slowly ")]),
        ("b", vec![Reply::Text("b done")]),
    ])
    .limits(|limits| (limits.step_ms, limits.plan_ms) = (60_000, 5_000))
    .run();
    assert!(case.lines().contains(&"executor Partial 1 0 1".to_owned()), "{:#?}", case.lines());
    assert_eq!(case.end().message.content, "Half.");
}
