//! The bytes of the agents that a turn copies, restores and dumps.

use serde_json::json;

use super::dumps::with_files;
use super::*;
use crate::journal::MAX_COPIED_BYTES;

/// Twenty copies of an agent with such a memory are the limit.
const ROUND_BYTES: usize = MAX_COPIED_BYTES / 20;

/// A turn in whose thread is the agent `long`, with a round of so many bytes.
fn with_long(bytes: usize, replies: Vec<Reply>) -> Case {
    let round = |text: &str| {
        let answer = Message::Assistant { content: text.to_owned(), tool_calls: Vec::new(), raw: None };
        vec![Message::User { content: "Who?".into() }, answer]
    };
    let around = serde_json::to_string(&round("")).unwrap().len();
    let agent = Agent {
        id: "long-1".to_owned(),
        name: "long".to_owned(),
        instructions: "Long.".to_owned(),
        ..Agent::default()
    };
    let file = json!({"name": "d", "instructions": "D.", "rounds": [[{"user": {"content": "x"}}, {"assistant": {"content": "y"}}]]});
    let mut case = with_files(script(&[("go", replies)]), &[("d.json", &file.to_string())]);
    let rounds = vec![round(&"x".repeat(bytes - around))];
    case.agents.take_rows(vec![AgentRow { agent, has_ended: false, rounds }]);
    case.setting.agents = Some(case.agents.setting(None));
    case.limits(|limits| limits.tool_calls = 100)
}

fn copy(number: usize) -> (&'static str, Value) {
    ("task", json!({"name": format!("c{number}"), "from": "long"}))
}

/// The replies that make twenty copies of `long`, and end most of them.
fn twenty_copies() -> Vec<Reply> {
    let end = |number: usize| ("terminate", json!({"name": format!("c{number}")}));
    vec![
        Reply::Calls((0..14).map(copy).collect()),
        Reply::Calls((0..14).map(end).collect()),
        Reply::Calls((14..20).map(copy).collect()),
    ]
}

// Issue 45, 14: at the limit, and just beyond it, in one run and where a run takes the turn up.
#[test]
fn a_turn_copies_and_dumps_and_restores_at_most_so_many_bytes() {
    let beyond = vec![
        copy(20),
        ("task", json!({"name": "n", "instructions": "N.", "agents": ["long"]})),
        ("dump_agent", json!({"name": "long", "path": "long.json"})),
        ("restore_agent", json!({"path": "d.json"})),
        ("task", json!({"name": "new", "instructions": "New."})),
    ];
    let replies = || {
        let last = vec![Reply::Calls(beyond.clone()), Reply::Text("Done.")];
        twenty_copies().into_iter().chain(last).collect()
    };
    let case = with_long(ROUND_BYTES, replies()).run();
    let all = results(&case);
    let (fit, refused) = (&all[..34], &all[34..]);
    assert!(fit.iter().all(|result| !result.starts_with("error")), "{fit:?}");
    for result in &refused[..4] {
        assert!(result.starts_with("error: the agents that this turn copies"), "{result}");
    }
    assert!(!refused[4].starts_with("error"), "an agent without a memory is made: {}", refused[4]);
    assert!(!case.tools.texts.borrow().contains_key("long.json"));
    let mut again = with_long(ROUND_BYTES, replies());
    again.run_with(Some(Kill::AfterCommits(case.disk.commits.get() - 2)), |_, _| {});
    again.resume(None);
    assert_eq!(results(&again), all);
    // One byte more a copy: the twentieth is beyond.
    let longer = twenty_copies().into_iter().chain([Reply::Text("Done.")]).collect();
    let all = results(&with_long(ROUND_BYTES + 1, longer).run());
    assert_eq!((all[32].starts_with("error"), all[33].starts_with("error")), (false, true), "{all:?}");
}

// Issue 45, 14: dumps count, and a dump whose call is journaled is written by the run that takes the turn up.
#[test]
fn dumps_count_and_are_not_refused_by_themselves() {
    let dump = |number: usize| ("dump_agent", json!({"name": "long", "path": format!("{number}.json")}));
    let replies = || vec![Reply::Calls((0..27).map(dump).collect()), Reply::Text("Done.")];
    let case = with_long(300_000, replies()).run();
    let all = results(&case);
    let fit = all.iter().take_while(|result| !result.starts_with("error")).count();
    assert_eq!(fit, MAX_COPIED_BYTES / 300_000, "{all:?}");
    // The last that fits, and the one that does not.
    let commits = case.disk.commits.get();
    for dies_after in commits - 8..commits {
        let mut again = with_long(300_000, replies());
        again.run_with(Some(Kill::AfterCommits(dies_after)), |_, _| {});
        again.resume(None);
        assert_eq!(results(&again), all, "killed after commit {dies_after}");
    }
}
