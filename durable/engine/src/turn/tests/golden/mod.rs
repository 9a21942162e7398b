//! Journals of each shipped format, each resumed to its end by the present code.
//!
//! A journal is a file of `journal/golden/FORMAT`, one entry a line. Its name gives its scenario and the
//! moment at which the run was lost. `make journals` writes those of the present format that are not there yet. A journal
//! that is there stays as it is (`shipped.rs`). A folder `FORMAT-DAY` has the journals of a format whose shape changed on
//! that day, as deployed code had written them; a number behind the day tells two shapes of one day apart.

mod scenario;
mod scenarios;
mod shipped;
mod wired;

use std::fs;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use serde_json::json;
use serde_json::value::RawValue;

use crate::hooks::define;
use crate::journal::{Entry, FORMAT, Fact, NEWEST_READ};
use crate::profiles::{Price, Rates, ServiceTiers, Tier};
use crate::testing::*;
use crate::toolbelt::OutputSchema;
use crate::turn::edit_prompts;
use scenario::Scenario;
use scenarios::{ALL, answer};
use wire::model::{Message, RawValueEq};
use wire::protocol::{FinishReason, Hook, HookPoint, NewHook};

fn folder(format: u32) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("src/journal/golden/{format}"))
}

/// A price with all members.
fn whole_price() -> Price {
    let cache_writes = Rates { cache_write: Some(3.75), cache_write_1h: Some(6.0), ..Rates::default() };
    let rates = |input, cached, output| Rates { input, cached, output, ..cache_writes };
    Price {
        rates: rates(3.0, 0.3, 15.0),
        tiers: vec![Tier { above_tokens: 200_000, rates: rates(6.0, 0.6, 22.5) }],
        service_tiers: ServiceTiers { flex: Some(0.5), priority: Some(2.0) },
    }
}

fn as_lines(case: &Case) -> String {
    let entries = case.disk.entries.borrow();
    entries.iter().map(|entry| serde_json::to_string(entry).unwrap() + "\n").collect()
}

/// A case whose disk holds these entries, as a lost run left them.
fn lost(scenario: &Scenario, entries: Vec<Entry>) -> Case {
    let case = scenario.begin();
    case.disk.found(entries);
    case
}

fn to_its_end(scenario: &Scenario, case: &mut Case) {
    let is_parked = || {
        let entries = case.disk.entries.borrow();
        let parking = entries
            .iter()
            .rev()
            .find(|entry| matches!(entry.fact, Fact::Parked { .. } | Fact::Unparked { .. }));
        parking.is_some_and(|entry| matches!(entry.fact, Fact::Parked { .. }))
    };
    match scenario.parks && is_parked() {
        true => case.say(None, answer),
        false => case.resume_with(None, scenario.during),
    }
}

/// The moments of a scenario at which its run is lost.
fn moments(scenario: &Scenario) -> Vec<(&'static str, Case)> {
    let mut whole = scenario.begin();
    whole.run_with(None, scenario.during);
    let commits = whole.disk.commits.get();
    if scenario.parks {
        whole.say(None, answer);
        let mut parked = scenario.begin();
        parked.run_with(None, scenario.during);
        let mut late = scenario.begin();
        late.run_with(None, scenario.during);
        late.say(None, answer);
        late.disk.lose_end();
        return vec![("parked", parked), ("late", late)];
    }
    let lost_after = |commits| {
        let mut case = scenario.begin();
        case.run_with(Some(Kill::AfterCommits(commits)), scenario.during);
        assert!(case.disk.end.borrow().is_none(), "{}", scenario.name);
        case
    };
    // The run is lost with its end, resumed, and lost again.
    let mut late = scenario.begin();
    late.run_with(None, scenario.during);
    late.disk.lose_end();
    late.resume_with(Some(Kill::AfterCommits(1)), |_, _| {});
    vec![("middle", lost_after(commits / 2)), ("late", late)]
}

#[test]
fn the_journals_of_this_format_are_what_is_written() {
    let writes = std::env::var_os("ESPALIER_WRITE_JOURNALS").is_some();
    for scenario in ALL.iter().filter(|scenario| !scenario.is_former) {
        for (moment, case) in moments(scenario) {
            let path = folder(FORMAT).join(format!("{}.{moment}.jsonl", scenario.name));
            if writes {
                shipped::add(&path, &as_lines(&case));
            }
            let golden = fs::read_to_string(&path).unwrap_or_default();
            let shapes = |text: &str| {
                text.lines().map(|line| shape(&serde_json::from_str(line).unwrap())).collect::<Vec<_>>()
            };
            assert_eq!(
                shapes(&golden),
                shapes(&as_lines(&case)),
                "{}: where it is missing: make journals. Where its shape is another one now: {}",
                path.display(),
                shipped::ADVICE
            );
        }
    }
    if writes {
        shipped::complete(&shipped::list());
    }
}

/// The members of a value and of the values in it, without prompts and texts: editing a prompt needs no new
/// journal.
fn shape(value: &serde_json::Value) -> String {
    match value {
        serde_json::Value::Object(members) => {
            let members = members.iter().map(|(name, value)| format!("{name}:{}", shape(value)));
            format!("{{{}}}", members.collect::<Vec<_>>().join(","))
        }
        serde_json::Value::Array(values) => {
            let mut shapes: Vec<String> = values.iter().map(shape).collect();
            shapes.dedup();
            format!("[{}]", shapes.join(","))
        }
        serde_json::Value::String(_) => "s".to_owned(),
        other => {
            if other.is_number() {
                "n".to_owned()
            } else {
                other.to_string()
            }
        }
    }
}

// N-113
#[test]
fn every_golden_journal_is_resumed_to_its_end() {
    let folders =
        fs::read_dir(folder(FORMAT).parent().unwrap()).unwrap().map(|folder| folder.unwrap().path());
    for folder in folders {
        let mut files = 0;
        for scenario in ALL {
            let mut whole = scenario.begin();
            whole.run_with(None, scenario.during);
            if scenario.parks {
                whole.say(None, answer);
            }
            for moment in ["middle", "late", "parked"] {
                let path = folder.join(format!("{}.{moment}.jsonl", scenario.name));
                let Ok(text) = fs::read_to_string(&path) else { continue };
                files += 1;
                let entries = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
                let mut case = lost(scenario, entries);
                to_its_end(scenario, &mut case);
                let (ours, theirs) = (case.end().message, whole.end().message);
                assert_eq!(ours.content, theirs.content, "{}", path.display());
                assert_eq!(ours.finish_reason, theirs.finish_reason, "{}", path.display());
                assert_eq!(
                    case.end().plans.iter().map(|plan| plan.status).collect::<Vec<_>>(),
                    whole.end().plans.iter().map(|plan| plan.status).collect::<Vec<_>>(),
                );
            }
        }
        let all = fs::read_dir(&folder).unwrap().count();
        assert_eq!(files, all, "each journal of {} has a scenario", folder.display());
    }
}

/// Code of any version may gather other commits into a write, so a journal may end after any commit. The ends of a step
/// that was cut off are one commit in any version, a call that is made again counts against a budget, and a turn that is one
/// call fails where nobody knows how that ended; they are left out here.
#[test]
fn a_journal_may_end_after_each_of_its_entries() {
    let left_out = ["plan-cut-off", "stopped-budget", "direct-call"];
    for scenario in ALL.iter().filter(|scenario| !scenario.parks && !left_out.contains(&scenario.name)) {
        let mut whole = scenario.begin();
        whole.run_with(None, scenario.during);
        let entries = whole.disk.entries.borrow().clone();
        for length in 1..entries.len() {
            let mut case = lost(scenario, entries[..length].to_vec());
            case.resume_with(None, scenario.during);
            let (ours, theirs) = (case.end().message, whole.end().message);
            assert_eq!(ours.content, theirs.content, "{}: {length} entries", scenario.name);
            assert_eq!(ours.finish_reason, theirs.finish_reason, "{}: {length} entries", scenario.name);
        }
    }
}

/// A rollback ends a turn that newer code began, with all the text that the journal holds.
#[test]
fn a_journal_that_needs_a_newer_reader_ends_the_turn_with_its_texts() {
    let scenario = ALL.iter().find(|scenario| scenario.name == "swarm").unwrap();
    let mut whole = scenario.begin();
    whole.run_with(None, scenario.during);
    let lost_late = || {
        let mut case = scenario.begin();
        case.run_with(Some(Kill::AfterCommits(whole.disk.commits.get() - 1)), scenario.during);
        case.disk.entries.take()
    };
    let newer = |entries: &mut Vec<Entry>| {
        let Fact::Started(spec) = &mut entries[0].fact else { panic!() };
        (spec.format, spec.least_reader) = (NEWEST_READ + 1, NEWEST_READ + 1);
    };
    let unknown = |entries: &mut Vec<Entry>| {
        let fact = Fact::Unknown("unknown variant `dreamt`".to_owned());
        entries.push(Entry { at: "9".to_owned(), elapsed_ms: 9, fact });
    };
    for change in [&newer as &dyn Fn(&mut Vec<Entry>), &unknown] {
        let mut entries = lost_late();
        change(&mut entries);
        let mut case = lost(scenario, entries);
        case.resume(None);
        let message = case.end().message;
        assert_eq!(message.finish_reason, Some(FinishReason::Interrupted));
        assert!(message.content.contains("a done"), "{}", message.content);
        assert!(case.model.requests.borrow().is_empty() && case.tools.ran.borrow().is_empty());
    }
    // A call that had begun is not repeated either, even an idempotent one.
    let scenario = ALL.iter().find(|scenario| scenario.name == "parallel-tools").unwrap();
    let mut open = 0;
    for commits in 1..20 {
        let mut case = scenario.begin();
        case.run_with(Some(Kill::AfterCommits(commits)), scenario.during);
        if case.disk.end.borrow().is_some() {
            break;
        }
        let mut entries = case.disk.entries.take();
        let count = |is: fn(&Fact) -> bool| entries.iter().filter(|entry| is(&entry.fact)).count();
        let started = count(|fact| matches!(fact, Fact::ToolStarted { .. }));
        open += usize::from(started > count(|fact| matches!(fact, Fact::ToolEnded(_))));
        newer(&mut entries);
        let mut case = lost(scenario, entries);
        case.resume(None);
        assert_eq!(case.end().message.finish_reason, Some(FinishReason::Interrupted));
        assert!(case.tools.ran.borrow().is_empty(), "after commit {commits}: {:?}", case.tools.ran.borrow());
    }
    assert!(open > 0, "no run was lost within a call");
    // A turn of a newer format that older readers may read goes on.
    let scenario = ALL.iter().find(|scenario| scenario.name == "swarm").unwrap();
    let mut entries = lost_late();
    let Fact::Started(spec) = &mut entries[0].fact else { panic!() };
    spec.format = FORMAT + 1;
    let mut case = lost(scenario, entries);
    case.resume(None);
    assert_eq!(case.end().message.finish_reason, Some(FinishReason::Stop));
}

/// A deploy edits the prompts, at each moment of each turn: the levels that have begun keep their openings.
#[test]
fn an_edited_prompt_changes_nothing_of_a_level_that_has_begun() {
    for scenario in ALL {
        for (moment, case) in moments(scenario) {
            let entries = case.disk.entries.take();
            let opened: Vec<String> = entries
                .iter()
                .filter_map(|entry| match &entry.fact {
                    Fact::Opened(_) => Some(entry.at.clone()),
                    _ => None,
                })
                .collect();
            let mut resumed = lost(scenario, entries);
            edit_prompts("\nEdited.");
            to_its_end(scenario, &mut resumed);
            edit_prompts("");
            let mut whole = scenario.begin();
            whole.run_with(None, scenario.during);
            if scenario.parks {
                whole.say(None, answer);
            }
            let (ours, theirs) = (resumed.end().message, whole.end().message);
            assert_eq!(ours.finish_reason, theirs.finish_reason, "{}.{moment}", scenario.name);
            assert_eq!(ours.content, theirs.content, "{}.{moment}", scenario.name);
            // A level is opened once, and each of its requests has the prompt of its opening.
            for entry in resumed.disk.entries.borrow().iter() {
                if let Fact::Opened(spec) = &entry.fact {
                    let is_old = opened.contains(&entry.at);
                    assert_eq!(
                        spec.system.ends_with("Edited."),
                        !is_old,
                        "{}.{moment}: {}",
                        scenario.name,
                        entry.at
                    );
                }
            }
        }
    }
}

/// A deploy lowers the bounds of schemas: a subtask that has begun keeps its schema, and a new one is
/// refused.
#[test]
fn a_schema_that_was_accepted_once_is_not_refused_by_lower_bounds() {
    let scenario = ALL.iter().find(|scenario| scenario.name == "structured-subtask").unwrap();
    let patterns = (0..100).map(|n| (format!("p{n}"), json!({"type": "string", "pattern": "^a+$"})));
    let beyond = json!({
        "type": "object",
        "properties": serde_json::Map::from_iter(patterns.chain([("n".to_owned(), json!({"type": "integer"}))])),
        "required": ["n"],
    });
    let beyond = RawValueEq(RawValue::from_string(beyond.to_string()).unwrap());
    assert!(OutputSchema::compile(Rc::new(beyond.clone())).is_err());
    for (_, case) in moments(scenario) {
        let mut entries = case.disk.entries.take();
        let finish = entries.iter_mut().rev().find_map(|entry| match &mut entry.fact {
            Fact::Opened(spec) => spec.own_tools.first_mut(),
            _ => None,
        });
        let Some(finish) = finish else { continue };
        finish.input_schema = Rc::new(beyond.clone());
        let mut resumed = lost(scenario, entries);
        to_its_end(scenario, &mut resumed);
        let history = resumed.end().history;
        let result = history.iter().find_map(|message| match message {
            Message::Tool { content, is_error, .. } => Some((content.as_str(), *is_error)),
            _ => None,
        });
        assert!(
            result.is_some_and(|(told, is_error)| told.starts_with("{\"n\":1}") && !is_error),
            "{result:?}"
        );
    }
}

/// A hook that lets every answer pass, in each kind of turn: the turn ends as it does without, and nobody
/// gets a text before its verdict. A-111
#[test]
fn the_answers_of_every_turn_can_be_judged() {
    for scenario in ALL {
        let run = |hooks: Vec<Hook>| {
            let mut case = scenario.begin();
            case.setting.hooks.extend(hooks);
            case.run_with(None, scenario.during);
            if scenario.parks {
                case.say(None, answer);
            }
            check_answers(&case);
            case.end().message.finish_reason
        };
        // The rule has no objection to what is no call.
        let mut hook =
            define("judge", NewHook { builtin: Some("loop_guard".to_owned()), ..NewHook::default() })
                .unwrap();
        hook.on = HookPoint::Answer;
        assert_eq!(run(vec![hook]), run(Vec::new()), "{}", scenario.name);
    }
}

/// A toolset is journaled once; levels refer to it by its number.
#[test]
fn each_toolset_stands_in_the_journal_once() {
    for scenario in ALL {
        for (moment, case) in moments(scenario) {
            let entries = case.disk.entries.borrow();
            let mut toolsets: Vec<&Vec<_>> = Vec::new();
            for entry in entries.iter() {
                match &entry.fact {
                    Fact::Started(spec) => toolsets.push(&spec.tools),
                    Fact::Toolset(specs) => {
                        assert_eq!(entry.at, toolsets.len().to_string(), "{}.{moment}", scenario.name);
                        assert!(!toolsets.contains(&specs), "{}.{moment}", scenario.name);
                        toolsets.push(specs);
                    }
                    Fact::Opened(spec) => {
                        assert!(spec.toolset.is_none_or(|number| (number as usize) < toolsets.len()));
                    }
                    _ => {}
                }
            }
        }
    }
}
