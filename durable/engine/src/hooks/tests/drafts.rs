//! Drafts that no hook has let pass: stops, limits and lost runs leave nothing of them.
//!
//! A-111. Issue 45, 15

use serde_json::json;

use super::answers::{blocked, golden, judged, judging, texts};
use super::*;
use crate::journal::{AgentSetting, Fact, TurnStop};
use wire::protocol::{FinishReason, HookDecision};

// A failure in the middle of a reply, and each moment at which a stop may come: nothing of the draft is left.
#[test]
fn a_stop_leaves_no_unjudged_text() {
    let failed = judged(vec![Reply::Fail("You fool", wire::model::ModelErrorKind::Overloaded)], &[]).run();
    let message = failed.end().message;
    assert_eq!((message.content.as_str(), texts(&failed)), ("", Vec::new()));
    assert!(!format!("{:?}", failed.end().history).contains("fool"));
    for why in
        [TurnStop::Cancelled, TurnStop::Superseded, TurnStop::Interrupted { detail: "lost".to_owned() }]
    {
        let mut steps = 0;
        golden().run_with(None, |_, step| steps = step);
        for stop in 0..=steps {
            let mut case = golden();
            case.run_with(None, |turn, step| {
                if step == stop {
                    turn.stop(why.clone()).unwrap();
                }
            });
            case.check();
            let left = format!("{:?} {:?}", case.end().history, case.end().message.content);
            assert!(!left.contains("fool"), "{left}");
        }
    }
    // The time of the turn is over while the hook judges.
    let mut slow = hooked(
        judging("be kind"),
        script(&[("go", vec![Reply::Text("You fool.")]), ("be kind You fool.", vec![Reply::Hang("hm")])]),
    )
    .limits(|limits| limits.wall_clock_ms = 10_000);
    slow.run_with(None, |_, _| {});
    slow.check();
    assert_eq!(slow.end().message.finish_reason, Some(FinishReason::Budget));
    assert_eq!((slow.end().message.content.as_str(), texts(&slow)), ("", Vec::new()));
}

// Verdicts and rewritings come out of the turn's budget.
#[test]
fn the_budget_bounds_verdicts_and_rewritings() {
    for (calls, content) in [(5, "Dear friend."), (4, ""), (3, ""), (2, "")] {
        let case = golden().limits(|limits| limits.llm_calls = calls).run();
        let message = case.end().message;
        assert_eq!(message.content, content, "{calls} calls");
        let finish = if content.is_empty() { FinishReason::Budget } else { FinishReason::Stop };
        assert_eq!(message.finish_reason, Some(finish), "{calls} calls");
    }
    let case = golden().limits(|limits| limits.iterations = 2).run();
    assert_eq!(case.end().message.stop.unwrap().code, "iteration_limit");
}

// A step's limit of calls: its partial result has no text that hooks have not let pass.
#[test]
fn a_partial_result_has_no_unjudged_text() {
    let case = hooked(
        judging("be kind"),
        script(&[
            ("go", vec![Reply::Calls(vec![plan("p", "serial")]), Reply::Text("Done.")]),
            ("plan p", vec![planned(&[("one", &[])])]),
            (
                "one",
                vec![
                    Reply::TextAndCalls("You fool, wait.", vec![("echo", json!({}))]),
                    Reply::Text("You fool."),
                ],
            ),
            ("be kind You fool.", vec![verdict("block", "that is rude")]),
            ("be kind Done.", vec![verdict("allow", "")]),
        ]),
    )
    .limits(|limits| limits.step_iterations = 2)
    .run();
    let shown = case.lines().join("\n");
    assert!(!shown.contains("fool"), "{shown}");
    assert_eq!(texts(&case), ["Done."]);
}

// A blank message is answered by the service itself, and no hook is asked.
#[test]
fn the_services_own_answer_is_not_judged() {
    let mut case = judged(vec![Reply::Text("never")], &[]);
    case.content = " ".to_owned();
    let case = case.run();
    assert!(case.end().message.content.starts_with("Your message was empty."));
    assert!(case.model.requests.borrow().is_empty());
}

// A kill at each commit, and after a commit that the run did not hear of: the same verdicts, answers and messages, and no
// reader of any run has more than the answer.
#[test]
fn a_turn_that_is_lost_at_any_commit_shows_the_same_answer() {
    for play in [golden as fn() -> Case, blocked] {
        let whole = play().run();
        let commits = whole.disk.commits.get();
        assert!(commits > 6, "{commits}");
        for lost in 0..commits {
            for kill in [Kill::AfterCommits(lost), Kill::Unheard(lost)] {
                let mut case = play();
                case.run_with(Some(kill), |_, _| {});
                if case.disk.entries.borrow().is_empty() {
                    continue;
                }
                if case.disk.end.borrow().is_none() {
                    case.resume(None);
                }
                case.check();
                assert_eq!(case.end().history, whole.end().history, "{kill:?}");
                assert_eq!(case.end().message.content, whole.end().message.content, "{kill:?}");
                assert_eq!(case.end().message.stop, whole.end().message.stop, "{kill:?}");
                assert_eq!(texts(&case), texts(&whole), "{kill:?}");
                let verdicts = |case: &Case| {
                    let entries = case.disk.entries.borrow();
                    let said = entries.iter().filter_map(|entry| match &entry.fact {
                        Fact::HookSaid(said) => Some((entry.at.clone(), said.decision)),
                        _ => None,
                    });
                    said.collect::<Vec<(String, Option<HookDecision>)>>()
                };
                assert_eq!(verdicts(&case), verdicts(&whole), "{kill:?}");
            }
        }
    }
}

// Code that does not know the point ends such a turn, and finds no draft in its journal.
#[test]
fn older_code_finds_no_draft() {
    let case = golden();
    assert_eq!(case.spec().least_reader, 9);
    let mut plain = case;
    plain.setting.hooks.clear();
    assert!(plain.spec().least_reader < 9);
    plain.setting.agents = Some(AgentSetting {
        root: None,
        kept: vec![crate::journal::Agent {
            hooks: from_variable(&judging("x").to_string()).unwrap(),
            ..crate::journal::Agent::default()
        }],
        has_lives: false,
    });
    assert_eq!(plain.spec().least_reader, 9);
    let case = golden().run();
    let entries = case.disk.entries.borrow();
    for entry in entries.iter() {
        let json = serde_json::to_string(entry).unwrap();
        let is_reply = json.contains("fool") && !entry.at.contains("-hook-");
        assert!(!is_reply || json.contains(r#""outcome":{"drafted":"#), "{json}");
    }
}
