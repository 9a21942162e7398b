//! Copies of hooks in child levels, and hooks that agents make.

use serde_json::json;

use super::*;

// A-073 A-074: a child's copy blocks as well, and counts by itself.
#[test]
fn a_copy_has_a_state_of_its_own() {
    let hooks =
        json!([{"name": "once", "builtin": "spawn_limit", "match": ["echo"], "options": {"most": 1}}]);
    let echoes = |n: usize| (0..n).map(|n| ("echo", json!({ "n": n }))).collect::<Vec<_>>();
    let case = hooked(
        hooks,
        script(&[
            (
                "go",
                vec![
                    Reply::Calls(vec![subtask("a"), subtask("b")]),
                    Reply::Calls(echoes(2)),
                    Reply::Text("Done."),
                ],
            ),
            ("a", vec![Reply::Calls(echoes(2)), Reply::Text("ok")]),
            ("b", vec![Reply::Calls(echoes(1)), Reply::Text("ok")]),
        ]),
    )
    .run();
    let blocked: Vec<String> = case
        .lines()
        .into_iter()
        .filter(|line| line.contains("once Block"))
        .map(|line| line.split(' ').nth(1).unwrap().to_owned())
        .collect();
    assert_eq!(blocked, ["0.0-0.1h0", "1.1h0"]);
    assert_eq!(case.tools.ran.borrow().len(), 3);
}

// `of: main` watches the agent that the user talks to alone.
#[test]
fn a_hook_of_the_main_agent_has_no_copies() {
    let hooks = json!([{"name": "never", "of": "main", "builtin": "loop_guard", "options": {"times": 1}}]);
    let case = hooked(
        hooks,
        script(&[
            ("go", vec![Reply::Calls(vec![subtask("a")]), Reply::Text("Done.")]),
            ("a", vec![Reply::Calls(vec![("echo", json!({}))]), Reply::Text("ok")]),
        ]),
    );
    let blocked = case.run().lines().into_iter().filter(|line| line.contains("Block")).count();
    assert_eq!(blocked, 1, "the subtask itself");
}

// A-075: the copy of a smart hook sees its own level alone.
#[test]
fn a_copy_of_a_smart_hook_sees_its_own_level() {
    let case = hooked(
        guard("guard"),
        script(&[
            (
                "go",
                vec![
                    Reply::TextAndCalls("secret of the parent", vec![("echo", json!({}))]),
                    Reply::Calls(vec![subtask("a")]),
                    Reply::Text("Done."),
                ],
            ),
            ("a", vec![Reply::Calls(vec![("echo", json!({"n": 1}))]), Reply::Text("ok")]),
            ("judge", vec![verdict("allow", "")]),
        ]),
    )
    .run();
    let requests = case.model.requests.borrow();
    let of_hooks: Vec<String> = requests
        .iter()
        .filter_map(|request| match request.messages[0].as_ref() {
            wire::model::Message::User { content } => Some(content.text().into_owned()),
            _ => None,
        })
        .filter(|text| text.starts_with("<conversation>"))
        .collect();
    assert_eq!(of_hooks.len(), 3);
    assert!(of_hooks[1].contains("secret") && of_hooks[2].contains(r#"user: "a""#));
    assert!(!of_hooks[2].contains("secret"));
}

// A-018 A-104: the words of a model are the instructions of a hook, which judges its next calls.
#[test]
fn an_agent_makes_a_smart_hook_from_its_own_words() {
    let hook = json!({"name": "careful", "on": "action", "match": ["write"], "instructions": "no writing"});
    let mut case = Case::new(script(&[
        (
            "go",
            vec![
                Reply::Calls(vec![("hook", hook)]),
                Reply::Calls(vec![("write", json!({})), ("echo", json!({}))]),
                Reply::Text("Done."),
            ],
        ),
        ("no writing write {}", vec![verdict("block", "I said no")]),
    ]));
    case.setting.agent_hooks = true;
    let case = case.run();
    assert_eq!(*case.tools.ran.borrow(), ["echo {}"]);
    assert!(case.lines().contains(&r#"hook 1.0h0 careful Block "I said no""#.to_owned()));
}

// A-077 A-081: an agent makes a hook; it holds from the next step on, and in levels that begin later.
#[test]
fn an_agent_makes_a_hook() {
    let never = || {
        (
            "hook",
            json!({"name": "never", "builtin": "loop_guard", "options": {"times": 1}, "match": ["echo"]}),
        )
    };
    let echo = || ("echo", json!({}));
    let mut case = Case::new(script(&[
        (
            "go",
            vec![
                Reply::Calls(vec![never(), subtask("a"), echo()]),
                Reply::Calls(vec![subtask("b"), echo()]),
                Reply::Text("Done."),
            ],
        ),
        ("a", vec![Reply::Calls(vec![echo()]), Reply::Text("ok")]),
        ("b", vec![Reply::Calls(vec![echo()]), Reply::Text("ok")]),
    ]));
    case.setting.agent_hooks = true;
    let case = case.run();
    let blocked: Vec<String> = case
        .lines()
        .into_iter()
        .filter(|line| line.contains("never Block"))
        .map(|line| line.split(' ').nth(1).unwrap().to_owned())
        .collect();
    assert_eq!(blocked, ["1.1h0", "1.0-0.0h0"]);
}

// A-070 A-071 A-083: nothing that an agent may call removes or lists hooks, and hooks make none.
#[test]
fn an_agent_has_no_power_over_its_hooks() {
    let calls = vec![("quit", json!({})), ("hook", json!({"name": "guard"}))];
    let mut case = hooked(
        guard("guard"),
        script(&[
            ("go", vec![Reply::Calls(calls), Reply::Text("Done.")]),
            ("judge", vec![verdict("allow", "")]),
        ]),
    );
    case.setting.agent_hooks = true;
    let case = case.run();
    let requests = case.model.requests.borrow();
    let names: Vec<&str> = requests[0].tools.iter().map(|tool| tool.name.as_str()).collect();
    assert!(names.contains(&"hook") && !names.contains(&"quit"));
    let of_hook = requests.iter().find(|request| request.system.starts_with("You watch")).unwrap();
    assert_eq!(of_hook.tools.len(), 1, "a hook has no tools");
    let refused = case.lines().into_iter().filter(|line| line.contains(" End error ")).count();
    assert_eq!(refused, 2, "there is no call quit, and a hook needs a definition");
}

// An agent's own hooks are bounded.
#[test]
fn an_agent_makes_at_most_sixteen_hooks() {
    const NAMES: [&str; 18] =
        ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "o", "p", "q", "a"];
    let make =
        |name: &&'static str| Reply::Calls(vec![("hook", json!({"name": name, "builtin": "discuss_limit"}))]);
    let replies = NAMES.iter().map(make).chain([Reply::Text("Done.")]).collect();
    let mut case = Case::new(script(&[("go", replies)]));
    case.setting.agent_hooks = true;
    let case = case.run();
    let refused: Vec<String> = case.lines().into_iter().filter(|line| line.contains("End error")).collect();
    assert_eq!(refused.len(), 2);
    let limit = "tool 16.0 hook End error \"there may be at most 16 hooks";
    assert!(refused[0].starts_with(limit), "{refused:?}");
    // A name that is taken is refused before that limit.
    let replies = vec![make(&"a"), make(&"a"), Reply::Text("Done.")];
    let mut case = Case::new(script(&[("go", replies)]));
    case.setting.agent_hooks = true;
    assert!(case.run().lines().iter().any(|line| line.contains("you have made a hook of this name")));
}
