//! Runs that are lost: verdicts and states stand in the journal, and nobody is asked again.

use serde_json::json;

use super::*;
use crate::journal::{Entry, Fact, TurnStop};
use wire::protocol::{FinishReason, HookDecision};

/// A turn with a guard of each kind and commenters, and a subtask.
fn watched() -> Case {
    let hooks = json!([
        {"name": "greeter", "on": "input", "of": "main", "instructions": "greet"},
        {"name": "loops", "builtin": "loop_guard"},
        {"name": "guard", "on": "action", "match": ["write", "echo"], "instructions": "guard"},
        {"name": "late", "on": "action", "match": ["locked"], "instructions": "late"},
        {"name": "todo", "builtin": "todo_reminder", "options": {"every": 2}},
    ]);
    let echo = || ("echo", json!({}));
    hooked(
        hooks,
        script(&[
            (
                "go",
                vec![
                    Reply::Calls(vec![echo(), ("write", json!({})), subtask("a")]),
                    Reply::Calls(vec![echo(), ("locked", json!({}))]),
                    Reply::Calls(vec![echo()]),
                    Reply::Text("Done."),
                ],
            ),
            ("a", vec![Reply::Calls(vec![echo(), ("write", json!({}))]), Reply::Text("ok")]),
            ("greet ", vec![verdict("comment", "Be kind.")]),
            ("guard write {}", vec![verdict("block", "no writing")]),
            ("guard echo {}", vec![verdict("comment", "again?")]),
            ("late locked {}", vec![Reply::Hang("hm")]),
        ]),
    )
}

/// The verdicts in the journal, without their times.
fn verdicts(case: &Case) -> Vec<(String, Option<HookDecision>)> {
    let entries = case.disk.entries.borrow();
    let said = entries.iter().filter_map(|Entry { at, fact, .. }| match fact {
        Fact::HookSaid(said) => Some((at.clone(), said.decision)),
        _ => None,
    });
    let mut said: Vec<_> = said.collect();
    said.sort_by(|one, other| one.0.cmp(&other.0));
    said
}

// Issue 20: a kill at each commit of a smart guard. The resumed turn has the same verdicts, results and messages.
#[test]
fn a_turn_that_is_lost_at_any_commit_comes_to_the_same_verdicts() {
    let whole = watched().run();
    let commits = whole.disk.commits.get();
    assert!(commits > 10, "{commits}");
    for lost in 0..commits {
        for kill in [Kill::AfterCommits(lost), Kill::Unheard(lost)] {
            let mut case = watched();
            case.run_with(Some(kill), |_, _| {});
            if case.disk.entries.borrow().is_empty() {
                continue;
            }
            let known = verdicts(&case);
            let asked = case.model.requests.borrow().len();
            let answered = case.disk.count(|entry| matches!(entry.fact, Fact::ModelEnded { .. }));
            if case.disk.end.borrow().is_none() {
                case.resume(None);
            }
            case.check();
            let after = verdicts(&case);
            assert!(known.iter().all(|verdict| after.contains(verdict)), "{kill:?}");
            assert_eq!(after, verdicts(&whole), "{kill:?}");
            assert_eq!(case.end().history, whole.end().history, "{kill:?}");
            // Only calls without an outcome are made again.
            let all = case.model.requests.borrow().len();
            let open = asked - answered.min(asked);
            assert!(all <= whole.model.requests.borrow().len() + open, "{kill:?}: {all}");
        }
    }
}

// The state of a rule is what the journal says: a run that takes the turn up goes on counting.
#[test]
fn a_state_outlives_its_run() {
    let echo = || vec![("echo", json!({}))];
    let hooks = json!([{"name": "loops", "builtin": "loop_guard"}]);
    let play = || rounds(hooks.clone(), vec![echo(), echo(), echo()]);
    let commits = play().run().disk.commits.get();
    for lost in 1..commits {
        let mut case = play();
        case.run_with(Some(Kill::AfterCommits(lost)), |_, _| {});
        case.resume(None);
        case.check();
        let blocked: Vec<String> = case.lines().into_iter().filter(|line| line.contains("Block")).collect();
        assert_eq!(blocked.len(), 1, "lost after {lost} commits");
        assert!(blocked[0].starts_with("hook 2.0h0 loops"));
    }
}

// Each moment of a turn: a stop ends open hooks without a verdict.
#[test]
fn a_stop_ends_open_hooks() {
    let mut steps = 0;
    watched().run_with(None, |_, step| steps = step);
    let mut cut = 0;
    for stop in 0..=steps {
        let mut case = watched();
        case.run_with(None, |turn, step| {
            if step == stop {
                turn.stop(TurnStop::Cancelled).unwrap();
            }
        });
        case.check();
        cut +=
            case.lines().iter().filter(|line| line.starts_with("hook ") && line.contains("cut off")).count();
        let finish = case.end().message.finish_reason.unwrap();
        assert!([FinishReason::Cancelled, FinishReason::Stop].contains(&finish));
    }
    assert!(cut > 3, "{cut} hooks were open");
}

// A hook restricts a turn: code that knows no hooks may not go on with one that has any.
#[test]
fn a_turn_with_hooks_names_a_newer_reader() {
    let reader = |mut case: Case| {
        // Newer rules for estimates name a still newer one.
        case.estimates = 0;
        let case = case.run();
        let entries = case.disk.entries.borrow();
        let Fact::Started(spec) = &entries[0].fact else { panic!() };
        (spec.format, spec.least_reader)
    };
    assert_eq!(reader(watched()), (2, 3));
    assert_eq!(reader(rounds(json!([]), vec![])), (2, 2));
    let mut case = Case::new(script(&[("go", vec![Reply::Text("Done.")])]));
    case.setting.agent_hooks = true;
    assert_eq!(reader(case), (2, 3));
}
