//! `task {agents}`: copies of agents below a new one.

use serde_json::json;

use super::*;
use crate::journal::{AgentChange, Fact, MAX_AGENTS};
use crate::turn::tests::faults::killed_at_every_commit;

/// A turn whose agent `head` has an agent of its own, and is copied below `chief`.
fn copied() -> Case {
    let below =
        json!({"name": "chief", "instructions": "Rule.", "prompt": "Go on.", "agents": ["head", "aside"]});
    let root = vec![
        Reply::Calls(vec![task("head", "Lead.", "Begin."), task("aside", "Wait.", "")]),
        Reply::Calls(vec![("task", below)]),
        Reply::Calls(vec![("locked", json!({}))]),
        Reply::Calls(vec![("locked", json!({}))]),
        Reply::Text("Done."),
    ];
    let lead = vec![
        Reply::Calls(vec![task("hand", "Work.", "Dig.")]),
        Reply::Text("It digs."),
        Reply::Calls(vec![discuss(json!({"prompt": "Still?"}))]),
        Reply::Text("Still."),
    ];
    let rule = vec![
        Reply::Calls(vec![discuss(json!({"prompt": "Where are we?", "speakers": ["chief_head"]}))]),
        Reply::Text("I see."),
    ];
    let hand = vec![Reply::Text("Dug."), Reply::Text("Deeper.")];
    with_agents(script(&[("go", root), ("Lead.", lead), ("Rule.", rule), ("Work.", hand)]))
}

//
#[test]
fn a_new_agent_gets_copies_of_agents_with_all_below_them() {
    let case = copied().run();
    let told =
        "[chief has these agents of its own: chief_head, a copy of head; chief_aside, a copy of aside]";
    assert_eq!(results(&case)[2], format!("I see.\n\n{told}"));
    let first = texts(&requests_of(&case, "Rule.")[0]);
    let heard =
        "[You have these agents, which remember what they heard and said before: chief_head, chief_aside]";
    assert_eq!(first, [format!("user: {heard}\n\nGo on.")]);
    let rows = case.end().agents;
    let all: Vec<_> = rows
        .iter()
        .map(|row| {
            (
                row.agent.name.as_str(),
                row.agent.parent.as_deref(),
                row.agent.instructions.as_str(),
                row.rounds.len(),
            )
        })
        .collect();
    assert_eq!(
        all,
        [
            ("aside", None, "Wait.", 0),
            ("chief", None, "Rule.", 1),
            ("chief_aside", Some("chief"), "Wait.", 0),
            ("chief_hand", Some("chief_head"), "Work.", 2),
            ("chief_head", Some("chief"), "Lead.", 2),
            ("hand", Some("head"), "Work.", 1),
            ("head", None, "Lead.", 1),
            ("main", None, "", 0),
        ]
    );
    // A row of the journal has one agent at most, because each may remember 500,000 bytes.
    let entries = case.disk.entries.borrow();
    let made = entries.iter().filter_map(|entry| match &entry.fact {
        Fact::Agents(changes) => {
            Some(changes.iter().filter(|change| matches!(change, AgentChange::Made { .. })).count())
        }
        _ => None,
    });
    assert_eq!(made.max(), Some(1));
    // The copy speaks to the copy of its own agent, and the originals do not hear it.
    let copy = rows.iter().find(|row| row.agent.name == "chief_head").unwrap();
    assert_eq!(copy.agent.interlocutors.speakers, ["chief_hand"]);
    let again = texts(requests_of(&case, "Work.").last().unwrap());
    assert_eq!(again, ["user: Dig.", "agent: Dug.", "user: Still?"]);
}

// the copies of agents of earlier turns remember these.
#[test]
fn agents_of_earlier_turns_are_copied_with_what_they_remember() {
    let root =
        vec![Reply::Calls(vec![task("a", "A.", "One?"), task("b", "B.", "Two?")]), Reply::Text("Done.")];
    let answers = [("A.", vec![Reply::Text("one")]), ("B.", vec![Reply::Text("two")])];
    let first = with_agents(script(&[&[("go", root)][..], &answers].concat())).run();
    let later = || {
        let call = json!({"name": "n", "instructions": "N.", "agents": ["a", "b"]});
        after(&first, script(&[("go", vec![Reply::Calls(vec![("task", call)]), Reply::Text("Done.")])]))
    };
    let case = later().run();
    let rows = case.end().agents;
    let copies: Vec<_> = rows.iter().map(|row| (row.agent.name.as_str(), row.rounds.len())).collect();
    assert_eq!(copies, [("main", 0), ("n", 0), ("n_a", 1), ("n_b", 1)]);
    for dies_after in 1..case.disk.commits.get() {
        let mut again = later();
        again.run_with(Some(Kill::AfterCommits(dies_after)), |_, _| {});
        again.resume(None);
        again.check();
        assert_eq!(again.end().agents, rows, "killed after commit {dies_after}");
    }
}

// nobody is made where a copy cannot be.
#[test]
fn a_call_whose_copies_cannot_be_makes_nobody() {
    let long = "x".repeat(29);
    let new =
        |name: &str, agents: Value| ("task", json!({"name": name, "instructions": "N.", "agents": agents}));
    let table = [
        (new("n", json!(["b", "nobody"])), "you have no agent \"nobody\""),
        (new("n", json!(["b", "b"])), "at agents[1]: each agent is named once"),
        (new("n", json!(["c"])), "there is an agent \"n_c\" already"),
        (new(&long, json!(["bcd"])), "a copy would have the name"),
        (
            ("task", json!({"name": "b", "prompt": "x", "agents": ["c"]})),
            "at agents: they are copied when an agent is made",
        ),
    ];
    for (call, problem) in table {
        let first = ["b", "c", "bcd", "n_c"].map(|name| task(name, "A.", ""));
        let root = vec![Reply::Calls(first.to_vec()), Reply::Calls(vec![call.clone()]), Reply::Text("Done.")];
        let case = with_agents(script(&[("go", root)])).run();
        let result = &results(&case)[4];
        assert!(result.starts_with("error: ") && result.contains(problem), "{call:?}: {result}");
        assert_eq!(case.end().agents.len(), 5, "{call:?}");
    }
    // At the limit of agents, and just beyond it.
    for (before, fits) in [(MAX_AGENTS - 2, true), (MAX_AGENTS - 1, false)] {
        let calls = (0..before).map(|number| task(&format!("a{number}"), "A.", ""));
        let all = calls.chain([new("n", json!(["a0"]))]).collect();
        let case = with_agents(script(&[("go", vec![Reply::Calls(all), Reply::Text("Done.")])]))
            .limits(|limits| limits.tool_calls = 40)
            .run();
        let result = results(&case).pop().unwrap();
        assert_eq!(result.contains("would have 17 agents, and the limit is 16"), !fits, "{result}");
        assert_eq!(case.end().agents.len() - 1, if fits { MAX_AGENTS } else { before });
    }
}

//
#[test]
fn copies_that_die_are_made_once() {
    killed_at_every_commit(copied);
    let whole = copied().run();
    for dies_after in 1..whole.disk.commits.get() {
        let mut case = copied();
        case.run_with(Some(Kill::AfterCommits(dies_after)), |_, _| {});
        case.resume(None);
        case.check();
        assert_eq!(results(&case), results(&whole), "killed after commit {dies_after}");
        assert_eq!(case.end().agents, whole.end().agents, "killed after commit {dies_after}");
    }
}
