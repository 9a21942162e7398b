//! Agents and hooks: copies of the turn's hooks, and the hooks that an agent makes for itself.

use super::*;
use crate::journal::Guards;

fn echo() -> Reply {
    Reply::Calls(vec![("echo", json!({}))])
}

/// The places of the calls that hooks blocked.
fn blocked(case: &Case) -> Vec<String> {
    let lines = case.lines().into_iter().filter(|line| line.contains(" Block "));
    lines.map(|line| line.split(' ').nth(1).unwrap().to_owned()).collect()
}

// A-012, issue 20, 3: agents get copies with fresh state. A-107: the reminder shows an agent its own list.
#[test]
fn an_agent_has_copies_of_the_hooks() {
    let hooks = json!([
        {"name": "once", "builtin": "spawn_limit", "match": ["echo"], "options": {"most": 1}},
        {"name": "todo", "builtin": "todo_reminder", "options": {"every": 1}},
    ]);
    let write = |text: &str| ("todo_write", json!({"todos": [{"text": text}]}));
    let mut case = with_agents(script(&[
        (
            "go",
            vec![
                Reply::Calls(vec![write("lead"), ("echo", json!({})), task("a", "A.", "Go.")]),
                echo(),
                Reply::Text("Done."),
            ],
        ),
        ("A.", vec![Reply::Calls(vec![write("dig"), ("echo", json!({}))]), echo(), Reply::Text("Done.")]),
    ]));
    case.setting.hooks = from_variable(&hooks.to_string()).unwrap();
    let case = case.run();
    assert_eq!(blocked(&case), ["0.2-d0.0-1.0h0", "1.0h0"]);
    let last = texts(requests_of(&case, "A.").last().unwrap()).pop().unwrap();
    assert!(
        last.starts_with("user: <hook name=\"todo\">\n")
            && last.ends_with("[{\"text\":\"dig\",\"status\":\"open\"}]\n</hook>"),
        "{last}"
    );
}

// a rule that a person or the operator adds later holds for an agent that exists, from the next turn on. It goes with
// the rule.
#[test]
fn a_later_hook_watches_an_agent_that_exists() {
    let replies = |before: usize| {
        let answers = vec![echo(), Reply::Text("Done.")];
        [vec![Reply::Text("never"); before], answers].concat()
    };
    let never =
        json!([{"name": "never", "builtin": "loop_guard", "options": {"times": 1}, "match": ["echo"]}]);
    for operators in [0, 1] {
        let made = vec![Reply::Calls(vec![task("a", "A.", "Go.")]), Reply::Text("Made.")];
        let first = with_agents(script(&[("go", made), ("A.", replies(0))])).run();
        let again = |before: &Case, rounds: usize| {
            let asks = Reply::Calls(vec![("task", json!({"name": "a", "prompt": "Again."}))]);
            after(before, script(&[("go", vec![asks, Reply::Text("Done.")]), ("A.", replies(rounds))]))
        };
        let mut second = again(&first, 2);
        second.setting.hooks = from_variable(&never.to_string()).unwrap();
        second.setting.guards = (operators > 0).then_some(Guards { hooks: operators, models: None });
        let second = second.run();
        let third = again(&second, 4).run();
        assert_eq!(
            [&first, &second, &third].map(blocked),
            [vec![], vec!["0.0-d0.0-0.0h0".to_owned()], vec![]]
        );
        assert_eq!([&first, &second, &third].map(|case| case.tools.ran.borrow().len()), [1, 0, 1]);
    }
}

// a hook of its own watches an agent as long as the agent lives, and ends with it.
#[test]
fn a_hook_stays_and_ends_with_the_agent_that_made_it() {
    let limit = json!({"name": "once", "builtin": "spawn_limit", "match": ["echo"], "options": {"most": 1}});
    let own = Reply::Calls(vec![("hook", limit)]);
    let with_hooks = |mut case: Case| {
        case.setting.agent_hooks = true;
        case.run()
    };
    let first = with_hooks(with_agents(script(&[
        ("go", vec![Reply::Calls(vec![task("a", "A.", "Go.")]), echo(), Reply::Text("Made.")]),
        ("A.", vec![own, echo(), echo(), Reply::Text("Done.")]),
    ])));
    assert_eq!(blocked(&first), ["0.0-d0.0-2.0h0"]);
    let again = |replies: Vec<Reply>| {
        script(&[
            ("go", replies),
            ("A.", [vec![Reply::Text("never"); 4], vec![echo(), echo(), Reply::Text("Again.")]].concat()),
            ("B.", vec![echo(), echo(), Reply::Text("New.")]),
        ])
    };
    let asked = ("task", json!({"name": "a", "prompt": "Again."}));
    let end = ("terminate", json!({"name": "a"}));
    let second = with_hooks(after(
        &first,
        again(vec![
            Reply::Calls(vec![asked]),
            Reply::Calls(vec![end]),
            Reply::Calls(vec![task("a", "B.", "Go.")]),
            Reply::Text("Done."),
        ]),
    ));
    let used_up = ["0.0-d0.0-0.0h0", "0.0-d0.0-1.0h0"];
    assert_eq!(blocked(&second), used_up, "the new agent of this name has no hook");
    let mut root = after(&first, again(Vec::new()));
    root.setting.agents = Some(root.agents.setting(Some("a")));
    assert_eq!(blocked(&with_hooks(root)), ["0.0h0", "1.0h0"], "also where the user talks to it");
}

// Wherever the run is lost, the agent has its hook once.
#[test]
fn a_lost_run_neither_forgets_nor_doubles_a_hook() {
    let limit = json!({"name": "once", "builtin": "spawn_limit", "match": ["echo"], "options": {"most": 1}});
    let build = || {
        let own = Reply::Calls(vec![("hook", limit.clone())]);
        let mut case = with_agents(script(&[
            ("go", vec![Reply::Calls(vec![task("a", "A.", "Go.")]), Reply::Text("Made.")]),
            ("A.", vec![own, echo(), echo(), Reply::Text("Done.")]),
        ]));
        case.setting.agent_hooks = true;
        case
    };
    let whole = build().run();
    assert_eq!(whole.end().agents.iter().map(|row| row.agent.hooks.len()).max(), Some(1));
    for dies_after in 1..whole.disk.commits.get() {
        let mut case = build();
        case.run_with(Some(Kill::AfterCommits(dies_after)), |_, _| {});
        case.resume(None);
        case.check();
        assert_eq!(case.end().agents, whole.end().agents, "killed after commit {dies_after}");
        assert_eq!(blocked(&case), blocked(&whole), "killed after commit {dies_after}");
    }
}
