//! The two points of a hook, in whole lists of events.

use std::collections::BTreeSet;

use serde_json::json;

use super::*;
use crate::journal::{AgentSetting, Answer, Fact};
use crate::record::keys::WireIds;
use crate::toolbelt::{ToolPolicy, ToolRules};
use wire::protocol::{Awaited, ClientTool, ContextKind};

// A-013 A-015: both positions, before the first model call and after results.
#[test]
fn a_comment_comes_before_the_next_model_call() {
    let hooks = json!([
        {"name": "greeter", "on": "input", "instructions": "greet"},
        {"name": "reader", "on": "result", "match": ["ec*"], "instructions": "read"},
        {"name": "deaf", "on": "result", "match": ["fail"], "instructions": "never asked"},
    ]);
    let case = hooked(
        hooks,
        script(&[
            ("go", vec![Reply::Calls(vec![("echo", json!({}))]), Reply::Text("Done.")]),
            ("greet ", vec![verdict("comment", "Be kind.")]),
            ("read ", vec![verdict("comment", "Check it.")]),
        ]),
    )
    .run();
    assert_eq!(
        case.lines(),
        [
            "session",
            "state thinking",
            "hook 0h0 greeter start",
            "model 0h0-hook-0 start in 0h0 depth 1",
            "model 0h0-hook-0 End tool_calls in 0h0 depth 1",
            "tool 0h0-hook-0.0 finish_subtask Start in 0h0 depth 1",
            r#"tool 0h0-hook-0.0 finish_subtask End "accepted" in 0h0 depth 1"#,
            r#"hook 0h0 greeter Comment "Be kind.""#,
            "model 0 start",
            "model 0 End tool_calls",
            "state executing_tool:echo",
            "tool 0.0 echo Start",
            r#"tool 0.0 echo End "echo {}""#,
            "hook 1h1 reader start",
            "model 1h1-hook-0 start in 1h1 depth 1",
            "model 1h1-hook-0 End tool_calls in 1h1 depth 1",
            "tool 1h1-hook-0.0 finish_subtask Start in 1h1 depth 1",
            r#"tool 1h1-hook-0.0 finish_subtask End "accepted" in 1h1 depth 1"#,
            r#"hook 1h1 reader Comment "Check it.""#,
            "state thinking",
            "model 1 start",
            r#"chunk 1.0 "Done.""#,
            r#"chunk 1.0 "" done"#,
            "model 1 End stop",
            "cost 4 llm 3 tools 0 subtasks",
            "done Stop",
        ]
    );
    assert_eq!(comments(&case), ["[hook greeter] Be kind.", "[hook reader] Check it."]);
    let end = case.end();
    let kinds = end.calls.iter().filter_map(|row| match row {
        crate::journal::CallRecord::Model { operation_type, .. } => Some(operation_type.as_str()),
        _ => None,
    });
    assert_eq!(kinds.collect::<Vec<_>>(), ["hook", "chat", "hook", "chat"]);
    let nodes = end.message.execution_tree.unwrap().nodes;
    let hook = nodes.iter().find(|node| node.name == "greeter").unwrap();
    assert_eq!(hook.usage.as_ref().map(|usage| (usage.llm_calls, usage.output_tokens)), Some((1, 2)));
}

// A-014 A-016 CF-25: a block comes before a person is asked and before anything is reserved.
#[test]
fn a_blocked_call_is_not_made_and_the_model_reads_why() {
    let mut case = hooked(
        guard("no writing"),
        script(&[
            ("go", vec![Reply::Calls(vec![("write", json!({})), ("echo", json!({}))]), Reply::Text("Done.")]),
            ("no writing write {}", vec![verdict("block", "nothing is written today")]),
            ("no writing echo {}", vec![verdict("allow", "")]),
        ]),
    );
    let rules: ToolRules = serde_json::from_str(r#"{"write": "ask"}"#).unwrap();
    case.policy = case.policy.narrowed(rules, BTreeSet::new());
    case.offered_by = case.policy.clone();
    let case = case.run();
    let shown: Vec<String> =
        case.lines().into_iter().filter(|line| !line.contains("-hook-") && !line.contains("chunk")).collect();
    assert_eq!(
        shown,
        [
            "session",
            "state thinking",
            "model 0 start",
            "model 0 End tool_calls",
            "state executing_tool:write",
            "hook 0.1h0 guard start",
            "hook 0.1h0 guard Allow",
            "tool 0.1 echo Start",
            r#"tool 0.1 echo End "echo {}""#,
            "hook 0.0h0 guard start",
            r#"hook 0.0h0 guard Block "nothing is written today""#,
            "tool 0.0 write Start",
            r#"tool 0.0 write End error "blocked by hook guard: nothing is written today""#,
            "state thinking",
            "model 1 start",
            "model 1 End stop",
            "cost 4 llm 3 tools 0 subtasks",
            "done Stop",
        ],
        "nobody is asked for permission"
    );
    assert_eq!(*case.tools.ran.borrow(), ["echo {}"]);
}

// A-016 CF-25: every kind of call passes its hooks: the engine's own, composite ones, those to agents, those of clients.
#[test]
fn every_call_passes() {
    let calls = vec![
        subtask("a"),
        ("memory_write", json!({"key": "k", "value": "v"})),
        ("task", json!({"name": "a", "instructions": "A.", "prompt": "x"})),
        ("discuss", json!({"prompt": "x", "speakers": ["a"]})),
        ("terminate", json!({"name": "a"})),
        ("todo_write", json!({"todos": [{"text": "x"}]})),
        ("ui_paste", json!({})),
        ("echo", json!({})),
    ];
    let mut case = rounds(
        json!([{"name": "limit", "builtin": "spawn_limit", "match": ["*"], "options": {"most": 1}}]),
        vec![vec![("echo", json!({}))], calls],
    );
    let serde_json::Value::Object(input_schema) = json!({"type": "object"}) else { unreachable!() };
    case.client_tools = vec![ClientTool {
        name: "ui_paste".to_owned(),
        client_name: None,
        description: "Pastes.".to_owned(),
        input_schema,
    }];
    case.policy = ToolPolicy::of(ContextKind::Editor);
    case.offered_by = case.policy.clone();
    case.setting.agents = Some(AgentSetting::default());
    let case = case.run();
    let blocked = case.lines().into_iter().filter(|line| line.contains("blocked by hook limit")).count();
    assert_eq!(blocked, 8, "{:#?}", case.lines());
    assert_eq!(case.model.requests.borrow().len(), 3, "the root alone is asked");
    assert_eq!(*case.tools.ran.borrow(), ["echo {}"]);
}

// CF-25: the first block wins, in the order of the hooks; one that the policy refuses is put to no hook.
#[test]
fn the_first_block_wins() {
    let hooks = json!([
        {"name": "one", "builtin": "spawn_limit", "match": ["echo"], "options": {"most": 1}},
        {"name": "two", "builtin": "spawn_limit", "match": ["echo"], "options": {"most": 1}},
    ]);
    let echo = || vec![("echo", json!({}))];
    let case = rounds(hooks, vec![echo(), echo(), vec![("unknown", json!({}))]]).run();
    let told: Vec<String> = said(&case).into_iter().map(|line| line.chars().take(40).collect()).collect();
    assert_eq!(
        told,
        [
            r#"tool 0.0 echo End "echo {}""#,
            "hook 1.0h0 one Block \"echo has its limit",
            "tool 1.0 echo End error \"blocked by hook",
            "tool 2.0 unknown End error \"the tool \\\"u",
        ]
    );
}

// A-013: a comment on an action comes with the results of its round, in the model's order.
#[test]
fn a_comment_on_an_action_comes_after_its_round() {
    let case = hooked(
        guard("remark"),
        script(&[
            (
                "go",
                vec![
                    Reply::Calls(vec![("echo", json!({"n": 1})), ("echo", json!({"n": 2}))]),
                    Reply::Text("Done."),
                ],
            ),
            (r#"remark echo {"n":1}"#, vec![verdict("comment", "the first")]),
            (r#"remark echo {"n":2}"#, vec![verdict("comment", "the second")]),
        ]),
    )
    .run();
    assert_eq!(comments(&case), ["[hook guard] the first", "[hook guard] the second"]);
    assert_eq!(case.tools.ran.borrow().len(), 2);
}

// A-079 A-082: a hook that quits is not asked again; its copies in other levels are.
#[test]
fn a_hook_that_quits_is_gone_from_its_level() {
    let echo = || vec![("echo", json!({}))];
    let case = hooked(
        guard("once"),
        script(&[
            (
                "go",
                vec![
                    Reply::Calls(echo()),
                    Reply::Calls(echo()),
                    Reply::Calls(vec![subtask("a")]),
                    Reply::Text("Done."),
                ],
            ),
            ("a", vec![Reply::Calls(echo()), Reply::Text("ok")]),
            ("once echo {}", vec![verdict("quit", "")]),
        ]),
    )
    .run();
    let asked: Vec<String> = case.lines().into_iter().filter(|line| line.contains("guard Quit")).collect();
    assert_eq!(asked, ["hook 0.0h0 guard Quit", "hook 2.0-0.0h0 guard Quit in 2.0 depth 1"]);
}

// A call that waits for a person has passed its hooks before; the answer asks nobody again.
#[test]
fn a_call_that_a_person_allowed_is_judged_once() {
    let mut case = hooked(
        guard("look"),
        script(&[
            ("go", vec![Reply::Calls(vec![("write", json!({}))]), Reply::Text("Done.")]),
            ("look write {}", vec![verdict("allow", ""), verdict("block", "never asked")]),
        ]),
    );
    let rules: ToolRules = serde_json::from_str(r#"{"write": "ask"}"#).unwrap();
    case.policy = case.policy.narrowed(rules, BTreeSet::new());
    case.offered_by = case.policy.clone();
    case.run_with(None, |_, _| {});
    assert!(case.is_parked());
    case.say(None, |turn| {
        turn.answer(&WireIds::new("turn").approval("0.0"), Awaited::Approval, Answer::Approve).unwrap()
    });
    case.check();
    assert_eq!(*case.tools.ran.borrow(), ["write {}"]);
    assert_eq!(case.disk.count(|entry| matches!(entry.fact, Fact::HookSaid(_))), 1);
}

// Without hooks there is no entry, no event and no call of theirs.
#[test]
fn a_blank_message_asks_no_hook() {
    let mut case = hooked(
        json!([{"name": "greeter", "on": "input", "instructions": "greet"}]),
        script(&[("go", vec![Reply::Text("never")])]),
    );
    case.content = " ".to_owned();
    let case = case.run();
    assert!(case.model.requests.borrow().is_empty());
}

// A-069: what a turn tells its model at the start (memories, passages) is a message before the user's own. It comes once,
// with hooks and without, to the root alone, and is no part of the conversation.
#[test]
fn the_initial_message_comes_once_and_is_no_hooks() {
    let told = "<memories>\nThe user likes pears.\n</memories>";
    let play = |hooks: Value| {
        let calls = |calls| Reply::Calls(calls);
        let replies =
            vec![calls(vec![("echo", json!({}))]), calls(vec![subtask("work")]), Reply::Text("Done.")];
        let mut case = hooked(hooks, script(&[("go", replies), ("work", vec![Reply::Text("Worked.")])]));
        case.retrieved = Some(told.to_owned());
        case.run()
    };
    let reminding = json!([{"name": "todo", "builtin": "todo_reminder", "options": {"every": 1}}]);
    for (hooks, hooked) in [(json!([]), false), (reminding, true)] {
        let case = play(hooks);
        let requests = case.model.requests.borrow();
        let users: Vec<Vec<String>> = requests
            .iter()
            .map(|request| {
                let users = request.messages.iter().filter_map(|message| match message.as_ref() {
                    wire::model::Message::User { content } => Some(content.text().into_owned()),
                    _ => None,
                });
                users.collect()
            })
            .collect();
        let (of_subtask, of_root): (Vec<_>, Vec<_>) =
            users.into_iter().partition(|users| users.contains(&"work".to_owned()));
        assert_eq!(of_subtask, [["work"]]);
        assert_eq!(of_root.len(), 3);
        for users in &of_root {
            assert_eq!(users[..2], [told, "go"]);
            assert!(users[2..].iter().all(|text| text.starts_with("<hook name=\"todo\">")), "{users:?}");
        }
        assert_eq!(of_root[2].len() > 2, hooked, "{of_root:?}");
        assert!(said(&case).iter().all(|line| !line.contains("pears")), "{:?}", said(&case));
        assert!(!format!("{:?}", case.end().history).contains("pears"));
    }
}
