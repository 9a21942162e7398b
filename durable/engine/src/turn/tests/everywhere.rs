//! One turn with every kind of call, cancelled at each of its moments: each call has one result, the history
//! has no orphan, and the turn says that it was cancelled.

use serde_json::json;

use super::summaries::{behind, gist};
use crate::journal::TurnStop;
use crate::testing::*;
use wire::protocol::FinishReason;

/// Summaries of the turns before it. Parallel tools, a surplus, serial ones and a lock; a nested subtask, and a structured one that is wrong
/// once.
fn everything() -> Case {
    let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]});
    let structured = ("run_subtask", json!({"title": "s", "instructions": "s", "output_schema": schema}));
    let finishes = |n: serde_json::Value| Reply::Calls(vec![("finish_subtask", json!({ "n": n }))]);
    let echoes = vec![("echo", json!({})); 7];
    let serial =
        vec![("write", json!({})), ("locked", json!({})), ("secret", json!({})), ("fail", json!({}))];
    let first = [vec![subtask("a"), structured], echoes, serial].concat();
    let write = ("memory_write", json!({"key": "k", "value": "v"}));
    let levels = [
        (
            "go",
            vec![
                Reply::TextAndCalls("First. ", first),
                Reply::Calls(vec![("memory_list", json!({})), ("once", json!({}))]),
                Reply::Think("Hm. ", "All is done."),
            ],
        ),
        ("a", vec![Reply::TextAndCalls("I ask b. ", vec![subtask("b"), write]), Reply::Text("a done")]),
        ("b", vec![Reply::Calls(vec![("locked", json!({})), ("echo", json!({}))]), Reply::Text("b done")]),
        ("s", vec![Reply::Text("It is 1."), finishes(json!("one")), finishes(json!(1))]),
    ];
    let levels: Vec<_> = levels.into_iter().chain(gist()).collect();
    behind(20, Case::new(script(&levels)))
}

fn cancelled(case: &Case, at: usize) {
    case.check();
    let end = case.end();
    assert_eq!(end.message.finish_reason, Some(FinishReason::Cancelled), "{at}");
    assert_eq!(end.message.stop.unwrap().code, "cancelled", "{at}");
    assert!(case.tools.ran.borrow().iter().filter(|ran| ran.starts_with("write")).count() <= 1, "{at}");
}

// N-045 N-051 N-130 N-174 N-181 N-197
#[test]
fn a_turn_can_be_cancelled_at_each_await() {
    let mut whole = everything();
    let mut steps = 0;
    whole.run_with(None, |_, step| steps = step);
    whole.check();
    assert_eq!(whole.end().message.finish_reason, Some(FinishReason::Stop));
    assert!(steps > 30, "{steps}");
    for at in 0..=steps {
        let mut case = everything();
        case.run_with(None, |turn, step| {
            if step == at {
                turn.stop(TurnStop::Cancelled).unwrap();
            }
        });
        cancelled(&case, at);
    }
}

// N-181 N-197
#[test]
fn a_turn_lost_at_any_commit_can_be_cancelled() {
    let mut whole = everything();
    whole.run_with(None, |_, _| {});
    let (commits, requests) = (whole.disk.commits.get(), whole.model.requests.borrow().len());
    for at in 1..commits {
        for kill in [Kill::AfterCommits(at), Kill::Unheard(at)] {
            let mut case = everything();
            case.run_with(Some(kill), |_, _| {});
            let made = case.model.requests.borrow().len();
            case.resume_with(None, |turn, step| {
                if step == 0 {
                    turn.stop(TurnStop::Cancelled).unwrap();
                }
            });
            cancelled(&case, at);
            assert_eq!(case.model.requests.borrow().len(), made, "no provider call after the stop");
            assert!(made <= requests);
        }
    }
}

// N-095: a lost call leaves its lock free, at any moment of the loss.
#[test]
fn a_lock_is_free_once_its_holder_is_lost() {
    let child = vec![Reply::Calls(vec![("locked", json!({}))]), Reply::Text("ok")];
    let levels = [
        ("go", vec![Reply::Calls(vec![subtask("a"), subtask("b")]), Reply::Text("Done.")]),
        ("a", child.clone()),
        ("b", child),
    ];
    let (mut at, mut lost) = (0, 0);
    loop {
        let mut case = Case::new(script(&levels));
        case.run_with(Some(Kill::AtStep(at)), |_, _| {});
        if case.disk.end.borrow().is_some() {
            break;
        }
        lost += usize::from(case.tools.ran.borrow().len() == 1);
        case.resume(None);
        case.check();
        assert_eq!(case.end().message.finish_reason, Some(FinishReason::Stop), "lost at step {at}");
        at += 1;
    }
    assert!(lost > 0, "one held the lock while the other waited");
}
