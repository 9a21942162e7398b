//! Random turns on sessions: kinds of steps, calls, verdicts, limits, failures, kills and stops. `invariants` holds the rules
//! that each turn must keep.

use proptest::prelude::*;

use super::*;
use crate::journal::{Answer, TurnStop};
use crate::turn::tests::faults::view;
use crate::turn::tests::random_turns;
use wire::model::ModelErrorKind;
use wire::protocol::{Awaited, Event, Stuck};

const TITLES: [&str; 3] = ["One", "Two", "Three"];

/// The replies of a step, each with its calls as numbers.
type Replies = Vec<Vec<u8>>;

#[derive(Clone, Debug)]
struct Random {
    /// Of each step: its kind, and its replies.
    steps: Vec<(u8, Replies)>,
    verdict: u8,
    notifies: bool,
    limits: (u32, u32, u32),
    seed: u64,
    kills: Vec<Kill>,
    stop: Option<usize>,
}

fn member(kind: u8) -> Value {
    let verifier = json!({"threshold": "low"});
    match kind % 8 {
        0 => json!({"verifier": verifier}),
        1 => json!({"type": "planned"}),
        2 => json!({"type": "planned", "review": true}),
        3 => json!({"output_mode": "structured_output"}),
        4 => json!({"type": "planned", "review": true, "verifier": verifier}),
        5 => json!({"output_mode": "structured_output", "verifier": verifier}),
        _ => json!({}),
    }
}

fn call(kind: u8) -> (&'static str, Value) {
    match kind % 9 {
        0 | 1 => done("Some"),
        2 => ("complete_step", json!({"notesMarkdown": "short"})),
        3 => ("write", json!({})),
        4 => ("fail", json!({})),
        5 => subtask("work"),
        6 => {
            let calls = json!([{"tool": "echo", "params": {}}]);
            (
                "__step_output__",
                json!({"notesMarkdown": notes("Some"), "isComplete": kind.is_multiple_of(2), "toolCalls": calls}),
            )
        }
        7 => ("verify_step", json!({"step": "one"})),
        _ => echo(),
    }
}

fn replies(all: &Replies) -> Vec<Reply> {
    let reply = |(at, calls): (usize, &Vec<u8>)| match calls.as_slice() {
        [] if at % 3 == 2 => Reply::Fail("oh ", ModelErrorKind::Overloaded),
        [] => Reply::Text("a few words"),
        calls => Reply::TextAndCalls("well, ", calls.iter().map(|call| self::call(*call)).collect()),
    };
    all.iter().enumerate().map(reply).chain([Reply::Calls(vec![done("Last")])]).collect()
}

impl Random {
    fn case(&self) -> Case {
        let steps: Vec<_> =
            TITLES.iter().zip(&self.steps).map(|(title, (kind, _))| (*title, member(*kind))).collect();
        let mut levels: Vec<(String, Vec<Reply>)> = Vec::new();
        let verdict = ["pass", "retry", "escalate", "nonsense"][usize::from(self.verdict) % 4];
        let verdict = json!({"assessment": verdict, "reasoning": "r"});
        let plan = json!({"plan": [{"action": "echo", "args": {}, "expected_outcome": "good"}]});
        for (title, (_, own)) in TITLES.iter().zip(&self.steps) {
            levels.push(((*title).to_owned(), replies(own)));
            levels.push((
                format!("verify {title}"),
                vec![Reply::Calls(vec![("finish_subtask", verdict.clone())])],
            ));
            levels
                .push((format!("plan {title}"), vec![Reply::Calls(vec![("finish_subtask", plan.clone())])]));
            let noted = json!({"notesMarkdown": notes(title)});
            levels.push((format!("notes of {title}"), vec![Reply::Calls(vec![("finish_subtask", noted)])]));
        }
        levels.push(("work".to_owned(), vec![Reply::Text("worked")]));
        levels.push(("all done".to_owned(), vec![Reply::Text("Done.")]));
        let mut session = session(&steps);
        session.definition.stuck = if self.notifies { Stuck::NotifyOnly } else { Stuck::Abort };
        let (iterations, llm_calls, tool_calls) = self.limits;
        let mut case = Case::seeded(levels.into_iter().collect(), self.seed);
        case.limits = Limits { iterations, llm_calls, tool_calls, ..Limits::of_profile("workflow").unwrap() };
        case.setting.session = Some(Box::new(session));
        case
    }

    fn play(&self) -> Case {
        let mut case = self.case();
        let mut kills = self.kills.iter();
        let mut steps = 0;
        while case.disk.end.borrow().is_none() {
            let kill = kills.next().copied();
            let mut during = |turn: &crate::turn::Turn, _: usize| {
                steps += 1;
                if self.stop == Some(steps) {
                    let _ = turn.stop(TurnStop::Cancelled);
                }
            };
            if case.is_parked() {
                let open = case.events().into_iter().rev().find_map(|event| match event {
                    Event::ApprovalRequest { approval_id, .. } => Some(approval_id),
                    _ => None,
                });
                let allows = self.verdict.is_multiple_of(2);
                let answer = if allows { Answer::Approve } else { Answer::Deny };
                case.say(kill, |turn| drop(turn.answer(&open.unwrap(), Awaited::Approval, answer)));
                continue;
            }
            match case.disk.commits.get() {
                0 => case.run_with(kill, &mut during),
                _ => case.resume_with(kill, &mut during),
            }
        }
        case
    }
}

fn turns(kills: usize) -> impl Strategy<Value = Random> {
    let kill = prop_oneof![
        (1..30_usize).prop_map(Kill::AfterCommits),
        (1..30_usize).prop_map(Kill::Unheard),
        (0..150_usize).prop_map(Kill::AtStep),
    ];
    let replies = prop::collection::vec(prop::collection::vec(any::<u8>(), 0..4), 0..4);
    let steps = prop::collection::vec((any::<u8>(), replies), 1..=3);
    let lives = (prop::collection::vec(kill, kills..=3 * kills), prop::option::weighted(0.2, 1..100_usize));
    let limits = (1..6_u32, 0..40_u32, 0..40_u32);
    (steps, any::<u8>(), any::<bool>(), limits, 0..u64::MAX, lives).prop_map(
        |(steps, verdict, notifies, limits, seed, (kills, stop))| Random {
            steps,
            verdict,
            notifies,
            limits,
            seed,
            kills,
            stop,
        },
    )
}

fn config() -> ProptestConfig {
    ProptestConfig { cases: random_turns() / 10, failure_persistence: None, ..ProptestConfig::default() }
}

/// Revisions come one after the other, no step is skipped, and each has notes of its length.
fn well_led(case: &Case) {
    let changes = changes(case);
    let revisions: Vec<u64> = changes.iter().map(|change| change.revision).collect();
    assert_eq!(revisions, (1..=revisions.len() as u64).collect::<Vec<_>>(), "{:?}", case.lines());
    let steps = &case.setting.session.as_ref().unwrap().definition.steps;
    let ends: Vec<_> = changes.iter().filter_map(|change| change.ended.as_ref()).collect();
    for (end, step) in ends.iter().zip(steps) {
        assert_eq!(end.notes.step_id, step.id);
        assert!(end.notes.notes.chars().count() >= wire::protocol::MIN_NOTES_CHARS);
    }
    let session = left(case);
    assert_eq!(session.status == SessionStatus::Complete, ends.len() == steps.len(), "{:?}", case.lines());
    assert_ne!(session.status, SessionStatus::Running, "{:?}", case.lines());
}

proptest! {
    #![proptest_config(config())]

    // Issue 21, tests: no limit is crossed, no step is skipped, and the same turn is the same again.
    #[test]
    fn every_turn_on_a_session_is_bounded_and_well_led(random in turns(0)) {
        let case = random.play();
        case.check();
        well_led(&case);
        prop_assert_eq!(case.events(), random.play().events());
    }

    #[test]
    fn a_turn_on_a_session_that_dies_ends_well(random in turns(1)) {
        let case = random.play();
        case.check();
        well_led(&case);
        let stored = case.disk.events.borrow();
        prop_assert_eq!(view(&case.seen), view(&stored), "who stayed has what is stored");
    }
}
