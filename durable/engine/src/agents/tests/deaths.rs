//! Runs of discussions that die at each of their commits.

use serde_json::json;

use super::*;
use crate::journal::{AgentChange, Entry, Fact};
use crate::turn::tests::faults::killed_at_every_commit;

/// The answers of agents that the journal has.
pub(super) fn answers(case: &Case) -> usize {
    let entries = case.disk.entries.borrow();
    let ends = entries.iter().filter_map(|entry| match &entry.fact {
        Fact::ToolEnded(end) => Some(&end.agents),
        _ => None,
    });
    ends.flatten().filter(|change| matches!(change, AgentChange::Spoke { .. })).count()
}

// Issue 20, tests: a kill at each commit of a discussion asks nobody twice.
#[test]
fn a_discussion_that_dies_asks_nobody_twice() {
    killed_at_every_commit(rich);
    let whole = rich().run();
    for dies_after in 1..whole.disk.commits.get() {
        for kill in [Kill::AfterCommits(dies_after), Kill::Unheard(dies_after)] {
            let mut case = rich();
            case.run_with(Some(kill), |_, _| {});
            case.resume(None);
            case.check();
            // One level at a time asks its model: that call may be lost and made again, and no other one.
            let again = case.model.requests.borrow().len() - whole.model.requests.borrow().len();
            assert!(again <= 1, "{kill:?}: {again} calls were made again");
            assert_eq!(answers(&case), answers(&whole), "{kill:?}");
            assert_eq!(case.end().agents, whole.end().agents, "{kill:?}");
            assert_eq!(results(&case), results(&whole), "{kill:?}");
        }
    }
}

// Issue 20, tests: a search that dies at any commit reads the same pages and comes to the same answer.
#[test]
fn a_search_that_dies_goes_on_where_it_was() {
    let new = || {
        let locked = || Reply::Calls(vec![("locked", json!({}))]);
        let root = vec![locked(), Reply::Calls(vec![websearch("How long?")]), locked(), Reply::Text("Done.")];
        let levels = [
            ("go", root),
            ("page https://a/", vec![Reply::Text("Six.")]),
            ("page https://b/", vec![Reply::Text("Five.")]),
            ("answer How long?", vec![Reply::Text("Half a year [1].")]),
        ];
        with_web(script(&levels), &["https://a/", "https://broken/", "https://b/"])
    };
    killed_at_every_commit(new);
    let whole = new().run();
    for dies_after in 1..whole.disk.commits.get() {
        for kill in [Kill::AfterCommits(dies_after), Kill::Unheard(dies_after)] {
            let mut case = new();
            case.run_with(Some(kill), |_, _| {});
            case.resume(None);
            case.check();
            assert_eq!(results(&case), results(&whole), "{kill:?}");
            // At most the things that were under way are done again: the search, or the pages.
            let again = case.model.requests.borrow().len() - whole.model.requests.borrow().len();
            let ran_again = case.tools.ran.borrow().len() - whole.tools.ran.borrow().len();
            assert!(again + ran_again <= 3, "{kill:?}: {again} model calls, {ran_again} tools");
        }
    }
}

// A template is read before its agent is journaled, and not again after that.
#[test]
fn a_template_that_changed_meanwhile_changes_nothing() {
    let new = || {
        let levels = script(&[
            (
                "go",
                vec![
                    Reply::Calls(vec![(
                        "task",
                        json!({"name": "a", "template": "workspace:t", "prompt": "x"}),
                    )]),
                    Reply::Text("Done."),
                ],
            ),
            ("A.", vec![Reply::Calls(vec![("echo", json!({}))]), Reply::Text("ok")]),
            ("B.", vec![Reply::Text("other")]),
        ]);
        with_texts(levels, &[("t", "A.")])
    };
    let commits = new().run().disk.commits.get();
    let (mut before, mut after) = (0, 0);
    for dies_after in 1..commits {
        let mut case = new();
        case.run_with(Some(Kill::AfterCommits(dies_after)), |_, _| {});
        let is_read = |entry: &Entry| entry.at.contains("-read-") && matches!(entry.fact, Fact::ToolEnded(_));
        let was_read = case.disk.count(is_read) > 0;
        case.tools.texts.borrow_mut().insert("t".to_owned(), "B.".to_owned());
        case.resume(None);
        case.check();
        assert_eq!(
            results(&case),
            [if was_read { "ok" } else { "other" }],
            "killed after commit {dies_after}"
        );
        *(if was_read { &mut after } else { &mut before }) += 1;
    }
    assert!(before > 0 && after > 0, "{before} {after}");
}
