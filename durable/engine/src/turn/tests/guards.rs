//! The order of guards: policy when tools are offered, policy again when a call comes, budget, arguments, run. Each can only deny.

use serde_json::{Value, json};

use crate::journal::CallRecord;
use crate::profiles::Limits;
use crate::testing::*;
use crate::toolbelt::PermissionClass;
use wire::model::ModelRequest;

/// The result of a call in a turn with these limits.
fn told(call: (&'static str, Value), change: impl Fn(&mut Limits)) -> String {
    let case =
        Case::new(script(&[("go", vec![Reply::Calls(vec![call]), Reply::Text("Well.")])])).limits(change);
    let lines = case.run().lines();
    let end = lines.iter().find(|line| line.starts_with("tool ") && line.contains(" End")).unwrap();
    let budget = lines.iter().find(|line| line.starts_with("budget ")).cloned().unwrap_or_default();
    format!("{end} | {budget}")
}

// N-017 N-094 N-137 N-178: where two guards deny a call, the result names the first.
#[test]
fn each_guard_stands_before_the_next() {
    let no_calls = |limits: &mut Limits| limits.tool_calls = 0;
    let secret = told(("secret", json!("{broken")), no_calls);
    assert!(
        secret.contains("the tool \\\"secret\\\" is not available") && secret.ends_with("| "),
        "{secret}"
    );

    let deep = told(subtask("a"), |limits| (limits.depth, limits.subtasks) = (0, 0));
    assert!(deep.contains("depth limit: subtasks may nest 0 deep") && deep.ends_with("| "), "{deep}");

    let dear = told(("memory_write", json!({})), no_calls);
    assert!(dear.contains("The call was not made") && dear.ends_with("| budget ToolCalls 1 of 0"), "{dear}");
    let dear = told(("run_subtask", json!({"title": 7})), |limits| limits.subtasks = 0);
    assert!(dear.ends_with("| budget Subtasks 1 of 0"), "{dear}");

    let wrong = told(("memory_write", json!({"key": "k"})), |_| {});
    assert!(wrong.contains("invalid arguments at value: it is missing") && wrong.ends_with("| "), "{wrong}");
}

// N-017 N-101: a wider policy filled the belt, and the turn's own policy still holds.
#[test]
fn policy_holds_again_when_a_tool_is_called() {
    let narrowing = ("run_subtask", json!({"title": "t", "instructions": "a", "tools": ["secret", "echo"]}));
    let calls = vec![("secret", json!({})), ("write", json!({})), ("echo", json!({})), narrowing];
    let mut case = Case::new(script(&[
        ("go", vec![Reply::Calls(calls), Reply::Text("Well.")]),
        ("a", vec![Reply::Calls(vec![("secret", json!({})), ("echo", json!({}))]), Reply::Text("Hm.")]),
    ]));
    case.offered_by.classes.insert(PermissionClass::Secrets);
    case.policy.workspace_root = None;
    let case = case.run();
    let offered = |request: &ModelRequest| request.tools.iter().any(|tool| tool.name == "secret");
    assert!(
        case.model.requests.borrow().iter().all(offered),
        "the wider policy offered it, to the child as well"
    );
    assert_eq!(*case.tools.ran.borrow(), ["echo {}", "echo {}"]);
    let refused = |line: &&String| line.contains("is not available; the tools here are");
    assert_eq!(case.lines().iter().filter(refused).count(), 3);
    let calls = case.end().calls;
    let in_log = calls.iter().filter_map(|row| match row {
        CallRecord::Tool { tool_name, refused: true, .. } => Some(tool_name.as_str()),
        _ => None,
    });
    let mut in_log: Vec<_> = in_log.collect();
    in_log.sort_unstable();
    assert_eq!(in_log, ["secret", "secret", "write"], "the audit log hears of these alone");

    let mut opted_in = Case::new(script(&[(
        "go",
        vec![Reply::Calls(vec![("secret", json!({})), ("classless", json!({}))]), Reply::Text("Well.")],
    )]));
    opted_in.offered_by.classes.insert(PermissionClass::Secrets);
    opted_in.policy.classes.insert(PermissionClass::Secrets);
    assert_eq!(*opted_in.run().tools.ran.borrow(), ["secret {}"], "opting in adds exactly those");
}
