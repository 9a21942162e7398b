//! Each built-in hook, with its options.

use std::rc::Rc;

use serde_json::json;

use super::*;
use crate::journal::{Agent, AgentSetting};

type Calls = Vec<Vec<(&'static str, Value)>>;

fn builtin(name: &str, options: Value) -> Value {
    json!([{"name": name, "builtin": name, "options": options}])
}

/// A turn of these rounds whose hook is built in. It has agents, and each of them answers "Yes.".
fn played(name: &str, options: Value, calls: Calls) -> Case {
    played_case(name, options, calls).run()
}

fn played_case(name: &str, options: Value, calls: Calls) -> Case {
    let replies = calls.into_iter().map(Reply::Calls).chain([Reply::Text("Done.")]);
    let script = script(&[("go", replies.collect()), ("Help.", vec![Reply::Text("Yes."); 8])]);
    let mut case = hooked(builtin(name, options), script);
    case.setting.agents = Some(AgentSetting::default());
    case.tools = {
        let pace = std::rc::Rc::new(Pace::new(0));
        let mut tools = crate::testing::TestTools::new(&pace, &case.disk);
        tools.add_versioned(&["read", "edit"]);
        std::rc::Rc::new(tools)
    };
    case
}

/// The places of the calls that the hook blocked.
fn blocked(case: &Case) -> Vec<String> {
    let lines = case.lines().into_iter().filter(|line| line.contains(" Block "));
    lines.map(|line| line.split(' ').nth(1).unwrap().to_owned()).collect()
}

fn task(name: &str) -> (&'static str, Value) {
    ("task", json!({"name": name, "instructions": "Help."}))
}

fn todo(text: &str) -> (&'static str, Value) {
    ("todo_write", json!({"todos": [{ "text": text }]}))
}

fn echo(n: u32) -> (&'static str, Value) {
    ("echo", json!({ "n": n }))
}

// W-097: the same call three times in a row.
#[test]
fn loop_guard_blocks_the_third_of_the_same_calls() {
    let calls = vec![
        vec![echo(1), echo(1)],
        vec![echo(2)],
        vec![echo(1)],
        vec![echo(1)],
        vec![echo(1), echo(1)],
        vec![echo(3)],
    ];
    let case = played("loop_guard", json!({}), calls.clone());
    assert_eq!(blocked(&case), ["4.0h0", "4.1h0"]);
    assert!(case.lines().iter().any(|line| line.contains("agent_stuck (repeated_tool_call)")));
    assert_eq!(
        blocked(&played("loop_guard", json!({"times": 2}), calls)),
        ["0.1h0", "3.0h0", "4.0h0", "4.1h0"]
    );
}

// A-066
#[test]
fn spawn_limit_bounds_subtasks_and_agents() {
    let calls = vec![vec![task("a")], vec![task("b"), echo(1)], vec![task("c"), subtask("d")]];
    assert_eq!(blocked(&played("spawn_limit", json!({"most": 2}), calls.clone())), ["2.1h0", "2.0h0"]);
    let calls = (0..5).map(|_| vec![task("a")]).collect();
    assert_eq!(blocked(&played("spawn_limit", json!({}), calls)), ["4.0h0"]);
}

// A-066 A-065: a restored dump counts like an agent that is made, also for a hook of before `restore_agent`.
#[test]
fn limits_of_agents_watch_restored_dumps() {
    let restore = || ("restore_agent", json!({"path": "a.json"}));
    let played = |name: &str, calls: Option<Value>, rounds: Calls| {
        let mut case = played_case(name, json!({"most": 1}), rounds);
        Rc::get_mut(&mut case.tools).unwrap().add_readers();
        let mut hook = builtin(name, json!({"most": 1}));
        if let Some(calls) = calls {
            hook[0]["match"] = calls;
        }
        case.setting.hooks = hooked(hook, script(&[])).setting.hooks;
        blocked(&case.run())
    };
    let rounds = || vec![vec![task("a")], vec![restore()]];
    for calls in [None, Some(json!(["run_subtask", "task"]))] {
        assert_eq!(played("spawn_limit", calls, rounds()), ["1.0h0"]);
    }
    for calls in [None, Some(json!(["task"]))] {
        assert_eq!(played("single_minded", calls, rounds()), ["1.0h0"]);
    }
    // A person's own choice of calls stands.
    assert!(played("spawn_limit", Some(json!(["task"])), rounds()).is_empty());
    assert!(played("discuss_limit", Some(json!(["run_subtask", "task"])), rounds()).is_empty());
}

// A-067
#[test]
fn discuss_limit_bounds_the_rounds_of_a_discussion() {
    let first = vec![task("a"), ("discuss", json!({"prompt": "0"}))];
    let more = (1..7).map(|n| vec![("discuss", json!({"prompt": n.to_string()}))]);
    let calls: Calls = [first].into_iter().chain(more).collect();
    assert_eq!(blocked(&played("discuss_limit", json!({}), calls.clone())), ["5.0h0", "6.0h0"]);
    assert_eq!(blocked(&played("discuss_limit", json!({"most": 6}), calls)), ["6.0h0"]);
}

// A-065: the second task is blocked while one exists.
#[test]
fn single_minded_allows_one_agent_at_a_time() {
    let end = |name: &str| ("terminate", json!({"name": name}));
    let calls =
        vec![vec![task("a"), task("b")], vec![task("a")], vec![end("a")], vec![task("b")], vec![task("a")]];
    let case = played("single_minded", json!({}), calls.clone());
    assert_eq!(blocked(&case), ["0.1h0", "4.0h0"]);
    assert!(case.lines().iter().any(|line| line.contains("go on with a, or end it with terminate first")));
    assert!(blocked(&played("single_minded", json!({"most": 2}), calls)).is_empty());
}

/// The same in a thread that has these agents from earlier turns.
fn played_with(agents: &[&str], name: &str, options: Value, calls: Calls) -> Case {
    let kept = agents.iter().map(|name| Agent {
        id: format!("agent-{name}"),
        name: (*name).to_owned(),
        instructions: "Help.".to_owned(),
        ..Agent::default()
    });
    let kept: Vec<Agent> = kept.collect();
    let mut case = played_case(name, options, calls);
    case.setting.agents = Some(AgentSetting { kept, ..AgentSetting::default() });
    case.run()
}

// A-065: agents of earlier turns exist, and a task that was refused made none.
#[test]
fn single_minded_judges_by_the_agents_that_exist() {
    let end = ("terminate", json!({"name": "old"}));
    let calls = vec![vec![task("a")], vec![task("old")], vec![end], vec![task("a")]];
    assert_eq!(blocked(&played_with(&["old"], "single_minded", json!({}), calls)), ["0.0h0"]);
    // Weak models write the arguments as a text.
    let again = ("task", json!({"arguments": {"name": "old", "prompt": "Help."}}));
    assert!(blocked(&played_with(&["old"], "single_minded", json!({}), vec![vec![again]])).is_empty());
    // The agents of a dump are new ones.
    let restores = |calls: Calls| {
        let mut case = played_case("single_minded", json!({}), calls);
        Rc::get_mut(&mut case.tools).unwrap().add_readers();
        blocked(&case.run())
    };
    let restore = || ("restore_agent", json!({"path": "a.json"}));
    assert_eq!(restores(vec![vec![restore()], vec![task("a")], vec![restore()]]), ["2.0h0"]);
    let refused = ("task", json!({"name": "no name!", "instructions": "Help."}));
    assert!(blocked(&played("single_minded", json!({}), vec![vec![refused], vec![task("a")]])).is_empty());
}

// A-064: a discussion without names is the main way to speak to an agent, and agents of earlier turns may be forgotten.
#[test]
fn garbage_collector_knows_agents_that_exist() {
    let discuss = || vec![("discuss", json!({"prompt": "?"}))];
    let calls = [vec![task("a")]].into_iter().chain((0..5).map(|_| discuss())).collect();
    assert!(comments(&played("garbage_collector", json!({"after": 3}), calls)).is_empty());
    let calls = (0..4).map(|n| vec![echo(n)]).collect();
    let told = comments(&played_with(&["old"], "garbage_collector", json!({"after": 3}), calls));
    assert!(told.len() == 1 && told[0].contains("for 3 rounds: old."), "{told:?}");
    // A subtask can neither speak to an agent nor end it, and has no list.
    for (name, options) in
        [("garbage_collector", json!({"after": 1})), ("todo_reminder", json!({"every": 1}))]
    {
        let rounds = (0..3).map(|n| Reply::Calls(vec![echo(n)])).chain([Reply::Text("a done")]);
        let script = script(&[
            ("go", vec![Reply::Calls(vec![subtask("a")]), Reply::Text("Done.")]),
            ("a", rounds.collect()),
        ]);
        let mut case = hooked(builtin(name, options), script);
        let old = Agent { id: "a".to_owned(), name: "old".to_owned(), ..Agent::default() };
        case.setting.agents = Some(AgentSetting { kept: vec![old], ..AgentSetting::default() });
        let case = case.run();
        let inside = |line: &&String| line.starts_with("hook ") && line.contains("depth 1");
        assert_eq!(case.lines().iter().filter(inside).count(), 0, "{:?}", case.lines());
    }
}

// A-064: after n rounds of silence the reminder appears.
#[test]
fn garbage_collector_names_agents_that_are_silent() {
    let mut calls = vec![vec![task("a"), task("b"), task("c")]];
    calls.push(vec![("terminate", json!({"name": "c"}))]);
    calls.push(vec![("discuss", json!({"prompt": "?", "speakers": ["b"]}))]);
    calls.extend((0..2).map(|n| vec![echo(n)]));
    let case = played("garbage_collector", json!({"after": 3}), calls);
    assert_eq!(
        comments(&case),
        [
            "[hook garbage_collector] Nobody has spoken to these agents for 3 rounds: a. End those that are not needed any \
          more with terminate."
        ]
    );
}

// A-012 A-107: it fires at every nth round of each agent, and reads the list.
#[test]
fn todo_reminder_shows_the_list_at_every_nth_round() {
    let mut calls = vec![vec![todo("bake")]];
    calls.extend((0..4).map(|n| vec![echo(n)]));
    let case = played("todo_reminder", json!({"every": 2}), calls);
    let told = "[hook todo_reminder] The list of things to do was not touched for 2 rounds. Update it with todo_write if it is \
                old:\n[{\"text\":\"bake\",\"status\":\"open\"}]";
    assert_eq!(comments(&case), [told, told]);
    let calls = vec![vec![echo(1)], vec![todo("eat")], vec![echo(2)]];
    assert!(comments(&played("todo_reminder", json!({"every": 2}), calls)).is_empty());
    let calls = (0..10).map(|n| vec![echo(n)]).collect();
    assert!(
        comments(&played("todo_reminder", json!({}), calls))[0].contains("There is no list of things to do")
    );
}

// A-107: the hook speaks of a call that is offered, also where the request asks for no agents.
#[test]
fn todo_write_is_offered_wherever_the_hook_watches() {
    let offered = |name: &str, agents: bool| -> Vec<String> {
        let mut case = played_case(name, json!({}), Vec::new());
        case.setting.agents = agents.then(AgentSetting::default);
        let tools = case.spec().tools.into_iter().map(|spec| spec.name);
        tools.filter(|name| ["task", "todo_write"].contains(&name.as_str())).collect()
    };
    assert_eq!(offered("todo_reminder", false), ["todo_write"]);
    assert_eq!(offered("todo_reminder", true), ["task", "todo_write"]);
    assert!(offered("loop_guard", false).is_empty());
    let mut case = played_case("todo_reminder", json!({"every": 1}), vec![vec![echo(1)], vec![todo("bake")]]);
    case.setting.agents = None;
    let case = case.run();
    assert!(comments(&case)[0].contains("write one with todo_write"));
    assert!(
        case.lines().iter().any(|line| line.starts_with("tool 1.0 todo_write End")),
        "{:?}",
        case.lines()
    );
}

// A-069: a subtask changes a file that its parent has read.
#[test]
fn file_changed_tells_of_another_levels_change() {
    let play = |options: Value| {
        let mut case = hooked(
            builtin("file_changed", options),
            script(&[
                (
                    "go",
                    vec![
                        Reply::Calls(vec![("read", json!({}))]),
                        Reply::Calls(vec![subtask("a")]),
                        Reply::Calls(vec![echo(1)]),
                        Reply::Text("Done."),
                    ],
                ),
                ("a", vec![Reply::Calls(vec![("edit", json!({}))]), Reply::Text("ok")]),
            ]),
        );
        let pace = std::rc::Rc::new(Pace::new(0));
        let mut tools = crate::testing::TestTools::new(&pace, &case.disk);
        tools.add_versioned(&["read", "edit"]);
        case.tools = std::rc::Rc::new(tools);
        case.run()
    };
    let told = "[hook file_changed] These files have changed since you saw them: a. Read them again before you build on them.";
    assert_eq!(comments(&play(json!({}))), [told], "once for each change");
    assert!(comments(&play(json!({"under": "b/"}))).is_empty());
}

// A-069 A-076: read-only until a call has succeeded; the copy of a subtask stays read-only.
#[test]
fn planning_mode_ends_in_the_parent_alone() {
    let case = hooked(
        builtin("planning_mode", json!({"until": "locked"})),
        script(&[
            (
                "go",
                vec![
                    Reply::Calls(vec![("write", json!({})), echo(1), subtask("a")]),
                    Reply::Calls(vec![("locked", json!({}))]),
                    Reply::Calls(vec![("write", json!({})), subtask("b")]),
                    Reply::Text("Done."),
                ],
            ),
            (
                "a",
                vec![
                    Reply::Calls(vec![("locked", json!({})), ("write", json!({})), echo(2)]),
                    Reply::Text("ok"),
                ],
            ),
            ("b", vec![Reply::Calls(vec![("write", json!({"n": 1}))]), Reply::Text("ok")]),
        ]),
    )
    .run();
    assert_eq!(blocked(&case), ["0.2-0.0h0", "0.2-0.1h0", "0.0h0", "2.1-0.0h0"]);
    assert_eq!(*case.tools.ran.borrow(), [r#"echo {"n":1}"#, r#"echo {"n":2}"#, "locked {}", "write {}"]);
    // Without the option nothing ends it.
    let case =
        played("planning_mode", json!({}), vec![vec![("locked", json!({}))], vec![("write", json!({}))]]);
    assert_eq!(blocked(&case), ["1.0h0"]);
}

// A-068 A-072: the smart one blocks once, then passes.
#[test]
fn steelman_blocks_once_then_passes() {
    let call = |n: u32| Reply::Calls(vec![echo(n)]);
    let mut script = script(&[("go", vec![call(1), call(2), Reply::Text("Done.")])]);
    let about = format!("{}\nThis is about one subject alone: taxes.", super::super::steelman::INSTRUCTIONS);
    script.insert(format!(r#"{about} echo {{"n":1}}"#), vec![verdict("block", "put their view first")]);
    script.insert(format!(r#"{about} echo {{"n":2}}"#), vec![verdict("allow", "")]);
    let case = hooked(builtin("steelman", json!({"about": "taxes"})), script).run();
    assert_eq!(blocked(&case), ["0.0h0"]);
    assert_eq!(*case.tools.ran.borrow(), [r#"echo {"n":2}"#]);
}
