//! Turns that a scripted model has played, recorded and replayed. The thirteen records of real turns (`tests/records`) are
//! replayed as well.
//!
//! Issue 20, 1. A-099

mod shapes;

use std::fs;
use std::path::Path;

use engine::journal::{Answer, Fact, Past, TurnStop};
use engine::testing::{Case, Kill};
use engine::turn::Turn;
use serde_json::json;
use wire::model::ModelRequest;
use wire::protocol::{Awaited, Event};

use self::shapes::{shapes, with_dumps};
use crate::{End, Record, Replayed, replay};

/// The record of a case that has ended, in the form that the service writes.
fn recorded(case: &Case) -> Record {
    let entries = case.disk.entries.borrow();
    let Fact::Started(spec) = &entries[0].fact else { panic!("no entry 0") };
    let header = json!({ "record": 1, "thread_id": "thread", "turn_id": "turn", "limits": spec.limits,
        "before_gap": case.earlier().before_gap });
    let end = json!({ "end": End::from(&case.end()) });
    let journal = entries.iter().map(|entry| serde_json::to_string(entry).unwrap());
    let earlier = case.earlier().turns.into_iter();
    let earlier = earlier.map(|Past { id, messages }| {
        json!({ "history": messages, "row": id.row, "turn_id": id.turn_id }).to_string()
    });
    let lines: Vec<String> =
        [header.to_string()].into_iter().chain(earlier).chain(journal).chain([end.to_string()]).collect();
    Record::read(&lines.join("\n")).unwrap()
}

fn replayed(record: &Record) -> Replayed {
    replay(record).unwrap_or_else(|why| panic!("{why}"))
}

// Issue 45, 14: the files of dumps are in no record, and are made anew of the agents that were restored.
#[test]
fn restored_agents_go_as_they_went() {
    let case = played(with_dumps(1), None);
    let entries = case.disk.entries.borrow().clone();
    let results: Vec<&str> = entries
        .iter()
        .filter_map(|entry| match &entry.fact {
            Fact::ToolEnded(end) => Some(end.content.as_str()),
            _ => None,
        })
        .filter(|content| content.contains("restored") || content.contains("I woke"))
        .collect();
    let taken = "nobody was restored from \"a.json\": these names are taken: hand. `as` gives the first agent of the dump \
                 another name";
    assert_eq!(
        results,
        [taken, "restored: twin, hand", taken, "I woke.", "<speaker name=\"twin\">\nI woke.\n</speaker>"]
    );
    assert_eq!(replayed(&recorded(&case)).difference, None);
}

/// Plays a case to its end, stopping it at a step if the scenario says so, and answering its waits.
fn played(case: Case, cancel_at: Option<usize>) -> Case {
    played_with(case, cancel_at, None)
}

/// The same, and the first run may be lost.
fn played_with(mut case: Case, cancel_at: Option<usize>, kill: Option<Kill>) -> Case {
    case.run_with(kill, |turn, step| {
        if cancel_at == Some(step) {
            drop(turn.stop(TurnStop::Cancelled));
        }
    });
    if matches!(case.ran, Some(Err(_))) {
        case.resume(None);
    }
    while case.disk.end.borrow().is_none() {
        let ids = waiting(&case);
        case.say(None, |turn: &Turn| {
            for (on, id) in &ids {
                let result = |content: &str| Answer::Result { content: content.to_owned(), is_error: false };
                let (by, answer) = match on {
                    Awaited::Approval | Awaited::Limit => (Awaited::Approval, Answer::Approve),
                    Awaited::Client => (Awaited::Client, result("pasted")),
                    Awaited::Input => (Awaited::Approval, result(r#"{"who": {"name": "Ada"}}"#)),
                };
                drop(turn.answer(id, by, answer));
            }
        });
    }
    case
}

/// All ids under which a call may wait.
fn waiting(case: &Case) -> Vec<(Awaited, String)> {
    let ids = case.events().into_iter().filter_map(|event| match event {
        Event::ToolCallUpdate { tool_call_id, .. } => Some((Awaited::Client, tool_call_id)),
        Event::ApprovalRequest { approval_id, form: Some(_), .. } => Some((Awaited::Input, approval_id)),
        Event::ApprovalRequest { approval_id, .. } | Event::LimitRequest { approval_id, .. } => {
            Some((Awaited::Approval, approval_id))
        }
        _ => None,
    });
    ids.collect()
}

/// The requests in an order that does not depend on which level was faster.
fn sorted(requests: &[ModelRequest]) -> Vec<String> {
    let mut told: Vec<String> = requests.iter().map(|request| format!("{request:?}")).collect();
    told.sort_unstable();
    told
}

// A-002 A-003 A-084: with the recorded outcomes of its ports an agent decides the same.
#[test]
fn a_record_rebuilds_each_request_of_each_level() {
    for (name, case, cancel_at) in shapes() {
        for seed in 0..12 {
            let case = played(case(seed), cancel_at);
            let replayed = replayed(&recorded(&case));
            assert_eq!(replayed.difference, None, "{name}, seed {seed}");
            assert_eq!(
                sorted(&replayed.requests),
                sorted(&case.model.requests.borrow()),
                "{name}, seed {seed}"
            );
        }
    }
}

// A run that took the turn up is no part of what the turn did: the record replays as if there had been one run.
#[test]
fn a_turn_whose_run_was_lost_goes_as_it_went() {
    for (name, case, cancel_at) in shapes() {
        let is_stopped = cancel_at.is_some() || name == "out of time";
        for after in (1..12).filter(|_| !is_stopped) {
            let case = played_with(case(after), None, Some(Kill::AfterCommits(after as usize)));
            let replayed = replayed(&recorded(&case));
            assert_eq!(replayed.difference, None, "{name}, killed after {after} commits");
        }
    }
}

// The request that stops a turn may be the one that takes it up.
#[test]
fn a_lost_turn_that_is_stopped_at_once_goes_as_it_went() {
    for (name, case, _) in shapes() {
        for after in 1..8 {
            let mut case = case(0);
            case.run_with(Some(Kill::AfterCommits(after)), |_, _| {});
            if !matches!(case.ran, Some(Err(_))) {
                continue;
            }
            case.resume_with(None, |turn, step| {
                if step == 0 {
                    drop(turn.stop(TurnStop::Cancelled));
                }
            });
            assert_eq!(replayed(&recorded(&case)).difference, None, "{name}, killed after {after} commits");
        }
    }
}

#[test]
fn a_changed_result_is_found_at_the_step_after_it() {
    let (_, case, _) = shapes().into_iter().find(|(name, ..)| *name == "subtasks").unwrap();
    let mut record = recorded(&played(case(3), None));
    let changed = record.entries.iter_mut().find_map(|entry| match &mut entry.fact {
        Fact::ToolEnded(end) if entry.at == "0.1-0.0-0.0" => Some(end),
        _ => None,
    });
    changed.unwrap().content.push_str(" or not");
    let difference = replayed(&record).difference.unwrap();
    assert_eq!(difference.at, "model_started:0.1-0.0-1:0", "{difference}");
    assert!(difference.to_string().starts_with("differs at model_started:0.1-0.0-1:0\n  recorded: {"));
}

#[test]
fn a_missing_entry_is_found() {
    let (_, case, _) = shapes().into_iter().find(|(name, ..)| *name == "tools").unwrap();
    let mut record = recorded(&played(case(0), None));
    record.entries.retain(|entry| entry.at != "1");
    let difference = replayed(&record).difference.unwrap();
    assert_eq!(
        (difference.at.as_str(), difference.recorded.as_ref()),
        ("model_started:1:0", None),
        "{difference}"
    );
}

#[test]
fn another_end_is_found() {
    let (_, case, _) = shapes().into_iter().find(|(name, ..)| *name == "tools").unwrap();
    let mut record = recorded(&played(case(0), None));
    record.end.as_mut().unwrap().content.push('!');
    assert_eq!(replayed(&record).difference.unwrap().at, "end");
}

#[test]
fn a_record_that_is_not_whole_is_not_replayed() {
    let (_, case, _) = shapes().into_iter().next().unwrap();
    let whole = recorded(&played(case(0), None));
    let mut shortened = whole.clone();
    shortened.header.shortened.push("0.0".to_owned());
    assert!(replay(&shortened).unwrap_err().0.contains("shortened"));
    let mut empty = whole.clone();
    empty.entries.clear();
    assert!(replay(&empty).unwrap_err().0.contains("no entry 0"));
    let mut endless = whole.clone();
    endless.end = None;
    assert!(replay(&endless).unwrap_err().0.contains("no end"));
    let mut unknown = whole;
    unknown.entries[1].fact = Fact::Unknown("dreamt".to_owned());
    assert!(replay(&unknown).unwrap_err().0.contains("dreamt"));
}

/// Records that real turns have left behind, in each shape (`tests/e2e/records.rs` writes them).
#[test]
fn thirteen_recorded_turns_go_as_they_went() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/records");
    let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert_eq!(files.len(), 13);
    for file in files {
        let record = Record::read(&fs::read_to_string(&file).unwrap()).unwrap();
        let Replayed { difference, requests, .. } = replayed(&record);
        assert_eq!((difference, requests.is_empty()), (None, false), "{}", file.display());
    }
}
