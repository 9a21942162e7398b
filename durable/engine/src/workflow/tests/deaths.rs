//! A turn that works on a session dies at each of its commits, and goes on.

use super::*;
use crate::journal::{Answer, StepEnd};
use wire::protocol::{Awaited, Event};

/// A step of each kind: judged and sent back once, planned, structured, plain.
pub(crate) fn rich() -> Case {
    judged_by(json!({"threshold": "low"}))
}

/// The same with a verifier that has instructions of its own.
pub(crate) fn instructed() -> Case {
    judged_by(json!({"threshold": "low", "instructions": "Count the sources."}))
}

fn judged_by(verifier: Value) -> Case {
    let verdict = |assessment: &str| {
        let verdict = json!({"assessment": assessment, "reasoning": "r", "retry_instruction": "More."});
        Reply::Calls(vec![("finish_subtask", verdict)])
    };
    let plan = json!({"plan": [
        {"action": "echo", "args": {"n": 1}, "expected_outcome": "good"},
        {"action": "write", "args": {"n": 2}, "expected_outcome": "good"},
    ]});
    let object = json!({
        "notesMarkdown": notes("Sort"), "isComplete": true, "toolCalls": [{"tool": "write", "params": {"n": 3}}],
    });
    on(
        session(&[
            ("Collect", json!({"verifier": verifier})),
            ("Compare", json!({"type": "planned"})),
            ("Sort", json!({"output_mode": "structured_output"})),
            ("Write", json!({})),
        ]),
        script(&[
            ("Collect", vec![Reply::Calls(vec![done("Early")]), Reply::Calls(vec![echo(), done("Late")])]),
            ("verify Collect, Early", vec![verdict("retry")]),
            ("verify Collect", vec![verdict("pass")]),
            ("plan Compare", vec![Reply::Calls(vec![("finish_subtask", plan)])]),
            (
                "notes of Compare",
                vec![Reply::Calls(vec![("finish_subtask", json!({"notesMarkdown": notes("Compare")}))])],
            ),
            ("Sort", vec![Reply::Calls(vec![("__step_output__", object)])]),
            (
                "Write",
                vec![
                    Reply::Text("It is written."),
                    Reply::Calls(vec![("write", json!({"n": 4}))]),
                    Reply::Calls(vec![done("Write"), echo()]),
                ],
            ),
            ("all done", vec![Reply::Text("The report is there.")]),
        ]),
    )
}

fn ends(case: &Case) -> Vec<StepEnd> {
    changes(case).into_iter().filter_map(|change| change.ended).collect()
}

// W-046: below our own prompt, and for the judge alone.
#[test]
fn a_verifier_reads_its_own_instructions() {
    let own = "\nThe author of the procedure says about your judgement:\nCount the sources.\nDecide:";
    let has_own = |case: Case| -> Vec<(bool, bool)> {
        let of =
            |request: ModelRequest| (request.system.starts_with("You judge"), request.system.contains(own));
        requests(&case.run()).into_iter().map(of).collect()
    };
    let told = has_own(instructed());
    assert_eq!(told.iter().filter(|(judges, _)| *judges).count(), 2);
    assert!(told.iter().all(|(judges, has_own)| judges == has_own), "{told:?}");
    assert!(has_own(rich()).iter().all(|(_, has_own)| !has_own));
    // Code that does not know them would judge without them, so it ends such a turn.
    assert_eq!([rich(), instructed()].map(|case| case.spec().least_reader), [4, 7]);
}

// W-090 W-093, issue 21: a kill at each commit advances no step twice, skips none, and repeats no call that has ended.
#[test]
fn a_session_that_dies_at_each_commit_comes_to_the_same_end() {
    let whole = rich().run();
    assert_eq!(ends(&whole).len(), 4, "{:?}", whole.lines());
    let writes = |case: &Case| {
        let ran = case.tools.ran.borrow();
        ran.iter().filter(|call| call.starts_with("write")).count()
    };
    for dies_after in 1..whole.disk.commits.get() {
        for kill in [Kill::AfterCommits(dies_after), Kill::Unheard(dies_after)] {
            let mut case = rich();
            case.run_with(Some(kill), |_, _| {});
            case.resume(None);
            case.check();
            // A call that was cut off is not made again: the model is told, and goes its way.
            let again = requests(&case).len() - requests(&whole).len().min(requests(&case).len());
            assert!(again <= 1, "{kill:?}: {again} calls were made again");
            let unknown =
                case.lines().iter().filter(|line| line.contains("The call was interrupted")).count();
            assert!(writes(&case) <= 3 + unknown, "{kill:?}: a call that changes something ran twice");
            let revisions: Vec<u64> = changes(&case).iter().map(|change| change.revision).collect();
            assert_eq!(revisions, (1..=revisions.len() as u64).collect::<Vec<_>>(), "{kill:?}");
            assert_eq!(left(&case).step, 4, "{kill:?}: {:?}", case.lines());
            let notes: Vec<_> = ends(&case).into_iter().map(|end| end.notes).collect();
            assert_eq!(notes, whole_notes(&whole), "{kill:?}");
        }
    }
}

fn whole_notes(whole: &Case) -> Vec<wire::protocol::StepNotes> {
    ends(whole).into_iter().map(|end| end.notes).collect()
}

// W-042: a review survives the loss of its run, before the answer and after it.
#[test]
fn a_review_survives_a_kill_at_each_commit() {
    let new = || {
        let verdict = json!({"assessment": "escalate", "reasoning": "r"});
        on(
            session(&[("Collect", json!({"verifier": {"threshold": "low"}}))]),
            script(&[
                ("Collect", vec![Reply::Calls(vec![done("Collect")])]),
                ("verify Collect", vec![Reply::Calls(vec![("finish_subtask", verdict)])]),
                ("all done", vec![Reply::Text("Done.")]),
            ]),
        )
    };
    let asked = |case: &Case| {
        case.events().into_iter().find_map(|event| match event {
            Event::ApprovalRequest { approval_id, .. } => Some(approval_id),
            _ => None,
        })
    };
    for dies_after in 1..20 {
        let mut case = new();
        case.run_with(Some(Kill::AfterCommits(dies_after)), |_, _| {});
        if !case.is_parked() {
            case.resume(None);
        }
        let id = asked(&case).expect("a person is asked");
        case.say(Some(Kill::AfterCommits(dies_after)), |turn| {
            let _ = turn.answer(&id, Awaited::Approval, Answer::Approve);
        });
        if case.disk.end.borrow().is_none() {
            match case.is_parked() {
                true => {
                    case.say(None, |turn| turn.answer(&id, Awaited::Approval, Answer::Approve).unwrap());
                }
                false => case.resume(None),
            }
        }
        case.check();
        assert_eq!(left(&case).status, SessionStatus::Complete, "{dies_after}: {:?}", case.lines());
        assert_eq!(flow(&case).len(), 3, "{dies_after}");
        assert_eq!(case.lines().iter().filter(|line| line.starts_with("ask ")).count(), 1);
    }
}

// A deploy in mid-turn that edits prompts changes nothing of a step that has begun.
#[test]
fn steering_is_frozen_in_the_journal() {
    let whole = rich().run();
    let frozen: Vec<String> = {
        let entries = whole.disk.entries.borrow();
        let steered = entries.iter().filter_map(|entry| match &entry.fact {
            Fact::Steered(steered) => Some(steered.texts.clone()),
            _ => None,
        });
        steered.flatten().collect()
    };
    let sent: Vec<String> = requests(&whole)
        .iter()
        .flat_map(|request| request.messages.clone())
        .filter_map(|message| match &*message {
            Message::User { content } => Some(content.text().into_owned()),
            _ => None,
        })
        .collect();
    assert!(frozen.len() >= 6 && frozen.iter().all(|text| sent.contains(text)), "{frozen:?}");
}
