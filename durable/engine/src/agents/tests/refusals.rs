//! Calls that make nobody, turns that have no agents, and agents that fail.

use std::collections::BTreeSet;

use futures::FutureExt;
use futures::future::LocalBoxFuture;
use serde_json::json;

use super::*;
use crate::journal::{MAX_AGENTS, MAX_INSTRUCTIONS_BYTES};
use crate::ports::{Tool, ToolContext, ToolError};
use crate::toolbelt::{PermissionClass, ToolRules, ToolSpec, declare};
use wire::model::ModelErrorKind;

// A-034 A-040: each refusal says what is wrong, and nobody is asked.
#[test]
fn a_call_that_is_wrong_makes_nobody() {
    let long = "x".repeat(MAX_INSTRUCTIONS_BYTES + 1);
    let calls: Vec<(serde_json::Value, &str)> = vec![
        (json!({"instructions": "A."}), "at name"),
        (json!({"name": "Main", "instructions": "A."}), "at name: it must begin with"),
        (json!({"name": "main", "instructions": "A."}), "answers the user"),
        (json!({"name": "a", "instructions": "A.", "template": "t"}), "not both"),
        (json!({"name": "a", "instructions": long}), "they have 20001 bytes, the limit is 20000"),
        (json!({"name": "a", "instructions": " ", "prompt": "x"}), "you have no agent \"a\""),
        (json!({"name": "a", "prompt": "x"}), "Your agents are: none yet"),
        (json!({"name": "a", "from": "b"}), "you have no agent \"b\""),
        (json!({"name": "a", "template": "t"}), "there is no template \"t\""),
    ];
    for (arguments, problem) in calls {
        let call = ("task", arguments.clone());
        let case = with_agents(script(&[("go", vec![Reply::Calls(vec![call]), Reply::Text("Done.")])])).run();
        let result = &results(&case)[0];
        assert!(result.starts_with("error: ") && result.contains(problem), "{arguments}: {result}");
        assert_eq!(case.model.requests.borrow().len(), 2);
        assert_eq!(case.end().agents, [], "{arguments}");
    }
}

// A-040, issue 20, 2: names are unique, and of two calls for one name in a round the second is refused.
#[test]
fn a_name_is_taken_once() {
    let case = with_agents(script(&[
        (
            "go",
            vec![
                Reply::Calls(vec![task("a", "A.", "x"), ("task", json!({"name": "a", "prompt": "y"}))]),
                Reply::Calls(vec![task("a", "Another.", "z")]),
                Reply::Calls(vec![("task", json!({"name": "a"}))]),
                Reply::Calls(vec![("task", json!({"name": "a", "prompt": "p", "tools": []}))]),
                Reply::Text("Done."),
            ],
        ),
        ("A.", vec![Reply::Text("yes")]),
    ]))
    .run();
    let results = results(&case);
    assert_eq!(results[0], "yes");
    for (index, problem) in [
        (1, "another call of the same reply"),
        (2, "there is an agent \"a\" already"),
        (3, "give a prompt"),
        (4, "at tools"),
    ] {
        assert!(
            results[index].starts_with("error: ") && results[index].contains(problem),
            "{}",
            results[index]
        );
    }
    assert_eq!(requests_of(&case, "A.").len(), 1);
}

// A-027 A-033: a request that does not ask for agents has none of the calls, and makes none.
#[test]
fn a_turn_without_agents_is_as_it_was() {
    let mut case =
        Case::new(script(&[("go", vec![Reply::Calls(vec![task("a", "A.", "x")]), Reply::Text("Done.")])]));
    case.run_with(None, |_, _| {});
    case.check();
    assert!(results(&case)[0].starts_with("error: the tool \"task\" is not available"));
    let names = |case: &Case| -> Vec<String> {
        case.model.requests.borrow()[0].tools.iter().map(|tool| tool.name.clone()).collect()
    };
    let with = with_agents(script(&[("go", vec![Reply::Text("Done.")])])).run();
    let added: Vec<_> = names(&with).into_iter().filter(|name| !names(&case).contains(name)).collect();
    assert_eq!(added, ["task", "discuss", "terminate", "todo_write", "list_agents"]);
    let entry = serde_json::to_string(&case.disk.entries.borrow()[0]).unwrap();
    assert!(!entry.contains("\"agents\":") && !entry.contains("\"todo"), "{entry}");
    assert_eq!(case.spec().system, with.spec().system);
}

/// A tool that tells all that it gets.
struct Nosy(ToolSpec);

impl Tool for Nosy {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn run(
        &self,
        arguments: &str,
        context: ToolContext,
    ) -> LocalBoxFuture<'static, Result<String, ToolError>> {
        // Each member is named, so that a new one is judged here: none may lead to the agent or to a model.
        let ToolContext { clock, operation_id, time_zone: _, workspace_root, seen, paid: _ } = context;
        let told = format!("{arguments} {} {workspace_root:?} {:?}", clock.now_ms(), seen.learnt());
        let is_call = operation_id.starts_with("call_");
        async move { if is_call { Ok(told) } else { Err(ToolError("no call".to_owned())) } }.boxed_local()
    }
}

// A-003 A-004 A-026: a tool is one step without the agent or a model, and gives back a text and nothing else.
#[test]
fn a_tool_gets_and_gives_no_more_than_it_needs() {
    let mut case = Case::new(script(&[(
        "go",
        vec![Reply::Calls(vec![("nosy", json!({"a": 1}))]), Reply::Text("Done.")],
    )]));
    let spec = declare("nosy", PermissionClass::Safe, "Tells.", json!({"type": "object"}));
    let nosy: Rc<dyn Tool> = Rc::new(Nosy(spec));
    Rc::get_mut(&mut case.tools).unwrap().add([nosy].into_iter());
    let case = case.run();
    let told = r#"tool: {"a":1} 0 Some("/") {}"#;
    assert_eq!(texts(&case.model.requests.borrow()[1])[2], told);
}

// A-106: the servers that a template adds bring no tool that the policy has turned off, and no server that the turn lacks.
#[test]
fn a_template_does_not_widen_the_policy() {
    let root = vec![
        Reply::Calls(vec![(
            "task",
            json!({"name": "a", "template": "workspace:t", "tools": ["echo"], "prompt": "x"}),
        )]),
        Reply::Text("Done."),
    ];
    let levels = script(&[("go", root), ("A.", vec![Reply::Text("ok")])]);
    let mut case = with_texts(levels, &[("t", "---\nmcp: library, shop\n---\nA.")]);
    let of_server = |name: &str, server: &str| -> Rc<dyn Tool> {
        let spec = declare(name, PermissionClass::Safe, "Looks.", json!({"type": "object"}));
        Rc::new(Nosy(ToolSpec { mcp_server: Some(server.to_owned()), ..spec }))
    };
    let tools = [("find", "library"), ("burn", "library"), ("sell", "shop"), ("sail", "harbour")];
    let tools = tools.map(|(name, server)| of_server(name, server));
    Rc::get_mut(&mut case.tools).unwrap().add(tools.into_iter());
    let rules: ToolRules = serde_json::from_str(r#"{"burn": "off"}"#).unwrap();
    case.policy.allowed_mcp_servers = ["library", "harbour"].map(str::to_owned).into();
    case.policy = case.policy.narrowed(rules, BTreeSet::new());
    case.offered_by = case.policy.clone();
    let case = case.run();
    let names: Vec<String> = requests_of(&case, "A.")[0].tools.iter().map(|tool| tool.name.clone()).collect();
    assert_eq!(names, ["echo", "fetch_note", "find"]);
}

// Issue 20, 2: subtasks end with their calls, and have no agents.
#[test]
fn a_subtask_has_no_agents() {
    let case = with_agents(script(&[
        ("go", vec![Reply::Calls(vec![subtask("work")]), Reply::Text("Done.")]),
        ("work", vec![Reply::Text("ok")]),
    ]))
    .run();
    let requests = case.model.requests.borrow();
    let names: Vec<_> = requests[1].tools.iter().map(|tool| tool.name.as_str()).collect();
    assert!(
        names.contains(&"echo") && !names.contains(&"task") && !names.contains(&"todo_write"),
        "{names:?}"
    );
}

// A-021 A-044: an agent that fails says so in its text, and its transcript has it.
#[test]
fn an_agent_that_fails_says_so() {
    let case = with_agents(script(&[
        (
            "go",
            vec![
                Reply::Calls(vec![task("a", "A.", "x")]),
                Reply::Calls(vec![("task", json!({"name": "a", "prompt": "y"}))]),
                Reply::Text("Done."),
            ],
        ),
        ("A.", vec![Reply::Fail("Well, ", ModelErrorKind::Overloaded), Reply::Text("")]),
    ]))
    .run();
    let failed = "[I could not answer: provider_overloaded: the provider said no]";
    assert_eq!(results(&case), [failed, "[I have nothing to say.]"]);
    let second = &requests_of(&case, "A.")[1];
    assert_eq!(texts(second), ["user: x", &format!("agent: {failed}"), "user: y"]);
}

// Issue 20, 2: 16 agents a thread.
#[test]
fn a_thread_has_so_many_agents_at_most() {
    let names: Vec<String> = (0..=MAX_AGENTS).map(|n| format!("a{n}")).collect();
    let calls = names.iter().map(|name| ("task", json!({"name": name, "instructions": "A."}))).collect();
    let case = with_agents(script(&[(
        "go",
        vec![
            Reply::Calls(calls),
            Reply::Calls(vec![("terminate", json!({"name": "a0"})), task("b", "B.", "")]),
            Reply::Text("Done."),
        ],
    )]))
    .run();
    let results = results(&case);
    assert!(results[..MAX_AGENTS].iter().all(|result| result.contains("is there")), "{results:?}");
    assert!(results[MAX_AGENTS].contains("16 agents, which is the limit"), "{}", results[MAX_AGENTS]);
    assert!(results[MAX_AGENTS + 2].contains("b is there"));
}
