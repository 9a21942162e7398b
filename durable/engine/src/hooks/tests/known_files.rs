//! The files that an agent knows, over answers and turns, and the hook that tells of changes.

use std::rc::Rc;

use super::lives::{CHANGED, after, echo, go, watched_files, with_files, workspace};
use super::*;
use crate::journal::{AgentLife, KnownFile, MAX_KNOWN_FILES};
use crate::versions::Versions;
use wire::model::Message;

// A-069 A-085: a person changes a file between two turns; the next one hears of it before its first model call, and once.
#[test]
fn a_change_between_turns_is_told_before_the_first_model_call() {
    let files = Rc::default();
    let first = with_files(hooked(watched_files(), go(vec![vec![("read", json!({}))]])), &files).run();
    let known = KnownFile { version: Some("first".to_owned()), turn_id: "turn".to_owned() };
    let [(_, life)] = &first.end().lives[..] else { panic!() };
    assert_eq!(life.known_files.clone().into_iter().collect::<Vec<_>>(), [("a".to_owned(), known)]);
    let same = with_files(after(&first, go(vec![])), &files).run();
    assert_eq!(comments(&same), [""; 0], "nobody changed it");
    files.borrow_mut().insert("a".to_owned(), Some("second".to_owned()));
    let second = with_files(after(&same, go(vec![vec![echo(1)]])), &files).run();
    assert_eq!(comments(&second), [CHANGED], "once for a change");
    let first_request = second.model.requests.borrow()[0].messages.len();
    assert_eq!(first_request, second.history.len() + 2, "it stands behind the question");
    let third = with_files(after(&second, go(vec![vec![echo(1)]])), &files).run();
    assert_eq!(comments(&third).len(), 1, "the comment of the history alone");
    files.borrow_mut().clear();
    let gone = with_files(after(&third, go(vec![])), &files).run();
    assert_eq!(comments(&gone).len(), 2, "a file that is gone has changed");
}

// a person changes a file while the turn runs.
#[test]
fn a_change_within_a_turn_is_told_with_the_next_results() {
    let files: Rc<std::cell::RefCell<Versions>> = Rc::default();
    let mut case =
        with_files(hooked(watched_files(), go(vec![vec![("read", json!({}))], vec![echo(1)]])), &files);
    let changed = Rc::clone(&files);
    case.run_with(None, move |turn, _| {
        if turn.record.borrow().root_texts.is_empty() && !changed.borrow().is_empty() {
            changed.borrow_mut().insert("a".to_owned(), Some("second".to_owned()));
        }
    });
    case.check();
    assert_eq!(comments(&case), [CHANGED]);
}

// a file is known as long as the transcript shows it, and a file that is read again counts from then on.
#[test]
fn a_file_is_known_while_its_turn_is_in_view() {
    let files = Rc::default();
    let read = || vec![("read", json!({}))];
    let first = with_files(hooked(watched_files(), go(vec![read()])), &files).run();
    let known = |case: &Case| -> Vec<String> {
        let spec = case.spec();
        let life = spec.setting.life.unwrap();
        let turns = case.earlier().turns;
        let life = life.within(|id| turns.iter().any(|past| past.id.turn_id == id));
        life.known_files.values().map(|file| file.turn_id.clone()).collect()
    };
    let second = with_files(after(&first, go(vec![read()])), &files);
    assert_eq!(known(&second), ["past-1"]);
    let second = second.run();
    let third = with_files(after(&second, go(vec![])), &files);
    assert_eq!(known(&third), ["past-2"], "it was read again");
    let mut without = with_files(after(&second, go(vec![])), &files);
    without.history.clear();
    assert!(known(&without).is_empty());
    files.borrow_mut().insert("a".to_owned(), Some("second".to_owned()));
    assert!(comments(&without.run()).is_empty(), "it is not known any more");
}

// a path of one workspace is no file of another one.
#[test]
fn a_file_is_known_in_its_workspace() {
    let files: Rc<std::cell::RefCell<Versions>> = Rc::default();
    let first = with_files(hooked(watched_files(), go(vec![vec![("read", json!({}))]])), &files).run();
    files.borrow_mut().insert("a".to_owned(), Some("second".to_owned()));
    let mut elsewhere = with_files(after(&first, go(vec![])), &files);
    elsewhere.policy.workspace_root = Some("/other".to_owned());
    let elsewhere = elsewhere.run();
    assert!(comments(&elsewhere).is_empty());
    assert!(elsewhere.end().lives.is_empty(), "the life of the workspace before stays as it is");
    assert_eq!(comments(&with_files(after(&elsewhere, go(vec![])), &files).run()), [CHANGED]);
}

// A life is one row: its longest form is far below the platform's 2 MB.
#[test]
fn a_life_is_bounded() {
    let files: Versions = (0..2 * MAX_KNOWN_FILES).map(|n| (format!("{n}"), Some("v".to_owned()))).collect();
    let mut case = hooked(watched_files(), go(vec![vec![("read", json!({}))]]));
    let old =
        files.into_iter().map(|(path, version)| (path, KnownFile { version, turn_id: "past-1".to_owned() }));
    let life = AgentLife { known_files: old.collect(), workspace: workspace(), ..AgentLife::default() };
    case.setting.life = Some(Box::new(life));
    case.history = vec![Message::User { content: "before".into() }];
    let case = with_files(case, &Rc::default()).run();
    let [(_, life)] = &case.end().lives[..] else { panic!() };
    assert_eq!(life.known_files.len(), MAX_KNOWN_FILES);
    assert!(life.known_files.contains_key("a"), "the files of this turn come first");
}
