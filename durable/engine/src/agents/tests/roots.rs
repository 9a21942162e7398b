//! An agent that the user talks to.

use serde_json::json;

use super::*;
use crate::journal::TurnStop;

fn talk_to(name: &str, before: &Case, script: Script) -> Case {
    let mut case = after(before, script);
    case.setting.agents = Some(case.agents.setting(Some(name)));
    case
}

// A-052 A-092, issue 20, 4: the agent has its own instructions and its own memory, and `main` does not hear it.
#[test]
fn the_user_talks_to_an_agent() {
    let first = with_agents(script(&[
        (
            "go",
            vec![
                Reply::Calls(vec![task("critic", "Be strict.", "Pears?"), task("other", "O.", "")]),
                Reply::Calls(vec![discuss(json!({"prompt": "News.", "listeners": ["critic"]}))]),
                Reply::Text("Done."),
            ],
        ),
        ("Be strict.", vec![Reply::Text("Dull.")]),
    ]))
    .run();
    let reply = vec![
        Reply::Text("never"),
        Reply::Calls(vec![
            ("echo", json!({})),
            discuss(json!({"prompt": "x", "speakers": ["other"]})),
            task("own", "Own.", "Hi."),
        ]),
        Reply::Text("So so."),
    ];
    let mut second =
        talk_to("critic", &first, script(&[("Be strict.", reply), ("Own.", vec![Reply::Text("Ho.")])]));
    second.history = vec![Message::User { content: "said to main".into() }];
    let second = second.run();
    let asked = requests_of(&second, "Be strict.");
    let before = ["user: Pears?", "agent: Dull.", "user: News.", "user: go"];
    assert_eq!(texts(&asked[0]), before);
    assert!(texts(&asked[1])[6].contains("you have no agent other"), "{:?}", texts(&asked[1]));
    assert!(!asked[0].tools.iter().any(|tool| tool.name == "agent_create_plan"));
    let end = second.end();
    assert_eq!(
        (end.message.content.as_str(), &end.history[..]),
        ("So so.", &[][..]),
        "main does not hear it"
    );
    let critic = end.agents.iter().find(|row| row.agent.name == "critic").unwrap();
    assert_eq!((critic.rounds.len(), critic.rounds[0].len(), critic.agent.heard.len()), (1, 7, 0));
    let own = end.agents.iter().find(|row| row.agent.name == "own").unwrap();
    assert_eq!(own.agent.parent.as_deref(), Some("critic"));
    let by = second.end().message.execution_tree.unwrap().model_calls;
    assert_eq!(by[0].agent.as_deref(), Some("critic"));

    let third = talk_to("critic", &second, script(&[("Be strict.", vec![Reply::Text("?"); 5])])).run();
    let asked = texts(&requests_of(&third, "Be strict.")[0]);
    assert_eq!(asked[..4], before);
    assert_eq!(
        asked.len(),
        2 + 7 + 1,
        "its first round, the second with what it had heard, and the question"
    );
    assert_eq!(asked.last().unwrap(), "user: go");
}

// Issue 20, 4: so do the words of a turn that was stopped.
#[test]
fn an_agent_remembers_a_turn_that_was_stopped() {
    let first =
        with_agents(script(&[("go", vec![Reply::Calls(vec![task("a", "A.", "")]), Reply::Text("Done.")])]))
            .run();
    let mut second = talk_to("a", &first, script(&[("A.", vec![Reply::Hang("so ")])]));
    second.run_with(None, |turn, step| {
        if step == 4 {
            turn.stop(TurnStop::Cancelled).unwrap();
        }
    });
    second.check();
    let third =
        talk_to("a", &second, script(&[("A.", vec![Reply::Text("never"), Reply::Text("Yes.")])])).run();
    let asked = texts(&requests_of(&third, "A.")[0]);
    assert_eq!(asked.len(), 3);
    assert!(asked[1].contains("[This turn was stopped: It was cancelled."), "{asked:?}");
}

// A transcript is read once and journaled: a run that takes the turn up does not read it again.
#[test]
fn a_root_that_is_an_agent_dies_at_each_commit() {
    let first = with_agents(script(&[
        ("go", vec![Reply::Calls(vec![task("a", "A.", "x")]), Reply::Text("Done.")]),
        ("A.", vec![Reply::Text("y")]),
    ]))
    .run();
    let new = || {
        let reply = vec![
            Reply::Text("never"),
            Reply::TextAndCalls("Hm. ", vec![("locked", json!({})), task("b", "B.", "z")]),
            Reply::Calls(vec![("echo", json!({}))]),
            Reply::Calls(vec![discuss(json!({"prompt": "More."}))]),
            Reply::Calls(vec![("echo", json!({})), discuss(json!({}))]),
            Reply::Text("Yes."),
        ];
        let of_b = vec![Reply::Text("b1"), Reply::Text("b2"), Reply::Text("b3")];
        talk_to("a", &first, script(&[("A.", reply), ("B.", of_b)]))
    };
    crate::turn::tests::faults::killed_at_every_commit(new);
    let whole = new().run();
    for dies_after in 1..whole.disk.commits.get() {
        let mut case = new();
        let reads = case.agents.reads.get();
        case.run_with(Some(Kill::AfterCommits(dies_after)), |_, _| {});
        case.resume(None);
        assert_eq!(case.agents.reads.get(), reads + 1, "killed after commit {dies_after}");
        assert_eq!(case.end().agents, whole.end().agents, "killed after commit {dies_after}");
    }
}
